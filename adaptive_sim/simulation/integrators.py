"""Steps in time for q̈ = a(t, q, v) on a linkage: semi-implicit Euler, RK4, and RK45 with adaptive sub-steps (scipy).

RK4 and RK45 integrate the coordinates themselves (q̇ from `linkage.rates`) and normalise quaternions after each step, so
that they keep their order for rotations too. A step depends on (t, q, v) alone: a resumed run repeats it bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..linkage.model import KernelModel
from ..linkage.rates import coordinate_rates, normalize_quaternions
from ..linkage.state import _integrate as move
from ..typing import Floats

Acceleration = Callable[[float, Floats, Floats], Floats]
Step = Callable[[KernelModel, Acceleration, float, float, Floats, Floats], tuple[Floats, Floats]]


def semi_implicit_euler(
    model: KernelModel, acceleration: Acceleration, t: float, h: float, q: Floats, v: Floats
) -> tuple[Floats, Floats]:
    """v first, then q with the new v: first order, but keeps the energy of oscillations bounded."""
    v = v + h * acceleration(t, q, v)
    moved = np.empty_like(q)
    move(model, q, h * v, moved)
    return moved, v


def rk4(
    model: KernelModel, acceleration: Acceleration, t: float, h: float, q: Floats, v: Floats
) -> tuple[Floats, Floats]:
    """The classical method of order 4."""
    rate = _rate(model, acceleration)
    y = np.concatenate([q, v])
    k1 = rate(t, y)
    k2 = rate(t + 0.5 * h, y + 0.5 * h * k1)
    k3 = rate(t + 0.5 * h, y + 0.5 * h * k2)
    k4 = rate(t + h, y + h * k3)
    return _split(model, y + (h / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4))


def make_rk45(relative_tolerance: float, absolute_tolerance: float) -> Step:
    """RK45 of scipy, as many sub-steps as the tolerances ask for, anew in every step."""

    def rk45(
        model: KernelModel, acceleration: Acceleration, t: float, h: float, q: Floats, v: Floats
    ) -> tuple[Floats, Floats]:
        from scipy.integrate import RK45

        solver = RK45(
            _rate(model, acceleration), t, np.concatenate([q, v]), t + h,
            first_step=h, rtol=max(relative_tolerance, 1e-13), atol=absolute_tolerance,
        )  # fmt: skip
        while solver.status == "running":
            solver.step()
        y = solver.y if solver.status == "finished" else np.full_like(solver.y, np.nan)
        return _split(model, y)

    return rk45


def _rate(model: KernelModel, acceleration: Acceleration) -> Callable[[float, Floats], Floats]:
    nq, nv = len(model.rest_position), len(model.damping)

    def rate(t: float, y: Floats) -> Floats:
        q, v = y[:nq].copy(), y[nq:].copy()
        out = np.empty(nq + nv)
        coordinate_rates(model, q, v, out)
        normalize_quaternions(model, q)
        out[nq:] = acceleration(t, q, v)
        return out

    return rate


def _split(model: KernelModel, y: Floats) -> tuple[Floats, Floats]:
    nq = len(model.rest_position)
    q, v = y[:nq].copy(), y[nq:].copy()
    normalize_quaternions(model, q)
    return q, v
