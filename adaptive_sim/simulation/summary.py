"""What came out of a run, in a few numbers: read from its trajectory, so that resumed runs count as one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..trajectory.reader import Trajectory


@dataclass(frozen=True)
class RunSummary:
    """`path` holds the trajectory. Figures per step are over all steps of the file."""

    path: Path
    finished: bool
    steps: int
    planned_steps: int
    frames: int
    time: float  # simulated, s
    joints: int
    joints_computed: float  # mean per step
    most_joints_computed: int
    error_bound: float  # the largest of all steps
    certified: float  # share of the steps whose bound is at most the threshold
    seconds: float  # wall time of stepping
    steps_per_second: float
    file_bytes: int
    times_smaller: float  # than full frames

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "path": str(self.path)}


def summarize(path: Path) -> RunSummary:
    """The figures of a trajectory file."""
    with Trajectory(path) as trajectory:
        info = trajectory.info()
        found = {name: np.asarray(trajectory.diagnostics[name]) for name in _NEEDED}
        steps, joints = info.steps, trajectory.linkage.n_joints
        # The first step may have compiled kernels: the others say how long a step takes.
        each = found["seconds"][1:] if steps > 1 else found["seconds"]
        mean = float(np.nanmean(each)) if len(each) else 0.0
        return RunSummary(
            path=path, finished=trajectory.finished, steps=steps, planned_steps=info.planned_steps or steps,
            frames=info.frames, time=info.last_time, joints=joints,
            joints_computed=float(found["joints_computed"].mean()) if steps else 0.0,
            most_joints_computed=int(found["joints_computed"].max(initial=0)),
            error_bound=float(found["error_bound"].max(initial=0.0)),
            certified=float(found["certified"].mean()) if steps else 1.0,
            seconds=float(np.nansum(found["seconds"])), steps_per_second=1.0 / mean if mean > 0.0 else 0.0,
            file_bytes=info.file_bytes, times_smaller=1.0 / info.file_ratio if info.file_ratio else 0.0,
        )  # fmt: skip


_NEEDED = ("joints_computed", "error_bound", "certified", "seconds")
