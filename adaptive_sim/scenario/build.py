"""From a scenario to its linkage and initial state: generator or file, base, springs, positions, velocities."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import AdaptiveSimError, InputError
from ..linkage import generators
from ..linkage.joints import DOF, FIXED, FREE, N_Q, QUATERNION_AT, JointType
from ..linkage.model import Linkage
from ..linkage.state import State, neutral_state, random_state
from ..typing import Floats
from .models import LinkageChoice, Scenario
from .problems import complaint, unknown
from .select import select

_OWN_BASE = ("as_generated", "fixed", "free")
# What a parameter of a generator may be, by its annotation.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "int | None": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "str": ((str,), "a text"),
    "str | None": ((str,), "a text"),
    "JointMix": ((str, list), "a type of joint, a list of types or \"any\""),
}


def build_linkage(scenario: Scenario) -> Linkage:
    """The linkage of a scenario with its base and springs; built once and kept."""
    if scenario._linkage is None:
        scenario._linkage = with_springs(generate(scenario.linkage, scenario.seed), scenario)
    return scenario._linkage


@cache
def known_generators() -> dict[str, Callable[..., Linkage]]:
    return {name: getattr(generators, name) for name in generators.__all__}


def linkage_problems(choice: LinkageChoice) -> list[str]:
    """What is wrong with the table [linkage], before anything is built."""
    out: list[str] = []
    given = choice.parameters
    if (choice.generator is None) == (choice.file is None):
        return [complaint(("linkage",), choice.model_dump(exclude_none=True), "give either generator or file")]
    if choice.file is not None:
        known = ["file", "base"]
        out += [unknown(("linkage", key), value, "key", key, known) for key, value in given.items()]
        if choice.base not in _OWN_BASE:
            out.append(unknown(("linkage", "base"), choice.base, "value", choice.base, _OWN_BASE))
        return out
    known_names = sorted(known_generators())
    if choice.generator not in known_names:
        return [unknown(("linkage", "generator"), choice.generator, "generator", str(choice.generator), known_names)]
    parameters = inspect.signature(known_generators()[str(choice.generator)]).parameters
    names = ["generator", *parameters]
    for key, value in given.items():
        place = ("linkage", key)
        if key not in parameters:
            out.append(unknown(place, value, f"parameter of {choice.generator}", key, names))
            continue
        types, words = _KINDS.get(str(parameters[key].annotation), ((object,), ""))
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            out.append(complaint(place, value, f"give {words}"))
    for name, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            words = _KINDS.get(str(parameter.annotation), ((), "a value"))[1]
            out.append(f"linkage.{name}: is missing; give {words}")
    kinds = [kind.name.lower() for kind in JointType]
    if choice.base != "as_generated" and choice.base not in kinds:
        out.append(unknown(("linkage", "base"), choice.base, "value", choice.base, ["as_generated", *kinds]))
    return out


def generate(choice: LinkageChoice, seed: int) -> Linkage:
    """The linkage as the generator or the file gives it, on the base asked for."""
    if choice.file is not None:
        from ..trajectory.linkage_io import load_linkage

        return with_base(load_linkage(Path(choice.file)), choice.base)
    generator = known_generators()[str(choice.generator)]
    parameters = inspect.signature(generator).parameters
    given = choice.parameters
    if "seed" in parameters:
        given.setdefault("seed", seed)
    if choice.base != "as_generated":
        given["base"] = choice.base
    return generator(**given)


def with_base(linkage: Linkage, base: str) -> Linkage:
    """The same linkage with its first joint fixed or free, from where it was at q = 0."""
    kind = {"fixed": FIXED, "free": FREE}.get(base)
    if kind is None or linkage.joint_type[0] == kind:
        return linkage
    joint_type = linkage.joint_type.copy()
    joint_type[0] = kind
    v, q = int(linkage.v_start[1]), int(linkage.q_start[1])
    rest = np.zeros(N_Q[kind])
    if QUATERNION_AT[kind] >= 0:
        rest[QUATERNION_AT[kind] + 3] = 1.0

    def swapped(old: Floats, new: Floats, cut: int) -> Floats:
        return np.concatenate([new, old[cut:]])

    free = np.zeros(DOF[kind])
    return _replaced(
        linkage,
        joint_type=joint_type,
        stiffness=swapped(linkage.stiffness, free, v),
        damping=swapped(linkage.damping, free, v),
        lower_limit=swapped(linkage.lower_limit, free - np.inf, v),
        upper_limit=swapped(linkage.upper_limit, free + np.inf, v),
        rest_position=swapped(linkage.rest_position, rest, q),
    )


def with_springs(linkage: Linkage, scenario: Scenario) -> Linkage:
    """The same linkage with the stiffness, damping and rest positions of [[springs]]."""
    if not scenario.springs:
        return linkage
    stiffness, damping = linkage.stiffness.copy(), linkage.damping.copy()
    rest = linkage.rest_position.copy()
    for k, spring in enumerate(scenario.springs):
        for j in select(linkage, "joint", spring.joint, (scenario.seed, 2, k)):
            i = int(linkage.model_index[j])
            if spring.joint == "*" and linkage.joint_type[i] == FREE:
                continue  # a base that floats is not tied down by a spring for all joints
            rows = slice(linkage.v_start[i], linkage.v_start[i + 1])
            if spring.stiffness is not None:
                stiffness[rows] = spring.stiffness
            if spring.damping is not None:
                damping[rows] = spring.damping
            if spring.rest_position is not None:
                rest[linkage.q_start[i] : linkage.q_start[i + 1]] = spring.rest_position
    return _replaced(linkage, stiffness=stiffness, damping=damping, rest_position=rest)


def _replaced(linkage: Linkage, **arrays: Any) -> Linkage:
    for array in arrays.values():
        array.setflags(write=False)
    return dataclasses.replace(linkage, **arrays)


# -------------------------------------------------------------------- the state at time 0


def initial_state(scenario: Scenario, linkage: Linkage) -> State:
    """Positions and velocities at time 0, the input's order."""
    initial = scenario.initial
    if initial.state == "random":
        seed = scenario.seed if initial.seed is None else initial.seed
        state = random_state(linkage, seed, angle=initial.angle, speed=initial.speed)
    else:
        state = neutral_state(linkage)
    q, v = state.q.copy(), state.v.copy()
    for values, starts, out in (
        (initial.joints, input_starts(linkage, N_Q), q),
        (initial.velocities, input_starts(linkage, DOF), v),
    ):
        for name, value in values.items():
            for j in select(linkage, "joint", name, (scenario.seed,)):
                out[starts[j] : starts[j + 1]] = value
    return State(q, v)


