"""on_progress: one form for all long work, and Ctrl-C keeps the odds so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, certify, cleaning_plan, label_odds, poison, report
from nullproof.errors import NullproofWarning
from nullproof.odds import sureness
from nullproof.progress import over, within
from nullproof.radii import radii

ROWS: list[Any] = [("a", None), ("a", "x"), ("b", "y"), (None, "x"), ("b", {"x", "y"})] * 3
LABELS = ["yes", "yes", "no", "no", "yes"] * 3
POINTS: list[Any] = [("a", "y"), ("b", "y"), ("a", "x"), ("b", "x"), ("a", None)]
LONG: dict[str, Callable[..., Any]] = {
    "odds": lambda index, **told: label_odds(index, POINTS, own_missing="any", **told).lower,
    "radii": lambda index, **told: radii(index, POINTS, own_missing="any", alpha=9, **told).radius,
    "plan": lambda index, **told: [*cleaning_plan(index, POINTS, **told).columns().values()],
    "likely plan": lambda index, **told: cleaning_plan(index, POINTS, confidence=0.9, **told).done,
    "attack": lambda index, **told: poison(index, POINTS, steps=3, alpha=2, **told).n_cells,
    "report": lambda index, **told: report(index, POINTS, **told).document["title"],
}


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell of every step, however fast."""
    monkeypatch.setattr("nullproof.progress._SECONDS", 0.0)


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS)


@pytest.mark.parametrize("name", LONG)
def test_all_long_work_tells_in_one_form(name: str) -> None:
    """Words and a share that only grows, within 0 and 1; the answer is the same as without."""
    said: list[tuple[str, float]] = []
    found = LONG[name](index(), on_progress=lambda *now: said.append(now))
    assert np.array_equal(found, LONG[name](index()))
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert all(isinstance(what, str) and what for what, _ in said)


def test_tolerances_are_worked_out_once() -> None:
    """work_out tells of progress and keeps the tolerances that are asked for later."""
    said: list[float] = []
    result = certify(index(), POINTS, own_missing="any")
    result.work_out(lambda _, share: said.append(share))
    assert said == sorted(said)
    kept = result.tolerances
    result.work_out(lambda *_: pytest.fail("worked out twice"))
    assert result.tolerances is kept
    expected = certify(index(), POINTS, own_missing="any").tolerance
    assert np.array_equal(result.tolerance, expected, equal_nan=True)


def test_ctrl_c_keeps_the_odds_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks before the interrupt have their odds, the other points 0 to 1 and a reason."""
    monkeypatch.setattr(sureness, "_BLOCK", 1)
    points = POINTS[:4] * 2
    whole = label_odds(index(), points)
    n_open = int((~certify(index(), points).certain).sum())
    assert n_open > 3

    def interrupt(_: str, share: float) -> None:
        if share >= 2 / n_open:
            raise KeyboardInterrupt

    with pytest.warns(NullproofWarning, match=f"odds of {n_open - 2} points not worked out"):
        found = label_odds(index(), points, on_progress=interrupt)
    left = np.array([reason is not None for reason in found.not_worked_out])
    assert int(left.sum()) == n_open - 2
    assert {*found.not_worked_out[left]} == {"interrupted; ask again for this point"}
    assert np.array_equal(found.lower[~left], whole.lower[~left])
    assert (found.lower[left] <= whole.lower[left]).all()
    assert (found.upper[left] >= whole.upper[left]).all()


def test_ctrl_c_ends_a_report() -> None:
    """What has no half answer is ended."""

    def interrupt(what: str, _: float) -> None:
        if what == "weighing the worlds":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report(index(), POINTS, on_progress=interrupt)


def test_parts_of_the_work() -> None:
    """A part's share is moved to its place in the whole; without a callback there is none."""
    said: list[float] = []
    part = within(lambda _, share: said.append(share), 0.5, 1.0)
    assert list(over("ab", "spelling", part)) == ["a", "b"]
    assert said == [0.5, 0.75, 1.0]
    assert within(None, 0, 1) is None
    assert list(over([], "nothing", None)) == []
