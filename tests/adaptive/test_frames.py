"""Hierarchical frames: world poses found by going up or down the assembly tree."""

from __future__ import annotations

import numpy as np
import pytest
from assembly import shapes
from conftest import PLAIN
from helpers import EPS, REVOLUTE, Array, Indices

from adaptive_sim.adaptive.frames import all_body_poses, body_pose
from adaptive_sim.adaptive.passes import OK

from .cases import Case
from .oracle import followed_by, rounded

# A way through the tree multiplies up to 2 (depth + 1) poses, each rounding a few times.
ROUNDINGS_PER_POSE = 16


def poses_of_all(case: Case) -> tuple[Array, Array]:
    n = case.linkage.n_bodies
    R, p = np.full((n, 9), np.nan), np.full((n, 3), np.nan)
    all_body_poses(case.plan, case.coefficients.store, np.full(12 * len(case.plan.upper), np.nan), R, p)
    return R.reshape(n, 3, 3), p


def pose_of(case: Case, body: int) -> tuple[Array, Array]:
    R, p = body_pose(case.plan.tree, case.plan.first_leaf, case.coefficients.store, body)
    return np.reshape(R, (3, 3)), np.array(p)


def exact_poses(case: Case) -> tuple[Array, Array]:
    """From parent to child, in 50 digits."""
    world = []
    for i, joint in enumerate(case.problem.joint):
        above = int(case.linkage.parent[i])
        here = (joint.R, joint.p)
        world.append(followed_by(world[above], here) if above >= 0 else here)
    return rounded(np.array([R for R, _ in world])), rounded(np.array([p for _, p in world]))


def tolerance(case: Case, p: Array) -> tuple[float, float]:
    """Of rotations and of positions."""
    roundings = ROUNDINGS_PER_POSE * 2 * (case.tree.depth + 1) * EPS
    return roundings, roundings * max(1.0, float(np.abs(p).max()))


SHAPES = {
    "one body": shapes.chain(1),
    "chain": shapes.chain(60),
    "star": shapes.star(60),  # one body in many pieces
    "caterpillar": shapes.caterpillar(60),
    "broom": shapes.broom(60),
    "recursive": shapes.recursive(60, np.random.default_rng(1)),
    "subdivided binary": shapes.doubled(shapes.chain(1), 4),
}


@pytest.mark.plain
@pytest.mark.parametrize("parent", [x[:12] for x in SHAPES.values()] if PLAIN else SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("long_rakes", [True, False], ids=["long rakes", "short rakes"])
def test_poses_of_all_bodies(parent: Indices, long_rakes: bool) -> None:
    """One by one and all together, for all joint types."""
    case = Case.random(parent, 2, long_rakes=long_rakes)
    assert case.main_pass() == OK
    R_exact, p_exact = exact_poses(case)
    turn, shift = tolerance(case, p_exact)
    R, p = poses_of_all(case)
    assert np.abs(R - R_exact).max() <= turn
    assert np.abs(p - p_exact).max() <= shift
    for body in range(case.linkage.n_bodies):
        R_one, p_one = pose_of(case, body)
        assert np.abs(R_one - R_exact[body]).max() <= turn
        assert np.abs(p_one - p_exact[body]).max() <= shift


def test_long_chain() -> None:
    """Errors of n joint poses add up at random, however they are multiplied: measured 0.6 √n roundings at n = 3,000."""
    case = Case.random(shapes.chain(2_000), 3, [REVOLUTE], speed=0.0)
    assert case.main_pass() == OK
    R_exact, p_exact = exact_poses(case)
    R, p = poses_of_all(case)
    drift = 5 * np.sqrt(len(p)) * EPS
    assert np.abs(R - R_exact).max() <= drift
    assert np.abs(p - p_exact).max() <= drift * np.abs(p_exact).max()


def test_one_pose_takes_as_many_steps_as_the_tree_is_deep() -> None:
    case = Case.random(shapes.chain(5_000), 4, [REVOLUTE])
    for body in (0, 1, 2_500, 4_999):
        i, steps = int(case.plan.first_leaf[body]), 0
        while case.plan.parent[i] >= 0:
            i, steps = int(case.plan.parent[i]), steps + 1
        assert steps <= case.tree.depth + 1
    assert case.tree.depth <= 14  # log2 5,000 = 12.3


def test_a_moved_joint_moves_what_hangs_on_it_and_nothing_else() -> None:
    """Only the nodes above the joint are updated."""
    case = Case.random(shapes.recursive(80, np.random.default_rng(5)), 5, [REVOLUTE])
    assert case.main_pass() == OK
    R_before, p_before = poses_of_all(case)
    joint = 7
    case.q[joint] += 0.5
    above, i = [], int(case.plan.node_of_joint[joint])
    while i >= 0:
        above.append(i)
        i = int(case.plan.parent[i])
    case.update_poses(above)
    R, p = poses_of_all(case)
    R_exact, p_exact = exact_poses(case.moved())
    turn, shift = tolerance(case, p_exact)
    assert np.abs(R - R_exact).max() <= turn
    assert np.abs(p - p_exact).max() <= shift
    carried = np.zeros(case.linkage.n_bodies, dtype=bool)
    for body, parent in enumerate(case.linkage.parent):
        carried[body] = body == joint or (parent >= 0 and carried[parent])
    still = ~carried
    assert np.abs(R - R_before)[still].max() <= turn
    assert np.abs(p - p_before)[still].max() <= shift
    assert (np.abs(R - R_before)[carried].max(axis=(1, 2)) > 0.01).all()
