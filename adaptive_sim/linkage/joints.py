"""The joint types: what they move, in which coordinates, and their kernels. Special cases live here and nowhere else.

A joint places the child body's frame relative to the joint frame (fixed in the parent body): pose (R_J, p_J)(q).
Its motion subspace S (6×d, body frame) maps joint velocity to relative motion, v_J = S v.

| type        | d | nq | q                                   | v                                         |
|-------------|---|----|-------------------------------------|-------------------------------------------|
| fixed       | 0 | 0  |                                     |                                           |
| revolute    | 1 | 1  | angle about `axis`                  | its rate                                  |
| prismatic   | 1 | 1  | displacement along `axis`           | its rate                                  |
| helical     | 1 | 1  | angle; moves `pitch`·angle along    | its rate                                  |
| cylindrical | 2 | 2  | displacement along, angle about     | their rates                               |
| universal   | 2 | 2  | angle about `axis`, then `axis2`    | their rates                               |
| spherical   | 3 | 4  | quaternion x, y, z, w               | angular velocity, body frame              |
| planar      | 3 | 3  | x, y, angle; normal is `axis`       | velocity (2), rate, body frame            |
| free        | 6 | 7  | translation, quaternion             | velocity (3), angular velocity, body frame|

Linear coordinates come before angular ones. Units: m, rad, m/rad for the pitch. For a planar joint, x and y run along
`plane_axes(axis)`.

**Kernel frames.** Kernels see every body in a frame turned, once and for all, so that the joint's axis is its z axis
(`Linkage.kernel_frame`; the last axis of a universal joint). S then picks coordinates (ωz for a revolute joint) instead
of mixing them, which saves a third of the arithmetic of the articulated-body algorithm.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from ..compiled import kernel
from ..spatial.motion import Spatial
from ..spatial.rotations import (
    log_gradient,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    quaternion_normalize,
    rotation_about,
    rotation_of_quaternion,
    turn_z,
)
from ..spatial.rows import get_vector, set_matrix
from ..spatial.trigonometry import sincos
from ..spatial.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Vector,
    apply,
    apply_transposed,
    cross,
    scale,
)
from ..typing import Floats


class JointType(IntEnum):
    """The kinds of joints. The first four numbers are those of common reference data."""

    REVOLUTE = 0
    PRISMATIC = 1
    SPHERICAL = 2
    FREE = 3
    FIXED = 4
    HELICAL = 5
    CYLINDRICAL = 6
    UNIVERSAL = 7
    PLANAR = 8


REVOLUTE, PRISMATIC, SPHERICAL, FREE, FIXED, HELICAL, CYLINDRICAL, UNIVERSAL, PLANAR = (int(t) for t in JointType)

# Numbers of velocities and of position coordinates, indexed by JointType.
DOF = np.array([1, 1, 3, 6, 0, 1, 2, 2, 3], dtype=np.int64)
N_Q = np.array([1, 1, 4, 7, 0, 1, 2, 2, 3], dtype=np.int64)
# Types whose `axis` means something, and where in q a quaternion starts (−1: none).
HAS_AXIS = np.array([1, 1, 0, 0, 0, 1, 1, 1, 1], dtype=bool)
QUATERNION_AT = np.array([-1, -1, 0, 3, -1, -1, -1, -1, -1], dtype=np.int64)


@kernel(inline=True)
def plane_axes(normal: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors that make a right-handed frame with the unit normal; z gives x and y exactly."""
    # Duff et al., "Building an orthonormal basis, revisited": continuous but for one point.
    sign = math.copysign(1.0, normal[2])
    a = -1.0 / (sign + normal[2])
    b = normal[0] * normal[1] * a
    return (
        (1.0 + sign * normal[0] * normal[0] * a, sign * b, -sign * normal[0]),
        (b, sign + normal[1] * normal[1] * a, -normal[1]),
    )


@kernel
def frames_along(axes: Floats, frames: Floats) -> None:
    """Rotations (n, 9) whose third column is the given unit vector (n, 3)."""
    for i in range(len(axes)):
        z = get_vector(axes, i)
        x, y = plane_axes(z)
        set_matrix(frames, i, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))


