"""Divide and conquer: its passes against ABA, the join kernel, threads, compilation, accuracy, assembly trees.

`python -m benchmarks.dca` draws docs/figures/dca_accuracy.png from the results of `python -m benchmarks dca_accuracy`.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

import adaptive_sim as asim
from adaptive_sim.typing import Floats, Ints

from .harness import RESULTS, Figure, Timing, at_least, at_most, benchmark, in_fresh_process, timed

US, MS = 1e6, 1e3
AGAINST_ABA = at_most(12.0)  # main pass and back-substitution over ABA at rest, one thread
LEVEL, SCATTERED = at_most(0.6), at_most(1.0)  # µs per node
TWO_THREADS = at_least(1.6)
COMPILE_SECONDS, CACHE_SECONDS = at_most(60.0), at_most(1.0)
# What the exact methods promise each other.
AGREEMENT = at_most(1e-9)
TREE_SECONDS = at_most(5.0)  # a million bodies

FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "dca_accuracy.png"


@dataclass
class Prepared:
    """A linkage with random forces, at rest, and the passes as a simulation loop calls them: nothing is allocated."""

    linkage: asim.Linkage
    plan: Any
    coefficients: Any
    q: Floats
    f_ext: Floats
    base: Any
    F: Floats
    qdd: Floats

    @classmethod
    def of(
        cls,
        linkage: asim.Linkage,
        q: Floats | None = None,
        f_ext: Floats | None = None,
        gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> Prepared:
        from adaptive_sim.adaptive.leaves import leaf_forces, set_world
        from adaptive_sim.adaptive.plan import make_coefficients, make_plan
        from adaptive_sim.exact.dynamics import base_acceleration

        base = base_acceleration(gravity)

        plan = make_plan(linkage, asim.build_assembly_tree(linkage))
        coefficients = make_coefficients(linkage, plan)
        if f_ext is None:
            f_ext = np.random.default_rng(0).normal(size=(linkage.n_bodies, 6))
        set_world(plan, coefficients, base)
        leaf_forces(linkage.kernel_model, plan, f_ext, np.empty((0, 6)), coefficients)
        q = linkage.q_to_model(asim.neutral_state(linkage).q) if q is None else q
        F, qdd = np.zeros((len(plan.upper), 12)), np.empty(linkage.nv)
        return cls(linkage, plan, coefficients, q, f_ext, base, F, qdd)

    def __post_init__(self) -> None:
        nodes, nv = len(self.plan.upper), self.linkage.nv
        self.given = (self.linkage.kernel_model, self.plan, self.q, np.zeros(nv), np.empty((0, 6)))
        self.no_weight = np.ones(0)
        self.moved = {True: np.zeros(0, dtype=np.int64), False: np.zeros(nodes, dtype=np.int64)}

    def main_pass(self, threads: int = 1) -> None:
        from adaptive_sim.adaptive.passes import main_pass

        main_pass(*self.given, self.no_weight, self.coefficients, threads=threads)

    def update(self, nodes: Ints, *, geometry: bool) -> None:
        """Join these nodes: all of it, or forces only."""
        from adaptive_sim.adaptive.passes import update_nodes

        update_nodes(*self.given, nodes, self.moved[geometry], self.no_weight, self.coefficients)

    def back_substitution(self) -> None:
        from adaptive_sim.adaptive.passes import back_substitution

        back_substitution(self.linkage.kernel_model, self.plan, self.coefficients, self.F, self.qdd)

    def solve(self) -> Floats:
        self.main_pass()
        self.back_substitution()
        return self.qdd.copy()

    def aba(self) -> Callable[[], Floats]:
        """ABA at rest with the same forces."""
        from adaptive_sim.exact import aba

        linkage, base = self.linkage, self.base
        work, a, qdd = aba.make_workspace(linkage), np.empty((linkage.n_bodies, 6)), np.empty(linkage.nv)
        still, tau = np.empty(0), np.zeros(linkage.nv)

        def call() -> Floats:
            if aba.aba(linkage.kernel_model, self.q, still, tau, self.f_ext, base, work, a, qdd) != aba.OK:
                raise RuntimeError("ABA broke down")
            return qdd

        return call


# -------------------------------------------------------------------- (a), (c) both passes, against ABA, on two threads


@benchmark
def dca_50000(quick: bool) -> Iterator[Figure]:
    """DCA at rest against our own ABA at rest, 50,000 revolute joints, by turns in one run."""
    for name in ("molecule", "chain"):
        found = in_fresh_process(race_aba, name, 50_000, 5 if quick else 25).result
        n, times = 50_000, {what: Timing(tuple(samples)) for what, samples in found["times"].items()}
        both = Timing(tuple(a + b for a, b in zip(times["main pass"].samples, times["back-substitution"].samples)))
        for what, timing in times.items():
            note = f"best {US * timing.best / n:.3f} µs; {MS * timing.median:.3g} ms"
            yield Figure(f"{name}, {what}", US * timing.median / n, "µs/joint", None, note)
        goal = AGAINST_ABA if name == "molecule" else None
        yield Figure(f"{name}, main pass and back-substitution over ABA", both.over(times["ABA"]), "×", goal)
        yield Figure(f"{name}, largest difference", found["difference"], "relative", AGREEMENT)
    for policy in ("passive", "active"):
        # Threads that wait by spinning take the time of whatever else runs on their core, the main thread included.
        found = in_fresh_process(race_threads, 50_000, 5 if quick else 25, env={"OMP_WAIT_POLICY": policy}).result
        goal = TWO_THREADS if policy == "passive" else None
        note = f"OMP_WAIT_POLICY={policy}; layer {found['layer']}; needs two idle cores, load was {found['load']:.1f}"
        yield Figure(f"molecule, main pass on two threads, {policy} waiting", found["speedup"], "× faster", goal, note)


def race_aba(generator: str, n: int, rounds: int) -> dict[str, Any]:
    dca = Prepared.of(getattr(asim, generator)(n, seed=0))
    aba = dca.aba()
    expected = aba().copy()
    difference = np.abs(dca.solve() - expected).max() / np.abs(expected).max()
    times = timed({"ABA": aba, "main pass": dca.main_pass, "back-substitution": dca.back_substitution}, rounds)
    return {"times": {what: timing.samples for what, timing in times.items()}, "difference": float(difference)}


def race_threads(n: int, rounds: int) -> dict[str, Any]:
    import os

    import numba

    dca = Prepared.of(asim.molecule(n, seed=0))
    times = timed({"one": dca.main_pass, "two": lambda: dca.main_pass(2)}, rounds)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    layer = numba.threading_layer()  # type: ignore[attr-defined]
    return {"speedup": times["one"].over(times["two"]), "layer": layer, "load": load}


# -------------------------------------------------------------------- (b) the join kernel


@benchmark
def join_kernel(quick: bool) -> Iterator[Figure]:
    """One node of a 50,000-joint molecule: a whole level, and 100 nodes here and there."""
    found = in_fresh_process(time_joins, 50_000, 7 if quick else 31).result
    for what, (samples, nodes) in found.items():
        timing = Timing(tuple(samples))
        goal = LEVEL if "level" in what else SCATTERED
        note = f"{nodes:,} nodes; best {US * timing.best / nodes:.3f} µs"
        yield Figure(what, US * timing.median / nodes, "µs/node", goal, note)


def time_joins(n: int, rounds: int) -> dict[str, tuple[tuple[float, ...], int]]:
    dca = Prepared.of(asim.molecule(n, seed=0))
    dca.main_pass()
    order, start = dca.plan.order, dca.plan.level_start
    level = order[: start[1]]
    places = np.sort(np.random.default_rng(1).choice(len(order) // 2, 100, replace=False))
    scattered = order[places]
    times = timed(
        {
            "level, Φ and b": lambda: dca.update(level, geometry=True),
            "level, b only": lambda: dca.update(level, geometry=False),
            "scattered, Φ and b": lambda: dca.update(scattered, geometry=True),
            "scattered, b only": lambda: dca.update(scattered, geometry=False),
        },
        rounds,
    )
    return {what: (timing.samples, len(level) if "level" in what else len(scattered)) for what, timing in times.items()}


# -------------------------------------------------------------------- (d) compilation


@benchmark
def dca_compilation(quick: bool) -> Iterator[Figure]:
    """Compiling all kernels of forward_dynamics(method="dca") on an empty cache, and loading them from it."""
    with tempfile.TemporaryDirectory() as cache:
        env = {"NUMBA_CACHE_DIR": cache}
        cold = in_fresh_process(first_solves, env=env)
        warm = [in_fresh_process(first_solves, env=env) for _ in range(1 if quick else 3)]
        size = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
    kernels = sorted(cold.result["kernels"].items(), key=lambda item: -item[1][0])
    count = sum(times for _, (_, times) in kernels)
    yield Figure(
        "empty cache", cold.result["seconds"], "s", COMPILE_SECONDS, f"one and two threads; {count} signatures"
    )
    for name, (seconds, times) in kernels[:8]:
        yield Figure(f"  {name}", seconds, "s", None, f"{times} signature(s); without the kernels it calls")
    best = min(run.result["seconds"] for run in warm)
    yield Figure("from the cache", best, "s", CACHE_SECONDS, f"cache of {size / 1e6:.1f} MB")
    yield Figure("the whole process from the cache", min(run.seconds for run in warm), "s", None, "with imports")


def first_solves() -> dict[str, Any]:
    """Seconds to the first results on one thread and on two, and the seconds spent compiling each kernel."""
    from numba.core import event

    recorder = event.RecordingListener()  # type: ignore[no-untyped-call]
    event.register("numba:compile", recorder)  # type: ignore[no-untyped-call]
    linkage = asim.chain(600)  # long enough for a level to be shared out
    start = perf_counter()
    for threads in (1, 2):
        asim.forward_dynamics(linkage, method="dca", threads=threads)
    return {"seconds": perf_counter() - start, "kernels": _own_seconds(recorder.buffer)}


def _own_seconds(events: list[Any]) -> dict[str, tuple[float, int]]:
    """By kernel: seconds without the kernels compiled while compiling it, and for how many signatures."""
    own: dict[str, tuple[float, int]] = {}
    stack: list[list[float]] = []  # start, seconds of what was compiled in between
    for at, what in events:
        if what.is_start:
            stack.append([at, 0.0])
            continue
        begun, inner = stack.pop()
        if stack:
            stack[-1][1] += at - begun
        function = what.data["dispatcher"].py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        seconds, times = own.get(name, (0.0, 0))
        own[name] = (seconds + (at - begun) - inner, times + 1)
    return own


# -------------------------------------------------------------------- (e) accuracy

SHAPES = ("chain", "molecule", "star")
LOADS = ("one end pushed", "all bodies pushed", "gravity")


@benchmark
def dca_accuracy(quick: bool) -> Iterator[Figure]:
    """DCA and ABA in double precision against ABA in extended precision (64-bit mantissa), revolute joints, at rest."""
    for shape in SHAPES:
        for n in (100, 1_000, 10_000) if quick else (100, 1_000, 10_000, 100_000):
            found = in_fresh_process(errors_of, shape, n).result
            for load, method in product(LOADS, ("DCA", "ABA")):
                error, first = found[load][method]
                goal = AGREEMENT if method == "DCA" else None
                # Elsewhere the first joint may hardly move at all: what happens at one end of a chain fades away.
                note = f"of the hub's own joint, over its own acceleration: {first:.1e}" if shape == "star" else ""
                yield Figure(f"{shape}, {load}, {n}, {method}", error, "relative", goal, note)


def errors_of(generator: str, n: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Largest error over the largest acceleration, and error of joint 0 over its own acceleration; a random pose."""
    linkage = getattr(asim, generator)(n, seed=0)
    q = linkage.q_to_model(asim.random_state(linkage, seed=1, angle=np.pi).q)
    found: dict[str, Any] = {}
    for load in LOADS:
        f_ext = np.random.default_rng(2).normal(size=(n, 6))
        gravity = (0.0, 0.0, 0.0)
        if load == "one end pushed":
            f_ext[:-1] = 0.0
        elif load == "gravity":
            f_ext[:] = 0.0
            gravity = asim.GRAVITY
        dca = Prepared.of(linkage, q, f_ext, gravity)
        exactly = extended_aba(linkage, q, f_ext, dca.base)
        found[load] = {}
        for name, qdd in (("DCA", dca.solve()), ("ABA", dca.aba()())):
            error = np.abs(qdd - exactly)
            first = float(error[0] / np.abs(exactly[0])) if exactly[0] else 0.0
            found[load][name] = (float(error.max() / np.abs(exactly).max()), first)
    return found


