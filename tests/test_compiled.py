"""How kernels are compiled: announced once, cached on disk, and never stale."""

from __future__ import annotations

import ast
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import PLAIN
from numba.core import types
from test_import_directions import PACKAGE, imports, sources_of_package

from adaptive_sim import compiled
from adaptive_sim.compiled import _MAY_CALL, _stamp
from adaptive_sim.spatial import vectors

MESSAGE = "adaptive_sim: compiling kernels (only the first time"

# One cheap kernel of the lowest part.
TINY = "from adaptive_sim.spatial.vectors import dot; print(dot((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)))"

needs_compiler = pytest.mark.skipif(PLAIN, reason="compilation is switched off")


def run_python(code: str, cache: Path, root: Path = PACKAGE.parent, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **more}
    env.setdefault("NUMBA_DISABLE_JIT", "0")
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=root, capture_output=True, text=True, timeout=300, check=True
    )


# -------------------------------------------------------------------- the announcement


@needs_compiler
def test_the_first_compilation_is_announced_once_and_a_second_start_is_silent(tmp_path: Path) -> None:
    twice = TINY + "\nfrom adaptive_sim.spatial.vectors import add; add((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))"
    first = run_python(twice, tmp_path)
    assert first.stdout.strip() == "32.0"
    assert first.stderr.count(MESSAGE) == 1, "once per process, however many kernels"
    second = run_python(twice, tmp_path)
    assert second.stdout.strip() == "32.0"
    assert second.stderr == ""


@needs_compiler
def test_other_peoples_kernels_are_not_announced(tmp_path: Path) -> None:
    code = "import numba, adaptive_sim.compiled\n@numba.njit\ndef f(x):\n    return x + 1\nprint(f(1))"
    assert run_python(code, tmp_path).stderr == ""


def test_without_compilation_nothing_is_announced(tmp_path: Path) -> None:
    result = run_python(TINY, tmp_path, NUMBA_DISABLE_JIT="1")
    assert result.stdout.strip() == "32.0"
    assert result.stderr == ""
    assert list(tmp_path.rglob("*.nbi")) == []


# -------------------------------------------------------------------- never stale


def test_the_stamp_holds_the_files_of_called_packages() -> None:
    for package, called in _MAY_CALL.items():
        stamped = {name for name, _, _ in _stamp(package)}
        assert "compiled.py" in stamped
        for name in called:
            for path in (PACKAGE / name).glob("*.py"):
                if "@kernel" in path.read_text(encoding="utf-8"):
                    assert f"{name}/{path.name}" in stamped, package
    assert {"spatial/motion.py", "linkage/joints.py", "exact/rnea.py"} <= {name for name, _, _ in _stamp("exact")}
    assert "exact/aba.py" not in {name for name, _, _ in _stamp("linkage")}


def test_the_stamp_knows_time_and_size() -> None:
    for name, time, size in _stamp("exact"):
        status = (PACKAGE / name).stat()
        assert (time, size) == (status.st_mtime_ns, status.st_size)


def names_in_kernels(tree: ast.Module) -> set[str]:
    """Names that the bodies of @kernel functions use (annotations are not compiled)."""
    out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list):
            for statement in node.body:
                out |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    return out


def test_everything_compiled_into_a_kernel_is_in_its_stamp() -> None:
    """Functions *and constants* from other files: Numba freezes both into the machine code."""
    missing = []
    for path, source in sources_of_package().items():
        if "@kernel" not in source or path.endswith("/compiled.py"):
            continue
        package = path.split("/")[1]
        assert package in _MAY_CALL, f"{path} has kernels, but `compiled._MAY_CALL` does not know {package!r}"
        used = names_in_kernels(ast.parse(source))
        stamped = {name for name, _, _ in _stamp(package)}
        for found in imports(source, path):
            if found.name not in used or not found.module.startswith("adaptive_sim."):
                continue
            # A function or constant of a file, or (`from ..exact import aba as _aba`) the file itself.
            itself = found.module.split(".")[1:]
            files = ["/".join(itself) + ".py", "/".join(itself[:-1]) + ".py"]
            file = next(f for f in files if (PACKAGE / f).is_file())
            if file not in stamped:
                missing.append(f"{path} compiles {found.name} of {file}, which its stamp does not watch")
    assert missing == []


