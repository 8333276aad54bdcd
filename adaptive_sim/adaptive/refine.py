"""Partial back-substitution: compute the joint accelerations that matter, largest total acceleration first.

Redon & Lin 2005, §4.3. The *frontier* is the set of open subassemblies: nodes whose forces are known and whose inside
is taken to be at rest. Its total accelerations bound the error. Popping the largest one computes its principal joint
and opens its two children. The loop may stop at any time: the bound can only fall.

    measure               error                        bound
    absolute_linkage      ‖s − q̈‖                      √(Σ_frontier 𝒜 + Σ δ²)
    relative_linkage      ‖s − q̈‖ / ‖q̈‖                the same, over a lower bound of ‖q̈‖
    absolute_joint        max ‖s_j − q̈_j‖              max(√𝒜 over the frontier, δ)
    relative_joint        ... / max ‖q̈_j‖              the same, over the largest computed ‖q̈_j‖ (less its δ)

Rounding is part of the bound: every √𝒜 is taken with what rounding may add to it, and δ is what rounding may have done
to a computed joint. So what double precision cannot certify is opened, not claimed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import kernel
from ..linkage.model import KernelModel
from ..typing import Floats, Ints
from .passes import substitute_node
from .record import (
    AT,
    AT_UV,
    FACTOR,
    GAMMA,
    JOINT,
    JOINT_OF,
    KAPPA,
    LOWER,
    RANK,
    SINGLE,
    SIZE,
    TWO,
    UPPER,
    UU,
    Coefficients,
    N,
    Plan,
)
from .total_acceleration import ROUNDINGS, UNIT_ROUNDOFF, total_acceleration

ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)
MEASURES = ("absolute_linkage", "relative_linkage", "absolute_joint", "relative_joint")

# entries of `Frontier.counts`
OPEN, VISITED = range(2)
# entries of `Frontier.value`
LARGEST, SMALLEST_SCALE, ROUNDING_SUM, ROUNDING_MAX, BOUND, OPEN_SUM = range(6)


class Frontier(NamedTuple):
    """The state of a refinement; meaningless once positions or forces change."""

    key: Floats  # (n_inner + 1,) heap: √𝒜 of the open nodes, rounding included, largest first
    node: Ints  # (n_inner + 1,) heap: the open nodes
    visited: Ints  # (n_inner + 1,) nodes whose principal joint was computed, in order
    F: Floats  # (n, 12) outside forces on u and v of open and visited nodes
    acceleration: Floats  # (nv,) s: computed accelerations, zero elsewhere
    counts: Ints  # (2,) OPEN, VISITED
    value: Floats  # (6,) largest computed ‖q̈_j‖, lower bound of ‖q̈‖, Σδ², max δ, bound reached, Σ_frontier 𝒜


def make_frontier(plan: Plan, nv: int) -> Frontier:
    inner = len(plan.order)
    return Frontier(
        np.zeros(inner + 1), np.zeros(inner + 1, dtype=np.int64), np.zeros(inner, dtype=np.int64),
        np.zeros((len(plan.tree), 14)), np.zeros(nv), np.zeros(2, dtype=np.int64), np.zeros(6),
    )  # fmt: skip


@kernel(inline=True)
def push(key: Floats, node: Ints, size: int, k: float, i: int) -> None:
    """Add to a heap of the given size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if key[above] >= k:
            break
        key[at] = key[above]
        node[at] = node[above]
        at = above
    key[at] = k
    node[at] = i


@kernel(inline=True)
def pop(key: Floats, node: Ints, size: int) -> None:
    """Remove the largest from a heap of the given size; read it before."""
    last = size - 1
    k, i = key[last], node[last]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and key[child + 1] > key[child]:
            child += 1
        if key[child] <= k:
            break
        key[at] = key[child]
        node[at] = node[child]
        at = child
    key[at] = k
    node[at] = i


@kernel
def restart(model: KernelModel, plan: Plan, coefficients: Coefficients, frontier: Frontier) -> None:
    """Start anew: only the whole linkage is open, nothing is computed."""
    tree, v_start, visited, acceleration = plan.tree, model.v_start, frontier.visited, frontier.acceleration
    for k in range(frontier.counts[VISITED]):
        joint = tree[visited[k], JOINT_OF]
        if joint >= 0:
            for row in range(v_start[joint], v_start[joint + 1]):
                acceleration[row] = 0.0
    base = plan.order[len(plan.order) - 1]
    for k in range(14):
        frontier.F[base, k] = 0.0
    root, rounding = total_acceleration(coefficients.factor.reshape(-1), base - len(plan.leaf_body), frontier.F, base)
    frontier.key[0] = root + rounding
    frontier.node[0] = base
    frontier.counts[OPEN] = 1
    frontier.counts[VISITED] = 0
    frontier.value[:] = 0.0
    frontier.value[SMALLEST_SCALE] = max(root - rounding, 0.0)
    frontier.value[OPEN_SUM] = frontier.key[0] ** 2
    frontier.value[BOUND] = np.inf


@kernel(inline=True)
def error_and_scale(key: Floats, counts: Ints, value: Floats, measure: int, exact: bool) -> tuple[float, float]:
    """The error bound of the present frontier and what it is relative to (1 for absolute measures).

    exact: add the frontier up anew instead of trusting the running sum, which drifts.
    """
    open_ = counts[OPEN]
    if measure == ABSOLUTE_LINKAGE or measure == RELATIVE_LINKAGE:
        total = value[OPEN_SUM]
        if exact:
            total = 0.0
            for k in range(open_):
                total += key[k] * key[k]
            value[OPEN_SUM] = total
        error = np.sqrt(max(total, 0.0) + value[ROUNDING_SUM])
    else:
        error = max(key[0] if open_ > 0 else 0.0, value[ROUNDING_MAX])
    if measure == RELATIVE_LINKAGE:
        return error, value[SMALLEST_SCALE]
    if measure == RELATIVE_JOINT:
        return error, value[LARGEST]
    return error, 1.0


