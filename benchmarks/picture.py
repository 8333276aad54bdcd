"""The README's picture: a molecule of 50,000 torsions, pushed at one atom; which joints the engine computed.

python -m benchmarks.picture docs/figures/molecule.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import adaptive_sim as asim


def main(path: Path, n: int = 50_000, pushed: int = 20_000, threshold: float = 2.0**-19) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    linkage = asim.molecule(n, seed=0)
    engine = asim.Engine(linkage, error_threshold=threshold)
    engine.set_force(pushed, (1.0, 0.0, 0.0))
    result = engine.accelerate()
    position = engine.centers_of_mass()
    near = np.abs(position - position[pushed]).max(axis=1) < 40.0  # Å
    speed = np.abs(result.acceleration) / np.abs(result.acceleration).max()

    figure, axes = plt.subplots(1, 2, figsize=(11.0, 5.2))
    for ax, shown, size, title in (
        (axes[0], np.ones(n, dtype=bool), 0.4, f"{n:,} joints"),
        (axes[1], near, 14.0, "around the pushed atom"),
    ):
        computed = np.zeros(n, dtype=bool)
        computed[result.computed] = True
        rest, moving = shown & ~computed, shown & computed
        ax.scatter(position[rest, 0], position[rest, 1], s=size, color="0.75", linewidths=0)
        dots = ax.scatter(
            position[moving, 0], position[moving, 1], s=max(size, 6.0), c=np.log10(speed[moving]), cmap="viridis",
            linewidths=0, vmin=np.log10(threshold), vmax=0.0,
        )  # fmt: skip
        ax.plot(*position[pushed, :2], "r+", markersize=12)
        ax.set(title=title, xlabel="x (Å)", ylabel="y (Å)", aspect="equal")
    figure.colorbar(dots, ax=axes, label="log₁₀ of joint acceleration over the largest", shrink=0.85)
    figure.suptitle(
        f"{len(result.computed)} joints computed, the rest left alone: error at most {result.error_bound:.1e} "
        f"of the largest acceleration (asked: {threshold:.1e}, certified: {'yes' if result.certified else 'no'})"
    )
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/figures/molecule.png"))
