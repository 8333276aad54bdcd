"""Leaves of the assembly tree: Φ = I⁻¹ and b = I⁻¹ (f − v ×* I v) of bodies, pieces of bodies and the world."""

from __future__ import annotations

import numpy as np
import pytest
from assembly import shapes
from helpers import EPS, FREE, REVOLUTE, random_inertias
from hypothesis import given
from hypothesis import strategies as st
from spatial.oracle import symmetric as full
from spatial.oracle import symmetric_flat

from adaptive_sim.adaptive.leaves import inverse_symmetric
from adaptive_sim.adaptive.passes import OK

from .cases import Case, symmetric
from .oracle import leaf_of, rounded

pytestmark = pytest.mark.plain

# J about the centre of mass is got from J about the origin: with centres up to 0.5 m away and J from 0.02 kg m² on,
# m c² / J is up to 30; then the 3×3 inverse (condition up to 5) and a handful of products. Measured: 4e-15.
LEAF = 1000 * EPS

seeds = st.integers(0, 10_000)
SHAPES = {"chain": shapes.chain(5), "star": shapes.star(11), "one body": shapes.chain(1)}
by_shape = pytest.mark.parametrize("parent", SHAPES.values(), ids=SHAPES)


@by_shape
@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["at rest", "moving"])
def test_every_leaf(parent: np.ndarray, speed: float) -> None:
    """Against the 6×6 inverse of the inertia in 50 digits; the hub of the star is split into pieces."""
    case = Case.random(parent, 1, speed=speed)
    for i in range(case.tree.n_leaves):
        expected = leaf_of(case.problem, case.tree, i)
        found = case.subassembly(i)
        for mine, theirs in ((found.Phi[i, i], expected.Phi[i, i]), (found.b[i], expected.b[i])):
            difference = np.abs(rounded(mine - theirs)).max()
            assert difference <= LEAF * max(np.abs(rounded(theirs)).max(), np.abs(rounded(expected.Phi[i, i])).max())
    assert (np.diff(case.tree.body_first_leaf) > 1).any() == (len(parent) == 11)


@by_shape
def test_pieces_together_have_the_inertia_and_the_force_of_the_body(parent: np.ndarray) -> None:
    """Held together they move like the whole: Σ I/k = I, and Σ (I/k) b is the body's force."""
    case = Case.random(parent, 2, speed=0.0)
    for body in range(case.linkage.n_bodies):
        pieces = case.tree.leaves_of_body(body)
        parts = [case.subassembly(i) for i in pieces]
        inertias = [np.linalg.inv(rounded(part.Phi[i, i])) for i, part in zip(pieces, parts)]
        expected = rounded(case.problem.inertia[body])
        assert np.abs(sum(inertias) - expected).max() <= LEAF * np.abs(expected).max()
        force = sum(I @ rounded(part.b[i]) for I, i, part in zip(inertias, pieces, parts))
        assert np.abs(force - case.f_ext[body]).max() <= LEAF * max(1.0, np.abs(case.f_ext[body]).max())


def test_without_forces_leaves_stay_at_rest() -> None:
    case = Case.random(shapes.star(11), 3, speed=0.0)
    case.f_ext = np.empty((0, 6))
    case.set_leaves()
    for i in range(case.tree.n_leaves):
        assert not any(case.subassembly(i).b[i])


def test_the_world_is_held_and_accelerates_against_gravity() -> None:
    case = Case.random(shapes.chain(3), 4, [REVOLUTE])
    assert case.main_pass() == OK
    world = len(case.plan.upper) - 1
    store = case.coefficients.store
    assert not store[case.plan.at[world] :][:21].any()
    assert np.array_equal(store[case.plan.at_bias[world] :][:6], np.concatenate(case.base))
    # The base joint joins it with the root; nothing moves the world.
    blocks = case.blocks(case.base_joint)
    assert not blocks["Phi_uu"].any()
    assert np.array_equal(blocks["b_u"], np.concatenate(case.base))


def test_a_free_body_falls() -> None:
    """All the way through the base joint: q̈ = g in the body's axes, whatever its inertia."""
    case = Case.random(shapes.chain(1), 5, [FREE], speed=0.0)
    case.f_ext, case.tau = np.empty((0, 6)), np.zeros(6)
    case.set_leaves()
    assert case.main_pass() == OK
    R = case.blocks(case.base_joint)["joint_rotation"]
    fall = R.T @ -np.array(case.base[1])
    found = case.blocks(case.base_joint)["R"]
    assert np.abs(found - np.r_[fall, np.zeros(3)]).max() <= 100 * EPS * np.abs(fall).max()


@given(seeds, st.floats(1e-12, 1e3))
def test_inverse_of_a_symmetric_matrix(seed: int, size: float) -> None:
    J = random_inertias(1, np.random.default_rng(seed), size)[0]
    inverse = full(inverse_symmetric(tuple(symmetric_flat(J).tolist())))
    # Cofactors of a matrix of condition up to 5: a few roundings each.
    assert np.abs(inverse @ J - np.eye(3)).max() <= 100 * EPS


def test_symmetric_blocks_hold_the_upper_triangle_row_by_row() -> None:
    case = Case.random(shapes.chain(1), 6)
    packed = case.coefficients.store[case.plan.at[0] :][:21]
    assert np.array_equal(symmetric(packed)[0], packed[:6])
    assert np.array_equal(symmetric(packed), symmetric(packed).T)
