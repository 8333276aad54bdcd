"""From a linkage to its assembly tree: validate, allocate, call the passes of `partition`, freeze the result."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from ..errors import InvalidLinkageError
from ..typing import ArrayLike, Ints
from . import partition
from .tree import AssemblyTree


class HasParent(Protocol):
    """A `Linkage`, or anything else that knows the parent of each body."""

    @property
    def parent(self) -> Ints: ...


def build_assembly_tree(linkage: HasParent | ArrayLike, *, long_rakes: bool = True) -> AssemblyTree:
    """Binary tree of subassemblies over the tree joints of a linkage (or of an array of parents).

    Parents come before their children; body 0 is the only one with parent -1. Loop joints are not looked at.

    A rake normally joins a whole light subtree to a single body. With `long_rakes` it may join the lower part of a
    light path to the body together with the upper part: up to a third less depth where branches branch again, but
    `upper_handle == lower_handle` no longer holds for the upper child of a rake.
    """
    parent = _checked_parents(linkage)
    n = parent.size
    max_pieces = 2 * n  # a body is never split into more pieces than it has light children

    size = np.empty(n, np.int32)
    heavy = np.empty(n, np.int32)
    light_start = np.empty(n + 1, np.int32)
    light = np.empty(n, np.int32)
    partition.order_children(parent, size, heavy, light_start, light)

    closed_height = np.zeros(n, np.int32)
    body_first_piece = np.empty(n + 1, np.int32)
    piece_body = np.empty(max_pieces, np.int32)
    piece_light = np.empty(max_pieces + 1, np.int32)
    row = np.empty(max_pieces, np.int32)
    row_height = np.empty(max_pieces, np.uint8)
    row_weight = np.empty(max_pieces + 1, np.int64)
    head_height, head_weight = np.empty((2, n), np.int32)
    path = np.empty((n, 3), np.int32)
    unused = partition.lay_out_paths(
        parent, size, heavy, light_start, light, long_rakes,
        closed_height, body_first_piece, piece_body, piece_light, head_height, head_weight,
        row, row_height, row_weight, path,
    )  # fmt: skip
    leaf_body = piece_body[unused:].copy()
    body_first_leaf = body_first_piece - np.int32(unused)
    n_leaves = leaf_body.size
    row = row[:n_leaves] - np.int32(unused)

    n_nodes = 2 * n_leaves - 1
    kind = np.zeros(n_nodes, np.int8)
    upper_child, lower_child, upper_handle, lower_handle = np.full((4, n_nodes), -1, np.int32)
    joins = partition.join_rows(
        light, long_rakes, closed_height, piece_light[unused:], head_height, head_weight,
        row, row_height, row_weight, path,
        kind, upper_child, lower_child, upper_handle, lower_handle,
    )  # fmt: skip

    height = np.zeros(n_nodes, np.int32)
    order = np.empty(n_nodes, np.int32)
    level_start = np.zeros(closed_height[0] + 2, np.int32)
    depth = -1
    if joins == n_leaves - 1:
        depth = partition.number_by_level(
            leaf_body, kind, upper_child, lower_child, upper_handle, lower_handle, height, order, level_start
        )
    if depth < 0:
        raise AssertionError(f"bug in the partition: no tree of the least height {closed_height[0]} came out")

    new_id = np.empty(n_nodes + 1, np.int32)
    new_id[order] = np.arange(n_nodes, dtype=np.int32)
    new_id[-1] = -1  # so that "none" stays "none"
    upper_child, lower_child = new_id[upper_child[order]], new_id[lower_child[order]]
    # Handles are leaves, and leaves keep their ids.
    kind, upper_handle, lower_handle = kind[order], upper_handle[order], lower_handle[order]

    inner = np.arange(n_leaves, n_nodes, dtype=np.int32)
    parent_node = np.full(n_nodes, -1, np.int32)
    parent_node[upper_child[inner]] = inner
    parent_node[lower_child[inner]] = inner
    joint = np.full(n_nodes, -1, np.int32)
    across = inner[kind[inner] != partition.SPLIT]
    joint[across] = leaf_body[upper_handle[lower_child[across]]]
    node_of_joint = np.full(n, -1, np.int32)
    node_of_joint[joint[across]] = across

    return AssemblyTree(
        leaf_body=leaf_body,
        leaf_fraction=1.0 / np.diff(body_first_leaf)[leaf_body],
        body_first_leaf=body_first_leaf,
        kind=kind,
        upper_child=upper_child,
        lower_child=lower_child,
        parent=parent_node,
        joint=joint,
        upper_handle=upper_handle,
        lower_handle=lower_handle,
        height=height[order],
        level_start=level_start[: depth + 2],
        node_of_joint=node_of_joint,
    )


def _checked_parents(linkage: HasParent | ArrayLike) -> Ints:
    """The parents as a contiguous int64 array, or an InvalidLinkageError that names the first wrong body."""
    array = np.asarray(cast(ArrayLike, getattr(linkage, "parent", linkage)))
    if array.ndim != 1 or array.size == 0:
        raise InvalidLinkageError([f"parents must be an array of shape (n,) with n >= 1, not {array.shape}"])
    if array.dtype.kind not in "iu":
        raise InvalidLinkageError([f"parents must be integers, not {array.dtype}"])
    if array.size > np.iinfo(np.int32).max // 4:  # up to 4 n nodes, numbered in 32 bits
        raise InvalidLinkageError([f"{array.size} bodies are more than 32-bit node numbers allow"])
    parent = np.ascontiguousarray(array, dtype=np.int64)
    if parent[0] != -1:
        raise InvalidLinkageError([f"body 0 is the base and needs parent -1, not {parent[0]}"])
    wrong = (parent[1:] < 0) | (parent[1:] >= np.arange(1, parent.size))
    if wrong.any():
        body = int(np.argmax(wrong)) + 1
        raise InvalidLinkageError(
            [f"body {body} has parent {parent[body]}; parents come before their children and body 0 is the only base"]
        )
    return parent
