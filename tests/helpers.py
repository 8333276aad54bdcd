"""Random linkages for tests, made without the package's own generators, and the same linkages in Pinocchio.

`Arrays` holds the raw input of `Linkage.from_arrays` in *input* order, so that oracles can work from what the user gave
and never from what the package made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from adaptive_sim.linkage.joints import JointType
from adaptive_sim.linkage.model import Linkage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

REVOLUTE, PRISMATIC, SPHERICAL, FREE, FIXED, HELICAL, CYLINDRICAL, UNIVERSAL, PLANAR = JointType
ALL_KINDS = tuple(JointType)
MOVING_KINDS = tuple(kind for kind in JointType if kind != FIXED)

# Sizes written out again, not imported: a wrong table in the package must not hide itself.
DOF = {REVOLUTE: 1, PRISMATIC: 1, SPHERICAL: 3, FREE: 6, FIXED: 0, HELICAL: 1, CYLINDRICAL: 2, UNIVERSAL: 2, PLANAR: 3}
N_Q = {**DOF, SPHERICAL: 4, FREE: 7}
QUATERNION_AT = {SPHERICAL: 0, FREE: 3}  # where in its coordinates a joint has a quaternion

EPS = float(np.finfo(float).eps)


def kind_id(kind: JointType) -> str:
    """Name of a parametrised case."""
    return kind.name.lower()


def relative_error(found: Any, expected: Any) -> float:
    """Largest deviation relative to the largest expected value (accelerations of one linkage share a scale)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    if expected.size == 0:
        return 0.0
    scale = np.abs(expected).max()
    return float(np.abs(found - expected).max() / (scale if scale > 0.0 else 1.0))


# -------------------------------------------------------------------- raw input


@dataclass
class Arrays:
    """Input of `Linkage.from_arrays`, one row per body, in any order."""

    parent: Indices  # (n,)
    joint_type: Indices  # (n,)
    axis: Array  # (n, 3)
    axis2: Array  # (n, 3)
    pitch: Array  # (n,)
    rotation: Array  # (n, 3, 3)
    translation: Array  # (n, 3)
    mass: Array  # (n,)
    center_of_mass: Array  # (n, 3)
    inertia: Array  # (n, 3, 3)
    stiffness: Array  # (nv,)
    damping: Array  # (nv,)
    rest_position: Array  # (nq,)

    def linkage(self, **changes: Any) -> Linkage:
        return Linkage.from_arrays(**{**self.as_dict(), **changes})

    def as_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def n(self) -> int:
        return len(self.parent)

    @property
    def kinds(self) -> list[JointType]:
        return [JointType(k) for k in self.joint_type]

    @property
    def v_sizes(self) -> Indices:
        return np.array([DOF[k] for k in self.kinds], dtype=np.int64)

    @property
    def q_sizes(self) -> Indices:
        return np.array([N_Q[k] for k in self.kinds], dtype=np.int64)

    @property
    def nv(self) -> int:
        return int(self.v_sizes.sum())

    @property
    def nq(self) -> int:
        return int(self.q_sizes.sum())

    def v_slices(self) -> list[slice]:
        return _slices(self.v_sizes)

    def q_slices(self) -> list[slice]:
        return _slices(self.q_sizes)

    def parents_first(self) -> list[int]:
        """An order in which every body comes after its parent."""
        children: list[list[int]] = [[] for _ in range(self.n)]
        stack = []
        for i, p in enumerate(self.parent):
            (stack if p < 0 else children[p]).append(i)
        order = []
        while stack:
            order.append(stack.pop())
            stack.extend(children[order[-1]])
        return order


def _slices(sizes: Indices) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(e - s), int(e)) for s, e in zip(sizes, ends)]


@dataclass
class Inputs:
    """State and forces for one call of the solvers, in input order."""

    q: Array  # (nq,)
    v: Array  # (nv,)
    tau: Array  # (nv,)
    force: Array  # (n, 3) world
    torque: Array  # (n, 3) world, about the body's origin
    gravity: Array  # (3,) world

    def forces(self) -> dict[str, Array]:
        return {"force": self.force, "torque": self.torque, "gravity": self.gravity}

    def at_rest(self) -> Inputs:
        return replace(self, v=np.zeros_like(self.v))


# -------------------------------------------------------------------- random linkages


