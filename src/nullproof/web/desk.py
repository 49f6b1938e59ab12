"""All that one server keeps, under names that nobody can guess; what is old makes room."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from anyio import CapacityLimiter, Semaphore, sleep
from fastapi import Request

from nullproof.web.analysis import Analysis
from nullproof.web.jobs import Workers
from nullproof.web.problems import RequestError
from nullproof.web.settings import Settings
from nullproof.web.uploads import Upload
from nullproof.web.worksheets import Sheet
from nullproof.words import cut

_WORKERS = 4
_AT_ONCE = 4
_UPLOADS_AT_ONCE = 8
_LOOK = 0.5


class Thing(Protocol):
    """Something to keep."""

    @property
    def size(self) -> int:
        """How much room it takes, in bytes."""

    @property
    def busy(self) -> bool:
        """Whether it must not go now."""

    def discard(self) -> None:
        """Give its room back."""


T = TypeVar("T", bound=Thing)


@dataclass
class _Kept(Generic[T]):
    thing: T
    used: float


class Shelf(Generic[T]):
    """Keeps things up to a number, a total size and an age; the least recently used go first.

    Parameters
    ----------
    what
        What one of the things is called in messages.
    """

    def __init__(self, what: str, *, number: int, size: int, age: float) -> None:
        self._what, self._number, self._size, self._age = what, number, size, age
        self._kept: dict[str, _Kept[T]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, thing: T) -> str:
        """Keep a thing, and return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._make_room(thing.size)
            self._kept[name] = _Kept(thing, time.monotonic())
        return name

    def get(self, name: str) -> T:
        """Find a thing by its name."""
        with self._lock:
            self._drop_old()
            kept = self._kept.get(name)
            if kept is None:
                raise RequestError(
                    404,
                    f"there is no {self._what} {cut(name, 30)!r}; it may have been dropped to "
                    "make room, so make it again",
                )
            kept.used = time.monotonic()
            return kept.thing

    def drop(self, name: str) -> None:
        """Forget a thing."""
        thing = self.get(name)
        with self._lock:
            self._kept.pop(name, None)
        thing.discard()

    def things(self) -> list[T]:
        """All that is kept."""
        with self._lock:
            return [kept.thing for kept in self._kept.values()]

    def settle(self) -> None:
        """Drop what no longer fits, because it grew or aged."""
        with self._lock:
            self._make_room(0, number=self._number + 1)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            things = [kept.thing for kept in self._kept.values()]
            self._kept.clear()
        for thing in things:
            thing.discard()

    def _make_room(self, size: int, number: int | None = None) -> None:
        self._drop_old()
        most = self._number if number is None else number
        while len(self._kept) >= most or self._total() + size > self._size:
            if not self._drop_oldest():
                if len(self._kept) < most:
                    return
                raise RequestError(
                    503,
                    f"there is no room for another {self._what} right now (at most {self._number}, and "
                    "all are in use); try again in a minute",
                )

    def _total(self) -> int:
        return sum(kept.thing.size for kept in self._kept.values())

    def _drop_old(self) -> None:
        since = time.monotonic() - self._age
        for name, kept in list(self._kept.items()):
            if kept.used < since and not kept.thing.busy:
                self._kept.pop(name).thing.discard()

    def _drop_oldest(self) -> bool:
        idle = [(kept.used, name) for name, kept in self._kept.items() if not kept.thing.busy]
        if idle:
            self._kept.pop(min(idle)[1]).thing.discard()
        return bool(idle)


@dataclass(frozen=True)
class Desk:
    """All that a server keeps: tables, analyses, and the threads that work on them."""

    settings: Settings
    folder: Path
    tables: Shelf[Upload]
    worksheets: Shelf[Sheet]
    analyses: Shelf[Analysis]
    workers: Workers
    limiter: CapacityLimiter
    uploading: Semaphore

    @classmethod
    def open(cls, settings: Settings, folder: Path) -> Desk:
        """A new desk whose files go into ``folder``."""
        tables: Shelf[Upload] = Shelf(
            "table",
            number=settings.max_tables,
            size=8 * settings.max_upload,
            age=settings.max_age,
        )
        worksheets: Shelf[Sheet] = Shelf(
            "worksheet",
            number=settings.max_tables,
            size=settings.max_upload,
            age=settings.max_age,
        )
        analyses: Shelf[Analysis] = Shelf(
            "analysis", number=settings.max_analyses, size=settings.memory, age=settings.max_age
        )
        return cls(
            settings,
            folder,
            tables,
            worksheets,
            analyses,
            Workers(_WORKERS),
            CapacityLimiter(_AT_ONCE),
            Semaphore(_UPLOADS_AT_ONCE),
        )

    async def watch(self) -> None:
        """Look now and then for work that nobody waits for any more."""
        while True:
            await sleep(_LOOK)
            for analysis in self.analyses.things():
                analysis.stop_if_abandoned()

    def close(self) -> None:
        """Stop all work and delete all files."""
        self.analyses.clear()
        self.workers.close()
        self.tables.clear()
        self.worksheets.clear()


def desk_of(request: Request) -> Desk:
    """The desk of the server that got a request."""
    desk: Any = request.app.state.desk
    assert isinstance(desk, Desk)
    return desk
