"""The functions users call: energies, momentum, poses, and how they choose and refuse."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ALL_KINDS, EPS, FIXED, random_arrays, random_inputs, relative_error

from adaptive_sim import (
    GRAVITY,
    UnsupportedError,
    body_poses,
    centers_of_mass,
    energy,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    momentum,
)
from adaptive_sim.exact.passive import add_passive_forces

from . import oracle

pytestmark = pytest.mark.plain

# Sums over 12 bodies of quantities carried through up to 12 frames.
SUMS = 400 * EPS

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


@SHAPES
@pytest.mark.parametrize("shuffle", [False, True])
def test_energy_momentum_and_positions(shape: str, shuffle: bool) -> None:
    arrays = random_arrays(12, 1, ALL_KINDS, shape=shape, springs=True, shuffle=shuffle)
    x, linkage = random_inputs(arrays, 2), arrays.linkage()
    m = oracle.motion(arrays, x.q)
    R, p = body_poses(linkage, x.q)
    assert np.abs(R - m.R).max() <= SUMS
    assert relative_error(p, m.p) <= SUMS
    assert relative_error(centers_of_mass(linkage, x.q), m.c) <= SUMS

    found = energy(linkage, x.q, x.v, x.gravity)
    springs, gravity = oracle.spring_energy(arrays, x.q), oracle.gravity_energy(arrays, x.q, x.gravity)
    assert found.kinetic == pytest.approx(oracle.kinetic_energy(arrays, x.q, x.v), rel=SUMS)
    assert abs(found.potential - springs - gravity) <= SUMS * (springs + abs(gravity))
    assert found.total == found.kinetic + found.potential

    for mine, theirs in zip(momentum(linkage, x.q, x.v), oracle.momentum(arrays, x.q, x.v)):
        assert relative_error(mine, theirs) <= SUMS


def test_passive_forces() -> None:
    arrays = random_arrays(9, 3, ALL_KINDS, springs=True, damping=True)
    x, linkage = random_inputs(arrays, 4), arrays.linkage()
    tau = x.tau.copy()
    stored = add_passive_forces(linkage.kernel_model, x.q, x.v, tau)
    assert stored == pytest.approx(oracle.spring_energy(arrays, x.q), rel=SUMS)
    assert relative_error(tau - x.tau, oracle.passive_forces(arrays, x.q, x.v)) <= SUMS


@pytest.mark.parametrize(("springs", "damping"), [(True, False), (False, True)])
def test_springs_and_damping_act_alone(springs: bool, damping: bool) -> None:
    """Each on its own must switch the passive forces on."""
    arrays = random_arrays(6, 5, springs=springs, damping=damping)
    x, linkage = random_inputs(arrays, 6), arrays.linkage()
    qdd = np.zeros(arrays.nv)
    found = inverse_dynamics(linkage, x.q, x.v, qdd, **x.forces())
    expected = oracle.inverse_dynamics(arrays, x, qdd)
    assert np.abs(found - expected).max() <= SUMS * max(1.0, np.abs(expected).max())
    assert (linkage.has_springs, linkage.has_damping) == (springs, damping)


def test_inputs_are_never_written_to() -> None:
    arrays = random_arrays(9, 7, springs=True, damping=True)
    x, linkage = random_inputs(arrays, 8), arrays.linkage()
    before = [a.copy() for a in (x.q, x.v, x.tau, x.force, x.torque, x.gravity)]
    for method in ("aba", "crba"):
        forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method=method, joint_forces=True)
    inverse_dynamics(linkage, x.q, x.v, x.tau, **x.forces())
    energy(linkage, x.q, x.v)
    momentum(linkage, x.q, x.v)
    for a, b in zip(before, (x.q, x.v, x.tau, x.force, x.torque, x.gravity)):
        assert np.array_equal(a, b)


def test_lists_integers_and_strided_arrays_are_accepted() -> None:
    arrays = random_arrays(5, 9)
    x, linkage = random_inputs(arrays, 10), arrays.linkage()
    expected = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces()).acceleration
    strided = np.repeat(x.v, 2)[::2]
    found = forward_dynamics(
        linkage, x.q.tolist(), strided, tuple(x.tau), x.force.tolist(), np.asfortranarray(x.torque), list(x.gravity)
    ).acceleration
    assert np.array_equal(found, expected)
    forward_dynamics(linkage, tau=np.ones(arrays.nv, dtype=int), gravity=[0, 0, -10])


def test_unknown_method_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnsupportedError, match=r"unknown method 'newton'.*known: aba, crba"):
        forward_dynamics(random_arrays(2, 0).linkage(), method="newton")


def test_standard_gravity_points_down() -> None:
    assert GRAVITY == (0.0, 0.0, -9.81)


# -------------------------------------------------------------------- nothing depends on what memory held before


def everything(linkage, x, still: bool) -> list[np.ndarray]:
    """Results of every function, with velocities or at rest."""
    v = None if still else x.v
    out = []
    for method in ("aba", "crba"):
        solved = forward_dynamics(linkage, x.q, v, x.tau, **x.forces(), method=method, joint_forces=True)
        out += [solved.acceleration, solved.joint_force]
    out.append(inverse_dynamics(linkage, x.q, v, x.tau, **x.forces()))
    out += [np.array(energy(linkage, x.q, v, x.gravity)), *momentum(linkage, x.q, v), *body_poses(linkage, x.q)]
    return [*out, mass_matrix(linkage, x.q)]


@pytest.mark.parametrize("kinds", [ALL_KINDS, [FIXED]], ids=["all joint types", "only fixed joints"])
@pytest.mark.parametrize("still", [False, True], ids=["moving", "at rest"])
def test_unwritten_memory_is_never_read(kinds, still: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fresh array poisoned. A linkage without velocities (nv = 0) once returned what happened to lie there."""
    arrays = random_arrays(9, 11, kinds, springs=True, damping=True)
    x, linkage = random_inputs(arrays, 12), arrays.linkage()
    expected = everything(linkage, x, still)
    fresh = np.empty

    def poisoned(shape, dtype=float):
        array = fresh(shape, dtype=dtype)
        array[...] = np.nan if array.dtype == float else -(10**9) if array.dtype == np.int64 else True
        return array

    monkeypatch.setattr(np, "empty", poisoned)
    found = everything(linkage, x, still)
    monkeypatch.undo()
    for a, b in zip(found, expected):
        assert np.isfinite(a).all()
        assert np.array_equal(a, b)


def test_a_linkage_of_fixed_joints_only() -> None:
    arrays = random_arrays(4, 13, [FIXED])
    linkage = arrays.linkage()
    assert (linkage.nq, linkage.nv) == (0, 0)
    assert forward_dynamics(linkage).acceleration.shape == (0,)
    assert mass_matrix(linkage).shape == (0, 0)
    assert energy(linkage).kinetic == 0.0
    assert np.array_equal(np.concatenate(momentum(linkage)), np.zeros(6))
