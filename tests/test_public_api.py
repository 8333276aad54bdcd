"""The public names: all there, all documented, loaded when used, and the package itself quick to import."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import adaptive_sim
from adaptive_sim import errors

ROOT = Path(adaptive_sim.__file__).resolve().parents[1]
# A command that only prints its help should feel immediate; measured 0.02 s plus the start of Python.
IMPORT_TIME = 0.5  # seconds, best of three (others may use the machine)
HEAVY = ["numba", "llvmlite", "scipy", "h5py", "matplotlib", "pydantic", "numpy"]


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, adaptive_sim; print([m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"


def test_import_is_quick() -> None:
    took = []
    for _ in range(3):
        start = time.perf_counter()
        run_python("import adaptive_sim")
        took.append(time.perf_counter() - start)
    assert min(took) < IMPORT_TIME


def test_errors_and_version_need_nothing_heavy_either() -> None:
    code = f"import sys, adaptive_sim; adaptive_sim.InputError, adaptive_sim.__version__, dir(adaptive_sim); \
print([m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"


@pytest.mark.parametrize("name", adaptive_sim.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(adaptive_sim, name) is not None


def test_star_import_gives_exactly_the_public_names() -> None:
    code = "from adaptive_sim import *; print(sorted(n for n in dir() if not n.startswith('__') or n == '__version__'))"
    assert ast.literal_eval(run_python(code).stdout) == sorted(adaptive_sim.__all__)


def test_names_are_listed_once_and_in_all_three_places() -> None:
    """`__all__`, the lazy table and the imports for type checkers must not drift apart."""
    assert len(set(adaptive_sim.__all__)) == len(adaptive_sim.__all__)
    assert set(adaptive_sim.__all__) == {*adaptive_sim._MODULE_OF, "__version__"}
    tree = ast.parse(Path(adaptive_sim.__file__).read_text(encoding="utf-8"))
    checked = {}
    for block in tree.body:
        if isinstance(block, ast.If):
            for node in block.body:
                assert isinstance(node, ast.ImportFrom)
                checked.update({alias.name: node.module for alias in node.names})
    assert checked == adaptive_sim._MODULE_OF
    assert dir(adaptive_sim) == sorted(adaptive_sim.__all__)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'adaptive_sim' has no attribute 'nonsense'"):
        _ = adaptive_sim.nonsense


def test_every_public_function_and_class_is_documented() -> None:
    for name in adaptive_sim.__all__:
        value = getattr(adaptive_sim, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            own = inspect.getdoc(value) or ""
            assert own, f"{name} has no docstring"


# -------------------------------------------------------------------- errors


def test_the_hierarchy_is_the_one_drawn() -> None:
    """The drawing at the top of errors.py names every class, and nothing else is an error of the package."""
    drawn = set()
    for line in (errors.__doc__ or "").splitlines():
        words = line.replace("│", " ").replace("├──", " ").replace("└──", " ").split()
        if words and words[0].endswith("Error"):
            drawn.add(words[0])
    defined = {n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)}
    assert drawn == defined
    assert all(issubclass(getattr(errors, n), errors.AdaptiveSimError) for n in defined)


@pytest.mark.parametrize(
    ("error", "parents", "code"),
    [
        (errors.InvalidLinkageError, (errors.InputError, ValueError), 2),
        (errors.InvalidStateError, (errors.InputError, ValueError), 2),
        (errors.UnsupportedError, (errors.InputError, ValueError), 2),
        (errors.SingularJointError, (errors.SimulationError,), 1),
    ],
)
def test_errors_have_their_place_and_exit_code(error, parents, code: int) -> None:
    assert all(issubclass(error, parent) for parent in (*parents, errors.AdaptiveSimError))
    assert error.exit_code == code
    assert not (issubclass(error, errors.InputError) and issubclass(error, errors.SimulationError))


def test_messages() -> None:
    one = errors.InvalidLinkageError(["mass is missing"])
    assert str(one) == "the linkage has 1 problem:\n  - mass is missing"
    two = errors.InvalidLinkageError(["a", "b"])
    assert str(two) == "the linkage has 2 problems:\n  - a\n  - b"
    assert two.problems == ("a", "b")
    singular = errors.SingularJointError(7, "knee", "no inertia")
    assert str(singular) == "joint 7 ('knee'): no inertia"
    assert singular.joint == 7


def test_typed() -> None:
    """The marker that tells type checkers to read our annotations."""
    assert (ROOT / "adaptive_sim" / "py.typed").exists()
