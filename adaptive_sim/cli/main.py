"""The command line: every command is a module of its own in this package, registered here.

All errors leave by one way out, `Commands.invoke`: a message on stderr and an exit code, never a traceback, for what
the user can mend. Anything else is a bug and keeps its traceback. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..errors import AdaptiveSimError
from .solve import solve

INTERRUPTED = 130  # 128 + SIGINT, what shells expect


class Commands(TyperGroup):
    """Turns the errors a user can meet into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AdaptiveSimError as error:
            _leave(f"error: {error}", error.exit_code)
        except MemoryError as error:
            detail = f" ({error})" if str(error) else ""
            _leave(f"error: out of memory{detail}; use a smaller linkage", AdaptiveSimError.exit_code)
        except KeyboardInterrupt:
            _leave("interrupted", INTERRUPTED)


def _leave(message: str, exit_code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(exit_code)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: half the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:  adaptive-sim solve molecule -n 50000",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adaptive-sim {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate linkages with up to millions of joints.

    Exit codes: 0 done, 1 the computation failed, 2 the input is wrong, 130 interrupted.
    """


app.command()(solve)


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="adaptive-sim")


if __name__ == "__main__":
    main()
