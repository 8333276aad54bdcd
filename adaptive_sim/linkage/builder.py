"""A linkage described piece by piece, by name; `build()` checks everything and reports all problems together.

    builder = LinkageBuilder("pendulum")
    builder.add_body("rod", shape="capsule", shape_size=(0.02, 1.0), shape_translation=(0, 0, -0.5), mass=1.0)
    builder.add_joint("hinge", parent="world", child="rod", axis=(0, 1, 0))
    linkage = builder.build()

Bodies and joints may come in any order. Bodies are numbered in the order of `add_body`, and q and v run over
the joints in the order of the bodies they move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Self, TypeAlias

import numpy as np

from ..errors import InvalidLinkageError
from ..spatial.rotations import rotation_of_quaternion
from ..typing import ArrayLike, Bools, Floats, Ints
from .fields import ALL_FIELDS
from .inertia import inertia_of_shape
from .joints import DOF, N_Q, QUATERNION_AT, JointType
from .model import Linkage, Shape

WORLD = "world"
_NAMED = 5  # offenders of one kind that are named before "and N more"
_DEFAULT = {field.name: field.default for field in ALL_FIELDS}
# How many of the three numbers of `shape_size` each shape must have above zero, by Shape.
_SIZES_USED = np.array([0, 1, 2, 2, 3, 0])

_Item: TypeAlias = dict[str, Any]  # the arguments of one add_…() call


class LinkageBuilder:
    """Collects bodies, joints and loop joints; nothing is checked before `build()`."""

    def __init__(self, name: str = "linkage") -> None:
        self.name = name
        self._bodies: list[_Item] = []
        self._joints: list[_Item] = []
        self._loops: list[_Item] = []

    def add_body(
        self,
        name: str,
        *,
        mass: float | None = None,
        center_of_mass: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        density: float | None = None,
        shape: str | Shape = "none",
        shape_size: ArrayLike | None = None,
        shape_translation: ArrayLike | None = None,
        shape_quaternion: ArrayLike | None = None,
        color: ArrayLike | None = None,
        mesh_path: str | None = None,
    ) -> Self:
        """Add a rigid body; its frame is where its joint puts it.

        Either give `mass` (kg) and `inertia` (3×3, or its diagonal, kg m², about the centre of mass), or
        leave `inertia` out and give a solid `shape` with `density` (kg/m³) or `mass`.
        `center_of_mass` (m) is the centre of the shape unless told.

        `shape` ("sphere", "capsule", "cylinder", "box", "mesh") with `shape_size` (radius; radius, length; or
        edges, in m), `shape_translation` (m) and `shape_quaternion` (x, y, z, w) is also how the body looks.
        """
        self._bodies.append({k: v for k, v in locals().items() if k != "self"})
        return self

    def add_joint(
        self,
        name: str,
        *,
        parent: str | None,
        child: str,
        type: str | JointType = "revolute",
        axis: ArrayLike | None = None,
        translation: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        pitch: float | None = None,
        axis2: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        rest_position: ArrayLike | None = None,
        limits: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Hang `child` on `parent` (`"world"` or None for the base).

        The joint frame sits at `translation` (m) with `rotation` (3×3, or a quaternion x, y, z, w) in the
        parent's frame; the child's frame coincides with it when the joint is at zero. `stiffness`, `damping`
        and both `limits` are one number, or one per degree of freedom; `rest_position` has one per coordinate.
        """
        self._joints.append({k: v for k, v in locals().items() if k != "self"})
        return self

    def add_loop(
        self,
        name: str,
        *,
        body_a: str,
        body_b: str,
        type: str | JointType = "revolute",
        axis: ArrayLike | None = None,
        translation_a: ArrayLike | None = None,
        translation_b: ArrayLike | None = None,
        rotation_a: ArrayLike | None = None,
        rotation_b: ArrayLike | None = None,
    ) -> Self:
        """Close a loop: a joint between two bodies of the tree, its frame placed on both.

        It moves b's frame relative to a's as a tree joint moves a child relative to its parent.
        """
        self._loops.append({k: v for k, v in locals().items() if k != "self"})
        return self

    def build(self) -> Linkage:
        """The finished linkage, or one `InvalidLinkageError` with every problem found."""
        problems: list[str] = []
        bodies = _Reader("body", self._bodies, problems)
        joints = _Reader("joint", self._joints, problems)
        loops = _Reader("loop joint", self._loops, problems)
        if not self._bodies:
            raise InvalidLinkageError([f"linkage {self.name!r} has no bodies; call add_body()"])
        for items in (bodies, joints, loops):
            items.check_names()
        parent, joint_of = _hang(bodies, joints)
        own_joints = _Reader("joint", joint_of, problems)
        arrays = {
            **_body_arrays(bodies),
            **_joint_arrays(own_joints),
            **_loop_arrays(loops, bodies),
        }
        try:
            linkage = Linkage.from_arrays(parent=parent, name=self.name, **arrays)
        except InvalidLinkageError as error:
            raise InvalidLinkageError([*problems, *error.problems]) from None
        if problems:
            raise InvalidLinkageError(problems)
        return linkage