@kernel
def joint_pose(kind: int, axis1: Vector, pitch: float, q: Floats, at: int) -> tuple[Matrix, Vector]:
    """Pose (R_J, p_J) of the child frame in the joint frame, for coordinates q[at:]; kernel frames.

    axis1: first axis of a universal joint.
    """
    if kind == REVOLUTE:
        return (turn_z(IDENTITY, q[at]), ZERO)
    if kind == PRISMATIC:
        return (IDENTITY, (0.0, 0.0, q[at]))
    if kind == SPHERICAL:
        return (rotation_of_quaternion((q[at], q[at + 1], q[at + 2], q[at + 3])), ZERO)
    if kind == FREE:
        R = rotation_of_quaternion((q[at + 3], q[at + 4], q[at + 5], q[at + 6]))
        return (R, (q[at], q[at + 1], q[at + 2]))
    if kind == HELICAL:
        return (turn_z(IDENTITY, q[at]), (0.0, 0.0, pitch * q[at]))
    if kind == CYLINDRICAL:
        return (turn_z(IDENTITY, q[at + 1]), (0.0, 0.0, q[at]))
    if kind == UNIVERSAL:
        return (turn_z(rotation_about(axis1, q[at]), q[at + 1]), ZERO)
    if kind == PLANAR:
        return (turn_z(IDENTITY, q[at + 2]), (q[at], q[at + 1], 0.0))
    return (IDENTITY, ZERO)


@kernel(inline=True)
def unit(k: int) -> Vector:
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@kernel
def subspace_column(kind: int, axis1: Vector, pitch: float, q: Floats, at: int, k: int) -> Spatial:
    """Column k of the motion subspace S, in the kernel frame of the body. Constant but for universal joints."""
    z = (0.0, 0.0, 1.0)
    if kind == REVOLUTE:
        return (z, ZERO)
    if kind == PRISMATIC:
        return (ZERO, z)
    if kind == SPHERICAL:
        return (unit(k), ZERO)
    if kind == FREE:
        return (unit(k - 3), unit(k))
    if kind == HELICAL:
        return (z, (0.0, 0.0, pitch))
    if kind == CYLINDRICAL:
        return (ZERO, z) if k == 0 else (z, ZERO)
    if kind == UNIVERSAL:
        return (apply_transposed(turn_z(IDENTITY, q[at + 1]), axis1), ZERO) if k == 0 else (z, ZERO)
    if kind == PLANAR:
        return (ZERO, unit(k)) if k < 2 else (z, ZERO)
    return (ZERO, ZERO)


@kernel(inline=True)
def universal_turn(s0: Vector, v0: float, v1: float) -> Vector:
    """c_J = S° v of a universal joint: s₀ = Rz(−q₂) a₁ turns against the second rotation."""
    return scale(v0 * v1, cross(s0, (0.0, 0.0, 1.0)))


@kernel
def integrate_joint(kind: int, q: Floats, at: int, step: Floats, first: int, out: Floats) -> None:
    """out[at:] = q[at:] moved by `step` = v·Δt along the manifold (exponential map in body coordinates)."""
    if kind == SPHERICAL or kind == FREE:
        e = at if kind == SPHERICAL else at + 3
        s = first if kind == SPHERICAL else first + 3
        old = (q[e], q[e + 1], q[e + 2], q[e + 3])
        if kind == FREE:
            moved = apply(rotation_of_quaternion(old), (step[first], step[first + 1], step[first + 2]))
            for k in range(3):
                out[at + k] = q[at + k] + moved[k]
        new = quaternion_normalize(quaternion_multiply(old, quaternion_exp((step[s], step[s + 1], step[s + 2]))))
        for k in range(4):
            out[e + k] = new[k]
    elif kind == PLANAR:
        s_, c = sincos(q[at + 2])
        out[at] = q[at] + c * step[first] - s_ * step[first + 1]
        out[at + 1] = q[at + 1] + s_ * step[first] + c * step[first + 1]
        out[at + 2] = q[at + 2] + step[first + 2]
    else:
        for k in range(N_Q[kind]):
            out[at + k] = q[at + k] + step[first + k]


