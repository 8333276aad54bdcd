"""The layout: the drawing names everything in a file, units everywhere, markers that can be cut off."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import adaptive_sim as asim
from adaptive_sim.trajectory import layout
from adaptive_sim.trajectory.layout import SLOT, Counts, Marker, read_marker, write_marker
from tests.trajectory import runs

ROOT = Path(__file__).resolve().parents[2]


def drawn() -> str:
    assert layout.__doc__ is not None
    found = re.search(r"    file .*?\n\n", layout.__doc__, re.DOTALL)
    assert found is not None
    return found[0]


def test_the_drawing_is_true(tmp_path: Path) -> None:
    with h5py.File(runs.write(tmp_path / "t.h5", 5)) as file:
        names: list[str] = []
        file.visit(lambda name: None if name.startswith("linkage/") else names.append(name))
        words = set(re.findall(r"\w+", drawn()))
        assert {name.split("/")[-1] for name in names} <= words
        assert set(file) == set(re.findall(r"^    [├└]── (\w+)", drawn(), re.MULTILINE))
        for name in names:
            if isinstance(file[name], h5py.Dataset) and name != "scenario":
                assert file[name].attrs["units"]
                assert file[name].attrs["meaning"]
        shown = re.findall(r"── (\w+) +(u?int\d+|float\d+)", drawn())
        kinds = {name.split("/")[-1]: file[name].dtype.name for name in names if isinstance(file[name], h5py.Dataset)}
        # "keyframe", "step" ... are unique names of datasets; "frame" and "value" too
        assert len(shown) == 10
        assert all(kinds[name] == kind for name, kind in shown)


def test_the_docs_show_the_drawing() -> None:
    text = (ROOT / "docs" / "trajectory.md").read_text(encoding="utf-8")
    assert "\n".join(line[4:] for line in drawn().strip("\n").splitlines()) in text


def test_linkages_have_units(tmp_path: Path) -> None:
    asim.save_linkage(tmp_path / "l.h5", asim.human_figure())
    with h5py.File(tmp_path / "l.h5") as file:
        group = file["linkage"]
        assert group["mass"].attrs["units"] == "kg"
        for data in group.values():
            assert isinstance(data, h5py.Group) or data.attrs["units"]


def test_marker_round_trip() -> None:
    marker = Marker(5, Counts(1, 2, 3, 4), 6, "stopped", None, 7, '{"Zufall": 340282366920938463463374607431768211455}')
    assert Marker.unpacked(marker.packed()) == marker
    assert len(marker.packed()) == SLOT


@pytest.mark.parametrize("cut", [0, 5, 12, 16, 40, 100])
def test_a_marker_cut_off_is_none(cut: int) -> None:
    """The rest of the slot as the marker two commits before left it."""
    old, new = Marker(3, Counts(9, 9, 9, 9)).packed(), Marker(5, Counts(10, 10, 10, 10)).packed()
    mixed = Marker.unpacked(new[:cut] + old[cut:])
    assert mixed is None or mixed.sequence in (3, 5)
    assert Marker.unpacked(new[:cut].ljust(SLOT, b"\0")) is None


def test_the_newer_valid_slot_counts(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        layout.create(file, 3, 10, 10)
        assert read_marker(file) is None
        for sequence in range(4):
            write_marker(file, Marker(sequence))
            assert read_marker(file) == Marker(sequence)
        file["commit"][1] = np.zeros(SLOT, np.uint8)
        assert read_marker(file) == Marker(2)


def test_metadata_stays_within_pages(tmp_path: Path) -> None:
    """A kill can cut a write between pages: objects start on pages, and no index block is larger than one."""
    with h5py.File(runs.write(tmp_path / "t.h5", 5)) as file:
        for column in layout.COLUMNS:
            data = file[column.path]
            header = h5py.h5o.get_info(data.id).addr if hasattr(h5py.h5o.get_info(data.id), "addr") else 0
            assert header % layout.PAGE == 0
            for k in range(data.id.get_num_chunks()):
                assert data.id.get_chunk_info(k).byte_offset % layout.PAGE == 0
