"""The oracle itself: its Jacobians, accelerations and forces against numerical differentiation of its poses."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ALL_KINDS, MOVING_KINDS, Inputs, kind_id, random_arrays, random_inputs, relative_error

from . import oracle

pytestmark = pytest.mark.plain

# Central differences of positions of size 10: STEP² · third derivative and EPS/STEP · size.
STEP = 1e-5
FIRST = 1e-8


@pytest.mark.parametrize("kind", MOVING_KINDS, ids=kind_id)
def test_jacobians_are_derivatives(kind) -> None:
    arrays = random_arrays(4, 1, [kind], shape="branched", shuffle=True)
    x = random_inputs(arrays, 2)
    m = oracle.motion(arrays, x.q)
    for k, direction in enumerate(np.eye(arrays.nv)):
        ahead, behind = (oracle.motion(arrays, oracle.integrate(arrays, x.q, s * direction)) for s in (STEP, -STEP))
        assert np.abs((ahead.c - behind.c) / (2 * STEP) - m.J_c[:, :, k]).max() <= FIRST * 10
        spin = (ahead.R - behind.R) / (2 * STEP) @ m.R.transpose(0, 2, 1)
        w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        assert np.abs(w - m.J_w[:, :, k]).max() <= FIRST


def test_accelerations_are_second_derivatives() -> None:
    """At q̈ given, along the motion with that q̈: x(±h) from three velocities, all joint types in one chain."""
    arrays = random_arrays(9, 3, ALL_KINDS, shape="chain")
    x = random_inputs(arrays, 4)
    qdd = np.random.default_rng(5).normal(size=arrays.nv)
    m = oracle.motion(arrays, x.q, x.v, qdd)

    def velocity(h: float):
        """Velocities of the centres of mass and angular velocities after h, to O(h²)."""
        halfway = x.v + 0.5 * h * qdd
        q = oracle.integrate(arrays, x.q, h * halfway)
        later = oracle.motion(arrays, q, x.v + h * qdd)
        return later.v_c, later.w

    (v1, w1), (v0, w0) = velocity(STEP), velocity(-STEP)
    assert relative_error((v1 - v0) / (2 * STEP), m.a_c) <= 100 * FIRST
    assert relative_error((w1 - w0) / (2 * STEP), m.alpha) <= 100 * FIRST


def test_gravity_and_spring_forces_are_gradients() -> None:
    arrays = random_arrays(9, 6, ALL_KINDS, springs=True)
    x = random_inputs(arrays, 7)
    still = Inputs(x.q, 0 * x.v, 0 * x.tau, 0 * x.force, 0 * x.torque, x.gravity)
    holding = oracle.inverse_dynamics(arrays, still, np.zeros(arrays.nv))
    for k, direction in enumerate(np.eye(arrays.nv)):
        up, down = (
            oracle.gravity_energy(arrays, q, x.gravity) + oracle.spring_energy(arrays, q)
            for q in (oracle.integrate(arrays, x.q, s * direction) for s in (STEP, -STEP))
        )
        assert abs((up - down) / (2 * STEP) - holding[k]) <= 1000 * FIRST  # energies of 1000 J


def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix() -> None:
    arrays = random_arrays(9, 8)
    x = random_inputs(arrays, 9)
    expected = 0.5 * x.v @ oracle.mass_matrix(arrays, x.q) @ x.v
    assert oracle.kinetic_energy(arrays, x.q, x.v) == pytest.approx(expected, rel=1e-13)
