"""The total acceleration of a subassembly as a factor: 𝒜(C) = Σ q̈ᵀq̈ over the joints inside = ‖L_C [F_u; F_v; 1]‖².

Redon & Lin 2005 (§4.2) carry the quadratic form FᵀΨF + Fᵀp + η. Near equilibrium its terms cancel and the guarantee
is lost; a factor L with 𝒜 = ‖L [F; 1]‖² cannot become negative and errs by a rounding in √𝒜, not in 𝒜 (MATH §4).

    join:  rows of the joint   [K_u K_v R],  K_u = −N Φ_xu,  K_v = N Φ_yv
           rows of A           L_A with the force on x replaced by −(G_u F_u + G_v F_v + γ), in x's frame
           rows of B           L_B with the force on y replaced by    G_u F_u + G_v F_v + γ
           stacked; when there are more rows than columns, an orthogonal transformation (Householder) leaves as many
           rows as columns, and what remains of the last column is one number, ρ:  𝒜 = ‖L [F; 1]‖² + ρ².

A weight on a joint's acceleration is a scaling of its rows. σ keeps the size of what was added up into the last column
anywhere inside, each part magnified by the κ of its join (see `condition`): the rounding errors are of the order of
u σ, however small the sum came out.
"""

from __future__ import annotations

import numpy as np

from ..compiled import kernel
from ..spatial.lanes import (
    LANES,
    Lanes,
    get,
    lanes_copysign,
    lanes_sqrt,
    lanes_sum,
    load_columns,
    put,
    spread,
    store_columns,
)
from ..typing import Floats, Ints
from .condition import carry_condition
from .join import (
    A_UX,
    B_VV,
    B_YV,
    B_YY,
    DOF_OF,
    OUT,
    SINGLE_A,
    SINGLE_B,
    WORK,
    WW,
    ZA,
    ZB,
    M,
    V,
    X,
    add_where,
    force_to_parent,
    load_block,
    load_symmetric,
    mark_singles,
    motion_to_child,
    sum6,
)
from .record import (
    AT_BIAS,
    FACTOR,
    GAMMA,
    JOINT,
    JOINT_OF,
    KAPPA,
    KAPPA_INSIDE,
    KIND,
    LOWER,
    RHO,
    ROWS,
    SINGLE,
    SIZE,
    SLOTS,
    TWO,
    UPPER,
    UU,
    N,
    R,
    W,
)

# The force transmitted by the joint per outside force, in the work array's own blocks.
G_U, G_V = ZA, ZB  # y's frame
H_U, H_V = OUT, B_VV  # the same in x's frame
GAMMA_Y, GAMMA_X = V, V + 6
N_ROW = V + 12  # N of one degree of freedom
STACK = WORK  # (30 × 13) stacked rows, row by row
LOADED = STACK + 390  # (13 × 12) factor of a child, column by column
TAIL = LOADED + 156  # (4) ρ, σ of a child
RESULT = TAIL + 4  # (4) ρ, σ of the node
CARRIED = RESULT + 4  # (2) angular and linear size of what was added up into any b inside
MAGNIFIED = CARRIED + 2  # (1) κ of the node
TOTAL_WORK = CARRIED + 4

# Added to squares so that a zero column needs no branch; far below any square that counts.
_TINY = 1e-290


