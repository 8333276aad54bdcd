"""The promise of the engine: the true error never exceeds the threshold it certified, nor the bound it states.

Thousands of random cases against exact ABA: all joint types, shapes, bases and measures, loose and tight thresholds,
and, most of all, linkages near equilibrium, where the forces are large and the accelerations small (MATH §4). ABA
rounds too (chains under tension: 1e-9 where the engine is right to 1e-13), so where it contradicts the engine,
50 digits decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
from assembly import shapes
from conftest import PLAIN
from helpers import ALL_KINDS, FIXED, FREE, REVOLUTE, SPHERICAL, UNIVERSAL, Array, Arrays, Indices, random_position

from adaptive_sim import Engine, Linkage, forward_dynamics, inverse_dynamics
from adaptive_sim.adaptive.refine import MEASURES
from adaptive_sim.adaptive.total_acceleration import ROUNDINGS, total_acceleration

from . import oracle
from .cases import linkage_arrays

THRESHOLDS = 2.0 ** -np.arange(24)
LARGEST = 200  # bodies
LINKAGES = 15 if PLAIN else 400
CASES = 6 if PLAIN else 25  # per linkage: 10,000 in all
BASES = {"jointed": None, "floating": FREE, "fixed": FIXED}


# -------------------------------------------------------------------- random situations


@dataclass
class Situation:
    """A linkage at rest with forces on it, input order."""

    engine: Engine
    tau: Array
    force: Array  # (n, 3) world, at the bodies' origins
    torque: Array
    weight: Array  # (nv,)
    near_equilibrium: bool

    @property
    def linkage(self) -> Linkage:
        return self.engine.linkage

    def apply(self) -> None:
        """Give the engine these forces."""
        self.engine.clear_forces()
        self.engine.set_joint_forces(self.tau)
        pushed = np.flatnonzero(self.force.any(axis=1) | self.torque.any(axis=1))
        if len(pushed):
            self.engine.set_force(pushed, self.force[pushed], torque=self.torque[pushed])

    def exact(self) -> Array:
        e = self.engine
        return forward_dynamics(e.linkage, e.q, None, self.tau, self.force, self.torque, e.gravity).acceleration

    def with_50_digits(self) -> Array:
        """The same from the engine's own input, taken as exact numbers; slow."""
        e = self.engine
        at_rest, base = np.zeros(e.linkage.nv), ((0.0, 0.0, 0.0), tuple(-e.gravity))
        problem = oracle.Problem.of(e.linkage, e._drive.q, at_rest, e._drive.Q, e._drive.f_ext, base)
        return e.linkage.v_to_input(oracle.dca(problem, e.tree).qdd)


def random_shape(n: int, rng: np.random.Generator) -> Indices:
    name = str(rng.choice([*shapes.NAMED, *shapes.RANDOM, "mixed"]))
    if name in shapes.NAMED:
        parent = shapes.NAMED[name](n)
    else:
        parent = shapes.mixed(n, rng) if name == "mixed" else shapes.RANDOM[name](n, rng)
    parent = np.asarray(parent, dtype=np.int64)
    parent[0] = -1
    return parent


def random_linkage(rng: np.random.Generator) -> Arrays:
    n = int(np.exp(rng.uniform(np.log(2.0), np.log(LARGEST))))
    kinds = ALL_KINDS if rng.random() < 0.4 else tuple(rng.choice(ALL_KINDS, rng.integers(1, 4)))
    base = BASES[str(rng.choice([*BASES]))]
    seed, springs = int(rng.integers(2**31)), bool(rng.random() < 0.2)
    arrays = linkage_arrays(random_shape(n, rng), seed, kinds, base=base, springs=springs)
    if arrays.nv == 0:  # only fixed joints: nothing to compute
        arrays = linkage_arrays(arrays.parent, seed, (REVOLUTE, FIXED), base=REVOLUTE)
    return arrays


def straight_chain(rng: np.random.Generator) -> Arrays:
    """Bodies on one line: a pull along it leaves them at rest, whatever its size."""
    n = int(rng.integers(2, LARGEST))
    base = FIXED if rng.random() < 0.5 else None
    arrays = linkage_arrays(shapes.chain(n), int(rng.integers(2**31)), (REVOLUTE, SPHERICAL, UNIVERSAL), base=base)
    arrays.rotation[:] = np.eye(3)
    arrays.translation[:] = (0.5, 0.0, 0.0)
    arrays.center_of_mass[:, 1:] = 0.0
    return arrays


