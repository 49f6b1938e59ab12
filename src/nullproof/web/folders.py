"""The temporary folder of one server, and those that servers left which were killed.

A server holds a lock on a file in its folder. The system lets go of the lock when the process ends,
however it ends, so a folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_START = "nullproof-serve-"
_LOCK = "held"


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that is deleted afterwards; those of dead servers are deleted first."""
    clear_abandoned(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_START))
    try:
        # It gets its name once it is locked, so that nobody finds it free.
        with (folder / "new").open("wb") as held:
            if _lock(held):
                (folder / "new").rename(folder / _LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_abandoned(place: Path) -> None:
    """Delete the folders in ``place`` whose server is gone."""
    for lock in place.glob(f"{_START}*/{_LOCK}"):
        # Those of other people cannot be opened, those of living servers cannot be locked.
        with suppress(OSError), lock.open("r+b") as held:
            if _lock(held):
                shutil.rmtree(lock.parent, ignore_errors=True)


def _lock(held: IO[bytes]) -> bool:
    """Lock an open file without waiting; where the system has no such locks nothing is ever free."""
    try:
        import fcntl
    except ImportError:
        return False
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
