"""`python -m benchmarks [NAME ...] [--quick] [--list]`: run benchmarks, print their tables, write their results.

NAME is a benchmark or a whole module, such as aba_50000 or exact_solvers.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from difflib import get_close_matches
from importlib import import_module

from rich.console import Console
from rich.table import Table

import benchmarks

from .harness import BENCHMARKS, Benchmark, Figure, Goal, machine, versions, write_results

_TOOLS = ("harness", "__main__")
_WIDTH = 150  # in files and pipes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmark or module; all if left out")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs, for a first look")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    options = parser.parse_args()
    _load_all()
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    if options.list:
        for name, function in BENCHMARKS.items():
            console.print(f"{_module(function)}.[bold]{name}[/]  {_title(function)}")
        return 0
    try:
        chosen = _chosen(options.names)
    except KeyError as error:
        parser.error(error.args[0])
    here = machine()
    console.print(f"{here['processor']}, {here['cores']} cores, {here['memory_gib']} GiB; load {here['load_average']}")
    console.print(", ".join(f"{k} {v}" for k, v in versions().items()))
    missed = 0
    for name in chosen:
        function = BENCHMARKS[name]
        console.print()
        figures = list(function(options.quick))
        console.print(_table(f"{name}: {_title(function)}", figures))
        path = write_results(name, figures, options.quick)
        console.print(f"written to benchmarks/results/{path.name}", style="dim")
        missed += sum(f.passes is False for f in figures)
    console.print(f"\n{missed} figure(s) fall short of their goal" if missed else "\nall goals met")
    return 0


def _load_all() -> None:
    """Import every module of the package, in alphabetical order: importing registers its benchmarks."""
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name not in _TOOLS:
            import_module(f"benchmarks.{module.name}")


def _chosen(names: list[str]) -> list[str]:
    modules = {_module(function) for function in BENCHMARKS.values()}
    for name in names:
        if name not in BENCHMARKS and name not in modules:
            near = get_close_matches(name, [*BENCHMARKS, *modules], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "see --list"
            raise KeyError(f"unknown benchmark {name!r}; {hint}")
    return [b for b, function in BENCHMARKS.items() if not names or b in names or _module(function) in names]


def _module(function: Benchmark) -> str:
    return function.__module__.rpartition(".")[2]


def _title(function: Benchmark) -> str:
    return (function.__doc__ or "").strip().splitlines()[0].rstrip(".")


def _table(title: str, figures: list[Figure]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("goal", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("note", style="dim")
    marks = {True: "[green]pass[/]", False: "[red]falls short[/]", None: ""}
    for f in figures:
        value = "–" if f.value is None else f"{_number(f.value)} {f.unit}"
        table.add_row(f.name, value, _goal(f.goal, f.unit), marks[f.passes], f.note)
    return table


def _goal(goal: Goal | None, unit: str) -> str:
    return "–" if goal is None else f"{'≤' if goal.is_upper else '≥'} {_number(goal.bound)} {unit}"


def _number(value: float) -> str:
    if value != 0.0 and (abs(value) < 1e-3 or abs(value) >= 1e9):
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
