"""Where results, notices and progress go: standard output, and standard error."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from nullproof.errors import NullproofWarning
from nullproof.words import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from nullproof.progress import Progress

# What moves the cursor, clears the screen or turns text round: C0 but for tabs and line ends, C1, bidi.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Before this, nobody wonders how long it will take, and a guess would be wild.
_SECONDS = 2.0


def harmless(text: str) -> str:
    """Return a text from the data without characters that a terminal would obey."""
    return _CONTROL.sub("\ufffd", text)


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


@contextmanager
def noting() -> Iterator[list[str]]:
    """Keep the notices of what is done here in a list, and tell them afterwards as always."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NullproofWarning)
        yield told
    for notice in caught:
        told.append(str(notice.message))
        warnings.warn_explicit(
            notice.message,
            notice.category,
            notice.filename,
            notice.lineno,
        )


def console() -> Console:
    """Where results are shown."""
    from rich.console import Console
    from rich.segment import Segment

    class Pipe(Console):
        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            for segment in super().render(*arguments, **options):
                yield segment if segment.control else segment._replace(text=harmless(segment.text))

        def on_broken_pipe(self) -> None:
            # rich would exit with 1 too.
            raise BrokenPipeError

    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.closed:
        # Where blocks cannot be written, a table of numbers is better than none.
        sys.stdout.reconfigure(errors="replace")
    return Pipe(highlight=False, emoji=False)


class Screen:
    """Standard error as a person sees it: notices, and in its last line what is going on."""

    def __init__(self) -> None:
        self.quiet = False
        self._status: Status | None = None

    def notice(self, line: str) -> None:
        """Print a notice, above the line that tells of progress if there is one."""
        line = harmless(line)
        if self._status is None:
            typer.echo(line, err=True)
        else:
            self._status.console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[Progress]:
        """Show on a terminal that something long goes on; call what it gives to say how far it is."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda _what, _share: None
            return
        from rich.console import Console
        from rich.markup import escape

        begin = monotonic()
        with Console(stderr=True).status(f"{escape(what)} …") as status:
            self._status = status
            try:
                yield lambda now, share: status.update(
                    escape(told(now, share, monotonic() - begin))
                )
            finally:
                self._status = None


def told(what: str, share: float, seconds: float) -> str:
    """What is done, how much of it, and how long the rest will take if it goes on like this."""
    left = ""
    if seconds >= _SECONDS and 0 < share < 1:
        left = f", {duration(seconds * (1 - share) / share)} left"
    return f"{what} … {100 * share:.0f} %{left}"


SCREEN = Screen()
working, notice = SCREEN.working, SCREEN.notice
