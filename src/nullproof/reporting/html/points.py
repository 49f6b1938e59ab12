"""One point on the page: its values, its support intervals, its odds and its two witness worlds."""

from __future__ import annotations

from typing import Any

from nullproof.reporting.html.elements import Cell, Column, data, listed, paragraph, section, table
from nullproof.reporting.html.verdicts import odds_list, picture, same_text
from nullproof.reporting.tolerance import holds_text
from nullproof.words import many

_MOST_ODDS = 12


def fragment_points(document: dict[str, Any]) -> str:
    """All points that the document tells one by one, folded."""
    sample = document["sample"]
    how = "" if sample["all"] else f" Shown are {sample['how']}. {sample['more']}"
    return section(
        "points",
        "Point by point",
        paragraph(
            "Per label a bar from its least to its greatest support over all worlds. A point is "
            f"certain if one bar lies clear of all others.{how}"
        ),
        f'<div class="points">{"".join(map(fragment_point, document["points"]))}</div>',
    )


def fragment_point(point: dict[str, Any]) -> str:
    """One point, folded; its content has the id ``point-N``, so that links open it."""
    place, verdict = point["point"], point["verdict"]
    sorted_by = " ".join(f'data-{name}="{value}"' for name, value in _sorted_by(point).items())
    return (
        f'<details class="point" data-verdict="{verdict}" data-point="{place}" {sorted_by}>'
        f'<summary><span class="name">Point {place:,}{_key(point)}</span> '
        f'<span class="tag {verdict}">{verdict}</span> {_line(point)}</summary>'
        f'<div class="inside" id="point-{place}" tabindex="-1">'
        f"<p>{_holds(point)}</p>"
        f'<div class="pair"><figure>{picture(point["support"])}'
        f"<figcaption>{_caption(point)}</figcaption>{_odds(point)}</figure>"
        f"<div>{_values(point)}</div></div>{_explanation(point)}{_worlds(point)}</div></details>"
    )


def _sorted_by(point: dict[str, Any]) -> dict[str, str]:
    """What points are sorted and filtered by; greater where there is more to rely on."""
    radius = "Infinity" if point["certain"] and point["radius"] is None else point["radius"] or 0
    tolerance = -1 if point["tolerance"] is None else point["tolerance"]
    right = {True: "right", False: "wrong", None: "unknown"}[point["right"]]
    best = point["odds"][0]["lower"] if point["odds"] else float(point["certain"])
    return {
        "best": f"{best:.6f}",
        "radius": f"{radius}",
        "tolerance": f"{tolerance:.6f}",
        "right": right,
    }


def _key(point: dict[str, Any]) -> str:
    return f": {data(point['key'], 40)}" if point.get("key") else ""


def _line(point: dict[str, Any]) -> str:
    """What is predicted, whether that is right, how far it holds, its odds, and what would break it."""
    predicted = point["label"] or point["predicted"]
    parts = ["a tie" if predicted is None else f"<b>{data(predicted, 24)}</b>"]
    if point["right"] is not None:
        parts.append("right" if point["right"] else f"wrong: {data(point['truth'], 24)}")
    if point["certain"]:
        parts.append(_radius(point))
    else:
        parts.append(holds_text(point))
        if point["odds"]:
            parts.append(same_text(point))
    return " ".join(f'<span class="part">{part}</span>' for part in parts)


def _explanation(point: dict[str, Any]) -> str:
    told = point["explanation"]
    if told is None or not told["terms"]:
        return ""
    rows = [
        [
            Cell(f"{data(row['feature'], 40)}: {data(row['value'], 40)}"),
            Cell(data(row["said"])),
            Cell(_between(row)),
        ]
        for row in told["terms"]
    ]
    columns = [Column("cell"), Column("by the known cells"), Column("over all worlds")]
    listing = table(f"What speaks for the label of point {point['point']:,}", columns, rows)
    left = told["n_terms_left_off"]
    more = paragraph(f"and {many(left, 'cell')} that weigh less", "small") if left else ""
    return (
        f"<h3>What speaks for {data(told['label'], 24)} and what for {data(told['rival'], 24)}</h3>"
        f"<p>All cells together: {data(told['total']['said'])} by the known cells, "
        f"{_between(told['total'])} over all worlds. The prior: {data(told['prior'])}.</p>"
        f"{listing}{more}"
    )


def _between(row: dict[str, Any]) -> str:
    same = row["least"] == row["greatest"]
    return data(row["least"]) if same else f"{data(row['least'])} to {data(row['greatest'])}"


