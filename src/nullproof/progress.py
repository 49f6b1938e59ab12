"""Report the progress of long work, and share it between two cores.

Every callback takes a description of the current step and the share of the work that is done, from 0
to 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

Progress = Callable[[str, float], None]
T = TypeVar("T")
R = TypeVar("R")
# More calls would be unreadable, and one may cost more than the work on one point.
_SECONDS = 0.1
_CORES = 2


def over(items: Sequence[T], what: str, on_progress: Progress | None) -> Iterator[T]:
    """Yield the items and report progress a few times a second.

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
    """Return a callback for one part of the work, from share ``start`` to share ``stop`` of the whole."""
    if on_progress is None:
        return None
    return lambda what, share: on_progress(what, start + (stop - start) * share)


def on_both_cores(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the result of each item, in order, while the next ones are read and worked on.

    Only a few items wait at a time.

    >>> list(on_both_cores(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(max_workers=_CORES) as pool:
        going: deque[Future[R]] = deque()
        for item in items:
            going.append(pool.submit(work, item))
            if len(going) > _CORES:
                yield going.popleft().result()
        for future in going:
            yield future.result()
