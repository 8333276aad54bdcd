"""Joining two subassemblies across one joint: the main pass of the divide-and-conquer algorithm, LANES nodes at a time.

Redon & Lin 2005, §3.1, in the form of a constrained solve instead of V = M⁻¹, which stays accurate for nearly singular
M: with c the constrained and f the free directions of the joint, in the frame of y where they are coordinates,

    M = Φ^A_xx + Φ^B_yy,   z = Φ^A_xu F_u − Φ^B_yv F_v + β,   S q̈ = M f − z           (the joint's equation)
    W = M_cc⁻¹ (zero elsewhere),  N = [1_f − M_fc W],  E = M_ff − M_fc W M_cf = D⁻¹
    f = W z + Nᵀ Q                                                                       eq (5)
    q̈ = E Q − N z                                                                        eq (4)
    Φ^C = Φ^A, Φ^B minus what the joint takes                                            eq (2)

With M_cc = L Lᵀ and Z = L⁻¹ Φ_x·, what the joint takes is ZᵀZ, so Φ^C is symmetric and no W is multiplied out.
One joint of helical or universal type mixes coordinates; P makes them coordinates again: M → PᵀMP, z → Pᵀz, f = P f̂.

The plain form of all this is in tests/adaptive/oracle.py.
"""

from __future__ import annotations

import numpy as np

from ..compiled import kernel
from ..linkage.joints import FIXED, HELICAL, REVOLUTE, UNIVERSAL, joint_pose, subspace_column
from ..linkage.model import KernelModel
from ..spatial.lanes import LANES, get, lanes_sqrt, load_columns, put, spread, store_columns
from ..spatial.rotations import turn_z
from ..spatial.rows import get_matrix, get_vector
from ..spatial.vectors import IDENTITY, ZERO, add, apply, multiply
from ..typing import Floats, Ints
from .record import BU, BV, GAMMA, GU, GV, JOINT, KU, KV, MOTION, POSE, UU, UV, VV, Coefficients, E, N, Plan, R, W

# Which coordinate (ωx ωy ωz vx vy vz of the kernel frame) each degree of freedom of a joint frees, by JointType.
FREED = np.array(
    [
        [2, -1, -1, -1, -1, -1],  # revolute
        [5, -1, -1, -1, -1, -1],  # prismatic
        [0, 1, 2, -1, -1, -1],  # spherical
        [3, 4, 5, 0, 1, 2],  # free
        [-1, -1, -1, -1, -1, -1],  # fixed
        [2, -1, -1, -1, -1, -1],  # helical, through P
        [5, 2, -1, -1, -1, -1],  # cylindrical
        [0, 2, -1, -1, -1, -1],  # universal, through P
        [3, 4, 2, -1, -1, -1],  # planar
    ],
    dtype=np.int64,
)
DOF_OF = (FREED >= 0).sum(axis=1)

# Work array of one batch: entries of LANES numbers.
_PACKED = 0  # (24) one packed symmetric block on its way in or out
_X = 24  # (12) pose of y in x
_A_UU = 36  # (36)
_A_UX = 72  # (36) Φ^A_ux, columns brought to y's frame (then to P's coordinates)
_M = 108  # (36) Φ^A_xx in y's frame, then M
_B_YY = 144  # (36)
_B_YV = 180  # (36) Φ^B_yv (rows in P's coordinates)
_B_VV = 216  # (36)
_LINV = 252  # (36) L⁻¹, lower triangle
_W = 288  # (36)
_ZA = 324  # (36) L⁻¹ Φ^A_xu
_ZB = 360  # (36) L⁻¹ Φ^B_yv
_OUT = 396  # (36) a full block on its way out
_P = 432  # (9) angular block of P
_PITCH = 441  # (1) coupling of P for helical joints
_FREE = 442  # (6) 1 where the coordinate is free
_HOT = 448  # (6) 1 at the coordinate of the degree of freedom at hand
_ROW = 454  # (28) a row of motion coefficients
_POSE = 482  # (36) three poses
_V = 520  # (48) vectors of the force part
WORK = 568


@kernel(inline=True)
def sum6(w: Floats, a: int, da: int, b: int, db: int) -> object:
    """Σ_k w[a + k da] w[b + k db], k = 0 … 5."""
    return (
        get(w, a) * get(w, b)
        + get(w, a + da) * get(w, b + db)
        + get(w, a + 2 * da) * get(w, b + 2 * db)
        + get(w, a + 3 * da) * get(w, b + 3 * db)
        + get(w, a + 4 * da) * get(w, b + 4 * db)
        + get(w, a + 5 * da) * get(w, b + 5 * db)
    )