@kernel(inline=True)
def join_total(
    v_start: Ints,
    tree: Ints,
    leaves: int,
    weight: Floats,
    nodes: Ints,
    A_vv: Ints,
    A_uv: Ints,
    B: Ints,
    B_uv: Ints,
    C: Ints,
    L_A: Ints,
    L_B: Ints,
    store: Floats,
    motion: Floats,
    factor: Floats,
    moved: bool,
    w: Floats,
) -> None:
    """The factors of LANES nodes of one class; geometry and forces are up to date.

    weight (nv,). A_vv … C from `join.locate`; L_A, L_B (LANES,) are scratch; factor is the flat array of records;
    moved: whether the geometry has changed, not only the forces.
    """
    for lane in range(LANES):
        L_A[lane] = FACTOR * max(tree[nodes[lane], UPPER] - leaves, 0)
        L_B[lane] = FACTOR * max(tree[nodes[lane], LOWER] - leaves, 0)
    first = nodes[0]  # all lanes are of one class
    two = tree[first, TWO] != 0
    d, rows_a, rows_b = DOF_OF[tree[first, KIND]], tree[first, SLOTS] // 16, tree[first, SLOTS] % 16
    columns = 12 if two else 6

    # G = W Φ_x·: the transmitted force per outside force
    mark_singles(tree, nodes, w)
    load_block(store, C, JOINT, 3, w, X)
    load_symmetric(store, C, W, w, WW)
    load_block(store, C, GAMMA, 2, w, GAMMA_Y)
    load_symmetric(store, A_vv, 0, w, M)
    load_block(store, A_uv, 0, 9, w, A_UX)
    add_where(w, SINGLE_A, M, A_UX)
    for i in range(6):
        motion_to_child(w, X, A_UX + 6 * i, 1)
    for i in range(6):
        for j in range(6):
            put(w, G_U + 6 * i + j, sum6(w, WW + 6 * i, 1, A_UX + 6 * j, 1))
    if two:
        load_symmetric(store, B, UU, w, B_YY)
        load_block(store, B_uv, 0, 9, w, B_YV)
        add_where(w, SINGLE_B, B_YY, B_YV)
        for i in range(6):
            for j in range(6):
                put(w, G_V + 6 * i + j, -sum6(w, WW + 6 * i, 1, B_YV + j, 6))

    if moved:
        carry_condition(v_start, tree, leaves, G_U, G_V, nodes, C, store, motion, factor, w)

    # rows of the joint itself
    carry_sizes(v_start, tree, leaves, d, nodes, C, store, motion, factor, w)
    put(w, RESULT, spread(0.0))
    put(w, RESULT + 1, spread(0.0))
    for k in range(d):
        for lane in range(LANES):
            row = v_start[tree[nodes[lane], JOINT_OF]] + k
            for i in range(6):
                w[LANES * (N_ROW + i) + lane] = weight[row] * motion[row, N + i]
            w[LANES * (STACK + 13 * k + 12) + lane] = weight[row] * motion[row, R]
            size = weight[row] * motion[row, SIZE]
            w[LANES * (RESULT + 1) + lane] += size * size
        for j in range(6):
            put(w, STACK + 13 * k + j, -sum6(w, N_ROW, 1, A_UX + 6 * j, 1))
            if two:
                put(w, STACK + 13 * k + 6 + j, sum6(w, N_ROW, 1, B_YV + j, 6))

    if rows_a > 0:
        force_to_parent(w, X, GAMMA_Y, 1, GAMMA_X)
        for j in range(6):
            force_to_parent(w, X, G_U + j, 6, H_U + j)
            if two:
                force_to_parent(w, X, G_V + j, 6, H_V + j)
        load_factor(factor, L_A, rows_a, w)
        for r in range(rows_a):
            row = STACK + 13 * (d + r)
            for j in range(6):
                put(w, row + j, get(w, LOADED + 12 * j + r) - sum6(w, LOADED + 72 + r, 12, H_U + j, 6))
                if two:
                    put(w, row + 6 + j, -sum6(w, LOADED + 72 + r, 12, H_V + j, 6))
            pulled = sum6(w, LOADED + 72 + r, 12, GAMMA_X, 1)
            last_column(w, row, r, -pulled, abs_sum6(w, LOADED + 72 + r, 12, GAMMA_X))
    if rows_b > 0:
        load_factor(factor, L_B, rows_b, w)
        for r in range(rows_b):
            row = STACK + 13 * (d + rows_a + r)
            for j in range(6):
                put(w, row + j, sum6(w, LOADED + r, 12, G_U + j, 6))
                if two:
                    taken = sum6(w, LOADED + r, 12, G_V + j, 6)
                    put(w, row + 6 + j, get(w, LOADED + 72 + 12 * j + r) + taken)
            pulled = sum6(w, LOADED + r, 12, GAMMA_Y, 1)
            last_column(w, row, r, pulled, abs_sum6(w, LOADED + r, 12, GAMMA_Y))

    m = d + rows_a + rows_b
    if m > columns:
        for j in range(columns):
            reflect(w, j, m, columns)
        rest = get(w, RESULT)
        for i in range(columns, m):
            rest = rest + get(w, STACK + 13 * i + 12) * get(w, STACK + 13 * i + 12)
        put(w, RESULT, rest)
        m = columns
    for lane in range(LANES):
        L_A[lane] = FACTOR * (nodes[lane] - leaves)
        w[LANES * (RESULT + 2) + lane] = tree[nodes[lane], SINGLE]
    store_factor(w, m, columns, factor, L_A)


