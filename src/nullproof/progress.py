"""How far long work is: one form of callback for all of it.

A callback gets what is being done, in words, and the share of the work that is done, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TypeVar

Progress = Callable[[str, float], None]
T = TypeVar("T")
# Nobody reads faster, and a call may cost more than the work on one point.
_SECONDS = 0.1


def over(items: Sequence[T], what: str, on_progress: Progress | None) -> Iterator[T]:
    """Go through some items and tell how far it is, a few times a second.

    >>> list(over("a", "spelling", lambda what, share: print(what, share)))
    spelling 0.0
    spelling 1.0
    ['a']
    """
    if on_progress is None:
        yield from items
        return
    told = -_SECONDS
    for done, item in enumerate(items):
        now = monotonic()
        if now - told >= _SECONDS:
            on_progress(what, done / len(items))
            told = now
        yield item
    on_progress(what, 1.0)


def within(on_progress: Progress | None, start: float, stop: float) -> Progress | None:
    """The callback of a part of the work that goes from one share of the whole to another."""
    if on_progress is None:
        return None
    return lambda what, share: on_progress(what, start + (stop - start) * share)
