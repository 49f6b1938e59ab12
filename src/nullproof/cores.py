"""Work that both cores share: results come in order, and only a few items wait at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
_AT_A_TIME = 2


def on_both_cores(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """What comes of each item, in order, while the next ones are read and worked on.

    >>> list(on_both_cores(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(max_workers=_AT_A_TIME) as pool:
        going: deque[Future[R]] = deque()
        for item in items:
            going.append(pool.submit(work, item))
            if len(going) > _AT_A_TIME:
                yield going.popleft().result()
        for one in going:
            yield one.result()
