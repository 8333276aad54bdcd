"""The two passes over the assembly tree: main pass bottom-up, back-substitution top-down (Redon & Lin 2005, §3.1).

Nodes of one level do not depend on each other, so they are joined in batches of LANES nodes. A whole pass takes one
small subtree (block) after the other, so that records are read while they are in the cache, and blocks are shared out
between threads. Every node goes through the same instructions however it was batched, so its coefficients are the same
to the last bit.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..compiled import kernel
from ..linkage.model import KernelModel
from ..spatial.lanes import LANES, prefetch
from ..spatial.motion import force_to_parent, motion_to_child
from ..spatial.rows import get_spatial
from ..typing import Floats, Ints
from .frames import get_pose, update_poses
from .join import join_forces, join_geometry, locate
from .record import (
    AT,
    AT_UV,
    CLASS,
    FACTOR,
    GAMMA,
    JOINT,
    JOINT_OF,
    LEAF_RECORD,
    LOWER,
    RECORD,
    SINGLE,
    TWO,
    UPPER,
    UU,
    Coefficients,
    N,
    Plan,
    R,
    W,
)
from .total_acceleration import TOTAL_WORK, join_total

OK = -1
SHARES = 4  # pieces of work per thread: a thread whose core is taken away holds up one of them


@kernel
def update_nodes(
    model: KernelModel,
    plan: Plan,
    q: Floats,
    Q: Floats,
    c: Floats,
    todo: Ints,
    moved: Ints,
    weight: Floats,
    coefficients: Coefficients,
) -> int:
    """Join the nodes in `todo`, in the order of `plan.order`, children before parents.

    moved (n,): other than zero where the geometry must be updated too; empty: everywhere.
    weight (nv,): of the joints in the total acceleration, which is updated where there is room for it.
    Returns OK or a node that failed. Poses are up to date, but in a whole pass (empty `moved`), which sees to them.
    """
    # Arrays are taken out of their tuples here, once: inside the loop every such access would count references.
    tree, v_start, leaves = plan.tree, model.v_start, len(plan.leaf_body)
    store, motion, factor = coefficients.store, coefficients.motion, coefficients.factor.reshape(-1)
    nodes = np.empty(LANES, dtype=np.int64)
    A, A_vv, A_uv, A_b = np.empty_like(nodes), np.empty_like(nodes), np.empty_like(nodes), np.empty_like(nodes)
    B, B_vv, B_uv, B_b = np.empty_like(nodes), np.empty_like(nodes), np.empty_like(nodes), np.empty_like(nodes)
    C, L_A, L_B = np.empty_like(nodes), np.empty_like(nodes), np.empty_like(nodes)
    w = np.empty(TOTAL_WORK * LANES)
    status = OK
    start = 0
    while start < len(todo):
        end = next_batch(tree, todo, start, nodes)
        locate(tree, nodes, A, A_vv, A_uv, A_b, B, B_vv, B_uv, B_b, C)
        geometry = len(moved) == 0
        if geometry:  # a whole pass: the next batch's records are not in the cache
            for k in range(end, min(end + LANES, len(todo))):
                prefetch_node(tree, leaves, todo[k], store, factor)
            update_poses(model, plan, q, nodes, store)
        else:
            for lane in range(LANES):
                geometry = geometry or moved[nodes[lane]] != 0
        if geometry:  # doing it for a neighbour that did not move gives it the same numbers again
            failed = join_geometry(model, v_start, tree, q, nodes, A, A_vv, A_uv, B, B_vv, B_uv, C, store, motion, w)
            if failed != OK and status == OK:  # the first: nan spreads from it to everything above
                status = failed
        join_forces(v_start, tree, Q, c, nodes, A_vv, A_uv, A_b, B, B_uv, B_b, C, store, motion, w)
        if len(factor) > 0:
            join_total(
                v_start, tree, leaves, weight, nodes, A_vv, A_uv, B, B_uv, C, L_A, L_B, store, motion, factor, geometry,
                w,
            )  # fmt: skip
        start = end
    return status


@kernel(inline=True)
def prefetch_node(tree: Ints, leaves: int, i: int, store: Floats, factor: Floats) -> None:
    """Records are larger than what the processor fetches by itself; a whole pass is bound by memory without this."""
    for child in (tree[i, UPPER], tree[i, LOWER]):
        if child < leaves:
            prefetch(store, tree[child, AT], LEAF_RECORD)
        else:
            prefetch(store, tree[child, AT], JOINT)
            if FACTOR * (child - leaves) < len(factor):
                prefetch(factor, FACTOR * (child - leaves), FACTOR)
    prefetch(store, tree[i, AT], RECORD)


@kernel(inline=True)
def next_batch(tree: Ints, todo: Ints, start: int, nodes: Ints) -> int:
    """Up to LANES nodes of one class from `start` on; a short batch repeats its last node. Returns where it ends."""
    end = start
    while end < len(todo) and end < start + LANES and tree[todo[end], CLASS] == tree[todo[start], CLASS]:
        end += 1
    for lane in range(LANES):
        nodes[lane] = todo[min(start + lane, end - 1)]
    return end


def main_pass(
    model: KernelModel,
    plan: Plan,
    q: Floats,
    Q: Floats,
    c: Floats,
    weight: Floats,
    coefficients: Coefficients,
    *,
    forces_only: bool = False,
    threads: int = 1,
) -> int:
    """All joins, or only what depends on forces. The leaves are up to date. Returns OK or a node that failed.

    Threads share out the blocks; the nodes above all blocks follow on one. They are Python's: kernels hold no lock, and
    a kernel with threads of its own would compile `update_nodes` once more (12 s) and leave threads behind that spin.
    """
    order, start = plan.pass_order, plan.block_start
    moved = np.zeros(len(plan.tree) if forces_only else 0, dtype=np.int64)

    def update(nodes: Ints) -> int:
        return int(update_nodes(model, plan, q, Q, c, nodes, moved, weight, coefficients))

    if threads < 2 or len(start) < 2:
        return update(order)
    from concurrent.futures import ThreadPoolExecutor

    edges = start[np.linspace(0, len(start) - 1, SHARES * threads + 1).astype(np.int64)]
    with ThreadPoolExecutor(threads) as pool:
        status = list(pool.map(update, (order[first:last] for first, last in pairwise(edges))))
    status.append(update(order[start[-1] :]))
    # The lowest of the nodes that failed: those above only inherit its nan.
    return min((node for node in status if node != OK), default=OK)


@kernel(inline=True)
def substitute_node(
    v_start: Ints, tree: Ints, i: int, store: Floats, motion: Floats, F: Floats, z: Floats, qdd: Floats
) -> None:
    """Joint acceleration and force of node i's principal joint, and the forces on its children. Eqs (4), (5).

    F (n, 12): outside forces on u and v of each node, in their own frames. z (12,) is scratch.
    """
    A, B, at = tree[i, UPPER], tree[i, LOWER], tree[i, AT]
    two = tree[i, TWO] != 0
    for k in range(6):
        if two:
            F[A, k] = F[i, k]
            F[B, 6 + k] = F[i, 6 + k]
        else:  # all that acts on C from outside acts on its one handle
            F[A, k] = F[i, k] + F[i, 6 + k]
            F[B, 6 + k] = 0.0

    # z = Φ_xu F_u − Φ_yv F_v in y's frame
    rotation, origin = get_pose(store, at + JOINT)
    if tree[A, SINGLE]:
        _symmetric_times(store, tree[A, AT] + UU, F, A, 0, z)
    else:
        _transposed_times(store, tree[A, AT_UV], F, A, z)
    w, v = motion_to_child(rotation, origin, ((z[0], z[1], z[2]), (z[3], z[4], z[5])))
    for k in range(3):
        z[6 + k] = w[k]
        z[9 + k] = v[k]
    if two:
        if tree[B, SINGLE]:
            _symmetric_times(store, tree[B, AT] + UU, F, i, 6, z)
        else:
            for k in range(6):
                s = 0.0
                for j in range(6):
                    s += store[tree[B, AT_UV] + 6 * k + j] * F[i, 6 + j]
                z[k] = s
        for k in range(6):
            z[6 + k] -= z[k]

    joint = tree[i, JOINT_OF]
    if joint >= 0:
        for row in range(v_start[joint], v_start[joint + 1]):
            s = motion[row, R]
            for k in range(6):
                s -= motion[row, N + k] * z[6 + k]
            qdd[row] = s
    # f = W z + γ
    for k in range(6):
        F[B, k] = store[at + GAMMA + k]
    k = at + W
    for row in range(6):
        F[B, row] += store[k] * z[6 + row]
        k += 1
        for column in range(row + 1, 6):
            F[B, row] += store[k] * z[6 + column]
            F[B, column] += store[k] * z[6 + row]
            k += 1
    n, f = force_to_parent(rotation, origin, get_spatial(F, B))
    for k in range(3):
        F[A, 6 + k] = -n[k]
        F[A, 9 + k] = -f[k]


@kernel(inline=True)
def _symmetric_times(store: Floats, at: int, F: Floats, row: int, first: int, out: Floats) -> None:
    """out[:6] = packed symmetric block times F[row, first : first + 6]."""
    for k in range(6):
        out[k] = 0.0
    k = at
    for i in range(6):
        out[i] += store[k] * F[row, first + i]
        k += 1
        for j in range(i + 1, 6):
            out[i] += store[k] * F[row, first + j]
            out[j] += store[k] * F[row, first + i]
            k += 1


@kernel(inline=True)
def _transposed_times(store: Floats, at: int, F: Floats, row: int, out: Floats) -> None:
    """out[:6] = Φ_uvᵀ F_u."""
    for k in range(6):
        out[k] = 0.0
    for i in range(6):
        for j in range(6):
            out[j] += store[at + 6 * i + j] * F[row, i]


@kernel
def back_substitution(model: KernelModel, plan: Plan, coefficients: Coefficients, F: Floats, qdd: Floats) -> None:
    """All joint accelerations qdd (nv,); F as in `substitute_node`."""
    tree, order, v_start = plan.tree, plan.order, model.v_start
    store, motion = coefficients.store, coefficients.motion
    z = np.empty(12)
    F[order[len(order) - 1], :] = 0.0
    for at in range(len(order) - 1, -1, -1):
        ahead = order[max(at - 6, 0)]
        prefetch(store, tree[ahead, AT] + JOINT, RECORD - JOINT)
        prefetch(store, tree[tree[ahead, UPPER], AT_UV], 36)
        prefetch(store, tree[tree[ahead, LOWER], AT_UV], 36)
        substitute_node(v_start, tree, order[at], store, motion, F, z, qdd)


@kernel
def joint_forces_of(plan: Plan, F: Floats, f: Floats) -> None:
    """f (n, 6): the force each joint transmits to its body, body frames: what acts on y of its node."""
    tree = plan.tree
    for i in range(len(tree)):
        if tree[i, JOINT_OF] >= 0:
            for k in range(6):
                f[tree[i, JOINT_OF], k] = F[tree[i, LOWER], k]
