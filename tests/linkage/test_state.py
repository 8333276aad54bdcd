"""Positions and velocities: neutral, random, moving and the way back, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from exact import oracle
from helpers import (
    ALL_KINDS,
    EPS,
    FREE,
    MOVING_KINDS,
    QUATERNION_AT,
    REVOLUTE,
    SPHERICAL,
    kind_id,
    random_arrays,
    random_inputs,
)

from adaptive_sim import (
    InputError,
    InvalidStateError,
    State,
    body_poses,
    difference,
    energy,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    mass_matrix,
    momentum,
    neutral_state,
    random_state,
)
from adaptive_sim.linkage.state import QUATERNION_TOLERANCE, neutral_position

pytestmark = pytest.mark.plain

# Coordinates of size 2 through a rotation and back.
FEW_ROUNDINGS = 40 * EPS
# Central differences of poses with STEP: STEP² of the third derivative, EPS/STEP of rounding; depth 9, size 10.
STEP = 1e-5
DIFFERENTIATED = 1e-7

KINDS = pytest.mark.parametrize("kind", MOVING_KINDS, ids=kind_id)


def one_of_each(**options):
    return random_arrays(9, 21, ALL_KINDS, shape="chain", **options)


# -------------------------------------------------------------------- neutral and random


@pytest.mark.parametrize("shuffle", [False, True])
def test_neutral(shuffle: bool) -> None:
    arrays = one_of_each(shuffle=shuffle)
    state = neutral_state(arrays.linkage())
    for kind, at in zip(arrays.kinds, arrays.q_slices()):
        expected = np.zeros(at.stop - at.start)
        if kind in QUATERNION_AT:
            expected[-1] = 1.0
        assert np.array_equal(state.q[at], expected)
    assert np.array_equal(state.v, np.zeros(arrays.nv))


def test_neutral_is_where_body_frames_meet_joint_frames() -> None:
    arrays = one_of_each()
    R, p = body_poses(arrays.linkage())
    expected_R, expected_p = np.eye(3), np.zeros(3)
    for i in range(9):
        expected_p = expected_p + expected_R @ arrays.translation[i]
        expected_R = expected_R @ arrays.rotation[i]
        assert np.abs(R[i] - expected_R).max() <= FEW_ROUNDINGS
        assert np.abs(p[i] - expected_p).max() <= FEW_ROUNDINGS


def test_random_state_is_reproducible() -> None:
    linkage = one_of_each().linkage()
    a, b, other = random_state(linkage, 7), random_state(linkage, 7), random_state(linkage, 8)
    assert np.array_equal(a.q, b.q)
    assert np.array_equal(a.v, b.v)
    assert not np.array_equal(a.q, other.q)
    assert not np.array_equal(a.v, other.v)


def test_random_state_has_unit_quaternions_and_the_asked_sizes() -> None:
    arrays = random_arrays(300, 3, [SPHERICAL, FREE, REVOLUTE], shuffle=True)
    state = random_state(arrays.linkage(), 1, angle=0.5, speed=3.0)
    for kind, at in zip(arrays.kinds, arrays.q_slices()):
        if kind in QUATERNION_AT:
            assert abs(np.linalg.norm(state.q[at][-4:]) - 1.0) <= 4 * EPS
        else:
            assert np.abs(state.q[at]).max() <= 0.5
    assert 2.7 < state.v.std() < 3.3  # 1,000 normal numbers: three standard errors are 0.2


def test_state_is_frozen_and_moves() -> None:
    linkage = one_of_each().linkage()
    state = random_state(linkage, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.q = state.v  # type: ignore[misc]
    moved = state.moved(linkage, 0.1)
    assert np.array_equal(moved.q, integrate(linkage, state.q, 0.1 * state.v))
    assert moved.v is state.v


# -------------------------------------------------------------------- integrate and difference


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_round_trip(kind, seed: int) -> None:
    arrays = random_arrays(4, seed, [kind], shuffle=True)
    linkage, x = arrays.linkage(), random_inputs(arrays, seed)
    step = 0.6 * x.v  # below half a turn
    moved = integrate(linkage, x.q, step)
    assert np.abs(difference(linkage, x.q, moved) - step).max() <= FEW_ROUNDINGS
    assert np.abs(difference(linkage, x.q, x.q)).max() <= EPS
    again = integrate(linkage, x.q, difference(linkage, x.q, moved))
    assert np.abs(again - moved).max() <= FEW_ROUNDINGS


def test_round_trip_of_a_mixed_shuffled_linkage_against_plain_mechanics() -> None:
    arrays = random_arrays(30, 4, shuffle=True)
    linkage, x = arrays.linkage(), random_inputs(arrays, 5)
    moved = integrate(linkage, x.q, 0.5 * x.v)
    expected = oracle.integrate(arrays, x.q, 0.5 * x.v)
    assert np.abs(difference(linkage, expected, moved)).max() <= FEW_ROUNDINGS
    assert np.abs(difference(linkage, x.q, moved) - 0.5 * x.v).max() <= FEW_ROUNDINGS


def test_difference_takes_the_shorter_way_round() -> None:
    linkage = random_arrays(1, 0, [SPHERICAL]).linkage()
    half = np.sin(0.05), np.cos(0.05)
    a, b = np.array([half[0], 0.0, 0.0, half[1]]), np.array([half[0], 0.0, 0.0, -half[1]])
    step = difference(linkage, a, b)  # b is a turn by −0.1, written with the opposite sign
    assert np.abs(step - [-0.2, 0.0, 0.0]).max() <= FEW_ROUNDINGS


def test_integrate_leaves_its_input_alone() -> None:
    linkage = one_of_each().linkage()
    state = random_state(linkage, 3)
    before = state.q.copy()
    assert integrate(linkage, state.q, state.v) is not state.q
    assert np.array_equal(state.q, before)


@KINDS
def test_integrate_moves_bodies_with_their_velocity(kind) -> None:
    """Finite difference of the poses = velocity of the bodies (from the momentum of each, and from the oracle)."""
    arrays = random_arrays(5, 6, [kind], shape="branched", shuffle=True)
    linkage, x = arrays.linkage(), random_inputs(arrays, 7)
    R0, p0 = body_poses(linkage, integrate(linkage, x.q, -STEP * x.v))
    R1, p1 = body_poses(linkage, integrate(linkage, x.q, STEP * x.v))
    R, _ = body_poses(linkage, x.q)
    motion = oracle.motion(arrays, x.q, x.v)
    assert np.abs((p1 - p0) / (2 * STEP) - motion.v).max() <= DIFFERENTIATED
    spin = (R1 - R0) / (2 * STEP) @ R.transpose(0, 2, 1)
    w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert np.abs(w - motion.w).max() <= DIFFERENTIATED


# -------------------------------------------------------------------- what is refused


def three_joints():
    arrays = random_arrays(3, 8, [FREE, SPHERICAL, REVOLUTE], base=FREE)
    return arrays.linkage(joint_names=["root", "hip", "knee"], body_names=["trunk", "thigh", "shank"])


CALLS = {
    "forward_dynamics": forward_dynamics,
    "inverse_dynamics": inverse_dynamics,
    "mass_matrix": mass_matrix,
    "body_poses": body_poses,
    "energy": energy,
    "momentum": momentum,
    "integrate": lambda linkage, q=None, v=None: integrate(linkage, neutral_position(linkage) if q is None else q, v),
    "difference": lambda linkage, q=None: difference(linkage, q, neutral_position(linkage)),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_function_checks_the_position(call: str) -> None:
    linkage = three_joints()
    bad = neutral_position(linkage)
    bad[2] = np.nan
    with pytest.raises(InvalidStateError, match=r"q\[2\] is nan \(1 not finite\); give finite numbers"):
        CALLS[call](linkage, q=bad)
    with pytest.raises(InvalidStateError, match=r"q: shape \(3,\), but the linkage has 12 coordinates"):
        CALLS[call](linkage, q=np.zeros(3))


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics", "energy", "momentum", "integrate"])
def test_every_function_checks_the_velocity(call: str) -> None:
    linkage = three_joints()
    name = "step" if call == "integrate" else "v"
    with pytest.raises(InvalidStateError, match=rf"{name}: shape \(11,\), but the linkage has 10 degrees of freedom"):
        CALLS[call](linkage, v=np.zeros(11))
    with pytest.raises(InvalidStateError, match=rf"{name}\[0\] is inf"):
        CALLS[call](linkage, v=np.full(10, np.inf))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": np.zeros(4)}, r"tau: shape \(4,\), but the linkage has 10"),
        ({"tau": [np.nan] * 10}, r"tau\[0\] is nan \(10 not finite\)"),
        ({"tau": "abc"}, r"tau: not an array of numbers"),
        ({"q": np.zeros((12, 1))}, r"q: shape \(12, 1\)"),
        ({"v": [[1, 2], [3]]}, r"v: not an array of numbers"),
        ({"force": np.zeros(3)}, r"force: shape \(3,\), expected \(n_bodies, 3\) = \(3, 3\)"),
        ({"force": np.zeros((4, 3))}, r"force: shape \(4, 3\)"),
        ({"force": [[0, 0, 0], [0, np.inf, 0], [0, 0, 0]]}, r"force: body 1 \('thigh'\) has .*inf.*; give finite"),
        ({"force": "strong"}, r"force: not an array of numbers"),
        ({"torque": np.zeros((3, 2))}, r"torque: shape \(3, 2\)"),
        ({"torque": np.full((3, 3), np.nan)}, r"torque: body 0 \('trunk'\)"),
        ({"torque": [[1, 2], [3]]}, r"torque: not an array of numbers"),
        ({"gravity": [0, 0]}, r"gravity: expected three finite numbers, got \[0, 0\]"),
        ({"gravity": [0, np.nan, 0]}, r"gravity: expected three finite numbers"),
        ({"gravity": "down"}, r"gravity: not an array of numbers"),
    ],
)
def test_bad_forces(given: dict, message: str) -> None:
    with pytest.raises(InvalidStateError, match=message) as caught:
        forward_dynamics(three_joints(), **given)
    assert isinstance(caught.value, InputError)
    assert caught.value.exit_code == 2


def test_quaternions_must_be_unit() -> None:
    linkage = three_joints()
    q = neutral_position(linkage)
    q[7 + 3] = 0.9  # the hip's w
    with pytest.raises(InvalidStateError, match=r"quaternion of joint 1 \('hip'\) has length 0.9 .*normalise it"):
        forward_dynamics(linkage, q)
    with pytest.raises(InvalidStateError, match=r"quaternion of joint 0 \('root'\) has length 0 \(2 such in all\)"):
        forward_dynamics(linkage, np.zeros(12))


def test_the_joint_is_named_as_the_input_numbers_it() -> None:
    arrays = random_arrays(6, 9, [SPHERICAL], shape="chain", shuffle=True)
    linkage = arrays.linkage()
    for joint in range(6):
        q = neutral_position(linkage)
        q[4 * joint + 3] = 2.0
        with pytest.raises(InvalidStateError, match=rf"joint {joint} \('joint_{joint}'\) has length 2 "):
            body_poses(linkage, q)


def test_quaternions_off_by_rounding_are_accepted_and_change_nothing() -> None:
    arrays = random_arrays(4, 10, [SPHERICAL])
    linkage, x = arrays.linkage(), random_inputs(arrays, 11)
    stretched = x.q * (1.0 + 0.5 * QUATERNION_TOLERANCE)
    exact, found = (forward_dynamics(linkage, q, x.v, x.tau).acceleration for q in (x.q, stretched))
    assert np.abs(found - exact).max() <= 1e4 * EPS * np.abs(exact).max()  # 1e4: condition of the linkage


def test_state_holds_what_it_is_given() -> None:
    q, v = np.zeros(1), np.ones(1)
    state = State(q, v)
    assert state.q is q
    assert state.v is v
