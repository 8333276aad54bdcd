"""Tuples to and from rows of arrays: what is written is read, bit for bit, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_sim.spatial import rows as m

pytestmark = pytest.mark.plain


def nested(numbers: list[float], shape: tuple) -> tuple:
    """Numbers as nested tuples: shape (1, 3, 6) is (number, vector of 3, vector of 6)."""
    out, at = [], 0
    for size in shape:
        out.append(numbers[at] if size == 1 else tuple(numbers[at : at + size]))
        at += size
    return tuple(out)


CASES = [
    pytest.param(m.get_vector, m.set_vector, 3, None, id="vector"),
    pytest.param(m.get_matrix, m.set_matrix, 9, None, id="matrix"),
    pytest.param(m.get_spatial, m.set_spatial, 6, (3, 3), id="spatial"),
    pytest.param(m.get_rigid, m.set_rigid, 10, (1, 3, 6), id="rigid"),
    pytest.param(m.get_articulated, m.set_articulated, 21, (6, 9, 6), id="articulated"),
]


@pytest.mark.parametrize(("get", "put", "width", "shape"), CASES)
def test_round_trip(get, put, width, shape) -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4, width))
    before = rows.copy()
    numbers = rows[2].tolist()
    value = tuple(numbers) if shape is None else nested(numbers, shape)
    assert get(rows, 2) == value
    put(rows, 0, value)
    assert np.array_equal(rows[0], before[2])
    assert np.array_equal(rows[1:], before[1:])


def test_every_pair_is_covered() -> None:
    names = {name for name in vars(m) if name.startswith(("get_", "set_"))}
    assert names == {f"{verb}_{case.id}" for case in CASES for verb in ("get", "set")}
