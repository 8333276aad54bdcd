"""A linkage at one instant as the engine's kernels see it, and what they stored, as named blocks.

The only place of these tests that knows how records are laid out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from helpers import ALL_KINDS, Array, Arrays, Indices, Inputs, random_arrays, random_inputs
from numpy.typing import NDArray

from adaptive_sim import assembly
from adaptive_sim.adaptive import record
from adaptive_sim.adaptive.frames import update_poses
from adaptive_sim.adaptive.leaves import leaf_forces, set_world
from adaptive_sim.adaptive.passes import main_pass, update_nodes
from adaptive_sim.adaptive.plan import make_coefficients, make_plan
from adaptive_sim.adaptive.record import Coefficients, Plan
from adaptive_sim.assembly import AssemblyTree
from adaptive_sim.exact.dynamics import base_acceleration, body_forces, with_passive_forces
from adaptive_sim.linkage.joints import JointType
from adaptive_sim.linkage.kinematics import all_velocity_products, outward_velocities
from adaptive_sim.linkage.model import Linkage
from adaptive_sim.linkage.state import check_position, check_velocity

from .oracle import Problem, Subassembly, exact, zeros

WORLD = -2  # name of the world's only handle


def linkage_arrays(parent: Indices, seed: int = 0, kinds: Sequence[JointType] = ALL_KINDS, **options: Any) -> Arrays:
    """Random bodies and joints on a given shape; options as of `random_arrays`."""
    arrays = random_arrays(len(parent), seed, kinds, **options)
    arrays.parent = np.asarray(parent, dtype=np.int64)
    return arrays


@dataclass
class Case:
    """Model order and kernel frames throughout, arguments as the solvers take them."""

    linkage: Linkage
    tree: AssemblyTree
    plan: Plan
    coefficients: Coefficients
    q: Array
    v: Array
    tau: Array
    f_ext: Array  # (n, 6)
    base: Any
    V: Array  # (n, 6) or no rows
    c: Array  # (n, 6) or no rows

    @classmethod
    def of(cls, arrays: Arrays, inputs: Inputs, *, long_rakes: bool = True) -> Case:
        linkage = arrays.linkage()
        tree = assembly.build_assembly_tree(linkage, long_rakes=long_rakes)
        plan = make_plan(linkage, tree)
        q, v = check_position(linkage, inputs.q), check_velocity(linkage, inputs.v)
        tau = with_passive_forces(linkage, q, v, check_velocity(linkage, inputs.tau))
        n = linkage.n_bodies
        V, c = np.empty((0, 6)), np.empty((0, 6))
        if v.any():
            V, c = np.empty((n, 6)), np.empty((n, 6))
            outward_velocities(linkage.kernel_model, q, v, np.empty((n, 9)), np.empty((n, 3)), V, c)
            all_velocity_products(linkage.kernel_model, v, V, c)
        case = cls(
            linkage, tree, plan, make_coefficients(linkage, plan), q, v, tau,
            body_forces(linkage, q, inputs.force, inputs.torque), base_acceleration(inputs.gravity), V, c,
        )  # fmt: skip
        case.poison()
        case.set_leaves()
        return case

    @classmethod
    def random(
        cls, parent: Indices, seed: int = 0, kinds: Sequence[JointType] = ALL_KINDS, *, speed: float = 1.0,
        long_rakes: bool = True, **options: Any,
    ) -> Case:  # fmt: skip
        arrays = linkage_arrays(parent, seed, kinds, **options)
        return cls.of(arrays, random_inputs(arrays, seed + 1, speed), long_rakes=long_rakes)

    # ---------------------------------------------------------------- running the kernels

    @property
    def inner(self) -> list[int]:
        """Inner nodes of the tree and, last, the base joint; children first."""
        return [int(i) for i in self.plan.order]

    @property
    def base_joint(self) -> int:
        return self.inner[-1]

    def poison(self, nodes: Sequence[int] | None = None) -> None:
        """nan wherever a join writes, so that whatever is read must have been written."""
        for i in self.inner if nodes is None else nodes:
            self.record(i)[:] = np.nan
            self.motion(i)[:] = np.nan

    def set_leaves(self) -> None:
        set_world(self.plan, self.coefficients, self.base)
        leaf_forces(self.linkage.kernel_model, self.plan, self.f_ext, self.V, self.coefficients)

    def main_pass(self, threads: int = 1) -> int:
        given = (self.linkage.kernel_model, self.plan, self.q, self.tau, self.c, np.ones(0), self.coefficients)
        return main_pass(*given, threads=threads)

    def update_poses(self, nodes: Sequence[int]) -> None:
        todo = np.array(nodes, dtype=np.int64)
        update_poses(self.linkage.kernel_model, self.plan, self.q, todo, self.coefficients.store)

    def update(self, nodes: Sequence[int], moved: Sequence[int] | None = None) -> int:
        """Join the given nodes, in the given order; their poses are up to date.

        moved: those of them whose geometry has changed; None: all.
        """
        todo = np.array(nodes, dtype=np.int64)
        marks = np.zeros(0 if moved is None else len(self.plan.upper), dtype=np.int64)
        if moved is not None:
            marks[list(moved)] = 1
        model = self.linkage.kernel_model
        return int(update_nodes(model, self.plan, self.q, self.tau, self.c, todo, marks, np.ones(0), self.coefficients))

    def copy(self) -> Case:
        """The same case with coefficients of its own."""
        return replace(self, coefficients=Coefficients(*(a.copy() for a in self.coefficients)))

    def moved(self) -> Case:
        """The same case after q has been changed in place, for the oracle to see it."""
        return replace(self)  # without what was cached

    # ---------------------------------------------------------------- what is stored

    def record(self, i: int) -> Array:
        """The numbers of an inner node (a view)."""
        at = self.plan.at[i]
        return self.coefficients.store[at : at + record.RECORD]

    def motion(self, i: int) -> Array:
        """Its rows of motion coefficients (a view)."""
        joint = self.plan.joint[i]
        start = self.linkage.v_start
        return self.coefficients.motion[start[joint] : start[joint + 1]] if joint >= 0 else np.empty((0, record.MOTION))

    def bits(self, i: int) -> bytes:
        return self.record(i).tobytes() + self.motion(i).tobytes()

    def blocks(self, i: int) -> dict[str, Array]:
        """An inner node or the base joint by name: what its parent reads and what back-substitution reads."""
        store, at = self.coefficients.store, int(self.plan.at[i])
        rows = self.motion(i)
        bias = int(self.plan.at_bias[i])
        found = {
            "Phi_uu": symmetric(store[at + record.UU :]),
            "b_u": store[bias : bias + 6],
            "joint_rotation": store[at + record.JOINT :][:9].reshape(3, 3),
            "joint_origin": store[at + record.JOINT + 9 :][:3],
            "W": symmetric(store[at + record.W :]),
            "gamma": store[at + record.GAMMA :][:6],
            "N": rows[:, record.N : record.N + 6],
            "E": rows[:, record.E : record.E + len(rows)],
            "R": rows[:, record.R],
        }
        if self.plan.two[i]:
            found |= {
                "Phi_vv": symmetric(store[at + record.VV :]),
                "Phi_uv": store[at + record.UV :][:36].reshape(6, 6),
                "b_v": store[bias + 6 : bias + 12],
                "pose_rotation": store[at + record.POSE :][:9].reshape(3, 3),
                "pose_origin": store[at + record.POSE + 9 :][:3],
            }
        return found

    def subassembly(self, i: int) -> Subassembly:
        """A node as stored, read through the same places as by its parent, for the oracle to go on from."""
        plan, store = self.plan, self.coefficients.store
        bias = int(plan.at_bias[i])
        here = (np.eye(3, dtype=object), zeros(3))
        if i == len(plan.upper) - 1:
            return Subassembly({(WORLD, WORLD): zeros(6, 6)}, {WORLD: exact(store[bias : bias + 6])}, {WORLD: here})
        u, v = int(self.tree.upper_handle[i]), int(self.tree.lower_handle[i])
        Phi = {(u, u): exact(symmetric(store[plan.at[i] :]))}
        b, place = {u: exact(store[bias : bias + 6])}, {u: here}
        if v not in (u, -1):
            Phi[v, v] = exact(symmetric(store[plan.at_vv[i] :]))
            Phi[u, v] = exact(store[plan.at_uv[i] :][:36]).reshape(6, 6)
            Phi[v, u] = Phi[u, v].T
            b[v] = exact(store[bias + 6 : bias + 12])
            pose = store[plan.at_pose[i] :][:12]
            place[v] = exact(pose[:9]).reshape(3, 3), exact(pose[9:])
        return Subassembly(Phi, b, place)

    @cached_property
    def problem(self) -> Problem:
        return Problem.of(self.linkage, self.q, self.v, self.tau, self.f_ext, self.base)


def symmetric(packed: NDArray[np.float64]) -> Array:
    """A symmetric 6×6 block from its upper triangle, row by row."""
    full = np.empty((6, 6))
    full[np.triu_indices(6)] = packed[:21]
    full.T[np.triu_indices(6)] = packed[:21]
    return full
