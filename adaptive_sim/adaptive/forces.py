"""Forces on bodies, fixed in the world or in the body, constant or with a course in time, as arrays for the kernels.

A force has a direction, a point of the body where it acts, a torque besides, and an amplitude a(t):

    constant  1                          ramp   from 0 at t₀ to 1 at t₁
    sine      sin(2π (t − t₀)/T + φ)     pulse  1 for t₀ ≤ t < t₁
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..compiled import kernel
from ..spatial.vectors import Matrix, add, apply_transposed, cross
from ..typing import Bools, Floats, Ints

CONSTANT, RAMP, SINE, PULSE = range(4)
SCHEDULES = ("constant", "ramp", "sine", "pulse")


class ForceTable(NamedTuple):
    """All forces, grouped by body: those on `body[k]` are rows start[k] … start[k+1]."""

    body: Ints  # (b,) model bodies with forces, each once
    start: Ints  # (b + 1,)
    fixed_in_world: Bools  # (m,)
    force: Floats  # (m, 3) N, world axes or kernel frame of the body
    torque: Floats  # (m, 3) N m, the same axes
    point: Floats  # (m, 3) m, kernel frame of the body
    schedule: Ints  # (m,) CONSTANT, RAMP, SINE, PULSE
    parameters: Floats  # (m, 3) t₀, t₁ or T, φ
    constant: Bools  # (b,) whether nothing on this body changes in time or when the body turns


def make_table(rows: list[tuple[int, bool, Floats, Floats, Floats, int, Floats]]) -> ForceTable:
    """From (body, fixed in world, force, torque, point, schedule, parameters)."""
    rows = sorted(rows, key=lambda row: row[0])
    body, start = np.unique(np.array([r[0] for r in rows], dtype=np.int64), return_index=True)
    stacked = [np.array([r[k] for r in rows], dtype=np.float64).reshape(-1, 3) for k in (2, 3, 4, 6)]
    schedule = np.array([r[5] for r in rows], dtype=np.int64)
    world = np.array([r[1] for r in rows], dtype=np.bool_)
    starts = np.append(start, len(rows)).astype(np.int64)
    changing = world | (schedule != CONSTANT)
    constant = np.array([not changing[a:b].any() for a, b in pairwise(starts)], dtype=np.bool_)
    return ForceTable(body, starts, world, stacked[0], stacked[1], stacked[2], schedule, stacked[3], constant)


@kernel(inline=True)
def amplitude(schedule: int, parameters: Floats, row: int, t: float) -> float:
    """a(t) of one force."""
    t0, t1 = parameters[row, 0], parameters[row, 1]
    if schedule == RAMP:
        return float(min(max((t - t0) / (t1 - t0), 0.0), 1.0))
    if schedule == SINE:
        return math.sin(2.0 * math.pi * (t - t0) / t1 + parameters[row, 2])
    if schedule == PULSE:
        return 1.0 if t0 <= t < t1 else 0.0
    return 1.0


@kernel(inline=True)
def force_on_body(table: ForceTable, k: int, R_W: Matrix, t: float) -> tuple[tuple[float, float, float], ...]:
    """Moment about the body's origin and force on table.body[k] with world rotation R_W, kernel frame."""
    n = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    for row in range(table.start[k], table.start[k + 1]):
        a = amplitude(table.schedule[row], table.parameters, row, t)
        force = (a * table.force[row, 0], a * table.force[row, 1], a * table.force[row, 2])
        torque = (a * table.torque[row, 0], a * table.torque[row, 1], a * table.torque[row, 2])
        if table.fixed_in_world[row]:
            force = apply_transposed(R_W, force)
            torque = apply_transposed(R_W, torque)
        point = (table.point[row, 0], table.point[row, 1], table.point[row, 2])
        n = add(n, add(torque, cross(point, force)))
        f = add(f, force)
    return (n, f)
