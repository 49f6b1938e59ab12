"""The sections of the page on the verdicts; each takes the document of `tell`."""

from __future__ import annotations

from typing import Any

from nullproof.reporting.html.elements import (
    Cell,
    Column,
    bar,
    data,
    listed,
    paragraph,
    section,
    table,
)
from nullproof.show import intervals
from nullproof.words import cut, many, odds, per_cent

Document = dict[str, Any]
_MOST_ODDS = 3
# A cell is shaded by the first of these shares that it does not exceed: the same in every report.
_SHADES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
_MOST_LABELS = 100
_FEW_ROWS = 15


def fragment_certain(document: Document) -> str:
    """Per label: how often it is certain, and how often possible."""
    labels = document["certain"]["labels"]
    often = sorted(labels, key=lambda row: -row["n_possible"])[:_MOST_LABELS]
    shown = [row for row in labels if row in often]
    most = max([1, *(row["n_possible"] for row in shown)])
    rows = [
        [
            Cell(data(row["label"]), row["label"]),
            Cell(f"{row['n_certain']:,}", row["n_certain"]),
            Cell(f"{row['n_possible']:,}", row["n_possible"]),
            Cell(bar(row["n_certain"] / most, "certain", behind=row["n_possible"] / most)),
        ]
        for row in shown
    ]
    left = len(labels) - len(shown)
    columns = [Column("label"), Column("certain", True), Column("possible", True), Column("")]
    return section(
        "labels",
        "What is predicted",
        paragraph(
            "A label is certain for a point if it wins in every world, and possible if it wins or "
            "ties in at least one. A world is one way to fill in all missing cells of the training "
            "table."
        ),
        table("Predictions by label", columns, rows, kind=_tall(rows), sortable=True),
        paragraph(f"Not listed: {many(left, 'rarer label')}.", "small") if left else "",
    )


def fragment_holes(document: Document) -> str:
    """Features × labels: the share of missing cells."""
    holes = document["holes"]
    if not holes["features"]:
        return ""
    columns = [Column("feature"), Column("all", True)]
    columns += [Column(cut(label, 24), True) for label in holes["labels"]]
    rows = [
        [
            Cell(data(row["feature"], 40), row["feature"]),
            Cell(per_cent(row["share"]), row["share"] or 0),
            *map(_heat, row["per_label"]),
        ]
        for row in holes["features"]
    ]
    left = []
    if holes["n_complete"]:
        left.append(many(holes["n_complete"], "feature") + " without a hole")
    if holes["n_left_off"]:
        left.append(f"{many(holes['n_left_off'], 'feature')} with fewer holes")
    if holes["n_labels_left_off"]:
        left.append(f"{many(holes['n_labels_left_off'], 'rarer label')}")
    return section(
        "holes",
        "Where the holes are",
        paragraph("The share of cells that are missing, or known only as a set of candidates."),
        table(
            "Missing cells by feature and label",
            columns,
            rows,
            kind=f"heat {_tall(rows)}",
            sortable=True,
        ),
        _legend(),
        paragraph(f"Not listed: {'; '.join(left)}.", "small") if left else "",
    )


def fragment_open(document: Document) -> str:
    """Which points are open, between which labels, and how likely each is."""
    open_ones = document["open"]
    if not open_ones["n_points"]:
        return ""
    most = max(row["n_points"] for row in open_ones["between"])
    between = [
        [
            Cell(listed(row["labels"]), " ".join(row["labels"])),
            Cell(f"{row['n_points']:,}", row["n_points"]),
            Cell(bar(row["n_points"] / most, "open")),
        ]
        for row in open_ones["between"]
    ]
    shown = [point for point in document["points"] if point["verdict"] == "open"]
    columns = [Column("point"), Column("odds, the predicted label first")]
    return section(
        "open",
        "Which points are open",
        paragraph(_between_text(document)),
        table(
            "Between which labels", [Column("labels"), Column("points", True), Column("")], between
        ),
        paragraph(_odds_text(document)),
        table("Open points", columns, map(_open_row, shown), kind="tall", sortable=True),
    )


