"""The sparse LᵀDL factorisation against dense Cholesky, on branched trees, without fill-in."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from helpers import ALL_KINDS, EPS, random_arrays, random_inputs, relative_error

from adaptive_sim import mass_matrix
from adaptive_sim.exact import dynamics, ltdl

pytestmark = pytest.mark.plain

# A factorisation of a 30×30 matrix without pivoting, positive definite: backward stable, 30 roundings per entry.
BACKWARD = 100 * EPS
# Solving amplifies by the condition.
SAFETY = 50.0

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


class Factored:
    def __init__(self, shape: str, seed: int) -> None:
        arrays = random_arrays(14, seed, ALL_KINDS, shape=shape)
        self.linkage = arrays.linkage()
        q = random_inputs(arrays, seed).q
        self.H = mass_matrix(self.linkage, q)
        rows = dynamics._inertia_rows(self.linkage, q)
        self.parent, self.start = rows.dof_parent, rows.row_start
        self.stored = rows.H
        assert ltdl.factorize(self.stored, self.parent, self.start) == -1

    def dense(self) -> tuple[np.ndarray, np.ndarray]:
        """L (unit lower triangular) and the diagonal of D from the rows."""
        n = len(self.parent)
        L, D = np.eye(n), np.empty(n)
        for k in range(n):
            D[k] = self.stored[self.start[k]]
            j, at = self.parent[k], self.start[k] + 1
            while j >= 0:
                L[k, j] = self.stored[at]
                j, at = self.parent[j], at + 1
        return L, D


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_factors_multiply_to_the_matrix(shape: str, seed: int) -> None:
    f = Factored(shape, seed)
    L, D = f.dense()
    assert (D > 0.0).all()
    assert relative_error(L.T @ np.diag(D) @ L, f.H) <= BACKWARD


@SHAPES
def test_against_dense_cholesky(shape: str) -> None:
    """Factorising from the tips inwards is the ordinary Cholesky of the matrix turned round."""
    f = Factored(shape, 7)
    L, D = f.dense()
    turned = np.linalg.cholesky(f.H[::-1, ::-1])[::-1, ::-1]  # upper triangular: H = U Uᵀ, U = Lᵀ √D
    assert relative_error(L.T * np.sqrt(D), turned) <= BACKWARD * np.linalg.cond(f.H)


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_solve(shape: str, seed: int) -> None:
    f = Factored(shape, seed + 20)
    b = np.random.default_rng(seed).normal(size=len(f.H))
    x = b.copy()
    ltdl.solve(f.stored, f.parent, f.start, x)
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(f.H), b)
    assert relative_error(x, expected) <= SAFETY * EPS * np.linalg.cond(f.H)
    assert np.abs(f.H @ x - b).max() <= BACKWARD * np.abs(f.H).max() * np.abs(x).max()


def test_no_fill_in_between_branches() -> None:
    """L has entries only where the tree has: a dense factorisation in the wrong direction fills everything."""
    f = Factored("star", 3)
    L, _ = f.dense()
    possible = len(f.stored)
    assert np.count_nonzero(L) <= possible
    filled = np.count_nonzero(np.abs(np.linalg.cholesky(f.H)) > 0.0)  # from the base outwards
    assert filled > possible


@pytest.mark.parametrize("entry", [0.0, -1.0, np.nan])
def test_a_bad_pivot_is_reported(entry: float) -> None:
    """[[2, 1], [1, e]]: the first pivot taken is e (tips first), then 2 − 1/e."""
    parent, start = np.array([-1, 0]), np.array([0, 1, 3])
    assert ltdl.factorize(np.array([2.0, entry, 1.0]), parent, start) == 1
    assert ltdl.factorize(np.array([0.5, 1.0, 1.0]), parent, start) == 0, "2 − 1/e is negative"
    assert ltdl.factorize(np.array([2.0, 1.0, 1.0]), parent, start) == -1
