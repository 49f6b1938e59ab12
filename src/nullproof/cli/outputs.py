"""The tables that commands write: TRAIN with cells blanked by an attack, or filled in by answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nullproof.errors import NullproofWarning

if TYPE_CHECKING:
    from nullproof.attacks.attack import Attack
    from nullproof.cli.options import Request

TABLES = (".csv", ".parquet")


@contextmanager
def failing(failed: bool) -> Iterator[None]:
    """Exit with 1 after an answer to a ``--check`` that failed, even if nobody reads the answer."""
    try:
        yield
    except BrokenPipeError:
        if not failed:
            raise
    if failed:
        raise typer.Exit(1)


def write_poisoned(attack: Attack, request: Request, path: Path) -> None:
    """Write the table with the attacked cells blank."""
    changes: dict[str, dict[int, Any]] = {}
    for row, column in attack.cells(request.table):
        changes.setdefault(column, {})[row] = None
    write_changed(request, changes, path)


def write_changed(request: Request, changes: dict[str, dict[int, Any]], path: Path) -> None:
    """Write the table as it was read, with some cells changed.

    Text is as it was written, but numbers and dates that people wrote in their own way are plain, as the
    changed cells among them are.
    """
    import narwhals as nw

    from nullproof.files import write_whole
    from nullproof.tables.cells import set_cells
    from nullproof.tables.formats import read_file

    table = request.table
    frame = table.frame
    if request.train != "-":
        with warnings.catch_warnings():
            # Whatever there is to say about the file was said when it was read first.
            warnings.simplefilter("ignore", NullproofWarning)
            kept = [name for name in table.names if name not in table.writings]
            read = read_file(request.train, as_text=kept, options=request.file, like=table.writings)
        frame = nw.from_native(read.frame)
    changed = set_cells(frame, changes)
    write_whole(path, changed.write_csv if path.suffix == ".csv" else changed.write_parquet)
