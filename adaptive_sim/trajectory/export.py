"""Trajectories for other programs: H5MD 1.1, DCD, XYZ, CSV.

H5MD: de Buyl, Colberg, Höfling, Comput. Phys. Commun. 185 (2014) 1546, nongnu.org/h5md. DCD: the CHARMM layout, as
VMD's dcdplugin reads it. Positions are the bodies' centres of mass in the world, one particle per body.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np

from .. import __version__
from ..errors import InputError
from ..linkage.model import Linkage
from .files import new_file
from .reader import Snapshot, Trajectory, TrajectoryView

Frames = Trajectory | TrajectoryView
Write = Callable[[Path, Frames, Linkage, float], None]

# Name of a unit of length -> how many of it make a metre. H5MD files name the unit, the others only hold numbers.
LENGTH_UNITS = {"m": 1.0, "mm": 1e3, "um": 1e6, "nm": 1e9, "angstrom": 1e10}
FORMATS = ("h5md", "dcd", "xyz", "csv", "csv-joints")
H5MD_UNIT = {"angstrom": "Angstrom"}  # as MDAnalysis writes it


def export_trajectory(
    trajectory: Trajectory | TrajectoryView | str | PathLike[str],
    path: str | PathLike[str],
    to: str | None = None,
    *,
    length_unit: str | float = "m",
    overwrite: bool = False,
) -> None:
    """Write a trajectory, or some of its frames (`traj[10:20]`), in another format.

    `to`: "h5md", "dcd", "xyz", "csv" (positions) or "csv-joints" (joint coordinates); by the file's name if left out.
    `length_unit`: one of `LENGTH_UNITS`, or a factor on metres (not for H5MD, which names its unit); molecules built in
    metres want "angstrom". The file appears when it is complete.
    """
    path = Path(path)
    kind = (path.suffix.removeprefix(".") if to is None else to).lower()
    if kind not in FORMATS:
        raise InputError(f"{path}: unknown format {kind!r}; known: {', '.join(FORMATS)} (by the file's name, or `to`)")
    if isinstance(length_unit, str) and length_unit not in LENGTH_UNITS:
        raise InputError(f"length_unit {length_unit!r} is not known; give a factor or one of {', '.join(LENGTH_UNITS)}")
    if kind == "h5md" and not isinstance(length_unit, str):
        raise InputError(f"H5MD names its unit of length; give one of {', '.join(LENGTH_UNITS)} instead of a factor")
    if isinstance(trajectory, Trajectory | TrajectoryView):
        _export(trajectory, path, kind, length_unit, overwrite)
    else:
        with Trajectory(trajectory) as opened:
            _export(opened, path, kind, length_unit, overwrite)


def _export(frames: Frames, path: Path, kind: str, unit: str | float, overwrite: bool) -> None:
    linkage = (frames if isinstance(frames, Trajectory) else frames.trajectory).linkage
    if len(frames) == 0:
        raise InputError(f"{path}: there are no frames to export; choose others")
    with new_file(path, overwrite) as temporary:
        if kind == "h5md":
            write_h5md(temporary, frames, linkage, str(unit))
        else:
            WRITERS[kind](temporary, frames, linkage, LENGTH_UNITS[unit] if isinstance(unit, str) else float(unit))


# -------------------------------------------------------------------- H5MD


def write_h5md(path: Path, frames: Frames, linkage: Linkage, unit: str) -> None:
    """particles/bodies with position, mass and, as H5MD wants it, a box (none: the world has no walls)."""
    n = linkage.n_bodies
    with h5py.File(path, "w") as file:
        h5md = file.create_group("h5md")
        h5md.attrs["version"] = np.array([1, 1], dtype=np.int32)
        h5md.create_group("author").attrs["name"] = "adaptive_sim"
        h5md.create_group("creator").attrs.update({"name": "adaptive_sim", "version": __version__})
        h5md.create_group("modules/units").attrs["version"] = np.array([1, 0], dtype=np.int32)
        h5md["modules/units"].attrs["system"] = "SI"
        bodies = file.create_group("particles/bodies")
        bodies.create_group("box").attrs.update({"dimension": 3, "boundary": np.array([b"none"] * 3)})
        mass = bodies.create_dataset("mass", data=linkage.bodies_to_input(linkage.mass))
        mass.attrs["unit"] = "kg"
        position = bodies.create_group("position")
        position.create_dataset("step", data=np.asarray(frames.steps))
        time = position.create_dataset("time", data=np.asarray(frames.times))
        time.attrs["unit"] = "s"
        value = position.create_dataset("value", (len(frames), n, 3), np.float64, chunks=(1, n, 3))
        value.attrs["unit"] = H5MD_UNIT.get(unit, unit)
        for k, snapshot in enumerate(frames):
            value[k] = LENGTH_UNITS[unit] * snapshot.body_positions


# -------------------------------------------------------------------- DCD


def write_dcd(path: Path, frames: Frames, linkage: Linkage, factor: float) -> None:
    """float32 coordinates; the step between frames is the header's time step, in the file's unit taken as ps."""
    n = linkage.n_bodies
    steps = np.asarray(frames.steps)
    every = int(steps[1] - steps[0]) if len(steps) > 1 else 1
    dt = float(frames.times[1] - frames.times[0]) / every if len(steps) > 1 else 0.0
    # ICNTRL: frames, first step, steps between frames, last step, 5 zeros, time step (AKMA), 9 zeros, "CHARMM 24".
    akma = dt * 1e12 / 4.888821e-2
    head = struct.pack("<4s4i5if10i", b"CORD", len(steps), int(steps[0]), every, int(steps[-1]), *[0] * 5, akma,
                       *[0] * 9, 24)  # fmt: skip
    titles = [b"written by adaptive_sim", f"centres of mass; lengths: {factor:g} per metre".encode()]
    with path.open("wb") as file:
        _record(file, head)
        _record(file, struct.pack("<i", len(titles)) + b"".join(title[:80].ljust(80) for title in titles))
        _record(file, struct.pack("<i", n))
        for snapshot in frames:
            for axis in (factor * snapshot.body_positions).T.astype("<f4"):
                _record(file, axis.tobytes())


def _record(file: BinaryIO, data: bytes) -> None:
    """A record of Fortran's unformatted files: its length before and after."""
    length = struct.pack("<i", len(data))
    file.write(length + data + length)


