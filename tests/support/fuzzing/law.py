"""The law for every reader: an answer, or one sentence of our own."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nullproof import NullproofError, NullproofWarning

# A message may quote a name, however long that is.
LONGEST = 5000
Make = Callable[[random.Random], bytes]
Read = Callable[[bytes], Any]


class BrokenLawError(AssertionError):
    """Something else came out than an answer or one sentence."""


@dataclass(frozen=True)
class Way:
    """A reader, and how its inputs are made.

    Parameters
    ----------
    build
        Gives what makes one input, at random, and what reads it: what is refused is a `NullproofError`.
        It is called when the reader is first needed, for some take a second.
    share
        How many of its inputs are tried in one round.
    """

    name: str
    share: int
    build: Callable[[], tuple[Make, Read]]

    @cached_property
    def parts(self) -> tuple[Make, Read]:
        return self.build()

    def inputs(self, number: int) -> Iterator[bytes]:
        """The inputs of a round, always the same; a generator for each would take longer than most."""
        rng, make = random.Random(f"{self.name} {number}"), self.parts[0]
        return (make(rng) for _ in range(self.share))

    def attempt(self, raw: bytes) -> bool:
        """Read an input; whether it was refused. Anything but an answer and one sentence is raised."""
        try:
            self.parts[1](raw)
        except NullproofError as problem:
            said = str(problem)
            if "\n" in said or not 10 < len(said) < LONGEST or "bug in nullproof" in said:
                raise BrokenLawError(f"not one sentence: {said[:300]!r}") from problem
            return True
        return False


def reading_whole(read: Read, raws: Iterable[bytes]) -> Read:
    """Give back ``read``, which takes all of these: breaking what is refused anyhow tries nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        for raw in raws:
            try:
                read(raw)
            except NullproofError as problem:
                # Lists are refused only once the file was read.
                if "has type List" not in str(problem):
                    raise
    return read


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """What libraries warn of is a finding; our own warnings are answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NullproofWarning)
        yield
