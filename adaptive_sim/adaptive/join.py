"""Joining two subassemblies across one joint: the main pass of the divide-and-conquer algorithm, LANES nodes at a time.

Redon & Lin 2005, §3.1, in the form of a constrained solve instead of V = M⁻¹, which stays accurate for nearly singular
M: with c the constrained and f the free directions of the joint, in the frame of y where they are coordinates,

    M = Φ^A_xx + Φ^B_yy,   z = Φ^A_xu F_u − Φ^B_yv F_v,   S q̈ = M f − (z + β)         (the joint's equation)
    W = M_cc⁻¹ (zero elsewhere),  N = [1_f − M_fc W],  E = M_ff − M_fc W M_cf = D⁻¹
    f = W z + γ,      γ = W β + Nᵀ Q                                                     eq (5)
    q̈ = R − N z,      R = E Q − N β                                                      eq (4)
    Φ^C = Φ^A, Φ^B minus what the joint takes;  b_u −= Φ_ux γ,  b_v += Φ_vy γ            eq (2)

With M_cc = L Lᵀ and Z = L⁻¹ Φ_x·, what the joint takes is ZᵀZ, so Φ^C is symmetric and no W is multiplied out.
A helical or universal joint frees combinations of coordinates; P makes them coordinates: M → PᵀMP, z → Pᵀz, f = P f̂.

A batch holds nodes of one class: the same number of degrees of freedom, of handles left and of rows in the children's
factors. So every node goes through the same instructions whatever stands beside it. The plain form of all this is in
tests/adaptive/oracle.py.
"""

from __future__ import annotations

import numpy as np

from ..compiled import kernel
from ..linkage.joints import FIXED, HELICAL, UNIVERSAL, subspace_column
from ..linkage.model import KernelModel
from ..spatial.lanes import LANES, Lanes, get, lanes_sqrt, load_columns, put, spread, store_columns
from ..spatial.rows import get_vector
from ..typing import Floats, Ints
from .record import (
    AT,
    AT_BIAS,
    AT_UV,
    AT_VV,
    BIAS,
    GAMMA,
    JOINT,
    JOINT_OF,
    KIND,
    LOWER,
    SINGLE,
    SIZE,
    TWO,
    UPPER,
    UU,
    UV,
    VV,
    E,
    N,
    R,
    W,
)

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
PACKED = 0  # (24) one packed symmetric block on its way in or out
X = 24  # (12) pose of y in x
A_UU = 36  # (36)
A_UX = 72  # (36) Φ^A_ux, columns brought to y's frame
M = 108  # (36) Φ^A_xx in y's frame, then M
B_YY = 144  # (36)
B_YV = 180  # (36) Φ^B_yv
B_VV = 216  # (36)
LINV = 252  # (36) L⁻¹; zeros above the diagonal
WW = 288  # (36) W
ZA = 324  # (36) L⁻¹ Φ^A_xu
ZB = 360  # (36) L⁻¹ Φ^B_yv
OUT = 396  # (36) Φ^C_uv
P = 432  # (9) angular block of P
PITCH = 441  # (1) coupling of P for helical joints
FREE = 442  # (6) 1 where the coordinate is free
HOT = 448  # (6) 1 at the coordinate of the degree of freedom at hand
ROW = 454  # (12) N and the row of N M of the degree of freedom at hand
SINGLE_A = 466  # (1) 1 where A has one handle: Φ_ux = Φ_xx
SINGLE_B = 467  # (1) 1 where B has one open handle: Φ_yv = Φ_yy
V = 468  # (44) vectors of the force part
WORK = 512  # entries used here; the factor's follow (see `total_acceleration`)

# A pivot of M this many times smaller than its diagonal: errors reach EPS·LOST² = 2e-6 and grow from there on (see
# tests/adaptive/test_dca.py). Linkages of comparable masses stay below 5e3.
LOST = 1e5