# -------------------------------------------------------------------- text


def write_xyz(path: Path, frames: Frames, linkage: Linkage, factor: float) -> None:
    """Number of bodies, a comment, then name and position of each body; 17 digits give the numbers back exactly."""
    names = [name.replace(" ", "_") for name in linkage.body_names]
    with path.open("w", encoding="utf-8") as file:
        for s in frames:
            file.write(f"{len(names)}\nstep={s.step} time={s.time!r} s, centres of mass, {factor:g} per metre\n")
            rows = (factor * s.body_positions).tolist()
            file.writelines(f"{name} {x:.17g} {y:.17g} {z:.17g}\n" for name, (x, y, z) in zip(names, rows))


def write_csv(path: Path, frames: Frames, linkage: Linkage, factor: float) -> None:
    """A long table: one line per frame and body."""

    def rows(s: Snapshot) -> list[Sequence[float]]:
        return (factor * s.body_positions).tolist()  # type: ignore[no-any-return]

    _table(path, frames, "body,x,y,z", [_quoted(name) for name in linkage.body_names], rows)


def write_joints_csv(path: Path, frames: Frames, linkage: Linkage, factor: float) -> None:
    """A long table: one line per frame and joint coordinate, as stored (rad, m)."""
    sizes = np.diff(linkage.q_start)[linkage.model_index]
    labels = [f"{_quoted(linkage.joint_name(j))},{k}" for j, size in enumerate(sizes.tolist()) for k in range(size)]

    def rows(s: Snapshot) -> list[Sequence[float]]:
        return [(x,) for x in s.q.tolist()]

    _table(path, frames, "joint,coordinate,q", labels, rows)


def _table(
    path: Path,
    frames: Frames,
    columns: str,
    labels: Sequence[str],
    rows: Callable[[Snapshot], list[Sequence[float]]],
) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"frame,time,{columns}\n")
        for s in frames:
            start = f"{s.index},{s.time!r},"
            file.writelines(f"{start}{a},{','.join(f'{x:.17g}' for x in row)}\n" for a, row in zip(labels, rows(s)))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


WRITERS: dict[str, Write] = {
    "dcd": write_dcd,
    "xyz": write_xyz,
    "csv": write_csv,
    "csv-joints": write_joints_csv,
}
