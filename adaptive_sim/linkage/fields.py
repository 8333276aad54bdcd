"""The arrays of a linkage, each declared once: meaning, shape, unit, frame, default.

Allocation, validation and the reference in the docs all use this table. Dimensions by name:
`n` bodies (= joints: joint i connects body i to its parent), `nv` velocities, `nq` position coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """One array: `shape` may hold dimension names; `default` is broadcast when the input leaves the array out."""

    name: str
    shape: tuple[str | int, ...]
    unit: str
    frame: str
    meaning: str
    default: float | tuple[float, ...] | None = None  # None: required
    may_be_infinite: bool = False

    @property
    def required(self) -> bool:
        return self.default is None


BODY_FIELDS = (
    Field("mass", ("n",), "kg", "-", "mass"),
    Field("center_of_mass", ("n", 3), "m", "body", "centre of mass"),
    Field("inertia", ("n", 3, 3), "kg m²", "body", "rotational inertia about the centre of mass"),
)

JOINT_FIELDS = (
    Field("axis", ("n", 3), "-", "joint", "unit axis (normal of a planar joint)", default=(0.0, 0.0, 1.0)),
    Field("axis2", ("n", 3), "-", "joint, after the first turn", "second axis of universal joints", (1.0, 0.0, 0.0)),
    Field("pitch", ("n",), "m/rad", "-", "advance of helical joints per radian", default=0.0),
    Field("rotation", ("n", 3, 3), "-", "parent body", "joint frame's axes, as columns",
          (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)),
    Field("translation", ("n", 3), "m", "parent body", "joint frame's origin", default=(0.0, 0.0, 0.0)),
)  # fmt: skip

DOF_FIELDS = (
    Field("stiffness", ("nv",), "N/m or N m/rad", "-", "spring stiffness per degree of freedom", default=0.0),
    Field("damping", ("nv",), "N s/m or N m s/rad", "-", "viscous damping per degree of freedom", default=0.0),
    Field("lower_limit", ("nv",), "m or rad", "-", "smallest coordinate", -float("inf"), may_be_infinite=True),
    Field("upper_limit", ("nv",), "m or rad", "-", "largest coordinate", float("inf"), may_be_infinite=True),
)

COORDINATE_FIELDS = (
    Field("rest_position", ("nq",), "m or rad", "-", "where the springs are at rest (default: neutral)", default=0.0),
)

SHAPE_FIELDS = (
    Field("shape_size", ("n", 3), "m", "body", "radius; radius, length; or edge lengths (see Shape)", (0.0, 0.0, 0.0)),
    Field("shape_translation", ("n", 3), "m", "body", "where the shape's centre is", default=(0.0, 0.0, 0.0)),
    Field("shape_quaternion", ("n", 4), "-", "body", "how the shape is turned, x y z w", (0.0, 0.0, 0.0, 1.0)),
    Field("color", ("n", 3), "-", "-", "red, green, blue in 0…1", default=(0.27, 0.47, 0.67)),
)

ALL_FIELDS = BODY_FIELDS + JOINT_FIELDS + DOF_FIELDS + COORDINATE_FIELDS + SHAPE_FIELDS


def reference_table() -> str:
    """The table of arrays for the docs (Markdown)."""
    head = "| array | shape | unit | frame | meaning | default |\n|---|---|---|---|---|---|\n"
    rows = (
        f"| `{f.name}` | ({', '.join(map(str, f.shape))}) | {f.unit} | {f.frame} | {f.meaning} "
        f"| {'required' if f.required else f.default} |"
        for f in ALL_FIELDS
    )
    return head + "\n".join(rows) + "\n"
