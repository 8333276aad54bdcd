"""Poses and velocities of all bodies, and the orders of a tree, against plain mechanics and plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from exact import oracle
from helpers import ALL_KINDS, EPS, REVOLUTE, Arrays, kind_id, random_arrays, random_inputs

from adaptive_sim.linkage import kinematics as m

pytestmark = pytest.mark.plain

# A pose is a product of as many rotations as the body is deep (here 20), offsets of size 1 and coordinates of size 2.
DEPTH = 20
POSE = 40 * DEPTH * EPS
# Velocities grow along the chain: relative to the largest one.
VELOCITY = 100 * DEPTH * EPS

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


class Passed:
    """All outward quantities of one linkage in one state, NaN where nothing was written."""

    def __init__(self, arrays: Arrays, seed: int) -> None:
        self.arrays, self.inputs = arrays, random_inputs(arrays, seed)
        self.linkage = arrays.linkage()
        n = arrays.n
        self.R, self.p, self.V, self.c = (np.full((n, k), np.nan) for k in (9, 3, 6, 6))
        if arrays.nv == 0:  # no velocities: V and c are left alone
            self.V[...] = self.c[...] = 0.0
        q = self.linkage.q_to_model(self.inputs.q)
        v = self.linkage.v_to_model(self.inputs.v)
        m.outward_velocities(self.linkage.kernel_model, q, v, self.R, self.p, self.V, self.c)
        self.q, self.v = q, v

    def frames(self) -> np.ndarray:
        F = self.linkage.kernel_frame
        return np.tile(np.eye(3), (self.arrays.n, 1, 1)) if F is None else F

    def in_user_frames(self, rows: np.ndarray) -> np.ndarray:
        """Spatial vectors (n, 6) from kernel frames and model order."""
        turned = np.einsum("nij,nsj->nsi", self.frames(), rows.reshape(-1, 2, 3)).reshape(-1, 6)
        return self.linkage.bodies_to_input(turned)


@SHAPES
@pytest.mark.parametrize("shuffle", [False, True])
def test_poses(shape: str, shuffle: bool) -> None:
    passed = Passed(random_arrays(DEPTH, 1, shape=shape, shuffle=shuffle), 2)
    L, n = passed.linkage, passed.arrays.n
    R, p = np.full((n, 9), np.nan), np.full((n, 3), np.nan)
    m.poses_in_parent(L.kernel_model, passed.q, R, p)
    # Both passes place the bodies: the general one and the one that also finds velocities.
    assert np.abs(R - passed.R).max() <= 4 * EPS
    assert np.abs(p - passed.p).max() <= 4 * EPS
    m.poses_in_world(L.parent, R, p, R, p)  # in place, as the callers do
    expected = oracle.motion(passed.arrays, passed.inputs.q)
    rotation = R.reshape(n, 3, 3) @ passed.frames().transpose(0, 2, 1)
    assert np.abs(L.bodies_to_input(rotation) - expected.R).max() <= POSE
    assert np.abs(L.bodies_to_input(p) - expected.p).max() <= POSE


@SHAPES
@pytest.mark.parametrize("shuffle", [False, True])
def test_velocities(shape: str, shuffle: bool) -> None:
    passed = Passed(random_arrays(DEPTH, 3, shape=shape, shuffle=shuffle), 4)
    expected = oracle.motion(passed.arrays, passed.inputs.q, passed.inputs.v)
    own = np.einsum("nji,nj->ni", expected.R, expected.w), np.einsum("nji,nj->ni", expected.R, expected.v)
    found = passed.in_user_frames(passed.V)
    assert np.abs(found - np.hstack(own)).max() <= VELOCITY * np.abs(np.hstack(own)).max()


@pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)
def test_velocity_product(kind) -> None:
    """c = a − X a_parent at q̈ = 0, from the oracle's classical accelerations: spatial = classical − ω × v."""
    arrays = random_arrays(5, 5, [kind], shape="chain")
    passed = Passed(arrays, 6)
    x = oracle.motion(arrays, passed.inputs.q, passed.inputs.v)
    arm = np.einsum("nij,nj->ni", x.R, arrays.center_of_mass)
    origin = x.a_c - np.cross(x.alpha, arm) - np.cross(x.w, np.cross(x.w, arm))
    spatial = np.hstack([x.alpha, origin - np.cross(x.w, x.v)])  # world axes, at each body's origin
    c = np.array(
        [
            np.concatenate(m.velocity_product(int(kind), passed.v[passed.linkage.v_start[i]] if arrays.nv else 0.0,
                                              passed.V, passed.c, i))
            for i in range(arrays.n)
        ]
    )  # fmt: skip
    filled = passed.c.copy()
    m.all_velocity_products(passed.linkage.kernel_model, passed.v, passed.V, filled)
    assert np.array_equal(filled, c)
    found = passed.in_user_frames(c)
    for i in range(arrays.n):
        above = spatial[i - 1] if i else np.zeros(6)
        r = x.p[i] - (x.p[i - 1] if i else np.zeros(3))
        carried = np.r_[above[:3], above[3:] + np.cross(above[:3], r)]
        expected = spatial[i] - carried
        expected = np.r_[x.R[i].T @ expected[:3], x.R[i].T @ expected[3:]]
        assert np.abs(found[i] - expected).max() <= VELOCITY * (1.0 + np.abs(spatial).max())


