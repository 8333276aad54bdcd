"""Each joint type: coordinates, pose, motion subspace, moving along it and back, springs; against plain mechanics."""

from __future__ import annotations

import numpy as np
import pytest
from exact import oracle
from helpers import (
    ALL_KINDS,
    DOF,
    EPS,
    FREE,
    MOVING_KINDS,
    N_Q,
    QUATERNION_AT,
    SPHERICAL,
    UNIVERSAL,
    Arrays,
    kind_id,
    plane_frame,
    random_arrays,
    random_directions,
    random_position,
)

from adaptive_sim.linkage import joints as m

pytestmark = pytest.mark.plain

# Coordinates of size 2, a few rotations multiplied; both the kernel and the oracle round.
FEW_ROUNDINGS = 40 * EPS
# Central differences with STEP: STEP² of the third derivative and EPS/STEP of rounding, each 1e-10, times sizes of 10.
STEP = 1e-5
DIFFERENTIATED = 1e-8

KINDS = pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)
MOVING = pytest.mark.parametrize("kind", MOVING_KINDS, ids=kind_id)


class OneJoint:
    """One joint with random axes, its coordinates and its kernel frame."""

    def __init__(self, kind, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.kind = kind
        self.arrays: Arrays = random_arrays(1, seed, [kind], springs=True)
        self.q = random_position(self.arrays, rng)
        self.v = rng.normal(size=self.arrays.nv)
        linkage = self.arrays.linkage()
        self.F = np.eye(3) if linkage.kernel_frame is None else linkage.kernel_frame[0]
        self.axis1 = tuple(self.F.T @ self.arrays.axis[0])
        self.pitch = float(self.arrays.pitch[0])

    def in_kernel_frame(self, R, p):
        return self.F.T @ R @ self.F, self.F.T @ p


SEEDS = range(4)


@KINDS
def test_sizes(kind) -> None:
    assert m.DOF[kind] == DOF[kind]
    assert m.N_Q[kind] == N_Q[kind]
    assert m.QUATERNION_AT[kind] == QUATERNION_AT.get(kind, -1)
    assert bool(m.HAS_AXIS[kind]) == (kind.name not in ("SPHERICAL", "FREE", "FIXED"))
    assert getattr(m, kind.name) == int(kind)


def test_numbers_of_reference_data() -> None:
    assert [int(k) for k in (m.JointType.REVOLUTE, m.JointType.PRISMATIC, SPHERICAL, FREE)] == [0, 1, 2, 3]


@KINDS
@pytest.mark.parametrize("seed", SEEDS)
def test_pose(kind, seed: int) -> None:
    j = OneJoint(kind, seed)
    R, p = m.joint_pose(int(kind), j.axis1, j.pitch, j.q, 0)
    R_expected, p_expected = j.in_kernel_frame(*oracle.joint_pose(j.arrays, 0, j.q))
    assert np.abs(np.reshape(R, (3, 3)) - R_expected).max() <= FEW_ROUNDINGS
    assert np.abs(np.array(p) - p_expected).max() <= FEW_ROUNDINGS


@MOVING
@pytest.mark.parametrize("seed", SEEDS)
def test_subspace(kind, seed: int) -> None:
    j = OneJoint(kind, seed)
    S_w, S_u = oracle.joint_subspace(j.arrays, 0, j.q)
    for k in range(DOF[kind]):
        w, u = m.subspace_column(int(kind), j.axis1, j.pitch, j.q, 0, k)
        assert np.abs(np.array(w) - j.F.T @ S_w[:, k]).max() <= FEW_ROUNDINGS
        assert np.abs(np.array(u) - j.F.T @ S_u[:, k]).max() <= FEW_ROUNDINGS


@MOVING
@pytest.mark.parametrize("seed", SEEDS)
def test_subspace_is_the_derivative_of_the_pose(kind, seed: int) -> None:
    """The package against itself: moving by `integrate_joint` moves the pose along S v."""
    j = OneJoint(kind, seed)

    def pose(t: float):
        q = np.empty_like(j.q)
        m.integrate_joint(int(kind), j.q, 0, t * j.v, 0, q)
        R, p = m.joint_pose(int(kind), j.axis1, j.pitch, q, 0)
        return np.reshape(R, (3, 3)), np.array(p)

    R, _ = pose(0.0)
    (R0, p0), (R1, p1) = pose(-STEP), pose(STEP)
    spin = R.T @ (R1 - R0) / (2 * STEP)
    w = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2
    u = R.T @ (p1 - p0) / (2 * STEP)
    columns = [m.subspace_column(int(kind), j.axis1, j.pitch, j.q, 0, k) for k in range(DOF[kind])]
    assert np.abs(w - sum(x * np.array(c[0]) for x, c in zip(j.v, columns))).max() <= DIFFERENTIATED
    assert np.abs(u - sum(x * np.array(c[1]) for x, c in zip(j.v, columns))).max() <= DIFFERENTIATED


@pytest.mark.parametrize("seed", SEEDS)
def test_turning_axis_of_a_universal_joint(seed: int) -> None:
    """c_J = dS/dt v, by differentiating the first column along the motion."""
    j = OneJoint(UNIVERSAL, seed)

    def first(t: float):
        return np.array(m.subspace_column(int(UNIVERSAL), j.axis1, j.pitch, j.q + t * j.v, 0, 0)[0])

    rate = j.v[0] * (first(STEP) - first(-STEP)) / (2 * STEP)
    assert np.abs(m.universal_turn(tuple(first(0.0)), *j.v) - rate).max() <= DIFFERENTIATED


@KINDS
@pytest.mark.parametrize("seed", SEEDS)
def test_integrate_and_difference(kind, seed: int) -> None:
    j = OneJoint(kind, seed)
    step = 0.8 * j.v  # turns below half a turn, so that there is one way back
    moved, back = np.full_like(j.q, np.nan), np.full_like(j.v, np.nan)
    m.integrate_joint(int(kind), j.q, 0, step, 0, moved)
    m.joint_difference(int(kind), j.q, moved, 0, 0, back)
    assert np.abs(back - step).max(initial=0.0) <= FEW_ROUNDINGS
    expected = oracle.move_joint(j.arrays, 0, j.q, step)
    if kind in QUATERNION_AT and moved[-4:] @ expected[-4:] < 0.0:  # scipy may return the other sign
        expected[-4:] *= -1.0
    assert np.abs(moved - expected).max(initial=0.0) <= FEW_ROUNDINGS


@pytest.mark.parametrize("kind", [SPHERICAL, FREE], ids=kind_id)
def test_integrating_keeps_quaternions_unit(kind) -> None:
    j = OneJoint(kind, 3)
    q = j.q.copy()
    for _ in range(1000):
        m.integrate_joint(int(kind), q, 0, 0.1 * j.v, 0, q)
    assert abs(np.linalg.norm(q[-4:]) - 1.0) <= 2 * EPS


@MOVING
@pytest.mark.parametrize("seed", SEEDS)
def test_spring_force_and_energy(kind, seed: int) -> None:
    j = OneJoint(kind, seed)
    before = np.linspace(1.0, 2.0, len(j.v))
    force = before.copy()
    energy = m.spring_force(int(kind), j.q, j.arrays.rest_position, 0, j.arrays.stiffness, 0, force)
    expected = oracle.passive_forces(j.arrays, j.q, np.zeros_like(j.v))
    # Stiffness up to 20, displacements up to 4.
    assert abs(energy - oracle.spring_energy(j.arrays, j.q)) <= 400 * FEW_ROUNDINGS
    assert np.abs(force - before - expected).max() <= 100 * FEW_ROUNDINGS


@MOVING
@pytest.mark.parametrize("seed", SEEDS)
def test_spring_force_is_the_gradient_of_its_energy(kind, seed: int) -> None:
    j = OneJoint(kind, seed)

    def energy(step: np.ndarray) -> float:
        q = np.empty_like(j.q)
        m.integrate_joint(int(kind), j.q, 0, step, 0, q)
        scratch = np.zeros_like(j.v)
        return m.spring_force(int(kind), q, j.arrays.rest_position, 0, j.arrays.stiffness, 0, scratch)

    force = np.zeros_like(j.v)
    m.spring_force(int(kind), j.q, j.arrays.rest_position, 0, j.arrays.stiffness, 0, force)
    for k, direction in enumerate(np.eye(len(j.v))):
        slope = (energy(STEP * direction) - energy(-STEP * direction)) / (2 * STEP)
        # Energies up to 200 J: their rounding over STEP.
        assert abs(force[k] + slope) <= 200 * DIFFERENTIATED


def test_plane_axes() -> None:
    rng = np.random.default_rng(8)
    assert m.plane_axes((0.0, 0.0, 1.0)) == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "z gives x and y exactly"
    special = np.vstack([np.eye(3), -np.eye(3)])
    near_minus_z = np.array([[1e-9, -2e-9, -1.0], [1e-4, 1e-4, -1.0]])
    normals = np.vstack([random_directions(200, rng), special, near_minus_z])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for normal in normals:
        x, y = m.plane_axes(tuple(normal))
        frame = np.column_stack([x, y, normal])
        assert np.abs(frame.T @ frame - np.eye(3)).max() <= 8 * EPS
        assert np.linalg.det(frame) > 0.0
        assert np.abs(frame - plane_frame(normal)).max() <= 8 * EPS
    frames = np.empty((len(normals), 9))
    m.frames_along(normals, frames)
    assert np.array_equal(frames.reshape(-1, 3, 3)[:, :, 2], normals)
    assert np.array_equal(frames.reshape(-1, 3, 3)[:, :, 0], [m.plane_axes(tuple(n))[0] for n in normals])
