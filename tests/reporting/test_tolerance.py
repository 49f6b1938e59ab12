"""What a report says about bias and about points' own holes: the library's numbers, in every format."""

from __future__ import annotations

import json
import math
import random
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from support.cleaning_oracle import index_of, options_of
from support.strategies import random_case

from nullproof import CountIndex, NullproofError, certify, report
from nullproof.curve import BIASES
from nullproof.model import Model
from nullproof.reporting.html.curve import curve_picture
from nullproof.verdicts import verdicts
from nullproof.words import tolerance as amount

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
HOSTILE = "<b>&\"x'</b>"


def table(n_rows: int = 400, seed: int = 5) -> tuple[CountIndex, list[Any], list[str]]:
    """A table with holes, points with holes of their own, and their true labels."""
    rng = np.random.default_rng(seed)
    names = np.array(["yes", "no", HOSTILE])
    labels = rng.integers(0, 3, n_rows)
    cells: Any = (labels[:, None] + rng.integers(0, 3, (n_rows, 4))) % 4
    cells = cells.astype(str).astype(object)
    cells[rng.random(cells.shape) < 0.12] = None
    rows = [*map(tuple, cells)]
    index = CountIndex.from_rows(rows, names[labels].tolist(), features=["a", "b", "c", "d"])
    return index, rows[:90], names[labels][:90].tolist()


INDEX, POINTS, TRUTH = table()
OPTIONS: list[dict[str, Any]] = [
    {},
    {"own_missing": "any"},
    {"bias": 0.02},
    {"bias": 0.02, "own_missing": "any"},
    {"bias": {"a": 1.0, "*": 0.1}},
    {"bias": {"a": 0.0}},
]


def assert_numbers(document: dict[str, Any], index: CountIndex, points: Any, options: Any) -> None:
    """Everything about bias is what certify says."""
    judged = certify(index, points, **options)
    found = {one["verdict"]: one["n_points"] for one in document["verdicts"]["groups"]}
    assert found == {name: (judged.verdict == name).sum() for name in ("certain", "holds", "open")}
    assert document["verdicts"]["threshold"] == judged.threshold
    assert document["certain"]["n_certain"] == found["certain"]
    assert sum(row["n_certain"] for row in document["certain"]["labels"]) == found["certain"]
    assert document["open"]["n_points"] == found["open"]
    assert sum(row["n_points"] for row in document["open"]["between"]) <= found["open"]
    columns = judged.curve().columns()
    assert {name: document["curve"][name] for name in columns} == columns
    for point in document["points"]:
        one = judged[point["point"]]
        assert point["verdict"] == judged.verdict[point["point"]]
        assert point["predicted"] == (None if one.predicted is None else str(one.predicted))
        assert point["tolerance"] == (None if math.isnan(one.tolerance) else one.tolerance)
        assert point["tolerance_rival"] == (None if one.rival is None else str(one.rival))
        assert point["n_own_missing"] == one.n_own_missing
        assert point["certain"] == (point["verdict"] == "certain") == (point["label"] is not None)


@pytest.mark.parametrize("options", OPTIONS)
def test_numbers_are_those_of_the_library(options: Any) -> None:
    """Groups, curve, tolerances and rivals are those of certify, for every reading and bias."""
    document = report(INDEX, POINTS, alpha=1, **options).document
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert_numbers(document, INDEX, POINTS, {"alpha": 1, **options})
    model = Model(INDEX, 1)
    encoded = INDEX.encode(POINTS)
    certain = {
        reading: int(verdicts(model, encoded.read(reading)).certain.sum())
        for reading in ("skip", "any")
    }
    own = document["own_missing"]
    assert own["n_certain"] == certain
    assert own["n_points"] == sum(None in point for point in POINTS)
    assert own["reading"] == options.get("own_missing", "skip")
    assert all(0 <= share <= 1 for share in document["curve"]["drawn"]["share"])
    n_drawn = document["curve"]["drawn"]["n_hold"]
    assert n_drawn == sorted(n_drawn, reverse=True)
    assert {*BIASES} <= {*document["curve"]["drawn"]["bias"]}


@pytest.mark.parametrize("seed", range(40))
def test_numbers_of_small_tables(seed: int) -> None:
    """The same on tables with unseen values, candidate sets and priors."""
    rng = random.Random(seed)
    case = random_case(rng)
    index, points = index_of(case), list(case.points)
    options = options_of(case, index) | {"bias": rng.choice([1, 0.3, 0])}
    options |= {"own_missing": rng.choice(["skip", "any"])}
    made = report(index, points, **options)
    assert_numbers(made.document, index, points, options)
    assert made.html()
    assert made.markdown()


