"""Opening HDF5 files that may be running, killed, truncated or something else; locks; atomic replacement.

Superblock and consistency flags: HDF5 File Format Specification 3.0, II.A; checksum: Jenkins' lookup3.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

from ..errors import TrajectoryError
from .layout import ACCESS

SIGNATURE = b"\x89HDF\r\n\x1a\n"
WRITING, SWMR = 1, 4  # consistency flags
_SUPERBLOCK = struct.Struct("<8sBBBB4Q")  # versions 2 and 3 with 8-byte addresses; a checksum follows


# -------------------------------------------------------------------- superblock


@dataclass(frozen=True)
class Superblock:
    """What the first 48 bytes say: whether a writer holds (or held) the file, and how long it should be."""

    head: bytes

    @property
    def flags(self) -> int:
        return self.head[11]

    @property
    def end_of_file(self) -> int:
        return int(_SUPERBLOCK.unpack(self.head)[7])

    def patched(self, size: int) -> bytes:
        """The 48 bytes with the flags cleared and the end at `size` or behind, as h5clear does it."""
        fields = list(_SUPERBLOCK.unpack(self.head))
        fields[4], fields[7] = 0, max(fields[7], size)
        head = _SUPERBLOCK.pack(*fields)
        return head + struct.pack("<I", lookup3(head))


def read_superblock(path: Path) -> Superblock | None:
    """None: an older version (no flags in it), or its checksum is wrong."""
    with path.open("rb") as file:
        raw = file.read(_SUPERBLOCK.size + 4)
    if len(raw) < _SUPERBLOCK.size + 4 or raw[8] not in (2, 3) or raw[9:11] != b"\x08\x08":
        return None
    head, check = raw[:-4], struct.unpack("<I", raw[-4:])[0]
    return Superblock(head) if lookup3(head) == check else None


def lookup3(data: bytes) -> int:
    """Jenkins' hashlittle with initial value 0, the checksum of HDF5's metadata."""
    mask = 0xFFFFFFFF

    def rot(x: int, k: int) -> int:
        return ((x << k) | (x >> (32 - k))) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    blocks = [data[i : i + 12] for i in range(0, len(data), 12)]
    for block in blocks:
        x, y, z = struct.unpack("<3I", block.ljust(12, b"\0"))
        a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
        if block is not blocks[-1]:
            for k in (4, 6, 8, 16, 19, 4):  # a, b, c take turns
                a = ((a - c) & mask) ^ rot(c, k)
                a, b, c = b, (c + b) & mask, a
        else:
            for k in (14, 11, 25, 16, 4, 14, 24):
                c = ((c ^ b) - rot(b, k)) & mask
                a, b, c = b, c, a
            a, b, c = c, a, b
    return c


class _Patched(io.RawIOBase):
    """The file as it would be with a clean superblock, zeros behind its end; nothing is written."""

    def __init__(self, path: Path, superblock: Superblock) -> None:
        self._file = path.open("rb")
        size = self._file.seek(0, os.SEEK_END)
        self._head = superblock.patched(size)
        self._end = max(size, superblock.end_of_file)
        self._at = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        self._file.seek(self._at)
        data = self._file.read(len(view)).ljust(len(view), b"\0")
        if self._at < len(self._head):
            head = self._head[self._at : self._at + len(data)]
            data = head + data[len(head) :]
        view[:] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


# -------------------------------------------------------------------- opening


def open_to_read(path: Path) -> h5py.File:
    """An HDF5 file in whatever state, unchanged: closed, being written, left by a killed writer, truncated."""
    check_is_hdf5(path)
    superblock = read_superblock(path)
    try:
        if superblock is None or (superblock.flags == 0 and path.stat().st_size >= superblock.end_of_file):
            return h5py.File(path, "r", locking=False)
        if superblock.flags == WRITING | SWMR:
            with suppress(OSError):  # cut off between two writes: the clean superblock below
                return h5py.File(path, "r", swmr=True, libver=ACCESS["libver"], locking=False)
        return h5py.File(_Patched(path, superblock), "r")
    except (OSError, RuntimeError) as error:
        raise damaged(path, error) from error


def check_is_hdf5(path: Path) -> None:
    """Refuse what is no HDF5 file at all."""
    if not path.exists():
        raise TrajectoryError(f"{path}: there is no such file; check the name")
    if path.is_dir():
        raise TrajectoryError(f"{path}: is a directory; give a trajectory file")
    try:
        with path.open("rb") as file:
            head = file.read(len(SIGNATURE))
    except OSError as error:
        raise TrajectoryError(f"{path}: cannot be read ({error.strerror}); check the permissions") from error
    if not head:
        raise TrajectoryError(f"{path}: is empty (0 bytes), as after a failed copy; copy it anew or run again")
    if head != SIGNATURE:
        raise TrajectoryError(f"{path}: not an HDF5 file (it starts with {head!r}); give one written by this program")


def damaged(path: Path, error: Exception) -> TrajectoryError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return TrajectoryError(f"{path}: damaged, HDF5 cannot read it ({reason}); take a copy of it or run again")


def clear_flags(path: Path) -> None:
    """Make a file left by a killed writer writable again, in place; one write within one page."""
    superblock = read_superblock(path)
    if superblock is None:
        raise TrajectoryError(f"{path}: the HDF5 superblock is damaged; export what can be read, and run again")
    with path.open("r+b") as file:
        file.write(superblock.patched(path.stat().st_size))


# -------------------------------------------------------------------- locks and space


class WriterLock:
    """Tells writers (and readers) that a writer is alive; ends with its process. Also reserves space in the file.

    HDF5's own lock is given up when SWMR starts, and its flags outlast a killed writer.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR)
        if not _lock(self._fd, "F_OFD_SETLK"):
            os.close(self._fd)
            raise TrajectoryError(f"{path}: another process is writing this file; stop it, or choose another name")

    def reserve(self, start: int, size: int) -> None:
        """Space for `size` bytes from `start` on, or OSError: HDF5 does not survive a disk that is full."""
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._fd, start, size)

    def shrink(self, end: int) -> None:
        """Cut the file at `end` if it is longer (reserved, not used)."""
        if os.fstat(self._fd).st_size > end:
            os.ftruncate(self._fd, end)

    def close(self) -> None:
        os.close(self._fd)


