"""The worst shapes for the partition, by dynamic programming over all shapes with few light children per body.

The height of a path is known from the packed length of its row (see `partition`), taken from below, and everything that
is put on top of it makes it longer the longer it was. So the longest packed length that `s` bodies can have
follows from the longest ones of fewer bodies: of the path below the top body and of its light children.

A compiled form of this was run once. Short rakes: at most 3 log2(n+2) - 4 for n <= 3,300,000 (one light child per
body), 1,100,000 (up to two), 60,000 (three), 20,000 (four), 3,000 (five), 800 (six); reached with three.
Long rakes: 2 log2 n - 1 for n <= 40,000 (one); below 2.1 log2 n for 700 (two), 180 (three), 80 (four).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import ceil

import numpy as np

from .shapes import Parents


@dataclass(frozen=True)
class WorstShape:
    """The shape of `size` bodies that gives the greatest depth, and that depth."""

    size: int
    depth: int
    parent: Parents


def worst_shapes(max_size: int, max_light: int, *, long_rakes: bool) -> list[WorstShape]:
    """For every depth that is reached within `max_size` bodies, the smallest shape that has it."""
    longest = [0, 1]  # by size: packed length of the row
    below: list[tuple[int, tuple[int, ...]]] = [(0, ()), (0, ())]  # by size: bodies down the path, light children
    smallest = {0: 1}  # by what a light subtree looks like to a rake: the fewest bodies that look so
    first_with_depth = [1]
    for size in range(2, max_size + 1):
        longest.append(0)
        below.append((0, ()))
        for count in range(max_light + 1):
            for looks in combinations_with_replacement(sorted(smallest), count):
                light = tuple(smallest[look] for look in looks)
                path = size - 1 - sum(light)
                if path < max(light, default=1):
                    continue  # the path would go elsewhere
                length = _on_top(longest[path], tuple(longest[s] for s in light), long_rakes)
                if length > longest[size]:
                    longest[size], below[size] = length, (path, light)
        depth = _levels(longest[size])
        smallest.setdefault(longest[size] if long_rakes else depth, size)
        while len(first_with_depth) <= depth:
            first_with_depth.append(size)
    return [WorstShape(size, depth, _shape(size, below)) for depth, size in enumerate(first_with_depth)]


def _shape(size: int, below: list[tuple[int, tuple[int, ...]]]) -> Parents:
    parent: list[int] = []
    todo = [(size, -1)]
    while todo:
        size, above = todo.pop()
        parent.append(above)
        path, light = below[size]
        body = len(parent) - 1
        todo += [(s, body) for s in light]
        if path:
            todo.append((path, body))  # last, so numbered first: the heavy child among equals
    return np.array(parent)


@cache
def _on_top(length: int, light: tuple[int, ...], long_rakes: bool) -> int:
    """Packed length once a body with light subtrees of these lengths is put on top of a row."""
    if not long_rakes:
        light = tuple(1 << _levels(s) for s in light)
    light = tuple(sorted(light))
    for height in reversed(_pieces(light)):
        length = _packed(length, height)
    return length


@cache
def _pieces(light: tuple[int, ...]) -> list[int]:
    for fullness in (0.5, 0.999):
        parts: list[tuple[int, ...]] = [()]
        for s in light:
            more = (*parts[-1], s)
            if len(more) == 1 or sum(2 ** _fold((t,)) for t in more) > fullness * 2 ** _fold(more):
                parts[-1] = more
            else:
                parts.append((s,))
        row = 0
        for part in parts:
            row = _packed(row, _fold(part))
        if _levels(row) < _fold(light):
            return [_fold(part) for part in parts]
    return [_fold(light)]


def _fold(light: tuple[int, ...]) -> int:
    height = 0
    for s in light:
        height = _levels(_packed(s, height))
    return height


def _packed(length: int, height: int) -> int:
    return (ceil(length / 2**height) + 1) * 2**height


def _levels(length: int) -> int:
    return (length - 1).bit_length() if length else 0
