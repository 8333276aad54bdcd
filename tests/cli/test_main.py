"""The command line as users meet it: exit codes, messages, no tracebacks, and how soon it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adaptive_sim
import adaptive_sim.cli.solve
from adaptive_sim import __version__
from adaptive_sim.cli.linkages import GENERATORS
from adaptive_sim.cli.main import app
from adaptive_sim.errors import SimulationError

HELP_SECONDS = 0.5
# RNEA(ABA) over the largest joint force is a few roundings at these sizes; measured below 1e-13.
RESIDUAL = 1e-11
# Children run the very package this process tests, be it the checkout or the installed one: -P leaves out the
# directory they start in.
PYTHON = [sys.executable, "-P"]
PROGRAM = [*PYTHON, "-m", "adaptive_sim.cli.main"]
SAME_PACKAGE = {**os.environ, "PYTHONPATH": str(Path(adaptive_sim.__file__).parents[1])}
FACTS = {
    "generator", "method", "gravity", "bodies", "dof", "depth", "build_seconds", "seconds_per_call", "ns_per_joint",
    "largest_acceleration", "residual",
}  # fmt: skip


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The real program, in its own process."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env=SAME_PACKAGE, check=False,
    )  # fmt: skip


def invoke(*arguments: str) -> tuple[int, str, str]:
    """The same app in this process: exit code, stdout, stderr."""
    result = CliRunner().invoke(app, list(arguments), prog_name="adaptive-sim")
    return result.exit_code, result.stdout, result.stderr


def solved(*arguments: str) -> dict[str, object]:
    code, out, err = invoke("solve", *arguments, "--repeat", "1", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert set(facts) == FACTS
    return dict(facts)


# -------------------------------------------------------------------- help and version


def test_version() -> None:
    assert run("--version").stdout == f"adaptive-sim {__version__}\n"


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["solve", "-h"], ["solve", "--help"]])
def test_help_shows_an_example(arguments: list[str]) -> None:
    code, out, _ = invoke(*arguments)
    assert code == 0
    assert "adaptive-sim solve molecule -n 50000" in out


def test_help_names_every_generator() -> None:
    _, out, _ = invoke("solve", "--help")
    assert all(name in out for name in GENERATORS)


@pytest.mark.skipif(os.name == "nt", reason="Windows does not count the time of children")
@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"], ["--version"]])
def test_help_answers_quickly(arguments: list[str]) -> None:
    """By processor time: that is the waiting time on an idle machine, and other tests running do not disturb it."""
    times = []
    for _ in range(3):
        before = os.times()
        assert run(*arguments).returncode == 0
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert 0.0 < min(times) < HELP_SECONDS


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'numba', 'scipy', 'h5py', 'matplotlib', 'rich.table'}"
    code = f"import sys, adaptive_sim.cli.main; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True, check=True, env=SAME_PACKAGE)
    assert found.stdout == "[]\n"


# -------------------------------------------------------------------- solve


@pytest.mark.parametrize("name", GENERATORS)
def test_solve_every_generator(name: str) -> None:
    facts = solved(name) if name == "human_figure" else solved(name, "-n", "60")
    assert facts["generator"] == name
    assert name == "human_figure" or facts["bodies"] == 60
    assert isinstance(facts["residual"], float)
    assert facts["residual"] < RESIDUAL


def test_both_methods_agree() -> None:
    aba, crba = (solved("caterpillar", "-n", "40", "--method", method) for method in ("aba", "crba"))
    # Two solvers of the same 40-dof system: equal up to rounding times the condition number, about 1e3.
    assert aba["largest_acceleration"] == pytest.approx(crba["largest_acceleration"], rel=1e-10)


def test_options_reach_the_linkage() -> None:
    assert solved("chain", "-n", "7")["depth"] == 7
    first, again, other = (solved("chain", "-n", "7", "--seed", seed)["largest_acceleration"] for seed in "112")
    assert first == again != other


def test_gravity_scales_the_acceleration_from_rest() -> None:
    one, two, none = (solved("chain", "-n", "5", "--gravity", g) for g in ("0,0,-1", "0,0,-2", "0,0,0"))
    assert two["largest_acceleration"] == pytest.approx(2.0 * float(str(one["largest_acceleration"])), rel=1e-12)
    assert none["largest_acceleration"] == 0.0
    assert none["residual"] == 0.0


def test_table() -> None:
    code, out, _ = invoke("solve", "star", "-n", "1234", "--repeat", "1")
    assert code == 0
    for text in ("bodies", "1,234", "degrees of freedom", "depth", "build time", "time per call", "per joint", "RNEA"):
        assert text in out


def test_only_json_on_stdout_in_a_real_process() -> None:
    result = run("solve", "balanced", "-n", "31", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["depth"] == 5


# -------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chian"], "unknown generator 'chian'; did you mean 'chain'?"),
        (["xyzzy"], "unknown generator 'xyzzy'; known: chain, molecule"),
        (["chain", "--method", "abba"], "unknown method 'abba'; did you mean 'aba'?"),
        (["chain", "-n", "0"], "n = 0; give a whole number, 1 or more"),
        (["chain", "-n", "-5"], "n = -5"),
        (["millipede", "-n", "0"], "give a whole number, 1 or more"),
        (["millipede", "-n", "-3"], "give a whole number, 1 or more"),
        (["chain", "--seed", "-1"], "seed = -1; give 0 or more"),
        (["bicycle_chain", "--seed", "1"], "nothing in bicycle_chain is random; leave out --seed"),
        (["human_figure", "-n", "3"], "human_figure has a fixed number of bodies; leave out -n"),
        (["chain", "--repeat", "0"], "repeat = 0; give 1 or more"),
        (["chain", "--gravity", "9.81"], "gravity = '9.81'; give three numbers like 0,0,-9.81"),
        (["chain", "--gravity", "a,b,c"], "gravity = 'a,b,c'"),
        (["chain", "--gravity", "0,0,nan"], "gravity = '0,0,nan'"),
        (["chain", "-n", "40000", "--method", "crba"], "use forward_dynamics(method='aba')"),
    ],
)
def test_wrong_input_exits_with_2(arguments: list[str], message: str) -> None:
    code, out, err = invoke("solve", *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve"], "generator"),
        (["solve", "chain", "-n", "many"], "'-n'"),
        (["solve", "chain", "--nope"], "--nope"),
        (["sovle", "chain"], "sovle"),
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str], message: str) -> None:
    code, _, err = invoke(*arguments)
    assert code == 2
    assert message in err


def test_no_traceback_in_a_real_process() -> None:
    result = run("solve", "chian")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_failed_computation_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SimulationError("joint 3 broke down")

    monkeypatch.setattr(adaptive_sim.cli.solve, "build_linkage", fail)
    assert invoke("solve", "chain") == (1, "", "error: joint 3 broke down\n")


def test_out_of_memory_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("7 TiB")

    monkeypatch.setattr(adaptive_sim.cli.solve, "build_linkage", fail)
    assert invoke("solve", "chain") == (1, "", "error: out of memory (7 TiB); use a smaller linkage\n")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(adaptive_sim.cli.solve, "build_linkage", fail)
    result = CliRunner().invoke(app, ["solve", "chain"])
    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to send to a child on Windows")
def test_interrupt_exits_with_130() -> None:
    """Ctrl-C in the middle of a long run: one line, no traceback."""
    # The child says when it is about to solve, so that the signal surely lands in the command.
    code = (
        "import adaptive_sim.cli.main as m, adaptive_sim.cli.solve as s, time, sys\n"
        "def wait(*_): print('ready', flush=True); time.sleep(60)\n"
        "s.build_linkage = wait\n"
        "sys.argv = ['adaptive-sim', 'solve', 'chain']\n"
        "m.main()\n"
    )
    with subprocess.Popen(
        [*PYTHON, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=SAME_PACKAGE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
        assert child.stderr.read() == "interrupted\n"
