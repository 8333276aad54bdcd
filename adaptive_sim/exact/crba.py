"""The joint-space inertia matrix H by the composite-rigid-body algorithm (CRBA), O(n·d) for depth d.

Featherstone's notes on the CRBA ("Algorithm in Body Coordinates"). Branch-induced sparsity: H_ij is zero unless one
joint supports the other, so row i only has entries for the degrees of freedom on the way from i to the base. Those are
what is stored: `H[row_start[i] : row_start[i + 1]]` holds (i, i), (i, λ(i)), (i, λ(λ(i))), ... from i to the base.
"""

from __future__ import annotations

import numpy as np

from ..compiled import kernel
from ..linkage.kinematics import poses_in_parent
from ..linkage.model import KernelModel
from ..spatial.motion import force_to_parent, pairing, rigid_add, rigid_momentum, rigid_to_parent
from ..spatial.rows import get_matrix, get_rigid, get_vector, set_rigid
from ..typing import Floats, Ints
from .rnea import column_of


@kernel
def dof_parents(parent: Ints, v_start: Ints, dof_parent: Ints, body_of_dof: Ints, row_start: Ints) -> None:
    """λ of every degree of freedom, its body, and where its row starts.

    dof_parent (nv,), body_of_dof (nv,), row_start (nv + 1,). A joint with several degrees of freedom is a row of
    one-dof joints; fixed joints are passed through.
    """
    n = len(parent)
    last = np.empty(n, dtype=np.int64)  # last degree of freedom on the way to body i, itself included
    row_start[0] = 0
    for i in range(n):
        above = last[parent[i]] if parent[i] >= 0 else -1
        for k in range(v_start[i], v_start[i + 1]):
            dof_parent[k] = above
            body_of_dof[k] = i
            length = 1 + (row_start[above + 1] - row_start[above] if above >= 0 else 0)
            row_start[k + 1] = row_start[k] + length
            above = k
        last[i] = above


@kernel
def crba(
    model: KernelModel,
    q: Floats,
    body_of_dof: Ints,
    row_start: Ints,
    R: Floats,
    p: Floats,
    Ic: Floats,
    H: Floats,
) -> None:
    """H in the row storage above. R (n, 9), p (n, 3) and Ic (n, 10) are scratch."""
    poses_in_parent(model, q, R, p)
    _composite_inertias(model, R, p, Ic)
    for k in range(len(body_of_dof)):
        i = body_of_dof[k]
        f = rigid_momentum(get_rigid(Ic, i), column_of(model, q, i, k))
        at = row_start[k]
        j = k  # from k inwards over the degrees of freedom of its own joint, then of the joints above
        while True:
            while j >= model.v_start[i]:
                H[at] = pairing(column_of(model, q, i, j), f)
                at += 1
                j -= 1
            f = force_to_parent(get_matrix(R, i), get_vector(p, i), f)
            i = model.parent[i]
            if i < 0:
                break
            j = model.v_start[i + 1] - 1


@kernel
def _composite_inertias(model: KernelModel, R: Floats, p: Floats, Ic: Floats) -> None:
    """Ic_i = inertia of the subtree of body i moving as one rigid body."""
    for i in range(len(model.parent)):
        set_rigid(Ic, i, get_rigid(model.inertia, i))
    for i in range(len(model.parent) - 1, 0, -1):
        above = model.parent[i]
        carried = rigid_to_parent(get_matrix(R, i), get_vector(p, i), get_rigid(Ic, i))
        set_rigid(Ic, above, rigid_add(get_rigid(Ic, above), carried))


@kernel
def row_columns(dof_parent: Ints, row_start: Ints, column: Ints) -> None:
    """Column of every stored entry of H."""
    for k in range(len(dof_parent)):
        j = k
        for at in range(row_start[k], row_start[k + 1]):
            column[at] = j
            j = dof_parent[j]