@kernel
def _load_symmetric(node: Floats, rows: Ints, column: int, w: Floats, at: int) -> None:
    """A packed block of LANES records as a full 6×6 block of the work array."""
    for g in range(6):
        load_columns(node, rows, column + 4 * g, w, _PACKED + 4 * g)
    k = 0
    for i in range(6):
        for j in range(i, 6):
            x = get(w, _PACKED + k)
            put(w, at + 6 * i + j, x)
            put(w, at + 6 * j + i, x)
            k += 1


@kernel
def _store_symmetric(w: Floats, at: int, node: Floats, rows: Ints, column: int) -> None:
    k = 0
    for i in range(6):
        for j in range(i, 6):
            put(w, _PACKED + k, get(w, at + 6 * i + j))
            k += 1
    for k in range(21, 24):
        put(w, _PACKED + k, spread(0.0))
    for g in range(6):
        store_columns(w, _PACKED + 4 * g, node, rows, column + 4 * g)


@kernel
def _load_block(node: Floats, rows: Ints, column: int, count: int, w: Floats, at: int) -> None:
    for g in range(count):
        load_columns(node, rows, column + 4 * g, w, at + 4 * g)


@kernel
def _store_block(w: Floats, at: int, count: int, node: Floats, rows: Ints, column: int) -> None:
    for g in range(count):
        store_columns(w, at + 4 * g, node, rows, column + 4 * g)


@kernel(inline=True)
def _motion_to_child(w: Floats, pose: int, at: int, stride: int) -> None:
    """The motion vector at entries at, at + stride, ... from x's frame to y's, in place: Rᵀω, Rᵀ(v + ω × p)."""
    a0 = get(w, at)
    a1 = get(w, at + stride)
    a2 = get(w, at + 2 * stride)
    p0 = get(w, pose + 9)
    p1 = get(w, pose + 10)
    p2 = get(w, pose + 11)
    b0 = get(w, at + 3 * stride) + (a1 * p2 - a2 * p1)
    b1 = get(w, at + 4 * stride) + (a2 * p0 - a0 * p2)
    b2 = get(w, at + 5 * stride) + (a0 * p1 - a1 * p0)
    for i in range(3):
        r0 = get(w, pose + i)
        r1 = get(w, pose + 3 + i)
        r2 = get(w, pose + 6 + i)
        put(w, at + i * stride, r0 * a0 + r1 * a1 + r2 * a2)
        put(w, at + (3 + i) * stride, r0 * b0 + r1 * b1 + r2 * b2)


@kernel(inline=True)
def _force_to_parent(w: Floats, pose: int, f: int, out: int) -> None:
    """The force at entries f … f+5 from y's frame to x's: R n + p × R f, R f."""
    for i in range(3):
        r0 = get(w, pose + 3 * i)
        r1 = get(w, pose + 3 * i + 1)
        r2 = get(w, pose + 3 * i + 2)
        put(w, out + i, r0 * get(w, f) + r1 * get(w, f + 1) + r2 * get(w, f + 2))
        put(w, out + 3 + i, r0 * get(w, f + 3) + r1 * get(w, f + 4) + r2 * get(w, f + 5))
    p0 = get(w, pose + 9)
    p1 = get(w, pose + 10)
    p2 = get(w, pose + 11)
    f0 = get(w, out + 3)
    f1 = get(w, out + 4)
    f2 = get(w, out + 5)
    put(w, out, get(w, out) + (p1 * f2 - p2 * f1))
    put(w, out + 1, get(w, out + 1) + (p2 * f0 - p0 * f2))
    put(w, out + 2, get(w, out + 2) + (p0 * f1 - p1 * f0))


