"""A random branched molecule in torsion angles: rigid groups that turn about the bonds between them.

The third benchmark of Redon & Lin (2005), section 6.3, is "a randomly generated molecule-like linkage with 50,000
rotational degrees of freedom"; the paper gives no recipe. Here: a backbone with branching side chains of C, N, O
and S at tetrahedral angles; torsions prefer 180° and ±60° (rotational isomers, Flory 1969) and step aside for
what is there already, so the molecule is a self-avoiding coil.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import kernel
from ..errors import InputError
from ..spatial.rotations import rotation_about
from ..spatial.rows import get_matrix, get_vector, set_matrix, set_vector
from ..spatial.vectors import IDENTITY, Matrix, Vector, add, apply, dot, multiply, scale, subtract
from ..typing import Bools, Floats, Ints
from .inertia import MassProperties, combine
from .joints import FREE, JointType
from .model import Linkage, Shape
from .trees import count, joint_kinds, positive, random_numbers, springs

# By element: C, N, O, S. Masses in Da, lengths in Å.
_MASS = np.array([12.011, 14.007, 15.999, 32.06])
_VALENCE = np.array([4, 3, 2, 2])
_RADIUS = np.array([0.76, 0.71, 0.66, 1.05])  # covalent (Cordero et al. 2008)
_BOND_TO_CARBON = np.array([1.53, 1.47, 1.43, 1.81])
_BOND_TO_HYDROGEN = np.array([1.09, 1.01, 0.96, 1.34])
_SHARE = np.array([0.83, 0.10, 0.06, 0.01])  # how often drawn, where the valence allows it
_COLOR = np.array([(0.35, 0.35, 0.35), (0.19, 0.31, 0.97), (0.90, 0.10, 0.10), (0.92, 0.78, 0.20)])
_HYDROGEN_MASS, _HYDROGEN_RADIUS = 1.008, 0.31
_DRAWN = 1.25  # drawn radius over covalent radius: neighbours touch

# Bonds of an atom: one to the parent (along −z of its frame), three at the tetrahedral angle, 120° apart about z.
_TILT = math.pi - math.acos(-1.0 / 3.0)
_COS, _SIN = 1.0 / 3.0, math.sqrt(8.0) / 3.0
_SLOTS = 3
_SLOT_ANGLE = np.arange(_SLOTS) * 2.0 * math.pi / _SLOTS
_SLOT_DIRECTION = np.stack([_SIN * np.cos(_SLOT_ANGLE), _SIN * np.sin(_SLOT_ANGLE), np.full(_SLOTS, _COS)], axis=1)

_CLASH = 2.6  # Å: atoms four or more bonds apart should not come nearer (gauche neighbours are at 2.8 and more)
_CELL = 2.0 * _CLASH  # a ball of that radius touches at most two cells per direction
# Torsions tried per atom: three isomers (180°, ±60°), each as drawn, then shifted to both sides, once or twice.
_SHIFTS = (0.0, math.radians(25.0), math.radians(-25.0), math.radians(50.0), math.radians(-50.0))
_STRAIGHT_BACKBONE, _STRAIGHT_SIDE = 0.85, 0.5  # how often 180° is tried first; a crowded backbone stretches


def molecule(
    n: int,
    *,
    seed: int = 0,
    branching: float = 0.08,
    side_chain: float = 30.0,
    base: str | JointType | None = None,
    stiffness: float = 0.0,
    damping: float = 0.0,
    name: str = "molecule",
) -> Linkage:
    """A molecule of n heavy atoms (with their hydrogens) and n torsion joints: n rotational degrees of freedom.

    Units are not SI but just as consistent: Å, Da, ps. Forces are then in Da Å/ps² (0.166 pN), energies in
    Da Å²/ps² (0.01 kJ/mol), kT at 300 K is 249.4. Gravity is nothing on that scale: set it to zero.

    Body i is an atom with its hydrogens; joint i turns it about the bond from its parent, the z axis of its frame
    (atom at the origin). Atoms count as balls of their covalent radius, so that no group, not even a bare
    carbon, has zero inertia about an axis. q = 0 is the conformation drawn by `seed`. Joint 0 turns the first
    atom about the world's z axis; with `base="free"` the molecule floats and has n − 1 torsions.

    branching     how likely an atom of the backbone carries a side chain (a second one: its square), 0 … 1
    side_chain    mean number of atoms from the root of a side chain to its tip, 1 or more; side chains branch
                  too, but seldom. The defaults give a backbone of about n/6 atoms; 0.35 and 6 look like a
                  bottle brush, 0 gives a chain
    stiffness, damping  of the torsions: Da Å²/ps² and Da Å²/ps per rad
    """
    n = count("n", n)
    if not 0.0 <= positive("branching", branching, "1", zero_allowed=True) <= 1.0:
        raise InputError(f"branching = {branching}; it is a probability, give 0 … 1")
    if positive("side_chain", side_chain, "atoms") < 1.0:
        raise InputError(f"side_chain = {side_chain}; a side chain has at least 1 atom")
    rng = random_numbers(seed)
    kinds = joint_kinds("revolute", base, n, rng)
    # Side chains must stay finite: on average less than one branch each.
    seldom = min(0.25 * branching, 0.5 / side_chain)
    parent, slot, backbone = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    _grow(rng.random((n, 4)), branching, seldom, 1.0 - 1.0 / side_chain, parent, slot, backbone)

    taken = np.zeros((n, _SLOTS), dtype=bool)
    taken[parent[1:], slot[1:]] = True
    element = _elements(rng, parent, 1 + taken.sum(axis=1))
    bond = _BOND_TO_CARBON[np.maximum(element, element[parent])]  # one end of a bond is carbon
    bond[0] = 0.0
    torsion, at, frame = np.empty(n), np.zeros((n, 3)), np.empty((n, 9))
    # The backbone first, so that side chains fill the room it leaves.
    order = np.argsort(1 - backbone, kind="stable")
    straight = np.where(backbone == 1, _STRAIGHT_BACKBONE, _STRAIGHT_SIDE)
    _fold(parent, slot, bond, order, straight, rng.random((n, 2)), torsion, at, frame)

    body = _groups(element, taken, hydrogen_below=bool(kinds[0] == FREE))
    rotation = _about_z(_SLOT_ANGLE[slot]) @ _about_y(_TILT) @ _about_z(torsion)
    rotation[0] = np.eye(3)
    size = np.zeros((n, 3))
    size[:, 0] = _DRAWN * _RADIUS[element]
    return Linkage.from_arrays(
        parent, kinds, rotation=rotation, translation=bond[:, None] * _SLOT_DIRECTION[slot],
        shape=np.full(n, int(Shape.SPHERE)), shape_size=size, color=_COLOR[element], name=name,
        **body._asdict(), **springs(kinds, stiffness, damping),
    )  # fmt: skip


def _elements(rng: np.random.Generator, parent: Ints, bonds: Ints) -> Ints:
    """C, N, O or S (0 … 3) by chance, where the valence suffices and the parent is carbon."""
    drawn = np.searchsorted(np.cumsum(_SHARE)[:-1], rng.random(len(parent)), side="right")
    drawn[bonds > _VALENCE[drawn]] = 0
    drawn[(drawn[parent] > 0) & (parent >= 0)] = 0
    drawn[0] = 0
    return drawn.astype(np.int64)


def _groups(element: Ints, taken: Bools, hydrogen_below: bool) -> MassProperties:
    """An atom and hydrogens on its free valences, as far as it has any (N, O and S have lone pairs)."""
    n = len(element)
    free = ~taken
    allowed = (_VALENCE[element] - 1 - taken.sum(axis=1))[:, None]
    bound = free & (np.cumsum(free, axis=1) <= allowed)
    places = [(_SLOT_DIRECTION[k], bound[:, k]) for k in range(_SLOTS)]
    if hydrogen_below:  # the base of a floating molecule has no bond there
        places.append((np.array([0.0, 0.0, -1.0]), np.arange(n) == 0))
    parts = [_balls(_MASS[element], _RADIUS[element], np.zeros((n, 3)))]
    for direction, there in places:
        at = _BOND_TO_HYDROGEN[element][:, None] * direction
        parts.append(_balls(_HYDROGEN_MASS * there, np.full(n, _HYDROGEN_RADIUS), at))
    return combine(*parts)


def _balls(mass: Floats, radius: Floats, at: Floats) -> MassProperties:
    """Like `inertia_of_sphere`, but a mass may be zero."""
    return MassProperties(mass, at, (0.4 * mass * radius**2)[:, None, None] * np.eye(3))


def _about_z(angle: Floats) -> Floats:
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=-1).reshape(-1, 3, 3)


def _about_y(angle: float) -> Floats:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


# -------------------------------------------------------------------- kernels


@kernel
def _grow(u: Floats, branching: float, seldom: float, goes_on: float, parent: Ints, slot: Ints, backbone: Ints) -> None:
    """The tree, depth-first, side chains before the backbone goes on. u (n, 4): random numbers of each atom."""
    n = len(parent)
    # Waiting bonds: from which atom, in which slot, whether the backbone's.
    wait = np.empty((2 * n + 4, 3), dtype=np.int64)
    wait[0] = (-1, 0, 1)
    top = 1
    for i in range(n):
        top -= 1
        parent[i] = wait[top, 0]
        slot[i] = wait[top, 1]
        backbone[i] = wait[top, 2]
        if backbone[i] == 1 or u[i, 0] < goes_on:
            wait[top] = (i, 0, backbone[i])
            top += 1
        chance = branching if backbone[i] == 1 else seldom
        side = 1 if u[i, 1] < 0.5 else 2
        if u[i, 2] < chance:
            wait[top] = (i, side, 0)
            top += 1
        if u[i, 3] < chance * chance:
            wait[top] = (i, 3 - side, 0)
            top += 1


@kernel
def _fold(
    parent: Ints, slot: Ints, bond: Floats, order: Ints, straight: Floats, u: Floats,
    torsion: Floats, at: Floats, frame: Floats,
) -> None:  # fmt: skip
    """Torsions, atom by atom: the first trial that puts the children on free room, else the roomiest one.

    at (n, 3), frame (n, 9): where the atoms come to lie. Atoms nearby are found by a hash of cells; two cells with
    one hash only cost time, since distances decide.
    """
    n = len(parent)
    buckets = 1
    while buckets < 2 * n:
        buckets *= 2
    head = np.full(buckets, -1, dtype=np.int64)
    following = np.full(n, -1, dtype=np.int64)
    first_child = np.full(n, -1, dtype=np.int64)
    next_child = np.full(n, -1, dtype=np.int64)
    for i in range(n - 1, 0, -1):
        next_child[i] = first_child[parent[i]]
        first_child[parent[i]] = i
    tilt = rotation_about((0.0, 1.0, 0.0), _TILT)
    _put(head, following, at, 0)
    for i in order:
        # The frame of atom i at torsion 0.
        A = IDENTITY
        if i > 0:
            turn = rotation_about((0.0, 0.0, 1.0), slot[i] * 2.0 * math.pi / _SLOTS)
            A = multiply(get_matrix(frame, parent[i]), multiply(turn, tilt))
        x = get_vector(at, i)
        isomer = 0 if u[i, 0] < straight[i] else (1 if u[i, 0] < 0.5 * (1.0 + straight[i]) else 2)
        jitter = (u[i, 1] - 0.5) * math.radians(20.0)
        best = -1.0
        chosen = 0.0
        for trial in range(3 * len(_SHIFTS)):
            angle = math.pi + ((isomer + trial) % 3) * 2.0 * math.pi / 3.0 + jitter + _SHIFTS[trial // 3]
            room = _CLASH * _CLASH
            c = first_child[i]
            while c >= 0:
                room = min(room, _room(head, following, at, _bonded(x, A, angle, slot[c], bond[c]), i, parent[i]))
                c = next_child[c]
            if room > best:
                best = room
                chosen = angle
            if room >= _CLASH * _CLASH:
                break
        chosen = 0.0 if i == 0 else chosen
        torsion[i] = chosen
        set_matrix(frame, i, multiply(A, rotation_about((0.0, 0.0, 1.0), chosen)))
        c = first_child[i]
        while c >= 0:
            set_vector(at, c, _bonded(x, A, chosen, slot[c], bond[c]))
            _put(head, following, at, c)
            c = next_child[c]


@kernel
def _bonded(x: Vector, A: Matrix, torsion: float, slot: int, length: float) -> Vector:
    """Where the child in `slot` of an atom at x lies."""
    angle = torsion + slot * 2.0 * math.pi / _SLOTS
    return add(x, scale(length, apply(A, (_SIN * math.cos(angle), _SIN * math.sin(angle), _COS))))


@kernel
def _cell(x: float) -> int:
    return math.floor(x / _CELL)


@kernel
def _bucket(i: int, j: int, k: int, buckets: int) -> int:
    return ((i * 73856093) ^ (j * 19349663) ^ (k * 83492791)) & (buckets - 1)


@kernel
def _put(head: Ints, following: Ints, at: Floats, i: int) -> None:
    x = get_vector(at, i)
    b = _bucket(_cell(x[0]), _cell(x[1]), _cell(x[2]), len(head))
    following[i] = head[b]
    head[b] = i


@kernel
def _room(head: Ints, following: Ints, at: Floats, x: Vector, bonded: int, beyond: int) -> float:
    """Squared distance from x to the nearest atom, but for two; looks only as far as a clash reaches."""
    nearest = _CLASH * _CLASH
    i0, j0, k0 = _cell(x[0] - _CLASH), _cell(x[1] - _CLASH), _cell(x[2] - _CLASH)
    for i in range(i0, i0 + 2):
        for j in range(j0, j0 + 2):
            for k in range(k0, k0 + 2):
                other = head[_bucket(i, j, k, len(head))]
                while other >= 0:
                    if other != bonded and other != beyond:
                        d = subtract(get_vector(at, other), x)
                        nearest = min(nearest, dot(d, d))
                    other = following[other]
    return nearest