@kernel
def carry_sizes(
    v_start: Ints, tree: Ints, leaves: int, d: int, nodes: Ints, C: Ints, store: Floats, motion: Floats, factor: Floats,
    w: Floats,
) -> None:  # fmt: skip
    """SIZE of the joint's rows from the largest b anywhere inside: a small b may have been added up from large ones.

    Joints that cannot move (fixed ones, pieces of a body) round as others do, but have no rows of their own to say so.
    """
    for lane in range(LANES):
        node = nodes[lane]
        kappa = factor[FACTOR * (node - leaves) + KAPPA]
        angular, linear = 0.0, 0.0
        beta_angular, beta_linear = 0.0, 0.0
        for side in range(2):
            child = tree[node, UPPER] if side == 0 else tree[node, LOWER]
            inner = leaves <= child < len(tree) - 1
            record = FACTOR * (child - leaves)
            at = tree[child, AT_BIAS]
            a, l = 0.0, 0.0
            for k in range(3):
                a = max(a, abs(store[at + k]), abs(store[at + 6 + k]))
                l = max(l, abs(store[at + 3 + k]), abs(store[at + 9 + k]))
            if inner:
                a = max(a * factor[record + KAPPA], factor[record + RHO + 2])
                l = max(l * factor[record + KAPPA], factor[record + RHO + 3])
            angular, linear = max(angular, a), max(linear, l)
            beta_angular += a
            beta_linear += l
            if side == 0:
                for k in range(3):
                    beta_linear += abs(store[C[lane] + JOINT + 9 + k]) * a
        w[LANES * CARRIED + lane] = angular
        w[LANES * (CARRIED + 1) + lane] = linear
        w[LANES * MAGNIFIED + lane] = kappa
        if lane > 0 and nodes[lane] == nodes[lane - 1]:  # a short batch repeats its last node: add to it once
            continue
        for k in range(d):
            row = v_start[tree[node, JOINT_OF]] + k
            size = kappa * motion[row, SIZE]
            for i in range(3):
                size += abs(motion[row, N + i]) * beta_angular + abs(motion[row, N + 3 + i]) * beta_linear
            motion[row, SIZE] = size


@kernel(inline=True)
def abs_sum6(w: Floats, a: int, step: int, b: int) -> Lanes:
    """Σ |a_k b_k|: the size of a sum of products."""
    one = spread(1.0)
    s = lanes_copysign(get(w, a) * get(w, b), one)
    for k in range(1, 6):
        s = s + lanes_copysign(get(w, a + step * k) * get(w, b + k), one)
    return s


@kernel(inline=True)
def last_column(w: Floats, row: int, r: int, pulled: Lanes, pulled_size: Lanes) -> None:
    """The entry of a child's row in the last column, and the size of what was added up for it."""
    own = get(w, LOADED + 144 + r)
    put(w, row + 12, own + pulled)
    one = spread(1.0)
    size = get(w, MAGNIFIED) * (lanes_copysign(own, one) + pulled_size)
    put(w, RESULT + 1, get(w, RESULT + 1) + size * size)


@kernel
def load_factor(factor: Floats, at: Ints, rows: int, w: Floats) -> None:
    """A child's factor, column by column; its ρ² is added to the node's, its σ² too."""
    groups = (rows + 3) // 4
    for c in range(13):
        for g in range(groups):
            load_columns(factor, at, 12 * c + 4 * g, w, LOADED + 12 * c + 4 * g)
    load_columns(factor, at, RHO, w, TAIL)
    put(w, RESULT, get(w, RESULT) + get(w, TAIL) * get(w, TAIL))
    put(w, RESULT + 1, get(w, RESULT + 1) + get(w, TAIL + 1) * get(w, TAIL + 1))


@kernel
def store_factor(w: Floats, m: int, columns: int, factor: Floats, at: Ints) -> None:
    """The first m rows of the stack as a factor record; the rows up to the next multiple of four are zero."""
    groups = (m + 3) // 4
    for c in range(columns + 1):
        column = 12 if c == columns else c
        for r in range(m):
            put(w, LOADED + r, get(w, STACK + 13 * r + column))
        for r in range(m, 4 * groups):
            put(w, LOADED + r, spread(0.0))
        for g in range(groups):
            store_columns(w, LOADED + 4 * g, factor, at, ROWS * column + 4 * g)
        if columns == 6 and c < 6:
            repeated = get(w, RESULT + 2)
            for r in range(4 * groups):
                put(w, LOADED + r, get(w, LOADED + r) * repeated)
            for g in range(groups):
                store_columns(w, LOADED + 4 * g, factor, at, ROWS * (6 + c) + 4 * g)
    put(w, RESULT, lanes_sqrt(get(w, RESULT)))
    put(w, RESULT + 1, lanes_sqrt(get(w, RESULT + 1)))
    put(w, RESULT + 2, get(w, CARRIED))
    put(w, RESULT + 3, get(w, CARRIED + 1))
    store_columns(w, RESULT, factor, at, RHO)


