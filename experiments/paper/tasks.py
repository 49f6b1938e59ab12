"""What is measured: one task per algorithm, dataset, setting and run, and how each is carried out."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from experiments.paper.baselines import (
    CodedTable,
    approximate_decision,
    greedy_search,
    iterate,
    iterate_with_index,
    random_poisoning,
    smarter_random,
    union,
)
from experiments.paper.preparation import Split, index_of
from experiments.paper.store import Store
from nullproof.attacks.poison import poison
from nullproof.attacks.radius import radius
from nullproof.model.certify import certify

OURS = "nullproof"
DECIDERS = ("AD", "Iterate", "Iterate+Index", OURS)
POISONERS = ("RP", "SR", "GS", OURS)
# Beyond these sizes a comparison takes minutes: fewer points for GS, none for RP and SR.
_GREEDY_ROWS = 5_000_000
_RANDOM_CELLS = 20_000_000
PARTS = ("decision", "whole", "single", "multiple", "agreement", "certainty")
LOW_RATES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Task:
    """One measurement to make; the fields are the key columns of measurements.csv."""

    part: str
    dataset: str
    algorithm: str
    holes: str
    rate: float
    n_points: int
    run: int


@dataclass(frozen=True)
class Grid:
    """The settings of an experiment."""

    runs: int = 5
    rates: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    n_points: tuple[int, ...] = (1, 2, 4, 8, 16)
    low_rates: tuple[float, ...] = LOW_RATES
    n_agreement: int = 1_000
    max_rows: int | None = None
    limit: float = 10.0
    parts: tuple[str, ...] = PARTS

    def tasks(self, dataset: str, run: int) -> list[Task]:
        """All tasks of a dataset in one run, the small ones of an algorithm first."""
        most, many, base = self.n_points[-1], self.n_agreement, self.rates[0]
        settings = [
            *((a, "all", base, n) for a in DECIDERS for n in self.n_points),
            *((a, "all", rate, most) for a in DECIDERS for rate in self.rates[1:]),
            *((a, "a fifth", rate, most) for a in DECIDERS[1:] for rate in self.rates),
            ("AD", "a fifth", base, most),
            *((a, "all", rate, most) for a in ("AD", *DECIDERS[2:]) for rate in self.low_rates),
        ]
        tasks = [
            *(Task("decision", dataset, *setting, run) for setting in settings),
            *(Task("whole", dataset, a, "all", base, many, run) for a in DECIDERS[2:]),
            *(Task("single", dataset, a, "none", 0.0, 1, run) for a in POISONERS),
            *(
                Task("multiple", dataset, a, "none", 0.0, n, run)
                for a in POISONERS
                for n in self.n_points
            ),
            self.comparison(dataset, run),
            *(
                Task("certainty", dataset, OURS, "all", r, many, run)
                for r in (*self.low_rates, base)
            ),
        ]
        return [task for task in tasks if task.part in self.parts]

    def comparison(self, dataset: str, run: int) -> Task:
        """GS against the exact radius: all that is asked of the datasets that are not the paper's."""
        return Task("agreement", dataset, "GS", "none", 0.0, self.n_agreement, run)


def carry_out(task: Task, split: Split, grid: Grid, store: Store) -> None:
    """Measure one task and store the result."""
    part = {
        "decision": _decide,
        "whole": _decide,
        "single": _poison_points,
        "multiple": _poison_points,
        "agreement": _compare_greedy,
        "certainty": _relate_radius,
    }[task.part]
    result = part(task, split, grid, store)
    store.add({**asdict(task), "status": "measured", **result})


def _decide(task: Task, split: Split, grid: Grid, store: Store) -> dict[str, Any]:
    if _expected(task, store) > grid.limit:
        return {"status": "left out"}
    table = split.incomplete(task.rate, task.holes)
    points = split.points(task.n_points)
    deciders: dict[str, Callable[[], Any]] = {
        "AD": lambda: approximate_decision(table, points, seed=split.seed),
        "Iterate": lambda: iterate(table, points),
        "Iterate+Index": lambda: iterate_with_index(table, points),
        OURS: lambda: certify(index_of(table), points, alpha=0).certain,
    }
    seconds, certain = _timed(deciders[task.algorithm])
    truth = certify(index_of(table), points, alpha=0).certain
    return {
        "seconds": seconds,
        "n_certain": int(certain.sum()),
        "n_wrong": int((certain != truth).sum()),
    }


def _expected(task: Task, store: Store) -> float:
    """Seconds that an earlier measurement of the algorithm on this dataset lets one expect."""
    if task.algorithm not in ("AD", "Iterate"):
        return 0.0
    known = [
        float(row["seconds"]) / int(row["n_points"])
        for row in store.measures.rows
        if (row["part"], row["dataset"], row["algorithm"])
        == ("decision", task.dataset, task.algorithm)
        and row["seconds"]
    ]
    return min(known, default=0.0) * task.n_points


