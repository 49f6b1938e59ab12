"""Keep uploads and analyses under unguessable names; the oldest are dropped to make room."""

from __future__ import annotations

import secrets
from typing import Generic, Protocol, TypeVar

from nullproof.web.limits import RequestError
from nullproof.words import cut


class Item(Protocol):
    """An item of a `Store`."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    @property
    def busy(self) -> bool:
        """Whether it must not be dropped now."""

    def discard(self) -> None:
        """Release its resources."""


T = TypeVar("T", bound=Item)


class Store(Generic[T]):
    """Keep items up to a number and a total size; the least recently used are dropped first.

    Use it on the event loop only.

    Parameters
    ----------
    what
        What messages call an item.
    """

    def __init__(self, what: str, *, number: int, size: int) -> None:
        self._what, self._number, self._size = what, number, size
        # Least recently used first.
        self._kept: dict[str, T] = {}

    def put(self, item: T) -> str:
        """Store an item, and return its name."""
        name = secrets.token_urlsafe(12)
        self.make_room(item.size, new=1)
        self._kept[name] = item
        return name

    def get(self, name: str) -> T:
        """Return an item by its name."""
        if name not in self._kept:
            raise RequestError(
                404,
                f"there is no {self._what} {cut(name)!r}; it may have been dropped to make room, so "
                "make it again",
            )
        self._kept[name] = self._kept.pop(name)
        return self._kept[name]

    def drop(self, name: str) -> None:
        """Forget an item."""
        self.get(name)
        self._kept.pop(name).discard()

    def clear(self) -> None:
        """Forget everything."""
        while self._kept:
            self._kept.popitem()[1].discard()

    def make_room(self, size: int = 0, new: int = 0) -> None:
        """Drop the oldest items until ``new`` items of this size fit, if possible.

        The most recently used item stays, however large it is, since somebody is waiting for it.
        """
        while len(self._kept) + new > self._number or self._total() + size > self._size:
            names = [name for name, item in self._kept.items() if not item.busy]
            newest = None if new else next(reversed(self._kept), None)
            idle = next((name for name in names if name != newest), None)
            if idle is not None:
                self._kept.pop(idle).discard()
            elif len(self._kept) + new <= self._number:
                return
            else:
                raise RequestError(
                    503,
                    f"there is no room for another {self._what} right now (at most {self._number}, and "
                    "all are in use); try again in a minute",
                )

    def _total(self) -> int:
        return sum(item.size for item in self._kept.values())
