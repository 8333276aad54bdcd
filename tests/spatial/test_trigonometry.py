"""`sincos` against integer arithmetic, over all magnitudes and where the reduction is hardest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import PLAIN

from adaptive_sim.spatial.trigonometry import _LARGE, sincos

from .oracle import exact_sincos, ulps

pytestmark = pytest.mark.plain

# What the module promises. Measured over 2·10⁷ arguments: 0.84.
ONE_UNIT = 1.0
# Below 2^-1022/eps the unit itself is subnormal; the absolute error of the oracle, 2^-190, is then far above it.
ORACLE_FLOOR = 1e-40

SAMPLES = 40 if PLAIN else 300


def worst(arguments: np.ndarray) -> float:
    out = 0.0
    for x in arguments:
        for found, exact in zip(sincos(float(x)), exact_sincos(float(x))):
            out = max(out, ulps(found, exact))
    return out


@pytest.mark.parametrize("magnitude", [1e-30, 1e-15, 1e-8, 1e-4, 1e-2, 0.5, 1.0, 4.0, 20.0, 1e2, 1e3, 1e4, 0.99e5])
def test_within_one_unit_over_magnitudes(magnitude: float) -> None:
    rng = np.random.default_rng(1)
    assert worst(rng.uniform(-magnitude, magnitude, SAMPLES)) <= ONE_UNIT


@pytest.mark.parametrize("magnitude", [2e5, 1e8, 1e15, 1e22, 1e100, 1e300])
def test_huge_angles_are_the_librarys(magnitude: float) -> None:
    rng = np.random.default_rng(2)
    assert worst(rng.uniform(-magnitude, magnitude, SAMPLES // 5)) <= ONE_UNIT


def test_within_one_unit_beside_multiples_of_a_quarter_turn() -> None:
    """x − k π/2 cancels: what is left must still be right to the last place."""
    rng = np.random.default_rng(3)
    k = np.r_[np.arange(1, 9), rng.integers(1, int(_LARGE / (np.pi / 2)), SAMPLES)]
    x = k * (np.pi / 2)
    assert worst(np.r_[x, np.nextafter(x, 0.0), -np.nextafter(x, np.inf)]) <= ONE_UNIT


def test_within_one_unit_where_the_quadrant_changes_and_where_the_unit_halves() -> None:
    """Odd multiples of π/4 (largest reduced argument), and just under sin x = ½ (half the unit, same error)."""
    rng = np.random.default_rng(4)
    k = rng.integers(0, 30_000, SAMPLES)
    quarter = (2 * k + 1) * (np.pi / 4)
    half = math.pi / 6 + k * math.pi
    assert worst(np.r_[quarter, half - 1e-6, half + 1e-6, -half]) <= ONE_UNIT


def test_worst_known_double_below_the_limit() -> None:
    """Arguments of the fdlibm literature that lie closest to multiples of π/2."""
    for x in (1.5707963267948966, 3.141592653589793, 355.0, 710.0, 52174.0, 104348.0 / 2 * 1.5):
        assert worst(np.array([x, -x])) <= ONE_UNIT


@pytest.mark.parametrize("x", [_LARGE, np.nextafter(_LARGE, 0.0), np.nextafter(_LARGE, np.inf), -_LARGE])
def test_no_step_where_the_library_takes_over(x: float) -> None:
    assert worst(np.array([x])) <= ONE_UNIT


def test_zero_tiny_and_subnormal_angles() -> None:
    assert sincos(0.0) == (0.0, 1.0)
    for x in (5e-324, 1e-310, 1e-300, -1e-300):
        s, c = sincos(x)
        assert abs(s - x) <= ORACLE_FLOOR * abs(x) + 5e-324
        assert c == 1.0


@pytest.mark.parametrize("x", [math.inf, -math.inf, math.nan])
@pytest.mark.skipif(PLAIN, reason="Python's math.sin raises ValueError where compiled code gives nan")
def test_not_finite_gives_nan(x: float) -> None:
    assert all(math.isnan(y) for y in sincos(x))


def test_the_oracle_is_right() -> None:
    """Known values: sin²+cos² = 1, sin 1 (OEIS A049469), and the library where it is correctly rounded."""
    s, c = exact_sincos(1.0)
    assert f"{float(s):.16f}" == "0.8414709848078965"
    assert abs(float(s * s + c * c) - 1.0) == 0.0
    for x in (0.3, -2.5, 1e22):
        assert abs(float(exact_sincos(x)[0]) - math.sin(x)) <= 1.1e-16
