"""The tables that commands write: TRAIN with cells blanked by an attack, or filled in by answers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nullproof.errors import NullproofError, NullproofWarning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nullproof.attacks.attack import Attack
    from nullproof.cli.options import Request

TABLES = (".csv", ".parquet")


def refuse_overwriting(targets: Iterable[Path | None], read: Iterable[Any]) -> None:
    """No file that is read is written over, and no file is written twice."""
    taken = [Path(name).resolve() for name in read if name not in (None, "-")]
    for path in targets:
        if path is not None and path.resolve() in taken:
            raise NullproofError(f"{path} is a file that is read or written; give another name")
        taken += [] if path is None else [path.resolve()]


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
