"""Show results on a terminal: a headline, then a table or bars."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.data.points import shown_name
from nullproof.odds.odds import SURE
from nullproof.results.pictures import factor, histogram
from nullproof.words import (
    PLAIN,
    cut,
    either,
    many,
    odds,
    per_cent,
    some,
    span,
    verdict_meanings,
)

if TYPE_CHECKING:
    from nullproof.attacks.accuracy import AccuracyCurve
    from nullproof.attacks.attack import Attack
    from nullproof.attacks.radius import Radii
    from nullproof.auditing import Audit
    from nullproof.cleaning.plan import CleaningPlan
    from nullproof.counts.index import CountIndex
    from nullproof.model.accuracy import CurvePoint
    from nullproof.model.certify import Certificates
    from nullproof.model.explain import Explanation
    from nullproof.odds.odds import LabelOdds

# How many lines a table shows without --all.
SHOWN = 20
_FEW = 3
_POINTS = "points: --all shows them, --json or -o FILE writes them all"
_STYLES = {"certain": "green", "holds": "cyan", "open": "yellow"}
_SIDES = {1: "green", -1: "yellow", 0: ""}
_DEEDS = {"cells": "cells to blank or falsify", "rows": "rows to add"}
_BIAS = (
    "Bias: how far the share of a value among the missing cells may differ from its share among the known "
    "cells of the same label and column. 0: the shares are equal; 1: missing cells may hold anything."
)
_WIDTH, _NAME, _HEAD, _CELL, _LABELS, _RIVALS, _STAGES = 40, 24, 15, 60, 6, 6, 10
# Right-aligned cells: numbers, including those with a word before them or with a unit.
_DIGITS = r"[\d.,·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"
_NUMBER = re.compile(
    rf"((under|over|up to|at least|not even|[×÷]) )?{_DIGITS}( to {_DIGITS})?( %)?|–|even|no attack"
)
_BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Display:
    """A terminal that shows one answer.

    ``first`` is the position of the first point shown, if only one was requested.
    """

    console: Console
    everything: bool
    of_train: bool
    first: int = 0

    def say(self, line: str, style: str = "") -> None:
        """Print a line literally: text from the data may look like markup."""
        self.console.print(Text(line, style=style))

    def show(self, drawn: Table | Text) -> None:
        """Print a table or a picture."""
        self.console.print(drawn)

    def limit(self, usual: int = SHOWN) -> int:
        """Return how many lines a table has at most."""
        return sys.maxsize if self.everything else usual

    def show_rows(
        self, columns: Mapping[str, Sequence[Any]], n_rows: int, what: str = _POINTS
    ) -> None:
        """Print the rows of a result and how many are not shown; ``what`` names the rows."""
        rows = [*zip(*columns.values(), strict=True)]
        if rows:
            self.show(table([*columns], ([_short(cell) for cell in row] for row in rows)))
        self.say_more(n_rows - len(rows), what)

    def say_more(self, n_left: int, what: str) -> None:
        """Print how many lines are not shown, if any."""
        if n_left > 0:
            self.say(f"… and {n_left:,} more {what}", "dim")

    def open(self, name: str | None, index: CountIndex) -> None:
        """Print which table this is, and whether the points are its rows."""
        title = repr(index).partition(": ")[2]
        self.say(title if name is None else f"{name}: {title}", "dim")
        if self.of_train:
            self.say(
                "\nThe points are the training rows themselves; give TEST to predict new rows."
            )

    def say_next(self, what: str, line: str) -> None:
        """Print the next command, on one line however long, so that it can be pasted."""
        self.say(f"\nNext, {what}:", "dim")
        self.console.print(Text(f"  {line}"), soft_wrap=True)


# Lines and tables -------------------------------------------------------------------------------------


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table of plain values and styled texts; the header line is omitted if all heads are empty.

    Columns of numbers are right-aligned; neither they nor verdicts are wrapped.
    """
    lines = [
        [cell if isinstance(cell, Text) else Text(_plain(cell)) for cell in row] for row in rows
    ]
    drawn = Table(box=None, pad_edge=False, header_style="bold", show_header=any(heads))
    for place, head in enumerate(heads):
        cells = [line[place].plain for line in lines if line[place].plain]
        is_number = 2 * sum(_NUMBER.fullmatch(cell) is not None for cell in cells) > len(cells)
        drawn.add_column(
            # As text: a name from the data may look like markup.
            Text(textwrap.fill(head, _HEAD, break_long_words=False) if is_number else head),
            justify="right" if is_number else "left",
            no_wrap=is_number or head == "verdict",
        )
        if head == "verdict":
            for line in lines:
                line[place].stylize(_STYLES.get(line[place].plain, ""))
    for line in lines:
        drawn.add_row(*line)
    return drawn


