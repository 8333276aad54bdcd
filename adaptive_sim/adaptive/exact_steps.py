"""Exact quasi-static steps (ABA and DCA) for the engine, and the choice between them and adaptive steps ("auto").

Auto measures both in the same breath: adaptive steps are timed in short runs, and when they cost more than an exact ABA
step, ABA takes over. Coming back means joining every node anew, about as much as ten ABA steps, so it is tried rarely,
and after every failure half as often.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ..compiled import kernel
from ..exact import aba as _aba
from ..linkage.kinematics import outward_velocities, poses_in_world
from ..linkage.model import KernelModel
from ..spatial.motion import Spatial
from ..spatial.rows import get_matrix
from ..spatial.vectors import multiply
from ..typing import Floats
from .dca import raise_if_singular
from .forces import ForceTable, force_on_body
from .frames import update_poses
from .lazy_update import Dirty, clear_marks, update_body_forces, update_joint_forces
from .passes import back_substitution, update_nodes
from .quasistatics import CERTIFIED, JOINTS, NODES, Drive, move_all
from .record import Coefficients, Plan

if TYPE_CHECKING:
    from .engine import Engine

_CHUNK = 32  # adaptive steps between two looks at the clock in auto
_FIRST_HOLD = 256  # exact steps before adaptive ones are tried again
_LONGEST_HOLD = 2**20
_UNLIMITED = 2**62


@kernel
def exact_forces(model: KernelModel, table: ForceTable, depth: int, t: float, R: Floats, p: Floats, f: Floats) -> None:
    """Body-frame forces f (n, 6) of the table at time t, from the poses in the parents R (n, 9), p (n, 3).

    depth: sum of the depths of the loaded bodies. Few are reached by climbing to the base, many by one pass over all.
    """
    parent = model.parent
    n = len(parent)
    everywhere = depth > n
    R_W = np.empty((n if everywhere else 0, 9))
    if everywhere:
        poses_in_world(parent, R, p, R_W, np.empty((n, 3)))
    for k in range(len(table.body)):
        body = table.body[k]
        if everywhere:
            rotation = get_matrix(R_W, body)
        else:
            rotation = get_matrix(R, body)
            above = parent[body]
            while above >= 0:
                rotation = multiply(get_matrix(R, above), rotation)
                above = parent[above]
        moment, force = force_on_body(table, k, rotation, t)
        for c in range(3):
            f[body, c] = moment[c]
            f[body, 3 + c] = force[c]


@kernel
def aba_steps(
    model: KernelModel,
    drive: Drive,
    a_base: Spatial,
    work: _aba.Workspace,
    a: Floats,
    qdd: Floats,
    depth: int,
    times: Floats,
    h: float,
    steps: int,
) -> int:
    """Exact quasi-static steps by the articulated-body algorithm, the k-th from times[k]."""
    at_rest = np.empty(0)
    step = np.zeros(len(drive.tau))
    f_ext = drive.f_ext if len(drive.table.body) > 0 else drive.f_ext[:0]
    for k in range(steps):
        outward_velocities(model, drive.q, at_rest, work.R, work.p, work.V, work.c)
        if len(drive.table.body) > 0:
            exact_forces(model, drive.table, depth, times[k], work.R, work.p, drive.f_ext)
        status = _aba.accelerations_at(model, drive.q, at_rest, drive.Q, f_ext, a_base, work, a, qdd)
        if status != _aba.OK:
            return status
        move_all(model, drive, qdd, 0.5 * h * h, step)
    return _aba.OK


def dca_step(
    model: KernelModel,
    plan: Plan,
    drive: Drive,
    coefficients: Coefficients,
    dirty: Dirty,
    F: Floats,
    qdd: Floats,
    t_after: float,
    h: float,
) -> int:
    """One exact quasi-static step to time t_after by the divide-and-conquer algorithm.

    The coefficients are up to date before and after.
    """
    back_substitution(model, plan, coefficients, F, qdd)
    move_all(model, drive, qdd, 0.5 * h * h, np.zeros(len(qdd)))
    update_poses(model, plan, drive.q, plan.order, coefficients.store)
    update_body_forces(model, plan, drive.table, t_after, False, drive.f_ext, coefficients, dirty)
    clear_marks(dirty)  # every node is joined anyway
    return int(
        update_nodes(
            model, plan, drive.q, drive.Q, np.empty((0, 6)), plan.pass_order, plan.order[:0], drive.weight, coefficients
        )
    )


class ExactSteps:
    """Runs an engine's steps by any method."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.hold = 0  # exact steps still to do before adaptive ones are tried
        self.next_hold = _FIRST_HOLD
        self._aba_seconds: float | None = None
        self._workspace: tuple[_aba.Workspace, Floats, Floats] | None = None

    def run(self, method: str, log: Floats, methods: list[str], dt: float) -> int:
        """Do some of the steps that are left, write them into the log; returns how many."""
        at, left = len(methods), len(log) - len(methods)
        rows = log[at:]
        if method == "auto":
            method, left = self._choose(left)
        if method == "adaptive":
            at_most = self._nodes_worth_it() if self.engine.method == "auto" else _UNLIMITED
            if self.engine.method == "auto" and self.engine._stale:
                self.engine._adaptive_steps(0, dt, at_most, rows)  # joining everything anew is not what a step costs
            began = time.perf_counter()
            done = self.engine._adaptive_steps(left, dt, at_most, rows)
            if self.engine.method == "auto":
                self._judge(done, time.perf_counter() - began)
        elif method == "aba":
            done = self._run_aba(left, dt, rows)
        else:
            done = self._run_dca(left, dt, rows)
        methods.extend([method] * done)
        return done

    # ---------------------------------------------------------------- auto

    def _choose(self, left: int) -> tuple[str, int]:
        if self.hold > 0:
            return "aba", min(left, self.hold)
        return "adaptive", min(left, _CHUNK)

    def _nodes_worth_it(self) -> int:
        """More visited nodes than this in one step cannot pay: each costs at least half a microsecond."""
        return int(self.aba_seconds / 0.5e-6)

    def _judge(self, done: int, seconds: float) -> None:
        """After a run of adaptive steps: go on, or leave it to ABA for a while."""
        if seconds / max(done, 1) > self.aba_seconds:
            self.hold = self.next_hold
            self.next_hold = min(2 * self.next_hold, _LONGEST_HOLD)
        elif self.next_hold > _FIRST_HOLD:
            self.next_hold -= 1  # forgive slowly: one step of patience per good run

    @property
    def aba_seconds(self) -> float:
        """Time of one ABA step of this linkage, measured once."""
        if self._aba_seconds is None:
            best = np.inf
            for _ in range(4):
                began = time.perf_counter()
                self._aba(_copy_of(self.engine._drive), 1, 0.0)
                best = min(best, time.perf_counter() - began)
            self._aba_seconds = best
        return self._aba_seconds

    # ---------------------------------------------------------------- the exact methods

    def _aba(self, drive: Drive, steps: int, dt: float) -> None:
        engine = self.engine
        linkage = engine.linkage
        if self._workspace is None:
            self._workspace = (
                _aba.make_workspace(linkage), np.empty((linkage.n_bodies, 6)), np.empty(linkage.nv)
            )  # fmt: skip
        work, a, qdd = self._workspace
        gx, gy, gz = (float(c) for c in engine.gravity)
        depth = int(linkage.body_depth[drive.table.body].sum())
        failed = aba_steps(
            engine._model, drive, ((0.0, 0.0, 0.0), (-gx, -gy, -gz)), work, a, qdd, depth, engine._times(steps), dt,
            steps,
        )  # fmt: skip
        if failed != _aba.OK:
            raise_if_singular(linkage, engine._plan, int(engine._plan.node_of_joint[failed]))

    def _run_aba(self, steps: int, dt: float, rows: Floats) -> int:
        engine = self.engine
        engine._set_forces()
        if engine._stale:
            update_joint_forces(engine._model, engine._drive.q, engine._drive.tau, engine._drive.Q)
        self._aba(engine._drive, steps, dt)
        self.hold = max(self.hold - steps, 0)
        engine._stale = True
        engine._fresh = False
        _log_exact(rows[:steps], engine.linkage.n_joints, 0)
        return steps

    def _run_dca(self, steps: int, dt: float, rows: Floats) -> int:
        engine = self.engine
        engine._update()
        plan = engine._plan
        coefficients = engine._coefficients._replace(factor=np.empty((0, engine._coefficients.factor.shape[1])))
        F = np.zeros((len(plan.tree), 12))
        qdd = np.empty(engine.linkage.nv)
        times = engine._times(steps)
        for k in range(steps):
            failed = dca_step(engine._model, plan, engine._drive, coefficients, engine._dirty, F, qdd, times[k + 1], dt)
            raise_if_singular(engine.linkage, plan, failed)
        engine._stale = True  # the factors were not kept up
        engine._fresh = False
        _log_exact(rows[:steps], engine.linkage.n_joints, len(plan.order))
        return steps


def _copy_of(drive: Drive) -> Drive:
    """The same state, for a step that must leave no trace."""
    return drive._replace(q=drive.q.copy(), Q=drive.Q.copy(), f_ext=drive.f_ext.copy())


def _log_exact(rows: Floats, joints: int, nodes: int) -> None:
    rows[:, JOINTS] = joints
    rows[:, CERTIFIED] = 1.0
    rows[:, NODES] = nodes