# -------------------------------------------------------------------- who hangs on whom


def _hang(bodies: _Reader, joints: _Reader) -> tuple[Ints, list[_Item]]:
    """Parent and joint of every body. What is missing is filled in, so that the rest can still be checked."""
    n = len(bodies.items)
    joints_of: list[list[_Item]] = [[] for _ in range(n)]
    parent = np.full(n, -1, dtype=np.int64)
    misplaced = np.zeros(n, dtype=bool)
    for joint in joints.items:
        child = bodies.find(joint["child"], f"joint {joint['name']!r}: child")
        on_world = joint["parent"] is None or joint["parent"] == WORLD
        above = -1 if on_world else bodies.find(joint["parent"], f"joint {joint['name']!r}: parent")
        if child is None:
            continue
        joints_of[child].append(joint)
        if len(joints_of[child]) == 1:
            parent[child] = -1 if above is None else above
            misplaced[child] = above is None
    for name, own in zip(bodies.names, joints_of):
        if len(own) > 1:
            bodies.problems.append(
                f"body {name!r} is the child of {len(own)} joints, {_listed([j['name'] for j in own])}; "
                "a body hangs on one joint, close loops with add_loop()"
            )
    unhung = np.array([len(own) == 0 for own in joints_of])
    bodies.complain(unhung, "body {} has no joint", "hang it on 'world' or another body by add_joint()")
    misplaced |= unhung
    if misplaced.any():
        # On the base, or the first is the base itself: so nothing complains about these bodies again.
        bases = np.flatnonzero((parent == -1) & ~misplaced)
        base = bases[0] if len(bases) else np.flatnonzero(misplaced)[0]
        parent[misplaced] = base
        if len(bases) == 0:
            parent[base] = -1
    nothing = {"name": "", "type": "fixed"}
    return parent, [own[0] if own else nothing for own in joints_of]


# -------------------------------------------------------------------- arrays for Linkage.from_arrays


def _body_arrays(bodies: _Reader) -> dict[str, Any]:
    shape = bodies.codes("shape", Shape, Shape.NONE)
    size = bodies.rows("shape_size", (3,), adapt=_padded)
    center = bodies.rows("shape_translation", (3,))
    quaternion = bodies.rows("shape_quaternion", (4,))
    mass = bodies.rows("mass", (), 1.0)
    density = bodies.rows("density", (), 1.0)
    inertia = bodies.rows("inertia", (3, 3), np.eye(3), adapt=lambda v: np.diag(v) if np.ndim(v) == 1 else v)
    center_of_mass = bodies.rows("center_of_mass", (3,), 0.0)
    center_of_mass = np.where(bodies.has("center_of_mass")[:, None], center_of_mass, center)

    is_solid = _SIZES_USED[shape] > 0
    computed, by_mass, by_density = ~bodies.has("inertia"), bodies.has("mass"), bodies.has("density")
    small = ~(size > 0.0) & (np.arange(3) < _SIZES_USED[shape][:, None])
    small[:, 1] &= ~((shape == Shape.CAPSULE) & (size[:, 1] == 0.0))  # a capsule may be a ball
    flat = np.any(small, axis=1)
    for bad, sentence, remedy in (
        (flat, "shape_size of body {} is not positive", "give radius, length or edges in m"),
        (computed & ~is_solid, "body {} has no inertia", "give it, or a solid shape with density or mass"),
        (computed & is_solid & (by_mass == by_density), "body {} needs either mass or density", "give one"),
        (~computed & ~by_mass, "body {} has an inertia but no mass", "give mass in kg"),
        (~computed & by_density, "body {} has both inertia and density", "give mass instead of density"),
        (by_density & ~(density > 0.0), "density of body {} is not positive", "give kg/m³ above 0"),
    ):
        bodies.complain(np.asarray(bad), sentence, remedy)

    ready = computed & is_solid & ~flat & (by_mass != by_density) & (mass > 0.0) & (density > 0.0)
    for kind in np.unique(shape[ready]):
        for by, given in ((by_mass, {"mass": mass}), (by_density, {"density": density})):
            rows = ready & by & (shape == kind)
            if rows.any():
                solid = inertia_of_shape(Shape(kind), size[rows], **{k: v[rows] for k, v in given.items()})
                turn = np.array([_matrix(e) for e in quaternion[rows]])
                mass[rows], _, inertia[rows] = solid.moved(rotation=turn)
    return {
        "mass": mass,
        "center_of_mass": center_of_mass,
        "inertia": inertia,
        "shape": shape,
        "shape_size": size,
        "shape_translation": center,
        "shape_quaternion": quaternion,
        "color": bodies.rows("color", (3,)),
        "mesh_path": {i: str(m) for i, m in enumerate(bodies.values("mesh_path")) if m is not None},
        "body_names": bodies.names if bodies.names_differ else None,
    }


