"""The sections of the page on what is behind the verdicts: fragility, features, an attack, cleaning."""

from __future__ import annotations

from nullproof.reporting.cleaning import HEADS, in_words
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
from nullproof.reporting.html.verdicts import Document, link, picture
from nullproof.words import amount, many, per_cent, span


def fragment_fragility(document: Document) -> str:
    """How few cells would break the certain points."""
    fragility = document["fragility"]
    if not fragility["n_certain"]:
        return ""
    parts = [paragraph(_fragility_text(fragility))]
    if fragility["histogram"]:
        bars = [
            [
                Cell(span(row["start"], row["stop"]), row["start"]),
                Cell(f"{row['n_points']:,}", row["n_points"]),
                Cell(bar(row["n_points"] / most, "certain")),
            ]
            for row in fragility["histogram"]
            for most in (max(row["n_points"] for row in fragility["histogram"]),)
        ]
        columns = [Column("cells to blank"), Column("points", True), Column("")]
        counted = table("Points by the number of cells to blank", columns, bars)
        parts.append(
            f'<div class="pair"><div>{counted}</div><div>{_weakest(fragility)}</div></div>'
        )
    return section("fragility", "How fragile the certain ones are", *parts)


def fragment_features(document: Document) -> str:
    """Which features keep points from being certain."""
    features = document["features"]
    title = "Which features keep points from being certain"
    if not features["n_open"] or not features["features"]:
        return ""
    rows = [
        [
            Cell(data(row["feature"], 40), row["feature"]),
            Cell(f"{row['n_missing']:,}", row["n_missing"]),
            Cell(per_cent(row["share"]), row["share"]),
            Cell(bar(row["share"], "feature")),
        ]
        for row in features["features"]
    ]
    columns = [
        Column("feature"),
        Column("missing cells", True),
        Column("would", True),
        Column(""),
    ]
    listing = table("What one complete feature would change", columns, rows, sortable=True)
    return section(
        "features",
        title,
        paragraph(_features_text(features)),
        listing,
        paragraph(features["meaning"], "small"),
    )


def fragment_attack(document: Document) -> str:
    """What an attack looks like."""
    attack, title = document["attack"], "What an attack looks like"
    if attack is None:
        return ""
    rows = [
        [
            Cell(data(row["feature"], 40), row["feature"]),
            Cell(listed(row["values"])),
            Cell(data(row["label"]), row["label"]),
            Cell(f"{row['n_cells']:,}", row["n_cells"]),
            Cell("lowers its label" if row["effect"] == "lowers" else "raises the rival"),
        ]
        for row in attack["cells"]
    ]
    columns = [
        Column("blank in"),
        Column("cells that hold"),
        Column("of label"),
        Column("cells", True),
        Column("what it does"),
    ]
    more = attack["n_sorts_left_off"]
    says = (
        f"<p>Point {link(attack)} is certainly <b>{data(attack['label'])}</b>. Whoever blanks "
        f"{many(attack['n_cells'], 'cell')} of the training table lets <b>{data(attack['rival'])}</b> "
        "catch up, and the prediction is certain no more. No attack on this point needs fewer.</p>"
    )
    return section(
        "attack",
        title,
        says,
        table("The cells to blank", columns, rows),
        paragraph(f"and {many(more, 'sort')} of cells more", "small") if more else "",
        f'<div class="pair"><figure>{picture(attack["before"])}<figcaption>before</figcaption>'
        f"</figure><figure>{picture(attack['after'])}<figcaption>after</figcaption></figure></div>",
    )


def fragment_cleaning(document: Document) -> str:
    """What to clean first, if that was worked out."""
    if not document.get("cleaning"):
        return ""
    cleaning = document["cleaning"]
    names = ("n_cells", "so_far", "expected")
    columns = [Column(head, place > 0) for place, head in enumerate(HEADS)]
    rows = [
        [
            Cell(data(stage["columns"], 80), stage["columns"]),
            *(Cell(amount(stage[name]), stage[name]) for name in names),
            Cell(bar(stage["expected"] / cleaning["n_points"], "certain")),
        ]
        for stage in cleaning["stages"]
    ]
    more = cleaning["n_left_off"]
    return section(
        "cleaning",
        "What to clean first",
        paragraph(in_words(cleaning)),
        table("Cleaning plan, one stage after the other", [*columns, Column("")], rows),
        paragraph(f"and {many(more, 'stage')} more", "small") if more else "",
    )


def _fragility_text(fragility: Document) -> str:
    beyond = fragility["n_unbreakable"]
    said = (
        "The radius of a certain point is the fewest training cells that would have to be blanked "
        "before it is certain no more; as many would have to be wrong. "
    )
    if fragility["least"] is not None:
        said += (
            f"It is {_cells(fragility['least'], fragility['greatest'])}, "
            f"{fragility['median']:,g} in the middle. "
        )
    if fragility["n_not_worked_out"]:
        left_out = many(fragility["n_not_worked_out"], "point")
        said += f"For {left_out} it is not worked out: too many completions. "
    if beyond:
        return said + f"{many(beyond, 'point')} cannot be broken by any number of blanked cells."
    return said + ("" if fragility["n_not_worked_out"] else "Every certain point could be broken.")


def _cells(least: int, greatest: int) -> str:
    return many(least, "cell") if least == greatest else f"{span(least, greatest)} cells"


def _weakest(fragility: Document) -> str:
    rows = [
        [
            Cell(link(row), row["point"]),
            Cell(data(row["label"], 24), row["label"]),
            Cell(data(row["rival"], 24), row["rival"]),
            Cell(f"{row['radius']:,}", row["radius"]),
        ]
        for row in fragility["weakest"]
    ]
    columns = [Column("point"), Column("label"), Column("rival"), Column("cells", True)]
    return table("The weakest certain points", columns, rows, sortable=True)


def _features_text(features: Document) -> str:
    left = features["n_left_off"]
    more = f" {many(left, 'feature')} with fewer missing cells were not judged." if left else ""
    return (
        f"What would become of {many(features['n_open'], 'point')} that are not done if one feature had no "
        f"missing cells.{more}"
    )
