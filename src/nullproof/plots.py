"""Charts for notebooks and reports: support intervals, tolerance, radii, holes, progress of cleaning.

=========================  ==============================================================================
`plot_intervals`           per label a bar from its least to its greatest support, of what `certify` found
`plot_tolerance`           how many predictions hold as the bias grows, and how many of them are right
`plot_radius`              how many points have which radius
`plot_certified_accuracy`  how many predictions are right and stay so as attacks grow
`plot_missing`             how many cells of each feature and label are missing
=========================  ==============================================================================

Each is a `Picture`, which a notebook shows without a network; the charts are Altair's (``.chart``). What
they show is worked out here as plain rows first. Backgrounds are transparent, text takes the colour of
the page, and the other colours are readable on light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nullproof.charts import Picture, altair, themed
from nullproof.counts.index import CountIndex
from nullproof.data.points import evenly
from nullproof.errors import NullproofError
from nullproof.model.certify import Certificate, Certificates
from nullproof.radii.accuracy import AccuracyCurve
from nullproof.radii.results import Radii
from nullproof.show import CERTAIN, LONGEST_LABEL, OPEN, OUT, histogram, interval_rows, support
from nullproof.words import cut, span

__all__ = [
    "Picture",
    "plot_certified_accuracy",
    "plot_intervals",
    "plot_missing",
    "plot_radius",
    "plot_tolerance",
]

BLUE, PALE = "#3b7dd8", "#8fa3b8"
WIDTH = 380
BARS = 10
_KINDS = {"certain": "certain", "open": "possible", "out": "never wins"}
_MOST_POINTS = 6
_MOST_LABELS = 40
_MOST_FEATURES = 60
_MOST_STEPS = 400
_TICKS = [0, 0.01, 0.05, 0.1, 0.2, 0.5, 1]
_SIZES = [0, *(n * 10**e for e in range(8) for n in (1, 3))]
_LINES = ("hold", "right of those that hold", "right of the rest")


def plot_intervals(certificates: Certificate | Certificates, *, points: Any = None) -> Picture:
    """Draw per label a bar from its least to its greatest support.

    A point is certain if one of its bars lies right of all others.

    Parameters
    ----------
    certificates
        What `certify` found.
    points
        Positions of the points to draw, by default the first ones.

    Returns
    -------
    Picture
        A support of 0 is drawn at the left end of the scale.

    Examples
    --------
    >>> from nullproof import CountIndex, certify
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> plot_intervals(certify(index, [("a", "x"), ("a", "y")]))
    Picture: a notebook shows it, save('chart.svg') writes it, chart is the Altair chart
    """
    alt = altair()
    rows = chart_rows(certificates, points)
    bars = alt.Chart(alt.Data(values=rows)).mark_bar(height=12, cornerRadius=3, clip=True)
    colours = alt.Scale(domain=[*_KINDS.values()], range=[CERTAIN, OPEN, OUT])
    drawn = bars.encode(
        x=alt.X("low:Q", title="support, as a power of ten")
        .scale(zero=False, nice=False)
        .axis(tickCount=4, grid=False),
        x2="high:Q",
        y=alt.Y("label:N", title=None, sort=None),
        color=alt.Color("kind:N", title=None, scale=colours).legend(orient="top"),
        tooltip=["label:N", "kind:N", "least:N", "greatest:N"],
    ).properties(width=WIDTH)
    row = alt.Row("name:N", title=None, sort=[*dict.fromkeys(one["name"] for one in rows)]).header(
        labelAngle=0, labelAlign="left", labelOrient="top", labelAnchor="start"
    )
    faceted = drawn.encode(row=row).resolve_scale(x="independent", y="independent")
    return Picture(themed(faceted))


def plot_tolerance(certificates: Certificates, truth: Any = None) -> Picture:
    """Draw how many predictions hold as the bias grows from 0 to 1, as a step line.

    Parameters
    ----------
    certificates
        What `certify` found.
    truth
        The true label of each point: draws how many predictions are right too, of those that hold and
        of the rest.

    Examples
    --------
    >>> from nullproof import CountIndex, certify
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> plot_tolerance(certify(index, [("a", "x"), ("a", "y")]))
    Picture: a notebook shows it, save('chart.svg') writes it, chart is the Altair chart
    """
    alt = altair()
    rows = tolerance_rows(certificates, truth)
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-before", strokeWidth=2)
        .encode(
            x=alt.X("bias:Q", title="bias")
            .scale(type="sqrt", domain=[0, 1])
            .axis(values=_TICKS, grid=False, format="~g"),
            y=alt.Y("share:Q", title="predictions")
            .axis(format="%", tickCount=5, gridOpacity=0.3)
            .scale(domain=[0, 1]),
            color=alt.Color("line:N", title=None, sort=None)
            .scale(domain=[*_LINES[: 1 if truth is None else 3]], range=[CERTAIN, BLUE, OPEN])
            .legend(orient="top", labelLimit=0, columnPadding=28),
            tooltip=["line:N", "bias:Q", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=WIDTH, height=220)
    )
    return Picture(themed(chart))


def plot_radius(radii: Radii | Any) -> Picture:
    """Draw how many certain points have which radius.

    Parameters
    ----------
    radii
        What `radius` or `radii` found. Points that are open (0) and points beyond any attack
        (infinite) have no bar; the title tells how many there are.

    Examples
    --------
    >>> from nullproof import CountIndex, radius
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> plot_radius(radius(index, [("a", "x"), ("a", "y")]))
    Picture: a notebook shows it, save('chart.svg') writes it, chart is the Altair chart
    """
    radius = np.asarray(radii.radius if isinstance(radii, Radii) else radii, dtype=np.float64)
    finite = radius[(radius > 0) & np.isfinite(radius)]
    said = f"{int((radius == 0).sum()):,} not certain, {int(np.isinf(radius).sum()):,} beyond any attack"
    n_left = int(np.isnan(radius).sum())
    said += f", {n_left:,} not worked out" if n_left else ""
    return Picture(radius_chart(histogram(finite, BARS)).properties(title=said))


def plot_certified_accuracy(curves: AccuracyCurve | Sequence[AccuracyCurve]) -> Picture:
    """Draw the share of predictions that are right and stay so, against the size of the attack.

    Parameters
    ----------
    curves
        What `certified_accuracy_curve` found, or several of them, say for cells and for rows.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> from nullproof.radii import certified_accuracy_curve
    >>> curve = certified_accuracy_curve(index, [("a", "x"), ("b", "y")], ["yes", "no"])
    >>> plot_certified_accuracy(curve)
    Picture: a notebook shows it, save('chart.svg') writes it, chart is the Altair chart
    """
    alt = altair()
    chart = (
        alt.Chart(alt.Data(values=accuracy_rows(curves)))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("k:Q", title="cells to blank or falsify, or rows to add")
            .scale(type="symlog")
            .axis(grid=False, values=_SIZES, format="~s"),
            y=alt.Y("share:Q", title="right whatever the attack")
            .axis(format="%", tickCount=5, gridOpacity=0.3)
            .scale(domain=[0, 1]),
            color=alt.Color("threat:N", title=None, sort=None)
            .scale(range=[CERTAIN, BLUE])
            .legend(orient="top"),
            tooltip=["threat:N", "k:Q", "n:Q", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=WIDTH, height=220)
    )
    return Picture(themed(chart))


def plot_missing(index: CountIndex) -> Picture:
    """Draw the share of missing cells per feature and label, features with most holes first.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> plot_missing(index)
    Picture: a notebook shows it, save('chart.svg') writes it, chart is the Altair chart
    """
    alt = altair()
    missing, _ = index.missing_cells()
    order = np.argsort(-missing.sum(axis=1), kind="stable")[:_MOST_FEATURES].tolist()
    labels = np.sort(np.argsort(-index.label_counts, kind="stable")[:_MOST_LABELS]).tolist()
    rows = [
        {
            "feature": index.features[j],
            "label": str(index.labels[i]),
            "missing": int(missing[j, i]),
            "share": int(missing[j, i]) / max(int(index.label_counts[i]), 1),
        }
        for j in order
        for i in labels
    ]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("label:N", title=index.schema.label_name, sort=None).axis(labelAngle=0),
            y=alt.Y("feature:N", title=None, sort=None),
            color=alt.Color("share:Q", title="missing")
            .scale(scheme="oranges", domainMin=0)
            .legend(format="%"),
            tooltip=["feature:N", "label:N", "missing:Q", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=alt.Step(60), height=alt.Step(22))
    )
    return Picture(themed(chart))


def radius_chart(rows: list[dict[str, int]]) -> Any:
    """Bars of a histogram of radii; ``rows`` are those of `histogram`."""
    alt = altair()
    named = [{**row, "name": span(row["start"], row["stop"])} for row in rows]
    base = alt.Chart(alt.Data(values=named)).encode(
        y=alt.Y("name:N", title="cells to blank", sort=None),
        x=alt.X("n_points:Q", axis=None),
        tooltip=[alt.Tooltip("name:N", title="cells"), alt.Tooltip("n_points:Q", title="points")],
    )
    bars = base.mark_bar(color=CERTAIN)
    counts = base.mark_text(align="left", dx=4).encode(text=alt.Text("n_points:Q", format=","))
    return themed((bars + counts).properties(width=WIDTH - 90, height=alt.Step(24)))


def accuracy_rows(curves: AccuracyCurve | Sequence[AccuracyCurve]) -> list[dict[str, Any]]:
    """One row per curve and size at which its share changes; at most `_MOST_STEPS` of each."""
    found = [curves] if isinstance(curves, AccuracyCurve) else [*curves]
    if not found or not all(isinstance(curve, AccuracyCurve) for curve in found):
        raise NullproofError(
            f"curves are {curves!r}; give what certified_accuracy_curve found, one or several"
        )
    return [
        {"threat": curve.threat, "k": k, "n": curve.n_at(k), "share": curve.at(k)}
        for curve in found
        for k in curve.steps[evenly(np.arange(len(curve.steps)), _MOST_STEPS)].tolist()
    ]


def tolerance_rows(certificates: Certificates, truth: Any) -> list[dict[str, Any]]:
    """One row per line and bias at which its number changes; the number holds up to that bias."""
    if not isinstance(certificates, Certificates):
        raise NullproofError(
            f"{type(certificates).__name__} has no tolerances; give what certify found for many points"
        )
    curve = certificates.curve(truth)
    # A line of a thousand steps looks no different; both ends stay.
    jumps = np.unique(np.concatenate([[0.0, 1.0], curve.jumps]))
    kept = np.linspace(0, len(jumps) - 1, min(len(jumps), _MOST_STEPS)).round().astype(int)
    rows = []
    for one in curve.points(jumps[kept].tolist()):
        shares = (one.n_hold / max(curve.n_points, 1), one.accuracy_hold, one.accuracy_rest)
        rows += [
            {"line": name, "bias": one.bias, "share": share}
            for name, share in zip(_LINES, shares, strict=True)
            if share is not None
        ]
    return rows


def chart_rows(certificates: Certificate | Certificates, points: Any) -> list[dict[str, Any]]:
    """One row per point and label, supports as powers of ten."""
    if isinstance(certificates, Certificate):
        chosen = [("", certificates)]
    elif isinstance(certificates, Certificates):
        places = range(min(len(certificates), _MOST_POINTS)) if points is None else points
        chosen = [(f"point {place}", certificates[place]) for place in places]
    else:
        raise NullproofError(
            f"{type(certificates).__name__} has no supports; give what certify found"
        )
    return [row for name, one in chosen for row in _rows_of(name, one)]


def _rows_of(name: str, one: Certificate) -> list[dict[str, Any]]:
    labels = [*one.min_log_support]
    bars = interval_rows(
        labels,
        [*one.min_log_support.values()],
        [*one.max_log_support.values()],
        possible=[label in one.possible for label in labels],
    )
    finite = [log for bar in bars for log in (bar.low, bar.high) if math.isfinite(log)]
    # A logarithm of 0 lies left of all others, by a tenth of their range at least.
    floor = min(finite) - max(0.1 * (max(finite) - min(finite)), 0.5) if finite else 0.0
    names = _told_apart([cut(bar.label, LONGEST_LABEL) for bar in bars])
    return [
        {
            "name": name,
            "label": shown,
            "kind": _KINDS[bar.kind],
            "low": _ten(bar.low, floor),
            "high": _ten(bar.high, floor),
            "least": support(bar.low),
            "greatest": support(bar.high),
        }
        for shown, bar in zip(names, bars, strict=True)
    ]


def _told_apart(names: list[str]) -> list[str]:
    """Names of which no two are equal: repeated ones get spaces of no width."""
    seen: dict[str, int] = {}
    apart = []
    for name in names:
        apart.append(name + "\u200b" * seen.get(name, 0))
        seen[name] = seen.get(name, 0) + 1
    return apart


def _ten(log: float, floor: float) -> float:
    return (log if math.isfinite(log) else floor) / math.log(10)
