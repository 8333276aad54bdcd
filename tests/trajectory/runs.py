"""A run that can be repeated: frame k depends only on the frames before it and a random state, like a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import adaptive_sim as asim
from adaptive_sim.trajectory.frame import METHOD_CODE

EVERY = 3


def linkage(n: int = 200) -> asim.Linkage:
    return asim.random_tree(n, seed=5)


def start(nq: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=nq)


def frames(
    nq: int, n_frames: int, moving: int = 5, last: asim.Frame | None = None, state: dict[str, Any] | None = None
) -> Iterator[tuple[asim.Frame, dict[str, Any]]]:
    """Frames and checkpoints; goes on after `last` with the random state `state`. Every 17th frame moves everything."""
    generator = np.random.default_rng(2)
    first, q = 0, start(nq)
    if last is not None:
        assert state is not None
        generator.bit_generator.state = state["random"]
        first, q = last.step // EVERY + 1, last.q.copy()
    for k in range(first, n_frames):
        if k > 0:
            which = np.arange(nq) if k % 17 == 0 else generator.integers(0, nq, moving)
            q = q.copy()
            q[which] += 1e-3 * generator.normal(size=len(which))
        n = EVERY if k else 0
        steps = np.arange(k * EVERY - n, k * EVERY)
        diagnostics = {
            "joints_computed": steps % 7,
            "error_bound": 1.0 / (1.0 + steps),
            "certified": steps % 2 == 0,
            "method": np.full(n, METHOD_CODE["dca"]),
        }
        yield asim.Frame(k * EVERY, 0.01 * k, q, diagnostics=diagnostics), {"random": generator.bit_generator.state}


def write(path: Path, n_frames: int = 60, moving: int = 5, flush_at: tuple[int, ...] = (), **options: Any) -> Path:
    """A finished run."""
    model = linkage()
    options = {"scenario": "seed = 2", "metadata": {"seed": 2}, "every": EVERY} | options
    with asim.TrajectoryWriter(path, model, n_steps=(n_frames - 1) * EVERY, **options) as writer:
        for k, (frame, checkpoint) in enumerate(frames(model.nq, n_frames, moving)):
            writer.append(frame, checkpoint)
            if k in flush_at:
                writer.flush()
    return path


def positions(n_frames: int, moving: int = 5) -> np.ndarray:
    """(frames, nq), without any file."""
    return np.array([frame.q for frame, _ in frames(linkage().nq, n_frames, moving)])


def bits(array: np.ndarray) -> np.ndarray:
    """For comparisons bit by bit (-0.0, NaN)."""
    return np.ascontiguousarray(array).view(np.int64)
