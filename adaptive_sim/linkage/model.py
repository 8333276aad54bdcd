"""The immutable model of a linkage: a tree of rigid bodies joined by joints, plus loop joints, as read-only arrays.

Body i hangs on its parent by joint i; the base (parent −1) hangs on the world. Arrays are ordered so that parents come
before their children. Where the input came in another order, `input_index` says which input row a body was, and every
function of the public interface (forces, q, v, results) speaks the *input's* order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..errors import InputError, UnsupportedError
from ..typing import ArrayLike, Bools, Floats, Ints
from .joints import DOF, N_Q, QUATERNION_AT, JointType


class Shape(IntEnum):
    """What a body looks like. Sizes in `shape_size`; long axes along the shape's own z."""

    NONE = 0
    SPHERE = 1  # radius
    CAPSULE = 2  # radius, length between the centres of the caps
    CYLINDER = 3  # radius, length
    BOX = 4  # edge lengths x, y, z
    MESH = 5  # scale x, y, z; the file is in `mesh_path`


class KernelModel(NamedTuple):
    """What the kernels read: contiguous arrays in model order and kernel frames (the joint's axis is z)."""

    parent: Ints  # (n,) parent body, −1 for the base
    joint_kind: Ints  # (n,) JointType
    q_start: Ints  # (n+1,) first coordinate of each joint
    v_start: Ints  # (n+1,) first velocity of each joint
    axis1: Floats  # (n, 3) unit, first axis of universal joints, joint frame
    pitch: Floats  # (n,) m/rad
    rotation: Floats  # (n, 9) joint frame in parent body, row by row
    translation: Floats  # (n, 3) m, joint frame in parent body
    inertia: Floats  # (n, 10) m, m c (3), rotational inertia about the body ORIGIN (xx xy xz yy yz zz)
    stiffness: Floats  # (nv,)
    damping: Floats  # (nv,)
    rest_position: Floats  # (nq,)


