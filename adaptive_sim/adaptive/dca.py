"""Forward dynamics by the divide-and-conquer algorithm (DCA) on the assembly tree: exact, O(n), O(log n) deep.

Featherstone 1999; Redon & Lin 2005, §3.1. The same kernels and coefficients as the adaptive engine, run in full.
"""

from __future__ import annotations

import numba
import numpy as np

from ..assembly import AssemblyTree
from ..errors import SingularJointError
from ..linkage.kinematics import all_velocity_products, outward_velocities
from ..linkage.model import KernelModel, Linkage
from ..spatial.motion import Spatial
from ..typing import Floats
from .leaves import leaf_forces, set_world
from .passes import OK, back_substitution, joint_forces_of, main_pass
from .plan import build_assembly_tree, make_coefficients, make_plan
from .record import Coefficients, Plan
from .residual import imbalance

# Smaller linkages do not repay waking the threads.
PARALLEL_BODIES = 5_000
# Rounds of refinement at most. One takes an error e to about e², down to what the residual itself is worth.
REFINEMENTS = 2
# A correction smaller than this, over the largest acceleration, leaves nothing for another round: 1e-7² is rounding.
NEGLIGIBLE = 1e-7
NO_ROWS = np.empty((0, 6))
AT_REST = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


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
    refinements: int = REFINEMENTS,
) -> tuple[Floats, Floats]:
    """Joint accelerations (nv,) and transmitted forces (n, 6); model order, kernel frames.

    The two passes lose digits where bodies are light against what they carry. Iterative refinement brings them back:
    the joint forces that are missing at the accelerations found (RNEA) are applied alone, to the linkage at rest, and
    what they cause is added. For that only b, γ and R are joined anew.
    """
    tree = build_assembly_tree(linkage) if tree is None else tree
    plan = make_plan(linkage, tree)
    coefficients = make_coefficients(linkage, plan)
    model, n = linkage.kernel_model, linkage.n_bodies
    if threads is None:
        threads = numba.config.NUMBA_NUM_THREADS if n >= PARALLEL_BODIES else 1  # type: ignore[attr-defined]
    V, c = NO_ROWS, NO_ROWS
    if v.any():
        V, c = np.empty((n, 6)), np.empty((n, 6))
        outward_velocities(model, q, v, np.empty((n, 9)), np.empty((n, 3)), V, c)
        all_velocity_products(model, v, V, c)
    set_world(plan, coefficients, base)
    leaf_forces(model, plan, f_ext, V, coefficients)
    failed = main_pass(model, plan, q, tau, c, np.ones(0), coefficients, threads=threads)
    raise_if_singular(linkage, plan, failed)
    qdd, f = substitute_all(model, plan, coefficients)

    R, p, a = np.empty((n, 9)), np.empty((n, 3)), np.empty((n, 6))
    V, c = np.zeros((n, 6)), np.zeros((n, 6))
    missing, Q = np.empty((n, 6)), np.empty(linkage.nv)
    last = np.inf
    for _ in range(refinements):
        imbalance(model, q, v, tau, f_ext, base, qdd, f, R, p, V, c, a, missing, Q)
        dqdd, df = response(model, plan, q, Q, missing, coefficients, threads)
        size = np.abs(dqdd).max(initial=0.0)
        if not size <= 0.5 * last:  # it does not converge (any more); also catches nan
            break
        qdd += dqdd
        f += df
        last = size
        if size <= NEGLIGIBLE * np.abs(qdd).max(initial=0.0):
            break
    return qdd, f


def substitute_all(model: KernelModel, plan: Plan, coefficients: Coefficients) -> tuple[Floats, Floats]:
    """Back-substitution: joint accelerations (nv,) and transmitted forces (n, 6)."""
    qdd, f = np.empty(model.v_start[-1]), np.empty((len(model.parent), 6))
    F = np.zeros((len(plan.tree), 12))
    back_substitution(model, plan, coefficients, F, qdd)
    joint_forces_of(plan, F, f)
    return qdd, f


def response(
    model: KernelModel, plan: Plan, q: Floats, Q: Floats, force: Floats, coefficients: Coefficients, threads: int = 1
) -> tuple[Floats, Floats]:
    """Accelerations and transmitted forces caused by joint forces Q alone, at rest, without gravity.

    The geometry is up to date and stays; b, γ and R are overwritten.
    """
    set_world(plan, coefficients, AT_REST)
    leaf_forces(model, plan, force, NO_ROWS, coefficients)
    main_pass(model, plan, q, Q, NO_ROWS, np.ones(0), coefficients, forces_only=True, threads=threads)
    return substitute_all(model, plan, coefficients)


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
