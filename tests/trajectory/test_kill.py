"""`kill -9` at 50 random moments: everything committed is there bit by bit, and the run goes on to the same end."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adaptive_sim as asim
from adaptive_sim.trajectory.files import read_superblock
from tests.trajectory import runs
from tests.trajectory.killed_writer import write

ROOT = Path(__file__).resolve().parents[2]
KILLS = 50
N_FRAMES = 3000  # some seconds of writing with a flush after every frame


@pytest.fixture(scope="module")
def context() -> Any:
    """Processes that start in some milliseconds, since the server has loaded everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.trajectory.killed_writer", "adaptive_sim.exact.dynamics"])
    return context


def check(path: Path, expected: np.ndarray) -> int:
    """The frames that are there are the true ones; their number."""
    with asim.Trajectory(path, verify=True) as traj:
        assert traj.lost == ""
        assert not traj.running
        if len(traj):
            assert np.array_equal(runs.bits(traj[:].q), runs.bits(expected[: len(traj)]))
            assert traj.n_steps == (len(traj) - 1) * runs.EVERY
        return len(traj)


def test_killed_at_random_moments(tmp_path: Path, context: Any) -> None:
    generator = np.random.default_rng(7)
    expected = runs.positions(N_FRAMES)
    path = tmp_path / "run.h5"
    seen: list[int] = []
    cut_off = 0
    for kill in range(KILLS):
        started, writing = context.Event(), context.Event()
        process = context.Process(target=write, args=(path, N_FRAMES, started, writing))
        process.start()
        # Mostly while it writes; every fifth time while the file is created or opened.
        assert (writing if kill % 5 else started).wait(60)
        time.sleep(generator.uniform(0.0, 0.06))
        process.kill()
        process.join(60)
        if not path.exists():
            continue
        cut_off += read_superblock(path).flags != 0
        n = check(path, expected)
        assert n >= (seen[-1] if seen else 0)  # nothing committed is ever lost again
        seen.append(n)
        if n in (0, N_FRAMES):  # killed before the first frame, or too late: from the beginning
            path.unlink()
            seen.clear()
    assert cut_off > KILLS // 2  # most kills met a writer at work
    write(path, N_FRAMES)
    assert check(path, expected) == N_FRAMES
    with asim.Trajectory(path) as traj:
        assert traj.finished
        got = {name: traj.diagnostics[name] for name in ("joints_computed", "error_bound", "certified", "method")}
    true = [frame.diagnostics for frame, _ in runs.frames(runs.linkage().nq, N_FRAMES)]
    for name, array in got.items():
        assert np.array_equal(array, np.concatenate([d[name] for d in true]))


def test_a_flush_is_enough(tmp_path: Path) -> None:
    """A process that dies right after a flush has lost nothing; frames behind it are dropped."""
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
import adaptive_sim as asim
from tests.trajectory import runs
model = runs.linkage()
writer = asim.TrajectoryWriter({str(tmp_path / "t.h5")!r}, model, scenario="", metadata={{}}, every=3, n_steps=None,
                               flush_seconds=1e9)
for k, (frame, checkpoint) in enumerate(runs.frames(model.nq, 40)):
    writer.append(frame, checkpoint)
    if k == 24:
        writer.flush()
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120, check=False)
    assert check(tmp_path / "t.h5", runs.positions(40)) == 25
    with asim.Trajectory(tmp_path / "t.h5") as traj:
        assert traj.info().state == "interrupted"
