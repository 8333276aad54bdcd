"""What a run steps: the adaptive engine (quasi-statics) or an exact solver with an integrator (dynamics).

Both have the same few words: step, time, q, v, advance(steps), restore(step, q, v).
"""

from __future__ import annotations

import time as clock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..adaptive.engine import Engine
from ..adaptive.exact_steps import exact_forces
from ..adaptive.plan import build_assembly_tree
from ..exact.dynamics import base_acceleration, energy, solve_aba, solve_crba, with_passive_forces
from ..linkage.kinematics import poses_in_parent
from ..linkage.model import Linkage
from ..linkage.state import State, check_position, check_velocity
from ..scenario.build import initial_state
from ..scenario.models import Dynamic, QuasiStatic, Scenario
from ..scenario.select import select
from ..trajectory.frame import METHOD_CODE
from ..typing import Floats
from .forces import force_table, joint_forces, push_engine
from .integrators import Step, make_rk45, rk4, semi_implicit_euler

Diagnostics = dict[str, NDArray[Any]]


class System(Protocol):
    """What `simulate` needs."""

    linkage: Linkage

    @property
    def step(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def q(self) -> Floats: ...
    @property
    def v(self) -> Floats | None: ...
    def advance(self, steps: int) -> Diagnostics: ...
    def restore(self, step: int, q: Floats, v: Floats | None) -> None: ...


def make_system(linkage: Linkage, scenario: Scenario) -> System:
    """The scenario at time 0, ready to step."""
    state = initial_state(scenario, linkage)
    motion = scenario.motion
    if isinstance(motion, QuasiStatic):
        return QuasiStatics(make_engine(linkage, scenario, state.q), motion.step)
    return Dynamics(linkage, scenario, motion, state)


def make_engine(linkage: Linkage, scenario: Scenario, q: Floats) -> Engine:
    """The engine with the scenario's options and forces."""
    options, motion = scenario.engine, scenario.motion
    weight = np.ones(linkage.n_joints)
    for k, given in enumerate(options.weights):
        weight[select(linkage, "joint", given.joint, (scenario.seed, 4, k))] = given.weight
    engine = Engine(
        linkage, q, scenario.gravity, options.error_measure, options.error_threshold,
        motion.method if isinstance(motion, QuasiStatic) else "aba",
        weight=weight if options.weights else None,
    )  # fmt: skip
    push_engine(engine, scenario)
    if scenario.joint_forces:
        engine.set_joint_forces(joint_forces(scenario, linkage, q))
    return engine


class QuasiStatics:
    """An engine and its step; many steps are one call into compiled code."""

    def __init__(self, engine: Engine, dt: float) -> None:
        self.engine = engine
        self.linkage = engine.linkage
        self.dt = dt
        self.engine.clock = (0.0, 0, dt)

    @property
    def step(self) -> int:
        return self.engine.clock[1]

    @property
    def time(self) -> float:
        return self.engine.time

    @property
    def q(self) -> Floats:
        return self.engine.q

    @property
    def v(self) -> None:
        return None

    def advance(self, steps: int) -> Diagnostics:
        began = clock.perf_counter()
        log = self.engine.run(steps, self.dt)
        seconds = clock.perf_counter() - began
        return {
            "joints_computed": log.joints_computed,
            "error_bound": log.error_bound,
            "certified": log.certified,
            "nodes_updated": log.nodes_updated,
            "method": np.array([METHOD_CODE[name] for name in log.method], dtype=np.uint8),
            "seconds": np.full(steps, seconds / max(steps, 1)),
        }

    def restore(self, step: int, q: Floats, v: Floats | None) -> None:
        """Back to a state; what follows is what followed then, bit for bit (but for method "auto")."""
        self.engine.q = q
        self.engine.clock = (0.0, step, self.dt)


class Dynamics:
    """Exact accelerations and an integrator; positions and velocities in model order inside."""

    def __init__(self, linkage: Linkage, scenario: Scenario, motion: Dynamic, state: State) -> None:
        linkage.require_tree("dynamic motion")
        self.linkage = linkage
        self.solver = motion.solver
        self.dt = motion.step
        self.with_energy = "energy" in scenario.quantities
        self.gravity = scenario.gravity
        self._integrator: Step = {"semi_implicit_euler": semi_implicit_euler, "rk4": rk4}.get(
            motion.integrator, make_rk45(motion.relative_tolerance, motion.absolute_tolerance)
        )
        self._base = base_acceleration(scenario.gravity)
        self._tau = check_velocity(linkage, joint_forces(scenario, linkage, state.q), "tau")
        self._table = force_table(scenario, linkage)
        self._depth = int(linkage.body_depth[self._table.body].sum())
        n = linkage.n_bodies
        self._f = np.zeros((n if len(self._table.body) else 0, 6))
        self._R, self._p = np.empty((n, 9)), np.empty((n, 3))
        self._tree = build_assembly_tree(linkage) if motion.solver == "dca" else None
        self._step = 0
        self._q = check_position(linkage, state.q).copy()
        self._v = check_velocity(linkage, state.v).copy()

    @property
    def step(self) -> int:
        return self._step

    @property
    def time(self) -> float:
        return self._step * self.dt

    @property
    def q(self) -> Floats:
        return self.linkage.q_to_input(self._q).copy()

    @property
    def v(self) -> Floats:
        return self.linkage.v_to_input(self._v).copy()

    def acceleration(self, t: float, q: Floats, v: Floats) -> Floats:
        """q̈ at any state; model order."""
        if len(self._f):
            poses_in_parent(self.linkage.kernel_model, q, self._R, self._p)
            exact_forces(self.linkage.kernel_model, self._table, self._depth, t, self._R, self._p, self._f)
        tau = with_passive_forces(self.linkage, q, v, self._tau)
        if self.solver == "dca":
            from ..adaptive.dca import solve_dca

            return solve_dca(self.linkage, q, v, tau, self._f, self._base, tree=self._tree)[0]
        return (solve_aba if self.solver == "aba" else solve_crba)(self.linkage, q, v, tau, self._f, self._base)

    def advance(self, steps: int) -> Diagnostics:
        n = self.linkage.n_joints
        out: Diagnostics = {
            "joints_computed": np.full(steps, n, dtype=np.int64),
            "error_bound": np.zeros(steps),
            "certified": np.ones(steps, dtype=np.bool_),
            "nodes_updated": np.zeros(steps, dtype=np.int64),
            "method": np.full(steps, METHOD_CODE["dynamic"], dtype=np.uint8),
            "seconds": np.empty(steps),
        }
        if self.with_energy:
            out["kinetic_energy"], out["potential_energy"] = np.full(steps, np.nan), np.full(steps, np.nan)
        for k in range(steps):
            began = clock.perf_counter()
            self._q, self._v = self._integrator(
                self.linkage.kernel_model, self.acceleration, self.time, self.dt, self._q, self._v
            )
            self._step += 1
            if not (np.isfinite(self._q).all() and np.isfinite(self._v).all()):
                return {name: values[: k + 1] for name, values in out.items()}
            if self.with_energy:
                found = energy(self.linkage, self.q, self.v, self.gravity)
                out["kinetic_energy"][k], out["potential_energy"][k] = found
            out["seconds"][k] = clock.perf_counter() - began
        return out

    def restore(self, step: int, q: Floats, v: Floats | None) -> None:
        self._step = step
        self._q = check_position(self.linkage, q).copy()
        self._v = check_velocity(self.linkage, v).copy()
