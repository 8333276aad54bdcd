"""Inverse dynamics and joint forces against plain mechanics, and the balance of every body."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ALL_KINDS, EPS, FIXED, kind_id, random_arrays, random_inputs, relative_error

from adaptive_sim import body_poses, forward_dynamics, inverse_dynamics

from . import oracle

pytestmark = pytest.mark.plain

# Forces of a subtree are sums over its bodies (12 of them, depth up to 12), each through as many changes of frame.
SUMS = 400 * EPS
# Random torques on light tips give accelerations of 1e3, so single forces are far larger than the sums they cancel to.
CANCELLING = 100 * SUMS

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


def loads(arrays, x, qdd) -> float:
    return float(np.abs(oracle.joint_forces(arrays, x, qdd)).max())


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics(shape: str, seed: int) -> None:
    arrays = random_arrays(12, seed, ALL_KINDS, shape=shape, springs=True, damping=True, shuffle=seed > 0)
    x = random_inputs(arrays, seed + 20)
    qdd = np.random.default_rng(seed).normal(size=arrays.nv)
    found = inverse_dynamics(arrays.linkage(), x.q, x.v, qdd, **x.forces())
    assert np.abs(found - oracle.inverse_dynamics(arrays, x, qdd)).max() <= SUMS * loads(arrays, x, qdd)


@pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)
def test_inverse_dynamics_of_each_joint_type(kind) -> None:
    arrays = random_arrays(4, int(kind) + 30, [kind], springs=True, damping=True)
    x = random_inputs(arrays, 1)
    qdd = np.random.default_rng(2).normal(size=arrays.nv)
    found = inverse_dynamics(arrays.linkage(), x.q, x.v, qdd, **x.forces())
    assert found.shape == (arrays.nv,)
    expected = oracle.inverse_dynamics(arrays, x, qdd)
    assert np.abs(found - expected).max(initial=0.0) <= SUMS * max(1.0, loads(arrays, x, qdd))


@SHAPES
def test_forces_that_joints_transmit(shape: str) -> None:
    arrays = random_arrays(12, 40, ALL_KINDS, shape=shape, springs=True, damping=True, shuffle=True)
    x = random_inputs(arrays, 41)
    solved = forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, **x.forces(), joint_forces=True)
    expected = oracle.joint_forces(arrays, x, solved.acceleration)
    assert solved.joint_force is not None
    assert relative_error(solved.joint_force, expected) <= CANCELLING
    plain = forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, **x.forces())
    assert plain.joint_force is None
    assert np.array_equal(plain.acceleration, solved.acceleration)


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_active_part_of_the_joint_force_is_tau_springs_and_damping(method: str) -> None:
    """Sᵀ f = τ + springs + damping, S from the oracle, in the user's body frames."""
    arrays = random_arrays(14, 42, ALL_KINDS, springs=True, damping=True, shuffle=True)
    x = random_inputs(arrays, 43)
    solved = forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, **x.forces(), method=method, joint_forces=True)
    active = x.tau + oracle.passive_forces(arrays, x.q, x.v)
    largest = np.abs(solved.joint_force).max()
    # The accelerations carry the solver's error into f: condition about 1e4.
    bound = 1e4 * SUMS * largest
    for i, (q_at, v_at) in enumerate(zip(arrays.q_slices(), arrays.v_slices())):
        S = np.vstack(oracle.joint_subspace(arrays, i, x.q[q_at]))
        assert np.abs(S.T @ solved.joint_force[i] - active[v_at]).max(initial=0.0) <= bound


@SHAPES
def test_balance_of_every_body(shape: str) -> None:
    """Newton and Euler for each body: joint force − children's joint forces + external + gravity = d(momentum)/dt."""
    arrays = random_arrays(12, 44, ALL_KINDS, shape=shape, springs=True, damping=True, shuffle=True)
    x = random_inputs(arrays, 45)
    linkage = arrays.linkage()
    solved = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), joint_forces=True)
    R, p = body_poses(linkage, x.q)
    moment = np.einsum("nij,nj->ni", R, solved.joint_force[:, :3])  # world axes, about each body's origin
    force = np.einsum("nij,nj->ni", R, solved.joint_force[:, 3:])
    m = oracle.motion(arrays, x.q, x.v, solved.acceleration)
    I = oracle.world_inertias(arrays, m.R)
    for i in range(arrays.n):
        net_f = force[i] + x.force[i] + arrays.mass[i] * x.gravity
        arm = m.c[i] - p[i]
        net_n = moment[i] + x.torque[i] - np.cross(arm, force[i] + x.force[i])
        for child in np.flatnonzero(arrays.parent == i):
            net_f = net_f - force[child]
            net_n = net_n - moment[child] - np.cross(p[child] - m.c[i], force[child])
        bound = CANCELLING * np.abs(solved.joint_force).max()
        assert np.abs(net_f - arrays.mass[i] * m.a_c[i]).max() <= bound
        assert np.abs(net_n - I[i] @ m.alpha[i] - np.cross(m.w[i], I[i] @ m.w[i])).max() <= bound


def test_a_free_base_transmits_nothing() -> None:
    arrays = random_arrays(8, 46, base=ALL_KINDS[3])
    x = random_inputs(arrays, 47)
    x.tau[:6] = 0.0
    solved = forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, **x.forces(), joint_forces=True)
    assert np.abs(solved.joint_force[0]).max() <= 1e4 * SUMS * np.abs(solved.joint_force).max()


def test_a_fixed_linkage_carries_its_weight() -> None:
    arrays = random_arrays(5, 48, [FIXED])
    solved = forward_dynamics(arrays.linkage(), joint_forces=True)
    R, _ = body_poses(arrays.linkage())
    assert solved.acceleration.shape == (0,)
    lift = R[0] @ solved.joint_force[0, 3:]
    assert np.abs(lift - [0.0, 0.0, 9.81 * arrays.mass.sum()]).max() <= SUMS * 9.81 * arrays.mass.sum()
