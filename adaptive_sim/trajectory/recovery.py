"""Opens a trajectory in whatever state it is, and says which frames are valid and what was lost.

Normally the commit marker says it. A file that is shorter than it should be, or contradicts itself, is checked flush by
flush against the checksums in `commits`, and everything before the first bad one is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import TrajectoryError
from .files import damaged, open_to_read, read_superblock
from .layout import COLUMNS, COMMITS, FORMAT, MARKER, SCHEMA_VERSION, Counts, Marker, checksum, read_marker

FRAME_COLUMNS = ("step", "time", "keyframe", "change_end")


@dataclass(frozen=True)
class Contents:
    """An open file, what of it is valid, the table of its frames, and a sentence about what was lost ('': nothing)."""

    file: h5py.File
    marker: Marker
    frames: dict[str, NDArray[Any]]
    lost: str


def open_trajectory(path: Path, verify: bool = False) -> Contents:
    """Check that the file is a trajectory this program can read, and find out how much of it is valid."""
    file = open_to_read(path)
    try:
        _check_kind(file, path)
        return _valid_part(file, path, verify)
    except (OSError, RuntimeError, KeyError) as error:  # h5py raises all three for damaged metadata
        file.close()
        raise damaged(path, error) from error
    except BaseException:
        file.close()
        raise


def _check_kind(file: h5py.File, path: Path) -> None:
    found = file.attrs.get("format")
    if found != FORMAT:
        what = f"its format is {found!r}" if found is not None else "it says nothing about its format"
        hint = "; load_linkage reads the linkage in it" if "linkage" in file else ""
        raise TrajectoryError(f"{path}: an HDF5 file, but not a trajectory of adaptive_sim ({what}){hint}")
    version = int(file.attrs["schema_version"])
    if version > SCHEMA_VERSION:
        raise TrajectoryError(
            f"{path}: schema version {version}, written by {file.attrs.get('program', 'a newer program')}; "
            f"this program reads up to version {SCHEMA_VERSION}: update adaptive_sim"
        )
    names = [*(c.path for c in COLUMNS), COMMITS, MARKER, "linkage", "scenario", "metadata"]
    missing = [name for name in names if name not in file]
    if missing:
        raise TrajectoryError(
            f"{path}: damaged, {', '.join(map(repr, missing[:4]))} is missing ({len(missing)} of {len(names)} parts); "
            "take a copy of it or run again"
        )


def _valid_part(file: h5py.File, path: Path, verify: bool) -> Contents:
    marker = read_marker(file)
    superblock = read_superblock(path)
    size = path.stat().st_size
    suspicious = verify or marker is None
    if superblock is not None and marker is not None:
        # A clean file has the size its superblock says; one that is or was being written at least the marker's.
        suspicious |= size < (marker.file_bytes if superblock.flags else superblock.end_of_file)
    if marker is not None and not suspicious:
        try:
            frames = _frame_table(file, marker.counts)
        except (OSError, RuntimeError):
            frames = {}
        if frames and _consistent(frames, marker.counts):
            return Contents(file, marker, frames, "")
    return _checked_part(file, path, marker)


def _checked_part(file: h5py.File, path: Path, marker: Marker | None) -> Contents:
    """Everything before the first flush whose data does not match its checksum."""
    claimed = Marker(status="stopped") if marker is None else marker
    counts, commits = _intact(file, marker)
    frames = _frame_table(file, counts)
    if not _consistent(frames, counts) or (marker is not None and counts.frames == 0 < marker.counts.frames):
        raise TrajectoryError(
            f"{path}: damaged: no flush of it matches its checksum "
            f"(it should hold {claimed.counts.frames} frames); take a copy of it or run again"
        )
    if counts == claimed.counts:
        return Contents(file, claimed, frames, "")
    if marker is None:
        lost = f"the commit marker is damaged; {counts.frames} frames match their checksums, later ones may be lost"
    else:
        lost = (
            f"damaged: {counts.frames} of {claimed.counts.frames} frames are intact, "
            f"{claimed.counts.frames - counts.frames} are lost (from frame {counts.frames} on)"
        )
    valid = replace(claimed, counts=counts, commits=commits, status="stopped", checkpoint="")
    return Contents(file, valid, frames, lost)


def _intact(file: h5py.File, marker: Marker | None) -> tuple[Counts, int]:
    """Counts after the last flush that matches its checksum, all before it too; and how many flushes that are."""
    before, intact = Counts(), 0
    try:
        log = file[COMMITS][: None if marker is None else marker.commits]
        for *row, crc in log.tolist():
            after = Counts(*row)
            if min(np.subtract(after, before)) < 0 or checksum(read_batch(file, before, after)) != crc:
                break
            before, intact = after, intact + 1
    except (OSError, RuntimeError, ValueError):  # the rest cannot be read
        pass
    return before, intact


def read_batch(file: h5py.File, before: Counts, after: Counts) -> dict[str, NDArray[Any]]:
    """The rows that came between two commits."""
    return {
        c.path: file[c.path][getattr(before, c.counter) : getattr(after, c.counter)] for c in COLUMNS
    }  # fmt: skip


def _frame_table(file: h5py.File, counts: Counts) -> dict[str, NDArray[Any]]:
    return {name: file[f"frames/{name}"][: counts.frames] for name in FRAME_COLUMNS}


def _consistent(frames: dict[str, NDArray[Any]], counts: Counts) -> bool:
    """Whether the table of the frames can be true: cheap, and finds a table that was overwritten or zeroed."""
    if any(len(column) != counts.frames for column in frames.values()):
        return False
    if counts.frames == 0:
        return True
    step, keyframe, end = frames["step"], frames["keyframe"], frames["change_end"]
    return bool(
        (np.diff(step) > 0).all() and step[0] == 0 and step[-1] == counts.steps
        and (np.diff(keyframe) >= 0).all() and keyframe[0] == 0 and keyframe[-1] == counts.keyframes - 1
        and (np.diff(end) >= 0).all() and end[0] == 0 and end[-1] == counts.changes
    )  # fmt: skip
