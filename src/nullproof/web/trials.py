"""A first reading of a file in a process of its own: some damaged files end the process that reads them.

polars asks for as much memory as a damaged Parquet or Arrow file says, and the system then ends the whole
process, which for a server means everybody's work. A reading that never ends would keep a thread of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_READERS = {b"PAR1": "read_parquet", b"ARRO": "read_ipc", b"\xff\xff\xff\xff": "read_ipc_stream"}
_CODE = "import sys, polars; getattr(polars, sys.argv[1])(sys.argv[2])"
# A reader that ends well, or with an error that can be told when the file is read again.
_ORDERLY = (0, 1)
# The largest upload is read within seconds: after these, a reader waits for what never comes.
_SECONDS = 120.0


def ends_its_reader(path: Path) -> bool:
    """Whether a file takes the process with it that reads it, or never lets it go."""
    with path.open("rb") as stream:
        reader = _READERS.get(stream.read(4))
    if reader is None:
        return False
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CODE, reader, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in _ORDERLY
