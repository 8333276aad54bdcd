"""Motions, forces and inertias as tuples, against 6×6 matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive_sim.spatial import motion as m

from .oracle import (
    EPS,
    LARGEST,
    articulated,
    articulated_inertias,
    matrix,
    motion_cross,
    motion_transform,
    numbers,
    rigid,
    rigid_inertias,
    rotations,
    spatials,
    symmetric,
    vector6,
    vectors,
)

pytestmark = pytest.mark.plain

# Each bound: number of roundings × EPS × size of the largest intermediate.
TWO_FACTORS = 8 * EPS * 6 * LARGEST**2  # products of two given numbers, summed over six
THREE_FACTORS = 16 * EPS * 6 * LARGEST**3  # shifted by p, or a quadratic form
FOUR_FACTORS = 32 * EPS * 12 * LARGEST**3  # shifted twice by p


def close(found: object, expected: object, tolerance: float) -> bool:
    return bool(np.all(np.abs(np.asarray(found) - np.asarray(expected)) <= tolerance))


@given(spatials, spatials, numbers)
def test_sums_scaling_power(a, b, s) -> None:
    assert np.array_equal(vector6(m.spatial_add(a, b)), vector6(a) + vector6(b))
    assert np.array_equal(vector6(m.spatial_scale(s, a)), s * vector6(a))
    assert close(m.pairing(a, b), vector6(a) @ vector6(b), TWO_FACTORS)


@given(spatials, spatials)
def test_cross_products(a, b) -> None:
    assert close(vector6(m.cross_motion(a, b)), motion_cross(a) @ vector6(b), TWO_FACTORS)
    assert close(vector6(m.cross_force(a, b)), -motion_cross(a).T @ vector6(b), TWO_FACTORS)


@given(spatials, numbers)
def test_cross_with_a_turn_about_z(a, rate) -> None:
    about_z = ((0.0, 0.0, rate), (0.0, 0.0, 0.0))
    assert close(vector6(m.cross_motion_z(a, rate)), vector6(m.cross_motion(a, about_z)), TWO_FACTORS)


@given(rotations(), vectors, spatials)
def test_change_of_frame(R, p, a) -> None:
    X = motion_transform(R, p)
    assert close(vector6(m.motion_to_child(R, p, a)), X @ vector6(a), THREE_FACTORS)
    assert close(vector6(m.force_to_parent(R, p, a)), X.T @ vector6(a), THREE_FACTORS)
    # The oracle's inverse comes from the geometry, not from a solve: the parent's pose in the child.
    back = motion_transform(tuple(matrix(R).T.ravel()), tuple(-matrix(R).T @ p))
    assert close(vector6(m.motion_to_parent(R, p, a)), back @ vector6(a), THREE_FACTORS)
    assert close(vector6(m.force_to_child(R, p, a)), back.T @ vector6(a), THREE_FACTORS)


@given(rotations(), vectors, spatials, spatials)
def test_change_of_frame_keeps_power_and_comes_back(R, p, a, f) -> None:
    moved = m.motion_to_child(R, p, a)
    assert close(m.pairing(moved, m.force_to_child(R, p, f)), m.pairing(a, f), FOUR_FACTORS)
    assert close(vector6(m.motion_to_parent(R, p, moved)), vector6(a), THREE_FACTORS)
    assert close(vector6(m.force_to_parent(R, p, m.force_to_child(R, p, f))), vector6(f), THREE_FACTORS)


@given(rigid_inertias, rigid_inertias, spatials)
def test_rigid_inertia(I, other, a) -> None:
    assert close(vector6(m.rigid_momentum(I, a)), rigid(I) @ vector6(a), TWO_FACTORS)
    assert close(rigid(m.rigid_add(I, other)), rigid(I) + rigid(other), 0.0)
    assert close(articulated(m.articulated_of_rigid(I)), rigid(I), 0.0)


@given(rotations(), vectors, rigid_inertias)
def test_rigid_inertia_in_the_parent_frame(R, p, I) -> None:
    X = motion_transform(R, p)
    assert close(rigid(m.rigid_to_parent(R, p, I)), X.T @ rigid(I) @ X, FOUR_FACTORS)


@given(articulated_inertias, articulated_inertias, spatials)
def test_articulated_inertia(I, other, a) -> None:
    assert close(vector6(m.articulated_apply(I, a)), articulated(I) @ vector6(a), TWO_FACTORS)
    assert close(articulated(m.articulated_add(I, other)), articulated(I) + articulated(other), 0.0)


@given(articulated_inertias, spatials, numbers)
def test_removing_an_axis(I, U, s) -> None:
    u = vector6(U)
    assert close(articulated(m.articulated_remove(I, U, s)), articulated(I) - s * np.outer(u, u), THREE_FACTORS)


@given(rotations(), vectors, articulated_inertias)
def test_articulated_inertia_in_the_parent_frame(R, p, I) -> None:
    X = motion_transform(R, p)
    assert close(articulated(m.articulated_to_parent(R, p, I)), X.T @ articulated(I) @ X, FOUR_FACTORS)


# ---- the forms for a turn about z, against the general ones

positive = st.floats(0.5, LARGEST)


@given(articulated_inertias, positive)
def test_removing_the_z_axis(I, D) -> None:
    A, B, C = I
    I = ((*A[:5], D), B, C)
    s = 1.0 / D
    column = ((A[2], A[4], D), B[6:9])
    found, general = m.articulated_remove_z(I, s), m.articulated_remove(I, column, s)
    assert close(articulated(found), articulated(general), 2 * THREE_FACTORS)
    assert np.array_equal(articulated(found)[2], np.zeros(6)), "what belongs to z must be exactly zero"


@given(rotations(), vectors, articulated_inertias, spatials)
def test_inertia_without_rotation_about_z(R, p, I, c) -> None:
    A, B, C = I
    I = ((A[0], A[1], 0.0, A[3], 0.0, 0.0), (*B[:6], 0.0, 0.0, 0.0), C)
    found, general = m.articulated_to_parent_z(R, p, I), m.articulated_to_parent(R, p, I)
    assert close(articulated(found), articulated(general), FOUR_FACTORS)
    c = ((*c[0][:2], 0.0), (*c[1][:2], 0.0))
    assert close(vector6(m.articulated_apply_z(I, c)), vector6(m.articulated_apply(I, c)), TWO_FACTORS)


def test_parallel_axes_of_a_real_body() -> None:
    """A point mass of 2 kg at (0, 0, 3): seen 4 m further along x it has inertia m (r² 1 − r rᵀ)."""
    r = np.array([0.0, 0.0, 3.0])
    J = 2.0 * (r @ r * np.eye(3) - np.outer(r, r))
    body = (2.0, tuple(2.0 * r), tuple(J[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]))
    moved = m.rigid_to_parent((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (4.0, 0.0, 0.0), body)
    r = np.array([4.0, 0.0, 3.0])
    assert moved[1] == tuple(2.0 * r)
    assert np.array_equal(symmetric(moved[2]), 2.0 * (r @ r * np.eye(3) - np.outer(r, r)))


def test_every_function_is_covered() -> None:
    """A new function in `motion` needs a test here."""
    own = {name for name, value in vars(m).items() if getattr(value, "__module__", "") == m.__name__}
    own = {name for name in own if callable(getattr(m, name)) and not name.startswith("_")}
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    assert {name for name in own if f"m.{name}(" not in text} == set()
