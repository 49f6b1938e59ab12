"""Counting and certifying against scikit-learn's CategoricalNB on the same data."""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from experiments.measuring import in_process, ratio, shown, times
from nullproof.counts.index import CountIndex
from nullproof.model.certify import certify

TITLE = "Counting and certifying against CategoricalNB"
ROWS, FEATURES, VALUES = 568_630, 30, 5
MISSING_SHARE = 0.2


def run(*, quick: bool) -> list[str]:
    rows = ROWS // 10 if quick else ROWS
    return [
        *_counting(rows),
        *_certifying(rows),
        *_growth(rows // 4),
        *_files(rows),
    ]


def random_codes(rows: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Complete codes, the same with missing cells, and labels that depend on the codes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, rows)
    weights = rng.dirichlet(np.ones(VALUES) * 3, size=(2, FEATURES))
    complete = np.empty((rows, FEATURES), dtype=np.int8, order="F")
    for j in range(FEATURES):
        for label in (0, 1):
            mine = labels == label
            complete[mine, j] = rng.choice(VALUES, size=int(mine.sum()), p=weights[label, j])
    holes = rng.random(complete.shape) < MISSING_SHARE
    return complete, np.asfortranarray(np.where(holes, -1, complete).astype(np.int8)), labels


def _counting(rows: int) -> list[str]:
    complete, incomplete, labels = random_codes(rows)
    wide = np.ascontiguousarray(complete.astype(np.int64))
    seconds = times(
        7,
        ours=lambda: CountIndex.from_codes(incomplete, labels, weights="equal"),
        int64=lambda: CategoricalNB().fit(wide, labels),
        same=lambda: CategoricalNB().fit(complete, labels),
    )
    return [
        f"## Building the index: {rows:,} rows × {FEATURES} features, {VALUES} values, 2 labels",
        "",
        "| way | time | times ours |",
        "|---|---|---|",
        f"| CountIndex.from_codes, bytes, 20 % missing | {shown(seconds['ours'])} | 1 |",
        f"| CategoricalNB.fit, complete, int64 rows | {shown(seconds['int64'])} "
        f"| {ratio(seconds['int64'], seconds['ours']):.0f} |",
        f"| CategoricalNB.fit, complete, the same bytes | {shown(seconds['same'])} "
        f"| {ratio(seconds['same'], seconds['ours']):.0f} |",
        "",
    ]


def _certifying(rows: int) -> list[str]:
    complete, incomplete, labels = random_codes(rows)
    index = CountIndex.from_codes(incomplete, labels, weights="equal")
    model = CategoricalNB().fit(complete, labels)
    lines = ["## Certifying", "", "| points | certify | CategoricalNB.predict | ratio |"]
    lines.append("|---|---|---|---|")
    for n_points in (16, 1_000, 100_000):
        points = np.ascontiguousarray(random_codes(n_points, seed=1)[0].astype(np.int64))
        seconds = times(
            9,
            ours=partial(certify, index, points),
            theirs=partial(model.predict, points),
        )
        lines.append(
            f"| {n_points:,} | {shown(seconds['ours'])} | {shown(seconds['theirs'])} "
            f"| {ratio(seconds['ours'], seconds['theirs']):.2f} |"
        )
    return [*lines, ""]


def _growth(rows: int) -> list[str]:
    _, incomplete, labels = random_codes(rows * 4)
    index = CountIndex.from_codes(incomplete, labels, weights="equal")
    points = random_codes(100_000, seed=1)[0].astype(np.int64)
    lines = ["## Growth", "", "| rows counted | time | | points certified | time |"]
    lines.append("|---|---|---|---|---|")
    for factor in (1, 2, 4):
        part = np.asfortranarray(incomplete[: rows * factor])
        some = np.ascontiguousarray(points[: 25_000 * factor])
        seconds = times(
            9,
            count=partial(CountIndex.from_codes, part, labels[: len(part)], weights="equal"),
            decide=partial(certify, index, some),
        )
        lines.append(
            f"| {rows * factor:,} | {shown(seconds['count'])} | "
            f"| {len(some):,} | {shown(seconds['decide'])} |"
        )
    return [*lines, ""]


_OURS = """
from nullproof import CountIndex, certify
import polars
start = time.perf_counter()
index = CountIndex.from_table(sys.argv[1], "label", binning=sys.argv[3], weights="equal")
certify(index, sys.argv[2])
"""
_READERS = {
    "polars": "import polars\nstart = time.perf_counter()\npolars.read_csv(sys.argv[1])",
    "pandas": "import pandas\nstart = time.perf_counter()\npandas.read_csv(sys.argv[1])",
    "pyarrow": "import pyarrow.csv\nstart = time.perf_counter()\npyarrow.csv.read_csv(sys.argv[1])",
}


def _files(rows: int) -> list[str]:
    import polars as pl

    rng = np.random.default_rng(0)
    columns = {f"v{j}": rng.normal(size=rows) for j in range(FEATURES)}
    for values in columns.values():
        values[rng.random(rows) < 0.01] = np.nan
    frame = pl.DataFrame({**columns, "label": rng.integers(0, 2, rows)}).fill_nan(None)
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder) / "train.csv", Path(folder) / "test.csv"
        frame.write_csv(train)
        frame.head(1_000).write_csv(test)
        size = train.stat().st_size / 2**20
        measured: dict[str, list[tuple[float, float]]] = {}
        for _ in range(5):
            for name, code in {"uniform": _OURS, "mdl": _OURS, **_READERS}.items():
                one = in_process(code, str(train), str(test), name)
                measured.setdefault(name, []).append(one)
    fastest = min(statistics.median(s for s, _ in measured[name]) for name in _READERS)
    lines = [
        f"## From a CSV of {size:.0f} MB ({rows:,} × {FEATURES} floats, 1 % empty) "
        "to the certificates of 1,000 points",
        "",
        "| way | time | times the fastest reader | peak memory | times the file |",
        "|---|---|---|---|---|",
    ]
    for name, runs in measured.items():
        seconds, peak = [s for s, _ in runs], max(p for _, p in runs)
        reading = f"{name}, reading only"
        what = reading if name in _READERS else f"nullproof, whole job, {name} bins"
        lines.append(
            f"| {what} | {shown(seconds)} | {statistics.median(seconds) / fastest:.2f} "
            f"| {peak:.0f} MB | {peak / size:.2f} |"
        )
    return [*lines, ""]
