"""The divide-and-conquer solver as a whole: against ABA, CRBA, RNEA, the golden data and 50 digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from agreement.test_golden import SETS, Golden
from assembly import shapes
from helpers import (
    ALL_KINDS,
    EPS,
    FIXED,
    FREE,
    HELICAL,
    MOVING_KINDS,
    PRISMATIC,
    REVOLUTE,
    Array,
    Arrays,
    Indices,
    Inputs,
    kind_id,
    random_arrays,
    random_inputs,
    relative_error,
)

import adaptive_sim as asim
from adaptive_sim import Linkage, SingularJointError, assembly, forward_dynamics
from adaptive_sim.adaptive.dca import solve_dca
from adaptive_sim.exact.dynamics import solve_aba
from adaptive_sim.linkage.joints import JointType

from .cases import Case, linkage_arrays
from .oracle import dca, dense

# What the project promises between its exact methods. Measured at 5,000 bodies: below 2e-12 for chains, molecules,
# caterpillars, millipedes, spiders, balanced trees.
AGREEMENT = 1e-9
# A light body under a heavy crown costs digits (see docs/dca.md), and hubs are split into still lighter pieces.
# Measured at 5,000 bodies: 7e-9 for a broom with a hub of 2,500 children, 2e-9 for random trees; ABA 1e-11 and 2e-13.
HEAVY_CROWNS = 1e-7
# Against 50 digits, some 30 bodies: a few hundred joins, each good to a few roundings. Measured: 1e-13.
EXACT = 1e-12
# Forces are measured against the largest one. Within a hub they are larger than outside, by the number of its pieces:
# measured 1e-11 at 300 bodies.
FORCES = 1e-9


def solve(linkage: Linkage, x: Inputs, method: str = "dca", **options: object) -> Array:
    return forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method=method, **options).acceleration


SHAPES = {
    **{name: shape for name, shape in shapes.NAMED.items() if name != "40-ary"},
    **{name: (lambda n, shape=shape: shape(n, np.random.default_rng(1))) for name, shape in shapes.RANDOM.items()},
}
CROWNED = {"star", "broom", "preferential", "stars on stars", "recursive"}
by_shape = pytest.mark.parametrize("shape", SHAPES)
by_speed = pytest.mark.parametrize("speed", [0.0, 1.0], ids=["at rest", "moving"])
BASES = {"jointed": None, "floating": FREE, "fixed": FIXED}
by_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)


# -------------------------------------------------------------------- against the other exact methods


@by_shape
@by_base
@by_speed
def test_small_linkages(shape: str, base: JointType | None, speed: float) -> None:
    """DCA = ABA = CRBA, all joint types, every kind of force, joints of the input in any order."""
    arrays = linkage_arrays(SHAPES[shape](50), 1, base=base, springs=True, damping=True)
    linkage, x = arrays.linkage(), random_inputs(arrays, 2, speed)
    found = solve(linkage, x)
    for method in ("aba", "crba"):
        assert relative_error(found, solve(linkage, x, method)) <= AGREEMENT


@by_shape
def test_thousands_of_bodies(shape: str) -> None:
    arrays = linkage_arrays(SHAPES[shape](5_000), 3)
    linkage = arrays.linkage()
    for speed in (0.0, 1.0):
        x = random_inputs(arrays, 4, speed)
        allowed = HEAVY_CROWNS if shape in CROWNED else AGREEMENT
        assert relative_error(solve(linkage, x), solve(linkage, x, "aba")) <= allowed


@pytest.mark.parametrize(
    "linkage",
    [
        asim.molecule(5_000), asim.millipede(100, 10, 300), asim.chain(5_000, base="free"), asim.caterpillar(3_000),
        asim.balanced(4_095), asim.random_tree(5_000), asim.human_figure(40), asim.bicycle_chain(),
    ],
    ids=lambda linkage: linkage.name,
)  # fmt: skip
def test_generated_linkages(linkage: Linkage) -> None:
    """Realistic ones, in their own pose and in a random one, under gravity."""
    state = asim.random_state(linkage, seed=1)
    for q, v in ((None, None), (state.q, state.v)):
        expected = forward_dynamics(linkage, q, v, method="aba").acceleration
        found = forward_dynamics(linkage, q, v, method="dca").acceleration
        assert relative_error(found, expected) <= (HEAVY_CROWNS if linkage.name == "random_tree" else AGREEMENT)


@pytest.mark.parametrize("single", [True, False], ids=["one end pushed", "every body pushed"])
def test_forces_on_one_body_and_on_all(single: bool) -> None:
    arrays = linkage_arrays(shapes.molecule(2_000, np.random.default_rng(5)), 5, [REVOLUTE])
    linkage, x = arrays.linkage(), random_inputs(arrays, 6, 0.0)
    if single:
        x.force[:-1] = 0.0
        x.torque[:] = 0.0
        x.tau[:] = 0.0
        x.gravity[:] = 0.0
    assert relative_error(solve(linkage, x), solve(linkage, x, "aba")) <= AGREEMENT


def test_no_forces_at_all() -> None:
    linkage = asim.chain(50)
    found = forward_dynamics(linkage, gravity=None, method="dca", joint_forces=True)
    assert not found.acceleration.any()
    assert found.joint_force is not None
    assert not found.joint_force.any()


def test_input_in_another_order() -> None:
    arrays = random_arrays(60, 7, shuffle=True)
    linkage, x = arrays.linkage(), random_inputs(arrays, 8)
    assert not linkage.in_input_order
    assert relative_error(solve(linkage, x), solve(linkage, x, "aba")) <= AGREEMENT
    a, b = (
        forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method=method, joint_forces=True).joint_force
        for method in ("dca", "aba")
    )
    assert relative_error(a, b) <= FORCES


# -------------------------------------------------------------------- against 50 digits and other engines


@pytest.mark.parametrize("shape", ["chain", "star", "caterpillar", "broom", "binary", "molecule", "recursive"])
@by_base
@by_speed
def test_against_50_digits(shape: str, base: JointType | None, speed: float) -> None:
    """Accelerations against a dense solve without any tree, forces against the formulas as printed."""
    case = Case.random(SHAPES[shape](25), 9, base=base, speed=speed)
    qdd, f = solve_dca(case.linkage, case.q, case.v, case.tau, case.f_ext, case.base, tree=case.tree)
    assert relative_error(qdd, dense(case.problem)) <= EXACT
    assert relative_error(f, dca(case.problem, case.tree).f) <= EXACT


@pytest.mark.plain
def test_the_oracle_agrees_with_itself() -> None:
    """Divide and conquer and a dense solve have nothing in common but the equations of motion."""
    case = Case.random(shapes.recursive(12, np.random.default_rng(10)), 10)
    # Both are right to 50 digits less what the matrices lose, and then rounded once.
    assert relative_error(dca(case.problem, case.tree).qdd, dense(case.problem)) <= EPS


@pytest.mark.plain
def test_without_compilation() -> None:
    """A linkage of all joint types, small enough for plain Python."""
    case = Case.random(shapes.recursive(10, np.random.default_rng(11)), 11)
    qdd, _ = solve_dca(case.linkage, case.q, case.v, case.tau, case.f_ext, case.base)
    assert relative_error(qdd, dense(case.problem)) <= EXACT


@pytest.mark.parametrize("name", SETS)
def test_golden_data(name: str, golden_directory) -> None:
    """Measured: 6e-14, as good as ABA's."""
    golden = Golden(golden_directory, name)
    g = golden.data
    for v, reference in ((g["v"], "acceleration_reference"), (None, "acceleration_at_rest")):
        found = forward_dynamics(golden.linkage, g["q"], v, g["tau"], **golden.forces(), method="dca")
        assert relative_error(found.acceleration, g[reference]) <= 1e-12


