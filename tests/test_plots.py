"""Charts for notebooks: what they show, and that nothing in the data breaks them."""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from support.hostile import hostile_index, hostile_points

from nullproof import CountIndex, certify, radius
from nullproof.charts import svg
from nullproof.cleaning.simulation import Curve
from nullproof.cli.demo import load
from nullproof.errors import MissingExtraError, NullproofError
from nullproof.plots import (
    chart_rows,
    plot_cleaning,
    plot_intervals,
    plot_missing,
    plot_radius,
    plot_tolerance,
    radius_chart,
    tolerance_rows,
)
from nullproof.radii.cells import radii
from nullproof.show import histogram
from nullproof.tolerances import Tolerances

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.skipif(
        importlib.util.find_spec("vl_convert") is None, reason="the extra report is not installed"
    ),
]


@pytest.fixture(scope="module")
def demo() -> tuple[CountIndex, Any]:
    train, new = load()
    return CountIndex.from_table(train, "churn", ignore=["customer"]), new


def words(drawn: str) -> list[str]:
    root = ElementTree.fromstring(drawn)
    return [node.text or "" for node in root.iter() if node.tag.endswith("text")]


def test_radius_bars(demo: tuple[CountIndex, Any]) -> None:
    """Every bar is named and counted, and the points without a bar are told of."""
    index, new = demo
    for given in (radii(index, new, alpha=0), radius(index, new, alpha=0)):
        shown = words(svg(plot_radius(given)))
        assert "3 not certain, 0 beyond any attack" in shown
        assert {"1", "2", "4", "6 to 7"} <= set(shown)


def test_tolerance(demo: tuple[CountIndex, Any]) -> None:
    """A step line through every tolerance, from 0 to 1; with the truth the accuracy of both parts."""
    index, new = demo
    result = certify(index, new, alpha=0)
    shares = {row["bias"]: row["share"] for row in tolerance_rows(result, None)}
    between = result.tolerance[3]
    assert shares == {0: 6 / 8, between: 6 / 8, 1: 5 / 8}
    truth = ["yes", "no", "yes", "no", "yes", "no", "yes", "no"]
    rows = tolerance_rows(result, truth)
    last = {row["line"]: row["share"] for row in rows if row["bias"] == 1}
    assert last == {"hold": 5 / 8, "right of those that hold": 1, "right of the rest": 0}
    for given in (None, truth):
        assert {"bias", "predictions", "hold"} <= set(words(svg(plot_tolerance(result, given))))
    with pytest.raises(NullproofError, match="truth has 1 labels but there are 8 points"):
        plot_tolerance(result, ["yes"])
    with pytest.raises(NullproofError, match="give what certify found for many points"):
        plot_tolerance(result[0])


def test_tolerance_of_many_and_of_no_points(demo: tuple[CountIndex, Any]) -> None:
    """A line of many steps is thinned and keeps both ends; without points it is flat."""
    index, new = demo
    result = certify(index, new, alpha=0)
    many = np.linspace(0.001, 0.999, 5000)
    nobody = np.zeros(5000, dtype=np.int32)
    result.__dict__["tolerances"] = Tolerances(many, nobody, nobody)
    rows = tolerance_rows(result, None)
    assert len(rows) == 400
    assert [(row["bias"], row["share"]) for row in (rows[0], rows[-1])] == [(0, 1), (1, 0)]
    assert all(a["share"] >= b["share"] for a, b in itertools.pairwise(rows))
    nothing = tolerance_rows(certify(index, new[:0], alpha=0), None)
    assert [row["share"] for row in nothing] == [0, 0]


def test_missing(demo: tuple[CountIndex, Any]) -> None:
    """Every feature and label has a place, with the share of its missing cells."""
    index, _ = demo
    chart = plot_missing(index)
    assert {*index.features, "no", "yes"} <= set(words(svg(chart)))
    values = chart.to_dict()["data"]["values"]
    found = {(row["feature"], row["label"]): row["missing"] for row in values}
    assert found["in_us", "yes"] == 3
    assert sum(found.values()) == index.n_missing


def test_intervals(demo: tuple[CountIndex, Any]) -> None:
    """One or more certificates; the bars are their supports as powers of ten."""
    index, new = demo
    result = certify(index, new, alpha=0)
    rows = chart_rows(result, [0, 2])
    assert [row["name"] for row in rows] == ["point 0"] * 2 + ["point 2"] * 2
    assert [row["kind"] for row in rows] == ["never wins", "certain", "possible", "possible"]
    assert rows[1]["low"] == pytest.approx(result[0].min_log_support["yes"] / math.log(10))
    for given in (result, result[2]):
        assert {"no", "yes"} <= set(words(svg(plot_intervals(given))))
    with pytest.raises(NullproofError, match="give what certify found"):
        plot_intervals([1, 2])  # type: ignore[arg-type]