def _plain(cell: Any) -> str:
    if cell is None:
        return ""
    # No-break spaces are for HTML pages.
    return f"{cell:,}" if isinstance(cell, int) else str(cell).replace("\u00a0", " ")


def _short(cell: Any) -> Text:
    """Return a cell that is cut off where the line is full."""
    if isinstance(cell, Text):
        return cell
    return Text(cut(_plain(cell), _CELL), no_wrap=True, overflow="ellipsis")


def _bar(share: float, width: int = _WIDTH, style: str = "cyan") -> Text:
    """Draw a share as a bar; any share above 0 is visible."""
    return Text("█" * max(round(width * share), share > 0), style)


# certify ----------------------------------------------------------------------------------------------


def show_certificates(display: Display, result: Certificates) -> None:
    """Print how many predictions hold and how far, then the points, weakest first."""
    display.show(headline(result))
    for line in _right_ones(result, display.of_train):
        display.say(line)
    display.say("")
    display.show(_groups(result))
    for line in _remarks(result):
        display.say(f"\n{line}")
    if result.n_of("certain") < len(result):
        display.say("\nPredictions that hold as the bias grows:\n")
        display.show(_drawn_curve(result.curve()))
        display.say(f"\n{_BIAS}", "dim")
    if len(result):
        display.say("\nThe points, weakest first:\n")
    # Nobody reads a list of rows that are all certain.
    usual = SHOWN if result.n_of("certain") < len(result) else _FEW
    display.show_rows(*result.shown_rows(display.limit(usual), display.first))


def headline(result: Certificates) -> Text:
    """Return the numbers that matter, in one sentence and as a bar."""
    n = len(result)
    n_certain, n_holds, n_open = (result.n_of(verdict) for verdict in _STYLES)
    full = int(_WIDTH * n_certain / max(n, 1))
    shaded = int(_WIDTH * (n_certain + n_holds) / max(n, 1)) - full
    line = Text("\n").append("█" * full, _STYLES["certain"]).append("▓" * shaded, _STYLES["holds"])
    line.append("░" * (_WIDTH - full - shaded), style=_STYLES["open"]).append("\n\n")
    if not n:
        sentence = "There are no points."
    elif n_certain == n:
        sentence = "The prediction is certain." if n == 1 else f"All {n:,} predictions are certain."
    else:
        parts = [
            f"{n_certain:,} {'is' if n_certain == 1 else 'are'} certain",
            f"{n_holds:,} more {'holds' if n_holds == 1 else 'hold'} up to {result.up_to}",
            f"{n_open:,} {'is' if n_open == 1 else 'are'} open",
        ]
        sentence = f"Of {many(n, 'prediction')} {either(parts, 'and')}."
    return line.append(sentence, style="bold")


def _groups(result: Certificates) -> Table:
    """Return for each verdict the number of points, how many are right, and its meaning."""
    heads = ["verdict", "points", "share", "what it means"]
    rows = [
        [
            verdict,
            result.n_of(verdict),
            per_cent(result.n_of(verdict) / max(len(result), 1), PLAIN),
            meaning,
        ]
        for verdict, meaning in verdict_meanings(result.threshold, result.learned).items()
    ]
    if result.truth is not None:
        heads.insert(3, "right")
        for row, verdict in zip(rows, _STYLES, strict=True):
            row.insert(3, per_cent(result.truth.groups[verdict].accuracy, PLAIN))
    return table(heads, rows)


