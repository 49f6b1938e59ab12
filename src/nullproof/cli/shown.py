"""What a result offers, how much of it a terminal shows, and what it says comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

import typer

# How many lines a table has unless all are asked for.
SHOWN = 20
# How the name of a file ends that is a table.
TABLES = (".csv", ".parquet")
ShowAll = Annotated[bool, typer.Option("--all", help="Show every line, not only the first.")]


class Answer(Protocol):
    """A result that can be written to a file."""

    def file_columns(self) -> dict[str, Any]:
        """The columns of a table."""

    def document(self) -> dict[str, Any]:
        """The JSON form."""


class Following(NamedTuple):
    """What to do next, in words, and the command that does it, ready to be pasted."""

    what: str
    line: str


@dataclass(frozen=True)
class Shown:
    """How a result is shown: whose rows the points are, whether all of them, and what to do next."""

    of_train: bool
    everything: bool
    following: Following | None

    @property
    def then(self) -> str | None:
        """The next command."""
        return None if self.following is None else self.following.line

    @property
    def limit(self) -> int | None:
        """How many lines a table has at most; None for all."""
        return None if self.everything else SHOWN
