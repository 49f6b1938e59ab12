"""Results as a terminal shows them: a headline, then a table or bars, never a wall of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.shown import SHOWN, Following, Shown
from nullproof.data.keys import shown_name
from nullproof.show import histogram, interval_rows
from nullproof.words import PLAIN, cut, many, odds, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nullproof.attacks.attack import Attack
    from nullproof.attacks.radius import Radii
    from nullproof.counts.index import CountIndex
    from nullproof.data.keys import RowNames
    from nullproof.model.certify import Certificates
    from nullproof.odds.odds import LabelOdds

POINTS = "points: --all shows them, --json or -o FILE gives them all"
_BARS = 8
_DEEDS = {"cells": "cells to blank, or to be wrong,", "rows": "rows to add"}
_LABELS = 6
_NAME = 24


def intervals(result: Certificates, position: int, width: int = 48) -> Table:
    """Per label a bar from its least to its greatest support, on one logarithmic scale.

    The point is certain if one bar lies clear of all others.
    """
    low, high = result.min_log_support[position], result.max_log_support[position]
    rows = interval_rows(result.labels, low.tolist(), high.tolist())
    finite = [end for row in rows for end in (row.low, row.high) if math.isfinite(end)]
    left, right = (min(finite), max(finite)) if finite else (0.0, 0.0)
    scale = (width - 1) / (right - left) if right > left else 0.0
    grid = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        start, stop = (
            round((end - left) * scale) if math.isfinite(end) else 0 for end in (row.low, row.high)
        )
        bar = Text(" " * start).append("━" * (stop - start + 1), style="cyan")
        grid.add_row(Text(row.label, style="bold"), bar, row.text)
    return grid


def show_radii(console: Console, index: CountIndex, result: Radii, shown: Shown) -> None:
    """Print a histogram of the radii and a table with the weakest points first."""
    console.print(Text(repr(index), style="dim"))
    say_whose(console, shown)
    console.print(Text("\n").append(repr(result).splitlines()[0], style="bold").append("\n"))
    finite = result.radius[(result.radius > 0) & np.isfinite(result.radius)]
    if len(finite):
        console.print(f"{_DEEDS[result.threat]} before a prediction is no longer certain:\n")
        console.print(_radius_bars(finite))
    _show_weakest(console, result, shown)
    say_not_worked_out(console, result.not_worked_out, result.names)
    say_next(console, shown.following)


def _radius_bars(radii: NDArray[np.float64], width: int = 40) -> Table:
    """How many points have which radius, in bars of equal ratio."""
    rows = histogram(radii, _BARS)
    most = max(row["n_points"] for row in rows)
    grid = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        bar = Text("█" * math.ceil(width * row["n_points"] / most), style="cyan")
        name = Text(span(row["start"], row["stop"]), justify="right")
        grid.add_row(name, bar, f"{row['n_points']:,}")
    return grid


def _show_weakest(console: Console, result: Radii, shown: Shown) -> None:
    """Print the certain points, the weakest first; the others last, where there is room for all."""
    order = result.weakest_first
    weak = np.flatnonzero(result.radius == 0)
    limit = len(result) if shown.limit is None else shown.limit
    places = np.concatenate([order, weak]) if len(result) <= limit else order[:limit]
    if len(places):
        console.print()
        console.print(_weakest(result, places))
    say_more(console, len(order), POINTS, shown.limit)
    if len(weak) and len(result) > limit:
        one = len(weak) == 1
        who = (
            "1 point is not certain now and needs"
            if one
            else (f"{len(weak):,} points are not certain now and need")
        )
        which = "it" if one else "them"
        console.print(Text(f"\n{who} no attack (radius 0); --all lists {which} too.", style="dim"))


def _weakest(result: Radii, places: NDArray[np.intp]) -> Table:
    grid = empty_grid(point_heading(result.names), ">radius", "label now", "rival")
    names = [("" if x is None else str(x)) for x in (*result.label, *result.rival)]
    for place in places.tolist():
        radius = result.radius[place]
        shown = "no attack" if math.isinf(radius) else f"{radius:,.0f}"
        shown = shown if result.not_worked_out[place] is None else "not worked out"
        label = names[place] if radius else "not certain"
        grid.add_row(
            point_name(result.names, place), shown, Text(label), Text(names[len(result) + place])
        )
    return grid


def show_attack(console: Console, attack: Attack, shown: Shown) -> None:
    """Print what it costs, how good that is, and which cells are blanked."""
    console.print(Text(repr(attack.index), style="dim"))
    console.print(Text("\n").append(repr(attack), style="bold").append("\n"))
    weak = sum(target.radius == 0 for target in attack.targets)
    if weak:
        console.print(f"{weak:,} of the points were not certain before and cost nothing.\n")
    say_not_worked_out(console, [one.not_worked_out for one in attack.targets], attack.names)
    if attack.blanks:
        _show_blanks(console, attack, shown.limit)
    say_next(console, shown.following)


def _show_blanks(console: Console, attack: Attack, limit: int | None) -> None:
    """Print which cells are blanked, and what that does."""
    console.print(_moves(attack, limit))
    what = "sorts of cells: --all shows them, --json lists each cell"
    say_more(console, len(attack.blanks), what, limit)
    console.print(Text(f"\n{attack.effect}"))


def _moves(attack: Attack, limit: int | None) -> Table:
    features, labels = attack.index.schema.features, attack.index.labels
    grid = empty_grid(">cells", "column", "value", "label")
    for blank in sorted(attack.blanks, key=lambda blank: -blank.n_cells)[:limit]:
        values = features[blank.feature].values
        grid.add_row(
            f"{blank.n_cells:,}",
            Text(features[blank.feature].name),
            Text(values[blank.candidates[0]]),
            Text(str(labels[blank.label])),
        )
    return grid


def show_odds(console: Console, index: CountIndex, result: LabelOdds, shown: Shown) -> None:
    """Print how many predictions are the same in nearly all worlds, and bars of the weakest points."""
    console.print(Text(repr(index), style="dim"))
    say_whose(console, shown)
    console.print(_odds_headline(result))
    console.print(odds_table(result, shown.limit))
    say_more(console, len(result), POINTS, shown.limit)
    say_next(console, shown.following)


def _odds_headline(result: LabelOdds) -> Text:
    """How many points get the same label in every world, and in nearly all of them."""
    n_certain, n_likely = int((result.same[:, 0] == 1).sum()), int(result.sure.sum())
    line = Text("\n")
    if len(result) == 1:
        label = "" if result.predicted[0] is None else f"{result.predicted[0]}: "
        return line.append(f"{label}{result.sentence(0)}\n", style="bold")
    line.append(
        f"{n_likely:,} of {len(result):,} predictions are the same in at least 99 % of the worlds",
        style="bold",
    )
    return line.append(f", {n_certain:,} of them in all\n")


def odds_table(result: LabelOdds, limit: int | None) -> Table:
    """Per point its labels, the predicted one first, with a bar and bounds of the odds; weakest first."""
    grid = empty_grid(point_heading(result.names), "label", "share of the worlds", ">")
    for position in result.weakest()[:limit].tolist():
        upper, winner = result.upper[position], int(result.winners[position])
        order = [i for i in np.argsort(-upper, kind="stable").tolist() if upper[i] > 0]
        order.sort(key=lambda i: i != winner)
        for rank, i in enumerate(order[:_LABELS]):
            grid.add_row(
                _name_of(result, position) if rank == 0 else "",
                Text(str(result.labels[i])),
                odds_bar(float(result.lower[position, i]), float(upper[i])),
                odds(float(result.lower[position, i]), float(upper[i]), PLAIN),
            )
        if len(order) > _LABELS:
            grid.add_row("", Text(f"… {len(order) - _LABELS:,} more", style="dim"), "", "")
    return grid


def _name_of(result: LabelOdds, position: int) -> Text:
    """A point by its name, or by its position in TEST."""
    return point_name(result.names, position + (result.first if result.names is None else 0))


def odds_bar(lower: float, upper: float, width: int = 24) -> Text:
    """A bar as long as the odds: full up to the lower bound, shaded up to the upper one."""
    from nullproof.odds.odds import SURE

    full = int(lower * width)
    shaded = max(round(upper * width), full) - full
    line = Text("█" * full, style="green" if lower >= SURE else "cyan")
    line.append("▒" * shaded, style="cyan")
    return line.append("·" * (width - full - shaded), style="dim")


def empty_grid(*names: str) -> Table:
    """An empty table; a column whose name begins with ``>`` is flush right."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        grid.add_column(name.removeprefix(">"), justify="right" if name[:1] == ">" else "left")
    return grid


