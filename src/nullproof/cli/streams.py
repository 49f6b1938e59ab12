"""Where results and progress go: standard output, and standard error on a terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING

import typer

from nullproof.errors import NullproofWarning

if TYPE_CHECKING:
    from rich.console import Console


def echo(line: str) -> None:
    """Print one line of the result."""
    try:
        typer.echo(line)
    except BrokenPipeError:
        # A new one without errno: with it typer would exit with 1, which means that a point is open.
        raise BrokenPipeError from None


class Said(NullproofWarning):
    """What a command did beside its answer; a notice that -q silences, without the word note."""


def tell(line: str) -> None:
    """Say on standard error what was done, unless -q was given."""
    warnings.warn(line, Said, stacklevel=2)


def console() -> Console:
    """Where results are shown."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            # rich would exit with 1 too.
            raise BrokenPipeError

    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.closed:
        # Where blocks cannot be written, a table of numbers is better than none.
        sys.stdout.reconfigure(errors="replace")
    return Pipe(highlight=False)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal while something long goes on; call what it gives to say more."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …") as status:
        yield lambda more: status.update(f"{what} … {more}")