@kernel(inline=True)
def _joint_of_batch(model: KernelModel, plan: Plan, q: Floats, nodes: Ints, w: Floats) -> int:
    """Pose of y in x, free directions and P of every lane. Returns the largest number of degrees of freedom.

    Adds 8 when a lane needs P (helical or universal joint).
    """
    most = 0
    special = 0
    for lane in range(LANES):
        i = plan.joint[nodes[lane]]
        kind = plan.kind[nodes[lane]]
        rotation, origin = IDENTITY, ZERO
        if i >= 0:
            placement = get_matrix(model.rotation, i)
            origin = get_vector(model.translation, i)
            if kind == REVOLUTE:
                rotation = turn_z(placement, q[model.q_start[i]])
            else:
                R_J, p_J = joint_pose(kind, get_vector(model.axis1, i), model.pitch[i], q, model.q_start[i])
                rotation = multiply(placement, R_J)
                origin = add(origin, apply(placement, p_J))
        for k in range(9):
            w[LANES * (_X + k) + lane] = rotation[k]
        for k in range(3):
            w[LANES * (_X + 9 + k) + lane] = origin[k]
        for k in range(6):
            w[LANES * (_FREE + k) + lane] = 0.0
        for k in range(9):
            w[LANES * (_P + k) + lane] = IDENTITY[k]
        w[LANES * _PITCH + lane] = 0.0
        for k in range(DOF_OF[kind]):
            w[LANES * (_FREE + FREED[kind, k]) + lane] = 1.0
        most = max(most, DOF_OF[kind])
        if kind == HELICAL:
            special = 8
            w[LANES * _PITCH + lane] = model.pitch[i]
        elif kind == UNIVERSAL:
            special = 8
            # Columns dual to s₀, s₀ × z and z: P angular = [p₀ p₁ p₂].
            s = subspace_column(kind, get_vector(model.axis1, i), 0.0, q, model.q_start[i], 0)[0]
            square = s[0] * s[0] + s[1] * s[1]
            length = np.sqrt(square)
            w[LANES * (_P + 0) + lane] = s[0] / square
            w[LANES * (_P + 3) + lane] = s[1] / square
            w[LANES * (_P + 1) + lane] = -s[1] / length
            w[LANES * (_P + 4) + lane] = s[0] / length
            w[LANES * (_P + 2) + lane] = -s[2] * s[0] / square
            w[LANES * (_P + 5) + lane] = -s[2] * s[1] / square
    return most + special


@kernel
def _to_joint_coordinates(w: Floats, at: int, stride: int) -> None:
    """Pᵀ times the vector at entries at, at + stride, ...: its components along the joint's own directions."""
    a0 = get(w, at)
    a1 = get(w, at + stride)
    a2 = get(w, at + 2 * stride)
    for i in range(3):
        put(w, at + i * stride, get(w, _P + i) * a0 + get(w, _P + 3 + i) * a1 + get(w, _P + 6 + i) * a2)
    put(w, at + 5 * stride, get(w, at + 5 * stride) - get(w, _PITCH) * a2)


@kernel
def _from_joint_coordinates(w: Floats, at: int, stride: int) -> None:
    """P times the vector at entries at, at + stride, ...: a force given along the joint's own directions."""
    a0 = get(w, at)
    a1 = get(w, at + stride)
    a2 = get(w, at + 2 * stride)
    for i in range(3):
        put(w, at + i * stride, get(w, _P + 3 * i) * a0 + get(w, _P + 3 * i + 1) * a1 + get(w, _P + 3 * i + 2) * a2)
    put(w, at + 2 * stride, get(w, at + 2 * stride) - get(w, _PITCH) * get(w, at + 5 * stride))


@kernel
def _factorize(w: Floats) -> None:
    """L⁻¹ and W of the constrained part of M; rows and columns of free directions are zero.

    A direction that is not positive definite leaves inf or nan behind, which `join_geometry` reports.
    """
    for i in range(6):
        held_i = 1.0 - get(w, _FREE + i)
        for j in range(i + 1):
            s = get(w, _M + 6 * i + j) * held_i * (1.0 - get(w, _FREE + j))
            for k in range(j):
                s = s - get(w, _LINV + 6 * i + k) * get(w, _LINV + 6 * j + k)
            if j < i:
                put(w, _LINV + 6 * i + j, s * get(w, _LINV + 6 * j + j))
            else:
                # 1/l on the diagonal; a free direction has l = 1 here and is cleared below.
                put(w, _LINV + 6 * i + i, 1.0 / lanes_sqrt(s + get(w, _FREE + i)))
    for i in range(6):  # invert in place, row by row; the diagonal already holds its inverse
        d = get(w, _LINV + 6 * i + i) * (1.0 - get(w, _FREE + i))
        for j in range(i):
            s = get(w, _LINV + 6 * i + j) * get(w, _LINV + 6 * j + j)
            for k in range(j + 1, i):
                s = s + get(w, _LINV + 6 * i + k) * get(w, _LINV + 6 * k + j)
            put(w, _LINV + 6 * i + j, -(s * d))
        put(w, _LINV + 6 * i + i, d)
    for i in range(6):
        for j in range(i, 6):
            s = get(w, _LINV + 6 * j + i) * get(w, _LINV + 6 * j + j)
            for k in range(j + 1, 6):
                s = s + get(w, _LINV + 6 * k + i) * get(w, _LINV + 6 * k + j)
            put(w, _W + 6 * i + j, s)
            put(w, _W + 6 * j + i, s)


