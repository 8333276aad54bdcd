"""Sums over a linkage: forces of springs and dampers at the joints, energies, momentum."""

from __future__ import annotations

from ..compiled import kernel
from ..linkage.joints import spring_force
from ..linkage.model import KernelModel
from ..spatial.motion import force_to_parent, pairing, rigid_momentum
from ..spatial.rows import get_matrix, get_rigid, get_spatial, get_vector
from ..spatial.vectors import apply, dot
from ..typing import Floats


@kernel
def add_passive_forces(model: KernelModel, q: Floats, v: Floats, tau: Floats) -> float:
    """tau += spring and damping forces; returns the energy stored in the springs."""
    energy = 0.0
    for i in range(len(model.parent)):
        energy += spring_force(
            model.joint_kind[i], q, model.rest_position, model.q_start[i], model.stiffness, model.v_start[i], tau
        )
    for k in range(len(tau)):
        tau[k] -= model.damping[k] * v[k]
    return energy


@kernel
def kinetic_energy(model: KernelModel, V: Floats) -> float:
    """½ Σ vᵀ I v over the bodies; V (n, 6) in body frames."""
    energy = 0.0
    for i in range(len(model.parent)):
        v_i = get_spatial(V, i)
        energy += 0.5 * pairing(v_i, rigid_momentum(get_rigid(model.inertia, i), v_i))
    return energy


@kernel
def gravity_energy(model: KernelModel, R_W: Floats, p_W: Floats, gravity: tuple[float, float, float]) -> float:
    """−Σ m g·c over the bodies, world positions."""
    energy = 0.0
    for i in range(len(model.parent)):
        mass, h, _ = get_rigid(model.inertia, i)
        energy -= mass * dot(gravity, get_vector(p_W, i)) + dot(gravity, apply(get_matrix(R_W, i), h))
    return energy


@kernel
def add_momentum(model: KernelModel, R_W: Floats, p_W: Floats, V: Floats, total: Floats) -> None:
    """total (6,) += angular momentum about the world's origin, linear momentum; world axes."""
    for i in range(len(model.parent)):
        own = rigid_momentum(get_rigid(model.inertia, i), get_spatial(V, i))
        n, f = force_to_parent(get_matrix(R_W, i), get_vector(p_W, i), own)
        for k in range(3):
            total[k] += n[k]
            total[3 + k] += f[k]
