"""Joint attacks on real tables: cells against the union of single optima, and the gap to the bound.

The folder of datasets is named by the environment variable ``NULLPROOF_DATA``, and the number of
seeds by ``NULLPROOF_SEEDS`` (five). Each table is split 80/20; points are the first different certain ones
of the test part (of 2,000 rows at most). The paper's own datasets are measured once more as the paper
does it, against its algorithm for many points. Seconds are processor time, so that a busy machine does
not spoil the comparison.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.paper.baselines import greedy_search
from experiments.paper.baselines import union as union_of_cells
from experiments.paper.datasets import PAPER
from experiments.paper.preparation import index_of, split
from experiments.paper.running import load
from experiments.tables_at_hand import IGNORED, LABELS
from nullproof.attacks.joint_problem import Problem
from nullproof.attacks.poison import poison, union
from nullproof.attacks.radius import radius
from nullproof.counts.index import CountIndex
from nullproof.data.missing import Missing
from nullproof.data.points import Points, distinct
from nullproof.data.sources import Reading, open_table
from nullproof.errors import NullproofError

TITLE = "Joint attacks against the union of single ones"
SECONDS = {16: 10.0, 4: 4.0, 8: 3.0, 2: 2.0}
# Would more time help? Asked for 16 points and the first seed.
LONGER = 60.0
SEEDS = range(int(os.environ.get("NULLPROOF_SEEDS", "5")))


def run(*, quick: bool) -> list[str]:
    folder = Path(os.environ.get("NULLPROOF_DATA", ""))
    names = [name for name in LABELS if (folder / f"{name}.csv.gz").is_file()]
    if not names:
        raise NullproofError("no dataset at hand; name their folder: NULLPROOF_DATA=DIR")
    seeds = SEEDS[:1] if quick else SEEDS
    measured = []
    cases = [*product(SECONDS.items(), seeds, names)]
    if not quick:
        cases += product([(16, LONGER)], seeds[:1], names)
    for (n_points, limit), seed, name in cases:
        found = _measure(folder, name, n_points, seed, limit)
        if found is not None:
            key = {"table": name, "points": n_points, "seed": seed, "limit": limit}
            measured.append({**key, **found})
            print(*measured[-1].values(), file=sys.stderr)
    lines = report(pl.DataFrame(measured), len(names), len(seeds))
    return [*lines, *paper_report(pl.DataFrame(as_in_the_paper(folder, seeds)))]


def report(measured: pl.DataFrame, n_tables: int, n_seeds: int) -> list[str]:
    """What was measured, in Markdown."""
    seconds = ", ".join(f"{limit:g} s for {n}" for n, limit in sorted(SECONDS.items()))
    head = [
        f"{n_tables} tables, {n_seeds} seeds each; a table with fewer than two certain points in "
        f"its test part gives no case. Limit of processor time by number of points: {seconds}.",
        "",
    ]
    short, longer = measured.filter(pl.col("limit") < LONGER), measured.filter(limit=LONGER)
    return [*head, *_goals(short), *_longer(short, longer), "", *_summary(short)]


def _measure(
    folder: Path, name: str, n_points: int, seed: int, limit: float
) -> dict[str, Any] | None:
    """One case; None if fewer than two points of the test part are certain."""
    spelled = Missing.of(("-",))
    table = open_table(folder / f"{name}.csv.gz", Reading(spelled, [LABELS[name]])).source
    table = table.sample(fraction=1.0, shuffle=True, seed=seed)
    cut = len(table) * 4 // 5
    ignore = IGNORED.get(name, [])
    index = CountIndex.from_table(
        table[:cut],
        LABELS[name],
        missing=("?", "-"),
        ignore=ignore,
        binning="uniform",
        weights="equal",
    )
    found = radius(index, table[cut : cut + 2_000], alpha=0)
    first, _ = distinct(found.points.codes[:, found.broken])
    places = found.broken[np.sort(first)][:n_points]
    if len(places) < 2:
        return None
    broken = found.take(places)
    n_union = int(union(Problem.of(broken), broken).sum())
    attacked = _attacked(index, found.points.codes[:, places], n_union, limit)
    return {"distinct": len(places), "union": n_union, **attacked}


def _attacked(
    index: CountIndex, codes: NDArray[np.int32], n_union: int, limit: float
) -> dict[str, Any]:
    begin = process_time()
    points = Points(codes, index.n_values, ((),) * len(codes))
    joint = poison(index, points, alpha=0, time_limit=limit)
    return {
        "cells": joint.n_cells,
        "bound": joint.lower_bound,
        "ratio": joint.n_cells / n_union,
        "gap": joint.n_cells / joint.lower_bound,
        "seconds": round(process_time() - begin, 1),
    }


def as_in_the_paper(folder: Path, seeds: range) -> Iterator[dict[str, Any]]:
    """Complete tables, 16 points, and the union of the paper's greedy attacks, row by row."""
    datasets, _ = load(folder, stand_ins=False, openml=False, max_rows=None)
    own = {known.short for known in PAPER}
    for run_, dataset in product(seeds, (d for d in datasets if d.name in own)):
        part = split(dataset, run_)
        points = np.unique(part.points(16, predicted=True), axis=0)
        found = union_of_cells(points, partial(greedy_search, part.train))
        codes = points.T.astype(np.int32)
        attacked = _attacked(index_of(part.train), codes, found.n_cells, SECONDS[16])
        yield {"dataset": dataset.name, "run": run_, "union": found.n_cells, **attacked}


