"""The AssemblyTree object: input checks, frozen arrays, walking, figures, pictures."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_sim.assembly import AssemblyTree, Kind, build_assembly_tree
from adaptive_sim.errors import InvalidLinkageError

from . import shapes

#      0 - 1 - 2 - 3   with a leg 4 - 5 on body 1
LEGGED = [-1, 0, 1, 2, 1, 4]


@pytest.fixture
def legged() -> AssemblyTree:
    return build_assembly_tree(LEGGED, long_rakes=False)


def test_one_body_is_a_leaf_and_the_root() -> None:
    tree = build_assembly_tree([-1])
    assert (tree.n_nodes, tree.n_leaves, tree.depth, tree.root) == (1, 1, 0, 0)
    assert tree.levels() == [range(0, 1)]
    assert (tree.upper_handle[0], tree.lower_handle[0], tree.max_handles) == (0, -1, 1)
    assert tree.node_of_joint.tolist() == [-1]
    assert tree.bodies(0).tolist() == [0]
    assert tree.mean_leaf_depth == 0.0
    assert "depth 0" in tree.describe()


@pytest.mark.plain
def test_a_small_tree_by_hand() -> None:
    """0 - 1 with bodies 2 and 3 on 1: rake the later of the equal children, then the three items of the path."""
    tree = build_assembly_tree([-1, 0, 1, 1])
    rake = int(tree.node_of_joint[3])
    assert Kind(tree.kind[rake]) is Kind.RAKE
    assert (tree.upper_child[rake], tree.lower_child[rake]) == (1, 3)
    assert (tree.upper_handle[rake], tree.lower_handle[rake]) == (1, 1)
    assert tree.lower_handle[:4].tolist() == [0, 1, -1, -1]
    assert tree.depth == 3
    assert tree.bodies(rake).tolist() == [1, 3]
    assert (tree.upper_handle[tree.root], tree.lower_handle[tree.root]) == (0, -1)


def test_takes_anything_with_parents_and_leaves_it_alone() -> None:
    parent = np.array(LEGGED, np.int32)
    parent.setflags(write=False)
    from_object = build_assembly_tree(SimpleNamespace(parent=parent))
    assert np.array_equal(from_object.joint, build_assembly_tree(LEGGED).joint)
    assert build_assembly_tree(np.array(LEGGED)[np.newaxis].repeat(2, 0).T[:, 0]).n_bodies == 6  # not contiguous


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ([], "shape"),
        ([[-1, 0]], "shape"),
        ([0, 0], "body 0"),
        ([-1, 0, -1], "body 2 has parent -1"),
        ([-1, 2, 0], "body 1 has parent 2"),
        ([-1, 1], "body 1 has parent 1"),
        ([-1.0, 0.0], "integers"),
    ],
)
def test_wrong_parents_are_named(parent: list[int], message: str) -> None:
    with pytest.raises(InvalidLinkageError, match=message):
        build_assembly_tree(np.array(parent))


def test_arrays_are_read_only_and_fields_frozen(legged: AssemblyTree) -> None:
    for field in dataclasses.fields(legged):
        if field.metadata:
            array = getattr(legged, field.name)
            assert array.dtype == field.metadata["dtype"]
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        legged.node_record_bytes = 1  # type: ignore[misc]


def test_wrong_shape_or_type_is_refused(legged: AssemblyTree) -> None:
    with pytest.raises(ValueError, match="joint"):
        dataclasses.replace(legged, joint=legged.joint[1:])
    with pytest.raises(ValueError, match="height"):
        dataclasses.replace(legged, height=legged.height.astype(np.int64))


def test_path_to_root_and_depth_agree() -> None:
    tree = build_assembly_tree(shapes.mixed(300, np.random.default_rng(5)))
    for leaf in range(tree.n_leaves):
        path = tree.path_to_root(leaf)
        assert path[0] == leaf
        assert path[-1] == tree.root
        assert (np.diff(tree.height[path]) > 0).all()
        assert len(path) == tree.node_depth[leaf] + 1
    assert tree.mean_leaf_depth == pytest.approx(np.mean([len(tree.path_to_root(i)) - 1 for i in range(tree.n_leaves)]))


def test_bodies_of_children_make_those_of_the_node() -> None:
    tree = build_assembly_tree(shapes.star(40))
    for node in range(tree.n_leaves, tree.n_nodes):
        of_children = set(tree.bodies(int(tree.upper_child[node]))) | set(tree.bodies(int(tree.lower_child[node])))
        assert set(tree.bodies(node)) == of_children
    assert tree.bodies(tree.root).tolist() == list(range(40))


def test_memory_counts_the_engine_once_it_says_so(legged: AssemblyTree) -> None:
    assert legged.bytes_per_joint == legged.structure_bytes / 6
    with_engine = legged.with_node_record(2400)
    assert with_engine.bytes_per_joint == legged.bytes_per_joint + 2400 * legged.n_nodes / 6
    assert with_engine.joint is legged.joint
    assert "2400" in with_engine.describe()


def test_describe_names_the_figures() -> None:
    text = build_assembly_tree(shapes.star(100)).describe()
    for word in ("depth", "mean leaf depth", "leaves", "compress", "rake", "split", "handles", "bytes"):
        assert word in text


def test_graphviz_has_every_node_and_edge(legged: AssemblyTree) -> None:
    text = legged.to_graphviz()
    assert text.startswith("digraph")
    assert text.count("->") == legged.n_nodes - 1
    assert text.count("[label=") == legged.n_nodes
    assert "rake joint 4" in text


def test_draw_labels_every_node(legged: AssemblyTree) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert legged.draw(ax) is ax
    assert len(ax.texts) == legged.n_nodes
    plt.close(figure)
    own = build_assembly_tree(shapes.star(8)).draw()
    assert any("piece 2/" in text.get_text() for text in own.texts)
    plt.close("all")


def test_large_trees_are_not_drawn() -> None:
    tree = build_assembly_tree(shapes.chain(1000))
    with pytest.raises(ValueError, match="at most 200"):
        tree.to_graphviz()
    with pytest.raises(ValueError, match="at most 200"):
        tree.draw()
