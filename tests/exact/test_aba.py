"""The articulated-body algorithm against a dense solve, against CRBA, against itself in reverse (RNEA), and at size."""

from __future__ import annotations

import time

import numpy as np
import pytest
from conftest import PLAIN
from helpers import (
    ALL_KINDS,
    EPS,
    FREE,
    PRISMATIC,
    REVOLUTE,
    kind_id,
    random_arrays,
    random_inertias,
    random_inputs,
    random_rotations,
    relative_error,
)

from adaptive_sim import (
    Linkage,
    SimulationError,
    SingularJointError,
    forward_dynamics,
    inverse_dynamics,
    random_state,
)
from adaptive_sim.exact import aba
from adaptive_sim.exact.dynamics import base_acceleration

from . import oracle

# The dense oracle loses digits as the inertia matrix is ill-conditioned: error ≤ SAFETY · EPS · condition.
SAFETY = 50.0
# RNEA of ABA's accelerations gives tau back up to the rounding of the largest joint force at every step of the way.
FORCES_BACK = 100 * EPS  # per body on the longest way from base to tip; measured: 12

SHAPES = pytest.mark.parametrize("shape", ["chain", "star", "random", "branched"])


def condition(arrays, q) -> float:
    return float(np.linalg.cond(oracle.mass_matrix(arrays, q)))


@pytest.mark.plain
@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_mixed_joints_against_a_dense_solve(shape: str, seed: int) -> None:
    arrays = random_arrays(12, seed, ALL_KINDS, shape=shape, springs=True, damping=True, shuffle=seed > 0)
    x = random_inputs(arrays, seed + 10)
    expected = oracle.forward_dynamics(arrays, x)
    bound = SAFETY * EPS * condition(arrays, x.q)
    assert bound < 1e-8, "the case is too ill-conditioned to say anything"
    for method in ("aba", "crba"):
        found = forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, **x.forces(), method=method).acceleration
        assert relative_error(found, expected) <= bound, method


@pytest.mark.plain
@pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_each_joint_type_against_a_dense_solve(kind, n: int) -> None:
    arrays = random_arrays(n, int(kind), [kind], springs=True, damping=True)
    x = random_inputs(arrays, n)
    linkage = arrays.linkage()
    expected = oracle.forward_dynamics(arrays, x) if arrays.nv else np.zeros(0)
    bound = SAFETY * EPS * (condition(arrays, x.q) if arrays.nv else 1.0)
    for method in ("aba", "crba"):
        found = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method=method).acceleration
        assert found.shape == (arrays.nv,)
        assert relative_error(found, expected) <= bound


@pytest.mark.plain
def test_parts_of_the_load_one_at_a_time() -> None:
    """Only v, only tau, only force, only torque, only gravity: a sign wrong in one must not hide behind the others."""
    arrays = random_arrays(10, 5)
    x, linkage = random_inputs(arrays, 6), arrays.linkage()
    bound = SAFETY * EPS * condition(arrays, x.q)
    zero = {"v": 0 * x.v, "tau": 0 * x.tau, "force": 0 * x.force, "torque": 0 * x.torque, "gravity": np.zeros(3)}
    for part in zero:
        y = type(x)(x.q, **{**zero, part: getattr(x, part)})
        found = forward_dynamics(linkage, y.q, y.v, y.tau, **y.forces()).acceleration
        assert relative_error(found, oracle.forward_dynamics(arrays, y)) <= bound, part


@pytest.mark.plain
def test_left_out_means_zero_neutral_and_standard_gravity() -> None:
    arrays = random_arrays(6, 7)
    linkage = arrays.linkage()
    given = forward_dynamics(
        linkage, None, np.zeros(arrays.nv), np.zeros(arrays.nv), np.zeros((6, 3)), np.zeros((6, 3)), (0.0, 0.0, -9.81)
    )
    # Zero external forces are subtracted, absent ones are not: the same up to the sign of zeros.
    assert np.array_equal(forward_dynamics(linkage).acceleration, given.acceleration)
    weightless = forward_dynamics(linkage, gravity=None).acceleration
    assert np.array_equal(weightless, np.zeros(arrays.nv))


@SHAPES
@pytest.mark.parametrize("n", [50, 400])
def test_larger_linkages_against_crba_and_rnea(shape: str, n: int) -> None:
    """Too large for the dense oracle to be quick; CRBA is ill-conditioned in deep chains (see its tolerance)."""
    arrays = random_arrays(n, 8, shape=shape, springs=True, damping=True)
    x, linkage = random_inputs(arrays, 9, speed=0.3), arrays.linkage()
    found = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces())
    tau = inverse_dynamics(linkage, x.q, x.v, found.acceleration, **x.forces())
    loads = np.abs(forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), joint_forces=True).joint_force).max()
    assert np.abs(tau - x.tau).max() <= FORCES_BACK * linkage.depth * loads
    by_crba = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method="crba").acceleration
    depth = linkage.depth
    # The condition of the inertia matrix of a chain grows like depth⁴ at worst; 1e-16 · 400⁴ = 2.6e-6.
    assert relative_error(by_crba, found.acceleration) <= max(1e-12, EPS * depth**4)


