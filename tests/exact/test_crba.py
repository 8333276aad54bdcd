"""The inertia matrix: against Σ Jᵀ I J, dense and sparse, any order, its stored entries and its memory guard."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse
from conftest import PLAIN
from helpers import ALL_KINDS, DOF, EPS, FREE, kind_id, random_arrays, random_inputs, relative_error

from adaptive_sim import Linkage, UnsupportedError, forward_dynamics, inverse_dynamics, mass_matrix
from adaptive_sim.exact import crba, dynamics

from . import oracle

# Composite inertias are sums over subtrees (12 bodies) carried through up to 12 frames.
SUMS = 200 * EPS

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


@pytest.mark.plain
@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_against_jacobians(shape: str, seed: int) -> None:
    arrays = random_arrays(12, seed, ALL_KINDS, shape=shape, shuffle=seed > 0)
    x = random_inputs(arrays, seed + 60)
    H = mass_matrix(arrays.linkage(), x.q)
    assert relative_error(H, oracle.mass_matrix(arrays, x.q)) <= SUMS
    assert np.array_equal(H, H.T)
    assert np.linalg.eigvalsh(H).min() > 0.0


@pytest.mark.plain
@pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)
def test_each_joint_type(kind) -> None:
    arrays = random_arrays(4, int(kind), [kind], shape="branched")
    x = random_inputs(arrays, 1)
    assert relative_error(mass_matrix(arrays.linkage(), x.q), oracle.mass_matrix(arrays, x.q)) <= SUMS


@pytest.mark.plain
def test_columns_are_inverse_dynamics_of_unit_accelerations() -> None:
    arrays = random_arrays(9, 2, ALL_KINDS, shuffle=True)
    x, linkage = random_inputs(arrays, 3), arrays.linkage()
    H = mass_matrix(linkage, x.q)
    columns = [inverse_dynamics(linkage, x.q, None, e, gravity=None) for e in np.eye(arrays.nv)]
    assert relative_error(np.array(columns).T, H) <= SUMS


@pytest.mark.plain
@SHAPES
@pytest.mark.parametrize("shuffle", [False, True])
def test_sparse_equals_dense_and_has_the_pattern_of_the_tree(shape: str, shuffle: bool) -> None:
    arrays = random_arrays(15, 4, ALL_KINDS, shape=shape, shuffle=shuffle)
    x, linkage = random_inputs(arrays, 5), arrays.linkage()
    sparse = mass_matrix(linkage, x.q, sparse=True)
    assert isinstance(sparse, scipy.sparse.csr_array)
    assert np.array_equal(sparse.toarray(), mass_matrix(linkage, x.q))
    # (i, j) can be non-zero only where one joint carries the other.
    body = np.repeat(np.arange(arrays.n), arrays.v_sizes)
    carried = np.eye(arrays.n, dtype=bool)
    for i in range(arrays.n):
        k = arrays.parent[i]
        while k >= 0:
            carried[i, k] = carried[k, i] = True
            k = arrays.parent[k]
    assert sparse.nnz == carried[np.ix_(body, body)].sum()
    assert not sparse.toarray()[~carried[np.ix_(body, body)]].any()


def rows_of(linkage: Linkage) -> dynamics.InertiaRows:
    return dynamics._inertia_rows(linkage, linkage.q_to_model(dynamics.check_position(linkage, None)))


@pytest.mark.plain
@SHAPES
def test_stored_entries_are_the_sum_of_depths(shape: str) -> None:
    """Row k holds one entry per degree of freedom on the way to the base: nothing for other branches."""
    arrays = random_arrays(40, 6, ALL_KINDS, shape=shape)
    linkage = arrays.linkage()
    rows = rows_of(linkage)
    # Depth of each degree of freedom, counted in degrees of freedom, by walking the tree.
    depths = []
    for i, kind in enumerate(arrays.kinds):
        above, k = 0, arrays.parent[i]
        while k >= 0:
            above, k = above + DOF[arrays.kinds[k]], arrays.parent[k]
        depths += [above + d + 1 for d in range(DOF[kind])]
    assert len(rows.H) == rows.row_start[-1] == sum(depths)
    assert np.diff(rows.row_start).tolist() == depths
    assert np.isfinite(rows.H).all()


@pytest.mark.plain
def test_degrees_of_freedom_pass_through_fixed_joints() -> None:
    # revolute ─ fixed ─ cylindrical
    parent, starts = np.array([-1, 0, 1]), np.array([0, 1, 1, 3])
    dof_parent, body, row_start = np.full(3, -9), np.full(3, -9), np.full(4, -9)
    crba.dof_parents(parent, starts, dof_parent, body, row_start)
    assert dof_parent.tolist() == [-1, 0, 1]
    assert body.tolist() == [0, 2, 2]
    assert row_start.tolist() == [0, 1, 3, 6]
    column = np.full(6, -9)
    crba.row_columns(dof_parent, row_start, column)
    assert column.tolist() == [0, 1, 0, 2, 1, 0]


# -------------------------------------------------------------------- memory guard


def simple_chain(n: int) -> Linkage:
    return Linkage.from_arrays(
        np.arange(-1, n - 1), np.zeros(n, dtype=np.int64), mass=np.ones(n), center_of_mass=np.zeros((n, 3)),
        inertia=np.broadcast_to(np.eye(3), (n, 3, 3)), name="long chain",
    )  # fmt: skip


@pytest.mark.skipif(PLAIN, reason="200,000 bodies")
@pytest.mark.parametrize("how", ["dense", "sparse", "crba"])
def test_too_large_is_refused_fast_with_a_remedy(how: str) -> None:
    linkage = simple_chain(200_000)
    ask = {
        "dense": lambda: mass_matrix(linkage),
        "sparse": lambda: mass_matrix(linkage, sparse=True),
        "crba": lambda: forward_dynamics(linkage, method="crba"),
    }[how]
    needs = "149.0" if how == "crba" else "2086.2"  # 8 bytes per entry; 14 times that to hand it out as a matrix
    start = time.perf_counter()
    with pytest.raises(UnsupportedError, match=rf"'long chain' \(depth 200,000\) needs {needs} GiB \(limit 4\).*'aba'"):
        ask()
    assert time.perf_counter() - start < 5.0, "must be refused before anything large is computed"


@pytest.mark.skipif(PLAIN, reason="30,000 bodies")
def test_dense_matrix_of_a_wide_tree_is_refused_but_the_sparse_one_is_fine() -> None:
    """A star of 30,000: few stored entries, but nine hundred million numbers if written out."""
    n = 30_000
    linkage = Linkage.from_arrays(
        np.r_[-1, np.zeros(n - 1, dtype=np.int64)], np.r_[int(FREE), np.zeros(n - 1, dtype=np.int64)],
        mass=np.ones(n), center_of_mass=np.zeros((n, 3)), inertia=np.broadcast_to(np.eye(3), (n, 3, 3)),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"dense 30,005×30,005 mass matrix needs 6.7 GiB.*sparse=True"):
        mass_matrix(linkage)
    H = mass_matrix(linkage, sparse=True)
    assert H.shape == (n + 5, n + 5)
    assert H.nnz == 36 + (n - 1) * 13
