"""The reader: NumPy-like access, poses as the exact solvers give them, following a run, random access in time."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import numpy as np
import pytest

import adaptive_sim as asim
from tests.trajectory import runs
from tests.trajectory.killed_writer import write

N = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.write(tmp_path_factory.mktemp("reader") / "t.h5", N)


@pytest.fixture
def traj(path: Path):
    with asim.Trajectory(path) as opened:
        yield opened


def test_any_order(traj: asim.Trajectory) -> None:
    expected = runs.positions(N)
    for i in np.random.default_rng(3).integers(-N, N, 200):
        assert np.array_equal(traj[int(i)].q, expected[i])


def test_indices_are_those_of_a_list(traj: asim.Trajectory) -> None:
    assert len(traj) == N
    assert traj[-1].step == (N - 1) * runs.EVERY
    assert traj[np.int64(3)].index == 3
    for bad in (N, -N - 1):
        with pytest.raises(IndexError, match=f"frame {bad} of {N} frames"):
            traj[bad]


@pytest.mark.parametrize("which", [slice(10, 20), slice(None, None, -7), slice(50, 5), slice(3, 30, 4)])
def test_slices(traj: asim.Trajectory, which: slice) -> None:
    expected = list(range(N))[which]
    view = traj[which]
    assert [s.index for s in view] == expected
    assert len(view) == len(expected)
    assert np.array_equal(view.q, runs.positions(N)[which])
    assert np.array_equal(view.times, traj.times[which])
    assert np.array_equal(view.steps, traj.steps[which])
    assert [s.index for s in view[1:-1]] == expected[1:-1]


def test_iteration(traj: asim.Trajectory) -> None:
    assert np.array_equal([s.q for s in traj], runs.positions(N))
    assert traj.steps.tolist() == [k * runs.EVERY for k in range(N)]
    assert np.array_equal(traj.times, [0.01 * k for k in range(N)])


def test_snapshots_are_independent(traj: asim.Trajectory) -> None:
    first = traj[4]
    before = first.q.copy()
    _ = traj[5]
    assert np.array_equal(first.q, before)
    first.q[:] = 0.0
    assert np.array_equal(traj[4].q, before)


def test_bodies(traj: asim.Trajectory) -> None:
    """As the exact solvers place them. Unit quaternions, which the frames of `runs` do not have."""
    model = asim.chain(30, seed=1)
    q = asim.random_state(model, seed=2).q
    file = traj.path.with_name("chain.h5")
    with asim.TrajectoryWriter(file, model, scenario="", metadata={}, every=1, n_steps=0) as writer:
        writer.append(asim.Frame(0, 0.0, q))
    snapshot = asim.Trajectory(file)[0]
    assert np.array_equal(snapshot.body_positions, asim.centers_of_mass(model, q))
    for got, expected in zip(snapshot.body_poses, asim.body_poses(model, q)):
        assert np.array_equal(got, expected)
    assert np.array_equal(asim.Trajectory(file)[:].body_positions[0], snapshot.body_positions)
    assert snapshot.v is None


def test_what_the_file_says_about_itself(traj: asim.Trajectory) -> None:
    assert traj.scenario == "seed = 2"
    assert traj.metadata["seed"] == 2
    assert traj.metadata["program"] == f"adaptive_sim {asim.__version__}"
    assert traj.finished
    assert not traj.running
    assert traj.lost == ""
    assert traj.every == runs.EVERY
    assert traj.n_steps == traj.planned_steps == (N - 1) * runs.EVERY
    assert traj.linkage.n_bodies == 200
    assert set(traj.diagnostics) >= {"joints_computed", "error_bound", "certified", "method"}
    assert all(len(array) == traj.n_steps for array in traj.diagnostics.values())
    with pytest.raises(KeyError, match="known: joints_computed"):
        traj.diagnostics["speed"]


def test_info(traj: asim.Trajectory) -> None:
    info = traj.info()
    assert info.full_bytes == 8 * traj.linkage.nq * N
    assert info.keyframes == 1 + len([k for k in range(1, N) if k % 17 == 0])
    assert info.motion_bytes == 12 * info.changes + 8 * traj.linkage.nq * info.keyframes
    assert "finished, 60 frames, 177 of 177 steps" in str(info)
    assert "times smaller" in str(info)


def test_follow_a_running_writer(tmp_path: Path) -> None:
    """From another process: frames appear, each the true one, while the writer goes on."""
    file, n = tmp_path / "t.h5", 1500
    expected = runs.positions(n)
    context = multiprocessing.get_context("forkserver")
    writing = context.Event()
    process = context.Process(target=write, args=(file, n, None, writing))
    process.start()
    assert writing.wait(60)
    seen = []
    with asim.Trajectory(file) as traj:
        deadline = time.monotonic() + 60
        while not traj.finished and time.monotonic() < deadline:
            new = traj.refresh()
            seen.append(len(traj))
            for i in range(len(traj) - min(new, 5), len(traj)):
                assert np.array_equal(traj[i].q, expected[i])
        process.join(60)
        traj.refresh()
        assert len(traj) == n
        assert not traj.running
    assert len(set(seen)) > 5
    assert seen == sorted(seen)


def test_follow_in_the_same_process(tmp_path: Path) -> None:
    model = runs.linkage(20)
    with asim.TrajectoryWriter(tmp_path / "t.h5", model, scenario="", metadata={}, every=1, n_steps=9) as writer:
        traj = asim.Trajectory(tmp_path / "t.h5")
        assert len(traj) == 0
        assert traj.running
        for k in range(10):
            writer.append(asim.Frame(k, float(k), np.full(model.nq, float(k))))
            if k in (4, 9):
                writer.flush()
                assert traj.refresh() == 5
                assert traj[k].q[0] == k
    traj.refresh()
    assert traj.finished


def test_random_access_is_quick(tmp_path: Path) -> None:
    """50,000 joints with the longest logs the writer allows. The goal is 10 ms; measured 0.2 to 1 ms."""
    model = asim.chain(50_000)
    generator = np.random.default_rng(0)
    q = np.zeros(model.nq)
    with asim.TrajectoryWriter(tmp_path / "t.h5", model, scenario="", metadata={}, every=1, n_steps=None) as writer:
        for k in range(120):
            writer.append(asim.Frame(k, float(k), q))
            q[generator.integers(0, model.nq, 2000)] += 0.1
    with asim.Trajectory(tmp_path / "t.h5") as traj:
        _ = traj.linkage
        took = []
        for i in generator.integers(0, len(traj), 60):
            start = time.perf_counter()
            _ = traj[int(i)]
            took.append(time.perf_counter() - start)
        assert traj.info().keyframe_spacing > 20
    assert np.median(took) < 0.010