def has_writer(path: Path) -> bool:
    """Whether a living process (this one too) writes the file."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return not _lock(fd, "F_OFD_GETLK")
    finally:
        os.close(fd)


def _lock(fd: int, command: str) -> bool:
    """Take or test a lock that belongs to the open file (Linux); elsewhere nobody is told."""
    try:
        import fcntl

        code = getattr(fcntl, command)
    except (ImportError, AttributeError):
        return True
    record = "hhqqi0q"  # struct flock: type, whence, start, length (0: all), process
    try:
        answer = fcntl.fcntl(fd, code, struct.pack(record, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return command == "F_OFD_SETLK" or bool(struct.unpack(record, answer)[0] == fcntl.F_UNLCK)


# -------------------------------------------------------------------- new files


@contextmanager
def new_file(path: Path, overwrite: bool) -> Iterator[Path]:
    """A temporary name beside `path`; takes the name `path` when the block ends well, disappears otherwise."""
    if not overwrite and path.exists():
        raise already_there(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        if overwrite:
            os.replace(temporary, path)
        else:
            _rename_to_free_name(temporary, path)
    except (OSError, RuntimeError) as error:  # h5py raises both
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise TrajectoryError(
            f"{path}: cannot be written ({reason}); check that the directory exists, may be written to and has space"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _rename_to_free_name(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)  # unlike a rename, refuses an existing name
    except FileExistsError:
        raise already_there(path) from None
    except OSError:  # a file system without hard links
        if path.exists():
            raise already_there(path) from None
        os.rename(temporary, path)


def already_there(path: Path) -> TrajectoryError:
    return TrajectoryError(f"{path}: exists already; choose another name, or overwrite it (--force, overwrite=True)")
