"""Forward dynamics by the articulated-body algorithm (ABA), O(n).

Featherstone, Rigid Body Dynamics Algorithms (2008), §7.3, in body frames. A joint with d degrees of freedom is
eliminated one column of S at a time, as if d one-dof joints with massless bodies between them were in a row. That is
the Cholesky factorisation of D = SᵀI^A S written out, so no D⁻¹ is formed, every articulated inertia stays symmetric
to the last bit, and a joint of any type is the same loop (an empty one for fixed joints).
"""

from __future__ import annotations

import threading
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..compiled import kernel
from ..linkage.joints import REVOLUTE, subspace_column
from ..linkage.kinematics import outward_velocities
from ..linkage.model import KernelModel, Linkage
from ..spatial.motion import (
    Spatial,
    articulated_add,
    articulated_apply,
    articulated_apply_z,
    articulated_of_rigid,
    articulated_remove,
    articulated_remove_z,
    articulated_to_parent,
    articulated_to_parent_z,
    cross_force,
    cross_motion_z,
    force_to_parent,
    motion_to_child,
    pairing,
    rigid_momentum,
    spatial_add,
    spatial_scale,
)
from ..spatial.rows import (
    get_articulated,
    get_matrix,
    get_rigid,
    get_spatial,
    get_vector,
    set_articulated,
    set_spatial,
)
from ..typing import Bools, Floats, Ints

OK = -1  # status of a solve; otherwise the joint at which it broke down
NO_MOTION = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


class Workspace(NamedTuple):
    """Scratch arrays of one ABA call; nothing in them means anything between calls, but for the layout: slot, opens."""

    R: Floats  # (n, 9) body frame in parent, rotation
    p: Floats  # (n, 3) body frame in parent, origin
    V: Floats  # (n, 6) body velocity, body frame
    c: Floats  # (n, 6) velocity product c_J + v × v_J, body frame; not for revolute joints
    IA: Floats  # (slots, 21) articulated inertias: what the children have added so far
    pA: Floats  # (slots, 6) articulated bias forces: what the children have added so far
    U: Floats  # (nv, 8) per degree of freedom: U = I^A s (6), 1/D, u
    slot: Ints  # (n,) where a body's children add up; −1: no children
    opens: Bools  # (n,) whether this child is the first to add to its parent's slot


def make_workspace(linkage: Linkage) -> Workspace:
    n, nv = linkage.n_bodies, linkage.nv
    slot, opens = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    slots = int(assign_slots(linkage.parent, slot, opens))
    return Workspace(
        np.empty((n, 9)), np.empty((n, 3)), np.empty((n, 6)), np.empty((n, 6)), np.empty((slots, 21)),
        np.empty((slots, 6)), np.empty((nv, 8)), slot, opens,
    )  # fmt: skip


@kernel
def assign_slots(parent: Ints, slot: Ints, opens: Bools) -> int:
    """Places where bodies collect what their children add, used again once a body is done. Returns how many.

    A chain needs one, a tree in depth-first order a few: they stay in the cache, where an inertia per body would not.
    """
    n = len(parent)
    free = np.empty(n + 1, dtype=np.int64)
    slot[:] = -1
    known = 0
    spare = 0
    for i in range(n - 1, -1, -1):
        if slot[i] >= 0:  # read by body i itself, then free for its parent
            free[spare] = slot[i]
            spare += 1
        above = parent[i]
        opens[i] = above >= 0 and slot[above] < 0
        if opens[i]:
            if spare > 0:
                spare -= 1
                slot[above] = free[spare]
            else:
                slot[above] = known
                known += 1
    return max(known, 1)


_kept = threading.local()


def workspace_of(linkage: Linkage) -> tuple[Workspace, Floats]:
    """Workspace and room for accelerations, kept per linkage and thread: fresh memory costs as much as the solve."""
    kept: WeakKeyDictionary[Linkage, tuple[Workspace, Floats]] | None = getattr(_kept, "of", None)
    if kept is None:
        kept = _kept.of = WeakKeyDictionary()
    if linkage not in kept:
        kept[linkage] = (make_workspace(linkage), np.empty((linkage.n_bodies, 6)))
    return kept[linkage]


@kernel
def aba(
    model: KernelModel,
    q: Floats,
    v: Floats,
    tau: Floats,
    f_ext: Floats,
    a_base: Spatial,
    work: Workspace,
    a: Floats,
    qdd: Floats,
) -> int:
    """Joint accelerations qdd (nv,) and body accelerations a (n, 6, body frame, relative to a base moving with −g).

    v (nv,), or empty for a linkage at rest, which is faster. f_ext (n, 6): external forces in body frames; no rows:
    none. a_base: acceleration given to the base, −gravity.
    """
    outward_velocities(model, q, v, work.R, work.p, work.V, work.c)
    return accelerations_at(model, q, v, tau, f_ext, a_base, work, a, qdd)


@kernel
def accelerations_at(
    model: KernelModel,
    q: Floats,
    v: Floats,
    tau: Floats,
    f_ext: Floats,
    a_base: Spatial,
    work: Workspace,
    a: Floats,
    qdd: Floats,
) -> int:
    """`aba` once poses and velocities are known (`outward_velocities`)."""
    status = _inward_inertias(
        model, q, v, tau, f_ext, work.R, work.p, work.V, work.c, work.IA, work.pA, work.U, work.slot, work.opens
    )
    if status == OK:
        _outward_accelerations(model, q, v, a_base, work.R, work.p, work.V, work.c, work.U, a, qdd)
    return status


