"""How much of a result a terminal shows, and what it says comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import typer

# How many lines a table has unless all are asked for.
SHOWN = 20
ShowAll = Annotated[bool, typer.Option("--all", help="Show every line, not only the first.")]


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
