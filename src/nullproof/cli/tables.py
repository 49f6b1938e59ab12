"""Tables that commands write and read whole: certified points, TRAIN altered by an attack or by answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
import typer

from nullproof.cli.commands import after_certify, altered
from nullproof.cli.request import Request
from nullproof.cli.streams import tell, working
from nullproof.counts.storage import write_with_companion
from nullproof.data.edits import TrainingTable, set_cells
from nullproof.data.files import stamp
from nullproof.data.labels import label_codes, labelled_rows, true_labels
from nullproof.data.points import encode_points
from nullproof.data.sources import Reading, open_table
from nullproof.data.texts import COMMA, without_rows
from nullproof.errors import NullproofError, NullproofWarning, missing_extra
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.progress import Progress, on_both_cores
from nullproof.results.files import frame_of, write_frames
from nullproof.words import many

if TYPE_CHECKING:
    from nullproof.cleaning.worksheet import Work
    from nullproof.counts.index import CountIndex
    from nullproof.data.sources import Table


# certify -o: certified in blocks, whatever the number of points -------------------------------------------

# About so many cells are certified at a time.
_BLOCK_CELLS, _FEWEST_POINTS = 4_000_000, 4096


def certify_in_blocks(request: Request, bias: Any) -> None:
    """Write the verdicts of all points to a table, one block of points at a time."""
    with working("reading and counting"):
        index, table = request.load()
    asked = request.model()
    own_missing = asked.pop("own_missing")
    model = Model(index, bias=bias, **asked)
    smoothed = model.alpha != 0
    points = encode_points(index.schema, table, smoothed=smoothed, **request.naming())
    points = points.read(own_missing)
    actual = true_labels(index.schema, table)
    if actual is not None and not (actual >= 0).any():
        actual = None
    step = max(_FEWEST_POINTS, _BLOCK_CELLS // max(1, len(index.features)))
    n_certain = n_open = 0

    def certified(first: int) -> tuple[int, Certificates]:
        """Return the certificates of a block, with all that is written of its points worked out."""
        places = np.arange(first, min(first + step, len(points)))
        found = certificates_of(model, points.take(places))
        if actual is not None:
            found = replace(found, actual=actual[places])
        found.work_out(None)
        found.predicted  # noqa: B018
        return first, found

    def frames(say: Progress) -> Iterator[Any]:
        nonlocal n_certain, n_open
        for first, found in on_both_cores(certified, range(0, max(1, len(points)), step)):
            n_certain += int(found.certain.sum())
            n_open += found.n_of("open")
            say("certifying", (first + len(found)) / max(1, len(points)))
            yield frame_of(found.file_columns(first))

    with working("certifying") as say:
        write_frames(request.output, frames(say))
    following = after_certify(request, index, n_open)
    with request.checking(n_certain / len(points) if len(points) else 1.0):
        request.tell_written(len(points), following)


# TRAIN, altered -------------------------------------------------------------------------------------------


def write_attacked(attack: Any, request: Request) -> None:
    """Write the table with the attacked cells blank, or the added rows, and the counts of before."""
    path: Path = request.output
    if hasattr(attack, "blanks"):
        changes: dict[str, dict[int, Any]] = {}
        for row, column in attack.cells(request.table):
            changes.setdefault(column, {})[row] = None
        frame = set_cells(nw.from_native(_as_read(request)), changes)
        what = f"{many(attack.n_cells, 'cell')} blank"
    else:
        training = TrainingTable.open(attack.index.schema, request.table)
        frame = training.extended(attack.rows(), nw.from_native(_as_read(request)))
        what = f"{many(attack.n_rows, 'row')} more"
    companion = _write(attack.index, path, frame)
    train = "standard input" if request.train == "-" else request.train
    tell(f"wrote {path}: {train} with {what}; {attack.effect}")
    # Also with -q: counted anew, such a table seems unharmed.
    line = f"wrote {companion}: the counts of {train}; count {path} like it, or its bins move and points "
    typer.echo(f"{line}seem certain again", err=True)
    request.tell_next(altered(request, path, companion))


def write_repaired(request: Request, work: Work) -> None:
    """Write TRAIN with the answers, and beside it the counts of the table before."""
    path, changes = request.repaired, work.cleaner.changes()
    companion = _write(work.index, path, set_cells(nw.from_native(_as_read(request)), changes))
    tell(f"wrote {path}: TRAIN with {many(sum(map(len, changes.values())), 'answer')}")
    tell(f"wrote {companion}: the counts from before; count {path} like it, or its bins move")
    request.tell_next(altered(request, path, companion, bias=request.bias))


def _write(index: CountIndex, path: Path, frame: Any) -> Path:
    """Write a table in the format of its name, and the counts beside it."""
    if path.suffix == ".csv":
        frame = _with_clear_points(frame, index.schema.formats)
    write = frame.write_csv if path.suffix == ".csv" else frame.write_parquet
    return write_with_companion(index, path, write)


def _with_clear_points(frame: pl.DataFrame, formats: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    """Write 3.125 as 3.1250 where the index reads decimal commas, and would take 3.125 for thousands."""
    names = [name for name, form in formats if form == COMMA and frame.schema[name].is_float()]
    thousands = r"^(-?[1-9][0-9]{0,2}\.[0-9]{3})$"
    return frame.with_columns(pl.col(names).cast(pl.String).str.replace(thousands, "${1}0"))


def _as_read(request: Request) -> Any:
    """Return TRAIN as its file writes it: text but for numbers and dates that are made plain."""
    table, path = request.table, request.train
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
        how = Reading(table.missing, kept, file=request.file, like=table.formats)
        found = open_table(path, how)
        return without_rows(found.source, table.skipped)


# Models of scikit-learn -----------------------------------------------------------------------------------


def plain_frames(index: CountIndex, table: Any, points: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return TRAIN with its labels, and the points, as columns of numbers and texts."""
    label = index.schema.label_name
    table, column = labelled_rows(table, table.labels(label))
    codes, labels = label_codes(column)
    named = pl.Series(label, [str(labels[code]) for code in codes.tolist()])
    train = _plain_frame(table, index.features).with_columns(named)
    return train, _plain_frame(points, index.features)


def _plain_frame(table: Table, names: tuple[str, ...]) -> pl.DataFrame:
    """Return columns as numbers and texts, null where they are missing."""
    columns = []
    for name in names:
        column = table.column(name)
        if column.numbers is not None:
            numbers = pl.Series(name, column.numbers.astype(np.float64))
            known = pl.when(pl.Series(column.known)).then(numbers)
            columns.append(pl.select(known).to_series().alias(name))
        else:
            values = np.array([*column.values, None], dtype=object)
            columns.append(pl.Series(name, values[column.codes].tolist(), dtype=pl.String))
    return pl.DataFrame(columns)


def pipeline(model: str, features: pl.DataFrame) -> Any:
    """Return a model that takes these columns as they are, with texts and missing cells."""
    try:
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
    except ImportError:
        raise missing_extra("audit", "sklearn") from None
    texts = [name for name, kind in features.schema.items() if kind == pl.String]
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    as_numbers = make_column_transformer((ordinal, texts), remainder="passthrough")
    if model == "logistic-regression":
        numbers = [name for name in features.columns if name not in texts]
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), texts),
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        )
        return make_pipeline(columns, LogisticRegression(max_iter=1000))
    if model == "random-forest":
        imputer = SimpleImputer(strategy="most_frequent")
        return make_pipeline(as_numbers, imputer, RandomForestClassifier(random_state=0))
    return make_pipeline(as_numbers, HistGradientBoostingClassifier(random_state=0))
