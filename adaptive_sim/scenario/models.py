"""What a scenario file may say, as strict models: unknown keys and wrong types are refused (docs/scenarios.md).

The words of each field's description are shown to the user when its value is wrong.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from ..linkage.model import Linkage

METHODS = ("adaptive", "dca", "aba", "auto")  # as in adaptive.engine (a test compares)
MEASURES = ("absolute_linkage", "relative_linkage", "absolute_joint", "relative_joint")
_POWER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:\^|\*\*)\s*(-?\d+)\s*")
_SLICE = re.compile(r"-?\d*:-?\d*(:-?\d*)?")


def problem(path: str, allowed: str) -> PydanticCustomError:
    """A complaint about the key `path` of the model that raises it."""
    return PydanticCustomError("scenario", "{allowed}", {"path": path, "allowed": allowed})


# -------------------------------------------------------------------- kinds of values


def _threshold(value: Any) -> Any:
    if isinstance(value, str):
        match = _POWER.fullmatch(value)
        if match is None:
            raise problem("", 'give a number of 0 or more, or a power like "2^-19"')
        try:
            value = float(match[1]) ** int(match[2])
        except (OverflowError, ZeroDivisionError):
            raise problem("", 'give a number of 0 or more, or a power like "2^-19"') from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
        raise problem("", 'give a number of 0 or more, or a power like "2^-19"')
    return float(value)


def _selector(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | dict):
        raise problem("", 'give a name, an index, a slice like "10:200:5", a pattern like "leg_*_9" or {count, seed}')
    if isinstance(value, str) and ":" in value and _SLICE.fullmatch(value.strip()) is None:
        raise problem("", 'a slice is start:stop or start:stop:step, like "10:200:5"')
    if isinstance(value, str) and value.strip().endswith(":0"):
        raise problem("", 'the step of a slice must not be 0, like "10:200:5"')
    return value


def _numbers(value: Any) -> Any:
    """One number, or a list of them."""
    rows = value if isinstance(value, list) else [value]
    if not rows or any(isinstance(v, bool) or not isinstance(v, int | float) or not math.isfinite(v) for v in rows):
        raise problem("", "give a finite number, or a list with one for every coordinate of the joint")
    return [float(v) for v in value] if isinstance(value, list) else float(value)


class Model(BaseModel):
    """Base of all: frozen, strict, no unknown keys, no inf or nan."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Sample(Model):
    """A random selection."""

    count: int = Field(ge=1, description="a whole number, 1 or more")
    seed: int | None = Field(None, ge=0, description="a whole number, 0 or more; default: from the scenario's seed")


Vector = Annotated[
    list[Annotated[float, Field(description="a finite number")]],
    Field(min_length=3, max_length=3, description="three numbers, like [0.0, 0.0, -9.81]"),
]
Selector = Annotated[Sample | int | str, BeforeValidator(_selector)]
Numbers = Annotated[float | list[float], BeforeValidator(_numbers)]
Threshold = Annotated[float, BeforeValidator(_threshold)]
Positive = Annotated[float, Field(gt=0.0, description="a number above 0")]
NotNegative = Annotated[float, Field(ge=0.0, description="a number of 0 or more")]


# -------------------------------------------------------------------- forces over time


class Constant(Model):
    kind: Literal["constant"] = "constant"


class _Between(Model):
    start: float = Field(0.0, description="a time in s")
    end: float = Field(1.0, description="a time in s, after start")

    @model_validator(mode="after")
    def _ordered(self) -> Any:
        if not self.end > self.start:
            raise problem("end", f"give a time in s after start ({self.start})")
        return self


class Ramp(_Between):
    """From 0 at start to 1 at end."""

    kind: Literal["ramp"]


class Pulse(_Between):
    """1 from start to end, else 0."""

    kind: Literal["pulse"]


class Sine(Model):
    """sin(2π (t − start) / period + phase)."""

    kind: Literal["sine"]
    start: float = Field(0.0, description="a time in s")
    period: Positive = Field(description="a time in s, above 0")
    phase: float = Field(0.0, description="an angle in rad")


class Table(Model):
    """Straight lines between (time, value); constant before the first and after the last."""

    kind: Literal["table"]
    times: list[float] = Field(min_length=2, description="at least two times in s, ascending")
    values: list[float] = Field(min_length=2, description="factors of the force, one for every time")

    @model_validator(mode="after")
    def _fits(self) -> Any:
        if len(self.values) != len(self.times):
            raise problem("values", f"give one for every time ({len(self.times)})")
        if any(b <= a for a, b in zip(self.times, self.times[1:])):
            raise problem("times", "give ascending times in s")
        return self


Schedule = Annotated[Constant | Ramp | Pulse | Sine | Table, Field(discriminator="kind")]


class Force(Model):
    """A force and a torque on one body or on each of several."""

    body: Selector
    force: Vector = Field(default_factory=lambda: [0.0, 0.0, 0.0])
    torque: Vector = Field(default_factory=lambda: [0.0, 0.0, 0.0])
    point: Vector = Field(default_factory=lambda: [0.0, 0.0, 0.0])
    frame: Literal["world", "body"] = "world"
    schedule: Schedule = Field(default_factory=Constant)

    @model_validator(mode="after")
    def _acts(self) -> Any:
        if not any(self.force) and not any(self.torque):
            raise problem("force", "force and torque are both zero; give at least one of them")
        return self