def _poison_points(task: Task, split: Split, grid: Grid, _store: Store) -> dict[str, Any]:
    table, points = split.train, split.points(task.n_points, predicted=True)
    if task.algorithm in ("RP", "SR") and len(points) * table.n_cells > _RANDOM_CELLS:
        return {"status": "left out"}
    result: dict[str, Any] = {}
    if task.algorithm == OURS:
        result["seconds"], (n_cells, result["lower_bound"]) = _timed(
            lambda: _ours(table, points, split.run, grid.limit / 5)
        )
    elif task.algorithm == "RP":
        result["seconds"], n_cells, result["status"] = _random(table, points, split, grid.limit / 5)
    else:
        single = greedy_search if task.algorithm == "GS" else _seeded(split)
        result["seconds"], found = _timed(lambda: union(points, lambda p: single(table, p)))
        n_cells = found.n_cells
    return {**result, "n_cells": n_cells, "poisoning_rate": n_cells / table.n_cells}


def _ours(table: CodedTable, points: Any, seed: int, limit: float) -> tuple[int, int]:
    """One point: its radius. Many: a joint attack, and the cells that any attack needs."""
    index = index_of(table)
    if len(points) == 1:
        n_cells = int(radius(index, points, alpha=0).radius[0])
        return n_cells, n_cells
    found = poison(index, points, time_limit=limit, seed=seed, alpha=0)
    return found.n_cells, found.lower_bound


def _seeded(split: Split) -> Callable[[CodedTable, Any], Any]:
    return lambda table, point: smarter_random(table, point, seed=split.seed)


def _random(table: CodedTable, points: Any, split: Split, limit: float) -> tuple[float, int, str]:
    """RP with a pass of Iterate per cell; too long a run is told from its length, by halving."""

    def drawn(check: Any) -> Any:
        seeds = iter(range(split.seed, split.seed + len(points)))
        lengths: list[int] = []

        def single(point: Any) -> Any:
            found = random_poisoning(table, point, seed=next(seeds), check=check)
            lengths.append(found.n_cells)
            return found

        return union(points, single), sum(lengths) + len(points)

    found, n_passes = drawn("bisect")
    one_pass = min(_timed(lambda: iterate(table, points[:1]))[0] for _ in range(3))
    if n_passes * one_pass > limit:
        return n_passes * one_pass, found.n_cells, "estimated"
    seconds, _ = _timed(lambda: drawn("iterate"))
    return seconds, found.n_cells, "measured"


def _compare_greedy(task: Task, split: Split, _grid: Grid, store: Store) -> dict[str, Any]:
    """GS against the exact radius on many points; each difference is listed."""
    n_points = min(task.n_points, max(10, _GREEDY_ROWS // split.train.n_rows))
    points = split.points(n_points, predicted=True)
    exact = radius(index_of(split.train), points, alpha=0)
    found = [greedy_search(split.train, point) for point in points]
    rows = []
    for place, greedy in enumerate(found):
        optimum = int(exact.radius[place])
        if optimum == greedy.n_cells == greedy.n_claimed:
            continue
        rows.append(
            {
                "dataset": task.dataset,
                "run": task.run,
                "point": place,
                "greedy": greedy.n_cells,
                "optimum": optimum,
                "claimed": greedy.n_claimed,
                "saturated_rivals": len(greedy.saturated),
                "n_raise": int(exact.n_raise[place]),
                "n_lower": int(exact.n_lower[place]),
                "explained": bool(greedy.saturated),
            }
        )
    store.exceptions.add(rows)
    return {"n_certain": len(found), "n_wrong": sum(r["greedy"] != r["optimum"] for r in rows)}


def _relate_radius(task: Task, split: Split, _grid: Grid, store: Store) -> dict[str, Any]:
    """How many points are certain at a missing rate, by how their radius compares with the holes.

    Bin ``b`` holds the points with ``2**b <= n_missing / radius < 2**(b + 1)``; below bin 0 every point
    must be certain, since no attack with fewer cells than the radius exists.
    """
    points = split.points(task.n_points, predicted=True)
    sizes = radius(index_of(split.train), points, alpha=0).radius
    table = split.incomplete(task.rate, task.holes)
    n_missing = int((table.codes < 0).sum())
    certain = certify(index_of(table), points, alpha=0).certain
    bins = np.array(
        [math.floor(math.log2(n_missing / size)) if n_missing else -1 for size in sizes]
    )
    store.certainty.add(
        {
            "dataset": task.dataset,
            "run": task.run,
            "rate": task.rate,
            "n_missing": n_missing,
            "bin": int(place),
            "median_radius": float(np.median(sizes[bins == place])),
            "n_points": int((bins == place).sum()),
            "n_certain": int(certain[bins == place].sum()),
        }
        for place in np.unique(bins)
    )
    broken_within = int((~certain & (sizes > n_missing)).sum())
    return {"n_certain": int(certain.sum()), "n_wrong": broken_within}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result; short work is repeated, and the median counts."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < 5 and sum(seconds) < 0.1):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result
