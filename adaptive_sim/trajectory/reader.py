"""Reads trajectories like NumPy arrays: `len(traj)`, `traj[i].q`, `traj[10:20]`, `traj.diagnostics`.

Frame i is rebuilt from the keyframe before it and the changes since; going forward costs only the changes in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import TrajectoryError
from ..linkage.model import Linkage
from ..typing import Floats, Ints
from .files import damaged, has_writer
from .frame import DIAGNOSTICS
from .info import TrajectoryInfo, describe
from .linkage_io import read_linkage
from .recovery import open_trajectory


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state at one frame. Body poses and centres of mass are computed when asked for, in the input's order."""

    index: int
    step: int
    time: float  # s
    q: Floats  # (nq,)
    v: Floats | None  # (nv,), None where velocities were not stored
    linkage: Linkage

    @cached_property
    def body_poses(self) -> tuple[Floats, Floats]:
        """Rotations (n, 3, 3) and origins (n, 3) of the body frames in the world."""
        from ..exact.dynamics import body_poses

        return body_poses(self.linkage, self.q)

    @cached_property
    def body_positions(self) -> Floats:
        """(n, 3) centres of mass in the world, m."""
        from ..exact.dynamics import centers_of_mass

        return centers_of_mass(self.linkage, self.q)

    def __repr__(self) -> str:
        return f"<Snapshot {self.index}: step {self.step}, t = {self.time:g} s>"


class Trajectory(Sequence[Snapshot]):
    """A trajectory file, opened for reading; also while a run writes it (`refresh` shows what has come since).

    `verify` checks every frame against its checksum. What could not be read is in `lost` ('' if nothing).
    """

    def __init__(self, path: str | PathLike[str], *, verify: bool = False) -> None:
        self.path = Path(path)
        self._verify = verify
        self._open()

    def _open(self) -> None:
        self._contents = open_trajectory(self.path, self._verify)
        self._file = self._contents.file
        self._nq, self._nv = int(self._file.attrs["nq"]), int(self._file.attrs["nv"])
        self._with_velocity = bool(self._file.attrs["velocity_stored"])
        self._at = -1  # frame that `_state` is the state of
        self._state = np.empty(0)
        self._data = {k: self._file[k] for k in ("keyframes/state", "changes/index", "changes/value")}
        self.diagnostics = Diagnostics(self)

    def close(self) -> None:
        """Close the file; snapshots taken before stay valid."""
        self._file.close()

    def __enter__(self) -> Trajectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def refresh(self) -> int:
        """Take over what a running simulation has committed since; the number of new frames."""
        before = len(self)
        self.close()
        self._open()
        return len(self) - before

    # ---------------------------------------------------------------- what is in it

    @property
    def times(self) -> Floats:
        """(frames,) s."""
        return self._contents.frames["time"]

    @property
    def steps(self) -> Ints:
        """(frames,) the step after which each frame is the state."""
        return self._contents.frames["step"]

    @property
    def n_steps(self) -> int:
        """Steps done so far."""
        return self._contents.marker.counts.steps

    @property
    def planned_steps(self) -> int | None:
        """Steps the run is to have; None where it was not known."""
        return self._contents.marker.n_steps

    @property
    def every(self) -> int:
        """Steps between frames, as planned."""
        return int(self._file.attrs["every"])

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        return self._contents.marker.status == "finished"

    @property
    def running(self) -> bool:
        """Whether a living process is writing the file."""
        return self._contents.marker.status == "running" and has_writer(self.path)

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The state from which a run goes on, as its writer gave it with the last committed frame."""
        text = self._contents.marker.checkpoint
        return dict(json.loads(text)) if text else {}

    @property
    def lost(self) -> str:
        """What could not be recovered from a damaged file; '' if nothing."""
        return self._contents.lost

    @cached_property
    def linkage(self) -> Linkage:
        return read_linkage(self._file, self.path)

    @cached_property
    def scenario(self) -> str:
        """The complete scenario (TOML)."""
        with self._reading():
            return str(self._file["scenario"].asstr()[()])

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the run kept about itself, and which program wrote the file when."""
        with self._reading():
            own = {k: self._file.attrs[k] for k in ("program", "created")}
            items = {**own, **self._file["metadata"].attrs}
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in items.items()}

    def info(self) -> TrajectoryInfo:
        """Sizes, the ratio to full frames, keyframe spacing, state of the run; prints as a few lines."""
        return describe(self)

    # ---------------------------------------------------------------- frames

    def __len__(self) -> int:
        return self._contents.marker.counts.frames

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> TrajectoryView: ...
    def __getitem__(self, index: int | slice) -> Snapshot | TrajectoryView:
        if isinstance(index, slice):
            return TrajectoryView(self, range(len(self))[index])
        try:
            i = range(len(self))[index]
        except IndexError:
            raise IndexError(f"frame {index} of {len(self)} frames (0 … {len(self) - 1})") from None
        state = self._rebuilt(i)
        q = state[: self._nq].copy()
        v = state[self._nq : self._nq + self._nv].copy() if self._with_velocity else None
        return Snapshot(i, int(self.steps[i]), float(self.times[i]), q, v, self.linkage)

    def __iter__(self) -> Iterator[Snapshot]:
        return (self[i] for i in range(len(self)))

    def _rebuilt(self, i: int) -> Floats:
        """The state of frame i; the array is kept and goes on from there."""
        frames = self._contents.frames
        keyframe, end = int(frames["keyframe"][i]), int(frames["change_end"][i])
        try:
            if 0 <= self._at <= i and frames["keyframe"][self._at] == keyframe:
                start = int(frames["change_end"][self._at])
            else:
                self._state = self._data["keyframes/state"][keyframe]
                # Frames between two keyframes share the first one's number; it is the first with it.
                start = int(frames["change_end"][np.searchsorted(frames["keyframe"], keyframe)])
            self._at = -1
            if end > start:
                self._state[self._data["changes/index"][start:end]] = self._data["changes/value"][start:end]
        except (OSError, RuntimeError, IndexError) as error:
            raise TrajectoryError(
                f"{self.path}: frame {i} cannot be read ({str(error).splitlines()[0]}); "
                "Trajectory(path, verify=True) opens the part that is intact"
            ) from error
        self._at = i
        return self._state

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError, KeyError) as error:
            raise damaged(self.path, error) from error

    def __repr__(self) -> str:
        return f"<Trajectory {self.path.name!r}: {len(self)} frames, {self.n_steps} steps>"


