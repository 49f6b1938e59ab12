"""tell on larger tables: samples, sizes, strict JSON, and what it leaves out."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from nullproof import (
    CountIndex,
    NullproofError,
    NullproofWarning,
    certify,
    cleaning_plan,
    radius,
)
from nullproof.cleaning import features as completing
from nullproof.cli.demo import load
from nullproof.reporting import html
from nullproof.reporting.document import tell
from nullproof.tables.points import evenly

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


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
    document = tell(index, points, limit=40, alpha=0)
    verdict, radii = certify(index, points, alpha=0), radius(index, points, alpha=0)
    assert document["certain"]["n_points"] == 5000
    assert document["certain"]["n_certain"] == verdict.certain.sum()
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
    assert tell(index, points, limit=40, alpha=0) == document
    between = Counter(
        tuple(map(str, one.possible))
        for one, is_open in zip(verdict, verdict.verdict == "open", strict=True)
        if is_open
    )
    found = {tuple(row["labels"]): row["n_points"] for row in document["open"]["between"]}
    assert found == dict(between)


def test_features_judge_an_even_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many open points the features are judged on some, and the document says on how many."""
    index, points = many_points(3000)
    everything = tell(index, points, limit=10, alpha=0)["features"]
    assert everything["n_judged"] == min(everything["n_open"], completing.MOST_POINTS)
    monkeypatch.setattr(completing, "MOST_POINTS", 10)
    some = tell(index, points, limit=10, alpha=0)["features"]
    assert some["n_judged"] == 10 < some["n_open"]
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
    tell(index, points, on_progress=lambda text, share: said.append((text, share)), alpha=0)
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
        document = tell(index, new, alpha=alpha, own_missing="any")
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        kinds = [point["values"][0]["kind"] for point in document["points"]]
        assert kinds == ["known", "unseen", "missing"]
        assert document["points"][1]["values"][0]["value"] == "99"
    assert document["fragility"]["n_unbreakable"] == document["certain"]["n_certain"] == 3
    assert document["attack"] is None
    assert len(document["notes"]) == 2


BINNED = {"age": [16, 20, 32, 40, 41, 66], "fare": [7.25, 8.5, 30.125, 71.5, 40.0, None]}


@pytest.mark.parametrize("form", ["frame", "rows", "mappings", "array"])
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_points_are_told_with_their_own_numbers(form: str) -> None:
    """A number is told with its bin where that is written otherwise, whatever the points came as."""
    table = pl.DataFrame({**BINNED, "sex": list("mfmfmf"), "y": list("aababb")})
    index = CountIndex.from_table(table, "y", bins=3, binning="uniform", ignore=["sex"])
    assert index.schema.features[0].values == ("16–32", "33–49", "66")
    rows: Any = [(22, 30.125), (70.0, 7.5), (40, None)]
    if form == "frame":
        rows = pl.DataFrame(rows, schema=["age", "fare"], orient="row", strict=False)
    elif form == "mappings":
        rows = [dict(zip(("age", "fare"), row, strict=True)) for row in rows]
    elif form == "array":
        rows = np.array(rows, dtype=float)
    document = tell(index, rows, alpha=1)
    told = [[(v["own"], v["value"]) for v in point["values"]] for point in document["points"]]
    assert told == [
        [("22", "16–32"), ("30.125", "[28.7, 50.1)")],
        [("70", "66"), ("7.5", "[7.25, 28.7)")],
        [("40", "33–49"), (None, None)],
    ]
    assert document["outside"] == [{"feature": "age", "n_points": 1}]
    assert (
        "1 cell of the points lies outside what the training table shows (age: 1). They count to "
        "the bins at its ends." in document["notes"]
    )
    page = html.render(document)
    for shown in ("22 <span", "(16–32)", "30.125 <span", "[28.7, 50.1)"):
        assert shown in re.sub(r"</?bdi[^>]*>", "", page)


def test_no_points_and_no_holes() -> None:
    """A story without points or without holes is told all the same."""
    rows, labels = [("a", "x"), ("b", "y")], ["yes", "no"]
    index = CountIndex.from_rows(rows, labels)
    nothing = tell(
        index,
        pl.DataFrame({"x0": [], "x1": []}, schema={"x0": pl.String, "x1": pl.String}),
        alpha=0,
    )
    assert nothing["certain"] == {
        "n_points": 0,
        "n_certain": 0,
        "share": None,
        "labels": [
            {"label": "no", "n_certain": 0, "n_possible": 0},
            {"label": "yes", "n_certain": 0, "n_possible": 0},
        ],
    }
    full = tell(index, rows, alpha=0)
    assert full["holes"]["features"] == full["features"]["features"] == []
    assert full["title"].startswith("2 of 2 predictions are certain")


def test_long_texts_are_shortened() -> None:
    """A text of 10,000 characters is cut, says so, and keeps both its ends."""
    long = "begin" + "x" * 10_000 + "end"
    index = CountIndex.from_rows([(long,), ("b",)], [long, "no"], features=[long])
    document = tell(index, [(long,)], alpha=0)
    assert len(json.dumps(document)) < 20_000
    value = document["points"][0]["values"][0]["value"]
    assert value.startswith("begin")
    assert value.endswith("end [10,008 characters]")
    assert document["table"]["labels"][0] == value


