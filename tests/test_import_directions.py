"""Who may import whom (docs: design). Read from the source with `ast`, so that lazy imports count as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "adaptive_sim"

# errors, typing, compiled <- spatial <- linkage <- assembly <- adaptive <- simulation <- run <- sweep, cli
GROUND = {"errors", "typing", "compiled"}
MODEL = GROUND | {"spatial", "linkage"}
ENGINE = MODEL | {"assembly", "adaptive"}
RUNNING = ENGINE | {"exact", "dynamics", "formats", "trajectory", "scenario", "simulation"}

# Part of the package -> parts it may import (itself always). A new part needs a line here.
MAY_SEE: dict[str, set[str]] = {
    "errors": set(),
    "typing": set(),
    "compiled": set(),
    "spatial": GROUND,
    "linkage": GROUND | {"spatial"},
    "formats": MODEL,
    "assembly": MODEL,
    "exact": MODEL,  # the reference solvers stay independent of what they check
    "adaptive": MODEL | {"assembly", "exact"},  # its exact steps run the ABA; never the other way round
    "dynamics": ENGINE | {"exact"},  # forward_dynamics(method=...): the one place where all exact methods meet
    "trajectory": MODEL | {"exact"},  # poses of bodies; never the engine
    "scenario": MODEL | {"exact", "formats", "trajectory"},
    "simulation": ENGINE | {"exact", "dynamics", "formats", "scenario", "trajectory"},  # trajectory: its frames
    "run": RUNNING,
    "report": MODEL | {"exact", "trajectory"},  # never the engine
    "view": MODEL | {"exact", "trajectory"},
    "sweep": RUNNING | {"run", "report"},
    "cli": RUNNING | {"run", "report", "view", "sweep"},
    "__main__": {"cli"},
}

# Outside library -> the only parts that may import it, in any way.
ONLY_IN = {"h5py": {"trajectory"}, "vispy": {"view"}, "dask": {"sweep"}, "distributed": {"sweep"}}
# Outside library -> the only parts that may import it when they are loaded (elsewhere: inside functions).
AT_LOAD_ONLY_IN = {"matplotlib": {"report"}}


class Import(NamedTuple):
    module: str  # absolute dotted name
    name: str  # what it is called in the file
    line: int
    at_load: bool  # runs when the module is loaded: not in a function, not for type checkers only


def imports(source: str, path: str) -> Iterator[Import]:
    """Every import of a file; `path` is relative to the package's parent ("adaptive_sim/exact/aba.py")."""
    package = path.removesuffix(".py").split("/")[:-1]

    def visit(node: ast.AST, at_load: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(name.name, name.asname or name.name, node.lineno, at_load)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            for name in node.names:  # the name may be a module: `from .. import assembly`
                yield Import(f"{module}.{name.name}", name.asname or name.name, node.lineno, at_load)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for child in ast.iter_child_nodes(node):
                yield from visit(child, at_load=False)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, at_load=False)
            for child in node.orelse:
                yield from visit(child, at_load)
        else:
            for child in ast.iter_child_nodes(node):
                yield from visit(child, at_load)

    yield from visit(ast.parse(source), at_load=True)


def violations(sources: dict[str, str]) -> list[str]:
    """Sentences about forbidden imports in `sources` (path -> text), and about parts nobody has placed."""
    out = []
    parts = {path.split("/")[1].removesuffix(".py") for path in sources} | set(MAY_SEE)
    for path, source in sorted(sources.items()):
        part = path.split("/")[1].removesuffix(".py")
        if part == "__init__":  # the public names see everything, each when it is used
            continue
        if part not in MAY_SEE:
            out.append(f"{path}: part {part!r} has no line in MAY_SEE of {Path(__file__).name}; say what it may import")
            continue
        for found in imports(source, path):
            where = f"{path}:{found.line}"
            top, *rest = found.module.split(".")
            if top == "adaptive_sim":
                target = rest[0] if rest and rest[0] in parts else "__init__"
                if target not in ("__init__", part) and target not in MAY_SEE[part]:
                    out.append(f"{where}: {part} must not import {target}")
            if top in ONLY_IN and part not in ONLY_IN[top]:
                out.append(f"{where}: {top} belongs in {', '.join(sorted(ONLY_IN[top]))} only")
            if found.at_load and top in AT_LOAD_ONLY_IN and part not in AT_LOAD_ONLY_IN[top]:
                out.append(f"{where}: import {top} where it is used, not when {part} is loaded")
    return out


def sources_of_package() -> dict[str, str]:
    root = PACKAGE.parent
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}


def test_the_package_keeps_its_directions() -> None:
    found = sources_of_package()
    assert len(found) > 20
    assert violations(found) == []


