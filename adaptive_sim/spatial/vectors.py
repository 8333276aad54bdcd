"""3-vectors, 3×3 and symmetric 3×3 matrices as tuples of floats, for use inside kernels.

Tuples live in registers and cost no allocation, and the code stays functional: `cross(w, v)`.

    vector     (x, y, z)
    matrix     (a00, a01, a02, a10, ..., a22), row by row
    symmetric  (xx, xy, xz, yy, yz, zz): only six numbers, so it is symmetric to the last bit
"""

from __future__ import annotations

from typing import TypeAlias

from ..compiled import kernel

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
Symmetric: TypeAlias = tuple[float, float, float, float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel(inline=True)
def add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel(inline=True)
def subtract(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel(inline=True)
def scale(s: float, a: Vector) -> Vector:
    return (s * a[0], s * a[1], s * a[2])


@kernel(inline=True)
def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(inline=True)
def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel(inline=True)
def multiply(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@kernel(inline=True)
def apply(A: Matrix, v: Vector) -> Vector:
    """A v."""
    return (
        A[0] * v[0] + A[1] * v[1] + A[2] * v[2],
        A[3] * v[0] + A[4] * v[1] + A[5] * v[2],
        A[6] * v[0] + A[7] * v[1] + A[8] * v[2],
    )


@kernel(inline=True)
def apply_transposed(A: Matrix, v: Vector) -> Vector:
    """Aᵀ v."""
    return (
        A[0] * v[0] + A[3] * v[1] + A[6] * v[2],
        A[1] * v[0] + A[4] * v[1] + A[7] * v[2],
        A[2] * v[0] + A[5] * v[1] + A[8] * v[2],
    )


@kernel(inline=True)
def transpose(A: Matrix) -> Matrix:
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@kernel(inline=True)
def apply_symmetric(S: Symmetric, v: Vector) -> Vector:
    """S v."""
    return (
        S[0] * v[0] + S[1] * v[1] + S[2] * v[2],
        S[1] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[2] * v[0] + S[4] * v[1] + S[5] * v[2],
    )


@kernel(inline=True)
def rotate_symmetric(R: Matrix, S: Symmetric) -> Symmetric:
    """R S Rᵀ for a rotation R."""
    a = apply_symmetric(S, (R[0], R[1], R[2]))  # S times the rows of R
    b = apply_symmetric(S, (R[3], R[4], R[5]))
    c = apply_symmetric(S, (R[6], R[7], R[8]))
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[0] * b[0] + R[1] * b[1] + R[2] * b[2],
        R[0] * c[0] + R[1] * c[1] + R[2] * c[2],
        R[3] * b[0] + R[4] * b[1] + R[5] * b[2],
        R[3] * c[0] + R[4] * c[1] + R[5] * c[2],
        R[6] * c[0] + R[7] * c[1] + R[8] * c[2],
    )


@kernel(inline=True)
def rotate_matrix(R: Matrix, B: Matrix) -> Matrix:
    """R B Rᵀ for a rotation R."""
    return multiply(multiply(R, B), transpose(R))
