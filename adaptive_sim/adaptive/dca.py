"""Forward dynamics by the divide-and-conquer algorithm (DCA) on the assembly tree: exact, O(n), O(log n) deep.

Featherstone 1999; Redon & Lin 2005, §3.1. The same kernels and coefficients as the adaptive engine, run in full.
"""

from __future__ import annotations

import numba
import numpy as np

from ..assembly import AssemblyTree
from ..errors import SingularJointError
from ..linkage.kinematics import all_velocity_products, outward_velocities
from ..linkage.model import Linkage
from ..spatial.motion import Spatial
from ..typing import Floats
from .leaves import leaf_forces, set_world
from .passes import OK, back_substitution, joint_forces_of, main_pass, main_pass_parallel
from .plan import build_assembly_tree, make_coefficients, make_plan
from .record import Plan

# Smaller linkages do not repay loading and waking the threads.
PARALLEL_BODIES = 5_000


def solve_dca(
    linkage: Linkage,
    q: Floats,
    v: Floats,
    tau: Floats,
    f_ext: Floats,
    base: Spatial,
    *,
    tree: AssemblyTree | None = None,
    threads: int | None = None,
) -> tuple[Floats, Floats]:
    """Joint accelerations (nv,) and transmitted forces (n, 6); model order, kernel frames."""
    tree = build_assembly_tree(linkage) if tree is None else tree
    plan = make_plan(linkage, tree)
    coefficients = make_coefficients(linkage, plan)
    model, n = linkage.kernel_model, linkage.n_bodies
    V, c = np.empty((0, 6)), np.empty((0, 6))
    if v.any():
        V, c = np.empty((n, 6)), np.empty((n, 6))
        outward_velocities(model, q, v, np.empty((n, 9)), np.empty((n, 3)), V, c)
        all_velocity_products(model, v, V, c)
    set_world(plan, coefficients, base)
    leaf_forces(model, plan, f_ext, V, coefficients)
    if threads is None:
        threads = numba.get_num_threads() if n >= PARALLEL_BODIES else 1
    weight = np.ones(0)
    if threads > 1:
        failed = main_pass_parallel(model, plan, q, tau, c, weight, coefficients, threads)
    else:
        failed = main_pass(model, plan, q, tau, c, weight, coefficients)
    raise_if_singular(linkage, plan, failed)
    qdd = np.empty(linkage.nv)
    F = np.zeros((len(plan.tree), 12))
    back_substitution(model, plan, coefficients, F, qdd)
    f = np.empty((n, 6))
    joint_forces_of(plan, F, f)
    return qdd, f


def raise_if_singular(linkage: Linkage, plan: Plan, node: int) -> None:
    """Turn the status of a pass into a named error."""
    if node == OK:
        return
    joint = int(plan.joint[node])
    if joint < 0:  # between pieces of one body: name that body's own joint
        leaf = int(plan.lower[node])
        while plan.upper[leaf] >= 0:
            leaf = int(plan.upper[leaf])
        joint = int(plan.leaf_body[leaf])
    shown = int(linkage.input_index[joint])
    raise SingularJointError(
        shown,
        linkage.joint_name(shown),
        "the inertia it joins is singular to working precision; check masses and inertias of the bodies on both sides",
    )
