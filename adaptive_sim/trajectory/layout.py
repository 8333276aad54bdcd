"""The layout of a trajectory file (HDF5), drawn; its datasets declared once, with type, unit and meaning.

    file                              attributes: format, schema_version, program, created, every, keyframe_every
    ├── scenario                      text: the complete scenario (TOML)
    ├── metadata                      attributes: versions, seed, whatever the run wants to keep
    ├── linkage/                      the linkage in model order, see `linkage_io`
    ├── frames/                       one row per stored frame
    │   ├── step        int64         the state is the one after this step; 0: initial state
    │   ├── time        float64  s
    │   ├── keyframe    int64         the last keyframe at or before the frame
    │   └── change_end  int64         rows of `changes` up to and with this frame
    ├── keyframes/                    full states
    │   ├── state       float64       (K, nq) or (K, nq+nv): joint positions (m, rad), then velocities (m/s, rad/s)
    │   └── frame       int64         the frame it is the state of
    ├── changes/                      the sparse log: coordinates that differ, bit by bit, from the frame before
    │   ├── index       uint32        column of `keyframes/state`
    │   └── value       float64       its new value
    ├── steps/                        one row per step: row s - 1 belongs to step s (see `frame.DIAGNOSTICS`)
    │   ├── joints_computed, error_bound, certified, nodes_updated, method, seconds
    │   └── kinetic_energy, potential_energy
    ├── commits         int64         (B, 5): frames, steps, changes, keyframes after each flush; CRC-32 of its data
    └── commit          uint8         (2, 65536): the commit marker, written in turn into one of two slots

State of frame i: keyframe `frames/keyframe[i]`, then the changes after that keyframe's frame up to `change_end[i]`, in
order. Every dataset has the attributes `units` and `meaning`. A frame in which most coordinates changed is a keyframe.

Only what the commit marker counts is valid: rows behind it belong to a flush that was cut off. A slot holds magic
bytes, length, CRC-32 and JSON (sequence, counts, status, checkpoint, file size); the valid slot with the higher
sequence counts. A flush writes the data, flushes, writes the marker, flushes again.

Kill safety: HDF5's SWMR mode orders the writes so that a reader finds a consistent file after each of them. A write of
several pages may itself be cut off by a kill, so all metadata is aligned to pages (each piece within one page) and raw
data behind the marker does not count. Open such a file with `h5py.File(path, "r", swmr=True)`.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from .frame import DIAGNOSTICS

FORMAT = "adaptive_sim trajectory"
SCHEMA_VERSION = 1

PAGE = 4096  # bytes; the unit in which the kernel copies into its cache, so a kill cannot split it
# Every piece of metadata on its own page; never HDF5's file locks (they do not outlast the start of SWMR, see `files`).
ACCESS: Mapping[str, Any] = {
    "libver": ("v110", "latest"),
    "alignment_threshold": 1,
    "alignment_interval": PAGE,
    "meta_block_size": 1,
    "rdcc_nbytes": 2**20,
    "locking": False,
}

KEYFRAME_COST = 8  # bytes per coordinate
CHANGE_COST = 12  # bytes per change
# The log since the last keyframe may grow to this many keyframes. Reading a frame then costs at most about that many
# reads of a keyframe (50,000 joints: 2.5 ms at the worst), and keyframes add at most 1/3 to the file.
LOG_PER_KEYFRAME = 3


class Column(NamedTuple):
    """A dataset that grows: its path, the counter it grows with, type, unit and meaning."""

    path: str
    counter: str
    dtype: type[Any]
    unit: str
    meaning: str


COLUMNS = (
    Column("frames/step", "frames", np.int64, "1", "the state is the one after this step; 0: initial state"),
    Column("frames/time", "frames", np.float64, "s", "simulated time"),
    Column("frames/keyframe", "frames", np.int64, "1", "the last keyframe at or before the frame"),
    Column("frames/change_end", "frames", np.int64, "1", "rows of changes up to and with this frame"),
    Column("keyframes/frame", "keyframes", np.int64, "1", "the frame it is the state of"),
    Column("keyframes/state", "keyframes", np.float64, "m or rad; m/s or rad/s", "joint positions, then velocities"),
    Column("changes/index", "changes", np.uint32, "1", "column of keyframes/state"),
    Column("changes/value", "changes", np.float64, "m or rad; m/s or rad/s", "the new value"),
    *(Column(f"steps/{name}", "steps", d.dtype, d.unit, d.meaning) for name, d in DIAGNOSTICS.items()),
)

COMMITS = "commits"
MARKER = "commit"
SLOT = 65536  # bytes
CHECKPOINT_LIMIT = SLOT - 2048  # as text within the JSON; the counts need the rest
_MAGIC = b"asimCMT1"
_HEAD = struct.Struct("<8sII")


class Counts(NamedTuple):
    """How many rows of each kind are valid."""

    frames: int = 0
    steps: int = 0
    changes: int = 0
    keyframes: int = 0


@dataclass(frozen=True)
class Marker:
    """The commit marker: how much of the file is valid, and from where a run goes on."""

    sequence: int = 0
    counts: Counts = field(default_factory=Counts)
    commits: int = 0  # rows of `commits`
    status: str = "running"  # or "stopped" (closed before the end), "finished"
    n_steps: int | None = None
    file_bytes: int = 0  # size of the file when the marker was written; less now: truncated
    checkpoint: str = ""  # JSON

    def packed(self) -> bytes:
        """The bytes of a slot."""
        text = json.dumps(asdict(self), ensure_ascii=False).encode()
        return (_HEAD.pack(_MAGIC, len(text), zlib.crc32(text)) + text).ljust(SLOT, b"\0")

    @classmethod
    def unpacked(cls, slot: bytes) -> Marker | None:
        """The marker in a slot; None if there is none, or it was cut off."""
        magic, length, crc = _HEAD.unpack_from(slot)
        text = slot[_HEAD.size : _HEAD.size + length]
        if magic != _MAGIC or len(text) != length or zlib.crc32(text) != crc:
            return None
        content = json.loads(text)
        return cls(**{**content, "counts": Counts(*content["counts"])})


def packed_checkpoint(checkpoint: Mapping[str, object]) -> str:
    """A checkpoint as text; ValueError or TypeError if it is too large, or JSON cannot hold it."""
    text = json.dumps(checkpoint, default=_plain)
    if len(json.dumps(text)) > CHECKPOINT_LIMIT:
        raise ValueError(f"{len(text)} bytes, the limit is about {CHECKPOINT_LIMIT}")
    return text


def _plain(value: object) -> object:
    """NumPy's numbers and arrays for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a checkpoint holds numbers, texts, lists and dicts, not {type(value).__name__}")


