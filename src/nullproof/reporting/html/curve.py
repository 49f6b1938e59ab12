"""The curves of the page: predictions that hold as the bias grows, or stay right as an attack does."""

from __future__ import annotations

from typing import Any

from nullproof.reporting.accuracy import in_words
from nullproof.reporting.html.elements import Cell, Column, paragraph, section, table
from nullproof.reporting.tolerance import curve_text
from nullproof.show import curve_by_bias, curve_by_size
from nullproof.words import per_cent
from nullproof.words import tolerance as amount


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
    """Draw the share of predictions that hold against bias."""
    columns, drawn = document["curve"], document["curve"]["drawn"]
    pairs = zip(columns["bias"], columns["share"], strict=True)
    told = ", ".join(f"{per_cent(share)} up to {amount(bias)}" for bias, share in pairs)
    said = f"Share of predictions that hold, by bias: {told}."
    return curve_by_bias(drawn["bias"], drawn["share"], said, document["verdicts"]["threshold"])


def _accuracy_picture(told: dict[str, Any]) -> str:
    drawn = told["drawn"]
    listed = ", ".join(f"{per_cent(row['share'])} at {row['k']:,}" for row in told["curve"])
    said = f"Share of predictions that stay right, by cells: {listed}."
    return curve_by_size(drawn["k"], drawn["share"], said, "cells in the attack", told["accuracy"])


def _dashed(document: dict[str, Any]) -> str:
    threshold = document["verdicts"]["threshold"]
    if threshold is None:
        return ""
    return f"; the dashed line is the bias of {amount(threshold)} up to which a prediction holds"


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
