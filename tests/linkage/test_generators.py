"""The generated linkages: sizes, structure, geometry at q = 0, determinism, and complaints about bad parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from adaptive_sim import body_poses, forward_dynamics
from adaptive_sim.errors import InputError
from adaptive_sim.linkage.fields import ALL_FIELDS
from adaptive_sim.linkage.generators import (
    balanced,
    bicycle_chain,
    caterpillar,
    chain,
    millipede,
    molecule,
    random_tree,
    star,
)
from adaptive_sim.linkage.joints import DOF, JointType
from adaptive_sim.linkage.model import Linkage, Shape

SEEDED = [chain, random_tree, balanced, caterpillar, star, molecule]
ALL_SIZED = [*SEEDED, bicycle_chain]
TETRAHEDRAL = np.arccos(-1.0 / 3.0)
POSITION = 1e-9  # world positions add up rounding along the chain; bodies are of size 0.01 … 1


def same(a: Linkage, b: Linkage) -> bool:
    names = ["parent", "joint_type", "shape", *(field.name for field in ALL_FIELDS)]
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def is_depth_first(parent: np.ndarray) -> bool:
    """Each body's parent is the body before it or one of that body's ancestors."""
    path: list[int] = []
    for i, above in enumerate(parent):
        while path and path[-1] != above:
            path.pop()
        if i > 0 and not path:
            return False
        path.append(i)
    return bool(parent[0] == -1)


def bonds(linkage: Linkage, position: np.ndarray) -> np.ndarray:
    """Vectors from parents to bodies 1, 2, ..."""
    return position[1:] - position[linkage.parent[1:]]


# -------------------------------------------------------------------- common to all


@pytest.mark.parametrize("generator", ALL_SIZED)
@pytest.mark.parametrize("n", [1, 2, 3, 17, 100])
def test_n_bodies_hang_on_one_base(generator: Callable[..., Linkage], n: int) -> None:
    linkage = generator(n)
    assert linkage.n_bodies == linkage.n_joints == n
    assert linkage.in_input_order
    assert is_depth_first(linkage.parent)
    assert np.all(linkage.shape != Shape.NONE)
    assert linkage.name == generator.__name__


@pytest.mark.parametrize("generator", [g for g in ALL_SIZED if g is not random_tree])
def test_every_joint_is_a_hinge_also_the_base(generator: Callable[..., Linkage]) -> None:
    assert np.all(generator(40).joint_type == JointType.REVOLUTE)


@pytest.mark.parametrize("generator", ALL_SIZED)
@pytest.mark.parametrize("base", list(JointType))
def test_the_base_joint_can_be_of_any_type(generator: Callable[..., Linkage], base: JointType) -> None:
    linkage, usual = generator(20, base=base.name.lower()), generator(20)
    assert linkage.joint_type[0] == base
    np.testing.assert_array_equal(linkage.joint_type[1:], usual.joint_type[1:])
    assert linkage.nv == usual.nv + DOF[base] - DOF[usual.joint_type[0]]


@pytest.mark.parametrize("generator", SEEDED)
def test_the_seed_decides(generator: Callable[..., Linkage]) -> None:
    assert same(generator(60, seed=3), generator(60, seed=3))
    assert not same(generator(60, seed=3), generator(60, seed=4))


@pytest.mark.parametrize("generator", ALL_SIZED)
def test_bodies_are_well_conditioned(generator: Callable[..., Linkage]) -> None:
    linkage = generator(200)
    moments = np.linalg.eigvalsh(linkage.inertia)
    others = slice(1, None)  # the hub of a star is large
    assert linkage.mass[others].max() / linkage.mass[others].min() < 20.0
    assert moments[others].max() / moments[others].min() < 1e3


@pytest.mark.parametrize("generator", [random_tree, balanced, caterpillar, star])
def test_inertias_are_irregular(generator: Callable[..., Linkage]) -> None:
    """Lumpy bodies: the products of inertia and the centre of mass are not along the axes."""
    linkage = generator(50)
    off_diagonal = np.abs(linkage.inertia[1:, [0, 0, 1], [1, 2, 2]])
    assert np.all(off_diagonal > 0.0)
    assert np.all(np.abs(linkage.center_of_mass[1:]) > 0.0)


@pytest.mark.parametrize("generator", [chain, bicycle_chain, molecule, random_tree])
def test_springs_are_in_every_joint_but_a_free_base(generator: Callable[..., Linkage]) -> None:
    linkage = generator(20, base="free", stiffness=2.0, damping=0.5)
    np.testing.assert_array_equal(linkage.stiffness, np.r_[np.zeros(6), np.full(linkage.nv - 6, 2.0)])
    np.testing.assert_array_equal(linkage.damping, np.r_[np.zeros(6), np.full(linkage.nv - 6, 0.5)])
    assert np.all(generator(20, base="revolute", damping=0.5).damping == 0.5)
    assert not generator(20).has_springs


@pytest.mark.parametrize("generator", ALL_SIZED)
def test_the_neutral_pose_starts_at_the_origin_and_moves(generator: Callable[..., Linkage]) -> None:
    linkage = generator(30)
    _, position = body_poses(linkage)
    np.testing.assert_array_equal(position[0], 0.0)
    gravity = forward_dynamics(linkage, gravity=(0.1, 0.2, -9.8)).acceleration
    assert np.all(np.isfinite(gravity))
    assert np.any(gravity != 0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: chain(0), ["n = 0", "1 or more"]),
        (lambda: chain(2.5), ["n = 2.5", "whole number"]),
        (lambda: chain(True), ["n = True"]),
        (lambda: chain(3, seed=-1), ["seed = -1"]),
        (lambda: chain(3, length=-1.0), ["length = -1.0", "m"]),
        (lambda: chain(3, radius=0.0), ["radius = 0.0"]),
        (lambda: chain(3, density=np.nan), ["density = nan"]),
        (lambda: chain(3, density="heavy"), ["density = 'heavy'"]),
        (lambda: chain(3, variation=1.0), ["variation = 1.0", "below 1"]),
        (lambda: chain(3, bend=-0.1), ["bend = -0.1"]),
        (lambda: chain(3, damping=-1.0), ["damping = -1.0"]),
        (lambda: chain(3, joint="revolut"), ["'revolut'", "did you mean 'revolute'?"]),
        (lambda: chain(3, joint=[]), ["joint = []"]),
        (lambda: chain(3, joint=17), ["17", "known: revolute"]),
        (lambda: chain(3, base="floating"), ["'floating'"]),
        (lambda: random_tree(3, reach=0), ["reach = 0"]),
        (lambda: balanced(3, arity=0), ["arity = 0"]),
        (lambda: caterpillar(3, legs=-1), ["legs = -1"]),
        (lambda: star(-1), ["n = -1"]),
        (lambda: bicycle_chain(3, outline="round"), ["'round'", "straight"]),
        (lambda: bicycle_chain(3, teeth=7), ["teeth = 7", "even"]),
        (lambda: millipede(-1), ["legs = -1"]),
        (lambda: millipede(links_per_leg=0), ["links_per_leg = 0"]),
        (lambda: millipede(spine=0), ["spine = 0"]),
        (lambda: millipede(leg_length=0.0), ["leg_length = 0.0"]),
        (lambda: molecule(0), ["n = 0"]),
        (lambda: molecule(3, branching=1.5), ["branching = 1.5", "0 … 1"]),
        (lambda: molecule(3, side_chain=0.5), ["side_chain = 0.5", "at least 1"]),
    ],
)
def test_bad_parameters_are_named_with_a_remedy(call: Callable[[], object], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)


# -------------------------------------------------------------------- trees


def test_a_chain_is_a_chain_whose_links_meet() -> None:
    linkage = chain(50, length=0.3, variation=0.1, bend=0.4)
    np.testing.assert_array_equal(linkage.parent, np.arange(-1, 49))
    rotation, position = body_poses(linkage)
    length = linkage.shape_size[:, 1]
    assert np.all((length > 0.27) & (length < 0.33))
    tips = position + length[:, None] * rotation[:, :, 0]
    np.testing.assert_allclose(position[1:], tips[:-1], atol=POSITION)
    cosines = np.einsum("ni,ni->n", rotation[1:, :, 0], rotation[:-1, :, 0])
    assert np.all(cosines >= np.cos(0.4) - 1e-12)
    assert np.all(np.abs(linkage.axis[:, 0]) < 1e-12)  # hinges across the links


def test_a_chain_of_one_shape_has_no_randomness_left() -> None:
    linkage = chain(10, variation=0.0, bend=0.0)
    assert np.ptp(linkage.mass) < 1e-12
    _, position = body_poses(linkage)
    np.testing.assert_allclose(position, np.outer(0.5 * np.arange(10), (1.0, 0.0, 0.0)), atol=POSITION)


def test_joints_are_drawn_from_the_list_given() -> None:
    mix = ["revolute", "prismatic", "spherical"]
    kinds = chain(300, joint=mix).joint_type
    assert set(kinds) == {JointType[name.upper()] for name in mix}
    assert min(np.bincount(kinds)) > 70
    assert set(random_tree(500).joint_type) == set(JointType)
    assert np.all(chain(5, joint=JointType.HELICAL).joint_type == JointType.HELICAL)
    assert np.all(chain(5, joint="helical").pitch > 0.0)


@given(st.integers(1, 60), st.integers(0, 100), st.sampled_from([None, 1, 2, 5]))
def test_random_trees_are_trees_numbered_depth_first(n: int, seed: int, reach: int | None) -> None:
    linkage = random_tree(n, seed=seed, reach=reach)
    assert is_depth_first(linkage.parent)
    assert reach != 1 or linkage.depth == n


def test_reach_makes_random_trees_deep() -> None:
    assert random_tree(2000).depth < 40
    assert random_tree(2000, reach=3).depth > 500


@pytest.mark.parametrize(("n", "arity", "depth"), [(1, 2, 1), (7, 2, 3), (8, 2, 4), (40, 3, 4), (5, 1, 5)])
def test_balanced_trees_are_as_shallow_as_can_be(n: int, arity: int, depth: int) -> None:
    linkage = balanced(n, arity=arity)
    children = np.bincount(linkage.parent[1:], minlength=n)
    assert linkage.depth == depth
    assert children.max(initial=0) <= arity
    assert np.sum((children > 0) & (children < arity)) <= 1


def test_a_balanced_tree_fills_space() -> None:
    _, position = body_poses(balanced(255))
    spread = np.linalg.svd(position - position.mean(axis=0), compute_uv=False)
    assert spread[2] > 0.2 * spread[0]


def test_a_caterpillar_has_its_legs() -> None:
    linkage = caterpillar(20, legs=3)
    children = np.bincount(linkage.parent[1:], minlength=20)
    np.testing.assert_array_equal(np.flatnonzero(children), [0, 4, 8, 12, 16])
    np.testing.assert_array_equal(children[[0, 4, 8, 12, 16]], [4, 4, 4, 4, 3])
    assert caterpillar(9, legs=0).depth == 9


@pytest.mark.parametrize("n", [2, 50, 2000])
def test_a_star_has_one_hub_and_arms_side_by_side(n: int) -> None:
    linkage = star(n)
    assert np.all(linkage.parent[1:] == 0)
    _, position = body_poses(linkage)
    hub = linkage.shape_size[0, 0]
    np.testing.assert_allclose(np.linalg.norm(position[1:], axis=1), hub)
    if n > 2:
        nearest = cKDTree(position[1:]).query(position[1:], k=2)[0][:, 1]
        assert nearest.min() > linkage.shape_size[1:, 0].max()
    assert linkage.mass[0] < 10.0 * linkage.mass[1:].sum()


# -------------------------------------------------------------------- machines


def test_a_bicycle_chain_has_outer_and_inner_links_of_half_an_inch() -> None:
    linkage = bicycle_chain()
    assert linkage.n_bodies == 30
    assert linkage.body_names[:3] == ["outer_0", "inner_1", "outer_2"]
    assert linkage.joint_names[:2] == ["pin_0", "pin_1"]
    rotation, position = body_poses(linkage)
    np.testing.assert_allclose(np.linalg.norm(bonds(linkage, position), axis=1), 0.0127)
    np.testing.assert_array_equal(rotation @ linkage.axis[:, :, None], np.tile([[0.0], [1.0], [0.0]], (30, 1, 1)))
    # A real chain weighs 2.5 to 3.5 g per link.
    assert np.all((linkage.mass > 2.5e-3) & (linkage.mass < 3.6e-3))
    assert len(np.unique(linkage.mass)) == 2
    np.testing.assert_allclose(linkage.center_of_mass, np.tile((0.00635, 0.0, 0.0), (30, 1)), atol=1e-12)


@pytest.mark.parametrize(("n", "teeth"), [(30, 12), (114, 20), (12, 12)])
def test_a_bicycle_chain_goes_round_two_sprockets(n: int, teeth: int) -> None:
    """The last link ends where the first begins: a closed outline, all of it on one side of the plane y = 0."""
    linkage = bicycle_chain(n, outline="loop", teeth=teeth)
    rotation, position = body_poses(linkage)
    end = position[-1] + 0.0127 * rotation[-1, :, 0]
    np.testing.assert_allclose(end, position[0], atol=1e-12)
    np.testing.assert_allclose(position[:, 1], 0.0, atol=1e-12)
    diameter = 0.0127 / np.sin(np.pi / teeth)
    assert np.ptp(position[:, 2]) == pytest.approx(diameter * np.cos(np.pi / teeth), rel=1e-9)


def test_the_millipede_is_that_of_the_paper() -> None:
    linkage = millipede()
    assert linkage.n_bodies == 13_000
    assert linkage.is_floating
    assert np.sum(linkage.joint_type == JointType.REVOLUTE) == 12_999
    names = linkage.body_names
    assert sum(name.startswith("spine_") for name in names) == 3_000
    assert sum(name.startswith("leg_") for name in names) == 10_000
    assert linkage.in_input_order
    assert is_depth_first(linkage.parent)
    children = np.bincount(linkage.parent[1:], minlength=13_000)
    assert children.max() == 3  # two legs and the next spine link
    assert np.sum(children == 3) == 500


@pytest.mark.parametrize(("legs", "links", "spine"), [(6, 4, 9), (7, 3, 12), (10, 2, 2), (0, 3, 5), (2, 1, 1)])
def test_legs_stand_in_pairs_on_the_spine(legs: int, links: int, spine: int) -> None:
    linkage = millipede(legs, links, spine)
    assert linkage.n_bodies == spine + legs * links
    assert is_depth_first(linkage.parent)
    rotation, position = body_poses(linkage)
    for i in range(1, spine):
        assert linkage.parent[linkage.body_index(f"spine_{i}")] == linkage.body_index(f"spine_{i - 1}")
    hips = []
    for k in range(legs):
        rows = [linkage.body_index(f"leg_{k}_{j}") for j in range(links)]
        np.testing.assert_array_equal(linkage.parent[rows[1:]], rows[:-1])
        assert linkage.body_name(linkage.parent[rows[0]]).startswith("spine_")
        hips.append(position[rows[0]])
        foot = position[rows[-1]] + linkage.shape_size[rows[-1], 1] * rotation[rows[-1], :, 0]
        # Even legs reach out to the left, and all are clear of the body.
        assert (foot[1] > hips[-1][1] > 0.0) if k % 2 == 0 else (foot[1] < hips[-1][1] < 0.0)
        assert foot[2] > -POSITION
        assert links == 1 or foot[2] < hips[-1][2]
    if legs:
        along = np.array(hips)[::2, 0]
        np.testing.assert_allclose(np.diff(along), 0.1 * spine / len(along), atol=POSITION)
        assert along[0] == pytest.approx(0.1 * spine - along[-1])  # as far from either end
    if legs > 1:
        np.testing.assert_allclose(hips[0] * (1, -1, 1), hips[1], atol=POSITION)


def test_the_feet_of_the_millipede_touch_the_ground() -> None:
    linkage = millipede(4, 10, 6)
    rotation, position = body_poses(linkage)
    feet = [linkage.body_index(f"leg_{k}_9") for k in range(4)]
    tips = position[feet] + linkage.shape_size[feet, 1, None] * rotation[feet, :, 0]
    np.testing.assert_allclose(tips[:, 2], 0.0, atol=POSITION)
    assert position[:, 2].min() > 0.0


# -------------------------------------------------------------------- molecule


@pytest.mark.plain
def test_a_molecule_has_n_torsions_about_its_bonds() -> None:
    linkage = molecule(500)
    assert linkage.nv == 500
    rotation, position = body_poses(linkage)
    bond = bonds(linkage, position)
    length = np.linalg.norm(bond, axis=1)
    assert set(np.round(length, 6)) <= {1.53, 1.47, 1.43, 1.81}
    axis_W = np.einsum("nij,nj->ni", rotation, linkage.axis)[1:]
    np.testing.assert_allclose(axis_W, bond / length[:, None], atol=POSITION)


@pytest.mark.plain
def test_turning_a_torsion_moves_only_what_is_beyond_the_bond() -> None:
    linkage = molecule(60, branching=0.3, side_chain=4.0)
    joint = 12
    q = np.zeros(60)
    q[joint] = 1.0
    beyond = np.zeros(60, dtype=bool)
    for i in range(60):
        beyond[i] = linkage.parent[i] == joint or (linkage.parent[i] >= 0 and beyond[linkage.parent[i]])
    moved = np.linalg.norm(body_poses(linkage, q)[1] - body_poses(linkage)[1], axis=1)
    assert np.all(moved[~beyond] < POSITION)  # the turned atom itself lies on the axis
    assert np.all(moved[linkage.parent == joint] > 0.5)


@pytest.mark.plain
@pytest.mark.parametrize(("branching", "side_chain"), [(0.08, 30.0), (0.35, 6.0), (1.0, 3.0)])
def test_bond_angles_are_tetrahedral_and_valences_at_most_four(branching: float, side_chain: float) -> None:
    linkage = molecule(600, branching=branching, side_chain=side_chain)
    _, position = body_poses(linkage)
    children = np.bincount(linkage.parent[1:], minlength=600)
    assert children.max() <= 3  # and the parent: four neighbours
    for i in range(1, 600):
        neighbours = [linkage.parent[i], *np.flatnonzero(linkage.parent == i)]
        arms = position[neighbours] - position[i]
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        cosines = (arms @ arms.T)[np.triu_indices(len(arms), 1)]
        np.testing.assert_allclose(np.arccos(cosines), TETRAHEDRAL, atol=1e-6)


def test_torsions_prefer_the_three_staggered_isomers() -> None:
    linkage = molecule(4000, branching=0.0)
    _, p = body_poses(linkage)
    a, b, c = p[1:-2] - p[:-3], p[2:-1] - p[1:-2], p[3:] - p[2:-1]
    n1, n2 = np.cross(a, b), np.cross(b, c)
    y = np.einsum("ni,ni->n", np.cross(n1, n2), b / np.linalg.norm(b, axis=1, keepdims=True))
    dihedral = np.degrees(np.arctan2(y, np.einsum("ni,ni->n", n1, n2)))
    near = [np.mean(np.abs((dihedral - at + 180.0) % 360.0 - 180.0) < 12.0) for at in (180.0, 60.0, -60.0)]
    assert near[0] > 0.75
    assert min(near[1:]) > 0.04
    assert sum(near) > 0.95


def test_atoms_rarely_overlap() -> None:
    """Apart from neighbours (up to two bonds), few pairs come nearer than 2.6 Å and none lie on top of each other."""
    linkage = molecule(3000)
    _, position = body_poses(linkage)
    parent = linkage.parent
    i, j = cKDTree(position).query_pairs(2.6, output_type="ndarray").T
    above = np.where(parent >= 0, parent[parent], -2)
    bonded = (parent[i] == j) | (parent[j] == i) | (parent[i] == parent[j]) | (above[i] == j) | (above[j] == i)
    overlaps = np.linalg.norm(position[i] - position[j], axis=1)[~bonded]
    assert len(overlaps) < 0.01 * 3000
    assert np.all(overlaps > 1.2)


def test_branching_shapes_the_tree() -> None:
    plain, branched = molecule(2000, branching=0.0), molecule(2000, branching=0.35, side_chain=6.0)
    assert plain.depth == 2000
    assert branched.depth < 600
    assert np.sum(np.bincount(branched.parent[1:], minlength=2000) == 0) > 100  # tips


def test_elements_keep_their_valences_and_bond_lengths() -> None:
    """By colour: C 4, N 3, O and S 2 neighbours at most; both ends of a bond count for its length."""
    linkage = molecule(3000, branching=0.6, side_chain=5.0)
    element = np.searchsorted([0.15, 0.25, 0.5, 0.91], linkage.color[:, 0])  # N 0.19, C 0.35, O 0.90, S 0.92
    valence, length = np.array([0, 3, 4, 2, 2]), np.array([0.0, 1.47, 1.53, 1.43, 1.81])
    assert set(element) == {1, 2, 3, 4}
    neighbours = 1 + np.bincount(linkage.parent[1:], minlength=3000)
    assert np.all(neighbours <= valence[element])
    child, above = element[1:], element[linkage.parent[1:]]
    assert np.all((child == 2) | (above == 2))  # one end is carbon
    expected = length[np.where(child == 2, above, child)]
    np.testing.assert_allclose(np.linalg.norm(linkage.translation[1:], axis=1), expected, atol=1e-12)


def test_groups_weigh_what_their_atoms_weigh() -> None:
    """An unbranched molecule of carbons: CH2 groups, CH3 at the free ends."""
    linkage = molecule(2000, branching=0.0, base="free")
    carbon = linkage.color[:, 0] == 0.35
    assert 0.7 < np.mean(carbon) < 0.9
    np.testing.assert_allclose(linkage.mass[1:-1][carbon[1:-1]], 12.011 + 2 * 1.008)
    np.testing.assert_allclose(linkage.mass[0], 12.011 + 3 * 1.008)
    hetero = ~carbon[1:-1]
    assert set(np.round(linkage.mass[1:-1][hetero], 3)) == {15.015, 15.999, 32.06}  # NH, O, S
    assert not np.any(hetero[1:] & hetero[:-1])  # never two in a row


def test_a_force_on_a_molecule_stays_local() -> None:
    """Redon & Lin, table 1: of 50,000 joints about 73 matter at 2⁻¹⁹ for one force. Ours: about a hundred."""
    linkage = molecule(5000)
    rng = np.random.default_rng(0)
    reached = []
    for body in rng.integers(5000, size=10):
        force = np.zeros((5000, 3))
        force[body] = rng.normal(size=3)
        acceleration = np.abs(forward_dynamics(linkage, force=force, gravity=(0, 0, 0)).acceleration)
        reached.append([np.sum(acceleration > 2.0**-k * acceleration.max()) for k in (3, 19)])
    coarse, fine = np.mean(reached, axis=0)
    assert coarse < 30
    assert 30 < fine < 250


# -------------------------------------------------------------------- large


@pytest.mark.parametrize("generator", SEEDED)
def test_large_linkages_are_no_special_case(generator: Callable[..., Any]) -> None:
    n = 20_000
    linkage = generator(n)
    assert linkage.n_bodies == n
    assert linkage.body_name(n - 1) == f"body_{n - 1}"  # generated, not stored