@kernel
def _inward_inertias(
    model: KernelModel,
    q: Floats,
    v: Floats,
    tau: Floats,
    f_ext: Floats,
    R: Floats,
    p: Floats,
    V: Floats,
    c: Floats,
    IA: Floats,
    pA: Floats,
    U: Floats,
    slot: Ints,
    opens: Bools,
) -> int:
    parent, v_start, inertia, kind = model.parent, model.v_start, model.inertia, model.joint_kind
    moving = len(v) > 0
    for i in range(len(parent) - 1, -1, -1):
        rigid = get_rigid(inertia, i)
        v_i = get_spatial(V, i)
        I_i = articulated_of_rigid(rigid)
        p_i = cross_force(v_i, rigid_momentum(rigid, v_i)) if moving else NO_MOTION
        if len(f_ext) > 0:
            p_i = spatial_add(p_i, spatial_scale(-1.0, get_spatial(f_ext, i)))
        if slot[i] >= 0:
            I_i = articulated_add(I_i, get_articulated(IA, slot[i]))
            p_i = spatial_add(p_i, get_spatial(pA, slot[i]))

        above = parent[i]
        rotation = get_matrix(R, i)
        origin = get_vector(p, i)
        if kind[i] == REVOLUTE:
            # The general branch with S = e_ωz and the zeros left out: half the time.
            k = v_start[i]
            D = I_i[0][5]
            if not D > 0.0:  # also catches nan
                return i
            inverse = 1.0 / D
            u = tau[k] - p_i[0][2]
            u_k = ((I_i[0][2], I_i[0][4], D), (I_i[1][6], I_i[1][7], I_i[1][8]))
            _store(U, k, u_k, inverse, u)
            I_i = articulated_remove_z(I_i, inverse)
            p_i = spatial_add(p_i, spatial_scale(u * inverse, u_k))
            if above < 0:
                continue
            if moving:
                p_i = spatial_add(p_i, articulated_apply_z(I_i, cross_motion_z(v_i, v[k])))
            I_i = articulated_to_parent_z(rotation, origin, I_i)
        else:
            for k in range(v_start[i + 1] - 1, v_start[i] - 1, -1):
                s = subspace_column(
                    kind[i], get_vector(model.axis1, i), model.pitch[i], q, model.q_start[i], k - v_start[i]
                )
                u_k = articulated_apply(I_i, s)
                D = pairing(s, u_k)
                if not D > 0.0:
                    return i
                inverse = 1.0 / D
                u = tau[k] - pairing(s, p_i)
                _store(U, k, u_k, inverse, u)
                I_i = articulated_remove(I_i, u_k, inverse)
                p_i = spatial_add(p_i, spatial_scale(u * inverse, u_k))
            if above < 0:
                continue
            if moving:
                p_i = spatial_add(p_i, articulated_apply(I_i, get_spatial(c, i)))
            I_i = articulated_to_parent(rotation, origin, I_i)

        p_i = force_to_parent(rotation, origin, p_i)
        to = slot[above]
        if not opens[i]:
            I_i = articulated_add(I_i, get_articulated(IA, to))
            p_i = spatial_add(p_i, get_spatial(pA, to))
        set_articulated(IA, to, I_i)
        set_spatial(pA, to, p_i)
    return OK


@kernel(inline=True)
def _store(U: Floats, k: int, u_k: Spatial, inverse: float, u: float) -> None:
    set_spatial(U, k, u_k)
    U[k, 6] = inverse
    U[k, 7] = u


@kernel
def _outward_accelerations(
    model: KernelModel,
    q: Floats,
    v: Floats,
    a_base: Spatial,
    R: Floats,
    p: Floats,
    V: Floats,
    c: Floats,
    U: Floats,
    a: Floats,
    qdd: Floats,
) -> None:
    parent, v_start, kind = model.parent, model.v_start, model.joint_kind
    moving = len(v) > 0
    for i in range(len(parent)):
        a_above = get_spatial(a, parent[i]) if parent[i] >= 0 else a_base
        a_i = motion_to_child(get_matrix(R, i), get_vector(p, i), a_above)
        if kind[i] == REVOLUTE:
            k = v_start[i]
            if moving:
                a_i = spatial_add(a_i, cross_motion_z(get_spatial(V, i), v[k]))
            qdd[k] = U[k, 6] * (U[k, 7] - pairing(a_i, get_spatial(U, k)))
            set_spatial(a, i, ((a_i[0][0], a_i[0][1], a_i[0][2] + qdd[k]), a_i[1]))
            continue
        if moving:
            a_i = spatial_add(a_i, get_spatial(c, i))
        for k in range(v_start[i], v_start[i + 1]):
            qdd[k] = U[k, 6] * (U[k, 7] - pairing(a_i, get_spatial(U, k)))
            s = subspace_column(
                kind[i], get_vector(model.axis1, i), model.pitch[i], q, model.q_start[i], k - v_start[i]
            )
            a_i = spatial_add(a_i, spatial_scale(qdd[k], s))
        set_spatial(a, i, a_i)
