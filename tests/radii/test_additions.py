"""Added rows of one rival and one winner against all small numbers of both, by fractions."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts

from nullproof.counts.index import CountIndex
from nullproof.model import Model
from nullproof.radii import additions
from nullproof.radii.additions import Additions
from nullproof.radii.reach import Reach
from nullproof.radii.solving import PointCounts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

MOST = 13
MOST_QUESTIONS = 10_000


@pytest.fixture(autouse=True)
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Additions are found by halves: a search that goes on and on fails at once."""
    asked, exceeds = [0], Model.exceeds

    def noted(model: Model, *given: Any, **options: Any) -> bool:
        asked[0] += 1
        assert asked[0] < MOST_QUESTIONS
        return exceeds(model, *given, **options)

    monkeypatch.setattr(Model, "exceeds", noted)


@dataclass(frozen=True)
class Duel:
    """A point of a small table, its label, a rival, and the numbers of a model."""

    index: CountIndex
    codes: tuple[int, ...]
    alpha: Fraction
    prior: tuple[Fraction, ...] | None
    winner: int
    rival: int

    def support(self, label: int, n_added: int, *, agrees: bool) -> Fraction:
        """The support after rows of the label that agree with the point, or disagree where they can."""
        n_rows = int(self.index.label_counts[label]) + n_added
        found = Fraction(n_rows) if self.prior is None else self.prior[label]
        for j, code in enumerate(self.codes):
            size = int(self.index.n_values[j])
            if code > size:
                continue
            count = int(self.index.exact(j, np.array([code]))[0, label]) if code < size else 0
            count += n_added if code < size and (agrees or size == 1) else 0
            below = n_rows + size * self.alpha
            found *= (count + self.alpha) / below if below else 0
        return found

    def falls(self, a: int, b: int) -> bool:
        own = self.support(self.winner, b, agrees=False)
        return own <= self.support(self.rival, a, agrees=True)

    @property
    def additions(self) -> Additions:
        prior: Any = None if self.prior is None else [float(share) for share in self.prior]
        model = Model(self.index, self.alpha, prior)
        codes = np.array([self.codes], dtype=np.int32).T
        counts = PointCounts(model, codes, Reach.of(self.index))
        return counts.additions(0, self.winner, self.rival)


def duels(n_duels: int) -> list[Duel]:
    """Draw points whose label is ahead of a rival, with unseen values and features left out."""
    rng, found = random.Random(20240604), list[Duel]()
    while len(found) < n_duels:
        sizes, known = [rng.randint(0, 7) for _ in range(2)], []
        for _ in range(rng.randint(1, 4)):
            n_values, counts = rng.choice([1, 2, 2, 3]), []
            for n_rows in sizes:
                cuts = sorted(rng.randint(0, n_rows) for _ in range(n_values - 1))
                counts.append([b - a for a, b in zip([0, *cuts], [*cuts, n_rows], strict=True)])
            known.append(np.array(counts).T)
        index = index_from_counts(sizes, known)
        codes = tuple(
            int(n) + rng.choice([0, 0, 1]) if rng.random() < 0.3 else rng.randrange(n)
            for n in index.n_values.tolist()
        )
        shares = (Fraction(rng.choice([1, 2, 5])), Fraction(rng.choice([0, 1, 1, 2])))
        alpha = rng.choice([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)])
        prior = rng.choice([None, None, shares])
        duel = Duel(index, codes, alpha, prior, *rng.choice([(0, 1), (1, 0)]))
        if not duel.falls(0, 0):
            found.append(duel)
    return found


DUELS = duels(260)


def fewest_of(duel: Duel) -> float:
    """The fewest rows of all small numbers of both, infinite if none is enough."""
    raised = [duel.support(duel.rival, n, agrees=True) for n in range(MOST + 1)]
    lowered = [duel.support(duel.winner, n, agrees=False) for n in range(MOST + 1)]
    totals = [
        a + b
        for a, other in enumerate(raised)
        for b, own in enumerate(lowered[: MOST + 1 - a])
        if own <= other
    ]
    return min(totals, default=math.inf)


def test_rows_that_are_enough() -> None:
    """T13: so many rows of each are enough iff the fractions say so."""
    for duel in DUELS:
        own = duel.additions
        for a in range(5):
            for b in range(5):
                assert own.falls(a, b) == duel.falls(a, b), (duel, a, b)


