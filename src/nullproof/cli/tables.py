"""Whole tables: TRAIN after an attack or with answers, and plain frames for scikit-learn."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
import typer

from nullproof.cli.request import Request
from nullproof.cli.streams import tell
from nullproof.counts.storage import write_with_companion
from nullproof.data.edits import TrainingTable, set_cells
from nullproof.data.files import stamp
from nullproof.data.labels import label_codes, labelled_rows
from nullproof.data.sources import Reading, open_table
from nullproof.data.texts import COMMA, without_rows
from nullproof.errors import NullproofError, NullproofWarning, missing_extra
from nullproof.words import many

if TYPE_CHECKING:
    from nullproof.cleaning.worksheet import Work
    from nullproof.counts.index import CountIndex
    from nullproof.data.sources import Table


# TRAIN, altered -------------------------------------------------------------------------------------------


def write_attacked(attack: Any, request: Request) -> None:
    """Write the table with the attacked cells blank, or the added rows."""
    if attack.targets.threat == "cells":
        changes: dict[str, dict[int, Any]] = {}
        for row, column in attack.cells(request.table):
            changes.setdefault(column, {})[row] = None
        frame = set_cells(nw.from_native(_as_read(request)), changes)
        what = f"{many(attack.n_cells, 'cell')} blank"
    else:
        training = TrainingTable.open(attack.index.schema, request.table)
        frame = training.extended(attack.rows(), nw.from_native(_as_read(request)))
        what = f"{many(attack.n_rows, 'row')} more"
    _write_altered(request, attack.index, request.output, frame, f"{what}; {attack.effect}")


def write_repaired(request: Request, work: Work) -> None:
    """Write TRAIN with the answers."""
    changes = work.cleaner.changes()
    frame = set_cells(nw.from_native(_as_read(request)), changes)
    what = many(sum(map(len, changes.values())), "answer")
    _write_altered(request, work.index, request.repaired, frame, what)


def _write_altered(request: Request, index: CountIndex, path: Path, frame: Any, what: str) -> None:
    """Write the altered TRAIN in the format of its ending, and the counts of the original beside it."""
    if path.suffix == ".csv":
        frame = _with_plain_dates(_with_clear_points(frame, index.schema.formats))
    write = frame.write_csv if path.suffix == ".csv" else frame.write_parquet
    companion = write_with_companion(index, path, write)
    train = "standard input" if request.train == "-" else request.train
    tell(f"wrote {path}: {train} with {what}")
    # Printed even with -q: counted with newly learned bins, an attacked table can look unharmed.
    line = f"wrote {companion}: the counts of {train}; count {path} like it to keep its bins and weights"
    typer.echo(line, err=True)
    request.tell_next(request.altered(path, companion))


def _with_clear_points(frame: pl.DataFrame, formats: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    """Write 3.125 as 3.1250 if the index reads decimal commas and would take 3.125 as thousands."""
    names = [name for name, form in formats if form == COMMA and frame.schema[name].is_float()]
    thousands = r"^(-?[1-9][0-9]{0,2}\.[0-9]{3})$"
    return frame.with_columns(pl.col(names).cast(pl.String).str.replace(thousands, "${1}0"))


def _with_plain_dates(frame: pl.DataFrame) -> pl.DataFrame:
    """Write dates without a time where none of them has one."""
    days = [column.cast(pl.Date) for column in frame if column.dtype == pl.Datetime]
    return frame.with_columns(day for day in days if (day == frame[day.name]).all())


def _as_read(request: Request) -> Any:
    """Return TRAIN as its file writes it: text, except for numbers and dates in plain form."""
    table, path = request.table, request.train
    if path == "-":
        return table.frame
    if stamp(path) != table.stamp:
        raise NullproofError(
            f"{path} was changed during the analysis, so its rows may be different now; run the command "
            "again"
        )
    with warnings.catch_warnings():
        # Notices about the file were given when it was first read.
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
    """Return a model that accepts these columns, including texts and missing cells."""
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
