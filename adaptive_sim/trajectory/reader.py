"""Reads trajectories like NumPy arrays: `len(traj)`, `traj[i].q`, `traj[10:20]`, `traj.diagnostics`."""

from __future__ import annotations

from os import PathLike


class Trajectory:
    """A trajectory file, opened for reading."""

    def __init__(self, path: str | PathLike[str], *, verify: bool = False) -> None:
        raise NotImplementedError
