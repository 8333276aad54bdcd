"""The total acceleration of every subassembly against the plain sum over its joints."""

from __future__ import annotations

import numpy as np
import pytest
from assembly import shapes
from helpers import ALL_KINDS, FIXED, FREE, MOVING_KINDS, Array, Indices, kind_id, random_inputs

from adaptive_sim import Engine
from adaptive_sim.adaptive import record
from adaptive_sim.adaptive.total_acceleration import total_acceleration
from adaptive_sim.linkage.joints import JointType

from .cases import linkage_arrays

# √𝒜 relative to the largest one of the linkage. A factor goes through one orthogonal transformation per level, some ten
# of them, and forces through as many joins: thousands of roundings of 1e-16. The star is worst.
AGREEMENT = 1e-10


def solved(
    parent: Indices, seed: int, kinds: tuple[JointType, ...] = ALL_KINDS, *, weighted: bool = False,
    base: JointType | None = None,
) -> tuple[Engine, Array]:  # fmt: skip
    """An engine with everything computed, so that the forces on every node are known, and its weights."""
    arrays = linkage_arrays(parent, seed, kinds, base=base)
    x = random_inputs(arrays, seed)
    weight = np.exp(np.random.default_rng(seed).uniform(-2.0, 2.0, arrays.nv)) if weighted else np.ones(arrays.nv)
    engine = Engine(arrays.linkage(), x.q, x.gravity, error_threshold=0.0, weight=weight)
    engine.set_joint_forces(x.tau)
    engine.set_force(range(arrays.n), x.force, torque=x.torque)
    engine.accelerate()
    return engine, weight


def inside(engine: Engine) -> list[list[int]]:
    """The joints (model order) of every node."""
    plan = engine._plan
    joints: list[list[int]] = [[] for _ in plan.upper]
    for i in (int(k) for k in plan.order):
        own = [int(plan.joint[i])] if plan.joint[i] >= 0 else []
        joints[i] = own + joints[plan.upper[i]] + joints[plan.lower[i]]
    return joints


def total_of(engine: Engine, node: int) -> tuple[float, float]:
    plan = engine._plan
    factor = engine._coefficients.factor.reshape(-1)
    row = node - len(plan.leaf_body)
    return total_acceleration(factor, row, engine._frontier.F, node)


def from_factor(engine: Engine, node: int) -> float:
    """‖L [F_u; F_v; 1]‖² + ρ² in plain NumPy, from the stored record."""
    plan, F = engine._plan, engine._frontier.F[node, :12]
    own = engine._coefficients.factor[node - len(plan.leaf_body)]
    L = own[: record.ROWS * 13].reshape(13, record.ROWS).T
    rows, outside = L[: plan.rank[node]], np.r_[F, 1.0]
    return float(np.sqrt(np.sum((rows @ outside) ** 2) + own[record.RHO] ** 2))


def check_every_node(engine: Engine, weight: Array) -> None:
    linkage = engine.linkage
    square = (linkage.v_to_model(weight) * engine._frontier.acceleration) ** 2
    per_joint = np.array([square[a:b].sum() for a, b in zip(linkage.v_start[:-1], linkage.v_start[1:])])
    largest = np.sqrt(per_joint.sum())
    assert largest > 0.0
    for node, joints in enumerate(inside(engine)):
        if engine._plan.rank[node] == 0:
            continue
        expected = np.sqrt(per_joint[joints].sum())
        found, rounding = total_of(engine, node)
        assert abs(found - expected) <= AGREEMENT * largest
        assert abs(from_factor(engine, node) - found) <= AGREEMENT * largest
        assert rounding > 0.0


@pytest.mark.parametrize("shape", [*shapes.NAMED, *shapes.RANDOM])
def test_the_factor_is_the_sum_of_squares_of_every_node(shape: str) -> None:
    rng = np.random.default_rng(3)
    parent = shapes.NAMED[shape](60) if shape in shapes.NAMED else shapes.RANDOM[shape](60, rng)
    check_every_node(*solved(np.asarray(parent), 1))


@pytest.mark.plain
@pytest.mark.parametrize("kind", MOVING_KINDS, ids=kind_id)
def test_joints_of_one_kind(kind: JointType) -> None:
    check_every_node(*solved(shapes.nearby(14, np.random.default_rng(int(kind))), 2, (kind,)))


@pytest.mark.plain
@pytest.mark.parametrize("base", [None, FREE, FIXED], ids=["jointed", "floating", "fixed"])
def test_weights_scale_the_joints(base: JointType | None) -> None:
    parent = shapes.molecule(20, np.random.default_rng(4))
    check_every_node(*solved(parent, 5, weighted=True, base=base))


def test_weight_per_joint_is_weight_of_all_its_rows() -> None:
    arrays = linkage_arrays(shapes.k_ary(12, 2), 3, ALL_KINDS)
    linkage = arrays.linkage()
    per_joint = np.linspace(0.5, 2.0, arrays.n)
    engines = [Engine(linkage, weight=w) for w in (per_joint, np.repeat(per_joint, arrays.v_sizes))]
    for engine in engines:
        engine.set_force(arrays.n - 1, (1.0, 2.0, 3.0))
        engine.accelerate()
    assert engines[0]._coefficients.factor.tobytes() == engines[1]._coefficients.factor.tobytes()


def test_ranks_say_which_rows_may_be_other_than_zero() -> None:
    engine, _ = solved(shapes.recursive(80, np.random.default_rng(6)), 6)
    plan, leaves = engine._plan, len(engine._plan.leaf_body)
    for node in (int(i) for i in plan.order):
        L = engine._coefficients.factor[node - leaves, : record.ROWS * 13].reshape(13, record.ROWS).T
        assert not L[plan.rank[node] :].any()
