"""Agreement with Pinocchio 3.9.0 on random linkages, for every joint type and for mixtures, up to 300 joints."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import (
    ALL_KINDS,
    EPS,
    FREE,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    PinocchioModel,
    kind_id,
    pinocchio,
    random_arrays,
    random_inputs,
    relative_error,
)

from adaptive_sim import body_poses, forward_dynamics, inverse_dynamics, mass_matrix, momentum


@pytest.fixture(autouse=True)
def _loads() -> None:
    pinocchio()


# Both engines round: 20 bodies deep, coordinates of size 2, poses and matrices of size up to 1e3.
KINEMATICS = 400 * EPS
# Two O(n) algorithms in body frames; measured 2e-13 at 20 bodies, 1e-12 at 300.
ACCELERATION = 1e-10
# Our CRBA against their ABA: the inertia matrix of a chain of 20 has condition up to 1e5.
ACCELERATION_CRBA = 1e-9

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


def check_everything(arrays, x) -> None:
    """Poses, inertia matrix, momentum, forward and inverse dynamics."""
    linkage, other = arrays.linkage(), PinocchioModel.of(arrays, x.gravity)
    for mine, theirs in zip(body_poses(linkage, x.q), other.poses(x.q)):
        assert relative_error(mine, theirs) <= KINEMATICS
    expected = other.forward_dynamics(x)
    for method, tolerance in (("aba", ACCELERATION), ("crba", ACCELERATION_CRBA)):
        found = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method=method, joint_forces=True)
        assert relative_error(found.acceleration, expected) <= tolerance, method
    load = np.abs(found.joint_force).max()
    tau = inverse_dynamics(linkage, x.q, x.v, expected, **x.forces())
    assert np.abs(tau - other.inverse_dynamics(x, expected)).max(initial=0.0) <= 100 * KINEMATICS * load
    assert relative_error(mass_matrix(linkage, x.q), other.mass_matrix(x.q)) <= KINEMATICS
    for mine, theirs in zip(momentum(linkage, x.q, x.v), other.momentum(x.q, x.v)):
        assert np.abs(mine - theirs).max() <= 10 * KINEMATICS * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("kind", [k for k in ALL_KINDS if k.name != "FIXED"], ids=kind_id)
@SHAPES
def test_each_joint_type(kind, shape: str) -> None:
    arrays = random_arrays(8, int(kind), [kind], shape=shape, shuffle=True)
    check_everything(arrays, random_inputs(arrays, 1))


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_mixed_joints(shape: str, seed: int) -> None:
    """All nine types; fixed joints are merged bodies for Pinocchio."""
    arrays = random_arrays(20, seed, ALL_KINDS, shape=shape, shuffle=seed > 0)
    check_everything(arrays, random_inputs(arrays, seed + 30))


def test_universal_joint_with_perpendicular_axes() -> None:
    """The case Pinocchio has a joint of its own for (others are two revolute joints there)."""
    arrays = random_arrays(8, 5, [UNIVERSAL])
    for a, b in zip(arrays.axis, arrays.axis2):
        b -= (a @ b) * a
        b /= np.linalg.norm(b)
    check_everything(arrays, random_inputs(arrays, 6))


@pytest.mark.parametrize(
    ("n", "kinds", "shape"),
    [
        pytest.param(100, [SPHERICAL], "chain", id="100-spherical-chain"),
        pytest.param(100, ALL_KINDS, "branched", id="100-mixed-branched"),
        pytest.param(300, [REVOLUTE], "random", id="300-revolute-random"),
    ],
)
def test_large(n: int, kinds, shape: str) -> None:
    """Pinocchio's `Data` needs 0.9 GB and seconds at 300 degrees of freedom: accelerations only, made once."""
    arrays = random_arrays(n, 7, kinds, base=FREE, shape=shape)
    x = random_inputs(arrays, 8, speed=0.3)
    other = PinocchioModel.of(arrays, x.gravity)
    data = other.model.createData()
    pin, q = other.pin, other.position(x.q)
    pin.forwardKinematics(other.model, data, q)
    linkage = arrays.linkage()
    R, _ = body_poses(linkage, x.q)
    forces = [pin.Force.Zero() for _ in range(other.model.njoints)]
    for i, offset in enumerate(other.offset):
        forces[int(other.joint[i])] += offset.act(pin.Force(R[i].T @ x.force[i], R[i].T @ x.torque[i]))
    expected = other.velocity_back(pin.aba(other.model, data, q, other.velocity(x.v), other.velocity(x.tau), forces))
    found = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces()).acceleration
    assert relative_error(found, expected) <= ACCELERATION
