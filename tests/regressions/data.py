"""Past faults of reading and counting: the table that came in, by which ways, and its true counts.

Letters are those of the hostile tables of the first audits.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.index_view import counts, edges, kind, quietly, read, saved_and_loaded, values

from nullproof import CountIndex, NullproofError

Columns = Mapping[str, Any]
B = 2**53
LABELS = list("aaabb")


def _dask(columns: Columns) -> Any:
    frames = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return frames.from_pandas(_pandas(columns), npartitions=2)


def _pandas(columns: Columns) -> Any:
    return pa.table(dict(columns)).to_pandas(types_mapper=pd.ArrowDtype)


WAYS: dict[str, Callable[[Columns], Any]] = {
    "mapping": dict,
    "pandas": _pandas,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": lambda columns: pa.table(dict(columns)),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(dict(columns))),
    "dask": _dask,
}
EVERY = tuple(WAYS)
FILES = ("file", "file by duckdb")


@dataclass(frozen=True)
class Case:
    """A table and what its first column, or the one that is named, has to count.

    Parameters
    ----------
    table
        Columns; the text of a file; or a function that makes a table of some library.
    ways
        How it is counted; a table that a function makes has its own way.
    counts
        The known cells of each value by label, and those that are missing under None.
    points
        Points and how they are read.
    """

    table: Columns | str | Callable[[], Any]
    ways: Sequence[str] = ("mapping",)
    options: Mapping[str, Any] = field(default_factory=dict)
    column: str | None = None
    counts: Mapping[str | None, list[int]] | None = None
    values: set[str] | None = None
    kind: str | None = None
    edges: tuple[float, ...] | None = None
    labels: tuple[Any, ...] | None = None
    points: tuple[Any, list[Any]] | None = None
    refused: str | None = None
    file: str = "t.csv"


def check(case: Case) -> None:
    """Count the table by each way, and compare; an index comes back from a file as it was."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [_made(case, way, folder) for way in case.ways]
        for table, more in made:
            options = {"label": "y", **case.options, **more}
            if case.refused is not None:
                with pytest.raises(NullproofError, match=case.refused) as caught:
                    quietly(table, **options)
                assert "\n" not in str(caught.value)
                continue
            index = quietly(table, **options)
            _compare(case, index)
            assert saved_and_loaded(index, folder) == index
            like = {k: v for k, v in options.items() if k in ("label", "memory_limit")}
            assert quietly(table, like=index, **like) == index


def _made(case: Case, way: str, folder: Path) -> tuple[Any, dict[str, Any]]:
    if isinstance(case.table, str):
        path = folder / case.file
        path.write_text(case.table, encoding="utf-8")
        return path, {"memory_limit": "200MB"} if way == "file by duckdb" else {}
    return (case.table() if callable(case.table) else WAYS[way](case.table)), {}


def _compare(case: Case, index: CountIndex) -> None:
    if case.counts is not None:
        expected = {**case.counts, None: case.counts.get(None, [0] * len(index.labels))}
        assert counts(index, case.column) == expected
    if case.values is not None:
        assert {*values(index, case.column)} == case.values
    if case.kind is not None:
        assert kind(index, case.column) == case.kind
    if case.edges is not None:
        assert edges(index, case.column) == pytest.approx(case.edges, rel=1e-6)
        assert all(math.copysign(1, edge) == 1 for edge in edges(index, case.column) if not edge)
    if case.labels is not None:
        assert index.labels == case.labels
    if case.points is not None:
        points, cells = case.points
        assert read(index, points)[case.column or index.features[0]] == cells


NONE: dict[str, Any] = {"binning": "none"}
TWO: dict[str, Any] = {"binning": "uniform", "bins": 2}


def _texts(cells: Sequence[str], n_before: int = 0, first: str = "7") -> str:
    """A text file with these cells, after many others."""
    rows = [*[first] * n_before, *cells]
    return " x,y\n" + "".join(f"{cell},a\n" for cell in rows)