def extended_aba(linkage: asim.Linkage, q: Floats, f_ext: Floats, base: Any) -> Any:
    """Joint accelerations by ABA in `longdouble`: revolute joints, at rest. Featherstone 2008, §7.3."""
    extended = np.longdouble
    if np.finfo(extended).eps >= np.finfo(float).eps:
        raise RuntimeError("this machine has no extended precision")
    model, n = linkage.kernel_model, linkage.n_bodies
    if (model.joint_kind != asim.JointType.REVOLUTE).any():
        raise ValueError("revolute joints only")
    c, s = np.cos(q.astype(extended)), np.sin(q.astype(extended))
    placement = model.rotation.astype(extended).reshape(n, 3, 3)
    # Rotations R Rz(q), and X = [Rᵀ 0; −Rᵀ p× Rᵀ] from parent to child, for all joints at once.
    R = placement.copy()
    R[:, :, 0] = c[:, None] * placement[:, :, 0] + s[:, None] * placement[:, :, 1]
    R[:, :, 1] = c[:, None] * placement[:, :, 1] - s[:, None] * placement[:, :, 0]
    E = R.transpose(0, 2, 1)
    X = np.zeros((n, 6, 6), extended)
    X[:, :3, :3] = X[:, 3:, 3:] = E
    X[:, 3:, :3] = -E @ _skew(model.translation.astype(extended))
    row = model.inertia.astype(extended)
    I = np.zeros((n, 6, 6), extended)
    I[:, :3, :3] = row[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(n, 3, 3)
    I[:, :3, 3:] = _skew(row[:, 1:4])
    I[:, 3:, :3] = -I[:, :3, 3:]
    I[:, 3:, 3:] = row[:, 0, None, None] * np.eye(3, dtype=extended)
    p = -f_ext.astype(extended)

    for i in range(n - 1, 0, -1):
        above, U = model.parent[i], I[i, 2].copy()
        below = X[i].T @ (I[i] - np.outer(U, U / U[2])) @ X[i]
        I[above] += 0.5 * (below + below.T)
        p[above] += X[i].T @ (p[i] - U * (p[i, 2] / U[2]))
    a, qdd = np.zeros((n, 6), extended), np.zeros(n, extended)
    for i in range(n):
        a[i] = X[i] @ (a[model.parent[i]] if i > 0 else np.concatenate(base))
        qdd[i] = (-p[i, 2] - I[i, 2] @ a[i]) / I[i, 2, 2]
        a[i, 2] += qdd[i]
    return qdd


def _skew(v: Any) -> Any:
    out = np.zeros((len(v), 3, 3), v.dtype)
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - out.transpose(0, 2, 1)


# -------------------------------------------------------------------- (f) assembly trees


@benchmark
def assembly_trees(quick: bool) -> Iterator[Figure]:
    """Assembly trees of a million bodies of many shapes: depth, and the time to build them."""
    n = 100_000 if quick else 1_000_000
    for name, row in in_fresh_process(build_trees, n).result.items():
        # The most is 2 log2 n − 1 for one light child per body, below 2.1 log2 n for several (assembly.partition).
        bound = 2.1 * np.log2(row["bodies"]) + 2
        note = f"{row['bodies']:,} bodies, mean leaf depth {row['mean']:.1f}, {row['splits']:,} splits"
        yield Figure(f"{name}: depth", row["depth"], "", at_most(float(bound)), note)
        yield Figure(f"{name}: time", row["seconds"], "s", TREE_SECONDS)


def build_trees(n: int) -> dict[str, dict[str, Any]]:
    from adaptive_sim.assembly import Kind, build_assembly_tree

    shapes = _test_shapes()
    rng = np.random.default_rng(0)
    parents = {name: shape(n) for name, shape in shapes.NAMED.items()}
    parents |= {name: shape(n, rng) for name, shape in shapes.RANDOM.items()}
    build_assembly_tree(shapes.chain(100))  # compile
    found = {}
    for name, parent in parents.items():
        start = perf_counter()
        tree = build_assembly_tree(parent)
        seconds = perf_counter() - start
        found[name] = {
            "bodies": tree.n_bodies,
            "depth": tree.depth,
            "mean": tree.mean_leaf_depth,
            "splits": int(np.count_nonzero(tree.kind == Kind.SPLIT)),
            "seconds": seconds,
        }
    return found


def _test_shapes() -> ModuleType:
    """The shapes the tests use; they need nothing but NumPy."""
    path = Path(__file__).parent.parent / "tests" / "assembly" / "shapes.py"
    spec = importlib.util.spec_from_file_location("shapes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -------------------------------------------------------------------- the figure of docs/dca.md


def draw_accuracy(results: Path, figure: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    record = json.loads(results.read_text())
    errors: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in record["figures"]:
        shape, load, n, method = row["name"].split(", ")
        errors.setdefault((shape, load, method), []).append((int(n), row["value"]))
    fig, axes = plt.subplots(1, len(LOADS), figsize=(12, 4.2), sharey=True, layout="constrained")
    colors = {"chain": "#33507f", "molecule": "#3f9e99", "star": "#9e452e"}
    for ax, load in zip(axes, LOADS):
        for shape in SHAPES:
            for method, style in (("DCA", "o-"), ("ABA", "x--")):
                n, error = zip(*errors[shape, load, method])
                # An error of exactly zero has no place on a logarithmic axis.
                ax.loglog(
                    n, np.maximum(error, 1e-17), style, color=colors[shape], lw=1.4, ms=5, label=f"{shape}, {method}"
                )
        ax.axhline(AGREEMENT.bound, color="#888888", lw=0.8, ls=":")
        ax.set_title(load)
        ax.set_xlabel("bodies")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("largest error / largest acceleration")
    axes[0].legend(fontsize=8, loc="upper left")
    figure.parent.mkdir(exist_ok=True)
    fig.savefig(figure, dpi=130)
    plt.close(fig)


if __name__ == "__main__":
    draw_accuracy(RESULTS / "dca_accuracy.json", FIGURE)
    print(f"{FIGURE.relative_to(Path.cwd()) if FIGURE.is_relative_to(Path.cwd()) else FIGURE} drawn")
