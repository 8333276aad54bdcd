"""What a run hands over to be stored: one frame, and the names of the diagnostics kept per step.

A frame is a state every k steps; the diagnostics in between are kept for every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..typing import Floats


class Diagnostic(NamedTuple):
    """One number per step: its type, unit, meaning, and what stands where a run gives none."""

    dtype: type[Any]
    unit: str
    meaning: str
    absent: float


# Codes of the diagnostic `method`.
METHODS = ("adaptive", "dca", "aba", "dynamic", "unknown")
METHOD_CODE: Mapping[str, int] = MappingProxyType({name: code for code, name in enumerate(METHODS)})

DIAGNOSTICS: Mapping[str, Diagnostic] = MappingProxyType(
    {
        "joints_computed": Diagnostic(np.int64, "1", "joints whose acceleration was computed (-1: not given)", -1),
        "error_bound": Diagnostic(np.float64, "1", "bound on the relative error of the acceleration", np.nan),
        "certified": Diagnostic(np.bool_, "1", "whether the bound is proven for this step", 0),
        "nodes_updated": Diagnostic(np.int64, "1", "nodes of the assembly tree that were updated (-1: not given)", -1),
        "method": Diagnostic(np.uint8, "1", ", ".join(f"{c} {n}" for c, n in enumerate(METHODS)), len(METHODS) - 1),
        "seconds": Diagnostic(np.float64, "s", "wall time of the step", np.nan),
        "kinetic_energy": Diagnostic(np.float64, "J", "dynamic runs only", np.nan),
        "potential_energy": Diagnostic(np.float64, "J", "gravity and springs; dynamic runs only", np.nan),
    }
)


@dataclass(frozen=True, eq=False)
class Frame:
    """A state to be stored, with the diagnostics of the steps since the frame before it.

    `diagnostics` maps names of `DIAGNOSTICS` to arrays with one entry per step since the previous frame (frame 0 has
    none); names left out are stored as absent (NaN, -1).
    """

    step: int  # the state is the one after this step; 0: initial state
    time: float  # s
    q: Floats  # (nq,) joint positions, the input's order
    v: Floats | None = None  # (nv,) joint velocities, dynamic runs only
    diagnostics: Mapping[str, NDArray[Any]] = field(default_factory=dict)
