"""Lazy update: after anything that changed, the coefficients are to the last bit those of an engine made anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from assembly import shapes
from conftest import PLAIN
from helpers import ALL_KINDS, FIXED, FREE, REVOLUTE, Arrays, random_position, relative_error

from adaptive_sim import Engine, Linkage, body_poses, forward_dynamics
from adaptive_sim.linkage.joints import JointType

from .cases import linkage_arrays

# Everything computed (threshold 0) against ABA: what two exact methods agree to for a hundred bodies.
AGREEMENT = 1e-9
SEQUENCES = 3 if PLAIN else 25
ACTIONS = 6 if PLAIN else 20


def coefficients(engine: Engine) -> dict[str, bytes]:
    engine._update()
    return {name: getattr(engine._coefficients, name).tobytes() for name in ("store", "motion", "factor")}


def same_bits(engine: Engine, other: Engine) -> None:
    mine, its = coefficients(engine), coefficients(other)
    assert [name for name in mine if mine[name] != its[name]] == []


class Twin:
    """An engine, and all that was done to its forces, so that another can be made in the same state."""

    def __init__(self, linkage: Linkage, q: Any, **options: Any) -> None:
        self.linkage, self.options = linkage, options
        self.engine = Engine(linkage, q, **options)
        self.forces: dict[int, list[dict[str, Any]]] = {}
        self.tau = np.zeros(linkage.nv)

    def force(self, body: int, *, keep: bool, **given: Any) -> None:
        self.forces[body] = [*(self.forces.get(body, []) if keep else []), given]
        (self.engine.add_force if keep else self.engine.set_force)(body, **given)

    def clear(self) -> None:
        self.forces.clear()
        self.engine.clear_forces()

    def fresh(self) -> Engine:
        """A new engine at the same q and time with the same forces."""
        made = Engine(self.linkage, self.engine.q, self.engine.gravity, **self.options)
        made.time = self.engine.time
        made.set_joint_forces(self.tau)
        for body, given in self.forces.items():
            for one in given:
                made.add_force(body, **one)
        return made


def random_force(rng: np.random.Generator) -> dict[str, Any]:
    schedule = str(rng.choice(["constant", "constant", "ramp", "sine", "pulse"]))
    return {
        "force": rng.normal(size=3) * 10.0,
        "torque": rng.normal(size=3) * (rng.random() < 0.5),
        "point": rng.normal(size=3) if rng.random() < 0.5 else None,
        "frame": str(rng.choice(["world", "body"])),
        "schedule": schedule,
        "times": (0.01, 0.13),
        "phase": float(rng.normal()),
    }


def act(twin: Twin, rng: np.random.Generator) -> str:
    """One random thing done to an engine; returns what."""
    engine, arrays_n = twin.engine, twin.linkage.n_bodies
    action = str(rng.choice(["force", "add", "clear", "joint", "joints", "gravity", "step", "run", "refine", "time"]))
    if action in ("force", "add"):
        twin.force(int(rng.integers(arrays_n)), keep=action == "add", **random_force(rng))
    elif action == "clear" and rng.random() < 0.3:
        twin.clear()
    elif action == "joint":
        sizes = np.empty(arrays_n, dtype=np.int64)
        sizes[twin.linkage.input_index] = np.diff(twin.linkage.v_start)
        j = int(rng.integers(arrays_n))
        value = rng.normal(size=sizes[j])
        twin.tau[sizes[:j].sum() : sizes[: j + 1].sum()] = value
        engine.set_joint_force(j, value)
    elif action == "joints" and rng.random() < 0.3:
        twin.tau = rng.normal(size=twin.linkage.nv)
        engine.set_joint_forces(twin.tau)
    elif action == "gravity":
        engine.gravity = rng.normal(size=3) * 5.0
    elif action == "step":
        engine.step(0.01)
    elif action == "run":
        engine.method = str(rng.choice(["adaptive", "adaptive", "aba", "dca"]))
        engine.run(int(rng.integers(1, 6)), 0.01)
        engine.method = "adaptive"
    elif action == "refine":
        engine.error_threshold = 2.0 ** -float(rng.integers(0, 24))
        engine.refine(joints=int(rng.integers(1, 20)))
    elif action == "time":
        engine.time = float(rng.uniform(0.0, 0.2))
    return action


def random_arrays_of(rng: np.random.Generator, n: int) -> Arrays:
    names = [*shapes.NAMED, *shapes.RANDOM]
    name = names[rng.integers(len(names))]
    parent = shapes.NAMED[name](n) if name in shapes.NAMED else shapes.RANDOM[name](n, rng)
    kinds = ALL_KINDS if rng.random() < 0.6 else (REVOLUTE,)
    base = (None, FREE, FIXED)[rng.integers(3)]
    springs = bool(rng.random() < 0.5)
    return linkage_arrays(np.asarray(parent), int(rng.integers(2**31)), kinds, base=base, springs=springs)


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_after_anything_the_coefficients_are_those_of_a_new_engine(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = random_arrays_of(rng, 8 if PLAIN else int(rng.integers(2, 120)))
    twin = Twin(arrays.linkage(), random_position(arrays, rng), error_threshold=2.0 ** -float(rng.integers(2, 20)))
    done = []
    for _ in range(ACTIONS):
        for _ in range(int(rng.integers(1, 4))):  # several before the engine looks
            done.append(act(twin, rng))
        mine, its = coefficients(twin.engine), coefficients(twin.fresh())
        assert [name for name in mine if mine[name] != its[name]] == [], f"after {done}"
    again = coefficients(twin.engine)
    twin.engine._stale = True
    assert coefficients(twin.engine) == again


def test_results_do_not_depend_on_the_way_there() -> None:
    rng = np.random.default_rng(77)
    arrays = random_arrays_of(rng, 60)
    twin = Twin(arrays.linkage(), random_position(arrays, rng))
    for _ in range(15):
        act(twin, rng)
    fresh = twin.fresh()
    fresh.error_threshold = twin.engine.error_threshold
    twin.engine._fresh = False  # not from where a refinement of its own stopped
    a, b = twin.engine.accelerate(), fresh.accelerate()
    assert a.acceleration.tobytes() == b.acceleration.tobytes()
    assert (a.error_bound, a.certified, a.computed.tolist()) == (b.error_bound, b.certified, b.computed.tolist())


def molecule(n: int = 300, seed: int = 1) -> Arrays:
    return linkage_arrays(shapes.molecule(n, np.random.default_rng(seed)), seed, (REVOLUTE,), base=FREE)


def test_a_joint_that_was_not_computed_does_not_move() -> None:
    arrays = molecule()
    engine = Engine(arrays.linkage(), error_threshold=2.0**-6)
    engine.set_force(250, (5.0, 1.0, -2.0))
    for _ in range(20):
        before = engine.q
        computed = set(engine.accelerate().computed.tolist())
        log = engine.step(0.02)
        assert int(log.joints_computed[0]) == len(computed)
        moved = {i for i, at in enumerate(arrays.q_slices()) if engine.q[at].tobytes() != before[at].tobytes()}
        assert 0 < len(computed) < arrays.n / 2
        assert moved <= computed
        assert len(moved) >= 0.9 * len(computed)  # the smallest accelerations may vanish in the sum


def test_springs_pull_only_where_joints_moved() -> None:
    arrays = molecule()
    rng = np.random.default_rng(3)
    stiffness = rng.uniform(1.0, 20.0, arrays.nv)
    linkage = arrays.linkage(stiffness=stiffness)
    engine = Engine(linkage, arrays.rest_position, error_threshold=2.0**-6)
    engine.set_force(250, (5.0, 1.0, -2.0))
    engine._update()
    joint_force = engine._drive.Q.copy()
    ever: set[int] = set()
    for _ in range(5):
        ever |= set(engine.accelerate().computed.tolist())
        engine.step(0.02)
    changed = linkage.v_to_input(joint_force != engine._drive.Q)
    at = {i for i, rows in enumerate(arrays.v_slices()) if changed[rows].any()}
    assert at
    assert at <= ever
    # … and they pull as the exact solver says
    force = np.zeros((arrays.n, 3))
    force[250] = (5.0, 1.0, -2.0)
    exact = forward_dynamics(linkage, engine.q, force=force, gravity=None).acceleration
    assert relative_error(engine.refine(error_threshold=0.0).acceleration, exact) < AGREEMENT


@pytest.mark.parametrize("frame", ["world", "body"])
def test_only_what_changed_is_joined(frame: str) -> None:
    arrays = molecule(1000)
    engine = Engine(arrays.linkage(), error_threshold=2.0**-6)
    inner = len(engine._plan.order)
    assert engine.accelerate().nodes_updated == inner
    assert engine.accelerate().nodes_updated == 0
    depth = int(engine.tree.depth) + 1

    engine.set_force(700, (1.0, 2.0, 3.0), frame=frame)
    assert 1 <= engine.accelerate().nodes_updated <= depth  # one path to the root
    engine.set_joint_force(400, 0.1)
    assert 1 <= engine.accelerate().nodes_updated <= depth
    engine.gravity = (0.0, 0.0, -9.81)
    assert engine.accelerate().nodes_updated == 1  # the world is joined last
    engine.gravity = None
    engine.accelerate()

    visited = int(engine._frontier.counts[1])
    log = engine.step(0.01)
    assert visited <= log.nodes_updated[0] <= visited + depth
    assert log.nodes_updated[0] < inner / 4
    assert engine.accelerate().nodes_updated == 0


def test_untouched_nodes_keep_their_bits() -> None:
    arrays = molecule(400)
    engine = Engine(arrays.linkage(), error_threshold=2.0**-6)
    engine.set_force(300, (1.0, 2.0, 3.0), frame="body")
    engine.accelerate()
    leaves = len(engine._plan.leaf_body)
    visited = engine._frontier.visited[: engine._frontier.counts[1]].copy()
    before = engine._coefficients.factor.copy()
    engine.step(0.05)
    changed = leaves + np.flatnonzero((engine._coefficients.factor != before).any(axis=1))
    assert len(changed) > 0
    assert set(changed.tolist()) <= set(visited.tolist())  # a force in the body's frame does not change


@pytest.mark.parametrize("base", [FREE, REVOLUTE], ids=["floating", "jointed"])
def test_a_force_fixed_in_the_world_is_turned_as_its_body_turns(base: JointType) -> None:
    arrays = linkage_arrays(shapes.k_ary(15, 2), 8, (REVOLUTE,), base=base)
    linkage = arrays.linkage()
    engine = Engine(linkage, error_threshold=0.0)
    f, point = np.array([3.0, 1.0, -2.0]), np.array([0.1, 0.2, 0.3])
    engine.set_force(14, f, point)
    before = body_poses(linkage, engine.q)[0][14]
    for _ in range(40):
        engine.step(0.1)
    R, p = body_poses(linkage, engine.q)
    assert np.abs(R[14] - before).max() > 0.2  # it has turned
    found_R, found_p = engine.body_pose(14)
    np.testing.assert_allclose(found_R, R[14], atol=1e-12)  # a product of some twenty rotations
    np.testing.assert_allclose(found_p, p[14], atol=1e-12)
    force, torque = np.zeros((15, 3)), np.zeros((15, 3))
    force[14], torque[14] = f, np.cross(R[14] @ point, f)
    exact = forward_dynamics(linkage, engine.q, force=force, torque=torque, gravity=None).acceleration
    assert relative_error(engine.accelerate().acceleration, exact) < AGREEMENT


def test_a_force_fixed_in_the_body_turns_with_it() -> None:
    arrays = linkage_arrays(shapes.chain(10), 8, ALL_KINDS, base=FREE)
    linkage = arrays.linkage()
    engine = Engine(linkage, error_threshold=0.0)
    f, n = np.array([3.0, 1.0, -2.0]), np.array([0.5, 0.0, 0.1])
    engine.set_force(9, f, frame="body", torque=n)
    engine.run(40, 0.1)
    R = body_poses(linkage, engine.q)[0][9]
    force, torque = np.zeros((10, 3)), np.zeros((10, 3))
    force[9], torque[9] = R @ f, R @ n
    exact = forward_dynamics(linkage, engine.q, force=force, torque=torque, gravity=None).acceleration
    assert relative_error(engine.accelerate().acceleration, exact) < AGREEMENT
