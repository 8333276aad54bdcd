"""Turns what pydantic says about a scenario into sentences: path in the file, value, what is allowed, nearest name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .models import Scenario

Location = tuple[str | int, ...]
_MISSING = object()


def sentences(errors: Iterable[Any], data: dict[str, Any]) -> list[str]:
    """One per error of a `ValidationError`; `data` is what was validated."""
    out = []
    for error in errors:
        place = _place(tuple(error["loc"]), data)
        out.append(_sentence(error, place, data))
    return list(dict.fromkeys(out))


def complaint(place: Location, value: Any, allowed: str) -> str:
    """`forces[2].schedule.period = -1: give a number above 0`."""
    shown = "" if value is _MISSING else f" = {short(value)}"
    return f"{path_text(place)}{shown}: {allowed}"


def unknown(place: Location, value: Any, noun: str, name: str, known: Sequence[str]) -> str:
    return complaint(place, value, f"unknown {noun}; {nearest(name, known)}")


def nearest(name: str, known: Sequence[str]) -> str:
    """`did you mean 'period'? (known: …)`."""
    near = get_close_matches(name, known, n=1) or get_close_matches(name.lower(), known, n=1)
    listed = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"did you mean {near[0]!r}? (known: {listed})" if near else f"known: {listed}"


def path_text(place: Location) -> str:
    out = ""
    for key in place:
        if isinstance(key, int):
            out += f"[{key}]"
        else:
            out += ("." if out else "") + (key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key))
    return out or "the file"


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def value_at(place: Location, data: Any) -> Any:
    for key in place:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return data


def _place(location: Location, data: Any) -> Location:
    """Without the names of union members, which pydantic puts between the keys of the file."""
    out: list[str | int] = []
    for k, key in enumerate(location):
        last = k == len(location) - 1
        inside = isinstance(data, dict) and key in data
        inside = inside or (isinstance(data, list) and isinstance(key, int) and key < len(data))
        if inside or (last and isinstance(data, dict)):
            out.append(key)
            data = data[key] if inside else _MISSING
    return tuple(out)


def _sentence(error: Any, place: Location, data: dict[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "scenario":
        own = (*place, context["path"]) if context["path"] else place
        return complaint(own, value_at(own, data), context["allowed"])
    value = value_at(place, data)
    if kind == "extra_forbidden":
        known = sorted(_fields(place[:-1], data))
        return unknown(place, value, "key", str(place[-1]), known)
    if kind in ("literal_error", "union_tag_invalid", "union_tag_not_found"):
        if kind != "literal_error":  # the tag of a table that may be of several kinds
            place = (*place, "kind")
            value = value_at(place, data)
        known = _choices(place, data)
        if value is _MISSING:
            return complaint(place, value, f"is missing; give one of: {', '.join(known)}")
        return unknown(place, value, "value", str(value), known)
    allowed = _description(place, data)
    if kind == "missing":
        return complaint(place, _MISSING, f"is missing; give {allowed or 'a value'}")
    return complaint(place, value, f"give {allowed}" if allowed else str(error["msg"]).lower())


# -------------------------------------------------------------------- what the models say about a place in the file


def _description(place: Location, data: Any) -> str:
    """The nearest description on the way to a place."""
    for end in range(len(place), 0, -1):
        for annotation in _annotations(place[:end], data):
            for own in get_args(annotation)[1:] if get_origin(annotation) is Annotated else ():
                if isinstance(own, FieldInfo) and own.description:
                    return own.description
        if end == len(place) and place[-1:] and isinstance(place[-1], str):
            field = _fields(place[:-1], data).get(place[-1])
            text = _of_field(field)
            if text:
                return text
    return ""


def _of_field(field: FieldInfo | None) -> str:
    if field is None:
        return ""
    if field.description:
        return field.description
    options = [field.annotation, *get_args(field.annotation)]
    for option in options:
        for own in get_args(option)[1:] if get_origin(option) is Annotated else ():
            if isinstance(own, FieldInfo) and own.description:
                return own.description
    words = {"float": "a finite number", "int": "a whole number", "str": "a text", "bool": "true or false"}
    for option in options:
        if getattr(option, "__name__", "") in words:
            return words[option.__name__]
    return ""


def _choices(place: Location, data: Any) -> list[str]:
    """The values of a Literal, or of the tags of all kinds a table may be."""
    out: list[str] = []
    for annotation in _annotations(place, data):
        for option in _flat(annotation):
            if get_origin(option) is Literal:
                out.extend(str(value) for value in get_args(option))
    return list(dict.fromkeys(out))


def _fields(place: Location, data: Any) -> dict[str, FieldInfo]:
    """The fields of the model at a place (of all models it may be, if its kind is not known)."""
    out: dict[str, FieldInfo] = {}
    for annotation in _annotations(place, data):
        for option in _flat(annotation):
            if isinstance(option, type) and issubclass(option, BaseModel):
                out.update(option.model_fields)
    return out


def _annotations(place: Location, data: Any) -> list[Any]:
    """The types that the value at a place may have."""
    current: list[Any] = [Scenario]
    for k, key in enumerate(place):
        options = [option for annotation in current for option in _flat(annotation)]
        found: list[Any] = []
        value = value_at(place[:k], data)
        models = [o for o in options if isinstance(o, type) and issubclass(o, BaseModel)]
        tag = value.get("kind") if isinstance(value, dict) else None
        fitting = [m for m in models if _tag(m) == tag] if tag is not None and key != "kind" else []
        for option in fitting or models:
            if isinstance(key, str) and key in option.model_fields:
                field = option.model_fields[key]
                found.append(Annotated[field.annotation, field])
        for option in options:
            if isinstance(key, int) and get_origin(option) is list:
                found.extend(get_args(option))
            if isinstance(key, str) and get_origin(option) is dict:
                found.append(get_args(option)[1])
        current = found
    return current


def _tag(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("kind")
    return str(get_args(field.annotation)[0]) if field is not None else None


def _flat(annotation: Any) -> list[Any]:
    """The members of unions, without what Annotated adds."""
    if get_origin(annotation) is Annotated:
        return _flat(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [member for option in get_args(annotation) for member in _flat(option)]
    return [annotation]
