"""Describe the columns of an index's table: used or left out and why, kind, values, weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nullproof.counts.fields import IndexFields
from nullproof.data.schema import ONE, ColumnRecord, Use
from nullproof.data.sources import no_such_column
from nullproof.results.pictures import ROWS, shown_table
from nullproof.words import PLAIN, many, per_cent, some

if TYPE_CHECKING:
    import polars as pl


class ColumnLine(NamedTuple):
    """The description of one column of an index's table.

    ``missing`` is the share of missing cells, None if the column was not read; ``values`` are the domain,
    or the bins with their ``edges``. ``weight`` is how much a feature counts, and ``taken_as_missing`` are
    the texts that mean missing in the column.
    """

    name: str
    use: Use
    why: str
    kind: str
    missing: float | None
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    weight: float | None = None
    taken_as_missing: tuple[str, ...] = ()

    @property
    def plays_a_part(self) -> bool:
        """Whether a prediction can depend on the column."""
        return self.use == "feature" and len(self.values) > 1 and self.weight != 0

    @property
    def shown_values(self) -> str:
        """The number of values or bins, with the first of them."""
        if self.use != "feature":
            return ""
        word = "bin" if self.edges else "value"
        return f"{many(len(self.values), word)}: {some(self.values, 4)}"


class Columns:
    """The columns of a table, in its order, as `CountIndex.columns` gives them.

    Examples
    --------
    >>> from nullproof import CountIndex
    >>> index = CountIndex.from_rows([("a", None), ("b", "x")], ["yes", "no"])
    >>> index.columns["x1"].missing
    0.5
    >>> index.columns
    2 columns, those with the most missing cells first
      x1: feature, category, 50.0 % missing, 1 value: x
      x0: feature, category, 0 % missing, 2 values: a, b
    """

    def __init__(self, lines: Iterable[ColumnLine]) -> None:
        self._lines = tuple(lines)

    def __getitem__(self, which: int | str) -> ColumnLine:
        if isinstance(which, str):
            names = [line.name for line in self._lines]
            if which not in names:
                raise no_such_column(which, names)
            which = names.index(which)
        return self._lines[which]

    def __iter__(self) -> Iterator[ColumnLine]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def document(self) -> list[dict[str, Any]]:
        """Return the JSON form."""
        return [
            {
                **line._asdict(),
                "values": list(line.values),
                "taken_as_missing": list(line.taken_as_missing),
                # JSON has no infinite numbers: one bin for all has no edges.
                "edges": [edge for edge in line.edges if abs(edge) < float("inf")],
                "plays_a_part": line.plays_a_part,
            }
            for line in self._lines
        ]

    def to_frame(self) -> pl.DataFrame:
        """Return one row per column."""
        import polars as pl

        return pl.DataFrame(_listed(self._lines)).with_columns(pl.col(pl.Null).cast(pl.String))

    def _most_missing_first(self) -> list[ColumnLine]:
        return sorted(self._lines, key=lambda line: -(line.missing or 0))[:ROWS]

    def _repr_html_(self) -> str:
        columns = _listed(self._most_missing_first())
        columns["missing"] = [per_cent(share) for share in columns["missing"]]
        if not any(columns["taken_as_missing"]):
            del columns["taken_as_missing"]
        return shown_table(many(len(self), "column"), columns, len(self))

    def __repr__(self) -> str:
        lines = [f"{many(len(self), 'column')}, those with the most missing cells first"]
        for line in self._most_missing_first():
            taken = line.taken_as_missing
            parts = [
                f"{line.use} ({line.why})" if line.why else line.use,
                line.kind,
                "" if line.missing is None else f"{per_cent(line.missing, PLAIN)} missing",
                f"{some(taken, 4)} taken as missing" if taken else "",
                "" if line.weight in (None, 1.0) else f"weight {line.weight:g}",
                line.shown_values,
            ]
            lines.append(f"  {line.name}: {', '.join(filter(None, parts))}")
        if len(self) > ROWS:
            lines.append(f"  … and {len(self) - ROWS:,} more")
        return "\n".join(lines)


def _listed(lines: Sequence[ColumnLine]) -> dict[str, list[Any]]:
    return {
        "column": [line.name for line in lines],
        "use": [line.use for line in lines],
        "why": [line.why or None for line in lines],
        "kind": [line.kind for line in lines],
        "missing": [line.missing for line in lines],
        "taken_as_missing": [", ".join(line.taken_as_missing) or None for line in lines],
        "weight": [line.weight for line in lines],
        "n_values": [len(line.values) if line.use == "feature" else None for line in lines],
        "values": [line.shown_values for line in lines],
    }


def columns_of(index: IndexFields) -> Columns:
    """List the columns of the table that an index counts."""
    schema, n_rows = index.schema, max(int(index.label_counts.sum()), 1)
    n_open = index.n_open.sum(axis=1).tolist()

    def line(record: ColumnRecord) -> ColumnLine:
        j = schema.position.get(record.name)
        if j is None:
            share = 0.0 if record.use == "label" else record.missing
            return ColumnLine(record.name, record.use, record.why, record.kind, share)
        feature, n_missing = schema.features[j], n_open[j]
        if feature.missing_is_value:
            n_missing += int(index.known[j][feature.missing_code].sum())
        return ColumnLine(
            name=feature.name,
            use="feature",
            why="",
            kind=feature.kind,
            missing=n_missing / n_rows,
            values=feature.values,
            edges=feature.edges,
            weight=feature.weight / ONE,
            taken_as_missing=record.taken,
        )

    plain_rows = tuple(ColumnRecord(f.name, "feature", kind=f.kind) for f in schema.features)
    return Columns(map(line, schema.columns or plain_rows))
