"""annotate: add predictions and verdicts to a table of points, wherever the table is stored.

Every engine passes batches of rows to `_Judge`, so all give the same results as `certify`. Only the index
travels, with the judge that is sent to the workers.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from nullproof.counts.index import CountIndex
from nullproof.data.labels import true_labels
from nullproof.data.options import AS_USUAL
from nullproof.data.points import OwnMissing, distinct, encode_quietly
from nullproof.errors import NullproofError, explained, missing_extra
from nullproof.model.certify import certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.results.files import write_whole

# The new columns, with their types in polars, in pandas, and in the notation of Arrow and Spark.
_COLUMNS: dict[str, tuple[Any, str, str]] = {
    "predicted": (pl.String(), "string", "string"),
    "verdict": (pl.String(), "string", "string"),
    "holds_up_to": (pl.Float64(), "float64", "double"),
    "right": (pl.Boolean(), "boolean", "boolean"),
}
_ROWS = 1 << 17
# Options of the C library on Linux.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


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
    """Add the prediction and the verdict of each row to a table, wherever the table is stored.

    Adds ``predicted``, as text; ``verdict``: ``certain``, ``holds`` (up to the bias asked about, else
    0.05) or ``open``; ``holds_up_to``: the largest bias up to which the prediction holds, null if it is
    undecided even at 0; and, if the table has the label column, ``right``, null if the label is unknown.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow data frame, or a file, is annotated immediately. Lazy polars frames
        and Spark and Dask data frames stay lazy: the workers annotate the rows, so they need nullproof
        installed. DuckDB and ibis tables are written ``into`` a file.
    alpha, prior, own_missing, bias
        As for `certify`.
    into
        A Parquet file to write the rows of a DuckDB or ibis table to, in batches.

    Returns
    -------
    The table with its new columns, in the same library; for DuckDB and ibis, the path of the file.

    Examples
    --------
    >>> train = pl.DataFrame({"f": list("aaab"), "g": [None, "x", "y", "x"], "y": list("ttss")})
    >>> index = CountIndex.from_table(train, "y")
    >>> annotate(index, pl.DataFrame({"f": ["a", "a"], "g": ["x", "y"]}))["verdict"].to_list()
    ['certain', 'open']
    """
    judge = _Judge(Model(index, alpha, prior, bias), own_missing)
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        if into is not None:
            raise NullproofError(
                f"into is for tables of DuckDB and ibis, and this is a {type(table).__name__}; leave it out"
            )
        return _at_once(judge, table)
    engine, native = frame.implementation, frame.to_native()
    added = judge.new_columns(frame.collect_schema().names())
    if engine.is_duckdb() or engine.is_ibis():
        return _into_parquet(judge, native, into, engine.value)
    if into is not None:
        raise NullproofError(
            f"into is for tables of DuckDB and ibis, and this is one of {engine.value}; leave it out"
        )
    if engine.is_polars():
        schema = {**native.collect_schema(), **{name: _COLUMNS[name][0] for name in added}}
        # Every new column depends on all columns of its row.
        return native.map_batches(
            judge.annotated,
            schema=schema,
            streamable=True,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        )
    if engine.is_dask():
        return native.map_partitions(_in_dask, judge, meta=judge.annotated(native._meta))
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return _in_spark(judge, native, added)
    raise NullproofError(
        f"a table of {engine.value} cannot be annotated where it is; read it in parts and annotate those"
    )


@dataclass(frozen=True)
class _Judge:
    """Predict and judge rows, given as a data frame of any library."""

    model: Model
    own_missing: OwnMissing

    def new_columns(self, names: Collection[str]) -> list[str]:
        """Return the names of the new columns, unless the table has one of them already."""
        label = self.model.index.schema.label_name
        added = [name for name in _COLUMNS if name != "right" or label in names]
        taken = next((name for name in names if name in added), None)
        if taken is not None:
            raise NullproofError(
                f"the table has a column {taken!r} already, which annotate would add; rename it"
            )
        return added

    def judged(self, rows: Any) -> pl.DataFrame:
        """Return the new columns of some rows."""
        schema = self.model.index.schema
        # Quietly: otherwise each batch would warn about the same unseen values.
        points = encode_quietly(schema, rows).read(self.own_missing)
        actual = true_labels(schema, AS_USUAL.open(rows, schema.label_name, schema))
        first, which = distinct(points.codes)
        found = certificates_of(self.model, points.take(first))
        declared = found.declared()
        names = {"predicted": "predicted", "verdict": "verdict", "holds_up_to": "tolerance"}
        new = pl.DataFrame({name: declared[own].series() for name, own in names.items()})[which]
        if actual is None:
            return new
        right = pl.Series(actual == found.predicted_positions[which])
        return new.with_columns(right=pl.when(pl.Series(actual >= 0)).then(right))

    def annotated(self, rows: Any, table: Any = None) -> Any:
        """Return rows with their new columns; ``table`` has the caller's names if they differ."""
        new = self.judged(rows)
        if isinstance(rows, pl.DataFrame):
            return rows.hstack(new)
        if hasattr(rows, "append_column"):
            # The other columns of an Arrow table stay unchanged.
            arrays = new.to_arrow(compat_level=pl.CompatLevel.oldest())
            for name in new.columns:
                rows = rows.append_column(name, arrays[name].cast(_COLUMNS[name][2]))
            return rows
        import pandas as pd

        columns = {
            name: pd.Series(new[name].to_numpy(), index=rows.index, dtype=_COLUMNS[name][1])
            for name in new.columns
        }
        return (rows if table is None else table).assign(**columns)

    def annotated_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Annotate Arrow batches, joining small ones: a call costs as much as thousands of points."""
        import pyarrow as pa

        waiting, n_rows = [], 0
        for batch in batches:
            waiting.append(batch)
            n_rows += batch.num_rows
            if 2 * n_rows >= _ROWS:
                yield from self.annotated(pa.Table.from_batches(waiting)).to_batches()
                waiting, n_rows = [], 0
        if waiting:
            yield from self.annotated(pa.Table.from_batches(waiting)).to_batches()


def _at_once(judge: _Judge, table: Any) -> Any:
    schema = judge.model.index.schema
    opened = AS_USUAL.open(table, schema.label_name, schema)
    if opened.frame is None:
        raise NullproofError(
            f"the table is a {type(table).__name__}; give a data frame or a file, or ask certify"
        )
    judge.new_columns(opened.names)
    # Names that are not texts were converted; restore the caller's names.
    return judge.annotated(opened.source, table if hasattr(table, "assign") else None)


def _in_dask(rows: Any, judge: _Judge) -> Any:
    """Annotate a partition of Dask."""
    _keep_large_arrays()
    return judge.annotated(rows)


@cache
def _keep_large_arrays() -> None:
    """Let the C library reuse the memory of arrays up to 32 MB, as it does by default.

    Dask sets MALLOC_TRIM_THRESHOLD_ for its workers, and then every array over 128 KB uses fresh
    pages of the system, which take longer to get than to fill.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        # Other systems have no such function.
        with suppress(AttributeError, OSError, TypeError):
            set_option = ctypes.CDLL(None).mallopt
            for option, value in ((_MMAP_THRESHOLD, 1 << 25), (_TRIM_THRESHOLD, 1 << 26)):
                set_option(option, value)