def _late(*cells: Any) -> Callable[[], Any]:
    """Objects of pandas after many texts; all have one label, the last another."""

    def made() -> Any:
        objects = pd.Series(["u"] * 150 + [*cells, "u"], dtype=object)
        return {"x": objects, "y": ["p"] * (150 + len(cells)) + ["q"]}

    return made


def _enum(frame: str) -> Callable[[], Any]:
    """Declared categories without any cell."""

    def made() -> Any:
        if frame == "pandas":
            cells = pd.Categorical([None, None], categories=["p", "q"])
            return pd.DataFrame({"x": cells, "z": ["u", "v"], "y": ["a", "b"]})
        table = pl.DataFrame(
            {
                "x": pl.Series([None, None], dtype=pl.Enum(["p", "q"])),
                "z": ["u", "v"],
                "y": ["a", "b"],
            }
        )
        return table.lazy() if frame == "lazy" else table

    return made


def _narrow(lazy: bool) -> Callable[[], Any]:
    def made() -> Any:
        cells = pl.Series([1, -128, -128, 127, -128, 127, -128, 0], dtype=pl.Int8)
        table = pl.DataFrame({"x": cells, "y": list("abababab")})
        return table.lazy() if lazy else table

    return made


def _skewed(n_rows: int, sort: str) -> Callable[[], Any]:
    """Thousands of numbers that crowd somewhere, and labels that follow them with noise."""

    def made() -> Any:
        rng = np.random.default_rng(n_rows)
        signal = rng.normal(size=n_rows)
        cells = {
            "plain": signal,
            "skewed": np.exp(signal * 4),
            "towns": np.round(signal) * 1e6 + rng.random(n_rows) * 1e-3,
            "zeros": np.where(rng.random(n_rows) < 0.5, 0.0, np.sinh(signal * 9)),
            "wide": np.tanh(signal) * 1.7e308,
            "whole": (signal * 10_000).astype(np.int64),
        }[sort]
        label = np.digitize(signal + 0.3 * rng.normal(size=n_rows), [-1, 0.5])
        return pl.DataFrame({"x": cells, "y": label})

    return made


ZEROS = [-0.0, 1.0, 1.0, 0.0, -0.0, 0.0, 0.0, 0.0, 0.0]
TIMES = [dt.time(1), None, None, dt.time(2)]
DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 1)]
ONE_RULE: dict[str, tuple[list[str], str, set[str]]] = {
    "nan": (["1", "nan"], "number", {"1"}),
    "a short date": (["2020-1-1"], "text", {"2020-1-1"}),
    "hexadecimals": (["0x10", "1"], "text", {"0x10", "1"}),
    "underscores": (["1_000", "1"], "text", {"1_000", "1"}),
    "digits of others": (["٣", "1"], "text", {"٣", "1"}),
    "infinity": (["Infinity", "1"], "text", {"Infinity", "1"}),
    "inf": (["inf", "INF", "1"], "number", {"inf", "1"}),
    "spaces": ([" 5", "5 ", "+5"], "number", {"5"}),
    "a day that is none": (["2020-02-30"], "text", {"2020-02-30"}),
    "a zone": (["2020-01-01T00:00Z"], "datetime", {"2020-01-01"}),
    "an exponent": (["1e16", "10000000000000000"], "number", {"10000000000000000"}),
}


def _numbers(written: str) -> tuple[float, ...]:
    return tuple(map(float, written.split()))