# -------------------------------------------------------------------- transmitted forces


@by_shape
@by_speed
def test_transmitted_forces_are_those_of_newton_and_euler(shape: str, speed: float) -> None:
    """RNEA at the accelerations of ABA. It loses digits itself in long moving chains, so not beyond 300 bodies."""
    arrays = linkage_arrays(SHAPES[shape](300), 12)
    linkage, x = arrays.linkage(), random_inputs(arrays, 13, speed)
    a, b = (
        forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method=method, joint_forces=True).joint_force
        for method in ("dca", "aba")
    )
    assert relative_error(a, b) <= FORCES


def test_a_floating_base_transmits_its_tau_only() -> None:
    arrays = random_arrays(40, 14, base=FREE)
    linkage, x = arrays.linkage(), random_inputs(arrays, 15)
    f = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method="dca", joint_forces=True).joint_force
    assert f is not None
    # The generalised force of a free joint is (force, moment) in the body's frame; no direction is constrained.
    assert np.abs(f[0] - np.r_[x.tau[3:6], x.tau[:3]]).max() <= EXACT * np.abs(f).max()


# -------------------------------------------------------------------- small and degenerate linkages


@pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)
def test_one_body(kind: JointType) -> None:
    case = Case.random(shapes.chain(1), 16, [kind])
    qdd, f = solve_dca(case.linkage, case.q, case.v, case.tau, case.f_ext, case.base)
    assert qdd.shape == (case.linkage.nv,)
    assert relative_error(qdd, dense(case.problem)) <= EXACT
    assert relative_error(f, dca(case.problem, case.tree).f) <= EXACT


