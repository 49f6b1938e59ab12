"""CountIndex: the counts of a training table from which nullproof answers all questions.

Per label, feature and value: how many cells hold the value in every world (``low``) and in some world
(``high``). Its size does not depend on the number of rows, and indexes of parts of a table add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.columns import Columns, columns_of
from nullproof.counts.count import (
    count_array,
    count_like,
    count_table,
    feature_names,
)
from nullproof.counts.engines import count_lazy, open_lazily
from nullproof.counts.fields import LEFT_OUT, IndexFields
from nullproof.counts.storage import load, save, warn_of_companion
from nullproof.data.binning import Binning
from nullproof.data.labels import DROP, labelled_rows, refuse_missing, report_unlabelled
from nullproof.data.missing import Spellings
from nullproof.data.options import TableOptions, Unlabelled, Weights
from nullproof.data.points import Points, encode_points
from nullproof.data.sources import FileOptions, labels_apart, open_rows, rows_like
from nullproof.errors import NullproofError
from nullproof.words import PLAIN, many, per_cent, some

__all__ = ["LEFT_OUT", "CountIndex"]


@dataclass(frozen=True, eq=False, repr=False)
class CountIndex(IndexFields):
    """Counts of an incomplete training table.

    Build one with `from_table`, `from_rows` or `from_codes`; `IndexFields` explains its five fields.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y")]
    >>> CountIndex.from_rows(rows, ["yes", "yes", "no"])
    CountIndex: 3 rows, 2 features, 2 labels (no, yes), 1 missing cell (16.7 %)
    """

    @classmethod
    def of(cls, fields: IndexFields) -> Self:
        """Make an index from its fields."""
        return cls(fields.schema, fields.label_counts, fields.known, fields.n_null, fields.sets)

    @classmethod
    def from_table(  # noqa: PLR0913 (every option of a table)
        cls,
        table: Any,
        label: str,
        *,
        like: CountIndex | None = None,
        missing: Spellings = (),
        missing_only: Collection[str] | None = None,
        missing_is_value: Collection[str] = (),
        bins: int = 5,
        binning: Binning | Mapping[str, Binning] = "mdl",
        weights: Weights = "learned",
        domains: Mapping[str, Iterable[Any]] | None = None,
        ignore: Collection[str] = (),
        keep: Collection[str] = (),
        unlabelled: Unlabelled = "refuse",
        memory_limit: str | None = None,
        encoding: str | None = None,
        header: bool = True,
        sheet: str | None = None,
        skip_rows: int = 0,
    ) -> CountIndex:
        """Count a data frame, a file, or a lazy table inside its engine.

        DuckDB, Spark, Dask and ibis tables and lazy polars frames are lazy. So are files given by a folder
        or a pattern such as ``"sales/*.parquet"``, which DuckDB counts.

        Parameters
        ----------
        label
            Name of the label column; see ``unlabelled`` for rows without a label.
        like
            An existing index whose features, bins, domains, labels and spellings of missing are reused;
            options that contradict it are rejected.
        missing
            Spellings of missing, e.g. ``("unknown", "-9")``, besides the usual ones: null, None, NaN, NA
            and NaT, in texts empty, NA, N/A, NaN, null, ?, #N/A and <NA> in any case, and none, - and
            . unless a column shows that they are values (docs/values.md). Or a mapping from column to
            spellings, with ``"*"`` for all columns. Declared values are values, however they look.
        missing_only
            Spellings of missing instead of the usual ones in texts.
        missing_is_value
            Columns where "missing" is itself an answer and counts as a value.
        bins
            Number of bins of numbers and dates, for ``"uniform"`` and ``"quantile"``.
        binning
            ``"mdl"``: cut where the labels change, if the MDL rule accepts it; ``"uniform"``: bins of equal
            width; ``"quantile"``: bins with equally many rows; ``"none"``: every distinct value is a
            category. Or a mapping from column to one of these, with ``"*"``
            for the rest. Edges depend only on the known cells, so they are the same in every world.
        weights
            ``"learned"``: redundant or uninformative columns count less (docs/theory.md, 12);
            tables of fewer than 100 rows and lazy ones count every column alike. ``"equal"``: every
            column counts 1, as in the paper and in plain Naive Bayes. Or a mapping from column to a
            multiple of 1/8 from 0 to 2, with ``"*"`` for the rest. Weights depend only on the known cells,
            so they are the same in every world.
        domains
            Declared categories per column, added to those seen.
        ignore
            Columns to leave out.
        keep
            Columns to count although they seem only to name the rows: texts that are mostly distinct, and
            whole numbers that number the rows or are named like ids.
        unlabelled
            ``"refuse"`` a table in which a row has no label, or ``"drop"`` such rows.
        memory_limit
            Let DuckDB count the files within this memory, e.g. ``"1GB"``; further data goes to a temporary
            folder.
        encoding
            The encoding of a text file, e.g. ``"cp1250"``, if it is neither UTF-8 nor Windows-1252.
        header
            Whether the first row of a text or Excel file holds the names; else they are ``c1``, ``c2``, …
        sheet
            The sheet of an Excel file; by default the first that has cells.
        skip_rows
            How many lines of a text file, or rows of a sheet, to skip before the header.
        """
        file = FileOptions(encoding, header, sheet, skip_rows)
        options = TableOptions(
            missing,
            bins,
            binning,
            domains or {},
            ignore,
            unlabelled,
            file,
            keep,
            missing_only,
            missing_is_value,
            weights,
        )
        if like is None:
            warn_of_companion(table)
        else:
            options.refuse_beside_like(TableOptions())
        schema = None if like is None else like.schema
        spelled = options.spelled if schema is None else schema.missing
        with open_lazily(table, label, spelled, schema, memory_limit) as lazy:
            if lazy is not None:
                file.refuse("counted where it is")
                return cls.of(count_lazy(lazy, options, like=schema))
        opened = options.open(table, label, schema)
        labels = opened.labels(label)
        if options.unlabelled == "drop":
            n_rows = opened.n_rows
            opened, labels = labelled_rows(opened, labels)
            report_unlabelled(label, n_rows - len(labels), len(labels))
        refuse_missing(labels, DROP)
        if schema is not None:
            return cls.of(count_like(schema, opened, labels))
        names = feature_names(opened.names, label, options)
        return cls.of(count_table(opened, names, labels, options))

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Any],
        labels: Sequence[Any],
        *,
        features: Sequence[str] | None = None,
        like: CountIndex | None = None,
        domains: Mapping[str, Iterable[Any]] | None = None,
        missing: Spellings = (),
        missing_only: Collection[str] | None = None,
        missing_is_value: Collection[str] = (),
        weights: Weights = "learned",
        keep: Collection[str] = (),
    ) -> CountIndex:
        """Count plain rows; every value is a category, and a cell may be None or a set of candidates.

        Options as for `from_table`; labels and candidates are missing only where ``missing`` says so.
        """
        rows = list(rows)
        if not rows:
            raise NullproofError("there are no rows; give at least one")
        if len(rows) != len(labels):
            raise NullproofError(
                f"there are {len(rows)} rows but {len(labels)} labels; give one label per row"
            )
        options = TableOptions(
            missing,
            binning="none",
            domains=domains or {},
            keep=keep,
            missing_only=missing_only,
            missing_is_value=missing_is_value,
            weights=weights,
        )
        if like is not None:
            options.refuse_beside_like(TableOptions(binning="none"))
            schema = like.schema
            column = labels_apart(labels, schema.missing)
            return cls.of(count_like(schema, rows_like(schema, rows), column))
        if features is None:
            first = rows[0]
            if not isinstance(first, Mapping | Sequence) or isinstance(first, str):
                raise NullproofError(
                    f"the first row is {first!r}; give each row as a tuple with one cell per feature"
                )
            is_named = isinstance(first, Mapping)
            features = [*first] if is_named else [f"x{j}" for j in range(len(first))]
        if len({*features}) < len([*features]):
            raise NullproofError(f"features is {[*features]}; give each feature its own name")
        table = open_rows(rows, features, missing=options.spelled)
        options.refuse_unknown_columns(features)
        column = labels_apart(labels, options.spelled)
        return cls.of(count_table(table, features, column, options))

    @classmethod
    def from_codes(
        cls,
        codes: NDArray[np.integer],
        labels: Any,
        *,
        n_values: Sequence[int] | None = None,
        weights: Weights = "learned",
    ) -> CountIndex:
        """Count integer codes: 0, 1, … are values, negative numbers are missing.

        Parameters
        ----------
        codes
            Rows × features; bytes in column-major order are counted fastest.
        n_values
            Size of each domain, at most 100,000,000; by default the largest code of each column
            plus one.
        weights
            As for `from_table`; columns are called ``x0``, ``x1``, …
        """
        options = TableOptions(binning="none", weights=weights)
        return cls.of(count_array(codes, labels_apart(labels), n_values, options))

    @cached_property
    def columns(self) -> Columns:
        """One line per column of the table: used or not and why, kind, values or bins, missing share."""
        return columns_of(self)

    def save(self, path: str | Path) -> None:
        """Write the index to a file (see `nullproof.counts.storage` for the format)."""
        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> CountIndex:
        """Read an index that `save` wrote.

        A file that is damaged, altered or of another format is rejected before anything in it is parsed.
        """
        return cls.of(load(path))

    def encode(self, points: Any) -> Points:
        """Turn points (a table, an array, rows or one row) into codes of this index."""
        return encode_points(self.schema, points)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.columns._repr_html_()}"

    def __repr__(self) -> str:
        n_cells = self.n_rows * len(self.features)
        share = f" ({per_cent(self.n_missing / n_cells, PLAIN)})" if n_cells else ""
        return (
            f"CountIndex: {many(self.n_rows, 'row')}, {many(len(self.features), 'feature')}, "
            f"{many(len(self.labels), 'label')} ({some(self.labels, 5)}), "
            f"{many(self.n_missing, 'missing cell')}{share}"
        )
