"""The model under every question: what it keeps, what it forgets, and what verdicts and points know."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

from nullproof import CountIndex, certify
from nullproof import model as model_module
from nullproof.model import Model
from nullproof.verdicts import verdicts

ROWS = [("a", None), ("a", "x"), ("b", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]
POINTS = [("a", "x"), ("a", "y"), ("b", None)]


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS)


def test_a_model_on_a_changed_index_keeps_smoothing_and_prior() -> None:
    """Rows that are added change neither alpha nor the prior, not even one of frequencies."""
    before = Model(index(), alpha=0.1)
    after = before.on(before.index.update([("a", "x")], ["yes"]))
    assert (after.alpha, after.prior) == (before.alpha, before.prior)
    assert after.index.n_rows == 5
    assert not after.agrees(before)
    assert Model(before.index, 0.1).agrees(before)


def test_asking_leaves_no_trace_in_pickles() -> None:
    """An index is pickled with its counts only, and a model without its tables."""
    asked = index()
    size = len(pickle.dumps(asked))
    for alpha in range(20):
        certify(asked, POINTS, alpha=alpha)
    made = Model(asked, 1)
    found = verdicts(made, asked.encode(POINTS))
    assert len(pickle.dumps(asked)) < size + 1000
    revived = pickle.loads(pickle.dumps(made))
    assert "terms" in vars(made)
    assert "terms" not in vars(revived)
    again = verdicts(revived, asked.encode(POINTS))
    assert (again.possible == found.possible).all()


def test_one_table_is_remembered_while_its_index_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question about an index makes no second table, and nothing keeps the index alive."""
    n_made = 0
    plain = Model._all_terms

    def counted(self: Model) -> model_module.Terms:
        nonlocal n_made
        n_made += 1
        return plain(self)

    monkeypatch.setattr(Model, "_all_terms", counted)
    first, second = index(), index()
    for _ in range(3):
        certify(first, POINTS, alpha=1)
    assert n_made == 1
    certify(first, POINTS, alpha=2)
    certify(second, POINTS, alpha=2)
    assert n_made == 3
    alive = weakref.ref(second)
    del second
    gc.collect()
    assert alive() is None
    certify(first, POINTS, alpha=2)
    assert n_made == 4


def test_verdicts_know_who_is_certain() -> None:
    """A point is certain if one label is possible, which is then its winner; -1 stands for none."""
    made = Model(index(), alpha=0)
    found = verdicts(made, made.index.encode(POINTS))
    assert found.certain.tolist() == [True, False, True]
    assert found.winner.tolist() == [1, -1, 0]
    assert made.named(found.winner).tolist() == ["yes", None, "no"]
    some = found.take(np.array([2, 1]))
    assert some.winner.tolist() == [0, -1]
    assert (some.min_log == found.min_log[[2, 1]]).all()


def test_points_know_what_their_codes_mean() -> None:
    """Every cell of a point is known, unseen, missing, or one of some candidates."""
    with pytest.warns(match="never shows"):
        points = index().encode([("a", "x"), ("c", None), (frozenset("ab"), "x")])
    kinds = [[points.kind(j, int(c)) for c in points.codes[j]] for j in range(2)]
    assert kinds == [["known", "unseen", "candidates"], ["known", "missing", "known"]]
    assert points.unseen.tolist() == [[False, True, False], [False, False, False]]
    assert points.missing.tolist() == [[False, False, False], [False, True, False]]
    assert points.holes.tolist() == [[False, False, True], [False, True, False]]
    assert [points.n_completions(place) for place in range(3)] == [1, 2, 2]
    assert points.completions(1).codes.T.tolist() == [[2, 0], [2, 1]]
    ((candidates, here),) = points.with_candidates(0)
    assert (candidates, here.tolist()) == ((0, 1), [False, False, True])