@kernel
def carry_force_sizes(tree: Ints, i: int, kappa: float, store: Floats, F: Floats) -> None:
    """By how much moments and forces may be off, in roundings: the largest met on the way down, each magnified by the κ
    of the node that found it. What is left of them when they cancel has their rounding.
    """
    A, B, at = tree[i, UPPER], tree[i, LOWER], tree[i, AT]
    n, f = F[i, 12], F[i, 13]
    for k in range(3):
        n = max(n, kappa * max(abs(F[A, 6 + k]), abs(F[B, k]) + abs(store[at + GAMMA + k])))
        f = max(f, kappa * (abs(F[B, 3 + k]) + abs(store[at + GAMMA + 3 + k])))
    F[A, 12] = F[B, 12] = n
    F[A, 13] = F[B, 13] = f


@kernel
def relative_sizes(tree: Ints, i: int, store: Floats, F: Floats) -> tuple[float, float]:
    """Angular and linear acceleration at the joint that the rounding of the forces could give, in roundings."""
    n, f = F[i, 12], F[i, 13]
    angular, linear = 0.0, 0.0
    A, B = tree[i, UPPER], tree[i, LOWER]
    for side in range(2):
        child = A if side == 0 else B
        if side == 1 and tree[i, TWO] == 0:
            continue
        a, l = 0.0, 0.0
        for row in range(6):
            s = 0.0
            for column in range(6):
                if tree[child, SINGLE] != 0:
                    r, c = min(row, column), max(row, column)
                    x = store[tree[child, AT] + UU + r * 6 - r * (r - 1) // 2 + c - r]
                else:
                    x = store[tree[child, AT_UV] + (6 * column + row if side == 0 else 6 * row + column)]
                s += abs(x) * (n if column < 3 else f)
            if row < 3:
                a = max(a, s)
            else:
                l = max(l, s)
        angular += a
        linear += l
        if side == 0:
            for k in range(3):
                linear += abs(store[tree[i, AT] + JOINT + 9 + k]) * a
    return angular, linear


@kernel
def refine(
    model: KernelModel,
    plan: Plan,
    weight: Floats,
    coefficients: Coefficients,
    frontier: Frontier,
    measure: int,
    threshold: float,
    limit: int,
) -> bool:
    """Open nodes until the error is at most `threshold` or `limit` nodes in all are visited.

    Returns whether the threshold was reached. frontier.value[BOUND] holds the bound reached.
    """
    key, node, F, value, counts = frontier.key, frontier.node, frontier.F, frontier.value, frontier.counts
    tree, v_start = plan.tree, model.v_start
    store, motion, visited, acceleration = (
        coefficients.store,
        coefficients.motion,
        frontier.visited,
        frontier.acceleration,
    )
    factor = coefficients.factor.reshape(-1)
    leaves = len(plan.leaf_body)
    z = np.empty(12)
    reached = False
    while True:
        error, scale = error_and_scale(key, counts, value, measure, False)
        if error <= threshold * scale or counts[OPEN] == 0 or counts[VISITED] >= limit:
            error, scale = error_and_scale(key, counts, value, measure, True)
            reached = error <= threshold * scale
            if reached or counts[OPEN] == 0 or counts[VISITED] >= limit:
                break
        largest = key[0]
        i = node[0]
        pop(key, node, counts[OPEN])
        counts[OPEN] -= 1
        value[OPEN_SUM] -= largest * largest
        visited[counts[VISITED]] = i
        counts[VISITED] += 1
        substitute_node(v_start, tree, i, store, motion, F, z, acceleration)

        joint = tree[i, JOINT_OF]
        kappa = factor[FACTOR * (i - leaves) + KAPPA]
        carry_force_sizes(tree, i, kappa, store, F)
        e_ang, e_lin = relative_sizes(tree, i, store, F)
        if joint >= 0:
            square = 0.0
            rounding = 0.0
            for row in range(v_start[joint], v_start[joint + 1]):
                s = weight[row] * acceleration[row]
                square += s * s
                size = motion[row, SIZE]
                for k in range(6):
                    own = kappa * (abs(z[6 + k]) + 2.0 * abs(z[k]))
                    size += abs(motion[row, N + k]) * (own + (e_ang if k < 3 else e_lin))
                size *= ROUNDINGS * UNIT_ROUNDOFF * weight[row]
                rounding += size * size
            value[ROUNDING_SUM] += rounding
            value[ROUNDING_MAX] = max(value[ROUNDING_MAX], np.sqrt(rounding))
            value[LARGEST] = max(value[LARGEST], np.sqrt(square) - np.sqrt(rounding))
        for child in (tree[i, UPPER], tree[i, LOWER]):
            if child < leaves or tree[child, RANK] == 0:  # no joint inside that can move
                continue
            total, rounding = total_acceleration(factor, child - leaves, F, child)
            # What a part adds up to is no more than what the whole did.
            k = min(total + rounding, largest)
            push(key, node, counts[OPEN], k, child)
            counts[OPEN] += 1
            value[OPEN_SUM] += k * k
    bound = error / scale if scale > 0.0 else (0.0 if error == 0.0 else np.inf)
    value[BOUND] = min(value[BOUND], bound)
    return reached
