"""Divide and conquer as the papers print it, slow and readable: NumPy with numbers of 50 digits instead of float64.

Featherstone 1999; Redon & Lin 2005, §3.1, eqs (2)-(7), with the velocity terms of MATH §8. Nothing is shared with
`adaptive_sim.adaptive`: V = M⁻¹ is formed (50 digits forgive it), S is a general 6×d matrix for every joint type, and a
subassembly keeps its handles by name in a dict of blocks. What the two do share is the input: the kernel model's
inertias and placements (body frames turned so that the joint's axis is z), taken as exact numbers.

`dense` solves the same equations of motion with no tree at all.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spatial.oracle import exact_sincos

from adaptive_sim.assembly import AssemblyTree
from adaptive_sim.linkage.joints import JointType
from adaptive_sim.linkage.model import Linkage

# A float64 has 16 digits; M of a tough linkage may lose 30 of them, and 50 − 30 is still more than 16.
decimal.getcontext().prec = 50

Exact = NDArray[Any]  # arrays of Decimal (and of the integers 0 and 1)
Array = NDArray[np.float64]


def exact(x: Any) -> Exact:
    """float64 numbers as they are, without rounding."""
    numbers = [Decimal(float(value)) for value in np.ravel(x)]
    return np.array(numbers, dtype=object).reshape(np.shape(x))


def rounded(x: Any) -> Array:
    return np.asarray(x, dtype=np.float64)


def zeros(*shape: int) -> Exact:
    return np.zeros(shape, dtype=object)


def inverse(M: Exact) -> Exact:
    """Gauss-Jordan elimination with the largest pivot of each column."""
    n = len(M)
    T = np.concatenate([M, np.eye(n, dtype=object)], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(T[k:, k])))
        T[[k, pivot]] = T[[pivot, k]]
        T[k] = T[k] / T[k, k]
        for i in range(n):
            if i != k:
                T[i] = T[i] - T[i, k] * T[k]
    return T[:, n:]


# -------------------------------------------------------------------- spatial algebra, angular part first


def skew(a: Exact) -> Exact:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]], dtype=object)


def motion_transform(R: Exact, p: Exact) -> Exact:
    """X: motions in the parent frame -> the same motions in the child frame (R, p). Forces go back by Xᵀ."""
    return np.block([[R.T, zeros(3, 3)], [-R.T @ skew(p), R.T]])


def cross_motion(v: Exact) -> Exact:
    """v ×; on forces, v ×* = −(v ×)ᵀ."""
    return np.block([[skew(v[:3]), zeros(3, 3)], [skew(v[3:]), skew(v[:3])]])


def spatial_inertia(row: Array) -> Exact:
    """6×6 inertia of a body from its row m, m c, J about the origin."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = exact(row)
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    h = skew(np.array([hx, hy, hz], dtype=object))
    return np.block([[J, h], [-h, m * np.eye(3, dtype=object)]])


# -------------------------------------------------------------------- joints


@dataclass
class Joint:
    """A joint at one instant: pose of the body below in the body above, and S and c in the body below."""

    R: Exact
    p: Exact
    S: Exact  # (6, d)
    Sdot_v: Exact  # (6,) S° q̇, for joints whose axes turn within the body

    @property
    def X(self) -> Exact:
        return motion_transform(self.R, self.p)


NO_JOINT = Joint(np.eye(3, dtype=object), zeros(3), zeros(6, 0), zeros(6))


def about(axis: Exact, angle: Decimal) -> Exact:
    """Rotation about a unit axis, Rodrigues."""
    sine, cosine = (Decimal(x.numerator) / Decimal(x.denominator) for x in exact_sincos(float(angle)))
    K = skew(axis)
    return np.eye(3, dtype=object) + sine * K + (1 - cosine) * (K @ K)


def of_quaternion(e: Exact) -> Exact:
    """Rotation of a quaternion x, y, z, w (made unit, since 50 digits see that float64 ones are not)."""
    x, y, z, w = e / sum(e * e).sqrt()
    K = skew(np.array([x, y, z], dtype=object))
    return np.eye(3, dtype=object) + 2 * w * K + 2 * (K @ K)


