"""The writer: what goes in comes out bit by bit, resumed or not; small files; refusals; a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import adaptive_sim as asim
from adaptive_sim.errors import InputError, TrajectoryError
from tests.trajectory import runs

ROOT = Path(__file__).resolve().parents[2]


def make(path: Path, model: asim.Linkage | None = None, **options) -> asim.TrajectoryWriter:
    options = {"scenario": "", "metadata": {}, "every": 1, "n_steps": None} | options
    return asim.TrajectoryWriter(path, model or runs.linkage(20), **options)


@pytest.mark.parametrize("moving", [0, 3, 1000])
def test_positions_come_back_bit_by_bit(tmp_path: Path, moving: int) -> None:
    path = runs.write(tmp_path / "t.h5", 60, moving, flush_at=(0, 7, 30))
    with asim.Trajectory(path, verify=True) as traj:
        assert np.array_equal(runs.bits(traj[:].q), runs.bits(runs.positions(60, moving)))


def test_odd_numbers_and_velocities(tmp_path: Path) -> None:
    """-0.0 against 0.0, NaN with its payload, infinities: a change is a change of bits."""
    model = runs.linkage(20)
    q, v = np.zeros((4, model.nq)), np.zeros((4, model.nv))
    q[1, 0] = -0.0
    q[2:, 1] = np.nan
    runs.bits(q)[3, 1] += 5
    v[2, 3], v[3, 3] = np.inf, -0.0
    with make(tmp_path / "t.h5", model, store_velocity=True) as writer:
        for k in range(4):
            writer.append(asim.Frame(k, 0.1 * k, q[k], v[k]))
    with asim.Trajectory(tmp_path / "t.h5") as traj:
        for k in (3, 0, 2, 1):
            assert np.array_equal(runs.bits(traj[k].q), runs.bits(q[k]))
            assert np.array_equal(runs.bits(traj[k].v), runs.bits(v[k]))
        assert len(traj._file["keyframes/frame"]) == 1


def test_the_arrays_are_copied(tmp_path: Path) -> None:
    model = runs.linkage(20)
    q = np.zeros(model.nq)
    with make(tmp_path / "t.h5", model) as writer:
        for k in range(5):
            q[:] = k
            writer.append(asim.Frame(k, float(k), q))
        q[:] = 99
    with asim.Trajectory(tmp_path / "t.h5") as traj:
        assert [s.q[0] for s in traj] == [0, 1, 2, 3, 4]


def test_few_moving_joints_make_a_small_file(tmp_path: Path) -> None:
    """1 % of the joints moving: the motion takes less than a tenth of full frames, few keyframes."""
    model = asim.chain(2000)
    generator = np.random.default_rng(0)
    q = generator.normal(size=model.nq)
    with make(tmp_path / "t.h5", model, n_steps=500) as writer:
        for k in range(501):
            writer.append(asim.Frame(k, k * 0.01, q))
            q[generator.integers(0, model.nq, 20)] += 0.1
    with asim.Trajectory(tmp_path / "t.h5") as traj:
        info = traj.info()
    assert info.motion_ratio < 0.1
    assert info.file_bytes < info.motion_bytes + 1_500_000  # linkage (0.5 MB), marker, chunks begun, pages of metadata
    assert 3 <= info.keyframes <= 10  # 10,000 changes; a keyframe after 4,000
    assert info.file_bytes == (tmp_path / "t.h5").stat().st_size


def test_all_joints_moving_are_stored_as_keyframes(tmp_path: Path) -> None:
    path = runs.write(tmp_path / "t.h5", 30, 1000)
    with asim.Trajectory(path) as traj:
        assert traj.info().motion_ratio <= 1.0
        assert traj.info().keyframes == 30


def test_keyframe_every(tmp_path: Path) -> None:
    path = runs.write(tmp_path / "t.h5", 12, 1, keyframe_every=4)
    with asim.Trajectory(path) as traj:
        assert traj._file["keyframes/frame"][:].tolist() == [0, 4, 8]


def test_resume_ends_in_the_same_file(tmp_path: Path) -> None:
    """Stopped and resumed three times, every dataset of motion and steps equals that of one run."""
    whole = runs.write(tmp_path / "whole.h5", 80)
    path, model = tmp_path / "parts.h5", runs.linkage()
    writer = make(path, model, every=runs.EVERY, n_steps=79 * runs.EVERY)
    rest = runs.frames(model.nq, 80)
    for stop in (3, 21, 22, 80):
        with writer:
            for frame, checkpoint in rest:
                writer.append(frame, checkpoint)
                if frame.step == (stop - 1) * runs.EVERY:
                    break
        with asim.Trajectory(path) as traj:
            assert traj.finished == (stop == 80)
            assert len(traj) == stop
        if stop < 80:
            writer, last, state = asim.TrajectoryWriter.resume(path)
            assert last.step == (stop - 1) * runs.EVERY
            rest = runs.frames(model.nq, 80, last=last, state=state)
    with h5py.File(whole) as a, h5py.File(path) as b:
        for group in ("frames", "keyframes", "changes", "steps"):
            for name in a[group]:
                assert a[group][name][:].tobytes() == b[group][name][:].tobytes(), name


def test_a_finished_run_can_be_extended(tmp_path: Path) -> None:
    path = runs.write(tmp_path / "t.h5", 10)
    with pytest.raises(TrajectoryError, match="finished"):
        asim.TrajectoryWriter.resume(path)
    model = runs.linkage()
    writer, last, state = asim.TrajectoryWriter.resume(path, n_steps=19 * runs.EVERY)
    with writer:
        for frame, checkpoint in runs.frames(model.nq, 20, last=last, state=state):
            writer.append(frame, checkpoint)
    with asim.Trajectory(path, verify=True) as traj:
        assert traj.finished
        assert np.array_equal(runs.bits(traj[:].q), runs.bits(runs.positions(20)))


def test_existing_files_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    path.write_text("precious")
    with pytest.raises(TrajectoryError, match=r"t\.h5: exists already.*--force"):
        make(path)
    assert path.read_text() == "precious"
    make(path, overwrite=True).close()
    assert len(asim.Trajectory(path)) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["t.h5"]


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    model = runs.linkage(20)
    with make(path, model) as writer:
        writer.append(asim.Frame(0, 0.0, np.zeros(model.nq)))
        writer.flush()
        for attempt in (lambda: asim.TrajectoryWriter.resume(path), lambda: make(path, overwrite=True)):
            with pytest.raises(TrajectoryError, match="another process is writing"):
                attempt()
        writer.append(asim.Frame(1, 0.1, np.ones(model.nq)))
    assert len(asim.Trajectory(path, verify=True)) == 2


def test_resume_beside_a_reader_in_the_same_process(tmp_path: Path) -> None:
    path = runs.write(tmp_path / "t.h5", 5)
    with asim.Trajectory(path), pytest.raises(TrajectoryError, match="close it where this program reads it"):
        asim.TrajectoryWriter.resume(path, n_steps=100)
    asim.TrajectoryWriter.resume(path, n_steps=100)[0].close()


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="cannot be written"):
        make(tmp_path / "nowhere" / "t.h5")


@pytest.mark.parametrize(
    ("frame", "checkpoint", "message"),
    [
        (asim.Frame(1, 0.0, np.zeros(3)), None, "q has shape"),
        (asim.Frame(0, 0.0, np.zeros(31)), None, "later ones increase"),
        (asim.Frame(1, 0.0, np.zeros(31), diagnostics={"speed": np.zeros(1)}), None, "unknown diagnostic 'speed'"),
        (asim.Frame(2, 0.0, np.zeros(31), diagnostics={"seconds": np.zeros(1)}), None, "1 entries for 2 steps"),
        (asim.Frame(1, 0.0, np.zeros(31)), {"x": object()}, "not object"),
        (asim.Frame(1, 0.0, np.zeros(31)), {"x": "y" * 70000}, "make it smaller"),
    ],
)
def test_wrong_frames_are_refused(tmp_path: Path, frame: asim.Frame, checkpoint, message: str) -> None:
    model = asim.chain(31)
    with make(tmp_path / "t.h5", model) as writer:
        writer.append(asim.Frame(0, 0.0, np.zeros(31)))
        with pytest.raises(InputError, match=message):
            writer.append(frame, checkpoint)
        writer.append(asim.Frame(1, 0.0, np.zeros(31)), {"state": 2**127})
        with pytest.raises(InputError, match="give one with every frame"):
            writer.append(asim.Frame(2, 0.0, np.zeros(31)))
    assert asim.Trajectory(tmp_path / "t.h5").checkpoint == {"state": 2**127}


def test_absent_diagnostics(tmp_path: Path) -> None:
    with asim.Trajectory(runs.write(tmp_path / "t.h5", 5)) as traj:
        assert np.isnan(traj.diagnostics["kinetic_energy"]).all()
        assert (traj.diagnostics["nodes_updated"] == -1).all()
        assert traj.diagnostics["joints_computed"].tolist() == [s % 7 for s in range(12)]


FULL = """
import resource, sys
sys.path.insert(0, {root!r})
import numpy as np, adaptive_sim as asim
from adaptive_sim.errors import TrajectoryError
model = asim.chain(2000)
writer = asim.TrajectoryWriter({path!r}, model, scenario="", metadata={{}}, every=1, n_steps=1000, flush_seconds=0.0)
limit = 3_000_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with writer:
        for k in range(1000):
            writer.append(asim.Frame(k, float(k), np.full(model.nq, float(k))), {{"k": k}})
