"""From a linkage and its assembly tree to the arrays the engine's kernels read and fill."""

from __future__ import annotations

import numpy as np

from .. import assembly
from ..assembly import AssemblyTree
from ..linkage.joints import FIXED
from ..linkage.model import Linkage
from .leaves import leaf_geometry
from .record import MOTION, RECORD, Coefficients, Plan


def build_assembly_tree(linkage: Linkage) -> AssemblyTree:
    """The assembly tree of a linkage, which also knows the memory the engine needs for it."""
    return assembly.build_assembly_tree(linkage).with_node_record(8 * (RECORD + MOTION // 2))


def make_plan(linkage: Linkage, tree: AssemblyTree) -> Plan:
    """The tree as the kernels read it, with the base joint as one more join: the world and the root."""
    root, base, world = tree.n_nodes - 1, tree.n_nodes, tree.n_nodes + 1
    joint = np.append(tree.joint, 0).astype(np.int64)
    kind = np.where(joint >= 0, linkage.joint_type[joint], FIXED)
    inner = np.arange(tree.n_nodes) >= tree.n_leaves
    rake = np.append(inner & (tree.upper_handle == tree.lower_handle), False).astype(np.int64)
    order = np.append(np.arange(tree.n_leaves, tree.n_nodes), base).astype(np.int64)
    level_start = np.append(np.asarray(tree.level_start[1:], dtype=np.int64) - tree.n_leaves, len(order))
    leaves = slice(0, tree.n_leaves)
    return Plan(
        np.append(tree.upper_child, world).astype(np.int64),
        np.append(tree.lower_child, root).astype(np.int64),
        np.append(np.where(tree.parent < 0, base, tree.parent), -1).astype(np.int64),
        joint,
        kind.astype(np.int64),
        rake,
        order,
        level_start.astype(np.int64),
        tree.leaf_body.astype(np.int64),
        np.ascontiguousarray(tree.leaf_fraction),
        (tree.lower_handle[leaves] >= 0).astype(np.int64),
        tree.body_first_leaf[:-1].astype(np.int64),
    )


def make_coefficients(linkage: Linkage, plan: Plan) -> Coefficients:
    """Records of all nodes, the base joint and the world; leaves and world filled in."""
    coefficients = Coefficients(np.zeros((len(plan.upper) + 1, RECORD)), np.zeros((linkage.nv, MOTION)))
    leaf_geometry(linkage.kernel_model, plan, coefficients)
    return coefficients
