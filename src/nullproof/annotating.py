"""annotate: a table of points with its predictions and verdicts, where the table is.

Every engine hands batches of rows to `_judged`, so all of them give what `certify` gives. Only the index
travels, with the function that is sent to the workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
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
from nullproof.model.certify import certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.results.files import write_whole
from nullproof.results.table import Column

# The new columns: their types in polars, in pandas, and as Arrow and Spark write them.
_COLUMNS: dict[str, tuple[Any, str, str]] = {
    "predicted": (pl.String(), "string", "string"),
    "verdict": (pl.String(), "string", "string"),
    "holds_up_to": (pl.Float64(), "float64", "double"),
    "right": (pl.Boolean(), "boolean", "boolean"),
}
_ROWS = 1 << 17
Judge = Callable[[Any], pl.DataFrame]


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
    added = _added(names, index)
    if engine.is_duckdb() or engine.is_ibis():
        return _into_parquet(judge, frame.to_native(), into, engine.value)
    if into is not None:
        raise NullproofError(
            f"into is for tables of DuckDB and ibis, and this is one of {engine.value}; leave it out"
        )
    if engine.is_polars():
        return frame.to_native().map_batches(
            lambda batch: batch.hstack(judge(batch)),
            schema={**frame.to_native().collect_schema(), **{n: _COLUMNS[n][0] for n in added}},
            streamable=True,
        )
    if engine.is_dask():
        return _in_dask(judge, frame.to_native())
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return _in_spark(judge, frame.to_native(), added)
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
    names = [str(label) for label in found.labels]
    columns = [
        Column(names, found.predicted_positions).series().alias("predicted"),
        pl.Series("verdict", found.verdict.tolist(), dtype=pl.String),
        pl.Series("holds_up_to", found.tolerance, dtype=pl.Float64).fill_nan(None),
    ]
    if actual is not None:
        right = replace(found, actual=actual).right
        columns.append(pl.Series("right", [] if right is None else [*right], dtype=pl.Boolean))
    return pl.DataFrame(columns)


def _added(names: Collection[str], index: CountIndex) -> list[str]:
    """Return the names of the new columns, unless the table has one of them already."""
    added = [name for name in _COLUMNS if name != "right" or index.schema.label_name in names]
    taken = next((name for name in names if name in added), None)
    if taken is not None:
        raise NullproofError(
            f"the table has a column {taken!r} already, which annotate would add; rename it"
        )
    return added


def _at_once(judge: Judge, index: CountIndex, table: Any) -> Any:
    schema = index.schema
    opened = AS_USUAL.open(table, schema.label_name, schema)
    if opened.frame is None:
        raise NullproofError(
            f"the table is a {type(table).__name__}; give a data frame or a file, or ask certify"
        )
    _added(opened.names, index)
    rows = opened.frame.to_native()
    if isinstance(rows, pl.DataFrame):
        return rows.hstack(judge(rows))
    if not opened.frame.implementation.is_pandas_like():
        return _with_arrow(judge, rows)
    # Names that are no texts were changed on the way; those of the caller stay.
    return _with_pandas(judge, rows, table if hasattr(table, "assign") else rows)


def _with_pandas(judge: Judge, rows: Any, table: Any) -> Any:
    """Return a data frame of pandas with the new columns."""
    import pandas as pd

    new = judge(rows)
    columns = {
        name: pd.Series(new[name].to_list(), index=rows.index, dtype=_COLUMNS[name][1])
        for name in new.columns
    }
    return table.assign(**columns)


def _with_arrow(judge: Judge, rows: Any) -> Any:
    """Return a table of Arrow with the new columns; its own columns stay as they are."""
    new = judge(rows).to_arrow(compat_level=pl.CompatLevel.oldest())
    for name in new.column_names:
        rows = rows.append_column(name, new[name].cast(_COLUMNS[name][2]))
    return rows


def _annotated_batches(judge: Judge, batches: Iterable[Any]) -> Iterator[Any]:
    """Annotate batches of Arrow, small ones together: to begin takes as long as thousands of points."""
    import pyarrow as pa

    waiting, n_rows = [], 0
    for batch in batches:
        waiting.append(batch)
        n_rows += batch.num_rows
        if 2 * n_rows >= _ROWS:
            yield from _with_arrow(judge, pa.Table.from_batches(waiting)).to_batches()
            waiting, n_rows = [], 0
    if waiting:
        yield from _with_arrow(judge, pa.Table.from_batches(waiting)).to_batches()


def _in_dask(judge: Judge, frame: Any) -> Any:
    def annotated(part: Any) -> Any:
        return _with_pandas(judge, part, part)

    return frame.map_partitions(annotated, meta=annotated(frame._meta))


def _in_spark(judge: Judge, frame: Any, added: list[str]) -> Any:
    from pyspark.sql.types import StructType

    schema = StructType([*frame.schema.fields])
    for name in added:
        schema = schema.add(name, _COLUMNS[name][2])

    def annotated(batches: Iterator[Any]) -> Iterator[Any]:
        return _annotated_batches(judge, batches)

    return frame.mapInArrow(annotated, schema)


def _batches(table: Any) -> Any:
    """Return the rows of a table of DuckDB or ibis, in batches of Arrow."""
    if hasattr(table, "to_pyarrow_batches"):
        backend = table.get_backend()
        if backend.name != "duckdb":
            return table.to_pyarrow_batches(chunk_size=_ROWS)
        # ibis 12 asks DuckDB 2 for a method that is gone; a query of it is a table of DuckDB.
        table = backend.con.cursor().sql(backend.compile(table))
    if hasattr(table, "to_arrow_reader"):
        return table.to_arrow_reader(_ROWS)
    return table.fetch_record_batch(_ROWS)  # before DuckDB 1.5


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
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra(f"annotating a table of {engine}", "duckdb") from None

    def write(part: Path) -> None:
        with explained(engine):
            batches = _batches(table)
        writer = None
        try:
            for batch in _annotated_batches(judge, batches):
                writer = writer or pq.ParquetWriter(part, batch.schema)
                writer.write_batch(batch)
            if writer is None:
                raise NullproofError("the table has no rows; there is nothing to annotate")
        finally:
            if writer is not None:
                writer.close()

    write_whole(path, write)
    return path
