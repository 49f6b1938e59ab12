"""annotate: a table of points with its predictions and verdicts, where the table is.

Every engine hands batches of rows to `_judged`, so all of them give what `certify` gives. Only the index
travels, with the function that is sent to the workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from nullproof.counts.index import CountIndex
from nullproof.data.labels import true_labels
from nullproof.data.options import AS_USUAL
from nullproof.data.points import OwnMissing
from nullproof.errors import NullproofError, NullproofWarning, explained, missing_extra
from nullproof.files import write_whole
from nullproof.model.certify import certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior

COLUMNS = ("predicted", "verdict", "holds_up_to", "right")
_ROWS = 1 << 17


def annotate(
    index: CountIndex,
    table: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    bias: Bias = 1.0,
    into: str | Path | None = None,
) -> Any:
    """Add the prediction and the verdict of each row to a table, where the table is.

    Adds ``predicted``, as text; ``verdict``: ``certain``, ``holds`` (up to the bias asked about, else
    0.05) or ``open``; ``holds_up_to``: the largest bias up to which the prediction holds, null if not
    even 0 decides; and, where the table has the label column, ``right``: null where the label is not known.

    Parameters
    ----------
    table
        A data frame of pandas, polars or pyarrow, or a file, is annotated at once. A lazy frame of
        polars, a Spark and a Dask data frame stay lazy: the rows are annotated by the workers, which
        need nullproof installed. Tables of DuckDB and ibis are written ``into`` a file.
    alpha, prior, own_missing, bias
        As for `certify`.
    into
        A Parquet file to write the rows of a DuckDB or ibis table to, in batches.

    Returns
    -------
    The table with its new columns, of the same library; for DuckDB and ibis the path of the file.

    Examples
    --------
    >>> train = pl.DataFrame({"f": list("aaab"), "g": [None, "x", "y", "x"], "y": list("ttss")})
    >>> index = CountIndex.from_table(train, "y")
    >>> annotate(index, pl.DataFrame({"f": ["a", "a"], "g": ["x", "y"]}))["verdict"].to_list()
    ['certain', 'open']
    """
    model = Model(index, alpha, prior, bias)

    def judge(batch: Any) -> pl.DataFrame:
        return _judged(model, own_missing, batch)

    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        return _at_once(judge, index, table)
    engine, names = frame.implementation, frame.collect_schema().names()
    _refuse_taken(names, index)
    if into is not None and not (engine.is_duckdb() or engine.is_ibis()):
        raise NullproofError(
            f"into is for tables of DuckDB and ibis, and this is one of {engine.value}; leave it out"
        )
    has_truth = index.schema.label_name in names
    if engine.is_polars():
        return _in_polars(judge, frame.to_native(), has_truth)
    if engine.is_dask():
        return _in_dask(judge, frame.to_native())
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return _in_spark(judge, frame.to_native(), has_truth)
    if engine.is_duckdb() or engine.is_ibis():
        return _into_parquet(judge, frame.to_native(), into, engine.value)
    raise NullproofError(
        f"a table of {engine.value} cannot be annotated where it is; read it in parts and annotate those"
    )


def _judged(model: Model, own_missing: OwnMissing, batch: Any) -> pl.DataFrame:
    """Return the new columns for some rows, a data frame of any library."""
    schema = model.index.schema
    with warnings.catch_warnings():
        # Each batch would warn of the same values that training never showed.
        warnings.simplefilter("ignore", NullproofWarning)
        found = certificates_of(model, model.points(batch, own_missing))
        actual = true_labels(schema, AS_USUAL.open(batch, schema.label_name, schema))
    columns = [
        pl.Series("predicted", [_text(label) for label in found.predicted], dtype=pl.String),
        pl.Series("verdict", found.verdict.tolist(), dtype=pl.String),
        pl.Series("holds_up_to", found.tolerance, dtype=pl.Float64).fill_nan(None),
    ]
    if actual is not None:
        right = replace(found, actual=actual).right
        columns.append(pl.Series("right", [] if right is None else [*right], dtype=pl.Boolean))
    return pl.DataFrame(columns)


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _refuse_taken(names: Collection[str], index: CountIndex) -> None:
    added = COLUMNS if index.schema.label_name in names else COLUMNS[:-1]
    taken = next((name for name in names if name in added), None)
    if taken is not None:
        raise NullproofError(
            f"the table has a column {taken!r} already, which annotate would add; rename it"
        )


Judge = Callable[[Any], pl.DataFrame]


def _at_once(judge: Judge, index: CountIndex, table: Any) -> Any:
    schema = index.schema
    opened = AS_USUAL.open(table, schema.label_name, schema)
    if opened.frame is None:
        raise NullproofError(
            f"the table is a {type(table).__name__}; give a data frame or a file, or ask certify"
        )
    _refuse_taken(opened.names, index)
    new = judge(opened.frame.to_native())
    frame = opened.frame
    native, library = frame.to_native(), frame.implementation
    if library.is_pandas_like():
        return native.assign(**{name: _pandas(new[name], native.index) for name in new.columns})
    columns = (nw.new_series(c.name, c.to_list(), _TYPES[c.name], backend=library) for c in new)
    return frame.with_columns(*columns).to_native()


_TYPES = {
    "predicted": nw.String(),
    "verdict": nw.String(),
    "holds_up_to": nw.Float64(),
    "right": nw.Boolean(),
}
_POLARS_TYPES = {
    "predicted": pl.String(),
    "verdict": pl.String(),
    "holds_up_to": pl.Float64(),
    "right": pl.Boolean(),
}


def _in_polars(judge: Judge, frame: pl.LazyFrame, has_truth: bool) -> pl.LazyFrame:
    added = {name: kind for name, kind in _POLARS_TYPES.items() if name != "right" or has_truth}
    return frame.map_batches(
        lambda batch: batch.hstack(judge(batch)),
        schema={**frame.collect_schema(), **added},
        streamable=True,
    )


def _in_dask(judge: Judge, frame: Any) -> Any:
    def annotated(part: Any) -> Any:
        new = judge(part)
        return part.assign(**{name: _pandas(new[name], part.index) for name in new.columns})

    return frame.map_partitions(annotated, meta=annotated(frame._meta))


def _pandas(column: pl.Series, index: Any) -> Any:
    import pandas as pd

    kinds = {pl.String: "string", pl.Boolean: "boolean", pl.Float64: "float64"}
    return pd.Series(column.to_list(), index=index, dtype=kinds[type(column.dtype)])


def _arrow_batch(judge: Judge, batch: Any) -> Any:
    """Return a record batch of Arrow with the new columns; its own columns stay as they are."""
    import pyarrow as pa

    rows = pl.from_arrow(batch)
    assert isinstance(rows, pl.DataFrame)
    new = judge(rows)
    kinds = {pl.String: pa.string(), pl.Boolean: pa.bool_(), pl.Float64: pa.float64()}
    arrays = [pa.array(new[name].to_list(), kinds[type(new[name].dtype)]) for name in new.columns]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *arrays], names=[*batch.schema.names, *new.columns]
    )


def _in_spark(judge: Judge, frame: Any, has_truth: bool) -> Any:
    from pyspark.sql import types

    fields = [*frame.schema.fields]
    text, number, mark = types.StringType(), types.DoubleType(), types.BooleanType()
    kinds = {"predicted": text, "verdict": text, "holds_up_to": number, "right": mark}
    for name, kind in kinds.items():
        if name != "right" or has_truth:
            fields.append(types.StructField(name, kind))

    def annotated(batches: Iterator[Any]) -> Iterator[Any]:
        return (_arrow_batch(judge, batch) for batch in batches)

    return frame.mapInArrow(annotated, types.StructType(fields))


def _ibis_batches(table: Any) -> Iterator[Any]:
    try:
        yield from table.to_pyarrow_batches(chunk_size=_ROWS)
    except AttributeError:
        # ibis 12 asks DuckDB 2 for a method that is gone.
        yield from table.to_pyarrow().to_batches(_ROWS)


def _into_parquet(judge: Judge, table: Any, into: str | Path | None, engine: str) -> Path:
    """Write the annotated rows to a Parquet file, in batches."""
    if into is None:
        raise NullproofError(
            f"a table of {engine} is annotated into a file; name one: into='annotated.parquet'"
        )
    path = Path(into)
    if path.suffix != ".parquet":
        raise NullproofError(f"into is {path}; give a name that ends in .parquet")
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra(f"annotating a table of {engine}", "duckdb") from None

    def write(part: Path) -> None:
        with explained(engine):
            if hasattr(table, "to_pyarrow_batches"):
                batches = _ibis_batches(table)
            elif hasattr(table, "to_arrow_reader"):
                batches = table.to_arrow_reader(_ROWS)
            else:
                batches = table.fetch_record_batch(_ROWS)  # before DuckDB 1.5
        writer = None
        try:
            for batch in batches:
                annotated = pa.Table.from_batches([_arrow_batch(judge, batch)])
                writer = writer or pq.ParquetWriter(part, annotated.schema)
                writer.write_table(annotated)
            if writer is None:
                raise NullproofError("the table has no rows; there is nothing to annotate")
        finally:
            if writer is not None:
                writer.close()

    write_whole(path, write)
    return path