@kernel
def _lower_times(w: Floats, block: int, row: int, column: int, out: int) -> None:
    """out = L⁻¹ B for a 6×6 block read with the given strides along rows and columns."""
    for j in range(6):
        for i in range(6):
            s = get(w, _LINV + 6 * i) * get(w, block + column * j)
            for k in range(1, i + 1):
                s = s + get(w, _LINV + 6 * i + k) * get(w, block + row * k + column * j)
            put(w, out + 6 * i + j, s)


@kernel
def _lower_transposed_times(w: Floats, block: int, out: int, sign: float) -> None:
    """out = ± L⁻ᵀ B."""
    for i in range(6):
        for j in range(6):
            s = get(w, _LINV + 6 * i + i) * get(w, block + 6 * i + j)
            for k in range(i + 1, 6):
                s = s + get(w, _LINV + 6 * k + i) * get(w, block + 6 * k + j)
            put(w, out + 6 * i + j, sign * s)


@kernel
def _take(w: Floats, block: int, z: int) -> None:
    """block −= ZᵀZ, upper triangle."""
    for i in range(6):
        for j in range(i, 6):
            put(w, block + 6 * i + j, get(w, block + 6 * i + j) - sum6(w, z + i, 6, z + j, 6))


@kernel(inline=True)
def _copy_where_rake(plan: Plan, nodes: Ints, w: Floats, source: int, target: int, sign: float) -> None:
    """Where v = u after the join, what belongs to v is what belongs to u."""
    for lane in range(LANES):
        if plan.rake[nodes[lane]]:
            for k in range(36):
                w[LANES * (target + k) + lane] = sign * w[LANES * (source + k) + lane]


@kernel(inline=True)
def join_geometry(
    model: KernelModel,
    plan: Plan,
    q: Floats,
    nodes: Ints,
    A: Ints,
    B: Ints,
    coefficients: Coefficients,
    w: Floats,
) -> int:
    """Everything of the LANES nodes that depends on positions. Returns −1, or a node whose M is not positive definite.

    A, B (LANES,) are scratch; nodes may repeat.
    """
    node = coefficients.node
    for lane in range(LANES):
        A[lane] = plan.upper[nodes[lane]]
        B[lane] = plan.lower[nodes[lane]]
    d = _joint_of_batch(model, plan, q, nodes, w)
    special = d >= 8
    d = d & 7

    _load_symmetric(node, A, VV, w, _M)  # x is A's lower handle
    _load_block(node, A, UV, 9, w, _A_UX)
    _load_symmetric(node, B, UU, w, _B_YY)  # y is B's upper handle
    _load_block(node, B, UV, 9, w, _B_YV)
    for i in range(6):  # Φ_ux Xᵀ and Φ_xx Xᵀ, row by row
        _motion_to_child(w, _X, _A_UX + 6 * i, 1)
        _motion_to_child(w, _X, _M + 6 * i, 1)
    for i in range(6):  # X Φ_xx Xᵀ, column by column
        _motion_to_child(w, _X, _M + i, 6)
    for i in range(6):
        for j in range(i, 6):
            x = get(w, _M + 6 * i + j) + get(w, _B_YY + 6 * i + j)
            put(w, _M + 6 * i + j, x)
            put(w, _M + 6 * j + i, x)
    if special:
        for i in range(6):
            _to_joint_coordinates(w, _A_UX + 6 * i, 1)
            _to_joint_coordinates(w, _B_YV + i, 6)
            _to_joint_coordinates(w, _M + 6 * i, 1)
        for i in range(6):
            _to_joint_coordinates(w, _M + i, 6)

    _factorize(w)
    _lower_times(w, _A_UX, 1, 6, _ZA)  # Φ_xu is the transpose of Φ_ux
    _lower_times(w, _B_YV, 6, 1, _ZB)

    # Φ^C, eq (2)
    for i in range(6):
        for j in range(6):
            put(w, _OUT + 6 * i + j, sum6(w, _ZA + i, 6, _ZB + j, 6))
    _load_symmetric(node, A, UU, w, _A_UU)
    _load_symmetric(node, B, VV, w, _B_VV)
    _take(w, _A_UU, _ZA)
    _take(w, _B_VV, _ZB)
    for i in range(6):
        for j in range(i):
            put(w, _A_UU + 6 * i + j, get(w, _A_UU + 6 * j + i))
    _copy_where_rake(plan, nodes, w, _A_UU, _OUT, 1.0)
    _copy_where_rake(plan, nodes, w, _A_UU, _B_VV, 1.0)
    _store_symmetric(w, _A_UU, node, nodes, UU)
    _store_symmetric(w, _B_VV, node, nodes, VV)
    _store_block(w, _OUT, 9, node, nodes, UV)

    # q̈ = K_u F_u + K_v F_v + R, one degree of freedom at a time
    for k in range(d):
        _motion_row(w, k, plan, nodes, special)
        _store_motion(model, plan, nodes, k, w, coefficients.motion)

    # f = G_u F_u + G_v F_v + γ: G_u = W Φ_xu, G_v = −W Φ_yv
    _lower_transposed_times(w, _ZA, _A_UU, 1.0)
    _lower_transposed_times(w, _ZB, _B_VV, -1.0)
    if special:
        for i in range(6):
            _from_joint_coordinates(w, _A_UU + i, 6)
            _from_joint_coordinates(w, _B_VV + i, 6)
            _from_joint_coordinates(w, _W + 6 * i, 1)
        for i in range(6):
            _from_joint_coordinates(w, _W + i, 6)
    _copy_where_rake(plan, nodes, w, _A_UU, _B_VV, 1.0)
    _store_block(w, _A_UU, 9, node, nodes, GU)
    _store_block(w, _B_VV, 9, node, nodes, GV)
    _store_symmetric(w, _W, node, nodes, W)

    _join_poses(plan, nodes, A, B, node, w)
    for lane in range(LANES):
        for k in range(6):
            if not np.isfinite(w[LANES * (_LINV + 7 * k) + lane]):
                return nodes[lane]
    return -1


