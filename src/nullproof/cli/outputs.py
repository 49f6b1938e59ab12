"""The tables that commands write: TRAIN with cells blanked by an attack, or filled in by answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nullproof.cli.refusals import COUNTING
from nullproof.cli.registry import typed
from nullproof.cli.shown import TABLES
from nullproof.cli.streams import tell
from nullproof.counts.storage import KEY, companion_of, refuse_companion, write_with_companion
from nullproof.errors import NullproofError, NullproofWarning
from nullproof.words import many

if TYPE_CHECKING:
    from nullproof.attacks.attack import Attack
    from nullproof.cleaning.worksheet import Work
    from nullproof.cli.options import Request

SETTLED: dict[str, Any] = dict.fromkeys(COUNTING)


def refuse_repaired(path: Path | None, has_answers: bool) -> None:
    """Reject a file for the repaired table without answers, or of another kind than a table."""
    if path is None:
        return
    if not has_answers or path.suffix not in TABLES:
        raise NullproofError(
            f"--repaired {path} needs --answers and a name that ends in {' or '.join(TABLES)}"
        )
    refuse_companion(path)


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
        attack.index, path, frame_writer(_changed(as_read(request), changes), path, named)
    )
    train = "standard input" if request.train == "-" else request.train
    tell(f"wrote {path}: {train} with {many(attack.n_cells, 'cell')} blank")
    say_companion(companion, path, str(train))
    request.tell_next(
        typed_on_written("certify", request, path, like=companion, label=None, **SETTLED)
    )


def say_companion(companion: Path, path: Path, train: str) -> None:
    """Say how an altered table must be counted, also with -q: counted anew it seems unharmed."""
    line = f"wrote {companion}: the counts of {train}; count {path} like it, or its bins move and points "
    typer.echo(f"{line}seem certain again", err=True)


def typed_on_written(
    name: str, request: Request, path: Path, more: dict[str, Any] | None = None, **changes: Any
) -> str:
    """A command on a table that was written here: as UTF-8 with a header, whatever TRAIN was."""
    plain: dict[str, Any] = {"encoding": None, "no_header": False, "sheet": None}
    return typed(name, request, more, train=path, **plain, **changes)


def write_repaired(request: Request, work: Work, path: Path, bias: list[str] | None) -> None:
    """Write TRAIN with the answers, and beside it the counts of the table before."""
    changes, named = work.cleaner.changes(), {KEY: companion_of(path).name}
    companion = write_with_companion(
        work.index, path, frame_writer(_changed(as_read(request), changes), path, named)
    )
    tell(f"wrote {path}: TRAIN with {many(sum(map(len, changes.values())), 'answer')}")
    tell(f"wrote {companion}: the counts from before; count {path} like it, or its bins move")
    again = {"like": companion, "label": None, **SETTLED}
    request.tell_next(typed_on_written("certify", request, path, {"--bias": bias}, **again))


def _changed(frame: Any, changes: dict[str, dict[int, Any]]) -> Any:
    """A table as it was read, with some cells changed.

    Text is as it was written, but numbers and dates that people wrote in their own way are plain, as the
    changed cells among them are.
    """
    import narwhals as nw

    from nullproof.data.edits import set_cells

    return set_cells(nw.from_native(frame), changes)


def as_read(request: Request) -> Any:
    """The training table as its file writes it: text but for numbers and dates that are made plain."""
    table, path = request.table, request.train
    from nullproof.data.files import stamp
    from nullproof.data.sources import open_table
    from nullproof.data.texts import without_rows

    if path == "-":
        return table.frame
    if stamp(path) != table.stamp:
        raise NullproofError(
            f"{path} was changed while it was worked on, so its rows may be others now; run the command "
            "again"
        )
    with warnings.catch_warnings():
        # Whatever there is to say about the file was said when it was read first.
        warnings.simplefilter("ignore", NullproofWarning)
        kept = [name for name in table.names if name not in table.formats]
        found = open_table(
            path, missing=table.missing, as_text=kept, file=request.file, like=table.formats
        )
        return without_rows(found.source, table.skipped)


def frame_writer(
    frame: Any, path: Path, metadata: dict[str, str] | None = None
) -> Callable[[Path], Any]:
    """A function that writes a frame in the format of a path; ``metadata`` are for a Parquet file."""
    if path.suffix == ".csv":
        written: Callable[[Path], Any] = frame.write_csv
        return written
    return lambda part: frame.write_parquet(part, metadata=metadata)
