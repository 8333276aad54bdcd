"""Figures of a trajectory file: how much it holds, and how much smaller it is than full frames would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .layout import CHANGE_COST, KEYFRAME_COST

if TYPE_CHECKING:
    from .reader import Trajectory


@dataclass(frozen=True)
class TrajectoryInfo:
    """What `adaptive-sim info` shows; `str()` gives the lines, `dataclasses.asdict` a dict for machines."""

    path: str
    state: str  # "finished", "running", "interrupted", "stopped"
    lost: str  # what damage has cost; '' if nothing
    linkage: str
    n_bodies: int
    n_coordinates: int
    frames: int
    steps: int
    planned_steps: int | None
    last_time: float  # s
    changes: int
    keyframes: int
    file_bytes: int
    motion_bytes: int  # keyframes and changes
    full_bytes: int  # what full frames would take

    @property
    def keyframe_spacing(self) -> float:
        """Frames per keyframe."""
        return self.frames / self.keyframes if self.keyframes else 0.0

    @property
    def file_ratio(self) -> float:
        """Size of the whole file (with linkage, scenario, diagnostics) over that of full frames."""
        return self.file_bytes / self.full_bytes if self.full_bytes else 0.0

    @property
    def motion_ratio(self) -> float:
        """Size of the motion alone over that of full frames."""
        return self.motion_bytes / self.full_bytes if self.full_bytes else 0.0

    def __str__(self) -> str:
        planned = "" if self.planned_steps is None else f" of {self.planned_steps:,}"
        lines = [
            f"{self.path}: {self.state}, {self.frames:,} frames, {self.steps:,}{planned} steps, "
            f"t = {self.last_time:g} s",
            f"linkage: {self.linkage}, {self.n_bodies:,} bodies, {self.n_coordinates:,} coordinates",
            f"size: {self.file_bytes / 1e6:.2f} MB, motion {self.motion_bytes / 1e6:.2f} MB; "
            f"full frames {self.full_bytes / 1e6:.2f} MB: {_times(self.file_ratio)} (motion alone "
            f"{_times(self.motion_ratio)})",
            f"motion: {self.changes:,} changes, {self.keyframes:,} keyframes (one in {self.keyframe_spacing:.1f})",
        ]
        return "\n".join([*lines, f"lost: {self.lost}"] if self.lost else lines)


def _times(ratio: float) -> str:
    if ratio == 0.0:
        return "no frames"
    return f"{1 / ratio:.1f} times smaller" if ratio <= 1.0 else f"{ratio:.1f} times larger"


def describe(trajectory: Trajectory) -> TrajectoryInfo:
    """The figures of an open trajectory."""
    marker = trajectory._contents.marker
    counts, linkage = marker.counts, trajectory.linkage
    state = marker.status
    if state == "running" and not trajectory.running:
        state = "interrupted"
    width = trajectory._nq + (trajectory._nv if trajectory._with_velocity else 0)
    return TrajectoryInfo(
        path=str(trajectory.path),
        state=state,
        lost=trajectory.lost,
        linkage=linkage.name,
        n_bodies=linkage.n_bodies,
        n_coordinates=linkage.nq,
        frames=counts.frames,
        steps=counts.steps,
        planned_steps=marker.n_steps,
        last_time=float(trajectory.times[-1]) if counts.frames else 0.0,
        changes=counts.changes,
        keyframes=counts.keyframes,
        file_bytes=trajectory.path.stat().st_size,
        motion_bytes=CHANGE_COST * counts.changes + KEYFRAME_COST * width * counts.keyframes,
        full_bytes=KEYFRAME_COST * width * counts.frames,
    )
