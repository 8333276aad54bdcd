"""Error-bounded adaptive simulation of very large linkages: the public names, each loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module. Loading Numba and SciPy takes longer than most commands of the CLI need.
_MODULE_OF = {
    name: module
    for module, names in {
        "errors": (
            "AdaptiveSimError", "InputError", "InvalidLinkageError", "InvalidStateError", "UnsupportedError",
            "TrajectoryError", "SimulationError", "SingularJointError",
        ),
        "linkage.joints": ("JointType",),
        "linkage.model": ("Linkage", "Shape"),
        "linkage.builder": ("LinkageBuilder",),
        "linkage.inertia": (
            "inertia_of_box", "inertia_of_capsule", "inertia_of_cylinder", "inertia_of_sphere",
        ),
        "linkage.state": ("State", "neutral_state", "random_state", "integrate", "difference"),
        "linkage.generators": (
            "chain", "bicycle_chain", "millipede", "molecule", "random_tree", "star", "caterpillar", "balanced",
        ),
        "linkage.human": ("human_figure",),
        "exact.dynamics": (
            "inverse_dynamics", "mass_matrix", "body_poses", "centers_of_mass", "energy", "momentum", "Energy",
            "GRAVITY",
        ),
        "dynamics": ("forward_dynamics", "Acceleration"),
        "assembly": ("AssemblyTree",),
        "adaptive.plan": ("build_assembly_tree",),
        "adaptive.engine": ("Engine", "Result", "StepLog"),
        "trajectory.frame": ("Frame",),
        "trajectory.writer": ("TrajectoryWriter",),
        "trajectory.reader": ("Trajectory",),
        "trajectory.linkage_io": ("save_linkage", "load_linkage"),
    }.items()
    for name in names
}  # fmt: skip

if TYPE_CHECKING:
    from .adaptive.engine import Engine, Result, StepLog
    from .adaptive.plan import build_assembly_tree
    from .assembly import AssemblyTree
    from .dynamics import Acceleration, forward_dynamics
    from .errors import (
        AdaptiveSimError,
        InputError,
        InvalidLinkageError,
        InvalidStateError,
        SimulationError,
        SingularJointError,
        TrajectoryError,
        UnsupportedError,
    )
    from .exact.dynamics import (
        GRAVITY,
        Energy,
        body_poses,
        centers_of_mass,
        energy,
        inverse_dynamics,
        mass_matrix,
        momentum,
    )
    from .linkage.builder import LinkageBuilder
    from .linkage.generators import (
        balanced,
        bicycle_chain,
        caterpillar,
        chain,
        millipede,
        molecule,
        random_tree,
        star,
    )
    from .linkage.human import human_figure
    from .linkage.inertia import inertia_of_box, inertia_of_capsule, inertia_of_cylinder, inertia_of_sphere
    from .linkage.joints import JointType
    from .linkage.model import Linkage, Shape
    from .linkage.state import State, difference, integrate, neutral_state, random_state
    from .trajectory.frame import Frame
    from .trajectory.linkage_io import load_linkage, save_linkage
    from .trajectory.reader import Trajectory
    from .trajectory.writer import TrajectoryWriter

__all__ = [
    "GRAVITY",
    "Acceleration",
    "AdaptiveSimError",
    "AssemblyTree",
    "Energy",
    "Engine",
    "Frame",
    "InputError",
    "InvalidLinkageError",
    "InvalidStateError",
    "JointType",
    "Linkage",
    "LinkageBuilder",
    "Result",
    "Shape",
    "SimulationError",
    "SingularJointError",
    "State",
    "StepLog",
    "Trajectory",
    "TrajectoryError",
    "TrajectoryWriter",
    "UnsupportedError",
    "__version__",
    "balanced",
    "bicycle_chain",
    "body_poses",
    "build_assembly_tree",
    "caterpillar",
    "centers_of_mass",
    "chain",
    "difference",
    "energy",
    "forward_dynamics",
    "human_figure",
    "inertia_of_box",
    "inertia_of_capsule",
    "inertia_of_cylinder",
    "inertia_of_sphere",
    "integrate",
    "inverse_dynamics",
    "load_linkage",
    "mass_matrix",
    "millipede",
    "molecule",
    "momentum",
    "neutral_state",
    "random_state",
    "random_tree",
    "save_linkage",
    "star",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'adaptive_sim' has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
