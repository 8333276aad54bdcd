"""Which bodies or joints a scenario means: by name, index, slice, pattern or random selection, as input indices."""

from __future__ import annotations

import re
from difflib import get_close_matches
from fnmatch import translate
from typing import Any

import numpy as np

from ..errors import InputError
from ..linkage.model import Linkage
from .models import Sample

_PATTERN = frozenset("*?[")


def select(
    linkage: Linkage, what: str, selector: str | int | Sample | dict[str, Any], seed: tuple[int, ...]
) -> list[int]:
    """Input indices of the bodies or joints (`what`), ascending; InputError says why there are none.

    seed: of a random selection that has none of its own.
    """
    n = linkage.n_bodies
    if isinstance(selector, Sample | dict):
        sample = selector if isinstance(selector, Sample) else Sample.model_validate(selector)
        if sample.count > n:
            raise InputError(f"the linkage has only {n:,}; give a count of at most that")
        generator = np.random.default_rng(seed if sample.seed is None else sample.seed)
        return [int(i) for i in np.sort(generator.choice(n, sample.count, replace=False))]
    if isinstance(selector, int):
        if not 0 <= selector < n:
            raise InputError(f"no such {what}; the linkage has {n:,}, give an index from 0 to {n - 1}")
        return [selector]
    text = selector.strip()
    if re.fullmatch(r"-?\d*:-?\d*(:-?\d*)?", text):
        chosen = list(range(n)[slice(*(int(part) if part else None for part in text.split(":")))])
        if not chosen:
            raise InputError(f"selects no {what}; the linkage has {n:,}, numbered from 0")
        return sorted(chosen)
    if text == "*":
        return list(range(n))
    lookup = linkage._body_lookup if what == "body" else linkage._joint_lookup
    if text in lookup:
        return [lookup[text]]
    if _PATTERN & set(text):
        fits = re.compile(translate(text)).match
        chosen = [i for name, i in lookup.items() if fits(name)]
        if chosen:
            return sorted(chosen)
    near = get_close_matches(text, lookup, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    names = list(lookup)
    shown = ", ".join(names[:3]) + (f", …, {names[-1]}" if n > 4 else "".join(f", {name}" for name in names[3:]))
    raise InputError(f"no such {what}{hint} (the {n:,} are named {shown})")
