"""Float bounds on added rows: they hold the fewest rows, and leave no choice where no tie is near."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.count_tables import index_from_counts, random_codes, random_index

from nullproof.model import Model
from nullproof.radii import row_bounds
from nullproof.radii.bounds import Bounds
from nullproof.radii.reach import Reach
from nullproof.radii.row_bounds import Race, bound_row_radii
from nullproof.radii.row_supports import Floats, RivalSide, RowTables, Support, WinnerSide
from nullproof.radii.solving import PointCounts
from nullproof.tables.points import Points
from nullproof.verdicts import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

# Shares that no quotient of small counts equals.
ODD_PRIOR = (0.5312879, 0.2718293, 0.1931847, 0.3141591)


class Asked:
    """The certain points of a table, with their bounds and what integers say."""

    def __init__(self, model: Model, points: Points) -> None:
        found = verdicts(model, points)
        places = np.flatnonzero(found.certain)
        self.model, self.codes, self.winner = model, points.codes[:, places], found.winner[places]
        self.counts = PointCounts(model, self.codes, Reach.of(model.index))
        self.min_log = found.min_log[places]
        self.bounds = self.bounded()

    def bounded(self) -> Bounds:
        return bound_row_radii(self.model, self.codes, self.winner, self.min_log)

    @property
    def is_regular(self) -> list[bool]:
        """Where the winner's support is as T13 asks."""
        if not len(self.winner):
            return []
        own_log = np.take_along_axis(self.min_log, self.winner[:, None], axis=1)[:, 0]
        tables, every = RowTables(self.model, self.codes), slice(0, len(self.winner))
        regular = WinnerSide.of(tables, every, self.winner, own_log).is_regular
        return [bool(own) for own in regular]

    def assert_bounds(self) -> tuple[int, int]:
        """The bounds hold the fewest rows, and the rows beside them work; count points, and doubts.

        Doubts count only where the winner's support is as T13 asks; elsewhere integers decide.
        """
        bounds, is_regular, n_doubts = self.bounds, self.is_regular, 0
        for place, winner in enumerate(self.winner.tolist()):
            at_least, at_most = float(bounds.at_least[place]), float(bounds.at_most[place])
            n_doubts += is_regular[place] and at_least < at_most
            assert 1 <= at_least <= at_most
            for rival in (label for label in range(self.model.m) if label != winner):
                additions = self.counts.additions(place, winner, rival)
                below = min(int(min(at_least, 10**6)) - 1, 400)
                assert additions.fewest(1, below) is None, (at_least, at_most)
            if at_most < math.inf:
                steps = int(bounds.n_raise[place]), int(bounds.n_lower[place])
                assert min(steps) >= 0
                assert sum(steps) == at_most
                rival = int(bounds.rival[place])
                assert rival != winner
                assert self.counts.additions(place, winner, rival).falls(*steps)
            else:
                assert bounds.rival[place] == -1
        return len(self.winner), n_doubts


def random_question(rng: random.Random, *, ties: bool) -> Asked:
    """Draw a table, points that may leave features out, smoothing and prior."""
    index = random_index(rng, rng.choice([6, 40, 200]))
    points = random_codes(rng, index, 8)
    holes = np.random.default_rng(rng.randrange(2**32)).random(points.codes.shape) < 0.15
    if rng.random() < 0.3:
        skipped = (points.n_values[:, None] + 1).astype(np.int32)
        points = Points.without_holes(np.where(holes, skipped, points.codes), points.n_values)
    numbers = list(ODD_PRIOR[: len(index.labels)])
    prior: Any = rng.choice([None, numbers])
    alpha: Any = rng.choice([0, Fraction(37, 101), 1e-9, 1, 40])
    if ties:
        prior = rng.choice([None, "uniform", [1.0, 0.0, 2.0, 1.0][: len(index.labels)]])
    return Asked(Model(index, alpha, prior), points)


def test_bounds_without_ties() -> None:
    """T13: where ties are rare, floats alone find nearly all numbers that integers find."""
    rng = random.Random(20240604)
    n_certain = n_doubts = 0
    for _ in range(60):
        own, doubts = random_question(rng, ties=False).assert_bounds()
        n_certain, n_doubts = n_certain + own, n_doubts + doubts
    assert n_certain > 150
    # Rivals without any row, who need one before they have a support.
    assert n_doubts <= 6


