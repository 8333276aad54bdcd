"""The partition: every invariant against the definition, the least depth against all bracketings, the depth bound."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_sim.assembly import AssemblyTree, Kind, build_assembly_tree

from . import shapes
from .checker import check, depth_bound, least_depth, least_levels
from .worst_case import worst_shapes

both_rakes = pytest.mark.parametrize("long_rakes", [False, True], ids=["short", "long"])


@st.composite
def parents(draw: st.DrawFn, max_size: int = 60) -> list[int]:
    """Any linkage. Shrinks to a chain, to a star or to something near the base."""
    n = draw(st.integers(1, max_size))
    steps = draw(st.lists(st.integers(0, 40), min_size=n - 1, max_size=n - 1))
    toward = draw(st.sampled_from(["last", "base", "any"]))
    parent = [-1]
    for i, step in enumerate(steps, start=1):
        if toward == "last":
            parent.append(max(0, i - 1 - step))
        elif toward == "base":
            parent.append(min(i - 1, step))
        else:
            parent.append(step % i)
    return parent


@both_rakes
@settings(max_examples=150, deadline=None)
@given(parent=parents())
def test_every_invariant_holds(long_rakes: bool, parent: list[int]) -> None:
    tree = build_assembly_tree(np.array(parent), long_rakes=long_rakes)
    check(tree, parent, long_rakes=long_rakes)
    assert tree.depth <= depth_bound(len(parent))


@both_rakes
@settings(max_examples=60, deadline=None)
@given(parent=parents(max_size=30))
def test_depth_is_the_least_over_all_bracketings(long_rakes: bool, parent: list[int]) -> None:
    assert build_assembly_tree(parent, long_rakes=long_rakes).depth == least_depth(parent, long_rakes=long_rakes)


@pytest.mark.plain
@both_rakes
@pytest.mark.parametrize("name", shapes.NAMED)
def test_named_shapes(name: str, long_rakes: bool) -> None:
    for n in (1, 2, 3, 7, 60, 150):
        parent = shapes.NAMED[name](n)
        check(build_assembly_tree(parent, long_rakes=long_rakes), parent.tolist(), long_rakes=long_rakes)


@both_rakes
@pytest.mark.parametrize("family", shapes.RANDOM)
def test_random_shapes(family: str, long_rakes: bool) -> None:
    rng = np.random.default_rng(1)
    for n in (20, 90, 200):
        parent = shapes.RANDOM[family](n, rng)
        check(build_assembly_tree(parent, long_rakes=long_rakes), parent.tolist(), long_rakes=long_rakes)


@both_rakes
@pytest.mark.parametrize("name", shapes.NAMED)
@pytest.mark.parametrize("n", [1_000, 100_000])
def test_depth_bound_of_named_shapes(name: str, n: int, long_rakes: bool) -> None:
    parent = shapes.NAMED[name](n)
    tree = build_assembly_tree(parent, long_rakes=long_rakes)
    assert least_levels(parent.size) <= tree.depth <= depth_bound(parent.size)


def test_depth_bound_of_200_mixed_shapes() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        parent = shapes.mixed(int(10 ** rng.uniform(1, 3.7)), rng)
        for long_rakes in (False, True):
            tree = build_assembly_tree(parent, long_rakes=long_rakes)
            assert tree.depth <= depth_bound(parent.size)
            assert tree.max_handles <= 2


@both_rakes
def test_worst_shapes_are_no_worse_than_stated(long_rakes: bool) -> None:
    """The dynamic programme and the kernels agree on the depth, and it is within the bound of the docstring."""
    for max_size, max_light in ((250, 1), (60, 3)):
        for worst in worst_shapes(max_size, max_light, long_rakes=long_rakes):
            tree = build_assembly_tree(worst.parent, long_rakes=long_rakes)
            assert worst.parent.size == worst.size
            assert tree.depth == worst.depth
            assert tree.depth <= (2.1 * log2(worst.size) if long_rakes else 3 * log2(worst.size + 2) - 4)


def test_worst_shape_of_half_a_million_bodies() -> None:
    base = worst_shapes(6, 3, long_rakes=False)[-1]
    assert (base.size, base.depth) == (6, 5)
    parent = shapes.doubled(base.parent, 16)
    assert parent.size == 524_286
    assert build_assembly_tree(parent, long_rakes=False).depth == 53 <= depth_bound(parent.size)
    assert build_assembly_tree(parent, long_rakes=True).depth <= 2.1 * log2(parent.size)


def mean_excess(tree: AssemblyTree) -> float:
    """Mean leaf depth above that of the best possible binary tree."""
    return tree.mean_leaf_depth - log2(tree.n_leaves)


def test_mean_depth_is_near_the_optimum_where_the_linkage_allows_it() -> None:
    rng = np.random.default_rng(3)
    assert mean_excess(build_assembly_tree(shapes.chain(50_000))) < 0.1
    assert mean_excess(build_assembly_tree(shapes.star(50_000))) < 0.5
    assert mean_excess(build_assembly_tree(shapes.molecule(50_000, rng))) < 0.75
    assert mean_excess(build_assembly_tree(shapes.millipede(50_000))) < 0.5


def test_a_heavy_branch_is_high_even_where_the_row_has_levels_to_spare() -> None:
    """A tall but light branch gives the row slack; the heavy branch must not pay for it."""
    tall = shapes.doubled(worst_shapes(6, 3, long_rakes=False)[-1].parent, 5)  # 254 bodies, depth 20
    parent = shapes.grafted(shapes.chain(4000), [(400, shapes.chain(2000)), (3000, tall)])
    tree = build_assembly_tree(parent, long_rakes=False)
    assert tree.depth >= 22
    assert tree.node_depth[tree.node_of_joint[4000]] <= 4  # the joint of the chain of 2000: log2(6254 / 2001) + 2


def test_light_children_are_raked_by_height_not_by_size() -> None:
    tall = worst_shapes(6, 3, long_rakes=False)[-1].parent  # 6 bodies, depth 5
    parent = shapes.grafted(shapes.chain(10), [(0, shapes.chain(8)), (0, tall)]).tolist()
    tree = build_assembly_tree(parent, long_rakes=False)
    low, high = tree.node_of_joint[10], tree.node_of_joint[18]
    assert tree.upper_child[high] == low
    assert tree.depth == least_depth(parent) == 7


def test_chain_and_small_bodies_are_not_split() -> None:
    for parent in (shapes.chain(1000), shapes.k_ary(1000, 2), shapes.k_ary(1000, 4), shapes.millipede(1000, 4, 3)):
        tree = build_assembly_tree(parent)
        assert tree.n_leaves == parent.size


def test_star_of_100_000_leaves_is_split_into_few_pieces() -> None:
    tree = build_assembly_tree(shapes.star(100_001))
    assert tree.depth <= 20
    assert len(tree.leaves_of_body(0)) <= 34_000
    assert tree.leaf_fraction[0] * len(tree.leaves_of_body(0)) == pytest.approx(1.0)


def test_chain_of_a_million_bodies() -> None:
    tree = build_assembly_tree(shapes.chain(1_000_000))
    assert tree.depth == 20
    assert tree.n_nodes == 1_999_999
    assert np.count_nonzero(tree.kind == Kind.COMPRESS) == 999_999
    assert np.array_equal(np.sort(tree.joint[tree.n_leaves :]), np.arange(1, 1_000_000))


def test_row_with_items_of_very_different_heights_is_packed_in_64_bits() -> None:
    """Heights far below the highest of their row are rounded up: still a valid tree, at most a level deeper."""
    parent = shapes.doubled(shapes.chain(1), 11)  # depth 33, items of height 0 and of height 31 in one row
    exact = 3 * 11
    tree = build_assembly_tree(parent, long_rakes=False)
    assert exact <= tree.depth <= exact + 1


def test_same_input_same_tree() -> None:
    parent = shapes.recursive(5_000, np.random.default_rng(4))
    one, two = build_assembly_tree(parent), build_assembly_tree(parent.copy())
    assert np.array_equal(one.upper_child, two.upper_child)
    assert np.array_equal(one.lower_handle, two.lower_handle)
