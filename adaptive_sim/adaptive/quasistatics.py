"""Quasi-static steps in compiled code: q ← q + ½h² s, velocities zero at every instant (MATH §7).

Adaptive step: refine the acceleration s, move the computed joints, update what changed. A joint that was not computed
does not move at all. Exact steps (DCA or ABA) compute and move every joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import kernel
from ..linkage.joints import integrate_joint
from ..linkage.model import KernelModel
from ..typing import Floats
from .forces import ForceTable
from .lazy_update import (
    Dirty,
    clear_marks,
    mark_node,
    poses_of_marked,
    sort_todo,
    update_body_forces,
    update_joint_force,
)
from .passes import OK, update_nodes
from .record import Coefficients, Plan
from .refine import BOUND, VISITED, Frontier, refine, restart

# columns of the log: one row per step
JOINTS, BOUND_REACHED, CERTIFIED, NODES = range(4)
LOG = 4


class Drive(NamedTuple):
    """What drives the linkage and where it is."""

    q: Floats  # (nq,) positions, model order
    tau: Floats  # (nv,) joint forces set by the user
    Q: Floats  # (nv,) with springs
    f_ext: Floats  # (n, 6) body-frame forces as last seen
    weight: Floats  # (nv,) of the joints in the error
    table: ForceTable


@kernel(inline=True)
def move_joint(model: KernelModel, drive: Drive, joint: int, half_square: float, s: Floats, step: Floats) -> None:
    """q of one joint moved by ½h² s; step (nv,) is scratch."""
    first = model.v_start[joint]
    for row in range(first, model.v_start[joint + 1]):
        step[row] = half_square * s[row]
    integrate_joint(model.joint_kind[joint], drive.q, model.q_start[joint], step, first, drive.q)
    update_joint_force(model, drive.q, drive.tau, joint, drive.Q)


@kernel
def move_computed(
    model: KernelModel, plan: Plan, drive: Drive, frontier: Frontier, half_square: float, step: Floats, dirty: Dirty
) -> None:
    """Move the computed joints and mark their nodes. The visited nodes hold all their ancestors."""
    for k in range(frontier.counts[VISITED]):
        i = frontier.visited[k]
        mark_node(dirty, i, True)
        if plan.joint[i] >= 0:
            move_joint(model, drive, plan.joint[i], half_square, frontier.acceleration, step)


@kernel
def adaptive_steps(
    model: KernelModel,
    plan: Plan,
    drive: Drive,
    coefficients: Coefficients,
    frontier: Frontier,
    dirty: Dirty,
    measure: int,
    threshold: float,
    limit: int,
    t: float,
    h: float,
    steps: int,
    nodes_at_most: int,
    log: Floats,
) -> tuple[int, int]:
    """Up to `steps` steps from time t; the coefficients are up to date before and after.

    Stops early when a step visited more than `nodes_at_most` nodes: then an exact step would have been cheaper.
    Returns the number of steps done and OK or a node that failed.
    """
    step = np.zeros(len(drive.tau))
    at_rest = np.empty((0, 6))
    for k in range(steps):
        restart(model, plan, coefficients, frontier)
        reached = refine(model, plan, drive.weight, coefficients, frontier, measure, threshold, limit)
        log[k, JOINTS] = joints_computed(plan, frontier)
        log[k, BOUND_REACHED] = frontier.value[BOUND]
        log[k, CERTIFIED] = 1.0 if reached else 0.0
        move_computed(model, plan, drive, frontier, 0.5 * h * h, step, dirty)
        poses_of_marked(model, plan, drive.q, dirty, coefficients.store)
        update_body_forces(model, plan, drive.table, t + (k + 1) * h, False, drive.f_ext, coefficients, dirty)
        log[k, NODES] = dirty.size[0]
        sort_todo(plan, dirty)
        status = update_nodes(
            model,
            plan,
            drive.q,
            drive.Q,
            at_rest,
            dirty.todo[: dirty.size[0]],
            dirty.moved,
            drive.weight,
            coefficients,
        )
        clear_marks(dirty)
        if status != OK:
            return k + 1, status
        if frontier.counts[VISITED] > nodes_at_most:
            return k + 1, OK
    return steps, OK


@kernel(inline=True)
def joints_computed(plan: Plan, frontier: Frontier) -> int:
    count = 0
    for k in range(frontier.counts[VISITED]):
        if plan.joint[frontier.visited[k]] >= 0:
            count += 1
    return count


@kernel
def move_all(model: KernelModel, drive: Drive, s: Floats, half_square: float, step: Floats) -> None:
    """Move every joint: an exact step."""
    for joint in range(len(model.parent)):
        move_joint(model, drive, joint, half_square, s, step)