def test_bounds_with_ties() -> None:
    """T13: where supports tie, the interval holds both numbers."""
    rng = random.Random(20240605)
    assert sum(random_question(rng, ties=True).assert_bounds()[0] for _ in range(60)) > 120


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points judged in small blocks have the same bounds."""
    rng = random.Random(20240606)
    for _ in range(10):
        asked = random_question(rng, ties=False)
        with monkeypatch.context() as patched:
            patched.setattr(row_bounds, "_BLOCK", 3)
            again = asked.bounded()
        for name in ("at_least", "at_most", "rival", "n_raise", "n_lower"):
            assert getattr(again, name).tolist() == getattr(asked.bounds, name).tolist()


def test_nothing_to_bound() -> None:
    """No points have no bounds; beyond the range of doubles, one row is the least that is claimed."""
    index = index_from_counts([9, 5], [[(7, 2), (2, 3)], [(8, 1), (1, 4)]])
    points = Points(np.zeros((2, 1), dtype=np.int32), index.n_values, ((), ()))
    found = Asked(Model(index, Fraction(1, 10**400)), points).bounds
    assert (found.at_least.tolist(), found.at_most.tolist()) == ([1], [math.inf])
    none = Points(np.zeros((2, 0), dtype=np.int32), index.n_values, ((), ()))
    assert len(Asked(Model(index, 1), none).bounds.at_least) == 0


# One rival, with errors so large that they show ---------------------------------------------------

SLACK = 0.02


def races(n_races: int) -> list[Race]:
    """Rivals against the winners of points whose supports are as T13 asks; logs may be off by much."""
    rng, found = random.Random(20240607), list[Race]()
    while len(found) < n_races:
        asked = random_question(rng, ties=False)
        kept = np.flatnonzero(asked.is_regular)
        if not len(kept) or not asked.model.floats_hold:
            continue
        own_log = np.take_along_axis(asked.min_log, asked.winner[:, None], axis=1)[:, 0]
        tables, block = RowTables(asked.model, asked.codes), slice(0, len(asked.winner))
        side = WinnerSide.of(tables, block, asked.winner, own_log)
        tables.slack = SLACK
        for rival in range(asked.model.m):
            places = kept[asked.winner[kept] != rival]
            if len(places) and (asked.model.prior_is_counted or asked.model.prior[rival]):
                found.append(Race(tables, block, places, rival, side))
    return found


def leads_of(race: Race, place: int, n_rows: int) -> np.ndarray:
    """The rival's lead with so many rows, for each number of its own that gives it a support."""
    n_raise = np.arange(int(race.rival.least[place]), n_rows + 1, dtype=float)
    # One more than are asked for, where they are as many as the points, which would mean all of these.
    n_asked = len(n_raise) + (len(n_raise) == len(race.rival))
    here = np.full(n_asked, place)
    with np.errstate(all="ignore"):
        found = race._lead(here, np.resize(n_raise, n_asked), np.full(n_asked, float(n_rows)))
    return np.asarray(found[: len(n_raise)])


def best_lead(race: Race, place: int, n_rows: int) -> float:
    """The rival's greatest lead with so many rows, over all ways to share them."""
    return float(leads_of(race, place, n_rows).max(initial=-math.inf))


