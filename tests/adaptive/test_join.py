"""The join kernel, one node and one batch at a time, against the formulas as printed (oracle, 50 digits)."""

from __future__ import annotations

import numpy as np
import pytest
from assembly import shapes
from conftest import PLAIN
from helpers import (
    ALL_KINDS,
    CYLINDRICAL,
    EPS,
    FIXED,
    FREE,
    HELICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    UNIVERSAL,
    Array,
    Indices,
    kind_id,
)

from adaptive_sim.adaptive.passes import OK
from adaptive_sim.adaptive.plan import BLOCK
from adaptive_sim.linkage.joints import JointType
from adaptive_sim.spatial.lanes import LANES

from .cases import WORLD, Case
from .oracle import Subassembly, dca, join, join_of, rounded

# One join rounds a few hundred times, and M_cc⁻¹ lets the rounding of M grow by its condition number, up to 1e3 for
# these bodies. Errors are relative to the largest number that went into the block. Measured: 1e-13.
ONE_JOIN = 1e-11
# All joins below the node one after another. Measured: 2e-13.
ALL_JOINS = 1e-11


def expected_blocks(case: Case, i: int, A: Subassembly, B: Subassembly) -> tuple[dict[str, Array], dict[str, float]]:
    """What node i must hold if its children are A and B, and the size each block is to be measured by."""
    problem, tree = case.problem, case.tree
    if i == case.base_joint:
        top = int(tree.upper_handle[tree.root])
        C, link = join(A, WORLD, B, top, problem.joint[0], problem.Q[0], problem.c[0], {WORLD})
        u, v = WORLD, WORLD
    else:
        C, link = join_of(problem, tree, i, A, B)
        u, v = int(tree.upper_handle[i]), int(tree.lower_handle[i])
    N, E = link.N, link.D_inverse
    found = {
        "Phi_uu": C.Phi[u, u],
        "b_u": C.b[u],
        "joint_rotation": link.joint.R,
        "joint_origin": link.joint.p,
        "W": link.W,
        "gamma": link.gamma,
        "N": N,
        "E": E,
        "R": E @ link.Q - N @ link.beta,
    }
    if v not in (u, -1):
        found |= {
            "Phi_vv": C.Phi[v, v],
            "Phi_uv": C.Phi[u, v],
            "b_v": C.b[v],
            "pose_rotation": C.place[v][0],
            "pose_origin": C.place[v][1],
        }
    blocks = {name: rounded(block) for name, block in found.items()}
    # Φ^C and b^C are differences: their rounding errors are those of what was subtracted.
    Phi = max(np.abs(rounded(x)).max() for x in [*A.Phi.values(), *B.Phi.values()])
    b = max(np.abs(rounded(x)).max() for x in [*A.b.values(), *B.b.values(), link.beta])
    W = np.abs(blocks["W"]).max()
    Q = max([1.0, *np.abs(rounded(link.Q))])
    size = {name: float(np.abs(block).max(initial=1.0)) for name, block in blocks.items()}
    size |= dict.fromkeys(("Phi_uu", "Phi_uv", "Phi_vv", "E"), Phi)
    size |= {"gamma": W * b + size["N"] * Q, "R": size["N"] * b + Phi * Q}
    size |= dict.fromkeys(("b_u", "b_v"), b + Phi * size["gamma"])
    return blocks, size


def worst_difference(case: Case, i: int, A: Subassembly, B: Subassembly) -> tuple[float, str]:
    found = case.blocks(i)
    expected, size = expected_blocks(case, i, A, B)
    assert found.keys() == expected.keys()
    errors = []
    for name, block in expected.items():
        assert found[name].shape == block.shape, name
        error = np.abs(found[name] - block).max(initial=0.0) / size[name]
        errors.append((float("inf") if np.isnan(error) else float(error), name))
    return max(errors)


def check_every_join(case: Case) -> None:
    """Every node, from its children as they are stored."""
    assert case.main_pass() == OK
    for i in case.inner:
        A, B = (case.subassembly(int(child[i])) for child in (case.plan.upper, case.plan.lower))
        error, name = worst_difference(case, i, A, B)
        assert error <= ONE_JOIN, f"{name} of node {i} ({JointType(case.plan.kind[i]).name}) is off by {error:.1e}"


SHAPES = {
    "chain": shapes.chain(20),  # compress
    "star": shapes.star(70),  # rakes, and splits of the hub
    "caterpillar": shapes.caterpillar(20),
    "broom": shapes.broom(24),
    "binary": shapes.k_ary(31, 2),
    "recursive": shapes.recursive(40, np.random.default_rng(3)),
    "subdivided binary": shapes.doubled(shapes.chain(1), 3),  # long rakes
    "7-ary": shapes.k_ary(20, 7),
    "preferential": shapes.preferential(40, np.random.default_rng(23)),
}
by_shape = pytest.mark.parametrize("parent", SHAPES.values(), ids=SHAPES)
by_rakes = pytest.mark.parametrize("long_rakes", [True, False], ids=["long rakes", "short rakes"])
by_kind = pytest.mark.parametrize("kind", ALL_KINDS, ids=kind_id)