def test_what_is_right() -> None:
    """With the true labels the report counts the right predictions of each kind, and no verdict changes."""
    plain = report(INDEX, POINTS, alpha=1).document
    made = report(INDEX, POINTS, alpha=1, truth=TRUTH)
    judged = certify(INDEX, POINTS, alpha=1)
    right = np.array([a == b for a, b in zip(judged.predicted, TRUTH, strict=True)])
    for one, before in zip(
        made.document["verdicts"]["groups"], plain["verdicts"]["groups"], strict=True
    ):
        assert one["n_right"] == right[judged.verdict == one["verdict"]].sum()
        assert {**one, "n_right": None, "n_known": None} == before
    columns = judged.curve(TRUTH).columns()
    assert made.document["curve"]["accuracy_hold"] == columns["accuracy_hold"]
    unknown = {"truth": None, "right": None}
    assert [point | unknown for point in made.document["points"]] == plain["points"]
    for point in made.document["points"]:
        assert point["truth"] == TRUTH[point["point"]]
        assert point["right"] == right[point["point"]]
    assert "right among the rest" in made.html()
    assert "right among the rest" in made.markdown()
    certain = made.document["verdicts"]["groups"][0]
    assert f">{certain['n_right']} of {certain['n_known']}<" in made.html()
    with pytest.raises(NullproofError, match="truth has 1 labels but there are 90 points"):
        report(INDEX, POINTS, alpha=1, truth=["yes"])


@pytest.mark.parametrize("options", OPTIONS)
def test_pages_tell_it(options: Any) -> None:
    """The page and Markdown say what is assumed, how far predictions hold, and who catches up."""
    made = report(INDEX, POINTS, alpha=1, **options)
    page, written, document = made.html(), made.markdown(), made.document
    up_to = document["verdicts"]["up_to"]
    for form in (page, written):
        assert f"holds up to {up_to} if the label stays the same" in form
        assert "How far the predictions hold" in form
        assert "catches up" in form
        assert HOSTILE not in form
    reading = options.get("own_missing", "skip")
    assert ("not known, left out" in page) == (reading == "skip")
    assert ('<em class="hole">missing</em>' in page) == (reading == "any")
    assert 'data-verdict="holds"' in page
    for bias, n_hold in zip(document["curve"]["bias"], document["curve"]["n_hold"], strict=True):
        assert re.search(rf"^\| {bias:g} \| {n_hold:,} \|", written, re.MULTILINE)
    held = sum(one["n_points"] for one in document["verdicts"]["groups"][:2])
    strict = "bias" not in options or document["cleaning"]["goal"] == "certain"
    said = "are certain" if strict else f"{held} of 90 predictions hold up to {up_to}"
    assert said in document["title"]
    assert ("then holding" in page) == (not strict)


def test_the_picture() -> None:
    """The curve is well-formed SVG within its frame, falls, and says its numbers in words."""
    document = report(INDEX, POINTS, alpha=1).document
    root = ElementTree.fromstring(curve_picture(document))
    assert root.get("role") == "img"
    width, height = (float(root.get(side, "0")) for side in ("width", "height"))
    line = next(one for one in root if one.tag.endswith("polyline"))
    places = [tuple(map(float, place.split(","))) for place in line.get("points", "").split()]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    assert places == sorted(places)
    assert [y for _, y in places] == sorted(y for _, y in places)
    assert "up to 0.05" in root.get("aria-label", "")


def test_no_points_have_no_curve() -> None:
    """Without points there is nothing to hold, and nothing is said of it."""
    made = report(INDEX, np.empty((0, 4), dtype=object), alpha=0)
    assert made.document["verdicts"]["groups"][0]["share"] is None
    assert 'id="tolerance"' not in made.html()
    assert "How far the predictions hold" not in made.markdown()
    assert made.document["own_missing"]["n_points"] == 0


@pytest.mark.parametrize("options", [{}, {"bias": 0.02}])
def test_the_plan_is_about_the_bias(options: Any) -> None:
    """What to clean and which feature to complete is told of the points that do not hold up to it."""
    document = report(INDEX, POINTS, alpha=1, **options).document
    is_open = ~certify(INDEX, POINTS, alpha=1, **options).certain
    assert document["cleaning"]["n_open"] == document["features"]["n_open"] == is_open.sum()
    assert ("up to the bias" in document["features"]["meaning"]) == bool(options)


def test_a_bias_is_never_written_larger_than_it_is() -> None:
    """Three decimals, rounded down; what has no more is written as it is."""
    shown = {0.0: "0", 0.05: "0.05", 0.29: "0.29", 1.0: "1", 0.1239: "0.123", 0.9999: "0.999"}
    assert {bias: amount(bias) for bias in shown} == shown
    assert amount(1e-5) == "under 0.001"
    assert all(float(amount(bias)) <= bias for bias in np.linspace(0.001, 1, 997).tolist())