@pytest.mark.plain
def test_status_and_output_of_the_kernel() -> None:
    """Every entry is written (outputs poisoned before), and body accelerations follow from the joints'."""
    arrays = random_arrays(9, 10, ALL_KINDS)
    linkage, x = arrays.linkage(), random_inputs(arrays, 11)
    work = aba.make_workspace(linkage)
    for array in work:
        if array.dtype == float:  # slot and opens are the layout, not scratch
            array[...] = np.nan
    a, qdd = np.full((9, 6), np.nan), np.full(arrays.nv, np.nan)
    none = np.empty((0, 6))
    base = base_acceleration(x.gravity)
    status = aba.aba(linkage.kernel_model, x.q, x.v, x.tau, none, base, work, a, qdd)
    assert status == aba.OK
    assert np.isfinite(a).all()
    assert np.array_equal(qdd, forward_dynamics(linkage, x.q, x.v, x.tau, gravity=x.gravity).acceleration)
    motion = oracle.motion(arrays, x.q, x.v, qdd)
    F = linkage.kernel_frame
    angular = np.einsum("nij,njk,nk->ni", motion.R, F, a[:, :3])
    assert relative_error(angular, motion.alpha) <= 1e-12


@pytest.mark.plain
@pytest.mark.parametrize("kinds", [ALL_KINDS, [REVOLUTE]], ids=["mixed", "revolute"])
def test_no_velocities_at_all_means_at_rest(kinds) -> None:
    """The short cut for quasi-statics (v empty) against v = 0; velocities in the workspace poisoned."""
    arrays = random_arrays(9, 15, kinds)
    linkage, x = arrays.linkage(), random_inputs(arrays, 16)
    work, base = aba.make_workspace(linkage), base_acceleration(x.gravity)
    f_ext = np.random.default_rng(17).normal(size=(9, 6))
    results = []
    for v in (np.zeros(arrays.nv), np.empty(0)):
        work.V[...] = work.c[...] = np.nan
        a, qdd = np.full((9, 6), np.nan), np.full(arrays.nv, np.nan)
        assert aba.aba(linkage.kernel_model, x.q, v, x.tau, f_ext, base, work, a, qdd) == aba.OK
        results.append((a, qdd))
    (a0, qdd0), (a1, qdd1) = results
    assert relative_error(a1, a0) <= SAFETY * EPS
    assert relative_error(qdd1, qdd0) <= SAFETY * EPS


@pytest.mark.plain
def test_the_workspace_means_nothing_between_calls() -> None:
    arrays = random_arrays(9, 12)
    linkage, x, y = arrays.linkage(), random_inputs(arrays, 13), random_inputs(arrays, 14)
    work, none, base = aba.make_workspace(linkage), np.empty((0, 6)), base_acceleration(None)
    a, first, again = np.empty((9, 6)), np.empty(arrays.nv), np.empty(arrays.nv)
    aba.aba(linkage.kernel_model, x.q, x.v, x.tau, none, base, work, a, first)
    aba.aba(linkage.kernel_model, y.q, y.v, y.tau, none, base, work, a, again)
    aba.aba(linkage.kernel_model, x.q, x.v, x.tau, none, base, work, a, again)
    assert np.array_equal(first, again)


# -------------------------------------------------------------------- singular and overflowing


def two_balls_at_one_point(small: float, seed: int) -> Linkage:
    """Two ball joints with one centre; the body between them weighs next to nothing."""
    rng = np.random.default_rng(seed)
    inertia = random_inertias(3, rng)
    inertia[1] = small * np.eye(3)
    return Linkage.from_arrays(
        [-1, 0, 1], ["prismatic", "spherical", "spherical"], mass=[1.0, small, 1.0],
        center_of_mass=[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.3, 0.1]], inertia=inertia,
        rotation=random_rotations(3, rng), joint_names=["base", "first ball", "second ball"],
    )  # fmt: skip


