"""Reads scenario files: TOML, overrides, strict validation with every problem in one error."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import AdaptiveSimError, InputError, ScenarioError
from ..linkage.model import Linkage
from .build import generate, linkage_problems, meaning_problems, with_springs
from .models import LinkageChoice, Scenario
from .problems import complaint, nearest, sentences
from .toml import to_toml

SHIPPED = Path(__file__).parent.parent / "scenarios"
_LARGEST = 10 * 2**20  # bytes; a scenario is a page


def load_scenario(
    source: str | PathLike[str] | Mapping[str, Any] | Scenario, overrides: Iterable[str] | Mapping[str, Any] = ()
) -> Scenario:
    """A scenario from a file, by the name of a shipped one, or from a dict; checked, with all problems in one error.

    overrides: "motion.steps=100" texts as of --set, or a mapping of paths to values.
    """
    if isinstance(source, Scenario):
        return checked(resolved(source), source.name, overrides, source.name)
    if isinstance(source, Mapping):
        return checked(dict(source), "scenario", overrides, "scenario")
    path = find(source)
    return parse(_read(path), str(path), overrides, name=path.stem, folder=path.parent)


def parse(
    text: str,
    file: str,
    overrides: Iterable[str] | Mapping[str, Any] = (),
    *,
    name: str = "scenario",
    folder: Path | None = None,
    linkage: Linkage | None = None,
) -> Scenario:
    """A scenario from TOML text; `file` is what messages call it, `folder` where it looks for a linkage file.

    linkage: the one that was built for it (of a trajectory); then no other is built.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(file, [f"is not TOML: {error}"]) from None
    return checked(data, file, overrides, name, folder, linkage)


def shipped() -> dict[str, Path]:
    """The scenarios that come with the package, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find(source: str | PathLike[str]) -> Path:
    """The file of a path, or of the name of a shipped scenario."""
    path = Path(source)
    known = shipped()
    if path.is_file():
        return path
    if str(source) in known:
        return known[str(source)]
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give a scenario file")
    raise InputError(f"{source}: there is no such file, and no shipped scenario; {nearest(str(source), list(known))}")


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes; that is no scenario file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text file; give a scenario in TOML") from None


def checked(
    data: dict[str, Any],
    file: str,
    overrides: Iterable[str] | Mapping[str, Any] = (),
    name: str = "scenario",
    folder: Path | None = None,
    built: Linkage | None = None,
) -> Scenario:
    """The scenario of `data`, or a ScenarioError with every problem that can be found."""
    found: list[str] = []
    data = _overridden(data, overrides, found)
    _locate_file(data, folder)
    scenario: Scenario | None = None
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        found += sentences(error.errors(include_url=False), data)
    motion = data.get("motion")
    kind = motion.get("kind") if isinstance(motion, dict) else None
    found += _quantity_problems(data, kind)
    linkage = built
    choice = None
    try:  # noqa: SIM105
        choice = LinkageChoice.model_validate(data.get("linkage"))
    except ValidationError:
        pass  # said above
    if choice is not None and built is None:
        wrong = linkage_problems(choice)
        found += wrong
        if not wrong:
            try:
                seed = data.get("seed", 0)
                linkage = generate(choice, seed if isinstance(seed, int) and seed >= 0 else 0)
            except AdaptiveSimError as error:
                found.append(complaint(("linkage",), choice.model_dump(exclude_none=True), str(error)))
    if linkage is not None:
        found += meaning_problems(data, linkage, None if kind is None else kind == "dynamic")
    if found:
        raise ScenarioError(file, list(dict.fromkeys(found)))
    assert scenario is not None
    assert linkage is not None
    scenario._linkage = with_springs(linkage, scenario) if built is None else built
    scenario._name = name
    return scenario


def resolved(scenario: Scenario) -> dict[str, Any]:
    """Everything the scenario says, defaults included, as plain values."""
    plain: dict[str, Any] = _without_none(scenario.model_dump(mode="python"))
    return plain


def scenario_text(scenario: Scenario) -> str:
    """The resolved scenario as TOML."""
    return to_toml(resolved(scenario))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_none(v) for v in value]
    return value


def _locate_file(data: dict[str, Any], folder: Path | None) -> None:
    """A linkage file is looked for beside the scenario."""
    linkage = data.get("linkage")
    if folder is not None and isinstance(linkage, dict) and isinstance(linkage.get("file"), str):
        data["linkage"] = {**linkage, "file": str((folder / linkage["file"]).absolute())}


def _quantity_problems(data: dict[str, Any], kind: Any) -> list[str]:
    output = data.get("output")
    listed = output.get("quantities") if isinstance(output, dict) else None
    if kind != "quasistatic" or not isinstance(listed, list):
        return []
    return [
        complaint(("output", "quantities", k), value, "only dynamic motion has it; leave it out")
        for k, value in enumerate(listed)
        if value in ("velocity", "energy")
    ]


# -------------------------------------------------------------------- --set a.b.c=v


def _overridden(
    data: dict[str, Any], overrides: Iterable[str] | Mapping[str, Any], found: list[str]
) -> dict[str, Any]:
    pairs: list[tuple[str, Any]] = []
    if isinstance(overrides, Mapping):
        pairs = list(overrides.items())
    else:
        for text in overrides:
            path, equals, value = text.partition("=")
            if not equals or not path.strip():
                found.append(f"--set {text}: give path=value, like motion.steps=100")
            else:
                pairs.append((path.strip(), _value_of(value.strip())))
    data = _copied(data)
    for path, value in pairs:
        _put(data, path, value, found)
    return data


def _value_of(text: str) -> Any:
    """A TOML value; what is none is a text, so that quotes are not needed."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def _put(data: Any, path: str, value: Any, found: list[str]) -> None:
    keys = [int(k) if k.isdigit() else k for k in path.replace("[", ".").replace("]", "").split(".")]
    for key in keys[:-1]:
        if isinstance(data, dict) and isinstance(key, str):
            data = data.setdefault(key, {})
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            found.append(f"--set {path}: there is no {key!r} in it; write like forces[0].force")
            return
    last = keys[-1]
    if isinstance(data, dict) and isinstance(last, str):
        if last in ("duration", "steps") and keys[0] == "motion":  # one replaces the other
            data.pop("steps" if last == "duration" else "duration", None)
        data[last] = value
    elif isinstance(data, list) and isinstance(last, int) and last < len(data):
        data[last] = value
    else:
        found.append(f"--set {path}: there is no {last!r} to set; write like forces[0].force")


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value