def _right_ones(result: Certificates, of_train: bool) -> list[str]:
    """Report how many predictions are right, if known, and a baseline to compare with."""
    sentence = "" if result.truth is None else result.truth.sentence()
    if result.truth is None or not sentence:
        return []
    lines = [f"{sentence[0].upper()}{sentence[1:]}.", result.truth.yardstick()]
    if of_train:
        lines.append(
            "These rows were used for training, so the accuracy looks better than on new rows."
        )
    return lines


def _remarks(result: Certificates) -> list[str]:
    """List further remarks: bias by column, missing cells of points."""
    model, lines = result.model, []
    named = [
        f"{name} {float(bias):g}"
        for name, bias, fixed in zip(model.index.features, model.bias, model.fixed, strict=True)
        if fixed
    ]
    if result.learned:
        lines.append("Count a completed table with --like INDEX to keep the same bins and weights.")
    if named:
        lines.append(f"Columns with a separate, fixed bias: {either(named, 'and')}.")
    if result.truth is not None and result.truth.everything.n < len(result):
        n_unknown = len(result) - result.truth.everything.n
        lines.append(
            f"{many(n_unknown, 'point')} without a known label: predicted, not counted as right or wrong."
        )
    n_points, how = int((result.n_own_missing > 0).sum()), result.points.own_missing
    if not n_points:
        return lines
    have = "1 point has" if n_points == 1 else f"{n_points:,} points have"
    read = "they are left out" if how == "skip" else "they may hold anything"
    line = f"{have} missing cells too; {read} (--own-missing {how})."
    # The other reading compares all pairs of labels, which takes too long if there are many.
    if model.m <= 500:
        other: Any = "any" if how == "skip" else "skip"
        n_now, n_other = int(result.certain.sum()), result.n_certain_if(other)
        if n_other != n_now:
            what = "certain" if result.strict else f"certain within {result.up_to}"
            line += (
                f" With --own-missing {other}, {n_other:,} points instead of {n_now:,} are {what}."
            )
    return [*lines, line]


def _drawn_curve(points: Sequence[CurvePoint]) -> Text:
    """Draw the share of predictions that hold at each bias: a row of blocks above shares and an axis."""
    wide = 7
    shares = [point.n_hold / (point.n_hold + point.rest.n_points) for point in points]
    blocks = (_BLOCKS[math.ceil(8 * share)] * (wide - 1) for share in shares)
    written = (
        per_cent(share, PLAIN).replace("under", "<").replace("over", ">").replace(" %", "%")
        for share in shares
    )
    axis = (f"{point.bias:g}" for point in points)
    rows = ["".join(cell.center(wide) for cell in row).rstrip() for row in (blocks, written, axis)]
    return Text().append(rows[0], style="cyan").append(f"\n{rows[1]}\n{rows[2]}  bias")


def show_explanation(display: Display, why: Explanation) -> None:
    """Print the verdict on the label, then each cell with its factors and a bar."""
    verdict = "is certain" if why.certain else "is not certain"
    name = shown_name(why.points.names, why.position)
    line = f"\nPoint {name}: {why.label} {verdict}; its strongest rival is {why.nearest}"
    display.say(line, "bold")
    display.say(f"{why.sentence()}.\n")
    display.show(_explained(why))
    display.say_more(len(why.terms) - SHOWN, "cells: --json writes them all")
    if len(why.leads) > 1:
        display.say("\nThe total factor against each other label:\n")
        weakest = sorted(why.leads.items(), key=lambda pair: pair[1].least)[:_RIVALS]
        rows = ([rival, *_factors(why, lead, str(rival))] for rival, lead in weakest)
        display.show(table(["label", "least", "known cells", "greatest"], rows))
    within = "" if why.model.unbiased is why.model else " (within the bias)"
    display.say(
        f"\n× supports {why.label}, ÷ supports {why.rival}; the last line is the product of all factors. "
        f"Least: the missing training cells are worst for {why.label} and best for {why.rival}{within}; "
        "greatest: the other way round.",
        "dim",
    )