# -------------------------------------------------------------------- against the oracle


@by_kind
@pytest.mark.parametrize("shape", ["chain", "star"])
def test_every_joint_type(kind: JointType, shape: str) -> None:
    check_every_join(Case.random(SHAPES[shape][:12], 1, [kind]))


@by_shape
@by_rakes
def test_every_shape_with_all_joint_types(parent: Indices, long_rakes: bool) -> None:
    check_every_join(Case.random(parent, 2, long_rakes=long_rakes))


@pytest.mark.parametrize("base", [FIXED, REVOLUTE, FREE, UNIVERSAL], ids=kind_id)
@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["at rest", "moving"])
def test_base_joints(base: JointType, speed: float) -> None:
    check_every_join(Case.random(SHAPES["binary"], 3, base=base, speed=speed))


def test_springs_and_damping_are_part_of_the_joint_forces() -> None:
    check_every_join(Case.random(SHAPES["recursive"], 4, springs=True, damping=True))


@pytest.mark.plain
@pytest.mark.parametrize("shape", ["chain", "star"])
def test_small_linkage_of_all_joint_types(shape: str) -> None:
    """Also without compilation."""
    check_every_join(Case.random(SHAPES[shape][:10], 5))


@by_shape
@by_rakes
def test_all_joins_together(parent: Indices, long_rakes: bool) -> None:
    """Every node, from the oracle's own children: nothing that the kernels stored is used."""
    case = Case.random(parent, 6, long_rakes=long_rakes)
    assert case.main_pass() == OK
    solution = dca(case.problem, case.tree)
    node = [*solution.node, None, case.subassembly(len(case.plan.upper) - 1)]
    for i in case.inner:
        A, B = node[case.plan.upper[i]], node[case.plan.lower[i]]
        assert A is not None
        assert B is not None
        error, name = worst_difference(case, i, A, B)
        assert error <= ALL_JOINS, f"{name} of node {i} is off by {error:.1e}"


@by_rakes
def test_the_shapes_hold_every_kind_of_node(long_rakes: bool) -> None:
    """What the tests above went through: every way two, one or no open handles come together."""
    seen = set()
    for parent in SHAPES.values():
        case = Case.random(parent, 2, long_rakes=long_rakes)
        plan, names = case.plan, {(1, 0): "one", (0, 1): "two", (0, 0): "closed"}
        for i in case.inner[:-1]:
            A, B, C = (names[int(plan.single[k]), int(plan.two[k])] for k in (plan.upper[i], plan.lower[i], i))
            seen.add((A, B, C, "split" if plan.joint[i] < 0 else "joint"))
    expected = {
        ("one", "one", "two", "joint"), ("one", "two", "two", "joint"), ("two", "one", "two", "joint"),
        ("two", "two", "two", "joint"), ("one", "closed", "closed", "joint"), ("two", "closed", "closed", "joint"),
        ("one", "closed", "one", "joint"), ("one", "one", "two", "split"), ("two", "one", "two", "split"),
        ("two", "two", "two", "split"), ("two", "closed", "closed", "split"),
    }  # fmt: skip
    if long_rakes:
        expected |= {("two", "closed", "one", "joint"), ("two", "closed", "one", "split")}
    assert expected <= seen, expected - seen


# -------------------------------------------------------------------- batches


def one_level(case: Case, height: int = 1) -> list[int]:
    return [i for i in case.inner[:-1] if case.tree.height[i] == height]


MIXED = {
    "one degree of freedom": [REVOLUTE, HELICAL, PRISMATIC],
    "two": [CYLINDRICAL, UNIVERSAL],
    "three": [SPHERICAL, PLANAR],
    "any": ALL_KINDS,
}


@pytest.mark.plain
@pytest.mark.parametrize("kinds", MIXED.values(), ids=MIXED)
def test_joint_types_mixed_in_one_level(kinds: list[JointType]) -> None:
    """Aligned joints beside those that need P (helical, universal): whatever shares a batch, every node is right."""
    case = Case.random(shapes.star(12 if PLAIN else 40), 7, kinds)
    assert len(one_level(case)) >= LANES
    check_every_join(case)


@pytest.mark.parametrize("count", range(1, 2 * LANES + 2))
def test_short_batches(count: int) -> None:
    """A level of any length: what fills up the last batch changes nothing."""
    case = Case.random(shapes.star(40), 8, [REVOLUTE])
    case.update_poses(case.inner)
    assert case.update(case.inner) == OK
    nodes = one_level(case)[:count]
    check_bits(case, [nodes])


def check_bits(case: Case, orders: list[list[int]]) -> None:
    """Joining these nodes again, in these orders, gives the same bits; nothing else is touched."""
    reference = case.copy()
    for nodes in orders:
        case.poison(nodes)
        case.update_poses(sorted(set(nodes)))
        assert case.update(nodes) == OK
        for i in nodes:
            assert case.bits(i) == reference.bits(i), f"node {i} in {nodes}"
        for mine, theirs in zip(case.coefficients, reference.coefficients):
            assert mine.tobytes() == theirs.tobytes()