def test_cheapest_rows_of_all() -> None:
    """T13: the fewest rows over all mixes, with any bounds that hold them."""
    n_found = n_none = 0
    for duel in DUELS:
        own, expected = duel.additions, fewest_of(duel)
        found = own.fewest(1)
        assert (found is not None) == own.possible
        if expected == math.inf:
            assert found is None or sum(found) > MOST
            assert own.fewest(1, MOST) is None
            n_none += found is None
            continue
        n_found += 1
        assert found is not None
        assert sum(found) == expected
        for at_least, at_most in [(1, expected), (expected, expected), (1, expected + 3)]:
            again = own.fewest(int(at_least), int(at_most))
            assert again is not None
            assert sum(again) == expected
            assert duel.falls(*again)
        assert own.fewest(1, int(expected) - 1) is None
        assert own.fewest(int(expected), int(expected) - 1) is None
    assert n_found > 120
    assert n_none > 10


@pytest.mark.parametrize("most", [2, 4, 8])
def test_more_rows_than_a_limit_are_left_out(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Without an upper bound of its own, a search finds every attack up to the limit, and none beyond."""
    monkeypatch.setattr(additions, "MOST_ROWS", most)
    n_beyond = 0
    for duel in DUELS:
        expected, found = fewest_of(duel), duel.additions.fewest(1)
        assert (found is not None) == (expected <= most)
        assert found is None or sum(found) == expected
        n_beyond += most < expected < math.inf
    assert n_beyond


def test_the_limit_is_what_doubles_hold() -> None:
    """Every number of rows up to it is a double of its own, and the next one is not."""
    most = additions.MOST_ROWS
    assert float(most - 1) == most - 1
    assert float(most + 1) == most


def test_no_attack_is_found_where_none_exists() -> None:
    """A rival that cannot catch up does not with a million rows of each either."""
    many = (0, 1, 50, 10**6)
    for duel in DUELS:
        if not duel.additions.possible:
            assert not any(duel.falls(a, b) for a in many for b in many)


def test_long_attacks() -> None:
    """Of hundreds of rows the cheapest mix is found: no other number of the winner's rows is cheaper."""
    index = index_from_counts([900, 300], [[(600, 90), (300, 210)], [(500, 70), (400, 230)]])
    for alpha, prior in [(1, None), (0, None), (1, (Fraction(1), Fraction(2)))]:
        duel = Duel(index, (0, 0), Fraction(alpha), prior, 0, 1)
        best, a = math.inf, 0
        while not duel.falls(a, 0) and a < 999:
            a += 1
        for b in range(a):
            # More rows against the winner never need more for the rival.
            while a and duel.falls(a - 1, b):
                a -= 1
            best = min(best, a + b) if duel.falls(a, b) else best
        found = duel.additions.fewest(1)
        assert found is not None
        assert sum(found) == best > 50


def test_one_number_of_rows_gives_the_rival_most() -> None:
    """T13: beside an unseen value a rival may do best with one row, and worse with none or two."""
    index = index_from_counts([1000, 0], [[(900, 0), (100, 0)], [(300, 0), (300, 0), (400, 0)]])
    alpha = Fraction(11, 10)
    even = Duel(index, (0, 3), alpha, (Fraction(1), Fraction(1)), 0, 1)
    none, one, two = (even.support(1, n, agrees=True) for n in range(3))
    assert one > none > two
    share = Fraction(float(one / even.support(0, 0, agrees=False)) * 0.9999)
    duel = Duel(index, (0, 3), alpha, (share, Fraction(1)), 0, 1)
    assert not duel.falls(0, 1)
    assert duel.additions.fewest(1) == (1, 0)


def far_apart(share: float | Fraction) -> Additions:
    """A winner with a prior of 1 against a rival with a tiny one, two rows each."""
    index = index_from_counts([2, 2], [[(2, 0), (0, 2)]])
    model, codes = Model(index, 1, [1, share]), np.zeros((1, 1), dtype=np.int32)
    return PointCounts(model, codes, Reach.of(index)).additions(0, 0, 1)


def test_millions_of_rows_are_found_by_halves() -> None:
    """Rows of the winner that are too few are ruled out together, not one by one."""
    added = far_apart(1e-6)
    found = added.fewest(1)
    assert found is not None
    assert sum(found) == 3_005_996
    assert added.falls(*found)
    assert not any(added.falls(n, sum(found) - 1 - n) for n in range(2_000, 4_000))


def test_rows_that_no_double_can_count_are_left_out() -> None:
    """About 3 · 10^9 rows are found; 3 · 10^17 are not, though an attack exists."""
    for share, is_found in ((1e-9, True), (1e-17, False), (Fraction(1, 10**400), False)):
        added = far_apart(share)
        assert added.possible
        assert (added.fewest(1) is not None) == is_found
