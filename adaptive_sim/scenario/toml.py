"""Writes a scenario as TOML: the resolved text that is kept in the trajectory and read again by `resume`."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(data: dict[str, Any]) -> str:
    """Tables as [a.b], lists of tables as [[a.b]], everything else inline; reading it gives `data` again."""
    lines: list[str] = []
    _table(data, (), lines)
    return "\n".join(lines).strip() + "\n"


def _table(data: dict[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    plain = {k: v for k, v in data.items() if not _is_table(v) and not _is_tables(v)}
    lines.extend(f"{_key(key)} = {_value(value)}" for key, value in plain.items())
    for key, value in data.items():
        here = (*path, _key(key))
        if _is_table(value):
            lines.extend(["", f"[{'.'.join(here)}]"])
            _table(value, here, lines)
        elif _is_tables(value):
            for row in value:
                lines.extend(["", f"[[{'.'.join(here)}]]"])
                lines.extend(f"{_key(k)} = {_value(v)}" for k, v in row.items())


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(row, dict) for row in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
        text = repr(value)
        return text if any(c in text for c in ".en") else text + ".0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    raise TypeError(f"TOML has no {type(value).__name__}")
