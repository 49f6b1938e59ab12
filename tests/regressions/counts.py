"""Past faults of counting, auditing and annotating: each a question that must come out true."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from nullproof import CountIndex, NullproofError, NullproofWarning, annotate, audit, certify

ZERO: Any = 0
FEW = pl.DataFrame({"f": list("aaab"), "g": [None, "x", "y", "x"], "y": list("ttss")})


class Looks(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Always predicts one label, as a column, and counts the cells that it should never see."""

    seen = 0

    def __init__(self, column: str = "", spelled: Any = None) -> None:
        self.column, self.spelled = column, spelled

    def fit(self, table: Any, y: Any) -> Looks:
        """Look at the training table."""
        self.classes_ = np.unique(y)
        self._look(table)
        return self

    def predict(self, table: Any) -> Any:
        """Look at the points."""
        self._look(table)
        return np.full((len(table), 1), self.classes_[0])

    def _look(self, table: Any) -> None:
        Looks.seen += int((table[self.column] == self.spelled).sum())


def _sees_none(table: Any, points: Any, column: str, spelled: Any) -> bool:
    Looks.seen = 0
    audit(Looks(column, spelled), table, points, label="y", n_worlds=2, missing=[str(spelled)])
    return Looks.seen == 0


def _named_missing_beside_nan() -> bool:
    cells = np.random.default_rng(0).random(80)
    cells[:10], cells[10:15] = np.nan, -999
    table = pd.DataFrame({"x": cells, "g": ["u", "v"] * 40, "y": ["a", "b", "b", "a"] * 20})
    points = pd.DataFrame({"x": [0.1, np.nan, np.nan, -999.0], "g": ["u", "v", "u", "v"]})
    return _sees_none(table, points, "x", -999)


def _named_missing_in_a_column_left_out() -> bool:
    tickets = [f"T{i}" if i % 5 else "?" for i in range(80)]
    table = pl.DataFrame({"t": tickets, "g": ["u", None, "v", "v"] * 20, "y": [*"abba"] * 20})
    return _sees_none(table, pl.DataFrame({"t": ["T1", "?"], "g": ["u", "v"]}), "t", "?")


def _empty_part(lazily: Callable[[pl.DataFrame], Any]) -> bool:
    numbers = [i + 0.5 for i in range(200)]
    whole = pl.DataFrame({"x": numbers, "g": ["u", "v"] * 100, "y": ["a"] * 100 + ["b"] * 100})
    index = CountIndex.from_table(whole, "y", weights="equal")
    part = whole[:6].with_columns(x=pl.lit(None, pl.Float64))
    expected = CountIndex.from_table(part, "y", like=index)
    return CountIndex.from_table(lazily(part), "y", like=index) == expected


def _share_of_a_column_left_out() -> bool:
    names = [f"n{i}" if i % 2 else None for i in range(40)]
    table = pl.DataFrame({"n": names, "g": ["u", "v"] * 20, "y": ["a", "b", "b", "a"] * 10})
    index = CountIndex.from_table(table, "y")
    return index.columns["n"].missing == (index + index).columns["n"].missing == 0.5


def _in_file(lines: list[str], **options: Any) -> CountIndex:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text("\n".join(lines) + "\n")
        return CountIndex.from_table(path, "y", weights="equal", **options)


def _numbers_after_spaces() -> bool:
    lines = [f"u, {7 * k + 1}.5, {'pq'[k >= 1500]}" for k in range(3000)]
    return _in_file(["g,x,y", *lines]).columns["x"].kind == "number"


def _few_texts_among_numbers() -> bool:
    rows = [[str(k * (j + 3) % 11) for j in range(10)] for k in range(40)]
    rows[7][2] = rows[7][5] = "tbd"
    lines = [",".join([*row, "pq"[k % 2]]) for k, row in enumerate(rows)]
    return _in_file([",".join([*(f"m{j}" for j in range(10)), "y"]), *lines]).n_rows == 40


def _named_in_a_format(spelling: str, *others: str) -> bool:
    cells = [spelling, *others] * 3
    lines = [f"{cell};{'pq'[k % 2]}" for k, cell in enumerate(cells)]
    return _in_file(["x;y", *lines], binning="none", missing=[spelling]).n_missing == 3


def _tuples_in_the_order_of_features() -> bool:
    table = {"x1": [*"aabb"] * 6, "x0": [*"baba"] * 6, "y": [*"ppqq"] * 6}
    index = CountIndex.from_table(table, "y", weights="equal")
    return str(certify(index, ("a", "b")).predicted) == "p"


def _question_mark_in_categories() -> bool:
    table = {"x": ["a", "b", "a", "?"] * 6, "y": [*"pqpq"] * 6}
    index = CountIndex.from_table(pl.DataFrame(table), "y", weights="equal")
    points = pd.DataFrame({"x": pd.Categorical(["a", "?"])})
    return [*certify(index, points).n_own_missing] == [0, 1]


def _refused(ask: Callable[[], Any]) -> bool:
    with pytest.raises(NullproofError):
        ask()
    return True


CASES: dict[str, Callable[[], bool]] = {
    "an audit's cells named missing beside NaN of pandas": _named_missing_beside_nan,
    "an audit's cells spelled missing in a column left out": _named_missing_in_a_column_left_out,
    "a lazy part without any number, polars": lambda: _empty_part(pl.DataFrame.lazy),
    "a lazy part without any number, DuckDB": lambda: _empty_part(
        lambda part: duckdb.from_arrow(part.to_arrow())
    ),
    "the share of a column left out stays when counts are added": _share_of_a_column_left_out,
    "numbers after spaces are numbers": _numbers_after_spaces,
    "a row with few texts among numbers is data": _few_texts_among_numbers,
    "a named spelling with a comma": lambda: _named_in_a_format("99,9", "3,14", "2,71", "1,5"),
    "a named spelling of a date": lambda: _named_in_a_format(
        "01/01/1900", "31/01/2024", "15/02/2024"
    ),
    "missing=0 names 0": lambda: (
        CountIndex.from_table({"x": [0, 1, 2, 0], "y": [*"pqpq"]}, "y", missing=ZERO).n_missing == 2
    ),
    "tuples in the order of features": _tuples_in_the_order_of_features,
    "a question mark among the categories of points": _question_mark_in_categories,
    "None is no label": lambda: _refused(
        lambda: CountIndex.from_rows([("a", "x")], [None], like=CountIndex.from_table(FEW, "y"))
    ),
    "a feature twice": lambda: _refused(
        lambda: CountIndex.from_rows([("a", "b")], ["t"], features=["f", "f"])
    ),
    "into is not for frames": lambda: _refused(
        lambda: annotate(CountIndex.from_table(FEW, "y"), FEW.drop("y"), into="out.parquet")
    ),
}


def check(case: Callable[[], bool]) -> None:
    """Ask, without a word about odd columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        assert case()