@kernel(inline=True)
def sum6(w: Floats, a: int, da: int, b: int, db: int) -> Lanes:
    """Σ_k w[a + k da] w[b + k db], k = 0 … 5."""
    return (
        get(w, a) * get(w, b)
        + get(w, a + da) * get(w, b + db)
        + get(w, a + 2 * da) * get(w, b + 2 * db)
        + get(w, a + 3 * da) * get(w, b + 3 * db)
        + get(w, a + 4 * da) * get(w, b + 4 * db)
        + get(w, a + 5 * da) * get(w, b + 5 * db)
    )


# -------------------------------------------------------------------- moving records in and out


@kernel
def load_block(store: Floats, at: Ints, column: int, groups: int, w: Floats, entry: int) -> None:
    for g in range(groups):
        load_columns(store, at, column + 4 * g, w, entry + 4 * g)


@kernel
def store_block(w: Floats, entry: int, groups: int, store: Floats, at: Ints, column: int) -> None:
    for g in range(groups):
        store_columns(w, entry + 4 * g, store, at, column + 4 * g)


@kernel
def load_symmetric(store: Floats, at: Ints, column: int, w: Floats, entry: int) -> None:
    """A packed block of LANES records as a full 6×6 block of the work array."""
    for g in range(6):
        load_columns(store, at, column + 4 * g, w, PACKED + 4 * g)
    k = 0
    for i in range(6):
        for j in range(i, 6):
            x = get(w, PACKED + k)
            put(w, entry + 6 * i + j, x)
            put(w, entry + 6 * j + i, x)
            k += 1


@kernel
def store_symmetric(w: Floats, entry: int, store: Floats, at: Ints, column: int) -> None:
    k = 0
    for i in range(6):
        for j in range(i, 6):
            put(w, PACKED + k, get(w, entry + 6 * i + j))
            k += 1
    for k in range(21, 24):
        put(w, PACKED + k, spread(0.0))
    for g in range(6):
        store_columns(w, PACKED + 4 * g, store, at, column + 4 * g)


@kernel
def add_where(w: Floats, mask: int, source: int, target: int) -> None:
    """A 6×6 block plus another one in the lanes where the mask is 1."""
    m = get(w, mask)
    for k in range(36):
        put(w, target + k, get(w, target + k) + m * get(w, source + k))


@kernel(inline=True)
def locate(
    tree: Ints,
    nodes: Ints,
    A: Ints,
    A_vv: Ints,
    A_uv: Ints,
    A_b: Ints,
    B: Ints,
    B_vv: Ints,
    B_uv: Ints,
    B_b: Ints,
    C: Ints,
) -> None:
    """Where the parts of the records of the nodes' children and of the nodes are, lane by lane."""
    for lane in range(LANES):
        i = tree[nodes[lane], UPPER]
        j = tree[nodes[lane], LOWER]
        A[lane] = tree[i, AT]
        A_vv[lane] = tree[i, AT_VV]
        A_uv[lane] = tree[i, AT_UV]
        A_b[lane] = tree[i, AT_BIAS]
        B[lane] = tree[j, AT]
        B_vv[lane] = tree[j, AT_VV]
        B_uv[lane] = tree[j, AT_UV]
        B_b[lane] = tree[j, AT_BIAS]
        C[lane] = tree[nodes[lane], AT]


@kernel(inline=True)
def mark_singles(tree: Ints, nodes: Ints, w: Floats) -> None:
    """Which children have one open handle only."""
    for lane in range(LANES):
        w[LANES * SINGLE_A + lane] = tree[tree[nodes[lane], UPPER], SINGLE]
        w[LANES * SINGLE_B + lane] = tree[tree[nodes[lane], LOWER], SINGLE]


# -------------------------------------------------------------------- small algebra on entries


