"""The section of the page on bias: how many predictions hold as it grows, and the picture of that."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from nullproof.reporting.html.elements import Cell, Column, paragraph, section, table
from nullproof.reporting.tolerance import curve_text, own_holes_text
from nullproof.words import per_cent
from nullproof.words import tolerance as amount

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 380, 210, 44, 8, 34
_TICKS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)


def fragment_tolerance(document: dict[str, Any]) -> str:
    """How far the predictions hold."""
    if not document["certain"]["n_points"]:
        return ""
    own = own_holes_text(document["own_holes"])
    return section(
        "tolerance",
        "How far the predictions hold",
        paragraph(curve_text(document)),
        paragraph(own) if own else "",
        f'<div class="pair"><figure>{curve_picture(document)}<figcaption>Predictions that hold, by '
        f"bias{_dashed(document)}.</figcaption>"
        f"</figure><div>{_numbers(document['curve'])}</div></div>",
    )


def _dashed(document: dict[str, Any]) -> str:
    threshold = document["verdicts"]["threshold"]
    return "" if threshold is None else f"; the dashed line is at {amount(threshold)}"


def curve_picture(document: dict[str, Any]) -> str:
    """The share of predictions that hold against bias, as plain SVG."""
    drawn, threshold = document["curve"]["drawn"], document["verdicts"]["threshold"]
    places = [
        f"{_x(bias):.1f},{_y(share):.1f}"
        for bias, share in zip(drawn["bias"], drawn["share"], strict=True)
    ]
    ends = f"{_x(1.0):.1f},{_y(0.0):.1f} {_x(0.0):.1f},{_y(0.0):.1f}"
    line = "" if threshold is None else _line(threshold)
    said = escape(_described(document))
    return (
        f'<svg class="np-curve" role="img" aria-label="{said}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor" xmlns="http://www.w3.org/2000/svg"><title>{said}</title>'
        f'<polygon class="np-area" points="{" ".join(places)} {ends}" fill="#1a8f5a" '
        f'fill-opacity="0.2"/><polyline class="np-line" points="{" ".join(places)}" fill="none" '
        f'stroke="#1a8f5a" stroke-width="2"/>{_axes()}{line}</svg>'
    )


def _line(bias: float) -> str:
    ends = f'x1="{_x(bias):.1f}" x2="{_x(bias):.1f}" y1="{_TOP}" y2="{_y(0.0):.1f}"'
    return f'<line class="np-threshold" {ends} stroke="currentColor" stroke-dasharray="4 3"/>'


def _described(document: dict[str, Any]) -> str:
    columns = document["curve"]
    pairs = zip(columns["bias"], columns["share"], strict=True)
    told = ", ".join(f"{per_cent(share)} up to {amount(bias)}" for bias, share in pairs)
    return f"Share of predictions that hold, by bias: {told}."


def _axes() -> str:
    parts = []
    for bias in _TICKS:
        x, anchor = _x(bias), "end" if bias == 1 else "middle"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(0.0):.1f}" y2="{_y(0.0) + 4:.1f}" '
            f'stroke="currentColor" stroke-opacity="0.5"/><text x="{x:.1f}" y="{_y(0.0) + 16:.1f}" '
            f'text-anchor="{anchor}">{bias:g}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 1}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            f'stroke-opacity="0.25"/><text x="{_LEFT - 6}" y="{y + 4:.1f}" '
            f'text-anchor="end">{100 * share:.0f}\u00a0%</text>'
        )
    parts.append(
        f'<text x="{(_LEFT + _WIDTH) / 2:.1f}" y="{_HEIGHT - 3}" text-anchor="middle">bias</text>'
    )
    return f'<g class="np-axis">{"".join(parts)}</g>'


def _x(bias: float) -> float:
    """Where a bias lies: by its root, which gives small ones the room that they need."""
    return _LEFT + math.sqrt(bias) * (_WIDTH - 1 - _LEFT)


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
