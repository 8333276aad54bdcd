"""Two machines: a bicycle chain and a millipede-like robot.

They are the first two benchmarks of Redon & Lin, "Efficient, error-bounded approximation for quasi-statics of
complex linkages" (2005), section 6. Conventions as in `generators`; units m, kg, s, rad.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..typing import Floats
from .inertia import MassProperties, combine, inertia_of_box, inertia_of_cylinder
from .joints import REVOLUTE, JointType
from .model import Linkage, Shape
from .trees import RUST, SAND, blend, capsule_links, count, joint_code, joint_kinds, positive, springs


def bicycle_chain(
    n: int = 30,
    *,
    outline: str = "straight",
    teeth: int = 12,
    base: str | JointType | None = None,
    stiffness: float = 0.0,
    damping: float = 0.0,
    name: str = "bicycle_chain",
) -> Linkage:
    """A roller chain of n steel links, outer and inner by turns, half-inch (12.7 mm) pitch, pins along y.

    outline    "straight": along x, like the upper run; "loop": round two sprockets of `teeth` (even) teeth, to
               where the last link would meet the first; it is left open
    base       joint 0 is a pin to the world unless another type is named
    stiffness, damping  of the pins, N m/rad and N m s/rad
    """
    n = count("n", n)
    teeth = count("teeth", teeth, least=4)
    if outline not in ("straight", "loop") or teeth % 2:
        raise InputError(f'outline = {outline!r}, teeth = {teeth}; use "straight" or "loop" and an even number')
    mm = 1e-3
    pitch, height, plate, steel = 12.7 * mm, 7.5 * mm, 0.9 * mm, 7850.0
    is_outer = np.arange(n) % 2 == 0
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # z to y: pins and rollers

    def link(width: float, barrel: MassProperties) -> MassProperties:
        plates = [
            inertia_of_box((pitch + 6.3 * mm, plate, height), density=steel).moved((0.5 * pitch, y, 0.0))
            for y in (0.5 * (plate - width), 0.5 * (width - plate))
        ]
        return combine(*plates, *(barrel.moved((x, 0.0, 0.0), turn) for x in (0.0, pitch)))

    inner_width, outer_width = 4.2 * mm, 6.2 * mm
    pin = inertia_of_cylinder(1.8 * mm, outer_width, density=steel)
    solid, bore = (inertia_of_cylinder(r * mm, 2.4 * mm, density=steel) for r in (3.87, 1.8))
    roller = MassProperties(solid.mass - bore.mass, solid.center_of_mass, solid.inertia - bore.inertia)
    outer, inner = link(outer_width, pin), link(inner_width, roller)

    half, run = teeth // 2, max(0, (n - teeth) // 2)
    bend = np.zeros(n + 1)
    if outline == "loop":
        for start in (run + 1, 2 * run + half + 1):
            bend[start : start + half] = 2.0 * np.pi / teeth
    kinds = joint_kinds("revolute", base, n, np.random.default_rng(0))
    across = np.where(is_outer, outer_width, inner_width)
    return Linkage.from_arrays(
        np.arange(-1, n - 1), kinds,
        mass=np.where(is_outer, outer.mass, inner.mass),
        center_of_mass=np.where(is_outer[:, None], outer.center_of_mass, inner.center_of_mass),
        inertia=np.where(is_outer[:, None, None], outer.inertia, inner.inertia),
        axis=np.tile((0.0, 1.0, 0.0), (n, 1)), rotation=_about_y(bend[:n]),
        translation=np.outer(np.arange(n) > 0, (pitch, 0.0, 0.0)),
        shape=np.full(n, int(Shape.BOX)),
        shape_size=np.stack([np.full(n, pitch + 6.3 * mm), across, np.full(n, height)], axis=1),
        shape_translation=np.tile((0.5 * pitch, 0.0, 0.0), (n, 1)),
        color=blend(is_outer.astype(float), (0.45, 0.45, 0.48), (0.75, 0.75, 0.78)),
        body_names=[f"{'inner' if i % 2 else 'outer'}_{i}" for i in range(n)],
        joint_names=[f"pin_{i}" for i in range(n)],
        name=name, **springs(kinds, stiffness, damping),
    )  # fmt: skip


def millipede(
    legs: int = 1000,
    links_per_leg: int = 10,
    spine: int = 3000,
    *,
    base: str | JointType | None = "free",
    spine_length: float = 0.1,
    leg_length: float = 0.04,
    density: float = 1000.0,
    stiffness: float = 0.0,
    damping: float = 0.0,
    name: str = "millipede",
) -> Linkage:
    """A millipede-like robot: `legs` legs of `links_per_leg` links, in pairs evenly along a spine; all hinges.

    The defaults are the benchmark: 13,000 links and 12,999 joints between them, plus the free joint of the
    first spine link (`base`; None: a hinge). The spine runs along x and bends by turns up-down and sideways;
    legs arch out and down to the ground z = 0, even ones on the left (+y). Names: spine_i, and leg_k_j for link j
    of leg k, counted from the hip; joints are named like the bodies they move.

    spine_length, leg_length  of one link, m
    density                   kg/m³
    stiffness, damping        of the hinges, N m/rad and N m s/rad
    """
    legs, spine = count("legs", legs, least=0), count("spine", spine)
    m = count("links_per_leg", links_per_leg)
    Ls, Ll = positive("spine_length", spine_length, "m"), positive("leg_length", leg_length, "m")
    rs, rl = 0.4 * Ls, 0.2 * Ll
    n = spine + legs * m
    # Leg k stands `along` the spine; depth-first numbers: a spine link, the legs on it, the next spine link.
    k = np.arange(legs)
    along = (k // 2 + 0.5) * spine / max((legs + 1) // 2, 1)
    on_link = along.astype(np.int64)
    spine_at = np.arange(spine) + m * np.searchsorted(on_link, np.arange(spine), side="left")
    leg_at = on_link[:, None] + 1 + m * k[:, None] + np.arange(m)  # (legs, m)
    hip, foot_links = leg_at[:, 0], leg_at[:, 1:]

    parent = np.full(n, -1, dtype=np.int64)
    parent[spine_at[1:]] = spine_at[:-1]
    parent[hip] = spine_at[on_link]
    parent[foot_links] = leg_at[:, :-1]
    rise, curl = np.deg2rad(25.0), np.deg2rad(110.0) / max(m - 1, 1)
    side = np.where(k % 2 == 0, 1.0, -1.0)
    rotation = np.tile(np.eye(3), (n, 1, 1))
    rotation[hip, :, 0] = np.stack([0.0 * side, side * np.cos(rise), np.full(legs, np.sin(rise))], axis=1)
    rotation[hip, :, 1] = np.stack([-side, 0.0 * side, 0.0 * side], axis=1)
    rotation[hip, :, 2] = np.cross(rotation[hip, :, 0], rotation[hip, :, 1])
    rotation[foot_links] = _about_y(np.full(1, curl))
    translation = np.zeros((n, 3))
    translation[spine_at[1:], 0] = Ls
    translation[hip, 0], translation[hip, 1] = (along - on_link) * Ls, side * rs
    translation[foot_links, 0] = Ll
    translation[0, 2] = max(rs, -Ll * np.sin(rise - curl * np.arange(m)).sum()) if legs else rs
    axis = np.zeros((n, 3))
    axis[spine_at, 1], axis[spine_at, 2] = np.arange(spine) % 2, 1 - np.arange(spine) % 2
    axis[hip, 2], axis[foot_links, 1] = 1.0, 1.0
    in_spine = np.zeros(n, dtype=bool)
    in_spine[spine_at] = True
    links = capsule_links(np.where(in_spine, Ls, Ll), np.where(in_spine, rs, rl), density)
    kinds = np.full(n, REVOLUTE, dtype=np.int64)
    kinds[0] = REVOLUTE if base is None else joint_code(base)
    names = np.empty(n, dtype=object)
    names[spine_at] = [f"spine_{i}" for i in range(spine)]
    names[leg_at.reshape(-1)] = [f"leg_{i}_{j}" for i in range(legs) for j in range(m)]
    shade = np.where(in_spine, 0.5 * (np.cumsum(in_spine) % 2), 1.0)
    return Linkage.from_arrays(
        parent, kinds, axis=axis, rotation=rotation, translation=translation,
        color=blend(shade, RUST, SAND), body_names=list(names), joint_names=list(names), name=name,
        **links.arrays(), **springs(kinds, stiffness, damping),
    )  # fmt: skip


def _about_y(angle: Floats) -> Floats:
    """(n, 3, 3) rotations about y: x goes towards −z."""
    c, s, one, zero = np.cos(angle), np.sin(angle), np.ones_like(angle), np.zeros_like(angle)
    return np.stack([c, zero, s, zero, one, zero, -s, zero, c], axis=-1).reshape(-1, 3, 3)
