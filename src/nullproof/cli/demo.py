"""The embedded example: which insurance customers will leave, when some cells are missing."""

from __future__ import annotations

from importlib.resources import files

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.show import Display, headline, intervals, table
from nullproof.counts.index import CountIndex
from nullproof.model.certify import certify
from nullproof.model.witness import World, witness

LABEL = "churn"
NAME = "customer"


def load() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the training table, with missing cells, and the customers to predict."""
    folder = files("nullproof") / "demo"
    return (
        pl.read_csv((folder / "customers.csv").read_bytes()),
        pl.read_csv((folder / "new_customers.csv").read_bytes()),
    )


def show_demo(console: Console) -> None:
    """Tell the whole story once: the missing cells, the verdicts, and why one of them is open."""
    train, new = load()
    index = CountIndex.from_table(train, LABEL, ignore=[NAME])
    result = certify(index, new, key=NAME)
    console.print(
        f"An insurer wants to know which customers will leave. Of {index.n_rows} records "
        f"{index.n_missing} cells are missing.\nEvery way to fill them in is a possible world. "
        "A prediction is certain if it is the same in all worlds. It holds if it is the same as long as "
        "the missing cells resemble the known ones, within 5 percentage points."
    )
    console.print(headline(result))
    console.print()
    Display(console, everything=True, of_train=False).show_rows(*result.shown_rows(len(new)))
    position = next(place for place in range(len(result)) if not result[place].certain)
    point = new.row(position, named=True)
    cells = {name: point[name] for name in index.features}
    said = ", ".join(f"{name} {value}" for name, value in cells.items())
    console.print(f"\n[bold]Why is customer {point[NAME]} open?[/] ({said})")
    console.print("The support of each label lies somewhere on its bar, and the bars overlap:\n")
    console.print(intervals(result, position))
    console.print("\nTwo worlds that differ only in how the missing cells are filled:\n")
    console.print(_worlds_table(train, index, witness(index, cells)))
    console.print("\nNow yours:  nullproof certify TRAIN.csv TEST.csv --label COLUMN", style="dim")


def _worlds_table(train: pl.DataFrame, index: CountIndex, worlds: tuple[World, World]) -> Table:
    rows, filled = [], [world.complete(train) for world in worlds]
    for name in index.features:
        for row in train[name].is_null().arg_true():
            cells = [str(frame[name][row]) for frame in filled]
            style = "bold" if cells[0] != cells[1] else "dim"
            cell = f"{name} of customer {train[NAME][row]} ({LABEL} {train[LABEL][row]})"
            rows.append([Text(text, style) for text in (cell, *cells)])
    predicted = [f"{LABEL} {' = '.join(map(str, world.winners))}" for world in worlds]
    rows.append([Text("prediction", "bold"), *(Text(text, "bold cyan") for text in predicted)])
    return table(["missing cell", "one world", "another world"], rows)
