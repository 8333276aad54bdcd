"""A classical Runge–Kutta integrator for linkages, for tests: order four on all joint types.

Coordinates are integrated as plain numbers, q̇ = G(q) v, quaternions as four of them: the exact flow keeps their length,
so normalising before the forces are computed and after each step keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from helpers import FREE, PLANAR, QUATERNION_AT, Array, Arrays
from scipy.spatial.transform import Rotation

Forces = Callable[[Array, Array, float], Array]  # (q, v, t) -> joint accelerations


def rates(arrays: Arrays, q: Array, v: Array) -> Array:
    """q̇ of every coordinate."""
    out = np.empty_like(q)
    for kind, a, b in zip(arrays.kinds, arrays.q_slices(), arrays.v_slices()):
        if kind in QUATERNION_AT:
            x, y, z, w = q[a][-4:]
            wx, wy, wz = v[b][-3:]
            # ½ e ⊗ (ω, 0), ω in body axes
            out[a.stop - 4 : a.stop] = 0.5 * np.array(
                [w * wx + y * wz - z * wy, w * wy + z * wx - x * wz, w * wz + x * wy - y * wx,
                 -x * wx - y * wy - z * wz]
            )  # fmt: skip
            if kind == FREE:
                out[a.start : a.start + 3] = Rotation.from_quat(q[a][-4:]).apply(v[b][:3])
        elif kind == PLANAR:
            c, s = np.cos(q[a][2]), np.sin(q[a][2])
            out[a] = [c * v[b][0] - s * v[b][1], s * v[b][0] + c * v[b][1], v[b][2]]
        else:
            out[a] = v[b]
    return out


def normalised(arrays: Arrays, q: Array) -> Array:
    q = q.copy()
    for kind, a in zip(arrays.kinds, arrays.q_slices()):
        if kind in QUATERNION_AT:
            e = slice(a.stop - 4, a.stop)
            q[e] /= np.linalg.norm(q[e])
    return q


def step(arrays: Arrays, q: Array, v: Array, t: float, h: float, acceleration: Forces) -> tuple[Array, Array]:
    def f(q_: Array, v_: Array, t_: float) -> tuple[Array, Array]:
        return rates(arrays, q_, v_), acceleration(normalised(arrays, q_), v_, t_)

    q1, v1 = f(q, v, t)
    q2, v2 = f(q + h / 2 * q1, v + h / 2 * v1, t + h / 2)
    q3, v3 = f(q + h / 2 * q2, v + h / 2 * v2, t + h / 2)
    q4, v4 = f(q + h * q3, v + h * v3, t + h)
    return normalised(arrays, q + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4)), v + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)


def run(arrays: Arrays, q: Array, v: Array, time: float, steps: int, acceleration: Forces) -> tuple[Array, Array]:
    """State after `time`."""
    h = time / steps
    for k in range(steps):
        q, v = step(arrays, q, v, k * h, h, acceleration)
    return q, v
