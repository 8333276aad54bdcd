"""Several numbers side by side: every operation against NumPy, compiled and (without compilation) in plain Python."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from adaptive_sim.spatial.lanes import (
    LANES,
    get,
    lanes_copysign,
    lanes_sqrt,
    lanes_sum,
    load_columns,
    prefetch,
    put,
    spread,
    store_columns,
)

pytestmark = pytest.mark.plain

# One division or root, or two products and sums; contraction may spare a rounding.
FEW_ROUNDINGS = 8 * float(np.finfo(float).eps)

ENTRIES = 12


@numba.njit(error_model="numpy")  # not cached: the test must compile what `lanes` says now
def arithmetic(w):
    """Every operation, with lanes and with plain numbers on either side: entries 2 … 11 from entries 0 and 1."""
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


@numba.njit(error_model="numpy")
def moving(flat, at, w, out):
    load_columns(flat, at, 2, w, 1)
    store_columns(w, 1, out, at, 1)


def test_arithmetic() -> None:
    w = np.random.default_rng(6).uniform(0.5, 2.0, ENTRIES * LANES)
    a, b = w[:LANES].copy(), w[LANES : 2 * LANES].copy()
    arithmetic(w)
    expected = [
        a, b, a + b, a - b, a * b, a / b, -a, np.sqrt(b), 2.0 * a + 3.0 * b - 1.5, a[0] - (4.0 - a) / 2.0,
        np.copysign(b, a - b), np.full(LANES, a.sum()),
    ]  # fmt: skip
    found = w.reshape(ENTRIES, LANES)
    assert np.array_equal(found[:8], expected[:8]), "single operations are correctly rounded"
    assert np.abs(found - expected).max() <= FEW_ROUNDINGS * np.abs(expected).max()


def test_columns_of_scattered_records() -> None:
    rng = np.random.default_rng(7)
    rows, r = rng.normal(size=(20, 8)), rng.permutation(20)[:LANES]
    at = (8 * r).astype(np.int64)  # where each record starts in the flat store
    w, out = np.full(5 * LANES, np.nan), np.zeros(160)
    moving(rows.ravel(), at, w, out)
    assert np.isnan(w[:LANES]).all(), "entries before the first must stay untouched"
    assert np.array_equal(w[LANES:].reshape(4, LANES), rows[r, 2:6].T)
    expected = np.zeros((20, 8))
    expected[r, 1:5] = rows[r, 2:6]
    assert np.array_equal(out, expected.ravel())


def test_negative_zero_is_kept() -> None:
    w = np.zeros(ENTRIES * LANES)
    w[LANES:] = 1.0
    arithmetic(w)
    assert np.signbit(w[6 * LANES : 7 * LANES]).all()


def test_nan_stays_in_its_lane() -> None:
    """A node that fails must not spoil those beside it; division by zero and roots of negative numbers do not raise."""
    w = np.ones(ENTRIES * LANES)
    w[1] = np.nan
    w[LANES + 2], w[LANES + 3] = 0.0, -1.0
    with np.errstate(all="ignore"):  # without compilation NumPy warns
        arithmetic(w)
    found = w.reshape(ENTRIES, LANES)
    assert np.isnan(found[2:6, 1]).all()
    assert np.isfinite(found[2:11, 0]).all()
    assert found[5, 2] == np.inf
    assert np.isnan(found[7, 3])
    assert np.isfinite(found[2:7, 3]).all()


def test_a_record_named_twice() -> None:
    """Short batches repeat a record: all lanes read it, and writing the same numbers several times is harmless."""
    flat, out = np.arange(40.0), np.zeros(40)
    w = np.empty(5 * LANES)
    moving(flat, np.full(LANES, 8, dtype=np.int64), w, out)
    assert np.array_equal(w[LANES:].reshape(4, LANES), np.repeat(flat[10:14, None], LANES, axis=1))
    assert np.array_equal(np.flatnonzero(out), np.arange(9, 13))
    assert np.array_equal(out[9:13], flat[10:14])


@numba.njit
def fetching(flat, at, numbers):
    prefetch(flat, at, numbers)


def test_prefetching_changes_nothing() -> None:
    """Not even at the very end of the array."""
    flat = np.arange(64.0)
    for at, numbers in ((0, 64), (63, 1), (60, 36)):
        fetching(flat, at, numbers)
    assert np.array_equal(flat, np.arange(64.0))
