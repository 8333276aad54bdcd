"""6-D motion, force and inertia (Featherstone), angular part first, as tuples for use inside kernels.

motion  (w, v)     angular velocity, velocity of the frame's origin
force   (n, f)     moment about the frame's origin, force
pose    (R, p)     of a child frame in its parent's: x_parent = R x_child + p
rigid inertia        (m, h, J)  mass, m·(centre of mass), rotational inertia about the ORIGIN
articulated inertia  (A, B, C)  [n; f] = [A B; Bᵀ C] [w; v], A and C symmetric
"""

from __future__ import annotations

from typing import TypeAlias

from ..compiled import kernel
from .vectors import (
    Matrix,
    Symmetric,
    Vector,
    add,
    apply,
    apply_symmetric,
    apply_transposed,
    cross,
    dot,
    rotate_matrix,
    rotate_symmetric,
    scale,
    subtract,
)

Spatial: TypeAlias = tuple[Vector, Vector]
RigidInertia: TypeAlias = tuple[float, Vector, Symmetric]
ArticulatedInertia: TypeAlias = tuple[Symmetric, Matrix, Symmetric]


@kernel(inline=True)
def spatial_add(a: Spatial, b: Spatial) -> Spatial:
    return (add(a[0], b[0]), add(a[1], b[1]))


@kernel(inline=True)
def spatial_scale(s: float, a: Spatial) -> Spatial:
    return (scale(s, a[0]), scale(s, a[1]))


@kernel(inline=True)
def pairing(motion: Spatial, force: Spatial) -> float:
    """Power of a force along a motion."""
    return dot(motion[0], force[0]) + dot(motion[1], force[1])


@kernel(inline=True)
def cross_motion(a: Spatial, b: Spatial) -> Spatial:
    """a × b: rate of change of motion b carried along by a."""
    return (cross(a[0], b[0]), add(cross(a[0], b[1]), cross(a[1], b[0])))


@kernel(inline=True)
def cross_force(a: Spatial, f: Spatial) -> Spatial:
    """a ×* f: rate of change of force f carried along by a."""
    return (add(cross(a[0], f[0]), cross(a[1], f[1])), cross(a[0], f[1]))


@kernel(inline=True)
def motion_to_child(R: Matrix, p: Vector, m: Spatial) -> Spatial:
    """A motion in parent coordinates, expressed in the child frame (R, p)."""
    return (apply_transposed(R, m[0]), apply_transposed(R, add(m[1], cross(m[0], p))))


@kernel(inline=True)
def motion_to_parent(R: Matrix, p: Vector, m: Spatial) -> Spatial:
    """A motion in child coordinates, expressed in the parent frame."""
    w = apply(R, m[0])
    return (w, add(apply(R, m[1]), cross(p, w)))


@kernel(inline=True)
def force_to_parent(R: Matrix, p: Vector, f: Spatial) -> Spatial:
    """A force in child coordinates, expressed in the parent frame."""
    linear = apply(R, f[1])
    return (add(apply(R, f[0]), cross(p, linear)), linear)


@kernel(inline=True)
def force_to_child(R: Matrix, p: Vector, f: Spatial) -> Spatial:
    """A force in parent coordinates, expressed in the child frame (R, p)."""
    return (apply_transposed(R, subtract(f[0], cross(p, f[1]))), apply_transposed(R, f[1]))


@kernel(inline=True)
def rigid_momentum(inertia: RigidInertia, m: Spatial) -> Spatial:
    """I v of a rigid body."""
    mass, h, J = inertia
    return (
        add(apply_symmetric(J, m[0]), cross(h, m[1])),
        subtract(scale(mass, m[1]), cross(h, m[0])),
    )


@kernel(inline=True)
def rigid_to_parent(R: Matrix, p: Vector, inertia: RigidInertia) -> RigidInertia:
    """A rigid inertia in child coordinates, expressed in (and about the origin of) the parent frame."""
    mass, h, J = inertia
    k = apply(R, h)  # m·c in parent axes
    S = rotate_symmetric(R, J)
    # Parallel axes: J' = S + (2 p·k + m p·p) 1 − (p kᵀ + k pᵀ + m p pᵀ), with g = k + m p.
    g = add(k, scale(mass, p))
    d = dot(p, k) + dot(p, g)
    return (
        mass,
        g,
        (
            S[0] + d - (p[0] * k[0] + g[0] * p[0]),
            S[1] - (p[0] * k[1] + g[0] * p[1]),
            S[2] - (p[0] * k[2] + g[0] * p[2]),
            S[3] + d - (p[1] * k[1] + g[1] * p[1]),
            S[4] - (p[1] * k[2] + g[1] * p[2]),
            S[5] + d - (p[2] * k[2] + g[2] * p[2]),
        ),
    )


