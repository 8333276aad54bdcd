"""The linkage itself: construction, immutability, names, any order of input, loops."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers import (
    ALL_KINDS,
    CYLINDRICAL,
    EPS,
    FIXED,
    FREE,
    REVOLUTE,
    SPHERICAL,
    Arrays,
    permuted,
    random_arrays,
    random_inputs,
    relative_error,
    take_inputs,
    take_q,
    take_v,
)

from adaptive_sim import (
    InputError,
    JointType,
    Linkage,
    Shape,
    UnsupportedError,
    body_poses,
    centers_of_mass,
    energy,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    momentum,
    random_state,
)
from adaptive_sim.linkage.fields import ALL_FIELDS, reference_table

pytestmark = pytest.mark.plain

# Another order of the rows changes the order of sums at bodies with several children, and with it the rounding, which
# the inertia matrix (condition about 1e4 here) may amplify.
REORDERED = 1e4 * 10 * EPS
# Poses: the same products in the same order, whatever the order of the rows.
SAME_ARITHMETIC = 0.0


def with_base(parent: list[int], **changes: object) -> Linkage:
    n = len(parent)
    given = {
        "joint_type": ["revolute"] * n,
        "mass": np.ones(n),
        "center_of_mass": np.zeros((n, 3)),
        "inertia": np.tile(np.eye(3), (n, 1, 1)),
    }
    return Linkage.from_arrays(parent, **{**given, **changes})


# -------------------------------------------------------------------- construction


def test_the_smallest_linkage() -> None:
    linkage = with_base([-1])
    assert (linkage.n_bodies, linkage.n_joints, linkage.nq, linkage.nv, linkage.n_dof) == (1, 1, 1, 1, 1)
    assert not linkage.is_floating
    assert linkage.depth == 1


def test_sizes_of_mixed_joints() -> None:
    arrays = random_arrays(9, 0, ALL_KINDS, shape="chain")
    linkage = arrays.linkage()
    assert linkage.nv == arrays.nv == 19
    assert linkage.nq == arrays.nq == 21
    assert np.array_equal(np.diff(linkage.v_start), arrays.v_sizes)
    assert np.array_equal(np.diff(linkage.q_start), arrays.q_sizes)
    assert linkage.depth == 9
    assert linkage.body_depth.tolist() == list(range(1, 10))
    assert linkage.joint_mask(JointType.FREE).sum() == 1
    assert linkage.total_mass == pytest.approx(arrays.mass.sum(), rel=4 * EPS)


def test_joint_types_by_name_number_or_member() -> None:
    names = ["free", "Revolute", "SPHERICAL"]
    for given in (names, [3, 0, 2], [FREE, REVOLUTE, SPHERICAL], np.array([3, 0, 2], dtype=np.int8)):
        linkage = with_base([-1, 0, 1], joint_type=given)
        assert linkage.joint_type.tolist() == [3, 0, 2]
        assert linkage.is_floating


def test_defaults_are_those_of_the_table() -> None:
    linkage = with_base([-1, 0, 1], joint_type=["free", "spherical", "revolute"])
    for field in ALL_FIELDS:
        if field.default is not None and field.name != "rest_position":
            found = getattr(linkage, field.name)
            assert np.array_equal(found, np.broadcast_to(np.reshape(field.default, found.shape[1:] or ()), found.shape))
    assert linkage.rest_position.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert all(f"`{field.name}`" in reference_table() for field in ALL_FIELDS)


def test_axes_are_normalised_and_rough_rotations_cleaned() -> None:
    turn = np.array([[0.866025, -0.5, 0.0], [0.5, 0.866025, 0.0], [0.0, 0.0, 1.0]])  # six digits, as in a text file
    linkage = with_base([-1], axis=[[0.0, 3.0, 4.0]], rotation=[turn])
    assert np.allclose(linkage.axis, [[0.0, 0.6, 0.8]], rtol=0, atol=EPS)
    R = linkage.rotation[0]
    assert np.abs(R.T @ R - np.eye(3)).max() <= 4 * EPS
    assert np.abs(R - turn).max() <= 1e-6


def test_springs_for_all_per_joint_and_per_degree_of_freedom() -> None:
    kinds = ["cylindrical", "revolute"]
    assert with_base([-1, 0], joint_type=kinds, stiffness=2.0).stiffness.tolist() == [2.0, 2.0, 2.0]
    assert with_base([-1, 0], joint_type=kinds, stiffness=[1.0, 2.0]).stiffness.tolist() == [1.0, 1.0, 2.0]
    assert with_base([-1, 0], joint_type=kinds, stiffness=[1.0, 2.0, 3.0]).stiffness.tolist() == [1.0, 2.0, 3.0]


def test_springs_are_per_degree_of_freedom_where_both_readings_fit() -> None:
    """Two joints, two degrees of freedom, but not one each: the declared shape (nv,) wins."""
    linkage = with_base([-1, 0], joint_type=[FIXED, CYLINDRICAL], stiffness=[1.0, 2.0], damping=[3.0, 4.0])
    assert linkage.stiffness.tolist() == [1.0, 2.0]
    assert linkage.damping.tolist() == [3.0, 4.0]


def test_input_arrays_are_copied() -> None:
    arrays = random_arrays(4, 1)
    linkage = arrays.linkage()
    before = linkage.mass.copy()
    arrays.mass[:] = -1.0
    arrays.parent[:] = 7
    arrays.axis[:] = 0.0
    assert np.array_equal(linkage.mass, before)
    assert linkage.parent[0] == -1
    assert np.abs(np.linalg.norm(linkage.axis, axis=1) - 1.0).max() <= 4 * EPS
    assert arrays.inertia.flags.writeable, "the caller's arrays stay theirs"


# -------------------------------------------------------------------- immutability


def every_array(linkage: Linkage):
    for field in dataclasses.fields(linkage):
        value = getattr(linkage, field.name)
        if isinstance(value, np.ndarray):
            yield field.name, value
    for group in ("kernel_model", "loops"):
        for name, value in getattr(linkage, group)._asdict().items():
            yield f"{group}.{name}", value
    for name in ("q_start", "v_start", "model_index", "quaternion_starts", "body_depth", "kernel_frame"):
        yield name, getattr(linkage, name)


@pytest.mark.parametrize("shuffle", [False, True])
def test_no_array_can_be_written(shuffle: bool) -> None:
    linkage = random_arrays(9, 2, springs=True, shuffle=shuffle).linkage(loop_body=[[0, 4]])
    names = []
    for name, array in every_array(linkage):
        names.append(name)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert len(names) > 35


def test_fields_cannot_be_replaced() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        with_base([-1]).mass = np.ones(1)  # type: ignore[misc]


def test_kernels_see_one_type_of_model() -> None:
    """Turned or unturned frames must not make Numba compile every kernel a second time."""
    turned = with_base([-1, 0], axis=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    unturned = with_base([-1, 0])
    assert turned.kernel_frame is not None
    assert unturned.kernel_frame is None
    for a, b in zip(turned.kernel_model, unturned.kernel_model):
        assert (a.dtype, a.ndim, a.flags.writeable) == (b.dtype, b.ndim, b.flags.writeable)
        assert a.flags.c_contiguous
        assert b.flags.c_contiguous


# -------------------------------------------------------------------- any order of input


@pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])
@pytest.mark.parametrize("seed", range(3))
def test_any_order_gives_the_same_results(shape: str, seed: int) -> None:
    """The same linkage with its rows permuted: same poses, accelerations, forces, energies, for the same bodies."""
    arrays = random_arrays(14, seed, shape=shape, springs=True, damping=True)
    x = random_inputs(arrays, seed + 50)
    order = np.random.default_rng(seed).permutation(arrays.n)
    other, y = permuted(arrays, order), take_inputs(arrays, order, x)
    A, B = arrays.linkage(), other.linkage()
    assert A.in_input_order
    assert not B.in_input_order

    for a, b in zip(body_poses(A, x.q), body_poses(B, y.q)):
        assert np.abs(a[order] - b).max() <= SAME_ARITHMETIC
    assert np.abs(centers_of_mass(A, x.q)[order] - centers_of_mass(B, y.q)).max() <= SAME_ARITHMETIC
    for method in ("aba", "crba"):
        a = forward_dynamics(A, x.q, x.v, x.tau, **x.forces(), method=method, joint_forces=True)
        b = forward_dynamics(B, y.q, y.v, y.tau, **y.forces(), method=method, joint_forces=True)
        assert relative_error(b.acceleration, take_v(arrays, order, a.acceleration)) <= REORDERED
        assert relative_error(b.joint_force, a.joint_force[order]) <= REORDERED
    tau_a = inverse_dynamics(A, x.q, x.v, x.tau, **x.forces())
    assert relative_error(inverse_dynamics(B, y.q, y.v, y.tau, **y.forces()), take_v(arrays, order, tau_a)) <= REORDERED
    places = take_v(arrays, order, np.arange(arrays.nv)).astype(int)
    assert relative_error(mass_matrix(B, y.q), mass_matrix(A, x.q)[np.ix_(places, places)]) <= REORDERED
    assert energy(B, y.q, y.v) == pytest.approx(energy(A, x.q, x.v), rel=REORDERED)
    for a, b in zip(momentum(A, x.q, x.v), momentum(B, y.q, y.v)):
        assert relative_error(b, a) <= REORDERED


def test_poses_of_a_shuffled_chain_are_the_same_to_the_last_bit() -> None:
    arrays = random_arrays(30, 4, shape="chain")
    x = random_inputs(arrays, 5)
    order = np.random.default_rng(6).permutation(30)
    a, b = body_poses(arrays.linkage(), x.q), body_poses(permuted(arrays, order).linkage(), take_q(arrays, order, x.q))
    assert np.array_equal(a[0][order], b[0])
    assert np.array_equal(a[1][order], b[1])


def test_arrays_are_parents_first_and_the_map_is_a_permutation() -> None:
    linkage = random_arrays(40, 7, shuffle=True).linkage()
    assert np.all(linkage.parent < np.arange(40))
    assert np.array_equal(np.sort(linkage.input_index), np.arange(40))
    assert np.array_equal(linkage.input_index[linkage.model_index], np.arange(40))


def test_conversions_between_orders_undo_each_other() -> None:
    arrays = random_arrays(20, 8, shuffle=True)
    linkage, x = arrays.linkage(), random_inputs(arrays, 9)
    assert np.array_equal(linkage.q_to_input(linkage.q_to_model(x.q)), x.q)
    assert np.array_equal(linkage.v_to_input(linkage.v_to_model(x.v)), x.v)
    assert np.array_equal(linkage.bodies_to_input(linkage.bodies_to_model(x.force)), x.force)
    # Model order really is another one, and it puts each joint's coordinates where q_start says.
    model = linkage.q_to_model(x.q)
    for body, at in enumerate(arrays.q_slices()):
        start = linkage.q_start[linkage.model_index[body]]
        assert np.array_equal(model[start : start + at.stop - at.start], x.q[at])


def test_an_ordered_input_keeps_its_order() -> None:
    linkage = random_arrays(25, 10).linkage()
    assert linkage.in_input_order
    x = np.arange(25.0)
    assert linkage.bodies_to_model(x) is x, "no copy where nothing moves"


# -------------------------------------------------------------------- names


def test_names_follow_the_input() -> None:
    bodies, joints = ["hand", "arm", "trunk"], ["wrist", "shoulder", "root"]
    linkage = with_base([1, 2, -1], body_names=bodies, joint_names=joints)
    assert linkage.body_names == bodies
    assert linkage.joint_names == joints
    assert [linkage.body_index(b) for b in bodies] == [0, 1, 2]
    assert [linkage.joint_index(j) for j in joints] == [0, 1, 2]
    assert linkage.body_index(2) == 2


def test_generated_names() -> None:
    linkage = with_base([1, -1])
    assert linkage.body_names == ["body_0", "body_1"]
    assert linkage.joint_index("joint_1") == 1


def test_unknown_names_and_indices_are_named_with_a_hint() -> None:
    linkage = with_base([-1, 0], body_names=["trunk", "arm"])
    with pytest.raises(InputError, match="no body named 'trnk'; did you mean 'trunk'"):
        linkage.body_index("trnk")
    with pytest.raises(InputError, match="joint index 2 is out of range; the linkage has 2"):
        linkage.joint_index(2)
    with pytest.raises(InputError, match="body index -1 is out of range"):
        linkage.body_index(-1)


def test_description() -> None:
    linkage = with_base([-1, 0, 0], joint_type=["free", "revolute", "revolute"], name="bird")
    assert "bird" in repr(linkage)
    assert "3 bodies" in repr(linkage)
    for part in ("8 degrees of freedom", "depth 2", "1 free", "2 revolute", "total mass: 3 kg"):
        assert part in linkage.describe()


# -------------------------------------------------------------------- shapes and loops


def test_shapes_and_meshes_follow_the_order() -> None:
    linkage = with_base(
        [1, -1], shape=["mesh", "sphere"], mesh_path={0: "part.stl"}, shape_size=[[1, 1, 1], [0.5, 0, 0]]
    )
    assert linkage.shape.tolist() == [Shape.SPHERE, Shape.MESH]
    assert linkage.mesh_path == {1: "part.stl"}
    assert linkage.shape_size.tolist() == [[0.5, 0, 0], [1, 1, 1]]


def loop_linkage() -> Linkage:
    """Four bars in a row whose ends are joined; given tip first."""
    return with_base(
        [1, 2, 3, -1], loop_body=[[0, 3]], loop_joint_type=["revolute"], loop_axis=[[0.0, 0.0, 2.0]],
        loop_translation=[[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], name="four-bar",
    )  # fmt: skip


def test_loops_are_part_of_the_model() -> None:
    linkage = loop_linkage()
    assert linkage.loops.n_loops == 1
    assert linkage.loops.body.tolist() == [[3, 0]], "in model order"
    assert linkage.loops.axis.tolist() == [[0.0, 0.0, 1.0]]
    assert "1 loops" in repr(linkage)


@pytest.mark.parametrize(
    "solve",
    [forward_dynamics, lambda linkage: forward_dynamics(linkage, method="crba"), inverse_dynamics, mass_matrix],
    ids=["aba", "crba", "rnea", "mass_matrix"],
)
def test_tree_solvers_refuse_loops(solve) -> None:
    with pytest.raises(UnsupportedError, match=r"solves trees only, and linkage 'four-bar' has 1 loop joint.*remove"):
        solve(loop_linkage())


def test_what_needs_no_dynamics_accepts_loops() -> None:
    linkage = loop_linkage()
    state = random_state(linkage, 1)
    assert np.isfinite(body_poses(linkage, state.q)[1]).all()
    assert np.isfinite(energy(linkage, state.q, state.v)).all()


def test_raw_input_of_the_helpers_is_what_the_linkage_holds() -> None:
    arrays: Arrays = random_arrays(9, 11, springs=True, damping=True)
    linkage = arrays.linkage()
    for name, given in arrays.as_dict().items():
        assert np.abs(np.asarray(getattr(linkage, name), float) - given).max() <= 4 * EPS, name
