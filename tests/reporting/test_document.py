"""tell: every number of a report against brute force on small tables, and its laws on larger ones."""

from __future__ import annotations

import functools
import itertools
import math
import os
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from support import oracle
from support.blanking_oracle import brute_radius
from support.strategies import Case, random_case, with_cell

from nullproof import CountIndex
from nullproof.reporting.document import tell

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

SEED = int(os.environ.get("NULLPROOF_SEED", "20240611"))
N_CHUNKS = 4
N_TABLES = 60


def told(case: Case, **options: Any) -> dict[str, Any]:
    index = index_of(case)
    options = {"prior": case.prior_for(index.labels), "own_missing": "any", **options}
    return tell(index, list(case.points), alpha=case.alpha, **options)


def index_of(case: Case) -> CountIndex:
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


@functools.cache
def told_cases(chunk: int) -> list[tuple[Case, dict[str, Any]]]:
    """Random cases, each with its document, which several tests look at."""
    rng = random.Random(SEED + chunk)
    return [(case := random_case(rng), told(case)) for _ in range(N_TABLES)]


def texts(labels: Any) -> set[str]:
    return {str(label) for label in labels}


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_verdicts_and_holes_equal_brute_force(chunk: int) -> None:
    """Certain points, possible labels, radii and missing cells are those of the oracle."""
    for case, document in told_cases(chunk):
        every = [case.outcomes(point) for point in case.points]
        certain = [oracle.certain_label(outcomes) for outcomes in every]
        assert document["certain"]["n_certain"] == sum(oracle.certain(one) for one in every)
        for point, outcomes, label in zip(document["points"], every, certain, strict=True):
            assert set(point["possible"]) == texts(oracle.undominated(outcomes))
            assert point["label"] == (str(label) if oracle.certain(outcomes) else None)
            found = math.inf if point["radius"] is None else point["radius"]
            assert found == brute_radius(case, case.points[point["point"]])
        assert_holes(case, document["holes"])


def assert_holes(case: Case, holes: dict[str, Any]) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for row, label in zip(case.rows, case.labels, strict=True):
        for name, cell, domain in zip(case.features, row, case.domains, strict=True):
            # A cell without a value is missing even where its domain leaves it no choice.
            if cell is None or len(oracle.candidates(cell, domain)) > 1:
                expected[name, str(label)] += 1
    found = {
        (row["feature"], label): cell["n_missing"]
        for row in holes["features"]
        for label, cell in zip(holes["labels"], row["per_label"], strict=True)
        if cell["n_missing"]
    }
    assert found == dict(expected)
    sizes = Counter(map(str, case.labels))
    for row in holes["features"]:
        for label, cell in zip(holes["labels"], row["per_label"], strict=True):
            assert cell["share"] == cell["n_missing"] / sizes[label]
    assert holes["n_complete"] + len(holes["features"]) == len(case.features)


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_supports_span_all_worlds(chunk: int) -> None:
    """Low and high are the logarithms of the least and the greatest support over all worlds."""
    for case, document in told_cases(chunk):
        for point in document["points"]:
            outcomes = case.outcomes(case.points[point["point"]])
            for row in point["support"]:
                values = [v for one in outcomes for k, v in one.items() if str(k) == row["label"]]
                assert_log(row["low"], min(values))
                assert_log(row["high"], max(values))


def assert_log(found: float | None, value: Fraction) -> None:
    if value == 0:
        assert found is None
        return
    assert found is not None
    exact = math.log(value.numerator) - math.log(value.denominator)
    assert found == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_odds_bound_the_share_of_worlds(chunk: int) -> None:
    """The share of worlds in which a label wins, ties shared, lies within its bounds."""
    n_seen = 0
    for case, document in told_cases(chunk):
        for point in document["points"]:
            given = case.points[point["point"]]
            if point["certain"] or any(
                cell is None or isinstance(cell, frozenset) for cell in given
            ):
                continue
            shares = shares_of_worlds(case, given)
            named = {row["label"]: row for row in point["odds"]}
            for label, share in shares.items():
                row = named.get(str(label), {"lower": 0.0, "upper": 0.0})
                assert row["lower"] - 1e-12 <= share <= row["upper"] + 1e-12, (case, label)
            n_seen += 1
    assert n_seen > 5


