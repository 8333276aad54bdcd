"""The assembly tree against its definition, in plain Python and with sets: slow, and shares nothing with the kernels.

A piece of a body counts as a body of its own, held to the next piece by a fixed joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

from adaptive_sim.assembly import AssemblyTree, Kind


def check(tree: AssemblyTree, parent: Sequence[int], *, long_rakes: bool = False) -> None:
    """Assert everything that the documentation of the tree promises."""
    check_pieces(tree, parent)
    check_numbering(tree)
    edges = check_joints(tree, parent)
    check_handles(tree, edges)
    check_kinds(tree, parent, long_rakes)


def check_pieces(tree: AssemblyTree, parent: Sequence[int]) -> None:
    n = len(parent)
    assert tree.n_bodies == n
    assert tree.n_leaves >= n
    assert tree.n_nodes == 2 * tree.n_leaves - 1
    pieces: list[list[int]] = [[] for _ in range(n)]
    for leaf in range(tree.n_leaves):
        pieces[tree.leaf_body[leaf]].append(leaf)
    assert [leaf for body in pieces for leaf in body] == list(range(tree.n_leaves))
    for body in range(n):
        assert pieces[body], f"body {body} is in no leaf"
        assert list(tree.leaves_of_body(body)) == pieces[body]
        assert tree.leaf_of_body(body) == pieces[body][0]
        assert {tree.leaf_fraction[leaf] for leaf in pieces[body]} == {1.0 / len(pieces[body])}
    assert tree.body_first_leaf[n] == tree.n_leaves


def check_numbering(tree: AssemblyTree) -> None:
    for node in range(tree.n_nodes):
        children = [int(tree.upper_child[node]), int(tree.lower_child[node])]
        if node < tree.n_leaves:
            assert children == [-1, -1]
            assert tree.height[node] == 0
        else:
            assert all(0 <= child < node for child in children)
            assert children[0] != children[1]
            assert all(tree.parent[child] == node for child in children)
            assert tree.height[node] == 1 + max(tree.height[child] for child in children)
    assert [node for node in range(tree.n_nodes) if tree.parent[node] == -1] == [tree.root]
    assert list(tree.height) == sorted(tree.height)
    levels = tree.levels()
    assert len(levels) == tree.depth + 1
    assert [node for level in levels for node in level] == list(range(tree.n_nodes))
    for height, level in enumerate(levels):
        assert {int(tree.height[node]) for node in level} == {height}


def check_joints(tree: AssemblyTree, parent: Sequence[int]) -> list[tuple[int, int]]:
    """Every joint, and every seam between two pieces, at exactly one node. Returns all of them as (x, y)."""
    edges, joints, seams = [], [], []
    for node in range(tree.n_leaves, tree.n_nodes):
        x, y = int(tree.lower_handle[tree.upper_child[node]]), int(tree.upper_handle[tree.lower_child[node]])
        assert min(x, y) >= 0
        edges.append((x, y))
        joint = int(tree.joint[node])
        if joint == -1:
            assert tree.leaf_body[x] == tree.leaf_body[y]
            seams.append((x, y))
        else:
            assert tree.leaf_body[x] == parent[joint]
            assert y == tree.leaf_of_body(joint)
            assert tree.node_of_joint[joint] == node
            joints.append(joint)
    assert sorted(joints) == list(range(1, len(parent)))
    assert tree.node_of_joint[0] == -1
    rows = [tree.leaves_of_body(body) for body in range(len(parent))]
    assert sorted(seams) == [(leaf, leaf + 1) for row in rows for leaf in row[:-1]]
    return edges


def check_handles(tree: AssemblyTree, edges: list[tuple[int, int]]) -> None:
    """Subassemblies are connected and their handles are their boundary, as the definition says."""
    neighbours: list[set[int]] = [set() for _ in range(tree.n_leaves)]
    above = [-1] * tree.n_leaves
    for x, y in edges:
        neighbours[x].add(y)
        neighbours[y].add(x)
        above[y] = x
    members: list[set[int]] = []
    for node in range(tree.n_nodes):
        if node < tree.n_leaves:
            inside = {node}
        else:
            A, B = members[tree.upper_child[node]], members[tree.lower_child[node]]
            assert not A & B
            inside = A | B
        members.append(inside)
        # The edges form a tree, so a part of it with one edge less than pieces is connected.
        assert sum(len(neighbours[leaf] & inside) for leaf in inside) == 2 * (len(inside) - 1)
        # Body 0 is held by the world.
        boundary = {leaf for leaf in inside if neighbours[leaf] - inside or leaf == 0}
        upper, lower = int(tree.upper_handle[node]), int(tree.lower_handle[node])
        assert ({upper, lower} - {-1}) == boundary
        assert len(boundary) == tree.n_handles[node] <= 2
        assert above[upper] not in inside, "the upper handle is not the topmost piece"
        assert all(above[leaf] in inside for leaf in inside - {upper})
    assert members[tree.root] == set(range(tree.n_leaves))
    assert tree.max_handles == max(tree.n_handles)


def check_kinds(tree: AssemblyTree, parent: Sequence[int], long_rakes: bool) -> None:
    size = [1] * len(parent)
    for body in range(len(parent) - 1, 0, -1):
        size[parent[body]] += size[body]
    heavy = {body: max((j for j in range(len(parent)) if parent[j] == body), key=lambda j: (size[j], -j), default=-1)
             for body in range(len(parent))}  # fmt: skip
    for node in range(tree.n_nodes):
        A, B, kind = int(tree.upper_child[node]), int(tree.lower_child[node]), Kind(tree.kind[node])
        upper, lower, joint = int(tree.upper_handle[node]), int(tree.lower_handle[node]), int(tree.joint[node])
        if kind is Kind.LEAF:
            assert node < tree.n_leaves
            continue
        assert upper == tree.upper_handle[A]
        assert (kind is Kind.SPLIT) == (joint == -1)
        if kind is Kind.RAKE:
            assert lower == upper
            assert tree.lower_handle[B] == -1
            if not long_rakes:
                assert tree.lower_handle[A] == upper
                assert heavy[parent[joint]] != joint
        else:
            if long_rakes and kind is Kind.SPLIT and tree.lower_handle[B] == -1:
                assert lower in (-1, upper)  # a rake whose last join falls on a seam
            else:
                assert lower == tree.lower_handle[B]
            x = int(tree.lower_handle[A])
            if joint != -1 and heavy[parent[joint]] == joint:
                assert x == tree.leaves_of_body(parent[joint])[-1], "the heavy child hangs on the last piece"
            else:
                assert joint == -1 or long_rakes


def least_depth(parent: Sequence[int], *, long_rakes: bool = False) -> int:
    """Depth of the best tree over the rows, by dynamic programming over all their bracketings."""
    n = len(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    size = [1] * n
    for body in range(n - 1, 0, -1):
        size[parent[body]] += size[body]
        children[parent[body]].insert(0, body)
    heavy = [max(c, key=lambda j: (size[j], -j), default=-1) for c in children]
    closed: dict[int, int] = {}
    rows: dict[int, list[int]] = {}
    pieces: dict[int, list[int]] = {}

    def rake(height: int, child: int) -> int:
        return least_height([height, *rows[child]]) if long_rakes else max(height, closed[child]) + 1

    def fold(light: list[int]) -> int:
        height = 0
        for child in light:
            height = rake(height, child)
        return height

    for body in range(n - 1, -1, -1):
        light = sorted((j for j in children[body] if j != heavy[body]), key=lambda j: (closed[j], size[j]))
        pieces[body] = [fold(light)]
        for fullness in (0.5, 0.999):
            parts: list[list[int]] = [[]]
            for child in light:
                more = [*parts[-1], child]
                if len(more) == 1 or sum(2.0 ** fold([j]) for j in more) > fullness * 2.0 ** fold(more):
                    parts[-1] = more
                else:
                    parts.append([child])
            row = [fold(part) for part in parts]
            if least_height(row) < fold(light):
                pieces[body] = row
                break
        if body == 0 or heavy[parent[body]] != body:
            rows[body], at = [], body
            while at != -1:
                rows[body] += pieces[at]
                at = heavy[at]
            closed[body] = least_height(rows[body])
    return closed[0]


def least_height(row: Sequence[int]) -> int:
    """Least height of a binary tree over items of given heights in a fixed order: all bracketings are tried."""
    m = len(row)
    best = {(i, i + 1): row[i] for i in range(m)}
    for length in range(2, m + 1):
        for i in range(m - length + 1):
            best[i, i + length] = 1 + min(
                max(best[i, k], best[k, i + length]) for k in range(i + 1, i + length)
            )  # fmt: skip
    return best[0, m]


def depth_bound(n: int) -> float:
    """What the depth must not exceed for any shape."""
    return 2.5 * log2(n) + 6


def least_levels(n: int) -> int:
    """What no binary tree over n leaves can be below."""
    return ceil(log2(n))