def _joint_arrays(joints: _Reader) -> dict[str, Any]:
    kinds = joints.codes("type", JointType, JointType.FIXED)
    neutral = np.zeros(int(N_Q[kinds].sum()))
    at = QUATERNION_AT[kinds]
    neutral[(np.cumsum(N_Q[kinds]) - N_Q[kinds] + at + 3)[at >= 0]] = 1.0
    lower: list[Any] = [None] * len(kinds)
    upper: list[Any] = [None] * len(kinds)
    for i, joint in enumerate(joints.items):
        if joint.get("limits") is not None:
            try:
                lower[i], upper[i] = joint["limits"]
            except (TypeError, ValueError):
                joints.problems.append(
                    f"limits of joint {joint['name']!r} are {joint['limits']!r}; give (lower, upper)"
                )
    nv = int(DOF[kinds].sum())
    return {
        "joint_type": kinds,
        "axis": joints.rows("axis", (3,)),
        "axis2": joints.rows("axis2", (3,)),
        "pitch": joints.rows("pitch", ()),
        "translation": joints.rows("translation", (3,)),
        "rotation": joints.rows("rotation", (3, 3), np.eye(3), adapt=_matrix),
        "stiffness": joints.flat("stiffness", joints.values("stiffness"), DOF[kinds], np.zeros(nv)),
        "damping": joints.flat("damping", joints.values("damping"), DOF[kinds], np.zeros(nv)),
        "rest_position": joints.flat("rest_position", joints.values("rest_position"), N_Q[kinds], neutral),
        "lower_limit": joints.flat("lower limit", lower, DOF[kinds], np.full(nv, -np.inf)),
        "upper_limit": joints.flat("upper limit", upper, DOF[kinds], np.full(nv, np.inf)),
        "joint_names": joints.names if joints.names_differ else None,
    }


def _loop_arrays(loops: _Reader, bodies: _Reader) -> dict[str, Any]:
    if not loops.items:
        return {}
    found = [
        [bodies.find(loop[side], f"loop joint {loop['name']!r}: {side}") for side in ("body_a", "body_b")]
        for loop in loops.items
    ]
    known = np.array([None not in pair for pair in found])
    sides = ("a", "b")
    translation = np.stack([loops.rows(f"translation_{s}", (3,), 0.0) for s in sides], axis=1)
    rotation = np.stack([loops.rows(f"rotation_{s}", (3, 3), np.eye(3), adapt=_matrix) for s in sides], axis=1)
    return {
        "loop_body": np.array([pair for pair in found if None not in pair], dtype=np.int64).reshape(-1, 2),
        "loop_joint_type": loops.codes("type", JointType, JointType.FIXED)[known],
        "loop_axis": loops.rows("axis", (3,))[known],
        "loop_translation": translation[known],
        "loop_rotation": rotation[known],
    }


# -------------------------------------------------------------------- reading values


