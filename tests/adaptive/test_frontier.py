"""The anytime interface: refine a little, look at the frontier, go on."""

from __future__ import annotations

import time

import numpy as np
import pytest
from assembly import shapes
from helpers import ALL_KINDS, FIXED, FREE, REVOLUTE, Arrays, random_inputs, relative_error

from adaptive_sim import Engine, InputError, forward_dynamics
from adaptive_sim.adaptive.frontier import FrontierView
from adaptive_sim.adaptive.refine import MEASURES, VISITED
from adaptive_sim.adaptive.total_acceleration import total_acceleration

from .cases import linkage_arrays

# Total accelerations as engine and ABA compute them, relative to the linkage's own, for up to 300 bodies.
AGREEMENT = 1e-9
SHAPES = {
    "chain": lambda n: shapes.chain(n),
    "star": lambda n: shapes.star(n),
    "binary": lambda n: shapes.k_ary(n, 2),
    "molecule": lambda n: shapes.molecule(n, np.random.default_rng(5)),
    "mixed": lambda n: shapes.mixed(n, np.random.default_rng(6)),
}
by_shape = pytest.mark.parametrize("shape", SHAPES)
by_measure = pytest.mark.parametrize("measure", MEASURES)


def engine_of(shape: str, n: int = 120, threshold: float = 0.0, measure: str = "relative_joint") -> Engine:
    """An engine with a force on one body, as it is most often used."""
    arrays = arrays_of(shape, n)
    engine = Engine(arrays.linkage(), error_threshold=threshold, error_measure=measure)
    engine.set_force(arrays.n - 1, (1.0, -2.0, 0.5), (0.1, 0.0, 0.2))
    return engine


def arrays_of(shape: str, n: int) -> Arrays:
    return linkage_arrays(np.asarray(SHAPES[shape](n)), 4, ALL_KINDS, base=FREE)


def visited(engine: Engine) -> int:
    return int(engine._frontier.counts[VISITED])


# -------------------------------------------------------------------- stopping and going on


@by_shape
@by_measure
def test_the_bound_only_falls_and_each_call_goes_one_node_on(shape: str, measure: str) -> None:
    engine, last, steps = engine_of(shape, measure=measure), np.inf, 0
    while True:
        result = engine.refine(joints=steps)
        assert visited(engine) <= steps
        assert result.error_bound <= last
        assert len(result.computed) <= visited(engine)
        last = result.error_bound
        if visited(engine) < steps:  # nothing is left to open
            break
        steps += 1
    assert not result.certified  # the threshold is zero, and rounding is not
    moving = [i for i, d in enumerate(arrays_of(shape, 120).v_sizes) if d > 0]
    assert set(moving) <= set(result.computed.tolist())


@by_shape
def test_going_on_gives_the_same_as_one_go(shape: str) -> None:
    whole, parts = engine_of(shape), engine_of(shape)
    expected = whole.refine(error_threshold=2.0**-19)
    for joints in (1, 2, 5, 9):
        parts.refine(joints=joints)
    parts.refine(error_threshold=2.0**-3)
    parts.refine(until=lambda view: view.error_bound < 2.0**-7)
    found = parts.refine(error_threshold=2.0**-19)
    assert found.acceleration.tobytes() == expected.acceleration.tobytes()
    assert found.computed.tolist() == expected.computed.tolist()
    assert found.error_bound == expected.error_bound
    assert found.certified
    assert expected.certified


def test_a_looser_threshold_afterwards_changes_nothing() -> None:
    engine = engine_of("molecule")
    tight = engine.refine(error_threshold=2.0**-15)
    loose = engine.refine(error_threshold=2.0**-3)
    assert loose.certified
    assert loose.acceleration.tobytes() == tight.acceleration.tobytes()
    assert loose.error_bound == tight.error_bound
    assert loose.error_threshold == 2.0**-3


