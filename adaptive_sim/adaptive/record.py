"""What the engine keeps per node of the assembly tree: one row of float64, split by what it depends on.

A node is a subassembly with an upper handle u and a lower handle v, each quantity in the kernel frame of its own
handle's body. Nodes with one handle are stored as if they had two on the same body (v = u: Φ_uu = Φ_uv = Φ_vv); closed
ones, whose lower handle nothing will ever join, have zeros for v. So every join is the same formula.

    outer geometry   what the parent reads: Φ_uu, Φ_uv, Φ_vv, pose of v in u
    joint geometry   of the principal joint: pose of y in x, W, and G_u, G_v with f = G_u F_u + G_v F_v + γ
    forces           b_u, b_v, γ

and per degree of freedom of the principal joint one row of `MOTION` numbers: q̈ = K_u F_u + K_v F_v + R, with N and E
from which R follows when forces change (R = E Q − N β).
Columns come in groups of four, since four are moved at a time (see `spatial.lanes`). Symmetric 6×6 blocks hold the
upper triangle row by row: 21 numbers, three idle.
"""

from __future__ import annotations

from typing import NamedTuple

from ..typing import Floats, Ints

# outer geometry
UU = 0  # (21) Φ_uu, symmetric
VV = 24  # (21) Φ_vv, symmetric
UV = 48  # (36) Φ_uv, rows u, columns v
POSE = 84  # (12) rotation (9, row by row) and origin (3) of v's frame in u's
# joint geometry
JOINT = 96  # (12) pose of y's frame in x's
W = 108  # (21) W, symmetric, y's frame
GU = 132  # (36) force transmitted by the joint per F_u
GV = 168  # (36) ... per F_v
# forces
BU = 204  # (6) bias acceleration of u
BV = 210  # (6) bias acceleration of v
GAMMA = 216  # (6) force transmitted by the joint when no outside force acts, y's frame
RECORD = 224  # numbers per node

# per degree of freedom
KU = 0  # (6)
KV = 6  # (6)
N = 12  # (6)
E = 18  # (6) row of E = D⁻¹ over the joint's own degrees of freedom
R = 24  # (1)
MOTION = 28


class Coefficients(NamedTuple):
    """Everything that survives between steps; rows as laid out above.

    The last two rows of `node` are not nodes of the tree: the base joint (it joins the world and the root) and the
    world, a body with Φ = 0 whose acceleration b is minus gravity.
    """

    node: Floats  # (n_nodes + 2, RECORD)
    motion: Floats  # (nv, MOTION)


class Plan(NamedTuple):
    """The assembly tree as the kernels read it, for all nodes and the base joint (row n_nodes)."""

    upper: Ints  # (n_nodes + 1,) A; −1 for leaves; the world for the base joint
    lower: Ints  # (n_nodes + 1,) B; −1 for leaves; the root for the base joint
    parent: Ints  # (n_nodes + 1,) the node this one is a child of; the base joint for the root, −1 for the base joint
    joint: Ints  # (n_nodes + 1,) principal joint; −1 for leaves and between pieces of one body
    kind: Ints  # (n_nodes + 1,) what the joint is: JointType, FIXED between pieces
    rake: Ints  # (n_nodes + 1,) 1 where v = u after the join
    order: Ints  # (n_internal + 1,) nodes by level, bottom-up, the base joint last
    level_start: Ints  # (levels + 1,) where each level starts in `order`
    leaf_body: Ints  # (n_leaves,)
    leaf_fraction: Floats  # (n_leaves,) share of the body's inertia
    leaf_open: Ints  # (n_leaves,) 1 if something joins below (v = u), 0 if closed
    first_leaf: Ints  # (n_bodies,) where a body's force acts