@kernel(inline=True)
def motion_to_child(w: Floats, pose: int, at: int, stride: int) -> None:
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
def force_to_parent(w: Floats, pose: int, f: int, stride: int, out: int) -> None:
    """The force at entries f, f + stride, ... from y's frame to x's: R n + p × R f, R f."""
    n0 = get(w, f)
    n1 = get(w, f + stride)
    n2 = get(w, f + 2 * stride)
    f0 = get(w, f + 3 * stride)
    f1 = get(w, f + 4 * stride)
    f2 = get(w, f + 5 * stride)
    g0 = get(w, pose) * f0 + get(w, pose + 1) * f1 + get(w, pose + 2) * f2
    g1 = get(w, pose + 3) * f0 + get(w, pose + 4) * f1 + get(w, pose + 5) * f2
    g2 = get(w, pose + 6) * f0 + get(w, pose + 7) * f1 + get(w, pose + 8) * f2
    p0 = get(w, pose + 9)
    p1 = get(w, pose + 10)
    p2 = get(w, pose + 11)
    m0 = get(w, pose) * n0 + get(w, pose + 1) * n1 + get(w, pose + 2) * n2
    m1 = get(w, pose + 3) * n0 + get(w, pose + 4) * n1 + get(w, pose + 5) * n2
    m2 = get(w, pose + 6) * n0 + get(w, pose + 7) * n1 + get(w, pose + 8) * n2
    put(w, out, m0 + (p1 * g2 - p2 * g1))
    put(w, out + stride, m1 + (p2 * g0 - p0 * g2))
    put(w, out + 2 * stride, m2 + (p0 * g1 - p1 * g0))
    put(w, out + 3 * stride, g0)
    put(w, out + 4 * stride, g1)
    put(w, out + 5 * stride, g2)


@kernel
def to_joint_coordinates(w: Floats, at: int, stride: int) -> None:
    """Pᵀ times the vector at entries at, at + stride, ...: its components along the joint's own directions."""
    a0 = get(w, at)
    a1 = get(w, at + stride)
    a2 = get(w, at + 2 * stride)
    for i in range(3):
        put(w, at + i * stride, get(w, P + i) * a0 + get(w, P + 3 + i) * a1 + get(w, P + 6 + i) * a2)
    put(w, at + 5 * stride, get(w, at + 5 * stride) - get(w, PITCH) * a2)


@kernel
def from_joint_coordinates(w: Floats, at: int, stride: int) -> None:
    """P times the vector at entries at, at + stride, ...: a force given along the joint's own directions."""
    a0 = get(w, at)
    a1 = get(w, at + stride)
    a2 = get(w, at + 2 * stride)
    for i in range(3):
        put(w, at + i * stride, get(w, P + 3 * i) * a0 + get(w, P + 3 * i + 1) * a1 + get(w, P + 3 * i + 2) * a2)
    put(w, at + 2 * stride, get(w, at + 2 * stride) - get(w, PITCH) * get(w, at + 5 * stride))


@kernel(inline=True)
def joint_directions(model: KernelModel, tree: Ints, q: Floats, nodes: Ints, w: Floats) -> bool:
    """Free directions and P of every lane; whether any lane needs P."""
    special = False
    for lane in range(LANES):
        i = tree[nodes[lane], JOINT_OF]
        kind = tree[nodes[lane], KIND]
        for k in range(6):
            w[LANES * (FREE + k) + lane] = 0.0
        for k in range(DOF_OF[kind]):
            w[LANES * (FREE + FREED[kind, k]) + lane] = 1.0
        if kind == HELICAL or kind == UNIVERSAL:
            special = True
    if special:
        for lane in range(LANES):
            i = tree[nodes[lane], JOINT_OF]
            kind = tree[nodes[lane], KIND]
            for k in range(9):
                w[LANES * (P + k) + lane] = 1.0 if k % 4 == 0 else 0.0
            w[LANES * PITCH + lane] = model.pitch[i] if kind == HELICAL else 0.0
            if kind == UNIVERSAL:
                # Columns dual to s₀, s₀ × z and z: P angular = [p₀ p₁ p₂].
                s = subspace_column(kind, get_vector(model.axis1, i), 0.0, q, model.q_start[i], 0)[0]
                square = s[0] * s[0] + s[1] * s[1]
                length = np.sqrt(square)
                w[LANES * (P + 0) + lane] = s[0] / square
                w[LANES * (P + 3) + lane] = s[1] / square
                w[LANES * (P + 1) + lane] = -s[1] / length
                w[LANES * (P + 4) + lane] = s[0] / length
                w[LANES * (P + 2) + lane] = -s[2] * s[0] / square
                w[LANES * (P + 5) + lane] = -s[2] * s[1] / square
    return special


