"""By how much a join magnifies rounding: κ, kept beside the total acceleration.

Φ^C is Φ^A less what the joint takes (eq (2) of Redon & Lin 2005), so a small Φ has the rounding of the large ones it
was subtracted down from: bodies fixed together, pieces of a hub, light bodies between heavy ones. Per handle the
largest diagonal entries on that way, S, are kept. At a joint the rounding of M = Φ_xx + Φ_yy, of the order of u S,
becomes one of W and of E = D⁻¹ of

    δW = W δM W,   δE = N δM Nᵀ:      κ = max(1, W_ii S_i, Σ_i N_ki² S_i / E_kk)

roundings of themselves. First order, and sizes instead of sums of sizes: what the rest amounts to is measured, not
proven (`ROUNDINGS` in `total_acceleration`, tests/adaptive/test_guarantee.py).
"""

from __future__ import annotations

from ..compiled import kernel
from ..spatial.lanes import LANES
from ..typing import Floats, Ints
from .record import (
    AT,
    FACTOR,
    JOINT,
    JOINT_OF,
    KAPPA,
    KAPPA_INSIDE,
    LARGEST_UU,
    LARGEST_VV,
    LOWER,
    TWO,
    UPPER,
    E,
    N,
    W,
)

Diagonal = tuple[float, float, float, float, float, float]


@kernel(inline=True)
def diagonal(store: Floats, at: int) -> Diagonal:
    """Of a packed symmetric block."""
    return (store[at], store[at + 6], store[at + 11], store[at + 15], store[at + 18], store[at + 20])


@kernel(inline=True)
def largest_of(tree: Ints, leaves: int, child: int, entry: int, store: Floats, factor: Floats) -> Diagonal:
    """S of one handle (entry: LARGEST_UU or LARGEST_VV) of a child; the world's is zero."""
    if leaves <= child < len(tree) - 1:
        at = FACTOR * (child - leaves) + entry
        return (factor[at], factor[at + 1], factor[at + 2], factor[at + 3], factor[at + 4], factor[at + 5])
    if child >= leaves:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return diagonal(store, tree[child, AT])


@kernel(inline=True)
def kappa_inside(tree: Ints, leaves: int, child: int, factor: Floats) -> float:
    return factor[FACTOR * (child - leaves) + KAPPA_INSIDE] if leaves <= child < len(tree) - 1 else 1.0


@kernel(inline=True)
def to_child(store: Floats, at: int, S: Diagonal) -> Diagonal:
    """The diagonal of X diag(S) Xᵀ: from x's frame to y's, through the pose at place `at`."""
    px, py, pz = store[at + 9], store[at + 10], store[at + 11]
    # Columns of −Rᵀ[p]×: what an angular acceleration about each axis of x does to the linear one of y.
    angular = (0.0, 0.0, 0.0)
    linear = (0.0, 0.0, 0.0)
    for i in range(3):
        r0, r1, r2 = store[at + i], store[at + 3 + i], store[at + 6 + i]
        a = r0 * r0 * S[0] + r1 * r1 * S[1] + r2 * r2 * S[2]
        c0, c1, c2 = r1 * pz - r2 * py, r2 * px - r0 * pz, r0 * py - r1 * px
        l = r0 * r0 * S[3] + r1 * r1 * S[4] + r2 * r2 * S[5] + c0 * c0 * S[0] + c1 * c1 * S[1] + c2 * c2 * S[2]
        if i == 0:
            angular, linear = (a, 0.0, 0.0), (l, 0.0, 0.0)
        elif i == 1:
            angular, linear = (angular[0], a, 0.0), (linear[0], l, 0.0)
        else:
            angular, linear = (angular[0], angular[1], a), (linear[0], linear[1], l)
    return (angular[0], angular[1], angular[2], linear[0], linear[1], linear[2])


@kernel(inline=True)
def put_larger(w: Floats, G: int, lane: int, S: Diagonal, own: Diagonal, factor: Floats, at: int) -> None:
    """factor[at:] = the larger of a handle's own S and of the diagonal of Gᵀ S G: what rounding of M does to Φ^C."""
    for j in range(6):
        s = 0.0
        for i in range(6):
            x = w[LANES * (G + 6 * i + j) + lane]
            s += S[i] * x * x
        factor[at + j] = max(own[j], s)


@kernel
def carry_condition(
    v_start: Ints,
    tree: Ints,
    leaves: int,
    G_u: int,
    G_v: int,
    nodes: Ints,
    C: Ints,
    store: Floats,
    motion: Floats,
    factor: Floats,
    w: Floats,
) -> None:
    """κ and S of LANES nodes.

    G_u, G_v: where in w the transmitted force per outside force on u and v stands, in y's frame.
    """
    for lane in range(LANES):
        node = nodes[lane]
        if lane > 0 and node == nodes[lane - 1]:  # a short batch repeats its last node
            continue
        A, B = tree[node, UPPER], tree[node, LOWER]
        x = to_child(store, C[lane] + JOINT, largest_of(tree, leaves, A, LARGEST_VV, store, factor))
        y = largest_of(tree, leaves, B, LARGEST_UU, store, factor)
        S = (max(x[0], y[0]), max(x[1], y[1]), max(x[2], y[2]), max(x[3], y[3]), max(x[4], y[4]), max(x[5], y[5]))

        kappa = 1.0
        W_ii = diagonal(store, C[lane] + W)
        for k in range(6):
            kappa = max(kappa, W_ii[k] * S[k])
        joint = tree[node, JOINT_OF]
        if joint >= 0:
            first = v_start[joint]
            for row in range(first, v_start[joint + 1]):
                taken = 0.0
                for k in range(6):
                    taken += S[k] * motion[row, N + k] ** 2
                kappa = max(kappa, taken / motion[row, E + row - first])

        at = FACTOR * (node - leaves)
        factor[at + KAPPA] = kappa
        inside = max(kappa_inside(tree, leaves, A, factor), kappa_inside(tree, leaves, B, factor))
        factor[at + KAPPA_INSIDE] = max(kappa, inside)
        own = largest_of(tree, leaves, A, LARGEST_UU, store, factor)
        put_larger(w, G_u, lane, S, own, factor, at + LARGEST_UU)
        if tree[node, TWO] != 0:
            own = largest_of(tree, leaves, B, LARGEST_VV, store, factor)
            put_larger(w, G_v, lane, S, own, factor, at + LARGEST_VV)
        else:
            for k in range(6):
                factor[at + LARGEST_VV + k] = factor[at + LARGEST_UU + k]
