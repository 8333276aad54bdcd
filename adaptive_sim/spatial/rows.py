"""Reading and writing tuples from and to rows of arrays: the only place where the two meet."""

from __future__ import annotations

from ..compiled import kernel
from ..typing import Floats
from .motion import ArticulatedInertia, RigidInertia, Spatial
from .vectors import Matrix, Vector


@kernel(inline=True)
def get_vector(rows: Floats, i: int) -> Vector:
    return (rows[i, 0], rows[i, 1], rows[i, 2])


@kernel(inline=True)
def set_vector(rows: Floats, i: int, a: Vector) -> None:
    rows[i, 0] = a[0]
    rows[i, 1] = a[1]
    rows[i, 2] = a[2]


@kernel(inline=True)
def get_matrix(rows: Floats, i: int) -> Matrix:
    return (
        rows[i, 0], rows[i, 1], rows[i, 2],
        rows[i, 3], rows[i, 4], rows[i, 5],
        rows[i, 6], rows[i, 7], rows[i, 8],
    )  # fmt: skip


@kernel(inline=True)
def set_matrix(rows: Floats, i: int, A: Matrix) -> None:
    rows[i, 0] = A[0]
    rows[i, 1] = A[1]
    rows[i, 2] = A[2]
    rows[i, 3] = A[3]
    rows[i, 4] = A[4]
    rows[i, 5] = A[5]
    rows[i, 6] = A[6]
    rows[i, 7] = A[7]
    rows[i, 8] = A[8]


@kernel(inline=True)
def get_spatial(rows: Floats, i: int) -> Spatial:
    return ((rows[i, 0], rows[i, 1], rows[i, 2]), (rows[i, 3], rows[i, 4], rows[i, 5]))


@kernel(inline=True)
def set_spatial(rows: Floats, i: int, a: Spatial) -> None:
    rows[i, 0] = a[0][0]
    rows[i, 1] = a[0][1]
    rows[i, 2] = a[0][2]
    rows[i, 3] = a[1][0]
    rows[i, 4] = a[1][1]
    rows[i, 5] = a[1][2]


@kernel(inline=True)
def get_rigid(rows: Floats, i: int) -> RigidInertia:
    """From ten numbers: m, h (3), J (6)."""
    return (
        rows[i, 0],
        (rows[i, 1], rows[i, 2], rows[i, 3]),
        (rows[i, 4], rows[i, 5], rows[i, 6], rows[i, 7], rows[i, 8], rows[i, 9]),
    )


@kernel(inline=True)
def set_rigid(rows: Floats, i: int, inertia: RigidInertia) -> None:
    rows[i, 0] = inertia[0]
    for k in range(3):
        rows[i, 1 + k] = inertia[1][k]
    for k in range(6):
        rows[i, 4 + k] = inertia[2][k]


@kernel(inline=True)
def get_articulated(rows: Floats, i: int) -> ArticulatedInertia:
    """From twenty-one numbers: A (6), B (9), C (6)."""
    return (
        (rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5]),
        (rows[i, 6], rows[i, 7], rows[i, 8], rows[i, 9], rows[i, 10], rows[i, 11],
         rows[i, 12], rows[i, 13], rows[i, 14]),
        (rows[i, 15], rows[i, 16], rows[i, 17], rows[i, 18], rows[i, 19], rows[i, 20]),
    )  # fmt: skip


@kernel(inline=True)
def set_articulated(rows: Floats, i: int, inertia: ArticulatedInertia) -> None:
    for k in range(6):
        rows[i, k] = inertia[0][k]
    for k in range(9):
        rows[i, 6 + k] = inertia[1][k]
    for k in range(6):
        rows[i, 15 + k] = inertia[2][k]
