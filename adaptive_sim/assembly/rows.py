"""Rows of items that become binary trees of least height: packing, cutting, and raking onto pieces.

Source: alphabetic minimax trees of Hu, Kleitman & Tamaki (1979); the weights are those of MATH §1.

**Least height of a row.** The pieces of a path, each with its rakes, are items of heights h_1 … h_m in a fixed
order. A binary tree of height H over them exists if and only if they fit, in this order and each at a multiple
of its own size 2^h_i, into an interval of length 2^H: a node of height b is an aligned interval of length 2^b.
Putting each item as close to the last one as it goes is best, so one sweep gives the least height (`after_item`).
Less than half of the interval is lost to alignment: a row of least height H has Σ 2^h_i > 2^(H-2).

**Splitting a body.** Light subtrees raked onto one piece, lowest first, make it F high. If raking each onto a
piece of its own makes these a_j high, the row of these pieces is ceil(log2 Σ 2^a_j) high. The two are equal for up to
three equal subtrees, and for any heights that grow with every rake. So a piece takes light subtrees while they
are equal (or, if that is no gain, while nothing at all is lost), and a body is split only if the row of
such pieces is lower than everything raked onto one. Three to a piece also has the least mean depth in a star.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import kernel

Array = np.ndarray[Any, Any]

# Items further than this below the highest of their row count as this far below it, so that a row of
# 2^31 items of any height can be packed in 64 bits.
PACKED_LEVELS = 30
ALL_FIT = 62  # levels; more than any packed row needs

FIRST, END, OFFSET = 0, 1, 2  # columns of `path`: its range in the row; what its packed heights are relative to


@kernel
def after_item(position: int, height: int) -> int:
    """Length of a packed row once an item of size 2^height is put next, at a multiple of its size."""
    size = 1 << height
    return ((position + size - 1) & -size) + size


@kernel
def levels_of(length: int) -> int:
    """Least H with length <= 2^H."""
    H = 0
    while length > (1 << H):
        H += 1
    return H


@kernel
def raked(height: int, child: int, closed_height: Array, packed: Array, path: Array) -> int:
    """Height of a piece after raking the light subtree of `child` onto it."""
    if height >= closed_height[child]:
        return height + 1
    offset = path[child, OFFSET]
    return int(levels_of(after_item(packed[child], max(0, height - offset))) + offset)


@kernel
def cut_row(
    row_height: Array, row_weight: Array, first: int, end: int, levels: int, head_levels: int, head_weight: int
) -> int:
    """Where to cut row[first:end], so that both parts fit in `levels` and differ least in weight.

    A head (head_levels >= 0) belongs to the upper part, which may be the head alone.
    """
    left, right = row_weight[first] - head_weight, row_weight[end]
    lowest = first if head_levels >= 0 else first + 1
    low, high = lowest, end - 1  # bisection for the first cut with at least half of the weight above it
    while low < high:
        middle = (low + high) // 2
        if row_weight[middle] - left >= right - row_weight[middle]:
            high = middle
        else:
            low = middle + 1
    cut = low
    if cut > lowest and row_weight[cut] - left > right - row_weight[cut - 1]:
        cut -= 1

    # Some cut fits; so if the upper part is too high, the longest upper part that fits is a cut that does.
    length = 1 << min(levels, ALL_FIT)
    position = 1 << min(head_levels, ALL_FIT) if head_levels >= 0 else 0
    for i in range(first, cut):
        position = after_item(position, int(row_height[i]))
        if position > length:
            return i
    position = 0
    for i in range(end - 1, cut - 1, -1):
        position = after_item(position, int(row_height[i]))
        if position > length:
            return i + 1
    return cut


@kernel
def sort_by_height(light: Array, first: int, end: int, closed_height: Array, place: Array, ordered: Array) -> None:
    """Sort light[first:end] by the height of the light subtree; equals stay in order of size."""
    in_order = True
    lowest = highest = closed_height[light[first]] if first < end else 0
    for j in range(first, end):
        height = closed_height[light[j]]
        in_order = in_order and height >= highest
        lowest, highest = min(lowest, height), max(highest, height)
    if in_order:
        return
    place[lowest : highest + 2] = 0  # counting sort: heights are few, and 2 s of compilation less than `sort`
    for j in range(first, end):
        place[closed_height[light[j]] + 1] += 1
    for height in range(lowest, highest + 1):
        place[height + 1] += place[height]
    for j in range(first, end):
        height = closed_height[light[j]]
        ordered[place[height]] = light[j]
        place[height] += 1
    for j in range(first, end):
        light[j] = ordered[j - first]


@kernel
def choose_pieces(
    light: Array, first: int, end: int, closed_height: Array, packed: Array, path: Array, first_light: Array
) -> int:
    """Number of pieces of a body, and the first light child on each (they are sorted by height)."""
    first_light[0] = first
    if end - first <= 2:
        return 1  # two on one piece are never higher than two pieces
    on_one = 0  # height if all were raked onto one piece
    for j in range(first, end):
        on_one = raked(on_one, light[j], closed_height, packed, path)
    for fullness in (0.5, 0.999):
        pieces = 1
        height, load = 0, 0.0  # of the last piece: F, and Σ 2^a_j
        row = 0.0  # the pieces before it, packed
        for j in range(first, end):
            alone = raked(0, light[j], closed_height, packed, path)
            higher = raked(height, light[j], closed_height, packed, path)
            if j == first or load + 2.0**alone > fullness * 2.0**higher:
                height, load = higher, load + 2.0**alone
            else:
                row = (np.ceil(row / 2.0**height) + 1.0) * 2.0**height
                first_light[pieces] = j
                pieces += 1
                height, load = alone, 2.0**alone
        row = (np.ceil(row / 2.0**height) + 1.0) * 2.0**height
        if np.ceil(np.log2(row)) < on_one:
            return pieces
    return 1