@pytest.mark.parametrize("shape", ["chain", "star", "recursive"])
def test_nothing_moves(shape: str) -> None:
    """All joints fixed: no accelerations, but the forces that hold everything up."""
    arrays = linkage_arrays(SHAPES[shape](30), 17, [FIXED])
    linkage, x = arrays.linkage(), random_inputs(arrays, 18)
    assert linkage.nv == 0
    a, b = (forward_dynamics(linkage, **x.forces(), method=method, joint_forces=True) for method in ("dca", "aba"))
    assert a.acceleration.shape == (0,)
    assert relative_error(a.joint_force, b.joint_force) <= EXACT


@pytest.mark.parametrize("kinds", [[FREE, FIXED], [PRISMATIC, HELICAL, FIXED]], ids=["free and fixed", "along lines"])
@pytest.mark.parametrize("shape", ["chain", "star"])
def test_joints_without_and_with_all_freedom_mixed(kinds: list[JointType], shape: str) -> None:
    """Runs of fixed joints are one rigid body; a free joint transmits nothing."""
    case = Case.random(SHAPES[shape](25), 19, kinds)
    qdd, _ = solve_dca(case.linkage, case.q, case.v, case.tau, case.f_ext, case.base)
    assert relative_error(qdd, dense(case.problem)) <= EXACT


@pytest.mark.parametrize("joint", ["revolute", "prismatic", ["revolute", "prismatic", "helical"]], ids=str)
def test_straight_chains(joint: str | list[str]) -> None:
    """All links along x, nothing varied, at rest in the neutral pose: many axes parallel or crossing."""
    linkage = asim.chain(40, joint=joint, bend=0.0, variation=0.0)
    rng = np.random.default_rng(20)
    tau, force = rng.normal(size=linkage.nv), rng.normal(size=(40, 3))
    expected = forward_dynamics(linkage, tau=tau, force=force, method="aba").acceleration
    found = forward_dynamics(linkage, tau=tau, force=force, method="dca").acceleration
    # Bodies on prismatic joints all turn together, so each is light against the whole: measured 8e-12.
    assert relative_error(found, expected) <= (1e-10 if joint == "prismatic" else EXACT)


# -------------------------------------------------------------------- threads, trees, hubs