def random_arrays(
    n: int,
    seed: int,
    kinds: Sequence[JointType] = ALL_KINDS,
    *,
    base: JointType | None = None,
    shape: str = "random",
    springs: bool = False,
    damping: bool = False,
    shuffle: bool = False,
) -> Arrays:
    """A linkage of n bodies with joints drawn from `kinds` (every kind occurs when n allows it).

    shape: "chain", "star", "random" (each body on any earlier one), "branched" (on one of the last three).
    base: kind of the base's joint; None: as the others. shuffle: rows in random order.
    """
    rng = np.random.default_rng(seed)
    parent = _parents(n, shape, rng)
    kind = np.resize(np.array(kinds, dtype=np.int64), n)
    rng.shuffle(kind)
    if base is not None:
        kind[0] = base
    nv = sum(DOF[JointType(k)] for k in kind)
    arrays = Arrays(
        parent=parent,
        joint_type=kind,
        axis=random_directions(n, rng),
        axis2=random_directions(n, rng),
        pitch=rng.uniform(-0.4, 0.4, n),
        rotation=random_rotations(n, rng),
        translation=rng.uniform(-0.5, 0.5, (n, 3)),
        mass=rng.uniform(0.5, 2.0, n),
        center_of_mass=rng.uniform(-0.3, 0.3, (n, 3)),
        inertia=random_inertias(n, rng),
        stiffness=rng.uniform(1.0, 20.0, nv) if springs else np.zeros(nv),
        damping=rng.uniform(0.1, 2.0, nv) if damping else np.zeros(nv),
        rest_position=np.empty(0),
    )
    arrays.rest_position = random_position(arrays, rng)
    return permuted(arrays, rng.permutation(n)) if shuffle else arrays


def _parents(n: int, shape: str, rng: np.random.Generator) -> Indices:
    earlier = np.arange(n)
    if shape == "chain":
        return earlier - 1
    if shape == "star":
        return np.r_[-1, np.zeros(n - 1, dtype=np.int64)]
    lowest = {"random": np.zeros(n, dtype=np.int64), "branched": np.maximum(earlier - 3, 0)}[shape]
    return np.r_[-1, rng.integers(lowest[1:], earlier[1:])]


def random_directions(n: int, rng: np.random.Generator) -> Array:
    d = rng.normal(size=(n, 3))
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def random_rotations(n: int, rng: np.random.Generator) -> Array:
    return Rotation.from_quat(rng.normal(size=(n, 4))).as_matrix()


def random_inertias(n: int, rng: np.random.Generator, size: float = 0.1) -> Array:
    """J = tr(Σ) 1 − Σ with Σ positive definite: what a real distribution of mass has, triangle inequality included."""
    spread = np.sort(rng.uniform(0.2, 1.0, (n, 3)), axis=1) * size
    turn = random_rotations(n, rng)
    sigma = np.einsum("nij,nj,nkj->nik", turn, spread, turn)
    J = np.trace(sigma, axis1=1, axis2=2)[:, None, None] * np.eye(3) - sigma
    return 0.5 * (J + J.transpose(0, 2, 1))


def random_position(arrays: Arrays, rng: np.random.Generator, angle: float = 2.0) -> Array:
    q = rng.uniform(-angle, angle, arrays.nq)
    for kind, at in zip(arrays.kinds, arrays.q_slices()):
        if kind in QUATERNION_AT:
            e = slice(at.start + QUATERNION_AT[kind], at.start + QUATERNION_AT[kind] + 4)
            q[e] = rng.normal(size=4)
            q[e] /= np.linalg.norm(q[e])
    return q


def random_inputs(arrays: Arrays, seed: int, speed: float = 1.0) -> Inputs:
    rng = np.random.default_rng(seed)
    return Inputs(
        q=random_position(arrays, rng),
        v=speed * rng.normal(size=arrays.nv),
        tau=rng.normal(size=arrays.nv),
        force=rng.normal(size=(arrays.n, 3)),
        torque=rng.normal(size=(arrays.n, 3)),
        gravity=rng.normal(size=3) * 5.0,
    )


# -------------------------------------------------------------------- another order of the same linkage


def permuted(arrays: Arrays, order: Indices) -> Arrays:
    """The same linkage with its rows in another order: new row k is old row order[k]."""
    position = np.empty(arrays.n, dtype=np.int64)
    position[order] = np.arange(arrays.n)
    above = arrays.parent[order]
    given = {name: value[order] for name, value in arrays.as_dict().items() if len(value) == arrays.n}
    return Arrays(
        **{
            **given,
            "parent": np.where(above < 0, -1, position[above]),
            "stiffness": take_v(arrays, order, arrays.stiffness),
            "damping": take_v(arrays, order, arrays.damping),
            "rest_position": take_q(arrays, order, arrays.rest_position),
        }
    )


