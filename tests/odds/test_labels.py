"""What label_odds says and refuses, and how it looks."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from support.count_tables import index_from_counts
from support.odds_tables import assert_bounds, large_index, only_grids

import nullproof.odds.bounds as bounds_module
import nullproof.odds.grid as grid_module
import nullproof.odds.narrowing as narrowing_module
import nullproof.odds.waves as waves_module
import nullproof.odds.worlds as counting_module
from nullproof import CountIndex, NullproofError, NullproofWarning, certify
from nullproof.cli import terminal as report
from nullproof.cli.shown import Following, Shown
from nullproof.model import Model
from nullproof.odds.filling import Filling, Open
from nullproof.odds.labels import Odds, label_odds
from nullproof.odds.worlds import count_worlds

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")


ROWS = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]


def test_ties_are_shared_out() -> None:
    """A world that ties counts half for each of two winners."""
    index = CountIndex.from_rows(ROWS, LABELS)
    counts = count_worlds(index, ("a", "y"), alpha=0)
    assert counts.ties == {("no", "yes"): 1}
    assert counts.odds == {"no": Fraction(1, 4), "yes": Fraction(3, 4)}
    odds = label_odds(index, ("a", "y"), alpha=0)
    assert odds.lower[0] == pytest.approx([0.25, 0.75])
    assert len(odds) == 1
    assert odds[0]["yes"] == (odds.lower[0, 1], odds.upper[0, 1])
    assert [one["no"][1] for one in odds] == odds.upper[:, 0].tolist()


def test_observed_cells_follow_their_label() -> None:
    """A missing cell is as likely to hold a value as the known cells of its label are."""
    rows = [("a",)] * 3 + [("b",), (None,), ("a",), (None,)]
    index = CountIndex.from_rows(rows, list("AAAAABB"))
    filling = Filling(index, "observed")
    assert filling.open(0, 0) == ((Open(1, 3, 4),), (Open(1, 1, 1),))
    assert filling.open(0, 1) == ((Open(1, 1, 4),), (Open(1, 0, 1),))


def test_incomplete_points_are_bounded_over_completions() -> None:
    """The bounds of an incomplete point span those of its completions."""
    index, complete = large_index(seed=5, n_rows=200, d=3)
    point = complete[:1].copy()
    point[0, 1] = -1
    filled = np.repeat(complete[:1], 5, axis=0)
    filled[:, 1] = range(5)
    one, every = (
        label_odds(index, point, own_missing="any", alpha=0),
        label_odds(index, filled, alpha=0),
    )
    assert one.lower[0] == pytest.approx(every.lower.min(axis=0), abs=0.01)
    assert one.upper[0] == pytest.approx(every.upper.max(axis=0), abs=0.01)


def test_too_many_completions_are_told() -> None:
    """Beyond thousands of completions only the possible labels are known."""
    index, complete = large_index(seed=6, n_rows=200, d=8)
    point = np.where(np.arange(8) < 6, -1, complete[:1])
    with pytest.warns(NullproofWarning, match="15,625 completions to look at, more than 1,024"):
        odds = label_odds(index, point, own_missing="any", alpha=0)
    assert not odds.lower.any()
    assert (odds.upper == certify(index, point, own_missing="any", alpha=0).possible).all()


def test_wide_bounds_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the gap cannot be reached the bounds are wider, and a notice says so."""
    monkeypatch.setattr(narrowing_module, "_QUICK", -1.0)
    monkeypatch.setattr(narrowing_module, "_LIMIT", 0)
    index = CountIndex.from_rows([("a",), ("b",), (None,)] * 2, ["no"] * 3 + ["yes"] * 3)
    with pytest.warns(NullproofWarning, match=r"odds of 1 points are known only to within 0\.5"):
        odds = label_odds(index, ("a",), alpha=0)
    assert_bounds(odds, 0, [Fraction(1, 2), Fraction(1, 2)], 0.52)


def test_small_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten is made again: bounds depend on what is remembered by roundings only."""
    index, complete = large_index(seed=8, n_rows=400, d=4)
    before = label_odds(index, complete[:12], alpha=0)
    monkeypatch.setattr(bounds_module, "_MAX_KNOWN", 1)
    for module in (grid_module, waves_module):
        monkeypatch.setattr(module, "_MAX_CACHED", 0)
    after = label_odds(index, complete[:12], alpha=0)
    assert before.lower == pytest.approx(after.lower, abs=1e-9)
    assert before.upper == pytest.approx(after.upper, abs=1e-9)


def test_coarse_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the grid that would do is too large, a coarser one gives wider bounds."""
    index, complete = large_index(seed=9, n_rows=4_000, d=6)
    narrow = label_odds(index, complete[:3], gap=0.001, alpha=0)
    only_grids(monkeypatch)
    monkeypatch.setattr(grid_module, "MAX_SIZE", 256)
    with pytest.warns(NullproofWarning, match="are known only to within"):
        wide = label_odds(index, complete[:3], gap=0.001, alpha=0)
    assert (wide.lower <= narrow.upper).all()
    assert (wide.upper >= narrow.lower).all()
    assert 0.001 < wide.gap < 0.3


