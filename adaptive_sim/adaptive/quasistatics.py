"""Quasi-static steps in compiled code: q ← q + ½h² s, velocities zero at every instant (MATH §7).

Adaptive step: refine the acceleration s, move the computed joints, update what changed. A joint that was not computed
does not move at all. Exact steps (DCA or ABA) compute and move every joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import kernel
from ..linkage.joints import REVOLUTE, integrate_joint, spring_force
from ..linkage.model import KernelModel
from ..typing import Floats, Ints
from .forces import ForceTable
from .lazy_update import (
    Dirty,
    clear_marks,
    mark_node,
    poses_of_marked,
    sort_todo,
    update_body_forces,
)
from .passes import OK, update_nodes
from .record import JOINT_OF, Coefficients, Plan
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
def move_joint(
    joint: int,
    kind: Ints,
    q_start: Ints,
    v_start: Ints,
    stiffness: Floats,
    rest: Floats,
    q: Floats,
    tau: Floats,
    Q: Floats,
    half_square: float,
    s: Floats,
    step: Floats,
) -> None:
    """q of one joint moved by ½h² s, and its force there; step (nv,) is scratch."""
    first, at = v_start[joint], q_start[joint]
    if kind[joint] == REVOLUTE:  # the commonest joint, without the calls
        q[at] += half_square * s[first]
        Q[first] = tau[first] - stiffness[first] * (q[at] - rest[at])
        return
    move_general(kind[joint], q, at, rest, stiffness, first, v_start[joint + 1], tau, Q, half_square, s, step)


@kernel
def move_general(
    kind: int,
    q: Floats,
    at: int,
    rest: Floats,
    stiffness: Floats,
    first: int,
    end: int,
    tau: Floats,
    Q: Floats,
    half_square: float,
    s: Floats,
    step: Floats,
) -> None:
    """`move_joint` for any type of joint."""
    held = False
    for row in range(first, end):
        step[row] = half_square * s[row]
        Q[row] = tau[row]
        held = held or stiffness[row] != 0.0
    integrate_joint(kind, q, at, step, first, q)
    if held:
        spring_force(kind, q, rest, at, stiffness, first, Q)


@kernel
def move_computed(
    model: KernelModel, plan: Plan, drive: Drive, frontier: Frontier, half_square: float, step: Floats, dirty: Dirty
) -> None:
    """Move the computed joints and mark their nodes. The visited nodes hold all their ancestors."""
    kind, q_start, v_start = model.joint_kind, model.q_start, model.v_start
    stiffness, rest, q, tau, Q = model.stiffness, model.rest_position, drive.q, drive.tau, drive.Q
    tree, visited, s = plan.tree, frontier.visited, frontier.acceleration
    mark, moved, todo, size = dirty.mark, dirty.moved, dirty.todo, dirty.size
    for k in range(frontier.counts[VISITED]):
        i = visited[k]
        mark_node(mark, todo, size, i)
        moved[i] = 1
        j = tree[i, JOINT_OF]
        if j >= 0:
            move_joint(j, kind, q_start, v_start, stiffness, rest, q, tau, Q, half_square, s, step)


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
    times: Floats,
    h: float,
    steps: int,
    nodes_at_most: int,
    log: Floats,
) -> tuple[int, int]:
    """Up to `steps` steps, the k-th from times[k]; the coefficients are up to date before and after.

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
        update_body_forces(model, plan, drive.table, times[k + 1], False, drive.f_ext, coefficients, dirty)
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
    tree, visited = plan.tree, frontier.visited
    for k in range(frontier.counts[VISITED]):
        if tree[visited[k], JOINT_OF] >= 0:
            count += 1
    return count


@kernel
def move_all(model: KernelModel, drive: Drive, s: Floats, half_square: float, step: Floats) -> None:
    """Move every joint: an exact step."""
    kind, q_start, v_start = model.joint_kind, model.q_start, model.v_start
    stiffness, rest, q, tau, Q = model.stiffness, model.rest_position, drive.q, drive.tau, drive.Q
    for j in range(len(kind)):
        move_joint(j, kind, q_start, v_start, stiffness, rest, q, tau, Q, half_square, s, step)