@kernel
def factorize(w: Floats) -> None:
    """L⁻¹ and W of the constrained part of M; rows and columns of free directions are zero.

    A direction that is not positive definite leaves inf or nan behind, which `join_geometry` reports.
    """
    for i in range(6):
        held_i = 1.0 - get(w, FREE + i)
        for j in range(i + 1):
            s = get(w, M + 6 * i + j) * held_i * (1.0 - get(w, FREE + j))
            for k in range(j):
                s = s - get(w, LINV + 6 * i + k) * get(w, LINV + 6 * j + k)
            if j < i:
                put(w, LINV + 6 * i + j, s * get(w, LINV + 6 * j + j))
            else:
                # 1/l on the diagonal; a free direction has l = 1 here and is cleared below.
                put(w, LINV + 6 * i + i, 1.0 / lanes_sqrt(s + get(w, FREE + i)))
    for i in range(6):  # invert in place, row by row; the diagonal already holds its inverse
        d = get(w, LINV + 6 * i + i) * (1.0 - get(w, FREE + i))
        for j in range(i):
            s = get(w, LINV + 6 * i + j) * get(w, LINV + 6 * j + j)
            for k in range(j + 1, i):
                s = s + get(w, LINV + 6 * i + k) * get(w, LINV + 6 * k + j)
            put(w, LINV + 6 * i + j, -(s * d))
        put(w, LINV + 6 * i + i, d)
        for j in range(i + 1, 6):
            put(w, LINV + 6 * i + j, spread(0.0))
    for i in range(6):
        for j in range(i, 6):
            s = get(w, LINV + 6 * j + i) * get(w, LINV + 6 * j + j)
            for k in range(j + 1, 6):
                s = s + get(w, LINV + 6 * k + i) * get(w, LINV + 6 * k + j)
            put(w, WW + 6 * i + j, s)
            put(w, WW + 6 * j + i, s)


@kernel
def lower_times(w: Floats, block: int, row: int, column: int, out: int) -> None:
    """out = L⁻¹ B for a 6×6 block read with the given strides along rows and columns."""
    for j in range(6):
        for i in range(6):
            s = get(w, LINV + 6 * i) * get(w, block + column * j)
            for k in range(1, i + 1):
                s = s + get(w, LINV + 6 * i + k) * get(w, block + row * k + column * j)
            put(w, out + 6 * i + j, s)


@kernel
def take(w: Floats, block: int, z: int) -> None:
    """block −= ZᵀZ, upper triangle."""
    for i in range(6):
        for j in range(i, 6):
            put(w, block + 6 * i + j, get(w, block + 6 * i + j) - sum6(w, z + i, 6, z + j, 6))


@kernel
def transposed_times(w: Floats, a: int, b: int, out: int) -> None:
    """out = Aᵀ B for 6×6 blocks."""
    for i in range(6):
        for j in range(6):
            put(w, out + 6 * i + j, sum6(w, a + i, 6, b + j, 6))


# -------------------------------------------------------------------- the two parts of a join