@pytest.mark.parametrize("shape", ["molecule", "star", "chain"])
def test_threads_change_no_bit(shape: str) -> None:
    arrays = linkage_arrays(SHAPES[shape](6_000), 21)
    linkage, x = arrays.linkage(), random_inputs(arrays, 22)
    one = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method="dca", threads=1, joint_forces=True)
    two = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method="dca", threads=2, joint_forces=True)
    assert one.acceleration.tobytes() == two.acceleration.tobytes()
    assert one.joint_force is not None
    assert two.joint_force is not None
    assert one.joint_force.tobytes() == two.joint_force.tobytes()
    default = forward_dynamics(linkage, x.q, x.v, x.tau, **x.forces(), method="dca")
    assert one.acceleration.tobytes() == default.acceleration.tobytes()


@by_shape
def test_either_kind_of_tree(shape: str) -> None:
    """The answer does not depend on how the linkage is taken apart."""
    case = Case.random(SHAPES[shape](400), 23, long_rakes=False)
    given = (case.linkage, case.q, case.v, case.tau, case.f_ext, case.base)
    short, _ = solve_dca(*given, tree=case.tree)
    long, _ = solve_dca(*given, tree=assembly.build_assembly_tree(case.linkage, long_rakes=True))
    assert relative_error(short, long) <= AGREEMENT  # measured: 5e-12


@pytest.mark.parametrize("children", [2, 3, 5, 17, 1_000, 20_000])
def test_a_hub_with_many_children(children: int) -> None:
    """The hub is split into as many pieces, each with a share of its inertia.

    The pieces are lighter than what hangs on them, and that costs digits (see docs/dca.md): about EPS · children^1.5.
    """
    linkage = asim.star(children + 1)
    state = asim.random_state(linkage, seed=24)
    found, expected = (
        forward_dynamics(linkage, state.q, state.v, method=method).acceleration for method in ("dca", "aba")
    )
    assert relative_error(found, expected) <= 20 * EPS * (10 + children**1.5)
    tree = asim.build_assembly_tree(linkage)
    assert tree.depth <= 2 * np.log2(children + 1) + 4


# -------------------------------------------------------------------- masses and inertias of very different size
#
# Φ = I⁻¹ of a light body between heavy ones has to be cancelled by what the heavy ones take from it. With r the ratio,
# or with J smaller by r than m c², the smallest directions of M are smaller by r than its largest, and the error grows
# like EPS r². Up to r = 1e4 that is an accuracy one can state; from 1e6 on little is left and the solver must say so.

LOSS = 100 * EPS  # times r²; measured: 36
# What must be reached, or else a SingularJointError raised. Worst that is not refused: 1e-5.
USEFUL = 1e-4


def scaled(arrays: Arrays, mass: Array, inertia: Array | None = None) -> Arrays:
    arrays.mass = arrays.mass * mass
    arrays.inertia = arrays.inertia * (mass if inertia is None else inertia)[:, None, None]
    return arrays


def every_second(n: int, r: float) -> Array:
    return np.where(np.arange(n) % 2, r, 1.0)


def light_base(n: int, r: float) -> Array:
    return np.where(np.arange(n) == 0, 1.0 / r, 1.0)


def growing(n: int, r: float) -> Array:
    """From the base to the tips."""
    return r ** np.linspace(0.0, 1.0, n)


MASSES = {"every second": every_second, "light base": light_base, "growing": growing}
KINDS = {"revolute": [REVOLUTE], "all": ALL_KINDS, "along lines": [PRISMATIC, HELICAL, FIXED]}


def tough_case(parent: Indices, kinds: list[JointType], base: JointType | None, masses: str, r: float) -> Case:
    n = len(parent)
    arrays = linkage_arrays(parent, 25, kinds, base=base)
    if masses == "small inertia":
        arrays = scaled(arrays, np.ones(n), np.full(n, 1.0 / r))
    else:
        arrays = scaled(arrays, MASSES[masses](n, r))
    return Case.of(arrays, random_inputs(arrays, 26))


