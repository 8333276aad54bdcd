"""The engine: quasi-statics of a linkage, computing only the joints whose acceleration matters, with a proven error.

engine = Engine(linkage, error_threshold=2**-19)
engine.set_force("body_7", (1, 0, 0))
result = engine.accelerate()         # which joints, how fast, how wrong at most
engine.run(4000, dt=1e-3)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..linkage.kinematics import poses_in_parent, poses_in_world
from ..linkage.model import Linkage
from ..linkage.state import check_position, check_vector, check_velocity
from ..typing import ArrayLike, Bools, Floats, Ints
from .dca import raise_if_singular
from .exact_steps import ExactSteps
from .forces import SCHEDULES, make_table
from .frames import body_pose
from .lazy_update import (
    make_dirty,
    mark_all,
    mark_node,
    mark_path,
    poses_of_marked,
    update_body_forces,
    update_joint_force,
    update_joint_forces,
    update_marked,
)
from .leaves import leaf_forces, leaf_forces_of, set_world
from .passes import OK
from .plan import build_assembly_tree, make_coefficients, make_plan
from .quasistatics import BOUND_REACHED, CERTIFIED, JOINTS, LOG, NODES, Drive, adaptive_steps
from .refine import BOUND, MEASURES, OPEN, VISITED, make_frontier, refine, restart

if TYPE_CHECKING:
    from ..assembly import AssemblyTree
    from .frontier import FrontierView

METHODS = ("adaptive", "dca", "aba", "auto")
_UNLIMITED = 2**62


@dataclass(frozen=True)
class Result:
    """An approximate acceleration and what is known of its error. Joints by input index."""

    acceleration: Floats  # (nv,) in the order of v; zero where not computed
    computed: Ints  # joints whose acceleration was computed, ascending
    error_bound: float  # in the engine's measure
    certified: bool  # whether the bound is at most the threshold
    nodes_updated: int  # joins done since the last result to get here
    error_measure: str
    error_threshold: float


@dataclass(frozen=True)
class StepLog:
    """One entry per step of a run."""

    joints_computed: Ints
    error_bound: Floats
    certified: Bools
    nodes_updated: Ints
    method: list[str]  # "adaptive", "aba" or "dca"


class Engine:
    """Quasi-static engine of one linkage. See the module's text and docs/adaptive.md.

    `weight`: per joint (n,) or degree of freedom (nv,); scales accelerations in the error (lever arm, mass, unit).
    `method`: "adaptive", the exact "aba" and "dca", or "auto", which takes whichever of adaptive and aba is cheaper.
    """

    def __init__(
        self,
        linkage: Linkage,
        q: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        error_measure: str = "relative_joint",
        error_threshold: float = 2.0**-19,
        method: str = "adaptive",
        *,
        weight: ArrayLike | None = None,
        tree: AssemblyTree | None = None,
    ) -> None:
        linkage.require_tree("the adaptive engine")
        self.linkage = linkage
        self.method = _one_of("method", method, METHODS)
        self.error_measure = error_measure
        self.error_threshold = error_threshold
        self._clock = (0.0, 0, 0.0)  # time = start + steps·dt: no drift, and many short runs are one long one
        self.tree = build_assembly_tree(linkage) if tree is None else tree
        self._plan = make_plan(linkage, self.tree)
        self._model = linkage.kernel_model
        self._frontier = make_frontier(self._plan, linkage.nv)
        self._dirty = make_dirty(self._plan)
        self._forces: dict[int, list[tuple[int, bool, Floats, Floats, Floats, int, Floats]]] = {}
        self._drive = Drive(
            check_position(linkage, q).copy(), np.zeros(linkage.nv), np.zeros(linkage.nv),
            np.zeros((linkage.n_bodies, 6)), _weights(linkage, weight), make_table([]),
        )  # fmt: skip
        self._coefficients = make_coefficients(linkage, self._plan, factor=True)
        self._changed_bodies: set[int] = set()
        self._new_table = False
        self._fresh = False  # whether the frontier belongs to the present state
        self._stale = True  # whether everything must be computed anew
        self._nodes_updated = 0
        self._start: Floats | None = None
        self.gravity = check_vector(gravity, "gravity")
        self._exact = ExactSteps(self)

    # ---------------------------------------------------------------- settings

    @property
    def error_measure(self) -> str:
        return self._measure_name

    @error_measure.setter
    def error_measure(self, value: str) -> None:
        self._measure_name = _one_of("error_measure", value, MEASURES)
        self._measure = MEASURES.index(value)
        self._fresh = False

    @property
    def error_threshold(self) -> float:
        return self._threshold

    @error_threshold.setter
    def error_threshold(self, value: float) -> None:
        self._threshold = _checked_threshold(value)
        self._fresh = False

    @property
    def time(self) -> float:
        """Seconds; forces with a schedule follow it."""
        start, steps, dt = self._clock
        return start + steps * dt

    @time.setter
    def time(self, value: float) -> None:
        if not np.isfinite(value):
            raise InputError(f"time: {value!r}; give a finite number of seconds")
        self._clock = (float(value), 0, 0.0)
        self._new_table = True  # look at all forces again
        self._fresh = False

    @property
    def clock(self) -> tuple[float, int, float]:
        """(start, steps, dt): time = start + steps·dt. With q and this, a run goes on bit for bit."""
        return self._clock

    @clock.setter
    def clock(self, value: tuple[float, int, float]) -> None:
        start, steps, dt = value
        self.time = start + steps * dt  # checks it, and has all forces looked at again
        self._clock = (float(start), int(steps), float(dt))

    def _times(self, steps: int) -> Floats:
        """The next `steps` + 1 instants, from now on."""
        start, before, dt = self._clock
        return start + np.arange(before, before + steps + 1, dtype=np.float64) * dt

    @property
    def gravity(self) -> Floats:
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike | None) -> None:
        self._gravity = check_vector(value, "gravity")
        x, y, z = (float(c) for c in self._gravity)
        set_world(self._plan, self._coefficients, ((0.0, 0.0, 0.0), (-x, -y, -z)))
        if not self._stale:
            self._mark(int(self._plan.order[-1]))
        self._fresh = False

    # ---------------------------------------------------------------- forces

    def set_force(
        self,
        body: str | int | Iterable[str | int],
        force: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
        frame: str = "world",
        *,
        torque: ArrayLike = (0.0, 0.0, 0.0),
        schedule: str = "constant",
        times: tuple[float, float] = (0.0, 1.0),
        phase: float = 0.0,
    ) -> None:
        """Replace the forces on a body (or on each of several) by this one.

        force (3,) N (or one row per body) and torque, in `frame` axes: "world" (fixed in space) or "body" (turns with
        the body). point (3,): where it acts, in the body's own frame; default its origin. schedule: "constant", "ramp"
        or "pulse" between `times`, "sine" from times[0] with period times[1] and `phase`.
        """
        self._put_force(body, force, point, frame, torque, schedule, times, phase, keep=False)

    def add_force(
        self,
        body: str | int | Iterable[str | int],
        force: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
        frame: str = "world",
        *,
        torque: ArrayLike = (0.0, 0.0, 0.0),
        schedule: str = "constant",
        times: tuple[float, float] = (0.0, 1.0),
        phase: float = 0.0,
    ) -> None:
        """As `set_force`, besides the forces already there."""
        self._put_force(body, force, point, frame, torque, schedule, times, phase, keep=True)

    def _put_force(
        self,
        body: str | int | Iterable[str | int],
        force: ArrayLike,
        point: ArrayLike | None,
        frame: str,
        torque: ArrayLike,
        schedule: str,
        times: tuple[float, float],
        phase: float,
        *,
        keep: bool,
    ) -> None:
        several = not isinstance(body, (str, int, np.integer))
        bodies = [self.linkage.body_index(b) for b in body] if several else [self.linkage.body_index(body)]  # type: ignore[union-attr,arg-type]
        world = _one_of("frame", frame, ("world", "body")) == "world"
        code = SCHEDULES.index(_one_of("schedule", schedule, SCHEDULES))
        when = _numbers(times, "times")
        if when.shape != (2,) or not when[1] > (0.0 if schedule == "sine" else when[0]):
            raise InputError(f"times: {times!r}; give two numbers, the second larger (sine: the period, larger than 0)")
        parameters = np.append(when, _numbers(phase, "phase"))
        forces = _rows(force, len(bodies), "force")
        torques = _rows(torque, len(bodies), "torque")
        points = _rows((0.0, 0.0, 0.0) if point is None else point, len(bodies), "point")
        for b, f, n, p in zip(bodies, forces, torques, points):
            i = int(self.linkage.model_index[b])
            turn = np.eye(3) if self.linkage.kernel_frame is None else self.linkage.kernel_frame[i].T
            row = (i, world, f if world else turn @ f, n if world else turn @ n, turn @ p, code, parameters)
            self._forces[i] = ([*self._forces.get(i, []), row]) if keep else [row]
            self._changed_bodies.add(i)
        self._new_table = True
        self._fresh = False

    def clear_forces(self) -> None:
        """Take all forces on bodies away (joint forces stay)."""
        self._changed_bodies.update(self._forces)
        self._forces.clear()
        self._new_table = True
        self._fresh = False

    def set_joint_force(self, joint: str | int | Iterable[str | int], value: ArrayLike) -> None:
        """Active force of a joint: a number, or one per degree of freedom; for several joints one row each."""
        several = not isinstance(joint, (str, int, np.integer))
        joints = [self.linkage.joint_index(j) for j in joint] if several else [self.linkage.joint_index(joint)]  # type: ignore[union-attr,arg-type]
        values = _numbers(value, "joint force")
        if several and values.ndim > 0 and len(values) != len(joints):
            raise InputError(f"joint force: {len(values)} rows for {len(joints)} joints; give one each, or one number")
        found = []  # all are checked before any is set
        for k, j in enumerate(joints):
            i = int(self.linkage.model_index[j])
            rows = slice(self.linkage.v_start[i], self.linkage.v_start[i + 1])
            own = values[k] if several and values.ndim > 0 else values
            if own.ndim > 1 or own.size not in (1, rows.stop - rows.start):
                dof = rows.stop - rows.start
                raise InputError(
                    f"joint {j} ({self.linkage.joint_name(j)!r}) has {dof} degrees of freedom, got {own.size} values"
                )
            found.append((i, rows, own))
        for i, rows, own in found:
            self._drive.tau[rows] = own
            self._touch_joint(i)

    def set_joint_forces(self, tau: ArrayLike) -> None:
        """Active forces of all joints at once, flat, in the order of v."""
        self._drive.tau[:] = check_velocity(self.linkage, tau, "tau")
        self._stale = True
        self._fresh = False

    def _mark(self, node: int) -> None:
        mark_node(self._dirty.mark, self._dirty.todo, self._dirty.size, node)

    def _touch_joint(self, i: int) -> None:
        update_joint_force(self._model, self._drive.q, self._drive.tau, i, self._drive.Q)
        node = int(self._plan.node_of_joint[i])
        if not self._stale:
            self._mark(node)
            mark_path(self._plan, self._dirty, node)
        self._fresh = False

    # ---------------------------------------------------------------- state

    @property
    def q(self) -> Floats:
        """Joint positions (a copy), in the order of the input."""
        return self.linkage.q_to_input(self._drive.q).copy()

    @q.setter
    def q(self, value: ArrayLike) -> None:
        self._drive.q[:] = check_position(self.linkage, value)
        self._stale = True
        self._fresh = False

    def body_pose(self, body: str | int) -> tuple[Floats, Floats]:
        """Rotation (3, 3) and origin (3,) of one body's frame in the world, O(log n)."""
        self._update()
        i = int(self.linkage.model_index[self.linkage.body_index(body)])
        R, p = body_pose(self._plan.tree, self._plan.first_leaf, self._coefficients.store, i)
        rotation = np.array(R).reshape(3, 3)
        if self.linkage.kernel_frame is not None:
            rotation = rotation @ self.linkage.kernel_frame[i].T
        return rotation, np.array(p)

    def centers_of_mass(self) -> Floats:
        """(n, 3) world, in the order of the input; one pass over the linkage."""
        n = self.linkage.n_bodies
        R, p = np.empty((n, 9)), np.empty((n, 3))
        poses_in_parent(self._model, self._drive.q, R, p)
        poses_in_world(self._model.parent, R, p, R, p)
        inertia = self._model.inertia
        c = inertia[:, 1:4] / inertia[:, :1]
        return self.linkage.bodies_to_input(p + np.einsum("nij,nj->ni", R.reshape(n, 3, 3), c))

    def displacement(self) -> Floats:
        """(n, 3) how far each centre of mass has moved since the first step (or since the engine was made)."""
        now = self.centers_of_mass()
        return np.zeros_like(now) if self._start is None else now - self._start

    # ---------------------------------------------------------------- computing

    def _update(self) -> None:
        """Bring the coefficients up to date with positions and forces."""
        new_table = self._set_forces()
        plan, drive, c = self._plan, self._drive, self._coefficients
        if self._stale:
            update_joint_forces(self._model, drive.q, drive.tau, drive.Q)
            leaf_forces(self._model, plan, drive.f_ext, np.empty((0, 6)), c)
            mark_all(plan, self._dirty)
            poses_of_marked(self._model, plan, drive.q, self._dirty, c.store)
        if self._stale or new_table:
            update_body_forces(self._model, plan, drive.table, self.time, True, drive.f_ext, c, self._dirty)
        self._stale = False
        if self._dirty.size[0]:
            self._nodes_updated += int(self._dirty.size[0])
            failed = update_marked(self._model, plan, drive.q, drive.Q, drive.weight, c, self._dirty)
            self._stale = failed != OK  # coefficients that failed must not be used by the next call
            raise_if_singular(self.linkage, plan, failed)
            self._fresh = False

    def _set_forces(self) -> bool:
        """Make the table of the forces as set; returns whether it changed."""
        if not self._new_table:
            return False
        rows = [row for own in self._forces.values() for row in own]
        self._drive = self._drive._replace(table=make_table(rows))
        for i in self._changed_bodies - set(self._forces):
            self._remove_force(i)
        self._changed_bodies.clear()
        self._new_table = False
        return True

    def _remove_force(self, i: int) -> None:
        self._drive.f_ext[i] = 0.0
        leaf = int(self._plan.first_leaf[i])
        leaf_forces_of(self._model, self._plan, self._drive.f_ext, leaf, self._coefficients)
        if not self._stale:
            mark_path(self._plan, self._dirty, leaf)

    def accelerate(self) -> Result:
        """The acceleration of the present state within the threshold."""
        return self.refine()

    def refine(
        self,
        until: Callable[[FrontierView], bool] | None = None,
        *,
        error_threshold: float | None = None,
        joints: int | None = None,
        seconds: float | None = None,
    ) -> Result:
        """Refine the acceleration further, from where the last call stopped if nothing changed since.

        Stops at the threshold, or earlier: when `joints` are computed, after `seconds`, or when `until(frontier)`,
        asked after every joint, says so.
        """
        self._update()
        if not self._fresh:
            restart(self._model, self._plan, self._coefficients, self._frontier)
            self._fresh = True
        threshold = self._threshold if error_threshold is None else _checked_threshold(error_threshold)
        stop = time.perf_counter() + seconds if seconds is not None else np.inf
        limit = _UNLIMITED if joints is None else joints
        if until is None and seconds is None:
            reached = self._open(threshold, limit)
        else:
            from .frontier import FrontierView

            chunk = 1
            while True:
                visited = int(self._frontier.counts[VISITED])
                began = time.perf_counter()
                reached = self._open(threshold, min(limit, visited + chunk))
                now = time.perf_counter()
                done = int(self._frontier.counts[VISITED]) >= limit or not self._frontier.counts[OPEN]
                if reached or done or now >= stop or (until is not None and until(FrontierView(self))):
                    break
                # With a time budget only: as many nodes as safely fit into what is left.
                per_node = (now - began) / chunk
                chunk = 1 if until is not None else max(1, min(4096, int(0.25 * (stop - now) / per_node)))
        return self._result(reached, threshold)

    def _open(self, threshold: float, limit: int) -> bool:
        return bool(
            refine(
                self._model, self._plan, self._drive.weight, self._coefficients, self._frontier,
                self._measure, threshold, limit,
            )
        )  # fmt: skip

    def _result(self, reached: bool, threshold: float) -> Result:
        visited = self._frontier.visited[: self._frontier.counts[VISITED]]
        joints = self._plan.joint[visited]
        computed = np.sort(self.linkage.input_index[joints[joints >= 0]])
        updated, self._nodes_updated = self._nodes_updated, 0
        return Result(
            self.linkage.v_to_input(self._frontier.acceleration).copy(), computed,
            float(self._frontier.value[BOUND]), reached, updated, self.error_measure, threshold,
        )  # fmt: skip

    def frontier(self) -> FrontierView:
        """The open subassemblies of the last refinement, ordered by total acceleration."""
        from .frontier import FrontierView

        return FrontierView(self)

    # ---------------------------------------------------------------- stepping

    def step(self, dt: float) -> StepLog:
        """One quasi-static step."""
        return self.run(1, dt)

    def run(self, steps: int, dt: float) -> StepLog:
        """`steps` quasi-static steps of `dt` by the engine's method; the log has one entry per step."""
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"dt: {dt!r}; give a positive number of seconds")
        if steps < 0:
            raise InputError(f"steps: {steps!r}; give 0 or more")
        if self._start is None:
            self._start = self.centers_of_mass()
        if dt != self._clock[2]:
            self._clock = (self.time, 0, float(dt))
        log = np.zeros((steps, LOG))
        methods: list[str] = []
        while len(methods) < steps:
            done = self._exact.run(self.method, log, methods, dt)
            start, before, dt = self._clock
            self._clock = (start, before + done, dt)
        return StepLog(
            log[:, JOINTS].astype(np.int64), log[:, BOUND_REACHED].copy(), log[:, CERTIFIED] > 0.0,
            log[:, NODES].astype(np.int64), methods,
        )  # fmt: skip

    def _adaptive_steps(self, steps: int, dt: float, nodes_at_most: int, log: Floats) -> int:
        self._update()
        done, failed = adaptive_steps(
            self._model, self._plan, self._drive, self._coefficients, self._frontier, self._dirty,
            self._measure, self._threshold, _UNLIMITED, self._times(steps), dt, steps, nodes_at_most, log,
        )  # fmt: skip
        self._stale = failed != OK
        self._fresh = False
        raise_if_singular(self.linkage, self._plan, failed)
        return int(done)