@kernel(inline=True)
def _motion_row(w: Floats, k: int, plan: Plan, nodes: Ints, special: bool) -> None:
    """N, E, K_u, K_v of degree of freedom k of every lane, in _ROW."""
    for lane in range(LANES):
        kind = plan.kind[nodes[lane]]
        for i in range(6):
            w[LANES * (_HOT + i) + lane] = 1.0 if FREED[kind, k] == i else 0.0
    for j in range(6):  # the row of M that belongs to this degree of freedom
        put(w, _V + j, sum6(w, _HOT, 1, _M + j, 6))
    for j in range(6):
        put(w, _ROW + N + j, get(w, _HOT + j) - sum6(w, _V, 1, _W + j, 6))
    for j in range(6):  # M_f· Nᵀ over the joint's own degrees of freedom: M (1 − W M) restricted to free columns
        put(w, _V + 6 + j, sum6(w, _ROW + N, 1, _M + j, 6))
    for j in range(6):
        put(w, _ROW + KU + j, -sum6(w, _ROW + N, 1, _A_UX + 6 * j, 1))
        put(w, _ROW + KV + j, sum6(w, _ROW + N, 1, _B_YV + j, 6))
    for lane in range(LANES):
        kind = plan.kind[nodes[lane]]
        rake = plan.rake[nodes[lane]]
        for j in range(6):
            column = FREED[kind, j]
            w[LANES * (_ROW + E + j) + lane] = w[LANES * (_V + 6 + column) + lane] if column >= 0 else 0.0
            if rake:
                w[LANES * (_ROW + KV + j) + lane] = w[LANES * (_ROW + KU + j) + lane]
        for j in range(R, MOTION):
            w[LANES * (_ROW + j) + lane] = 0.0
    if special:
        _from_joint_coordinates(w, _ROW + N, 1)


@kernel(inline=True)
def _store_motion(model: KernelModel, plan: Plan, nodes: Ints, k: int, w: Floats, motion: Floats) -> None:
    for lane in range(LANES):
        if k < DOF_OF[plan.kind[nodes[lane]]]:
            row = model.v_start[plan.joint[nodes[lane]]] + k
            for j in range(R):
                motion[row, j] = w[LANES * (_ROW + j) + lane]


