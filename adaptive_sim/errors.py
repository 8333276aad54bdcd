"""Every error a user can meet, as one hierarchy.

    AdaptiveSimError
    ├── InputError                 the user's input is wrong               (CLI exit code 2)
    │   ├── InvalidLinkageError    all problems of a linkage, together
    │   ├── InvalidStateError      q, v, tau or forces do not fit the linkage
    │   ├── UnsupportedError       the input is fine, this solver cannot take it (loops, size, method)
    │   ├── ScenarioError          all problems of a scenario file, together
    │   └── TrajectoryError        a trajectory or linkage file cannot be read, written or overwritten
    └── SimulationError            the computation failed                  (CLI exit code 1)
        ├── SingularJointError     a joint has no inertia along its motion
        └── NonFiniteStateError    a position or velocity became infinite or undefined

A message names the thing, the value and the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence


class AdaptiveSimError(Exception):
    """Base of all errors of this package."""

    exit_code = 1


class InputError(AdaptiveSimError, ValueError):
    """The input is wrong; nothing was computed or written."""

    exit_code = 2


class InvalidLinkageError(InputError):
    """All problems of a linkage, reported together.

    `problems` holds one sentence each; the message lists them.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"the linkage has {count} problem{'s' if count != 1 else ''}:\n{lines}")


class ScenarioError(InputError):
    """All problems of a scenario file, reported together; `problems` holds one sentence each."""

    def __init__(self, file: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "\n".join(f"  {file}: {problem}" for problem in self.problems)
        super().__init__(f"the scenario has {count} problem{'s' if count != 1 else ''}:\n{lines}")


class InvalidStateError(InputError):
    """Joint positions, velocities or forces do not fit the linkage."""


class UnsupportedError(InputError):
    """The input is valid, but this solver cannot handle it."""


class TrajectoryError(InputError):
    """A file cannot be read (damaged, foreign, too new), written (disk full) or may not be overwritten."""


class SimulationError(AdaptiveSimError):
    """The computation failed on valid input."""


class SingularJointError(SimulationError):
    """A joint can move without moving any inertia, so its acceleration is not defined."""

    def __init__(self, joint: int, name: str, detail: str) -> None:
        self.joint = joint
        super().__init__(f"joint {joint} ({name!r}): {detail}")


class NonFiniteStateError(SimulationError):
    """A position or velocity became infinite or undefined during a run; `step` did it."""

    def __init__(self, step: int, time: float, joint: int, name: str, detail: str) -> None:
        self.step, self.time, self.joint = step, time, joint
        super().__init__(
            f"step {step:,} (time {time:.6g} s), joint {joint} ({name!r}): {detail}; take a smaller step or smaller "
            "forces. Everything before this step is kept"
        )