def pushes(n: int, size: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Forces of about `size` on one to ten bodies, some of them with a torque."""
    force, torque = np.zeros((n, 3)), np.zeros((n, 3))
    pushed = rng.choice(n, min(n, int(rng.integers(1, 11))), replace=False)
    force[pushed] = size * rng.normal(size=(len(pushed), 3))
    if rng.random() < 0.3:
        torque[pushed] = size * rng.normal(size=(len(pushed), 3))
    return force, torque


def situations(rng: np.random.Generator, count: int) -> Iterator[Situation]:
    """Situations of one random linkage; about half of them near equilibrium."""
    in_tension = rng.random() < 0.15
    arrays = straight_chain(rng) if in_tension else random_linkage(rng)
    linkage, n = arrays.linkage(), arrays.n
    q = None if in_tension else random_position(arrays, rng)
    weight = np.exp(rng.uniform(-2.0, 2.0, arrays.nv)) if rng.random() < 0.3 else np.ones(arrays.nv)
    engine = Engine(linkage, q, weight=weight)
    for k in range(count):
        kind = "tension" if in_tension and k % 2 else ("free", "held", "pulled")[int(rng.choice(3, p=[0.5, 0.3, 0.2]))]
        # How far from equilibrium: from as large as the forces that balance to far below their rounding.
        force, torque = pushes(n, 10.0 ** rng.uniform(-13.0, 0.0) if kind != "free" else 1.0, rng)
        gravity = rng.normal(size=3) * 10.0 * (kind in ("held", "pulled") or rng.random() < 0.5)
        tau = np.zeros(arrays.nv)
        if kind == "tension":
            pull = 10.0 ** rng.uniform(0.0, 6.0)
            force[0, 0] -= pull
            force[n - 1, 0] += pull
            gravity[:] = 0.0
        elif kind == "free":
            tau = rng.normal(size=arrays.nv) * (rng.random() < 0.3)
        else:
            balanced = np.zeros((n, 3))
            if kind == "pulled":
                ends = rng.choice(n, 2, replace=n == 1)
                balanced[ends] = np.outer([1.0, -1.0], rng.normal(size=3)) * 10.0 ** rng.uniform(0.0, 6.0)
            tau = inverse_dynamics(linkage, engine.q, force=balanced, gravity=gravity)
            force += balanced
        engine.gravity = gravity
        yield Situation(engine, tau, force, torque, weight, kind != "free")


def true_error(linkage: Linkage, weight: Array, found: Array, exact: Array, measure: str) -> float:
    joint = joint_of_row(linkage)
    off = np.sqrt(np.bincount(joint, (weight * (found - exact)) ** 2))
    all_ = np.sqrt(np.bincount(joint, (weight * exact) ** 2))
    norm = np.linalg.norm if "linkage" in measure else np.max
    error, scale = float(norm(off)), float(norm(all_))
    if measure.startswith("absolute") or error == 0.0:
        return error
    return error / scale if scale > 0.0 else np.inf


def joint_of_row(linkage: Linkage) -> Indices:
    """The joint of every entry of v, input order."""
    sizes = np.empty(linkage.n_joints, dtype=np.int64)
    sizes[linkage.input_index] = np.diff(linkage.v_start)
    return np.repeat(np.arange(linkage.n_joints), sizes)


# -------------------------------------------------------------------- the promise


@dataclass
class Tally:
    """What was seen, and the worst of it."""

    cases: int = 0
    near: int = 0
    uncertified: int = 0
    ordinary: int = 0  # not near equilibrium, relative threshold …
    given_up: int = 0  # … and not certified
    of_threshold: float = 0.0
    of_bound: float = 0.0
    decided: int = 0  # where ABA contradicted the bound and 50 digits had to decide
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.cases} cases ({self.near} near equilibrium): "
            f"true error / threshold at most {self.of_threshold:.6g}, "
            f"true error / bound at most {self.of_bound:.3g}, {self.uncertified} at the floor of double precision "
            f"({self.given_up} of {self.ordinary} ordinary ones), {self.decided} decided by 50 digits"
        )


def check(s: Situation, threshold: float, measure: str, tally: Tally) -> None:
    e = s.engine
    e.error_threshold, e.error_measure = threshold, measure
    result = e.accelerate()
    error = true_error(s.linkage, s.weight, result.acceleration, s.exact(), measure)
    if not error <= result.error_bound:
        tally.decided += 1
        error = true_error(s.linkage, s.weight, result.acceleration, s.with_50_digits(), measure)
    tally.cases += 1
    tally.near += s.near_equilibrium
    tally.uncertified += not result.certified
    ordinary = not s.near_equilibrium and measure.startswith("relative")
    tally.ordinary += ordinary
    tally.given_up += ordinary and not result.certified
    assert result.certified == (result.error_bound <= threshold)
    if result.certified:
        tally.of_threshold = max(tally.of_threshold, error / threshold)
    if not error <= result.error_bound:
        tally.violations.append(f"{measure} {threshold:.3g}: bound {result.error_bound:.6g}, true error {error:.6g}")
    if np.isfinite(result.error_bound) and error > 0.0:
        tally.of_bound = max(tally.of_bound, error / result.error_bound)


@cache
def tally_of(seed: int) -> Tally:
    """10,000 random cases."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    for _ in range(LINKAGES):
        for s in situations(rng, CASES):
            s.apply()
            threshold = float(rng.choice(THRESHOLDS))
            if (measure := str(rng.choice(MEASURES))).startswith("absolute"):
                threshold *= 10.0 ** rng.uniform(-6.0, 2.0)  # m/s², rad/s²: no natural scale
            check(s, threshold, measure, tally)
    return tally


# No violation in either; 12 was the seed with the most of them before joins were
# given their κ.
SEEDS = (2005, 12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_true_error_never_exceeds_the_bound(seed: int) -> None:
    violations = tally_of(seed).violations
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_true_error_never_exceeds_a_certified_threshold(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    tally = tally_of(seed)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.of_threshold <= 1.0
    assert tally.near >= tally.cases / 3
    # A bound that gave up everywhere would be no guarantee: where forces do not balance, a relative threshold of 2⁻²³
    # is far above rounding. Measured: 1.4 % are not certified. (Near equilibrium, with pushes down to 1e-13, half.)
    assert tally.given_up <= 0.03 * tally.ordinary
    assert tally.decided <= 0.001 * tally.cases  # the fast reference must do for nearly all


def roundings_of_nodes(s: Situation, exact: Array) -> float:
    """Largest |√𝒜 − true √𝒜| over all nodes, in roundings of the size the engine says went into it."""
    e, linkage = s.engine, s.linkage
    plan, leaves = e._plan, len(e._plan.leaf_body)
    square = linkage.v_to_model(s.weight * exact) ** 2
    sums = np.zeros(len(plan.upper))
    worst = 0.0
    for i in (int(k) for k in plan.order):
        j = int(plan.joint[i])
        own = square[linkage.v_start[j] : linkage.v_start[j + 1]].sum() if j >= 0 else 0.0
        sums[i] = own + sums[plan.upper[i]] + sums[plan.lower[i]]
        if plan.rank[i] > 0:
            found, rounding = total_acceleration(e._coefficients.factor.reshape(-1), i - leaves, e._frontier.F, i)
            off = abs(found - np.sqrt(sums[i]))
            if off > 1e-40:  # what 50 digits leave of a zero
                worst = max(worst, off / (rounding / ROUNDINGS) if rounding > 0.0 else np.inf)
    return float(worst)


def test_rounding_stays_far_below_what_the_bound_allows_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(53)
    found = []
    for _ in range(3 if PLAIN else 150):
        for s in situations(rng, 3):
            s.apply()
            s.engine.error_threshold = 0.0
            s.engine.accelerate()  # everything: now the forces on every node are known
            roundings = roundings_of_nodes(s, s.exact())
            found.append(roundings if roundings < 2.0 else roundings_of_nodes(s, s.with_50_digits()))
    with capsys.disabled():
        shown = ", ".join(f"{x:.3g}" for x in np.quantile(found, [0.5, 0.9, 0.99, 1.0]))
        print(f"\nroundings in √𝒜, worst node of {len(found)} cases: {shown} (median, 90 %, 99 %, all)")
    # The margin is what the sizes leave out. Measured over four seeds: 0.08, 0.5, 2, and 11.5 at most.
    assert max(found) < ROUNDINGS / 3.0