def joint_of(linkage: Linkage, i: int, q: Array, v: Array) -> Joint:
    """Joint i as the table in `linkage.joints` documents it; z is its axis."""
    model = linkage.kernel_model
    kind = JointType(int(model.joint_kind[i]))
    q_i = exact(q[model.q_start[i] : model.q_start[i + 1]])
    v_i = exact(v[model.v_start[i] : model.v_start[i + 1]])
    x, y, z, wx, wy, wz = np.eye(6, dtype=object)[[3, 4, 5, 0, 1, 2]]
    ez, first = z[3:], exact(model.axis1[i])
    R_J, p_J, Sdot_v = np.eye(3, dtype=object), zeros(3), zeros(6)
    columns: list[Exact] = []
    if kind == JointType.REVOLUTE:
        R_J, columns = about(ez, q_i[0]), [wz]
    elif kind == JointType.PRISMATIC:
        p_J, columns = q_i[0] * ez, [z]
    elif kind == JointType.HELICAL:
        pitch = Decimal(float(model.pitch[i]))
        R_J, p_J, columns = about(ez, q_i[0]), pitch * q_i[0] * ez, [wz + pitch * z]
    elif kind == JointType.CYLINDRICAL:
        R_J, p_J, columns = about(ez, q_i[1]), q_i[0] * ez, [z, wz]
    elif kind == JointType.PLANAR:
        R_J, p_J, columns = about(ez, q_i[2]), np.r_[q_i[:2], 0], [x, y, wz]
    elif kind == JointType.SPHERICAL:
        R_J, columns = of_quaternion(q_i), [wx, wy, wz]
    elif kind == JointType.FREE:
        R_J, p_J, columns = of_quaternion(q_i[3:]), q_i[:3], [x, y, z, wx, wy, wz]
    elif kind == JointType.UNIVERSAL:
        second = about(ez, q_i[1])
        s = second.T @ first
        R_J, columns = about(first, q_i[0]) @ second, [np.r_[s, zeros(3)], wz]
        Sdot_v = np.r_[-v_i[1] * skew(ez) @ s * v_i[0], zeros(3)]  # ds/dt = −ω₂ × s
    else:
        assert kind == JointType.FIXED
    placement = exact(model.rotation[i]).reshape(3, 3)
    S = np.array(columns, dtype=object).T if columns else zeros(6, 0)
    return Joint(placement @ R_J, exact(model.translation[i]) + placement @ p_J, S, Sdot_v)


# -------------------------------------------------------------------- subassemblies


@dataclass
class Subassembly:
    """a_h = Σ Φ[h, k] F_k + b[h] for its handles, named by leaf; each in its own frame. Eq (1)."""

    Phi: dict[tuple[int, int], Exact]
    b: dict[int, Exact]
    place: dict[int, tuple[Exact, Exact]]  # pose of each handle in the upper handle

    @property
    def handles(self) -> list[int]:
        return list(self.b)


@dataclass
class Coupling:
    """What back-substitution needs of a join."""

    x: int
    y: int
    joint: Joint
    Q: Exact
    V: Exact
    D_inverse: Exact
    W: Exact
    beta: Exact
    gamma: Exact
    A: Subassembly
    B: Subassembly

    @property
    def N(self) -> Exact:
        """q̈ = D⁻¹Q − N (z + β), f = W (z + β) + NᵀQ."""
        return self.D_inverse @ self.joint.S.T @ self.V


def leaf(name: int, inertia: Exact, share: Decimal, force: Exact, v: Exact) -> Subassembly:
    """A piece of a body: eq (3), with the velocity term of a moving body. `force` acts on this piece."""
    I = inertia * share
    Phi = inverse(I)
    gyroscopic = -cross_motion(v).T @ (I @ v)
    here = (np.eye(3, dtype=object), zeros(3))
    return Subassembly({(name, name): Phi}, {name: Phi @ (force - gyroscopic)}, {name: here})


