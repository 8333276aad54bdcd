"""Files that are damaged, cut off, foreign or too new: a clear error, or the intact part and what was lost."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

import adaptive_sim as asim
from adaptive_sim.errors import TrajectoryError
from adaptive_sim.trajectory.files import lookup3, read_superblock
from tests.trajectory import runs

N = 60


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.write(tmp_path_factory.mktemp("recovery") / "t.h5", N, flush_at=tuple(range(0, N, 4)))


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "t.h5"))


def test_no_hdf5(tmp_path: Path) -> None:
    file = tmp_path / "t.h5"
    for content, message in ((b"", "is empty"), (b"hello, I am a text", "not an HDF5 file")):
        file.write_bytes(content)
        with pytest.raises(TrajectoryError, match=f"t.h5: .*{message}"):
            asim.Trajectory(file)
    with pytest.raises(TrajectoryError, match="no such file"):
        asim.Trajectory(tmp_path / "other.h5")
    with pytest.raises(TrajectoryError, match="is a directory"):
        asim.Trajectory(tmp_path)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_foreign_hdf5(tmp_path: Path, libver: str) -> None:
    with h5py.File(tmp_path / "t.h5", "w", libver=libver) as file:
        file["x"] = np.arange(5)
    with pytest.raises(TrajectoryError, match="not a trajectory of adaptive_sim"):
        asim.Trajectory(tmp_path / "t.h5")
    with pytest.raises(TrajectoryError, match="holds no linkage"):
        asim.load_linkage(tmp_path / "t.h5")


def test_a_linkage_file_is_no_trajectory(tmp_path: Path) -> None:
    asim.save_linkage(tmp_path / "l.h5", asim.chain(3))
    with pytest.raises(TrajectoryError, match="load_linkage reads the linkage in it"):
        asim.Trajectory(tmp_path / "l.h5")


def test_newer_schema(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["schema_version"] = 99
        file.attrs["program"] = "adaptive_sim 7.0"
    with pytest.raises(TrajectoryError, match=r"schema version 99, written by adaptive_sim 7.0.*update"):
        asim.Trajectory(path)


@pytest.mark.parametrize("name", ["frames/step", "commit", "linkage", "scenario", "changes", "steps/seconds"])
def test_missing_parts(path: Path, name: str) -> None:
    with h5py.File(path, "r+") as file:
        del file[name]
    with pytest.raises(TrajectoryError, match=f"t.h5: damaged, '{name}.* is missing.*run again"):
        asim.Trajectory(path)


def test_missing_part_of_the_linkage(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        del file["linkage/mass"]
    with pytest.raises(TrajectoryError, match="damaged"):
        _ = asim.Trajectory(path).linkage


def test_truncated_anywhere(original: Path, tmp_path: Path) -> None:
    """Cut at 60 places: either a clear error, or true frames with a statement of what was lost."""
    expected = runs.positions(N)
    data = original.read_bytes()
    recovered, messages = [], []
    for k, size in enumerate(np.linspace(1, len(data) - 1, 60).astype(int)):
        file = tmp_path / f"{k}.h5"
        file.write_bytes(data[:size])
        try:
            traj = asim.Trajectory(file)
        except TrajectoryError as error:
            messages.append(str(error))
            continue
        with traj:
            assert np.array_equal(traj[:].q, expected[: len(traj)])
            assert (len(traj) < N) == ("lost" in traj.lost)
            recovered.append(len(traj))
        if len(traj) < N:
            with pytest.raises(TrajectoryError, match="lost"):
                asim.TrajectoryWriter.resume(file)
    assert recovered
    assert all(".h5: " in m and "\n" not in m for m in messages)


def test_zeroed_anywhere(original: Path, tmp_path: Path) -> None:
    """A page of zeros at 100 places: with verify, no wrong frame is ever given."""
    expected = runs.positions(N)
    data = bytearray(original.read_bytes())
    outcomes = {"error": 0, "part": 0, "all": 0}
    for start in np.random.default_rng(1).integers(0, len(data) // 4096, 100) * 4096:
        file = tmp_path / "t.h5"
        file.write_bytes(data[:start] + bytes(4096) + data[start + 4096 :])
        try:
            with asim.Trajectory(file, verify=True) as traj:
                got = traj[:].q
                _ = traj.linkage, traj.scenario, traj.metadata, dict(traj.diagnostics)
        except TrajectoryError:
            outcomes["error"] += 1
            continue
        assert np.array_equal(got, expected[: len(got)])
        assert (len(got) < N) == bool(traj.lost)
        outcomes["part" if traj.lost else "all"] += 1
    assert outcomes["error"] > 0
    assert outcomes["all"] > 0


def test_a_damaged_value_is_found(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        end = file["frames/change_end"][33]
        file["changes/value"][end - 1] += 1e-12
    assert asim.Trajectory(path).lost == ""  # not noticed without looking
    with asim.Trajectory(path, verify=True) as traj:
        assert len(traj) == 33  # flushes ended after frames 28 and 32
        assert traj.lost == "damaged: 33 of 60 frames are intact, 27 are lost (from frame 33 on)"
        assert "27 are lost" in str(traj.info())


def test_the_other_slot_stands_in(path: Path) -> None:
    """The newer of the two slots cut off: the commit before it counts."""
    with h5py.File(path, "r+") as file:
        slots = file["commit"][:]
        newer = max((0, 1), key=lambda k: int(bytes(slots[k]).split(b'"sequence": ')[1].split(b",")[0]))
        file["commit"][newer, 20:] = 0
    with asim.Trajectory(path) as traj:
        assert N - 4 <= len(traj) <= N
        assert np.array_equal(traj[:].q, runs.positions(N)[: len(traj)])


def test_no_slot_left(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["commit"][:] = 0
    with asim.Trajectory(path) as traj:
        assert len(traj) == N
        assert "commit marker is damaged" in traj.lost


@pytest.mark.parametrize("flags", [1, 4, 5])
def test_flags_of_a_killed_writer(path: Path, flags: int) -> None:
    """Killed before SWMR started (1), and while writing (5)."""
    raw = bytearray(path.read_bytes())
    raw[11] = flags
    raw[44:48] = lookup3(bytes(raw[:44])).to_bytes(4, "little")
    path.write_bytes(raw)
    superblock = read_superblock(path)
    assert superblock is not None
    assert superblock.flags == flags
    with asim.Trajectory(path) as traj:
        assert np.array_equal(traj[:].q, runs.positions(N))
    writer, last, _ = asim.TrajectoryWriter.resume(path, n_steps=1000)
    writer.close()
    assert last.step == (N - 1) * runs.EVERY
    with h5py.File(path) as file:
        assert len(file["frames/step"]) == N


def test_checksum_is_that_of_hdf5(original: Path) -> None:
    raw = original.read_bytes()[:48]
    assert lookup3(raw[:44]) == int.from_bytes(raw[44:], "little")
    assert lookup3(b"Four score and seven years ago") == 0x17770551  # from lookup3.c


def test_h5clear_agrees(path: Path) -> None:
    """HDF5's own tool, where it is installed, finds nothing to complain about after a resume."""
    tool = shutil.which("h5clear")
    if tool is None:
        pytest.skip("h5clear is not installed")
    assert subprocess.run([tool, "-s", str(path)], check=False).returncode == 0
    assert len(asim.Trajectory(path, verify=True)) == N
