"""Inverse dynamics by the recursive Newton–Euler algorithm (RNEA), O(n).

Featherstone, Rigid Body Dynamics Algorithms (2008), §5.3, in body frames: velocities and accelerations outward, forces
inward. The force f_i that joint i transmits to body i is the constraint force plus the active one: Sᵀf = τ.
"""

from __future__ import annotations

from ..compiled import kernel
from ..linkage.joints import subspace_column
from ..linkage.kinematics import outward_velocities, velocity_product
from ..linkage.model import KernelModel
from ..spatial.motion import (
    Spatial,
    cross_force,
    force_to_parent,
    motion_to_child,
    pairing,
    rigid_momentum,
    spatial_add,
    spatial_scale,
)
from ..spatial.rows import get_matrix, get_rigid, get_spatial, get_vector, set_spatial
from ..typing import Floats


@kernel
def rnea(
    model: KernelModel,
    q: Floats,
    v: Floats,
    qdd: Floats,
    f_ext: Floats,
    a_base: Spatial,
    R: Floats,
    p: Floats,
    V: Floats,
    c: Floats,
    a: Floats,
    f: Floats,
    tau: Floats,
) -> None:
    """Joint forces tau (nv,) and transmitted forces f (n, 6, body frame).

    R (n, 9), p (n, 3), V, c, a (n, 6) are scratch, as in `outward_velocities`.
    f_ext (n, 6): external forces in body frames; no rows: none. a_base: acceleration given to the base, −gravity.
    """
    outward_velocities(model, q, v, R, p, V, c)
    outward_accelerations(model, q, v, qdd, a_base, R, p, V, c, a)
    joint_forces(model, f_ext, R, p, V, a, f)
    _project(model, q, f, tau)


@kernel
def outward_accelerations(
    model: KernelModel,
    q: Floats,
    v: Floats,
    qdd: Floats,
    a_base: Spatial,
    R: Floats,
    p: Floats,
    V: Floats,
    c: Floats,
    a: Floats,
) -> None:
    for i in range(len(model.parent)):
        first = model.v_start[i]
        a_above = get_spatial(a, model.parent[i]) if model.parent[i] >= 0 else a_base
        a_i = motion_to_child(get_matrix(R, i), get_vector(p, i), a_above)
        rate = v[first] if model.v_start[i + 1] > first else 0.0
        a_i = spatial_add(a_i, velocity_product(model.joint_kind[i], rate, V, c, i))
        for k in range(first, model.v_start[i + 1]):
            a_i = spatial_add(a_i, spatial_scale(qdd[k], column_of(model, q, i, k)))
        set_spatial(a, i, a_i)


@kernel
def joint_forces(model: KernelModel, f_ext: Floats, R: Floats, p: Floats, V: Floats, a: Floats, f: Floats) -> None:
    """f_i = I a_i + v_i ×* I v_i − f_ext + what the children pull: every joint's transmitted force, inward."""
    n = len(model.parent)
    for i in range(n):
        rigid = get_rigid(model.inertia, i)
        v_i = get_spatial(V, i)
        f_i = spatial_add(rigid_momentum(rigid, get_spatial(a, i)), cross_force(v_i, rigid_momentum(rigid, v_i)))
        if len(f_ext) > 0:
            f_i = spatial_add(f_i, spatial_scale(-1.0, get_spatial(f_ext, i)))
        set_spatial(f, i, f_i)
    for i in range(n - 1, 0, -1):
        pulled = force_to_parent(get_matrix(R, i), get_vector(p, i), get_spatial(f, i))
        above = model.parent[i]
        set_spatial(f, above, spatial_add(get_spatial(f, above), pulled))


@kernel
def _project(model: KernelModel, q: Floats, f: Floats, tau: Floats) -> None:
    for i in range(len(model.parent)):
        for k in range(model.v_start[i], model.v_start[i + 1]):
            tau[k] = pairing(column_of(model, q, i, k), get_spatial(f, i))


@kernel(inline=True)
def column_of(model: KernelModel, q: Floats, i: int, k: int) -> Spatial:
    """Column of S for degree of freedom k of joint i."""
    return subspace_column(
        model.joint_kind[i], get_vector(model.axis1, i), model.pitch[i], q, model.q_start[i], k - model.v_start[i]
    )
