"""The report as Markdown: the same story for mails, wikis and pull requests."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from nullproof.reporting.accuracy import in_words as in_attack
from nullproof.reporting.cleaning import HEADS, in_words
from nullproof.reporting.comparison import in_words as beside
from nullproof.reporting.comparison import shown
from nullproof.reporting.order import sections
from nullproof.reporting.tolerance import curve_text, holds_text, share_at_goal
from nullproof.show import interval_rows
from nullproof.words import amount, cut, many, odds, per_cent, span

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
_BARS = 20
_MOST_POINTS = 20
_LONGEST = 60

Document = dict[str, Any]


def render(document: Document) -> str:
    """Write a document of `tell` as Markdown; texts of the data are shown as they are."""
    told = (_SECTIONS[name](document) for name in sections(document))
    parts = [
        f"# {document['title']}",
        _summary(document),
        *_groups(document),
        "\n".join(
            f"{place}. {data(one, 1000)}" for place, one in enumerate(document["findings"], 1)
        ),
        *_next(document["next"]),
        "\n".join(f"- {data(said, 1000)}" for said in document["assumptions"]),
        *(part for section in told for part in section),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def data(text: str, longest: int = _LONGEST) -> str:
    """A text of the data: marks of Markdown and HTML lose their meaning, directions stay inside."""
    plain = " ".join(
        "".join(c if c.isprintable() else _replaced(c) for c in cut(text, longest)).split()
    )
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _SPECIAL.sub(r"\\\1", escaped)
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in plain):
        return f"\u2068{escaped}\u2069"
    return escaped


def _replaced(character: str) -> str:
    """Marks that turn the direction of what follows, and other controls, become spaces."""
    return " " if character.isspace() or unicodedata.category(character) == "Cc" else "�"


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown already."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _summary(document: Document) -> str:
    held = document["table"]
    share = share_at_goal(document["verdicts"]) or 0.0
    bar = "█" * int(share * _BARS) + "░" * (_BARS - int(share * _BARS))
    said = (
        f"`{bar}` Prediction of {data(held['label_name'])} from {many(held['n_rows'], 'row')}, "
        f"{many(held['n_features'], 'feature')}, {many(held['n_missing'], 'missing cell')} "
        f"({per_cent(held['share_missing'])}), smoothing {data(held['alpha'])}."
    )
    sample = document["sample"]
    if sample["all"]:
        return said
    return (
        f"{said} Odds and worlds are worked out for some points: {sample['how']}. {sample['more']}"
    )


def _groups(document: Document) -> list[str]:
    """The three verdicts, and how many of each are right."""
    if not document["certain"]["n_points"]:
        return []
    groups = document["verdicts"]["groups"]
    names = {"holds": f"holds up to {document['verdicts']['up_to']}"}
    known = any(one["n_known"] for one in groups)
    rows = [
        [names.get(one["verdict"], one["verdict"]), f"{one['n_points']:,}", per_cent(one["share"])]
        + ([_right(one)] if known else [])
        for one in groups
    ]
    return [table(["verdict", "predictions", "share", *(["right"] if known else [])], rows)]


def _right(group: Document) -> str:
    if not group["n_known"]:
        return "–"
    share = per_cent(group["n_right"] / group["n_known"])
    return f"{group['n_right']:,} of {group['n_known']:,} ({share})"


def _next(step: Document | None) -> list[str]:
    if step is None:
        return []
    return [f"**Next.** {data(step['text'], 1000)}", *_typed(step["command"])]


def _typed(command: str | None) -> list[str]:
    """A command by itself; an indented block ends at the first line that is not."""
    return [f"    {' '.join(command.split())}"] if command else []


def _compared(document: Document) -> list[str]:
    told = document["compared"]
    rows = [
        [data(row["name"]), data(row["there"] or "–"), data(row["here"] or "–")]
        for row in told["measures"]
    ]
    changed = [
        [_name(row), data(shown(row["there"])), data(shown(row["here"]))] for row in told["points"]
    ]
    parts = [
        "## Beside another report",
        data(beside(told), 1000),
        table(["", data(told["name"]), "here"], rows),
    ]
    return [*parts, table(["point", data(told["name"]), "here"], changed)] if changed else parts


def _tolerance(document: Document) -> list[str]:
    """How many predictions hold as the bias grows."""
    return [
        "## How far the predictions hold",
        curve_text(document),
        _curve(document["curve"]),
    ]


def _accuracy(document: Document) -> list[str]:
    told = document["accuracy"]
    rows = [[f"{row['k']:,}", f"{row['n']:,}", per_cent(row["share"])] for row in told["curve"]]
    return [
        "## How many stay right under attack",
        in_attack(told),
        table(["cells k", "right and stay so", "share"], rows),
    ]


def _data(document: Document) -> list[str]:
    notes = "\n".join(f"- {data(note, 1000)}" for note in document["notes"])
    return ["## What to know about the data", notes]


def _asked(document: Document) -> list[str]:
    asked = document["asked"]
    points = "the training rows themselves" if asked["training_rows"] else asked["test"]
    facts = [
        ("training table", asked["train"]),
        ("points", points),
        ("made", asked["date"]),
        ("nullproof", asked["version"]),
        *((one["name"], one["value"]) for one in asked["options"]),
    ]
    rows = [[data(name), data(value, 1000)] for name, value in facts if value]
    return ["## What was asked", table(["what", "answer"], rows), *_typed(asked["command"])]


def _curve(columns: Document) -> str:
    shares = ("share", "accuracy_hold", "accuracy_rest")
    told = [name for name in shares if name in columns]
    names = {"accuracy_hold": "right among them", "accuracy_rest": "right among the rest"}
    rows = [
        [f"{bias:g}", f"{n_hold:,}", *(per_cent(columns[name][place]) for name in told)]
        for place, (bias, n_hold) in enumerate(zip(columns["bias"], columns["n_hold"], strict=True))
    ]
    return table(["bias", "hold", *(names.get(name, name) for name in told)], rows)


def _labels(document: Document) -> list[str]:
    rows = [
        [data(row["label"]), f"{row['n_certain']:,}", f"{row['n_possible']:,}"]
        for row in document["certain"]["labels"]
    ]
    return ["## What is predicted", table(["label", "certain", "possible"], rows)]


def _holes(document: Document) -> list[str]:
    holes = document["holes"]
    rows = [
        [
            data(row["feature"]),
            per_cent(row["share"]),
            *(per_cent(cell["share"]) for cell in row["per_label"]),
        ]
        for row in holes["features"]
    ]
    names = ["feature", "all", *map(data, holes["labels"])]
    left = holes["n_complete"], holes["n_left_off"], holes["n_labels_left_off"]
    return [
        "## Where the holes are",
        table(names, rows),
        f"Not listed: {many(left[0], 'feature')} without a hole, {left[1]:,} with fewer holes, "
        f"{many(left[2], 'rarer label')}.",
    ]


def _open(document: Document) -> list[str]:
    open_ones, title = document["open"], "## Which points are open"
    between = [
        [" or ".join(map(data, row["labels"])), f"{row['n_points']:,}"]
        for row in open_ones["between"]
    ]
    shown = [point for point in document["points"] if point["verdict"] == "open"][:_MOST_POINTS]
    rows = [[_name(point), _holds(point), _chances(point), _supports(point)] for point in shown]
    return [
        title,
        table(["between", "points"], between),
        f"The first {len(rows):,} of {many(open_ones['n_points'], 'open point')} that were looked "
        "at; odds are shares of worlds filled by chance, the predicted label first.",
        table(["point", "tolerance", "odds", "support, in multiples of the best least one"], rows),
    ]


def _name(point: Document) -> str:
    """A point by its name, or by its position if it has none."""
    return data(point.get("key") or str(point["point"]))


def _holds(point: Document) -> str:
    """What is predicted, how far it holds, and which label then catches up."""
    said = holds_text(point)
    predicted = point["label"] or point["predicted"]
    if predicted is not None:
        said = f"{data(predicted)} {said}"
    rival = point["tolerance_rival"]
    return (
        said
        if rival is None or point["tolerance"] is None
        else (f"{said}; then {data(rival)} catches up")
    )


def _chances(point: Document) -> str:
    if point["odds"] is None:
        return " or ".join(map(data, point["possible"][:6]))
    return ", ".join(
        f"{data(row['label'])} {odds(row['lower'], row['upper'])}" for row in point["odds"][:4]
    )


def _supports(point: Document) -> str:
    shown = point["support"][:4]
    bars = interval_rows(
        [row["label"] for row in shown],
        [row["low"] for row in shown],
        [row["high"] for row in shown],
        relative=True,
    )
    return ", ".join(f"{data(bar.label)} {bar.text}" for bar in bars)


def _fragility(document: Document) -> list[str]:
    fragility, title = document["fragility"], "## How fragile the certain ones are"
    unbreakable = fragility["n_unbreakable"]
    beyond = (
        f"{many(unbreakable, 'point')} cannot be broken by blanking cells." if unbreakable else ""
    )
    if fragility["n_not_worked_out"]:
        left_out = many(fragility["n_not_worked_out"], "point")
        beyond += f" For {left_out} this is not worked out: too many completions."
    if not fragility["histogram"]:
        return [title, beyond]
    most = max(row["n_points"] for row in fragility["histogram"])
    bars = [
        [
            span(row["start"], row["stop"]),
            f"{row['n_points']:,}",
            "█" * -(-_BARS * row["n_points"] // most),
        ]
        for row in fragility["histogram"]
    ]
    weakest = [
        [_name(row), data(row["label"]), data(row["rival"]), f"{row['radius']:,}"]
        for row in fragility["weakest"]
    ]
    return [
        title,
        "Fewest training cells to blank before a point is certain no more; as many would have to be "
        f"wrong. {beyond}".rstrip(),
        table(["cells to blank", "points", ""], bars),
        "The weakest certain points:",
        table(["point", "label", "rival", "cells"], weakest),
    ]


def _features(document: Document) -> list[str]:
    features, title = document["features"], "## Which features keep points from being certain"
    rows = [
        [
            data(row["feature"]),
            f"{row['n_missing']:,}",
            per_cent(row["share"]),
        ]
        for row in features["features"]
    ]
    return [
        title,
        f"Of {many(features['n_open'], 'point')} that are not done, the share that would be if one feature "
        f"were complete. {features['meaning']}",
        table(["feature", "missing cells", "would"], rows),
    ]


def _attack(document: Document) -> list[str]:
    attack, title = document["attack"], "## What an attack looks like"
    rows = [
        [
            data(row["feature"]),
            " or ".join(map(data, row["values"])),
            data(row["label"]),
            f"{row['n_cells']:,}",
            row["effect"],
        ]
        for row in attack["cells"]
    ]
    return [
        title,
        f"Point {_name(attack)} is certainly {data(attack['label'])}. Blanking "
        f"{many(attack['n_cells'], 'cell')} lets {data(attack['rival'])} catch up:",
        table(["blank in", "cells that hold", "of label", "cells", "its support"], rows),
    ]


def _cleaning(document: Document) -> list[str]:
    cleaning = document["cleaning"]
    names = ("n_cells", "so_far", "expected")
    rows = [
        [data(stage["columns"]), *(amount(stage[name]) for name in names)]
        for stage in cleaning["stages"]
    ]
    more = cleaning["n_left_off"]
    left_off = [f"and {many(more, 'stage')} more"] if more else []
    return ["## What to clean first", in_words(cleaning), table(HEADS, rows), *left_off]


def _points(_document: Document) -> list[str]:
    """Single points are for the page; the open ones have their table above."""
    return []


_SECTIONS = {
    "compared": _compared,
    "tolerance": _tolerance,
    "labels": _labels,
    "open": _open,
    "fragility": _fragility,
    "accuracy": _accuracy,
    "attack": _attack,
    "features": _features,
    "cleaning": _cleaning,
    "holes": _holes,
    "data": _data,
    "points": _points,
    "asked": _asked,
}