@kernel
def reflect(w: Floats, j: int, m: int, columns: int) -> None:
    """One Householder step: rows j … m−1 of column j become (α, 0, …, 0); the reflection acts on the later columns."""
    top = STACK + 13 * j
    square = get(w, top + j) * get(w, top + j)
    for i in range(j + 1, m):
        x = get(w, STACK + 13 * i + j)
        square = square + x * x
    alpha = -lanes_copysign(lanes_sqrt(square), get(w, top + j))
    head = get(w, top + j) - alpha
    put(w, top + j, head)
    scale = 1.0 / (_TINY - alpha * head)  # 2 / ‖v‖²
    k = j + 1
    while k + 2 < columns:  # three columns at a time: each v is loaded once for them, and their sums overlap
        s0 = head * get(w, top + k)
        s1 = head * get(w, top + k + 1)
        s2 = head * get(w, top + k + 2)
        for i in range(j + 1, m):
            v = get(w, STACK + 13 * i + j)
            s0 = s0 + v * get(w, STACK + 13 * i + k)
            s1 = s1 + v * get(w, STACK + 13 * i + k + 1)
            s2 = s2 + v * get(w, STACK + 13 * i + k + 2)
        s0 = s0 * scale
        s1 = s1 * scale
        s2 = s2 * scale
        for i in range(j, m):
            v = get(w, STACK + 13 * i + j)
            put(w, STACK + 13 * i + k, get(w, STACK + 13 * i + k) - s0 * v)
            put(w, STACK + 13 * i + k + 1, get(w, STACK + 13 * i + k + 1) - s1 * v)
            put(w, STACK + 13 * i + k + 2, get(w, STACK + 13 * i + k + 2) - s2 * v)
        k += 3
    while k <= columns:  # what is left, and the last column, which stands at 12
        c = 12 if k == columns else k
        s0 = head * get(w, top + c)
        for i in range(j + 1, m):
            s0 = s0 + get(w, STACK + 13 * i + j) * get(w, STACK + 13 * i + c)
        s0 = s0 * scale
        for i in range(j, m):
            put(w, STACK + 13 * i + c, get(w, STACK + 13 * i + c) - s0 * get(w, STACK + 13 * i + j))
        k += 1
    put(w, top + j, alpha)
    for i in range(j + 1, m):
        put(w, STACK + 13 * i + j, spread(0.0))


# -------------------------------------------------------------------- reading it

# √𝒜 is trusted to this many roundings, magnified by κ, of the sizes that went into it: a model with a margin, not a
# proof. What is needed was measured at every node of random cases against 50 digits (test_guarantee.py).
ROUNDINGS = 64.0
UNIT_ROUNDOFF = 2.0**-53


@kernel(inline=True)
def total_acceleration(factor: Floats, row: int, F: Floats, i: int) -> tuple[float, float]:
    """√𝒜 of the node with factor record `row` under the outside forces F[i], and what rounding may add to it.

    factor is the flat array of records. F[i, 12:14]: by how much moments and forces may be off, in roundings.
    """
    at = FACTOR // LANES * row
    kappa = factor[FACTOR * row + KAPPA_INSIDE]
    y0 = get(factor, at + 36)
    y1 = get(factor, at + 37)
    y2 = get(factor, at + 38)
    one = spread(1.0)
    z0 = lanes_copysign(y0, one)
    z1 = lanes_copysign(y1, one)
    z2 = lanes_copysign(y2, one)
    for c in range(12):
        f = F[i, c]
        g = kappa * abs(f) + (F[i, 12] if c % 6 < 3 else F[i, 13])
        l0 = get(factor, at + 3 * c)
        l1 = get(factor, at + 3 * c + 1)
        l2 = get(factor, at + 3 * c + 2)
        y0 = y0 + l0 * f
        y1 = y1 + l1 * f
        y2 = y2 + l2 * f
        z0 = z0 + lanes_copysign(l0, one) * g
        z1 = z1 + lanes_copysign(l1, one) * g
        z2 = z2 + lanes_copysign(l2, one) * g
    rho = factor[FACTOR * row + RHO]
    sigma = factor[FACTOR * row + RHO + 1]
    square = lanes_sum(y0 * y0 + y1 * y1 + y2 * y2) + rho * rho
    size = lanes_sum(z0 * z0 + z1 * z1 + z2 * z2) + sigma * sigma
    return np.sqrt(square), ROUNDINGS * UNIT_ROUNDOFF * np.sqrt(size)
