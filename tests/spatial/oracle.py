"""What the 6-D algebra means, as 3×3 and 6×6 NumPy matrices (Featherstone 2008, chapter 2), and exact sine and cosine.

Also hypothesis strategies for its arguments.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

# Sums of at most about 60 products of numbers up to LARGEST, each product and sum rounded once.
LARGEST = 10.0
EPS = float(np.finfo(float).eps)

numbers = st.floats(-LARGEST, LARGEST, allow_nan=False, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)
matrices = st.tuples(*[numbers] * 9)
symmetrics = st.tuples(*[numbers] * 6)
spatials = st.tuples(vectors, vectors)
rigid_inertias = st.tuples(numbers, vectors, symmetrics)
articulated_inertias = st.tuples(symmetrics, matrices, symmetrics)


@st.composite
def quaternions(draw: st.DrawFn) -> tuple[float, ...]:
    """Unit quaternions, the identity and half turns among them."""
    e = np.array(draw(st.tuples(*[st.floats(-1.0, 1.0, allow_subnormal=False)] * 4)))
    norm = np.linalg.norm(e)
    return tuple((e / norm if norm > 1e-3 else np.array([0.0, 0.0, 0.0, 1.0])).tolist())


@st.composite
def rotations(draw: st.DrawFn) -> tuple[float, ...]:
    """Rotation matrices, as the kernels store them."""
    return flat(Rotation.from_quat(draw(quaternions())).as_matrix())


def flat(A: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in np.ravel(A))


def matrix(A: tuple[float, ...]) -> Array:
    return np.array(A).reshape(3, 3)


def symmetric(S: tuple[float, ...]) -> Array:
    xx, xy, xz, yy, yz, zz = S
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def symmetric_flat(S: Array) -> Array:
    return S[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]


def vector6(m: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    return np.concatenate(m)


def skew(a: tuple[float, ...] | Array) -> Array:
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def motion_transform(R: tuple[float, ...], p: tuple[float, ...]) -> Array:
    """Parent coordinates to child coordinates: [E 0; −E p× E] with E = Rᵀ (2.24)."""
    E = matrix(R).T
    return np.block([[E, np.zeros((3, 3))], [-E @ skew(p), E]])


def motion_cross(m: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    """[ω× 0; v× ω×] (2.31); the cross operator on forces is −its transpose."""
    w, v = m
    return np.block([[skew(w), np.zeros((3, 3))], [skew(v), skew(w)]])


def rigid(inertia: tuple[float, tuple[float, ...], tuple[float, ...]]) -> Array:
    """[J h×; −h× m1] with h = m c and J about the origin (2.63)."""
    mass, h, J = inertia
    return np.block([[symmetric(J), skew(h)], [-skew(h), mass * np.eye(3)]])


def articulated(inertia: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]) -> Array:
    A, B, C = inertia
    return np.block([[symmetric(A), matrix(B)], [matrix(B).T, symmetric(C)]])


# -------------------------------------------------------------------- sine and cosine without floating point

_BITS = 1400  # enough digits of π to reduce 1e300 (1000 bits) and keep 400
_WORK = 200  # bits kept after the reduction


@cache
def _pi() -> int:
    """π · 2^_BITS by Machin's formula."""

    def arctan_inverse(n: int) -> int:
        term = total = (1 << (_BITS + 32)) // n
        k, sign = 1, -1
        while term:
            term //= n * n
            k += 2
            total += sign * (term // k)
            sign = -sign
        return total

    return (4 * (4 * arctan_inverse(5) - arctan_inverse(239))) >> 32


def exact_sincos(x: float) -> tuple[Fraction, Fraction]:
    """sin x and cos x with an absolute error below 2⁻¹⁹⁰, by integers alone."""
    exact = Fraction(x)
    scaled = (exact.numerator << _BITS) // exact.denominator
    r = (scaled % (2 * _pi())) >> (_BITS - _WORK)
    one = 1 << _WORK
    sums = [0, 0]
    term, k = one, 0
    while term:
        sums[k & 1] += term if k & 2 == 0 else -term
        k += 1
        term = ((term * r) >> _WORK) // k
    return Fraction(sums[1], one), Fraction(sums[0], one)


def ulps(found: float, exact: Fraction) -> float:
    """Error in units in the last place of the exact value."""
    return float(abs(Fraction(found) - exact) / Fraction(float(np.spacing(abs(float(exact))))))