@kernel(inline=True)
def join_geometry(
    model: KernelModel,
    v_start: Ints,
    tree: Ints,
    q: Floats,
    nodes: Ints,
    A: Ints,
    A_vv: Ints,
    A_uv: Ints,
    B: Ints,
    B_vv: Ints,
    B_uv: Ints,
    C: Ints,
    store: Floats,
    motion: Floats,
    w: Floats,
) -> int:
    """Everything of the LANES nodes that depends on positions. Returns −1, or a node whose M is not positive definite.

    The poses of the joints are up to date (see `frames`). nodes may repeat; A … C from `locate`.
    """
    two = tree[nodes[0], TWO] != 0  # all lanes are of one class
    d = DOF_OF[tree[nodes[0], KIND]]
    mark_singles(tree, nodes, w)
    special = joint_directions(model, tree, q, nodes, w)

    load_block(store, C, JOINT, 3, w, X)
    load_symmetric(store, A_vv, 0, w, M)  # x is A's lower handle
    load_block(store, A_uv, 0, 9, w, A_UX)
    add_where(w, SINGLE_A, M, A_UX)
    for i in range(6):  # Φ_ux Xᵀ and Φ_xx Xᵀ, row by row
        motion_to_child(w, X, A_UX + 6 * i, 1)
        motion_to_child(w, X, M + 6 * i, 1)
    for i in range(6):  # X Φ_xx Xᵀ, column by column
        motion_to_child(w, X, M + i, 6)
    load_symmetric(store, B, UU, w, B_YY)  # y is B's upper handle
    for i in range(6):
        for j in range(i, 6):
            x = get(w, M + 6 * i + j) + get(w, B_YY + 6 * i + j)
            put(w, M + 6 * i + j, x)
            put(w, M + 6 * j + i, x)
    if special:
        for i in range(6):
            to_joint_coordinates(w, A_UX + 6 * i, 1)
            to_joint_coordinates(w, M + 6 * i, 1)
        for i in range(6):
            to_joint_coordinates(w, M + i, 6)
    factorize(w)

    # Φ^C, eq (2)
    lower_times(w, A_UX, 1, 6, ZA)  # Φ_xu is the transpose of Φ_ux
    load_symmetric(store, A, UU, w, A_UU)
    take(w, A_UU, ZA)
    store_symmetric(w, A_UU, store, C, UU)
    if two:
        load_block(store, B_uv, 0, 9, w, B_YV)
        add_where(w, SINGLE_B, B_YY, B_YV)
        if special:
            for i in range(6):
                to_joint_coordinates(w, B_YV + i, 6)
        lower_times(w, B_YV, 6, 1, ZB)
        load_symmetric(store, B_vv, 0, w, B_VV)
        take(w, B_VV, ZB)
        transposed_times(w, ZA, ZB, OUT)
        store_symmetric(w, B_VV, store, C, VV)
        store_block(w, OUT, 9, store, C, UV)

    for k in range(d):
        motion_row(v_start, tree, nodes, k, special, w, motion)
    if special:
        for i in range(6):
            from_joint_coordinates(w, WW + 6 * i, 1)
        for i in range(6):
            from_joint_coordinates(w, WW + i, 6)
    store_symmetric(w, WW, store, C, W)
    for k in range(6):
        for lane in range(LANES):
            inverse = w[LANES * (LINV + 7 * k) + lane]  # 1/l, zero for free directions
            if not inverse * inverse * w[LANES * (M + 7 * k) + lane] < LOST:  # also catches nan
                return int(nodes[lane])
    return -1


@kernel(inline=True)
def motion_row(v_start: Ints, tree: Ints, nodes: Ints, k: int, special: bool, w: Floats, motion: Floats) -> None:
    """N and E of degree of freedom k of every lane: N = 1_f − M_f W, E = N M over the joint's own coordinates."""
    same = True
    hot = FREED[tree[nodes[0], KIND], k]
    for lane in range(LANES):
        kind = tree[nodes[lane], KIND]
        same = same and FREED[kind, k] == hot
        for i in range(6):
            w[LANES * (HOT + i) + lane] = 1.0 if FREED[kind, k] == i else 0.0
    for j in range(6):  # the row of M that belongs to this degree of freedom
        if same:
            put(w, V + j, get(w, M + 6 * hot + j))
        else:
            put(w, V + j, sum6(w, HOT, 1, M + j, 6))
    for j in range(6):
        put(w, ROW + N + j, get(w, HOT + j) - sum6(w, V, 1, WW + j, 6))
    for j in range(6):
        put(w, ROW + 6 + j, sum6(w, ROW + N, 1, M + j, 6))
    if special:
        from_joint_coordinates(w, ROW + N, 1)
    for lane in range(LANES):
        row = v_start[tree[nodes[lane], JOINT_OF]] + k
        kind = tree[nodes[lane], KIND]
        for j in range(6):
            motion[row, N + j] = w[LANES * (ROW + N + j) + lane]
        for j in range(DOF_OF[kind]):
            motion[row, E + j] = w[LANES * (ROW + 6 + FREED[kind, j]) + lane]


