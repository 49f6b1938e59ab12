"""The embedded example: which insurance customers will leave, although some cells are missing."""

from __future__ import annotations

from importlib.resources import files

import polars as pl
from rich.console import Console

from nullproof.cli.show import Display, show_certificates, show_explanation
from nullproof.counts.index import CountIndex
from nullproof.model.certify import certify
from nullproof.model.witness import witness
from nullproof.words import either

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
    """Show one example from start to end: missing cells, verdicts, and why one of them is open."""
    train, new = load()
    index = CountIndex.from_table(train, LABEL, ignore=[NAME])
    result = certify(index, new, key=NAME)
    display = Display(console, everything=True, of_train=False)
    display.say(
        f"An insurer wants to know which customers will leave. In {index.n_rows} records, "
        f"{index.n_missing} cells are missing. Every way to fill them in is a possible world."
    )
    show_certificates(display, result)
    weakest = next(one for one in result if not one.certain)
    show_explanation(display, weakest.explain())
    predicted = [either(world.winners, "and") for world in witness(index, new[weakest.position])]
    display.say(
        f"\nSo this customer is open: one world predicts {predicted[0]}, another {predicted[1]}."
    )
    display.say("\nNow try your data:  nullproof certify TRAIN.csv TEST.csv --label COLUMN", "dim")
