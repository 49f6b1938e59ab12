"""Attacks as plain values, and as a terminal shows them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.attacks.attack import Attack
from nullproof.tables.values import text

SHOWN = 20


def by_row(cells: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """Cells that are named by the positions of their rows."""
    return [{"row": row, "column": column} for row, column in cells]


def by_key(cells: list[tuple[Any, str]]) -> list[dict[str, Any]]:
    """Cells that are named by a column of their rows; numbers stay numbers, the rest is text."""
    return [
        {"key": key if isinstance(key, int | str) else text(key), "column": column}
        for key, column in cells
    ]


def document(attack: Attack, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON form of an attack; ``cells`` are those that it found in the table."""
    return {
        "n_points": len(attack.targets),
        "n_cells": attack.n_cells,
        "lower_bound": attack.lower_bound,
        "optimal": attack.optimal,
        "cells": cells,
        "points": [
            {
                "point": target.point,
                "certain_before": target.radius > 0,
                "label": None if target.label is None else str(target.label),
                "rival": None if target.rival is None else str(target.rival),
            }
            for target in attack.targets
        ],
    }


def show(console: Console, attack: Attack) -> None:
    """Print what it costs, how good that is, and which cells are blanked."""
    console.print(Text(repr(attack.index), style="dim"))
    console.print(Text("\n").append(repr(attack), style="bold").append("\n"))
    weak = sum(target.radius == 0 for target in attack.targets)
    if weak:
        console.print(f"{weak:,} of the points were open before and cost nothing.\n")
    if not attack.blanks:
        return
    console.print(_moves(attack))
    if len(attack.blanks) > SHOWN:
        console.print(
            f"… and {len(attack.blanks) - SHOWN:,} more sorts of cells: --json lists each cell",
            style="dim",
        )
    rivals = Counter((str(t.label), str(t.rival)) for t in attack.targets if t.radius > 0)
    console.print()
    for (label, rival), n_points in rivals.most_common(SHOWN):
        console.print(f"{n_points:,} × {label} → {rival}", highlight=False, markup=False)


def _moves(attack: Attack) -> Table:
    features, labels = attack.index.schema.features, attack.index.labels
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("cells", "column", "value", "label"):
        grid.add_column(name, justify="right" if name == "cells" else "left")
    for blank in sorted(attack.blanks, key=lambda blank: -blank.n_cells)[:SHOWN]:
        values = features[blank.feature].values
        grid.add_row(
            f"{blank.n_cells:,}",
            Text(features[blank.feature].name),
            Text(" or ".join(values[code] for code in blank.candidates)),
            Text(str(labels[blank.label])),
        )
    return grid