# -------------------------------------------------------------------- helpers


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        from difflib import get_close_matches

        near = get_close_matches(str(value), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"unknown {name} {value!r}{hint} (known: {', '.join(known)})")
    return value


def _checked_threshold(value: float) -> float:
    if not (np.isfinite(value) and value >= 0.0):
        raise InputError(f"error_threshold: {value!r}; give a number of 0 or more")
    return float(value)


def _numbers(value: ArrayLike, name: str) -> Floats:
    """An array of its own (what the caller does with his later must not reach the engine), finite."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {value!r} is not an array of numbers ({error})") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name}: {value!r}; give finite numbers")
    return array


def _rows(value: ArrayLike, count: int, name: str) -> Floats:
    array = _numbers(value, name)
    if array.shape not in ((3,), (count, 3)):
        raise InputError(f"{name}: {value!r}; give three finite numbers, or one row of three per body ({count})")
    return np.broadcast_to(array, (count, 3))


def _weights(linkage: Linkage, weight: ArrayLike | None) -> Floats:
    if weight is None:
        return np.ones(linkage.nv)
    values = np.asarray(weight, dtype=np.float64)
    if values.shape == (linkage.nv,):
        flat = linkage.v_to_model(values)
    elif values.shape == (linkage.n_joints,):
        flat = np.repeat(linkage.bodies_to_model(values), np.diff(linkage.v_start))
    else:
        raise InputError(
            f"weight: shape {values.shape}; give one per joint ({linkage.n_joints}) or degree of freedom ({linkage.nv})"
        )
    if not (np.isfinite(flat) & (flat > 0.0)).all():
        raise InputError("weight: all weights must be finite and positive; a zero weight would hide a joint's error")
    return np.ascontiguousarray(flat)