class JointForce(Model):
    """An active force of joints: a value, or (hold) what balances gravity in the initial position."""

    joint: Selector = "*"
    value: Numbers | None = None
    hold: bool = Field(False, description="true or false")

    @model_validator(mode="after")
    def _one(self) -> Any:
        if self.hold == (self.value is not None):
            raise problem("value", "give either value or hold = true")
        return self


class Spring(Model):
    """Springs and dampers at joints, instead of those of the generator."""

    joint: Selector = "*"
    stiffness: NotNegative | None = None
    damping: NotNegative | None = None
    rest_position: float | None = Field(None, description="a finite number")


# -------------------------------------------------------------------- the parts of a scenario


class LinkageChoice(Model):
    """A generator with its parameters (checked against its signature), or a file."""

    model_config = ConfigDict(extra="allow")  # the generator's parameters

    generator: str | None = Field(None, description="the name of a generator")
    file: str | None = Field(None, description="the path of a linkage or trajectory file (.h5)")
    base: str = Field("as_generated", description='"as_generated", "fixed", "free" or another type of joint')

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Initial(Model):
    """The state at time 0."""

    state: Literal["neutral", "random"] = "neutral"
    seed: int | None = Field(None, ge=0, description="a whole number, 0 or more; default: the scenario's seed")
    angle: NotNegative = Field(math.pi, description="largest angle of a random state in rad, 0 or more")
    speed: NotNegative = Field(0.0, description="of a random state in rad/s or m/s, 0 or more; dynamic motion only")
    joints: dict[str, Numbers] = Field(default_factory=dict, description="a table: joint = position")
    velocities: dict[str, Numbers] = Field(default_factory=dict, description="a table: joint = velocity")


class _Motion(Model):
    step: Positive = Field(description="a time in s, above 0")
    steps: int | None = Field(None, ge=1, description="a whole number, 1 or more")
    duration: Positive | None = Field(None, description="a time in s, above 0")

    @model_validator(mode="after")
    def _length(self) -> Any:
        if (self.steps is None) == (self.duration is None):
            raise problem("steps", "give either steps or duration")
        return self

    @property
    def n_steps(self) -> int:
        return self.steps if self.steps is not None else max(1, round((self.duration or 0.0) / self.step))


class QuasiStatic(_Motion):
    kind: Literal["quasistatic"]
    method: Literal["adaptive", "dca", "aba", "auto"] = "adaptive"


class Dynamic(_Motion):
    kind: Literal["dynamic"]
    solver: Literal["aba", "crba", "dca"] = "aba"
    integrator: Literal["semi_implicit_euler", "rk4", "rk45"] = "semi_implicit_euler"
    relative_tolerance: Positive = Field(1e-6, description="of rk45, a number above 0")
    absolute_tolerance: Positive = Field(1e-9, description="of rk45, a number above 0")


class Weight(Model):
    """How much the acceleration of joints counts in the error."""

    joint: Selector
    weight: Positive


class EngineOptions(Model):
    error_threshold: Threshold = 2.0**-19
    error_measure: Literal["absolute_linkage", "relative_linkage", "absolute_joint", "relative_joint"] = (
        "relative_joint"
    )
    weights: list[Weight] = Field(default_factory=list, description="a list of {joint, weight}")


class Output(Model):
    every: int = Field(1, ge=1, description="a whole number of steps, 1 or more")
    quantities: list[Literal["position", "velocity", "energy"]] | None = Field(
        None, description='a list of "position", "velocity", "energy"'
    )


class Scenario(Model):
    """One run, completely described. `load_scenario` reads it from a file."""

    title: str = Field("", description="a text")
    seed: int = Field(0, ge=0, description="a whole number, 0 or more")
    gravity: Vector = Field(default_factory=lambda: [0.0, 0.0, -9.81])
    linkage: LinkageChoice = Field(description="a table with generator or file")
    initial: Initial = Field(default_factory=lambda: Initial.model_validate({}), description="a table")
    forces: list[Force] = Field(default_factory=list, description="tables [[forces]]")
    joint_forces: list[JointForce] = Field(default_factory=list, description="tables [[joint_forces]]")
    springs: list[Spring] = Field(default_factory=list, description="tables [[springs]]")
    motion: Annotated[QuasiStatic | Dynamic, Field(discriminator="kind", description="a table with kind, step, steps")]
    engine: EngineOptions = Field(default_factory=EngineOptions, description="a table")
    output: Output = Field(default_factory=lambda: Output.model_validate({}), description="a table")

    _linkage: Linkage | None = PrivateAttr(None)  # once built
    _name: str = PrivateAttr("scenario")

    @property
    def name(self) -> str:
        """The file's name without its ending, or that of a shipped scenario."""
        return self._name

    @property
    def is_dynamic(self) -> bool:
        return self.motion.kind == "dynamic"

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is stored; positions always are."""
        if self.output.quantities is not None:
            return tuple(dict.fromkeys(("position", *self.output.quantities)))
        return ("position", "velocity", "energy") if self.is_dynamic else ("position",)


