"""Temporary files and folders of this process, and those that were left by processes that were killed.

A process holds a lock on what it made. The system lets go of the lock when the process ends, however it
ends, so a file or folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_LOCK = "held"
_PART = ".part"
_RANDOM = "?" * 8


@contextmanager
def own_folder(start: str) -> Iterator[Path]:
    """A folder that is deleted afterwards, named by a start; those that dead processes left go first."""
    clear_folders(Path(tempfile.gettempdir()), start)
    held = None
    while held is None:
        folder = Path(tempfile.mkdtemp(prefix=start))
        held = _hold(folder)
    try:
        yield folder
    finally:
        held.close()
        shutil.rmtree(folder, ignore_errors=True)


def _hold(folder: Path) -> BinaryIO | None:
    """Lock a new folder; None if another process took it for one that was left, as it may until then."""
    with ExitStack() as opened, suppress(FileNotFoundError, BlockingIOError):
        held = opened.enter_context((folder / _LOCK).open("wb"))
        _lock(held.fileno())
        if (folder / _LOCK).exists():
            opened.pop_all()
            return held
    return None


def clear_folders(place: Path, start: str) -> None:
    """Delete the folders in ``place`` that begin so and whose process is gone."""
    for folder in place.glob(f"{start}*"):
        # Those of other people cannot be opened, those of living processes cannot be locked.
        with suppress(OSError), (folder / _LOCK).open("r+b") as held:
            if _lock(held.fileno()):
                shutil.rmtree(folder, ignore_errors=True)
        # A process that was killed before it locked its folder left it empty.
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def own_part(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write to first; what is not renamed is deleted afterwards."""
    clear_parts(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_PART, dir=path.parent)
    try:
        if not _lock(handle):
            # Such systems do not rename what is open.
            os.close(handle)
        yield Path(name)
    finally:
        with suppress(OSError):
            os.close(handle)
        Path(name).unlink(missing_ok=True)


def clear_parts(path: Path) -> None:
    """Delete the parts of a file that processes left which are gone, and what lies beside those."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.{_RANDOM}{_PART}"):
        with suppress(OSError), part.open("r+b") as held:
            if _lock(held.fileno()):
                for piece in part.parent.glob(f"{glob.escape(part.name)}.{_RANDOM}"):
                    shutil.rmtree(piece, ignore_errors=True)
                part.unlink(missing_ok=True)


def _lock(handle: int) -> bool:
    """Lock an open file without waiting; where the system has no such locks nothing is ever free."""
    try:
        import fcntl
    except ImportError:
        return False
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