def paper_report(measured: pl.DataFrame) -> Iterator[str]:
    """The same for the paper's own datasets."""
    ratios = measured["ratio"].to_numpy()
    mean = float(np.exp(np.log(ratios).mean()))
    yield "## The paper's datasets, prepared as it does"
    yield ""
    yield (
        f"Complete tables, 16 points, {measured['run'].n_unique()} runs, {SECONDS[16]:g} s; the union is "
        f"that of the paper's greedy attacks, each of which takes the first rows that fit. Geometric mean "
        f"of cells over union: {mean:.4f}, at worst {float(ratios.max()):.3f}."
    )
    yield ""
    yield "| dataset | cells of the union | of the joint attack | needed at least | cells over union |"
    yield "|---|---|---|---|---|"
    means = [pl.col(c).mean() for c in ("union", "cells", "bound")]
    ratio = pl.col("ratio").log().mean().exp()
    for row in measured.group_by("dataset", maintain_order=True).agg(*means, ratio).iter_rows():
        name, *cells, share = row
        yield f"| {name} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + f" | {share:.3f} |"
    yield ""


def _goals(measured: pl.DataFrame) -> Iterator[str]:
    many, four = (measured.filter(points=n) for n in (16, 4))
    mean = float(np.exp(np.log(many["ratio"].to_numpy()).mean()))
    worst, gap = max(measured["ratio"].to_list()), max(four["gap"].to_list())
    goals = [
        (f"16 points: geometric mean of cells over union at most 0.50: {mean:.4f}", mean <= 0.5),
        (f"never more cells than the union: at worst {worst:.3f} of it", worst <= 1),
        (f"4 points: cells over bound at most 1.25 in every case: at worst {gap:.3f}", gap <= 1.25),
    ]
    for text, met in goals:
        yield f"- {text} ({'met' if met else 'NOT met'})."
    least = float(np.exp(np.log((many["ratio"] / many["gap"]).to_numpy()).mean()))
    yield f"- 16 points: by the proven bounds no attack gets the mean below {least:.4f}."


def _longer(short: pl.DataFrame, longer: pl.DataFrame) -> Iterator[str]:
    if longer.is_empty():
        return
    both = longer.join(short, on=["table", "points", "seed"], suffix=" before")
    fewer = both.filter(pl.col("cells") < pl.col("cells before"))
    means = [
        float(np.exp(np.log((both[a] / both["union"]).to_numpy()).mean()))
        for a in ("cells before", "cells", "bound before", "bound")
    ]
    yield (
        f"- 16 points, seed {both['seed'][0]}, {LONGER:g} s instead of {SECONDS[16]:g}: fewer cells "
        f"in {len(fewer)} of {len(both)} cases ({', '.join(fewer['table'].sort()) or 'none'}), mean "
        f"{means[1]:.4f} instead of {means[0]:.4f}; by the bounds at least {means[3]:.4f} instead "
        f"of {means[2]:.4f}."
    )


def _summary(measured: pl.DataFrame) -> Iterator[str]:
    means = [
        pl.len().alias("cases"),
        pl.col("ratio").log().mean().exp().alias("cells over union"),
        pl.col("ratio").max().alias("worst"),
        pl.col("gap").log().mean().exp().alias("gap"),
        pl.col("gap").max().alias("worst gap"),
        (pl.col("gap") == 1).mean().alias("proven optimal"),
    ]
    for keys in (["points"], ["table", "points"]):
        grouped = measured.group_by(keys).agg(means).sort(keys)
        yield "| " + " | ".join(grouped.columns) + " |"
        yield "|" + "---|" * grouped.width
        for row in grouped.iter_rows():
            cells = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)
            yield "| " + " | ".join(cells) + " |"
        yield ""
