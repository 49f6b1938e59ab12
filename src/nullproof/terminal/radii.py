"""Radii as plain values, and as a terminal shows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.counts.index import CountIndex
from nullproof.radii.cells import Radii
from nullproof.terminal import SHOWN, tell_of_more

_BARS = 8


def document(result: Radii) -> dict[str, Any]:
    """The JSON form of radii; null where no attack exists."""
    columns = as_columns(result)
    return {
        "n_points": len(result),
        "points": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def as_columns(result: Radii) -> dict[str, list[Any]]:
    """One column per field, one entry per point, in the order of the points."""
    columns = result.columns()
    columns["radius"] = [None if math.isinf(r) else int(r) for r in columns["radius"]]
    return {"point": list(range(len(result))), **columns}


def show(console: Console, index: CountIndex, result: Radii) -> None:
    """Print a histogram of the radii and a table with the weakest points first."""
    console.print(Text(repr(index), style="dim"))
    console.print(Text("\n").append(repr(result).splitlines()[0], style="bold").append("\n"))
    finite = result.radius[(result.radius > 0) & np.isfinite(result.radius)]
    if len(finite):
        console.print("cells to blank before a prediction is no longer certain:\n")
        console.print(histogram(finite))
    console.print()
    console.print(_weakest(result))
    tell_of_more(console, len(result))


def histogram(radii: Any, width: int = 40) -> Table:
    """How many points have which radius, in bars of equal ratio."""
    low, high = float(radii.min()), float(radii.max())
    edges = np.unique(np.round(np.geomspace(low, high + 1, _BARS + 1)))
    counts, edges = np.histogram(radii, bins=edges if len(edges) > 1 else [low, low + 1])
    grid = Table(box=None, pad_edge=False, show_header=False)
    for count, start, stop in zip(counts, edges[:-1], edges[1:], strict=True):
        last = int(stop) - 1
        name = f"{int(start):,}" if last <= start else f"{int(start):,} to {last:,}"
        bar = Text("█" * math.ceil(width * count / counts.max()), style="cyan")
        grid.add_row(Text(name, justify="right"), bar, f"{count:,}")
    return grid


def _weakest(result: Radii) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("point", justify="right")
    grid.add_column("radius", justify="right")
    grid.add_column("label now")
    grid.add_column("rival")
    names = [("" if x is None else str(x)) for x in (*result.label, *result.rival)]
    for place in np.argsort(result.radius, kind="stable")[:SHOWN].tolist():
        radius = result.radius[place]
        shown = "no attack" if math.isinf(radius) else f"{radius:,.0f}"
        label = names[place] if radius else "open"
        grid.add_row(str(place), shown, Text(label), Text(names[len(result) + place]))
    return grid
