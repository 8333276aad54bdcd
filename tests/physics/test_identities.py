"""What every mechanical system obeys, on random linkages of all joint types: power, gradients, momentum, invariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import (
    ALL_KINDS,
    EPS,
    FREE,
    MOVING_KINDS,
    kind_id,
    random_arrays,
    random_inputs,
    random_rotations,
    relative_error,
)

from adaptive_sim import (
    body_poses,
    centers_of_mass,
    energy,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    mass_matrix,
    momentum,
)

from . import rk4

pytestmark = pytest.mark.plain

# Central differences of energies of size E: STEP² · third derivative + EPS/STEP · E, relative to E about 1e-9.
STEP = 1e-5
DIFFERENTIATED = 1e-7
# Sums over about ten bodies in another order.
SUMS = 400 * EPS
# Two solves of the same equations in other frames: rounding times the condition of the inertia matrix, about 1e4.
SOLVED = 1e4 * SUMS

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random"])


def moved(linkage, x, a, h):
    """State a little later (or earlier): v changes by a h, q along the average velocity; exact to O(h²)."""
    return integrate(linkage, x.q, h * (x.v + 0.5 * h * a)), x.v + h * a


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_power_is_the_rate_of_energy(shape: str, seed: int) -> None:
    """τ·v + Σ (f·ṗ + n·ω) − Σ d v² = d(kinetic + gravity + springs)/dt."""
    arrays = random_arrays(10, seed, ALL_KINDS, shape=shape, springs=True, damping=True, shuffle=True)
    x, linkage = random_inputs(arrays, seed + 70), arrays.linkage()
    a = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces()).acceleration
    h = STEP / max(1.0, np.abs(a).max() / 10.0)
    ahead, behind = (energy(linkage, *moved(linkage, x, a, s), x.gravity).total for s in (h, -h))
    rate = (ahead - behind) / (2 * h)
    # Power of the external forces from the motion of the poses alone.
    (R1, p1), (R0, p0) = (body_poses(linkage, integrate(linkage, x.q, s * x.v)) for s in (STEP, -STEP))
    R, _ = body_poses(linkage, x.q)
    velocity = (p1 - p0) / (2 * STEP)
    spin = (R1 - R0) / (2 * STEP) @ R.transpose(0, 2, 1)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    external = (x.force * velocity).sum() + (x.torque * omega).sum()
    power = x.tau @ x.v + external - arrays.damping @ x.v**2
    scale = np.abs(x.tau * x.v).sum() + abs(external) + arrays.damping @ x.v**2
    rounding = EPS * energy(linkage, x.q, x.v, x.gravity).kinetic / h
    assert abs(rate - power) <= 10 * DIFFERENTIATED * scale + 100 * rounding


@pytest.mark.parametrize("kind", MOVING_KINDS, ids=kind_id)
def test_power_for_each_joint_type(kind) -> None:
    arrays = random_arrays(4, int(kind) + 5, [kind], springs=True, damping=True)
    x, linkage = random_inputs(arrays, 3), arrays.linkage()
    a = forward_dynamics(linkage, x.q, x.v, x.tau, gravity=x.gravity).acceleration
    h = STEP / max(1.0, np.abs(a).max() / 10.0)
    ahead, behind = (energy(linkage, *moved(linkage, x, a, s), x.gravity).total for s in (h, -h))
    power = x.tau @ x.v - arrays.damping @ x.v**2
    scale = np.abs(x.tau * x.v).sum() + arrays.damping @ x.v**2
    rounding = EPS * energy(linkage, x.q, x.v, x.gravity).total / h
    assert abs((ahead - behind) / (2 * h) - power) <= 10 * DIFFERENTIATED * scale + 100 * abs(rounding)


@pytest.mark.parametrize("kind", MOVING_KINDS, ids=kind_id)
def test_static_forces_are_gradients(kind) -> None:
    """Gravity alone, then springs alone: the torque that holds the linkage still is the slope of the energy."""
    arrays = random_arrays(5, int(kind) + 15, [kind], shape="branched", springs=True, shuffle=True)
    x = random_inputs(arrays, 4)
    loose = replace(arrays, stiffness=0.0 * arrays.stiffness)
    for linkage, gravity in ((loose.linkage(), x.gravity), (arrays.linkage(), None)):
        holding = inverse_dynamics(linkage, x.q, gravity=gravity)
        for k, direction in enumerate(np.eye(arrays.nv)):
            up, down = (
                energy(linkage, integrate(linkage, x.q, step * direction), gravity=gravity).potential
                for step in (STEP, -STEP)
            )
            scale = 100.0 + abs(up)
            assert abs((up - down) / (2 * STEP) - holding[k]) <= DIFFERENTIATED * scale


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_kinetic_energy_is_the_form_of_the_mass_matrix(shape: str, seed: int) -> None:
    arrays = random_arrays(10, seed + 80, ALL_KINDS, shape=shape, shuffle=seed > 0)
    x, linkage = random_inputs(arrays, seed), arrays.linkage()
    expected = 0.5 * x.v @ mass_matrix(linkage, x.q) @ x.v
    assert energy(linkage, x.q, x.v).kinetic == pytest.approx(expected, rel=SUMS)


def test_momentum_is_mass_times_velocity_of_the_centre() -> None:
    arrays = random_arrays(10, 90)
    x, linkage = random_inputs(arrays, 91), arrays.linkage()

    def centre(s: float):
        return arrays.mass @ centers_of_mass(linkage, integrate(linkage, x.q, s * x.v))

    linear, _ = momentum(linkage, x.q, x.v)
    assert relative_error((centre(STEP) - centre(-STEP)) / (2 * STEP), linear) <= DIFFERENTIATED


@SHAPES
def test_outside_forces_change_the_momentum_of_a_free_linkage(shape: str) -> None:
    """d(linear)/dt = Σ f + m g, d(angular)/dt = Σ (n + p × f) + Σ c × m g, whatever the joints do inside."""
    arrays = random_arrays(8, 92, MOVING_KINDS, base=FREE, shape=shape, springs=True, damping=True)
    arrays.stiffness[:6] = arrays.damping[:6] = 0.0  # nothing holds the base
    x, linkage = random_inputs(arrays, 93), arrays.linkage()
    x.tau[:6] = 0.0
    a = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces()).acceleration
    h = STEP / max(1.0, np.abs(a).max() / 10.0)
    ahead, behind = (np.concatenate(momentum(linkage, *moved(linkage, x, a, s))) for s in (h, -h))
    _, p = body_poses(linkage, x.q)
    weight = arrays.mass[:, None] * x.gravity
    linear = (x.force + weight).sum(axis=0)
    angular = (x.torque + np.cross(p, x.force) + np.cross(centers_of_mass(linkage, x.q), weight)).sum(axis=0)
    size = np.abs(momentum(linkage, x.q, x.v)).max()
    rounding = 100 * EPS * size / h
    difference = (ahead - behind) / (2 * h) - np.concatenate([linear, angular])
    assert np.abs(difference).max() <= 10 * DIFFERENTIATED * (np.abs(angular).max() + size) + rounding


def test_momentum_of_a_free_linkage_is_conserved_in_integration() -> None:
    """Inner torques, springs and damping; no gravity. RK4 keeps the momentum to its own order."""
    kinds = [k for k in MOVING_KINDS if k != FREE]
    arrays = random_arrays(6, 95, kinds, base=FREE, springs=True, damping=True)
    arrays.stiffness[:6] = arrays.damping[:6] = 0.0
    x, linkage = random_inputs(arrays, 96, speed=0.5), arrays.linkage()
    x.tau[:6] = 0.0

    def acceleration(q, v, t):
        return forward_dynamics(linkage, q, v, x.tau * np.cos(3.0 * t), gravity=None).acceleration

    before = momentum(linkage, x.q, x.v)
    drift = []
    for steps in (100, 200):
        after = momentum(linkage, *rk4.run(arrays, x.q, x.v, 0.2, steps, acceleration))
        drift.append([np.abs(b - a).max() for a, b in zip(before, after)])
    # Order four: halving the step divides the error by about 16 (8 allowed), until rounding is reached.
    for coarse, fine in zip(*drift):
        assert fine <= max(coarse / 8.0, 1e-11)
    assert np.max(drift[1]) <= 1e-6


def test_rigid_rotation_of_everything_changes_nothing() -> None:
    """Base placement, gravity, forces and torques turned together: the same joint accelerations."""
    for kind in ALL_KINDS:
        arrays = random_arrays(8, int(kind) + 100, ALL_KINDS, base=kind)
        x = random_inputs(arrays, 5)
        turn = random_rotations(1, np.random.default_rng(int(kind)))[0]
        base = int(np.flatnonzero(arrays.parent < 0)[0])
        rotation, translation = arrays.rotation.copy(), arrays.translation.copy()
        rotation[base] = turn @ rotation[base]
        translation[base] = turn @ translation[base] + [5.0, -3.0, 2.0]
        turned = replace(arrays, rotation=rotation, translation=translation)
        y = replace(x, force=x.force @ turn.T, torque=x.torque @ turn.T, gravity=turn @ x.gravity)
        a = forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, **x.forces(), joint_forces=True)
        b = forward_dynamics(turned.linkage(), y.q, y.v, y.tau, **y.forces(), joint_forces=True)
        assert relative_error(b.acceleration, a.acceleration) <= SOLVED
        assert relative_error(b.joint_force, a.joint_force) <= SOLVED


def test_gravity_is_an_acceleration_of_the_base() -> None:
    """A linkage with a free base in a uniform field falls: relative joint accelerations as without gravity."""
    arrays = random_arrays(8, 110, base=FREE)
    x, linkage = random_inputs(arrays, 6), arrays.linkage()
    with_field = forward_dynamics(linkage, x.q, x.v, x.tau, x.force, x.torque, x.gravity).acceleration
    without = forward_dynamics(linkage, x.q, x.v, x.tau, x.force, x.torque, None).acceleration
    scale = np.abs(without).max()
    assert np.abs(with_field[6:] - without[6:]).max() <= SOLVED * scale
    R, _ = body_poses(linkage, x.q)
    assert np.abs(with_field[:3] - without[:3] - R[0].T @ x.gravity).max() <= SOLVED * scale
    assert np.abs(with_field[3:6] - without[3:6]).max() <= SOLVED * scale


def test_superposition() -> None:
    """Accelerations are affine in the forces at fixed q and v."""
    arrays = random_arrays(10, 111)
    x, y, linkage = random_inputs(arrays, 7), random_inputs(arrays, 8), arrays.linkage()

    def solve(tau, force, torque, gravity):
        return forward_dynamics(linkage, x.q, x.v, tau, force, torque, gravity).acceleration

    nothing = solve(0 * x.tau, 0 * x.force, 0 * x.torque, None)
    one = solve(x.tau, x.force, x.torque, x.gravity) - nothing
    two = solve(y.tau, y.force, y.torque, y.gravity) - nothing
    both = solve(2 * x.tau - y.tau, 2 * x.force - y.force, 2 * x.torque - y.torque, 2 * x.gravity - y.gravity) - nothing
    assert relative_error(both, 2 * one - two) <= SOLVED
