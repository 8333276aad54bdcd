"""Forward dynamics by any of the exact methods: one entry, the same conventions, the same answer.

q, v, tau flat, in the order of the input's joints; forces and torques per body in world axes, torques about the body's
origin; springs and damping of the joints always act.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from .errors import UnsupportedError
from .exact.dynamics import (
    GRAVITY,
    base_acceleration,
    body_forces,
    forces_to_input,
    raise_if_overflown,
    solve_aba,
    solve_crba,
    transmitted_forces,
    with_passive_forces,
)
from .linkage.model import Linkage
from .linkage.state import check_position, check_velocity
from .typing import ArrayLike, Floats

METHODS = ("aba", "crba", "dca")


@dataclass(frozen=True)
class Acceleration:
    """What forward dynamics returns."""

    acceleration: Floats  # (nv,) joint accelerations, in the order of v
    joint_force: Floats | None = None  # (n, 6) [moment; force] joint i exerts on body i, body frame, about its origin


def forward_dynamics(
    linkage: Linkage,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    force: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    gravity: ArrayLike | None = GRAVITY,
    method: str = "aba",
    *,
    joint_forces: bool = False,
    threads: int | None = None,
) -> Acceleration:
    """Joint accelerations from positions, velocities and forces.

    `method`: "aba" (articulated bodies, O(n)), "crba" (inertia matrix and sparse LᵀDL; only for moderate depth) or
    "dca" (divide and conquer, O(n), parallel). `joint_forces=True` also returns the force every joint transmits
    (constraint plus active force). `threads`: for "dca"; default all cores for large linkages.
    """
    if method not in METHODS:
        near = get_close_matches(str(method), METHODS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UnsupportedError(f"unknown method {method!r}{hint} (known: {', '.join(METHODS)})")
    linkage.require_tree(f"method {method!r}")
    q = check_position(linkage, q)
    v = check_velocity(linkage, v)
    tau = with_passive_forces(linkage, q, v, check_velocity(linkage, tau, "tau"))
    f_ext = body_forces(linkage, q, force, torque)
    base = base_acceleration(gravity)
    if method == "dca":
        from .adaptive.dca import solve_dca

        qdd, f = solve_dca(linkage, q, v, tau, f_ext, base, threads=threads)
        raise_if_overflown(linkage, qdd)
        return Acceleration(linkage.v_to_input(qdd), forces_to_input(linkage, f) if joint_forces else None)
    qdd = (solve_aba if method == "aba" else solve_crba)(linkage, q, v, tau, f_ext, base)
    raise_if_overflown(linkage, qdd)
    transmitted = transmitted_forces(linkage, q, v, qdd, f_ext, base) if joint_forces else None
    return Acceleration(linkage.v_to_input(qdd), transmitted)
