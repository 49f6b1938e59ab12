"""Certificates as plain values, and as a terminal shows them."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.counts.index import CountIndex
from nullproof.decision import Certificates
from nullproof.show import interval_rows
from nullproof.terminal import SHOWN, tell_of_more
from nullproof.words import PLAIN, per_cent


def document(index: CountIndex, result: Certificates) -> dict[str, Any]:
    """The JSON form of certificates."""
    columns = as_columns(result)
    names = [str(label) for label in result.labels]
    possible = [
        [name for name, is_so in zip(names, row, strict=True) if is_so]
        for row in result.possible.tolist()
    ]
    return {
        "n_points": len(result),
        "n_certain": int(result.certain.sum()),
        "n_missing": index.n_missing,
        "labels": names,
        "points": [
            {"point": point, "certain": certain, "label": label, "possible": labels}
            for point, certain, label, labels in zip(
                columns["point"], columns["certain"], columns["label"], possible, strict=True
            )
        ],
    }


def as_columns(result: Certificates) -> dict[str, list[Any]]:
    """One column per field, one entry per point."""
    frame = result.columns()
    return {"point": list(range(len(result))), **frame}


def show(console: Console, index: CountIndex, result: Certificates) -> None:
    """Print how many predictions are certain, and a table of the first points."""
    console.print(Text(repr(index), style="dim"))
    console.print(headline(result))
    console.print(table(result, SHOWN))
    tell_of_more(console, len(result))


def headline(result: Certificates) -> Text:
    """The one number that matters, with a bar."""
    n_certain, n = int(result.certain.sum()), len(result)
    share = n_certain / n if n else 0.0
    filled = int(share * 20)
    line = Text("\n")
    line.append(f"{n_certain:,} of {n:,} predictions are certain", style="bold")
    line.append(f" ({per_cent(share, PLAIN)}) ")
    line.append("█" * filled, style="green")
    line.append("░" * (20 - filled), style="yellow")
    return line.append("\n")


def table(result: Certificates, limit: int, names: list[str] | None = None) -> Table:
    """The first points with their verdicts; ``names`` replaces their positions."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("point", justify="left" if names else "right")
    grid.add_column("verdict")
    grid.add_column("label in every world")
    grid.add_column("possible labels")
    for position in range(min(limit, len(result))):
        certificate = result[position]
        verdict = Text("certain", "green") if certificate.certain else Text("open", "yellow")
        grid.add_row(
            Text(names[position] if names else str(position)),
            verdict,
            Text("" if certificate.label is None else str(certificate.label)),
            Text(", ".join(str(label) for label in certificate.possible)),
        )
    return grid


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