@needs_compiler
def test_the_stamp_is_part_of_the_cache(tmp_path: Path) -> None:
    source_stamp = vectors.dot._cache._cache_file._source_stamp
    assert source_stamp[1] == _stamp("spatial")


@needs_compiler
def test_an_edit_in_a_called_file_recompiles_the_caller(tmp_path: Path) -> None:
    """In a copy: `pairing` (motion.py) calls `dot` (vectors.py). Make `dot` wrong and touch nothing else."""
    root = tmp_path / "copy"
    for name in ("__init__.py", "errors.py", "typing.py", "compiled.py"):
        (root / "adaptive_sim").mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, root / "adaptive_sim" / name)
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE / "spatial", root / "adaptive_sim" / "spatial", ignore=no_caches)
    one = "((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))"
    code = f"from adaptive_sim.spatial.motion import pairing; print(pairing({one}, {one}))"
    cache = tmp_path / "cache"
    where = run_python("import adaptive_sim; print(adaptive_sim.__file__)", cache, root).stdout
    assert where.startswith(str(root)), "the copy must be what is tested"
    assert run_python(code, cache, root).stdout.strip() == "6.0"
    again = run_python(code, cache, root)
    assert again.stdout.strip() == "6.0"
    assert MESSAGE not in again.stderr
    edited = root / "adaptive_sim" / "spatial" / "vectors.py"
    text = edited.read_text(encoding="utf-8")
    right = "return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]"
    assert right in text
    edited.write_text(text.replace(right, "return 100.0 * a[0] * b[0]"), encoding="utf-8")
    after = run_python(code, cache, root)
    assert after.stdout.strip() == "200.0", "the cached caller still holds the old callee"
    assert MESSAGE in after.stderr


# -------------------------------------------------------------------- how kernels behave


@needs_compiler
def test_options_of_every_kernel() -> None:
    options = vectors.dot.targetoptions
    assert options["error_model"] == "numpy"
    assert options["nogil"] is True
    assert options["nopython"] is True
    assert not options.get("parallel")


@needs_compiler
def test_arithmetic_is_ieee() -> None:
    """No reassociation, no "finite only": only contraction to fused multiply-add may be allowed."""
    fastmath = vectors.dot.targetoptions.get("fastmath", False)
    assert fastmath is False or set(fastmath) <= {"contract"}
    assert math.isnan(vectors.dot((math.nan, 0.0, 0.0), (1.0, 0.0, 0.0)))
    assert math.isinf(vectors.scale(2.0, (1e308, 0.0, 0.0))[0])
    # (1 + u) − 1 with u half a unit: an optimiser that reassociates would return u.
    u = 2.0**-53
    assert vectors.subtract(vectors.add((1.0, 1.0, 1.0), (u, u, u)), (1.0, 1.0, 1.0)) == (0.0, 0.0, 0.0)


@needs_compiler
def test_division_by_zero_gives_inf_as_in_numpy() -> None:
    @compiled.kernel
    def divide(a, b):
        return a / b

    assert math.isinf(divide(1.0, 0.0))
    assert math.isnan(divide(0.0, 0.0))


@needs_compiler
def test_kernels_work_in_double_precision() -> None:
    """Integers and singles from a careless caller are computed in double."""
    signature = vectors.dot.signatures or [vectors.dot.compile(types.float64(*[types.UniTuple(types.float64, 3)] * 2))]
    assert signature
    assert vectors.dot((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)) == pytest.approx(1.4, rel=4 * np.finfo(float).eps)


def test_the_decorator_works_with_and_without_options() -> None:
    @compiled.kernel
    def plain(x):
        return x + 1.0

    @compiled.kernel(inline=True)
    def inlined(x):
        return x + 2.0

    assert (plain(1.0), inlined(1.0)) == (2.0, 3.0)
