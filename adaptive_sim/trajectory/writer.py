"""Writes a trajectory while a run goes on: buffered in memory, committed every few seconds, safe against `kill -9`.

The file, its commit marker and why a kill cannot hurt it are described in `layout`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..errors import InputError, TrajectoryError
from ..linkage.model import Linkage
from .files import WriterLock, already_there, clear_flags, has_writer, new_file, read_superblock
from .frame import DIAGNOSTICS, Frame
from .layout import (
    ACCESS,
    CHANGE_COST,
    COLUMNS,
    COMMITS,
    FORMAT,
    KEYFRAME_COST,
    LOG_PER_KEYFRAME,
    PAGE,
    SCHEMA_VERSION,
    Marker,
    checksum,
    create,
    packed_checkpoint,
    write_marker,
)
from .linkage_io import write_linkage

BUFFER_LIMIT = 64 * 2**20  # bytes in memory before a flush out of turn


class TrajectoryWriter:
    """Appends frames to a trajectory file; a context manager.

    `scenario` is the complete scenario as text, `metadata` whatever else should be kept (versions, seed). `every` and
    `n_steps` say how many frames to expect. An existing file is refused unless `overwrite`; then it is replaced at once
    by a valid file without frames. A keyframe is written when reading would become slow without (see `layout`), and at
    least every `keyframe_every` frames.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        linkage: Linkage,
        *,
        scenario: str,
        metadata: Mapping[str, str | int | float],
        every: int,
        n_steps: int | None,
        overwrite: bool = False,
        flush_seconds: float = 2.0,
        keyframe_every: int | None = None,
        store_velocity: bool = False,
    ) -> None:
        path = Path(path)
        _check_positive(every=every, keyframe_every=keyframe_every)
        if not overwrite and path.exists():
            raise already_there(path)
        if path.exists() and has_writer(path):
            raise TrajectoryError(f"{path}: another process is writing this file; stop it, or choose another name")
        with new_file(path, overwrite) as temporary, h5py.File(temporary, "w", **ACCESS) as file:
            file.attrs.update(
                format=FORMAT,
                schema_version=SCHEMA_VERSION,
                program=f"adaptive_sim {__version__}",
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                every=every,
                keyframe_every=keyframe_every or 0,
                nq=linkage.nq,
                nv=linkage.nv,
                velocity_stored=bool(store_velocity),
            )
            text = scenario.encode()
            file.create_dataset("scenario", data=text, dtype=h5py.string_dtype("utf-8", max(1, len(text))))
            file.create_group("metadata").attrs.update(dict(metadata))
            write_linkage(file, linkage)
            width = linkage.nq + (linkage.nv if store_velocity else 0)
            create(file, max(1, width), None if n_steps is None else n_steps // every + 1, n_steps)
            write_marker(file, Marker(n_steps=n_steps))
        self._open(path, Marker(n_steps=n_steps), flush_seconds)
        self._log_start = 0
        self._last_step = 0
        self._keyframe_frame = 0

    @classmethod
    def resume(
        cls, path: str | PathLike[str], *, n_steps: int | None = None, flush_seconds: float = 2.0
    ) -> tuple[TrajectoryWriter, Frame, dict[str, Any]]:
        """Open an interrupted trajectory for writing: (writer, last committed frame, its checkpoint).

        What follows the last commit is dropped. `n_steps` extends a run, finished or not. The checkpoint is a dict,
        empty if there was none. The frame's `diagnostics` are empty: they are in the file.
        """
        from .reader import Trajectory

        path = Path(path)
        with Trajectory(path) as read:
            marker = read._contents.marker
            total = marker.n_steps if n_steps is None else n_steps
            if read.lost:
                raise TrajectoryError(f"{path}: {read.lost}, with them the state to go on from; run again")
            if len(read) == 0:
                raise TrajectoryError(f"{path}: holds no frame to go on from; run the scenario again (--force)")
            if marker.status == "finished" and (n_steps is None or n_steps <= marker.counts.steps):
                raise TrajectoryError(f"{path}: the run is finished ({marker.counts.steps} steps); give more steps")
            last = read[-1]
            table, checkpoint = read._contents.frames, read.checkpoint
        writer = cls.__new__(cls)
        writer._open(path, replace(marker, n_steps=total, status="running"), flush_seconds)
        writer._state[: writer._nq] = last.q
        if last.v is not None:
            writer._state[writer._nq : writer._nq + len(last.v)] = last.v
        writer._last_step = last.step
        writer._keyframe_frame = int(np.searchsorted(table["keyframe"], table["keyframe"][-1]))
        writer._log_start = int(table["change_end"][writer._keyframe_frame])
        return writer, Frame(last.step, last.time, last.q, last.v), checkpoint

    def _open(self, path: Path, marker: Marker, flush_seconds: float) -> None:
        """Take the file for writing; from here on every write leaves it readable."""
        self.path = path
        self._lock = WriterLock(path)
        try:
            superblock = read_superblock(path)
            if superblock is None or superblock.flags or path.stat().st_size != superblock.end_of_file:
                clear_flags(path)
            self._file = h5py.File(path, "r+", **ACCESS)
            self._nq, self._nv = int(self._file.attrs["nq"]), int(self._file.attrs["nv"])
            self._with_velocity = bool(self._file.attrs["velocity_stored"])
            self._keyframe_every = int(self._file.attrs["keyframe_every"])
            self._data = {c.path: self._file[c.path] for c in COLUMNS} | {COMMITS: self._file[COMMITS]}
            self._file.swmr_mode = True
        except (OSError, RuntimeError) as error:
            self._lock.close()
            raise TrajectoryError(
                f"{path}: cannot be opened for writing ({str(error).splitlines()[0]}); check the permissions, "
                "and close it where this program reads it"
            ) from error
        except BaseException:
            self._lock.close()
            raise
        self._width = self._nq + (self._nv if self._with_velocity else 0)
        self._state = np.zeros(max(1, self._width))  # of the last frame
        self._scratch = np.zeros_like(self._state)
        self._marker = marker
        self._counts = marker.counts  # with what is buffered
        self._checkpoint = marker.checkpoint
        self._flush_seconds = flush_seconds
        self._closed = False
        self._clear_buffer()

    # ---------------------------------------------------------------- appending

    def append(self, frame: Frame, checkpoint: Mapping[str, object] | None = None) -> None:
        """Store a frame (the arrays are copied); flushes when `flush_seconds` have passed since the last time.

        `checkpoint`: small state that JSON can hold, from which a run goes on (random state, clock). The one of the
        last committed frame is what `resume` gives back, so give one with every frame from the first that has one.
        """
        if self._closed:
            raise InputError(f"{self.path}: is closed; frames cannot be appended")
        n_steps = self._check(frame, checkpoint)
        state = self._scratch  # a new array costs more than the comparison: its pages are new each time
        state[: self._nq] = frame.q
        if self._with_velocity:
            state[self._nq : self._width] = frame.v
        # Bit by bit, so that -0.0 and NaN come back as they were.
        changed = np.flatnonzero(state.view(np.int64) != self._state.view(np.int64))
        self._append_motion(frame, state, changed)
        for name, entry in DIAGNOSTICS.items():
            given = frame.diagnostics.get(name)
            self._put(f"steps/{name}", np.full(n_steps, entry.absent, entry.dtype) if given is None else given)
        self._counts = self._counts._replace(frames=self._counts.frames + 1, steps=frame.step)
        self._last_step = frame.step
        if self._buffered > BUFFER_LIMIT or time.monotonic() - self._flushed_at >= self._flush_seconds:
            self.flush()

    def _append_motion(self, frame: Frame, state: NDArray[np.float64], changed: NDArray[np.intp]) -> None:
        """As a keyframe if it is the smaller way, or the log since the last one has become long; else as changes."""
        counts = self._counts
        log = counts.changes - self._log_start + len(changed)
        full = KEYFRAME_COST * len(state)
        due = self._keyframe_every and counts.frames - self._keyframe_frame >= self._keyframe_every
        if (
            counts.frames == 0
            or len(changed) * CHANGE_COST >= full
            or log * CHANGE_COST > LOG_PER_KEYFRAME * full
            or due
        ):
            self._put("keyframes/state", state[None].copy())
            self._put("keyframes/frame", [counts.frames])
            self._counts = counts._replace(keyframes=counts.keyframes + 1)
            self._log_start, self._keyframe_frame = counts.changes, counts.frames
            self._state[:] = state
        else:
            values = state[changed]
            self._put("changes/index", changed.astype(np.uint32))
            self._put("changes/value", values)
            self._counts = counts._replace(changes=counts.changes + len(changed))
            self._state[changed] = values
        row = (frame.step, frame.time, self._counts.keyframes - 1, self._counts.changes)
        for name, value in zip(("step", "time", "keyframe", "change_end"), row):
            self._put(f"frames/{name}", [value])

    def _check(self, frame: Frame, checkpoint: Mapping[str, object] | None) -> int:
        """The number of steps since the last frame, if the frame fits; its checkpoint is taken over."""
        where = f"frame {self._counts.frames} (step {frame.step})"
        n_steps = frame.step - self._last_step
        if (self._counts.frames == 0) != (n_steps == 0) or n_steps < 0:
            raise InputError(f"{where}: the first frame is step 0, later ones increase; the last was {self._last_step}")
        if np.shape(frame.q) != (self._nq,):
            raise InputError(f"{where}: q has shape {np.shape(frame.q)}, expected ({self._nq},)")
        if self._with_velocity and (frame.v is None or np.shape(frame.v) != (self._nv,)):
            shape = None if frame.v is None else np.shape(frame.v)
            raise InputError(f"{where}: v has shape {shape}, expected ({self._nv},) with store_velocity")
        for name, given in frame.diagnostics.items():
            if name not in DIAGNOSTICS:
                raise InputError(f"{where}: unknown diagnostic {name!r}; known: {', '.join(DIAGNOSTICS)}")
            if len(given) != n_steps:
                raise InputError(f"{where}: diagnostic {name!r} has {len(given)} entries for {n_steps} steps")
        if checkpoint is None and self._checkpoint:
            raise InputError(f"{where}: no checkpoint, but frames before it had one; give one with every frame")
        if checkpoint is not None:
            try:
                self._checkpoint = packed_checkpoint(checkpoint)
            except (TypeError, ValueError) as error:
                raise InputError(f"{where}: the checkpoint cannot be stored ({error}); make it smaller") from None
        return n_steps

    def _put(self, path: str, rows: Any) -> None:
        self._buffer[path].append(rows)
        self._buffered += getattr(rows, "nbytes", 8)

    def _clear_buffer(self) -> None:
        self._buffer: dict[str, list[Any]] = {c.path: [] for c in COLUMNS}
        self._buffered = 0
        self._flushed_at = time.monotonic()

    # ---------------------------------------------------------------- committing

    def flush(self) -> None:
        """Write what is buffered, then the commit marker: after this, a kill loses nothing of it."""
        if self._counts != self._marker.counts:
            self._commit("running")

    def _commit(self, status: str) -> None:
        before, after = self._marker.counts, self._counts
        marker = replace(self._marker, sequence=self._marker.sequence + 1, status=status, checkpoint=self._checkpoint)
        if after != before:
            batch = {c.path: self._joined(c.path, c.dtype) for c in COLUMNS}
            row = np.array([[*after, checksum(batch)]], dtype=np.int64)
            self._reserve(batch)
            for column in COLUMNS:
                self._write(column.path, getattr(before, column.counter), batch[column.path])
            self._write(COMMITS, marker.commits, row)
            self._file.flush()
            marker = replace(marker, counts=after, commits=marker.commits + 1)
        write_marker(self._file, replace(marker, file_bytes=self._file.id.get_filesize()))
        self._file.flush()
        self._marker = marker
        self._clear_buffer()

    def _joined(self, path: str, dtype: type[Any]) -> NDArray[Any]:
        rows = self._buffer[path]
        if not rows:
            return np.empty((0, *self._data[path].shape[1:]), dtype)
        return np.asarray(np.concatenate(rows), dtype=dtype)

    def _write(self, path: str, start: int, rows: NDArray[Any]) -> None:
        if len(rows) == 0:
            return
        data = self._data[path]
        if data.shape[0] < start + len(rows):
            data.resize(start + len(rows), axis=0)
        data[start : start + len(rows)] = rows

    def _reserve(self, batch: Mapping[str, NDArray[Any]]) -> None:
        """Make sure that the disk has room for all HDF5 will write: it crashes if a write fails half-way."""
        need = 64 * PAGE
        for path, rows in batch.items():
            data = self._data[path]
            chunk = int(np.prod(data.chunks)) * data.dtype.itemsize
            chunks = rows.nbytes // chunk + 2
            need += chunks * (chunk + PAGE) + (4 + chunks // 8) * PAGE  # with the index of the chunks
        before = os.stat(self.path).st_size
        try:
            self._lock.reserve(self._file.id.get_filesize(), need)
        except OSError as error:
            self._lock.shrink(before)
            counts = self._marker.counts
            raise TrajectoryError(
                f"{self.path}: cannot grow ({error.strerror}; {need / 1e6:.1f} MB needed). It is intact up to frame "
                f"{counts.frames - 1} (step {counts.steps}); free some space, then resume"
            ) from error

    def close(self, finished: bool | None = None) -> None:
        """Flush and close. `finished`: whether the run is complete (default: the last step reached `n_steps`)."""
        if self._closed:
            return
        self._closed = True
        if finished is None:
            finished = self._marker.n_steps is None or self._last_step >= self._marker.n_steps
        try:
            self._commit("finished" if finished else "stopped")
        finally:
            self._file.close()
            superblock = read_superblock(self.path)
            if superblock is not None and superblock.flags == 0:
                self._lock.shrink(superblock.end_of_file)
            self._lock.close()

    def __enter__(self) -> TrajectoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()
            return
        with suppress(TrajectoryError):  # the error that is on its way says more
            self.close(finished=False)


def _check_positive(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise InputError(f"{name} = {value}: give a whole number from 1 on")
