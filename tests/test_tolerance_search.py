"""How tolerances are looked for: by floats, with a grid or without, or exactly; and first rivals (T10)."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.bias_oracle import Judge, OwnHoles, double_below, shortened
from support.bias_tables import Holed, random_bias, random_holed
from support.count_tables import first_point, index_from_counts
from support.duels import ALPHAS, Duel
from support.large_counts import LargeTable, large_table

from nullproof import CountIndex, NullproofError, brackets, progress, tolerance, tolerances
from nullproof.leads import Lead
from nullproof.model import Model
from nullproof.tolerances import _crossing, _Search, tolerances_of
from nullproof.verdicts import verdicts

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")

WAYS = ["by floats", "by a grid", "exactly"]
READINGS: tuple[OwnHoles, ...] = ("skip", "any")


def go(way: str, patch: pytest.MonkeyPatch) -> None:
    """Let tolerances be looked for in one way only, as far as floats do."""
    patch.setattr(brackets, "_TERMS", math.inf if way == "by a grid" else 0.0)
    if way == "exactly":
        patch.setattr(tolerances, "floats_do", lambda _model: False)


# Values, winners and rivals -----------------------------------------------------------------------


class Expected(NamedTuple):
    """What the oracle says of a point: the tolerance, and the positions of two labels."""

    value: float
    rival: int
    winner: int


def expected_of(
    holed: Holed, point: tuple[Any, ...], own_missing: OwnHoles, fixed: dict[int, Fraction]
) -> Expected:
    judge, names = holed.judge(), holed.names

    def biases(bias: Any) -> tuple[Fraction, ...]:
        return tuple(fixed.get(j, Fraction(bias)) for j in range(len(holed.domains)))

    winner = judge.verdict(point, biases(0), own_missing).label
    if winner is None:
        return Expected(math.nan, -1, -1)
    exact = judge.tolerance(point, own_missing, fixed)
    assert exact is not None
    value, place = double_below(exact), names.index(winner)
    if value == 1:
        return Expected(1.0, -1, place)
    beyond = biases(math.nextafter(value, 2))
    rivals = [
        k
        for k, name in enumerate(names)
        if name != winner and not beats(judge, winner, name, point, own_missing, beyond)
    ]
    return Expected(value, rivals[0], place)


def beats(
    judge: Judge,
    one: str,
    other: str,
    point: tuple[Any, ...],
    own_missing: OwnHoles,
    bias: tuple[Fraction, ...],
) -> bool:
    """Whether a label beats another in all worlds and for all completions of the point."""
    kept, completions = shortened(point, judge.domains, own_missing)
    return all(
        min(judge.supports(one, kept, own, bias)) > max(judge.supports(other, kept, own, bias))
        for own in completions
    )


class Question(NamedTuple):
    holed: Holed
    own_missing: OwnHoles
    fixed: dict[int, Fraction]
    expected: list[Expected]


@functools.lru_cache
def questions() -> list[Question]:
    """Random tables, most with three labels or more, some with columns whose bias is fixed."""
    rng, found = random.Random(20261117), []
    for number in range(160):
        holed = random_holed(rng, n_rows=12, own_missing=(0.0, 0.3)[number % 2])
        own_missing = READINGS[number // 2 % 2]
        fixed = {0: random_bias(rng, holed.judge())} if number % 3 == 0 else {}
        expected = [expected_of(holed, point, own_missing, fixed) for point in holed.points]
        if any(0 <= one.value < 1 for one in expected):
            found.append(Question(holed, own_missing, fixed, expected))
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_way_finds_the_same(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """T10: the value, the winner, and of the rivals that catch up first the first one."""
    go(way, monkeypatch)
    rivals, kinds = set(), set()
    for holed, own_missing, fixed, expected in questions():
        named = {f"f{j}": bias for j, bias in fixed.items()}
        model = Model(holed.index(), holed.alpha, holed.weights, named)
        points = model.points(list(holed.points), own_missing)
        told = tolerances_of(model, points)
        np.testing.assert_array_equal(told.value, [one.value for one in expected])
        assert told.rival.tolist() == [one.rival for one in expected]
        assert told.winner.tolist() == [one.winner for one in expected]
        again = tolerances_of(model, points, judged=verdicts(model.biased(1), points))
        np.testing.assert_array_equal(again.value, told.value)
        rivals |= {one.rival for one in expected}
        kinds |= {str(one.value) for one in expected}
    assert rivals >= {-1, 0, 1}
    assert kinds >= {"nan", "0.0", "1.0"}


def three_labels(counts: dict[str, list[str | None]], **options: Any) -> tuple[float, str]:
    """The tolerance of a point that is a, and its first rival, from the cells of each label."""
    rows = [(cell,) for cells in counts.values() for cell in cells]
    labels = [label for label, cells in counts.items() for _ in cells]
    index = CountIndex.from_rows(rows, labels, domains={"x0": ["a", "b"]})
    model = Model(index, 0, **options)
    told = tolerances_of(model, model.points([("a",)]))
    return float(told.value[0]), str(index.labels[told.rival[0]])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", [*itertools.permutations("XYZ")])
def test_the_first_of_rivals_that_catch_up_at_once(
    names: tuple[str, str, str], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rivals catch up at one jump of the winner, one by far: the first of the labels is named."""
    go(way, monkeypatch)
    winner, strong, weak = names
    # Of 4 holes at least floor(4 · (1 - bias)) are a's: 5, 4, 3, 2 and 1 a's beyond 0, 1/4, 1/2, 3/4.
    counts: dict[str, list[str | None]] = {
        winner: ["a", None, None, None, None],
        strong: ["a"] * 29,
        weak: ["a"] * 21,
    }
    # Supports are the prior times the share of a's: 3/5 is still ahead of both, 2/5 of neither.
    prior = dict.fromkeys(names, Fraction(1)) | {strong: Fraction(5, 10), weak: Fraction(9, 20)}
    weights = [prior[name] for name in sorted(names)]
    told = three_labels(counts, prior=weights)
    assert told == (0.5, min(strong, weak))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("places", [*itertools.permutations(range(3))])
