"""Quasi-static steps by every method: the same motion, forces in time, one run or many, errors that leave no trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from assembly import shapes
from helpers import (
    ALL_KINDS,
    FREE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Array,
    Arrays,
    Indices,
    random_position,
    relative_error,
)

import adaptive_sim as asim
from adaptive_sim import Engine, InputError, body_poses, forward_dynamics, integrate
from adaptive_sim.linkage.joints import JointType

from .cases import linkage_arrays

# Trajectories of some dozen steps by methods that agree to 1e-12 per step. Motion is not chaotic at these lengths.
AGREEMENT = 1e-9
METHODS = ("adaptive", "dca", "aba", "auto")
by_method = pytest.mark.parametrize("method", METHODS)
GRAVITY = (1.0, 2.0, -9.0)


def arrays_of(kinds: tuple[JointType, ...] = ALL_KINDS, n: int = 30, **options: Any) -> Arrays:
    return linkage_arrays(shapes.nearby(n, np.random.default_rng(2)), 9, kinds, **options)


def engine_of(arrays: Arrays, method: str = "adaptive", **options: Any) -> Engine:
    q = random_position(arrays, np.random.default_rng(3))
    return Engine(arrays.linkage(), q, **{"error_threshold": 0.0, "method": method, **options})


def amplitude(schedule: str, times: tuple[float, float], phase: float, t: float) -> float:
    """The table in `forces`, written out again."""
    if schedule == "ramp":
        return float(np.clip((t - times[0]) / (times[1] - times[0]), 0.0, 1.0))
    if schedule == "sine":
        return float(np.sin(2.0 * np.pi * (t - times[0]) / times[1] + phase))
    if schedule == "pulse":
        return 1.0 if times[0] <= t < times[1] else 0.0
    return 1.0


def plain_run(
    arrays: Arrays, q: Array, steps: int, dt: float, forces: Callable[[float, Array, Array], tuple[Array, Array]],
    tau: Array | None = None, gravity: Any = None,
) -> Array:  # fmt: skip
    """q ← q ⊕ ½h² q̈ from forward_dynamics and integrate: MATH §7 as it stands."""
    linkage = arrays.linkage()
    for k in range(steps):
        force, torque = forces(k * dt, *body_poses(linkage, q))
        qdd = forward_dynamics(linkage, q, None, tau, force, torque, gravity).acceleration
        q = integrate(linkage, q, 0.5 * dt * dt * qdd)
    return q


# -------------------------------------------------------------------- the same motion


@by_method
@pytest.mark.parametrize("springs", [False, True], ids=["free", "springs"])
@pytest.mark.parametrize("base", [None, FREE], ids=["jointed", "floating"])
def test_every_method_moves_as_written_in_the_paper(method: str, springs: bool, base: JointType | None) -> None:
    arrays = arrays_of(springs=springs, base=base)
    engine = engine_of(arrays, method, gravity=GRAVITY)
    q, tau = engine.q, np.random.default_rng(4).normal(size=arrays.nv)
    engine.set_joint_forces(tau)
    f, n, point = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2, -0.3])
    engine.set_force(17, f, point, torque=n)
    engine.add_force(17, f, frame="body")
    engine.set_force(29, -f, point, frame="body", torque=n)

    def forces(t: float, R: Array, p: Array) -> tuple[Array, Array]:
        force, torque = np.zeros((arrays.n, 3)), np.zeros((arrays.n, 3))
        force[17], torque[17] = f + R[17] @ f, n + np.cross(R[17] @ point, f)
        force[29], torque[29] = -R[29] @ f, R[29] @ (n + np.cross(point, -f))
        return force, torque

    log = engine.run(30, 0.02)
    expected = plain_run(arrays, q, 30, 0.02, forces, tau, GRAVITY)
    assert relative_error(engine.q, expected) < AGREEMENT
    assert np.abs(expected - q).max() > 0.1  # it did move
    assert engine.time == pytest.approx(0.6, abs=1e-12)
    assert len(log.method) == len(log.joints_computed) == len(log.error_bound) == len(log.certified) == 30
    assert set(log.method) <= ({method} if method != "auto" else {"adaptive", "aba"})


@by_method
@pytest.mark.parametrize("kind", [SPHERICAL, FREE], ids=["spherical", "free"])
def test_quaternions_stay_unit(method: str, kind: JointType) -> None:
    arrays = arrays_of((kind,), 10)
    engine = engine_of(arrays, method, gravity=GRAVITY)
    q = engine.q
    engine.set_force(9, (30.0, 0.0, 10.0))
    engine.run(200, 0.02)

    def forces(t: float, R: Array, p: Array) -> tuple[Array, Array]:
        force = np.zeros((10, 3))
        force[9] = (30.0, 0.0, 10.0)
        return force, np.zeros((10, 3))

    for at in arrays.q_slices():
        assert abs(np.linalg.norm(engine.q[at][-4:]) - 1.0) < 1e-14
    assert relative_error(engine.q, plain_run(arrays, q, 200, 0.02, forces, None, GRAVITY)) < 1e-7  # 200 steps


@pytest.mark.parametrize("threshold", [2.0**-10, 2.0**-20])
def test_a_tight_threshold_follows_the_exact_motion(threshold: float) -> None:
    arrays = arrays_of((REVOLUTE,), 100)
    exact, adaptive = engine_of(arrays, "aba"), engine_of(arrays, error_threshold=threshold)
    for engine in (exact, adaptive):
        engine.set_force(60, (5.0, 1.0, 2.0))
        engine.run(20, 0.02)
    d, d_exact = adaptive.displacement(), exact.displacement()
    assert np.abs(d_exact).max() > 5e-4
    # relative displacement error of the paper (MATH §7); a hundred joints' errors may add up in one body
    assert np.linalg.norm(d - d_exact, axis=1).max() < 100 * threshold * np.linalg.norm(d_exact, axis=1).max()


# -------------------------------------------------------------------- forces in time


@by_method
@pytest.mark.parametrize("schedule", ["ramp", "sine", "pulse"])
@pytest.mark.parametrize("frame", ["world", "body"])
def test_forces_follow_their_schedule(method: str, schedule: str, frame: str) -> None:
    arrays = arrays_of((REVOLUTE, PRISMATIC, SPHERICAL), 12)
    engine = engine_of(arrays, method)
    q, f, times, phase = engine.q, np.array([20.0, -10.0, 5.0]), (0.105, 0.305), 0.4
    engine.set_force(11, f, frame=frame, schedule=schedule, times=times, phase=phase)

    def forces(t: float, R: Array, p: Array) -> tuple[Array, Array]:
        force = np.zeros((12, 3))
        force[11] = amplitude(schedule, times, phase, t) * (f if frame == "world" else R[11] @ f)
        return force, np.zeros((12, 3))

    for steps in (4, 16, 30):  # before, within and after
        engine.run(steps, 0.01)
        began = round(engine.time - steps * 0.01, 9)
        q = plain_run(arrays, q, steps, 0.01, lambda t, R, p, began=began: forces(began + t, R, p))
        assert relative_error(engine.q, q) < AGREEMENT


def test_setting_the_time_sets_the_forces() -> None:
    arrays = arrays_of((REVOLUTE,), 5)
    engine = engine_of(arrays)
    engine.set_force(4, (1.0, 2.0, 3.0), schedule="pulse", times=(1.0, 2.0))
    assert not engine.accelerate().acceleration.any()
    engine.time = 1.5
    assert engine.accelerate().acceleration.any()
    engine.time = 2.0
    assert not engine.accelerate().acceleration.any()
    with pytest.raises(InputError, match="time"):
        engine.time = np.nan


# -------------------------------------------------------------------- one run or many


@pytest.mark.parametrize("method", ["adaptive", "dca", "aba"])
@pytest.mark.parametrize("kinds", [ALL_KINDS, (REVOLUTE,)], ids=["all kinds", "revolute"])
def test_a_run_is_its_steps(method: str, kinds: tuple[JointType, ...]) -> None:
    arrays = arrays_of(kinds, springs=True)
    one, many, halves = (engine_of(arrays, method, gravity=GRAVITY, error_threshold=2.0**-12) for _ in range(3))
    for engine in (one, many, halves):
        engine.set_force(20, (1.0, 2.0, 3.0), schedule="sine", times=(0.0, 0.37))
        engine.set_force(25, (1.0, 2.0, 3.0))
    dt = 0.1 / 7.0
    log = one.run(25, dt)
    logs = [many.step(dt) for _ in range(25)]
    halves.run(12, dt)
    halves.run(13, dt)
    for other in (many, halves):
        assert other.q.tobytes() == one.q.tobytes()
        assert other.time == one.time
    for name in ("joints_computed", "error_bound", "certified", "nodes_updated"):
        assert getattr(log, name).tolist() == [getattr(entry, name)[0] for entry in logs]


def test_no_steps() -> None:
    engine = engine_of(arrays_of())
    q = engine.q
    log = engine.run(0, 0.1)
    assert log.method == []
    assert log.joints_computed.size == 0
    assert engine.q.tobytes() == q.tobytes()
    assert engine.time == 0.0


def test_asking_changes_nothing() -> None:
    asked, silent = (engine_of(arrays_of(), gravity=GRAVITY, error_threshold=2.0**-8) for _ in range(2))
    for _ in range(5):
        asked.accelerate()
        asked.refine(error_threshold=0.0)
        asked.body_pose(7)
        asked.displacement()
        asked.frontier()
        for engine in (asked, silent):
            engine.step(0.02)
    assert asked.q.tobytes() == silent.q.tobytes()


# -------------------------------------------------------------------- auto


def big(parent: Indices) -> Arrays:
    return linkage_arrays(parent, 5, (REVOLUTE,))


def test_auto_leaves_many_forces_to_aba() -> None:
    n = 2000
    engine = Engine(
        big(shapes.molecule(n, np.random.default_rng(1))).linkage(), method="auto", error_threshold=2.0**-19
    )
    engine.set_force(range(n), np.random.default_rng(2).normal(size=(n, 3)))
    log = engine.run(100, 1e-3)
    assert log.method[-1] == "aba"
    assert log.method.count("aba") >= 50
    at = log.method.index("aba")
    assert log.certified[at]
    assert log.error_bound[at] == 0.0
    assert log.joints_computed[at] == n


@pytest.mark.parametrize("steps", [1, 50], ids=["single steps", "runs"])
def test_auto_stays_adaptive_when_little_moves(steps: int) -> None:
    n = 5000
    engine = Engine(big(shapes.molecule(n, np.random.default_rng(1))).linkage(), method="auto", error_threshold=2.0**-3)
    engine.set_force(n - 1, (1.0, 0.0, 0.0))
    methods = [m for _ in range(100 // steps) for m in engine.run(steps, 1e-3).method]
    assert len(methods) == 100
    assert methods.count("adaptive") >= 90  # the clock of a busy machine may err now and then


def test_auto_measures_without_leaving_a_trace() -> None:
    arrays = arrays_of((SPHERICAL, FREE, REVOLUTE), springs=True)
    auto, adaptive = (engine_of(arrays, method, gravity=GRAVITY) for method in ("auto", "adaptive"))
    for engine in (auto, adaptive):
        engine.set_force(20, (1.0, 2.0, 3.0))
        engine._update()
    before = [a.copy() for a in (auto._drive.q, auto._drive.Q, auto._drive.f_ext)]
    assert auto._exact.aba_seconds > 0.0
    for a, b in zip(before, (auto._drive.q, auto._drive.Q, auto._drive.f_ext)):
        assert a.tobytes() == b.tobytes()
    assert auto.accelerate().acceleration.tobytes() == adaptive.accelerate().acceleration.tobytes()


# -------------------------------------------------------------------- mistakes


def snapshot(engine: Engine) -> tuple[Any, ...]:
    result = engine.refine(error_threshold=0.0)
    return engine.q.tobytes(), engine.time, result.acceleration.tobytes(), engine.error_measure, engine.error_threshold


MISTAKES: dict[str, tuple[Callable[[Engine], Any], str]] = {
    "dt zero": (lambda e: e.step(0.0), "dt"),
    "dt negative": (lambda e: e.run(3, -0.1), "dt"),
    "dt nan": (lambda e: e.step(np.nan), "dt"),
    "steps negative": (lambda e: e.run(-1, 0.1), "steps"),
    "nan force": (lambda e: e.set_force(1, (np.nan, 0.0, 0.0)), "force"),
    "inf torque": (lambda e: e.set_force(1, torque=(np.inf, 0.0, 0.0)), "torque"),
    "nan point": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), (0.0, np.nan, 0.0)), "point"),
    "force of two numbers": (lambda e: e.set_force(1, (1.0, 2.0)), "force"),
    "force of words": (lambda e: e.set_force(1, ("a", "b", "c")), "force"),
    "rows": (lambda e: e.set_force([1, 2], np.ones((3, 3))), "force"),
    "frame": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), frame="wrold"), "did you mean 'world'"),
    "schedule": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), schedule="sin"), "did you mean 'sine'"),
    "times": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), schedule="ramp", times=(1.0, 1.0)), "times"),
    "times nan": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), schedule="ramp", times=(0.0, np.nan)), "times"),
    "one time": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), schedule="ramp", times=(1.0,)), "times"),
    "period": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), schedule="sine", times=(0.0, 0.0)), "times"),
    "phase": (lambda e: e.set_force(1, (1.0, 0.0, 0.0), schedule="sine", phase=np.nan), "phase"),
    "body's name": (lambda e: e.set_force("body_91", (1.0, 0.0, 0.0)), "body_9"),
    "body's number": (lambda e: e.set_force(30, (1.0, 0.0, 0.0)), "30"),
    "second body": (lambda e: e.set_force([1, 99], (1.0, 0.0, 0.0)), "99"),
    "joint's number": (lambda e: e.set_joint_force(-31, 1.0), "-31"),
    "joint force nan": (lambda e: e.set_joint_force(1, np.nan), "joint force"),
    "joint force size": (lambda e: e.set_joint_force(1, np.ones(5)), "degrees of freedom"),
    "second joint": (lambda e: e.set_joint_force([1, 2], [[1.0], [np.inf]]), "joint force"),
    "second joint size": (lambda e: e.set_joint_force([1, 2], np.ones((2, 5))), "degrees of freedom"),
    "joint rows": (lambda e: e.set_joint_force([1, 2], [1.0, 2.0, 3.0]), "joint force"),
    "joint forces size": (lambda e: e.set_joint_forces(np.ones(3)), "tau"),
    "joint forces nan": (lambda e: e.set_joint_forces(np.full(e.linkage.nv, np.nan)), "tau"),
    "q size": (lambda e: setattr(e, "q", np.ones(3)), "q"),
    "q nan": (lambda e: setattr(e, "q", np.full(e.linkage.nq, np.nan)), "q"),
    "gravity": (lambda e: setattr(e, "gravity", (0.0, np.nan, 0.0)), "gravity"),
    "measure": (lambda e: setattr(e, "error_measure", "relative_joints"), "did you mean 'relative_joint'"),
    "threshold": (lambda e: setattr(e, "error_threshold", -1.0), "error_threshold"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_and_leaves_no_trace(mistake: str) -> None:
    arrays = arrays_of((REVOLUTE,))
    linkage = arrays.linkage(body_names=[f"body_{i}" for i in range(arrays.n)])
    engine = Engine(linkage, gravity=GRAVITY)
    engine.set_force(1, (1.0, 2.0, 3.0))
    engine.set_joint_force(1, 0.5)
    before = snapshot(engine)
    wrong, named = MISTAKES[mistake]
    with pytest.raises(InputError, match=named):
        wrong(engine)
    assert snapshot(engine) == before


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"method": "adaptiv"}, "did you mean 'adaptive'"),
        ({"error_measure": "absolute"}, "error_measure"),
        ({"error_threshold": np.nan}, "error_threshold"),
        ({"q": np.zeros(2)}, "q"),
        ({"gravity": (1.0, 2.0)}, "gravity"),
        ({"weight": np.ones(2)}, "weight"),
        ({"weight": np.zeros(30)}, "weight"),
    ],
)
def test_mistakes_in_making_an_engine(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        Engine(arrays_of((REVOLUTE,)).linkage(), **given)


def test_what_the_caller_does_with_his_arrays_later_does_not_matter() -> None:
    engine = engine_of(arrays_of((REVOLUTE,)))
    f, tau = np.array([1.0, 2.0, 3.0]), np.ones(30)
    engine.set_force(7, f)
    engine.set_joint_forces(tau)
    before = snapshot(engine)
    f[:] = tau[:] = 100.0
    engine.q[:] = 7.0
    engine.set_force(3, (0.0, 0.0, 0.0))  # the table is made anew
    assert snapshot(engine) == before


def test_names_and_numbers_mean_the_same() -> None:
    arrays = arrays_of((REVOLUTE,), shuffle=True)
    linkage = arrays.linkage(body_names=[f"part {i}" for i in range(arrays.n)])
    results = []
    for bodies in ([4, 9], ["part 4", "part 9"], np.array([4, 9])):
        engine = Engine(linkage, error_threshold=0.0)
        engine.set_force(bodies, [(1.0, 2.0, 3.0), (0.0, 1.0, 0.0)])
        results.append(engine.accelerate().acceleration.tobytes())
    assert len(set(results)) == 1
    assert issubclass(asim.InvalidStateError, InputError)
