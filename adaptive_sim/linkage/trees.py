"""Trees of capsules: chains, random and balanced trees, caterpillars, stars; and the parts generators share.

Conventions (numbering, base joint, seed, pose, units) as in `generators`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import InputError
from ..typing import Floats, Ints
from .inertia import MassProperties, combine, inertia_of_capsule, inertia_of_sphere
from .joints import CYLINDRICAL, DOF, FREE, HELICAL, PRISMATIC, JointType
from .kinematics import body_depth, parents_first
from .model import Linkage, Shape

JointMix: TypeAlias = str | JointType | Sequence[str | JointType]

BLUE, TEAL, SAND, RUST = (0.20, 0.35, 0.60), (0.25, 0.62, 0.60), (0.88, 0.74, 0.45), (0.62, 0.27, 0.18)


def chain(
    n: int,
    *,
    seed: int = 0,
    joint: JointMix = "revolute",
    base: str | JointType | None = None,
    length: float = 0.5,
    radius: float = 0.05,
    density: float = 250.0,
    variation: float = 0.2,
    bend: float = 0.3,
    stiffness: float = 0.0,
    damping: float = 0.0,
    name: str = "chain",
) -> Linkage:
    """A chain of n capsules that starts at the world's origin and meanders along x.

    `chain(n)` has n revolute joints: the first hangs body 0 on the world. `joint` is a type, a list of types
    to draw from, or "any". `base` is the type of joint 0 if it shall differ: "free" lets the chain float,
    "fixed" welds it to the world. Hinge axes lie across the links, by turns along y and z with some scatter;
    sliding and screwing joints move roughly along the links.

    length, radius  of a link, m, between the centres of its caps; each varies by ±`variation` (a fraction)
    density         kg/m³; the defaults give links of about 1 kg
    bend            largest angle between neighbours, rad
    stiffness, damping  of every degree of freedom (not of a free base), N m/rad or N/m; N m s/rad or N s/m
    """
    n = count("n", n)
    rng = random_numbers(seed)
    kinds = joint_kinds(joint, base, n, rng)
    links = random_links(rng, n, length, radius, density, variation, lumpy=False)
    return _link_tree(
        name, np.arange(-1, n - 1), kinds, rng, links,
        rotation=bent(rng.uniform(-np.pi, np.pi, n), rng.uniform(0.0, positive("bend", bend, "rad", True), n)),
        attach=np.ones(n), color=blend(np.linspace(0.0, 1.0, n), BLUE, SAND),
        stiffness=stiffness, damping=damping,
    )  # fmt: skip


def random_tree(
    n: int,
    *,
    seed: int = 0,
    joint: JointMix = "any",
    base: str | JointType | None = None,
    reach: int | None = None,
    length: float = 0.5,
    radius: float = 0.05,
    density: float = 250.0,
    variation: float = 0.3,
    stiffness: float = 0.0,
    damping: float = 0.0,
    name: str = "random_tree",
) -> Linkage:
    """A tree in which each of n bodies hangs on a random earlier one, by default with joints of all types.

    `reach` limits how far back the parent may be: None gives depth about e·log n, 1 a chain, small numbers
    deep trees. Bodies are lumpy capsules, so that centres of mass and principal axes point everywhere. Other
    parameters as in `chain`.
    """
    n = count("n", n)
    back = n if reach is None else count("reach", reach)
    rng = random_numbers(seed)
    i = np.arange(n)
    parent = np.where(i > 0, i - 1 - (rng.random(n) * np.minimum(i, back)).astype(np.int64), -1)
    parent = depth_first(parent)[0]
    links = random_links(rng, n, length, radius, density, variation, lumpy=True)
    return _link_tree(
        name, parent, joint_kinds(joint, base, n, rng), rng, links,
        rotation=bent(rng.uniform(-np.pi, np.pi, n), rng.uniform(0.2, 1.3, n)),
        attach=rng.uniform(0.4, 1.0, n), color=blend(rng.random(n), TEAL, SAND),
        stiffness=stiffness, damping=damping,
    )  # fmt: skip


def balanced(
    n: int,
    *,
    arity: int = 2,
    seed: int = 0,
    joint: JointMix = "revolute",
    base: str | JointType | None = None,
    length: float = 0.5,
    radius: float = 0.05,
    density: float = 250.0,
    variation: float = 0.2,
    name: str = "balanced",
) -> Linkage:
    """The complete tree of n bodies with `arity` children each: as shallow as it gets.

    Lumpy capsules; parameters as in `chain`.
    """
    n, arity = count("n", n), count("arity", arity)
    rng = random_numbers(seed)
    by_level = np.arange(n)
    parent, order = depth_first((by_level - 1) // arity)
    sibling = (by_level - 1) % arity
    # Turned from level to level, else all would lie in one plane.
    azimuth = np.pi / arity * (2.0 * sibling[order] + body_depth(parent)) + rng.uniform(-0.3, 0.3, n)
    links = random_links(rng, n, length, radius, density, variation, lumpy=True)
    return _link_tree(
        name, parent, joint_kinds(joint, base, n, rng), rng, links,
        rotation=bent(azimuth, np.full(n, 0.6 if arity > 1 else 0.1)), attach=np.ones(n),
        color=blend(np.log2(by_level + 1.0)[order] / np.log2(n + 1.0), RUST, TEAL),
    )  # fmt: skip


def caterpillar(
    n: int,
    *,
    legs: int = 2,
    seed: int = 0,
    joint: JointMix = "revolute",
    base: str | JointType | None = None,
    length: float = 0.5,
    radius: float = 0.05,
    density: float = 250.0,
    variation: float = 0.2,
    name: str = "caterpillar",
) -> Linkage:
    """A spine whose links carry `legs` legs of one link each; n bodies in all.

    Lumpy capsules; parameters as in `chain`.
    """
    n, legs = count("n", n), count("legs", legs, least=0)
    rng = random_numbers(seed)
    i = np.arange(n)
    place = i % (legs + 1)  # 0: spine, else which leg of the spine link before
    is_spine = place == 0
    parent = np.where(is_spine, i - (legs + 1), i - place)
    parent[0] = -1
    azimuth = np.where(is_spine, rng.uniform(-np.pi, np.pi, n), 2.0 * np.pi * (place - 0.5) / max(legs, 1))
    links = random_links(rng, n, length, radius, density, variation, lumpy=True)
    return _link_tree(
        name, parent, joint_kinds(joint, base, n, rng), rng, links,
        rotation=bent(azimuth, np.where(is_spine, 0.1, 0.5 * np.pi)),
        attach=np.where(is_spine, 1.0, 0.5), color=blend(is_spine.astype(float), SAND, TEAL),
    )  # fmt: skip


def star(
    n: int,
    *,
    seed: int = 0,
    joint: JointMix = "revolute",
    base: str | JointType | None = None,
    length: float = 0.5,
    radius: float = 0.05,
    density: float = 250.0,
    variation: float = 0.2,
    name: str = "star",
) -> Linkage:
    """A hub with n − 1 arms all around: one body with as many children as there are.

    The hub is a hollow ball with a wall as thick as the arms, large enough for all to stand side by side.
    Lumpy capsules; parameters as in `chain`.
    """
    n = count("n", n)
    rng = random_numbers(seed)
    links = random_links(rng, n, length, radius, density, variation, lumpy=True)
    # Fibonacci sphere: n − 1 directions, evenly spread.
    k = np.arange(n) - 1.0
    azimuth = np.pi * (3.0 - 5.0**0.5) * k
    angle = np.arccos(np.clip(1.0 - 2.0 * (k + 0.5) / max(n - 1, 1), -1.0, 1.0))
    angle[0] = 0.0
    rotation = bent(azimuth, angle)
    hub = radius * (2.0 + 1.5 * n**0.5)
    whole, hole = inertia_of_sphere(hub, density=density), inertia_of_sphere(hub - radius, density=density)
    links.body.mass[0] = whole.mass - hole.mass
    links.body.center_of_mass[0] = 0.0
    links.body.inertia[0] = whole.inertia - hole.inertia
    looks = links.arrays()
    looks["shape"][0] = Shape.SPHERE
    looks["shape_size"][0] = (hub, 0.0, 0.0)
    looks["shape_translation"][0] = 0.0
    kinds = joint_kinds(joint, base, n, rng)
    return Linkage.from_arrays(
        np.minimum(np.arange(n), 1) - 1, kinds, rotation=rotation,
        translation=hub * rotation[:, :, 0] * (np.arange(n) > 0)[:, None],
        color=blend(rng.random(n), RUST, SAND), name=name, **looks, **axes(kinds, rng, links.length),
    )  # fmt: skip


# -------------------------------------------------------------------- parts shared by the generators


class Links(NamedTuple):
    """Capsules along their own x, from the joint at the origin to the tip; one row per body."""

    length: Floats  # (n,) m, between the centres of the caps
    radius: Floats  # (n,) m
    body: MassProperties

    def arrays(self) -> dict[str, Any]:
        """Masses and looks, as arguments of `Linkage.from_arrays`."""
        n = len(self.length)
        zero = np.zeros(n)
        return {
            **self.body._asdict(),
            "shape": np.full(n, int(Shape.CAPSULE)),
            "shape_size": np.stack([self.radius, self.length, zero], axis=1),
            "shape_translation": np.stack([0.5 * self.length, zero, zero], axis=1),
            "shape_quaternion": np.broadcast_to((0.0, 0.5**0.5, 0.0, 0.5**0.5), (n, 4)),  # z to x
        }


def capsule_links(length: Floats, radius: Floats, density: float) -> Links:
    along_z = inertia_of_capsule(radius, length, density=positive("density", density, "kg/m³"))
    inertia = along_z.inertia[:, [2, 1, 0]][:, :, [2, 1, 0]]  # diagonal: turning z to x swaps two entries
    center = np.zeros((len(length), 3))
    center[:, 0] = 0.5 * length
    return Links(length, radius, MassProperties(along_z.mass, center, inertia))


def random_links(
    rng: np.random.Generator,
    n: int,
    length: float,
    radius: float,
    density: float,
    variation: float,
    lumpy: bool,
) -> Links:
    """Capsules whose sizes vary by ±variation; `lumpy` ones carry two balls anywhere on their surface."""
    if not 0.0 <= variation < 1.0:
        raise InputError(f"variation = {variation}; give a fraction, 0 or more and below 1")
    L = positive("length", length, "m") * rng.uniform(1.0 - variation, 1.0 + variation, n)
    r = positive("radius", radius, "m") * rng.uniform(1.0 - variation, 1.0 + variation, n)
    links = capsule_links(L, r, density)
    if not lumpy:
        return links
    parts = [links.body]
    for _ in range(2):
        angle = rng.uniform(-np.pi, np.pi, n)
        at = np.stack([rng.uniform(0.1, 0.9, n) * L, r * np.cos(angle), r * np.sin(angle)], axis=1)
        parts.append(inertia_of_sphere(r, mass=rng.uniform(0.1, 0.3, n) * links.body.mass).moved(at))
    return links._replace(body=combine(*parts))


def _link_tree(
    name: str,
    parent: Ints,
    kinds: Ints,
    rng: np.random.Generator,
    links: Links,
    *,
    rotation: Floats,
    attach: Floats,
    color: Floats,
    stiffness: float = 0.0,
    damping: float = 0.0,
) -> Linkage:
    """Links hung on their parents' links at a fraction `attach` of the length; the base at the origin along x."""
    translation = np.zeros((len(parent), 3))
    translation[:, 0] = attach * links.length[parent]
    translation[0] = 0.0
    rotation[0] = np.eye(3)
    return Linkage.from_arrays(
        parent, kinds, rotation=rotation, translation=translation, color=color, name=name,
        **links.arrays(), **axes(kinds, rng, links.length), **springs(kinds, stiffness, damping),
    )  # fmt: skip