def _caption(point: dict[str, Any]) -> str:
    left = point["n_labels_left_off"]
    more = f" {many(left, 'weaker label')} not drawn." if left else ""
    return (
        "Support over all worlds on a logarithmic scale, in multiples of the best support that a "
        f"label has whatever the missing cells hold (the dashed line, if one bar alone reaches it).{more}"
    )


def _odds(point: dict[str, Any]) -> str:
    return "" if point["worlds"] is None else f"<h3>Odds</h3>{odds_list(point, _MOST_ODDS)}"


def _holds(point: dict[str, Any]) -> str:
    """What is predicted, how far that holds, and what the point does not know."""
    predicted = point["label"] or point["predicted"]
    said = (
        "Labels tie: nothing is predicted."
        if predicted is None
        else (
            f"Predicted is <b>{data(predicted)}</b>; this {holds_text(point)}"
            if point["tolerance"] is not None
            else f"Predicted is <b>{data(predicted)}</b>, but {holds_text(point)}"
        )
    )
    if predicted is not None:
        rival = point["tolerance_rival"]
        then = (
            f"; then {data(rival)} catches up" if rival and point["tolerance"] is not None else ""
        )
        said += f"{then}."
    if point["n_own_missing"]:
        said += f" {many(point['n_own_missing'], 'cell')} of the point not known."
    return said


def _radius(point: dict[str, Any]) -> str:
    if point["radius"] == 0:
        return holds_text(point)
    if point["radius"] is None:
        return "beyond any attack" if point["not_worked_out"] is None else "radius not worked out"
    return f"{many(point['radius'], 'cell')} to break it, for {data(point['rival'], 24)}"


def _values(point: dict[str, Any]) -> str:
    rows = [[Cell(data(row["feature"], 40)), Cell(_value(row))] for row in point["values"]]
    left = point["n_values_left_off"]
    more = paragraph(f"and {many(left, 'feature')} more", "small") if left else ""
    return (
        table(f"Values of point {point['point']:,}", [Column("feature"), Column("value")], rows)
        + more
    )


def _value(row: dict[str, Any]) -> str:
    if row["kind"] == "skipped":
        return '<em class="hole">not known, left out</em>'
    if row["kind"] == "missing":
        return '<em class="hole">missing</em>'
    if row["kind"] == "unseen":
        shown = data(row["value"]) + " " if row["value"] is not None else ""
        return f'{shown}<em class="hole">never seen in training</em>'
    if row["kind"] == "candidates":
        return f'{data(row["value"])} <em class="hole">one of these</em>'
    if row["own"] is not None:
        # An interval has brackets of its own.
        shown = row["value"] if row["value"].startswith("[") else f"({row['value']})"
        return f'{data(row["own"])} <span class="bin">{data(shown)}</span>'
    return data(row["value"])


def _worlds(point: dict[str, Any]) -> str:
    if point["worlds"] is None:
        return ""
    first, second = (_winners(world) for world in point["worlds"])
    if not point["differences"]:
        return (
            f"<h3>Two worlds that disagree</h3><p>No hole is to blame: one world predicts {first}, "
            f"another {second}, by the holes of the point itself or because labels tie.</p>"
        )
    rows = [
        [
            Cell(data(row["feature"], 40)),
            Cell(data(row["label"], 24)),
            Cell(f"{row['n_cells']:,}"),
            Cell(_filling(row["first"])),
            Cell(_filling(row["second"])),
        ]
        for row in point["differences"]
    ]
    columns = [
        Column("holes of feature"),
        Column("in rows of"),
        Column("cells", True),
        Column("one world"),
        Column("another world"),
    ]
    listing = table(f"Two worlds for point {point['point']:,}", columns, rows)
    left = point["n_differences_left_off"]
    more = paragraph(f"and {many(left, 'sort')} of holes more", "small") if left else ""
    return (
        "<h3>Two worlds that disagree</h3>"
        f"<p>One world predicts {first}, another {second}. They differ in how these holes are "
        f"filled:</p>{listing}{more}"
    )


def _winners(world: dict[str, Any]) -> str:
    if len(world["winners"]) == 1:
        return f"<b>{data(world['winners'][0])}</b>"
    return f"<b>a tie of {listed(world['winners'][:6], 'and')}</b>"


def _filling(world: dict[str, Any]) -> str:
    return (
        data(world["value"], 40) if world["takes"] else f"anything but {data(world['value'], 40)}"
    )
