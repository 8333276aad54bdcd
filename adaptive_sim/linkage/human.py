"""Human figures: 40 degrees of freedom in 17 links, or 16 (four for each arm and leg), standing upright.

Joints after Nakamura & Yamane, "Dynamics computation of structure-varying kinematic chains and its application to
human figures" (2000), figures 16 and 19. Masses, lengths, centres of mass and radii of gyration of the segments:
de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomech. 29 (1996), table 4, men.
Not every number was checked against the printed table: hand and shank are to be verified before they are relied on.
Heights of ankles and shoulders, half width of the shoulders: Drillis & Contini (1966), in Winter, "Biomechanics
and Motor Control of Human Movement", figure 4.1. Hip joint centres: Bell et al., J. Biomech. 23 (1990).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..typing import Floats
from .builder import LinkageBuilder
from .inertia import MassProperties, combine
from .joints import JointType
from .model import Linkage
from .trees import joint_code, positive

_STATURE = 1.741  # m, of de Leva's men


class _Segment(NamedTuple):
    """A row of the table: fractions of body mass; length in m at that stature; the rest as fractions of length."""

    mass: float
    length: float
    center: float  # centre of mass, from the upper end (of the foot: from the heel)
    gyration: tuple[float, float, float]  # radii about the axes sagittal (x), transverse (y), longitudinal (z)


_HEAD = _Segment(0.0694, 0.2033, 0.5976, (0.362, 0.376, 0.312))  # vertex to mid-gonion
_THORAX = _Segment(0.1596, 0.1707, 0.2999, (0.716, 0.454, 0.659))  # suprasternale to xiphion
_ABDOMEN = _Segment(0.1633, 0.2155, 0.4502, (0.482, 0.383, 0.468))  # xiphion to omphalion
_PELVIS = _Segment(0.1117, 0.1457, 0.6115, (0.615, 0.551, 0.587))  # omphalion to mid-hip
_UPPER_ARM = _Segment(0.0271, 0.2817, 0.5772, (0.285, 0.269, 0.158))
_FOREARM = _Segment(0.0162, 0.2689, 0.4574, (0.276, 0.265, 0.121))
_HAND = _Segment(0.0061, 0.1879, 0.3624, (0.288, 0.235, 0.184))  # wrist to the third fingertip
_THIGH = _Segment(0.1416, 0.4222, 0.4095, (0.329, 0.329, 0.149))
_SHANK = _Segment(0.0433, 0.4403, 0.4395, (0.251, 0.246, 0.102))  # knee to ankle joint centre
_FOOT = _Segment(0.0137, 0.2581, 0.4415, (0.257, 0.245, 0.124))  # heel to toe tip; long axis forwards

# As fractions of stature (Drillis & Contini).
_ANKLE_HEIGHT, _SHOULDER_HALF_WIDTH, _SHOULDER_HEIGHT = 0.039, 0.129, 0.818
_HIP_HALF_WIDTH = 0.050  # 14 % of the distance between the iliac spines (about 0.24 m) inside of them (Bell)
# What is left of the stature between suprasternale and mid-gonion; its share of the head's mass is our assumption.
_NECK_LENGTH = _STATURE * (1.0 - _ANKLE_HEIGHT) - sum(
    s.length for s in (_SHANK, _THIGH, _PELVIS, _ABDOMEN, _THORAX, _HEAD)
)
_NECK_SHARE = 0.2
_HEEL_BEHIND_ANKLE = 0.25  # fraction of the foot's length behind the ankle

_SKIN, _SHIRT, _TROUSERS, _SHOES = (0.87, 0.68, 0.55), (0.25, 0.45, 0.65), (0.25, 0.27, 0.35), (0.15, 0.12, 0.10)
_FORWARD, _LEFT = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
_DOWN, _UP = np.array([0.0, 0.0, -1.0]), np.array([0.0, 0.0, 1.0])


def human_figure(
    dof: int = 16,
    *,
    height: float = 1.75,
    mass: float = 73.0,
    base: str | JointType = "free",
    stiffness: float = 0.0,
    damping: float = 0.0,
    name: str | None = None,
) -> Linkage:
    """A person standing on the ground z = 0 with hanging arms, facing x, left is y.

    dof=40  17 links: pelvis, abdomen, thorax, neck, head; upper_arm, forearm, hand, thigh, shank, foot on each side
            (left_…, right_…). Elbows and knees are hinges, the other 12 joints spherical: 4 + 12·3 = 40
    dof=16  torso; upper_arm, forearm, thigh, shank on each side. Shoulders and hips are spherical, elbows and
            knees hinges: 4·(3 + 1) = 16. Head, hands and feet are bodies too, but fixed in place

    These are the degrees of freedom inside the figure; its base (pelvis or torso) has a free joint more, named
    "root", unless `base` names another type. At q = 0 all body frames are parallel to the world's, at the joints
    (the root: between the hips). Elbows and knees bend by positive angles, 0 … 2.6 rad (limits).

    height, mass        m, kg; segments scale with them
    stiffness, damping  of every joint but the root, N m/rad and N m s/rad
    """
    if dof not in (16, 40):
        raise InputError(f"dof = {dof!r}; there are figures with 16 and with 40 degrees of freedom")
    figure = _Figure(
        LinkageBuilder(name or f"human_figure_{dof}"),
        scale=positive("height", height, "m") / _STATURE,
        mass=positive("mass", mass, "kg"),
        springs={
            "stiffness": positive("stiffness", stiffness, "N m/rad", zero_allowed=True),
            "damping": positive("damping", damping, "N m s/rad", zero_allowed=True),
        },
    )
    joint_code(base)  # complains about unknown types
    chest, chest_height = _trunk_40(figure, base) if dof == 40 else _trunk_16(figure, base)
    loose = "spherical" if dof == 40 else "fixed"
    shoulder_up = _SHOULDER_HEIGHT * _STATURE - chest_height
    for side, y in (("left", 1.0), ("right", -1.0)):
        shoulder = y * _SHOULDER_HALF_WIDTH * _STATURE * _LEFT + shoulder_up * _UP
        figure.limb(f"{side}_upper_arm", chest, f"{side}_shoulder", shoulder, _UPPER_ARM, 0.045, _SHIRT)
        figure.limb(f"{side}_forearm", f"{side}_upper_arm", f"{side}_elbow", _UPPER_ARM.length * _DOWN,
                    _FOREARM, 0.036, _SKIN, type="revolute", axis=-_LEFT, limits=(0.0, 2.6))  # fmt: skip
        figure.hand(f"{side}_hand", f"{side}_forearm", f"{side}_wrist", loose)
    pelvis = "pelvis" if dof == 40 else "torso"
    for side, y in (("left", 1.0), ("right", -1.0)):
        hip = y * _HIP_HALF_WIDTH * _STATURE * _LEFT
        figure.limb(f"{side}_thigh", pelvis, f"{side}_hip", hip, _THIGH, 0.075, _TROUSERS)
        figure.limb(f"{side}_shank", f"{side}_thigh", f"{side}_knee", _THIGH.length * _DOWN, _SHANK, 0.050,
                    _TROUSERS, type="revolute", axis=_LEFT, limits=(0.0, 2.6))  # fmt: skip
        figure.foot(f"{side}_foot", f"{side}_shank", f"{side}_ankle", loose)
    return figure.builder.build()


# Heights of joints above the ground, m at the table's stature.
_HIP_HEIGHT = _ANKLE_HEIGHT * _STATURE + _SHANK.length + _THIGH.length
_WAIST_HEIGHT = _HIP_HEIGHT + _PELVIS.length
_CHEST_HEIGHT = _WAIST_HEIGHT + _ABDOMEN.length
_NECK_HEIGHT = _CHEST_HEIGHT + _THORAX.length


def _trunk_40(figure: _Figure, base: str | JointType) -> tuple[str, float]:
    """Pelvis to head; returns the body that carries the arms and the height of its frame."""
    parts = (
        ("pelvis", None, "root", _HIP_HEIGHT * _UP, _PELVIS, (0.18, 0.30), _TROUSERS),
        ("abdomen", "pelvis", "waist", _PELVIS.length * _UP, _ABDOMEN, (0.18, 0.27), _SHIRT),
        ("thorax", "abdomen", "chest", _ABDOMEN.length * _UP, _THORAX, (0.20, 0.32), _SHIRT),
    )
    for name, parent, joint, at, segment, (depth, width), color in parts:
        figure.add(
            name, parent, joint, at, _upright(segment), color, type=base if parent is None else "spherical",
            shape="box", shape_size=(depth, width, segment.length), shape_translation=0.5 * segment.length * _UP,
        )  # fmt: skip
    radius = 0.055
    share = _Segment(_HEAD.mass * _NECK_SHARE, _NECK_LENGTH, 0.5, _cylinder_gyration(radius / _NECK_LENGTH))
    figure.add(
        "neck", "thorax", "lower_neck", _THORAX.length * _UP, _upright(share), _SKIN,
        shape="cylinder", shape_size=(radius, _NECK_LENGTH), shape_translation=0.5 * _NECK_LENGTH * _UP,
    )  # fmt: skip
    figure.head("neck", "upper_neck", _NECK_LENGTH * _UP, _HEAD._replace(mass=_HEAD.mass * (1.0 - _NECK_SHARE)))
    return "thorax", _CHEST_HEIGHT


def _trunk_16(figure: _Figure, base: str | JointType) -> tuple[str, float]:
    """The torso in one piece, the head fixed on it."""
    trunk = combine(
        _upright(_PELVIS),
        _upright(_ABDOMEN).moved(_PELVIS.length * _UP),
        _upright(_THORAX).moved((_PELVIS.length + _ABDOMEN.length) * _UP),
    )
    length = _PELVIS.length + _ABDOMEN.length + _THORAX.length
    figure.add(
        "torso", None, "root", _HIP_HEIGHT * _UP, trunk, _SHIRT, type=base,
        shape="box", shape_size=(0.19, 0.30, length), shape_translation=0.5 * length * _UP,
    )  # fmt: skip
    figure.head("torso", "neck", (length + _NECK_LENGTH) * _UP, _HEAD, type="fixed")
    return "torso", _HIP_HEIGHT


class _Figure:
    """Adds segments to a builder; takes the table's lengths and mass fractions and scales them."""

    def __init__(self, builder: LinkageBuilder, scale: float, mass: float, springs: dict[str, Any]) -> None:
        self.builder = builder
        self.scale = scale
        self.mass = mass
        self.springs = springs

    def add(
        self,
        name: str,
        parent: str | None,
        joint: str,
        at: Floats,
        body: MassProperties,
        color: tuple[float, float, float],
        *,
        shape: str,
        shape_size: tuple[float, ...],
        shape_translation: Floats,
        type: str | JointType = "spherical",
        **more: Any,
    ) -> None:
        L, M = self.scale, self.mass
        self.builder.add_body(
            name, mass=float(M * body.mass), center_of_mass=L * body.center_of_mass,
            inertia=M * L * L * body.inertia, shape=shape, shape_size=[L * s for s in shape_size],
            shape_translation=L * shape_translation, color=color,
        )  # fmt: skip
        springs: dict[str, Any] = self.springs if parent is not None else {}
        self.builder.add_joint(joint, parent=parent, child=name, type=type, translation=L * at, **springs, **more)

    def limb(
        self,
        name: str,
        parent: str,
        joint: str,
        at: Floats,
        segment: _Segment,
        radius: float,
        color: tuple[float, float, float],
        **more: Any,
    ) -> None:
        """A hanging capsule that ends in the centre of its lower joint."""
        self.add(
            name, parent, joint, at, _hanging(segment), color,
            shape="capsule", shape_size=(radius, segment.length), shape_translation=0.5 * segment.length * _DOWN,
            **more,
        )  # fmt: skip

    def head(self, parent: str, joint: str, at: Floats, segment: _Segment, **more: Any) -> None:
        """From the gonion up to the vertex."""
        half = 0.5 * segment.length
        self.add(
            "head", parent, joint, at, _upright(segment), _SKIN,
            shape="sphere", shape_size=(half,), shape_translation=half * _UP, **more,
        )  # fmt: skip

    def hand(self, name: str, parent: str, joint: str, type: str) -> None:
        self.add(
            name, parent, joint, _FOREARM.length * _DOWN, _hanging(_HAND), _SKIN, type=type, shape="box",
            shape_size=(0.08, 0.03, _HAND.length), shape_translation=0.5 * _HAND.length * _DOWN,
        )  # fmt: skip

    def foot(self, name: str, parent: str, joint: str, type: str) -> None:
        """From the heel forwards; the sole at the ground."""
        ankle = _ANKLE_HEIGHT * _STATURE
        x, y, z = (_FOOT.length * k for k in (_FOOT.gyration[2], _FOOT.gyration[1], _FOOT.gyration[0]))
        center = (_FOOT.center - _HEEL_BEHIND_ANKLE) * _FOOT.length * _FORWARD + 0.5 * ankle * _DOWN
        body = MassProperties(np.asarray(_FOOT.mass), center, _FOOT.mass * np.diag([x * x, y * y, z * z]))
        self.add(
            name, parent, joint, _SHANK.length * _DOWN, body, _SHOES, type=type, shape="box",
            shape_size=(_FOOT.length, 0.09, ankle),
            shape_translation=(0.5 - _HEEL_BEHIND_ANKLE) * _FOOT.length * _FORWARD + 0.5 * ankle * _DOWN,
        )  # fmt: skip


def _upright(segment: _Segment) -> MassProperties:
    """A segment whose lower end is at the origin."""
    return _about_center(segment, (1.0 - segment.center) * segment.length * _UP)


def _hanging(segment: _Segment) -> MassProperties:
    """A segment whose upper end is at the origin."""
    return _about_center(segment, segment.center * segment.length * _DOWN)


def _about_center(segment: _Segment, center: Floats) -> MassProperties:
    radii = segment.length * np.array(segment.gyration)
    return MassProperties(np.asarray(segment.mass), center, segment.mass * np.diag(radii * radii))


def _cylinder_gyration(radius: float) -> tuple[float, float, float]:
    """Radii of gyration of a cylinder of unit length."""
    across = (radius * radius / 4.0 + 1.0 / 12.0) ** 0.5
    return (across, across, radius / 2.0**0.5)