def test_wrong_questions_are_refused() -> None:
    """What came, what was needed."""
    index = CountIndex.from_rows(ROWS, LABELS)
    with pytest.raises(NullproofError, match="gap is 0; give a number"):
        label_odds(index, ("a", "y"), gap=0, alpha=0)
    with pytest.raises(
        NullproofError, match="cells is 'even'; give 'uniform', 'observed' or 'model'"
    ):
        label_odds(index, ("a", "y"), cells="even", alpha=0)  # type: ignore[arg-type]
    with pytest.raises(NullproofError, match="one complete point but got 2 points"):
        count_worlds(index, [("a", "y"), ("a", "x")], alpha=0)
    with pytest.raises(NullproofError, match="got a point with missing cells"):
        count_worlds(index, ("a", None), own_missing="any", alpha=0)
    with pytest.raises(NullproofError, match="got a point with several candidates"):
        count_worlds(index, ("a", {"x", "y"}), alpha=0)


def test_too_many_products_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact counting says where it ends."""
    monkeypatch.setattr(counting_module, "_LIMIT", 1)
    with pytest.raises(NullproofError, match="ask label_odds for bounds"):
        count_worlds(CountIndex.from_rows(ROWS, LABELS), ("a", "y"), alpha=0)


def test_more_cells_than_anybody_counts_are_refused() -> None:
    """A number of worlds with a trillion digits is not begun."""
    index = index_from_counts([10**12] * 2, [[[1, 1], [1, 1]]])
    index = replace(index, n_null=np.array([[20_000, 10**12 - 2]]))
    with pytest.raises(
        NullproofError, match="label 'L1' has 999,999,999,998 missing cells in column 'x0'"
    ):
        count_worlds(index, ("0",))
    assert count_worlds(replace(index, n_null=np.array([[3, 2]])), ("0",)).total == 32


def test_very_many_labels() -> None:
    """Worlds are counted for any number of labels, unless too many sets of them may tie."""
    holes = np.eye(1, 1500, 7, dtype=np.int64)
    index = replace(index_from_counts([*(3 + holes[0])], [[[2] * 1500, [1] * 1500]]), n_null=holes)
    counts = count_worlds(index, ("0",), prior="uniform", alpha=0)
    assert (counts.total, counts.wins["L7"], [*counts.ties.values()]) == (2, 1, [1])
    rows: list[Any] = [("a",)] * 21 + [("b",)] * 21 + [(None,)] * 21
    index = CountIndex.from_rows(rows, [*range(21)] * 3)
    with pytest.raises(
        NullproofError, match="more than 1,048,576 different sets of labels can tie"
    ):
        count_worlds(index, ("a",))


@pytest.mark.parametrize("library", ["polars", "pandas", "rows"])
def test_frames(library: str) -> None:
    """Odds come back in the library of the points."""
    index = CountIndex.from_rows(ROWS, LABELS, features=["f", "g"])
    columns = {"f": ["a", "a"], "g": ["x", "y"]}
    if library == "rows":
        points: Any = list(zip(*columns.values(), strict=True))
    else:
        points = __import__(library).DataFrame(columns)
    if library == "pandas":
        points.index = [7, 8]
    frame = label_odds(index, points, alpha=0).to_frame()
    assert type(frame).__module__.startswith("pandas" if library == "pandas" else "polars")
    assert list(frame["likeliest"]) == ["yes", "yes"]
    assert list(frame.columns)[1:5] == ["lower no", "upper no", "lower yes", "upper yes"]
    if library == "pandas":
        assert list(frame.index) == [7, 8]


def test_shown_odds() -> None:
    """Text, HTML, a terminal and JSON tell the same."""
    index = CountIndex.from_rows(ROWS, LABELS)
    result = label_odds(index, [("a", "x"), ("a", "y")] * 12, alpha=0)
    assert repr(result).splitlines()[2] == "  1: no 25.0 %, yes 75.0 %"
    assert repr(result).endswith("…")
    html = result._repr_html_()
    assert "<td>yes</td><td>75.0\u00a0%</td><td>no</td><td>25.0\u00a0%</td>" in html
    assert "… and 14 more" in html
    console = Console(width=100, record=True, file=io.StringIO())
    shown = Shown(False, False, Following("the whole story", "nullproof report"))
    report.show_odds(console, index, result, shown)
    text = console.export_text()
    assert (
        "12 of 24 predictions are the same in at least 99 % of the worlds, 12 of them in all"
        in text
    )
    assert "25.0 %" in text
    assert "… and 4 more points" in text
    report.show_odds(console, index, label_odds(index, ("a", "y"), alpha=0), shown)
    assert "more points" not in console.export_text()
    found = result.document()
    json.dumps(found, allow_nan=False)
    assert found["n_points"] == 24
    assert found["points"][0] == {
        "point": 0,
        "lower": {"no": 0.0, "yes": 1.0},
        "upper": {"no": 0.0, "yes": 1.0},
        "not_worked_out": None,
    }
    assert list(result.file_columns())[:2] == ["point", "likeliest"]


def test_shown_bounds() -> None:
    """A bar is full up to the lower bound and shaded up to the upper; few labels are listed."""
    assert report.odds_bar(0.5, 0.75, 4).plain == "██▒·"
    nine = CountIndex.from_codes(np.zeros((9, 1), dtype=int), range(9))
    bounds = np.full((1, 9), 1 / 9)
    many = Odds(Model(nine, alpha=0), bounds, bounds, np.array([None]))
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(report.odds_table(many, 1))
    assert "… 3 more" in console.export_text()
