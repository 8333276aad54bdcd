"""Shapes of linkages as arrays of parents, parents before children, about `n` bodies each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Parents = NDArray[np.int64]


def chain(n: int) -> Parents:
    return np.arange(-1, n - 1)


def star(n: int) -> Parents:
    return np.r_[-1, np.zeros(n - 1, np.int64)]


def k_ary(n: int, k: int) -> Parents:
    """Complete tree with k children per body."""
    return np.r_[-1, (np.arange(1, n) - 1) // k]


def caterpillar(n: int) -> Parents:
    """A spine with one leg of one body on every vertebra."""
    return millipede(n, 1)


def millipede(n: int, leg: int = 5, legs: int = 1) -> Parents:
    """A spine; every vertebra has `legs` legs, chains of `leg` bodies."""
    period = 1 + leg * legs
    i = np.arange(n)
    vertebra, k = i - i % period, i % period
    first_of_leg = (k - 1) % leg == 0
    parent = np.where(first_of_leg, vertebra, i - 1)
    return np.where(k == 0, vertebra - period, parent).clip(-1)


def broom(n: int) -> Parents:
    """A chain that ends in a star."""
    return np.minimum(np.arange(-1, n - 1), n // 2)


def spider(n: int) -> Parents:
    """About sqrt(n) chains of equal length on one body."""
    leg = max(1, int(np.sqrt(n)))
    i = np.arange(n)
    return np.r_[-1, np.where((i - 1) % leg == 0, 0, i - 1)[1:]]


def fibonacci(n: int) -> Parents:
    """Children with subtrees of F(k-1) and F(k-2) bodies: as unbalanced as light children can be made to alternate."""
    small, large = np.array([-1]), np.array([-1, 0])
    while large.size < n:
        small, large = large, grafted(np.array([-1]), [(0, large), (0, small)])
    return large


def doubled(base: Parents, times: int) -> Parents:
    """s - p - (T, T), again and again: the shape in which a branch inside a path costs most (see partition)."""
    shape = base
    for _ in range(times):
        shape = grafted(np.array([-1, 0]), [(1, shape), (1, shape)])
    return shape


def grafted(trunk: Parents, branches: list[tuple[int, Parents]]) -> Parents:
    """The trunk with whole linkages hung onto some of its bodies."""
    parts, size = [trunk], trunk.size
    for body, branch in branches:
        moved = branch + size
        moved[0] = body
        parts.append(moved)
        size += branch.size
    return np.concatenate(parts)


def recursive(n: int, rng: np.random.Generator) -> Parents:
    """Each body hangs on any earlier one."""
    return np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)]


def nearby(n: int, rng: np.random.Generator) -> Parents:
    """Each body hangs on one of the last few."""
    i = np.arange(1, n)
    return np.r_[-1, np.maximum(0, i - rng.integers(1, 6, n - 1))]


def preferential(n: int, rng: np.random.Generator) -> Parents:
    """Each body hangs on a copy of an earlier choice: hubs of very different size."""
    parent = recursive(n, rng)
    copy = rng.random(n) < 0.7
    for i in range(2, n):
        if copy[i]:
            parent[i] = max(0, parent[parent[i]])
    return parent


def molecule(n: int, rng: np.random.Generator) -> Parents:
    """A backbone with side chains of up to nine bodies that branch."""
    parent, last = [-1], 0
    while len(parent) < n:
        parent.append(last)
        last = at = len(parent) - 1
        for _ in range(int(rng.integers(0, 10))):
            parent.append(at)
            if rng.random() < 0.7:
                at = len(parent) - 1
    return np.array(parent[:n])


def stars_on_stars(n: int, rng: np.random.Generator) -> Parents:
    """Hubs on a chain, with anything from none to hundreds of bodies each."""
    hubs = max(1, n // 30)
    return np.r_[np.arange(-1, hubs - 1), (hubs * rng.random(max(0, n - hubs)) ** 4).astype(np.int64)]


NAMED: dict[str, Callable[[int], Parents]] = {
    "chain": chain,
    "star": star,
    "caterpillar": caterpillar,
    "millipede": millipede,
    "millipede with 8 legs": lambda n: millipede(n, 3, 8),
    "broom": broom,
    "spider": spider,
    "binary": lambda n: k_ary(n, 2),
    "ternary": lambda n: k_ary(n, 3),
    "7-ary": lambda n: k_ary(n, 7),
    "40-ary": lambda n: k_ary(n, 40),
    "fibonacci": fibonacci,
    "subdivided binary": lambda n: doubled(chain(1), max(0, int(np.log2((n + 2) / 3)))),
}

RANDOM: dict[str, Callable[[int, np.random.Generator], Parents]] = {
    "recursive": recursive,
    "nearby": nearby,
    "preferential": preferential,
    "molecule": molecule,
    "stars on stars": stars_on_stars,
}


def mixed(n: int, rng: np.random.Generator) -> Parents:
    """Random pieces of all families, grafted onto one of them at random places."""
    families = list(RANDOM.values())
    trunk = families[rng.integers(len(families))](max(1, n // 4), rng)
    branches, left = [], n - trunk.size
    while left > 0:
        size = min(left, int(rng.integers(1, max(2, n // 4))))
        if rng.random() < 0.5:
            branch = families[rng.integers(len(families))](size, rng)
        else:
            branch = list(NAMED.values())[rng.integers(len(NAMED))](size)
        branches.append((int(rng.integers(trunk.size)), branch))
        left -= branch.size
    return grafted(trunk, branches)