def picture(support: list[dict[str, Any]]) -> str:
    """The support intervals of a list as the document has it."""
    return intervals(
        [row["label"] for row in support],
        [row["low"] for row in support],
        [row["high"] for row in support],
        possible=[row["possible"] for row in support],
        relative=True,
    )


def link(point: Document) -> str:
    """A link to the details of a point, by its name or its position."""
    return f'<a href="#point-{point["point"]}">{name(point)}</a>'


def name(point: Document) -> str:
    """A point by its name, or by its position if it has none."""
    return data(point["key"]) if point.get("key") else f"{point['point']:,}"


def _legend() -> str:
    """What each shade means."""
    shown = "".join(
        f'<span class="heat-{step}">{100 * share:g}\u00a0%</span>'
        for step, share in enumerate(_SHADES, 1)
    )
    return f'<p class="legend small">Shaded up to {shown}</p>'


def _heat(cell: Document) -> Cell:
    share = cell["share"] or 0.0
    step = sum(share > bound for bound in _SHADES) + 1 if share else 0
    said = f"{cell['n_missing']:,} missing"
    if cell["n_candidates"]:
        said += f", {cell['n_candidates']:,} of them with candidates"
    html = f'<span title="{said}">{per_cent(cell["share"])}</span>'
    return Cell(html, share, f"heat-{step}")


def _between_text(document: Document) -> str:
    open_ones, up_to = document["open"], document["verdicts"]["up_to"]
    left = open_ones["n_between_left_off"]
    more = f" ({many(left, 'rarer set')} of labels not listed)" if left else ""
    return f"{many(open_ones['n_points'], 'prediction')} may change within {up_to}{more}."


def _odds_text(document: Document) -> str:
    open_ones = document["open"]
    shown, weighed = len(open_ones["shown"]), open_ones["n_odds"]
    listing = "All are listed" if shown == open_ones["n_points"] else f"{shown:,} are listed"
    return (
        f"{listing}. Odds are shares of worlds whose missing cells are filled by chance, as the known "
        f"cells of the same label and column are, with guaranteed bounds. In at least 99 % of these "
        f"worlds the label is the predicted one for {open_ones['n_likely']:,} of "
        f"{many(weighed, 'point')} with odds."
    )


def _open_row(point: Document) -> list[Cell]:
    best = point["odds"][0]["lower"] if point["odds"] else -1.0
    return [
        Cell(link(point), point["point"]),
        Cell(odds_list(point, _MOST_ODDS), best),
    ]


def same_text(point: Document) -> str:
    """In which share of the worlds the predicted label, which comes first, is the same."""
    own = point["odds"][0]
    if point["predicted"] is None:
        return f"{data(own['label'], 24)} in {odds(own['lower'], own['upper'])} of the worlds"
    return f"{odds(own['lower'], own['upper'])} of the worlds give the same label"


def odds_list(point: Document, most: int) -> str:
    """Per label a bar and the bounds of its odds."""
    found = point["odds"]
    if found is None:
        possible = listed(point["possible"][:6]) + _more(len(point["possible"]) - 6)
        why = data(point["odds_reason"] or "", 200)
        return f'{possible} <span class="small">(odds not worked out: {why})</span>'
    parts = [
        f"<li>{data(row['label'], 24)} {bar(row['lower'], 'open', behind=row['upper'])} "
        f"<span>{odds(row['lower'], row['upper'])}</span></li>"
        for row in found[:most]
    ]
    return f'<ul class="odds">{"".join(parts)}</ul>{_more(len(found) - most)}'


def _more(count: int) -> str:
    return f' <span class="small">and {count:,} more</span>' if count > 0 else ""


def _tall(rows: list[Any]) -> str:
    """Long tables scroll by themselves."""
    return "tall" if len(rows) > _FEW_ROWS else ""