@pytest.mark.parametrize("shift", [0.0, 0.9])
@pytest.mark.parametrize("steep", [0.0, 0.03])
def test_tangents_are_above_the_lead(shift: float, steep: float) -> None:
    """T13: fewer rows than a tangent says fail however they are shared, wherever it touches."""
    rng, n_told = np.random.default_rng(8), 0
    for race in races(40):
        n_points = len(race.rival)
        race.slope_slack = steep
        for top in (3, 40):
            a = race.rival.least + np.floor(rng.uniform(0, top, n_points))
            b = np.floor(rng.uniform(0, top, n_points))
            with np.errstate(all="ignore"):
                rival, own = race.rival.support(a), race.winner.support(b)
                # Logs and slopes that are off as far as they may be.
                off = shift * steep * rng.choice([-1, 1], (2, n_points))
                rival = rival._replace(
                    log=rival.log - shift * SLACK, slope=rival.slope + off[0] * rival.size
                )
                own = own._replace(slope=own.slope + off[1] * own.size)
                found = race._tangent(a, b, rival, own, np.arange(n_points))
            for place, at_least in enumerate(found.tolist()):
                assert at_least <= 2 * (a[place] + b[place]) + 8
                if not race.rival.is_concave[place]:
                    assert at_least == 1
                for n_rows in {int(at_least) - 1, int(at_least) // 2} if at_least > 1 else ():
                    assert best_lead(race, place, n_rows) < shift * SLACK - SLACK + 1e-9
                    n_told += 1
    assert n_told > 50


class Flat(NamedTuple):
    """One rival of whom only the least number of rows is known, and that its support is concave."""

    least: np.ndarray
    is_concave: np.ndarray


@pytest.mark.parametrize("whole", [True, False])
def test_tangents_in_fractions(whole: bool) -> None:
    """The number told is the first at which a tangent reaches zero, or the last that is looked at."""
    rng, n_first, n_last = np.random.default_rng(10), 0, 0
    n_points = 3000
    race, slack = races(1)[0], Fraction(1, 8) if whole else Fraction(0)
    least = rng.integers(0, 2, n_points).astype(float)
    race.rival = Flat(least, np.ones(n_points, dtype=bool))  # type: ignore[assignment]
    race.slack, race.slope_slack = float(slack), 0.0
    a = np.asarray(least + rng.integers(0, [4, 5000] * (n_points // 2)), dtype=np.float64)
    b = rng.integers(0, [4, 5000] * (n_points // 2)).astype(float)
    # Powers of two, so that many tangents reach zero at whole numbers exactly; or all but exactly.
    gain, loss = 2.0 ** rng.integers(-9, 0, (2, n_points))
    lead = -gain * rng.integers(0, [9, 6000] * (n_points // 2)) - race.slack
    if not whole:
        gain, loss = rng.uniform(0.1, 1, (2, n_points))
        lead = loss * b - gain * rng.integers(0, 9, n_points)
    none = np.zeros(n_points)
    supports = Support(lead, gain, none, none), Support(none, -loss, none, none)
    found = race._tangent(a, b, *supports, np.arange(n_points))

    def reached(place: int, n_rows: int) -> Fraction:
        """The greatest lead that the tangent leaves to so many rows."""
        mine = [(n_rows, 0), (int(least[place]), n_rows - int(least[place]))]
        return max(
            Fraction(lead[place])
            + slack
            + Fraction(gain[place]) * (x - int(a[place]))
            + Fraction(loss[place]) * (y - int(b[place]))
            for x, y in mine
        )

    for place, at_least in enumerate(found.astype(int).tolist()):
        last = 2 * int(a[place] + b[place]) + 8
        assert at_least <= last
        assert at_least < least[place] + 1 or reached(place, at_least - 1) < 0
        if at_least < last:
            assert reached(place, at_least) >= (0 if whole else Fraction(-1, 10**8))
            n_first += 1
        n_last += at_least == last
    assert n_first > 500
    assert n_last > (50 if whole else 0)
    race.rival = Flat(least, np.zeros(n_points, dtype=bool))  # type: ignore[assignment]
    assert (race._tangent(a, b, *supports, np.arange(n_points)) == 1).all()


def test_tangents_with_slopes_that_are_off() -> None:
    """No slopes within their errors let fewer rows than a tangent tells reach zero."""
    rng, n_told, n_points = np.random.default_rng(11), 0, 4000
    race, none = races(1)[0], np.zeros(n_points)
    race.rival = Flat(none, np.ones(n_points, dtype=bool))  # type: ignore[assignment]
    race.slack, race.slope_slack = 0.0, 2.0**-7
    a, b = rng.integers(0, 30, (2, n_points)).astype(np.float64)
    gain, loss = 2.0 ** rng.integers(-6, 1, (2, n_points))
    sizes = rng.choice([0.0, 1.0], (2, n_points))
    lead = -rng.uniform(0, 60, n_points)
    found = race._tangent(
        a,
        b,
        Support(lead, gain, none, sizes[0]),
        Support(none, -loss, none, sizes[1]),
        np.arange(n_points),
    )
    for place, at_least in enumerate(found.tolist()):
        n_rows = at_least - 1
        if n_rows < 1:
            continue
        for x, y in ((n_rows, 0.0), (0.0, n_rows)):
            off = 2.0**-7 * (
                sizes[0, place] * abs(x - a[place]) + sizes[1, place] * abs(y - b[place])
            )
            reached = gain[place] * (x - a[place]) + loss[place] * (y - b[place])
            assert lead[place] + reached + off < 1e-9
        n_told += 1
    assert n_told > 500


def test_errors_of_slopes() -> None:
    """A slope along the mix is off by no more than both sides together."""
    for race in races(10):
        every = np.arange(len(race.rival))
        n_raise, n_rows = race.rival.least + 2, race.rival.least + 7
        with np.errstate(all="ignore"):
            lead, slope, error = race._steep_lead(every, n_raise, n_rows)
            gains, losses = race.rival.support(n_raise), race.winner.support(n_rows - n_raise)
        assert lead == pytest.approx(gains.log - losses.log)
        assert slope == pytest.approx(gains.slope + losses.slope)
        assert error == pytest.approx(race.slope_slack * (gains.size + losses.size))
        assert (error > 1e-16).all()


def test_a_lead_with_one_peak() -> None:
    """T13: so many rows fail if the lead is low at the peak; a middle elsewhere claims nothing wrong."""
    rng, n_failing = np.random.default_rng(9), 0
    for race in races(40):
        if len(race.rival) == 1:
            continue
        for place in range(len(race.rival)):
            here, least = np.array([place]), int(race.rival.least[place])
            for n_rows in (1, 2, 5, 17, 60):
                if n_rows < least:
                    continue
                leads, total = leads_of(race, place, n_rows), np.array([float(n_rows)])
                peak = np.array([float(least + leads.argmax())])
                wanted = np.array([float(rng.integers(least, n_rows + 1))])
                with np.errstate(all="ignore"):
                    at_peak = bool(race._fails(here, peak, total)[0])
                    elsewhere = bool(race._fails(here, wanted, total)[0])
                if abs(leads.max() + SLACK) > 1e-6:
                    assert at_peak == (leads.max() < -SLACK)
                    assert not elsewhere or leads.max() < -SLACK
                n_failing += at_peak
            with np.errstate(all="ignore"):
                assert race._fails(here, np.zeros(1), np.zeros(1))[0]
    assert n_failing > 100


def test_mixes_of_rows_that_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rival is weighed with as many rows as give it a support, or more, a winner with none or more."""
    found, gains, losses = races(150), RivalSide.support, WinnerSide.support
    n_least = 0

    def raised(self: RivalSide, n_added: Floats) -> Support:
        nonlocal n_least
        assert not (n_added < self.least).any()
        n_least += int((n_added == 1).sum())
        return gains(self, n_added)

    def lowered(self: WinnerSide, n_added: Floats) -> Support:
        assert not (n_added < 0).any()
        return losses(self, n_added)

    monkeypatch.setattr(RivalSide, "support", raised)
    monkeypatch.setattr(WinnerSide, "support", lowered)
    for race in found:
        with np.errstate(all="ignore"):
            race._best_mix(np.full(len(race.rival), np.inf))
    assert n_least > 10


def test_rows_that_surely_work() -> None:
    """The attack that is found leads by more than the error, and fewer rows than the bound fail by more."""
    n_found = n_clear = 0
    for race in races(40):
        n_points = len(race.rival)
        for most in (math.inf, 4.0):
            with np.errstate(all="ignore"):
                at_least, n_raise, n_lower = race.solved(np.full(n_points, most))
            for place in range(n_points):
                n_rows = n_raise[place] + n_lower[place]
                assert at_least[place] <= n_rows
                if math.isfinite(n_rows):
                    least = int(race.rival.least[place])
                    assert leads_of(race, place, int(n_rows))[int(n_raise[place]) - least] > SLACK
                    n_found, n_clear = n_found + 1, n_clear + (at_least[place] == n_rows)
                below = int(at_least[place]) - 1
                if 0 < below < 300:
                    assert best_lead(race, place, below) < -SLACK + 1e-9
    assert n_found > 60
    assert n_clear > 30
