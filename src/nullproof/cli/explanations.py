"""What `certify --explain` shows on a terminal: the cells of one point, with bars to either side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.shown import SHOWN
from nullproof.cli.terminal import empty_grid, say_more
from nullproof.data.keys import shown_name
from nullproof.show import factor
from nullproof.words import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nullproof.model.explain import Explanation, Lead

_BAR = 21
_RIVALS = 6
_HEADS = (">least", ">known cells", ">greatest")
_STYLES = {1: "green", -1: "yellow", 0: ""}


def show_explanation(console: Console, one: Explanation) -> None:
    """Print the verdict on the label, then each cell with its factors and a bar."""
    console.print(Text(repr(one.model.index), style="dim"))
    verdict = "is certain" if one.certain else "is not certain"
    name = shown_name(one.points.names, one.position)
    line = f"\nPoint {name}: {one.label} {verdict}; its strongest rival is {one.nearest}"
    console.print(Text(line, style="bold"))
    console.print(Text(f"{one.sentence()}.\n"))
    console.print(_cells(one))
    say_more(console, len(one.terms), "cells: --json gives them all")
    if len(one.leads) > 1:
        console.print(Text("\nThe whole factor against each other label:\n"))
        console.print(_rivals(one))
    within = "" if one.model.unbiased is one.model else " (within the bias)"
    console.print(
        Text(
            f"\n× speaks for {one.label}, ÷ for {one.rival}; all factors multiply to the last line. "
            f"Least: the missing training cells suit {one.label} worst and {one.rival} best{within}; "
            "greatest: the other way round.",
            style="dim",
        )
    )


def _cells(one: Explanation) -> Table:
    shown = one.strongest_first[:SHOWN]
    leads = [term.lead for term in shown]
    ends = [abs(end) for lead in leads for end in lead if math.isfinite(end)]
    reach = max([*ends, abs(one.prior) if math.isfinite(one.prior) else 0.0]) or 1.0
    grid = empty_grid("cell", "value", *_HEADS, cut(f"{one.rival} ← → {one.label}", _BAR))
    grid.columns[0].overflow = grid.columns[1].overflow = "fold"
    grid.columns[-1].no_wrap, grid.columns[-1].min_width = True, _BAR
    for term in shown:
        grid.add_row(
            Text(term.cell.feature),
            Text(term.cell.shown + ("" if term.weight == 1 else f", weight {term.weight:g}")),
            *_factors(one, term.lead),
            _bar(term.lead, reach),
        )
    same = (one.prior,) * 3
    grid.add_row(Text("prior", "italic"), "", *_factors(one, same), _bar(same, reach))
    grid.add_row(Text("all together", "bold"), "", *_factors(one, one.total), "")
    return grid


def _rivals(one: Explanation) -> Table:
    grid = empty_grid("label", *_HEADS)
    weakest = sorted(one.leads.items(), key=lambda pair: pair[1].least)
    for rival, lead in weakest[:_RIVALS]:
        grid.add_row(Text(str(rival)), *_factors(one, lead, str(rival)))
    return grid


def _factors(one: Explanation, lead: Sequence[float], rival: str | None = None) -> list[Text]:
    return [_factor(log, str(one.label), rival or str(one.rival)) for log in lead]


def _factor(log: float, label: str, rival: str) -> Text:
    if math.isnan(log):
        return Text("rules both out")
    side = (log > 0) - (log < 0)
    if math.isinf(log):
        return Text(f"rules {rival if side > 0 else label} out", _STYLES[side])
    written = factor(log) if side >= 0 else factor(log).replace("×", "÷")
    return Text(written if side else "even", _STYLES[side])


def _bar(lead: Lead | Sequence[float], reach: float) -> Text:
    """A bar from the least to the greatest term, full at the reference, with a line in the middle."""
    least, mark, greatest = (_place(log, reach) for log in lead)
    marks = ["▒" if least <= at <= greatest else " " for at in range(_BAR)]
    marks[_BAR // 2] = "│"
    marks[mark] = "█"
    side = (lead[1] > 0) - (lead[1] < 0)
    return Text("".join(marks), _STYLES[side])


def _place(log: float, reach: float) -> int:
    share = 0.0 if math.isnan(log) else min(max(log / reach, -1.0), 1.0)
    return _BAR // 2 + round(share * (_BAR // 2))