@by_shape
def test_neighbours_order_and_padding_change_no_bit(parent: Indices) -> None:
    """The coefficients of a node depend on its children alone, not on what shares its batch."""
    case = Case.random(parent, 9)
    case.update_poses(case.inner)
    assert case.update(case.inner) == OK
    rng = np.random.default_rng(10)
    for height in range(1, case.tree.depth + 1):
        nodes = one_level(case, height)
        singly = [[i] for i in nodes]
        subsets = [list(rng.permutation(nodes)[: rng.integers(1, len(nodes) + 1)]) for _ in range(6)]
        repeated = [list(rng.choice(nodes, 2 * LANES + 1)) for _ in range(3)]
        check_bits(case, [*singly, nodes[::-1], *subsets, *repeated])


@by_kind
def test_every_pass_gives_the_same_bits(kind: JointType) -> None:
    """On one thread, on two, and node by node, as the lazy update does it: each is compiled by itself."""
    case = Case.random(shapes.star(3 * BLOCK), 16, [kind])
    by_nodes, parallel = case.copy(), case.copy()
    assert case.main_pass() == OK
    assert parallel.main_pass(threads=2) == OK
    by_nodes.update_poses(case.inner)
    assert by_nodes.update(case.inner) == OK
    for other in (parallel, by_nodes):
        for mine, theirs in zip(case.coefficients, other.coefficients):
            assert mine.tobytes() == theirs.tobytes()


# -------------------------------------------------------------------- forces alone


@by_shape
@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["at rest", "moving"])
def test_forces_alone_give_the_same_bits_as_everything(parent: Indices, speed: float) -> None:
    case = Case.random(parent, 11, speed=speed)
    assert case.main_pass() == OK
    rng = np.random.default_rng(12)
    case.tau = rng.normal(size=case.tau.shape)
    case.f_ext = rng.normal(size=case.f_ext.shape)
    everything = case.copy()
    for other in (case, everything):
        other.set_leaves()
    assert everything.main_pass() == OK
    assert case.update(case.inner, moved=[]) == OK
    for mine, theirs in zip(case.coefficients, everything.coefficients):
        assert mine.tobytes() == theirs.tobytes()


@by_shape
def test_geometry_where_it_moved_and_forces_elsewhere(parent: Indices) -> None:
    """One joint moves: its node and those above are joined anew, all others get their forces only."""
    case = Case.random(parent, 17)
    assert case.main_pass() == OK
    rng = np.random.default_rng(18)
    case.tau = rng.normal(size=case.tau.shape)
    for node in rng.permutation(case.inner)[:5]:
        moved, i = [], int(node)
        while i >= 0:
            moved.append(i)
            i = int(case.plan.parent[i])
        joint = int(case.plan.joint[node])
        at = case.linkage.q_start[joint]
        if joint >= 0 and case.plan.kind[node] not in (FIXED, SPHERICAL, FREE):
            case.q[at] += 0.1
        everything = case.copy()
        assert everything.main_pass() == OK
        case.update_poses(moved)
        assert case.update(case.inner, moved) == OK
        for mine, theirs in zip(case.coefficients, everything.coefficients):
            assert mine.tobytes() == theirs.tobytes()


def test_forces_alone_do_not_touch_geometry() -> None:
    case = Case.random(SHAPES["recursive"], 13)
    assert case.main_pass() == OK
    before = [case.blocks(i) for i in case.inner]
    before = [{name: block.copy() for name, block in blocks.items()} for blocks in before]
    case.tau = np.zeros_like(case.tau)
    case.update(case.inner, moved=[])
    changed = set()
    for i, old in zip(case.inner, before):
        changed |= {name for name, block in case.blocks(i).items() if not np.array_equal(block, old[name])}
    assert changed == {"b_u", "b_v", "gamma", "R"}


def test_symmetry_to_the_last_bit_and_definiteness() -> None:
    """Φ and W have no negative eigenvalue beyond rounding."""
    case = Case.random(SHAPES["recursive"], 14)
    assert case.main_pass() == OK
    for i in case.inner:
        blocks = case.blocks(i)
        for name in {"Phi_uu", "Phi_vv", "W"} & blocks.keys():
            values = np.linalg.eigvalsh(blocks[name])
            assert values[0] >= -100 * EPS * values[-1], name


# -------------------------------------------------------------------- where records lie


@by_shape
def test_records_do_not_overlap(parent: Indices) -> None:
    """Every node's record is its own, and children come before parents."""
    case = Case.random(parent, 15)
    plan = case.plan
    ends = np.append(plan.at[1:], len(case.coefficients.store))
    assert (np.diff(plan.at) > 0).all()
    assert all(plan.at[i] + len(case.record(i)) <= ends[i] for i in case.inner)
    place = {i: k for k, i in enumerate(case.inner)}
    for i in case.inner:
        for child in (int(plan.upper[i]), int(plan.lower[i])):
            assert plan.parent[child] == i
            assert place.get(child, -1) < place[i]
    assert sorted(case.inner) == list(range(case.tree.n_leaves, case.tree.n_nodes + 1))
