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
        self.begin = self.clock()
        self.seconds = effort.seconds if effort.rounds is None else inf

    def late(self, share: float = 1.0) -> bool:
        """Tell whether the time, or a share of it, is up."""
        return self.clock() - self.begin >= share * self.seconds

    def spent(self, n_rounds: int) -> float:
        """Return the share of the time, or of the rounds, that is spent."""
        if self.rounds != inf:
            return min(1.0, n_rounds / max(self.rounds, 1))
        return min(1.0, (self.clock() - self.begin) / self.seconds) if self.seconds else 1.0

    def left(self) -> float:
        """Return the seconds left, at least 0; infinity if rounds count instead."""
        return max(0.0, self.begin + self.seconds - self.clock())

    def over(self, n_rounds: int) -> bool:
        """Tell whether the time is up or ``n_rounds`` are enough."""
        return n_rounds >= self.rounds or self.late()