@kernel(inline=True)
def rigid_add(a: RigidInertia, b: RigidInertia) -> RigidInertia:
    S, T = a[2], b[2]
    return (
        a[0] + b[0],
        add(a[1], b[1]),
        (S[0] + T[0], S[1] + T[1], S[2] + T[2], S[3] + T[3], S[4] + T[4], S[5] + T[5]),
    )


@kernel(inline=True)
def articulated_of_rigid(inertia: RigidInertia) -> ArticulatedInertia:
    mass, h, J = inertia
    return (J, (0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0), (mass, 0.0, 0.0, mass, 0.0, mass))


@kernel(inline=True)
def articulated_apply(inertia: ArticulatedInertia, m: Spatial) -> Spatial:
    """I^A m."""
    A, B, C = inertia
    return (
        add(apply_symmetric(A, m[0]), apply(B, m[1])),
        add(apply_transposed(B, m[0]), apply_symmetric(C, m[1])),
    )


@kernel(inline=True)
def articulated_remove(inertia: ArticulatedInertia, U: Spatial, s: float) -> ArticulatedInertia:
    """I^A − s U Uᵀ: the inertia that remains when motion along one joint axis gives way freely."""
    A, B, C = inertia
    n, f = U
    sn = scale(s, n)
    sf = scale(s, f)
    return (
        (A[0] - sn[0] * n[0], A[1] - sn[0] * n[1], A[2] - sn[0] * n[2],
         A[3] - sn[1] * n[1], A[4] - sn[1] * n[2], A[5] - sn[2] * n[2]),
        (B[0] - sn[0] * f[0], B[1] - sn[0] * f[1], B[2] - sn[0] * f[2],
         B[3] - sn[1] * f[0], B[4] - sn[1] * f[1], B[5] - sn[1] * f[2],
         B[6] - sn[2] * f[0], B[7] - sn[2] * f[1], B[8] - sn[2] * f[2]),
        (C[0] - sf[0] * f[0], C[1] - sf[0] * f[1], C[2] - sf[0] * f[2],
         C[3] - sf[1] * f[1], C[4] - sf[1] * f[2], C[5] - sf[2] * f[2]),
    )  # fmt: skip


@kernel(inline=True)
def articulated_remove_z(inertia: ArticulatedInertia, s: float) -> ArticulatedInertia:
    """`articulated_remove` for motion about z: U is column z of I^A, s = 1/A_zz, and what belongs to z becomes zero."""
    A, B, C = inertia
    n = (A[2], A[4])
    f = (B[6], B[7], B[8])
    sn = (s * n[0], s * n[1])
    sf = scale(s, f)
    return (
        (A[0] - sn[0] * n[0], A[1] - sn[0] * n[1], 0.0, A[3] - sn[1] * n[1], 0.0, 0.0),
        (B[0] - sn[0] * f[0], B[1] - sn[0] * f[1], B[2] - sn[0] * f[2],
         B[3] - sn[1] * f[0], B[4] - sn[1] * f[1], B[5] - sn[1] * f[2],
         0.0, 0.0, 0.0),
        (C[0] - sf[0] * f[0], C[1] - sf[0] * f[1], C[2] - sf[0] * f[2],
         C[3] - sf[1] * f[1], C[4] - sf[1] * f[2], C[5] - sf[2] * f[2]),
    )  # fmt: skip


@kernel(inline=True)
def articulated_apply_z(inertia: ArticulatedInertia, c: Spatial) -> Spatial:
    """`articulated_apply` for an inertia without rotation about z and a motion c without z components."""
    A, B, C = inertia
    (w0, w1, _), (v0, v1, _) = c
    return (
        (A[0] * w0 + A[1] * w1 + B[0] * v0 + B[1] * v1, A[1] * w0 + A[3] * w1 + B[3] * v0 + B[4] * v1, 0.0),
        (
            B[0] * w0 + B[3] * w1 + C[0] * v0 + C[1] * v1,
            B[1] * w0 + B[4] * w1 + C[1] * v0 + C[3] * v1,
            B[2] * w0 + B[5] * w1 + C[2] * v0 + C[4] * v1,
        ),
    )


@kernel(inline=True)
def cross_motion_z(a: Spatial, rate: float) -> Spatial:
    """a × (rate about z): the velocity product of a revolute joint; its z components are zero."""
    return ((rate * a[0][1], -rate * a[0][0], 0.0), (rate * a[1][1], -rate * a[1][0], 0.0))


