"""Wrong input: each problem on its own, all of them together, and messages that name thing, value and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_sim import InputError, InvalidLinkageError, Linkage

pytestmark = pytest.mark.plain

EYE = np.eye(3)


def good(n: int = 4) -> dict:
    return {
        "parent": [-1, 0, 1, 1][:n],
        "joint_type": ["free", "revolute", "universal", "spherical"][:n],
        "mass": np.ones(n),
        "center_of_mass": np.zeros((n, 3)),
        "inertia": np.tile(EYE, (n, 1, 1)),
        "axis": np.tile([0.0, 0.0, 1.0], (n, 1)),
        "axis2": np.tile([1.0, 0.0, 0.0], (n, 1)),
        "rotation": np.tile(EYE, (n, 1, 1)),
        "translation": np.zeros((n, 3)),
        "body_names": ["trunk", "arm", "hand", "head"][:n],
    }


def with_row(name: str, row: int, value: object) -> dict:
    array = np.array(good()[name], dtype=float)
    array[row] = value
    return {name: array}


def problems_of(**changes: object) -> tuple[str, ...]:
    with pytest.raises(InvalidLinkageError) as caught:
        Linkage.from_arrays(**{**good(), **changes})
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.exit_code == 2
    for problem in caught.value.problems:
        assert problem in str(caught.value)
    return caught.value.problems


def test_good_input_is_good() -> None:
    assert Linkage.from_arrays(**good()).n_bodies == 4


# name -> (changes, what the one sentence must contain: the thing, the value, the remedy)
CASES: dict[str, tuple[dict, list[str]]] = {
    "unknown parent": ({"parent": [-1, 0, 1, 9]}, ["unknown parent", "body 3 'head' (9)", "0 … 3"]),
    "negative parent": ({"parent": [-1, 0, -7, 1]}, ["unknown parent", "body 2 'hand' (-7)", "−1 (the world)"]),
    "cycle": ({"parent": [-1, 3, 1, 2]}, ["cycle", "body 1 'arm' (3)", "body 3 'head' (2)", "break the cycle"]),
    "self parent": ({"parent": [-1, 0, 2, 1]}, ["cycle", "body 2 'hand' (2)", "break the cycle"]),
    "two bases": ({"parent": [-1, 0, -1, 1]}, ["unconnected body", "body 0 'trunk'", "body 2 'hand' (-1)", "connect"]),
    "no base": ({"parent": [1, 2, 3, 0]}, ["no body has parent −1", "exactly one body"]),
    "parent shape": ({"parent": [[-1, 0, 1, 1]]}, ["parent: expected a non-empty list of body indices", "[[-1, 0"]),
    "parent not integer": ({"parent": [-1, 0.5, 1, 1]}, ["parent: expected", "0.5"]),
    "no bodies": ({"parent": []}, ["parent: expected a non-empty list", "[]"]),
    "duplicate body name": (
        {"body_names": ["trunk", "arm", "hand", "arm"]},
        ["duplicate body name", "'arm' (body 1 and 3)", "must differ"],
    ),
    "duplicate joint name": ({"joint_names": ["a", "b", "c", "a"]}, ["duplicate joint name", "'a' (joint 0 and 3)"]),
    "too few names": ({"body_names": ["trunk", "arm"]}, ["body_names: 2 names for 4"]),
    "zero axis": (with_row("axis", 1, 0.0), ["zero axis", "joint 1", "[0. 0. 0.]", "give a direction"]),
    "zero second axis": (with_row("axis2", 2, 0.0), ["zero axis2", "joint 2", "give a direction"]),
    "parallel axes": (with_row("axis2", 2, [0, 0, -2.0]), ["universal joint with parallel axes", "joint 2", "differ"]),
    "zero mass": (with_row("mass", 3, 0.0), ["mass is not positive", "body 3 'head' (0.0)", "mass > 0"]),
    "negative mass": (with_row("mass", 1, -2.5), ["mass is not positive", "body 1 'arm' (-2.5)", "mass > 0"]),
    "infinite mass": (with_row("mass", 1, np.inf), ["mass is not finite", "body 1 'arm' (inf)", "finite numbers"]),
    "nan axis": (with_row("axis", 1, np.nan), ["axis is not finite", "body 1 'arm' ([nan nan nan])", "finite"]),
    "nan translation": (with_row("translation", 0, np.nan), ["translation is not finite", "body 0 'trunk'", "finite"]),
    "nan inertia": (with_row("inertia", 2, np.nan), ["inertia is not finite", "body 2 'hand'", "finite"]),
    "nan rotation": (with_row("rotation", 2, np.nan), ["rotation is not finite", "body 2 'hand'", "finite"]),
    "inertia not symmetric": (
        with_row("inertia", 1, [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]),
        ["inertia is not symmetric", "body 1 'arm'", "0.5", "symmetric 3×3"],
    ),
    "inertia not definite": (
        with_row("inertia", 1, np.diag([1.0, 1.0, -0.25])),
        ["inertia is not positive definite", "body 1 'arm'", "-0.25", "inertia_of_sphere()"],
    ),
    "zero inertia": (with_row("inertia", 0, 0.0), ["not positive definite", "body 0 'trunk'", "small body"]),
    "triangle inequality": (
        with_row("inertia", 3, np.diag([1.0, 1.0, 2.5])),
        ["triangle inequality", "body 3 'head'", "2.5", "about the centre of mass"],
    ),
    "scaled rotation": (with_row("rotation", 1, 1.1 * EYE), ["not a rotation matrix", "joint 1", "1.1", "orthonormal"]),
    "mirrored rotation": (
        with_row("rotation", 1, np.diag([1.0, 1.0, -1.0])),
        ["not a rotation matrix", "joint 1", "-1.", "determinant +1"],
    ),
    "wrong shape": ({"mass": np.ones(3)}, ["mass: shape (3,)", "expected (n) = (4,)"]),
    "wrong shape of rows": ({"translation": np.zeros((4, 2))}, ["translation: shape (4, 2)", "(n, 3) = (4, 3)"]),
    "wrong spring size": ({"stiffness": np.ones(7)}, ["stiffness: shape (7,)", "(nv) = (12,)"]),
    "text for numbers": ({"mass": ["a", "b", "c", "d"]}, ["mass: not an array of numbers", "'a'", "(4,)"]),
    "ragged": ({"center_of_mass": [[1, 2], [3]]}, ["center_of_mass: not an array of numbers", "(4, 3)"]),
    "unknown joint type": (
        {"joint_type": ["free", "revolut", "universal", "revolut"]},
        ["unknown joint_type 'revolut' at entry 1 (2 in all)", "did you mean 'revolute'?"],
    ),
    "strange joint type": (
        {"joint_type": ["free", "xyz", "universal", "spherical"]},
        ["unknown joint_type 'xyz'", "known: revolute, prismatic"],
    ),
    "unknown joint number": ({"joint_type": [3, 0, 12, 2]}, ["unknown joint_type", "entry 2 (12)", "0 … 8"]),
    "too few joint types": ({"joint_type": ["free"]}, ["joint_type: expected 4 entries", "(1,)"]),
    "negative stiffness": ({"stiffness": -1.0}, ["stiffness is negative", "degree of freedom 0 (-1.0)", "0 or more"]),
    "negative damping": ({"damping": [0, 0, -3.0, 0]}, ["damping is negative", "degree of freedom 7 (-3.0)"]),
    "nan stiffness": ({"stiffness": np.nan}, ["stiffness is not finite", "degree of freedom 0", "finite"]),
    "crossed limits": ({"lower_limit": 1.0, "upper_limit": -1.0}, ["lower_limit above upper_limit", "swap"]),
    "nan limit": ({"lower_limit": np.nan}, ["lower_limit is not finite"]),
    "rest not unit": ({"rest_position": np.zeros(14)}, ["rest_position quaternion is not of length 1", "normalise"]),
    "wrong rest size": ({"rest_position": np.zeros(3)}, ["rest_position: shape (3,)", "(nq) = (14,)"]),
    "unknown shape": ({"shape": ["box", "spere", "box", "box"]}, ["unknown shape 'spere'", "did you mean 'sphere'?"]),
    "mesh without file": (
        {"shape": ["box", "mesh", "box", "box"]},
        ["mesh shape without a file", "body 1 'arm'", "mesh_path={body: path}"],
    ),
    "loop to nowhere": ({"loop_body": [[0, 9]]}, ["loop joint to an unknown body", "loop joint 0 ([0 9])", "0 … 3"]),
    "loop to itself": ({"loop_body": [[2, 2]]}, ["loop joint from a body to itself", "loop joint 0 ([2 2])"]),
    "loop shape": ({"loop_body": [0, 1]}, ["loop_body: expected integers of shape (m, 2)", "[0 1]"]),
    "loop type": (
        {"loop_body": [[0, 2]], "loop_joint_type": ["revolutte"]},
        ["unknown loop_joint_type 'revolutte'", "did you mean 'revolute'?"],
    ),
    "loop axis": ({"loop_body": [[0, 2]], "loop_axis": [[0.0, 0, 0]]}, ["zero loop_axis", "loop joint 0", "direction"]),
    "loop rotation": (
        {"loop_body": [[0, 2]], "loop_rotation": [[EYE, 2 * EYE]]},
        ["loop_rotation is not a rotation", "loop joint 0", "orthonormal"],
    ),
    "mirrored loop rotation": (
        {"loop_body": [[0, 2]], "loop_rotation": [[EYE, np.diag([1.0, 1.0, -1.0])]]},
        ["loop_rotation is not a rotation", "loop joint 0", "determinant +1"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_problem_alone(case: str) -> None:
    """Exactly one sentence: a bad value must not drag other complaints with it."""
    changes, parts = CASES[case]
    found = problems_of(**changes)
    assert len(found) == 1, found
    for part in parts:
        assert part in found[0], (part, found[0])


def test_missing_array_is_named() -> None:
    with pytest.raises(InvalidLinkageError, match=r"mass is missing; it must have shape \(n\) = \(4,\)"):
        Linkage.from_arrays(**{**good(), "mass": None})


# -------------------------------------------------------------------- all together


def test_all_problems_in_one_error() -> None:
    """One run must show everything that is wrong, whatever kind it is."""
    inertia = np.tile(EYE, (8, 1, 1))
    inertia[1] = np.diag([1.0, 1.0, -1.0])
    inertia[2, 0, 1] = 0.5
    inertia[3] = np.diag([1.0, 1.0, 3.0])
    rotation = np.tile(EYE, (8, 1, 1))
    rotation[4] *= 2.0
    axis = np.tile([0.0, 0.0, 1.0], (8, 1))
    axis[5] = 0.0
    translation = np.zeros((8, 3))
    translation[6, 1] = np.nan
    mass = np.ones(8)
    mass[7] = -1.0
    found = problems_of(
        parent=[-1, 0, 99, -1, 5, 4, 0, 0],
        joint_type=["revolute"] * 7 + ["revolutte"],
        inertia=inertia, rotation=rotation, axis=axis, translation=translation, mass=mass,
        center_of_mass=np.zeros((8, 2)), axis2=np.tile([1.0, 0.0, 0.0], (8, 1)),
        body_names=list("abcdefga"), joint_names=list("stuvwxyz"),
        shape=["blob"] * 8, loop_body=[[0, 77]],
    )  # fmt: skip
    expected = [
        "unknown joint_type 'revolutte'", "translation is not finite", "center_of_mass: shape (8, 2)",
        "unknown parent: body 2 'c' (99)", "unconnected body", "body 3 'd' (-1)", "cycle: not reachable",
        "duplicate body name 'a'", "mass is not positive: body 7 'a' (-1.0)", "inertia is not symmetric: body 2 'c'",
        "inertia is not positive definite", "triangle inequality", "zero axis: joint 5",
        "not a rotation matrix: joint 4", "unknown shape 'blob'", "loop joint to an unknown body",
    ]  # fmt: skip
    text = "\n".join(found)
    assert [part for part in expected if part not in text] == []
    unconnected_and_second_base = 1  # "unconnected body" and "body 3" are one sentence
    assert len(found) == len(expected) - unconnected_and_second_base, text


def test_the_message_counts_and_lists_them() -> None:
    with pytest.raises(InvalidLinkageError) as caught:
        Linkage.from_arrays(**{**good(), "mass": [1, -1, 1, 1], "body_names": ["a", "a", "b", "c"]})
    text = str(caught.value)
    assert text.startswith("the linkage has 2 problems:\n")
    assert text.count("\n  - ") == 2


def test_many_offenders_of_one_kind_are_summarised() -> None:
    n = 20
    found = problems_of(
        parent=np.arange(-1, n - 1), joint_type=["revolute"] * n, mass=-np.ones(n), center_of_mass=np.zeros((n, 3)),
        inertia=np.tile(EYE, (n, 1, 1)), axis=None, axis2=None, rotation=None, translation=None, body_names=None,
    )  # fmt: skip
    assert len(found) == 1
    assert "body 4 (-1.0) and 15 more" in found[0]
    assert "body 5" not in found[0]


def test_large_broken_input_is_reported_fast() -> None:
    """A cycle in 100,000 bodies: no recursion, one sentence."""
    n = 100_000
    parent = np.arange(-1, n - 1)
    parent[1] = n - 1
    found = problems_of(
        parent=parent, joint_type=np.zeros(n, dtype=np.int64), mass=np.ones(n), center_of_mass=np.zeros((n, 3)),
        inertia=np.broadcast_to(EYE, (n, 3, 3)), axis=None, axis2=None, rotation=None, translation=None,
        body_names=None,
    )  # fmt: skip
    assert len(found) == 1
    assert f"and {n - 1 - 5} more" in found[0]


def test_flat_bodies_pass_the_triangle_inequality() -> None:
    """A thin plate has exactly J_z = J_x + J_y; rounding may put it a hair above."""
    flat = np.diag([0.1, 0.2, np.nextafter(0.1 + 0.2, 1.0)])
    assert Linkage.from_arrays(**{**good(), **with_row("inertia", 1, flat)}).n_bodies == 4


def test_axes_that_mean_nothing_are_not_checked() -> None:
    """Row 3 is a spherical joint: its axis may be anything finite."""
    assert Linkage.from_arrays(**{**good(), **with_row("axis", 3, 0.0)}).n_bodies == 4
