"""The one way kernels are compiled: `@kernel`.

float64 throughout, no reordering of sums (the error bound relies on it), results cached on disk. A product and a
sum may be fused into one instruction: it rounds once instead of twice, so bounds of the form "every operation errs by
at most one rounding" still hold.
Two things Numba does not do by itself are added here:

* the first compilation of a process is announced, since it takes seconds and would look like a hang;
* a cached kernel is thrown away when a kernel file *it may call* has changed. Numba only watches the
  file the kernel is written in, so an edit in `spatial/` would leave a stale `exact/aba.py` on disk.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(rb"^from (\.+)([\w.]+) import", re.MULTILINE)
# Which packages' kernels a package's kernels may call (the import directions of the design).
_MAY_CALL = {
    "spatial": ("spatial",),
    "linkage": ("spatial", "linkage"),
    "exact": ("spatial", "linkage", "exact"),
    "assembly": ("assembly",),
    "adaptive": ("spatial", "linkage", "exact", "adaptive"),
    "simulation": ("spatial", "linkage", "exact", "adaptive", "simulation"),
}


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, parallel: bool = ..., inline: bool = ...) -> Callable[[F], F]: ...
def kernel(function: F | None = None, *, parallel: bool = False, inline: bool = False) -> F | Callable[[F], F]:
    """Compile `function` for use in hot loops. Kernels return status codes; they never raise."""

    def compile_(f: F) -> F:
        # Inlined kernels allocate nothing, so they need not count references to the arrays they are handed: counting
        # took up to nine tenths of the time of a short loop.
        options: dict[str, Any] = {"_nrt": not inline}
        dispatcher = numba.njit(
            cache=True,
            # Division by zero gives inf/nan as in NumPy; the default check stops vectorisation.
            error_model="numpy",
            fastmath={"contract"},
            parallel=parallel,
            nogil=True,
            # LLVM's always-inline: small algebra called in hot loops must not spill its tuples to memory.
            forceinline=inline,
            **options,
        )(f)
        _watch_called_files(dispatcher, f)
        return cast(F, dispatcher)

    return compile_ if function is None else compile_(function)


def _watch_called_files(dispatcher: Any, function: Callable[..., Any]) -> None:
    """Make the disk cache depend on every kernel file the function may call."""
    package = function.__module__.split(".")[1] if function.__module__.startswith("adaptive_sim.") else ""
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if cache_file is not None and hasattr(cache_file, "_source_stamp"):  # absent with NUMBA_DISABLE_JIT=1
        cache_file._source_stamp = (cache_file._source_stamp, _stamp(package))


@cache
def _stamp(package: str) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file that is compiled into kernels of `package`.

    Those with kernels, and those they import from: constants and types become part of the machine code too.
    """
    paths = {Path(__file__)}
    for name in _MAY_CALL.get(package, ()):
        for path in (_PACKAGE / name).glob("*.py"):
            text = path.read_bytes()
            if b"@kernel" in text:
                paths.add(path)
                for dots, module in _IMPORT.findall(text):
                    start = path.parents[len(dots) - 1]
                    paths.add(start.joinpath(*module.decode().split(".")).with_suffix(".py"))
    return tuple(
        (str(p.relative_to(_PACKAGE)), p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(paths) if p.is_file()
    )


class _AnnounceFirstCompilation(event.Listener):
    """Says once per process, on stderr, that kernels are being compiled."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data.get("dispatcher")
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", "")
        if not self.said and str(module).startswith("adaptive_sim."):
            self.said = True
            print(
                "adaptive_sim: compiling kernels (only the first time; later starts use the cache) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _AnnounceFirstCompilation())  # type: ignore[no-untyped-call]
