"""Mechanics of a linkage, slow and readable, from the raw input: plain NumPy, classical vectors in world axes.

Independent of the package on purpose: no spatial algebra, no kernel frames, no recursion over forces. Bodies are placed
with matrix exponentials, velocities come from Jacobians of each centre of mass, and the equations of motion are Kane's:

    M q̈ + h = τ,   M = Σ Jᵀ diag(I, m) J,   h = Σ Jᵀ [I α₀ + ω × I ω − n; m (a₀ − g) − f]

with α₀, a₀ the accelerations at q̈ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from helpers import (
    CYLINDRICAL,
    FIXED,
    FREE,
    HELICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    Array,
    Arrays,
    Inputs,
    plane_frame,
)
from scipy.linalg import expm
from scipy.spatial.transform import Rotation


def skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def turn(axis: Array, angle: float) -> Array:
    return expm(angle * skew(axis))


# -------------------------------------------------------------------- one joint


def joint_pose(arrays: Arrays, i: int, q: Array) -> tuple[Array, Array]:
    """Body frame in the joint frame, as the table in `linkage.joints` documents it."""
    kind, axis = arrays.kinds[i], arrays.axis[i]
    still, here = np.eye(3), np.zeros(3)
    if kind == REVOLUTE:
        return turn(axis, q[0]), here
    if kind == PRISMATIC:
        return still, q[0] * axis
    if kind == HELICAL:
        return turn(axis, q[0]), arrays.pitch[i] * q[0] * axis
    if kind == CYLINDRICAL:
        return turn(axis, q[1]), q[0] * axis
    if kind == UNIVERSAL:
        return turn(axis, q[0]) @ turn(arrays.axis2[i], q[1]), here
    if kind == SPHERICAL:
        return Rotation.from_quat(q).as_matrix(), here
    if kind == PLANAR:
        frame = plane_frame(axis)
        return turn(axis, q[2]), q[0] * frame[:, 0] + q[1] * frame[:, 1]
    if kind == FREE:
        return Rotation.from_quat(q[3:]).as_matrix(), q[:3]
    assert kind == FIXED
    return still, here


def joint_subspace(arrays: Arrays, i: int, q: Array) -> tuple[Array, Array]:
    """Angular and linear (of the body's origin) velocity per unit of v, body axes: two (3, d) arrays."""
    kind, axis = arrays.kinds[i], arrays.axis[i]
    a, none = axis[:, None], np.zeros((3, 1))
    if kind == REVOLUTE:
        return a, none
    if kind == PRISMATIC:
        return none, a
    if kind == HELICAL:
        return a, arrays.pitch[i] * a
    if kind == CYLINDRICAL:
        return np.hstack([none, a]), np.hstack([a, none])
    if kind == UNIVERSAL:
        first = turn(arrays.axis2[i], q[1]).T @ axis
        return np.column_stack([first, arrays.axis2[i]]), np.zeros((3, 2))
    if kind == SPHERICAL:
        return np.eye(3), np.zeros((3, 3))
    if kind == PLANAR:
        frame = plane_frame(axis)
        return np.hstack([none, none, a]), np.hstack([frame[:, :2], none])
    if kind == FREE:
        return np.hstack([np.zeros((3, 3)), np.eye(3)]), np.hstack([np.eye(3), np.zeros((3, 3))])
    return np.zeros((3, 0)), np.zeros((3, 0))


def joint_turning(arrays: Arrays, i: int, q: Array, v: Array) -> Array:
    """Rate of change, in body axes, of the relative angular velocity at constant v: only universal joints have one."""
    if arrays.kinds[i] != UNIVERSAL:
        return np.zeros(3)
    axis2 = arrays.axis2[i]
    first = turn(axis2, q[1]).T @ arrays.axis[i]
    return v[0] * v[1] * np.cross(first, axis2)


def move_joint(arrays: Arrays, i: int, q: Array, step: Array) -> Array:
    """q after a small step v·Δt, by turning and shifting the body in its own axes."""
    kind = arrays.kinds[i]
    if kind in (SPHERICAL, FREE):
        old = Rotation.from_quat(q[-4:])
        new = (old * Rotation.from_rotvec(step[-3:])).as_quat()
        return new if kind == SPHERICAL else np.r_[q[:3] + old.apply(step[:3]), new]
    if kind == PLANAR:
        c, s = np.cos(q[2]), np.sin(q[2])
        return q + np.array([c * step[0] - s * step[1], s * step[0] + c * step[1], step[2]])
    return q + step


# -------------------------------------------------------------------- the linkage


@dataclass
class Motion:
    """World quantities of every body, rows in input order."""

    R: Array  # (n, 3, 3) body axes
    p: Array  # (n, 3) origins
    c: Array  # (n, 3) centres of mass
    w: Array  # (n, 3) angular velocities
    alpha: Array  # (n, 3) angular accelerations
    a_c: Array  # (n, 3) accelerations of the centres of mass (classical)
    v_c: Array  # (n, 3) velocities of the centres of mass
    v: Array  # (n, 3) velocities of the origins
    J_w: Array  # (n, 3, nv) angular velocity per unit of v
    J_c: Array  # (n, 3, nv) velocity of the centre of mass per unit of v
    S: list[Array]  # (n,) of (6, d): angular and linear subspace of each joint, world axes, at the body's origin


def motion(arrays: Arrays, q: Array, v: Array | None = None, qdd: Array | None = None) -> Motion:
    """Poses, Jacobians, velocities and accelerations by differentiating x_i = x_p + R_p(...) in world axes."""
    n, nv = arrays.n, arrays.nv
    v = np.zeros(nv) if v is None else v
    qdd = np.zeros(nv) if qdd is None else qdd
    R, p, c = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    w, alpha, u, a = (np.zeros((n, 3)) for _ in range(4))
    J_w, J_o = np.zeros((n, 3, nv)), np.zeros((n, 3, nv))
    S: list[Array] = [np.zeros((6, 0))] * n
    q_at, v_at = arrays.q_slices(), arrays.v_slices()
    for i in arrays.parents_first():
        h = arrays.parent[i]
        R_h, p_h = (R[h], p[h]) if h >= 0 else (np.eye(3), np.zeros(3))
        w_h, alpha_h, u_h, a_h = (w[h], alpha[h], u[h], a[h]) if h >= 0 else (np.zeros(3),) * 4
        R_J, p_J = joint_pose(arrays, i, q[q_at[i]])
        S_w, S_u = joint_subspace(arrays, i, q[q_at[i]])
        v_i, qdd_i = v[v_at[i]], qdd[v_at[i]]

        R[i] = R_h @ arrays.rotation[i] @ R_J
        p[i] = p_h + R_h @ (arrays.translation[i] + arrays.rotation[i] @ p_J)
        r = p[i] - p_h
        turning, sliding = R[i] @ S_w @ v_i, R[i] @ S_u @ v_i
        w[i] = w_h + turning
        u[i] = u_h + np.cross(w_h, r) + sliding
        alpha[i] = alpha_h + np.cross(w[i], turning) + R[i] @ (S_w @ qdd_i + joint_turning(arrays, i, q[q_at[i]], v_i))
        a[i] = (
            a_h
            + np.cross(alpha_h, r)
            + np.cross(w_h, np.cross(w_h, r) + sliding)
            + np.cross(w[i], sliding)
            + R[i] @ S_u @ qdd_i
        )
        if h >= 0:
            J_w[i] = J_w[h]
            J_o[i] = J_o[h] - skew(r) @ J_w[h]
        J_w[i][:, v_at[i]] += R[i] @ S_w
        J_o[i][:, v_at[i]] += R[i] @ S_u
        S[i] = np.vstack([R[i] @ S_w, R[i] @ S_u])
    arm = np.einsum("nij,nj->ni", R, arrays.center_of_mass)
    c = p + arm
    v_c = u + np.cross(w, arm)
    a_c = a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
    J_c = J_o - np.array([skew(x) for x in arm]) @ J_w
    return Motion(R, p, c, w, alpha, a_c, v_c, u, J_w, J_c, S)


def world_inertias(arrays: Arrays, R: Array) -> Array:
    return R @ arrays.inertia @ R.transpose(0, 2, 1)


def mass_matrix(arrays: Arrays, q: Array) -> Array:
    m = motion(arrays, q)
    I = world_inertias(arrays, m.R)
    return np.einsum("nia,nij,njb->ab", m.J_w, I, m.J_w, optimize=True) + np.einsum(
        "nia,n,nib->ab", m.J_c, arrays.mass, m.J_c, optimize=True
    )


def inverse_dynamics(arrays: Arrays, x: Inputs, qdd: Array, *, passive: bool = True) -> Array:
    """Joint forces for given accelerations, besides springs and damping."""
    m = motion(arrays, x.q, x.v, qdd)
    n_c, f = net_forces(arrays, m, x)
    tau = np.einsum("nia,ni->a", m.J_w, n_c) + np.einsum("nia,ni->a", m.J_c, f)
    return tau - passive_forces(arrays, x.q, x.v) if passive else tau


def net_forces(arrays: Arrays, m: Motion, x: Inputs) -> tuple[Array, Array]:
    """Moment about the centre of mass and force that the joints must exert on each body, world axes."""
    I = world_inertias(arrays, m.R)
    spin = np.einsum("nij,nj->ni", I, m.w)
    n_ext = x.torque - np.cross(m.c - m.p, x.force)  # about the centre of mass
    n_c = np.einsum("nij,nj->ni", I, m.alpha) + np.cross(m.w, spin) - n_ext
    f = arrays.mass[:, None] * (m.a_c - x.gravity) - x.force
    return n_c, f


def forward_dynamics(arrays: Arrays, x: Inputs) -> Array:
    """Joint accelerations by a dense solve."""
    bias = inverse_dynamics(arrays, x, np.zeros(arrays.nv))
    return np.linalg.solve(mass_matrix(arrays, x.q), x.tau - bias)


def joint_forces(arrays: Arrays, x: Inputs, qdd: Array) -> Array:
    """(n, 6) moment about the body's origin and force that joint i exerts on body i, body axes: one sum per subtree."""
    m = motion(arrays, x.q, x.v, qdd)
    n_c, f = net_forces(arrays, m, x)
    out = np.zeros((arrays.n, 6))
    for i in range(arrays.n):
        moment, force = np.zeros(3), np.zeros(3)
        for j in range(arrays.n):
            k = j
            while k >= 0 and k != i:
                k = arrays.parent[k]
            if k == i:  # body j is carried by joint i
                moment += n_c[j] + np.cross(m.c[j] - m.p[i], f[j])
                force += f[j]
        out[i] = np.r_[m.R[i].T @ moment, m.R[i].T @ force]
    return out


# -------------------------------------------------------------------- springs, energies, momentum


def right_jacobian(phi: Array) -> Array:
    """J with J φ̇ = ω (body axes), R = exp φ: Σ (−φ×)ᵏ / (k + 1)!, summed until nothing changes."""
    total = term = np.eye(3)
    for k in range(1, 60):
        term = -term @ skew(phi) / (k + 1)
        total = total + term
    return total


def spring_energy(arrays: Arrays, q: Array) -> float:
    return float(sum(_spring(arrays, i, q)[0] for i in range(arrays.n)))


def passive_forces(arrays: Arrays, q: Array, v: Array) -> Array:
    springs = [_spring(arrays, i, q)[1] for i in range(arrays.n)]
    return np.concatenate([*springs, np.zeros(0)]) - arrays.damping * v


def _spring(arrays: Arrays, i: int, q: Array) -> tuple[float, Array]:
    """Energy ½ Σ k δ² and force of the spring in joint i."""
    at, kind = arrays.q_slices()[i], arrays.kinds[i]
    k, here, rest = arrays.stiffness[arrays.v_slices()[i]], q[at], arrays.rest_position[at]
    if kind in (SPHERICAL, FREE):
        now, was = Rotation.from_quat(here[-4:]), Rotation.from_quat(rest[-4:])
        phi = (was.inv() * now).as_rotvec()
        energy = 0.5 * k[-3:] @ phi**2
        torque = -np.linalg.solve(right_jacobian(phi).T, k[-3:] * phi)
        if kind == SPHERICAL:
            return energy, torque
        d = here[:3] - rest[:3]
        return energy + 0.5 * k[:3] @ d**2, np.r_[now.inv().apply(-k[:3] * d), torque]
    d = here - rest
    force = -k * d
    if kind == PLANAR:
        c, s = np.cos(here[2]), np.sin(here[2])
        force = np.r_[np.array([[c, s], [-s, c]]) @ force[:2], force[2]]
    return 0.5 * k @ d**2, force


def kinetic_energy(arrays: Arrays, q: Array, v: Array) -> float:
    m = motion(arrays, q, v)
    I = world_inertias(arrays, m.R)
    return float(0.5 * np.einsum("ni,nij,nj", m.w, I, m.w) + 0.5 * arrays.mass @ (m.v_c**2).sum(axis=1))


def gravity_energy(arrays: Arrays, q: Array, gravity: Array) -> float:
    return float(-arrays.mass @ (motion(arrays, q).c @ gravity))


def momentum(arrays: Arrays, q: Array, v: Array) -> tuple[Array, Array]:
    """Linear momentum and angular momentum about the world's origin."""
    m = motion(arrays, q, v)
    linear = arrays.mass[:, None] * m.v_c
    spin = np.einsum("nij,nj->ni", world_inertias(arrays, m.R), m.w)
    return linear.sum(axis=0), (spin + np.cross(m.c, linear)).sum(axis=0)


def integrate(arrays: Arrays, q: Array, step: Array) -> Array:
    parts = [move_joint(arrays, i, q[a], step[b]) for i, (a, b) in enumerate(zip(arrays.q_slices(), arrays.v_slices()))]
    return np.concatenate([*parts, np.zeros(0)])
