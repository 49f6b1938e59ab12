"""The command line: runs a command, and turns every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer

from nullproof import __version__
from nullproof.commands import app
from nullproof.errors import NullproofError, NullproofWarning


def main() -> None:
    """Run the command line and turn every error into one line and exit code 2."""
    arguments = sys.argv[1:]
    debug = _take(arguments, "--debug")
    quiet = _take(arguments, "-q") | _take(arguments, "--quiet")
    if "--version" in arguments:
        typer.echo(f"nullproof {__version__}")
        sys.exit(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if quiet else "always", NullproofWarning)
            warnings.showwarning = _show_notice
            code = app(arguments or ["--help"], prog_name="nullproof", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone (| head): not an error, and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except (NullproofError, OSError, MemoryError) as problem:
        if debug:
            raise
        _fail(str(problem) or type(problem).__name__)
    except Exception as problem:
        if debug:
            raise
        # typer brings its own copy of click, so its errors are told by what they can do.
        if type(problem).__name__ == "Abort":
            _fail("interrupted", 130)
        if hasattr(problem, "format_message"):
            _fail(f"{problem.format_message().rstrip('.')}; see nullproof --help")
        _fail(f"{type(problem).__name__}: {problem}; this is a mistake in nullproof, see --debug")
    sys.exit(code if isinstance(code, int) else 0)


def _take(arguments: list[str], flag: str) -> bool:
    """Allow a flag of the whole program anywhere on the line."""
    found = flag in arguments
    while flag in arguments:
        arguments.remove(flag)
    return found


def _fail(message: str, code: int = 2) -> None:
    typer.echo(f"nullproof: {' '.join(message.split())}", err=True)
    sys.exit(code)


def _show_notice(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, NullproofWarning):
        typer.echo(f"note: {message}", err=True)
