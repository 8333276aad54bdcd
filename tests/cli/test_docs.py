"""The docs say what the code says: tables generated from it, commands and names that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import adaptive_sim
from adaptive_sim.linkage import joints
from adaptive_sim.linkage.fields import reference_table
from adaptive_sim.linkage.joints import DOF, N_Q, JointType

ROOT = Path(__file__).resolve().parents[2]
DOCS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/index.md", "docs/linkage.md", "docs/exact_solvers.md",
        "docs/trajectory.md")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_array_table_is_in_sync() -> None:
    """To renew: python -c "from adaptive_sim.linkage.fields import reference_table as t; print(t())"."""
    assert reference_table() in read("docs/linkage.md")


def test_joint_table_is_in_sync() -> None:
    """docs/exact_solvers.md shows the table of `linkage.joints`, and that table tells the truth."""
    assert joints.__doc__ is not None
    table = re.search(r"(\| type .*?)\n\n", joints.__doc__, re.DOTALL)
    assert table is not None
    assert table[1] in read("docs/exact_solvers.md")
    sizes = {name: (int(d), int(n)) for name, d, n in re.findall(r"\| (\w+) +\| (\d) \| (\d) +\|", table[1])}
    assert sizes == {kind.name.lower(): (DOF[kind], N_Q[kind]) for kind in JointType}


@pytest.mark.parametrize("name", DOCS)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)", read(name)):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("name", DOCS)
def test_public_names_exist(name: str) -> None:
    for attribute in re.findall(r"\basim\.(\w+)", read(name)):
        assert attribute in adaptive_sim.__all__


@pytest.mark.parametrize("name", ["README.md", "docs/linkage.md", "docs/exact_solvers.md", "docs/trajectory.md"])
def test_python_examples_run(name: str) -> None:
    """The ```python blocks of a page, as one program."""
    blocks = re.findall(r"```python\n(.*?)```", read(name), re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), name, "exec"), {})


def test_readme_has_its_two_commands() -> None:
    """`.ci/run` takes them from there, so what the README says is what is tested."""
    assert len(re.findall(r"```sh\n[^\n]+\n```", read("README.md"))) == 2