except TrajectoryError as error:
    print(error)
    sys.exit(7)
"""


def test_a_full_disk_leaves_a_readable_file(tmp_path: Path) -> None:
    """A limit on the file's size, since every write beyond it fails as on a full disk."""
    path = tmp_path / "t.h5"
    code = FULL.format(root=str(ROOT), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 7, done.stderr
    assert "cannot grow (File too large" in done.stdout
    assert "free some space, then resume" in done.stdout
    with asim.Trajectory(path, verify=True) as traj:
        n = len(traj)
        assert n > 20
        assert not traj.finished
        assert f"intact up to frame {n - 1} (step {n - 1})" in done.stdout
        assert [s.q[0] for s in traj] == list(range(n))
    writer, last, state = asim.TrajectoryWriter.resume(path)
    with writer:
        assert (last.step, state) == (n - 1, {"k": n - 1})
        writer.append(asim.Frame(n, float(n), last.q + 1.0), {"k": n})
    assert asim.Trajectory(path, verify=True)[n].q[0] == n


def test_append_is_cheap(tmp_path: Path) -> None:
    """50,000 joints, 400 changed: against comparing and copying in NumPy, so that the machine does not matter."""
    model = asim.chain(50_000)
    q, before = np.zeros(model.nq), np.zeros(model.nq)
    generator = np.random.default_rng(0)
    ours, plain = [], []
    with make(tmp_path / "t.h5", model, flush_seconds=1e9) as writer:
        for k in range(60):
            q[generator.integers(0, model.nq, 400)] += 0.1
            start = time.perf_counter()
            writer.append(asim.Frame(k, float(k), q))
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            np.flatnonzero(q != before)
            before[:] = q
            plain.append(time.perf_counter() - start)
    # Measured 2 to 3: one more copy, and 25 small steps in Python.
    assert np.median(ours) < 10 * np.median(plain)
    assert os.path.getsize(tmp_path / "t.h5") > 0
