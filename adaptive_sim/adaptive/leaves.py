"""Leaves of the assembly tree: rigid bodies (or pieces of them) as subassemblies without joints.

Redon & Lin 2005, eq (3), with velocities (MATH §8): Φ = I⁻¹, b = I⁻¹ (f − v ×* I v). A piece of a split body has the
share 1/k of its inertia, hence k times the Φ; the body's outside force acts on its first piece.
"""

from __future__ import annotations

from ..compiled import kernel
from ..linkage.model import KernelModel
from ..spatial.motion import Spatial, cross_force, rigid_momentum
from ..spatial.rows import get_rigid, get_spatial
from ..spatial.vectors import Symmetric, Vector, add, apply_symmetric, cross, scale, subtract
from ..typing import Floats
from .record import AT, AT_BIAS, Coefficients, Plan


@kernel(inline=True)
def inverse_symmetric(S: Symmetric) -> Symmetric:
    """Inverse of a symmetric 3×3 matrix by cofactors: exactly symmetric."""
    a, b, c, d, e, f = S
    A = d * f - e * e
    B = c * e - b * f
    C = b * e - c * d
    s = 1.0 / (a * A + b * B + c * C)
    return (s * A, s * B, s * C, s * (a * f - c * c), s * (b * c - a * e), s * (a * d - b * b))


@kernel(inline=True)
def about_center(mass: float, h: Vector, J: Symmetric) -> tuple[Vector, Symmetric]:
    """Centre of mass and rotational inertia about it, from the inertia about the origin."""
    c = scale(1.0 / mass, h)
    x, y, z = h
    return c, (
        J[0] - (y * c[1] + z * c[2]), J[1] + x * c[1], J[2] + x * c[2],
        J[3] - (x * c[0] + z * c[2]), J[4] + y * c[2], J[5] - (x * c[0] + y * c[1]),
    )  # fmt: skip


@kernel(inline=True)
def rigid_acceleration(rigid: tuple[float, Vector, Symmetric], force: Spatial) -> Spatial:
    """I⁻¹ f: acceleration of a free rigid body, at its origin."""
    mass, h, J = rigid
    c, J_c = about_center(mass, h, J)
    alpha = apply_symmetric(inverse_symmetric(J_c), subtract(force[0], cross(c, force[1])))
    return (alpha, add(scale(1.0 / mass, force[1]), cross(c, alpha)))


@kernel
def leaf_geometry(model: KernelModel, plan: Plan, coefficients: Coefficients) -> None:
    """Φ of all leaves; constant for a linkage."""
    store = coefficients.store
    for leaf in range(len(plan.leaf_body)):
        rigid = get_rigid(model.inertia, plan.leaf_body[leaf])
        share = 1.0 / plan.leaf_fraction[leaf]
        k = plan.tree[leaf, AT]
        for i in range(6):
            # Column i of I⁻¹: the acceleration under a unit force.
            unit = (
                (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0),
                (1.0 if i == 3 else 0.0, 1.0 if i == 4 else 0.0, 1.0 if i == 5 else 0.0),
            )
            w, v = rigid_acceleration(rigid, unit)
            column = (w[0], w[1], w[2], v[0], v[1], v[2])
            for j in range(i, 6):
                store[k] = share * column[j]
                k += 1


@kernel(inline=True)
def _put_bias(store: Floats, at: int, b: Spatial) -> None:
    """b_u = b_v = b."""
    for k in range(3):
        store[at + k] = b[0][k]
        store[at + 3 + k] = b[1][k]
        store[at + 6 + k] = b[0][k]
        store[at + 9 + k] = b[1][k]


@kernel
def set_world(plan: Plan, coefficients: Coefficients, a_base: Spatial) -> None:
    """The world's acceleration: minus gravity."""
    _put_bias(coefficients.store, plan.tree[len(plan.tree) - 1, AT_BIAS], a_base)


@kernel(inline=True)
def leaf_force(model: KernelModel, plan: Plan, f_ext: Floats, V: Floats, leaf: int, coefficients: Coefficients) -> None:
    """b of one leaf. f_ext (n, 6): body-frame forces, V (n, 6): body velocities; no rows: none, at rest."""
    body = plan.leaf_body[leaf]
    rigid = get_rigid(model.inertia, body)
    n, f = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    if len(f_ext) > 0 and plan.first_leaf[body] == leaf:
        n, f = get_spatial(f_ext, body)
        n = scale(1.0 / plan.leaf_fraction[leaf], n)
        f = scale(1.0 / plan.leaf_fraction[leaf], f)
    if len(V) > 0:
        v = get_spatial(V, body)
        turned = cross_force(v, rigid_momentum(rigid, v))
        n = subtract(n, turned[0])
        f = subtract(f, turned[1])
    _put_bias(coefficients.store, plan.tree[leaf, AT_BIAS], rigid_acceleration(rigid, (n, f)))


@kernel
def leaf_forces(model: KernelModel, plan: Plan, f_ext: Floats, V: Floats, coefficients: Coefficients) -> None:
    for leaf in range(len(plan.leaf_body)):
        leaf_force(model, plan, f_ext, V, leaf, coefficients)


@kernel
def leaf_forces_of(model: KernelModel, plan: Plan, f_ext: Floats, leaf: int, coefficients: Coefficients) -> None:
    """b of one leaf at rest."""
    leaf_force(model, plan, f_ext, f_ext[:0], leaf, coefficients)
