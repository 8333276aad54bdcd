"""Where the bodies are and how they move: poses and velocities from joint coordinates, one forward pass each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..compiled import kernel
from ..spatial.motion import (
    Spatial,
    cross_motion,
    cross_motion_z,
    force_to_child,
    motion_to_child,
    spatial_add,
    spatial_scale,
)
from ..spatial.rotations import turn_z
from ..spatial.rows import get_matrix, get_spatial, get_vector, set_matrix, set_spatial, set_vector
from ..spatial.vectors import ZERO, add, apply, multiply
from ..typing import Bools, Floats, Ints
from .joints import REVOLUTE, UNIVERSAL, joint_pose, subspace_column, universal_turn

if TYPE_CHECKING:
    from .model import KernelModel


@kernel
def poses_in_parent(model: KernelModel, q: Floats, R: Floats, p: Floats) -> None:
    """Pose of every body's frame in its parent's body frame. R (n, 9), p (n, 3)."""
    for i in range(len(model.parent)):
        R_J, p_J = joint_pose(model.joint_kind[i], get_vector(model.axis1, i), model.pitch[i], q, model.q_start[i])
        placement = get_matrix(model.rotation, i)
        set_matrix(R, i, multiply(placement, R_J))
        set_vector(p, i, add(get_vector(model.translation, i), apply(placement, p_J)))


@kernel
def poses_in_world(parent: Ints, R: Floats, p: Floats, R_W: Floats, p_W: Floats) -> None:
    """World poses from poses in the parent. R_W (n, 9), p_W (n, 3); may be the same arrays as R, p."""
    for i in range(len(parent)):
        rotation = get_matrix(R, i)
        origin = get_vector(p, i)
        if parent[i] >= 0:
            above = get_matrix(R_W, parent[i])
            origin = add(get_vector(p_W, parent[i]), apply(above, origin))
            rotation = multiply(above, rotation)
        set_matrix(R_W, i, rotation)
        set_vector(p_W, i, origin)


@kernel
def outward_velocities(model: KernelModel, q: Floats, v: Floats, R: Floats, p: Floats, V: Floats, c: Floats) -> None:
    """The outward pass that every exact algorithm starts with, all in body (kernel) frames.

    R (n, 9), p (n, 3): body frame in its parent. V (n, 6): velocity. c (n, 6): velocity product c_J + v × v_J,
    left out for revolute joints: read it with `velocity_product`. Empty v: at rest, V and c are left alone.
    """
    parent, kind, v_start, q_start = model.parent, model.joint_kind, model.v_start, model.q_start
    placement, translation, axis1, pitch = model.rotation, model.translation, model.axis1, model.pitch
    moving = len(v) > 0
    for i in range(len(parent)):
        k = v_start[i]
        rotation = get_matrix(placement, i)
        origin = get_vector(translation, i)
        if kind[i] == REVOLUTE:
            # The commonest joint, written out without its zeros; c follows from V and v (see `velocity_product`).
            rotation = turn_z(rotation, q[q_start[i]])
            if not moving:
                pass
            elif parent[i] >= 0:
                (wx, wy, wz), u = motion_to_child(rotation, origin, get_spatial(V, parent[i]))
                set_spatial(V, i, ((wx, wy, wz + v[k]), u))
            else:
                set_spatial(V, i, ((0.0, 0.0, v[k]), ZERO))
        else:
            a = get_vector(axis1, i)
            R_J, p_J = joint_pose(kind[i], a, pitch[i], q, q_start[i])
            origin = add(origin, apply(rotation, p_J))
            rotation = multiply(rotation, R_J)
            if moving:
                v_J = (ZERO, ZERO)
                for d in range(v_start[i + 1] - k):
                    s = subspace_column(kind[i], a, pitch[i], q, q_start[i], d)
                    v_J = spatial_add(v_J, spatial_scale(v[k + d], s))
                c_J = ZERO  # only joints whose axes turn within the body have one, and it is angular
                if kind[i] == UNIVERSAL:
                    s0 = subspace_column(kind[i], a, pitch[i], q, q_start[i], 0)[0]
                    c_J = universal_turn(s0, v[k], v[k + 1])
                v_i = v_J
                if parent[i] >= 0:
                    v_i = spatial_add(v_J, motion_to_child(rotation, origin, get_spatial(V, parent[i])))
                turn = cross_motion(v_i, v_J)
                set_spatial(V, i, v_i)
                set_spatial(c, i, (add(c_J, turn[0]), turn[1]))
        set_matrix(R, i, rotation)
        set_vector(p, i, origin)


@kernel(inline=True)
def velocity_product(kind: int, rate: float, V: Floats, c: Floats, i: int) -> Spatial:
    """c = c_J + v × v_J of joint i after `outward_velocities`; rate: velocity of a revolute joint."""
    return cross_motion_z(get_spatial(V, i), rate) if kind == REVOLUTE else get_spatial(c, i)


@kernel
def all_velocity_products(model: KernelModel, v: Floats, V: Floats, c: Floats) -> None:
    """Fill in c for revolute joints too, after `outward_velocities`."""
    for i in range(len(model.parent)):
        if model.joint_kind[i] == REVOLUTE:
            set_spatial(c, i, cross_motion_z(get_spatial(V, i), v[model.v_start[i]]))


@kernel
def forces_in_body_frames(R_W: Floats, force: Floats, torque: Floats, f: Floats) -> None:
    """World-axes forces (n, 3) and torques about the body origins (n, 3) as body-frame spatial forces f (n, 6)."""
    for i in range(len(R_W)):
        world = (get_vector(torque, i), get_vector(force, i))
        set_spatial(f, i, force_to_child(get_matrix(R_W, i), ZERO, world))


@kernel
def body_depth(parent: Ints) -> Ints:
    """Bodies on the way from the base to each body, both counted; parents first."""
    depth = np.empty(len(parent), dtype=np.int64)
    for i in range(len(parent)):
        depth[i] = 1 if parent[i] < 0 else depth[parent[i]] + 1
    return depth


@kernel
def parents_first(parent: Ints) -> tuple[Ints, Bools]:
    """A depth-first order with parents before children, children in input order; and what no base reaches.

    Depth-first, since neighbours in memory should be neighbours in the linkage.
    """
    n = len(parent)
    first_child = np.full(n, -1, dtype=np.int64)
    next_sibling = np.full(n, -1, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    lost = np.ones(n, dtype=np.bool_)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            next_sibling[i] = first_child[parent[i]]
            first_child[parent[i]] = i
    done = 0
    top = 0
    for i in range(n - 1, -1, -1):
        if parent[i] == -1:
            stack[top] = i
            top += 1
    while top > 0:
        top -= 1
        i = stack[top]
        order[done] = i
        done += 1
        lost[i] = False
        # Push children in reverse so that they pop in input order: walk the list, then turn the block round.
        start = top
        c = first_child[i]
        while c >= 0:
            stack[top] = c
            top += 1
            c = next_sibling[c]
        for k in range((top - start) // 2):
            stack[start + k], stack[top - 1 - k] = stack[top - 1 - k], stack[start + k]
    return order[:done], lost
