"""Mass, centre of mass and rotational inertia of simple solids, and of rigid bodies put together from them.

Textbook integrals over uniform solids (e.g. Goldstein, Classical Mechanics, ch. 5). Frames as in `Shape`: the
centre at the origin, long axes along z. SI units. Sizes may be arrays: one call for many bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..typing import ArrayLike, Floats
from .model import Shape


class MassProperties(NamedTuple):
    """What dynamics needs of a rigid body. Leading dimensions, if any, run over bodies."""

    mass: Floats  # (...) kg
    center_of_mass: Floats  # (..., 3) m
    inertia: Floats  # (..., 3, 3) kg m², about the centre of mass

    def moved(self, translation: ArrayLike = 0.0, rotation: ArrayLike | None = None) -> MassProperties:
        """The body after turning it about the origin by `rotation` (3×3), then shifting it by `translation`."""
        shift = np.asarray(translation, dtype=np.float64)
        if rotation is None:
            return MassProperties(self.mass, self.center_of_mass + shift, self.inertia)
        R = np.asarray(rotation, dtype=np.float64)
        center = np.einsum("...ij,...j->...i", R, self.center_of_mass) + shift
        return MassProperties(self.mass, center, R @ self.inertia @ np.swapaxes(R, -1, -2))

    def about(self, point: ArrayLike) -> Floats:
        """Rotational inertia about `point` (parallel-axis theorem), kg m²."""
        return np.asarray(self.inertia + _point_inertia(self.mass, self.center_of_mass - np.asarray(point)))


def inertia_of_sphere(
    radius: ArrayLike, *, density: ArrayLike | None = None, mass: ArrayLike | None = None
) -> MassProperties:
    """A solid ball. `radius` in m; give either `density` (kg/m³) or `mass` (kg)."""
    r = _size("radius", radius)
    m = _mass(4.0 / 3.0 * np.pi * r**3, density, mass)
    moment = 0.4 * m * r * r
    return _about_center(m, moment, moment, moment)


def inertia_of_box(
    edges: ArrayLike, *, density: ArrayLike | None = None, mass: ArrayLike | None = None
) -> MassProperties:
    """A solid box. `edges` (..., 3) along x, y, z in m; give either `density` (kg/m³) or `mass` (kg)."""
    e = _size("edges", edges)
    if e.shape[-1:] != (3,):
        raise InputError(f"edges of a box have shape {e.shape}; give three lengths, along x, y and z")
    x, y, z = e[..., 0], e[..., 1], e[..., 2]
    m = _mass(np.asarray(x * y * z), density, mass)
    c = m / 12.0
    return _about_center(m, c * (y * y + z * z), c * (x * x + z * z), c * (x * x + y * y))


def inertia_of_cylinder(
    radius: ArrayLike, length: ArrayLike, *, density: ArrayLike | None = None, mass: ArrayLike | None = None
) -> MassProperties:
    """A solid cylinder along z. `radius`, `length` in m; give either `density` (kg/m³) or `mass` (kg)."""
    r, L = _size("radius", radius), _size("length", length)
    m = _mass(np.pi * r * r * L, density, mass)
    across = m * (r * r / 4.0 + L * L / 12.0)
    return _about_center(m, across, across, 0.5 * m * r * r)


def inertia_of_capsule(
    radius: ArrayLike, length: ArrayLike, *, density: ArrayLike | None = None, mass: ArrayLike | None = None
) -> MassProperties:
    """A cylinder along z with half-balls on its ends. `length` (m, 0 or more) runs between the caps' centres.

    `radius` in m; give either `density` (kg/m³) or `mass` (kg).
    """
    r, L = _size("radius", radius), _size("length", length, zero_allowed=True)
    m = _mass(np.pi * r * r * (L + 4.0 / 3.0 * r), density, mass)
    ball = m * (4.0 / 3.0 * r) / (L + 4.0 / 3.0 * r)  # mass of the two caps
    rod = m - ball
    # A half-ball's centre of mass is 3/8 r from its flat side, hence the mixed term 2 · L/2 · 3/8 r.
    across = rod * (r * r / 4.0 + L * L / 12.0) + ball * (0.4 * r * r + L * L / 4.0 + 0.375 * L * r)
    return _about_center(m, across, across, 0.5 * rod * r * r + 0.4 * ball * r * r)


def inertia_of_shape(
    shape: Shape, size: ArrayLike, *, density: ArrayLike | None = None, mass: ArrayLike | None = None
) -> MassProperties:
    """The solid a `Shape` shows; `size` (..., 3) as in `shape_size`."""
    s = np.asarray(size, dtype=np.float64)
    if shape == Shape.SPHERE:
        return inertia_of_sphere(s[..., 0], density=density, mass=mass)
    if shape == Shape.CAPSULE:
        return inertia_of_capsule(s[..., 0], s[..., 1], density=density, mass=mass)
    if shape == Shape.CYLINDER:
        return inertia_of_cylinder(s[..., 0], s[..., 1], density=density, mass=mass)
    if shape == Shape.BOX:
        return inertia_of_box(s, density=density, mass=mass)
    raise InputError(f"shape {shape.name.lower()!r} has no known inertia; give mass and inertia as numbers")


def combine(*parts: MassProperties) -> MassProperties:
    """One rigid body of several parts, all given in the same frame (see `MassProperties.moved`)."""
    if not parts:
        raise InputError("combine() got no parts; give at least one")
    mass = np.asarray(sum(np.asarray(p.mass) for p in parts))
    weighted = sum(np.asarray(p.mass)[..., None] * p.center_of_mass for p in parts)
    center = np.asarray(weighted) / mass[..., None]
    inertia = sum(p.inertia + _point_inertia(p.mass, p.center_of_mass - center) for p in parts)
    return MassProperties(mass, center, np.asarray(inertia))


# -------------------------------------------------------------------- helpers


def _point_inertia(mass: Floats, at: Floats) -> Floats:
    """m (|c|² 1 − c cᵀ): the inertia about the origin of a point mass at c."""
    square = np.einsum("...i,...i->...", at, at)[..., None, None]
    outer = at[..., :, None] * at[..., None, :]
    return np.asarray(np.asarray(mass)[..., None, None] * (square * np.eye(3) - outer))


def _about_center(mass: Floats, xx: Floats, yy: Floats, zz: Floats) -> MassProperties:
    inertia = np.zeros((*mass.shape, 3, 3))
    for k, moment in enumerate((xx, yy, zz)):
        inertia[..., k, k] = moment
    return MassProperties(mass, np.zeros((*mass.shape, 3)), inertia)


def _size(name: str, value: ArrayLike, zero_allowed: bool = False) -> Floats:
    return _checked(name, value, "m", zero_allowed)


def _mass(volume: Floats, density: ArrayLike | None, mass: ArrayLike | None) -> Floats:
    if (density is None) == (mass is None):
        given = "neither" if mass is None else f"density = {density!r} and mass = {mass!r}"
        raise InputError(f"give exactly one of density (kg/m³) and mass (kg); got {given}")
    if mass is None:
        return np.asarray(volume * _checked("density", density, "kg/m³"))
    return np.broadcast_arrays(_checked("mass", mass, "kg"), volume)[0].copy()


def _checked(name: str, value: ArrayLike | None, unit: str, zero_allowed: bool = False) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {value!r} is not a number; give it in {unit}") from None
    bad = ~np.isfinite(array) | ((array < 0.0) if zero_allowed else (array <= 0.0))
    if bad.any():
        first = tuple(int(k) for k in np.argwhere(bad)[0])
        where = f"[{', '.join(map(str, first))}]" if first else ""
        wanted = "0 or more" if zero_allowed else "above 0"
        raise InputError(f"{name}{where} = {array[first]}; give a finite number {wanted}, in {unit}")
    return array
