"""The course of a plan: stages, the curve, where to stop, and what each goal takes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from nullproof import CountIndex, certify, cleaning_plan
from nullproof.cleaning.course import Step, Stop, cells_until, curve, stages, stop
from nullproof.cleaning.goals import SHARES, goals


def steps_of(*pairs: tuple[int, float]) -> list[Step]:
    """Steps of so many cells, after which so many points are expected to be done."""
    return [Step("A", f"x{k}", n, done, 100) for k, (n, done) in enumerate(pairs)]


def test_stages_bring_something() -> None:
    """Stages are the steps in their order, together until each brings something; the rest is left off."""
    rng = random.Random(1)
    for _ in range(300):
        done, pairs = 10.0, []
        for _ in range(rng.randint(0, 60)):
            done += rng.choice([0, 0, 0, 0.01, 0.3, 2.0, 5.5])
            pairs.append((rng.randint(1, 9), done))
        steps = steps_of(*pairs)
        found = stages(steps, 10)
        listed = [step for stage in found for step in stage.steps]
        assert listed == steps[: len(listed)]
        assert len(found) <= 21
        rises = np.diff([10.0, *(stage.expected for stage in found)])
        assert (rises > 0).all()
        assert (rises[:-1] >= 0.5).all()
        assert [stage.so_far for stage in found] == np.cumsum([s.n_cells for s in found]).tolist()
        # What is left off brings nothing more.
        assert not steps or (found[-1].expected if found else 10.0) >= done - 1e-5


def test_steps_that_bring_nothing_do_not_lead() -> None:
    """622.0, 622.0, 622.0, 640.0 is one stage of four steps."""
    steps = steps_of((3, 622.0), (1, 622.0), (2, 622.0), (5, 640.0), (9, 640.0))
    (only,) = stages(steps, 622)
    assert (only.n_cells, only.so_far, only.expected, len(only.steps)) == (11, 11, 640.0, 4)
    assert only.columns(2) == "x0 (A), x1 (A), …"
    assert only.table == "training"


def test_where_to_stop() -> None:
    """A curve that bends says where; a straight one and one that never rises say nothing."""
    found = stop(steps_of((10, 20.0), (10, 30.0), (100, 31.0), (100, 32.0)), 10)
    assert found is not None
    assert (found.n_cells, found.gain, found.n_after, found.gain_after) == (20, 20.0, 200, 2.0)
    assert stop(steps_of((10, 20.0), (10, 30.0), (10, 40.0)), 10) is None
    assert stop(steps_of((10, 10.0), (10, 10.0)), 10) is None
    assert stop([], 10) is None


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            (20, 20.0, 200, 2.0),
            "20 cells bring 20.0 points, 1 each; the 200 after them bring 2.0 more, 0.01 each.",
        ),
        ((1, 2.0, 7, 0.0), "1 cell brings 2.0 points; the 7 after it bring 0.0 more, 0 each."),
        (
            (2, 3.0, 1, 0.1),
            "2 cells bring 3.0 points, 1.5 each; the one after them brings 0.1 more.",
        ),
    ],
)
def test_where_to_stop_in_words(found: tuple[int, float, int, float], said: str) -> None:
    """One cell and many are told as people say it."""
    assert Stop(*found).sentence == f"Where to stop: {said}"


def test_cells_until() -> None:
    """The first cells after which so many are expected to be done, none if they are, None if never."""
    steps = steps_of((10, 20.0), (10, 30.0))
    assert [cells_until(steps, 10, n) for n in (5, 10, 11, 20, 30, 31)] == [0, 0, 10, 10, 20, None]
    assert curve(steps, 10) == {"n_cells": [0, 10, 20], "expected": [10, 20.0, 30.0]}


@pytest.mark.parametrize("own_missing", ["skip", "any"])
@pytest.mark.parametrize("bias", [1.0, 0.1])
def test_goals(own_missing: Any, bias: float) -> None:
    """The goals count as done what certify says, never need fewer cells for more points, as plans do."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 120)
    rows = np.where(rng.random((120, 3)) < 0.5, labels[:, None], rng.integers(0, 3, (120, 3)))
    cells = rows.astype(str).astype(object)
    cells[rng.random(rows.shape) < 0.15] = None
    table = [*map(tuple, cells)]
    index = CountIndex.from_rows(table, labels.tolist())
    options: dict[str, Any] = {"own_missing": own_missing}
    plan = cleaning_plan(index, table[:50], bias=bias, **options)
    certain, biased, likely = goals(plan)
    held = bias if bias < 1 else 0.05
    assert certain.n_done == certify(index, table[:50], **options).certain.sum()
    assert biased.n_done == certify(index, table[:50], bias=held, **options).certain.sum()
    assert likely.n_done == cleaning_plan(index, table[:50], confidence=0.99, **options).n_done
    assert (certain.bias, biased.bias, likely.confidence) == (1.0, held, 0.99)
    for goal in (certain, biased, likely):
        known = [n for n in goal.n_cells if n is not None]
        assert known == sorted(known)
        assert len(goal.n_cells) == len(SHARES)
    mine = certain if bias == 1 else biased
    again = [cells_until(plan.steps, plan.n_done, share * 50) for share in SHARES]
    assert list(mine.n_cells) == again
