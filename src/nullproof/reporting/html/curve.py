"""The curves of the page: predictions that hold as the bias grows, or stay right as an attack does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from nullproof.reporting.accuracy import in_words
from nullproof.reporting.html.elements import Cell, Column, paragraph, section, table
from nullproof.reporting.tolerance import curve_text
from nullproof.words import per_cent
from nullproof.words import tolerance as amount

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 210, 44, 14, 8, 36
_TICKS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
_MOST_TICKS = 7


class _Line(NamedTuple):
    """A falling line: where it passes, its ticks below (place and text), and what it is about.

    All places are between 0 and 1, from the left and from the bottom.
    """

    places: Sequence[tuple[float, float]]
    ticks: Sequence[tuple[float, str]]
    axis: str
    said: str
    dashed: float | None = None
    level: float | None = None


def fragment_tolerance(document: dict[str, Any]) -> str:
    """How far the predictions hold."""
    if not document["certain"]["n_points"]:
        return ""
    return section(
        "tolerance",
        "How far the predictions hold",
        paragraph(curve_text(document)),
        f'<div class="pair"><figure>{curve_picture(document)}<figcaption>Predictions that hold, by '
        f"bias{_dashed(document)}.</figcaption>"
        f"</figure><div>{_numbers(document['curve'])}</div></div>",
    )


def fragment_accuracy(document: dict[str, Any]) -> str:
    """How many predictions are right and stay so under any attack."""
    told = document["accuracy"]
    if told is None:
        return ""
    rows = [
        [Cell(f"{row['k']:,}"), Cell(f"{row['n']:,}"), Cell(per_cent(row["share"]))]
        for row in told["curve"]
    ]
    heads = [Column("cells k", True), Column("right and stay so", True), Column("share", True)]
    return section(
        "accuracy",
        "How many stay right under attack",
        paragraph(in_words(told)),
        f'<div class="pair"><figure>{_accuracy_picture(told)}<figcaption>Predictions that are right '
        "and stay so under any attack on k cells (certified accuracy); the dashed line is the accuracy "
        "without an attack.</figcaption></figure>"
        f"<div>{table('Right under any attack on k cells', heads, rows)}</div></div>",
    )


def curve_picture(document: dict[str, Any]) -> str:
    """The share of predictions that hold against bias, as plain SVG."""
    columns, drawn = document["curve"], document["curve"]["drawn"]
    pairs = zip(columns["bias"], columns["share"], strict=True)
    told = ", ".join(f"{per_cent(share)} up to {amount(bias)}" for bias, share in pairs)
    threshold = document["verdicts"]["threshold"]
    return _picture(
        _Line(
            # By its root, which gives small biases the room that they need.
            [(math.sqrt(x), y) for x, y in zip(drawn["bias"], drawn["share"], strict=True)],
            [(math.sqrt(bias), f"{bias:g}") for bias in _TICKS],
            "bias",
            f"Share of predictions that hold, by bias: {told}.",
            dashed=None if threshold is None else math.sqrt(threshold),
        )
    )


def _accuracy_picture(told: dict[str, Any]) -> str:
    drawn = told["drawn"]
    last = max(drawn["k"][-1], 1)
    steps: list[tuple[float, float]] = []
    # A share holds from its size up to the next, so the line falls in steps.
    for k, share in zip(drawn["k"], drawn["share"], strict=True):
        if steps:
            steps.append((_log(k, last), steps[-1][1]))
        steps.append((_log(k, last), share))
    listed = ", ".join(f"{per_cent(row['share'])} at {row['k']:,}" for row in told["curve"])
    return _picture(
        _Line(
            steps,
            [(_log(k, last), f"{k:,}") for k in _sizes(last)],
            "cells in the attack",
            f"Share of predictions that stay right, by cells: {listed}.",
            level=told["accuracy"],
        )
    )


def _log(k: int, last: int) -> float:
    return math.log1p(k) / math.log1p(last)


def _sizes(last: int) -> list[int]:
    """Round sizes for the axis: powers of ten, and the last one if it does not crowd them."""
    tens = [10**e for e in range(len(str(last))) if 10**e <= last]
    every = max(1, math.ceil(len(tens) / (_MOST_TICKS - 1)))
    return [0, *tens[::every]]


def _dashed(document: dict[str, Any]) -> str:
    threshold = document["verdicts"]["threshold"]
    if threshold is None:
        return ""
    return f"; the dashed line is the bias of {amount(threshold)} up to which a prediction holds"


def _picture(line: _Line) -> str:
    places = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in line.places)
    end = line.places[-1][0] if line.places else 0.0
    ends = f"{_x(end):.1f},{_y(0.0):.1f} {_x(0.0):.1f},{_y(0.0):.1f}"
    said = escape(line.said)
    marks = ""
    if line.dashed is not None:
        marks += _mark((line.dashed, line.dashed), (0.0, 1.0))
    if line.level is not None:
        marks += _mark((0.0, 1.0), (line.level, line.level))
    return (
        f'<svg class="np-curve" role="img" aria-label="{said}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor" xmlns="http://www.w3.org/2000/svg"><title>{said}</title>'
        f'<polygon class="np-area" points="{places} {ends}" fill="#1a8f5a" '
        f'fill-opacity="0.2"/><polyline class="np-line" points="{places}" fill="none" '
        f'stroke="#1a8f5a" stroke-width="2"/>{_axes(line.ticks, line.axis)}{marks}</svg>'
    )


def _mark(x: tuple[float, float], y: tuple[float, float]) -> str:
    ends = f'x1="{_x(x[0]):.1f}" x2="{_x(x[1]):.1f}" y1="{_y(y[0]):.1f}" y2="{_y(y[1]):.1f}"'
    return f'<line class="np-threshold" {ends} stroke="currentColor" stroke-dasharray="4 3"/>'


def _axes(ticks: Iterable[tuple[float, str]], title: str) -> str:
    parts = []
    for place, text in ticks:
        x = _x(place)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(0.0):.1f}" y2="{_y(0.0) + 4:.1f}" '
            f'stroke="currentColor" stroke-opacity="0.5"/><text x="{x:.1f}" y="{_y(0.0) + 16:.1f}" '
            f'text-anchor="middle">{text}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="currentColor" stroke-opacity="0.25"/><text x="{_LEFT - 6}" y="{y + 4:.1f}" '
            f'text-anchor="end">{100 * share:.0f}\u00a0%</text>'
        )
    parts.append(
        f'<text x="{(_LEFT + _WIDTH) / 2:.1f}" y="{_HEIGHT - 3}" text-anchor="middle">{title}</text>'
    )
    return f'<g class="np-axis">{"".join(parts)}</g>'


def _x(place: float) -> float:
    return _LEFT + place * (_WIDTH - _RIGHT - _LEFT)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _numbers(columns: dict[str, Any]) -> str:
    heads = [Column("bias", True), Column("predictions that hold", True), Column("share", True)]
    right = "accuracy_hold" in columns
    if right:
        heads += [Column("right among them", True), Column("right among the rest", True)]
    rows = []
    for place, bias in enumerate(columns["bias"]):
        n_hold, share = columns["n_hold"][place], columns["share"][place]
        cells = [Cell(f"{bias:g}", bias), Cell(f"{n_hold:,}", n_hold), Cell(per_cent(share), share)]
        if right:
            own = (columns[f"accuracy_{part}"][place] for part in ("hold", "rest"))
            cells += [Cell(per_cent(one), one) for one in own]
        rows.append(cells)
    return table("Predictions that hold up to a bias", heads, rows)