def test_a_change_starts_anew() -> None:
    engine = engine_of("molecule", threshold=2.0**-3)
    first = engine.accelerate()
    engine.refine(error_threshold=0.0)
    engine.set_force(5, (0.0, 0.0, 0.0))  # nothing, but a change
    again = engine.accelerate()
    assert again.computed.tolist() == first.computed.tolist()


def test_until_is_asked_after_every_node() -> None:
    engine, seen = engine_of("molecule"), []

    def stop(view: FrontierView) -> bool:
        seen.append(visited(engine))
        return len(seen) == 7

    result = engine.refine(until=stop)
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert not result.certified
    assert visited(engine) == 7


def test_a_time_budget_is_kept() -> None:
    n = 20_000
    arrays = linkage_arrays(shapes.molecule(n, np.random.default_rng(5)), 4, (REVOLUTE,), base=FREE)
    engine = Engine(arrays.linkage(), error_threshold=0.0)
    engine.set_force(n - 1, (1.0, 0.0, 0.0))
    engine.refine(joints=0)
    engine.refine(seconds=1e-4)  # what is compiled is loaded
    engine._fresh = False
    began = time.perf_counter()
    full = engine.refine()
    whole = time.perf_counter() - began
    assert len(full.computed) == n
    overshoot = []
    for _ in range(5):  # the best of several: the machine may be busy
        engine._fresh = False
        began = time.perf_counter()
        result = engine.refine(seconds=whole / 8)
        overshoot.append(time.perf_counter() - began - whole / 8)
        assert 0 < visited(engine) < n
        assert not result.certified
    assert min(overshoot) < whole / 8


def test_no_time_still_computes_one_node() -> None:
    engine = engine_of("chain")
    engine.refine(seconds=0.0)
    assert visited(engine) == 1


@pytest.mark.parametrize("threshold", [-1.0, np.nan, np.inf])
def test_wrong_thresholds(threshold: float) -> None:
    engine = engine_of("chain", 5)
    with pytest.raises(InputError, match="error_threshold"):
        engine.refine(error_threshold=threshold)
    with pytest.raises(InputError, match="error_threshold"):
        engine.error_threshold = threshold
    assert engine.error_threshold == 0.0


# -------------------------------------------------------------------- what "certified" means


@by_measure
def test_without_forces_nothing_is_computed_and_all_is_certain(measure: str) -> None:
    arrays = arrays_of("mixed", 80)
    for threshold in (0.0, 2.0**-19):
        result = Engine(arrays.linkage(), error_threshold=threshold, error_measure=measure).accelerate()
        assert result.certified
        assert result.error_bound == 0.0
        assert not result.acceleration.any()


@by_measure
@by_shape
def test_certified_is_bound_within_threshold(measure: str, shape: str) -> None:
    engine = engine_of(shape, measure=measure)
    for threshold in 2.0 ** -np.arange(0.0, 60.0, 4.0):
        result = engine.refine(error_threshold=float(threshold))
        assert result.certified == (result.error_bound <= threshold)
    assert not result.certified  # 2⁻⁵⁶ is below double precision


def test_threshold_zero_computes_everything() -> None:
    engine = engine_of("mixed", 100)
    result = engine.accelerate()
    assert not result.certified
    assert 0.0 < result.error_bound < AGREEMENT
    arrays = arrays_of("mixed", 100)
    # Where nothing inside can move (fixed joints only) nothing is opened.
    assert arrays.n - result.computed.size <= sum(k == FIXED for k in arrays.kinds)


def test_only_fixed_joints() -> None:
    arrays = linkage_arrays(shapes.chain(5), 1, (FIXED,))
    engine = Engine(arrays.linkage(), gravity=(0.0, 0.0, -9.81))
    engine.set_force(4, (1.0, 0.0, 0.0))
    result = engine.accelerate()
    assert result.acceleration.size == 0
    assert result.certified
    assert engine.step(0.1).certified.all()


# -------------------------------------------------------------------- the view


