"""tell: every number of a report against brute force on small tables, and its laws on larger ones."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
from blanking import brute_radius
from strategies import Case, random_case, with_cell

from nullproof import CountIndex, NullproofError, certify, cleaning_plan, radius
from nullproof.reporting import completing
from nullproof.reporting.choosing import evenly
from nullproof.reporting.demo import load
from nullproof.reporting.story import tell

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

SEED = int(os.environ.get("NULLPROOF_SEED", "20240611"))
N_CHUNKS = 4
N_TABLES = 60


def told(case: Case, **options: Any) -> dict[str, Any]:
    index = index_of(case)
    prior = case.prior_for(index.labels)
    return tell(index, list(case.points), alpha=case.alpha, prior=prior, **options)


def index_of(case: Case) -> CountIndex:
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def random_cases(chunk: int) -> list[Case]:
    rng = random.Random(SEED + chunk)
    return [random_case(rng) for _ in range(N_TABLES)]


def texts(labels: Any) -> set[str]:
    return {str(label) for label in labels}


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_verdicts_and_holes_equal_brute_force(chunk: int) -> None:
    """Certain points, possible labels, radii and missing cells are those of the oracle."""
    for case in random_cases(chunk):
        document = told(case)
        every = [case.outcomes(point) for point in case.points]
        certain = [oracle.certain_label(outcomes) for outcomes in every]
        assert document["certain"]["n_robust"] == sum(oracle.robust(one) for one in every)
        for point, outcomes, label in zip(document["points"], every, certain, strict=True):
            assert set(point["possible"]) == texts(oracle.undominated(outcomes))
            assert point["label"] == (str(label) if oracle.robust(outcomes) else None)
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
    for case in random_cases(chunk):
        for point in told(case)["points"]:
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
    for case in random_cases(chunk):
        for point in told(case)["points"]:
            given = case.points[point["point"]]
            if point["robust"] or any(
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
    for case in random_cases(chunk):
        for point in told(case)["points"]:
            if point["robust"]:
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
    for case in random_cases(chunk):
        features = told(case)["features"]
        open_points = [p for p in case.points if not oracle.robust(case.outcomes(p))]
        assert features["n_uncertain"] == features["n_judged"] == len(open_points)
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
    return oracle.robust(case.outcomes(point))


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
    """Blanking the named cells makes the weakest certain point uncertain; their number is its radius."""
    n_seen = 0
    for case in random_cases(chunk):
        document = told(case)
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


def many_points(n_points: int, seed: int = 0) -> tuple[CountIndex, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 2000)
    rows = (
        (labels[:, None] + rng.integers(0, 3, (2000, 6)) * (rng.random((2000, 6)) < 0.5)) % 4
    ).astype(np.int32)
    points = rows[rng.integers(0, 2000, n_points)]
    rows[rng.random(rows.shape) < 0.02] = -1
    return CountIndex.from_codes(rows, labels, n_values=[4] * 6), points


def test_a_sample_of_many_points() -> None:
    """Verdict and radius count all points; few are told, the weakest among them, always the same."""
    index, points = many_points(5000)
    document = tell(index, points, limit=40)
    verdict, radii = certify(index, points), radius(index, points)
    assert document["certain"]["n_points"] == 5000
    assert document["certain"]["n_robust"] == verdict.robust.sum()
    fragility = document["fragility"]
    assert (
        sum(row["n_points"] for row in fragility["histogram"])
        == np.isfinite(radii[radii > 0]).sum()
    )
    for row in fragility["histogram"]:
        assert row["n_points"] == ((radii >= row["start"]) & (radii <= row["stop"])).sum()
    assert [row["radius"] for row in fragility["weakest"]] == sorted(radii[radii > 0])[:10]
    shown = [point["point"] for point in document["points"]]
    assert len(shown) == 40 == document["sample"]["n_shown"]
    assert shown == sorted(set(shown))
    assert {row["point"] for row in fragility["weakest"]} <= set(shown)
    assert not document["sample"]["all"]
    assert "even distances" in document["sample"]["how"]
    assert tell(index, points, limit=40) == document
    between = Counter(tuple(map(str, one.possible)) for one in verdict if not one.robust)
    found = {tuple(row["labels"]): row["n_points"] for row in document["uncertain"]["between"]}
    assert found == dict(between)


def test_features_judge_an_even_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many uncertain points the features are judged on some, and the document says on how many."""
    index, points = many_points(3000)
    everything = tell(index, points, limit=10)["features"]
    assert everything["n_judged"] == min(everything["n_uncertain"], completing.MOST_POINTS)
    monkeypatch.setattr(completing, "MOST_POINTS", 10)
    some = tell(index, points, limit=10)["features"]
    assert some["n_judged"] == 10 < some["n_uncertain"]
    assert all(row["share"] == row["n_certain"] / 10 for row in some["features"])


@pytest.mark.parametrize(("n", "wanted"), [(10, 3), (10, 10), (10, 20), (7, 1), (0, 5)])
def test_evenly(n: int, wanted: int) -> None:
    """So many as wanted, all different, in order, from the first on."""
    picked = evenly(np.arange(n), wanted).tolist()
    assert len(picked) == min(n, wanted)
    assert picked == sorted(set(picked))
    gaps = np.diff(picked)
    assert not len(gaps) or gaps.max() - gaps.min() <= 1


def test_progress_is_told() -> None:
    """Every step is named and the share behind only grows, from 0 to 1."""
    index, points = many_points(50)
    said: list[tuple[str, float]] = []
    tell(index, points, on_progress=lambda text, share: said.append((text, share)))
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert all(text for text, _ in said)


