"""Array types used in signatures. Shape, unit and frame are declared where the array is."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

__all__ = ["Any", "ArrayLike", "Bools", "Floats", "Ints"]
