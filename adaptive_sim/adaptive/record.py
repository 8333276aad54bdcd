"""What the engine keeps per node of the assembly tree, and the tree as its kernels read it.

A node is a subassembly with an upper handle u and a lower handle v, each quantity in the kernel frame of its own
handle's body. Records lie in one flat array, `store`, one after the other, split by what they depend on:

    outer    what the parent reads: Φ_uu, Φ_vv, Φ_uv, pose of v in u, b_u, b_v
    joint    of the principal joint: pose of y in x, W, and γ, with f = W z + γ

and per degree of freedom of the principal joint one row of `motion`: q̈ = R − N z, where z = Φ_xu F_u − Φ_yv F_v is
the relative acceleration the outside forces would give the two sides of the joint; R = E Q − N β.

Nodes with a single open handle (v = u: bodies, and bodies with finished branches) need Φ_uu only; leaves have nothing
but Φ_uu and b. Where such a node is read as if it had two, the places below point to Φ_uu, to zeros or to an identity.
Symmetric 6×6 blocks hold the upper triangle row by row: 21 numbers, three idle. Everything starts at a multiple of
four, since four numbers are moved at a time (see `spatial.lanes`).
"""

from __future__ import annotations

from typing import NamedTuple

from ..typing import Floats, Ints

# outer
UU = 0  # (21) Φ_uu, symmetric
VV = 24  # (21) Φ_vv, symmetric
UV = 48  # (36) Φ_uv, rows u, columns v
POSE = 84  # (12) rotation (9, row by row) and origin (3) of v's frame in u's
BIAS = 96  # (12) b_u, b_v
# joint
JOINT = 108  # (12) pose of y's frame in x's
W = 120  # (21) W, symmetric, y's frame
GAMMA = 144  # (6) force transmitted by the joint when no outside force acts, y's frame
RECORD = 152  # numbers per inner node

LEAF_BIAS = 24  # leaves: Φ_uu (24), b_u, b_v
LEAF_RECORD = 36

# the first numbers of the store are constants
ZEROS = 0  # (48)
UNIT_POSE = 48  # (12)
FIRST = 64  # where the records start

# rows of `motion`
N = 0  # (6)
E = 6  # (6) row of E = D⁻¹ over the joint's own degrees of freedom
R = 12  # (1)
SIZE = 13  # (1) size of what was added up into R
MOTION = 16

# `factor`: 12 rows by 13 columns (F_u, F_v, 1), column by column, then what follows. Where v = u the columns of F_v
# repeat those of F_u; where the node is closed they are zero.
ROWS = 12
RHO = 156  # (4) ρ, σ, angular and linear size of what was added up into any b inside
KAPPA = 160  # (1) κ of the join itself: by how much it magnifies rounding (see `condition`)
KAPPA_INSIDE = 161  # (1) the largest κ inside, its own included
LARGEST_UU = 162  # (6) diagonal of the largest Φ that Φ_uu was subtracted down from
LARGEST_VV = 168  # (6) the same of Φ_vv
FACTOR = 176


class Coefficients(NamedTuple):
    """Everything that survives between steps."""

    store: Floats  # flat, see above
    motion: Floats  # (nv, MOTION)
    factor: Floats  # (n_inner + 1, FACTOR) total acceleration of inner nodes (no rows: exact solver only)


# columns of `Plan.tree`: one row per node, so that what belongs to a node comes with two cache lines
UPPER = 0  # A; −1 for leaves and the world
LOWER = 1  # B
PARENT = 2  # the node this one is a child of; −1 for the base joint
JOINT_OF = 3  # principal joint; −1 for leaves and between pieces of one body
KIND = 4  # what the joint is: JointType, FIXED between pieces
SINGLE = 5  # 1 where one open handle is left, v = u
TWO = 6  # 1 where two handles are left
RANK = 7  # rows of the factor that may be other than zero
SLOTS = 8  # inner nodes: 16·(rows taken from A's factor) + (rows taken from B's)
CLASS = 9  # inner nodes: only nodes of the same class go through the lanes together
POSITION = 10  # where an inner node stands in `order`
AT = 11  # where the record starts in the store
AT_VV = 12  # where Φ_vv is read
AT_UV = 13  # where Φ_uv is read (zeros if it equals Φ_uu)
AT_POSE = 14  # where the pose of v in u is read
AT_BIAS = 15  # where b_u, b_v are
TREE = 16


class Plan(NamedTuple):
    """The assembly tree for the kernels: all nodes, then the base joint (joins world and root), then the world.

    The world is a body with Φ = 0 whose acceleration is minus gravity. `n` is the number of tree nodes + 2.
    """

    tree: Ints  # (n, TREE) see above
    order: Ints  # (n_inner + 1,) inner nodes by level and class, bottom-up, the base joint last
    level_start: Ints  # (levels + 1,) where each level starts in `order`
    pass_order: Ints  # (n_inner + 1,) the same nodes for whole passes: block by block, then the nodes above all blocks
    block_start: Ints  # (blocks + 1,) where each block starts in `pass_order`; the last entry: where the top starts
    leaf_body: Ints  # (n_leaves,)
    leaf_fraction: Floats  # (n_leaves,) share of the body's inertia
    first_leaf: Ints  # (n_bodies,) where a body's force acts
    node_of_joint: Ints  # (n_bodies,)

    @property
    def upper(self) -> Ints:
        return self.tree[:, UPPER]

    @property
    def lower(self) -> Ints:
        return self.tree[:, LOWER]

    @property
    def parent(self) -> Ints:
        return self.tree[:, PARENT]

    @property
    def joint(self) -> Ints:
        return self.tree[:, JOINT_OF]

    @property
    def kind(self) -> Ints:
        return self.tree[:, KIND]

    @property
    def single(self) -> Ints:
        return self.tree[:, SINGLE]

    @property
    def two(self) -> Ints:
        return self.tree[:, TWO]

    @property
    def rank(self) -> Ints:
        return self.tree[:, RANK]

    @property
    def slots(self) -> Ints:
        return self.tree[:, SLOTS]

    @property
    def lane_class(self) -> Ints:
        return self.tree[:, CLASS]

    @property
    def position(self) -> Ints:
        return self.tree[:, POSITION]

    @property
    def at(self) -> Ints:
        return self.tree[:, AT]

    @property
    def at_vv(self) -> Ints:
        return self.tree[:, AT_VV]

    @property
    def at_uv(self) -> Ints:
        return self.tree[:, AT_UV]

    @property
    def at_pose(self) -> Ints:
        return self.tree[:, AT_POSE]

    @property
    def at_bias(self) -> Ints:
        return self.tree[:, AT_BIAS]
