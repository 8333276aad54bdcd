"""Hierarchical frames: world poses from the assembly tree, where no body has a stored world pose (MATH §3).

A node keeps the pose of its lower handle v in its upper handle u and the pose of its joint. Going up from a body,
each time the body is in the lower child the way leads through the upper child and the joint: O(log n) for one body.
"""

from __future__ import annotations

from ..compiled import kernel
from ..spatial.vectors import IDENTITY, ZERO, Matrix, Vector, add, apply, multiply
from ..typing import Floats
from .record import JOINT, POSE, Coefficients, Plan


@kernel(inline=True)
def stored_pose(node: Floats, row: int, at: int) -> tuple[Matrix, Vector]:
    """The pose stored in a record from column `at` on."""
    return (
        (
            node[row, at], node[row, at + 1], node[row, at + 2],
            node[row, at + 3], node[row, at + 4], node[row, at + 5],
            node[row, at + 6], node[row, at + 7], node[row, at + 8],
        ),
        (node[row, at + 9], node[row, at + 10], node[row, at + 11]),
    )  # fmt: skip


@kernel(inline=True)
def compose(a: tuple[Matrix, Vector], b: tuple[Matrix, Vector]) -> tuple[Matrix, Vector]:
    """Pose a followed by pose b."""
    return (multiply(a[0], b[0]), add(a[1], apply(a[0], b[1])))


@kernel
def body_pose(plan: Plan, coefficients: Coefficients, body: int) -> tuple[Matrix, Vector]:
    """World pose of one body's kernel frame, O(log n)."""
    node = coefficients.node
    pose = (IDENTITY, ZERO)
    i = plan.first_leaf[body]
    base = len(plan.upper) - 1
    while i != base:
        above = plan.parent[i]
        if plan.lower[above] == i:
            pose = compose(stored_pose(node, above, JOINT), pose)
            if above != base:
                pose = compose(stored_pose(node, plan.upper[above], POSE), pose)
        i = above
    return pose


@kernel
def all_body_poses(plan: Plan, coefficients: Coefficients, pose: Floats, R_W: Floats, p_W: Floats) -> None:
    """World poses of all bodies' kernel frames, R_W (n, 9), p_W (n, 3), in one pass from the root down.

    pose (n_nodes + 1, 12) is scratch: the world pose of every node's upper handle.
    """
    node = coefficients.node
    base = len(plan.upper) - 1
    _put(pose, base, (IDENTITY, ZERO))
    for at in range(len(plan.order) - 1, -1, -1):
        i = plan.order[at]
        own = stored_pose(pose, i, 0)
        below = compose(own, stored_pose(node, i, JOINT))
        if i != base:
            below = compose(compose(own, stored_pose(node, plan.upper[i], POSE)), stored_pose(node, i, JOINT))
            _put(pose, plan.upper[i], own)
        _put(pose, plan.lower[i], below)
    for body in range(len(plan.first_leaf)):
        leaf = plan.first_leaf[body]
        for k in range(9):
            R_W[body, k] = pose[leaf, k]
        for k in range(3):
            p_W[body, k] = pose[leaf, 9 + k]


@kernel(inline=True)
def _put(pose: Floats, row: int, value: tuple[Matrix, Vector]) -> None:
    for k in range(9):
        pose[row, k] = value[0][k]
    for k in range(3):
        pose[row, 9 + k] = value[1][k]

