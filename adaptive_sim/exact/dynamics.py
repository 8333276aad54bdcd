"""Exact algorithms as users call them: check the input, bring it into model order and kernel frames, solve.

Conventions of every function here: q, v, tau flat, in the order of the input's joints; forces and torques per body in
world axes, torques about the body's origin; springs and damping of the joints always act.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast, overload

import numpy as np
import scipy.sparse

from ..errors import SingularJointError, UnsupportedError
from ..linkage.kinematics import forces_in_body_frames, outward_velocities, poses_in_parent, poses_in_world
from ..linkage.model import Linkage
from ..linkage.state import check_position, check_rows, check_vector, check_velocity
from ..spatial.motion import Spatial
from ..typing import ArrayLike, Floats, Ints
from . import aba as _aba
from . import crba as _crba
from . import ltdl as _ltdl
from .passive import add_momentum, add_passive_forces, gravity_energy, kinetic_energy
from .rnea import rnea

GRAVITY = (0.0, 0.0, -9.81)  # m/s², world
# Row storage of H grows with the sum of the depths: 50,000 joints in one chain would need 10 GB.
MASS_MATRIX_LIMIT = 4 * 2**30  # bytes


class Energy(NamedTuple):
    """Energies in J; `potential` is gravity plus springs."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential


def inverse_dynamics(
    linkage: Linkage,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    force: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    gravity: ArrayLike | None = GRAVITY,
) -> Floats:
    """Joint forces tau (nv,) that produce the given accelerations (RNEA), besides springs and damping."""
    linkage.require_tree("inverse_dynamics")
    q = check_position(linkage, q)
    v = check_velocity(linkage, v)
    qdd = check_velocity(linkage, acceleration, "acceleration")
    f_ext = body_forces(linkage, q, force, torque)
    tau, _ = newton_euler(linkage, q, v, qdd, f_ext, base_acceleration(gravity))
    passive = with_passive_forces(linkage, q, v, np.zeros(linkage.nv))
    return linkage.v_to_input(tau - passive)


@overload
def mass_matrix(linkage: Linkage, q: ArrayLike | None = ..., *, sparse: Literal[False] = ...) -> Floats: ...
@overload
def mass_matrix(linkage: Linkage, q: ArrayLike | None = ..., *, sparse: Literal[True]) -> scipy.sparse.csr_array: ...
def mass_matrix(
    linkage: Linkage, q: ArrayLike | None = None, *, sparse: bool = False
) -> Floats | scipy.sparse.csr_array:
    """The joint-space inertia matrix H (nv, nv) by CRBA, dense or as a scipy CSR array."""
    linkage.require_tree("mass_matrix")
    # Index arrays, both triangles and scipy's own conversion: 14 numbers per stored entry at the worst moment.
    rows = _inertia_rows(linkage, check_position(linkage, q), bytes_per_entry=14 * 8)
    if not sparse and 8 * linkage.nv**2 > MASS_MATRIX_LIMIT:
        raise UnsupportedError(
            f"a dense {linkage.nv:,}×{linkage.nv:,} mass matrix needs {8 * linkage.nv**2 / 2**30:.1f} GiB "
            f"(limit {MASS_MATRIX_LIMIT / 2**30:.0f}); ask for sparse=True or use forward_dynamics(method='aba')"
        )
    i = np.repeat(np.arange(linkage.nv), np.diff(rows.row_start))
    j = _columns(rows)
    order = np.arange(linkage.nv) if linkage.in_input_order else np.argsort(linkage._v_of_input)
    i, j = order[i], order[j]
    below = i != j
    if sparse:
        values = np.concatenate([rows.H, rows.H[below]])
        at = (np.concatenate([i, j[below]]), np.concatenate([j, i[below]]))
        return scipy.sparse.csr_array((values, at), shape=(linkage.nv, linkage.nv))
    H = np.zeros((linkage.nv, linkage.nv))
    H[i, j] = rows.H
    H[j, i] = rows.H
    return H


