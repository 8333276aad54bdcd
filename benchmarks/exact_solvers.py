"""The exact solvers: time per joint, against Pinocchio, over sizes, at a million bodies, and what starting costs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

import adaptive_sim as asim
from adaptive_sim.typing import Floats

from .harness import Figure, Timing, at_least, at_most, benchmark, in_fresh_process, timed

NS, MS, GB = 1e9, 1e3, 1e9
PER_JOINT = at_most(120.0)  # ns, one core, after compilation
AGAINST_PINOCCHIO = at_least(1.3)
FLATNESS = at_most(1.5)  # ns per joint at 1,000,000 over 10,000
MILLION_SECONDS, MILLION_GB = at_most(20.0), at_most(4.0)
HELP_SECONDS = at_most(0.5)
# Two ABAs in different frames and orders of summation, at 500 joints; measured differences are below 1e-11.
AGREEMENT = at_most(1e-9)
# RNEA(ABA) over the largest joint force; a few thousand roundings.
RESIDUAL = at_most(1e-9)


def prepared_kernel(linkage: asim.Linkage, state: asim.State, tau: Floats) -> Callable[[], Floats]:
    """The compiled ABA as a simulation loop calls it: workspace and outputs allocated once."""
    from adaptive_sim.exact import aba
    from adaptive_sim.exact.dynamics import base_acceleration

    model, work, base = linkage.kernel_model, aba.make_workspace(linkage), base_acceleration(asim.GRAVITY)
    q, v, tau = linkage.q_to_model(state.q), linkage.v_to_model(state.v), linkage.v_to_model(tau)
    no_forces, a, qdd = np.empty((0, 6)), np.empty((linkage.n_bodies, 6)), np.empty(linkage.nv)

    def call() -> Floats:
        if aba.aba(model, q, v, tau, no_forces, base, work, a, qdd) != aba.OK:
            raise RuntimeError("ABA broke down")
        return qdd

    return call


def contenders(linkage: asim.Linkage) -> dict[str, Callable[[], Any]]:
    """The raw kernel and the public function on the same random state with velocities and joint forces."""
    state = asim.random_state(linkage, seed=1)
    tau = np.random.default_rng(2).normal(size=linkage.nv)
    return {
        "kernel": prepared_kernel(linkage, state, tau),
        "forward_dynamics": lambda: asim.forward_dynamics(linkage, state.q, state.v, tau),
    }


def per_joint(timing: Timing, n: int) -> tuple[float, str]:
    """ns per joint by the median, and the best as a note."""
    return NS * timing.median / n, f"best {NS * timing.best / n:.0f} ns; {MS * timing.median:.3g} ms per call"


# -------------------------------------------------------------------- (a) time per joint


@benchmark
def aba_50000(quick: bool) -> Iterator[Figure]:
    """ABA with velocities, 50,000 revolute joints, one core."""
    n = 50_000
    for name in ("chain", "molecule"):
        # Its own process: what forward_dynamics allocates is cheap or dear by what the heap has seen before.
        found = in_fresh_process(time_aba, name, n, 5 if quick else 25).result
        for what, samples in found.items():
            value, note = per_joint(Timing(tuple(samples)), n)
            yield Figure(f"{name}, {what}", value, "ns/joint", PER_JOINT, note)


def time_aba(generator: str, n: int, rounds: int) -> dict[str, tuple[float, ...]]:
    linkage = getattr(asim, generator)(n, seed=0)
    return {what: timing.samples for what, timing in timed(contenders(linkage), rounds).items()}


# -------------------------------------------------------------------- (b) against Pinocchio


@benchmark
def against_pinocchio(quick: bool) -> Iterator[Figure]:
    """The same linkages in Pinocchio's ABA, timed by turns; 500 joints is about as many as its Data has room for."""
    try:
        import pinocchio  # noqa: F401
    except ImportError as error:
        yield Figure("Pinocchio", None, "", AGAINST_PINOCCHIO, f"cannot be imported: {error}")
        return
    for name, n in product(("chain", "molecule"), (100, 500)):
        # Pinocchio's Data takes 4 GB at 500 joints: give them back between linkages. At 100 they hardly matter.
        found = in_fresh_process(race_pinocchio, name, n, 7 if quick else 31).result
        for what in ("kernel", "forward_dynamics"):
            note = f"{found['ns'][what]:.0f} against {found['ns']['theirs']:.0f} ns/joint; {found['theirs']}"
            goal = AGAINST_PINOCCHIO if n == 500 else None
            yield Figure(f"{name} of {n}, {what}", found["ratio"][what], "× faster", goal, note)
        yield Figure(f"{name} of {n}, largest difference", found["difference"], "relative", AGREEMENT)