def input_starts(linkage: Linkage, sizes: Any) -> Any:
    """(n+1,) first coordinate (sizes N_Q) or velocity (DOF) of each joint, in the input's order."""
    own = sizes[linkage.joint_type][linkage.model_index]
    return np.concatenate([[0], np.cumsum(own)])


# -------------------------------------------------------------------- what only the built linkage can tell


def meaning_problems(data: dict[str, Any], linkage: Linkage, is_dynamic: bool | None) -> list[str]:
    """Names that do not exist and values that do not fit the joints; `data` as in the file, perhaps wrong elsewhere."""
    out: list[str] = []

    def chosen(what: str, place: tuple[str | int, ...], selector: Any) -> list[int]:
        if isinstance(selector, bool) or not isinstance(selector, str | int | dict):
            return []  # the models complain
        try:
            return select(linkage, what, selector, (0,))
        except InputError as error:
            out.append(complaint(place, selector, str(error)))
        except (AdaptiveSimError, ValueError):
            pass  # not a selector at all: the models complain
        return []

    def fits(place: tuple[str | int, ...], joints: list[int], value: Any, sizes: Any, unit: str) -> None:
        if not isinstance(value, list):
            quaternion = unit == "coordinates" and QUATERNION_AT[linkage.joint_type[linkage.model_index[joints]]] >= 0
            if np.any(quaternion):
                out.append(complaint(place, value, "the joint's position holds a quaternion; give all its coordinates"))
            return
        counts = set(sizes[linkage.joint_type[linkage.model_index[joints]]].tolist())
        if counts != {len(value)}:
            wanted = " or ".join(str(c) for c in sorted(counts))
            out.append(complaint(place, value, f"the joint has {wanted} {unit}; give as many numbers"))

    def rows(key: str) -> list[tuple[int, dict[str, Any]]]:
        listed = data.get(key, [])
        return [(k, row) for k, row in enumerate(listed) if isinstance(row, dict)] if isinstance(listed, list) else []

    for k, row in rows("forces"):
        chosen("body", ("forces", k, "body"), row.get("body"))
    for key in ("joint_forces", "springs"):
        for k, row in rows(key):
            joints = chosen("joint", (key, k, "joint"), row.get("joint", "*"))
            if joints and "value" in row:
                fits((key, k, "value"), joints, row["value"], DOF, "degrees of freedom")
    engine = data.get("engine", {})
    for k, row in enumerate(engine.get("weights", []) if isinstance(engine, dict) else []):
        if isinstance(row, dict):
            chosen("joint", ("engine", "weights", k, "joint"), row.get("joint"))
    initial = data.get("initial", {})
    for key, sizes, unit in (("joints", N_Q, "coordinates"), ("velocities", DOF, "degrees of freedom")):
        table = initial.get(key, {}) if isinstance(initial, dict) else {}
        for name, value in table.items() if isinstance(table, dict) else ():
            joints = chosen("joint", ("initial", key, name), name)
            if joints:
                fits(("initial", key, name), joints, value, sizes, unit)
    if is_dynamic is False and isinstance(initial, dict):
        out += [
            complaint(("initial", key), initial[key], "quasi-static motion has no velocities; leave it out")
            for key in ("velocities", "speed")
            if initial.get(key)
        ]
    return out