def _in_spark(judge: _Judge, frame: Any, added: list[str]) -> Any:
    from pyspark.sql.types import StructType

    schema = StructType([*frame.schema.fields])
    for name in added:
        schema = schema.add(name, _COLUMNS[name][2])
    return frame.mapInArrow(judge.annotated_batches, schema)


def _batches(table: Any) -> Any:
    """Return the rows of a table of DuckDB or ibis, in batches of Arrow."""
    if hasattr(table, "to_pyarrow_batches"):
        backend = table.get_backend()
        if backend.name != "duckdb":
            return table.to_pyarrow_batches(chunk_size=_ROWS)
        # ibis 12 calls a method that DuckDB 2 has removed, so run the query as a DuckDB table.
        table = backend.con.cursor().sql(backend.compile(table))
    if hasattr(table, "to_arrow_reader"):
        return table.to_arrow_reader(_ROWS)
    return table.fetch_record_batch(_ROWS)  # before DuckDB 1.5


def _into_parquet(judge: _Judge, table: Any, into: str | Path | None, engine: str) -> Path:
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
            for batch in judge.annotated_batches(batches):
                writer = writer or pq.ParquetWriter(part, batch.schema)
                writer.write_batch(batch)
            if writer is None:
                raise NullproofError("the table has no rows; there is nothing to annotate")
        finally:
            if writer is not None:
                writer.close()

    write_whole(path, write)
    return path
