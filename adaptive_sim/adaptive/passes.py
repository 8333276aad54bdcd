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
from ..spatial.motion import force_to_parent
from ..spatial.rows import get_spatial
from ..typing import Floats, Ints
from .join import WORK, join_forces, join_geometry
from .record import GAMMA, GU, GV, JOINT, KU, KV, Coefficients, Plan, R

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
    geometry: bool,
    coefficients: Coefficients,
) -> int:
    """Join the nodes in `todo`, all of one level (or independent of each other). Returns OK or the node that failed."""
    nodes = np.empty(LANES, dtype=np.int64)
    A = np.empty(LANES, dtype=np.int64)
    B = np.empty(LANES, dtype=np.int64)
    w = np.empty(WORK * LANES)
    status = OK
    for start in range(0, len(todo), LANES):
        for lane in range(LANES):  # a short batch repeats its last node
            nodes[lane] = todo[min(start + lane, len(todo) - 1)]
        if geometry:
            failed = join_geometry(model, plan, q, nodes, A, B, coefficients, w)
            if failed != OK:
                status = failed
        join_forces(model, plan, Q, c, nodes, A, B, coefficients, w)
    return status


@kernel
def main_pass(
    model: KernelModel, plan: Plan, q: Floats, Q: Floats, c: Floats, coefficients: Coefficients
) -> int:
    """All joins, level by level, on one thread. The leaves are up to date."""
    status = OK
    for level in range(len(plan.level_start) - 1):
        todo = plan.order[plan.level_start[level] : plan.level_start[level + 1]]
        failed = update_nodes(model, plan, q, Q, c, todo, True, coefficients)
        if failed != OK and status == OK:
            status = failed
    return status


@kernel(parallel=True)
def main_pass_parallel(
    model: KernelModel, plan: Plan, q: Floats, Q: Floats, c: Floats, coefficients: Coefficients, threads: int
) -> int:
    """`main_pass` with every long level shared out between threads."""
    status = np.full(threads, OK)
    for level in range(len(plan.level_start) - 1):
        start, end = plan.level_start[level], plan.level_start[level + 1]
        if end - start < PARALLEL_NODES:
            failed = update_nodes(model, plan, q, Q, c, plan.order[start:end], True, coefficients)
            if failed != OK:
                status[0] = failed
            continue
        # Whole batches for every thread, so that the batches are those of `main_pass`.
        share = LANES * ((end - start + LANES * threads - 1) // (LANES * threads))
        for t in prange(threads):
            first = min(start + t * share, end)
            last = min(first + share, end)
            failed = update_nodes(model, plan, q, Q, c, plan.order[first:last], True, coefficients)
            if failed != OK:
                status[t] = failed
    return status.max()


@kernel(inline=True)
def substitute_node(
    model: KernelModel, plan: Plan, i: int, coefficients: Coefficients, F: Floats, qdd: Floats
) -> None:
    """Joint acceleration and force of node i's principal joint, and the forces on its children. Eqs (4), (5).

    F (n_nodes + 1, 12): outside forces on u and v of each node, in their own frames.
    """
    node, motion = coefficients.node, coefficients.motion
    joint = plan.joint[i]
    if joint >= 0:
        for row in range(model.v_start[joint], model.v_start[joint + 1]):
            s = motion[row, R]
            for k in range(6):
                s += motion[row, KU + k] * F[i, k] + motion[row, KV + k] * F[i, 6 + k]
            qdd[row] = s
    A, B = plan.upper[i], plan.lower[i]
    for k in range(6):
        s = node[i, GAMMA + k]
        for j in range(6):
            s += node[i, GU + 6 * k + j] * F[i, j] + node[i, GV + 6 * k + j] * F[i, 6 + j]
        F[B, k] = s
    rake = plan.rake[i]
    for k in range(6):
        F[B, 6 + k] = 0.0 if rake else F[i, 6 + k]
    if A < len(plan.upper) - 1:  # not the world
        rotation = (
            node[i, JOINT], node[i, JOINT + 1], node[i, JOINT + 2],
            node[i, JOINT + 3], node[i, JOINT + 4], node[i, JOINT + 5],
            node[i, JOINT + 6], node[i, JOINT + 7], node[i, JOINT + 8],
        )  # fmt: skip
        origin = (node[i, JOINT + 9], node[i, JOINT + 10], node[i, JOINT + 11])
        n, f = force_to_parent(rotation, origin, get_spatial(F, B))
        for k in range(6):
            F[A, k] = F[i, k] + F[i, 6 + k] if rake else F[i, k]
        for k in range(3):
            F[A, 6 + k] = -n[k]
            F[A, 9 + k] = -f[k]


@kernel
def back_substitution(
    model: KernelModel, plan: Plan, coefficients: Coefficients, F: Floats, qdd: Floats
) -> None:
    """All joint accelerations qdd (nv,); F as in `substitute_node`."""
    base = len(plan.upper) - 1
    for k in range(12):
        F[base, k] = 0.0
    for at in range(len(plan.order) - 1, -1, -1):
        substitute_node(model, plan, plan.order[at], coefficients, F, qdd)


@kernel
def joint_forces_of(plan: Plan, F: Floats, f: Floats) -> None:
    """f (n, 6): the force each joint transmits to its body, body frames: what acts on y of its node."""
    for i in range(len(plan.upper)):
        if plan.joint[i] >= 0:
            for k in range(6):
                f[plan.joint[i], k] = F[plan.lower[i], k]


