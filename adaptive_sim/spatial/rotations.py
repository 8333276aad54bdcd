"""Rotations: about an axis, as unit quaternions (x, y, z, w), exponential and logarithm.

A rotation vector φ has the direction of the axis and the length of the angle. `exp` and `log` stay accurate to
rounding for angles from 0 to π: the series replace the quotients where those lose digits.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compiled import kernel
from .trigonometry import sincos
from .vectors import Matrix, Vector, add, cross, dot, scale

Quaternion: TypeAlias = tuple[float, float, float, float]

# Below this angle the next term of the series, θ⁴/120, is under the rounding unit 1.1e-16 relative to 1.
_SMALL_ANGLE = 3.0e-4


@kernel(inline=True)
def rotation_about(axis: Vector, angle: float) -> Matrix:
    """Rotation matrix by `angle` about the unit vector `axis` (Rodrigues)."""
    s, c = sincos(angle)
    x, y, z = axis
    t = 1.0 - c
    return (
        c + t * x * x, t * x * y - s * z, t * x * z + s * y,
        t * x * y + s * z, c + t * y * y, t * y * z - s * x,
        t * x * z - s * y, t * y * z + s * x, c + t * z * z,
    )  # fmt: skip


@kernel(inline=True)
def turn_z(R: Matrix, angle: float) -> Matrix:
    """R Rz(angle): R followed by a turn about its own z axis."""
    s, c = sincos(angle)
    return (
        c * R[0] + s * R[1], c * R[1] - s * R[0], R[2],
        c * R[3] + s * R[4], c * R[4] - s * R[3], R[5],
        c * R[6] + s * R[7], c * R[7] - s * R[6], R[8],
    )  # fmt: skip


@kernel(inline=True)
def rotation_of_quaternion(e: Quaternion) -> Matrix:
    """Rotation matrix of a quaternion; a length that is off by rounding does not matter."""
    x, y, z, w = e
    t = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - t * (y * y + z * z), t * (x * y - w * z), t * (x * z + w * y),
        t * (x * y + w * z), 1.0 - t * (x * x + z * z), t * (y * z - w * x),
        t * (x * z - w * y), t * (y * z + w * x), 1.0 - t * (x * x + y * y),
    )  # fmt: skip


@kernel(inline=True)
def quaternion_multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation b followed, in fixed axes, by a: R(a b) = R(a) R(b)."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@kernel(inline=True)
def quaternion_conjugate(a: Quaternion) -> Quaternion:
    return (-a[0], -a[1], -a[2], a[3])


@kernel(inline=True)
def quaternion_normalize(a: Quaternion) -> Quaternion:
    s = 1.0 / math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3])
    return (s * a[0], s * a[1], s * a[2], s * a[3])


@kernel
def quaternion_exp(phi: Vector) -> Quaternion:
    """Unit quaternion of the rotation vector φ."""
    angle = math.sqrt(dot(phi, phi))
    s = 0.5 - angle * angle / 48.0 if angle < _SMALL_ANGLE else math.sin(0.5 * angle) / angle
    return (s * phi[0], s * phi[1], s * phi[2], math.cos(0.5 * angle))


@kernel
def quaternion_log(e: Quaternion) -> Vector:
    """Rotation vector of a unit quaternion, the shorter way round (angle ≤ π)."""
    sign = -1.0 if e[3] < 0.0 else 1.0
    u = (sign * e[0], sign * e[1], sign * e[2])
    w = sign * e[3]
    s = math.sqrt(dot(u, u))
    x2 = s * s / (w * w) if s < _SMALL_ANGLE else 0.0  # tan² of half the angle
    k = 2.0 / w * (1.0 - x2 * (1.0 / 3.0 - 0.2 * x2)) if s < _SMALL_ANGLE else 2.0 * math.atan2(s, w) / s
    return scale(k, u)


@kernel
def quaternion_of_rotation(R: Matrix) -> Quaternion:
    """Unit quaternion of a rotation matrix (Shepperd's choice of the largest component)."""
    trace = R[0] + R[4] + R[8]
    if trace >= R[0] and trace >= R[4] and trace >= R[8]:
        e = (R[7] - R[5], R[2] - R[6], R[3] - R[1], 1.0 + trace)
    elif R[0] >= R[4] and R[0] >= R[8]:
        e = (1.0 + 2.0 * R[0] - trace, R[1] + R[3], R[2] + R[6], R[7] - R[5])
    elif R[4] >= R[8]:
        e = (R[1] + R[3], 1.0 + 2.0 * R[4] - trace, R[5] + R[7], R[2] - R[6])
    else:
        e = (R[2] + R[6], R[5] + R[7], 1.0 + 2.0 * R[8] - trace, R[3] - R[1])
    return quaternion_normalize(e)


@kernel
def log_gradient(phi: Vector, g: Vector) -> Vector:
    """Turn a gradient g with respect to φ = log R into one with respect to the body-frame rotation.

    φ̇ = J⁻¹(φ) ω with the right Jacobian J, so the generalized force is J⁻ᵀ g
    = g − ½ φ×g + k φ×(φ×g),  k = 1/θ² − (1 + cos θ)/(2 θ sin θ).
    """
    angle = math.sqrt(dot(phi, phi))
    # 1/θ² − cot(θ/2)/(2θ): the difference loses digits as θ → 0, hence the series up to θ = 0.1 (next term 1e-13).
    if angle < 0.1:
        a2 = angle * angle
        k = 1.0 / 12.0 + a2 / 720.0 + a2 * a2 / 30240.0 + a2 * a2 * a2 / 1209600.0
    else:
        k = (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / (angle * angle)
    turned = cross(phi, g)
    return add(add(g, scale(-0.5, turned)), scale(k, cross(phi, turned)))
