"""A run from scenario to trajectory: the whole data flow on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from .errors import InputError
from .scenario import Scenario, build_linkage, load_scenario, parse, scenario_text
from .simulation import make_system, simulate
from .simulation.simulate import Watch
from .simulation.summary import RunSummary, summarize
from .trajectory.reader import Trajectory
from .trajectory.writer import TrajectoryWriter


def run(
    scenario: str | PathLike[str] | Mapping[str, Any] | Scenario,
    out: str | PathLike[str] | None = None,
    *,
    overrides: Iterable[str] | Mapping[str, Any] = (),
    overwrite: bool = False,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch = lambda step, diagnostics: None,
) -> RunSummary:
    """Simulate a scenario (a file, the name of a shipped one, a dict) into a trajectory file, default NAME.h5.

    overrides: {"motion.steps": 100} or "motion.steps=100" texts. stop: asked now and then; when it says yes the run
    ends and can be resumed. watch: told the step reached and the diagnostics since the last call.
    """
    scenario = load_scenario(scenario, overrides)
    path = Path(f"{scenario.name}.h5" if out is None else out)
    linkage = build_linkage(scenario)
    with TrajectoryWriter(
        path, linkage, scenario=scenario_text(scenario), metadata=_metadata(scenario), every=scenario.output.every,
        n_steps=scenario.motion.n_steps, overwrite=overwrite, store_velocity="velocity" in scenario.quantities,
    ) as trajectory:  # fmt: skip
        for frame in simulate(make_system(linkage, scenario), scenario, stop=stop, watch=watch):
            trajectory.append(frame, {"step": frame.step})
    return summarize(path)


def resume(
    path: str | PathLike[str],
    *,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch = lambda step, diagnostics: None,
) -> RunSummary:
    """Go on with an interrupted run from its last committed frame.

    The trajectory becomes that of an uninterrupted run, bit for bit but for the times taken; not with method "auto",
    which chooses by these times.
    """
    path = Path(path)
    scenario = scenario_of(path)
    if scenario.is_dynamic and "velocity" not in scenario.quantities:
        raise InputError(f'{path}: kept no velocities to go on from; add "velocity" to output.quantities and run again')
    writer, last, _ = TrajectoryWriter.resume(path)
    with writer as trajectory:
        system = make_system(build_linkage(scenario), scenario)
        system.restore(last.step, last.q, last.v)
        for frame in simulate(system, scenario, stop=stop, watch=watch):
            if frame.step > last.step:
                trajectory.append(frame, {"step": frame.step})
    return summarize(path)


def scenario_of(path: Path) -> Scenario:
    """The scenario a trajectory was made from, on the linkage stored with it."""
    with Trajectory(path) as trajectory:
        return parse(trajectory.scenario, str(path), name=path.stem, linkage=trajectory.linkage)


def _metadata(scenario: Scenario) -> dict[str, str | int | float]:
    from importlib.metadata import version

    versions = {f"version_{name}": version(name) for name in ("numpy", "numba", "scipy", "h5py")}
    return {"title": scenario.title, "seed": scenario.seed, **versions}
