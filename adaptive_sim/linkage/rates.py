"""How fast coordinates change: q̇ from q and v, for integrators that work on coordinates (RK4, RK45).

Featherstone, "Rigid Body Dynamics Algorithms" (2008), section 4.5; coordinates as in `joints`.
"""

from __future__ import annotations

from ..compiled import kernel
from ..spatial.rotations import quaternion_multiply, quaternion_normalize, rotation_of_quaternion
from ..spatial.trigonometry import sincos
from ..spatial.vectors import apply
from ..typing import Floats
from .joints import FREE, N_Q, PLANAR, SPHERICAL
from .model import KernelModel


@kernel
def coordinate_rates(model: KernelModel, q: Floats, v: Floats, out: Floats) -> None:
    """out (nq,) = q̇; quaternions of any length: ½ e ⊗ (ω, 0), which keeps the length."""
    for i in range(len(model.parent)):
        kind, at, first = model.joint_kind[i], model.q_start[i], model.v_start[i]
        if kind == SPHERICAL or kind == FREE:
            e = at if kind == SPHERICAL else at + 3
            s = first if kind == SPHERICAL else first + 3
            old = (q[e], q[e + 1], q[e + 2], q[e + 3])
            if kind == FREE:
                unit = quaternion_normalize(old)
                moved = apply(rotation_of_quaternion(unit), (v[first], v[first + 1], v[first + 2]))
                for k in range(3):
                    out[at + k] = moved[k]
            rate = quaternion_multiply(old, (0.5 * v[s], 0.5 * v[s + 1], 0.5 * v[s + 2], 0.0))
            for k in range(4):
                out[e + k] = rate[k]
        elif kind == PLANAR:
            s_, c = sincos(q[at + 2])
            out[at] = c * v[first] - s_ * v[first + 1]
            out[at + 1] = s_ * v[first] + c * v[first + 1]
            out[at + 2] = v[first + 2]
        else:
            for k in range(N_Q[kind]):
                out[at + k] = v[first + k]


@kernel
def normalize_quaternions(model: KernelModel, q: Floats) -> None:
    """Every quaternion of q to length 1."""
    for i in range(len(model.parent)):
        kind, e = model.joint_kind[i], model.q_start[i]
        if kind == SPHERICAL or kind == FREE:
            if kind == FREE:
                e += 3
            unit = quaternion_normalize((q[e], q[e + 1], q[e + 2], q[e + 3]))
            for k in range(4):
                q[e + k] = unit[k]
