"""The picture of support intervals: what it shows, in shapes and in words."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.hostile import LABELS, LONG

from nullproof import CountIndex, certify
from nullproof.cli.demo import load
from nullproof.show import (
    WIDTH,
    LeadBar,
    factor,
    intervals,
    leads,
    support,
)

ZERO = -math.inf
FIGURE = Path(__file__).parent.parent / "docs/figures/intervals.svg"


def bars(picture: str) -> list[tuple[str, float, float]]:
    """Per label: how it is drawn, and from where to where."""
    found = []
    for group in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}g"):
        for rect in group.findall("{http://www.w3.org/2000/svg}rect"):
            start = float(rect.attrib["x"])
            found.append((group.attrib["class"], start, start + float(rect.attrib["width"])))
    return found


def test_a_clear_bar_is_certain() -> None:
    """One bar right of all others: drawn as certain, said to be clear, with a line at its start."""
    picture = intervals(["yes", "no"], [-2.0, -9.0], [-1.0, -3.0])
    (kind, start, stop), (other, left, right) = bars(picture)
    assert (kind, other) == ("np-certain", "np-out")
    assert 0 <= left < right < start < stop <= WIDTH
    assert "np-clear" in picture
    assert "yes lies clear of all others: certain" in picture


def test_overlapping_bars_are_open() -> None:
    """Bars that overlap, or touch, are drawn as open; the third that cannot win is not."""
    for top in (-3.0, -5.0):
        picture = intervals(["a", "b", "c"], [-4.0, -5.0, -9.0], [-1.0, top + 1, -8.0])
        assert [kind for kind, *_ in bars(picture)] == ["np-open", "np-open", "np-out"]
        assert "a and b overlap: not certain" in picture
        assert "np-clear" not in picture


def test_the_scale_is_logarithmic() -> None:
    """Equal ratios of support have equal lengths."""
    ((_, a, b), (_, c, d)) = bars(intervals(["a", "b"], [-30, -10], [-20, 0]))
    assert b - a == pytest.approx(d - c, abs=0.2)


def test_support_of_zero() -> None:
    """0 lies left of everything and is written so, by None and by -inf; a bar from 0 breaks off."""
    picture = intervals(["a", "b", "c"], [None, -3.0, ZERO], [-1.0, -2.0, None])
    (_, a, _), (_, b, _), (_, c, end) = bars(picture)
    assert c < a <= b
    assert end < a
    assert "stroke-dasharray" in picture
    assert ">0 to 0.368<" in picture
    assert ">0<" in picture
    nothing = intervals(["a", "b"], [ZERO, ZERO], [ZERO, ZERO])
    assert len(bars(nothing)) == 2
    assert "nan" not in nothing


def test_one_label_and_equal_supports() -> None:
    """A scale without extent is no division by zero."""
    for low, high in (([-1.0], [-1.0]), ([-2.0, -2.0], [-2.0, -2.0])):
        for _, start, stop in bars(intervals("ab"[: len(low)], low, high)):
            assert 0 <= start < stop <= WIDTH


def test_exact_verdicts_outweigh_the_drawing() -> None:
    """What floats cannot tell apart, the exact verdict does."""
    same = [-1.0, -1.0]
    assert [k for k, *_ in bars(intervals("ab", same, same))] == ["np-open"] * 2
    certain = intervals("ab", same, same, possible=[True, False])
    assert [k for k, *_ in bars(certain)] == ["np-certain", "np-out"]


def test_texts_are_texts() -> None:
    """Labels are escaped, shortened, and the picture stays well formed."""
    labels = [*LABELS, LONG]
    picture = intervals(labels, [-3.0] * 4, [-1.0] * 4)
    ElementTree.fromstring(picture)
    assert "<script" not in picture
    assert "<img" not in picture
    assert len(picture) < 6000


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.5, "0.500"),
        (1.0, "1.00"),
        (0.00123456, "0.00123"),
        (1e-7, "1.00·10⁻⁷"),
        (9.999e-8, "1.00·10⁻⁷"),
        (12.3, "1.23·10¹"),
    ],
)
def test_support_is_written(value: float, written: str) -> None:
    """Three digits, and a power of ten where it is small."""
    assert support(math.log(value)) == written
    assert support(-2000.0) == "2.58·10⁻⁸⁶⁹"
    assert support(ZERO) == "0"


def test_notebooks_show_it() -> None:
    """A certificate is shown as the picture, certificates as a table, a certain and an open point."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    result = certify(index, new, alpha=0)
    assert result[0]._repr_html_().count("<svg") == 1
    shown = result._repr_html_()
    assert shown.count("<svg") == 2
    assert re.search(r"point \d: Certificate\(certain: \w+ in every world\)", shown)
    places = [int(place) for place in re.findall(r"<tr><td>(\d+)</td>", shown)]
    tolerances = np.nan_to_num(result.tolerance[places], nan=-1)
    assert (np.diff(tolerances) >= 0).all()
    assert len(places) == len(result)
    assert "point 2: Certificate(open: no, else yes, since not even a bias of 0 decides)" in shown
    groups = "Certificates: 5 of 8 points certain, 1 holds up to a bias of 0.05, 2 open"
    assert groups in shown
    assert repr(result).startswith(groups)
    assert repr(result[3]) == "Certificate(holds: yes up to a bias of 0.484, else no)"
    for bias, worlds in ((0.4, "every world"), ({"age": 0}, "every world of this bias")):
        one = certify(index, new, bias=bias, alpha=0)[0]
        assert repr(one) == f"Certificate(certain: yes in {worlds})"
    words = re.search('aria-label="([^"]*)"', result[2]._repr_html_())
    assert words
    assert "overlap: not certain" in words[1]


def test_the_figure_of_the_readme_is_current() -> None:
    """docs/figures/intervals.svg shows what the demo is now; scripts/intervals_figure.py redraws it."""
    script = runpy.run_path(str(FIGURE.parents[2] / "scripts/intervals_figure.py"))
    assert FIGURE.read_text("utf-8") == script["figure"]()


def test_factors() -> None:
    """Few digits, whatever the size, and the sign does not matter."""
    logs = (0.0, math.log(3.2), -math.log(3.2), math.log(42), math.log(1234), 1000.0)
    assert [factor(log) for log in logs] == [
        "× 1.00",
        "× 3.20",
        "× 3.20",
        "× 42.0",
        "× 1,234",
        "× 1.97·10⁴³⁴",
    ]


def test_leads_are_drawn_on_their_side() -> None:
    """What speaks for the label lies on the right; infinite terms end at the edge; text is escaped."""
    cells = [
        LeadBar("<b>", 0.5, 1.0, 2.0, "for"),
        LeadBar("against", -2.0, -1.0, -0.5, "against"),
        LeadBar("ruled out", -math.inf, math.nan, math.inf, "both"),
    ]
    picture = leads(cells, "yes", "<no>")
    found = [
        (float(x), float(x) + float(width))
        for x, width in re.findall(
            r'<rect class="np-bar" x="([\d.]+)" y="\d+" width="([\d.]+)"', picture
        )
    ]
    middle = WIDTH / 2
    assert found[0][0] > middle > found[1][1]
    assert found[2] == pytest.approx((2, WIDTH - 2), abs=0.1)
    assert "<b>" not in picture
    assert "<no>" not in picture
    assert leads([LeadBar("prior", 0.0, 0.0, 0.0, "even")], "yes", "no").count("<rect") == 1
