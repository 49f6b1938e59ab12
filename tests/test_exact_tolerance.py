"""Tolerances by exact verdicts: counts at any bias, worst candidates and the last double (T10)."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.bias_tables import random_bias, random_holed
from support.count_tables import index_from_counts
from support.duels import drawn_duels

from nullproof import tolerance, tolerances
from nullproof.model import Model
from nullproof.tolerances import _counts, _double, _rank, _Search


def test_the_last_double_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two labels, at jumps all over the doubles between 0 and 1."""
    monkeypatch.setattr(tolerances, "floats_do", lambda _model: False)
    last_bits = set()
    for table, duels in drawn_duels(11, 40, 60):
        if len(table.index.labels) > 2:
            continue
        found = tolerance(table.index, [duel.point for duel in duels], alpha=table.alpha)
        for told, duel in zip(found.tolist(), duels, strict=True):
            assert told == duel.last
            last_bits.add(_rank(told) % 4)
    assert last_bits == {0, 1, 2, 3}


def test_doubles_by_their_rank() -> None:
    """They follow each other without a gap, from 0 on."""
    assert [_double(rank) for rank in (0, 1, _rank(1.0))] == [0.0, 5e-324, 1.0]
    for number in (0.0, 5e-324, 1e-9, 1 / 3, 0.5, np.nextafter(1.0, 0.0)):
        assert _double(_rank(number)) == number
        assert _double(_rank(number) + 1) == np.nextafter(number, 2.0)


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 3), Fraction(5, 2)])
def test_a_label_beats_another_for_every_candidate(alpha: Fraction) -> None:
    """T4: the worst candidate of each feature decides, as all combinations do."""
    rng, outcomes = random.Random(3), set()
    index = index_from_counts([7, 9], [[[3, 4], [4, 5]]] * 2)
    for _ in range(300):
        model = Model(index, alpha, [Fraction(rng.randint(1, 9)), Fraction(rng.randint(1, 9))])
        widths = rng.randint(1, 3), rng.randint(1, 3)
        low, high = (
            [[rng.randint(0, 7) for _ in range(width)] for width in widths] for _ in range(2)
        )
        search: Any = SimpleNamespace(model=model)
        expected = all(
            model.support(0, [low[0][a], low[1][b]]) > model.support(1, [high[0][a], high[1][b]])
            for a, b in itertools.product(*map(range, widths))
        )
        assert _Search._beats(search, 0, low, 1, high) is expected
        outcomes.add((expected, max(widths)))
    assert outcomes == {*itertools.product((True, False), (1, 2, 3))}


def test_counts_at_any_bias() -> None:
    """T9: the fewest and the most cells; those of a fixed column at its own bias, whatever is asked."""
    rng, n_moved = random.Random(4), 0
    for _ in range(40):
        holed = random_holed(rng, n_rows=12, only_text=True)
        judge, index = holed.judge(), holed.index()
        fixed = random_bias(rng, judge)
        model = Model(index, holed.alpha, holed.weights, {"f0": fixed})
        asked = [Fraction(0), random_bias(rng, judge), Fraction(1)]
        for j, feature in enumerate(index.schema.features):
            found = _counts(model, j, np.arange(len(feature.values)))
            for i, name in enumerate(index.labels):
                for value, count in zip(feature.values, found[i], strict=True):
                    every = [judge.counts(name, j, value, bias if j else fixed) for bias in asked]
                    told = [count.at(bias) for bias in asked]
                    assert told == [(min(own), max(own)) for own in every]
                    n_moved += told[0] != told[2]
    assert n_moved > 30
