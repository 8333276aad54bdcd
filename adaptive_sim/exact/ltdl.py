"""LᵀDL factorisation and solve that keep the branch-induced sparsity, O(n·d²) for depth d.

Featherstone's notes on the CRBA ("Sparse Factorization"): factorising from the tips inwards makes no fill-in, so the
factors live in the rows of H (see `crba`): after the factorisation row k holds D_k, then L_kj for its ancestors j.
"""

from __future__ import annotations

from ..compiled import kernel
from ..typing import Floats, Ints


@kernel
def factorize(H: Floats, dof_parent: Ints, row_start: Ints) -> int:
    """H = LᵀDL in place; returns −1, or the degree of freedom whose pivot is not positive."""
    for k in range(len(dof_parent) - 1, -1, -1):
        pivot = H[row_start[k]]
        if not pivot > 0.0:
            return k
        i = dof_parent[k]
        at = row_start[k] + 1  # H_ki
        end = row_start[k + 1]
        while i >= 0:
            a = H[at] / pivot
            # H_ij −= H_kj a for j = i and all its ancestors: row i, beside the rest of row k.
            row = row_start[i]
            for j in range(end - at):
                H[row + j] -= H[at + j] * a
            H[at] = a
            i = dof_parent[i]
            at += 1
    return -1


@kernel
def solve(H: Floats, dof_parent: Ints, row_start: Ints, x: Floats) -> None:
    """x ← (LᵀDL)⁻¹ x with the factors from `factorize`."""
    n = len(dof_parent)
    for k in range(n - 1, -1, -1):  # Lᵀ y = x
        j = dof_parent[k]
        at = row_start[k] + 1
        while j >= 0:
            x[j] -= H[at] * x[k]
            j = dof_parent[j]
            at += 1
    for k in range(n):  # D z = y, L x = z
        total = x[k] / H[row_start[k]]
        j = dof_parent[k]
        at = row_start[k] + 1
        while j >= 0:
            total -= H[at] * x[j]
            j = dof_parent[j]
            at += 1
        x[k] = total