@by_shape
@pytest.mark.parametrize("joints", [0, 1, 10, 40])
def test_computed_joints_and_open_parts_are_all_joints(shape: str, joints: int) -> None:
    engine = engine_of(shape)
    arrays = arrays_of(shape, 120)
    result = engine.refine(joints=joints)
    view, plan, linkage = engine.frontier(), engine._plan, engine.linkage
    inside: list[list[int]] = [[] for _ in plan.upper]
    for i in (int(k) for k in plan.order):
        own = [int(linkage.input_index[plan.joint[i]])] if plan.joint[i] >= 0 else []
        inside[i] = own + inside[plan.upper[i]] + inside[plan.lower[i]]
    open_ = [j for part in view for j in inside[part.node]]
    together = [*result.computed.tolist(), *open_]
    assert len(set(together)) == len(together)
    left_out = set(range(arrays.n)) - set(together)
    assert all(arrays.kinds[j] == FIXED for j in left_out)  # parts where nothing can move are not open
    assert view.joints_computed == len(result.computed)
    assert view.error_bound == result.error_bound

    # ordered, and the next to be opened comes first
    totals = [part.total_acceleration for part in view]
    assert totals == sorted(totals, reverse=True)
    assert len(view) == len(totals)
    if totals:
        first = view[0]
        engine.refine(joints=visited(engine) + 1)
        assert engine._frontier.visited[visited(engine) - 1] == first.node
        assert first.principal_joint == -1 or first.principal_joint in engine.refine(joints=0).computed


@by_shape
def test_total_accelerations_of_open_parts_are_the_true_ones(shape: str) -> None:
    engine = engine_of(shape)
    arrays = arrays_of(shape, 120)
    x = random_inputs(arrays, 1)
    force, torque = np.zeros((arrays.n, 3)), np.zeros((arrays.n, 3))
    force[-1] = x.force[-1]
    engine.clear_forces()
    engine.set_force(arrays.n - 1, force[-1])
    engine.q, engine.gravity = x.q, x.gravity
    exact = forward_dynamics(engine.linkage, x.q, force=force, torque=torque, gravity=x.gravity).acceleration
    square = np.array([(exact[rows] ** 2).sum() for rows in arrays.v_slices()])
    engine.refine(joints=25)
    plan, linkage = engine._plan, engine.linkage
    for part in engine.frontier():
        todo, total = [part.node], 0.0
        while todo:
            i = int(todo.pop())
            if plan.joint[i] >= 0:
                total += square[linkage.input_index[plan.joint[i]]]
            todo.extend(int(c) for c in (plan.upper[i], plan.lower[i]) if c >= 0)
        # What is shown is an upper bound: the value found, and on top of it what rounding may have done to it.
        factor, row = engine._coefficients.factor.reshape(-1), part.node - len(plan.leaf_body)
        found, rounding = total_acceleration(factor, row, engine._frontier.F, part.node)
        assert abs(found - np.sqrt(total)) < AGREEMENT * np.sqrt(square.sum())
        # ABA leaves dust where nothing moves: roundings of the largest acceleration, 1.5e-16 of it seen.
        assert np.sqrt(total) <= part.total_acceleration + 1e-14 * np.sqrt(square.sum())
        assert part.total_acceleration <= (found + rounding) * (1.0 + 1e-15)  # another order of summation
    assert relative_error(engine.refine(error_threshold=0.0).acceleration, exact) < AGREEMENT


@by_shape
def test_bodies_of_a_part_are_the_bodies_its_joints_connect(shape: str) -> None:
    engine = engine_of(shape)
    arrays = arrays_of(shape, 120)
    whole = engine.frontier() if engine.refine(joints=0) else None
    assert whole is not None
    assert sorted(whole.bodies(whole[0]).tolist()) == list(range(arrays.n))
    engine.refine(joints=30)
    view = engine.frontier()
    for part in view:
        bodies = set(view.bodies(part).tolist())
        j = part.principal_joint
        if j >= 0:
            assert j in bodies
            assert int(arrays.parent[j]) in bodies
        assert bodies <= set(range(arrays.n))