@kernel(inline=True)
def _join_poses(plan: Plan, nodes: Ints, A: Ints, B: Ints, node: Floats, w: Floats) -> None:
    """Pose of v in u: T_ux T_xy T_yv; and the joint's own pose."""
    _store_block(w, _X, 3, node, nodes, JOINT)
    _load_block(node, A, POSE, 3, w, _POSE)
    _load_block(node, B, POSE, 3, w, _POSE + 12)
    _compose(w, _POSE, _X, _POSE + 24)
    _compose(w, _POSE + 24, _POSE + 12, _POSE)
    for lane in range(LANES):
        if plan.rake[nodes[lane]]:
            for k in range(9):
                w[LANES * (_POSE + k) + lane] = IDENTITY[k]
            for k in range(9, 12):
                w[LANES * (_POSE + k) + lane] = 0.0
    _store_block(w, _POSE, 3, node, nodes, POSE)


@kernel
def _compose(w: Floats, a: int, b: int, out: int) -> None:
    """Pose a followed by pose b."""
    for i in range(3):
        a0 = get(w, a + 3 * i)
        a1 = get(w, a + 3 * i + 1)
        a2 = get(w, a + 3 * i + 2)
        for j in range(3):
            put(w, out + 3 * i + j, a0 * get(w, b + j) + a1 * get(w, b + 3 + j) + a2 * get(w, b + 6 + j))
        moved = a0 * get(w, b + 9) + a1 * get(w, b + 10) + a2 * get(w, b + 11)
        put(w, out + 9 + i, get(w, a + 9 + i) + moved)


@kernel(inline=True)
def join_forces(
    model: KernelModel,
    plan: Plan,
    Q: Floats,
    c: Floats,
    nodes: Ints,
    A: Ints,
    B: Ints,
    coefficients: Coefficients,
    w: Floats,
) -> None:
    """Everything of the LANES nodes that depends on forces; their geometry is up to date.

    Q (nv,): joint forces. c (n, 6): velocity products of the joints, body frames; no rows: at rest.
    """
    node, motion = coefficients.node, coefficients.motion
    beta, gamma, gamma_x, b = _V, _V + 6, _V + 12, _V + 20
    for lane in range(LANES):
        A[lane] = plan.upper[nodes[lane]]
        B[lane] = plan.lower[nodes[lane]]
    _load_block(node, nodes, JOINT, 3, w, _X)
    _load_symmetric(node, nodes, W, w, _W)
    _load_block(node, A, UV, 9, w, _A_UX)
    _load_block(node, B, UV, 9, w, _B_YV)
    _load_block(node, A, BU, 3, w, b)  # b_u, b_x
    _load_block(node, B, BU, 3, w, b + 12)  # b_y, b_v

    # β = b_x − b_y + c, in y's frame
    for k in range(6):
        put(w, beta + k, get(w, b + 6 + k))
    _motion_to_child(w, _X, beta, 1)
    for k in range(6):
        put(w, beta + k, get(w, beta + k) - get(w, b + 12 + k))
    if len(c) > 0:
        for lane in range(LANES):
            if plan.joint[nodes[lane]] >= 0:
                for k in range(6):
                    w[LANES * (beta + k) + lane] += c[plan.joint[nodes[lane]], k]

    # γ = W β + Nᵀ Q,  R = E Q − N β
    for i in range(6):
        put(w, gamma + i, sum6(w, _W + 6 * i, 1, beta, 1))
    for lane in range(LANES):
        kind = plan.kind[nodes[lane]]
        if kind == FIXED:
            continue
        first = model.v_start[plan.joint[nodes[lane]]]
        for k in range(DOF_OF[kind]):
            r = 0.0
            for j in range(DOF_OF[kind]):
                r += motion[first + k, E + j] * Q[first + j]
            for i in range(6):
                r -= motion[first + k, N + i] * w[LANES * (beta + i) + lane]
                w[LANES * (gamma + i) + lane] += motion[first + k, N + i] * Q[first + k]
            motion[first + k, R] = r

    # b_u −= Φ_ux γ,  b_v += Φ_vy γ
    _force_to_parent(w, _X, gamma, gamma_x)
    for i in range(6):
        put(w, b + i, get(w, b + i) - sum6(w, _A_UX + 6 * i, 1, gamma_x, 1))
        put(w, b + 6 + i, get(w, b + 18 + i) + sum6(w, _B_YV + i, 6, gamma, 1))
    for lane in range(LANES):
        if plan.rake[nodes[lane]]:
            for k in range(6):
                w[LANES * (b + 6 + k) + lane] = w[LANES * (b + k) + lane]
    _store_block(w, b, 3, node, nodes, BU)
    for k in range(6, 8):
        put(w, gamma + k, spread(0.0))
    _store_block(w, gamma, 2, node, nodes, GAMMA)
