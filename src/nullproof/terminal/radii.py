"""Radii as plain values, and as a terminal shows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.counts.index import CountIndex
from nullproof.radii.cells import Radii
from nullproof.show import histogram
from nullproof.terminal import SHOWN, tell_of_more
from nullproof.words import span

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
        console.print(bars(finite))
    console.print()
    console.print(_weakest(result))
    tell_of_more(console, len(result))


def bars(radii: NDArray[np.float64], width: int = 40) -> Table:
    """How many points have which radius, in bars of equal ratio."""
    rows = histogram(radii, _BARS)
    most = max(row["n_points"] for row in rows)
    grid = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        bar = Text("█" * math.ceil(width * row["n_points"] / most), style="cyan")
        name = Text(span(row["start"], row["stop"]), justify="right")
        grid.add_row(name, bar, f"{row['n_points']:,}")
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