def _explained(why: Explanation) -> Table:
    width, first = 21, why.strongest_first[:SHOWN]
    ends = [abs(end) for term in first for end in term.lead if math.isfinite(end)]
    reach = max([*ends, abs(why.prior) if math.isfinite(why.prior) else 0.0]) or 1.0

    def place(log: float) -> int:
        share = 0.0 if math.isnan(log) else min(max(log / reach, -1.0), 1.0)
        return width // 2 + round(share * (width // 2))

    def bar(lead: Sequence[float]) -> Text:
        least, mark, greatest = map(place, lead)
        marks = ["▒" if least <= at <= greatest else " " for at in range(width)]
        marks[width // 2], marks[mark] = "│", "█"
        return Text("".join(marks), _SIDES[(lead[1] > 0) - (lead[1] < 0)])

    rows: list[list[Any]] = []
    for term in first:
        value = term.cell.shown + ("" if term.weight == 1 else f", weight {term.weight:g}")
        rows.append([term.cell.feature, value, *_factors(why, term.lead), bar(term.lead)])
    same = (why.prior,) * 3
    rows.append([Text("prior", "italic"), "", *_factors(why, same), bar(same)])
    rows.append([Text("all together", "bold"), "", *_factors(why, why.total), ""])
    sides = cut(f"{why.rival} ← → {why.label}", width)
    found = table(["cell", "value", "least", "known cells", "greatest", sides], rows)
    found.columns[0].overflow = found.columns[1].overflow = "fold"
    found.columns[-1].min_width, found.columns[-1].no_wrap = width, True
    return found


def _factors(why: Explanation, lead: Sequence[float], rival: str | None = None) -> list[Text]:
    found = []
    for log in lead:
        side = (log > 0) - (log < 0)
        if math.isnan(log):
            words = "rules both out"
        elif math.isinf(log):
            words = f"rules {(rival or why.rival) if side > 0 else why.label} out"
        else:
            words = factor(log) if side > 0 else factor(log).replace("×", "÷") if side else "even"
        found.append(Text(words, _SIDES[side]))
    return found


# radius and poison ------------------------------------------------------------------------------------


def show_radii(display: Display, result: Radii) -> None:
    """Print a histogram of the radii and a table with the weakest points first."""
    display.say(f"\n{result.headline}.\n", "bold")
    finite = result.radius[result.broken]
    if len(finite) > 1:
        display.say(f"{_DEEDS[result.threat]} before a prediction is no longer certain:\n")
        bars = histogram(finite, 8)
        most = max(bar["n_points"] for bar in bars)
        rows = [
            (span(bar["start"], bar["stop"]), _bar(bar["n_points"] / most), bar["n_points"])
            for bar in bars
        ]
        display.show(table(["", "", ""], rows))
    display.say("")
    display.show_rows(*result.shown_rows(display.limit(), display.first))


def show_attack(display: Display, attack: Attack) -> None:
    """Print the cost of an attack, the lower bound, and the cells it blanks or the rows it adds."""
    display.say(f"\n{attack!r}\n", "bold")
    n_weak = sum(target.radius == 0 for target in attack.targets)
    if n_weak:
        display.say(f"{n_weak:,} of the points were not certain before, so they cost nothing.\n")
    columns, n_lines = attack.shown_rows(display.limit())
    if n_lines:
        display.show_rows(columns, n_lines, "lines: --all shows them, --json writes them all")
        display.say(f"\n{attack.effect}")


def show_accuracy_curve(display: Display, curve: AccuracyCurve) -> None:
    """Print how many predictions are right, then how many stay right as attacks grow."""
    right, known = int(curve.right.sum()), many(curve.n_known, "prediction")
    display.say(f"\n{right:,} of {known} with a known true label are right\n", "bold")
    display.say("right whatever the missing cells hold and whatever an attack of this size does:\n")
    sizes = curve.steps.tolist() if display.everything else curve.some_sizes()
    bars = {"": [_bar(curve.at(k)) for k in sizes]}
    display.show_rows({**curve.shown_rows(sizes), **bars}, len(sizes))
    if not display.everything and len(curve.steps) > len(sizes):
        display.say("--all shows every step, --json or -o FILE writes them", "dim")


# odds, clean, audit -----------------------------------------------------------------------------------


def show_odds(display: Display, result: LabelOdds) -> None:
    """Print how many predictions are the same in nearly all worlds, then bars for the weakest points."""
    headline = result.headline
    if len(result) == 1:
        label = result.predicted[0]
        headline = result.sentence(0) if label is None else f"{label}: {result.sentence(0)}"
    display.say(f"\n{headline}\n", "bold")
    (heading, names), *_ = result.shown_rows(display.limit(), display.first)[0].items()
    rows: list[Sequence[Any]] = []
    for name, position in zip(names, result.weakest().tolist(), strict=False):
        lower, upper = result.lower[position].tolist(), result.upper[position].tolist()
        order = [i for i in np.argsort(-result.upper[position], kind="stable") if upper[i] > 0]
        order.sort(key=lambda i: i != result.winners[position])
        for rank, i in enumerate(order[:_LABELS]):
            first, bounds = "" if rank else name, (lower[i], upper[i])
            rows.append((first, str(result.labels[i]), _bounds(*bounds), odds(*bounds, PLAIN)))
        if len(order) > _LABELS:
            rows.append(("", Text(f"… {len(order) - _LABELS:,} more", style="dim"), "", ""))
    display.show(table([heading, "label", "share of the worlds", ""], rows))
    display.say_more(len(result) - display.limit(), _POINTS)


def _bounds(lower: float, upper: float, width: int = 24) -> Text:
    """Draw a bar that is filled to the lower share and shaded to the upper one."""
    full = int(lower * width)
    shaded = max(round(upper * width), full) - full
    line = Text("█" * full, "green" if lower >= SURE else "cyan").append("▒" * shaded, "cyan")
    return line.append("·" * (width - full - shaded), style="dim")


def show_plan(display: Display, plan: CleaningPlan, brought: dict[str, Any] | None) -> None:
    """Print what the answers achieved, then what to look up next."""
    if brought is not None:
        _show_brought(display, brought)
    display.say(f"\n{plan.headline}", "bold")
    display.say(plan.meaning, "dim")
    if plan.steps:
        _show_stages(display, plan)
    else:
        display.say(plan.nothing_to_do)
    if plan.stuck:
        names = (shown_name(plan.points.names, place) for place in plan.stuck)
        display.say(
            f"\nFor these points labels tie whatever the missing cells hold: {some(names, 10)}."
        )
    for sentence in filter(None, (plan.hint, plan.certainty)):
        display.say(f"\n{sentence}")


def _show_stages(display: Display, plan: CleaningPlan) -> None:
    width = 12
    display.say("Look up these missing cells of the training table first:\n")
    whole = max(plan.n_points - plan.n_done, 1)
    columns, n_stages = plan.shown_rows(display.limit(_STAGES))
    columns[""] = []
    for stage in plan.stages[: display.limit(_STAGES)]:
        bar = _bar(min(max((stage.expected - plan.n_done) / whole, 0), 1), width, "green")
        columns[""].append(bar.append("·" * (width - len(bar)), "dim"))
    display.show_rows(columns, n_stages, "lines: --all shows them, --json lists every step")
    rest = plan.n_cells - plan.stages[-1].so_far
    if rest:
        display.say(
            f"{many(rest, 'more cell')} probably add nothing, except for points near a tie.",
            "dim",
        )
    display.say(
        "Expected done: points done after this line and all lines above it.",
        "dim",
    )
    if plan.stop is not None:
        display.say(f"\n{plan.stop.sentence}")


def _show_brought(display: Display, brought: dict[str, Any]) -> None:
    gained, n_before, n_now = brought["became_done"], brought["n_done_before"], brought["n_done"]
    answers, lost = many(brought["n_answers"], "answer"), n_before + len(gained) - n_now
    display.say(f"\n{answers} accepted: {many(n_now, 'point')} done, {n_before:,} before")
    if lost:
        display.say(
            f"{many(lost, 'point')} no longer done: answers change the known cells, and with them what the "
            "missing cells are compared with"
        )
    for entry in gained[:SHOWN]:
        display.say(f"  point {entry.get('key') or entry['point']} is done: {entry['label']}")
    display.say_more(len(gained) - SHOWN, "points: --json lists all")


def show_audit(display: Display, result: Audit) -> None:
    """Print the summary, then the changed predictions, most changed first."""
    display.say(f"\n{result.sentence()}.\n", "bold")
    display.show_rows(*result.shown_rows(display.limit(), display.first))
    display.say(f"\n{result.confidence()}", "dim")
