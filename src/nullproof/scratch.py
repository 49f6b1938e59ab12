"""Create temporary files and folders, and delete those that killed processes left behind.

A process locks the files and folders it creates. The system releases the lock when the process ends, for
whatever reason, so an unlocked file or folder belongs to nobody.
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
    """Yield a temporary folder whose name begins with ``start``; first delete those of dead processes."""
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
    """Lock a new folder; return None if another process deleted it as abandoned before it was locked."""
    with ExitStack() as opened, suppress(FileNotFoundError, BlockingIOError):
        held = opened.enter_context((folder / _LOCK).open("wb"))
        _lock(held.fileno())
        if (folder / _LOCK).exists():
            opened.pop_all()
            return held
    return None


def clear_folders(place: Path, start: str) -> None:
    """Delete the folders in ``place`` whose name begins with ``start`` and whose process is gone."""
    for folder in place.glob(f"{start}*"):
        # Folders of other users cannot be opened, and those of running processes cannot be locked.
        with suppress(OSError), (folder / _LOCK).open("r+b") as held:
            if _lock(held.fileno()):
                shutil.rmtree(folder, ignore_errors=True)
        # If a process was killed before it locked its folder, the folder is empty.
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def own_part(path: Path) -> Iterator[Path]:
    """Yield a file beside ``path`` to write to first; it is deleted afterwards unless it was renamed."""
    clear_parts(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_PART, dir=path.parent)
    try:
        if not _lock(handle):
            # Windows cannot rename open files.
            os.close(handle)
        yield Path(name)
    finally:
        with suppress(OSError):
            os.close(handle)
        Path(name).unlink(missing_ok=True)


def clear_parts(path: Path) -> None:
    """Delete the parts of a file that dead processes left behind, and the files beside them."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.{_RANDOM}{_PART}"):
        with suppress(OSError), part.open("r+b") as held:
            if _lock(held.fileno()):
                for piece in part.parent.glob(f"{glob.escape(part.name)}.{_RANDOM}"):
                    shutil.rmtree(piece, ignore_errors=True)
                part.unlink(missing_ok=True)


def _lock(handle: int) -> bool:
    """Lock an open file without waiting; return False if that fails or the system has no locks."""
    try:
        import fcntl
    except ImportError:
        return False
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
