"""Linkages in files: the same linkage back, every array bit by bit, every name."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import adaptive_sim as asim
from adaptive_sim.errors import TrajectoryError
from adaptive_sim.linkage.fields import ALL_FIELDS


def full() -> asim.Linkage:
    """Everything a linkage can have, in an order that is not the model's."""
    generator = np.random.default_rng(0)
    n = 6
    return asim.Linkage.from_arrays(
        parent=[2, 0, -1, 2, 3, 3],
        joint_type=["revolute", "spherical", "free", "universal", "helical", "planar"],
        mass=generator.uniform(1, 2, n),
        center_of_mass=generator.normal(size=(n, 3)),
        inertia=np.eye(3) * generator.uniform(1, 1.5, (n, 1, 1)),
        axis=generator.normal(size=(n, 3)),
        pitch=generator.normal(size=n),
        translation=generator.normal(size=(n, 3)),
        stiffness=3.0,
        damping=0.25,
        lower_limit=-1.5,
        upper_limit=np.inf,
        shape=["none", "sphere", "capsule", "cylinder", "box", "mesh"],
        shape_size=generator.uniform(1, 2, (n, 3)),
        color=generator.uniform(size=(n, 3)),
        mesh_path={5: "Füße/links.stl"},
        body_names=["Arm", "Hand", "Basis", "Bein, links", "", "Fuß"],
        joint_names=[f"Gelenk {k}" for k in range(n)],
        loop_body=[[1, 5], [0, 4]],
        loop_joint_type=["spherical", "revolute"],
        loop_axis=[[0, 0, 1], [1, 2, 2]],
        loop_translation=generator.normal(size=(2, 2, 3)),
        name="Käfer",
    )


def assert_same(a: asim.Linkage, b: asim.Linkage) -> None:
    for name in ("parent", "joint_type", "shape", "input_index", *(f.name for f in ALL_FIELDS)):
        x, y = getattr(a, name), getattr(b, name)
        assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()), name
        assert not y.flags.writeable
    for x, y in zip(a.loops, b.loops):
        assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())
    assert a.name == b.name
    assert a.body_names == b.body_names
    assert a.joint_names == b.joint_names
    assert a._body_names == b._body_names
    assert dict(a.mesh_path) == dict(b.mesh_path)


@pytest.mark.parametrize("make", [full, asim.human_figure, lambda: asim.molecule(3000), lambda: asim.random_tree(50)])
def test_round_trip(tmp_path: Path, make) -> None:
    linkage = make()
    asim.save_linkage(tmp_path / "l.h5", linkage)
    assert_same(linkage, asim.load_linkage(tmp_path / "l.h5"))


def test_from_a_trajectory(tmp_path: Path) -> None:
    linkage = full()
    asim.TrajectoryWriter(tmp_path / "t.h5", linkage, scenario="", metadata={}, every=1, n_steps=None).close()
    assert_same(linkage, asim.load_linkage(tmp_path / "t.h5"))
    assert_same(linkage, asim.Trajectory(tmp_path / "t.h5").linkage)


def test_files_are_small(tmp_path: Path) -> None:
    """A molecule's arrays take 450 bytes per body in memory; most of them repeat."""
    asim.save_linkage(tmp_path / "l.h5", asim.molecule(20_000))
    assert (tmp_path / "l.h5").stat().st_size < 100 * 20_000


def test_existing_files_are_kept(tmp_path: Path) -> None:
    asim.save_linkage(tmp_path / "l.h5", asim.chain(3))
    with pytest.raises(TrajectoryError, match="exists already"):
        asim.save_linkage(tmp_path / "l.h5", asim.chain(4))
    assert asim.load_linkage(tmp_path / "l.h5").n_bodies == 3
    asim.save_linkage(tmp_path / "l.h5", asim.chain(4), overwrite=True)
    assert asim.load_linkage(tmp_path / "l.h5").n_bodies == 4
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("parent", [-1, 0, 5, 2], "parent does not come before child"),
        ("joint_type", [0, 0, 0, 77], "parent, joint_type"),
        ("input_index", [0, 1, 1, 3], "no permutation"),
        ("mass", [1.0, 2.0], "mass has shape"),
        ("loops/body", np.zeros((3, 2), np.int64), "loops have the wrong shapes"),
    ],
)
def test_damaged_structure(tmp_path: Path, name: str, value, message: str) -> None:
    asim.save_linkage(tmp_path / "l.h5", asim.chain(4))
    with h5py.File(tmp_path / "l.h5", "r+") as file:
        del file[f"linkage/{name}"]
        file[f"linkage/{name}"] = np.asarray(value)
    with pytest.raises(TrajectoryError, match=rf"l\.h5: the linkage in it is damaged \(.*{message}"):
        asim.load_linkage(tmp_path / "l.h5")


def test_missing_and_newer(tmp_path: Path) -> None:
    asim.save_linkage(tmp_path / "l.h5", asim.chain(4))
    with h5py.File(tmp_path / "l.h5", "r+") as file:
        file["linkage"].attrs["schema_version"] = 9
    with pytest.raises(TrajectoryError, match=r"schema version 9.*update"):
        asim.load_linkage(tmp_path / "l.h5")
    with h5py.File(tmp_path / "l.h5", "r+") as file:
        file["linkage"].attrs["schema_version"] = 1
        del file["linkage/inertia"]
    with pytest.raises(TrajectoryError, match="damaged"):
        asim.load_linkage(tmp_path / "l.h5")