def shares_of_worlds(case: Case, point: Any) -> dict[Any, float]:
    won: Counter[Any] = Counter()
    n_worlds = 0
    for world in oracle.worlds(case.rows, case.domains):
        values = oracle.supports(
            world, case.labels, point, case.domains, alpha=case.alpha, prior=case.prior
        )
        winners = oracle.winners(values)
        n_worlds += 1
        for label in winners:
            won[label] += Fraction(1, len(winners))  # type: ignore[assignment]
    return {label: float(Fraction(share) / n_worlds) for label, share in won.items()}


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_the_two_worlds_exist_and_disagree(chunk: int) -> None:
    """Both winners are those of some world, not one and the same, and the holes are really there."""
    n_seen = 0
    for case, document in told_cases(chunk):
        for point in document["points"]:
            if point["certain"]:
                assert point["worlds"] is None
                continue
            outcomes = case.outcomes(case.points[point["point"]])
            reachable = {frozenset(texts(oracle.winners(one))) for one in outcomes}
            won = [frozenset(world["winners"]) for world in point["worlds"]]
            assert set(won) <= reachable
            assert len(won[0] | won[1]) > 1
            for row in point["differences"]:
                takes = row["first"] if row["first"]["takes"] else row["second"]
                assert row["n_cells"] == fitting_holes(case, row, takes["value"])
                n_seen += 1
    assert n_seen > 5


def fitting_holes(case: Case, row: dict[str, Any], value: str) -> int:
    j = case.features.index(row["feature"])
    return sum(
        len(own := oracle.candidates(cells[j], case.domains[j])) > 1 and value in texts(own)
        for cells, label in zip(case.rows, case.labels, strict=True)
        if str(label) == row["label"]
    )


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_features_equal_brute_force(chunk: int) -> None:
    """Would: the table filled in proportion, by hand. Could: any way to fill the feature's holes."""
    n_would, n_could = 0, 0
    for case, document in told_cases(chunk):
        features = document["features"]
        open_points = [p for p in case.points if not oracle.certain(case.outcomes(p))]
        assert features["n_open"] == features["n_judged"] == len(open_points)
        for row in features["features"]:
            j = case.features.index(row["feature"])
            filled = filled_in_proportion(case, j)
            would = [p for p in open_points if is_certain(filled, own_filled(case, p, j))]
            could = [p for p in open_points if could_be_certain(case, p, j)]
            assert row["n_certain"] == len(would), (case, row)
            assert row["n_could"] == len(could), (case, row)
            n_would, n_could = n_would + len(would), n_could + len(could)
    assert n_could >= n_would > 0


def is_certain(case: Case, point: Any) -> bool:
    return oracle.certain(case.outcomes(point))


def could_be_certain(case: Case, point: Any, j: int) -> bool:
    """Try every filling of a feature's holes in the table, and of the point's own."""
    domain = case.domains[j]
    places = [i for i, row in enumerate(case.rows) if len(oracle.candidates(row[j], domain)) > 1]
    options = [oracle.candidates(case.rows[i][j], domain) for i in places]
    for own in oracle.candidates(point[j], domain):
        for values in itertools.product(*options):
            filled = case
            for i, value in zip(places, values, strict=True):
                filled = with_cell(filled, (i, j), value)
            if is_certain(filled, (*point[:j], own, *point[j + 1 :])):
                return True
    return False


def in_order(case: Case, j: int) -> list[Any]:
    """The domain in the order of the index, which settles ties."""
    order = index_of(case).schema.features[j].values
    return sorted(case.domains[j], key=lambda value: order.index(str(value)))


