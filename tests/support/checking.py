"""Hold an index, however it came about, against the plain counter."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nullproof.counts.index import CountIndex
from nullproof.decision import certify
from nullproof.errors import NullproofError
from nullproof.tables.points import Points
from nullproof.tables.schema import Feature
from nullproof.tables.values import text
from support import plain_counter as truth
from support.plain_bins import TooCloseError, TrueEdges, bin_texts, true_edges
from support.plain_counter import Column, Counted, Table
from support.ways import RowsWay, Way

_SIGNED_YEAR = re.compile(r"\+[0-9]{5,}-[0-9]{2}-[0-9]{2}")


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


MORE = int(os.environ.get("NULLPROOF_WAYS_TABLES", "20000")) / 20_000
SEED = os.environ.get("NULLPROOF_SEED", "20240604")
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


Check = Callable[[Table], list[str]]


def problems(way: Way, table: Table, options: Options, folder: Path) -> Iterator[str]:
    """Name what a way gets wrong, each column in a small table that shows it."""
    options = options.for_way(way)
    check = partial(_problems, way, options, folder)
    for problem in smallest(check, table, way.patience):
        yield f"{way.name}, {options}: {problem}"


def smallest(check: Check, table: Table, patience: int = 40) -> Iterator[str]:
    """What is wrong with the labels, and with each column alone, in as few rows as show it."""
    found = check(table)
    if not found:
        return
    bare = table.only("filler")
    wrong = [bare] if check(bare) else []
    if wrong:
        table = replace(table, label=_plain_label(table.label))
    wrong += _wrong_alone(check, table, _names(table)[:-1])
    for part in wrong:
        fewer = _fewer_rows(check, part, patience)
        shown = ", ".join(map(_shown, (*fewer.columns[:-1], fewer.label)))
        yield f"{shown}: {check(fewer)[0]}"
    if not wrong:
        yield f"only all columns together: {found[0]}: {table}"


def _wrong_alone(check: Check, table: Table, names: list[str]) -> list[Table]:
    """The tables of one column that are wrong, found by halves."""
    part = table.only(*names, "filler")
    if not names or not check(part):
        return []
    if len(names) == 1:
        return [part]
    half = len(names) // 2
    return [*_wrong_alone(check, table, names[:half]), *_wrong_alone(check, table, names[half:])]


def _fewer_rows(check: Check, table: Table, patience: int) -> Table:
    """Leave out rows, many at a time and then one by one, as long as something is wrong."""
    size = table.n_rows // 2
    while size and patience > 0:
        start = 0
        while start < table.n_rows > 1 and patience > 0:
            patience -= 1
            fewer = table.without_rows(range(start, start + size))
            if fewer.n_rows and check(fewer):
                table = fewer
            else:
                start += size
        size //= 2
    return table


def _plain_label(label: Column) -> Column:
    kind: truth.Kind = "written" if label.kind == "written" else "text"
    cells = tuple(f"label {text}" for text in truth.texts(label, truth.NOTHING))
    return Column("label", kind, cells, "string")


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
        return [f"counted, but the page refuses it: {index.schema.features}"]
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
    rows = dict(zip(map(text, index.labels), index.label_counts.tolist(), strict=True))
    expected = {label: labels.count(label) for label in labels}
    if rows != expected:
        return [f"labels {rows} instead of {expected}"]
    wrong = (_wrong_column(index, column, labels, options) for column in table.columns)
    return [problem for problem in wrong if problem]


def _wrong_column(
    index: CountIndex, column: Column, labels: list[str], options: Options
) -> str | None:
    expected = truth.count_values(column, labels, options.rules, keep=options.keep)
    j = index.schema.position.get(column.name)
    if expected is None or j is None:
        if expected is None and j is None:
            return None
        domain = expected and {*expected.values}
        return f"counted are {index.features}, its domain is {domain}"
    feature = index.schema.features[j]
    if options.are_cut and truth.places(column, options.rules) is not None:
        exact = _true_edges(column, labels, options)
        if exact is not None and not exact.fit(feature.edges):
            return f"edges {feature.edges} instead of {[*map(_rounded, exact.exact)]}"
        expected = truth.count_bins(column, labels, feature.edges, options.rules)
        texts = bin_texts(column, feature.edges, options.rules)
        written = dict(zip(feature.bins, map(without_sign, feature.values), strict=True))
        if written != texts:
            return f"bins {written} instead of {texts}"
    found = counted(index, j)
    return None if found == expected else f"{_brief(found)} instead of {_brief(expected)}"


def _true_edges(column: Column, labels: list[str], options: Options) -> TrueEdges | None:
    """The edges of the truth, if doubles can tell them."""
    try:
        return true_edges(column, labels, options.bins or 1, options.binning, options.rules)
    except TooCloseError:
        return None


def _rounded(edge: Any) -> float:
    return float(edge)


def _brief(counts: Counted) -> str:
    return f"{counts.values} and {counts.missing} missing"


def counted(index: CountIndex, j: int) -> Counted:
    """The counts of one feature of an index, by value (or number of the bin) and label."""
    feature, labels = index.schema.features[j], [*map(text, index.labels)]
    values = [*feature.bins] if feature.edges else [*map(without_sign, feature.values)]
    rows = index.exact(j)[:-1].tolist()
    counts = {v: dict(zip(labels, row, strict=True)) for v, row in zip(values, rows, strict=True)}
    return Counted(counts, dict(zip(labels, index.n_null[j].tolist(), strict=True)))


def without_sign(value: str) -> str:
    """The page does not say whether years after 9999 have a plus sign: both will do."""
    return value.removeprefix("+") if _SIGNED_YEAR.match(value) else value


# Points ------------------------------------------------------------------------------------------


def true_points(index: CountIndex, table: Table, options: Options) -> Points:
    """The rows of a table as points, coded by the plain counter."""
    columns = {column.name: column for column in table.columns}
    codes = [_codes(f, columns[f.name], options) for f in index.schema.features]
    return Points(
        np.array(codes, dtype=np.int32), index.n_values, ((),) * len(index.schema.features)
    )


def _codes(feature: Feature, column: Column, options: Options) -> list[int]:
    cells: list[Any] = [*truth.texts(column, options.rules)]
    values: list[Any] = [*map(without_sign, feature.values)]
    if feature.edges:
        places = truth.places(column, options.rules)
        assert places is not None
        inner = feature.edges[1:-1]
        cells = [None if x is None else sum(edge <= x for edge in inner) for x in places]
        values = [*feature.bins]
    return [feature.n_values + 2 if cell is None else values.index(cell) for cell in cells]


def point_problems(way: Way, table: Table, options: Options, folder: Path) -> Iterator[str]:
    """Compare the codes and certificates of rows that come as points with those of the truth."""
    options = options.for_way(way)
    if way.points:
        table = _surely_counted(carried(way, table), way)
        check = partial(_point_problems, way, options, folder)
        for problem in smallest(check, table, way.patience):
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
        points = index.encode(way.put(table, way.place(folder)))
        possible = certify(index, points, alpha=0).possible
    except Exception as problem:
        return [f"{type(problem).__name__}: {str(problem)[:300]}"]
    pairs = zip(index.features, points.codes, expected.codes, strict=True)
    wrong = [f"{name!r}: {a} instead of {b}" for name, a, b in pairs if not np.array_equal(a, b)]
    if not np.array_equal(possible, certify(index, expected, alpha=0).possible):
        wrong.append("another certificate")
    return wrong


def round_trip_problems(
    way: Way, other: Way, table: Table, options: Options, folder: Path
) -> Iterator[str]:
    """Save and load an index, and count the same table another way like it."""
    options = options.for_way(way)
    table = carried(other, carried(way, table).only(*_names(table)))
    table = _surely_counted(table, way, other)
    check = partial(_round_trip_problems, way, other, options, folder)
    for problem in smallest(check, table, other.patience):
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
