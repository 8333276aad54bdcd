"""Shared set-up of the tests: reproducible random input, the golden data, and what `-m plain` may cost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")  # kernels run as ordinary Python

# derandomize: a failing run fails again. No deadline: the first call of a kernel may compile it.
settings.register_profile(
    "adaptive_sim",
    deadline=None,
    derandomize=True,
    max_examples=25 if PLAIN else 100,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.load_profile("adaptive_sim")


@pytest.fixture(scope="session")
def golden_directory() -> Path:
    """Reference results of another engine; they lie beside the repository, not in it."""
    directory = Path(__file__).resolve().parents[2] / "shared" / "golden"
    if not directory.is_dir():
        pytest.skip(f"no golden data: {directory} does not exist")
    return directory