def axes(kinds: Ints, rng: np.random.Generator, length: Floats) -> dict[str, Any]:
    """Axes and pitches for links along x: hinges across, by turns about y and z; slides, screws roughly along."""
    n = len(kinds)
    angle = 0.5 * np.pi * (1 - np.arange(n) % 2) + rng.uniform(-0.4, 0.4, n)
    slides = np.isin(kinds, (PRISMATIC, HELICAL, CYLINDRICAL))
    axis = np.stack([np.where(slides, 2.0, 0.0), np.sin(angle), np.cos(angle)], axis=1)
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    axis2 = np.stack([np.zeros(n), np.cos(angle), -np.sin(angle)], axis=1)
    return {"axis": axis, "axis2": axis2, "pitch": np.where(kinds == HELICAL, 0.1 * length, 0.0)}


def joint_kinds(joint: JointMix, base: str | JointType | None, n: int, rng: np.random.Generator) -> Ints:
    """Types of n joints drawn from `joint`; joint 0 is `base` if that is given."""
    given: list[str | JointType] = list(JointType)
    if joint != "any":
        given = [joint] if isinstance(joint, str) or not isinstance(joint, Iterable) else list(joint)
    codes = np.array([joint_code(kind) for kind in given], dtype=np.int64)
    if len(codes) == 0:
        raise InputError("joint = []; give a joint type or a list of types to draw from")
    kinds = codes[rng.integers(len(codes), size=n)]
    if base is not None:
        kinds[0] = joint_code(base)
    return kinds


