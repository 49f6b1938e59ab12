"""The paper's experiments again, with its baselines and with nullproof.

``python -m experiments paper --data DIR -o OUT`` measures, and leaves in OUT: measurements.csv,
exceptions.csv (points where GS is not optimal), certainty.csv, every figure as SVG and PNG, summary.md
and index.html. Stop it at any time; the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.measuring import machine
from experiments.paper.claims import claims_table
from experiments.paper.datasets import Dataset, Note
from experiments.paper.running import QUICK, load, measure
from experiments.paper.store import Store
from experiments.paper.summary import (
    Results,
    Table,
    certainty_table,
    dataset_table,
    decision_table,
    greedy_table,
    poisoning_table,
    sampling_table,
)
from experiments.paper.tasks import DECIDERS, PARTS, POISONERS, Grid

SHOWN = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what ``python -m experiments paper`` takes."""
    parser.add_argument("--data", type=Path, help="folder with the datasets, by file name")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/paper"))
    parser.add_argument("--runs", type=int, help="runs of every setting (default 5, quick 2)")
    parser.add_argument(
        "--limit", type=float, help="leave out what takes more seconds (default 10)"
    )
    parser.add_argument(
        "--part",
        action="append",
        choices=PARTS,
        help="measure only this, draw nothing; may be given again",
    )
    parser.add_argument(
        "--real-only", action="store_true", help="no generated stand-ins for missing datasets"
    )
    parser.add_argument(
        "--openml", action="store_true", help="fetch what OpenML has into the data folder"
    )


def run(arguments: argparse.Namespace) -> Path:
    """Measure what is not measured yet, then draw; returns the page, of a part the measurements."""
    grid = QUICK if arguments.quick else Grid()
    grid = replace(
        grid,
        runs=arguments.runs or grid.runs,
        limit=arguments.limit or grid.limit,
        parts=tuple(arguments.part or grid.parts),
    )
    datasets, notes = load(
        arguments.data,
        stand_ins=not arguments.real_only,
        openml=arguments.openml,
        max_rows=grid.max_rows,
    )
    if not datasets:
        raise SystemExit("there is no dataset to measure; give their folder with --data")
    settings = {"quick": arguments.quick, "limit": grid.limit}
    store = Store(arguments.output, settings)
    measure(datasets, grid, store, sys.stderr)
    if arguments.part:
        return store.folder / "measurements.csv"
    return report(store, datasets, notes)


def report(store: Store, datasets: Sequence[Dataset], notes: Sequence[Note]) -> Path:
    """Draw the figures and write the summary and the page."""
    from experiments.paper.figures import draw_all
    from experiments.paper.page import text_table, write_page

    results, folder = Results.of(store), store.folder
    where = f"{machine().partition('. Medians')[0]}. Times are medians over the runs, cells means."
    tables = _tables(results, datasets)
    told = [f"{note.name}: {note.reason}" for note in notes]
    figures = draw_all(results, folder)
    write_page(folder / "index.html", figures, tables, told, where)
    lines = ["# The paper's experiments", "", where, "", *(f"- {note}" for note in told)]
    for title, table in tables.items():
        lines += ["", f"## {title}", "", *text_table(table)]
    (folder / "summary.md").write_text("\n".join([*lines, ""]), "utf-8")
    return folder / "index.html"


def _tables(results: Results, datasets: Sequence[Dataset]) -> dict[str, Table]:
    shapes = {
        one.title: (one.origin, len(one.labels), one.codes.shape[1] + 1, one.n_labels)
        for one in datasets
    }
    head = ["dataset", "run", "point", "GS", "optimum", "claimed", "A1 cells", "A2 cells"]
    columns = ["dataset", "run", "point", "greedy", "optimum", "claimed", "n_raise", "n_lower"]
    listed = [[row[column] for column in columns] for row in results.exceptions]
    return {
        "Datasets": dataset_table(results, shapes),
        "What the paper claims": claims_table(results),
        "Deciding the paper's most points, at its lowest rate": decision_table(
            results, "decision", DECIDERS
        ),
        "Deciding up to 1,000 points": decision_table(results, "whole", DECIDERS[2:]),
        "How often AD is wrong": sampling_table(results),
        "Poisoning one point": poisoning_table(results, "single", POISONERS),
        "Poisoning many points": poisoning_table(results, "multiple", POISONERS),
        "GS against the exact radius": greedy_table(results),
        f"Points where GS differs or claims too few cells: {min(len(listed), SHOWN):,} of "
        f"{len(listed):,}, all of them in exceptions.csv": (head, listed[:SHOWN]),
        "Radius and certainty": certainty_table(results),
    }
