"""Odds as plain values, and as a terminal shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.counts.index import CountIndex
from nullproof.odds.labels import Odds
from nullproof.terminal import SHOWN, tell_of_more
from nullproof.words import PLAIN, odds

_LABELS = 6
_SURE = 0.99


def document(result: Odds) -> dict[str, Any]:
    """The JSON form of odds."""
    names = [str(label) for label in result.labels]
    return {
        "n_points": len(result),
        "labels": names,
        "points": [
            {
                "point": position,
                "lower": dict(zip(names, lower, strict=True)),
                "upper": dict(zip(names, upper, strict=True)),
            }
            for position, (lower, upper) in enumerate(
                zip(result.lower.tolist(), result.upper.tolist(), strict=True)
            )
        ],
    }


def as_columns(result: Odds) -> dict[str, list[Any]]:
    """One column per field, one entry per point."""
    return {"point": list(range(len(result))), **result.columns()}


def show(console: Console, index: CountIndex, result: Odds) -> None:
    """Print how many points have one label almost surely, and bars of the first points."""
    console.print(Text(repr(index), style="dim"))
    console.print(headline(result))
    console.print(table(result, SHOWN))
    tell_of_more(console, len(result))


def headline(result: Odds) -> Text:
    """How many points get the same label in every world, and in nearly all of them."""
    best = result.lower.max(axis=1, initial=0.0)
    n_certain, n_likely = int((best == 1).sum()), int((best >= _SURE).sum())
    line = Text("\n")
    line.append(
        f"{n_likely:,} of {len(result):,} predictions are the same in at least 99 % of the worlds",
        style="bold",
    )
    return line.append(f", {n_certain:,} of them in all\n")


def table(result: Odds, limit: int) -> Table:
    """Per point its likeliest labels, each with a bar and the bounds of its odds."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("point", justify="right")
    grid.add_column("label")
    grid.add_column("share of the worlds")
    grid.add_column("", justify="right")
    for position in range(min(limit, len(result))):
        upper = result.upper[position]
        order = [i for i in np.argsort(-upper, kind="stable").tolist() if upper[i] > 0]
        for rank, i in enumerate(order[:_LABELS]):
            grid.add_row(
                str(position) if rank == 0 else "",
                Text(str(result.labels[i])),
                bar(float(result.lower[position, i]), float(upper[i])),
                odds(float(result.lower[position, i]), float(upper[i]), PLAIN),
            )
        if len(order) > _LABELS:
            grid.add_row("", Text(f"… {len(order) - _LABELS:,} more", style="dim"), "", "")
    return grid


def bar(lower: float, upper: float, width: int = 24) -> Text:
    """A bar as long as the odds: full up to the lower bound, shaded up to the upper one."""
    full = int(lower * width)
    shaded = max(round(upper * width), full) - full
    line = Text("█" * full, style="green" if lower >= _SURE else "cyan")
    line.append("▒" * shaded, style="cyan")
    return line.append("·" * (width - full - shaded), style="dim")