def test_revolute_joints_leave_their_velocity_product_out() -> None:
    """Documented, and what makes `velocity_product` necessary."""
    passed = Passed(random_arrays(3, 7, [REVOLUTE]), 8)
    assert np.isnan(passed.c).all()


def test_world_forces_in_body_frames() -> None:
    passed = Passed(random_arrays(6, 9), 10)
    x = oracle.motion(passed.arrays, passed.inputs.q)
    F = passed.frames()
    R_W = np.ascontiguousarray((x.R @ F).reshape(-1, 9))
    out = np.full((6, 6), np.nan)
    m.forces_in_body_frames(R_W, passed.inputs.force, passed.inputs.torque, out)
    for i in range(6):
        R = x.R[i] @ F[i]
        assert np.abs(out[i] - np.r_[R.T @ passed.inputs.torque[i], R.T @ passed.inputs.force[i]]).max() <= 20 * EPS


def test_no_velocities_leave_velocity_arrays_alone() -> None:
    """Empty v: at rest. Poses as usual."""
    arrays = random_arrays(9, 11, ALL_KINDS)
    linkage, x = arrays.linkage(), random_inputs(arrays, 12)
    moving, still = ([np.full((9, k), np.nan) for k in (9, 3, 6, 6)] for _ in range(2))
    m.outward_velocities(linkage.kernel_model, x.q, x.v, *moving)
    m.outward_velocities(linkage.kernel_model, x.q, np.empty(0), *still)
    assert np.array_equal(still[0], moving[0])
    assert np.array_equal(still[1], moving[1])
    assert np.isnan(still[2]).all()
    assert np.isnan(still[3]).all()


# -------------------------------------------------------------------- orders of a tree


def test_depth() -> None:
    assert m.body_depth(np.array([-1, 0, 1, 0, 3, 4])).tolist() == [1, 2, 3, 2, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_parents_first(seed: int) -> None:
    arrays = random_arrays(60, seed, shuffle=True)
    order, lost = m.parents_first(arrays.parent)
    assert not lost.any()
    assert sorted(order) == list(range(60))
    position = np.argsort(order)
    assert all(p < 0 or position[p] < position[i] for i, p in enumerate(arrays.parent))


def test_parents_first_is_depth_first_with_children_in_input_order() -> None:
    #       4 ─ 0 ─ 3
    #         └ 1 ─ 5
    #         └ 2
    order, _ = m.parents_first(np.array([4, 4, 4, 0, -1, 1]))
    assert order.tolist() == [4, 0, 3, 1, 5, 2]


def test_parents_first_finds_what_no_base_reaches() -> None:
    order, lost = m.parents_first(np.array([-1, 2, 3, 1, 0, 3]))  # 1 → 2 → 3 → 1, and 5 hangs on the cycle
    assert order.tolist() == [0, 4]
    assert np.flatnonzero(lost).tolist() == [1, 2, 3, 5]
