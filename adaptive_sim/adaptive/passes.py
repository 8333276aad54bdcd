"""The two passes over the assembly tree: main pass bottom-up, back-substitution top-down (Redon & Lin 2005, §3.1).

Nodes of one level do not depend on each other, so a level is cut into batches of LANES nodes, and a long level is
shared out between threads. Every node goes through the same instructions however it was batched, so its coefficients
are the same to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..compiled import kernel
from ..linkage.model import KernelModel
from ..spatial.lanes import LANES
from ..spatial.motion import force_to_parent, motion_to_child
from ..spatial.rows import get_spatial
from ..typing import Floats, Ints
from .frames import get_pose, update_poses
from .join import AT, join_forces, join_geometry
from .record import GAMMA, JOINT, UU, Coefficients, N, Plan, R, W
from .total_acceleration import TOTAL_WORK, join_total

OK = -1
# Below this many nodes a level is not worth waking the other threads (about 10 µs).
PARALLEL_NODES = 256


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
    Returns OK or a node that failed. Poses are up to date.
    """
    nodes = np.empty(LANES, dtype=np.int64)
    at = np.empty(AT, dtype=np.int64)
    w = np.empty(TOTAL_WORK * LANES)
    status = OK
    start = 0
    while start < len(todo):
        end = next_batch(plan.lane_class, todo, start, nodes)
        geometry = len(moved) == 0
        if not geometry:
            for lane in range(LANES):
                geometry = geometry or moved[nodes[lane]] != 0
        if geometry:  # doing it for a neighbour that did not move gives it the same numbers again
            failed = join_geometry(model, plan, q, nodes, at, coefficients, w)
            if failed != OK:
                status = failed
        join_forces(model, plan, Q, c, nodes, at, coefficients, w)
        if len(coefficients.factor) > 0:
            join_total(model, plan, weight, nodes, at, coefficients, w)
        start = end
    return status


@kernel(inline=True)
def next_batch(lane_class: Ints, todo: Ints, start: int, nodes: Ints) -> int:
    """Up to LANES nodes of one class from `start` on; a short batch repeats its last node. Returns where it ends."""
    end = start
    while end < len(todo) and end < start + LANES and lane_class[todo[end]] == lane_class[todo[start]]:
        end += 1
    for lane in range(LANES):
        nodes[lane] = todo[min(start + lane, end - 1)]
    return end


def main_pass(
    model: KernelModel, plan: Plan, q: Floats, Q: Floats, c: Floats, weight: Floats, coefficients: Coefficients
) -> int:
    """All joins on one thread. The leaves are up to date. Returns OK or a node that failed."""
    update_poses(model, plan, q, plan.order, coefficients.store)
    return int(update_nodes(model, plan, q, Q, c, plan.order, plan.order[:0], weight, coefficients))


@kernel(parallel=True)
def main_pass_parallel(
    model: KernelModel,
    plan: Plan,
    q: Floats,
    Q: Floats,
    c: Floats,
    weight: Floats,
    coefficients: Coefficients,
    threads: int,
) -> int:
    """`main_pass` with every long level shared out between threads."""
    status = np.full(threads, OK)
    order, level_start = plan.order, plan.level_start
    for level in range(len(level_start) - 1):
        start, end = level_start[level], level_start[level + 1]
        if end - start < PARALLEL_NODES:
            update_poses(model, plan, q, order[start:end], coefficients.store)
            failed = update_nodes(model, plan, q, Q, c, order[start:end], order[:0], weight, coefficients)
            if failed != OK:
                status[0] = failed
            continue
        share = (end - start + threads - 1) // threads
        for t in prange(threads):
            first = min(start + t * share, end)
            last = min(first + share, end)
            update_poses(model, plan, q, order[first:last], coefficients.store)
            failed = update_nodes(model, plan, q, Q, c, order[first:last], order[:0], weight, coefficients)
            if failed != OK:
                status[t] = failed
    return int(status.max())


@kernel(inline=True)
def substitute_node(
    model: KernelModel, plan: Plan, i: int, coefficients: Coefficients, F: Floats, z: Floats, qdd: Floats
) -> None:
    """Joint acceleration and force of node i's principal joint, and the forces on its children. Eqs (4), (5).

    F (n, 12): outside forces on u and v of each node, in their own frames. z (12,) is scratch.
    """
    store, motion = coefficients.store, coefficients.motion
    A, B, at = plan.upper[i], plan.lower[i], plan.at[i]
    two = plan.two[i] != 0
    for k in range(6):
        if two:
            F[A, k] = F[i, k]
            F[B, 6 + k] = F[i, 6 + k]
        else:  # all that acts on C from outside acts on its one handle
            F[A, k] = F[i, k] + F[i, 6 + k]
            F[B, 6 + k] = 0.0

    # z = Φ_xu F_u − Φ_yv F_v in y's frame
    rotation, origin = get_pose(store, at + JOINT)
    if plan.single[A]:
        _symmetric_times(store, plan.at[A] + UU, F, A, 0, z)
    else:
        _transposed_times(store, plan.at_uv[A], F, A, z)
    w, v = motion_to_child(rotation, origin, ((z[0], z[1], z[2]), (z[3], z[4], z[5])))
    for k in range(3):
        z[6 + k] = w[k]
        z[9 + k] = v[k]
    if two:
        if plan.single[B]:
            _symmetric_times(store, plan.at[B] + UU, F, i, 6, z)
        else:
            for k in range(6):
                s = 0.0
                for j in range(6):
                    s += store[plan.at_uv[B] + 6 * k + j] * F[i, 6 + j]
                z[k] = s
        for k in range(6):
            z[6 + k] -= z[k]

    joint = plan.joint[i]
    if joint >= 0:
        for row in range(model.v_start[joint], model.v_start[joint + 1]):
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
    z = np.empty(12)
    F[plan.order[len(plan.order) - 1], :] = 0.0
    for at in range(len(plan.order) - 1, -1, -1):
        substitute_node(model, plan, plan.order[at], coefficients, F, z, qdd)


@kernel
def joint_forces_of(plan: Plan, F: Floats, f: Floats) -> None:
    """f (n, 6): the force each joint transmits to its body, body frames: what acts on y of its node."""
    for i in range(len(plan.upper)):
        if plan.joint[i] >= 0:
            for k in range(6):
                f[plan.joint[i], k] = F[plan.lower[i], k]
