"""Run in a process of its own by test_kill.py: writes a trajectory, or goes on with one, and is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adaptive_sim as asim
from tests.trajectory import runs


def write(path: Path, n_frames: int, started: Any = None, writing: Any = None) -> None:
    """Sets the events when it begins and when the file is open."""
    if started is not None:
        started.set()
    options = {"flush_seconds": 0.0}  # a flush with every frame: most of the time is spent where a kill may hurt
    if path.exists():
        writer, last, state = asim.TrajectoryWriter.resume(path, **options)
        model = asim.load_linkage(path)
        rest = runs.frames(model.nq, n_frames, last=last, state=state)
    else:
        model = runs.linkage()
        writer = asim.TrajectoryWriter(
            path,
            model,
            scenario="seed = 2",
            metadata={},
            every=runs.EVERY,
            n_steps=(n_frames - 1) * runs.EVERY,
            **options,
        )
        rest = runs.frames(model.nq, n_frames)
    if writing is not None:
        writing.set()
    with writer:
        for frame, checkpoint in rest:
            writer.append(frame, checkpoint)
