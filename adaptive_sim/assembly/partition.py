"""Heavy-path partition of a linkage into a binary tree of subassemblies, each with at most two handles.

Source: heavy paths of Sleator & Tarjan (1983), handles and rakes as in MATH §1; rows of items and their least height:
see `rows`. Four passes, each one loop over bodies or nodes, none recursive:

    order_children   heavy child of each body, its light children by increasing size
    lay_out_paths    bottom-up: the pieces of each body, the row of pieces of each path, least heights
    join_rows        top-down: each row becomes a binary tree, bisected by weight within its least height
    number_by_level  nodes in order of height, so that each level is a contiguous range

**Why weight and height.** Bisection by weight alone puts an item of weight w at depth log2(W/w) + 2, right on
average; but the 2, and 1 for the rake, are paid at every change of path: up to 4 log2 n. Least height alone leaves
the average to chance. So the cut is the one nearest to half the weight *among those that keep the row within
its levels*, and levels a row does not need are handed down to its light subtrees. Measured on nine shapes of 50,000
bodies, the mean leaf depth is that of free weighted bisection within 0.4 % and the depth is up to two levels less.

**Depth.** Let f(h) be the fewest bodies whose tree is h high. A light subtree of height g makes an item of height
g + 1, and the path below it weighs at least as much as it. Let the highest item of a row be h - k high:
    k = 1    its light subtree has height h - 2                            f(h) >= 2 f(h-2)
    k = 2    it stands inside the row, two joins below the top             f(h) >= 2 f(h-3) + 2
    k = 3    a second one, or lower ones for more than half the row        f(h) >  2 f(h-3)
    k >= 4   Σ 2^h_i > 2^(h-2)                                             f(h) >= 2^(k-2) f(h-k-1)
All four hold for f(h) = c 2^(h/3), hence depth <= 3 log2 n + const. The case k = 2 is attained by the binary tree
with every edge subdivided, and a rake onto a single body cannot avoid it: its item costs one join for the rake and
two inside the row. Several light children on a body weigh more than they add in height. The constant is from
dynamic programming over shapes (tests/assembly/worst_case.py): depth <= 3 log2(n+2) - 4, which stays below
2.5 log2 n + 6 up to n = 1,048,573. No tree with such rakes stays below it for all n.

**Long rakes.** The join for the rake goes away if the body raked onto becomes the *head of the light row*: then A is
this body with the upper part of the light path and B is the rest. Handles stay two, and the join is that of a
compress with closed B. Let f(h) count the bodies of a light subtree h high *with its head*: now k >= 2 always, and
    k = 2    f(h) >= 2 f(h-2)          k = 3    f(h) > 2.5 f(h-3)          k >= 4    f(h) >= 2^(k-2) f(h-k)
All hold for f(h) = c 2^(h/2.5): depth <= 2.5 log2 n + const for every n. The dynamic programme finds
2 log2 n - 1 for one light child per body and less than 2.1 log2 n for several.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import kernel
from .rows import (
    END,
    FIRST,
    OFFSET,
    PACKED_LEVELS,
    after_item,
    choose_pieces,
    cut_row,
    levels_of,
    raked,
    sort_by_height,
)

Array = np.ndarray[Any, Any]

LEAF, COMPRESS, RAKE, SPLIT = 0, 1, 2, 3


@kernel
def order_children(parent: Array, size: Array, heavy: Array, light_start: Array, light: Array) -> int:
    """Subtree sizes, heavy child (largest subtree, first of equals), light children smallest first (CSR)."""
    n = parent.size
    size[:] = 1
    for body in range(n - 1, 0, -1):
        size[parent[body]] += size[body]
    heavy[:] = -1
    for body in range(1, n):
        rival = heavy[parent[body]]
        if rival == -1 or size[body] > size[rival]:
            heavy[parent[body]] = body

    light_start[:] = 0
    for body in range(1, n):
        if heavy[parent[body]] != body:
            light_start[parent[body] + 1] += 1
    for body in range(n):
        light_start[body + 1] += light_start[body]

    # Counting sort by size, then dealt out to the parents in that order: O(n) for all lists together.
    place = np.zeros(n + 2, np.int32)
    for body in range(n):
        place[size[body] + 1] += 1
    for s in range(n + 1):
        place[s + 1] += place[s]
    by_size = np.empty(n, np.int32)
    for body in range(n):
        by_size[place[size[body]]] = body
        place[size[body]] += 1
    filled = light_start[:n].copy()
    for i in range(n):
        body = by_size[i]
        if body > 0 and heavy[parent[body]] != body:
            light[filled[parent[body]]] = body
            filled[parent[body]] += 1
    return 0


@kernel
def lay_out_paths(
    parent: Array,
    size: Array,
    heavy: Array,
    light_start: Array,
    light: Array,
    long_rakes: bool,
    closed_height: Array,
    body_first_piece: Array,
    piece_body: Array,
    piece_light: Array,
    head_height: Array,
    head_weight: Array,
    row: Array,
    row_height: Array,
    row_weight: Array,
    path: Array,
) -> int:
    """Pieces of every body and row of every path, from the last body to the first; returns the first piece used.

    Going backwards, pieces are handed out from the end of their arrays; the caller drops the unused front.
    `closed_height` and `path` are set at the top body of each path, for its whole subtree and its row.
    `head_height`, `head_weight` belong to the light children: the piece each is raked onto, just before.
    """
    n = parent.size
    piece_height = np.empty(piece_body.size, np.int32)
    piece_weight = np.empty(piece_body.size, np.int32)
    packed = np.empty(n, np.int64)  # length of the packed row of each path, like closed_height
    place = np.empty(n + 2, np.int32)
    ordered = np.empty(n, np.int32)
    first_light = np.empty(n + 1, np.int32)
    next_piece = piece_body.size
    body_first_piece[n] = next_piece
    piece_light[next_piece] = light_start[n]
    filled = 0
    row_weight[0] = 0
    for body in range(n - 1, -1, -1):
        first, end = light_start[body], light_start[body + 1]
        sort_by_height(light, first, end, closed_height, place, ordered)
        pieces = choose_pieces(light, first, end, closed_height, packed, path, first_light)
        first_light[pieces] = end
        next_piece -= pieces
        body_first_piece[body] = next_piece
        for i in range(pieces):
            height, weight = 0, 1
            for j in range(first_light[i], first_light[i + 1]):
                head_height[j], head_weight[j] = height, weight
                height = raked(height, light[j], closed_height, packed, path)
                weight += size[light[j]]
            piece = next_piece + i
            piece_body[piece], piece_light[piece] = body, first_light[i]
            piece_height[piece], piece_weight[piece] = height, weight

        if body > 0 and heavy[parent[body]] == body:
            continue
        # The top of a path: all its pieces are known.
        start, highest, on_path = filled, 0, body
        while on_path != -1:
            for piece in range(body_first_piece[on_path], body_first_piece[on_path + 1]):
                row[filled] = piece
                row_weight[filled + 1] = row_weight[filled] + piece_weight[piece]
                highest = max(highest, piece_height[piece])
                filled += 1
            on_path = heavy[on_path]
        offset = max(0, highest - PACKED_LEVELS)
        position = 0
        for i in range(filled - 1, start - 1, -1):  # from below, so that a head can still be put on top
            row_height[i] = max(0, piece_height[row[i]] - offset)
            position = after_item(position, int(row_height[i]))
        levels = levels_of(position)
        closed_height[body] = levels + offset
        # Without long rakes a light row is one finished item when its head is put on.
        packed[body] = position if long_rakes else 1 << levels
        path[body, FIRST], path[body, END], path[body, OFFSET] = start, filled, offset
    return int(next_piece)


@kernel
def join_rows(
    light: Array,
    long_rakes: bool,
    closed_height: Array,
    piece_light: Array,
    head_height: Array,
    head_weight: Array,
    row: Array,
    row_height: Array,
    row_weight: Array,
    path: Array,
    kind: Array,
    upper_child: Array,
    lower_child: Array,
    upper_handle: Array,
    lower_handle: Array,
) -> int:
    """Join every row into a binary tree, top-down; children get larger ids than parents. Returns the number of joins.

    A row to join is row[first:end] of the path of `top`, within `levels`. It may have a head: the piece `head` with
    its light children up to `raking`, onto which the path is to be raked. The result becomes a child of `above`.
    A row that does not fit its levels is a bug in the pass before; -1 is returned rather than memory overwritten.
    """
    node = first_inner = row.size
    # The rows to join. Each holds a piece that no other does, so there are never more than pieces.
    todo = np.empty((row.size, 8), np.int32)
    count = push(todo, 0, path[0, FIRST], path[0, END], 0, closed_height[0], -1, 0, -1, 0)
    while count > 0:
        count -= 1
        first, end, top, levels = todo[count, 0], todo[count, 1], todo[count, 2], todo[count, 3]
        head, raking, above, is_upper = todo[count, 4], todo[count, 5], todo[count, 6], todo[count, 7]
        if head == -1 and end - first == 1:  # one item: a piece with all its light children
            head, raking = row[first], piece_light[row[first] + 1]
            upper_handle[head], lower_handle[head] = head, -1 if end == path[top, END] else head
            first = end
        if first == end:
            if raking == piece_light[head]:
                attach(head, above, is_upper, upper_child, lower_child)
                continue
            raking -= 1  # the last light child, the highest, is raked last: its row, with what is left as the head
            top = light[raking]
            first, end = path[top, FIRST], path[top, END]

        if head != -1 and not long_rakes:
            cut = first
        else:
            offset = path[top, OFFSET]
            head_levels = max(0, head_height[raking] - offset) if head != -1 else -1
            weight = head_weight[raking] if head != -1 else 0
            cut = cut_row(row_height, row_weight, first, end, levels - offset - 1, head_levels, weight)
        if cut == end or (cut == first and head == -1):
            return -1
        closed = end == path[top, END]
        kind[node] = RAKE if closed and head != -1 else COMPRESS
        upper_handle[node] = head if head != -1 else row[first]
        lower_handle[node] = head if closed else row[end - 1]
        attach(node, above, is_upper, upper_child, lower_child)
        count = push(todo, count, cut, end, top, levels - 1, -1, 0, node, 0)
        count = push(todo, count, first, cut, top, levels - 1, head, raking, node, 1)
        node += 1
    return int(node - first_inner)


@kernel
def number_by_level(
    piece_body: Array,
    kind: Array,
    upper_child: Array,
    lower_child: Array,
    upper_handle: Array,
    lower_handle: Array,
    height: Array,
    order: Array,
    level_start: Array,
) -> int:
    """Heights of all nodes, and the nodes in order of height; returns the root's height, -1 if above its least one.

    Within a level nodes keep the order in which `join_rows` made them, depth first: neighbours in a level have
    neighbouring children, so a sweep over a level runs through the levels below in one direction.
    """
    n_nodes, n_pieces = kind.size, piece_body.size
    for node in range(n_nodes - 1, n_pieces - 1, -1):
        A, B = upper_child[node], lower_child[node]
        height[node] = max(height[A], height[B]) + 1
        if height[node] + 1 >= level_start.size:
            return -1
        level_start[height[node] + 1] += 1
        if piece_body[lower_handle[A]] == piece_body[upper_handle[B]]:
            kind[node] = SPLIT
    level_start[1] = n_pieces
    depth = height[n_pieces] if n_nodes > n_pieces else 0
    for h in range(depth + 1):
        level_start[h + 1] += level_start[h]
    filled = level_start.copy()
    for node in range(n_nodes):
        order[filled[height[node]]] = node
        filled[height[node]] += 1
    return int(depth)


@kernel
def attach(node: int, above: int, is_upper: int, upper_child: Array, lower_child: Array) -> None:
    """Hang `node` under `above`; only the root has nothing above it."""
    if above != -1:
        if is_upper:
            upper_child[above] = node
        else:
            lower_child[above] = node


@kernel
def push(
    todo: Array,
    count: int,
    first: int,
    end: int,
    top: int,
    levels: int,
    head: int,
    raking: int,
    above: int,
    is_upper: int,
) -> int:
    """Put a row on the stack of `join_rows`; returns the new number of rows on it."""
    todo[count, 0], todo[count, 1], todo[count, 2], todo[count, 3] = first, end, top, levels
    todo[count, 4], todo[count, 5], todo[count, 6], todo[count, 7] = head, raking, above, is_upper
    return count + 1
