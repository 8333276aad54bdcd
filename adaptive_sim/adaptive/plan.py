"""From a linkage and its assembly tree to the arrays the engine's kernels read and fill."""

from __future__ import annotations

import numpy as np

from .. import assembly
from ..assembly import AssemblyTree
from ..compiled import kernel
from ..linkage.joints import DOF, FIXED, HELICAL, UNIVERSAL
from ..linkage.model import Linkage
from ..typing import Ints
from .leaves import leaf_geometry
from .record import (
    BIAS,
    FACTOR,
    FIRST,
    LEAF_BIAS,
    LEAF_RECORD,
    MOTION,
    POSE,
    RECORD,
    ROWS,
    TREE,
    UNIT_POSE,
    UV,
    VV,
    ZEROS,
    Coefficients,
    Plan,
)

BLOCK = 384  # joins; their records, about 700 kB, fit into a processor's own cache


def build_assembly_tree(linkage: Linkage) -> AssemblyTree:
    """The assembly tree of a linkage, which also knows the memory the adaptive engine needs for it."""
    tree = assembly.build_assembly_tree(linkage)
    inner = tree.n_nodes - tree.n_leaves + 1
    numbers = inner * (RECORD + FACTOR) + (tree.n_leaves + 1) * LEAF_RECORD + linkage.nv * MOTION
    # Plan: one row of int64 per node.
    return tree.with_node_record(round(8 * (numbers / tree.n_nodes + TREE)))


def make_plan(linkage: Linkage, tree: AssemblyTree) -> Plan:
    """The tree as the kernels read it, with the base joint as one more join, of the world and the root."""
    leaves, nodes = tree.n_leaves, tree.n_nodes
    base, world = nodes, nodes + 1
    upper = np.concatenate([tree.upper_child, [world, -1]]).astype(np.int64)
    lower = np.concatenate([tree.lower_child, [tree.root, -1]]).astype(np.int64)
    parent = np.concatenate([np.where(tree.parent < 0, base, tree.parent), [-1, base]]).astype(np.int64)
    joint = np.concatenate([tree.joint, [0, -1]]).astype(np.int64)
    kind = np.where(joint >= 0, linkage.joint_type[joint], FIXED).astype(np.int64)
    is_leaf = upper < 0
    open_ = np.concatenate([tree.lower_handle >= 0, [False, True]])
    single = np.concatenate([tree.lower_handle == tree.upper_handle, [False, True]])
    two = open_ & ~single

    # Places: leaves and the world are small records, inner nodes and the base joint large ones.
    at = FIRST + np.cumsum(np.where(is_leaf, LEAF_RECORD, RECORD))
    at = np.concatenate([[FIRST], at[:-1]]).astype(np.int64)
    at_vv = np.where(two, at + VV, np.where(single, at, ZEROS))
    at_uv = np.where(two, at + UV, ZEROS)
    at_pose = np.where(two, at + POSE, UNIT_POSE)
    at_bias = np.where(is_leaf, at + LEAF_BIAS, at + BIAS)

    # Levels, bottom-up; within a level nodes of one class stand together, in the order of the tree.
    level_start = np.append(np.asarray(tree.level_start[1:], dtype=np.int64) - leaves, nodes - leaves + 1)
    level = np.concatenate([np.asarray(tree.height, dtype=np.int64), [tree.depth + 1, 0]])
    rank = np.zeros(nodes + 2, dtype=np.int64)
    _ranks(upper, lower, DOF[kind], two.astype(np.int64), np.arange(leaves, nodes + 1), rank)
    inner = np.arange(leaves, nodes + 1)
    a, b = upper[inner], lower[inner]
    dof = DOF[kind[inner]]
    # More rows than columns: an orthogonal transformation follows, on all twelve rows of each child that has any.
    many = dof + rank[a] + rank[b] > np.where(two[inner], ROWS, 6)
    slots = np.zeros(nodes + 2, dtype=np.int64)  # 16·(rows taken from A) + (rows taken from B)
    slots[inner] = 16 * np.where(many & (rank[a] > 0), ROWS, rank[a]) + np.where(many & (rank[b] > 0), ROWS, rank[b])
    # Joints that need P take a way of their own through the join; beside them, zeros would change their sign.
    turned = (kind[inner] == HELICAL) | (kind[inner] == UNIVERSAL)
    key = ((two[inner] * 2 + turned) * 16 + dof) * 256 + slots[inner]
    order = inner[np.lexsort((inner, key, level[inner]))]
    block = np.full(nodes + 2, nodes + 2, dtype=np.int64)
    _blocks(upper, lower, parent, order, block)
    in_block = block[inner]
    pass_order = inner[np.lexsort((inner, key, level[inner], in_block))]
    edges = np.flatnonzero(np.diff(block[pass_order])) + 1
    block_start = np.concatenate([[0], edges]) if len(edges) else np.array([0])
    lane_class = np.zeros(nodes + 2, dtype=np.int64)
    lane_class[inner] = level[inner] * 2**16 + key
    position = np.full(nodes + 2, -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    node_of_joint = np.asarray(tree.node_of_joint, dtype=np.int64).copy()
    node_of_joint[0] = base
    table = np.stack(
        [upper, lower, parent, joint, kind, single, two, rank, slots, lane_class, position, at, at_vv, at_uv, at_pose,
         at_bias], axis=1,
    ).astype(np.int64)  # fmt: skip
    return Plan(
        table, order, level_start, pass_order, block_start.astype(np.int64), tree.leaf_body.astype(np.int64),
        np.ascontiguousarray(tree.leaf_fraction), tree.body_first_leaf[:-1].astype(np.int64), node_of_joint,
    )  # fmt: skip


def make_coefficients(linkage: Linkage, plan: Plan, *, factor: bool = False) -> Coefficients:
    """Room for the coefficients; leaves and constants filled in. `factor`: also for the total acceleration."""
    store = np.zeros(int(plan.at[-1]) + LEAF_RECORD)
    store[UNIT_POSE : UNIT_POSE + 9] = np.eye(3).ravel()
    rows = len(plan.order) if factor else 0
    coefficients = Coefficients(store, np.zeros((linkage.nv, MOTION)), np.zeros((rows, FACTOR)))
    leaf_geometry(linkage.kernel_model, plan, coefficients)
    return coefficients


@kernel
def _blocks(upper: Ints, lower: Ints, parent: Ints, order: Ints, block: Ints) -> None:
    """Whole subtrees of at most BLOCK joins, numbered by their topmost body; nodes above them keep their number.

    Joined block by block, children are still in the cache when their parent reads them.
    """
    size = np.zeros(len(block), dtype=np.int64)
    first = np.zeros(len(block), dtype=np.int64)  # leaf of the topmost body
    for i in range(len(block)):
        if upper[i] < 0:
            first[i] = i
    for i in order:
        size[i] = 1 + size[upper[i]] + size[lower[i]]
        first[i] = first[upper[i]]
    for k in range(len(order) - 1, -1, -1):
        i = order[k]
        if size[i] <= BLOCK:
            top = parent[i] < 0 or size[parent[i]] > BLOCK
            block[i] = first[i] if top else block[parent[i]]


@kernel
def _ranks(upper: Ints, lower: Ints, dof: Ints, two: Ints, inner: Ints, rank: Ints) -> None:
    """How many rows the factor of a node needs: one per degree of freedom inside, at most one per column."""
    for i in inner:
        rank[i] = min(dof[i] + rank[upper[i]] + rank[lower[i]], ROWS if two[i] else 6)