def test_a_tolerance_next_to_one(
    places: tuple[int, int, int], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten billion holes three must be a's, like all known cells: up to a bias of 1 - 3 / 10**10."""
    go(way, monkeypatch)
    winner, strong, weak = places
    n_known, n_holes = 10**11, 10**10
    sizes, known, prior = [5] * 3, [5] * 3, [Fraction(0)] * 3
    sizes[winner], known[winner] = n_known + n_holes, n_known
    # In units of one a of the winner.
    prior[winner] = Fraction(n_known + n_holes)
    prior[strong], prior[weak] = n_known + Fraction(5, 2), n_known + Fraction(9, 4)
    open_cells = [n_holes if place == winner else 0 for place in range(3)]
    index = index_from_counts(sizes, [[known, [0] * 3]])
    model = Model(replace(index, n_null=np.array([open_cells])), 0, prior)
    told = tolerances_of(model, first_point(index))
    assert told.value.tolist() == [double_below(1 - Fraction(3, n_holes))]
    assert told.rival.tolist() == [min(strong, weak)]
    assert told.winner.tolist() == [winner]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", [*itertools.permutations("XYZ")])
def test_a_rival_that_ties_is_not_missed(
    names: tuple[str, str, str], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding blurs where one rival draws level, at 1/4, and another clearly catches up, at 1/2."""
    go(way, monkeypatch)
    winner, level, clear = names
    counts: dict[str, list[str | None]] = {
        winner: ["a", None, None, None, None],
        level: ["a"] * 7,
        clear: ["a"] * 7,
    }
    # Beyond 1/4 the winner has 3/5 of the prior 1/3, as much as the level one.
    prior = {winner: Fraction(1, 3), level: Fraction(1, 5), clear: Fraction(1, 6)}
    told = three_labels(counts, prior=[prior[name] for name in sorted(names)])
    assert told == (0.25, level)


# Which way is gone --------------------------------------------------------------------------------


class Clear(NamedTuple):
    """Points of a table that rounding does not blur, with their tolerances."""

    table: LargeTable
    points: list[tuple[str, ...]]
    values: list[float]


@functools.lru_cache
def clear_tables() -> list[Clear]:
    return [*_clear_tables()]


def _clear_tables() -> Iterator[Clear]:
    rng = random.Random(5)
    for _ in range(60):
        table = large_table(rng, rng.choice(ALPHAS), 300)
        judge, found = table.judge(), {}
        for point in sorted({table.point(rng) for _ in range(8)}):
            labels = range(len(judge.names))
            for winner in labels:
                duels = [Duel(judge, point, winner, rival) for rival in labels if rival != winner]
                lost = [duel for duel in duels if duel.last is not None]
                ahead = all(duel.log_lead(0) > 0 for duel in duels)
                if lost and ahead and all(duel.is_clear for duel in lost):
                    found[point] = min(duel.last for duel in lost if duel.last is not None)
        if found:
            yield Clear(table, [*found], [*found.values()])


def exactly_never(*_: Any) -> Any:
    pytest.fail("floats do here")


@pytest.mark.parametrize("block", [1, 7, 10**6])
@pytest.mark.parametrize("way", WAYS[:2])
def test_floats_find_clear_tolerances(
    way: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few points are worked on at a time, and without asking for any exact verdict."""
    go(way, monkeypatch)
    monkeypatch.setattr(tolerances, "_BLOCK", block)
    monkeypatch.setattr(tolerances, "_BLOCK_NEARBY", block)
    monkeypatch.setattr(_Search, "_exactly", exactly_never)
    n_labels = set()
    for table, points, values in clear_tables():
        assert tolerance(table.index, points, alpha=table.alpha).tolist() == values
        n_labels.add(len(table.index.labels))
    assert n_labels == {2, 3}


def test_points_alike_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exact search takes long, so that the same cells get the same answer."""
    go("exactly", monkeypatch)
    asked: list[int] = []
    search = _Search._exactly

    def counted(self: _Search, place: int) -> tuple[float, int]:
        asked.append(place)
        return search(self, place)

    monkeypatch.setattr(_Search, "_exactly", counted)
    table, points, values = clear_tables()[0]
    told = tolerance(table.index, points * 3, alpha=table.alpha)
    assert told.tolist() == values * 3
    assert len(asked) == len(points)


def test_about_where_leads_are_lost() -> None:
    """Points are sorted by where a straight line from the lead at 0 to the one at 1 crosses zero."""
    n_points = 0
    for table, points, _ in clear_tables():
        model, judge = Model(table.index, table.alpha), table.judge()
        encoded = model.points(points)
        ends = verdicts(model.biased(0), encoded), verdicts(model.biased(1), encoded)
        search = _Search(model, encoded, *ends)
        for point, winner, about in zip(points, search.winner, search._about(), strict=True):
            rivals = [k for k in range(model.m) if k != winner]
            first, last = (
                min(Duel(judge, point, int(winner), k).log_lead(bias) for k in rivals)
                for bias in (0, 1)
            )
            if math.isfinite(last):
                assert about == pytest.approx(first / (first - last))
                n_points += 1
    assert n_points > 20


@pytest.mark.parametrize("by_grid", [False, True])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_lead_within_the_slack_may_be_lost(
    n_labels: int, by_grid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only rivals that are behind by more than all errors are not asked about; the only one always is."""
    log, slack = np.array([0.6, 0.5, -0.4, -0.6]), np.full(4, 0.5)
    pairs: Any = SimpleNamespace(
        tables=SimpleNamespace(model=SimpleNamespace(m=n_labels)),
        slack=slack,
        at=lambda places: places,
        lead=lambda _bias: Lead(log, np.arange(4.0)),
        lost=lambda: Lead(np.full(4, -np.inf), np.arange(4.0)),
    )
    monkeypatch.setattr(tolerances, "crossing", lambda some, *_: some)
    monkeypatch.setattr(tolerances, "crossing_nearby", lambda some, _grid: some)
    grid: Any = SimpleNamespace(lead=lambda _pairs, _beyond: log) if by_grid else None
    some, _ = _crossing(pairs, np.ones(4), grid)
    assert some.tolist() == ([0, 1, 2, 3] if n_labels == 2 else [1, 2, 3])


# Edges --------------------------------------------------------------------------------------------


def shares_told(model: Model, points: Any, own_missing: OwnHoles) -> list[float]:
    told: list[float] = []
    tolerances_of(
        model,
        model.points(points, own_missing),
        on_progress=lambda _what, share: told.append(share),
    )
    return told


@pytest.mark.parametrize("way", WAYS)
def test_progress(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins at 0, never goes back, ends at 1; complete points first, by their number."""
    go(way, monkeypatch)
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    rows = [("a", "a"), ("a", "b"), *[(None, "a"), (None, "b")] * 2, *[("a", "a"), ("a", "b")] * 2]
    index = CountIndex.from_rows(rows, list("AAAAAABBBB"), domains={"x0": ["a", "b"]})
    model = Model(index, 1)
    whole = ("a", "a")
    asked: tuple[list[Any], ...] = ([whole], [whole, whole, ("a", None)])
    for points, own_missing in zip(asked, READINGS, strict=True):
        told = tolerances_of(model, model.points(points, own_missing))
        assert ((told.value > 0) & (told.value < 1)).all()
        shares = shares_told(model, points, own_missing)
        assert shares == sorted(shares)
        assert shares[0] == 0
        assert shares[-1] == pytest.approx(1)
        if len(points) > 1:
            assert any(share == pytest.approx(2 / 3) for share in shares)


@pytest.mark.parametrize("way", WAYS)
def test_progress_of_points_that_rounding_blurs(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats are asked first, with a grid and without, then exact verdicts: each goes on from the last."""
    go(way, monkeypatch)
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    rows = [("a",), *[(None,)] * 4, *[("a",)] * 7]
    index = CountIndex.from_rows(rows, list("AAAAA") + ["B"] * 7, domains={"x0": ["a", "b"]})
    # Beyond 1/4 both labels have the same support.
    model = Model(index, 0, [Fraction(1, 3), Fraction(1, 5)])
    shares = shares_told(model, [("a",), ("a",)], "skip")
    expected = {
        "by floats": [0, 0.9, 0.9, 0.95, 1],
        "by a grid": [0, 0.7, 0.7, 0.9, 0.9, 0.95, 1],
        "exactly": [0, 0.5, 1],
    }
    assert shares == pytest.approx(expected[way])


def test_smoothing_is_one_by_default() -> None:
    """As everywhere."""
    rows = [("a",), (None,), (None,), ("a",), ("a",)]
    index = CountIndex.from_rows(rows, list("AAABB"), domains={"x0": ["a", "b"]})
    # The reference of a's is 2/3, or 3/5 with a smoothing of 2; one of A's two holes must be one.
    assert tolerance(index, [("a",)]).tolist() == [double_below(Fraction(2, 3) - Fraction(1, 2))]
    told = tolerance(index, [("a",)], alpha=2).tolist()
    assert told == [double_below(Fraction(3, 5) - Fraction(1, 2))]


@pytest.mark.parametrize("fixed", [{"*": 0.5}, {"f0": 0.5, "*": 0}, [0.5], 0.5, "f0", [], 0])
def test_fixed_is_a_mapping_of_columns(fixed: Any) -> None:
    """One number for all columns, or a star for the rest, would leave nothing to grow."""
    index = CountIndex.from_rows([("a",), (None,), ("b",)], list("AAB"), features=["f0"])
    with pytest.raises(NullproofError, match="give a mapping from columns"):
        tolerance(index, [("a",)], fixed=fixed)


@pytest.mark.parametrize("n_open", [0, 4])
def test_more_jumps_than_32_bits_count(n_open: int) -> None:
    """A grid for many points tells what a single point is told without one."""
    n, held = 2**35, 2**33 + 2**29
    counts = [[[1, held], [1, n - held]]]
    index = replace(index_from_counts([2 + n_open, 2 * n], counts), n_null=np.array([[n_open, n]]))
    alone, *every = (tolerance(index, [("0",)] * size, prior="uniform") for size in (1, 40))
    assert 0 < alone[0] < 1
    assert every[0].tolist() == [alone[0]] * 40