def join(
    A: Subassembly, x: int, B: Subassembly, y: int, joint: Joint, Q: Exact, c: Exact, keep: set[int]
) -> tuple[Subassembly, Coupling]:
    """A and B joined between x and y. c: velocity product, a_y − a_x = S q̈ + c. `keep`: handles that are left."""
    X, S = joint.X, joint.S
    xx, yy = X @ A.Phi[x, x] @ X.T, B.Phi[y, y]
    x_ = {h: X @ A.Phi[x, h] for h in A.handles}  # Φ_21^A, in the frame of y
    y_ = {h: B.Phi[y, h] for h in B.handles}  # Φ_12^B
    V = inverse(xx + yy)
    D_inverse = inverse(S.T @ V @ S)
    W = V - V @ S @ D_inverse @ S.T @ V
    beta = X @ A.b[x] - B.b[y] + c
    gamma = W @ beta + V @ S @ D_inverse @ Q

    # eq (2)
    Phi, b = {}, {}
    for i in keep & set(A.handles):
        b[i] = A.b[i] - x_[i].T @ gamma
        for j in keep & set(A.handles):
            Phi[i, j] = A.Phi[i, j] - x_[i].T @ W @ x_[j]
    for i in keep & set(B.handles):
        b[i] = B.b[i] + y_[i].T @ gamma
        for j in keep & set(B.handles):
            Phi[i, j] = B.Phi[i, j] - y_[i].T @ W @ y_[j]
        for j in keep & set(A.handles):
            Phi[i, j] = y_[i].T @ W @ x_[j]
            Phi[j, i] = Phi[i, j].T

    R, p = followed_by(A.place[x], (joint.R, joint.p))
    below = {h: followed_by((R, p), B.place[h]) for h in B.handles}
    place = {h: pose for h, pose in {**A.place, **below}.items() if h in keep}
    return Subassembly(Phi, b, place), Coupling(x, y, joint, Q, V, D_inverse, W, beta, gamma, A, B)


def followed_by(a: tuple[Exact, Exact], b: tuple[Exact, Exact]) -> tuple[Exact, Exact]:
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def substitute(join: Coupling, F: dict[int, Exact]) -> tuple[Exact, Exact, dict[int, Exact], dict[int, Exact]]:
    """q̈, force f on y, and the forces on the handles of A and of B, from those on the handles of C. Eqs (4), (5)."""
    A, B, x, y, X = join.A, join.B, join.x, join.y, join.joint.X
    z = zeros(6)
    for h in set(F) & set(A.handles):
        z = z + X @ A.Phi[x, h] @ F[h]
    for h in set(F) & set(B.handles):
        z = z - B.Phi[y, h] @ F[h]
    qdd = join.D_inverse @ (join.Q - join.joint.S.T @ join.V @ (z + join.beta))
    f = join.W @ z + join.gamma
    F_A = {h: F.get(h, zeros(6)) for h in A.handles}
    F_B = {h: F.get(h, zeros(6)) for h in B.handles}
    F_A[x] = F_A[x] - X.T @ f
    F_B[y] = F_B[y] + f
    return qdd, f, F_A, F_B


# -------------------------------------------------------------------- a whole linkage


@dataclass
class Problem:
    """A linkage at one instant, in exact numbers. Model order, kernel frames, as the solvers take it."""

    joint: list[Joint]
    inertia: list[Exact]
    force: Exact  # (n, 6)
    v: list[Exact]  # (n,) of (6,) body velocities
    c: list[Exact]  # (n,) of (6,) velocity products
    Q: list[Exact]
    a_base: Exact
    parent: NDArray[np.int64]

    @classmethod
    def of(cls, linkage: Linkage, q: Array, v: Array, tau: Array, f_ext: Array, base: Any) -> Problem:
        """Arguments as of `solve_dca`: no rows of f_ext mean no forces, base is ((0, 0, 0), −gravity)."""
        model = linkage.kernel_model
        n, start = linkage.n_bodies, model.v_start
        joint = [joint_of(linkage, i, q, v) for i in range(n)]
        Q = [exact(tau[start[i] : start[i + 1]]) for i in range(n)]
        V, c = [], []
        for i in range(n):
            own = joint[i].S @ exact(v[start[i] : start[i + 1]]) + zeros(6)
            above = V[model.parent[i]] if model.parent[i] >= 0 else zeros(6)
            V.append(joint[i].X @ above + own)
            c.append(cross_motion(V[i]) @ own + joint[i].Sdot_v)
        return cls(
            joint, [spatial_inertia(row) for row in model.inertia], exact(f_ext) if len(f_ext) else zeros(n, 6),
            V, c, Q, exact(np.concatenate(base)), model.parent,
        )  # fmt: skip


@dataclass
class Solution:
    """Everything of a divide-and-conquer solve, by node of the tree."""

    node: list[Subassembly]
    coupling: dict[int, Coupling]  # by inner node
    qdd: Array  # (nv,)
    f: Array  # (n, 6) force each joint transmits to its body
    force_on: list[dict[int, Exact]]  # outside forces on every node's handles


def leaf_of(problem: Problem, tree: AssemblyTree, i: int) -> Subassembly:
    body = int(tree.leaf_body[i])
    pieces = len(tree.leaves_of_body(body))
    force = problem.force[body] if tree.leaf_of_body(body) == i else zeros(6)
    return leaf(i, problem.inertia[body], 1 / Decimal(pieces), force, problem.v[body])