def error_of(case: Case) -> float:
    """Of the joint accelerations, against a dense solve in 50 digits."""
    qdd, _ = solve_dca(case.linkage, case.q, case.v, case.tau, case.f_ext, case.base)
    return relative_error(qdd, dense(case.problem))


TOUGH_SHAPES = {"chain": shapes.chain(20), "star": shapes.star(20)}
by_masses = pytest.mark.parametrize("masses", [*MASSES, "small inertia"])


def tough_cases(masses: str, ratios: Sequence[float]) -> Iterator[tuple[str, float, Case]]:
    for (shape, parent), (kinds_name, kinds), (base_name, base), r in product(
        TOUGH_SHAPES.items(), KINDS.items(), BASES.items(), ratios
    ):
        name = f"{shape}, {kinds_name} joints, {base_name} base, {r:.0e}"
        yield name, r, tough_case(parent, kinds, base, masses, r)


@by_masses
def test_accuracy_that_unequal_masses_leave(masses: str) -> None:
    for name, r, case in tough_cases(masses, [1e2, 1e4]):
        assert error_of(case) <= LOSS * r**2, name


@by_masses
def test_useful_or_an_error(masses: str) -> None:
    """Never a wrong answer without a word."""
    wrong = []
    for name, _, case in tough_cases(masses, [1e6, 1e8, 1e12]):
        try:
            error = error_of(case)
        except SingularJointError as raised:
            if not str(raised).startswith(f"joint {raised.joint} ('joint_{raised.joint}')"):
                wrong.append(f"{name}: names no joint: {raised}")
        else:
            if not error <= USEFUL:
                wrong.append(f"{name}: off by {error:.0e}")
    assert not wrong, f"{len(wrong)} wrong: {wrong[:5]}"


@pytest.mark.parametrize("parent", TOUGH_SHAPES.values(), ids=TOUGH_SHAPES)
@pytest.mark.parametrize("kinds", [[REVOLUTE], MOVING_KINDS], ids=["revolute", "all"])
@by_base
def test_masses_that_fall_towards_the_tips_cost_nothing(
    parent: Indices, kinds: list[JointType], base: JointType | None
) -> None:
    """The usual case: a heavy trunk with ever lighter branches, over eight orders of magnitude."""
    n = len(parent)
    arrays = scaled(linkage_arrays(parent, 27, kinds, base=base), growing(n, 1e-8))
    assert error_of(Case.of(arrays, random_inputs(arrays, 28))) <= EXACT


def test_a_heavy_load_in_the_middle_of_a_floating_chain() -> None:
    """One body 1e8 times as heavy as the others: ABA, the reference elsewhere, loses some eight digits, DCA none."""
    heavy = np.where(np.arange(30) == 15, 1e8, 1.0)
    arrays = scaled(linkage_arrays(shapes.chain(30), 29, [REVOLUTE], base=FREE), heavy)
    case = Case.of(arrays, random_inputs(arrays, 30))
    assert error_of(case) <= EXACT
    found = solve_aba(case.linkage, case.q, case.v, case.tau, case.f_ext, case.base)
    assert relative_error(found, dense(case.problem)) > 1e-11, "if ABA has become better, say so in docs/dca.md"


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_body_without_inertia_is_named(shuffle: bool, threads: int) -> None:
    """So little that Φ overflows; the joint named is one of those that hold the body, by the input's numbers.

    Everything above it in the tree fails too, and joint 0 last of all.
    """
    arrays = random_arrays(2_000, 31, [REVOLUTE], shape="chain", shuffle=shuffle)
    arrays.mass[5] *= 1e-200
    arrays.inertia[5] *= 1e-200
    linkage, x = arrays.linkage(), random_inputs(arrays, 32)
    near = {5, *np.flatnonzero(arrays.parent == 5).tolist()}
    with pytest.raises(SingularJointError, match="singular to working precision") as raised:
        solve(linkage, x, threads=threads)
    assert raised.value.joint in near
