"""Hold an index, however it came about, against the plain counter."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nullproof import CountIndex, NullproofError
from support import index_view
from support import plain_counter as truth
from support.amounts import n_tables
from support.plain_bins import TooCloseError, TrueEdges, bin_texts, true_edges
from support.plain_counter import Column, Counted, Table
from support.ways import RowsWay, Way


@dataclass(frozen=True)
class Options:
    """How a table is to be counted."""

    bins: int | None = None
    binning: str = "uniform"
    missing: tuple[str, ...] = ()
    only: bool = False
    keep: bool = False

    @classmethod
    def drawn(cls, rng: random.Random) -> Options:
        """Draw options; half of them without bins, where values have to be told apart."""
        bins = rng.choice((None, None, None, 1, 2, 3, 5))
        missing = rng.choice(((), (), ("?", "-9")))
        binning = rng.choice(("uniform", "quantile"))
        only, keep = rng.random() < 0.2, rng.random() < 0.5
        return cls(bins, "mdl" if rng.random() < 0.2 else binning, missing, only, keep)

    def for_way(self, way: Way) -> Options:
        return replace(self, bins=None, binning="none") if isinstance(way, RowsWay) else self

    @property
    def are_cut(self) -> bool:
        return self.binning == "mdl" or (self.bins is not None and self.binning != "none")

    @property
    def rules(self) -> truth.Rules:
        return truth.Rules(self.missing, self.only)

    def given(self, table: Table) -> dict[str, Any]:
        """The options of `CountIndex.from_table`."""
        how: dict[str, Any] = {"binning": self.binning if self.are_cut else "none"}
        if self.are_cut and self.binning != "mdl" and self.bins is not None:
            how["bins"] = self.bins
        return how | {
            "missing_only" if self.only else "missing": self.missing,
            "keep": [column.name for column in table.columns] if self.keep else (),
        }


MORE = n_tables(800) / 20_000
ALL_OPTIONS = (
    Options(),
    Options(bins=3, keep=True),
    Options(bins=4, binning="quantile", keep=True),
    Options(binning="mdl", keep=True),
    Options(missing=("b", "-9"), keep=True),
    Options(missing=("?", "-9"), only=True, keep=True),
)
# With fewer random tables than all, two stand for the others, which random tables draw as well.
SOME_OPTIONS = ALL_OPTIONS if MORE >= 1 else (ALL_OPTIONS[0], ALL_OPTIONS[3])


def none_of(found: Iterable[str]) -> None:
    """Fail with what was found, if anything was."""
    listed = [problem[:1500] for problem in found]
    if listed:
        shown = "\n\n".join(listed[:20])
        pytest.fail(f"{len(listed)} problems\n\n{shown}", pytrace=False)


def carried(way: Way, table: Table) -> Table:
    """What a way can carry of a table, and a column that is always counted."""
    columns = [column for column in table.columns if way.why_not(column) is None]
    kind: truth.Kind = "written" if table.label.kind == "written" else "text"
    label = table.label
    if way.why_not(label) is not None:
        label = Column("label", kind, tuple(truth.texts(label, truth.NOTHING)), "string")
    filler = Column("filler", kind, ("x",) * table.n_rows, "string")
    return replace(table, columns=(*columns, filler), label=label)


def problems(way: Way, table: Table, options: Options, folder: Path) -> Iterator[str]:
    """Name what a way gets wrong."""
    options = options.for_way(way)
    for problem in _problems(way, options, folder, table):
        yield f"{way.name}, {options}: {problem}"


def _problems(way: Way, options: Options, folder: Path, table: Table) -> list[str]:
    try:
        index = way.count(table, folder, **options.given(table))
    except NullproofError as problem:
        if _is_refused(table, options):
            return []
        sure = _surely_counted(table, way)
        # What a way is free to refuse must not hide the rest.
        return [f"refused: {problem}"] if sure == table else _problems(way, options, folder, sure)
    except Exception as problem:
        return [f"{type(problem).__module__}.{type(problem).__name__}: {str(problem)[:300]}"]
    if _is_refused(table, options):
        return [f"counted, but the page refuses it: {index!r}"]
    return wrong_counts(index, table, options)


def _surely_counted(table: Table, *ways: Way) -> Table:
    """The table without the columns that some way is free to refuse."""
    names = [c.name for c in table.columns if not any(way.refuses(c) for way in ways)]
    return table.only(*names)


def _is_refused(table: Table, options: Options) -> bool:
    try:
        truth.label_texts(table.label, options.rules)
        for column in table.columns:
            truth.texts(column, options.rules)
    except truth.Refusal:
        return True
    return False


def _shown(column: Column) -> str:
    declared = f" of {list(column.categories)}" if column.categories else ""
    return f"{column.name!r} {column.kind} {column.stored}{declared} {list(column.cells)}"


# One index ---------------------------------------------------------------------------------------


def wrong_counts(index: CountIndex, table: Table, options: Options) -> list[str]:
    """Compare labels, domains, bins and counts with those of the plain counter."""
    labels = truth.label_texts(table.label, options.rules)
    rows = dict(zip(label_names(index), index.label_counts.tolist(), strict=True))
    expected = {label: labels.count(label) for label in labels}
    if rows != expected:
        return [f"labels {rows} instead of {expected}"]
    wrong = ((c, _wrong_column(index, c, labels, options)) for c in table.columns)
    return [f"{_shown(column)}: {problem}" for column, problem in wrong if problem]


def label_names(index: CountIndex) -> list[str]:
    """The labels as the plain counter writes them."""
    return [_label_name(label) for label in index.labels]


def _label_name(label: Any) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)


def _wrong_column(
    index: CountIndex, column: Column, labels: list[str], options: Options
) -> str | None:
    expected = truth.count_values(column, labels, options.rules, keep=options.keep)
    name = column.name
    if expected is None or name not in index.features:
        if expected is None and name not in index.features:
            return None
        domain = expected and {*expected.values}
        return f"counted are {index.features}, its domain is {domain}"
    if options.are_cut and truth.places(column, options.rules) is not None:
        edges = index_view.edges(index, name)
        exact = _true_edges(column, labels, options)
        if exact is not None and not exact.fit(edges):
            return f"edges {edges} instead of {[*map(float, exact.exact)]}"
        expected = truth.count_bins(column, labels, edges, options.rules)
        texts = bin_texts(column, edges, options.rules)
        written = dict(
            zip(index_view.bins(index, name), index_view.values(index, name), strict=True)
        )
        if written != texts:
            return f"bins {written} instead of {texts}"
    found = counted(index, name)
    expected = replace(expected, values={_large(v): n for v, n in expected.values.items()})
    return None if found == expected else f"{_brief(found)} instead of {_brief(expected)}"


def _true_edges(column: Column, labels: list[str], options: Options) -> TrueEdges | None:
    """The edges of the truth, if doubles can tell them."""
    try:
        return true_edges(column, labels, options.bins or 1, options.binning, options.rules)
    except TooCloseError:
        return None


def _brief(counts: Counted) -> str:
    return f"{counts.values} and {counts.missing} missing"


def counted(index: CountIndex, name: str) -> Counted:
    """The counts of one feature of an index, by value (or number of the bin) and label."""
    found, labels = index_view.counts(index, name), label_names(index)
    missing = dict(zip(labels, found.pop(None), strict=True))
    values: tuple[Any, ...] = index_view.bins(index, name) or tuple(found)
    rows = zip(values, found.values(), strict=True)
    return Counted({_large(v): dict(zip(labels, row, strict=True)) for v, row in rows}, missing)


def _large(value: Any) -> Any:
    """The page does not say how doubles beyond 64 bits are written: digits or an exponent will do."""
    try:
        number = float(value)
    except ValueError:
        return value
    is_small = str(value).lstrip("-").isdigit() and abs(int(value)) < 2**63
    return value if is_small or not 2**63 <= abs(number) < math.inf else repr(number)


# Points ------------------------------------------------------------------------------------------


def true_points(index: CountIndex, table: Table, options: Options) -> dict[str, list[str | None]]:
    """The values of the rows of a table as points, by the plain counter."""
    columns = {column.name: column for column in table.columns}
    return {name: _point_cells(index, columns[name], options) for name in index.features}


def _point_cells(index: CountIndex, column: Column, options: Options) -> list[str | None]:
    edges = index_view.edges(index, column.name)
    if not edges:
        return truth.texts(column, options.rules)
    texts = dict(
        zip(index_view.bins(index, column.name), index_view.values(index, column.name), strict=True)
    )
    places = truth.places(column, options.rules)
    assert places is not None
    return [None if x is None else texts[sum(edge <= x for edge in edges[1:-1])] for x in places]


def point_problems(way: Way, table: Table, options: Options, folder: Path) -> Iterator[str]:
    """Compare how rows that come as points are read with the truth."""
    options = options.for_way(way)
    if way.points:
        table = _surely_counted(carried(way, table), way)
        for problem in _point_problems(way, options, folder, table):
            yield f"points by {way.name}, {options}: {problem}"


def _point_problems(way: Way, options: Options, folder: Path, table: Table) -> list[str]:
    if way.name == "Spark":
        # The rows of several files have no order there.
        table = replace(table, cuts=())
    index = _right(way, table, options, folder)
    if index is None:
        return []
    expected = true_points(index, table, options)
    try:
        found = index_view.read(index, way.put(table, way.place(folder)))
    except Exception as problem:
        return [f"{type(problem).__name__}: {str(problem)[:300]}"]
    return [
        f"{name!r}: {cells} instead of {expected[name]}"
        for name, cells in found.items()
        if [_large(cell or "") for cell in cells] != [_large(cell or "") for cell in expected[name]]
    ]


def round_trip_problems(
    way: Way, other: Way, table: Table, options: Options, folder: Path
) -> Iterator[str]:
    """Save and load an index, and count the same table another way like it."""
    options = options.for_way(way)
    table = carried(other, carried(way, table).only(*_names(table)))
    table = _surely_counted(table, way, other)
    for problem in _round_trip_problems(way, other, options, folder, table):
        yield f"{other.name} like {way.name}, {options}: {problem}"


def _round_trip_problems(
    way: Way, other: Way, options: Options, folder: Path, table: Table
) -> list[str]:
    index = _right(way, table, options, folder)
    if index is None:
        return []
    index.save(folder / "index.parquet")
    if CountIndex.load(folder / "index.parquet") != index:
        return ["saved and loaded it is another"]
    try:
        same = other.count(table, folder, like=index) == index
    except Exception as problem:
        return [f"{type(problem).__name__}: {str(problem)[:300]}"]
    return [] if same else ["another index"]


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def _right(way: Way, table: Table, options: Options, folder: Path) -> CountIndex | None:
    """The index, if it is the true one; whether it is is another law."""
    try:
        index = way.count(table, folder, **options.given(table))
    except Exception:
        return None
    return None if wrong_counts(index, table, options) else index


# What has to be refused ---------------------------------------------------------------------------


def labels_with_holes() -> Iterator[tuple[Table, Options]]:
    """Labels with one hole, of every kind of hole."""
    holes: list[tuple[Column, Options]] = [
        (Column("label", "text", ("a", None, "b"), "string"), Options()),
        (Column("label", "integer", (1, None, 2), "int64"), Options()),
        (Column("label", "float", (1.0, float("nan"), 2.0), "float64"), Options()),
        (Column("label", "boolean", (True, None, False), "bool"), Options()),
        (Column("label", "date", (1, None, 2), "date32"), Options()),
        (Column("label", "text", ("a", " ?", "b"), "string"), Options(missing=("?",))),
        (Column("label", "integer", (1, -9, 2), "int64"), Options(missing=("-9.0",))),
        (Column("label", "float", (1.5, -9.0, 2.0), "float64"), Options(missing=("-9",))),
    ]
    for label, options in holes:
        yield Table((Column("c0", "text", ("x", "y", "x"), "string"),), label), options