@kernel(inline=True)
def join_forces(
    v_start: Ints,
    tree: Ints,
    Q: Floats,
    c: Floats,
    nodes: Ints,
    A_vv: Ints,
    A_uv: Ints,
    A_b: Ints,
    B: Ints,
    B_uv: Ints,
    B_b: Ints,
    C: Ints,
    store: Floats,
    motion: Floats,
    w: Floats,
) -> None:
    """Everything of the LANES nodes that depends on forces; their geometry is up to date.

    Q (nv,): joint forces. c (n, 6): velocity products of the joints, body frames; no rows: at rest.
    """
    beta, gamma, gamma_x, b = V, V + 6, V + 12, V + 20
    two = tree[nodes[0], TWO] != 0
    mark_singles(tree, nodes, w)
    load_block(store, C, JOINT, 3, w, X)
    load_symmetric(store, C, W, w, WW)
    load_block(store, A_b, 0, 3, w, b)  # b_u, b_x
    load_block(store, B_b, 0, 3, w, b + 12)  # b_y, b_v

    # β = b_x − b_y + c, in y's frame
    for k in range(6):
        put(w, beta + k, get(w, b + 6 + k))
    motion_to_child(w, X, beta, 1)
    for k in range(6):
        put(w, beta + k, get(w, beta + k) - get(w, b + 12 + k))
    if len(c) > 0:
        for lane in range(LANES):
            if tree[nodes[lane], JOINT_OF] >= 0:
                for k in range(6):
                    w[LANES * (beta + k) + lane] += c[tree[nodes[lane], JOINT_OF], k]

    # γ = W β + Nᵀ Q,  R = E Q − N β
    for i in range(6):
        put(w, gamma + i, sum6(w, WW + 6 * i, 1, beta, 1))
    for lane in range(LANES):
        kind = tree[nodes[lane], KIND]
        if kind == FIXED:
            continue
        first = v_start[tree[nodes[lane], JOINT_OF]]
        for k in range(DOF_OF[kind]):
            r = 0.0
            size = 0.0
            for j in range(DOF_OF[kind]):
                r += motion[first + k, E + j] * Q[first + j]
                size += abs(motion[first + k, E + j] * Q[first + j])
            for i in range(6):
                x = w[LANES * (beta + i) + lane]
                r -= motion[first + k, N + i] * x
                size += abs(motion[first + k, N + i]) * (abs(x) + abs(w[LANES * (b + 12 + i) + lane]))
            motion[first + k, R] = r
            motion[first + k, SIZE] = size
            if Q[first + k] != 0.0:
                for i in range(6):
                    w[LANES * (gamma + i) + lane] += motion[first + k, N + i] * Q[first + k]

    # b_u −= Φ_ux γ,  b_v += Φ_vy γ
    load_block(store, A_uv, 0, 9, w, A_UX)
    load_symmetric(store, A_vv, 0, w, M)
    add_where(w, SINGLE_A, M, A_UX)
    force_to_parent(w, X, gamma, 1, gamma_x)
    for i in range(6):
        put(w, b + i, get(w, b + i) - sum6(w, A_UX + 6 * i, 1, gamma_x, 1))
    if two:
        load_block(store, B_uv, 0, 9, w, B_YV)
        load_symmetric(store, B, UU, w, B_YY)
        add_where(w, SINGLE_B, B_YY, B_YV)
        for i in range(6):
            put(w, b + 6 + i, get(w, b + 18 + i) + sum6(w, B_YV + i, 6, gamma, 1))
    else:
        for i in range(6):
            put(w, b + 6 + i, get(w, b + i))
    store_block(w, b, 3, store, C, BIAS)
    for k in range(6, 8):
        put(w, gamma + k, spread(0.0))
    store_block(w, gamma, 2, store, C, GAMMA)