class Loops(NamedTuple):
    """Joints that close loops: body a = `body[:, 0]` and b = `body[:, 1]`, a joint frame placed on both.

    The joint moves b's frame relative to a's as a tree joint moves a child relative to its parent.
    """

    body: Ints  # (m, 2) model order
    joint_kind: Ints  # (m,)
    axis: Floats  # (m, 3) unit, joint frame
    rotation: Floats  # (m, 2, 3, 3) joint frame in body a, in body b
    translation: Floats  # (m, 2, 3) m

    @property
    def n_loops(self) -> int:
        return len(self.joint_kind)


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """A linkage. Build it with `Linkage.from_arrays`, `LinkageBuilder` or a generator; never modified afterwards.

    Arrays in model order; the table in `linkage.fields` (and docs/linkage.md) states shape, unit and frame of each.
    """

    parent: Ints
    joint_type: Ints
    axis: Floats
    axis2: Floats
    pitch: Floats
    rotation: Floats
    translation: Floats
    mass: Floats
    center_of_mass: Floats
    inertia: Floats
    stiffness: Floats
    damping: Floats
    lower_limit: Floats
    upper_limit: Floats
    rest_position: Floats
    shape: Ints
    shape_size: Floats
    shape_translation: Floats
    shape_quaternion: Floats
    color: Floats
    loops: Loops
    input_index: Ints  # (n,) the input row of each body
    name: str = "linkage"
    mesh_path: Mapping[int, str] = field(default_factory=dict)  # model body -> file
    _body_names: tuple[str, ...] | None = None  # model order; None: generated
    _joint_names: tuple[str, ...] | None = None

    @classmethod
    def from_arrays(
        cls,
        parent: ArrayLike,
        joint_type: Sequence[str] | ArrayLike,
        *,
        mass: ArrayLike,
        center_of_mass: ArrayLike,
        inertia: ArrayLike,
        axis: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        translation: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        pitch: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        rest_position: ArrayLike | None = None,
        lower_limit: ArrayLike | None = None,
        upper_limit: ArrayLike | None = None,
        shape: Sequence[str] | ArrayLike | None = None,
        shape_size: ArrayLike | None = None,
        shape_translation: ArrayLike | None = None,
        shape_quaternion: ArrayLike | None = None,
        color: ArrayLike | None = None,
        mesh_path: Mapping[int, str] | None = None,
        body_names: Sequence[str] | None = None,
        joint_names: Sequence[str] | None = None,
        loop_body: ArrayLike | None = None,
        loop_joint_type: Sequence[str] | ArrayLike | None = None,
        loop_axis: ArrayLike | None = None,
        loop_rotation: ArrayLike | None = None,
        loop_translation: ArrayLike | None = None,
        name: str = "linkage",
    ) -> Linkage:
        """Build and validate a linkage; every problem is reported together in one `InvalidLinkageError`.

        Bodies may come in any order. `joint_type` holds names ("revolute", ...) or `JointType` numbers.
        `stiffness`, `damping` and limits are per degree of freedom, or one number per joint, or one for all.
        """
        from .validate import linkage_from_input

        given = {k: v for k, v in locals().items() if k != "cls" and v is not None and k != "linkage_from_input"}
        return linkage_from_input(given)

    # ---------------------------------------------------------------- sizes and indices

    @property
    def n_bodies(self) -> int:
        return len(self.parent)

    @property
    def n_joints(self) -> int:
        """Joint i moves body i, so there are as many joints as bodies (the base's joint counts)."""
        return len(self.parent)

    @cached_property
    def q_start(self) -> Ints:
        """(n+1,) first coordinate of each joint, model order."""
        return _starts(N_Q[self.joint_type])

    @cached_property
    def v_start(self) -> Ints:
        """(n+1,) first velocity of each joint, model order."""
        return _starts(DOF[self.joint_type])

    @property
    def nq(self) -> int:
        return int(self.q_start[-1])

    @property
    def nv(self) -> int:
        return int(self.v_start[-1])

    @property
    def n_dof(self) -> int:
        return self.nv

    @property
    def is_floating(self) -> bool:
        return bool(self.joint_type[0] == JointType.FREE)

    # ---------------------------------------------------------------- input order <-> model order

    @cached_property
    def in_input_order(self) -> bool:
        """Whether model order is the order the user gave."""
        return bool(np.array_equal(self.input_index, np.arange(self.n_bodies)))

    @cached_property
    def model_index(self) -> Ints:
        """(n,) model body of each input row."""
        inverse = np.empty_like(self.input_index)
        inverse[self.input_index] = np.arange(self.n_bodies)
        return _frozen(inverse)

    @cached_property
    def _q_of_input(self) -> Ints:
        return _gather(self.q_start, self.model_index)

    @cached_property
    def _v_of_input(self) -> Ints:
        return _gather(self.v_start, self.model_index)

    def q_to_model(self, q: Floats) -> Floats:
        """Coordinates from the input's joint order to model order."""
        return q if self.in_input_order else _scatter(q, self._q_of_input)

    def q_to_input(self, q: Floats) -> Floats:
        return q if self.in_input_order else q[self._q_of_input]

    def v_to_model(self, v: Floats) -> Floats:
        """Velocities or joint forces from the input's joint order to model order."""
        return v if self.in_input_order else _scatter(v, self._v_of_input)

    def v_to_input(self, v: Floats) -> Floats:
        return v if self.in_input_order else v[self._v_of_input]

    def bodies_to_model(self, rows: Floats) -> Floats:
        """Rows per body from the input's order to model order."""
        return rows if self.in_input_order else rows[self.input_index]

    def bodies_to_input(self, rows: Floats) -> Floats:
        return rows if self.in_input_order else rows[self.model_index]

    # ---------------------------------------------------------------- names (input order in, input order out)

    def body_name(self, body: int) -> str:
        """Name of a body, by input index."""
        if self._body_names is None:
            return f"body_{body}"
        return self._body_names[int(self.model_index[body])]

    def joint_name(self, joint: int) -> str:
        """Name of a joint, by input index."""
        if self._joint_names is None:
            return f"joint_{joint}"
        return self._joint_names[int(self.model_index[joint])]

    @property
    def body_names(self) -> list[str]:
        """All names, in the input's order."""
        return [self.body_name(i) for i in range(self.n_bodies)]

    @property
    def joint_names(self) -> list[str]:
        return [self.joint_name(i) for i in range(self.n_joints)]

    def body_index(self, body: str | int) -> int:
        """Input index of a body given by name or index."""
        return self._index(body, "body", self._body_lookup)

    def joint_index(self, joint: str | int) -> int:
        """Input index of a joint given by name or index."""
        return self._index(joint, "joint", self._joint_lookup)

    def _index(self, key: str | int, what: str, lookup: Mapping[str, int]) -> int:
        if isinstance(key, str):
            if key not in lookup:
                from difflib import get_close_matches

                near = get_close_matches(key, lookup, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise InputError(f"there is no {what} named {key!r}{hint}")
            return lookup[key]
        index = int(key)
        if not 0 <= index < self.n_bodies:
            raise InputError(f"{what} index {index} is out of range; the linkage has {self.n_bodies} (0 … n−1)")
        return index

    @cached_property
    def _body_lookup(self) -> dict[str, int]:
        return {self.body_name(i): i for i in range(self.n_bodies)}

    @cached_property
    def _joint_lookup(self) -> dict[str, int]:
        return {self.joint_name(i): i for i in range(self.n_joints)}

    # ---------------------------------------------------------------- what the solvers read

    @cached_property
    def kernel_model(self) -> KernelModel:
        """The arrays the kernels read."""
        n = self.n_bodies
        frame = self.kernel_frame
        above = np.where(self.parent < 0, 0, self.parent)
        rotation, translation = self.rotation, self.translation
        J, m, c = self.inertia, self.mass, self.center_of_mass
        if frame is not None:
            # The base's parent is the world, whose frame is not turned.
            frame_above = frame[above]
            frame_above[self.parent < 0] = np.eye(3)
            rotation = frame_above.transpose(0, 2, 1) @ rotation @ frame
            translation = np.einsum("nji,nj->ni", frame_above, translation)
            J = frame.transpose(0, 2, 1) @ J @ frame
            c = np.einsum("nji,nj->ni", frame, c)
        axis1 = self.axis if frame is None else np.einsum("nji,nj->ni", frame, self.axis)
        # About the body's origin: J + m (c·c 1 − c cᵀ).
        square = np.einsum("ni,ni->n", c, c)
        rows = np.empty((n, 10))
        rows[:, 0] = m
        rows[:, 1:4] = m[:, None] * c
        for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
            rows[:, 4 + k] = J[:, i, j] + m * ((square if i == j else 0.0) - c[:, i] * c[:, j])
        model = KernelModel(
            self.parent, self.joint_type, self.q_start, self.v_start, np.ascontiguousarray(axis1), self.pitch,
            np.ascontiguousarray(rotation).reshape(n, 9), np.ascontiguousarray(translation), rows,
            self.stiffness, self.damping, self.rest_position,
        )  # fmt: skip
        for array in model:  # all read-only, turned frames or not: else every kernel is compiled twice
            array.setflags(write=False)
        return model

    @cached_property
    def kernel_frame(self) -> Floats | None:
        """(n, 3, 3) kernel frame of each body in its own frame (columns are axes); None: all are the body frames.

        Turned so that the joint's axis (the last one of a universal joint) is z.
        """
        from .joints import HAS_AXIS, frames_along

        axis = np.where((self.joint_type == JointType.UNIVERSAL)[:, None], self.axis2, self.axis)
        turned = HAS_AXIS[self.joint_type] & ~(axis == [0.0, 0.0, 1.0]).all(axis=1)
        if not turned.any():
            return None
        axis[~turned] = (0.0, 0.0, 1.0)
        frames = np.empty((self.n_bodies, 9))
        frames_along(axis, frames)
        frames.setflags(write=False)
        return frames.reshape(-1, 3, 3)

    @cached_property
    def has_springs(self) -> bool:
        return bool(np.any(self.stiffness))

    @cached_property
    def has_damping(self) -> bool:
        return bool(np.any(self.damping))

    @cached_property
    def quaternion_starts(self) -> Ints:
        """Where in q (model order) the quaternions start."""
        at = QUATERNION_AT[self.joint_type]
        return _frozen((self.q_start[:-1] + at)[at >= 0])

    @cached_property
    def depth(self) -> int:
        """Bodies on the longest way from the base to a tip."""
        return int(self.body_depth.max())

    @cached_property
    def body_depth(self) -> Ints:
        """(n,) bodies on the way from the base to each body, both counted."""
        from .kinematics import body_depth

        return _frozen(body_depth(self.parent))

    def require_tree(self, solver: str) -> None:
        """Refuse loops: the solvers for trees would silently ignore them."""
        if self.loops.n_loops:
            raise UnsupportedError(
                f"{solver} solves trees only, and linkage {self.name!r} has {self.loops.n_loops} loop joint(s); "
                "remove the loop joints (from_arrays without loop_body) or use a solver for closed loops"
            )

    def joint_mask(self, kind: JointType) -> Bools:
        return np.asarray(self.joint_type == kind)

    @property
    def total_mass(self) -> float:
        return float(self.mass.sum())

    def describe(self) -> str:
        """A few lines about size and make-up."""
        kinds, counts = np.unique(self.joint_type, return_counts=True)
        joints = ", ".join(f"{c:,} {JointType(k).name.lower()}" for k, c in zip(kinds, counts))
        return (
            f"{self.name}: {self.n_bodies:,} bodies, {self.nv:,} degrees of freedom, depth {self.depth:,}\n"
            f"joints: {joints}; loop joints: {self.loops.n_loops:,}\n"
            f"total mass: {self.total_mass:.6g} kg"
        )

    def __repr__(self) -> str:
        return f"<Linkage {self.name!r}: {self.n_bodies:,} bodies, {self.nv:,} dof, {self.loops.n_loops} loops>"


def _starts(sizes: Ints) -> Ints:
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return _frozen(starts)


def _gather(starts: Ints, order: Ints) -> Ints:
    """Positions in a flat model-order array of the coordinates of joints taken in `order`."""
    sizes = np.diff(starts)[order]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _frozen(np.repeat(starts[:-1][order], sizes) + within)


def _scatter(flat: Floats, where: Ints) -> Floats:
    out = np.empty_like(flat)
    out[where] = flat
    return out


def _frozen(array: Ints) -> Ints:
    array.setflags(write=False)
    return array
