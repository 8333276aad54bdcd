"""Lazy update: after a step, bring up to date exactly what changed (Redon & Lin 2005, §5; MATH §6).

Joints that moved: the visited nodes, which form the top of the assembly tree. There Φ, b, L and poses change. Bodies
whose force changed in their own frame, and joints whose force changed: only b, γ and L change, from there up to the
root. The two sets are merged and every node is joined once, children before parents. What is not in them is not
touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import kernel
from ..linkage.joints import spring_force
from ..linkage.model import KernelModel
from ..typing import Floats, Ints
from .forces import ForceTable, force_on_body
from .frames import body_pose, update_poses
from .leaves import leaf_force
from .passes import update_nodes
from .record import PARENT, POSITION, Coefficients, Plan

# When more than this share of the nodes is to be updated, looking through all of them is cheaper than sorting.
_SCAN_SHARE = 8


class Dirty(NamedTuple):
    """What is to be updated, and room to collect it."""

    mark: Ints  # (n,) 1 for nodes to be updated
    moved: Ints  # (n,) 1 for those whose geometry changed
    todo: Ints  # (n_inner + 1,) the marked nodes, in any order
    size: Ints  # (1,) how many


def make_dirty(plan: Plan) -> Dirty:
    return Dirty(
        np.zeros(len(plan.tree), dtype=np.int64),
        np.zeros(len(plan.tree), dtype=np.int64),
        np.zeros(len(plan.order), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@kernel(inline=True)
def mark_node(mark: Ints, todo: Ints, size: Ints, i: int) -> None:
    if mark[i] == 0:
        mark[i] = 1
        todo[size[0]] = i
        size[0] += 1


@kernel
def mark_path(plan: Plan, dirty: Dirty, i: int) -> None:
    """Everything above a node feels its force. A marked node's path is marked already."""
    tree, mark, todo, size = plan.tree, dirty.mark, dirty.todo, dirty.size
    i = tree[i, PARENT]
    while i >= 0 and mark[i] == 0:
        mark_node(mark, todo, size, i)
        i = tree[i, PARENT]


@kernel
def mark_all(plan: Plan, dirty: Dirty) -> None:
    mark, moved, todo, size = dirty.mark, dirty.moved, dirty.todo, dirty.size
    for i in plan.order:
        mark_node(mark, todo, size, i)
        moved[i] = 1


@kernel(inline=True)
def update_joint_force(model: KernelModel, q: Floats, tau: Floats, joint: int, Q: Floats) -> None:
    """Q = tau + spring force of one joint."""
    first, end = model.v_start[joint], model.v_start[joint + 1]
    held = False
    for row in range(first, end):
        Q[row] = tau[row]
        held = held or model.stiffness[row] != 0.0
    if held:
        spring_force(model.joint_kind[joint], q, model.rest_position, model.q_start[joint], model.stiffness, first, Q)


@kernel
def update_joint_forces(model: KernelModel, q: Floats, tau: Floats, Q: Floats) -> None:
    for joint in range(len(model.parent)):
        update_joint_force(model, q, tau, joint, Q)


@kernel
def update_body_forces(
    model: KernelModel,
    plan: Plan,
    table: ForceTable,
    t: float,
    everything: bool,
    f_ext: Floats,
    coefficients: Coefficients,
    dirty: Dirty,
) -> None:
    """Forces in body frames at time t; where one changed, its leaf is updated and its path marked.

    Poses are up to date. f_ext (n, 6): body-frame forces as last seen. everything: also look at constant ones.
    """
    none = f_ext[:0]
    tree, first_leaf, store = plan.tree, plan.first_leaf, coefficients.store
    for k in range(len(table.body)):
        if table.constant[k] and not everything:
            continue
        body = table.body[k]
        R_W, _ = body_pose(tree, first_leaf, store, body)
        n, f = force_on_body(table, k, R_W, t)
        changed = False
        for c in range(3):
            changed = changed or f_ext[body, c] != n[c] or f_ext[body, 3 + c] != f[c]
            f_ext[body, c] = n[c]
            f_ext[body, 3 + c] = f[c]
        if changed:
            leaf = plan.first_leaf[body]
            leaf_force(model, plan, f_ext, none, leaf, coefficients)
            mark_path(plan, dirty, leaf)


@kernel
def sort_numbers(x: Ints) -> None:
    """Ascending, in place (Shell's sort): short lists, and a library sort takes seconds to compile."""
    gap = 1
    while gap < len(x) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(x)):
            value = x[i]
            j = i
            while j >= gap and x[j - gap] > value:
                x[j] = x[j - gap]
                j -= gap
            x[j] = value
        gap //= 3


@kernel
def sort_todo(plan: Plan, dirty: Dirty) -> None:
    """The marked nodes in the order of `plan.order`: children before parents, classes together."""
    tree, order, mark = plan.tree, plan.order, dirty.mark
    todo = dirty.todo[: dirty.size[0]]
    if _SCAN_SHARE * len(todo) > len(order):
        k = 0
        for i in order:
            if mark[i] != 0:
                todo[k] = i
                k += 1
        return
    for k in range(len(todo)):
        todo[k] = tree[todo[k], POSITION]
    sort_numbers(todo)
    for k in range(len(todo)):
        todo[k] = order[todo[k]]


@kernel
def clear_marks(dirty: Dirty) -> None:
    mark, moved = dirty.mark, dirty.moved
    for i in dirty.todo[: dirty.size[0]]:
        mark[i] = 0
        moved[i] = 0
    dirty.size[0] = 0


def update_marked(
    model: KernelModel,
    plan: Plan,
    q: Floats,
    Q: Floats,
    weight: Floats,
    coefficients: Coefficients,
    dirty: Dirty,
) -> int:
    """Join every marked node once and clear the marks. Returns passes.OK or a node that failed."""
    sort_todo(plan, dirty)
    todo = dirty.todo[: dirty.size[0]]
    failed = update_nodes(model, plan, q, Q, np.empty((0, 6)), todo, dirty.moved, weight, coefficients)
    clear_marks(dirty)
    return int(failed)


@kernel
def poses_of_marked(model: KernelModel, plan: Plan, q: Floats, dirty: Dirty, store: Floats) -> None:
    """Poses of the marked nodes; all of them moved."""
    sort_todo(plan, dirty)
    update_poses(model, plan, q, dirty.todo[: dirty.size[0]], store)
