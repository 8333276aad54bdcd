"""Linkages by name, for commands that take a generator: what -n and --seed mean to each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError

if TYPE_CHECKING:
    from ..linkage.model import Linkage


class Generator(NamedTuple):
    """One entry: `build(n, seed)`; no `default_n`: the size is given; not `seeded`: nothing in it is random."""

    build: Callable[[int, int], Linkage]
    default_n: int | None
    seeded: bool


def _by_name(name: str) -> Callable[[int, int], Linkage]:
    """The public generator `name(n, seed=seed)`, looked up when it is used: importing it is slow."""

    def build(n: int, seed: int) -> Linkage:
        import adaptive_sim

        linkage: Linkage = getattr(adaptive_sim, name)(n, seed=seed)
        return linkage

    return build


def _bicycle_chain(n: int, _: int) -> Linkage:
    from adaptive_sim import bicycle_chain

    return bicycle_chain(n)


def _millipede(n: int, _: int) -> Linkage:
    """n links in the proportions of the benchmark: one leg of 10 links for every 3 links of the spine."""
    from adaptive_sim import millipede

    legs = max(n, 0) // 13
    return millipede(legs=legs, links_per_leg=10, spine=n - 10 * legs)


def _human_figure(_: int, __: int) -> Linkage:
    from adaptive_sim import human_figure

    return human_figure()


GENERATORS = {
    **{
        name: Generator(_by_name(name), 1000, seeded=True)
        for name in ("chain", "molecule", "random_tree", "star", "caterpillar", "balanced")
    },
    "bicycle_chain": Generator(_bicycle_chain, 30, seeded=False),
    "millipede": Generator(_millipede, 13_000, seeded=False),
    "human_figure": Generator(_human_figure, None, seeded=False),
}


def build_linkage(name: str, n: int | None, seed: int | None) -> Linkage:
    """The linkage of a generator; options it has no use for are refused rather than ignored."""
    choose("generator", name, GENERATORS)
    generator = GENERATORS[name]
    if n is not None and generator.default_n is None:
        raise InputError(f"{name} has a fixed number of bodies; leave out -n")
    if seed is not None and not generator.seeded:
        raise InputError(f"nothing in {name} is random; leave out --seed")
    if seed is not None and seed < 0:
        raise InputError(f"seed = {seed}; give 0 or more")
    return generator.build((generator.default_n or 0) if n is None else n, seed or 0)


def choose(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse an unknown name, with the nearest known one."""
    names = list(known)
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"unknown {what} {name!r}; {hint}known: {', '.join(names)}")
