"""What all results share: slices, masks and positions mean the same points; progress has one form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nullproof import CountIndex, certify, cleaning_plan, label_odds, poison, radius, report

ROWS = [("a", None), ("a", "x"), ("b", "y"), (None, "x"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no", "yes"]
POINTS = [("a", "y"), ("b", "y"), ("a", "x"), ("b", "x")]
RESULTS: dict[str, Callable[..., Any]] = {
    "certificates": certify,
    "radii": radius,
    "odds": label_odds,
}


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS)


def table() -> pd.DataFrame:
    return pd.DataFrame(POINTS, columns=["x0", "x1"], index=list("pqrs"))


@pytest.fixture(params=RESULTS, ids=str)
def result(request: pytest.FixtureRequest) -> Any:
    return RESULTS[request.param](index(), table())


def test_positions(result: Any) -> None:
    """A position counts from either end, as a number of Python or NumPy."""
    every = [str(one) for one in result]
    assert len(every) == len(result) == 4
    assert [str(result[place]) for place in range(4)] == every
    assert [str(result[place]) for place in range(-4, 0)] == every
    assert str(result[np.int64(-1)]) == every[3]


@pytest.mark.parametrize(
    ("which", "places"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        (slice(3, 99), [3]),
        ([2, 0, -1], [2, 0, 3]),
        ([], []),
        (np.array([True, False, False, True]), [0, 3]),
        ([False, True, True, False], [1, 2]),
        (pd.Series([True, False, True, False]), [0, 2]),
        (pl.Series([False, False, False, True]), [3]),
    ],
    ids=str,
)
def test_several(result: Any, which: Any, places: list[int]) -> None:
    """A slice, positions and a mask give a result of the same type with these points."""
    some = result[which]
    assert type(some) is type(result)
    assert [str(one) for one in some] == [str(result[place]) for place in places]


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (4, "point 4.*from 0 to 3"),
        (-5, "point -5 was asked for"),
        ([0, 7], "point 7 was asked for"),
        ([True, False], "the mask has 2 entries but there are 4 points"),
        ("a", "chosen by 'a'"),
        (1.0, "points were chosen by 1.0"),
        (True, "points were chosen by True"),
        ([[0, 1]], "points were chosen by"),
    ],
    ids=str,
)
def test_what_is_not_there(result: Any, which: Any, message: str) -> None:
    """An IndexError says what was asked for and what there is."""
    with pytest.raises(IndexError, match=message):
        result[which]


@pytest.mark.parametrize("name", ["certificates", "radii", "odds"])
def test_some_rows_as_a_frame(name: str) -> None:
    """The frame of some points is in the library of the points, with their index and their key."""
    found = RESULTS[name](index(), table(), key=["A", "B", "C", "D"])
    frame = found[[3, 1]].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == ["s", "q"]
    assert frame["key"].tolist() == ["D", "B"]
    assert isinstance(found[:0].to_frame(), pd.DataFrame)


def test_nothing_to_choose_from() -> None:
    """Of no points none can be asked for, and no slice fails."""
    none = certify(index(), table())[[]]
    assert len(none[1:3]) == 0
    with pytest.raises(IndexError, match="but there are none"):
        none[0]


# Progress -----------------------------------------------------------------------------------------

LONG: dict[str, Callable[..., Any]] = {
    "odds": lambda **told: label_odds(index(), POINTS, **told).lower,
    "radii": lambda **told: radius(index(), POINTS, alpha=9, **told).radius,
    "plan": lambda **told: [*cleaning_plan(index(), POINTS, **told).columns().values()],
    "attack": lambda **told: poison(index(), POINTS, steps=3, alpha=2, **told).n_cells,
    "report": lambda **told: report(index(), POINTS, **told).document["title"],
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_tells_in_one_form(name: str) -> None:
    """Words and a share that only grows, within 0 and 1; the answer is the same as without."""
    said: list[tuple[str, float]] = []
    found = LONG[name](on_progress=lambda *now: said.append(now))
    assert np.array_equal(found, LONG[name]())
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert all(isinstance(what, str) and what for what, _ in said)


def test_ctrl_c_ends_a_report() -> None:
    """What has no half answer is ended."""

    def interrupt(_: str, __: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report(index(), POINTS, on_progress=interrupt)


def test_tolerances_are_worked_out_once() -> None:
    """work_out tells of progress and keeps the tolerances that are asked for later."""
    said: list[float] = []
    result = certify(index(), POINTS)
    result.work_out(lambda _, share: said.append(share))
    assert said == sorted(said)
    result.work_out(lambda *_: pytest.fail("worked out twice"))
    np.testing.assert_array_equal(result.tolerance, certify(index(), POINTS).tolerance)
