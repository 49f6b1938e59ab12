"""The embedded example: which insurance customers will leave, when some of the records have holes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.certificates import headline, table, weakest_first
from nullproof.cli.terminal import intervals
from nullproof.counts.index import CountIndex
from nullproof.model.certify import Certificates, certify
from nullproof.model.witness import World, witness

LABEL = "churn"
NAME = "customer"


def load() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The training table, with holes, and the customers to predict."""
    folder = files("nullproof") / "demo"
    return (
        pl.read_csv((folder / "customers.csv").read_bytes()),
        pl.read_csv((folder / "new_customers.csv").read_bytes()),
    )


def show_demo(console: Console) -> None:
    """Tell the whole story once: the holes, the verdicts, and why one of them is open."""
    train, new = load()
    index = CountIndex.from_table(train, LABEL, ignore=[NAME])
    result = certify(index, new, key=NAME)
    console.print(
        f"An insurer wants to know which customers will leave. Of {index.n_rows} records "
        f"{index.n_missing} cells are missing.\nEvery way to fill them in is a possible world. "
        "A prediction is certain if it is the same in all worlds. It holds up to a bias if it is the same "
        "in every world whose missing cells differ from the known ones by no more than that."
    )
    console.print(headline(result))
    console.print()
    console.print(table(result, weakest_first(result), len(result)))
    open_points = [p for p in range(len(result)) if not result[p].certain]
    _show_why(console, (train, new), index, result, open_points[0])


def _show_why(
    console: Console,
    tables: tuple[pl.DataFrame, pl.DataFrame],
    index: CountIndex,
    result: Certificates,
    position: int,
) -> None:
    train, new = tables
    point = new.row(position, named=True)
    said = ", ".join(f"{name} {point[name]}" for name in index.features)
    console.print(f"\n[bold]Why is customer {point[NAME]} open?[/] ({said})")
    console.print("The support of each label lies somewhere on its bar, and the bars overlap:\n")
    console.print(intervals(result, position))
    worlds = witness(index, {name: point[name] for name in index.features})
    console.print("\nTwo worlds that differ only in how the holes are filled:\n")
    console.print(_worlds_table(train, index, worlds))
    console.print("\nNow yours:  nullproof certify TRAIN.csv TEST.csv --label COLUMN", style="dim")


def _worlds_table(train: pl.DataFrame, index: CountIndex, worlds: tuple[World, World]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("hole", "one world", "another world"):
        grid.add_column(title)
    filled: list[Any] = [world.complete(train) for world in worlds]
    for name in index.features:
        for row in train[name].is_null().arg_true():
            cells = [str(frame[name][row]) for frame in filled]
            style = "bold" if cells[0] != cells[1] else "dim"
            hole = f"{name} of customer {train[NAME][row]} ({LABEL} {train[LABEL][row]})"
            grid.add_row(*(Text(cell, style) for cell in (hole, *cells)))
    grid.add_row(
        Text("prediction", "bold"),
        *(Text(f"{LABEL} {' = '.join(map(str, world.winners))}", "bold cyan") for world in worlds),
    )
    return grid
