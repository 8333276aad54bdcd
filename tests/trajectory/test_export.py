"""Exports as other programs read them: MDAnalysis for H5MD, DCD and XYZ; csv of the standard library."""

from __future__ import annotations

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest

import adaptive_sim as asim
from adaptive_sim.errors import InputError, TrajectoryError
from adaptive_sim.trajectory.export import LENGTH_UNITS, export_trajectory

N_FRAMES, N = 12, 40
# MDAnalysis and DCD hold float32: half a unit in the last of 24 bits, and the factor's own rounding.
SINGLE = 2.0**-23


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = asim.molecule(N)
    file = tmp_path_factory.mktemp("export") / "t.h5"
    with asim.TrajectoryWriter(file, model, scenario="", metadata={}, every=5, n_steps=55) as writer:
        for k in range(N_FRAMES):
            writer.append(asim.Frame(5 * k, 2e-12 * k, asim.random_state(model, seed=k).q))
    return file


@pytest.fixture
def traj(path: Path):
    with asim.Trajectory(path) as opened:
        yield opened


@pytest.mark.parametrize("kind", ["h5md", "dcd", "xyz"])
@pytest.mark.parametrize("unit", ["angstrom", "nm", "m"])
@pytest.mark.filterwarnings("ignore")
def test_mdanalysis_reads_it(traj: asim.Trajectory, tmp_path: Path, kind: str, unit: str) -> None:
    mda = pytest.importorskip("MDAnalysis")
    if kind == "h5md" and unit == "m":
        pytest.skip("MDAnalysis knows no metres (test_h5md_as_the_specification_says_it has them)")
    file = tmp_path / f"t.{kind}"
    export_trajectory(traj, file, length_unit=unit)
    # It converts H5MD's units to its own, Ångström; the other formats carry none.
    factor = 1e10 if kind == "h5md" else LENGTH_UNITS[unit]
    universe = mda.Universe.empty(N, trajectory=False)
    universe.load_new(str(file))
    assert len(universe.trajectory) == N_FRAMES
    for k, step in enumerate(universe.trajectory):
        expected = factor * traj[k].body_positions
        assert np.abs(step.positions - expected).max() <= SINGLE * np.abs(expected).max()
        if kind != "xyz":  # has no times
            assert step.time == pytest.approx(2.0 * k, rel=1e-6)  # ps; DCD: float32


def test_h5md_as_the_specification_says_it(traj: asim.Trajectory, tmp_path: Path) -> None:
    export_trajectory(traj, tmp_path / "t.h5md")
    with h5py.File(tmp_path / "t.h5md") as file:
        assert file["h5md"].attrs["version"].tolist() == [1, 1]
        assert {"author", "creator"} <= set(file["h5md"])
        bodies = file["particles/bodies"]
        assert bodies["box"].attrs["dimension"] == 3
        assert bodies["box"].attrs["boundary"].tolist() == [b"none"] * 3
        assert np.array_equal(bodies["position/value"][:], traj[:].body_positions)
        assert bodies["position/value"].attrs["unit"] == "m"
        assert np.array_equal(bodies["position/step"][:], traj.steps)
        assert np.array_equal(bodies["position/time"][:], traj.times)
        assert bodies["position/time"].attrs["unit"] == "s"
        assert np.array_equal(bodies["mass"][:], traj.linkage.mass)


def test_dcd_header(traj: asim.Trajectory, tmp_path: Path) -> None:
    """Frames, first step, steps between, last step, as VMD reads them (MDAnalysis goes by the file's size)."""
    export_trajectory(traj, tmp_path / "t.dcd")
    raw = (tmp_path / "t.dcd").read_bytes()
    assert raw[4:8] == b"CORD"
    assert np.frombuffer(raw[8:24], "<i4").tolist() == [N_FRAMES, 0, 5, 55]
    assert np.frombuffer(raw[-4:], "<i4") == 4 * N  # the last record: z of all bodies


def test_csv(traj: asim.Trajectory, tmp_path: Path) -> None:
    export_trajectory(traj[2:9:3], tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * N
    assert [row["frame"] for row in rows[::N]] == ["2", "5", "8"]
    assert rows[1]["body"] == "body_1"
    got = np.array([[row[c] for c in "xyz"] for row in rows], dtype=float).reshape(3, N, 3)
    assert np.array_equal(got, traj[2:9:3].body_positions)
    assert [float(row["time"]) for row in rows[::N]] == traj.times[2:9:3].tolist()


def test_csv_of_joints(tmp_path: Path) -> None:
    builder_names = ["a,b", 'say "x"', "c"]
    model = asim.Linkage.from_arrays(
        [-1, 0, 1], ["free", "revolute", "spherical"], mass=[1.0] * 3, center_of_mass=np.zeros((3, 3)),
        inertia=np.tile(np.eye(3), (3, 1, 1)), joint_names=builder_names,
    )  # fmt: skip
    q = asim.random_state(model, seed=1).q
    with asim.TrajectoryWriter(tmp_path / "t.h5", model, scenario="", metadata={}, every=1, n_steps=0) as writer:
        writer.append(asim.Frame(0, 0.0, q))
    export_trajectory(tmp_path / "t.h5", tmp_path / "j.csv", "csv-joints")
    with (tmp_path / "j.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["q"]) for row in rows] == q.tolist()
    assert [row["joint"] for row in rows] == [builder_names[0]] * 7 + [builder_names[1]] + [builder_names[2]] * 4
    assert [row["coordinate"] for row in rows] == list("012345600123")


def test_xyz_text(traj: asim.Trajectory, tmp_path: Path) -> None:
    export_trajectory(traj[3:4], tmp_path / "t.xyz", length_unit=100.0)
    lines = (tmp_path / "t.xyz").read_text().splitlines()
    assert lines[0] == str(N)
    assert lines[1].startswith("step=15 time=6e-12 s")
    assert [float(x) for x in lines[2].split()[1:]] == (100.0 * traj[3].body_positions[0]).tolist()


@pytest.mark.parametrize("kind", ["h5md", "dcd", "xyz", "csv", "csv-joints"])
def test_existing_files_are_kept(traj: asim.Trajectory, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "out"
    file.write_text("precious")
    with pytest.raises(TrajectoryError, match="exists already"):
        export_trajectory(traj, file, kind)
    assert file.read_text() == "precious"
    export_trajectory(traj, file, kind, overwrite=True)
    assert file.stat().st_size > 100
    assert len(list(tmp_path.iterdir())) == 1


def test_refusals(traj: asim.Trajectory, tmp_path: Path) -> None:
    for options, message in (
        ({"to": "pdf"}, "unknown format 'pdf'"),
        ({"to": "xyz", "length_unit": "parsec"}, "length_unit 'parsec'"),
        ({"to": "h5md", "length_unit": 3.0}, "names its unit"),
    ):
        with pytest.raises(InputError, match=message):
            export_trajectory(traj, tmp_path / "t.out", **options)
    with pytest.raises(InputError, match="no frames"):
        export_trajectory(traj[3:3], tmp_path / "t.xyz")
    assert not list(tmp_path.iterdir())


def test_a_failed_export_leaves_nothing(traj: asim.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: asim.Trajectory, _i: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(asim.Trajectory, "__getitem__", fail)
    for kind in ("h5md", "dcd", "xyz", "csv"):
        with pytest.raises(TrajectoryError, match="No space left on device"):
            export_trajectory(traj, tmp_path / f"t.{kind}")
    assert not list(tmp_path.iterdir())
