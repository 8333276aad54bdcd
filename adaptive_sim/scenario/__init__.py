"""Scenario files: what to simulate, in TOML; strict models, all problems reported together."""

from __future__ import annotations

from .build import build_linkage, initial_state
from .load import load_scenario, parse, scenario_text, shipped
from .models import Scenario
from .select import select

__all__ = [
    "Scenario",
    "build_linkage",
    "initial_state",
    "load_scenario",
    "parse",
    "scenario_text",
    "select",
    "shipped",
]
