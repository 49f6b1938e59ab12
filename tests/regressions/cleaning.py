"""Past faults and traps of plans, answers and worksheets: what came in, and what must come out."""

from __future__ import annotations

import datetime as dt
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.large_counts import index_from_counts

from nullproof import CountIndex, NullproofError, cleaning_plan
from nullproof.cleaning import Cleaner

LARGE = 2**53
MOMENTS = ("1970-01-01 00:00:00.000005", "1970-01-01 00:00:00.000005005")


@dataclass(frozen=True)
class Answer:
    """A column with a missing cell in row 2, an answer to it, and what the cell then holds."""

    column: Sequence[Any] | pl.Series
    answer: Any
    holds: Any  # a value of the whole column, or the parts of a refusal
    refused: bool = False
    binning: Any = "none"
    before: Mapping[Any, str] = field(default_factory=dict)


def _check_answer(case: Answer) -> None:
    column = pl.Series("x", case.column, strict=False)
    labels = (["a", "b"] * len(column))[: len(column)]
    table = pl.DataFrame({"x": column, "y": labels})
    options: Any = {"bins": 2} if case.binning == "uniform" else {}
    index = CountIndex.from_table(table, label="y", binning=case.binning, **options)
    cleaner = Cleaner(index, table, table)
    if case.refused:
        with pytest.raises(NullproofError) as caught:
            cleaner.fill({(2, "x"): case.answer})
        assert all(part in str(caught.value) for part in case.holds), str(caught.value)
        assert len(str(caught.value)) < 400
        return
    cleaner.fill(case.before)
    cleaner.fill({(2, "x"): case.answer})
    found = cleaner.complete()["x"]
    shown = found.to_physical() if found.dtype == pl.Datetime("ns") else found
    assert shown.to_list() == case.holds
    assert CountIndex.from_table(cleaner.complete(), label="y", like=index) == cleaner.index


@dataclass(frozen=True)
class OtherTable:
    """Answers saved for one table must not fill another."""

    saved: Mapping[str, Sequence[Any]]
    other: Mapping[str, Sequence[Any]]
    cell: tuple[int, str]
    value: str


def _check_other(case: OtherTable) -> None:
    cleaners = []
    for columns in (case.saved, case.other):
        table = pl.DataFrame(columns)
        cleaners.append(Cleaner(CountIndex.from_table(table, label="y"), table[:2], table))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.json"
        cleaners[0].fill({case.cell: case.value})
        cleaners[0].save(path)
        with pytest.raises(NullproofError, match="another table"):
            cleaners[1].resume(path)
    assert cleaners[1].filled == {}


@dataclass(frozen=True)
class Asked:
    """A question about a large index, and its answer."""

    make: Callable[[], CountIndex]
    ask: Callable[[CountIndex], Any]
    expected: Any


def check(case: Answer | OtherTable | Asked) -> None:
    """Give the answer, resume from the file or ask the question, and compare."""
    if isinstance(case, Answer):
        _check_answer(case)
    elif isinstance(case, OtherTable):
        _check_other(case)
    else:
        assert case.ask(case.make()) == case.expected


def _open_cells(times: int) -> CountIndex:
    """Two labels that mirror each other, a third of their cells missing."""
    known = [[(3000 * times, 1000 * times), (1000 * times, 3000 * times)]]
    return index_from_counts([8000 * times] * 2, known, [[4000 * times] * 2])


def _planned(index: CountIndex) -> tuple[int, bool]:
    plan = cleaning_plan(index, [("0",), ("1",)], alpha=1, bias=1.0)
    return plan.n_cells, plan.steps[-1].expected > 1.9