# Cut with more than 1,024 different numbers, where neighbours are put together first (theory 11).
MANY_EDGES: dict[tuple[int, str], tuple[float, ...]] = {
    (2500, "skewed"): _numbers(
        "1.660674e-07 0.003144496 0.006291781 0.02846312 0.1136949 0.4988094 1.34823 "
        "5.167306 10.50191 26.96873 95.85357 398391"
    ),
    (9000, "plain"): _numbers(
        "-3.959294 -1.484809 -1.222095 -0.8882959 -0.6810477 -0.4786438 -0.1505975 "
        "0.06952544 0.3463844 0.5503842 0.8042676 1.141474 4.124134"
    ),
    (9000, "towns"): _numbers("-4000000 -2000000 -1000000 0.000999907 1500000 4000000"),
    (2500, "zeros"): _numbers(
        "-2.342101e+12 -204832 -3416.11 -47.39787 -0.02259817 6.565327e-05 36.50996 "
        "768.2406 1.993731e+12"
    ),
    (9000, "wide"): _numbers(
        "-1.698763e+308 -1.546388e+308 -1.477207e+308 -1.397555e+308 -1.214069e+308 "
        "-1.007441e+308 -7.575732e+307 -2.540977e+307 1.167959e+307 5.674542e+307 "
        "8.509803e+307 1.132907e+308 1.385347e+308 1.69911e+308"
    ),
}

