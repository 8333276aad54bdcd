"""The forces of a scenario, for the engine and for dynamics: what acts on which body, and the joint forces.

A table over time is a sum of ramps: v₀ + Σ (v_k − v_{k−1}) · ramp(t_{k−1}, t_k), which the compiled schedules know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..adaptive.engine import Engine
from ..adaptive.forces import SCHEDULES, ForceTable, make_table
from ..exact.dynamics import inverse_dynamics
from ..linkage.joints import DOF
from ..linkage.model import Linkage
from ..scenario.build import input_starts
from ..scenario.models import Constant, Force, Sine, Table
from ..scenario.models import Scenario as ScenarioModel
from ..scenario.select import select
from ..typing import Floats


class Push(NamedTuple):
    """One force with one schedule on several bodies, in the words of `Engine.add_force`."""

    bodies: list[int]  # input indices
    force: Floats
    torque: Floats
    point: Floats
    frame: str
    schedule: str
    times: tuple[float, float]
    phase: float


def pushes(scenario: ScenarioModel, linkage: Linkage) -> list[Push]:
    """All forces on bodies."""
    out = []
    for k, given in enumerate(scenario.forces):
        bodies = select(linkage, "body", given.body, (scenario.seed, 1, k))
        force, torque = np.array(given.force), np.array(given.torque)
        for factor, schedule, times, phase in _courses(given):
            out.append(
                Push(bodies, factor * force, factor * torque, np.array(given.point), given.frame, schedule, times, phase)  # noqa: E501
            )
    return out


def _courses(given: Force) -> Iterator[tuple[float, str, tuple[float, float], float]]:
    """(factor, schedule, times, phase): one, or several whose sum is the course in time."""
    schedule = given.schedule
    if isinstance(schedule, Constant):
        yield 1.0, "constant", (0.0, 1.0), 0.0
    elif isinstance(schedule, Sine):
        yield 1.0, "sine", (schedule.start, schedule.period), schedule.phase
    elif isinstance(schedule, Table):
        t, v = schedule.times, schedule.values
        if v[0] != 0.0:
            yield v[0], "constant", (0.0, 1.0), 0.0
        for k in range(1, len(t)):
            if v[k] != v[k - 1]:
                yield v[k] - v[k - 1], "ramp", (t[k - 1], t[k]), 0.0
    else:
        yield 1.0, schedule.kind, (schedule.start, schedule.end), 0.0


def push_engine(engine: Engine, scenario: ScenarioModel) -> None:
    """Give the engine the scenario's forces."""
    for p in pushes(scenario, engine.linkage):
        engine.add_force(
            p.bodies, p.force, p.point, p.frame, torque=p.torque, schedule=p.schedule, times=p.times, phase=p.phase
        )


def force_table(scenario: ScenarioModel, linkage: Linkage) -> ForceTable:
    """The same forces as arrays for kernels: model order, kernel frames."""
    rows = []
    for p in pushes(scenario, linkage):
        world, code = p.frame == "world", SCHEDULES.index(p.schedule)
        parameters = np.array([*p.times, p.phase])
        for b in p.bodies:
            i = int(linkage.model_index[b])
            turn = np.eye(3) if linkage.kernel_frame is None else linkage.kernel_frame[i].T
            force, torque = (p.force, p.torque) if world else (turn @ p.force, turn @ p.torque)
            rows.append((i, world, force, torque, turn @ p.point, code, parameters))
    return make_table(rows)


def joint_forces(scenario: ScenarioModel, linkage: Linkage, q: Floats) -> Floats:
    """Active joint forces (nv,), the input's order; `hold` is what balances gravity (and springs) at q."""
    tau = np.zeros(linkage.nv)
    if not scenario.joint_forces:
        return tau
    starts = input_starts(linkage, DOF)
    held: Floats | None = None
    for k, given in enumerate(scenario.joint_forces):
        if given.hold and held is None:
            held = inverse_dynamics(linkage, q, gravity=scenario.gravity)
        for j in select(linkage, "joint", given.joint, (scenario.seed, 3, k)):
            rows = slice(starts[j], starts[j + 1])
            tau[rows] += held[rows] if given.hold and held is not None else np.asarray(given.value, dtype=np.float64)
    return tau