def joint_code(joint: str | JointType) -> int:
    """Number of a joint type given by name or number."""
    known = {kind.name.lower(): int(kind) for kind in JointType}
    if isinstance(joint, str) and joint.lower() in known:
        return known[joint.lower()]
    if not isinstance(joint, str) and joint in known.values():
        return int(joint)
    near = get_close_matches(str(joint), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    raise InputError(f"unknown joint type {joint!r}; {hint}")


def springs(kinds: Ints, stiffness: float, damping: float) -> dict[str, Any]:
    """The same stiffness and damping for every degree of freedom but those of a free base."""
    out = {}
    for what, value in (("stiffness", stiffness), ("damping", damping)):
        if positive(what, value, "N m/rad or N/m (times s)", zero_allowed=True) > 0.0:
            flat = np.full(int(DOF[kinds].sum()), float(value))
            flat[: DOF[FREE] if kinds[0] == FREE else 0] = 0.0
            out[what] = flat
    return out


def bent(azimuth: Floats, angle: Floats) -> Floats:
    """(n, 3, 3) rotations that bend x by `angle` towards (0, cos azimuth, sin azimuth), without twist."""
    c, s = np.cos(angle), np.sin(angle)
    y, z = np.cos(azimuth), np.sin(azimuth)
    rows = [[c, -s * y, -s * z], [s * y, c + (1 - c) * z * z, (c - 1) * y * z],
            [s * z, (c - 1) * y * z, c + (1 - c) * y * y]]  # fmt: skip
    return np.ascontiguousarray(np.moveaxis(np.array(rows), -1, 0))


def depth_first(parent: Ints) -> tuple[Ints, Ints]:
    """Renumber a tree depth-first: the new parents, and the old number of each body."""
    order = parents_first(parent)[0]
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    above = parent[order]
    return np.where(above < 0, -1, position[above]), order


def blend(t: Floats, first: Sequence[float], last: Sequence[float]) -> Floats:
    """(n, 3) colours from `first` at t = 0 to `last` at t = 1."""
    a, b = np.asarray(first), np.asarray(last)
    return np.asarray(a + t[:, None] * (b - a))


def random_numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(count("seed", seed, least=0))


def count(name: str, value: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} = {value!r}; give a whole number, {least} or more")
    return int(value)


def positive(name: str, value: float, unit: str, zero_allowed: bool = False) -> float:
    ok = isinstance(value, int | float | np.number) and np.isfinite(value)
    if not ok or value < 0.0 or (value == 0.0 and not zero_allowed):
        wanted = "0 or more" if zero_allowed else "above 0"
        raise InputError(f"{name} = {value!r}; give a finite number {wanted}, in {unit}")
    return float(value)