def _cheap_group() -> CountIndex:
    """A hundred missing cells that help fifty points, and one cell that surely helps one point."""
    rows = [
        *zip(
            [None] * 100 + ["a"] * 80 + ["b"] * 20, [None] + ["u"] * 100 + ["v"] * 99, strict=True
        ),
        *zip(["a"] * 90 + ["b"] * 111, ["u"] * 100 + ["v"] * 101, strict=True),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CountIndex.from_rows(rows, ["p"] * 200 + ["q"] * 201, weights="equal")


def _bought(index: CountIndex) -> float:
    points = [("a", None)] * 50 + [(None, "u")]
    return cleaning_plan(index, points, bias=1, budget=5).expected


def _mostly_missing() -> CountIndex:
    rows = [*zip([None] * 4 + ["u"] * 8 + ["v"] * 8, [None] * 19 + ["a"], strict=True)]
    rows += [*zip(["u"] * 10 + ["v"] * 10, [None] * 19 + ["b"], strict=True)]
    return CountIndex.from_rows(rows, ["p"] * 20 + ["q"] * 20, weights="equal")


def _for_certainty(index: CountIndex) -> list[int]:
    points = [("u", "a"), ("v", "b")]
    return [cleaning_plan(index, points, bias=bias).n_for_certainty for bias in (1.0, 0.05)]


_TICKS = pl.Series([5000, 5005, None, 5000]).cast(pl.Datetime("ns"))
_SMALL = [1.0, 9.0, None, 20.0]
_ROWS = ["a", "b", None, None, "a", "b"]

CASES: dict[str, Answer | OtherTable | Asked] = {
    **{
        f"a large integer written {written!r} is not its neighbour": Answer(
            [LARGE, LARGE + 1, None, LARGE], written, [LARGE, LARGE + 1, LARGE + 1, LARGE]
        )
        for written in (f" {LARGE + 1}", f"{LARGE + 1} ", f"+{LARGE + 1}")
    },
    **{
        f"{written!r} is no number in a file, and none as an answer": Answer(
            _SMALL, written, ["number"], refused=True, binning="uniform"
        )
        for written in ("1_0", "٣", "Infinity")
    },
    "a list of one value": Answer([1, 9, None, 20], [9], ["values"], refused=True),
    "a text of thousands of letters where a number belongs": Answer(
        _SMALL, "x" * 9000, ["xxx…", "number"], refused=True, binning="uniform"
    ),
    "a text of thousands of letters that is no value": Answer(
        ["p", "q", None, "p"], "x" * 9000, ["xxx…", "values"], refused=True
    ),
    "a fraction after a whole number": Answer(
        [1, None, None, 20, 7], "4.5", [1, 7, 4.5, 20, 7], binning="uniform", before={(1, "x"): "7"}
    ),
    "an answer that its type cannot hold": Answer(
        pl.Series([1, 100, None, 20], dtype=pl.Int8), "300", [1, 100, 300, 20], binning="uniform"
    ),
    "noon among days": Answer(
        [dt.date(2024, 1, 1), dt.date(2024, 3, 1), None, dt.date(2024, 9, 1)],
        "2024-02-01 12:00:00",
        [
            dt.datetime(2024, 1, 1),
            dt.datetime(2024, 3, 1),
            dt.datetime(2024, 2, 1, 12),
            dt.datetime(2024, 9, 1),
        ],
        binning="uniform",
    ),
    "texts that are numbers": Answer(["01", "1", None, "01"], "01", ["01", "1", "01", "01"]),
    "categories": Answer(
        pl.Series(["p", "q", None, "p"], dtype=pl.Categorical), "q", ["p", "q", "q", "p"]
    ),
    "booleans": Answer([True, False, None, True], "false", [True, False, False, True]),
    "answers for the same rows in another order": OtherTable(
        {"x": _ROWS, "y": [*"ababab"]}, {"x": _ROWS, "y": [*"abbaab"]}, (2, "x"), "a"
    ),
    "answers for rows of equal codes in another order": OtherTable(
        {"id": [*"uvwxyz"], "x": _ROWS, "y": [*"aaaaaa"]},
        {"id": [*"uvzxyw"], "x": _ROWS, "y": [*"aaaaaa"]},
        (2, "x"),
        "a",
    ),
    "answers for points of another domain": OtherTable(
        {"x": ["a", "b", None], "y": [*"yny"]},
        {"x": ["c", "d", None], "y": [*"yny"]},
        (2, "x"),
        "a",
    ),
    "a budget that cannot buy the best group buys another": Asked(_cheap_group, _bought, 1.0),
    "cells of columns that are mostly missing are needed for certainty too": Asked(
        _mostly_missing, _for_certainty, [42, 42]
    ),
    "a plan among billions of open cells": Asked(
        partial(_open_cells, 10**6), _planned, (8 * 10**9, True)
    ),
}
