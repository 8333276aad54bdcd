"""A linkage in an HDF5 group, read back bit by bit: arrays in model order, names, shapes, limits, springs, loops.

    linkage/                  attributes: format, schema_version, name
    ├── parent, joint_type, shape, input_index      int64 (n,)
    ├── mass, center_of_mass, inertia, …            the arrays of `linkage.fields`, with units, frame and meaning
    ├── body_names, joint_names                     text (n,), only where they were given
    ├── mesh/body, mesh/path                        only with meshes
    └── loops/body, joint_type, axis, rotation, translation

A file of its own (`save_linkage`) holds this group and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import TrajectoryError
from ..linkage.fields import ALL_FIELDS
from ..linkage.joints import DOF, N_Q, JointType
from ..linkage.model import Linkage, Loops, Shape
from .files import damaged, new_file, open_to_read

GROUP = "linkage"
FORMAT = "adaptive_sim linkage"
SCHEMA_VERSION = 1

_INDEX_FIELDS = {
    "parent": "parent body, -1 for the base",
    "joint_type": ", ".join(f"{int(k)} {k.name.lower()}" for k in JointType),
    "shape": ", ".join(f"{int(k)} {k.name.lower()}" for k in Shape),
    "input_index": "the input's row of each body",
}


def save_linkage(path: str | PathLike[str], linkage: Linkage, *, overwrite: bool = False) -> None:
    """Write a linkage to a file of its own (HDF5)."""
    with new_file(Path(path), overwrite) as temporary, h5py.File(temporary, "w", libver="v110") as file:
        write_linkage(file, linkage)


def load_linkage(path: str | PathLike[str]) -> Linkage:
    """The linkage in a file written by `save_linkage`, or in a trajectory."""
    path = Path(path)
    with open_to_read(path) as file:
        if GROUP not in file:
            raise TrajectoryError(f"{path}: an HDF5 file, but it holds no linkage; give a file written by save_linkage")
        return read_linkage(file, path)


def write_linkage(file: h5py.File, linkage: Linkage) -> None:
    """The group `linkage` of a file."""
    group = file.create_group(GROUP)
    group.attrs.update({"format": FORMAT, "schema_version": SCHEMA_VERSION, "name": linkage.name})
    for name, meaning in _INDEX_FIELDS.items():
        _put(group, name, getattr(linkage, name), units="1", meaning=meaning)
    for field in ALL_FIELDS:
        array = getattr(linkage, field.name)
        _put(group, field.name, array, units=field.unit, frame=field.frame, meaning=field.meaning)
    for name in ("body_names", "joint_names"):
        names = getattr(linkage, f"_{name}")
        if names is not None:
            _put(group, name, _texts(names), units="1", meaning="model order")
    if linkage.mesh_path:
        _put(group, "mesh/body", np.array(list(linkage.mesh_path), dtype=np.int64), units="1", meaning="model body")
        _put(group, "mesh/path", _texts(list(linkage.mesh_path.values())), units="1", meaning="file of its mesh")
    for name, array in zip(Loops._fields, linkage.loops):
        unit = "m" if name == "translation" else "1"
        _put(group, f"loops/{name}", array, units=unit, meaning="see adaptive_sim.linkage.model.Loops")


def read_linkage(file: h5py.File, path: Path) -> Linkage:
    """The linkage of a file; shapes and structure are checked, values are taken as they are."""
    try:
        group = file[GROUP]
        version = int(group.attrs["schema_version"])
        if version > SCHEMA_VERSION:
            raise TrajectoryError(
                f"{path}: the linkage has schema version {version}, this program reads {SCHEMA_VERSION}; update it"
            )
        names = [*_INDEX_FIELDS, *(f.name for f in ALL_FIELDS)]
        arrays: dict[str, Any] = {name: _get(group, name) for name in names}
        loops = Loops(*(_get(group, f"loops/{name}") for name in Loops._fields))
        named = [k for k in ("body_names", "joint_names") if k in group]
        given: dict[str, Any] = {f"_{k}": tuple(group[k].asstr()[:]) for k in named}
        mesh = dict(zip(group["mesh/body"][:].tolist(), group["mesh/path"].asstr()[:])) if "mesh" in group else {}
        name = str(group.attrs["name"])
    except (KeyError, OSError, RuntimeError) as error:
        raise damaged(path, error) from error
    problems = _structure(arrays, loops)
    if problems:
        raise TrajectoryError(f"{path}: the linkage in it is damaged ({'; '.join(problems)}); write it again")
    return Linkage(**arrays, loops=loops, name=name, mesh_path=mesh, **given)


def _structure(arrays: dict[str, Any], loops: Loops) -> list[str]:
    """What would make other code read outside its arrays."""
    parent, kinds = arrays["parent"], arrays["joint_type"]
    n = len(parent)
    if n == 0 or kinds.shape != (n,) or kinds.min() < 0 or kinds.max() >= len(JointType):
        return ["parent, joint_type"]
    sizes = {"n": n, "nv": int(DOF[kinds].sum()), "nq": int(N_Q[kinds].sum())}
    problems = []
    for field in ALL_FIELDS:
        expected = tuple(sizes[d] if isinstance(d, str) else d for d in field.shape)
        if arrays[field.name].shape != expected or arrays[field.name].dtype != np.float64:
            problems.append(f"{field.name} has shape {arrays[field.name].shape}, expected {expected}")
    if (parent < -1).any() or (parent >= np.arange(n)).any():
        problems.append("parent does not come before child")
    if not np.array_equal(np.sort(arrays["input_index"]), np.arange(n)):
        problems.append("input_index is no permutation")
    m = loops.n_loops
    if [a.shape for a in loops] != [(m, 2), (m,), (m, 3), (m, 2, 3, 3), (m, 2, 3)]:
        problems.append("loops have the wrong shapes")
    return problems


def _put(group: h5py.Group, name: str, array: NDArray[Any], **attributes: str) -> None:
    """Compressed where it pays: the arrays of a generated linkage shrink 20 to 200 times."""
    packed: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    chunk = (min(len(array), max(1, 2**20 // max(1, array[:1].nbytes))), *array.shape[1:])
    data = group.create_dataset(name, data=array, **({**packed, "chunks": chunk} if array.nbytes > 4096 else {}))
    data.attrs.update(attributes)


def _get(group: h5py.Group, name: str) -> NDArray[Any]:
    array: NDArray[Any] = group[name][()]
    array.setflags(write=False)
    return array


def _texts(names: Sequence[str]) -> NDArray[Any]:
    raw = [name.encode() for name in names]
    return np.array(raw, dtype=h5py.string_dtype("utf-8", max(1, *map(len, raw))))