@pytest.mark.plain
@pytest.mark.parametrize("method", ["aba", "crba"])
def test_a_joint_without_inertia_is_named(method: str) -> None:
    """The second ball joint takes all the inertia; what is left for the first is rounding, of either sign."""
    errors = []
    for seed in range(20):
        linkage = two_balls_at_one_point(1e-40, seed)
        state = random_state(linkage, seed)
        try:
            found = forward_dynamics(linkage, state.q, tau=np.ones(7), method=method).acceleration
        except SingularJointError as caught:
            errors.append(caught)
        else:
            assert np.isfinite(found).all()
    assert len(errors) >= 5
    for error in errors:
        assert error.joint == 1
        assert "joint 1 ('first ball')" in str(error)
        assert "check the masses and inertias" in str(error)
        assert isinstance(error, SimulationError)
        assert error.exit_code == 1


@pytest.mark.plain
@pytest.mark.parametrize("method", ["aba", "crba"])
@pytest.mark.parametrize("what", ["q", "v"])
def test_overflow_is_an_error_and_never_nan(method: str, what: str) -> None:
    arrays = random_arrays(4, 1, [PRISMATIC] if what == "q" else [REVOLUTE], shape="chain", shuffle=True)
    x = random_inputs(arrays, 2)
    if what == "q":
        x.q *= 1e200
        arrays.joint_type[np.flatnonzero(arrays.parent < 0)] = REVOLUTE
    else:
        x.v *= 1e200
    with np.errstate(all="ignore"), pytest.raises(SingularJointError, match=r"joint \d \('joint_\d'\): .*overflows"):
        forward_dynamics(arrays.linkage(), x.q, x.v, x.tau, method=method)


@pytest.mark.plain
def test_the_singular_joint_is_named_as_the_input_numbers_it() -> None:
    linkage = Linkage.from_arrays(
        [1, -1], ["revolute", "prismatic"], mass=[1.0, 1.0], center_of_mass=[[0, 0, 0]] * 2, inertia=[np.eye(3)] * 2,
        translation=[[1e200, 0, 0], [0, 0, 0]], joint_names=["outer", "inner"],
    )  # fmt: skip
    with np.errstate(all="ignore"), pytest.raises(SingularJointError) as caught:
        forward_dynamics(linkage, v=[1e200, 0.0])
    assert caught.value.joint in (0, 1)
    assert f"joint {caught.value.joint} ({linkage.joint_names[caught.value.joint]!r})" in str(caught.value)


# -------------------------------------------------------------------- symmetry and size


@pytest.mark.skipif(PLAIN, reason="long loops")
def test_deep_chain_of_spherical_joints_stays_symmetric() -> None:
    """Pinocchio 4.1.0 is wrong by 0.8 at 100 spherical joints (an asymmetric D⁻¹ grows along the chain)."""
    arrays = random_arrays(300, 3, [ALL_KINDS[2]], shape="chain")
    x, linkage = random_inputs(arrays, 4, speed=0.1), arrays.linkage()
    found = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), joint_forces=True)
    tau = inverse_dynamics(linkage, x.q, x.v, found.acceleration, **x.forces())
    assert np.abs(tau - x.tau).max() <= FORCES_BACK * linkage.depth * np.abs(found.joint_force).max()


def long_linkage(n: int, parent: np.ndarray) -> Linkage:
    rng = np.random.default_rng(0)
    kind = np.zeros(n, dtype=np.int64)
    kind[0] = FREE
    return Linkage.from_arrays(
        parent, kind, mass=np.full(n, 0.1), center_of_mass=np.tile([0.05, 0.0, 0.0], (n, 1)),
        inertia=np.broadcast_to(np.diag([1e-4, 2e-4, 2e-4]), (n, 3, 3)), axis=rng.normal(size=(n, 3)),
        translation=np.tile([0.1, 0.0, 0.0], (n, 1)),
    )  # fmt: skip


@pytest.mark.skipif(PLAIN, reason="100,000 bodies")
@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_bodies(shape: str) -> None:
    """No recursion anywhere, and RNEA returns what was put in. (A million: benchmarks.)"""
    n = 100_000
    parent = np.arange(-1, n - 1) if shape == "chain" else np.r_[-1, np.zeros(n - 1, dtype=np.int64)]
    linkage = long_linkage(n, parent)
    rng = np.random.default_rng(1)
    q = np.r_[np.zeros(6), 1.0, rng.uniform(-0.5, 0.5, n - 1)]
    tau = 1e-3 * rng.normal(size=linkage.nv)
    forward_dynamics(linkage, q, tau=tau)  # compiled and warm
    start = time.perf_counter()
    found = forward_dynamics(linkage, q, tau=tau, joint_forces=True)
    took = time.perf_counter() - start
    back = inverse_dynamics(linkage, q, None, found.acceleration)
    # A free base falls: joint forces are those of the torques alone, and so is the rounding; depth 1e5.
    assert np.abs(back - tau).max() <= 1e-9 * max(1.0, np.abs(found.joint_force).max())
    assert took < 2.0, "measured: 0.05 s; a quadratic step would take minutes"