class _Reader:
    """Reads one argument of all bodies (or joints) into an array; what does not fit becomes a problem."""

    def __init__(self, noun: str, items: list[_Item], problems: list[str]) -> None:
        self.noun = noun
        self.items = items
        self.problems = problems
        self.names = [str(item["name"]) for item in items]
        self.number = {name: i for i, name in reversed(list(enumerate(self.names)))}
        self.names_differ = len(self.number) == len(items)

    def check_names(self) -> None:
        doubles = [name for name, count in Counter(self.names).items() if count > 1]
        if doubles:
            self.problems.append(f"duplicate {self.noun} name {_listed(doubles)}; names must differ")
        if self.noun == "body" and WORLD in self.number:
            self.problems.append(f"a body is named {WORLD!r}, which means the ground; choose another name")

    def find(self, name: str, what: str) -> int | None:
        if name not in self.number:
            hint = _hint(name, self.number, "add it with add_body()")
            self.problems.append(f"{what} {name!r} is not a body; {hint}")
        return self.number.get(name)

    def complain(self, bad: Bools, sentence: str, remedy: str) -> None:
        """One sentence for all rows where `bad`; `{}` stands for their names."""
        if bad.any():
            listed = _listed([self.names[i] for i in np.flatnonzero(bad)])
            self.problems.append(f"{sentence.format(listed)}; {remedy}")

    def values(self, argument: str) -> list[Any]:
        return [item.get(argument) for item in self.items]

    def has(self, argument: str) -> Bools:
        return np.array([value is not None for value in self.values(argument)], dtype=np.bool_)

    def rows(
        self,
        argument: str,
        shape: tuple[int, ...],
        default: ArrayLike | None = None,
        adapt: Callable[[Any], Any] = lambda value: value,
    ) -> Floats:
        """(n, *shape); where the argument was not given, or does not fit, the default (that of `fields`)."""
        out = np.empty((len(self.items), *shape))
        out[:] = _DEFAULT[argument] if default is None else default
        bad = []
        for i, value in enumerate(self.values(argument)):
            if value is None:
                continue
            try:
                row = np.asarray(adapt(value), dtype=np.float64)
                if row.shape != shape:
                    raise ValueError
                out[i] = row
            except (TypeError, ValueError):
                bad.append(f"{self.names[i]!r} ({_short(value)})")
        if bad:
            wanted = f"an array of shape {shape}" if shape else "a number"
            more = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
            shown = ", ".join(bad[:_NAMED])
            self.problems.append(f"{argument} of {self.noun} {shown}{more} does not fit; give {wanted}")
        return out

    def flat(self, argument: str, values: Sequence[Any], sizes: Ints, out: Floats) -> Floats:
        """Values of joints with differing numbers of entries, one after the other into `out`."""
        starts = np.cumsum(sizes) - sizes
        for i, value in enumerate(values):
            if value is None or sizes[i] == 0:
                continue
            try:
                out[starts[i] : starts[i] + sizes[i]] = value
            except (TypeError, ValueError):
                self.problems.append(
                    f"{argument} of {self.noun} {self.names[i]!r} ({_short(value)}) does not fit; "
                    f"give one number, or {sizes[i]} for this type of joint"
                )
        return out

    def codes(self, argument: str, enum: type[Shape] | type[JointType], fallback: int) -> Ints:
        known: dict[str, int] = {member.name.lower(): int(member) for member in enum}
        out = np.full(len(self.items), int(fallback), dtype=np.int64)
        for i, value in enumerate(self.values(argument)):
            code = known.get(value.lower()) if isinstance(value, str) else value
            if isinstance(code, int | np.integer) and 0 <= code < len(enum):
                out[i] = code
            else:
                hint = _hint(str(value), known, f"known: {', '.join(known)}")
                self.problems.append(f"{argument} of {self.noun} {self.names[i]!r} is {value!r}; {hint}")
        return out


def _padded(size: Any) -> Floats:
    """One, two or three numbers as three."""
    given = np.atleast_1d(np.asarray(size, dtype=np.float64))
    return np.concatenate([given, np.zeros(max(0, 3 - len(given)))])


def _matrix(value: Any) -> Floats:
    """A 3×3 matrix; four numbers are a quaternion x, y, z, w."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (4,):
        return array
    x, y, z, w = array.tolist()
    if x == y == z == w == 0.0:
        raise ValueError
    return np.array(rotation_of_quaternion((x, y, z, w))).reshape(3, 3)


def _hint(name: str, known: dict[str, int], otherwise: str) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
