"""Linkages to order, of every size up to millions of bodies: one place to import them from.

    trees      chain, random_tree, balanced, caterpillar, star
    machines   bicycle_chain, millipede                         benchmarks of Redon & Lin (2005)
    molecule   molecule                                         the same, in Å, Da, ps
    human      human_figure                                     Nakamura & Yamane (2000)

Common to all: bodies are numbered depth-first with parents first, so neighbours in the linkage are neighbours in
memory. Body i hangs on its parent by joint i; the base hangs on the world by joint 0, which is of the same kind as
the others unless `base` names another type ("fixed", "free", ...). The same `seed` gives the same linkage. q = 0
(quaternions 0, 0, 0, 1) is the pose described; z is up. Units: m, kg, s, rad, but for the molecule.
"""

from __future__ import annotations

from .human import human_figure
from .machines import bicycle_chain, millipede
from .molecule import molecule
from .trees import balanced, caterpillar, chain, random_tree, star

__all__ = [
    "balanced",
    "bicycle_chain",
    "caterpillar",
    "chain",
    "human_figure",
    "millipede",
    "molecule",
    "random_tree",
    "star",
]