def point_heading(names: RowNames | None) -> str:
    """The name of the column that names points: that of the key, or ``point`` above positions."""
    return ">point" if names is None else cut(names.column, _NAME)


def point_name(names: RowNames | None, place: int) -> Text:
    """A point by its name, shortened, or by its position."""
    return Text(cut(shown_name(names, place), _NAME))


def say_not_worked_out(
    console: Console, reasons: Sequence[str | None] | NDArray[np.object_], names: RowNames | None
) -> None:
    """Say how many points are not worked out, and why the first is not."""
    left = [place for place, reason in enumerate(reasons) if reason is not None]
    if left:
        verb = "is" if len(left) == 1 else "are"
        first = shown_name(names, left[0])
        said = f"{many(len(left), 'point')} {verb} not worked out; the first is {first}: "
        console.print(Text(f"\n{said}{reasons[left[0]]}."))


def say_more(console: Console, count: int, what: str, limit: int | None = SHOWN) -> None:
    """Say how many of something the table above leaves out, and how to get them."""
    if limit is not None and count > limit:
        console.print(f"… and {count - limit:,} more {what}", style="dim")


def say_whose(console: Console, shown: Shown) -> None:
    """Say it if the points are the training rows."""
    if shown.of_train:
        console.print(
            Text("\nThe points are the training rows themselves; name TEST for new rows.")
        )


def say_next(console: Console, following: Following | None) -> None:
    """Say what to do next; the command is one line, however long, so that it can be pasted."""
    if following is None:
        return
    console.print(Text(f"\nNext, {following.what}:", style="dim"))
    console.print(Text(f"  {following.line}"), soft_wrap=True)