def take_q(arrays: Arrays, order: Indices, q: Array) -> Array:
    """Coordinates q of `arrays` for `permuted(arrays, order)`."""
    slices = arrays.q_slices()
    return np.concatenate([q[slices[i]] for i in order])


def take_v(arrays: Arrays, order: Indices, v: Array) -> Array:
    """Velocities, joint forces or accelerations of `arrays` for `permuted(arrays, order)`."""
    slices = arrays.v_slices()
    return np.concatenate([v[slices[i]] for i in order])


def take_inputs(arrays: Arrays, order: Indices, inputs: Inputs) -> Inputs:
    return Inputs(
        take_q(arrays, order, inputs.q),
        take_v(arrays, order, inputs.v),
        take_v(arrays, order, inputs.tau),
        inputs.force[order],
        inputs.torque[order],
        inputs.gravity,
    )


# -------------------------------------------------------------------- the same linkage in Pinocchio


@cache
def pinocchio() -> ModuleType:
    """Pinocchio, or a skip that says why it is not there."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns about a renamed module of its own
            import pinocchio as pin
    except ImportError as error:
        pytest.skip(
            f"pinocchio does not load ({error}); install the extra 'test' "
            "(pin 3.9.0 needs cmeel-urdfdom<5 and cmeel-tinyxml2<11 beside it)"
        )
    if pin.__version__ != "3.9.0":
        pytest.skip(f"pinocchio {pin.__version__}: only 3.9.0 is a trusted oracle (4.1.0 is wrong in deep chains)")
    return pin


@dataclass
class PinocchioModel:
    """A linkage in Pinocchio, with the maps between its conventions and ours.

    Fixed joints are merged into the joint they hang on. A planar joint of Pinocchio lies in the xy plane, so its
    body's frame there is ours turned by `turn` (columns: the two axes of the plane and the normal).
    """

    pin: ModuleType
    arrays: Arrays
    model: Any
    joint: Indices  # (n,) Pinocchio's joint that carries each body
    offset: list[Any]  # (n,) SE3: our body's frame in the frame of that joint

    @classmethod
    def of(cls, arrays: Arrays, gravity: Array) -> PinocchioModel:
        pin = pinocchio()
        model = pin.Model()
        model.gravity.linear = np.asarray(gravity, dtype=float)
        joint = np.zeros(arrays.n, dtype=np.int64)
        offset: list[Any] = [None] * arrays.n
        for i in arrays.parents_first():
            above = arrays.parent[i]
            carrier, held = (0, pin.SE3.Identity()) if above < 0 else (joint[above], offset[above])
            place = held * pin.SE3(arrays.rotation[i], arrays.translation[i])
            turn = pin.SE3(plane_frame(arrays.axis[i]) if arrays.kinds[i] == PLANAR else np.eye(3), np.zeros(3))
            if arrays.kinds[i] == FIXED:
                joint[i], offset[i] = carrier, place
            else:
                joint[i] = model.addJoint(int(carrier), _pinocchio_joint(pin, arrays, i), place * turn, f"joint_{i}")
                offset[i] = turn.inverse()
            body = pin.Inertia(arrays.mass[i], arrays.center_of_mass[i], arrays.inertia[i])
            model.appendBodyToJoint(int(joint[i]), body, offset[i])
        return cls(pin, arrays, model, joint, offset)

    def position(self, q: Array) -> Array:
        """Our q as Pinocchio's: a planar angle becomes cosine and sine."""
        out = np.empty(self.model.nq)
        for i, at in enumerate(self.arrays.q_slices()):
            if self.arrays.kinds[i] == FIXED:
                continue
            mine = q[at]
            if self.arrays.kinds[i] == PLANAR:
                mine = np.array([mine[0], mine[1], np.cos(mine[2]), np.sin(mine[2])])
            first = self.model.joints[int(self.joint[i])].idx_q
            out[first : first + len(mine)] = mine
        return out

    def _velocity_places(self) -> Indices:
        """Where in Pinocchio's v each entry of ours lies; the entries themselves mean the same."""
        places = []
        for i, kind in enumerate(self.arrays.kinds):
            if kind != FIXED:
                first = self.model.joints[int(self.joint[i])].idx_v
                places.extend(range(first, first + DOF[kind]))
        return np.array(places, dtype=np.int64)

    def velocity(self, v: Array) -> Array:
        """Our v, tau or acceleration as Pinocchio's."""
        out = np.empty(self.model.nv)
        out[self._velocity_places()] = v
        return out

    def velocity_back(self, v: Array) -> Array:
        """Pinocchio's v, tau or acceleration as ours."""
        return np.asarray(v)[self._velocity_places()]

    def poses(self, q: Array) -> tuple[Array, Array]:
        data = self.model.createData()
        self.pin.forwardKinematics(self.model, data, self.position(q))
        world = [data.oMi[int(j)] * offset for j, offset in zip(self.joint, self.offset)]
        return np.array([m.rotation for m in world]), np.array([m.translation for m in world])

    def forces(self, q: Array, force: Array, torque: Array) -> Any:
        """World forces and torques about our bodies' origins as forces in the frames of Pinocchio's joints."""
        pin = self.pin
        out = [pin.Force.Zero() for _ in range(self.model.njoints)]
        R, _ = self.poses(q)
        for i, offset in enumerate(self.offset):
            own = pin.Force(R[i].T @ force[i], R[i].T @ torque[i])
            out[int(self.joint[i])] += offset.act(own)
        return pin.StdVec_Force(out) if hasattr(pin, "StdVec_Force") else out

    def forward_dynamics(self, inputs: Inputs) -> Array:
        data = self.model.createData()
        a = self.pin.aba(
            self.model, data, self.position(inputs.q), self.velocity(inputs.v), self.velocity(inputs.tau),
            self.forces(inputs.q, inputs.force, inputs.torque),
        )  # fmt: skip
        return self.velocity_back(a)

    def inverse_dynamics(self, inputs: Inputs, acceleration: Array) -> Array:
        data = self.model.createData()
        tau = self.pin.rnea(
            self.model, data, self.position(inputs.q), self.velocity(inputs.v), self.velocity(acceleration),
            self.forces(inputs.q, inputs.force, inputs.torque),
        )  # fmt: skip
        return self.velocity_back(tau)

    def mass_matrix(self, q: Array) -> Array:
        H = self.pin.crba(self.model, self.model.createData(), self.position(q))
        H = np.triu(H) + np.triu(H, 1).T
        places = self._velocity_places()
        return H[np.ix_(places, places)]

    def momentum(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Linear momentum and angular momentum about the world's origin."""
        data = self.model.createData()
        h = self.pin.computeCentroidalMomentum(self.model, data, self.position(q), self.velocity(v))
        return h.linear, h.angular + np.cross(data.com[0], h.linear)


def _pinocchio_joint(pin: ModuleType, arrays: Arrays, i: int) -> Any:
    kind, axis = arrays.kinds[i], arrays.axis[i]
    if kind == CYLINDRICAL:
        composite = pin.JointModelComposite(pin.JointModelPrismaticUnaligned(axis), pin.SE3.Identity())
        composite.addJoint(pin.JointModelRevoluteUnaligned(axis), pin.SE3.Identity())
        return composite
    if kind == UNIVERSAL and abs(axis @ arrays.axis2[i]) > 1e-12:
        # Pinocchio's universal joint is for perpendicular axes; two revolute joints in a row are the same thing.
        composite = pin.JointModelComposite(pin.JointModelRevoluteUnaligned(axis), pin.SE3.Identity())
        composite.addJoint(pin.JointModelRevoluteUnaligned(arrays.axis2[i]), pin.SE3.Identity())
        return composite
    return {
        REVOLUTE: lambda: pin.JointModelRevoluteUnaligned(axis),
        PRISMATIC: lambda: pin.JointModelPrismaticUnaligned(axis),
        HELICAL: lambda: pin.JointModelHelicalUnaligned(axis, arrays.pitch[i]),
        SPHERICAL: pin.JointModelSpherical,
        FREE: pin.JointModelFreeFlyer,
        PLANAR: pin.JointModelPlanar,
        UNIVERSAL: lambda: pin.JointModelUniversal(axis, arrays.axis2[i]),
    }[kind]()


def plane_frame(normal: Array) -> Array:
    """Rotation whose columns are the x and y axes of a planar joint and its normal.

    The documented choice (Duff et al. 2017): the frame that turns z onto the normal, with the sign of its z component.
    """
    x, y, z = normal
    sign = 1.0 if np.signbit(z) == 0 else -1.0
    a = -1.0 / (sign + z)
    first = np.array([1.0 + sign * x * x * a, sign * x * y * a, -sign * x])
    return np.column_stack([first, np.cross(normal, first), normal])
