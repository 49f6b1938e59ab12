"""Results in a notebook or a prompt: short, well formed, with the numbers, and never run what they show."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from support.command_line import demo_tables
from support.hostile import hostile_index, hostile_points

from nullproof import (
    CountIndex,
    certify,
    cleaning_plan,
    explain,
    label_odds,
    poison,
    radius,
    report,
    truth,
)
from nullproof.attacks import certified_accuracy_curve

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")


@pytest.fixture(scope="module")
def demo_results() -> dict[str, Any]:
    """One result of every kind about the demo's customers."""
    train, new = demo_tables()
    return results(CountIndex.from_table(train, "churn", ignore=["customer"]), new)


def results(index: CountIndex, points: Any) -> dict[str, Any]:
    """One result of every kind."""
    judged = certify(index, points, alpha=0)
    labels = judged.predicted.tolist()
    return {
        "index": index,
        "certificates": judged,
        "certificate": judged[0],
        "radii": radius(index, points, alpha=0),
        "odds": label_odds(index, points, alpha=0),
        "plan": cleaning_plan(index, points, alpha=0),
        "attack": poison(index, points, alpha=0, steps=0),
        "explanation": explain(index, points[0], alpha=0),
        "truth": truth(judged, labels),
        "accuracy": certified_accuracy_curve(index, points, labels, alpha=0),
        "report": report(index, points, alpha=0),
    }


def drawings(html: str) -> list[ElementTree.Element]:
    """The pictures of an output, read."""
    return [ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def test_every_result_shows_itself(demo_results: dict[str, Any]) -> None:
    """Each has a short text and, if it has HTML, one without scripts or addresses, pictures with words."""
    for name, result in demo_results.items():
        assert 10 < len(repr(result)) < 4000, name
        assert not re.search(r"object at 0x|array\(|dtype", repr(result)), name
        if hasattr(result, "_repr_html_") and name != "report":
            shown = result._repr_html_()
            assert not re.search(r"<script|\son\w+=|https?://(?!www\.w3\.org/)", shown), name
            for picture in drawings(shown):
                assert picture.get("role") == "img", name
                assert picture.get("aria-label"), name


def test_hostile_texts_stay_texts() -> None:
    """Markup in labels, features and values is text wherever a result is shown."""
    for name, result in results(hostile_index(), hostile_points()).items():
        if hasattr(result, "_repr_html_") and name != "report":
            shown = result._repr_html_()
            assert "<script" not in shown, name
            assert "<img" not in shown, name
            assert drawings(shown) or name != "certificate"
            assert len(shown) < 200_000, name


def test_numbers_are_those_of_the_result(demo_results: dict[str, Any]) -> None:
    """Texts and tables count what the arrays hold; points come weakest first."""
    found, index, judged = demo_results, demo_results["index"], demo_results["certificates"]
    for shown in (repr(judged), judged._repr_html_()):
        assert "5 of 8 points certain" in shown
        assert "1 holds" in shown
        assert "2 open" in shown
    places = [int(place) for place in re.findall(r"<tr><td>(\d+)</td>", judged._repr_html_())]
    assert (np.diff(np.nan_to_num(judged.tolerance[places], nan=-1)) >= 0).all()
    assert sorted(places) == [*range(8)]
    assert "0.484" in repr(judged[3])
    assert f"{index.n_missing} missing cells" in repr(index)
    assert str(found["attack"].n_cells) in repr(found["attack"])
    assert "8 of 8 predictions right" in repr(found["truth"])


def test_equal_and_zero_supports_are_drawn() -> None:
    """A scale without extent is no division by zero, and a support of 0 has a place on it."""
    for rows, labels in (
        ([("a",)], ["x"]),
        ([("a",), ("a",)], ["x", "y"]),
        ([("a",), ("b",), ("b",), (None,)], ["x", "y", "y", "y"]),
    ):
        one = certify(CountIndex.from_rows(rows, labels), ("a",), alpha=0)
        (picture,) = drawings(one._repr_html_())
        for bar in picture.iter("{http://www.w3.org/2000/svg}rect"):
            assert 0 <= float(bar.attrib["x"]) < math.inf
            assert 0 < float(bar.attrib["width"]) < math.inf