@kernel(inline=True)
def articulated_to_parent(R: Matrix, p: Vector, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """X* I^A X*ᵀ: an articulated inertia in child coordinates, expressed in the parent frame.

    With P = p×:  C' = R C Rᵀ,  B' = R B Rᵀ + P C',  A' = R A Rᵀ + P (R B Rᵀ)ᵀ − B' P.
    """
    A, B, C = inertia
    return _shift(p, rotate_symmetric(R, A), rotate_matrix(R, B), rotate_symmetric(R, C))


@kernel(inline=True)
def articulated_to_parent_z(R: Matrix, p: Vector, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """`articulated_to_parent` for an inertia whose row and column of rotation about z are zero."""
    A, B, C = inertia
    # R A Rᵀ from the 2×2 block of A.
    a0 = (R[0] * A[0] + R[1] * A[1], R[0] * A[1] + R[1] * A[3])
    a1 = (R[3] * A[0] + R[4] * A[1], R[3] * A[1] + R[4] * A[3])
    a2 = (R[6] * A[0] + R[7] * A[1], R[6] * A[1] + R[7] * A[3])
    A_turned = (
        a0[0] * R[0] + a0[1] * R[1], a0[0] * R[3] + a0[1] * R[4], a0[0] * R[6] + a0[1] * R[7],
        a1[0] * R[3] + a1[1] * R[4], a1[0] * R[6] + a1[1] * R[7], a2[0] * R[6] + a2[1] * R[7],
    )  # fmt: skip
    # R B Rᵀ from the two rows of B.
    b0 = apply(R, (B[0], B[1], B[2]))
    b1 = apply(R, (B[3], B[4], B[5]))
    B_turned = (
        R[0] * b0[0] + R[1] * b1[0], R[0] * b0[1] + R[1] * b1[1], R[0] * b0[2] + R[1] * b1[2],
        R[3] * b0[0] + R[4] * b1[0], R[3] * b0[1] + R[4] * b1[1], R[3] * b0[2] + R[4] * b1[2],
        R[6] * b0[0] + R[7] * b1[0], R[6] * b0[1] + R[7] * b1[1], R[6] * b0[2] + R[7] * b1[2],
    )  # fmt: skip
    return _shift(p, A_turned, B_turned, rotate_symmetric(R, C))


@kernel(inline=True)
def _shift(p: Vector, A: Symmetric, B: Matrix, C: Symmetric) -> ArticulatedInertia:
    """About a point −p away: B' = B + P C,  A' = A + P Bᵀ − B' P."""
    x, y, z = p
    # P C: p crossed with the columns of C.
    D = (
        B[0] + (y * C[2] - z * C[1]), B[1] + (y * C[4] - z * C[3]), B[2] + (y * C[5] - z * C[4]),
        B[3] + (z * C[0] - x * C[2]), B[4] + (z * C[1] - x * C[4]), B[5] + (z * C[2] - x * C[5]),
        B[6] + (x * C[1] - y * C[0]), B[7] + (x * C[3] - y * C[1]), B[8] + (x * C[4] - y * C[2]),
    )  # fmt: skip
    # Upper triangle of P Bᵀ − D P; (D P)ᵢ is row i of D crossed with p.
    return (
        (
            A[0] + (y * B[2] - z * B[1]) - (D[1] * z - D[2] * y),
            A[1] + (y * B[5] - z * B[4]) - (D[2] * x - D[0] * z),
            A[2] + (y * B[8] - z * B[7]) - (D[0] * y - D[1] * x),
            A[3] + (z * B[3] - x * B[5]) - (D[5] * x - D[3] * z),
            A[4] + (z * B[6] - x * B[8]) - (D[3] * y - D[4] * x),
            A[5] + (x * B[7] - y * B[6]) - (D[6] * y - D[7] * x),
        ),
        D,
        C,
    )


@kernel(inline=True)
def articulated_add(a: ArticulatedInertia, b: ArticulatedInertia) -> ArticulatedInertia:
    A, B, C = a
    D, E, F = b
    return (
        (A[0] + D[0], A[1] + D[1], A[2] + D[2], A[3] + D[3], A[4] + D[4], A[5] + D[5]),
        (B[0] + E[0], B[1] + E[1], B[2] + E[2], B[3] + E[3], B[4] + E[4], B[5] + E[5],
         B[6] + E[6], B[7] + E[7], B[8] + E[8]),
        (C[0] + F[0], C[1] + F[1], C[2] + F[2], C[3] + F[3], C[4] + F[4], C[5] + F[5]),
    )  # fmt: skip
