"""How figures are taken: contenders timed by turns, ratios within one run, each figure beside its goal.

A benchmark is a function that yields `Figure`s:

    @benchmark
    def my_solver(quick: bool) -> Iterator[Figure]:
        "What is measured, in one line."
        times = timed({"ours": ours, "theirs": theirs})
        yield Figure("ours", times["theirs"].over(times["ours"]), "× faster", at_least(1.3))

Put it in any module of this package. What needs a process of its own (peak memory, threads, a cold cache, a library
that takes gigabytes) goes through `in_fresh_process`.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

RESULTS = Path(__file__).parent / "results"
_CHECKOUT = Path(__file__).parent.parent
_PACKAGES = ("adaptive-sim", "numpy", "scipy", "numba", "llvmlite", "pin")


# -------------------------------------------------------------------- figures and goals


@dataclass(frozen=True)
class Goal:
    """A bound the figure should keep."""

    bound: float
    is_upper: bool

    def met_by(self, value: float) -> bool:
        return value <= self.bound if self.is_upper else value >= self.bound


def at_most(bound: float) -> Goal:
    return Goal(bound, is_upper=True)


def at_least(bound: float) -> Goal:
    return Goal(bound, is_upper=False)


@dataclass(frozen=True)
class Figure:
    """One measured number. `value` None: it could not be measured, `note` says why."""

    name: str
    value: float | None
    unit: str
    goal: Goal | None = None
    note: str = ""

    @property
    def passes(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value is not None and self.goal.met_by(self.value)


Benchmark = Callable[[bool], Iterator[Figure]]
BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(function: Benchmark) -> Benchmark:
    """Register a benchmark under its function's name."""
    BENCHMARKS[function.__name__] = function
    return function


# -------------------------------------------------------------------- timing


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one sample per round."""

    samples: tuple[float, ...] = field(repr=False)

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def best(self) -> float:
        return min(self.samples)

    def over(self, other: Timing) -> float:
        """How many times as long as `other` of the same run: median over the rounds, neighbours in time compared."""
        return median(a / b for a, b in zip(self.samples, other.samples, strict=True))


def timed(contenders: Mapping[str, Callable[[], Any]], rounds: int = 9, sample: float = 0.02) -> dict[str, Timing]:
    """Time every contender once per round, by turns, so that a slow spell of the machine hits all of them.

    A sample repeats the call until it lasts about `sample` seconds. The first call (compilation) is not counted.
    """
    calls = {}
    for name, function in contenders.items():
        function()
        calls[name] = max(1, round(sample / max(_seconds(function, 1), 1e-9)))
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in contenders.items():
                samples[name].append(_seconds(function, calls[name]))
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(tuple(values)) for name, values in samples.items()}


def _seconds(function: Callable[[], Any], calls: int) -> float:
    start = perf_counter()
    for _ in range(calls):
        function()
    return (perf_counter() - start) / calls


# -------------------------------------------------------------------- processes of their own


@dataclass(frozen=True)
class Fresh:
    """What a function returned in its own process, and what that process took."""

    result: Any
    peak_bytes: int
    seconds: float  # from start to end, the interpreter's own included


def in_fresh_process(function: Callable[..., Any], *args: Any, env: Mapping[str, str] | None = None) -> Fresh:
    """Call a module-level function with JSON-able arguments and result in a new interpreter."""
    start = perf_counter()
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness", function.__module__, function.__name__, json.dumps(args)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=_CHECKOUT,
        env={**os.environ, **(env or {})},
        check=False,
    )
    seconds = perf_counter() - start
    if child.returncode:
        raise RuntimeError(f"{function.__name__}{args} failed in its own process, exit code {child.returncode}")
    answer = json.loads(child.stdout.splitlines()[-1])
    return Fresh(answer["result"], answer["peak_bytes"], seconds)


def _answer(module: str, function: str, args: str) -> None:
    result = getattr(import_module(module), function)(*json.loads(args))
    print(json.dumps({"result": result, "peak_bytes": peak_memory()}))


def peak_memory() -> int:
    """Peak resident memory of this process, bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would start at the parent's peak: Linux hands it on through fork and exec
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# -------------------------------------------------------------------- results


def machine() -> dict[str, Any]:
    """What the figures were taken on. No host name, no paths."""
    model = platform.processor() or platform.machine()
    memory = None
    if Path("/proc/cpuinfo").exists():
        models = (x.partition(":")[2].strip() for x in Path("/proc/cpuinfo").read_text().splitlines()
                  if x.startswith("model name"))  # fmt: skip
        model = next(models, model)
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": memory,
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    if "adaptive-sim" not in found:
        from adaptive_sim import __version__

        found["adaptive-sim"] = f"{__version__} (checkout)"
    return found


def write_results(name: str, figures: list[Figure], quick: bool) -> Path:
    """One JSON file per benchmark, overwritten by the next run."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    record = {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": machine(),
        "versions": versions(),
        "figures": [{**asdict(f), "passes": f.passes} for f in figures],
    }
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    return path


if __name__ == "__main__":
    _answer(*sys.argv[1:])
