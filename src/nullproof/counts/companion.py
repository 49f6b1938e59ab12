"""The counts of a table before some cells of it were changed, kept beside the changed table.

Cells that are blanked or filled move bins, and points look certain again or no more. So a changed
table must be counted like the table before. Its companion is the index to do so with: a file beside it
whose name only says more. A Parquet file also names its companion in its metadata, since files get
other names.
"""

from __future__ import annotations

import glob
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nullproof.counts.build import IndexLike
from nullproof.counts.parquet import is_saved, writer
from nullproof.errors import NullproofError, notice
from nullproof.files import write_together

KEY = "nullproof-before"
_ENDING = ".before.index"


def companion_of(table: Path) -> Path:
    """The name of the index beside a changed table."""
    return table.with_name(table.name + _ENDING)


def refuse_companion(table: Path) -> None:
    """Refuse a table whose companion would be written over a file that is no index."""
    companion = companion_of(table)
    if companion.exists() and not is_saved(companion):
        raise NullproofError(
            f"{companion}, where the counts of the table before go, is a file of another kind; move it "
            f"away, or give {table.name} another name"
        )


def write_with_companion(index: IndexLike, table: Path, write: Callable[[Path], Any]) -> Path:
    """Write the index beside a changed table that ``write`` writes, both whole or neither."""
    companion = companion_of(table)
    # The companion first: a table without one would be counted wrongly, and nobody would know.
    write_together({companion: writer(index), table: write})
    return companion


def tell_of_companion(source: Any) -> None:
    """Give a notice if a file that is counted by bins of its own is one that was changed here."""
    for table in _files(source):
        companion = _found(table)
        if companion is None:
            continue
        how = "count it with" if companion.is_file() else "find that file and count the table with"
        notice(
            f"{table} is a table with cells that nullproof changed, and {companion} holds the bins from "
            f"before; without these other points may seem certain, so {how} "
            f"like=CountIndex.load({str(companion)!r}) or --like {shlex.quote(str(companion))}"
        )
        return


def _files(source: Any) -> Iterator[Path]:
    """The files behind a path, a folder or a pattern."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return
    path = Path(source)
    if path.is_dir():
        yield from path.iterdir()
    elif path.exists():
        yield path
    else:
        yield from map(Path, glob.glob(str(source)))  # noqa: PTH207 (may be absolute)


def _found(table: Path) -> Path | None:
    """The companion of a table, by the table's name or by what its file says."""
    if is_saved(companion_of(table)):
        return companion_of(table)
    named = attacked_says(table)
    return None if named is None else table.with_name(named)


def attacked_says(table: Path) -> str | None:
    """The name of the companion that an attacked Parquet file itself names, or None."""
    try:
        with table.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                return None
        import polars as pl

        named = pl.read_parquet_metadata(table).get(KEY)
    except Exception:
        # What is wrong with the file is told when it is read.
        return None
    return None if named is None else Path(named).name
