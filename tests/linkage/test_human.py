"""The human figures: degrees of freedom, masses, stature, symmetry and the way the joints bend."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_sim import body_poses, centers_of_mass
from adaptive_sim.errors import InputError
from adaptive_sim.linkage.human import human_figure
from adaptive_sim.linkage.joints import DOF, JointType
from adaptive_sim.linkage.model import Linkage, Shape
from adaptive_sim.linkage.state import neutral_position

LIMBS = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")


def internal_dof(linkage: Linkage) -> int:
    return int(DOF[linkage.joint_type[1:]].sum())


def bent(linkage: Linkage, joint: str, angle: float) -> np.ndarray:
    q = neutral_position(linkage)
    q[linkage.q_start[linkage.joint_index(joint)]] = angle
    return body_poses(linkage, q)[1]


def test_forty_degrees_of_freedom_in_seventeen_links() -> None:
    """Nakamura & Yamane: 4 rotational joints and 12 spherical joints."""
    linkage = human_figure(40)
    assert linkage.n_bodies == 17
    assert internal_dof(linkage) == 40
    assert linkage.joint_type[0] == JointType.FREE
    assert np.sum(linkage.joint_type == JointType.REVOLUTE) == 4
    assert np.sum(linkage.joint_type == JointType.SPHERICAL) == 12


def test_sixteen_degrees_of_freedom_four_for_each_arm_and_leg() -> None:
    linkage = human_figure(16)
    assert internal_dof(linkage) == 16
    for limb in ("shoulder", "hip"):
        for side in ("left", "right"):
            hinge = {"shoulder": "elbow", "hip": "knee"}[limb]
            assert linkage.joint_type[linkage.joint_index(f"{side}_{limb}")] == JointType.SPHERICAL
            assert linkage.joint_type[linkage.joint_index(f"{side}_{hinge}")] == JointType.REVOLUTE


@pytest.mark.parametrize("dof", [16, 40])
def test_mass_height_and_names(dof: int) -> None:
    linkage = human_figure(dof, height=1.6, mass=60.0)
    assert linkage.total_mass == pytest.approx(60.0, rel=1e-9)
    names = set(linkage.body_names)
    assert {f"{side}_{limb}" for side in ("left", "right") for limb in LIMBS} | {"head"} <= names
    assert names >= ({"pelvis", "abdomen", "thorax", "neck"} if dof == 40 else {"torso"})
    _, position = body_poses(linkage)
    head, foot = linkage.body_index("head"), linkage.body_index("left_foot")
    assert position[head, 2] + 2.0 * linkage.shape_size[head, 0] == pytest.approx(1.6)
    assert position[foot, 2] == pytest.approx(linkage.shape_size[foot, 2])  # the sole is on the ground
    assert np.all(linkage.shape != Shape.NONE)
    assert linkage.in_input_order


def test_both_figures_are_the_same_person() -> None:
    """Total mass, centre of mass and inertia at q = 0 agree but for the neck, which only one of them has."""
    com = []
    for dof in (16, 40):
        linkage = human_figure(dof)
        com.append(linkage.mass @ centers_of_mass(linkage) / linkage.total_mass)
    np.testing.assert_allclose(com[0], com[1], atol=0.005)
    # Standing men have their centre of mass at 55 to 58 % of their height.
    assert 0.54 < com[1][2] / 1.75 < 0.59


@pytest.mark.parametrize("dof", [16, 40])
def test_left_mirrors_right(dof: int) -> None:
    linkage = human_figure(dof)
    center = centers_of_mass(linkage)
    for limb in LIMBS:
        left, right = linkage.body_index(f"left_{limb}"), linkage.body_index(f"right_{limb}")
        np.testing.assert_allclose(center[left], center[right] * (1, -1, 1), atol=1e-12)
        assert center[left][1] > 0.0
        np.testing.assert_array_equal(linkage.inertia[left], linkage.inertia[right])
    assert linkage.mass @ center[:, 1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dof", [16, 40])
def test_frames_are_parallel_to_the_world_at_rest(dof: int) -> None:
    rotation, _ = body_poses(human_figure(dof))
    np.testing.assert_allclose(rotation, np.broadcast_to(np.eye(3), rotation.shape), atol=1e-15)


@pytest.mark.parametrize("dof", [16, 40])
@pytest.mark.parametrize("side", ["left", "right"])
def test_elbows_bend_forwards_and_knees_backwards(dof: int, side: str) -> None:
    linkage = human_figure(dof)
    rest = body_poses(linkage)[1]
    for joint, body, way in ((f"{side}_elbow", f"{side}_hand", 1.0), (f"{side}_knee", f"{side}_foot", -1.0)):
        at = linkage.body_index(body)
        moved = bent(linkage, joint, 1.0)[at] - rest[at]
        assert way * moved[0] > 0.1
        assert moved[2] > 0.1
        row = linkage.v_start[linkage.joint_index(joint)]
        assert (linkage.lower_limit[row], linkage.upper_limit[row]) == (0.0, 2.6)
    assert np.sum(np.isfinite(linkage.upper_limit)) == 4


def test_segments_scale_with_height_and_mass() -> None:
    small, large = human_figure(40, height=1.5, mass=50.0), human_figure(40, height=1.8, mass=80.0)
    np.testing.assert_allclose(large.mass, 1.6 * small.mass)
    np.testing.assert_allclose(large.translation, 1.2 * small.translation)
    np.testing.assert_allclose(large.center_of_mass, 1.2 * small.center_of_mass)
    np.testing.assert_allclose(large.inertia, 1.6 * 1.44 * small.inertia)


def test_segments_are_those_of_de_leva() -> None:
    """A few numbers of table 4, at the stature (1.741 m) and mass (73 kg) of its men."""
    linkage = human_figure(40, height=1.741, mass=73.0)
    thigh, shank = linkage.body_index("left_thigh"), linkage.body_index("left_shank")
    assert linkage.mass[thigh] == pytest.approx(0.1416 * 73.0)
    assert linkage.translation[shank] == pytest.approx((0.0, 0.0, -0.4222))
    assert linkage.center_of_mass[thigh] == pytest.approx((0.0, 0.0, -0.4095 * 0.4222))
    expected = 0.1416 * 73.0 * (0.4222 * np.array([0.329, 0.329, 0.149])) ** 2
    np.testing.assert_allclose(linkage.inertia[thigh], np.diag(expected))
    # The trunk of the other figure is made of three parts; table 4 has the sum as a row of its own.
    torso = human_figure(16, height=1.741, mass=73.0)
    assert torso.mass[0] == pytest.approx(0.4346 * 73.0)
    assert torso.center_of_mass[0, 2] == pytest.approx((1.0 - 0.4486) * 0.5319, abs=0.005)
    table = 0.4346 * 73.0 * (0.5319 * np.array([0.372, 0.347, 0.191])) ** 2
    np.testing.assert_allclose(np.diag(torso.inertia[0]), table, rtol=0.1)


def test_base_and_springs_can_be_chosen() -> None:
    linkage = human_figure(16, base="fixed", stiffness=3.0, damping=0.2)
    assert linkage.nv == 16
    assert np.all(linkage.stiffness == 3.0)
    assert np.all(linkage.damping == 0.2)
    np.testing.assert_array_equal(human_figure(40, damping=0.2).damping[:6], 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dof": 20}, ["dof = 20", "16", "40"]),
        ({"height": -1.0}, ["height = -1.0", "m"]),
        ({"mass": 0.0}, ["mass = 0.0", "kg"]),
        ({"base": "flying"}, ["'flying'"]),
        ({"damping": -1.0}, ["damping = -1.0"]),
    ],
)
def test_bad_parameters_are_named_with_a_remedy(arguments: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        human_figure(**arguments)
    assert all(word in str(caught.value) for word in words), str(caught.value)
