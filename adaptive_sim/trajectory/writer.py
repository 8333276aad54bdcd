"""Writes a trajectory while a run goes on: buffered in memory, committed every few seconds, safe against `kill -9`.

The file and its commit marker are described in `layout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import TracebackType
from typing import Any

from ..linkage.model import Linkage
from .frame import Frame


class TrajectoryWriter:
    """Appends frames to a trajectory file; a context manager."""

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
        raise NotImplementedError

    @classmethod
    def resume(
        cls, path: str | PathLike[str], *, n_steps: int | None = None, flush_seconds: float = 2.0
    ) -> tuple[TrajectoryWriter, Frame, dict[str, Any]]:
        """Open an interrupted trajectory for writing: (writer, last frame, its checkpoint).

        Continues after the last committed frame that came with a checkpoint (the last committed frame, if none ever
        did); whatever follows it is dropped. `n_steps` extends a run, finished or not. The checkpoint is a dict, empty
        if there was none.
        """
        raise NotImplementedError

    def append(self, frame: Frame, checkpoint: Mapping[str, object] | None = None) -> None:
        """Store a frame (the arrays are copied); flushes when `flush_seconds` have passed since the last time.

        `checkpoint`: small state that JSON can hold, from which a run goes on (random state, clock); the last one is
        kept, and a resumed run starts at the frame it came with.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Write what is buffered, then the commit marker."""
        raise NotImplementedError

    def close(self, finished: bool | None = None) -> None:
        """Flush and close. `finished`: whether the run is complete (default: the last step reached `n_steps`)."""
        raise NotImplementedError

    def __enter__(self) -> TrajectoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        raise NotImplementedError