def test_a_hole_in_a_column_of_names() -> None:
    """A point with a hole among thousands of values is judged, and quickly, as with few values."""
    rows = [(f"name {i}", "ab"[i % 2]) for i in range(3000)] + [(None, "a"), (None, "b")]
    labels = ["xy"[i % 2] for i in range(3000)] + ["y", "x"]
    index = CountIndex.from_rows(rows, labels, keep=["x0"])
    points = [(None, "a"), ("name 0", "a")]
    document = tell(index, points, own_missing="any", alpha=0)
    # With a name of an odd row x has no support, and y only by the hole of its last row.
    assert [point["certain"] for point in document["points"]] == [False, True]
    could = {row["feature"]: row["n_could"] for row in document["features"]["features"]}
    assert could == {"x0": 1}


def test_few_points_are_told_of_many_features() -> None:
    """With very many features the story stays short, and says so."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (60, 1500)).astype(np.int32)
    holes = np.where(rng.random(codes.shape) < 0.002, -1, codes)
    document = tell(CountIndex.from_codes(holes, rng.integers(0, 2, 60)), codes, alpha=0)
    assert document["sample"]["n_shown"] == 40_000 // 1500
    assert document["points"][0]["n_values_left_off"] == 1440
    judged = document["features"]
    assert len(judged["features"]) + judged["n_left_off"] == (holes < 0).any(axis=0).sum()


def test_the_limit_is_a_number_of_points() -> None:
    """None are told with a limit of 0, and fewer than none cannot be."""
    index, points = many_points(300)
    assert tell(index, points, limit=0, alpha=0)["points"] == []
    with pytest.raises(NullproofError, match="limit is -1"):
        tell(index, points, limit=-1, alpha=0)


@pytest.mark.parametrize(
    ("alpha", "written"),
    [(0, "0"), (0.1, "0.1"), (1, "1"), (Fraction(1, 3), "1/3"), (10**400, "1000")],
)
def test_smoothing_is_written_as_it_was_given(alpha: Any, written: str) -> None:
    """A float is written as a float, a fraction that none equals as a fraction."""
    index = CountIndex.from_rows([("a",), ("b",)], ["x", "y"])
    assert tell(index, [("a",)], alpha=alpha)["table"]["alpha"].startswith(written)


def test_what_to_clean_is_the_plan_of_the_open_points() -> None:
    """The stages are those of cleaning_plan for the open points, or a sample of them."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    cleaning = tell(index, new, alpha=0)["cleaning"]
    open_ones = new.filter(~pl.Series(certify(index, new, alpha=0).certain))
    plan = cleaning_plan(index, open_ones, alpha=0)
    told = [(stage["n_cells"], stage["columns"]) for stage in cleaning["stages"]]
    assert told == [(stage.n_cells, stage.columns()) for stage in plan.stages]
    assert cleaning["cases"] == plan.typical_cases
    assert cleaning["n_likely"] == cleaning_plan(index, open_ones, confidence=0.99, alpha=0).n_done
    assert cleaning["n_judged"] == cleaning["n_open"] == len(open_ones)
    assert (
        tell(index, new.filter(pl.Series(certify(index, new, alpha=0).certain)), alpha=0)[
            "cleaning"
        ]
        is None
    )


def test_sets_of_labels_are_counted_each_once() -> None:
    """The sets of possible labels, however many labels there are, are those of the verdicts."""
    index, points = many_points(300, seed=3)
    judged = certify(index, points, alpha=0)
    between = tell(index, points, alpha=0)["open"]["between"]
    sets = Counter(
        tuple(map(str, one.possible)) for one in judged if not one.tolerance >= 0.05
    ).most_common()
    assert {tuple(row["labels"]): row["n_points"] for row in between} == dict(sets[: len(between)])


def test_a_story_with_the_smallest_alpha() -> None:
    """A smoothing that no float holds leaves out the plan, and nothing else."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    document = tell(index, new, alpha=5e-324)
    assert document["cleaning"] is None
    assert document["certain"]["n_certain"] == int(certify(index, new, alpha=5e-324).certain.sum())


def test_a_table_whose_holes_cannot_matter_explains_itself() -> None:
    """A report says first which columns were left out and which holes cannot matter."""
    rows = [(f"id {k}", "u" if k == 0 else None, "ab"[k % 2]) for k in range(30)]
    with pytest.warns(NullproofWarning):
        index = CountIndex.from_rows(rows, ["p", "q"] * 15)
    document = tell(index, [row[1:] for row in rows])
    assert document["notes"][:2] == [
        'Left out, since it names the rows: \'x0\'; to keep it: keep=("x0",) or --keep "x0".',
        "All 29 missing cells are in columns with one value or one bin, where they cannot "
        "matter: 'x1'.",
    ]