class TrajectoryView(Sequence[Snapshot]):
    """Some frames of a trajectory: `traj[10:20]`, again a sequence of snapshots, read when asked for."""

    def __init__(self, trajectory: Trajectory, frames: range) -> None:
        self.trajectory = trajectory
        self.frames = frames

    def __len__(self) -> int:
        return len(self.frames)

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> TrajectoryView: ...
    def __getitem__(self, index: int | slice) -> Snapshot | TrajectoryView:
        if isinstance(index, slice):
            return TrajectoryView(self.trajectory, self.frames[index])
        try:
            return self.trajectory[self.frames[index]]
        except IndexError:
            raise IndexError(f"frame {index} of a view of {len(self)} frames") from None

    def __iter__(self) -> Iterator[Snapshot]:
        return (self.trajectory[i] for i in self.frames)

    @property
    def times(self) -> Floats:
        return self.trajectory.times[self.frames]

    @property
    def steps(self) -> Ints:
        return self.trajectory.steps[self.frames]

    @property
    def q(self) -> Floats:
        """(frames, nq), all in memory."""
        return np.array([s.q for s in self]).reshape(len(self), self.trajectory._nq)

    @property
    def body_positions(self) -> Floats:
        """(frames, n, 3) centres of mass, all in memory."""
        return np.array([s.body_positions for s in self]).reshape(len(self), self.trajectory.linkage.n_bodies, 3)

    def __repr__(self) -> str:
        return f"<{len(self)} frames of {self.trajectory!r}>"


class Diagnostics(Mapping[str, NDArray[Any]]):
    """Arrays with one entry per step, by name; entry s - 1 belongs to step s. Read when first asked for."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._read: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in DIAGNOSTICS:
            raise KeyError(f"{name!r}; known: {', '.join(DIAGNOSTICS)}")
        if name not in self._read:
            with self._trajectory._reading():
                self._read[name] = self._trajectory._file[f"steps/{name}"][: self._trajectory.n_steps]
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(DIAGNOSTICS)

    def __len__(self) -> int:
        return len(DIAGNOSTICS)
