"""The process: run one command, and turn every error into one line.

Exit codes: 0 done, 1 a point is not certain (``--check``), 2 an error, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from nullproof import __version__
from nullproof.errors import NullproofError, NullproofWarning

_INTERRUPTED = 130


def main() -> None:
    """Run the command line and turn every error into one line and exit code 2."""
    arguments = sys.argv[1:]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # The shell closed it (>&-), so discard the output.
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    debug = _take(arguments, "--debug")
    quiet = _take(arguments, "-q") | _take(arguments, "--quiet")
    try:
        code = _run(arguments, quiet=quiet)
    except BaseException as problem:
        # This also catches a polars panic, which is not an Exception and would exit with 1: that
        # code means that a point is open.
        code = _explained(problem, debug=debug)
    sys.exit(code)


def _run(arguments: list[str], *, quiet: bool) -> int:
    """Run a command and return its exit code."""
    if "--version" in arguments:
        # Skip typer, which takes several times as long to load as everything else here.
        sys.stdout.write(f"nullproof {__version__}\n")
        code: Any = 0
    else:
        from nullproof.cli.streams import SCREEN

        SCREEN.start(quiet=quiet)
        with warnings.catch_warnings():
            warnings.simplefilter("always", NullproofWarning)
            warnings.showwarning = SCREEN.show_notice
            from nullproof.cli.program import program

            asked = arguments or ["--help"]
            code = program()(asked, prog_name="nullproof", standalone_mode=False)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The answer was found before the reader left, so a failed --check still fails.
        _drop_output()
    if code == _INTERRUPTED:
        # This is how typer says that the user pressed Ctrl-C.
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _explained(problem: BaseException, *, debug: bool) -> int:
    """Print a problem as one line and return the exit code, which is never 1."""
    pipe = isinstance(problem, SystemExit) and isinstance(problem.__context__, BrokenPipeError)
    if isinstance(problem, BrokenPipeError) or pipe:
        # The reader of our output has gone (| head), which is not an error.
        _drop_output()
        return 0
    if isinstance(problem, SystemExit) and (problem.code is None or isinstance(problem.code, int)):
        # A command that exits with 1 on purpose raises typer.Exit, which is handled elsewhere.
        return 2 if problem.code == 1 else problem.code or 0
    # typer brings its own copy of click, so its errors are known by name and methods, not by class.
    interrupted = isinstance(problem, KeyboardInterrupt) or type(problem).__name__ == "Abort"
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _drop_output()
    # If stderr is closed, no message can be shown, but the exit code is still right.
    with contextlib.suppress(OSError, ValueError):
        if debug and not interrupted:
            traceback.print_exception(problem)
        else:
            import typer

            from nullproof.cli.streams import harmless

            line = "interrupted" if interrupted else _sentence(problem)
            typer.echo(harmless(f"nullproof: {' '.join(line.split())}"), err=True)
    return _INTERRUPTED if interrupted else 2


def _sentence(problem: BaseException) -> str:
    if isinstance(problem, MemoryError):
        return "not enough memory; give fewer rows or columns, or add --memory-limit for files"
    if isinstance(problem, NullproofError | OSError | SystemExit):
        return str(problem) or type(problem).__name__
    if hasattr(problem, "format_message"):
        return _refused(problem) or f"{problem.format_message().rstrip('.')}; see nullproof --help"
    return f"{type(problem).__name__}: {problem}; this is a bug in nullproof, see --debug"


def _refused(problem: Any) -> str | None:
    """Name the commands that take an option which this command rejected."""
    from nullproof.cli.options import COMMANDS, OPTIONS, flag
    from nullproof.words import either

    if type(problem).__name__ != "NoSuchOption" or problem.ctx is None:
        return None
    option = problem.option_name
    keys = {key for key in OPTIONS if flag(key) == option}
    owners = [name for name, command in COMMANDS.items() if keys & {*command.takes}]
    if not owners:
        return None
    return (
        f"{option} belongs to {either(owners, 'and')}, not to {problem.ctx.info_name}; leave it out"
    )


def _drop_output() -> None:
    """Discard unwritten output; otherwise Python retries at exit and changes the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _take(arguments: list[str], flag: str) -> bool:
    """Remove a global flag, which may stand anywhere on the line, and return whether it was given."""
    found = flag in arguments
    while flag in arguments:
        arguments.remove(flag)
    return found