CASES: dict[str, Case] = {
    "A: large integers beside a hole": Case(
        {"x": [B, B + 1, B + 1, B, None], "y": LABELS},
        EVERY,
        NONE,
        counts={str(B): [1, 1], str(B + 1): [2, 0], None: [0, 1]},
        points=([(B,), (B + 1,), (None,)], [str(B), str(B + 1), None]),
    ),
    "A: an integer and the float that it equals": Case(
        {"x": [10**16, 1, 10**16, 1, 1], "y": LABELS},
        EVERY,
        NONE,
        counts={"1": [1, 2], str(10**16): [2, 0]},
        points=([(1e16,), (10**16,), (1.0,)], [str(10**16), str(10**16), "1"]),
    ),
    "A: large integers as labels": Case(
        {"x": list("uvuv"), "y": [B, B + 1, B + 1, B]},
        EVERY,
        counts={"u": [1, 1], "v": [1, 1]},
        labels=(B, B + 1),
    ),
    "A: long ids in a file": Case(
        "x,y\n9007199254740993,a\n9007199254740992,a\n,b\n",
        FILES,
        NONE,
        counts={str(B): [1, 0], str(B + 1): [1, 0], None: [0, 1]},
    ),
    "C: lines that begin with a hash": Case(
        "x,y\n#1,a\n2,b\n#3,a\n# 4,b\n",
        FILES,
        counts={"#1": [1, 0], "#3": [1, 0], "# 4": [0, 1], "2": [0, 1]},
    ),
    "D: null in a column of times": Case(
        {"x": TIMES, "y": list("aabb")},
        EVERY,
        counts={"01:00:00": [1, 0], "02:00:00": [0, 1], None: [1, 1]},
        points=([(dt.time(1),), (None,)], ["01:00:00", None]),
    ),
    **{
        f"E: declared categories without a cell, {frame}": Case(
            _enum(frame), column="x", counts={"p": [0, 0], "q": [0, 0], None: [1, 1]}
        )
        for frame in ("polars", "lazy", "pandas")
    },
    "F: both zeros": Case(
        {"x": [0.0, -0.0, 1.0, -0.0, None], "y": LABELS},
        EVERY,
        NONE,
        counts={"0": [2, 1], "1": [1, 0], None: [0, 1]},
    ),
    "F: both zeros are one edge": Case(
        {"x": [-0.0, 0.0, 1.0, -0.0, None], "y": LABELS}, EVERY, TWO, edges=(0.0, 0.5, 1.0)
    ),
    "F: both zeros in two partitions": Case(
        {"x": ZEROS, "y": list("aababaaab")}, EVERY, NONE, counts={"0": [5, 2], "1": [1, 1]}
    ),
    **{
        f"G: quantiles of narrow integers, {'lazy' if lazy else 'eager'}": Case(
            _narrow(lazy), options={"bins": 2, "binning": "quantile"}, edges=(-128, -64, 127)
        )
        for lazy in (False, True)
    },
    "J: a signalling NaN": Case(
        {"x": [decimal.Decimal("sNaN"), decimal.Decimal("1.5"), 2], "y": list("aab")},
        options=NONE,
        counts={"1.5": [1, 0], "2": [0, 1], None: [1, 0]},
    ),
    "J: an Arrow dictionary": Case(
        {"x": pa.array(["u", "v", None, "u", "v"]).dictionary_encode(), "y": LABELS},
        ("mapping", "pandas", "pyarrow", "duckdb", "dask"),
        counts={"u": [1, 1], "v": [1, 1], None: [1, 0]},
    ),
    "K: dates as labels": Case(
        {"x": ["u", "v", "u"], "y": DAYS},
        EVERY,
        counts={"u": [2, 0], "v": [0, 1]},
        labels=("2020-01-01", "2020-01-02"),
    ),
    **{
        f"K: a column wider than every double, {binning}": Case(
            {"x": [1.7e308, -1.7e308, 0.0, 1e308], "y": list("aabb")},
            ("mapping", "polars lazy"),
            {"bins": 2, "binning": binning},
            edges=found,
        )
        for binning, found in (
            ("uniform", (-1.7e308, 0.0, 1.7e308)),
            ("quantile", (-1.7e308, 5e307, 1.7e308)),
        )
    },
    **{
        f"K: one rule for texts, {name}, {n_before} before": Case(
            _texts(cells, n_before, "7" if found == "number" else cells[0]),
            FILES,
            NONE,
            kind=found,
            values=domain | ({"7"} if n_before and found == "number" else set()),
        )
        for name, (cells, found, domain) in ONE_RULE.items()
        for n_before in (0, 1500)
    },
    "candidates after many texts": Case(_late({"u", "v"}), refused="lists, bytes or nested values"),
    "other types after many texts": Case(
        _late(1, True, "1", 1.0), counts={"1": [3, 0], "true": [1, 0], "u": [150, 1]}
    ),
    "holes after many texts": Case(
        _late(None, pd.NA, pd.NaT, float("nan"), decimal.Decimal("NaN")),
        counts={"u": [150, 1], None: [5, 0]},
    ),
    "bytes after many texts": Case(_late(b"u"), refused="bytes or nested values"),
    "a mapping after many texts": Case(_late({"u": 1}), refused="bytes or nested values"),
    "numbers among texts": Case(
        {"x": ["u", 1, 1.0, 0.5, True, dt.date(2020, 1, 1)], "y": list("aaabbb")},
        counts={"0.5": [0, 1], "1": [2, 0], "2020-01-01": [0, 1], "true": [0, 1], "u": [1, 0]},
    ),
    "booleans and numbers": Case(
        {"x": [True, 1, False, 0], "y": list("aabb")},
        options=NONE,
        counts={"0": [0, 1], "1": [1, 0], "false": [0, 1], "true": [1, 0]},
    ),
    "moments with and without a zone": Case(
        {
            "x": [
                dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
                dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
                dt.datetime(2019, 12, 31, 17, 0, 0, 5, tzinfo=dt.timezone(-dt.timedelta(hours=7))),
            ],
            "y": list("aab"),
        },
        ("mapping", "polars"),
        NONE,
        counts={"2020-01-01": [2, 0], "2020-01-01 00:00:00.000005": [0, 1]},
    ),
    "time stamps of files": Case(
        "x,y\n2020-01-31T10:30:07.25+05:30,a\n2020-01-31 05:00:07.250,a\n2020-01-31T05:00Z,b\n"
        "2020-01-30T23:59:59.999999-01:00,b\n",
        FILES,
        NONE,
        counts={
            "2020-01-31 00:59:59.999999": [0, 1],
            "2020-01-31 05:00:00": [0, 1],
            "2020-01-31 05:00:07.250000": [2, 0],
        },
    ),
    **{
        f"edges of {n_rows} numbers, {sort}": Case(
            _skewed(n_rows, sort), options={"keep": "x"}, edges=found
        )
        for (n_rows, sort), found in MANY_EDGES.items()
    },
}
