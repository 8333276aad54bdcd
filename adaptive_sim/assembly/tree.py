"""The assembly tree: a binary tree of subassemblies of a linkage, as read-only arrays.

Source: MATH §1. Its leaves are pieces of bodies; a node C joins its upper child A and its lower child B across one
joint, between the lower handle of A and the upper handle of B:

    COMPRESS  neighbours on a path       handles: upper(A), lower(B)
    RAKE      a body with a finished light subtree B; upper(A) = lower(A) is the only handle left
    SPLIT     a compress between two pieces of one body: a fixed joint, identity transform

A node is *closed* (lower handle -1) if it holds its path to the end. With *long rakes* (see `build_assembly_tree`) A
may be the body together with the upper part of the light path: still only upper(A) is left, so the join is that of
a compress with closed B, and it may fall on a seam (SPLIT). What survives is read from the handles, not the kind.

Nodes are numbered leaves first, in the order of
the bodies, then level by level; children are always in lower levels than their parent, the root is the last node.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from ..typing import Floats
from . import partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWING_LIMIT = 200  # nodes; beyond this neither a drawing nor DOT text can be read

Indices = NDArray[np.int32]


class Kind(IntEnum):
    """How a node is made of its children."""

    LEAF = partition.LEAF
    COMPRESS = partition.COMPRESS
    RAKE = partition.RAKE
    SPLIT = partition.SPLIT


def _array(shape: str, meaning: str, dtype: type = np.int32) -> dict[str, Any]:
    """Declaration of an array of the tree: its length, its meaning, its type."""
    return {"shape": shape, "meaning": meaning, "dtype": np.dtype(dtype)}


@dataclass(frozen=True, eq=False, repr=False)
class AssemblyTree:
    """A tree made by `build_assembly_tree`. Arrays are read-only; -1 means "none" everywhere."""

    leaf_body: Indices = field(metadata=_array("n_leaves", "the body a leaf is a piece of; ascending"))
    leaf_fraction: Floats = field(
        metadata=_array("n_leaves", "its share of the body's mass and inertia: 1/pieces", np.float64)
    )
    body_first_leaf: Indices = field(
        metadata=_array("n_bodies+1", "pieces of body i: leaves body_first_leaf[i] to [i+1]")
    )
    kind: NDArray[np.int8] = field(metadata=_array("n_nodes", "Kind of the node", np.int8))
    upper_child: Indices = field(metadata=_array("n_nodes", "A, the child on the side of the base; -1 for leaves"))
    lower_child: Indices = field(metadata=_array("n_nodes", "B, the child away from the base; -1 for leaves"))
    parent: Indices = field(metadata=_array("n_nodes", "the node this one is a child of; -1 for the root"))
    joint: Indices = field(metadata=_array("n_nodes", "principal joint, between A and B; -1 for leaves and splits"))
    upper_handle: Indices = field(
        metadata=_array("n_nodes", "leaf where the node is held from above: its topmost piece")
    )
    lower_handle: Indices = field(
        metadata=_array("n_nodes", "leaf where its path continues below; may equal the upper; -1 if closed")
    )
    height: Indices = field(
        metadata=_array("n_nodes", "0 for leaves, else 1 + the larger of the children's; ascending")
    )
    level_start: Indices = field(metadata=_array("depth+2", "nodes of height h: level_start[h] to [h+1]"))
    node_of_joint: Indices = field(
        metadata=_array("n_bodies", "the node whose principal joint this is; -1 for joint 0, to the world")
    )
    node_record_bytes: int = 0  # what an engine stores per node, for `bytes_per_joint`

    def __post_init__(self) -> None:
        sizes = {
            "n_leaves": self.n_leaves,
            "n_nodes": self.n_nodes,
            "n_bodies": self.n_bodies,
            "n_bodies+1": self.n_bodies + 1,
            "depth+2": self.depth + 2,
        }
        for declared in fields(self):
            if declared.metadata:
                array = getattr(self, declared.name)
                expected = (sizes[declared.metadata["shape"]],)
                dtype = declared.metadata["dtype"]
                if array.shape != expected or array.dtype != dtype:
                    raise ValueError(f"{declared.name} is {array.shape} {array.dtype}, not {expected} {dtype}")
                array.setflags(write=False)

    def __repr__(self) -> str:
        return f"<AssemblyTree: {self.n_bodies} bodies, {self.n_nodes} nodes, depth {self.depth}>"

    # Sizes

    @property
    def n_bodies(self) -> int:
        return len(self.node_of_joint)

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_body)

    @property
    def n_nodes(self) -> int:
        return len(self.kind)

    @property
    def root(self) -> int:
        return self.n_nodes - 1

    @property
    def depth(self) -> int:
        """Height of the root: joins between a leaf and the whole linkage, at most."""
        return int(self.height[-1])

    # Handles

    @cached_property
    def n_handles(self) -> NDArray[np.int8]:
        """(n_nodes,) boundary bodies of each node, counting the world's joint at the base: 1 or 2."""
        two = (self.lower_handle != -1) & (self.lower_handle != self.upper_handle)
        return _read_only(np.int8(1) + two.astype(np.int8))

    @property
    def max_handles(self) -> int:
        return int(self.n_handles.max())

    # Walking the tree

    def levels(self) -> list[range]:
        """Nodes of height 0, 1, … depth; working through them in this order is bottom-up."""
        return [range(first, end) for first, end in pairwise(self.level_start.tolist())]

    def leaf_of_body(self, body: int) -> int:
        """The first piece of a body; the joint to its parent is attached to it."""
        return int(self.body_first_leaf[body])

    def leaves_of_body(self, body: int) -> range:
        """All pieces of a body, from its parent to its heavy child."""
        return range(int(self.body_first_leaf[body]), int(self.body_first_leaf[body + 1]))

    def path_to_root(self, node: int) -> Indices:
        """The node and everything above it, bottom-up: what a change in the node touches."""
        path = [node]
        while (node := int(self.parent[node])) != -1:
            path.append(node)
        return np.array(path, np.int32)

    def bodies(self, node: int) -> Indices:
        """The bodies of a subassembly, ascending. A split body may have pieces in several nodes."""
        found, level = [], np.array([node], np.int32)
        while level.size:
            is_leaf = level < self.n_leaves
            found.append(self.leaf_body[level[is_leaf]])
            inner = level[~is_leaf]
            level = np.concatenate([self.upper_child[inner], self.lower_child[inner]])
        return np.unique(np.concatenate(found))

    @cached_property
    def node_depth(self) -> Indices:
        """(n_nodes,) joins between a node and the root; for a leaf, what a push on its body costs."""
        depth = np.zeros(self.n_nodes, np.int32)
        for level in reversed(self.levels()[1:]):
            nodes = slice(level.start, level.stop)
            depth[self.upper_child[nodes]] = depth[nodes] + 1
            depth[self.lower_child[nodes]] = depth[nodes] + 1
        return _read_only(depth)

    @property
    def mean_leaf_depth(self) -> float:
        return float(self.node_depth[: self.n_leaves].mean())

    # Memory

    @property
    def structure_bytes(self) -> int:
        """Bytes of the declared arrays."""
        return sum(getattr(self, declared.name).nbytes for declared in fields(self) if declared.metadata)

    @property
    def bytes_per_joint(self) -> float:
        """Memory per joint: this structure and, once an engine has said so, its record of every node."""
        return (self.structure_bytes + self.node_record_bytes * self.n_nodes) / self.n_bodies

    def with_node_record(self, n_bytes: int) -> AssemblyTree:
        """The same tree (sharing its arrays) that counts `n_bytes` per node in `bytes_per_joint`."""
        return replace(self, node_record_bytes=n_bytes)

    # Looking at it

    def describe(self) -> str:
        """The figures of the tree as a few lines of text."""
        count = np.bincount(self.kind, minlength=len(Kind))
        log2n = float(np.log2(self.n_bodies))
        memory = f"{self.structure_bytes / self.n_bodies:.0f} bytes of structure per joint"
        if self.node_record_bytes:
            memory += f", {self.bytes_per_joint:.0f} with node records of {self.node_record_bytes} bytes"
        return "\n".join(
            [
                f"assembly tree of {self.n_bodies:,} bodies: depth {self.depth} (log2 n = {log2n:.1f})",
                f"  mean leaf depth  {self.mean_leaf_depth:.1f}",
                f"  nodes            {self.n_nodes:,}, of them {self.n_leaves:,} leaves",
                f"  joins            {count[Kind.COMPRESS]:,} compress, {count[Kind.RAKE]:,} rake, "
                f"{count[Kind.SPLIT]:,} split",
                f"  handles          {np.count_nonzero(self.n_handles == 1):,} nodes with one, "
                f"{np.count_nonzero(self.n_handles == 2):,} with two",
                f"  memory           {memory}",
            ]
        )

    def to_graphviz(self) -> str:
        """DOT text of the tree, for linkages that fit on a page."""
        self._refuse_to_draw_large()
        from .drawing import graphviz_text

        return graphviz_text(self)

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw the tree with matplotlib, for linkages that fit on a page."""
        self._refuse_to_draw_large()
        from .drawing import draw_tree

        return draw_tree(self, ax)

    def _refuse_to_draw_large(self) -> None:
        if self.n_nodes > DRAWING_LIMIT:
            raise UnsupportedError(
                f"a tree of {self.n_nodes} nodes is too large to draw (at most {DRAWING_LIMIT}); "
                "draw that of a part of the linkage, or use describe()"
            )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