def test_the_table_has_no_circle() -> None:
    """Every part can be placed above all it may see."""
    placed: set[str] = set()
    while len(placed) < len(MAY_SEE):
        ready = {part for part, seen in MAY_SEE.items() if part not in placed and seen <= placed}
        assert ready, f"circle among {sorted(set(MAY_SEE) - placed)}"
        placed |= ready


def test_the_order_of_the_design() -> None:
    chain = ["errors", "spatial", "linkage", "assembly", "adaptive", "simulation", "run"]
    for lower, upper in pairwise(chain):
        assert lower in MAY_SEE[upper]
        assert upper not in MAY_SEE[lower]
    assert {"run"} <= MAY_SEE["sweep"] & MAY_SEE["cli"]
    assert MAY_SEE["exact"] == {"errors", "typing", "compiled", "spatial", "linkage"}
    assert not {"adaptive", "simulation", "run"} & (MAY_SEE["view"] | MAY_SEE["report"])


# -------------------------------------------------------------------- the checker can fail

BAD = {
    "exact sees the engine": ("exact/x.py", "from ..adaptive.join import join", "exact must not import adaptive"),
    "exact sees the tree": ("exact/x.py", "from ..assembly import AssemblyTree", "exact must not import assembly"),
    "by the package's name": ("exact/x.py", "import adaptive_sim.adaptive.dca", "exact must not import adaptive"),
    "absolute from": ("exact/x.py", "from adaptive_sim.adaptive import dca", "exact must not import adaptive"),
    "module by name": ("exact/x.py", "from .. import adaptive", "exact must not import adaptive"),
    "lazy": ("exact/x.py", "def f():\n    from ..adaptive import dca", "exact must not import adaptive"),
    "in a class": ("exact/x.py", "class A:\n    from ..adaptive import dca", "exact must not import adaptive"),
    "in try": ("exact/x.py", "try:\n    from ..adaptive import a\nexcept ImportError:\n    pass", "exact must not"),
    "for types": (
        "linkage/x.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..assembly import AssemblyTree",
        "linkage must not import assembly",
    ),
    "upwards": ("spatial/x.py", "from ..linkage.model import Linkage", "spatial must not import linkage"),
    "ground": ("errors.py", "from .spatial import vectors", "errors must not import spatial"),
    "deeper": ("adaptive/sub/x.py", "from ...simulation import step", "adaptive must not import simulation"),
    "view and engine": ("view/x.py", "from ..adaptive import Engine", "view must not import adaptive"),
    "report and engine": ("report/x.py", "from ..simulation import simulate", "report must not import simulation"),
    "simulation and run": ("simulation/x.py", "from .. import run", "simulation must not import run"),
    "h5py": ("simulation/x.py", "def f():\n    import h5py", "h5py belongs in trajectory only"),
    "vispy": ("cli/x.py", "from vispy import scene", "vispy belongs in view only"),
    "dask": ("run.py", "import dask.array as da", "dask belongs in sweep only"),
    "distributed": ("cli/x.py", "from distributed import Client", "distributed belongs in sweep only"),
    "matplotlib at load": ("assembly/x.py", "import matplotlib.pyplot as plt", "import matplotlib where it is used"),
    "unplaced part": ("nonsense/x.py", "x = 1", "part 'nonsense' has no line in MAY_SEE"),
}

GOOD = {
    "downwards": ("adaptive/x.py", "from ..assembly import AssemblyTree\nfrom ..spatial.motion import Spatial"),
    "itself": ("exact/x.py", "from . import aba\nfrom .crba import crba"),
    "the version": ("cli/x.py", "from .. import __version__"),
    "matplotlib in a function": ("assembly/x.py", "def draw():\n    import matplotlib.pyplot as plt"),
    "matplotlib for types": ("assembly/x.py", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
    "matplotlib in report": ("report/x.py", "import matplotlib"),
    "h5py in trajectory": ("trajectory/x.py", "import h5py"),
    "dask in sweep": ("sweep/x.py", "import dask"),
    "vispy in view": ("view/x.py", "import vispy\nfrom ..trajectory import reader"),
    "outside": ("exact/x.py", "import numpy as np\nimport scipy.sparse\nfrom adaptive import something"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_import_is_found(case: str) -> None:
    path, source, message = BAD[case]
    found = violations({f"adaptive_sim/{path}": source})
    assert len(found) == 1
    assert message in found[0]
    assert found[0].startswith(f"adaptive_sim/{path}:")


@pytest.mark.parametrize("case", GOOD)
def test_a_good_import_passes(case: str) -> None:
    path, source = GOOD[case]
    assert violations({f"adaptive_sim/{path}": source}) == []


def test_the_public_names_are_lazy() -> None:
    """`adaptive_sim/__init__.py` itself imports nothing of the package when it is loaded."""
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    loaded = {found.module.split(".")[0] for found in imports(source, "adaptive_sim/__init__.py") if found.at_load}
    assert loaded <= {"__future__", "importlib", "typing"}
