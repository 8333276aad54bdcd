"""The assembly tree: how a linkage is taken apart into subassemblies with at most two handles."""

from .build import build_assembly_tree
from .tree import AssemblyTree, Kind

__all__ = ["AssemblyTree", "Kind", "build_assembly_tree"]