@kernel
def joint_difference(kind: int, q0: Floats, q1: Floats, at: int, first: int, out: Floats) -> None:
    """out[first:] = the step that `integrate_joint` needs to go from q0 to q1."""
    if kind == SPHERICAL or kind == FREE:
        e = at if kind == SPHERICAL else at + 3
        s = first if kind == SPHERICAL else first + 3
        a = (q0[e], q0[e + 1], q0[e + 2], q0[e + 3])
        b = (q1[e], q1[e + 1], q1[e + 2], q1[e + 3])
        if kind == FREE:
            gone = (q1[at] - q0[at], q1[at + 1] - q0[at + 1], q1[at + 2] - q0[at + 2])
            moved = apply_transposed(rotation_of_quaternion(a), gone)
            for k in range(3):
                out[first + k] = moved[k]
        phi = quaternion_log(quaternion_multiply(quaternion_conjugate(a), b))
        for k in range(3):
            out[s + k] = phi[k]
    elif kind == PLANAR:
        s_, c = sincos(q0[at + 2])
        dx = q1[at] - q0[at]
        dy = q1[at + 1] - q0[at + 1]
        out[first] = c * dx + s_ * dy
        out[first + 1] = -s_ * dx + c * dy
        out[first + 2] = q1[at + 2] - q0[at + 2]
    else:
        for k in range(N_Q[kind]):
            out[first + k] = q1[at + k] - q0[at + k]


@kernel
def spring_force(kind: int, q: Floats, rest: Floats, at: int, stiffness: Floats, first: int, out: Floats) -> float:
    """Subtract the spring force from out[first:]; return the energy stored.

    Energy ½ Σ k_d δ_d²: δ = q − rest for scalar coordinates, the rotation vector from rest for rotations, the
    translation in joint-frame axes for free and planar joints. The force is its exact gradient.
    """
    energy = 0.0
    if kind == SPHERICAL or kind == FREE:
        e = at if kind == SPHERICAL else at + 3
        s = first if kind == SPHERICAL else first + 3
        a = (rest[e], rest[e + 1], rest[e + 2], rest[e + 3])
        b = (q[e], q[e + 1], q[e + 2], q[e + 3])
        if kind == FREE:
            d = (q[at] - rest[at], q[at + 1] - rest[at + 1], q[at + 2] - rest[at + 2])
            g = (stiffness[first] * d[0], stiffness[first + 1] * d[1], stiffness[first + 2] * d[2])
            energy += 0.5 * (g[0] * d[0] + g[1] * d[1] + g[2] * d[2])
            pull = apply_transposed(rotation_of_quaternion(b), g)
            for k in range(3):
                out[first + k] -= pull[k]
        phi = quaternion_log(quaternion_normalize(quaternion_multiply(quaternion_conjugate(a), b)))
        h = (stiffness[s] * phi[0], stiffness[s + 1] * phi[1], stiffness[s + 2] * phi[2])
        energy += 0.5 * (h[0] * phi[0] + h[1] * phi[1] + h[2] * phi[2])
        torque = log_gradient(phi, h)
        for k in range(3):
            out[s + k] -= torque[k]
    elif kind == PLANAR:
        gx = stiffness[first] * (q[at] - rest[at])
        gy = stiffness[first + 1] * (q[at + 1] - rest[at + 1])
        angle = q[at + 2] - rest[at + 2]
        s_, c = sincos(q[at + 2])
        out[first] -= c * gx + s_ * gy
        out[first + 1] -= -s_ * gx + c * gy
        out[first + 2] -= stiffness[first + 2] * angle
        energy = 0.5 * (
            gx * (q[at] - rest[at]) + gy * (q[at + 1] - rest[at + 1]) + stiffness[first + 2] * angle * angle
        )
    else:
        for k in range(N_Q[kind]):
            d1 = q[at + k] - rest[at + k]
            out[first + k] -= stiffness[first + k] * d1
            energy += 0.5 * stiffness[first + k] * d1 * d1
    return energy
