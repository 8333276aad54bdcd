"""The frontier of a refinement as seen from Python: the open subassemblies, ordered by total acceleration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sortedcontainers import SortedKeyList

from ..typing import Ints
from .refine import BOUND, OPEN, VISITED

if TYPE_CHECKING:
    from .engine import Engine


@dataclass(frozen=True)
class OpenSubassembly:
    """A subassembly whose joints are taken to be at rest."""

    node: int  # node of the assembly tree
    total_acceleration: float  # √𝒜, rounding included: the joints inside are together no faster than this
    principal_joint: int  # the joint that would be computed next, by input index; −1 between pieces of a body


class FrontierView:
    """A snapshot: `for part in view` goes from the largest total acceleration to the smallest."""

    def __init__(self, engine: Engine) -> None:
        frontier, plan, linkage = engine._frontier, engine._plan, engine.linkage
        self._engine = engine
        size = int(frontier.counts[OPEN])
        self.error_bound = float(frontier.value[BOUND])
        self.joints_computed = int((plan.joint[frontier.visited[: frontier.counts[VISITED]]] >= 0).sum())
        self._parts = SortedKeyList(key=lambda part: -part.total_acceleration)
        for key, node in zip(frontier.key[:size], frontier.node[:size]):
            joint = int(plan.joint[node])
            shown = int(linkage.input_index[joint]) if joint >= 0 else -1
            self._parts.add(OpenSubassembly(int(node), float(key), shown))

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[OpenSubassembly]:
        return iter(self._parts)

    def __getitem__(self, k: int) -> OpenSubassembly:
        part: OpenSubassembly = self._parts[k]
        return part

    def bodies(self, part: OpenSubassembly) -> Ints:
        """The bodies of a subassembly, by input index."""
        tree, linkage = self._engine.tree, self._engine.linkage
        node = min(part.node, tree.root)  # the base joint stands above the root and has all bodies
        return linkage.input_index[tree.bodies(node)]
