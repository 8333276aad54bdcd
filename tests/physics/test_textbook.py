"""Motions with a closed form: pendulum, double pendulum, spinning body, projectile, and the order of an integrator."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import PLAIN
from helpers import EPS, Arrays, random_arrays, random_inputs
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

from adaptive_sim import Linkage, centers_of_mass, energy, forward_dynamics, momentum

from . import rk4

G = 9.81
# One formula evaluated two ways.
FORMULA = 64 * EPS
# RK4 with a thousand steps per second on motions with rates of 5/s: (5e-3)⁴/100 per second.
INTEGRATED = 1e-9


def planar(lengths: list[float], centers: list[float], masses: list[float], moments: list[float]) -> Arrays:
    """Hinges about y in a row; at q = 0 the links hang straight down."""
    n = len(lengths)
    inertia = np.zeros((n, 3, 3))
    for i, moment in enumerate(moments):
        inertia[i] = np.diag([moment, moment, 0.5 * moment])
    return Arrays(
        parent=np.arange(-1, n - 1), joint_type=np.zeros(n, dtype=np.int64), axis=np.tile([0.0, 1.0, 0.0], (n, 1)),
        axis2=np.tile([1.0, 0.0, 0.0], (n, 1)), pitch=np.zeros(n), rotation=np.tile(np.eye(3), (n, 1, 1)),
        translation=np.array([[0.0, 0.0, 0.0]] + [[0.0, 0.0, -l] for l in lengths[:-1]]),
        mass=np.array(masses), center_of_mass=np.array([[0.0, 0.0, -c] for c in centers]), inertia=inertia,
        stiffness=np.zeros(n), damping=np.zeros(n), rest_position=np.zeros(n),
    )  # fmt: skip


def accelerations(linkage: Linkage, gravity=(0.0, 0.0, -G)):
    return lambda q, v, t: forward_dynamics(linkage, q, v, gravity=gravity).acceleration


# -------------------------------------------------------------------- pendulum


@pytest.mark.plain
@pytest.mark.parametrize("angle", [0.0, 1e-8, 0.3, np.pi / 2, 3.0, np.pi, -2.0])
@pytest.mark.parametrize("rate", [0.0, 4.0])
def test_pendulum_acceleration(angle: float, rate: float) -> None:
    m, c, I = 2.0, 0.7, 0.3
    linkage = planar([1.0], [c], [m], [I]).linkage()
    for method in ("aba", "crba"):
        found = forward_dynamics(linkage, [angle], [rate], method=method).acceleration[0]
        assert abs(found + m * G * c * np.sin(angle) / (I + m * c * c)) <= FORMULA * G


def test_pendulum_motion() -> None:
    """From rest at θ₀: sin(θ/2) = k sn(K − ω₀ t), k = sin(θ₀/2)."""
    m, c, I, start = 2.0, 0.7, 0.3, 2.0
    arrays = planar([1.0], [c], [m], [I])
    w0 = np.sqrt(m * G * c / (I + m * c * c))
    k = np.sin(start / 2)
    K = ellipk(k * k)
    period = 4 * K / w0
    for fraction in (0.25, 0.6, 1.0):
        t = fraction * period
        q, _ = rk4.run(arrays, np.array([start]), np.zeros(1), t, int(1000 * t), accelerations(arrays.linkage()))
        sn = ellipj(K - w0 * t, k * k)[0]
        assert abs(q[0] - 2 * np.arcsin(k * sn)) <= 10 * INTEGRATED


@pytest.mark.plain
def test_physical_pendulum_joint_force() -> None:
    """Hanging still, the pin carries the weight; in the horizontal, released, a part of it."""
    m, c, I = 2.0, 0.7, 0.3
    linkage = planar([1.0], [c], [m], [I]).linkage()
    still = forward_dynamics(linkage, joint_forces=True).joint_force[0]
    assert np.abs(still - [0.0, 0.0, 0.0, 0.0, 0.0, m * G]).max() <= FORMULA * m * G
    level = forward_dynamics(linkage, [np.pi / 2], joint_forces=True)
    # The rod then points along −x; its centre falls with c θ̈, so the pin lifts with m (g − c θ̈).
    lift = m * G * (1.0 - m * c * c / (I + m * c * c))
    force_world = Rotation.from_rotvec([0.0, np.pi / 2, 0.0]).apply(level.joint_force[0, 3:])
    assert np.abs(force_world - [0.0, 0.0, lift]).max() <= FORMULA * m * G


# -------------------------------------------------------------------- double pendulum


def double_pendulum(q, v, l1, c1, c2, m1, m2, I1, I2):
    """The textbook equations (relative angles), solved as a 2×2 system."""
    h = m2 * l1 * c2 * np.sin(q[1])
    M11 = I1 + m1 * c1**2 + I2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(q[1]))
    M12 = I2 + m2 * (c2**2 + l1 * c2 * np.cos(q[1]))
    M22 = I2 + m2 * c2**2
    coriolis = np.array([-h * (2 * v[0] * v[1] + v[1] ** 2), h * v[0] ** 2])
    weight = G * np.array(
        [(m1 * c1 + m2 * l1) * np.sin(q[0]) + m2 * c2 * np.sin(q[0] + q[1]), m2 * c2 * np.sin(q[0] + q[1])]
    )
    return np.linalg.solve([[M11, M12], [M12, M22]], -coriolis - weight)


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(10))
def test_double_pendulum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    l1, c1, c2, m1, m2, I1, I2 = rng.uniform(0.3, 2.0, 7)
    q, v = rng.uniform(-3, 3, 2), rng.uniform(-3, 3, 2)
    linkage = planar([l1, 1.0], [c1, c2], [m1, m2], [I1, I2]).linkage()
    expected = double_pendulum(q, v, l1, c1, c2, m1, m2, I1, I2)
    for method in ("aba", "crba"):
        found = forward_dynamics(linkage, q, v, method=method).acceleration
        assert np.abs(found - expected).max() <= 100 * FORMULA * max(1.0, np.abs(expected).max())


# -------------------------------------------------------------------- one free body


def free_body(moments, center=(0.0, 0.0, 0.0), mass: float = 3.0) -> Arrays:
    arrays = planar([1.0], [0.0], [mass], [1.0])
    arrays.joint_type[:] = 3
    arrays.center_of_mass[:] = center
    arrays.inertia[0] = np.diag(moments)
    arrays.stiffness = arrays.damping = np.zeros(6)
    arrays.rest_position = np.array([0.0, 0, 0, 0, 0, 0, 1])
    return arrays


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(5))
def test_euler_equations(seed: int) -> None:
    """I ω̇ = n − ω × I ω about the centre of mass, body axes."""
    rng = np.random.default_rng(seed)
    moments = np.array([1.0, 1.5, 2.0]) * rng.uniform(0.5, 2.0)
    arrays = free_body(moments)
    e = rng.normal(size=4)
    q = np.r_[rng.normal(size=3), e / np.linalg.norm(e)]
    v, torque = rng.normal(size=6), rng.normal(size=3)
    found = forward_dynamics(arrays.linkage(), q, v, torque=[torque], gravity=None).acceleration
    own = Rotation.from_quat(q[3:]).inv().apply(torque)
    w = v[3:]
    assert np.abs(found[3:] - (own - np.cross(w, moments * w)) / moments).max() <= FORMULA * 10
    # The velocity's components turn with the body: d/dt (Rᵀ ṗ) = −ω × v.
    assert np.abs(found[:3] + np.cross(w, v[:3])).max() <= FORMULA * 10


def test_torque_free_precession() -> None:
    """A symmetric top: ω₃ stays, (ω₁, ω₂) turns with Ω = (I₃ − I₁)/I₁ ω₃; energy and momentum stay."""
    I1, I3 = 1.0, 1.6
    arrays = free_body([I1, I1, I3])
    linkage = arrays.linkage()
    w = np.array([0.8, 0.0, 3.0])
    time, start = 2.0, np.r_[np.zeros(6), 1.0]
    q, v = rk4.run(arrays, start, np.r_[np.zeros(3), w], time, 1000, accelerations(linkage, None))
    phase = (I3 - I1) / I1 * w[2] * time
    assert np.abs(v[3:] - [w[0] * np.cos(phase), w[0] * np.sin(phase), w[2]]).max() <= INTEGRATED
    assert np.abs(v[:3]).max() <= INTEGRATED
    _, angular = momentum(linkage, q, v)
    assert np.abs(angular - [I1 * w[0], 0.0, I3 * w[2]]).max() <= INTEGRATED
    # The body's axis goes round the angular momentum with |L|/I₁: closed form by two rotations.
    L = np.array([I1 * w[0], 0.0, I3 * w[2]])
    turning = Rotation.from_rotvec(L / I1 * time) * Rotation.from_rotvec([0.0, 0.0, -phase])
    assert np.abs(Rotation.from_quat(q[3:]).as_matrix() - turning.as_matrix()).max() <= 10 * INTEGRATED


def test_unstable_middle_axis() -> None:
    """Spin about the middle axis turns over; energy and |L| do not care."""
    arrays = free_body([1.0, 1.5, 2.0])
    linkage = arrays.linkage()
    q, v = np.r_[np.zeros(6), 1.0], np.array([0, 0, 0, 1e-3, 5.0, 1e-3])
    before = energy(linkage, q, v, None).kinetic
    turned_over = False
    for _ in range(20):
        q, v = rk4.run(arrays, q, v, 0.5, 100, accelerations(linkage, None))
        turned_over = bool(v[4] < -4.0)
        if turned_over:
            break
    assert turned_over
    assert abs(energy(linkage, q, v, None).kinetic - before) <= 1e-6 * before


def test_projectile() -> None:
    """A spinning body thrown: its centre of mass flies a parabola, wherever its frame is."""
    arrays = free_body([1.0, 1.5, 2.0], center=(0.3, -0.2, 0.1))
    linkage = arrays.linkage()
    q, v = np.r_[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0], np.array([4.0, 1.0, 6.0, 1.0, -2.0, 0.5])
    c0 = centers_of_mass(linkage, q)[0]
    u0 = v[:3] + np.cross(v[3:], [0.3, -0.2, 0.1])
    time = 1.2
    q1, v1 = rk4.run(arrays, q, v, time, 1000, accelerations(linkage))
    expected = c0 + u0 * time + 0.5 * np.array([0.0, 0.0, -G]) * time**2
    assert np.abs(centers_of_mass(linkage, q1)[0] - expected).max() <= 10 * INTEGRATED
    linear, _ = momentum(linkage, q1, v1)
    assert np.abs(linear / 3.0 - u0 - [0.0, 0.0, -G * time]).max() <= 10 * INTEGRATED


# -------------------------------------------------------------------- order of the integrator


@pytest.mark.skipif(PLAIN, reason="many steps")
def test_energy_error_falls_with_the_fourth_power_of_the_step() -> None:
    """A conservative linkage of all joint types with springs and gravity: only right equations of motion do this."""
    arrays = random_arrays(9, 3, springs=True)
    x, linkage = random_inputs(arrays, 4, speed=0.5), arrays.linkage()
    gravity = np.array([0.0, 0.0, -G])
    before = energy(linkage, x.q, x.v, gravity).total
    steps = np.array([200, 400, 800])
    drift = []
    for n in steps:
        q, v = rk4.run(arrays, x.q, x.v, 0.4, int(n), accelerations(linkage, gravity))
        drift.append(abs(energy(linkage, q, v, gravity).total - before))
    order = np.log2(np.array(drift[:-1]) / np.array(drift[1:]))
    # The energy error of RK4 is of order four or five, depending on the motion.
    assert (order > 3.7).all(), (drift, order)
    assert (order < 6.5).all(), (drift, order)
    assert drift[-1] <= 1e-4 * abs(before)


@pytest.mark.plain
@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_spring_and_damper_oscillate_as_they_should(damping: float) -> None:
    """m ẍ + d ẋ + k x = 0 on a slider: the acceleration, for any x and v."""
    m, k = 2.0, 50.0
    linkage = Linkage.from_arrays(
        [-1], ["prismatic"], mass=[m], center_of_mass=[[0.0, 0.0, 0.0]], inertia=[np.eye(3)], axis=[[1.0, 0.0, 0.0]],
        stiffness=k, damping=damping, rest_position=[0.1],
    )  # fmt: skip
    for x, v in ((0.3, 0.0), (-0.2, 1.5), (0.1, -2.0)):
        found = forward_dynamics(linkage, [x], [v]).acceleration[0]
        assert abs(found + (k * (x - 0.1) + damping * v) / m) <= FORMULA * k
