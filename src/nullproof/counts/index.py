"""CountIndex: all that the questions of nullproof need to know of a training table.

Per label, feature and value: how many cells hold the value in every world (``low``) and in some world
(``high``). Its size does not depend on the number of rows, and indexes of parts of a table add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.build import (
    CandidateSets,
    checked_codes,
    code_features,
    count_array,
    count_like,
    count_table,
    domain_sizes,
    feature_names,
)
from nullproof.counts.companion import tell_of_companion
from nullproof.counts.engines.tables import open_lazily
from nullproof.counts.parquet import load, save
from nullproof.counts.revise import Cells, add_rows, blank, fill_cells, remove_rows, widen
from nullproof.counts.sparse import Counts, Known
from nullproof.counts.sums import added, are_same
from nullproof.errors import NullproofError
from nullproof.show import ROWS, shown_table
from nullproof.tables.bins import Binning
from nullproof.tables.contents import FileOptions
from nullproof.tables.labelled import labelled_rows, tell_of_unlabelled
from nullproof.tables.labels import DROP, label_codes, refuse_holes
from nullproof.tables.options import TableOptions, Unlabelled
from nullproof.tables.points import Points, encode_points
from nullproof.tables.readers import labels_apart, open_rows, refuse_unknown, rows_like
from nullproof.tables.schema import Schema
from nullproof.words import PLAIN, many, per_cent, some

# The count of a feature that a point leaves out: its factor is 1, whatever the label (theory 9).
LEFT_OUT = -1


@dataclass(frozen=True, eq=False, repr=False)
class CountIndex:
    """Counts of an incomplete training table.

    Build one with `from_table`, `from_rows` or `from_codes`.

    Parameters
    ----------
    schema
        Features with their domains, and labels.
    label_counts
        Rows per label.
    known
        Per feature: cells known to hold a value, values × labels.
    n_null
        Cells that may hold any value of their domain, features × labels.
    sets
        Per feature: cells with several candidates, as counts per label for each candidate set.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("b", "y")]
    >>> CountIndex.from_rows(rows, ["yes", "yes", "no"])
    CountIndex: 3 rows, 2 features, 2 labels (no, yes), 1 missing cell (16.7 %)
    """

    schema: Schema
    label_counts: Counts
    known: tuple[Known, ...]
    n_null: Counts
    sets: tuple[CandidateSets, ...]

    @classmethod
    def from_table(  # noqa: PLR0913 (every option of a table)
        cls,
        table: Any,
        label: str,
        *,
        like: CountIndex | None = None,
        missing: Collection[str] = (),
        missing_only: Collection[str] | None = None,
        bins: int = 5,
        binning: Binning | Mapping[str, Binning] = "mdl",
        domains: Mapping[str, Iterable[Any]] | None = None,
        ignore: Collection[str] = (),
        keep: Collection[str] = (),
        unlabelled: Unlabelled = "refuse",
        memory_limit: str | None = None,
        encoding: str | None = None,
        header: bool = True,
        sheet: str | None = None,
    ) -> CountIndex:
        """Count a data frame, a file, or a lazy table where it is.

        Tables of DuckDB, Spark, Dask and ibis and lazy frames of polars are lazy. So are files given
        by a folder or a pattern such as ``"sales/*.parquet"``, which DuckDB counts.

        Parameters
        ----------
        label
            Name of the label column; see ``unlabelled`` for its holes.
        like
            An index made before, whose features, bins, domains, labels and spellings of missing
            are taken over; options that would say otherwise are refused.
        missing
            Spellings of missing, e.g. ``("unknown", "-9")``, besides the usual ones: null, None, NaN, NA
            and NaT, in texts empty, NA, N/A, NaN, null, ?, #N/A and <NA> in any case, and none, - and
            . unless a column shows that they are values (docs/values.md).
        missing_only
            Spellings of missing instead of the usual ones in texts.
        bins
            Number of bins of numbers and dates, for ``"uniform"`` and ``"quantile"``.
        binning
            ``"mdl"``: cut where the labels change, as often as that pays; ``"uniform"``: bins of equal
            width; ``"quantile"``: bins with equally many rows; ``"none"``: every distinct value is a
            category. Or a mapping from column to one of these, with ``"*"``
            for the rest. Edges come from the known cells alone, and are the same in every world.
        domains
            Declared categories per column, added to those seen.
        ignore
            Columns to leave out.
        keep
            Columns to count although they seem only to name the rows: texts of which more than half are
            different, and numbers of the rows.
        unlabelled
            ``"refuse"`` a table in which a row has no label, or ``"drop"`` such rows.
        memory_limit
            Let DuckDB count the files, with no more memory than, say, ``"1GB"``; the rest goes to
            a temporary folder.
        encoding
            The encoding of a text file, e.g. ``"cp1250"``, if it is neither UTF-8 nor what Windows
            writes in Western Europe.
        header
            Whether the first row of a text or Excel file has the names; if not, they are ``c1``, ``c2``, …
        sheet
            The sheet of an Excel file; by default the first that has cells.
        """
        file = FileOptions(encoding, header, sheet)
        options = TableOptions(
            missing, bins, binning, domains or {}, ignore, unlabelled, file, keep, missing_only
        )
        if like is None:
            tell_of_companion(table)
        else:
            options.refuse_beside_like(TableOptions())
        schema = None if like is None else like.schema
        spelled = options.spellings if schema is None else schema.spellings
        with open_lazily(table, label, spelled, schema, memory_limit) as lazy:
            if lazy is not None:
                from nullproof.counts.engines.counting import count_lazy

                file.refuse("counted where it is")
                return count_lazy(cls, lazy, options, like=schema)
        opened = options.open(table, label, schema)
        labels = opened.labels(label)
        if options.unlabelled == "drop":
            some = labelled_rows(opened, labels)
            tell_of_unlabelled(label, opened.n_rows - len(some.rows), len(some.rows))
            opened, labels = some.table, some.labels
        refuse_holes(labels, DROP)
        if schema is not None:
            return count_like(cls, schema, opened, labels)
        names = feature_names(opened, label, options)
        return count_table(cls, opened, names, labels, options)

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Any],
        labels: Sequence[Any],
        *,
        features: Sequence[str] | None = None,
        like: CountIndex | None = None,
        domains: Mapping[str, Iterable[Any]] | None = None,
        missing: Collection[str] = (),
        missing_only: Collection[str] | None = None,
        keep: Collection[str] = (),
    ) -> CountIndex:
        """Count plain rows, where every value is a category and a cell may be None or a set of candidates.

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
            missing, binning="none", domains=domains or {}, keep=keep, missing_only=missing_only
        )
        if like is not None:
            options.refuse_beside_like(TableOptions(binning="none"))
            schema = like.schema
            column = labels_apart(labels, schema.spellings)
            return count_like(cls, schema, rows_like(schema, rows), column)
        if features is None:
            first = rows[0]
            if not isinstance(first, Mapping | Sequence) or isinstance(first, str):
                raise NullproofError(
                    f"the first row is {first!r}; give each row as a tuple with one cell per feature"
                )
            features = list(first) if isinstance(first, Mapping) else _numbered(len(first))
        table = open_rows(rows, features, missing=options.spellings)
        refuse_unknown(options.domains, features, "domains")
        refuse_unknown(options.keep, features, "keep")
        column = labels_apart(labels, options.spellings)
        return count_table(cls, table, features, column, options)

    @classmethod
    def from_codes(
        cls, codes: NDArray[np.integer], labels: Any, *, n_values: Sequence[int] | None = None
    ) -> CountIndex:
        """Count integers that are codes already: 0, 1, … are values, negative numbers missing.

        Parameters
        ----------
        codes
            Rows × features; bytes in column-major order are counted fastest.
        n_values
            Size of each domain, at most 100,000,000; by default the largest code of each column
            plus one.
        """
        codes = checked_codes(codes)
        sizes = domain_sizes(codes.max(axis=0).tolist(), n_values)
        row_labels, names = label_codes(labels_apart(labels))
        if len(codes) != len(row_labels):
            raise NullproofError(
                f"there are {len(codes)} rows but {len(row_labels)} labels; give one label per row"
            )
        return count_array(cls, Schema(code_features(sizes), names), codes, row_labels)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, sorted."""
        return self.schema.labels

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, in the order that points are given in."""
        return tuple(feature.name for feature in self.schema.features)

    @property
    def n_values(self) -> NDArray[np.int64]:
        """The size of each feature's domain."""
        return self.schema.n_values

    @property
    def n_rows(self) -> int:
        return int(self.label_counts.sum())

    @property
    def n_missing(self) -> int:
        """Cells with more than one candidate."""
        return int(self.n_open.sum())

    @cached_property
    def n_open(self) -> Counts:
        """Features × labels: cells with more than one candidate."""
        n_open = self.n_null.copy()
        for j, sets in enumerate(self.sets):
            for counts in sets.values():
                n_open[j] += counts
        return n_open

    def missing_cells(self) -> tuple[Counts, Counts]:
        """Features × labels: cells with several candidates, and how many of them exclude some value."""
        return self.n_open, self.n_open - self.n_null

    def exact(self, j: int, codes: NDArray[Any] | None = None) -> Counts:
        """Cells of feature ``j`` that are known to hold each value, values × labels.

        The last row, code ``n_values``, is for values outside the domain and always zero. ``codes``
        picks rows; the code after the last, for a feature that a point leaves out, has no counts.
        """
        wanted = np.arange(int(self.n_values[j]) + 1) if codes is None else np.asarray(codes)
        return self.known[j].rows(wanted)

    def low(self, j: int, codes: NDArray[Any] | None = None) -> Counts:
        """Cells of feature ``j`` that hold each value in every world; as `exact`.

        `LEFT_OUT` where the code says that the point leaves the feature out.
        """
        counts = self.exact(j, codes)
        wanted = np.arange(len(counts)) if codes is None else np.asarray(codes)
        if self.n_values[j] == 1:
            # A domain of one value leaves its missing cells no choice (theory 1).
            counts += np.where((wanted == 0)[:, None], self.n_null[j], 0)
        counts[wanted > self.n_values[j]] = LEFT_OUT
        return counts

    def high(self, j: int, codes: NDArray[Any] | None = None) -> Counts:
        """Cells of feature ``j`` that hold each value in some world; as `low`."""
        size = int(self.n_values[j])
        wanted = np.arange(size + 1) if codes is None else np.asarray(codes)
        counts = self.exact(j, codes) + np.where((wanted < size)[:, None], self.n_null[j], 0)
        for candidates, cells in self.sets[j].items():
            counts += np.where(np.isin(wanted, candidates)[:, None], cells, 0)
        counts[wanted > size] = LEFT_OUT
        return counts

    def widened(self, schema: Schema) -> CountIndex:
        """The same rows counted by a schema with more labels, values or features."""
        return widen(self, schema)

    def update(self, rows: Any, labels: Sequence[Any]) -> CountIndex:
        """The index with further rows counted; their values must be in the domains."""
        return add_rows(self, rows, labels)

    def remove(self, rows: Any, labels: Sequence[Any]) -> CountIndex:
        """The index without some of its rows, given as they were when counted; domains stay."""
        return remove_rows(self, rows, labels)

    def fill(
        self, feature: str, value: Any, label: Any, *, candidates: Any = None, n_cells: int = 1
    ) -> CountIndex:
        """The index after some missing cells of a label were filled with a value.

        With ``candidates``, cells that may hold just these. ``n_cells`` says how many, at most as many as
        there are.
        """
        return fill_cells(self, feature, value, label, candidates, n_cells)

    def blanked(self, cells: Iterable[Cells]) -> CountIndex:
        """The index after cells were blanked; no more can be blanked than are counted."""
        return blank(self, cells)

    def save(self, path: str | Path) -> None:
        """Write the index to a Parquet file (see `nullproof.counts.parquet` for what is in it)."""
        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> CountIndex:
        """Read an index that `save` wrote.

        A file that is damaged, changed by another program or of another format is refused before
        anything in it is parsed.
        """
        return load(cls, path)

    def encode(self, points: Any) -> Points:
        """Turn points (a table, an array, rows or one row) into codes of this index."""
        return encode_points(self.schema, points)

    def __add__(self, other: CountIndex) -> CountIndex:
        if not isinstance(other, CountIndex):
            return NotImplemented
        return added(self, other)

    def __eq__(self, other: object) -> bool:
        """Same domains, labels and counts; the order of the features does not matter."""
        if not isinstance(other, CountIndex):
            return NotImplemented
        return are_same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        some = self.schema.features[:ROWS]
        columns: dict[str, list[Any]] = {
            "feature": [feature.name for feature in some],
            "kind": [feature.kind for feature in some],
            "values": [feature.n_values for feature in some],
            "missing": self.n_open.sum(axis=1)[: len(some)].tolist(),
        }
        return shown_table(repr(self), columns, len(self.features))

    def __repr__(self) -> str:
        n_cells = self.n_rows * len(self.features)
        share = f" ({per_cent(self.n_missing / n_cells, PLAIN)})" if n_cells else ""
        return (
            f"CountIndex: {many(self.n_rows, 'row')}, {many(len(self.features), 'feature')}, "
            f"{many(len(self.labels), 'label')} ({some(self.labels, 5)}), "
            f"{many(self.n_missing, 'missing cell')}{share}"
        )


def _numbered(size: int) -> list[str]:
    return [f"x{j}" for j in range(size)]