def filled_in_proportion(case: Case, j: int) -> Case:
    """Fill the holes of a feature as its known cells of the same label are, sort of hole by sort."""
    filled, order = case, in_order(case, j)
    known = {
        label: Counter(
            row[j]
            for row, own in zip(case.rows, case.labels, strict=True)
            if own == label and row[j] is not None and not isinstance(row[j], frozenset)
        )
        + Counter(
            next(iter(row[j]))
            for row, own in zip(case.rows, case.labels, strict=True)
            if own == label and isinstance(row[j], frozenset) and len(row[j]) == 1
        )
        for label in set(case.labels)
    }
    sorts: dict[Any, list[int]] = {}
    for i, (row, label) in enumerate(zip(case.rows, case.labels, strict=True)):
        options = tuple(v for v in order if v in oracle.candidates(row[j], order))
        if len(options) > 1 or row[j] is None:
            sorts.setdefault((label, options), []).append(i)
    for (label, options), rows in sorts.items():
        weights = [known[label][value] for value in options]
        values = apportioned(len(rows), options, weights)
        for i, value in zip(rows, values, strict=True):
            filled = with_cell(filled, (i, j), value)
    return filled


def apportioned(n_cells: int, options: Any, weights: list[int]) -> list[Any]:
    """Largest remainder with fractions, one seat after another."""
    weights = weights if any(weights) else [1] * len(weights)
    quotas = [Fraction(n_cells * weight, sum(weights)) for weight in weights]
    seats = [math.floor(quota) for quota in quotas]
    while sum(seats) < n_cells:
        rests = [
            quota - seat if seat == math.floor(quota) else -1
            for quota, seat in zip(quotas, seats, strict=True)
        ]
        seats[rests.index(max(rests))] += 1
    return [v for v, seat in zip(options, seats, strict=True) for _ in range(seat)]


def own_filled(case: Case, point: Any, j: int) -> Any:
    """Fill the point's own hole by the value that is known most often."""
    own = oracle.candidates(point[j], case.domains[j])
    if len(own) == 1:
        return point
    cells = [oracle.candidates(row[j], ()) for row in case.rows if row[j] is not None]
    known = Counter(cell[0] for cell in cells if len(cell) == 1)
    order = [v for v in in_order(case, j) if v in own] + [
        v for v in own if v not in case.domains[j]
    ]
    best = max(order, key=lambda value: (known[value], -order.index(value)))
    return (*point[:j], best, *point[j + 1 :])


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_the_attack_works_by_hand(chunk: int) -> None:
    """Blanking the named cells makes the weakest certain point open; their number is its radius."""
    n_seen = 0
    for case, document in told_cases(chunk):
        attack, fragility = document["attack"], document["fragility"]
        finite = [p["radius"] for p in document["points"] if p["radius"]]
        assert (attack is None) == (not finite)
        if attack is None:
            continue
        assert attack["n_cells"] == min(finite) == fragility["least"]
        assert sum(row["n_cells"] for row in attack["cells"]) == attack["n_cells"]
        poisoned = case
        for row in attack["cells"]:
            for place in blanked_rows(poisoned, row):
                poisoned = with_cell(poisoned, place, None)
        assert not is_certain(poisoned, case.points[attack["point"]])
        n_seen += 1
    assert n_seen > 3


def blanked_rows(case: Case, row: dict[str, Any]) -> list[tuple[int, int]]:
    j = case.features.index(row["feature"])
    fitting = [
        (i, j)
        for i, (cells, label) in enumerate(zip(case.rows, case.labels, strict=True))
        if str(label) == row["label"]
        and cells[j] is not None
        and texts(oracle.candidates(cells[j], ())) == set(row["values"])
    ]
    assert len(fitting) >= row["n_cells"]
    return fitting[: row["n_cells"]]
