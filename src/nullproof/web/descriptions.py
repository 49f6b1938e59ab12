"""What a person needs to know of an uploaded table to choose its label: columns, kinds, first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nullproof.counts.storage import attacked_says
from nullproof.data.missing import OFTEN, Missing, Rule, written_spellings
from nullproof.data.notices import strays
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.web.problems import RequestError
from nullproof.web.settings import Settings
from nullproof.words import cut

if TYPE_CHECKING:
    import polars as pl

    from nullproof.data.types import Column

SHOWN_ROWS = 8
SHOWN_CHARACTERS = 200
# What people call the column to predict, and how many labels one is likely to have.
_CALLED = ("label", "class", "target", "outcome", "y", "diagnosis", "survived", "churn")
_MOST_LABELS, _MOST_CALLED = 20, 100


@dataclass(frozen=True)
class Description:
    """A table in short.

    Parameters
    ----------
    spellings
        Texts in it that often mean missing.
    label
        The column that is probably to be predicted, or None.
    attacked
        The index that `nullproof poison` wrote beside the table, if the file itself names it.
    """

    n_rows: int
    columns: list[dict[str, Any]]
    preview: list[list[str | None]]
    spellings: list[str]
    label: str | None
    attacked: str | None


def described(
    name: str, path: Path, settings: Settings, missing: Sequence[str] = ()
) -> Description:
    """Read a table, refuse one that is too large, and describe it; ``missing`` as `certify` has it."""
    from nullproof.data.sources import open_table

    _refuse_many_stored_rows(name, path, settings)
    table = open_table(path, missing=Missing.of(written_spellings(missing)))
    assert table.frame is not None
    frame = table.frame.to_native()
    _refuse_shape(name, frame, settings)
    read = [_read(table.column, series.name) for series in frame]
    columns = [
        # What is in doubt as a value is a label, so holes of the two may differ.
        _column(series, own, _read(table.labels, series.name) if _holed(own) else own)
        for series, own in zip(frame, read, strict=True)
    ]
    return Description(
        frame.height,
        columns,
        _preview(frame, read),
        _odd_spellings(frame),
        proposed_label(columns),
        attacked_says(path),
    )


def proposed_label(columns: Sequence[dict[str, Any]]) -> str | None:
    """What is probably to be predicted: by its name, else the last column of few values without holes."""
    named = [column["name"] for column in _with_values(columns, _MOST_CALLED)]
    called = [name for name in named if name.strip().lower() in _CALLED]
    few = _with_values(columns, _MOST_LABELS)
    whole = [column["name"] for column in few if not column["n_unlabelled"]]
    likely: list[str] = called or whole or [column["name"] for column in few]
    return likely[-1] if likely else None


def _with_values(columns: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The columns of at least two values and not too many."""
    return [c for c in columns if 2 <= c["n_distinct"] <= most and not c["is_key"]]


def shown_name(name: str) -> str:
    """A file name as a message shows it."""
    return cut(" ".join(name.split()) or "the table", 60)


def _refuse_shape(name: str, frame: pl.DataFrame, settings: Settings) -> None:
    if frame.height > settings.max_rows:
        raise too_many(name, frame.height, settings)
    refuse_width(name, frame.width, settings)
    if frame.width < 2:
        raise RequestError(
            400,
            f"{shown_name(name)} has one column; a table needs a label and at least one feature, "
            "separated by comma, tab or semicolon",
        )


def refuse_width(name: str, n_columns: int, settings: Settings) -> None:
    """Refuse a table with more columns than this server takes."""
    if n_columns > settings.max_columns:
        raise RequestError(
            413,
            f"{shown_name(name)} has {n_columns:,} columns and this server takes "
            f"{settings.max_columns:,}; leave some out",
        )


def _refuse_many_stored_rows(name: str, path: Path, settings: Settings) -> None:
    """Ask a Parquet file for its number of rows: a few kilobytes may hold billions."""
    import polars as pl

    with path.open("rb") as stream:
        if stream.read(4) != b"PAR1":
            return
    try:
        n_rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except Exception:
        # Reading it will say what is wrong.
        return
    if n_rows > settings.max_rows:
        raise too_many(name, n_rows, settings)


def too_many(name: str, n_rows: int, settings: Settings) -> RequestError:
    """Say how many rows this server takes."""
    return RequestError(
        413,
        f"{shown_name(name)} has {n_rows:,} rows and this server takes {settings.max_rows:,}; send a "
        "part of it, or start the server with a larger --max-rows",
    )


def _preview(frame: pl.DataFrame, columns: Sequence[Column | None]) -> list[list[str | None]]:
    """The first rows, None where a cell is missing."""
    first = frame.head(SHOWN_ROWS)
    by_column = [
        [
            None if gone or cell is None else cut(text(cell), SHOWN_CHARACTERS)
            for cell, gone in zip(series.to_list(), _gone(series, read), strict=True)
        ]
        for series, read in zip(first, columns, strict=True)
    ]
    return [list(row) for row in zip(*by_column, strict=True)]


def _gone(series: pl.Series, read: Column | None) -> list[bool]:
    if read is None or read.sets:
        return [False] * len(series)
    return [not known for known in read.known[: len(series)].tolist()]


def _holed(read: Column | None) -> bool:
    return read is not None and not read.sets and not read.known.all()


def _read(how: Callable[[str], Column], name: str) -> Column | None:
    """A column as it would be counted; None if it cannot be, which matters only if it is to be."""
    try:
        return how(name)
    except NullproofError:
        return None


def _column(series: pl.Series, read: Column | None, as_labels: Column | None) -> dict[str, Any]:
    from nullproof.data.notices import names_rows

    sample = series.drop_nulls().head(10_000)
    try:
        n_distinct = sample.n_unique()
    except Exception:
        # Lists of candidates in old versions of polars.
        n_distinct = len(sample)
    return {
        "name": series.name,
        "type": _kind(series, read),
        "n_missing": _n_missing(series, read),
        "n_unlabelled": _n_missing(series, as_labels),
        "n_distinct": n_distinct,
        "is_key": read is not None and names_rows(read),
    }


def _n_missing(series: pl.Series, read: Column | None) -> int:
    if read is None or read.sets:
        return series.null_count()
    return int((~read.known).sum())


def _kind(series: pl.Series, read: Column | None) -> str:
    if read is not None and not read.sets and read.kind in ("number", "date", "boolean"):
        return read.kind
    if series.dtype.is_numeric():
        return "number"
    if series.dtype.is_temporal():
        return "date"
    return {"Boolean": "boolean", "List": "candidates"}.get(
        series.dtype.base_type().__name__, "text"
    )


def _odd_spellings(frame: pl.DataFrame) -> list[str]:
    """Texts in the table that often mean missing, or keep a column from being numbers or dates."""
    import polars as pl

    found: set[str] = set()
    rule = Rule()
    for series in frame.head(100_000):
        if series.dtype == pl.String:
            hits = series.filter(
                series.str.strip_chars().str.to_lowercase().is_in([*OFTEN])
            ).unique()
            found.update(cell.strip() for cell in hits.to_list())
            texts = strays(series.drop_nulls().unique().to_list())
            found.update(text for text in texts if not rule.looks_missing(text))
    return sorted(found)
