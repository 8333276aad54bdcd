"""From raw input to a `Linkage`: everything is checked once, and all problems are reported together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..errors import InvalidLinkageError
from ..typing import Floats, Ints
from .fields import ALL_FIELDS, COORDINATE_FIELDS, DOF_FIELDS, Field
from .joints import DOF, HAS_AXIS, N_Q, QUATERNION_AT, JointType
from .kinematics import parents_first
from .model import Linkage, Loops, Shape

# How many offenders of one kind are named before "and N more".
_NAMED = 5
# A rotation from a text file with six digits is off by this much; it is re-orthonormalised. More is a mistake.
_ROTATION_TOLERANCE = 1e-5
# Principal moments computed from rounded input may break the triangle inequality by rounding (flat bodies).
_TRIANGLE_TOLERANCE = 1e-9


class _Problems:
    """Collects sentences; names bodies as the user knows them."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self.sentences: list[str] = []
        self.names = names

    def add(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def add_rows(self, bad: Any, what: str, values: Any, remedy: str, noun: str = "body") -> None:
        """One sentence for all rows where `bad`: the first few by name with their value."""
        rows = np.flatnonzero(bad)
        if len(rows) == 0:
            return
        shown = ", ".join(f"{self.label(i, noun)} ({_short(values[i])})" for i in rows[:_NAMED])
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        self.add(f"{what}: {shown}{more}; {remedy}")

    def label(self, i: int, noun: str = "body") -> str:
        named = noun == "body" and self.names is not None and i < len(self.names)
        return f"{noun} {i} {self.names[i]!r}" if named and self.names else f"{noun} {i}"

    def raise_if_any(self) -> None:
        if self.sentences:
            raise InvalidLinkageError(self.sentences)


def linkage_from_input(given: Mapping[str, Any]) -> Linkage:
    """Validate the keyword arguments of `Linkage.from_arrays` and build the linkage."""
    problems = _Problems(given.get("body_names"))
    parent = _parents(given["parent"], problems)
    n = len(parent)
    kinds = _codes(given["joint_type"], JointType, "joint_type", n, problems)
    sizes = {"n": n, "nv": int(DOF[kinds].sum()), "nq": int(N_Q[kinds].sum())}
    if problems.sentences:  # without joint types the sizes of these are not known
        given = {k: v for k, v in given.items() if k not in {f.name for f in DOF_FIELDS + COORDINATE_FIELDS}}
    arrays = {f.name: _array(f, given.get(f.name), sizes, kinds, problems) for f in ALL_FIELDS}
    _check_tree(parent, problems)
    names = {k: _names(given.get(f"{k}_names"), k, n, problems) for k in ("body", "joint")}
    _check_values(arrays, kinds, problems)
    shape = _codes(given.get("shape", np.zeros(n, np.int64)), Shape, "shape", n, problems)
    loops = _loops(given, n, problems)
    mesh = dict(given.get("mesh_path", {}))
    problems.add_rows(
        np.array([s == Shape.MESH and i not in mesh for i, s in enumerate(shape)]) if Shape.MESH in shape else
        np.zeros(n, dtype=bool),
        "mesh shape without a file", shape, "give mesh_path={body: path}",
    )  # fmt: skip
    problems.raise_if_any()
    return _assemble(parent, kinds, arrays, shape, loops, mesh, names, str(given.get("name", "linkage")))


# -------------------------------------------------------------------- reading


def _parents(raw: Any, problems: _Problems) -> Ints:
    try:
        parent = np.asarray(raw)
        if parent.ndim != 1 or len(parent) == 0 or not np.issubdtype(parent.dtype, np.integer):
            raise ValueError
    except ValueError:
        problems.add(f"parent: expected a non-empty list of body indices (−1 for the base), got {_short(raw)}")
        problems.raise_if_any()
    return parent.astype(np.int64)


def _codes(raw: Any, enum: type[JointType] | type[Shape], what: str, n: int, problems: _Problems) -> Ints:
    """Names or numbers of an enumeration, as numbers."""
    values = np.asarray(raw)
    out = np.zeros(n, dtype=np.int64)
    if values.shape != (n,):
        problems.add(f"{what}: expected {n} entries, one per body, got shape {values.shape}")
        return out
    if np.issubdtype(values.dtype, np.integer):
        bad = (values < 0) | (values >= len(enum))
        problems.add_rows(bad, f"unknown {what}", values, f"numbers are 0 … {len(enum) - 1}", "entry")
        return np.where(bad, 0, values).astype(np.int64)
    known = {member.name.lower(): int(member) for member in enum}
    unique, inverse = np.unique(values.astype(str), return_inverse=True)
    code_of = np.array([known.get(u.lower(), -1) for u in unique], dtype=np.int64)
    for u, code in zip(unique, code_of):
        if code < 0:
            near = get_close_matches(u.lower(), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            rows = np.flatnonzero(values == u)
            problems.add(f"unknown {what} {str(u)!r} at entry {rows[0]} ({len(rows)} in all); {hint}")
    return code_of.clip(0)[inverse]


def _array(f: Field, raw: Any, sizes: Mapping[str, int], kinds: Ints, problems: _Problems) -> Floats:
    shape = tuple(sizes[d] if isinstance(d, str) else d for d in f.shape)
    if raw is None:
        if f.required:
            problems.add(f"{f.name} is missing; it must have shape {_shape_text(f, shape)}")
        view = _stand_in(f, shape, kinds)
        # Display-only arrays of one value need no memory: a broadcast view. Kernels need contiguous arrays.
        return view if f.name in ("color", "lower_limit", "upper_limit") or f.name.startswith("shape") else view.copy()
    try:
        values = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        problems.add(f"{f.name}: not an array of numbers ({_short(raw)}); expected shape {_shape_text(f, shape)}")
        return _stand_in(f, shape, kinds).copy()
    if "nv" in f.shape and values.shape == ():
        values = np.full(shape, float(values))
    elif "nv" in f.shape and values.shape == (sizes["n"],) != shape:  # nv == n: per degree of freedom
        values = np.repeat(values, DOF[kinds])
    if values.shape != shape:
        problems.add(f"{f.name}: shape {values.shape}, expected {_shape_text(f, shape)}")
        return _stand_in(f, shape, kinds).copy()
    bad = np.isnan(values) if f.may_be_infinite else ~np.isfinite(values)
    if bad.any():
        bad_rows = bad.reshape(len(bad), -1).any(axis=1)
        noun = {"nv": "degree of freedom", "nq": "coordinate"}.get(str(f.shape[0]), "body")
        problems.add_rows(bad_rows, f"{f.name} is not finite", values, "give finite numbers", noun)
        values = np.where(bad_rows.reshape(-1, *(1,) * (bad.ndim - 1)), _stand_in(f, shape, kinds), values)
    return np.ascontiguousarray(values)


def _stand_in(f: Field, shape: tuple[int, ...], kinds: Ints) -> Floats:
    """What a missing array holds. Also put in for a bad one, so that later checks only find problems of their own.

    Springs rest at the neutral position unless told: quaternions there are (0, 0, 0, 1).
    """
    if f.name == "rest_position":
        rest = np.zeros(shape)
        at = QUATERNION_AT[kinds]
        starts = np.cumsum(N_Q[kinds]) - N_Q[kinds]
        rest[(starts + at + 3)[at >= 0]] = 1.0
        return rest
    sound = {"mass": 1.0, "inertia": tuple(np.eye(3).flat)}.get(f.name, 0.0)
    fill = np.asarray(sound if f.default is None else f.default)
    return np.broadcast_to(fill.reshape(shape[1:]) if fill.ndim else fill, shape)


def _names(raw: Any, what: str, n: int, problems: _Problems) -> tuple[str, ...] | None:
    if raw is None:
        return None
    names = tuple(str(x) for x in raw)
    if len(names) != n:
        problems.add(f"{what}_names: {len(names)} names for {n}")
    seen: dict[str, int] = {}
    doubles = []
    for i, name in enumerate(names):
        if name in seen:
            doubles.append(f"{name!r} ({what} {seen[name]} and {i})")
        seen.setdefault(name, i)
    if doubles:
        more = f" and {len(doubles) - _NAMED} more" if len(doubles) > _NAMED else ""
        problems.add(f"duplicate {what} name {', '.join(doubles[:_NAMED])}{more}; names must differ")
    return names


# -------------------------------------------------------------------- checking


def _check_tree(parent: Ints, problems: _Problems) -> None:
    n = len(parent)
    unknown = (parent < -1) | (parent >= n)
    problems.add_rows(unknown, "unknown parent", parent, f"parents are −1 (the world) or 0 … {n - 1}")
    bases = np.flatnonzero(parent == -1)
    if len(bases) == 0:
        problems.add("no body has parent −1; exactly one body, the base, must hang on the world")
    if len(bases) > 1:
        extra = np.zeros(n, dtype=bool)
        extra[bases[1:]] = True
        problems.add_rows(
            extra, f"unconnected body: only the base (here {problems.label(int(bases[0]))}) may have parent −1",
            parent, "connect it to another body (a fixed or free joint will do)",
        )  # fmt: skip
    if len(bases) == 0:
        return
    # What cannot be reached from a base (or an unknown parent) sits on, or hangs on, a cycle.
    lost = parents_first(np.where(unknown, -1, parent))[1]
    problems.add_rows(lost, "cycle: not reachable from the base", parent, "follow the parents and break the cycle")


def _check_values(a: dict[str, Floats], kinds: Ints, problems: _Problems) -> None:
    """Physics: masses, inertias, axes, rotations, springs. Normalises axes and rotations in place."""
    problems.add_rows(a["mass"] <= 0.0, "mass is not positive", a["mass"], "every body needs mass > 0")

    J = a["inertia"]
    scale = np.abs(J).max(axis=(1, 2)) + np.finfo(float).tiny
    skew = np.abs(J - J.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-8 * scale
    problems.add_rows(skew, "inertia is not symmetric", J, "give a symmetric 3×3 matrix about the centre of mass")
    J[:] = 0.5 * (J + J.transpose(0, 2, 1))
    moments = np.linalg.eigvalsh(J)
    indefinite = moments[:, 0] <= 0.0
    problems.add_rows(
        indefinite, "inertia is not positive definite, principal moments", moments,
        "use inertia_of_sphere() and friends for a small body",
    )  # fmt: skip
    broken = ~indefinite & (moments[:, 2] > (moments[:, 0] + moments[:, 1]) * (1.0 + _TRIANGLE_TOLERANCE))
    problems.add_rows(
        broken, "inertia breaks the triangle inequality (largest principal moment above the sum of the others)",
        moments, "no real body has it; check that it is about the centre of mass",
    )  # fmt: skip

    for name, used in (("axis", HAS_AXIS[kinds]), ("axis2", kinds == JointType.UNIVERSAL)):
        length = np.linalg.norm(a[name], axis=1)
        problems.add_rows(used & (length < 1e-8), f"zero {name}", a[name], "give a direction", "joint")
        usable = length >= 1e-8
        a[name][usable] /= length[usable, None]
    both = np.any(a["axis"], axis=1) & np.any(a["axis2"], axis=1)  # a zero axis is reported already
    apart = np.linalg.norm(np.cross(a["axis"], a["axis2"]), axis=1)
    parallel = (kinds == JointType.UNIVERSAL) & both & (apart < 1e-6)
    problems.add_rows(parallel, "universal joint with parallel axes", a["axis2"], "axis2 must differ", "joint")

    R = a["rotation"]
    off = np.abs(np.einsum("nji,njk->nik", R, R) - np.eye(3)).max(axis=(1, 2))
    mirrored = np.einsum("ni,ni->n", R[:, 0], np.cross(R[:, 1], R[:, 2])) < 0.0
    problems.add_rows((off > _ROTATION_TOLERANCE) | mirrored, "rotation is not a rotation matrix", R,
                      "columns must be orthonormal with determinant +1", "joint")  # fmt: skip
    rough = np.flatnonzero((off > 1e-14) & (off <= _ROTATION_TOLERANCE))
    if len(rough):
        u, _, vt = np.linalg.svd(R[rough])
        R[rough] = u @ vt

    for name in ("stiffness", "damping"):
        problems.add_rows(a[name] < 0.0, f"{name} is negative", a[name], "use 0 or more", "degree of freedom")
    crossed = a["lower_limit"] > a["upper_limit"]
    problems.add_rows(crossed, "lower_limit above upper_limit", a["lower_limit"], "swap them", "degree of freedom")
    quaternions = QUATERNION_AT[kinds]
    starts = (np.cumsum(N_Q[kinds]) - N_Q[kinds] + quaternions)[quaternions >= 0]
    if len(starts):
        norm = np.linalg.norm(a["rest_position"][starts[:, None] + np.arange(4)], axis=1)
        problems.add_rows(np.abs(norm - 1.0) > 1e-6, "rest_position quaternion is not of length 1", norm,
                          "normalise it", "quaternion")  # fmt: skip


def _loops(given: Mapping[str, Any], n: int, problems: _Problems) -> Loops:
    """Loop joints in the input's body numbers."""
    body = np.asarray(given.get("loop_body", ()))
    body = body if body.size else np.zeros((0, 2), np.int64)
    if body.ndim != 2 or body.shape[1] != 2 or not np.issubdtype(body.dtype, np.integer):
        problems.add(f"loop_body: expected integers of shape (m, 2), got {_short(body)}")
        body = np.zeros((0, 2), np.int64)
    m = len(body)
    kinds = _codes(given.get("loop_joint_type", np.zeros(m, np.int64)), JointType, "loop_joint_type", m, problems)
    sizes = {"n": m}
    fields = (
        Field("loop_axis", ("n", 3), "-", "joint", "axis", default=(0.0, 0.0, 1.0)),
        Field("loop_rotation", ("n", 2, 3, 3), "-", "bodies", "placements", tuple(np.tile(np.eye(3), (2, 1, 1)).flat)),
        Field("loop_translation", ("n", 2, 3), "m", "bodies", "placements", default=(0.0,) * 6),
    )
    axis, rotation, translation = (_array(f, given.get(f.name), sizes, kinds, problems).copy() for f in fields)
    outside = ((body < 0) | (body >= n)).any(axis=1)
    problems.add_rows(outside, "loop joint to an unknown body", body, f"bodies are 0 … {n - 1}", "loop joint")
    problems.add_rows(body[:, 0] == body[:, 1], "loop joint from a body to itself", body, "join two", "loop joint")
    length = np.linalg.norm(axis, axis=1)
    problems.add_rows(HAS_AXIS[kinds] & (length < 1e-8), "zero loop_axis", axis, "give a direction", "loop joint")
    axis[length >= 1e-8] /= length[length >= 1e-8, None]
    off = np.abs(np.einsum("nsji,nsjk->nsik", rotation, rotation) - np.eye(3)).max(axis=(1, 2, 3), initial=0.0)
    mirrored = (np.linalg.det(rotation) < 0.0).any(axis=1)
    problems.add_rows((off > _ROTATION_TOLERANCE) | mirrored, "loop_rotation is not a rotation matrix", rotation,
                      "columns must be orthonormal with determinant +1", "loop joint")  # fmt: skip
    return Loops(body.astype(np.int64), kinds, axis, rotation, translation)


# -------------------------------------------------------------------- building


def _assemble(
    parent: Ints,
    kinds: Ints,
    arrays: dict[str, Floats],
    shape: Ints,
    loops: Loops,
    mesh: dict[int, str],
    names: Mapping[str, tuple[str, ...] | None],
    name: str,
) -> Linkage:
    """Bring everything into model order (parents first; the input's order where it already is) and freeze it."""
    n = len(parent)
    if np.all(parent < np.arange(n)):
        order = np.arange(n)
    else:
        order = parents_first(parent)[0]
        position = np.empty(n, dtype=np.int64)
        position[order] = np.arange(n)
        parent = np.where(parent[order] < 0, -1, position[parent[order]])
        rows_of = {
            "n": order,
            "nv": _flat_rows(DOF[kinds], order),
            "nq": _flat_rows(N_Q[kinds], order),
        }
        for f in ALL_FIELDS:
            arrays[f.name] = arrays[f.name][rows_of[str(f.shape[0])]]
        kinds, shape = kinds[order], shape[order]
        loops = loops._replace(body=position[loops.body])
        mesh = {int(position[b]): path for b, path in mesh.items()}
        names = {k: None if v is None else tuple(v[i] for i in order) for k, v in names.items()}
    for array in (parent, kinds, shape, order, *arrays.values(), *loops):
        array.setflags(write=False)
    return Linkage(
        parent=parent, joint_type=kinds, shape=shape, loops=loops, input_index=order, name=name, mesh_path=mesh,
        _body_names=names["body"], _joint_names=names["joint"], **arrays,
    )  # fmt: skip


def _flat_rows(sizes: Ints, order: Ints) -> Ints:
    starts = np.cumsum(sizes) - sizes
    taken = sizes[order]
    return np.repeat(starts[order] - (np.cumsum(taken) - taken), taken) + np.arange(taken.sum())


def _shape_text(f: Field, shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, f.shape))}) = {shape}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
