"""Hierarchical frames: poses of joints and handles, and world poses, where no body has a stored world pose (MATH §3).

A node keeps the pose of its lower handle v in its upper handle u and the pose of its joint. Going up from a body,
each time the body is in the lower child the way leads through the upper child and the joint: O(log n) for one body.
"""

from __future__ import annotations

from ..compiled import kernel
from ..linkage.joints import REVOLUTE, joint_pose
from ..linkage.model import KernelModel
from ..spatial.rotations import turn_z
from ..spatial.rows import get_matrix, get_vector
from ..spatial.vectors import IDENTITY, ZERO, Matrix, Vector, add, apply, multiply
from ..typing import Floats, Ints
from .record import AT, AT_POSE, JOINT, JOINT_OF, KIND, LOWER, PARENT, POSE, TWO, UPPER, Plan


@kernel(inline=True)
def get_pose(flat: Floats, at: int) -> tuple[Matrix, Vector]:
    """Twelve numbers from place `at` on: rotation row by row, origin."""
    return (
        (
            flat[at], flat[at + 1], flat[at + 2],
            flat[at + 3], flat[at + 4], flat[at + 5],
            flat[at + 6], flat[at + 7], flat[at + 8],
        ),
        (flat[at + 9], flat[at + 10], flat[at + 11]),
    )  # fmt: skip


@kernel(inline=True)
def put_pose(flat: Floats, at: int, pose: tuple[Matrix, Vector]) -> None:
    for k in range(9):
        flat[at + k] = pose[0][k]
    for k in range(3):
        flat[at + 9 + k] = pose[1][k]


@kernel(inline=True)
def compose(a: tuple[Matrix, Vector], b: tuple[Matrix, Vector]) -> tuple[Matrix, Vector]:
    """Pose a followed by pose b."""
    return (multiply(a[0], b[0]), add(a[1], apply(a[0], b[1])))


@kernel(inline=True)
def pose_of_joint(
    rotation: Floats, translation: Floats, axis1: Floats, pitch: Floats, q: Floats, at: int, kind: int, i: int
) -> tuple[Matrix, Vector]:
    """Pose of body i's kernel frame in its parent's; its coordinates start at q[at]."""
    placement = get_matrix(rotation, i)
    origin = get_vector(translation, i)
    if kind == REVOLUTE:
        return (turn_z(placement, q[at]), origin)
    R_J, p_J = joint_pose(kind, get_vector(axis1, i), pitch[i], q, at)
    return (multiply(placement, R_J), add(origin, apply(placement, p_J)))


@kernel
def update_poses(model: KernelModel, plan: Plan, q: Floats, nodes: Ints, store: Floats) -> None:
    """Joint and handle poses of the given nodes, in an order with children before parents."""
    tree, q_start = plan.tree, model.q_start
    rotation, translation, axis1, pitch = model.rotation, model.translation, model.axis1, model.pitch
    for k in range(len(nodes)):
        i = nodes[k]
        own = (IDENTITY, ZERO)
        if tree[i, JOINT_OF] >= 0:
            j = tree[i, JOINT_OF]
            own = pose_of_joint(rotation, translation, axis1, pitch, q, q_start[j], tree[i, KIND], j)
        put_pose(store, tree[i, AT] + JOINT, own)
        if tree[i, TWO]:
            to_joint = compose(get_pose(store, tree[tree[i, UPPER], AT_POSE]), own)
            put_pose(store, tree[i, AT] + POSE, compose(to_joint, get_pose(store, tree[tree[i, LOWER], AT_POSE])))


@kernel(inline=True)
def body_pose(tree: Ints, first_leaf: Ints, store: Floats, body: int) -> tuple[Matrix, Vector]:
    """World pose of one body's kernel frame, O(log n)."""
    pose = (IDENTITY, ZERO)
    i = first_leaf[body]
    while tree[i, PARENT] >= 0:
        above = tree[i, PARENT]
        if tree[above, LOWER] == i:
            pose = compose(get_pose(store, tree[above, AT] + JOINT), pose)
            pose = compose(get_pose(store, tree[tree[above, UPPER], AT_POSE]), pose)
        i = above
    return pose


@kernel
def all_body_poses(plan: Plan, store: Floats, pose: Floats, R_W: Floats, p_W: Floats) -> None:
    """World poses of all bodies' kernel frames, R_W (n, 9), p_W (n, 3), in one pass from the root down.

    pose (12·len(plan.tree),) is scratch: the world pose of every node's upper handle.
    """
    tree = plan.tree
    base = plan.order[len(plan.order) - 1]
    put_pose(pose, 12 * base, (IDENTITY, ZERO))
    for at in range(len(plan.order) - 1, -1, -1):
        i = plan.order[at]
        own = get_pose(pose, 12 * i)
        put_pose(pose, 12 * tree[i, UPPER], own)
        x = compose(own, get_pose(store, tree[tree[i, UPPER], AT_POSE]))
        put_pose(pose, 12 * tree[i, LOWER], compose(x, get_pose(store, tree[i, AT] + JOINT)))
    for body in range(len(plan.first_leaf)):
        at = 12 * plan.first_leaf[body]
        for k in range(9):
            R_W[body, k] = pose[at + k]
        for k in range(3):
            p_W[body, k] = pose[at + 9 + k]
