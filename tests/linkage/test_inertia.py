"""Inertia of solids against numerical integration, and rigid bodies put together against the parallel-axis theorem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from adaptive_sim.errors import InputError
from adaptive_sim.linkage.inertia import (
    MassProperties,
    combine,
    inertia_of_box,
    inertia_of_capsule,
    inertia_of_cylinder,
    inertia_of_shape,
    inertia_of_sphere,
)
from adaptive_sim.linkage.model import Shape

# The integrands are polynomials, so Gauss quadrature of this order is exact up to rounding.
ROUNDING = 1e-12
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)

sizes = st.floats(0.01, 10.0)
SPHERE, BOX, CYLINDER, CAPSULE = inertia_of_sphere, inertia_of_box, inertia_of_cylinder, inertia_of_capsule


def integrate(f: Callable[[np.ndarray], np.ndarray], pieces: list[tuple[float, float]]) -> float:
    return sum(float(0.5 * (b - a) * WEIGHTS @ f(0.5 * (a + b) + 0.5 * (b - a) * NODES)) for a, b in pieces)


def solid_of_revolution(radius2: Callable[[np.ndarray], np.ndarray], pieces: list[tuple[float, float]]) -> tuple:
    """Mass and moments at density 1, from the squared radius along z: a stack of thin discs."""
    mass = integrate(lambda z: np.pi * radius2(z), pieces)
    along = integrate(lambda z: 0.5 * np.pi * radius2(z) ** 2, pieces)
    across = integrate(lambda z: np.pi * radius2(z) * (0.25 * radius2(z) + z * z), pieces)
    return mass, np.diag([across, across, along])


def assert_same(a: MassProperties, mass: float, center: np.ndarray, inertia: np.ndarray) -> None:
    np.testing.assert_allclose(a.mass, mass, rtol=ROUNDING)
    scale = np.abs(inertia).max()
    np.testing.assert_allclose(a.inertia, inertia, rtol=ROUNDING, atol=1e-10 * scale)
    np.testing.assert_allclose(a.center_of_mass, center, rtol=ROUNDING, atol=1e-12 * np.sqrt(scale / mass))


@given(sizes)
def test_sphere_is_a_stack_of_discs(r: float) -> None:
    mass, inertia = solid_of_revolution(lambda z: r * r - z * z, [(-r, r)])
    assert_same(inertia_of_sphere(r, density=1.0), mass, np.zeros(3), inertia)


@given(sizes, sizes)
def test_cylinder_is_a_stack_of_discs(r: float, length: float) -> None:
    mass, inertia = solid_of_revolution(lambda z: r * r + 0.0 * z, [(-length / 2, length / 2)])
    assert_same(inertia_of_cylinder(r, length, density=1.0), mass, np.zeros(3), inertia)


@given(sizes, sizes)
def test_capsule_is_a_stack_of_discs(r: float, length: float) -> None:
    h = length / 2
    pieces = [(-h - r, -h), (-h, h), (h, h + r)]
    mass, inertia = solid_of_revolution(lambda z: r * r - np.maximum(np.abs(z) - h, 0.0) ** 2, pieces)
    assert_same(inertia_of_capsule(r, length, density=1.0), mass, np.zeros(3), inertia)


@given(sizes, sizes, sizes)
def test_box_is_an_integral_over_its_volume(a: float, b: float, c: float) -> None:
    x, y, z = np.meshgrid(*(0.5 * e * NODES for e in (a, b, c)), indexing="ij")
    w = a * b * c / 8.0 * WEIGHTS[:, None, None] * WEIGHTS[:, None] * WEIGHTS
    moments = [np.sum(w * (y * y + z * z)), np.sum(w * (x * x + z * z)), np.sum(w * (x * x + y * y))]
    assert_same(inertia_of_box((a, b, c), density=1.0), float(w.sum()), np.zeros(3), np.diag(moments))


def test_capsule_of_length_zero_is_a_sphere_and_a_thin_one_a_rod() -> None:
    ball, sphere = inertia_of_capsule(0.3, 0.0, density=2.0), inertia_of_sphere(0.3, density=2.0)
    np.testing.assert_allclose(ball.inertia, sphere.inertia)
    rod = inertia_of_capsule(1e-6, 2.0, mass=3.0)
    np.testing.assert_allclose(rod.inertia[0, 0], 3.0 * 2.0**2 / 12.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("solid", "size"),
    [(SPHERE, (0.2,)), (CYLINDER, (0.2, 0.7)), (CAPSULE, (0.2, 0.7)), (BOX, ((0.2, 0.3, 0.7),))],
)
def test_mass_and_density_say_the_same(solid: Callable[..., MassProperties], size: tuple) -> None:
    by_density = solid(*size, density=700.0)
    by_mass = solid(*size, mass=by_density.mass)
    np.testing.assert_allclose(by_mass.inertia, by_density.inertia, rtol=ROUNDING)


def test_many_bodies_at_once_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    radius, length, density = rng.uniform(0.1, 1.0, (3, 7))
    many = inertia_of_capsule(radius, length, density=density)
    assert (many.mass.shape, many.center_of_mass.shape, many.inertia.shape) == ((7,), (7, 3), (7, 3, 3))
    for i in range(7):
        one = inertia_of_capsule(radius[i], length[i], density=density[i])
        np.testing.assert_array_equal(many.inertia[i], one.inertia)
        np.testing.assert_array_equal(many.mass[i], one.mass)
    assert inertia_of_box(rng.uniform(0.1, 1.0, (4, 3)), mass=2.0).inertia.shape == (4, 3, 3)


def test_two_half_boxes_make_a_box() -> None:
    half = inertia_of_box((0.5, 0.4, 0.2), density=3.0)
    whole = inertia_of_box((1.0, 0.4, 0.2), density=3.0)
    made = combine(half.moved((0.25, 0.0, 0.0)), half.moved((-0.25, 0.0, 0.0)))
    assert_same(made, float(whole.mass), np.zeros(3), whole.inertia)


def test_a_cylinder_and_two_caps_far_apart_are_a_dumbbell() -> None:
    ball = inertia_of_sphere(0.1, mass=2.0)
    dumbbell = combine(ball.moved((0.0, 0.0, 1.0)), ball.moved((0.0, 0.0, -1.0)))
    assert_same(dumbbell, 4.0, np.zeros(3), np.diag([4.016, 4.016, 0.016]))


def random_part(rng: np.random.Generator) -> MassProperties:
    solid = inertia_of_box(rng.uniform(0.1, 1.0, 3), mass=rng.uniform(0.1, 2.0))
    return solid.moved(rng.normal(size=3), Rotation.random(rng=rng).as_matrix())


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_putting_together_and_moving_commute(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [random_part(rng) for _ in range(count)]
    shift, turn = rng.normal(size=3), Rotation.random(rng=rng).as_matrix()
    before = combine(*(part.moved(shift, turn) for part in parts))
    after = combine(*parts).moved(shift, turn)
    assert_same(before, float(after.mass), after.center_of_mass, after.inertia)


@given(st.integers(0, 10_000))
def test_inertia_about_a_point_adds_up(seed: int) -> None:
    """Kinetic energy of turning about any point is the sum over the parts."""
    rng = np.random.default_rng(seed)
    parts = [random_part(rng) for _ in range(3)]
    point = rng.normal(size=3)
    np.testing.assert_allclose(combine(*parts).about(point), sum(p.about(point) for p in parts), atol=1e-12)


def test_inertia_about_a_point_is_steiners() -> None:
    box = inertia_of_box((1.0, 2.0, 3.0), mass=5.0)
    np.testing.assert_allclose(box.about((2.0, 0.0, 0.0)), box.inertia + np.diag([0.0, 20.0, 20.0]))


@pytest.mark.parametrize(
    ("shape", "size", "solid"),
    [
        (Shape.SPHERE, (0.2, 0.0, 0.0), inertia_of_sphere(0.2, mass=1.0)),
        (Shape.CAPSULE, (0.2, 0.5, 0.0), inertia_of_capsule(0.2, 0.5, mass=1.0)),
        (Shape.CYLINDER, (0.2, 0.5, 0.0), inertia_of_cylinder(0.2, 0.5, mass=1.0)),
        (Shape.BOX, (0.2, 0.5, 0.7), inertia_of_box((0.2, 0.5, 0.7), mass=1.0)),
    ],
)
def test_shapes_are_the_solids_they_show(shape: Shape, size: tuple, solid: MassProperties) -> None:
    np.testing.assert_array_equal(inertia_of_shape(shape, size, mass=1.0).inertia, solid.inertia)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: inertia_of_sphere(-1.0, mass=1.0), ["radius", "-1.0", "above 0"]),
        (lambda: inertia_of_sphere([1.0, 0.0], mass=1.0), ["radius[1]", "0.0"]),
        (lambda: inertia_of_sphere(1.0), ["exactly one", "neither"]),
        (lambda: inertia_of_sphere(1.0, mass=1.0, density=2.0), ["exactly one", "density = 2.0", "mass = 1.0"]),
        (lambda: inertia_of_box((1.0, 1.0), mass=1.0), ["edges", "(2,)", "three"]),
        (lambda: inertia_of_box((1.0, np.nan, 1.0), mass=1.0), ["edges[1]", "nan"]),
        (lambda: inertia_of_cylinder(1.0, 0.0, mass=1.0), ["length", "0.0"]),
        (lambda: inertia_of_capsule(1.0, -2.0, mass=1.0), ["length", "-2.0", "0 or more"]),
        (lambda: inertia_of_capsule(1.0, 1.0, density=0.0), ["density", "kg/m³"]),
        (lambda: inertia_of_sphere("big", mass=1.0), ["radius", "'big'"]),
        (lambda: inertia_of_shape(Shape.MESH, (1.0, 1.0, 1.0), mass=1.0), ["mesh", "inertia"]),
        (combine, ["no parts"]),
    ],
)
def test_bad_input_is_named_with_its_value_and_a_remedy(call: Callable[[], object], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
