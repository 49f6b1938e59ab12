"""What `certify` shows on a terminal: sentences, three groups, the curve over bias, and the points."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.shown import Shown
from nullproof.cli.terminal import (
    empty_grid,
    point_heading,
    point_name,
    say_next,
)
from nullproof.data.points import evenly
from nullproof.words import PLAIN, either, many, per_cent, some, tolerance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nullproof.data.points import OwnMissing
    from nullproof.model.accuracy import CertaintyCurve, Group
    from nullproof.model.certify import Certificates

# How many lines go at most to points that are not certain, the weakest first; the others are a sample.
_WEAKEST = 14
_BAR = 40
_BLOCKS = " ▁▂▃▄▅▆▇█"
_COLUMN = 7
_STYLES = {"certain": "green", "holds": "cyan", "open": "yellow"}
_BIAS = (
    "Bias: how far the share of a value among the missing cells may differ from its "
    "share among the known cells of the same label and column. 0: they are just like "
    "those; 1: they may hold anything."
)
_OTHER: dict[OwnMissing, OwnMissing] = {"skip": "any", "any": "skip"}
_MANY_LABELS = 500


def show_certificates(console: Console, result: Certificates, shown: Shown) -> None:
    """Print how many predictions hold and how far, then the points, the weakest first."""
    console.print(Text(repr(result.model.index), style="dim"))
    console.print(headline(result))
    for line in _sentences(result, shown.of_train):
        console.print(Text(line))
    console.print()
    console.print(groups(result))
    for line in _remarks(result):
        console.print(Text(f"\n{line}"))
    if result.n_of("certain") < len(result):
        console.print(Text("\nPredictions that hold as the bias grows:\n"))
        console.print(drawn_curve(result.curve()))
        console.print(Text(f"\n{_BIAS}", style="dim"))
    _show_points(console, result, len(result) if shown.limit is None else shown.limit)
    say_next(console, shown.following)


def headline(result: Certificates) -> Text:
    """The numbers that matter, in one sentence and as a bar."""
    n, n_certain, n_holds = len(result), result.n_of("certain"), result.n_of("holds")
    full = int(_BAR * n_certain / max(n, 1))
    shaded = int(_BAR * (n_certain + n_holds) / max(n, 1)) - full
    line = Text("\n").append("█" * full, _STYLES["certain"]).append("▓" * shaded, _STYLES["holds"])
    line.append("░" * (_BAR - full - shaded), style=_STYLES["open"]).append("\n\n")
    return line.append(_counted(result), style="bold")


def groups(result: Certificates) -> Table:
    """Per verdict how many points have it, how many of them are right, and what it means."""
    # Where all is certain nothing more is said of bias.
    below = " (see below)" if result.n_of("certain") < len(result) else ""
    meanings = {
        "certain": "same label whatever the missing cells hold",
        "holds": f"same label up to {result.up_to}{below}",
        "open": "may change within that bias",
    }
    known = [] if result.truth is None else [">right"]
    found = empty_grid("verdict", ">points", ">share", *known, "what it means")
    for verdict, meaning in meanings.items():
        n_points = result.n_of(verdict)
        right = [] if result.truth is None else [_right(result.truth.groups[verdict])]
        share = per_cent(n_points / max(len(result), 1), PLAIN)
        name = Text(verdict, _STYLES[verdict])
        found.add_row(name, f"{n_points:,}", share, *right, Text(meaning))
    return found


def table(result: Certificates, places: NDArray[np.intp], n_weakest: int) -> Table:
    """One line per point at some places, with a gap after so many of them."""
    shown, names = result.take(places), result.points.names
    lines = shown.listed_columns()
    columns: list[tuple[str, list[Any]]] = [
        (point_heading(names), [point_name(names, place) for place in places.tolist()]),
        ("predicted", [_short("tie" if own is None else own) for own in lines["predicted"]]),
        ("verdict", [Text(own, _STYLES[own], no_wrap=True) for own in lines["verdict"]]),
        (">holds up to", [tolerance(own) for own in shown.tolerance.tolist()]),
        ("or else", [*map(_or_else, lines["others"], lines["rival"])]),
        (">own holes", [f"{own:,}" if own else "" for own in lines["n_own_missing"]]),
        ("right?", [_JUDGED[own] for own in lines.get("right", [])]),
    ]
    # A column without a word would take the room of others.
    told = [(name, cells) for name, cells in columns if any(map(str, cells))]
    found = empty_grid(*(name for name, _ in told))
    for column in found.columns:
        # On a narrow terminal names are cut, not verdicts.
        column.no_wrap = column.header in ("verdict", "right?")
    for at, line in enumerate(zip(*(cells for _, cells in told), strict=True)):
        if at == n_weakest:
            found.add_row(Text("…", "dim"))
        found.add_row(*line)
    return found


def drawn_curve(curve: CertaintyCurve) -> Text:
    """How many predictions hold at some biases: a row of blocks above shares and an axis."""
    found = curve.points()
    shares = [one.n_hold / max(curve.n_points, 1) for one in found]
    blocks = (_BLOCKS[math.ceil(8 * share)] * (_COLUMN - 1) for share in shares)
    per_cents = (
        f"{math.floor(100 * share)} %" if share == 0 or share >= 0.01 else "< 1 %"
        for share in shares
    )
    axis = (f"{one.bias:g}" for one in found)
    rows = ["".join(cell.center(_COLUMN) for cell in row) for row in (blocks, per_cents, axis)]
    line = Text("  ").append(rows[0], style="cyan")
    for row in rows[1:]:
        line.append(f"\n  {row}")
    return line.append("  bias")


def weakest_first(result: Certificates) -> NDArray[np.intp]:
    """The places of the points, the one that holds the least far first."""
    order: NDArray[np.intp] = np.argsort(np.nan_to_num(result.tolerance, nan=-1), kind="stable")
    return order


_JUDGED = {True: "right", False: "wrong", None: ""}


def _show_points(console: Console, result: Certificates, limit: int) -> None:
    """Print the weakest points and a sample of the others, or all points if the limit allows it."""
    order = weakest_first(result)
    if not len(order):
        return
    title, n_weakest, places = "The points, the weakest first", len(order), order
    if len(order) > limit:
        n_weakest = min(_WEAKEST, int((result.verdict != "certain").sum()))
        rest = order[n_weakest:]
        places = np.concatenate([order[:n_weakest], evenly(rest, limit - n_weakest)])
        title = f"{limit - n_weakest} of the {len(rest):,} {'others' if n_weakest else 'points'}"
        if n_weakest:
            title = f"The {many(n_weakest, 'weakest point')}, then {title}"
    console.print(Text(f"\n{title}:\n"))
    console.print(table(result, places, n_weakest or len(places)))
    if len(places) < len(order):
        n_left = len(order) - len(places)
        what = f"… {n_left:,} more: --all shows them, --json or -o FILE gives them all"
        console.print(what, style="dim")


def _counted(result: Certificates) -> str:
    n, n_certain, n_holds, n_open = (
        len(result),
        *(result.n_of(verdict) for verdict in ("certain", "holds", "open")),
    )
    if not n:
        return "There are no points."
    if n_certain == n:
        return "The prediction is certain." if n == 1 else f"All {n:,} predictions are certain."
    parts = [
        f"{n_certain:,} {'is' if n_certain == 1 else 'are'} certain",
        f"{n_holds:,} more {'holds' if n_holds == 1 else 'hold'} up to {result.up_to}",
        f"{n_open:,} {'is' if n_open == 1 else 'are'} open",
    ]
    return f"Of {many(n, 'prediction')} {either(parts, 'and')}."


def _sentences(result: Certificates, of_train: bool) -> list[str]:
    """How many are right, where that is known, and whose predictions these are."""
    told = "" if result.truth is None else result.truth.sentence()
    found = [f"{told[0].upper()}{told[1:]}."] if told else []
    if result.truth is not None and told:
        found.append(result.truth.yardstick())
    if of_train:
        flatters = ", so the shares of right ones flatter it" if told else ""
        found.append(
            "The points are the training rows themselves, which the table has counted already"
            f"{flatters}; name TEST for new rows."
        )
    return found


def _or_else(others: Sequence[str], rival: str | None) -> Text:
    """The other possible labels; where the bias leaves none, the one that threatens first beyond it."""
    return _short(some(others, 3) if others else rival or "")


def _short(label: str) -> Text:
    """A label that is cut off where the line is full."""
    return Text(label, no_wrap=True, overflow="ellipsis")


def _right(group: Group) -> str:
    return per_cent(group.accuracy, PLAIN)


def _remarks(result: Certificates) -> list[str]:
    """List what else to know: what certain is meant for, bias by column, missing cells of points."""
    model = result.model
    named = [
        f"{name} {float(bias):g}"
        for name, bias, own in zip(model.index.features, model.bias, model.fixed, strict=True)
        if own
    ]
    found = []
    if result.learned:
        found.append(
            f"Certain is meant {result.learned}; count a completed table with --like INDEX."
        )
    if named:
        found.append(f"Columns that keep a bias of their own: {either(named, 'and')}.")
    if result.truth is not None:
        n_unknown = len(result) - result.truth.everything.n
        if n_unknown:
            found.append(
                f"{many(n_unknown, 'point')} without a label that TRAIN has: not counted as right or wrong."
            )
    return found + _own_missing(result, result.points.own_missing)


def _own_missing(result: Certificates, own_missing: OwnMissing) -> list[str]:
    """How many points have holes of their own, and what the other reading of those says."""
    n_points = int((result.n_own_missing > 0).sum())
    if not n_points:
        return []
    have = "1 point has" if n_points == 1 else f"{n_points:,} points have"
    read = "they are left out" if own_missing == "skip" else "they may hold anything"
    line = f"{have} missing cells too; {read} (--own-missing {own_missing})."
    if result.model.m > _MANY_LABELS:
        # The other reading compares all pairs of labels, which is too long for a remark.
        return [line]
    n_now, n_other = int(result.certain.sum()), result.n_certain_if(_OTHER[own_missing])
    if n_other != n_now:
        what = "certain" if result.strict else f"certain within {result.up_to}"
        other = f"--own-missing {_OTHER[own_missing]}"
        line += f" With {other} {n_other:,} instead of {n_now:,} points are {what}."
    return [line]
