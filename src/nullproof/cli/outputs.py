"""The tables that commands write: TRAIN with cells blanked by an attack, or filled in by answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nullproof.cli.refusals import COUNTING
from nullproof.cli.registry import typed
from nullproof.cli.streams import tell
from nullproof.counts.companion import KEY, companion_of, write_with_companion
from nullproof.errors import NullproofWarning
from nullproof.words import many

if TYPE_CHECKING:
    from nullproof.attacks.attack import Attack
    from nullproof.cli.options import Request

TABLES = (".csv", ".parquet")
SETTLED: dict[str, Any] = dict.fromkeys(COUNTING)


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
    """Write the table with the attacked cells blank, and beside it the counts of the table before."""
    changes: dict[str, dict[int, Any]] = {}
    for row, column in attack.cells(request.table):
        changes.setdefault(column, {})[row] = None
    named = {KEY: companion_of(path).name}
    companion = write_with_companion(
        attack.index, path, lambda: write_changed(request, changes, path, named)
    )
    train = "standard input" if request.train == "-" else request.train
    tell(f"wrote {path}: {train} with {many(attack.n_cells, 'cell')} blank")
    tell(
        f"wrote {companion}: the counts of {train}; count {path} like it, or its bins move and points "
        "seem certain again"
    )
    request.tell_next(
        typed_on_written("certify", request, path, like=companion, label=None, **SETTLED)
    )


def typed_on_written(
    name: str, request: Request, path: Path, more: dict[str, Any] | None = None, **changes: Any
) -> str:
    """A command on a table that was written here: as UTF-8 with a header, whatever TRAIN was."""
    plain: dict[str, Any] = {"encoding": None, "no_header": False, "sheet": None}
    return typed(name, request, more, train=path, **plain, **changes)


def write_changed(
    request: Request,
    changes: dict[str, dict[int, Any]],
    path: Path,
    metadata: dict[str, str] | None = None,
) -> None:
    """Write the table as it was read, with some cells changed; ``metadata`` are for a Parquet file.

    Text is as it was written, but numbers and dates that people wrote in their own way are plain, as the
    changed cells among them are.
    """
    import narwhals as nw

    from nullproof.tables.cells import set_cells

    write_frame(set_cells(nw.from_native(as_read(request)), changes), path, metadata)


def as_read(request: Request) -> Any:
    """The training table as its file writes it: text but for numbers and dates that are made plain."""
    from nullproof.tables.formats import read_file

    table = request.table
    if request.train == "-":
        return table.frame
    with warnings.catch_warnings():
        # Whatever there is to say about the file was said when it was read first.
        warnings.simplefilter("ignore", NullproofWarning)
        kept = [name for name in table.names if name not in table.writings]
        return read_file(
            request.train, as_text=kept, options=request.file, like=table.writings
        ).frame


def write_frame(frame: Any, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a polars frame whole or not at all."""
    from nullproof.files import write_whole

    if path.suffix == ".csv":
        write_whole(path, frame.write_csv)
    else:
        write_whole(path, lambda part: frame.write_parquet(part, metadata=metadata))