def test_the_document_is_strict_json() -> None:
    """Also with supports of 0, points beyond attack and values never seen."""
    train, _ = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    new = pl.DataFrame(
        {
            "age": ["18-35", "99", None],
            "in_us": ["no"] * 3,
            "income": ["low"] * 3,
            "claim": ["no"] * 3,
        }
    )
    for alpha in (0, 1000):
        document = tell(index, new, alpha=alpha)
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        kinds = [point["values"][0]["kind"] for point in document["points"]]
        assert kinds == ["known", "unseen", "missing"]
        assert document["points"][1]["values"][0]["value"] == "99"
    assert document["fragility"]["n_unbreakable"] == document["certain"]["n_robust"] == 3
    assert document["attack"] is None
    assert len(document["notes"]) == 2


def test_no_points_and_no_holes() -> None:
    """A story without points or without holes is told all the same."""
    rows, labels = [("a", "x"), ("b", "y")], ["yes", "no"]
    index = CountIndex.from_rows(rows, labels)
    nothing = tell(
        index, pl.DataFrame({"x0": [], "x1": []}, schema={"x0": pl.String, "x1": pl.String})
    )
    assert nothing["certain"] == {
        "n_points": 0,
        "n_robust": 0,
        "share": None,
        "labels": [
            {"label": "no", "n_robust": 0, "n_possible": 0},
            {"label": "yes", "n_robust": 0, "n_possible": 0},
        ],
    }
    full = tell(index, rows)
    assert full["holes"]["features"] == full["features"]["features"] == []
    assert full["title"].startswith("2 of 2 predictions are certain")


def test_long_texts_are_shortened() -> None:
    """A text of 10,000 characters is cut, says so, and keeps both its ends."""
    long = "begin" + "x" * 10_000 + "end"
    index = CountIndex.from_rows([(long,), ("b",)], [long, "no"], features=[long])
    document = tell(index, [(long,)])
    assert len(json.dumps(document)) < 20_000
    value = document["points"][0]["values"][0]["value"]
    assert value.startswith("begin")
    assert value.endswith("end [10,008 characters]")
    assert document["table"]["labels"][0] == value


def test_a_hole_in_a_column_of_names() -> None:
    """A point with a hole among thousands of values is judged, and quickly, as with few values."""
    rows = [(f"name {i}", "ab"[i % 2]) for i in range(3000)] + [(None, "a"), (None, "b")]
    labels = ["xy"[i % 2] for i in range(3000)] + ["y", "x"]
    document = tell(CountIndex.from_rows(rows, labels), [(None, "a"), ("name 0", "a")])
    # With a name of an odd row x has no support, and y only by the hole of its last row.
    assert [point["robust"] for point in document["points"]] == [False, True]
    could = {row["feature"]: row["n_could"] for row in document["features"]["features"]}
    assert could == {"x0": 1}


def test_few_points_are_told_of_many_features() -> None:
    """With very many features the story stays short, and says so."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (60, 1500)).astype(np.int32)
    holes = np.where(rng.random(codes.shape) < 0.002, -1, codes)
    document = tell(CountIndex.from_codes(holes, rng.integers(0, 2, 60)), codes)
    assert document["sample"]["n_shown"] == 40_000 // 1500
    assert document["points"][0]["n_values_left_off"] == 1460
    judged = document["features"]
    assert len(judged["features"]) + judged["n_left_off"] == (holes < 0).any(axis=0).sum()


def test_the_limit_is_a_number_of_points() -> None:
    """None are told with a limit of 0, and fewer than none cannot be."""
    index, points = many_points(300)
    assert tell(index, points, limit=0)["points"] == []
    with pytest.raises(NullproofError, match="limit is -1"):
        tell(index, points, limit=-1)


@pytest.mark.parametrize(
    ("alpha", "written"),
    [(0, "0"), (0.1, "0.1"), (1, "1"), (Fraction(1, 3), "1/3"), (10**400, "1000")],
)
def test_smoothing_is_written_as_it_was_given(alpha: Any, written: str) -> None:
    """A float is written as a float, a fraction that none equals as a fraction."""
    index = CountIndex.from_rows([("a",), ("b",)], ["x", "y"])
    assert tell(index, [("a",)], alpha=alpha)["table"]["alpha"].startswith(written)


def test_what_to_clean_is_the_plan_of_the_uncertain_points() -> None:
    """The steps are those of cleaning_plan for the uncertain points, or a sample of them."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    cleaning = tell(index, new)["cleaning"]
    uncertain = new.filter(~pl.Series(certify(index, new).robust))
    plan = cleaning_plan(index, uncertain)
    assert [step["n_cells"] for step in cleaning["steps"]] == plan.columns()["n_cells"]
    assert [step["best"] for step in cleaning["steps"]] == plan.columns()["best"]
    assert cleaning["n_likely"] == cleaning_plan(index, uncertain, confidence=0.99).n_settled
    assert cleaning["n_judged"] == cleaning["n_uncertain"] == len(uncertain)
    assert tell(index, new.filter(pl.Series(certify(index, new).robust)))["cleaning"] is None


def test_sets_of_labels_are_counted_each_once() -> None:
    """The sets of possible labels, however many labels there are, are those of the verdicts."""
    index, points = many_points(300, seed=3)
    between = tell(index, points)["uncertain"]["between"]
    sets = Counter(
        tuple(map(str, c.possible)) for c in certify(index, points) if not c.robust
    ).most_common()
    assert {tuple(row["labels"]): row["n_points"] for row in between} == dict(sets[: len(between)])


def test_a_story_with_the_smallest_alpha() -> None:
    """A smoothing that no float holds leaves out the plan, and nothing else."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    document = tell(index, new, alpha=5e-324)
    assert document["cleaning"] is None
    assert document["certain"]["n_robust"] == int(certify(index, new, alpha=5e-324).robust.sum())
