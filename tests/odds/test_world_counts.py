"""count_worlds against every world of small tables, and its parts against plain counting."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.counted import index_of
from support.strategies import random_case

from nullproof import CountIndex, NullproofError
from nullproof.odds.filling import Open
from nullproof.odds.worlds import WorldCounts, _choices, _n_fillings, _ways, count_worlds

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
ROWS: list[Any] = [("a", None), ("a", "x"), ("b", {"x", "y"}), ("b", "z"), (None, "x")]
LABELS = ["yes", "yes", "no", "no", "no"]


def winners_of(
    rows: Any, labels: Any, point: Any, domains: Any, *, alpha: Any, prior: Any = None
) -> Counter[frozenset[Any]]:
    """How many worlds have which winners, one world after the other."""
    return Counter(
        oracle.winners(oracle.supports(world, labels, point, domains, alpha=alpha, prior=prior))
        for world in oracle.worlds(rows, domains)
    )


def by_winners(counts: WorldCounts) -> dict[frozenset[Any], int]:
    """What was counted, by the labels that win; ties have two labels or more."""
    assert all(len(labels) > 1 and n > 0 for labels, n in counts.ties.items())
    alone = {frozenset([label]): n for label, n in counts.wins.items() if n}
    return alone | {frozenset(labels): n for labels, n in counts.ties.items()}


def test_small_tables_world_by_world() -> None:
    """The numbers are those of all worlds, with labels that never win and cells that never matter."""
    rng = random.Random("world by world")
    n_beaten = n_tied = 0
    for _ in range(60):
        case = random_case(rng)
        index = index_of(case)
        point = next(oracle.completions(case.points[0], case.domains))
        if sum(1 for _ in itertools.islice(oracle.worlds(case.rows, case.domains), 301)) > 300:
            continue
        counts = count_worlds(
            index, point, alpha=case.alpha, prior=case.prior_for(index.labels), own_missing="any"
        )
        truth = winners_of(
            case.rows, case.labels, point, case.domains, alpha=case.alpha, prior=case.prior
        )
        assert by_winners(counts) == truth
        assert counts.total == truth.total()
        assert [*counts.wins] == [*index.labels]
        n_tied += len(counts.ties)
        n_beaten += sum(not any(label in who for who in truth) for label in index.labels)
    assert n_beaten > 5
    assert n_tied > 5


def test_smoothing_is_one_unless_given() -> None:
    """Without a smoothing every value counts once more."""
    rows, labels = [("b",), *[("a",)] * 6, ("c",), (None,)], ["p"] * 7 + ["q"] * 2
    domains = [("a", "b", "c")]
    index = CountIndex.from_rows(rows, labels)
    found = [by_winners(count_worlds(index, ("b",), prior="uniform", alpha=n)) for n in (1, 2)]
    assert by_winners(count_worlds(index, ("b",), prior="uniform")) == found[0] != found[1]
    for alpha, own in zip((1, 2), found, strict=True):
        assert own == winners_of(rows, labels, ("b",), domains, alpha=alpha, prior="uniform")


def test_cells_of_a_beaten_label_multiply_the_worlds() -> None:
    """However the rows of a label that never wins are filled, the others win as often beside it."""
    rows: list[Any] = [("a", "x"), ("a", None), ("b", "x"), ("a", {"x", "y"}), ("c", None)]
    rows += [(None, None)]
    labels = ["p", "p", "q", "q", "r", "r"]
    point, prior = ("a", "x"), [10, 10, 1]
    domains = oracle.seen_domains(rows, 2)
    counts = count_worlds(CountIndex.from_rows(rows, labels), point, prior=prior, alpha=1)
    shares = dict(zip("pqr", prior, strict=True))
    truth = winners_of(rows, labels, point, domains, alpha=1, prior=shares)
    assert by_winners(counts) == truth
    assert not counts.wins["r"]
    assert counts.total == 2 * 2 * 2 * 3 * 2
    # Each label alone, by prior: one that surely wins is not counted world by world.
    sure = count_worlds(CountIndex.from_rows(rows, labels), point, prior=[1, 10**9, 1], alpha=1)
    assert sure == WorldCounts(48, {"p": 0, "q": 48, "r": 0}, {})


def test_ties_are_shared_out() -> None:
    """Of the worlds in which three labels tie, each gets a third."""
    counts = WorldCounts(20, {"p": 5, "q": 1, "r": 0}, {("p", "r"): 8, ("p", "q", "r"): 6})
    assert counts.odds == {
        "p": Fraction(5 + 4 + 2, 20),
        "q": Fraction(1 + 2, 20),
        "r": Fraction(4 + 2, 20),
    }
    assert sum(counts.odds.values()) == 1


def test_fillings_of_a_label() -> None:
    """A missing cell multiplies by the size of its domain, a set by its own, for their label alone."""
    rows: list[Any] = [(None, {"x", "y"}), (None, "z"), ("a", {"x", "y", "z"}), ("b", None)]
    rows += [("c", "x")]
    index = CountIndex.from_rows(rows, ["p", "p", "q", "q", "r"])
    assert [_n_fillings(index, i) for i in range(3)] == [3 * 3 * 2, 3 * 3, 1]


@pytest.mark.parametrize(
    "groups",
    [(), (Open(1, 1, 3),), (Open(3, 2, 5),), (Open(2, 1, 2), Open(3, 1, 4)), (Open(2, 3, 3),)],
)
def test_ways_to_take_a_value(groups: tuple[Open, ...]) -> None:
    """In so many ways 0, 1, 2, … open cells take the value: as choosing a candidate for each."""
    cells = [(share, whole) for n, share, whole in groups for _ in range(n)]
    counted = Counter(
        sum(choice < share for choice, (share, _) in zip(choices, cells, strict=True))
        for choices in itertools.product(*(range(whole) for _, whole in cells))
    )
    assert _ways(groups).tolist() == [counted[k] for k in range(len(cells) + 1)]


def test_what_is_not_one_complete_point() -> None:
    """Points that are several, or not complete, are refused, and it is said which."""
    index = CountIndex.from_rows(ROWS, LABELS)
    for points, reason in (
        ([("a", "y"), ("a", "x")], "got 2 points"),
        ([("a", None), ("a", "x")], "got 2 points"),
        ([], "got 0 points"),
        (("a", None), "got a point with missing cells"),
        (("a", {"x", "y"}), "got a point with several candidates for a cell"),
    ):
        with pytest.raises(NullproofError, match=f"one complete point but {reason}; give one row"):
            count_worlds(index, points, own_missing="any")
    assert count_worlds(index, [("a", "x")], own_missing="any").total == 12


def test_a_million_supports_are_too_many() -> None:
    """With hundreds of open cells in three columns it is said that bounds are to be asked for."""
    codes = np.full((400, 3), -1)
    codes[:2] = [[0, 1, 0], [1, 0, 1]]
    index = CountIndex.from_codes(codes, [0, 1] * 200, n_values=[2, 2, 2])
    with pytest.raises(NullproofError, match="label 0 can have more than 1,000,000 different"):
        count_worlds(index, [(0, 0, 0)])
    # Where one label is certain, all worlds are its own, however many supports it has.
    sure = count_worlds(index, [(0, 0, 0)], prior=[1, 10**12])
    assert sure == WorldCounts(2 ** (3 * 398), {0: 0, 1: 2 ** (3 * 398)}, {})
    one = count_worlds(CountIndex.from_codes(codes[:, :1], [0, 1] * 200, n_values=[2]), [(0,)])
    assert one.total == 2**398
    assert by_winners(one)[frozenset([0])] + by_winners(one)[frozenset([1])] < one.total


def test_twenty_thousand_cells_of_a_label_and_column() -> None:
    """More open cells than these are refused, with the label and the column that has them."""
    for n_open in (20_000, 20_001):
        codes = np.zeros((n_open + 4, 2), dtype=np.int8)
        codes[: n_open + 1, 1] = [1, *[-1] * n_open]
        codes[-1, 0] = -1
        labels = [0] * (n_open + 2) + [1] * 2
        index = CountIndex.from_codes(codes, labels, n_values=[2, 2])
        if n_open > 20_000:
            with pytest.raises(NullproofError, match=r"label 0 has 20,001 missing cells in .*x1"):
                count_worlds(index, [(0, 0)], prior=[1, 10**12])
        else:
            found = count_worlds(index, [(0, 0)], prior=[1, 10**12])
            assert found == WorldCounts(2**20_001, {0: 0, 1: 2**20_001}, {})


def test_a_million_sets_of_labels_are_too_many() -> None:
    """Each of 21 labels may have the greatest support or not: that is more sets than are counted."""
    codes = np.array([[0], [-1]] * 21)
    index = CountIndex.from_codes(codes, np.repeat(np.arange(21), 2), n_values=[2])
    with pytest.raises(NullproofError, match="more than 1,048,576 different sets of labels"):
        count_worlds(index, [(0,)])
    some = CountIndex.from_codes(codes[:8], np.repeat(np.arange(4), 2), n_values=[2])
    found = count_worlds(some, [(0,)])
    assert found.total == 16
    assert len(found.ties) == 2**4 - 4 - 1
    assert {*found.wins.values()} == {1}
    assert found.ties[0, 1, 2, 3] == 2


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
def test_ways_to_choose_cells(n: int) -> None:
    """The binomial coefficients."""
    assert _choices(n) == [math.comb(n, k) for k in range(n + 1)]