def join_of(
    problem: Problem, tree: AssemblyTree, i: int, A: Subassembly, B: Subassembly
) -> tuple[Subassembly, Coupling]:
    """Inner node i of the tree from its children."""
    x, y = int(tree.lower_handle[tree.upper_child[i]]), int(tree.upper_handle[tree.lower_child[i]])
    keep = {int(tree.upper_handle[i]), int(tree.lower_handle[i])} - {-1}
    k = int(tree.joint[i])
    if k < 0:  # pieces of one body
        return join(A, x, B, y, NO_JOINT, zeros(0), zeros(6), keep)
    return join(A, x, B, y, problem.joint[k], problem.Q[k], problem.c[k], keep)


def dca(problem: Problem, tree: AssemblyTree) -> Solution:
    node = [leaf_of(problem, tree, i) for i in range(tree.n_leaves)]
    coupling = {}
    for i in range(tree.n_leaves, tree.n_nodes):
        C, coupling[i] = join_of(problem, tree, i, node[tree.upper_child[i]], node[tree.lower_child[i]])
        node.append(C)

    n = len(problem.joint)
    qdd: list[Exact] = [zeros(0)] * n
    f: list[Exact] = [zeros(6)] * n
    force_on: list[dict[int, Exact]] = [{}] * tree.n_nodes
    top = int(tree.upper_handle[tree.root])
    qdd[0], f[0] = base_joint(problem, node[-1].Phi[top, top], node[-1].b[top])
    force_on[-1] = {top: f[0]}
    for i in range(tree.n_nodes - 1, tree.n_leaves - 1, -1):
        A, B, k = int(tree.upper_child[i]), int(tree.lower_child[i]), int(tree.joint[i])
        qdd_i, f_i, force_on[A], force_on[B] = substitute(coupling[i], force_on[i])
        if k >= 0:
            qdd[k], f[k] = qdd_i, f_i
    return Solution(node, coupling, rounded(np.concatenate(qdd)), rounded(np.array(f)), force_on)


def base_joint(problem: Problem, Phi: Exact, b: Exact) -> tuple[Exact, Exact]:
    """q̈ and force of the joint to the world: eqs (6), (7), with b − a_g for b; also the floating base (f = 0)."""
    joint, Q = problem.joint[0], problem.Q[0]
    b = b - joint.X @ problem.a_base - problem.c[0]
    I, S = inverse(Phi), joint.S
    qdd = inverse(S.T @ I @ S) @ (Q + S.T @ I @ b)
    return qdd, I @ (S @ qdd + zeros(6) - b)


def dense(problem: Problem) -> Array:
    """Joint accelerations (nv,) from H q̈ = τ − C, H = Σ Jᵀ I J: no tree, no recursion over inertias."""
    n = len(problem.joint)
    sizes = [len(Q) for Q in problem.Q]
    start = np.concatenate([[0], np.cumsum(sizes)])
    nv = int(start[-1])
    J, a = [], []  # Jacobian and acceleration at q̈ = 0 of every body
    H, right = zeros(nv, nv), zeros(nv)
    for i in range(n):
        above, X = int(problem.parent[i]), problem.joint[i].X
        # Only the columns of the joints on the way to the base are not zero.
        columns = [*(J[above][0] if above >= 0 else []), *range(start[i], start[i + 1])]
        block = np.concatenate([X @ J[above][1] if above >= 0 else zeros(6, 0), problem.joint[i].S], axis=1)
        J.append((columns, block))
        a.append(X @ (a[above] if above >= 0 else problem.a_base) + problem.c[i])
        I, v = problem.inertia[i], problem.v[i]
        H[np.ix_(columns, columns)] += block.T @ I @ block
        right[columns] -= block.T @ (I @ a[i] - cross_motion(v).T @ (I @ v) - problem.force[i])
    return rounded(solve_symmetric(H, right + np.concatenate([*problem.Q, zeros(0)])))


def solve_symmetric(H: Exact, right: Exact) -> Exact:
    """H x = right by LDLᵀ, for positive definite H."""
    H, x, n = H.copy(), right.copy(), len(right)
    for k in range(n):
        for i in range(k + 1, n):
            if H[i, k] != 0:
                factor = H[i, k] / H[k, k]
                H[i, k + 1 :] -= factor * H[k, k + 1 :]
                x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - H[k, k + 1 :] @ x[k + 1 :]) / H[k, k]
    return x
