"""What `certify` shows on a terminal: three groups, the curve over bias, and the weakest points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.terminal import SHOWN, empty_grid, point_heading, point_name, say_more
from nullproof.words import PLAIN, either, many, per_cent, tolerance

if TYPE_CHECKING:
    from nullproof.certificates import Certificate, Certificates
    from nullproof.curve import CertaintyCurve
    from nullproof.tables.points import OwnHoles

_BAR = 20
_BLOCKS = " ▁▂▃▄▅▆▇█"
_COLUMN = 7
_STYLES = {"certain": "green", "holds": "cyan", "open": "yellow"}
_BIAS = (
    "Bias: how far the share of a value among the missing cells may differ from its "
    "share among the known cells of the same label and column. 0: they are just like "
    "those; 1: they may hold anything."
)


@dataclass(frozen=True)
class Asked:
    """What was asked about beside the points themselves.

    Parameters
    ----------
    own_holes
        How holes of the points were read.
    of_train
        Whether the points are the training rows.
    truth
        Per verdict how many points have a true label and how many predictions are right, if known.
    """

    own_holes: OwnHoles = "skip"
    of_train: bool = False
    truth: dict[str, dict[str, int]] | None = None


def show_certificates(console: Console, result: Certificates, asked: Asked) -> None:
    """Print how many predictions hold and how far, then the points, the weakest first."""
    console.print(Text(repr(result.model.index), style="dim"))
    if asked.of_train:
        console.print("The points are the training rows themselves; name TEST for others.")
    console.print(headline(result))
    console.print(groups(result, asked.truth))
    for line in _remarks(result, asked):
        console.print(Text(f"\n{line}"))
    if result.n_of("certain") < len(result):
        console.print(Text("\nPredictions that hold as the bias grows:\n"))
        console.print(drawn_curve(result.curve()))
        console.print(Text(f"\n{_BIAS}", style="dim"))
    console.print()
    console.print(table(result, SHOWN))
    say_more(console, len(result), "points: --json or -o FILE gives them all")
    console.print(Text(f"\n{_next_step(result)}", style="dim"))


def headline(result: Certificates) -> Text:
    """The numbers that matter, with a bar."""
    n = len(result)
    n_certain, n_holds = result.n_of("certain"), result.n_of("holds")
    line = Text("\n")
    line.append(f"{n_certain:,} of {n:,} predictions are certain", style="bold")
    line.append(f", {n_holds:,} more {'holds' if n_holds == 1 else 'hold'}  ")
    full = int(_BAR * n_certain / max(n, 1))
    shaded = int(_BAR * (n_certain + n_holds) / max(n, 1)) - full
    line.append("█" * full, style=_STYLES["certain"]).append("▓" * shaded, style=_STYLES["holds"])
    return line.append("░" * (_BAR - full - shaded), style=_STYLES["open"]).append("\n")


def groups(result: Certificates, truth: dict[str, dict[str, int]] | None) -> Table:
    """Per verdict how many points have it, how many of them are right, and what it means."""
    # Where all is certain nothing more is said of bias.
    below = " (see below)" if result.n_of("certain") < len(result) else ""
    meanings = {
        "certain": "same label whatever the missing cells hold",
        "holds": f"same label up to {result.up_to}{below}",
        "open": "may change within that bias",
    }
    known = [] if truth is None else [">right"]
    found = empty_grid("verdict", ">points", ">share", *known, "what it means")
    for verdict, meaning in meanings.items():
        n_points = result.n_of(verdict)
        right = [] if truth is None else [_right(truth[verdict])]
        share = per_cent(n_points / max(len(result), 1), PLAIN)
        name = Text(verdict, _STYLES[verdict])
        found.add_row(name, f"{n_points:,}", share, *right, Text(meaning))
    return found


def table(result: Certificates, limit: int) -> Table:
    """Points with their verdicts, the weakest first if not all fit."""
    names = result.points.names
    found = empty_grid(point_heading(names), "verdict", "predicted", ">holds up to", "first rival")
    for place in _order(result, limit):
        one = result[place]
        found.add_row(
            point_name(names, place),
            Text(one.verdict, _STYLES[one.verdict]),
            Text("tie" if one.predicted is None else str(one.predicted)),
            tolerance(one.tolerance),
            Text(_rival(one)),
        )
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


def _order(result: Certificates, limit: int) -> list[int]:
    if len(result) <= limit:
        return list(range(len(result)))
    weakest = np.argsort(np.nan_to_num(result.tolerance, nan=-1), kind="stable")
    return [int(place) for place in weakest[:limit]]


def _rival(one: Certificate) -> str:
    """The label that threatens first; where not even a bias of 0 decides, the strongest other one."""
    if one.rival is not None or one.verdict == "certain":
        return "" if one.rival is None else str(one.rival)
    others = [label for label in one.possible if label != one.predicted]
    return str(max(others, key=lambda label: one.max_log_support[label]))


def _right(counts: dict[str, int]) -> str:
    return per_cent(counts["n_right"] / counts["n"] if counts["n"] else None, PLAIN)


def _remarks(result: Certificates, asked: Asked) -> list[str]:
    """What else to know: columns with a bias of their own, labels that were left out, own holes."""
    model = result.model
    named = [
        f"{name} {float(bias):g}"
        for name, bias, own in zip(model.index.features, model.bias, model.fixed, strict=True)
        if own
    ]
    found = [f"Columns that keep a bias of their own: {either(named, 'and')}."] if named else []
    if asked.truth is not None:
        n_unknown = len(result) - sum(group["n"] for group in asked.truth.values())
        if n_unknown:
            found.append(
                f"{many(n_unknown, 'point')} without a label that TRAIN has: not counted as right or wrong."
            )
    return found + _own_holes(result, asked.own_holes)


def _own_holes(result: Certificates, own_holes: OwnHoles) -> list[str]:
    """How many points have holes of their own, and what the other reading of those says."""
    n_points = int((result.n_own_holes > 0).sum())
    if not n_points:
        return []
    n_now, n_other = int(result.certain.sum()), result.n_certain_if(_OTHER[own_holes])
    have = "1 point has" if n_points == 1 else f"{n_points:,} points have"
    read = "they are left out" if own_holes == "skip" else "they may hold anything"
    line = f"{have} missing cells too; {read} (--own-holes {own_holes})."
    if n_other != n_now:
        what = "certain" if result.strict else f"certain within {result.up_to}"
        line += f" With --own-holes {_OTHER[own_holes]} {n_other:,} instead of {n_now:,} points are {what}."
    return [line]


_OTHER: dict[OwnHoles, OwnHoles] = {"skip": "any", "any": "skip"}


def _next_step(result: Certificates) -> str:
    if result.certain.all():
        return "Next: `nullproof radius`, same arguments: how many cells would break each point."
    return "Next: `nullproof clean`, same arguments: which missing cells to look up first."
