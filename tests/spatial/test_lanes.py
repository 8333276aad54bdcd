"""Several numbers side by side: the compiled forms against the plain NumPy forms of the same functions."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from conftest import PLAIN

from adaptive_sim.spatial.lanes import (
    LANES,
    get,
    lanes_copysign,
    lanes_sqrt,
    lanes_sum,
    load_columns,
    put,
    spread,
    store_columns,
)

pytestmark = pytest.mark.plain

# One division, one root, four products and sums; contraction may spare a rounding.
FEW_ROUNDINGS = 8 * float(np.finfo(float).eps)


def arithmetic(w):
    """Every operation, with lanes and with plain numbers on either side."""
    a, b = get(w, 0), get(w, 1)
    put(w, 2, a + b)
    put(w, 3, a - b)
    put(w, 4, a * b)
    put(w, 5, a / b)
    put(w, 6, -a)
    put(w, 7, lanes_sqrt(b))
    put(w, 8, 2.0 * a + b * 3.0 - 1.5)
    put(w, 9, spread(w[0]) - (4.0 - a) / 2.0)
    put(w, 10, lanes_copysign(b, a - b))
    put(w, 11, spread(lanes_sum(a)))


def moving(flat, at, w, out):
    load_columns(flat, at, 2, w, 1)
    store_columns(w, 1, out, at, 1)


def compiled(function):
    # Not cached: the test must compile what `lanes` says now.
    return numba.njit(error_model="numpy")(function)


def test_arithmetic() -> None:
    rng = np.random.default_rng(6)
    w = rng.uniform(0.5, 2.0, 12 * LANES)
    plain = w.copy()
    arithmetic(plain)
    compiled(arithmetic)(w)
    assert np.abs(w - plain).max() <= FEW_ROUNDINGS * np.abs(plain).max()
    a, b = w[:LANES], w[LANES : 2 * LANES]
    assert np.array_equal(plain[2 * LANES : 3 * LANES], a + b)
    assert np.array_equal(plain[5 * LANES : 6 * LANES], a / b)


def test_columns_of_scattered_records() -> None:
    rng = np.random.default_rng(7)
    rows, r = rng.normal(size=(20, 8)), rng.permutation(20)[:LANES]
    at = (8 * r).astype(np.int64)  # where each record starts in the flat store
    for run in (moving, compiled(moving)):
        w, out = np.full(5 * LANES, np.nan), np.zeros(160)
        run(rows.ravel(), at, w, out)
        assert np.isnan(w[:LANES]).all(), "entries before the first must stay untouched"
        assert np.array_equal(w[LANES:].reshape(4, LANES), rows[r, 2:6].T)
        expected = np.zeros((20, 8))
        expected[r, 1:5] = rows[r, 2:6]
        assert np.array_equal(out, expected.ravel())


@pytest.mark.skipif(PLAIN, reason="about the compiled form")
def test_negative_zero_is_kept() -> None:
    w = np.zeros(12 * LANES)
    w[LANES:] = 1.0
    compiled(arithmetic)(w)
    assert np.signbit(w[6 * LANES : 7 * LANES]).all()
