"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nullproof.errors import NullproofError


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the target, then rename: a reader never sees half a file."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise NullproofError(f"cannot write {path}: {problem.strerror}") from problem
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(path)
    except OSError as problem:
        raise NullproofError(f"cannot write {path}: {problem.strerror}") from problem
    finally:
        part.unlink(missing_ok=True)