def race_pinocchio(generator: str, n: int, rounds: int) -> dict[str, Any]:
    """ns per joint of ours and of Pinocchio's faster convention, their ratio, and how far they differ."""
    import pinocchio as pin

    linkage = getattr(asim, generator)(n, seed=0)
    model = to_pinocchio(linkage)
    data = model.createData()
    state = asim.random_state(linkage, seed=1)
    tau = np.random.default_rng(2).normal(size=linkage.nv)
    q, v = state.q, state.v
    theirs = {
        "local": lambda: pin.aba(model, data, q, v, tau, pin.Convention.LOCAL),
        "world": lambda: pin.aba(model, data, q, v, tau, pin.Convention.WORLD),
    }
    ours: dict[str, Callable[[], Any]] = {
        "kernel": prepared_kernel(linkage, state, tau),
        "forward_dynamics": lambda: asim.forward_dynamics(linkage, q, v, tau),
    }
    expected = np.array(theirs["local"]())
    difference = np.abs(ours["kernel"]() - expected).max() / np.abs(expected).max()
    times = timed({**ours, **theirs}, rounds)
    faster = min(theirs, key=lambda name: times[name].median)
    times["theirs"] = times[faster]
    return {
        "ns": {name: NS * times[name].median / n for name in (*ours, "theirs")},
        "ratio": {name: times[faster].over(times[name]) for name in ours},
        "theirs": f"pin {pin.__version__}, {faster} convention",
        "difference": float(difference),
    }


def to_pinocchio(linkage: asim.Linkage) -> Any:
    """A linkage of revolute joints as a Pinocchio model, with the special joint type where the axis is z."""
    import pinocchio as pin

    if not linkage.joint_mask(asim.JointType.REVOLUTE).all() or not linkage.in_input_order:
        raise ValueError("only revolute joints, parents first")
    model = pin.Model()
    model.gravity.linear = np.array(asim.GRAVITY)
    for i in range(linkage.n_bodies):
        axis = linkage.axis[i]
        joint = pin.JointModelRZ() if (axis == (0.0, 0.0, 1.0)).all() else pin.JointModelRevoluteUnaligned(axis)
        placement = pin.SE3(linkage.rotation[i], linkage.translation[i])
        # Pinocchio counts the world as joint 0.
        index = model.addJoint(int(linkage.parent[i]) + 1, joint, placement, f"joint_{i}")
        inertia = pin.Inertia(float(linkage.mass[i]), linkage.center_of_mass[i], linkage.inertia[i])
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    return model


# -------------------------------------------------------------------- (c) time per joint over sizes


@benchmark
def aba_scaling(quick: bool) -> Iterator[Figure]:
    """ABA kernel per joint from 1,000 to 1,000,000 joints."""
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    for name, generate in (("chain", asim.chain), ("molecule", asim.molecule)):
        kernels = {str(n): contenders(generate(n, seed=0))["kernel"] for n in sizes}
        times = timed(kernels, rounds=3 if quick else 11)
        for n in sizes:
            value, note = per_joint(times[str(n)], n)
            yield Figure(f"{name} of {n:,}", value, "ns/joint", None, note)
        ratio = times["1000000"].over(times["10000"]) / 100
        yield Figure(f"{name}: 1,000,000 over 10,000, per joint", ratio, "×", FLATNESS)


# -------------------------------------------------------------------- (d) a million bodies


@benchmark
def million_bodies(quick: bool) -> Iterator[Figure]:
    """Building, checking and solving a linkage of 1,000,000 bodies in a process of its own."""
    for name in ("chain", "star"):
        found = in_fresh_process(build_and_solve, name, 1_000_000)
        times = found.result
        yield Figure(f"{name}: build and validate", times["build"], "s", MILLION_SECONDS)
        yield Figure(f"{name}: first forward_dynamics", times["solve"], "s", None, "derives the kernels' arrays too")
        yield Figure(f"{name}: peak memory", found.peak_bytes / GB, "GB", MILLION_GB, "building and solving")
        yield Figure(f"{name}: RNEA residual", times["residual"], "relative", RESIDUAL)


def build_and_solve(generator: str, n: int) -> dict[str, float]:
    asim.forward_dynamics(getattr(asim, generator)(10), joint_forces=True)  # compile, or load from the cache
    start = perf_counter()
    linkage = getattr(asim, generator)(n)
    built = perf_counter()
    solution = asim.forward_dynamics(linkage, joint_forces=True)
    solved = perf_counter()
    left = np.abs(asim.inverse_dynamics(linkage, acceleration=solution.acceleration)).max()
    assert solution.joint_force is not None
    return {
        "build": built - start,
        "solve": solved - built,
        "residual": float(left / np.abs(solution.joint_force).max()),
    }


# -------------------------------------------------------------------- (e) sparse against dense factorisation


