"""The top of the page: the answer, how many of each verdict are right, three findings, the next step."""

from __future__ import annotations

from typing import Any

from nullproof.reporting.html.elements import Cell, Column, data, table
from nullproof.reporting.tolerance import share_at_goal
from nullproof.words import many, per_cent

Document = dict[str, Any]
_LONGEST = 10_000


def fragment_headline(document: Document) -> str:
    """The answer: one big number, one bar, what was found and what to do."""
    certain, verdicts = document["certain"], document["verdicts"]
    if not certain["n_points"]:
        return (
            '<div id="certain" class="hero"><p class="answer"><strong class="big">–</strong> '
            f"<span>There are no points to predict.</span></p>{_assumptions(document)}</div>"
        )
    number = f'<strong class="big">{per_cent(share_at_goal(verdicts))}</strong>'
    return (
        f'<div id="certain" class="hero"><p class="answer">{number} <span>{_answer(document)}</span>'
        f"</p>{_stack(verdicts)}{_groups(verdicts)}{_findings(document)}{_next(document)}"
        f"<p>{_facts(document['table'])}</p>{_assumptions(document)}</div>"
    )


def _answer(document: Document) -> str:
    verdicts, n_points = document["verdicts"], document["certain"]["n_points"]
    of = f"of {many(n_points, 'prediction')} of <b>{data(document['table']['label_name'])}</b> "
    verb = "is" if n_points == 1 else "are"
    if verdicts["goal"] == "certain":
        return (
            f"{of}{verb} certain: every way to fill in the missing cells gives the same label"
            f"{verdicts['learned'] and ', '}{verdicts['learned']}."
            if document["table"]["n_missing"]
            else f"{of}{verb} certain: no cell is missing, so there is but one world."
        )
    verb = "holds" if n_points == 1 else "hold"
    return (
        f"{of}{verb} up to {verdicts['up_to']}: missing cells that are so much like the known ones do "
        "not change the label."
    )


def _facts(held: Document) -> str:
    return (
        f"The training table has {many(held['n_rows'], 'row')}, "
        f"{many(held['n_features'], 'feature')} and {many(held['n_missing'], 'missing cell')} "
        f"({per_cent(held['share_missing'])})."
    )


def _stack(verdicts: Document) -> str:
    """One bar: the certain points, then those that hold, then the open ones."""
    shares = {one["verdict"]: one["share"] for one in verdicts["groups"]}
    if shares["open"] is None:
        return ""
    certain, holds = shares["certain"], shares["holds"]
    said = f"{per_cent(certain)} certain, {per_cent(holds)} hold, {per_cent(shares['open'])} open"
    return (
        f'<svg class="stack" role="img" aria-label="{said}"><title>{said}</title>'
        f'<rect class="open" width="100%" height="100%"/>'
        f'<rect class="holds" width="{100 * (certain + holds):.3f}%" height="100%"/>'
        f'<rect class="certain" width="{100 * certain:.3f}%" height="100%"/></svg>'
    )


def _groups(verdicts: Document) -> str:
    """How many predictions are certain, hold and are open, and how many of each are right."""
    known = any(one["n_known"] for one in verdicts["groups"])
    rows = []
    for one in verdicts["groups"]:
        row = [
            Cell(f'<span class="tag {one["verdict"]}">{one["verdict"]}</span>'),
            Cell(f"{one['n_points']:,}"),
            Cell(per_cent(one["share"])),
        ]
        rows.append([*row, Cell(_right(one))] if known else row)
    columns = [Column("verdict"), Column("predictions", True), Column("share", True)]
    caption = f"How many are certain, hold up to {verdicts['up_to']}, and are open"
    return table(caption, [*columns, Column("right", True)] if known else columns, rows)


def _right(group: Document) -> str:
    """How many are right among those whose label is known."""
    if not group["n_known"]:
        return "–"
    share = per_cent(group["n_right"] / group["n_known"])
    return f'{share}<br><span class="small">{group["n_right"]:,} of {group["n_known"]:,}</span>'


def _findings(document: Document) -> str:
    said = "".join(f"<li>{data(one, _LONGEST)}</li>" for one in document["findings"])
    return f'<ol class="findings">{said}</ol>' if said else ""


def _next(document: Document) -> str:
    step = document["next"]
    if step is None:
        return ""
    line = f"<pre><code>{data(step['command'], _LONGEST)}</code></pre>" if step["command"] else ""
    return f'<div class="next"><p><b>Next.</b> {data(step["text"], _LONGEST)}</p>{line}</div>'


def _assumptions(document: Document) -> str:
    said = "".join(f"<li>{data(one, _LONGEST)}</li>" for one in document["assumptions"])
    return (
        "<details><summary>What certain, holds and open mean here</summary>"
        f'<ul class="notes">{said}</ul></details>'
    )
