"""Odds against sampling: speed for the same accuracy, and how often a few sampled worlds mislead.

Set NULLPROOF_DATA to a folder with the datasets (NAME.csv.gz) to measure on them; without it tables of
about their shapes are generated.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.sources import Reading, open_table
from nullproof.model.certify import certify
from nullproof.odds import label_odds

TITLE = "Odds: guaranteed bounds against sampled worlds"
GAP, SHARE = 0.01, 0.2
# A share near one half is known to within half a gap, with 95 % confidence, after so many worlds.
ENOUGH = math.ceil((1.96 * 0.5 / (GAP / 2)) ** 2)
SHARES = (0.01, 0.05, 0.2, 0.4)
DATASETS = (
    ("bodyPerformance", "class", (13_393, 11, 5, 4)),
    ("adult", "income", (48_842, 14, 8, 2)),
    ("mushrooms", "class", (8_124, 22, 5, 2)),
    ("employee", "LeaveOrNot", (4_653, 8, 4, 2)),
    ("fetal_health", "fetal_health", (2_126, 21, 5, 3)),
    ("heart", "HeartDisease", (918, 11, 4, 2)),
)


@dataclass(frozen=True)
class Dataset:
    """A table as codes (negative = missing) with labels."""

    name: str
    codes: NDArray[Any]
    labels: NDArray[Any]
    n_values: list[int]

    def with_holes(self, share: float, seed: int = 0) -> CountIndex:
        return CountIndex.from_codes(
            self.holes(share, seed), self.labels, n_values=self.n_values, weights="equal"
        )

    def holes(self, share: float, seed: int = 0) -> NDArray[Any]:
        rng = np.random.default_rng(seed)
        return np.where(rng.random(self.codes.shape) < share, -1, self.codes)

    def points(self, n: int, seed: int = 1) -> NDArray[Any]:
        whole = self.codes[(self.codes >= 0).all(axis=1)]
        rng = np.random.default_rng(seed)
        return whole[rng.choice(len(whole), size=min(n, len(whole)), replace=False)]


def run(*, quick: bool) -> list[str]:
    datasets = list(datasets_or_like())
    n_points = 100 if quick else 1_000
    return [
        *_speed(datasets[0], n_points),
        *_certainty(datasets, n_points // 5),
        *_misled(datasets[: 2 if quick else None], n_points // 2),
        *_all_rows(),
    ]


def datasets_or_like() -> Iterator[Dataset]:
    """The datasets where they are at hand, else generated tables of their shapes."""
    folder = os.environ.get("NULLPROOF_DATA")
    for name, label, shape in DATASETS:
        path = Path(folder or ".") / f"{name}.csv.gz"
        if folder and path.exists():
            yield _read(name, path, label)
        else:
            yield _generated(f"{name}-like, generated", *shape)


def _read(name: str, path: Path, label: str) -> Dataset:
    index = CountIndex.from_table(path, label, missing=("?",), binning="uniform", weights="equal")
    points = index.encode(path)
    codes = np.where(points.codes < points.n_values[:, None], points.codes, -1).T
    column = open_table(path, Reading(as_text=[label])).labels(label)
    assert column.codes is not None
    return Dataset(name, codes, column.codes, index.n_values.tolist())


def _generated(name: str, n_rows: int, d: int, n_values: int, m: int) -> Dataset:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, m, n_rows)
    weights = rng.dirichlet(np.full(n_values, 2.0), size=(m, d))
    codes = np.empty((n_rows, d), dtype=np.int32)
    for i in range(m):
        for j in range(d):
            mine = labels == i
            codes[mine, j] = rng.choice(n_values, size=int(mine.sum()), p=weights[i, j])
    return Dataset(name, codes, labels, [n_values] * d)


def _seconds(task: Callable[[], Any], times: int = 1) -> float:
    """Processor time, which other work on the machine does not touch; all of it is on one core."""
    start = time.process_time()
    for _ in range(times):
        task()
    return (time.process_time() - start) / times


def open_points(data: Dataset, n_points: int) -> tuple[CountIndex, NDArray[Any]]:
    """A table with a fifth of its cells missing, and so many points that are open then."""
    index, points = data.with_holes(SHARE), data.points(4 * n_points)
    return index, points[~certify(index, points, alpha=0).certain][:n_points]


def _speed(data: Dataset, n_points: int) -> list[str]:
    holes = data.holes(SHARE)
    index, points = open_points(data, n_points)
    ours = _seconds(lambda: label_odds(index, points, gap=GAP, alpha=0)) / len(points)
    counts = _seconds(lambda: sampled_odds(index, points[:3], ENOUGH)) / 3
    missing, rng = np.nonzero(holes < 0), np.random.default_rng(0)
    sizes = np.array(data.n_values)[missing[1]]

    def one_table() -> None:
        filled = holes.copy()
        filled[missing] = rng.integers(0, sizes)
        certify(
            CountIndex.from_codes(filled, data.labels, n_values=data.n_values, weights="equal"),
            points[:1],
            alpha=0,
        )

    tables = _seconds(one_table, 20) * ENOUGH
    return [
        f"## {data.name}: {holes.shape[0]:,} rows × {holes.shape[1]} features, "
        f"{len(index.labels)} labels, {SHARE:.0%} missing; {len(points):,} points that are open",
        "",
        f"Bounds at most {GAP} apart, which are proven. Sampling needs {ENOUGH:,} worlds for as narrow "
        "an interval, and that only with 95 % confidence; its time is that of fewer worlds, scaled. "
        "Processor time of one core.",
        "",
        "| way | time a point | times ours |",
        "|---|---|---|",
        f"| label_odds | {ours * 1e3:,.2f} ms | 1 |",
        f"| sampling counts | {counts * 1e3:,.0f} ms | {counts / ours:,.0f} |",
        f"| sampling tables, as codes in NumPy | {tables:,.0f} s | {tables / ours:,.0f} |",
        f"| the same worlds for all {len(points):,} points | {tables / len(points):,.2f} s "
        f"| {tables / len(points) / ours:,.0f} |",
        "",
    ]


def _certainty(datasets: list[Dataset], n_points: int) -> list[str]:
    lines = [
        f"## How many predictions are the same in at least 99 % of the worlds, {SHARE:.0%} missing",
        "",
        "| dataset | points | certain | 99 %, uniform | 99 %, observed | ms a point |",
        "|---|---|---|---|---|---|",
    ]
    for data in datasets:
        index, points = data.with_holes(SHARE), data.points(n_points)
        certain = certify(index, points, alpha=0).certain
        start = time.process_time()
        uniform = label_odds(index, points, gap=0.005, alpha=0, cells="uniform")
        seconds = (time.process_time() - start) / len(points)
        observed = label_odds(index, points, gap=0.005, alpha=0)
        likely = [int(odds.sure.sum()) for odds in (uniform, observed)]
        lines.append(
            f"| {data.name} | {len(points):,} | {int(certain.sum()):,} | {likely[0]:,} | {likely[1]:,} "
            f"| {seconds * 1e3:.2f} |"
        )
    return [*lines, ""]


def titanic() -> Path:
    """Where titanic lies if it is at hand."""
    return Path(os.environ.get("NULLPROOF_DATA") or ".") / "titanic.csv.gz"


def _all_rows() -> list[str]:
    """All rows of a table as points; odds come from the cells that they know."""
    path = titanic()
    if not path.exists():
        return []
    index = CountIndex.from_table(path, "Survived", binning="uniform", weights="equal")
    certain = int(certify(index, path).certain.sum())
    seconds = _seconds(lambda: label_odds(index, path, gap=GAP))
    return [
        "## titanic: all 891 rows as points, columns cut into equal widths, bounds 0.01 apart",
        "",
        f"{certain} are certain; the odds of all rows take {seconds:.2f} seconds.",
        "",
    ]


def sampled_odds(index: CountIndex, points: NDArray[Any], n_worlds: int) -> NDArray[np.float64]:
    """Estimate odds from drawn worlds, every value being equally likely, without smoothing."""
    rng, sizes = np.random.default_rng(0), index.n_values
    share = np.log(index.label_counts / index.n_rows)
    wins = np.zeros((len(points), len(index.labels)))
    for own, codes in zip(wins, points.tolist(), strict=True):
        logs = np.tile(share, (n_worlds, 1))
        for j, code in enumerate(codes):
            drawn = rng.binomial(index.n_null[j], 1 / sizes[j], size=logs.shape)
            counts = index.exact(j, np.array([code]))[0] + drawn
            with np.errstate(divide="ignore"):
                logs += np.log(counts / index.label_counts)
        top = logs.max(axis=1, keepdims=True)
        best = (logs == top) | (logs >= top - 1e-9)
        own += (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return wins


def _misled(datasets: list[Dataset], n_points: int) -> list[str]:
    lines = [
        "## How often the Approximate Decision (100 sampled worlds) wrongly calls a point certain",
        "",
        "| dataset | missing | points | certain | called certain | wrongly | of those called certain |",
        "|---|---|---|---|---|---|---|",
    ]
    for data in datasets:
        points = data.points(n_points)
        for share in SHARES:
            index = data.with_holes(share)
            certain = certify(index, points, alpha=0).certain
            called = (sampled_odds(index, points, 100) > 1 - 1e-9).any(axis=1)
            n_wrong, n_called = int((called & ~certain).sum()), int(called.sum())
            assert not (certain & ~called).any()
            part = f"{n_wrong / n_called:.0%}" if n_called else "–"
            lines.append(
                f"| {data.name} | {share:.0%} | {len(points):,} | {int(certain.sum()):,} "
                f"| {n_called:,} | {n_wrong:,} | {part} |"
            )
    return [*lines, ""]
