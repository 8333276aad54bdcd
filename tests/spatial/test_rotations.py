"""Rotations and quaternions against scipy and extended precision, from no angle at all to half a turn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from adaptive_sim.spatial import rotations as m

from .oracle import EPS, flat, matrix, quaternions, skew, vectors

pytestmark = pytest.mark.plain

# Entries of size 1, a few products and sums each.
ENTRY = 8 * EPS
# exp and log promise rounding accuracy: a handful of operations, each half a unit.
ROUNDING = 4 * EPS
# scipy's own functions are good to a few units as well; both errors count.
TWO_LIBRARIES = 16 * EPS
# log_gradient: cot(θ/2) near θ = 0.1 loses three digits that its factor θ² gives back (see its comment).
GRADIENT = 64 * EPS

# On both sides of where the series replace the quotients (3e-4 in rotations, 0.1 in log_gradient).
ANGLES = [
    0.0, 5e-324, 1e-200, 1e-150, 1e-9, 1e-5, 1e-4, 2.9e-4, 3.0e-4, 3.1e-4, 5.9e-4, 6.0e-4, 6.1e-4, 1e-3, 0.05, 0.0999,
    0.1, 0.1001, 0.5, 1.0, 2.0, 3.0, 3.14159, np.nextafter(np.pi, 0.0), np.pi,
]  # fmt: skip
AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.48, -0.6, 0.64), (-0.36, 0.48, 0.8)]

angles = st.one_of(st.sampled_from(ANGLES), st.floats(0.0, np.pi))
signed_angles = st.floats(-50.0, 50.0)


@st.composite
def directions(draw: st.DrawFn) -> tuple[float, ...]:
    d = np.array(draw(vectors))
    norm = np.linalg.norm(d)
    return tuple(d / norm) if norm > 1e-3 else draw(st.sampled_from(AXES))


def close(found: object, expected: object, tolerance: float) -> bool:
    return bool(np.all(np.abs(np.asarray(found) - np.asarray(expected)) <= tolerance))


@given(directions(), signed_angles)
def test_rotation_about_an_axis(axis, angle) -> None:
    # The oracle multiplies the angle into the axis: up to 50·EPS of angle are lost there.
    expected = Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
    assert close(m.rotation_about(axis, angle), flat(expected), ENTRY + 50 * EPS)


def test_rotation_about_an_axis_is_the_matrix_exponential() -> None:
    for axis in AXES:
        assert close(m.rotation_about(axis, 1.3), flat(expm(1.3 * skew(axis))), TWO_LIBRARIES)


@given(quaternions(), signed_angles)
def test_turn_about_own_z(e, angle) -> None:
    R = Rotation.from_quat(e).as_matrix()
    c, s = math.cos(angle), math.sin(angle)
    turned = R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    assert close(m.turn_z(flat(R), angle), flat(turned), ENTRY)
    assert m.turn_z(flat(R), angle)[2::3] == flat(R[:, 2]), "the axis itself stays to the last bit"


@given(quaternions(), st.floats(0.5, 2.0))
def test_matrix_of_a_quaternion(e, length) -> None:
    """Also of one that is not of unit length: integration leaves it off by rounding."""
    expected = flat(Rotation.from_quat(e).as_matrix())
    assert close(m.rotation_of_quaternion(tuple(length * x for x in e)), expected, ENTRY)


@given(quaternions())
def test_quaternion_of_a_matrix_and_back(e) -> None:
    R = Rotation.from_quat(e).as_matrix()
    found = np.array(m.quaternion_of_rotation(flat(R)))
    assert min(np.abs(found - e).max(), np.abs(found + e).max()) <= TWO_LIBRARIES
    assert close(m.rotation_of_quaternion(tuple(found)), flat(R), ENTRY)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_quaternion_of_half_turns(axis: int) -> None:
    """Trace −1: each branch of the choice by the largest component."""
    diagonal = -np.ones(3)
    diagonal[axis] = 1.0
    found = np.abs(m.quaternion_of_rotation(flat(np.diag(diagonal))))
    assert close(found, np.eye(4)[axis], 0.0)
    assert m.quaternion_of_rotation(flat(np.eye(3))) == (0.0, 0.0, 0.0, 1.0)


@given(quaternions(), quaternions())
def test_product_of_quaternions(a, b) -> None:
    product = m.quaternion_multiply(a, b)
    expected = Rotation.from_quat(a).as_matrix() @ Rotation.from_quat(b).as_matrix()
    assert close(m.rotation_of_quaternion(product), flat(expected), TWO_LIBRARIES)
    assert close(m.quaternion_multiply(a, m.quaternion_conjugate(a)), (0.0, 0.0, 0.0, 1.0), ENTRY)


@given(quaternions(), st.floats(1e-3, 1e3))
def test_normalising(e, length) -> None:
    assert close(m.quaternion_normalize(tuple(length * x for x in e)), e, ENTRY)


# -------------------------------------------------------------------- exponential and logarithm


def extended(phi: np.ndarray) -> np.ndarray:
    """Quaternion of a rotation vector in extended precision."""
    long = phi.astype(np.longdouble)
    angle = np.sqrt((long**2).sum())
    s = np.sin(angle / 2) / angle if angle > 0 else np.longdouble(0.5)
    return np.r_[s * long, np.cos(angle / 2)]


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential(angle: float) -> None:
    for axis in AXES:
        phi = angle * np.array(axis)
        assert close(m.quaternion_exp(tuple(phi)), extended(phi).astype(float), ROUNDING)
        # The small components, relative to themselves.
        found, expected = np.array(m.quaternion_exp(tuple(phi)))[:3], extended(phi)[:3].astype(float)
        assert np.all(np.abs(found - expected) <= ROUNDING * np.abs(expected) + 5e-324)


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_is_accurate_to_rounding(angle: float) -> None:
    for axis in AXES:
        e = extended(angle * np.array(axis)).astype(float)
        long = e.astype(np.longdouble)
        s = np.sqrt((long[:3] ** 2).sum())
        expected = (2 * np.arctan2(s, long[3]) / s * long[:3] if s > 0 else 2 * long[:3]).astype(float)
        found = np.array(m.quaternion_log(tuple(e)))
        assert np.linalg.norm(found - expected) <= ROUNDING * np.linalg.norm(expected) + 1e-323
        # The same rotation with the opposite sign: the same vector.
        if angle < 3.1:
            assert m.quaternion_log(tuple(-e)) == tuple(found)


@given(directions(), st.floats(0.0, 3.1415))
def test_logarithm_undoes_exponential(axis, angle) -> None:
    phi = angle * np.array(axis)
    # Near half a turn the cosine holds the angle: an error of EPS in it is EPS in the angle, of size π.
    assert np.linalg.norm(np.array(m.quaternion_log(m.quaternion_exp(tuple(phi)))) - phi) <= 2 * np.pi * ROUNDING


@given(quaternions())
def test_logarithm_goes_the_shorter_way(e) -> None:
    phi = np.array(m.quaternion_log(e))
    assert np.linalg.norm(phi) <= np.pi * (1.0 + EPS)
    assert close(Rotation.from_rotvec(phi).as_matrix(), Rotation.from_quat(e).as_matrix(), TWO_LIBRARIES)


def test_whole_turns_come_back() -> None:
    for axis in AXES:
        e = m.quaternion_exp(tuple(2.0 * np.pi * np.array(axis)))
        assert close(m.rotation_of_quaternion(e), flat(np.eye(3)), TWO_LIBRARIES)


def inverse_right_jacobian_transposed(phi: np.ndarray) -> np.ndarray:
    """J⁻ᵀ of J = Σ (−φ×)ᵏ/(k+1)!, by summing the series and inverting."""
    total = term = np.eye(3)
    for k in range(1, 50):
        term = -term @ skew(phi) / (k + 1)
        total = total + term
    return np.linalg.inv(total).T


@pytest.mark.parametrize("angle", ANGLES)
def test_gradient_with_respect_to_body_rotation(angle: float) -> None:
    g = np.array([0.7, -1.1, 0.4])
    for axis in AXES:
        phi = angle * np.array(axis)
        expected = inverse_right_jacobian_transposed(phi) @ g
        assert close(m.log_gradient(tuple(phi), tuple(g)), expected, GRADIENT)


@given(directions(), st.floats(0.01, 3.0), vectors)
def test_gradient_is_the_derivative_of_the_logarithm(axis, angle, g) -> None:
    """g·log(R exp(ε ω)) differentiated numerically."""
    phi, step = angle * np.array(axis), 1e-5
    R = Rotation.from_rotvec(phi)
    expected = [
        (g @ (R * Rotation.from_rotvec(step * d)).as_rotvec() - g @ (R * Rotation.from_rotvec(-step * d)).as_rotvec())
        / (2 * step)
        for d in np.eye(3)
    ]
    # Central differences: step² of the third derivative (grows towards half a turn) plus EPS/step of rounding.
    assert close(m.log_gradient(tuple(phi), g), expected, 1e-7 * (1.0 + np.linalg.norm(g)))


def test_a_quarter_turn_about_z_takes_x_to_y() -> None:
    R = matrix(m.rotation_about((0.0, 0.0, 1.0), np.pi / 2))
    assert close(R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], ENTRY)
