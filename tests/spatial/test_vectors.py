"""3-vectors and 3×3 matrices as tuples, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from adaptive_sim.spatial import vectors as m

from .oracle import (
    EPS,
    LARGEST,
    flat,
    matrices,
    matrix,
    numbers,
    rotations,
    skew,
    symmetric,
    symmetric_flat,
    symmetrics,
    vectors,
)

pytestmark = pytest.mark.plain

# Two products of numbers up to LARGEST and a few sums: a handful of roundings of numbers up to 3·LARGEST².
TWO_FACTORS = 4 * EPS * 3 * LARGEST**2
# R B Rᵀ: nine products of a rotation's entries with numbers up to LARGEST.
TURNED = 16 * EPS * 9 * LARGEST


def close(found: object, expected: object, tolerance: float) -> bool:
    return bool(np.all(np.abs(np.asarray(found) - np.asarray(expected)) <= tolerance))


@given(vectors, vectors, numbers)
def test_sums_and_scaling_are_exactly_numpys(a, b, s) -> None:
    assert m.add(a, b) == tuple(np.add(a, b))
    assert m.subtract(a, b) == tuple(np.subtract(a, b))
    assert m.scale(s, a) == tuple(s * np.array(a))


@given(vectors, vectors)
def test_products_of_vectors(a, b) -> None:
    assert close(m.dot(a, b), np.dot(a, b), TWO_FACTORS)
    assert close(m.cross(a, b), np.cross(a, b), TWO_FACTORS)
    assert close(m.cross(a, b), skew(a) @ b, TWO_FACTORS)


@given(matrices, matrices, vectors)
def test_products_of_matrices(A, B, v) -> None:
    assert close(m.multiply(A, B), flat(matrix(A) @ matrix(B)), TWO_FACTORS)
    assert close(m.apply(A, v), matrix(A) @ v, TWO_FACTORS)
    assert close(m.apply_transposed(A, v), matrix(A).T @ v, TWO_FACTORS)
    assert m.transpose(A) == flat(matrix(A).T)


@given(symmetrics, vectors)
def test_symmetric_matrix_times_vector(S, v) -> None:
    assert close(m.apply_symmetric(S, v), symmetric(S) @ v, TWO_FACTORS)


@given(rotations(), symmetrics, matrices)
def test_turning_a_matrix(R, S, B) -> None:
    turned = matrix(R) @ symmetric(S) @ matrix(R).T
    assert close(m.rotate_symmetric(R, S), symmetric_flat(turned), TURNED)
    assert close(m.rotate_matrix(R, B), flat(matrix(R) @ matrix(B) @ matrix(R).T), TURNED)


def test_constants() -> None:
    assert tuple(m.ZERO) == (0.0, 0.0, 0.0)
    assert tuple(m.IDENTITY) == flat(np.eye(3))