def test_intervals_down_to_zero() -> None:
    """A support of 0 is a number on the scale, left of all others."""
    index = CountIndex.from_rows([("a",), ("b",), (None,)], ["x", "y", "y"])
    rows = chart_rows(certify(index, ("a",), alpha=0), None)
    zero = next(row for row in rows if row["least"] == "0")
    assert math.isfinite(zero["low"])
    assert zero["low"] < min(row["low"] for row in rows if row is not zero)


@pytest.mark.parametrize(
    "values", [[1], [1, 1, 5], [3, 900, 17, 17], list(range(1, 400)), [10**9, 1]]
)
@pytest.mark.parametrize("n_bars", [8, 10])
def test_histogram(values: list[int], n_bars: int) -> None:
    """Every radius is in exactly one bar, bars follow each other without gaps."""
    rows = histogram(np.array(values, dtype=float), n_bars)
    assert sum(row["n_points"] for row in rows) == len(values)
    for row in rows:
        assert row["start"] <= row["stop"]
        assert row["n_points"] == sum(row["start"] <= v <= row["stop"] for v in values)
    assert all(a["stop"] + 1 == b["start"] for a, b in itertools.pairwise(rows))
    assert histogram(np.empty(0), n_bars) == []


def test_missing_cells_count_candidates() -> None:
    """A set of candidates is missing too, and is told apart from a cell without any."""
    rows = [("a", None), ({"a", "b"}, "x"), ("b", "y"), (None, "x"), ("c", "x")]
    missing, candidates = CountIndex.from_rows(rows, list("ppqqq")).missing_cells()
    assert missing.tolist() == [[1, 1], [1, 0]]
    assert candidates.tolist() == [[1, 0], [0, 0]]


def test_hostile_texts_stay_texts() -> None:
    """Markup in the data is written as text in every chart."""
    index, points = hostile_index(), hostile_points()
    charts = [
        plot_missing(index),
        plot_intervals(certify(index, points, alpha=0)),
    ]
    for chart in charts:
        drawn = svg(chart)
        ElementTree.fromstring(drawn)
        assert "<script" not in drawn
        assert "<img" not in drawn


def test_charts_take_the_colours_of_the_page(demo: tuple[CountIndex, Any]) -> None:
    """Text has the current colour and there is no background, so light and dark both work."""
    drawn = svg(radius_chart(histogram(np.array([1.0, 2.0, 2.0]), 10)))
    assert 'fill="currentColor"' in drawn
    assert "white" not in drawn
    # Two charts on one page must not share names, and the same chart is always the same text.
    assert " id=" not in drawn
    assert 'fill="#000' not in drawn


@pytest.mark.parametrize("lacking", ["altair", "vl_convert"])
def test_a_missing_extra_is_one_sentence(
    demo: tuple[CountIndex, Any], monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """Without the extra the message gives its install line."""
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == lacking:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'pip install "nullproof\[report\]"'):
        svg(plot_missing(demo[0]))


def test_cleaning_has_a_line_for_each_curve() -> None:
    """Shares of done points over cells, as the curves tell them; equal names stay apart."""
    curves = [
        Curve(name, np.array([0, 5, 9]), np.array([1, 2, 4]), 4, 9)
        for name in ("ours", "random", "ours")
    ]
    chart = plot_cleaning(curves).to_dict()
    rows = chart["data"]["values"]
    assert [row["share"] for row in rows[:3]] == [0.25, 0.5, 1.0]
    assert len({row["order"] for row in rows}) == 3
    assert plot_cleaning(curves[0]).to_dict()["data"]["values"] == rows[:3]
    assert "points done" in words(svg(plot_cleaning(curves)))


def test_notebooks_draw_without_a_network(demo: tuple[CountIndex, Any]) -> None:
    """What a notebook gets is the drawing itself: no script, no address, ids of its own."""
    pictures = [plot_missing(demo[0]), plot_intervals(certify(*demo))]
    drawn = [picture._repr_html_() for picture in pictures]
    for text in drawn:
        assert text.startswith("<svg")
        addresses = {*re.findall(r"https?://[^\"]*", text)}
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert drawn[0] == plot_missing(demo[0])._repr_html_()
    own = [{*re.findall(r'id="([^"]*)"', text)} for text in drawn]
    assert not own[0] & own[1]
    assert all(f"#{name}" in text for names, text in zip(own, drawn, strict=True) for name in names)
    assert "save('chart.svg')" in repr(pictures[0])


def test_pictures_are_saved(demo: tuple[CountIndex, Any], tmp_path: Path) -> None:
    """Four kinds of files, each what its ending says; another ending is one sentence."""
    picture = plot_missing(demo[0])
    for ending, start in (
        (".svg", b"<svg"),
        (".png", b"\x89PNG"),
        (".html", b"<!doc"),
        (".json", b"{"),
    ):
        picture.save(tmp_path / f"chart{ending}")
        assert (tmp_path / f"chart{ending}").read_bytes().startswith(start)
    with pytest.raises(NullproofError, match=r"chart\.gif ends in none of \.svg, \.png"):
        picture.save(tmp_path / "chart.gif")
    assert not (tmp_path / "chart.gif").exists()
