"""The step loop: from a system and a scenario to frames, one every k steps, with the diagnostics of every step.

Between two frames runs compiled code, cut into pieces of about a quarter of a second so that the run can be watched and
stopped. How it is cut changes nothing in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import NonFiniteStateError, SimulationError
from ..linkage.joints import DOF, N_Q
from ..scenario.build import input_starts
from ..scenario.models import Scenario
from ..trajectory.frame import Frame
from ..typing import Floats
from .systems import Diagnostics, System

PIECE_SECONDS = 0.25
Watch = Callable[[int, Diagnostics], None]


def simulate(
    system: System,
    scenario: Scenario,
    *,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch = lambda step, diagnostics: None,
) -> Iterator[Frame]:
    """Frames from where the system stands to the scenario's end; at step 0 the first is the initial state.

    stop: asked between pieces; after it says yes no more frames come (steps after the last frame are dropped, so that
    a resumed run has the same frames). watch: told the step reached and the diagnostics of the piece.
    """
    every, end = scenario.output.every, scenario.motion.n_steps
    if system.step == 0:
        yield _frame(system, {}, scenario)
    pieces = _Pieces()
    while system.step < end:
        target = min((system.step // every + 1) * every, end)
        found: list[Diagnostics] = []
        failure: SimulationError | None = None
        while system.step < target and failure is None:
            if stop():
                return
            own, failure = _piece(system, pieces.size(target - system.step))
            pieces.took(own)
            found.append(own)
            watch(system.step, own)
        if failure is None:
            yield _frame(system, _joined(found), scenario)
            continue
        if system.step % every:  # the last good state, though between two frames
            yield _frame(system, _joined(found), scenario)
        raise failure


def _frame(system: System, diagnostics: Diagnostics, scenario: Scenario) -> Frame:
    v = system.v if "velocity" in scenario.quantities else None
    return Frame(system.step, system.time, system.q, v, diagnostics)


@dataclass
class _Pieces:
    """How many steps fit into a piece, from how long the last ones took."""

    per_step: float = field(default=PIECE_SECONDS)  # the first piece is one step: it may compile

    def size(self, left: int) -> int:
        return max(1, min(left, int(PIECE_SECONDS / self.per_step)))

    def took(self, diagnostics: Diagnostics) -> None:
        seconds = diagnostics.get("seconds")
        if seconds is not None and len(seconds):
            self.per_step = max(float(np.mean(seconds)), 1e-9)


def _piece(system: System, steps: int) -> tuple[Diagnostics, SimulationError | None]:
    """Up to `steps` steps; if one fails, those before it, and what went wrong."""
    step, q, v = system.step, system.q, system.v
    error: SimulationError | None = None
    with np.errstate(all="ignore"):
        try:
            found = system.advance(steps)
        except SimulationError as raised:
            error = raised
        if error is None and _first_bad(system) is None:
            return found, None
        return _one_by_one(system, step, q, v, steps)


def _one_by_one(
    system: System, step: int, q: Floats, v: Floats | None, steps: int
) -> tuple[Diagnostics, SimulationError | None]:
    """Repeat the piece step by step to find the one that fails; the system is left just before it."""
    found: list[Diagnostics] = []
    system.restore(step, q, v)
    for _ in range(steps):
        step, q, v = system.step, system.q, system.v
        time = system.time
        failure: SimulationError | None = None
        try:
            own = system.advance(1)
        except SimulationError as raised:
            failure = SimulationError(f"step {step + 1:,} (from time {time:.6g} s): {raised}. All before it is kept")
        if failure is None:
            bad = _first_bad(system)
            if bad is None:
                found.append(own)
                continue
            joint, what = bad
            name = system.linkage.joint_name(joint)
            failure = NonFiniteStateError(step + 1, system.time, joint, name, f"its {what} is not finite")
        system.restore(step, q, v)
        return _joined(found), failure
    return _joined(found), None


def _first_bad(system: System) -> tuple[int, str] | None:
    """The first joint (input index) whose position or velocity is not finite, and which of the two."""
    for values, what, sizes in ((system.q, "position", N_Q), (system.v, "velocity", DOF)):
        if values is not None and not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            starts = input_starts(system.linkage, sizes)
            return int(np.searchsorted(starts, at, side="right")) - 1, what
    return None


def _joined(parts: list[Diagnostics]) -> dict[str, Any]:
    parts = [part for part in parts if part]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
