"""How long to look: seconds, or a number of rounds when the answer must be repeatable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import monotonic


@dataclass(frozen=True)
class Effort:
    """A limit in seconds of ``clock``; with ``rounds`` the clock is ignored."""

    seconds: float = 10.0
    rounds: int | None = None
    clock: Callable[[], float] = monotonic

    def begin(self) -> Watch:
        """Start the clock."""
        return Watch(self)


class Watch:
    """Tells when an effort that has begun is over."""

    def __init__(self, effort: Effort) -> None:
        self.clock = effort.clock
        self.rounds = inf if effort.rounds is None else effort.rounds
        self.end = self.clock() + effort.seconds if effort.rounds is None else inf

    def late(self) -> bool:
        """Tell whether the time is up."""
        return self.clock() >= self.end

    def over(self, n_rounds: int) -> bool:
        """Tell whether the time is up or ``n_rounds`` are enough."""
        return n_rounds >= self.rounds or self.late()
