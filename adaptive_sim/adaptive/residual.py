"""What is missing in the equations of motion at given joint accelerations and transmitted forces: for refinement.

Newton–Euler body by body (Featherstone 2008, §5.3), with the forces as given instead of added up from the tips. So an
imbalance is seen where it is, as small as it is, and nothing piles up along a chain.
"""

from __future__ import annotations

from ..compiled import kernel
from ..exact.rnea import column_of, outward_accelerations
from ..linkage.kinematics import outward_velocities
from ..linkage.model import KernelModel
from ..spatial.motion import (
    Spatial,
    cross_force,
    force_to_parent,
    pairing,
    rigid_momentum,
    spatial_add,
    spatial_scale,
)
from ..spatial.rows import get_matrix, get_rigid, get_spatial, get_vector, set_spatial
from ..typing import Floats


@kernel
def imbalance(
    model: KernelModel,
    q: Floats,
    v: Floats,
    tau: Floats,
    f_ext: Floats,
    a_base: Spatial,
    qdd: Floats,
    f: Floats,
    R: Floats,
    p: Floats,
    V: Floats,
    c: Floats,
    a: Floats,
    force: Floats,
    Q: Floats,
) -> None:
    """Body forces `force` (n, 6, body frames) and joint forces Q (nv,) that the accelerations qdd do not account for.

    f (n, 6): transmitted forces, body frames. R, p, V, c, a are scratch, as in `rnea`.
    """
    outward_velocities(model, q, v, R, p, V, c)
    outward_accelerations(model, q, v, qdd, a_base, R, p, V, c, a)
    for i in range(len(model.parent)):
        rigid = get_rigid(model.inertia, i)
        used = rigid_momentum(rigid, get_spatial(a, i))
        if len(v) > 0:
            v_i = get_spatial(V, i)
            used = spatial_add(used, cross_force(v_i, rigid_momentum(rigid, v_i)))
        f_i = get_spatial(f, i)
        given = f_i
        if len(f_ext) > 0:
            given = spatial_add(given, get_spatial(f_ext, i))
        set_spatial(force, i, spatial_add(given, spatial_scale(-1.0, used)))
        above = model.parent[i]
        if above >= 0:
            passed_on = force_to_parent(get_matrix(R, i), get_vector(p, i), f_i)
            set_spatial(force, above, spatial_add(get_spatial(force, above), spatial_scale(-1.0, passed_on)))
        for k in range(model.v_start[i], model.v_start[i + 1]):
            Q[k] = tau[k] - pairing(column_of(model, q, i, k), f_i)
