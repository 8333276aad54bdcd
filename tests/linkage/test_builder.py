"""The builder against `Linkage.from_arrays`, and all its complaints in one error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from adaptive_sim.errors import InvalidLinkageError
from adaptive_sim.linkage.builder import LinkageBuilder
from adaptive_sim.linkage.fields import ALL_FIELDS
from adaptive_sim.linkage.generators import random_tree
from adaptive_sim.linkage.inertia import inertia_of_box, inertia_of_capsule
from adaptive_sim.linkage.joints import JointType
from adaptive_sim.linkage.model import Linkage, Shape

UNIT = {"mass": 1.0, "inertia": np.eye(3)}


def problems_of(builder: LinkageBuilder) -> list[str]:
    with pytest.raises(InvalidLinkageError) as caught:
        builder.build()
    return list(caught.value.problems)


def assert_one(problems: list[str], *words: str) -> None:
    """Exactly one of the problems has all the words."""
    found = [p for p in problems if all(word in p for word in words)]
    assert len(found) == 1, problems


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_piece_by_piece_in_any_order_equals_from_arrays(seed: int, n: int) -> None:
    """Take a random linkage apart, add its joints in another order, and get the same arrays back."""
    rng = np.random.default_rng(seed)
    wanted = random_tree(n, seed=seed)
    nv, nq, v, q = wanted.nv, wanted.nq, wanted.v_start, wanted.q_start
    springs = {"stiffness": rng.random(nv), "damping": rng.random(nv), "lower_limit": -rng.random(nv)}
    rest = wanted.rest_position.copy()
    plain = np.setdiff1d(np.arange(nq), (wanted.quaternion_starts[:, None] + np.arange(4)).ravel())
    rest[plain] = rng.normal(size=len(plain))

    builder = LinkageBuilder("same")
    for i in range(n):
        builder.add_body(
            f"b{i}", mass=wanted.mass[i], center_of_mass=wanted.center_of_mass[i], inertia=wanted.inertia[i],
            shape=Shape(wanted.shape[i]), shape_size=wanted.shape_size[i], color=wanted.color[i],
            shape_translation=wanted.shape_translation[i], shape_quaternion=wanted.shape_quaternion[i],
        )  # fmt: skip
    for i in rng.permutation(n):
        dof = slice(v[i], v[i + 1])
        builder.add_joint(
            f"j{i}", parent=None if wanted.parent[i] < 0 else f"b{wanted.parent[i]}", child=f"b{i}",
            type=JointType(wanted.joint_type[i]).name.lower(), axis=wanted.axis[i], axis2=wanted.axis2[i],
            pitch=wanted.pitch[i], translation=wanted.translation[i], rotation=wanted.rotation[i],
            stiffness=springs["stiffness"][dof], damping=springs["damping"][dof],
            limits=(springs["lower_limit"][dof], 1.0), rest_position=rest[q[i] : q[i + 1]],
        )  # fmt: skip
    built = builder.build()
    assert built.name == "same"
    assert built.body_names == [f"b{i}" for i in range(n)]
    assert built.joint_names == [f"j{i}" for i in range(n)]
    np.testing.assert_array_equal(built.parent, wanted.parent)
    np.testing.assert_array_equal(built.joint_type, wanted.joint_type)
    np.testing.assert_array_equal(built.shape, wanted.shape)
    changed = {**springs, "upper_limit": np.ones(nv), "rest_position": rest}
    for field in ALL_FIELDS:
        expected = changed.get(field.name, getattr(wanted, field.name))
        # Axes and rotations are normalised again on the way in.
        np.testing.assert_allclose(getattr(built, field.name), expected, rtol=1e-15, atol=1e-15, err_msg=field.name)


def test_children_may_come_before_their_parents() -> None:
    builder = LinkageBuilder()
    builder.add_joint("elbow", parent="upper", child="lower")
    builder.add_body("lower", **UNIT).add_body("upper", **UNIT)
    linkage = builder.add_joint("shoulder", parent="world", child="upper", type="spherical").build()
    assert linkage.body_names == ["lower", "upper"]  # the user's order
    assert linkage.joint_names == ["elbow", "shoulder"]
    assert list(linkage.input_index) == [1, 0]  # parents first inside


def test_defaults_are_those_of_from_arrays() -> None:
    built = LinkageBuilder().add_body("b", **UNIT).add_joint("j", parent="world", child="b", type="free").build()
    plain = Linkage.from_arrays([-1], ["free"], mass=[1.0], center_of_mass=np.zeros((1, 3)), inertia=np.eye(3)[None])
    for field in ALL_FIELDS:
        np.testing.assert_array_equal(getattr(built, field.name), getattr(plain, field.name), err_msg=field.name)


def test_a_body_can_be_its_shape() -> None:
    turn = Rotation.from_euler("xyz", (0.3, -0.8, 0.5))
    builder = LinkageBuilder()
    builder.add_body("rod", shape="capsule", shape_size=(0.02, 1.0), shape_translation=(0, 0, -0.5), density=700.0)
    builder.add_body(
        "box", shape="box", shape_size=(1, 2, 3), shape_quaternion=turn.as_quat(), mass=4.0, center_of_mass=(1, 0, 0)
    )
    builder.add_body("ball", shape="sphere", shape_size=0.5, mass=1.0)
    builder.add_body("drop", shape="capsule", shape_size=(0.5, 0.0), mass=1.0)
    for parent, child in (("world", "rod"), ("rod", "box"), ("rod", "ball"), ("ball", "drop")):
        builder.add_joint(f"to {child}", parent=parent, child=child)
    linkage = builder.build()
    rod = inertia_of_capsule(0.02, 1.0, density=700.0)
    box = inertia_of_box((1.0, 2.0, 3.0), mass=4.0).moved(rotation=turn.as_matrix())
    np.testing.assert_allclose(linkage.mass, [float(rod.mass), 4.0, 1.0, 1.0])
    np.testing.assert_allclose(linkage.center_of_mass[:2], [(0, 0, -0.5), (1, 0, 0)])
    np.testing.assert_allclose(linkage.inertia[:2], [rod.inertia, box.inertia], atol=1e-15)
    np.testing.assert_allclose(linkage.inertia[2], np.eye(3) * 0.4 * 0.25)
    np.testing.assert_allclose(linkage.inertia[3], linkage.inertia[2])


def test_a_rotation_may_be_a_quaternion() -> None:
    turn = Rotation.from_euler("xyz", (0.3, -0.8, 0.5))
    builder = LinkageBuilder().add_body("b", **UNIT)
    linkage = builder.add_joint("j", parent=None, child="b", rotation=turn.as_quat()).build()
    np.testing.assert_allclose(linkage.rotation[0], turn.as_matrix(), atol=1e-15)


def test_values_per_degree_of_freedom_stay_with_their_joint() -> None:
    """As many degrees of freedom as joints, but not one each: values per dof must not be read as values per joint."""
    builder = LinkageBuilder()
    for name, parent, kind, damping in (
        ("a", "world", "fixed", None),
        ("b", "a", "revolute", 1.0),
        ("c", "b", "cylindrical", (2.0, 3.0)),
    ):
        builder.add_body(name, **UNIT).add_joint(name, parent=parent, child=name, type=kind, damping=damping)
    np.testing.assert_array_equal(builder.build().damping, [1.0, 2.0, 3.0])


def test_one_number_counts_for_every_degree_of_freedom() -> None:
    builder = LinkageBuilder().add_body("b", **UNIT)
    builder.add_joint("j", parent="world", child="b", type="universal", stiffness=2.0, limits=(-1.0, (1.0, 2.0)))
    linkage = builder.build()
    np.testing.assert_array_equal(linkage.stiffness, [2.0, 2.0])
    np.testing.assert_array_equal(linkage.lower_limit, [-1.0, -1.0])
    np.testing.assert_array_equal(linkage.upper_limit, [1.0, 2.0])


def test_loops_join_bodies_by_name() -> None:
    builder = LinkageBuilder()
    for name, parent in (("a", "world"), ("b", "a"), ("c", "b")):
        builder.add_body(name, **UNIT).add_joint(name, parent=parent, child=name, translation=(1, 0, 0))
    builder.add_loop("closing", body_a="c", body_b="a", type="spherical", translation_a=(1, 2, 3))
    loops = builder.build().loops
    assert (loops.body.tolist(), loops.joint_kind.tolist()) == ([[2, 0]], [JointType.SPHERICAL])
    np.testing.assert_array_equal(loops.translation, [[(1, 2, 3), (0, 0, 0)]])
    np.testing.assert_array_equal(loops.rotation, [[np.eye(3), np.eye(3)]])


def test_all_problems_are_reported_together() -> None:
    builder = LinkageBuilder()
    builder.add_body("base", **UNIT).add_joint("root", parent="world", child="base")
    builder.add_body("negative", mass=-1.0, inertia=np.eye(3)).add_joint("j1", parent="base", child="negative")
    builder.add_body("lonely", **UNIT)
    builder.add_body("twice", **UNIT).add_joint("j2", parent="base", child="twice")
    builder.add_joint("j3", parent="negative", child="twice")
    builder.add_body("orphan", **UNIT).add_joint("j4", parent="bass", child="orphan")
    builder.add_joint("j5", parent="base", child="ghost")
    builder.add_body("no inertia", mass=1.0).add_joint("j6", parent="base", child="no inertia", type="revolut")
    builder.add_body("short", mass=1.0, inertia=(1, 1)).add_joint("j7", parent="base", child="short", axis=(0, 0, 0))
    builder.add_body("flat", shape="box", shape_size=(1, 0, 1), density=1.0)
    builder.add_joint("j8", parent="base", child="flat", stiffness=(1.0, 2.0), limits=3.0)
    builder.add_body("rings", **UNIT).add_joint("j9", parent="bells", child="rings")
    builder.add_body("bells", **UNIT).add_joint("j10", parent="rings", child="bells")
    builder.add_body("vague", shape="sphere", shape_size=1.0).add_joint("j1", parent="base", child="vague")
    builder.add_loop("l", body_a="base", body_b="nowhere")
    problems = problems_of(builder)
    assert_one(problems, "mass is not positive", "-1.0")
    assert_one(problems, "'lonely' has no joint", "add_joint")
    assert_one(problems, "'twice'", "2 joints", "'j2', 'j3'", "add_loop")
    assert_one(problems, "'j4'", "'bass'", "did you mean 'base'?")
    assert_one(problems, "'j5'", "'ghost' is not a body")
    assert_one(problems, "'no inertia' has no inertia")
    assert_one(problems, "'j6'", "'revolut'", "did you mean 'revolute'?")
    assert_one(problems, "inertia of body 'short'", "shape (3, 3)")
    assert_one(problems, "zero axis")
    assert_one(problems, "shape_size of body 'flat' is not positive")
    assert_one(problems, "stiffness of joint 'j8'")
    assert_one(problems, "limits of joint 'j8'", "(lower, upper)")
    assert_one(problems, "cycle")
    assert_one(problems, "duplicate joint name 'j1'")
    assert_one(problems, "'vague' needs either mass or density")
    assert_one(problems, "loop joint 'l'", "'nowhere'")
    assert len(problems) == 16, problems  # one mistake, one sentence


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"mass": 1.0}, ["has no inertia"]),
        ({"inertia": np.eye(3)}, ["no mass"]),
        ({"inertia": np.eye(3), "mass": 1.0, "density": 1.0}, ["both inertia and density"]),
        ({"shape": "sphere", "shape_size": 1.0, "mass": 1.0, "density": 1.0}, ["either mass or density"]),
        ({"shape": "sphere", "shape_size": 1.0, "density": 0.0}, ["density", "not positive"]),
        ({"shape": "sphere", "shape_size": 1.0, "mass": -2.0}, ["mass is not positive", "-2.0"]),
        ({"shape": "sphere", "shape_size": 1.0, "mass": np.nan}, ["mass is not finite"]),
        ({"shape": "sphere", "mass": 1.0}, ["shape_size", "not positive"]),
        ({"shape": "capsule", "shape_size": (1.0, -1.0), "mass": 1.0}, ["shape_size", "not positive"]),
        ({"shape": "capsul", "shape_size": (1.0, 1.0), **UNIT}, ["'capsul'", "did you mean 'capsule'?"]),
        ({"center_of_mass": (1.0, 2.0), **UNIT}, ["center_of_mass of body 'b'", "shape (3,)"]),
        ({"color": "red", **UNIT}, ["color of body 'b'", "red"]),
        ({"shape": "mesh", **UNIT}, ["mesh", "mesh_path"]),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 5.0])}, ["triangle"]),
    ],
)
def test_each_bad_body_gives_one_problem(body: dict[str, Any], words: list[str]) -> None:
    builder = LinkageBuilder().add_body("b", **body).add_joint("j", parent="world", child="b")
    problems = problems_of(builder)
    assert_one(problems, *words)
    assert len(problems) == 1, problems


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        ({"type": 9}, ["type of joint 'j'", "9", "revolute"]),
        ({"translation": 1.0}, ["translation of joint 'j'", "shape (3,)"]),
        ({"rotation": (0, 0, 0, 0)}, ["rotation of joint 'j'"]),
        ({"rotation": np.diag([1, 1, -1])}, ["not a rotation"]),
        ({"rest_position": (1.0, 2.0)}, ["rest_position of joint 'j'"]),
        ({"limits": (2.0, 1.0)}, ["lower_limit above upper_limit"]),
        ({"damping": -1.0}, ["damping is negative"]),
        ({"type": "universal", "axis": (1, 0, 0), "axis2": (1, 0, 0)}, ["parallel"]),
    ],
)
def test_each_bad_joint_gives_one_problem(joint: dict[str, Any], words: list[str]) -> None:
    builder = LinkageBuilder().add_body("b", **UNIT).add_joint("j", parent="world", child="b", **joint)
    problems = problems_of(builder)
    assert_one(problems, *words)
    assert len(problems) == 1, problems


def test_structure_needs_exactly_one_base() -> None:
    two = LinkageBuilder()
    for name in ("a", "b"):
        two.add_body(name, **UNIT).add_joint(name, parent=None, child=name)
    assert_one(problems_of(two), "only the base", "'b'")
    assert_one(problems_of(LinkageBuilder("nothing")), "'nothing'", "no bodies")
    assert_one(problems_of(LinkageBuilder().add_body("a", **UNIT)), "'a' has no joint")


def test_names_must_differ_and_world_is_taken() -> None:
    builder = LinkageBuilder()
    for _ in range(2):
        builder.add_body("world", **UNIT)
    problems = problems_of(builder)
    assert_one(problems, "duplicate body name 'world'")
    assert_one(problems, "the ground")


def test_long_lists_of_offenders_are_cut() -> None:
    builder = LinkageBuilder()
    for i in range(100):
        builder.add_body(f"b{i}", **UNIT)
    assert_one(problems_of(builder), "'b0', 'b1', 'b2', 'b3', 'b4' and 95 more")


def test_a_failed_build_can_be_mended() -> None:
    builder = LinkageBuilder().add_body("b", **UNIT)
    assert len(problems_of(builder)) == 1
    assert builder.add_joint("j", parent="world", child="b").build().n_bodies == 1