def body_poses(linkage: Linkage, q: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Rotations (n, 3, 3) and origins (n, 3) of the body frames in the world, in the input's order."""
    R, p = _world_poses(linkage, check_position(linkage, q))
    rotation = R.reshape(-1, 3, 3)
    if linkage.kernel_frame is not None:
        rotation = rotation @ linkage.kernel_frame.transpose(0, 2, 1)
    return linkage.bodies_to_input(rotation), linkage.bodies_to_input(p)


def centers_of_mass(linkage: Linkage, q: ArrayLike | None = None) -> Floats:
    """(n, 3) centres of mass in the world, in the input's order."""
    R, p = body_poses(linkage, q)
    return cast(Floats, p + np.einsum("nij,nj->ni", R, linkage.bodies_to_input(linkage.center_of_mass)))


def energy(
    linkage: Linkage,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    gravity: ArrayLike | None = GRAVITY,
) -> Energy:
    """Kinetic and potential energy (gravity and springs)."""
    q = check_position(linkage, q)
    v = check_velocity(linkage, v)
    model, n = linkage.kernel_model, linkage.n_bodies
    R, p = np.empty((n, 9)), np.empty((n, 3))
    V, c = np.zeros((n, 6)), np.zeros((n, 6))  # not written without velocities (only fixed joints)
    outward_velocities(model, q, v, R, p, V, c)
    poses_in_world(model.parent, R, p, R, p)
    g = tuple(check_vector(gravity, "gravity"))
    stored = add_passive_forces(model, q, v, np.zeros(linkage.nv)) if linkage.has_springs else 0.0
    return Energy(float(kinetic_energy(model, V)), float(gravity_energy(model, R, p, g)) + float(stored))


def momentum(linkage: Linkage, q: ArrayLike | None = None, v: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Total linear momentum and angular momentum about the world's origin, world axes."""
    q = check_position(linkage, q)
    v = check_velocity(linkage, v)
    model, n = linkage.kernel_model, linkage.n_bodies
    R, p = np.empty((n, 9)), np.empty((n, 3))
    V, c = np.zeros((n, 6)), np.zeros((n, 6))  # not written without velocities (only fixed joints)
    outward_velocities(model, q, v, R, p, V, c)
    poses_in_world(model.parent, R, p, R, p)
    total = np.zeros(6)
    add_momentum(model, R, p, V, total)
    return total[3:], total[:3]


# -------------------------------------------------------------------- the solvers, in model order


def solve_aba(linkage: Linkage, q: Floats, v: Floats, tau: Floats, f_ext: Floats, base: Spatial) -> Floats:
    """Forward dynamics by ABA; model order, kernel frames."""
    qdd = np.empty(linkage.nv)
    work, a = _aba.workspace_of(linkage)
    _raise_if_singular(linkage, _aba.aba(linkage.kernel_model, q, v, tau, f_ext, base, work, a, qdd))
    return qdd


def solve_crba(linkage: Linkage, q: Floats, v: Floats, tau: Floats, f_ext: Floats, base: Spatial) -> Floats:
    """Forward dynamics by H q̈ = τ − C with CRBA, RNEA and LᵀDL; model order, kernel frames."""
    rows = _inertia_rows(linkage, q)
    bias, _ = newton_euler(linkage, q, v, np.zeros(linkage.nv), f_ext, base)
    broken = _ltdl.factorize(rows.H, rows.dof_parent, rows.row_start)
    _raise_if_singular(linkage, int(rows.body_of_dof[broken]) if broken >= 0 else _aba.OK)
    x = tau - bias
    _ltdl.solve(rows.H, rows.dof_parent, rows.row_start, x)
    return x


class InertiaRows(NamedTuple):
    """H row by row, each row from its own degree of freedom to the base (see `crba`)."""

    H: Floats
    dof_parent: Ints
    body_of_dof: Ints
    row_start: Ints


def _inertia_rows(linkage: Linkage, q: Floats, bytes_per_entry: int = 8) -> InertiaRows:
    model, n, nv = linkage.kernel_model, linkage.n_bodies, linkage.nv
    dof_parent, body_of_dof = np.empty(nv, dtype=np.int64), np.empty(nv, dtype=np.int64)
    row_start = np.empty(nv + 1, dtype=np.int64)
    _crba.dof_parents(model.parent, model.v_start, dof_parent, body_of_dof, row_start)
    size = bytes_per_entry * int(row_start[-1])
    if size > MASS_MATRIX_LIMIT:
        raise UnsupportedError(
            f"the mass matrix of linkage {linkage.name!r} (depth {linkage.depth:,}) needs {size / 2**30:.1f} GiB "
            f"(limit {MASS_MATRIX_LIMIT / 2**30:.0f}); use forward_dynamics(method='aba'), which needs none"
        )
    H = np.empty(int(row_start[-1]))
    _crba.crba(model, q, body_of_dof, row_start, np.empty((n, 9)), np.empty((n, 3)), np.empty((n, 10)), H)
    return InertiaRows(H, dof_parent, body_of_dof, row_start)


def _columns(rows: InertiaRows) -> Ints:
    """Column of every stored entry: each row is itself followed by its parent's row."""
    out = np.empty(len(rows.H), dtype=np.int64)
    _crba.row_columns(rows.dof_parent, rows.row_start, out)
    return out


def newton_euler(
    linkage: Linkage, q: Floats, v: Floats, qdd: Floats, f_ext: Floats, base: Spatial
) -> tuple[Floats, Floats]:
    """tau (nv,) and transmitted forces (n, 6) in kernel frames."""
    n = linkage.n_bodies
    tau, f = np.empty(linkage.nv), np.empty((n, 6))
    R, p = np.empty((n, 9)), np.empty((n, 3))
    V, c, a = np.zeros((n, 6)), np.zeros((n, 6)), np.empty((n, 6))  # V, c: not written without velocities
    rnea(linkage.kernel_model, q, v, qdd, f_ext, base, R, p, V, c, a, f, tau)
    return tau, f


def transmitted_forces(linkage: Linkage, q: Floats, v: Floats, qdd: Floats, f_ext: Floats, base: Spatial) -> Floats:
    """The force every joint transmits, in the user's body frames and order."""
    _, f = newton_euler(linkage, q, v, qdd, f_ext, base)
    return forces_to_input(linkage, f)


def forces_to_input(linkage: Linkage, f: Floats) -> Floats:
    """Spatial forces (n, 6) from kernel frames and model order to the user's body frames and order."""
    if linkage.kernel_frame is not None:
        f = np.einsum("nij,nsj->nsi", linkage.kernel_frame, f.reshape(-1, 2, 3)).reshape(-1, 6)
    return linkage.bodies_to_input(f)


def with_passive_forces(linkage: Linkage, q: Floats, v: Floats, tau: Floats) -> Floats:
    if not (linkage.has_springs or linkage.has_damping):
        return tau
    total = tau.copy()
    add_passive_forces(linkage.kernel_model, q, v, total)
    return total


def _world_poses(linkage: Linkage, q: Floats) -> tuple[Floats, Floats]:
    R, p = np.empty((linkage.n_bodies, 9)), np.empty((linkage.n_bodies, 3))
    poses_in_parent(linkage.kernel_model, q, R, p)
    poses_in_world(linkage.parent, R, p, R, p)
    return R, p


def body_forces(linkage: Linkage, q: Floats, force: ArrayLike | None, torque: ArrayLike | None) -> Floats:
    """World forces and torques as spatial forces in kernel frames (n, 6); no rows if there are none."""
    f_W = check_rows(linkage, force, "force")
    n_W = check_rows(linkage, torque, "torque")
    if f_W is None and n_W is None:
        return np.empty((0, 6))
    zero = np.zeros((linkage.n_bodies, 3))
    out = np.empty((linkage.n_bodies, 6))
    R_W, _ = _world_poses(linkage, q)
    forces_in_body_frames(R_W, zero if f_W is None else f_W, zero if n_W is None else n_W, out)
    return out


def base_acceleration(gravity: ArrayLike | None) -> Spatial:
    """Gravity as an upward acceleration of the base, so that no force on every body is needed."""
    g = check_vector(gravity, "gravity")
    return ((0.0, 0.0, 0.0), (-float(g[0]), -float(g[1]), -float(g[2])))


def raise_if_overflown(linkage: Linkage, qdd: Floats) -> None:
    """Finite input must never give nan or inf without a word; model order."""
    bad = np.flatnonzero(~np.isfinite(qdd))
    if len(bad):
        _raise_if_singular(linkage, int(np.searchsorted(linkage.v_start, bad[0], side="right")) - 1)


def _raise_if_singular(linkage: Linkage, joint: int) -> None:
    if joint != _aba.OK:
        shown = int(linkage.input_index[joint])
        raise SingularJointError(
            shown,
            linkage.joint_name(shown),
            "it can move without moving any inertia, or the state overflows; check the masses and inertias of the "
            "bodies beyond it and that q, v and tau are of sensible size",
        )
