"""`adaptive-sim solve`: the exact accelerations of a generated linkage, checked and timed."""

from __future__ import annotations

import json
import math
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .linkages import GENERATORS, build_linkage, choose

if TYPE_CHECKING:
    from ..linkage.model import Linkage
    from ..typing import Floats

WARM_UP = 20  # bodies


def solve(
    generator: Annotated[str, typer.Argument(help=f"One of: {', '.join(GENERATORS)}.", show_default=False)],
    n: Annotated[int | None, typer.Option("-n", help="Number of bodies.  [default: the generator's]")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the generator.  [default: 0]")] = None,
    method: Annotated[
        str, typer.Option(help="aba (O(n)), crba (mass matrix; for shallow linkages) or dca (parallel).")
    ] = "aba",
    repeat: Annotated[int, typer.Option(help="Timed calls; the median counts.")] = 5,
    gravity: Annotated[str, typer.Option(help="World, in m/s²: x,y,z.")] = "0,0,-9.81",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compute the joint accelerations of a linkage released from rest under gravity.

    Builds the linkage, solves it exactly, checks the result by inverse dynamics (RNEA) and prints sizes and times.
    The residual is the largest joint force that inverse dynamics asks for beyond the one applied (none), relative to
    the largest force that a joint transmits or a body weighs: zero but for rounding.

    Examples:

    \b
      adaptive-sim solve molecule -n 50000
      adaptive-sim solve chain -n 1000000 --repeat 3
      adaptive-sim solve balanced -n 2000 --method crba
      adaptive-sim solve star -n 100 --gravity 0,0,-1.62 --json
    """
    g = _three_numbers("gravity", gravity)
    if repeat < 1:
        raise InputError(f"repeat = {repeat}; give 1 or more")
    choose("generator", generator, GENERATORS)
    from ..dynamics import METHODS

    choose("method", method, METHODS)

    # A small one first, so that the time to build does not count compiling.
    build_linkage(generator, WARM_UP if GENERATORS[generator].default_n else None, seed)
    start = perf_counter()
    linkage = build_linkage(generator, n, seed)
    build_seconds = perf_counter() - start
    acceleration, seconds = _timed(linkage, g, method, repeat)
    facts = {
        "generator": generator,
        "method": method,
        "gravity": g,
        "bodies": linkage.n_bodies,
        "dof": linkage.nv,
        "depth": linkage.depth,
        "build_seconds": build_seconds,
        "seconds_per_call": seconds,
        "ns_per_joint": 1e9 * seconds / linkage.n_joints,
        "largest_acceleration": float(abs(acceleration).max(initial=0.0)),
        "residual": _residual(linkage, g, method, acceleration),
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        _print_table(facts)


def _timed(linkage: Linkage, gravity: list[float], method: str, repeat: int) -> tuple[Floats, float]:
    """Accelerations and the median time of a call; the first call, which may compile, is not counted."""
    from ..dynamics import forward_dynamics

    acceleration = forward_dynamics(linkage, gravity=gravity, method=method).acceleration
    times = []
    for _ in range(repeat):
        start = perf_counter()
        forward_dynamics(linkage, gravity=gravity, method=method)
        times.append(perf_counter() - start)
    return acceleration, median(times)


def _residual(linkage: Linkage, gravity: list[float], method: str, acceleration: Floats) -> float:
    """max |RNEA(acceleration) − tau| with tau = 0, over the largest force that a joint transmits or a body weighs."""
    from ..dynamics import forward_dynamics
    from ..exact.dynamics import inverse_dynamics

    left = float(abs(inverse_dynamics(linkage, acceleration=acceleration, gravity=gravity)).max(initial=0.0))
    transmitted = forward_dynamics(linkage, gravity=gravity, method=method, joint_forces=True).joint_force
    assert transmitted is not None
    # In free fall no joint transmits anything; the weights keep the scale from being rounding, too.
    scale = max(float(abs(transmitted).max()), float(linkage.mass.max()) * math.hypot(*gravity))
    return left / scale if scale > 0.0 else left


def _print_table(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{facts['generator']}, {facts['method']}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for label, text in (
        ("bodies", f"{facts['bodies']:,}"),
        ("degrees of freedom", f"{facts['dof']:,}"),
        ("depth", f"{facts['depth']:,}"),
        ("build time", f"{facts['build_seconds']:.3g} s"),
        ("time per call", f"{1e3 * facts['seconds_per_call']:.3g} ms"),
        ("per joint", f"{facts['ns_per_joint']:.0f} ns"),
        ("largest acceleration", f"{facts['largest_acceleration']:.4g}"),
        ("residual (RNEA)", f"{facts['residual']:.1e}"),
    ):
        table.add_row(label, text)
    Console().print(table)


def _three_numbers(name: str, text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise InputError(f"{name} = {text!r}; give three numbers like 0,0,-9.81")
    return values