def read_marker(file: h5py.File) -> Marker | None:
    """The newer valid slot."""
    found = [Marker.unpacked(bytes(slot)) for slot in file[MARKER][:]]
    return max((m for m in found if m), key=lambda m: m.sequence, default=None)


def write_marker(file: h5py.File, marker: Marker) -> None:
    file[MARKER][marker.sequence % 2] = np.frombuffer(marker.packed(), dtype=np.uint8)


def checksum(batch: Mapping[str, NDArray[Any]]) -> int:
    """CRC-32 over what one flush adds, column by column."""
    crc = 0
    for column in COLUMNS:
        crc = zlib.crc32(np.ascontiguousarray(batch[column.path]).tobytes(), crc)
    return crc


def create(file: h5py.File, width: int, n_frames: int | None, n_steps: int | None) -> None:
    """All datasets, empty. `width`: coordinates of a state; the expected numbers choose the chunks."""
    frames = 1024 if n_frames is None else n_frames
    rows = {
        "frames": _clip(frames, 64, 16384),
        "keyframes": _clip(frames, 64, 16384),
        "changes": _clip(width * frames, 512, 16384),
        "steps": _clip(4096 if n_steps is None else n_steps, 512, 16384),
    }
    for column in COLUMNS:
        wide = column.path == "keyframes/state"
        chunk = (_clip(2**16 // (8 * max(width, 1)), 1, frames), max(width, 1)) if wide else (rows[column.counter],)
        shape = (0, width) if wide else (0,)
        data = file.create_dataset(column.path, shape, column.dtype, maxshape=(None, *shape[1:]), chunks=chunk)
        data.attrs["units"], data.attrs["meaning"] = column.unit, column.meaning
    log = file.create_dataset(COMMITS, (0, 5), np.int64, maxshape=(None, 5), chunks=(256, 5))
    log.attrs["units"], log.attrs["meaning"] = "1", "after each flush: frames, steps, changes, keyframes, CRC-32"
    slots = file.create_dataset(MARKER, data=np.zeros((2, SLOT), dtype=np.uint8))
    slots.attrs["units"], slots.attrs["meaning"] = "1", "commit marker in two slots: magic, length, CRC-32, JSON"


def _clip(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
