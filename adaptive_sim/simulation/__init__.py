"""The step as a list of phases: forces, accelerations, integration, frames."""

from __future__ import annotations

from .simulate import simulate
from .systems import Dynamics, QuasiStatics, System, make_engine, make_system

__all__ = ["Dynamics", "QuasiStatics", "System", "make_engine", "make_system", "simulate"]
