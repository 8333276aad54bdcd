"""Pictures of small assembly trees: DOT text and matplotlib.

Both show the same: leaves in the order of the linkage's paths, each inner node with its joint and its handles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..typing import Floats
from .tree import AssemblyTree, Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOR = {Kind.LEAF: "#dddddd", Kind.COMPRESS: "#8fb8de", Kind.RAKE: "#f2b872", Kind.SPLIT: "#b5d99c"}


def graphviz_text(tree: AssemblyTree) -> str:
    """The tree in the DOT language."""
    lines = ["digraph assembly_tree {", "  node [shape=box, style=filled, fontname=Helvetica];"]
    for node in range(tree.n_nodes):
        label = _label(tree, node).replace("\n", "\\n")
        lines.append(f'  {node} [label="{label}", fillcolor="{_COLOR[Kind(tree.kind[node])]}"];')
    for node in range(tree.n_leaves, tree.n_nodes):
        lines.append(f"  {node} -> {tree.upper_child[node]};")
        lines.append(f"  {node} -> {tree.lower_child[node]};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def draw_tree(tree: AssemblyTree, ax: Axes | None = None) -> Axes:
    """The tree on matplotlib axes (new ones if none are given)."""
    if ax is None:
        import matplotlib.pyplot as plt

        width = max(4.0, 0.55 * tree.n_leaves)
        _, ax = plt.subplots(figsize=(width, 1.5 + 0.8 * tree.depth))
    x = _positions(tree)
    for node in range(tree.n_leaves, tree.n_nodes):
        for child in (tree.upper_child[node], tree.lower_child[node]):
            ax.plot([x[node], x[child]], [tree.height[node], tree.height[child]], color="#888888", lw=0.8, zorder=1)
    for node in range(tree.n_nodes):
        box = {"boxstyle": "round", "facecolor": _COLOR[Kind(tree.kind[node])], "edgecolor": "#555555", "lw": 0.6}
        ax.text(x[node], tree.height[node], _label(tree, node), ha="center", va="center", fontsize=7, bbox=box)
    ax.set_xlim(-1, tree.n_leaves)
    ax.set_ylim(-0.7, tree.depth + 0.7)
    ax.set_ylabel("height")
    ax.set_xticks([])
    return ax


def _label(tree: AssemblyTree, node: int) -> str:
    """Body of a leaf; kind, joint and handle bodies of an inner node."""
    kind = Kind(tree.kind[node])
    if kind is Kind.LEAF:
        body = int(tree.leaf_body[node])
        pieces = tree.leaves_of_body(body)
        return f"body {body}" if len(pieces) == 1 else f"body {body}\npiece {pieces.index(node) + 1}/{len(pieces)}"
    what = kind.name.lower() + (f" joint {tree.joint[node]}" if kind is not Kind.SPLIT else "")
    handles = dict.fromkeys(int(h) for h in (tree.upper_handle[node], tree.lower_handle[node]) if h != -1)
    return what + "\nhandles " + ", ".join(str(tree.leaf_body[h]) for h in handles)


def _positions(tree: AssemblyTree) -> Floats:
    """Horizontal place of each node: leaves in depth-first order, parents above the middle of their children."""
    x = np.zeros(tree.n_nodes)
    stack, placed = [tree.root], 0
    while stack:
        node = stack.pop()
        if node < tree.n_leaves:
            x[node] = placed
            placed += 1
        else:
            stack += [int(tree.lower_child[node]), int(tree.upper_child[node])]
    for node in range(tree.n_leaves, tree.n_nodes):
        x[node] = 0.5 * (x[tree.upper_child[node]] + x[tree.lower_child[node]])
    return x