@benchmark
def sparse_factorization(quick: bool) -> Iterator[Figure]:
    """LᵀDL in O(n·d²) against dense Cholesky (LAPACK, one thread), factorise and solve."""
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for name in ("balanced", "random_tree"):
        rows = in_fresh_process(race_dense, name, [200, 600, 2000], 5 if quick else 15, env=one_thread).result
        for row in rows:
            title = f"{name}, {row['dof']:,} dof, depth {row['depth']}"
            note = (
                f"{1e6 * row['sparse']:.3g} against {1e6 * row['dense']:.3g} µs; "
                f"{row['sparse_operations']:,} against {row['dense_operations']:,} multiply-adds"
            )
            yield Figure(title, row["ratio"], "× faster", at_least(1.0), note)
        yield Figure(f"{name}: largest difference", max(row["difference"] for row in rows), "relative", AGREEMENT)
        # O(n·d²): the time per operation stays the same.
        first, last = rows[0], rows[-1]
        growth = (last["sparse"] / last["sparse_operations"]) / (first["sparse"] / first["sparse_operations"])
        yield Figure(f"{name}: time per multiply-add, 2,000 over 200", growth, "×", at_most(2.0))


def race_dense(generator: str, sizes: list[int], rounds: int) -> list[dict[str, Any]]:
    import scipy.linalg

    from adaptive_sim.exact import ltdl
    from adaptive_sim.exact.dynamics import _inertia_rows

    found = []
    for n in sizes:
        linkage = getattr(asim, generator)(n, seed=0, joint="revolute")
        q = asim.random_state(linkage, seed=1).q
        dense = asim.mass_matrix(linkage, q)
        rows = _inertia_rows(linkage, linkage.q_to_model(q))
        right = np.random.default_rng(2).normal(size=linkage.nv)
        factors, x = rows.H.copy(), right.copy()

        # Both copy the matrix first: factorising overwrites it. Bound now: the loop goes on.
        def solve_sparse(H: Floats = rows.H, factors: Floats = factors, x: Floats = x, rows: Any = rows,
                         right: Floats = right) -> Floats:  # fmt: skip
            factors[:] = H
            x[:] = right
            ltdl.factorize(factors, rows.dof_parent, rows.row_start)
            ltdl.solve(factors, rows.dof_parent, rows.row_start, x)
            return x

        def solve_dense(H: Floats = dense, right: Floats = right) -> Any:
            return scipy.linalg.cho_solve(scipy.linalg.cho_factor(H, check_finite=False), right, check_finite=False)

        expected = solve_dense()
        difference = np.abs(linkage.v_to_input(solve_sparse()) - expected).max() / np.abs(expected).max()
        times = timed({"sparse": solve_sparse, "dense": solve_dense}, rounds)
        # A row with d ancestors: d(d+1)/2 multiply-adds to factorise, 2d to solve.
        ancestors = np.diff(rows.row_start) - 1
        found.append({
            "dof": linkage.nv,
            "depth": linkage.depth,
            "ratio": times["dense"].over(times["sparse"]),
            "sparse": times["sparse"].median,
            "dense": times["dense"].median,
            "sparse_operations": int((ancestors * (ancestors + 1) // 2 + 2 * ancestors).sum()),
            "dense_operations": linkage.nv**3 // 6 + linkage.nv**2,
            "difference": float(difference),
        })  # fmt: skip
    return found


# -------------------------------------------------------------------- (f) starting


@benchmark
def starting(quick: bool) -> Iterator[Figure]:
    """What a start costs: imports, the command line's help, compiling, and starting from the cache."""
    repeats = 1 if quick else 3
    for code in ("import adaptive_sim", "from adaptive_sim import *"):
        value = min(_statement_seconds(code) for _ in range(repeats))
        yield Figure(code, value, "s", None, "every public name" if "*" in code else "names are loaded when used")
    yield Figure("adaptive-sim --help", min(_help_seconds() for _ in range(3)), "s", HELP_SECONDS)
    with tempfile.TemporaryDirectory() as cache:
        env = {"NUMBA_CACHE_DIR": cache}
        cold = in_fresh_process(first_call, env=env)
        warm = min((in_fresh_process(first_call, env=env) for _ in range(repeats)), key=lambda run: run.seconds)
    for name, run in (("empty cache", cold), ("from the cache", warm)):
        yield Figure(f"first forward_dynamics, {name}", run.result, "s", None, "imports, building and solving a chain")
        yield Figure(f"the whole process, {name}", run.seconds, "s", None)


def first_call() -> float:
    """Seconds to the first result for a small chain; every kernel it needs is compiled or loaded."""
    start = perf_counter()
    linkage = asim.chain(10)
    asim.forward_dynamics(linkage)
    return perf_counter() - start


def _statement_seconds(code: str) -> float:
    """Seconds of a statement in an interpreter that has imported nothing."""
    program = f"from time import perf_counter as t; start = t(); exec({code!r}); print(t() - start)"
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


def _help_seconds() -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-m", "adaptive_sim.cli.main", "--help"], stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - start
