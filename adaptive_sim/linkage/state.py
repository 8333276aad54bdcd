"""Positions and velocities of a linkage: q on its manifold, v in its tangent space.

Flat arrays in the order of the input's joints; the coordinates of each joint type are in `linkage.joints`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compiled import kernel
from ..errors import InvalidStateError
from ..typing import ArrayLike, Floats
from .joints import integrate_joint, joint_difference
from .model import KernelModel, Linkage

# A quaternion may be this far from unit length; it is normalised where it is used. More is a mistake.
QUATERNION_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class State:
    """Exactly what is integrated: coordinates q (nq,) and velocities v (nv,)."""

    q: Floats
    v: Floats

    def moved(self, linkage: Linkage, dt: float) -> State:
        """The state after moving with constant v for dt."""
        return State(integrate(linkage, self.q, dt * self.v), self.v)


def neutral_position(linkage: Linkage) -> Floats:
    """q with every joint at zero and every quaternion (0, 0, 0, 1)."""
    q = np.zeros(linkage.nq)
    q[linkage.quaternion_starts + 3] = 1.0
    return linkage.q_to_input(q)


def neutral_state(linkage: Linkage) -> State:
    """Neutral position, at rest."""
    return State(neutral_position(linkage), np.zeros(linkage.nv))


def random_state(linkage: Linkage, seed: int = 0, *, angle: float = np.pi, speed: float = 1.0) -> State:
    """Scalar coordinates uniform in ±angle, quaternions uniform over all rotations, velocities normal with `speed`."""
    generator = np.random.default_rng(seed)
    q = generator.uniform(-angle, angle, linkage.nq)
    starts = linkage.quaternion_starts
    quaternions = generator.normal(size=(len(starts), 4))
    q[starts[:, None] + np.arange(4)] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    return State(linkage.q_to_input(q), speed * generator.normal(size=linkage.nv))


def integrate(linkage: Linkage, q: ArrayLike, step: ArrayLike) -> Floats:
    """q moved by `step` = v·Δt (nv,) along the manifold: exponential map for rotations, body frame."""
    q = check_position(linkage, q)
    step = check_velocity(linkage, step, "step")
    out = np.empty_like(q)
    _integrate(linkage.kernel_model, q, step, out)
    return linkage.q_to_input(out)


def difference(linkage: Linkage, q0: ArrayLike, q1: ArrayLike) -> Floats:
    """The step that `integrate` needs to go from q0 to q1 (rotations the shorter way round)."""
    out = np.empty(linkage.nv)
    _difference(linkage.kernel_model, check_position(linkage, q0), check_position(linkage, q1), out)
    return linkage.v_to_input(out)


def check_position(linkage: Linkage, q: ArrayLike | None) -> Floats:
    """q as a float array in model order, checked; None is the neutral position."""
    if q is None:
        return linkage.q_to_model(neutral_position(linkage))
    flat = linkage.q_to_model(_flat(q, linkage.nq, "q", "coordinates", linkage))
    starts = linkage.quaternion_starts
    if len(starts):
        norm = np.linalg.norm(flat[starts[:, None] + np.arange(4)], axis=1)
        off = np.flatnonzero(np.abs(norm - 1.0) > QUATERNION_TOLERANCE)
        if len(off):
            joint = int(np.searchsorted(linkage.q_start, starts[off[0]], side="right")) - 1
            shown = linkage.input_index[joint]
            raise InvalidStateError(
                f"q: the quaternion of joint {shown} ({linkage.joint_name(shown)!r}) has length {norm[off[0]]:.6g} "
                f"({len(off)} such in all); normalise it (order x, y, z, w)"
            )
    return flat


def check_velocity(linkage: Linkage, v: ArrayLike | None, name: str = "v") -> Floats:
    """v, tau or a step as a float array in model order, checked; None is zero."""
    if v is None:
        return np.zeros(linkage.nv)
    return linkage.v_to_model(_flat(v, linkage.nv, name, "degrees of freedom", linkage))


def check_rows(linkage: Linkage, rows: ArrayLike | None, name: str) -> Floats | None:
    """(n, 3) world-axes vectors per body in model order, checked; None stays None."""
    if rows is None:
        return None
    array = _numbers(rows, name)
    if array.shape != (linkage.n_bodies, 3):
        raise InvalidStateError(f"{name}: shape {array.shape}, expected (n_bodies, 3) = ({linkage.n_bodies}, 3)")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise InvalidStateError(
            f"{name}: body {bad[0]} ({linkage.body_name(bad[0])!r}) has {array[bad[0]]}; give finite numbers"
        )
    return linkage.bodies_to_model(array)


def check_vector(value: ArrayLike | None, name: str) -> Floats:
    """A finite 3-vector; None is zero."""
    vector = np.zeros(3) if value is None else _numbers(value, name)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InvalidStateError(f"{name}: expected three finite numbers, got {value!r}")
    return vector


def _numbers(value: ArrayLike, name: str) -> Floats:
    try:
        return np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidStateError(f"{name}: not an array of numbers ({error}); give numbers") from None


def _flat(value: ArrayLike, size: int, name: str, unit: str, linkage: Linkage) -> Floats:
    array = _numbers(value, name)
    if array.shape != (size,):
        raise InvalidStateError(f"{name}: shape {array.shape}, but the linkage has {size} {unit}: expected ({size},)")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InvalidStateError(f"{name}[{bad[0]}] is {array[bad[0]]} ({len(bad)} not finite); give finite numbers")
    return array


@kernel
def _integrate(model: KernelModel, q: Floats, step: Floats, out: Floats) -> None:
    for i in range(len(model.parent)):
        integrate_joint(model.joint_kind[i], q, model.q_start[i], step, model.v_start[i], out)


@kernel
def _difference(model: KernelModel, q0: Floats, q1: Floats, out: Floats) -> None:
    for i in range(len(model.parent)):
        joint_difference(model.joint_kind[i], q0, q1, model.q_start[i], model.v_start[i], out)
