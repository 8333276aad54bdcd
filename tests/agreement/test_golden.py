"""Reference results of Pinocchio and of an extended-precision ABA, kept beside the repository (see its README)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import EPS, relative_error

from adaptive_sim import Linkage, body_poses, forward_dynamics, inverse_dynamics, mass_matrix

SETS = [
    "chain5_fixed_R", "chain5_free_RPS", "chain30_fixed_RPS", "mol50_fixed_RPS", "chain200_free_R", "mol500_fixed_R",
]  # fmt: skip

# Products of up to 200 rotations, positions up to 100 m: measured 5e-14.
POSE = 1e-12
# What the data promise between themselves, 1e-12, and what a deep chain's inertia matrix loses: measured 4e-11 (CRBA).
ACCELERATION = 1e-9
# ABA in body frames does better: measured 9e-15.
ACCELERATION_ABA = 1e-12
# RNEA: rounding the accelerations alone moves tau by EPS |H| |a|; measured 0.6 times that.
TAU = 4 * EPS


class Golden:
    def __init__(self, directory: Path, name: str) -> None:
        path = directory / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"no {path}")
        with np.load(path) as data:
            self.data = {key: data[key] for key in data}
        g = self.data
        self.linkage = Linkage.from_arrays(
            g["parent"], g["joint_type"], axis=g["axis"], rotation=g["placement_rotation"],
            translation=g["placement_translation"], mass=g["mass"], center_of_mass=g["center_of_mass"],
            inertia=g["inertia"], name=name,
        )  # fmt: skip

    def forces(self) -> dict[str, np.ndarray]:
        return {"force": self.data["force_world"], "torque": self.data["torque_world"], "gravity": self.data["gravity"]}


@pytest.fixture(params=SETS)
def golden(request, golden_directory: Path) -> Golden:
    return Golden(golden_directory, request.param)


def test_every_set_is_used(golden_directory: Path) -> None:
    assert {path.stem for path in golden_directory.glob("*.npz")} == set(SETS)


def test_coordinates_lie_where_the_data_say(golden: Golden) -> None:
    assert np.array_equal(golden.linkage.q_start[:-1], golden.data["q_index"])
    assert np.array_equal(golden.linkage.v_start[:-1], golden.data["v_index"])


def test_poses(golden: Golden) -> None:
    R, p = body_poses(golden.linkage, golden.data["q"])
    assert np.abs(R - golden.data["body_rotation_world"]).max() <= POSE
    assert np.abs(p - golden.data["body_translation_world"]).max() <= POSE


@pytest.mark.parametrize("method", ["aba", "crba"])
@pytest.mark.parametrize("reference", ["acceleration", "acceleration_reference"])
def test_accelerations(golden: Golden, method: str, reference: str) -> None:
    g = golden.data
    found = forward_dynamics(golden.linkage, g["q"], g["v"], g["tau"], **golden.forces(), method=method)
    assert relative_error(found.acceleration, g[reference]) <= ACCELERATION
    if method == "aba":
        assert relative_error(found.acceleration, g[reference]) <= ACCELERATION_ABA


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_accelerations_at_rest(golden: Golden, method: str) -> None:
    g = golden.data
    found = forward_dynamics(golden.linkage, g["q"], None, g["tau"], **golden.forces(), method=method)
    assert relative_error(found.acceleration, g["acceleration_at_rest"]) <= ACCELERATION


def test_inverse_dynamics_returns_tau(golden: Golden) -> None:
    """Of the reference accelerations, and of our own."""
    g = golden.data
    solved = forward_dynamics(golden.linkage, g["q"], g["v"], g["tau"], **golden.forces())
    H = np.abs(mass_matrix(golden.linkage, g["q"]))
    for acceleration in (solved.acceleration, g["acceleration_reference"]):
        tau = inverse_dynamics(golden.linkage, g["q"], g["v"], acceleration, **golden.forces())
        assert np.abs(tau - g["tau"]).max() <= TAU * (H @ np.abs(acceleration)).max()
