"""Standard output for results; standard error for notices and progress."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
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

# Characters that control the terminal or reverse text: C0 except tabs and line ends, C1, bidi marks.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# No remaining time is shown before this: the estimate would be too rough.
_SECONDS = 2.0


def harmless(text: str) -> str:
    """Return a text without characters that control a terminal."""
    return _CONTROL.sub("\ufffd", text)


def echo(line: str) -> None:
    """Print one line of the result."""
    try:
        typer.echo(line)
    except BrokenPipeError:
        # A new one without errno: with it typer would exit with 1, which means that a point is open.
        raise BrokenPipeError from None


def tell(line: str) -> None:
    """Report on standard error what was done, unless -q was given."""
    if not SCREEN.quiet:
        SCREEN.print(line)


def console() -> Console:
    """Return the console for results."""
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
        # If the encoding has no block characters, print the numbers without them.
        sys.stdout.reconfigure(errors="replace")
    return Pipe(highlight=False, emoji=False)


class Screen:
    """Standard error on a terminal: notices, and a last line with the progress."""

    def __init__(self) -> None:
        self.start(quiet=False)

    def start(self, *, quiet: bool) -> None:
        """Reset for a new command, with no notices yet."""
        self.quiet = quiet
        self.notices: list[str] = []
        self._status: Status | None = None

    def show_notice(
        self, message: Warning | str, category: type[Warning], *_: Any, **__: Any
    ) -> None:
        """Record one of our warnings and, unless -q was given, print it once, wrapped between words."""
        # Loaded by whatever gives a notice; help needs none of it.
        from nullproof.data.notices import in_flags

        line = in_flags(str(message))
        if not issubclass(category, NullproofWarning) or line in self.notices:
            return
        self.notices.append(line)
        if self.quiet:
            return
        line = f"note: {line}"
        if sys.stderr.isatty():
            width = max(shutil.get_terminal_size().columns - 1, 20)
            line = textwrap.fill(
                line,
                width,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        self.print(line)

    def print(self, line: str) -> None:
        """Print a line, above the line of progress if there is one."""
        if self._status is None:
            typer.echo(harmless(line), err=True)
        else:
            self._status.console.print(
                harmless(line), markup=False, highlight=False, soft_wrap=True
            )

    @contextmanager
    def working(self, what: str) -> Iterator[Progress]:
        """Show progress on a terminal; call the yielded function to update it."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda _what, _share: None
            return
        from rich.console import Console
        from rich.markup import escape

        begin = monotonic()

        def say(now: str, share: float) -> None:
            seconds, left = monotonic() - begin, ""
            if seconds >= _SECONDS and 0 < share < 1:
                left = f", {duration(seconds * (1 - share) / share)} left"
            status.update(escape(f"{now} … {100 * share:.0f} %{left}"))

        with Console(stderr=True).status(f"{escape(what)} …") as status:
            self._status = status
            try:
                yield say
            finally:
                self._status = None


SCREEN = Screen()
working = SCREEN.working
