"""What people wait for: each goal of speed as one row, a ratio to a peer in the same run."""

from __future__ import annotations

import compileall
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import nullproof
from experiments.measuring import both_times, shown
from experiments.odds import GAP, datasets_or_like, open_points, titanic
from experiments.paper.baselines import iterate_with_index
from experiments.paper.datasets import PAPER, Dataset, load_all
from experiments.paper.preparation import split
from experiments.report import WIDE, generated
from experiments.tables_at_hand import LABELS, at_hand, frame_of
from nullproof import label_odds, report
from nullproof.counts.index import CountIndex
from nullproof.estimator import CertifiedNB
from nullproof.model.certify import certify
from nullproof.words import per_cent

TITLE = "What people wait for"
COLUMNS = (
    "what",
    "ours",
    "the peer",
    "ours over the peer",
    "of processor time",
    "goal, at most",
    "met",
)


class Row(NamedTuple):
    """One goal: seconds of ours and of a peer, by the clock and of the processor, and the most allowed."""

    what: str
    ours: tuple[list[float], list[float]]
    peer: tuple[list[float], list[float]]
    goal: float

    def written(self) -> str:
        wall, processor = (
            statistics.median(a) / statistics.median(b)
            for a, b in zip(self.ours, self.peer, strict=True)
        )
        met = (
            "yes" if wall <= self.goal else "by processor time" if processor <= self.goal else "no"
        )
        cells = (
            *(self.what, shown(self.ours[0]), shown(self.peer[0])),
            *(f"{wall:.3f}", f"{processor:.3f}", f"{self.goal:.3g}", met),
        )
        return f"| {' | '.join(cells)} |"


class Alone(NamedTuple):
    """A goal without a peer: seconds of ours, by the clock and of the processor, and the most allowed."""

    what: str
    ours: tuple[list[float], list[float]]
    goal: float

    def written(self) -> str:
        wall, processor = (statistics.median(seconds) for seconds in self.ours)
        met = (
            "yes" if wall <= self.goal else "by processor time" if processor <= self.goal else "no"
        )
        cells = (
            *(self.what, shown(self.ours[0]), "–", "–"),
            *(f"{processor * 1e3:,.2f} ms", f"{self.goal * 1e3:,.4g} ms", met),
        )
        return f"| {' | '.join(cells)} |"


def alone(what: str, goal: float, runs: int, ours: Any, times: int = 1) -> Alone:
    """Measure ours by itself, so many times one after another; ``times`` things are done at once."""
    wall, processor = both_times(runs, ours=ours)
    seconds = [[one / times for one in kind["ours"]] for kind in (wall, processor)]
    return Alone(what, (seconds[0], seconds[1]), goal)


def compared(what: str, goal: float, runs: int, ours: Any, peer: Any) -> Row:
    """Let the two take turns."""
    wall, processor = both_times(runs, ours=ours, peer=peer)
    ours, peer = ((wall[name], processor[name]) for name in ("ours", "peer"))
    return Row(what, ours, peer, goal)


def run(*, quick: bool, only: str | None = None) -> list[str]:
    wanted = [name for name in ROWS if only in (None, name)]
    if not wanted:
        raise SystemExit(f"there is no row {only!r}; give one of {', '.join(ROWS)}")
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name in wanted:
        lines += [row.written() for row in ROWS[name](quick)]
    return [*lines, ""]


def categorical(quick: bool) -> Iterator[Row]:
    """The index of a categorical frame of pandas against CategoricalNB.fit on its codes."""
    import pandas as pd

    rows = 30_000 if quick else 300_000
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (rows, 30))
    labels = rng.integers(0, 2, rows)
    names = np.array([f"value {i}" for i in range(6)])
    frame = pd.DataFrame({f"c{j}": pd.Categorical(names[codes[:, j]]) for j in range(30)})
    frame["label"] = pd.Categorical(np.array(["no", "yes"])[labels])
    yield compared(
        f"index of a categorical pandas frame, {rows:,} × 30; CategoricalNB.fit on its codes",
        1 / 15,
        7,
        partial(CountIndex.from_table, frame, "label"),
        lambda: CategoricalNB().fit(codes, labels),
    )


def small_tables(quick: bool) -> Iterator[Row]:
    """The index of small frames, and the verdicts of 16 rows, against a pipeline on the same frame."""
    for name in ("heart", "adult"):
        frame = frame_of(name, at_hand()[name]).to_pandas()
        y = frame.pop(LABELS[name])
        filled = frame.fillna(frame.mode().iloc[0])
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=int)
        pipeline = make_pipeline(encoder, CategoricalNB(min_categories=100))
        whole = frame.assign(**{LABELS[name]: y})

        def fit(filled: Any = filled, y: Any = y) -> Any:
            return CategoricalNB().fit(OrdinalEncoder(dtype=int).fit_transform(filled), y)

        yield compared(
            f"index of {name}, {len(frame):,} × {frame.shape[1]}; OrdinalEncoder and CategoricalNB.fit",
            1 / 2,
            9 if quick else 31,
            partial(CountIndex.from_table, whole, LABELS[name]),
            fit,
        )
        model, theirs = CertifiedNB().fit(frame, y), pipeline.fit(filled, y)
        yield compared(
            f"verdicts of 16 rows of {name}; predict of that pipeline",
            1 / 3,
            9 if quick else 101,
            partial(model.certify, frame.head(16)),
            partial(theirs.predict, filled.head(16)),
        )


def baseline(quick: bool) -> Iterator[Row]:
    """Ours from codes to verdicts against Iterate+Index of the paper, 16 points."""
    folder = next(iter(at_hand().values())).parent
    for dataset in load_all(folder, known=PAPER):
        if not isinstance(dataset, Dataset):
            continue
        part = split(dataset.head(20_000) if quick else dataset, 0)
        table, points = part.incomplete(0.2, "all"), part.points(16)
        codes, labels, n_values = table.codes, table.labels, table.n_values

        def ours(c: Any = codes, y: Any = labels, n: Any = n_values, p: Any = points) -> Any:
            return certify(
                CountIndex.from_codes(c, y, n_values=n, weights="equal"), p, alpha=0
            ).certain

        yield compared(
            f"16 points of {dataset.title}, {len(labels):,} × {len(n_values)}; Iterate+Index",
            1.0,
            9 if quick else 51,
            ours,
            partial(iterate_with_index, table, points),
        )


def cold_start(quick: bool) -> Iterator[Row]:
    """`nullproof certify` on the demo's tables against a start of Python that imports polars."""
    from nullproof.cli.demo import LABEL, load

    # As pip does when it installs: else what has changed is compiled at each start.
    compileall.compile_dir(Path(nullproof.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("train.csv", "test.csv")]
        for path, frame in zip(paths, load(), strict=True):
            frame.write_csv(path)
        line = ["-m", "nullproof", "certify", *map(str, paths), "--label", LABEL]
        yield _processes(
            "nullproof certify on the demo; python -c 'import polars'",
            1.8,
            3 if quick else 15,
            line,
            ["-c", "import polars"],
        )


_COPY = (
    "import sys, polars as pl\npl.read_parquet(sys.argv[1]).write_parquet(sys.argv[2])\n"
    "print(open('/proc/self/status').read())"
)


def parquet(quick: bool) -> Iterator[Row]:
    """A million points from Parquet to a Parquet of verdicts against reading and writing them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder) / name) for name in ("train.parquet", "points.parquet")}
        index, out = str(Path(folder) / "big.index"), str(Path(folder) / "out.parquet")
        rows = 100_000 if quick else 1_000_000
        mixed_table(100_000, 0.02, seed=0).write_parquet(paths["train.parquet"])
        mixed_table(rows, 0.005, seed=1).drop("label").write_parquet(paths["points.parquet"])
        CountIndex.from_table(paths["train.parquet"], "label").save(index)
        yield _processes(
            f"{rows:,} points × 30 from Parquet to a Parquet of verdicts; polars reads and writes them",
            3.0,
            3 if quick else 5,
            ["-m", "nullproof", "certify", index, paths["points.parquet"], "-q", "-o", out],
            ["-c", _COPY, paths["points.parquet"], out],
        )


def mixed_table(rows: int, holes: float, seed: int) -> pl.DataFrame:
    """20 columns of numbers and 10 of texts, which depend on one of two labels."""
    rng, own = np.random.default_rng(seed), np.random.default_rng(7)
    y = rng.integers(0, 2, rows)
    shifts, weights = own.normal(size=20) * 0.4, own.dirichlet(np.ones(6) * 3, size=(2, 10))
    columns: dict[str, Any] = {}
    for j, shift in enumerate(shifts.tolist()):
        numbers = rng.normal(size=rows) + shift * y
        numbers[rng.random(rows) < holes] = np.nan
        columns[f"v{j}"] = pl.Series(numbers, nan_to_null=True)
    names = pl.Series([*(f"kind {letter}" for letter in "abcdef"), None])
    for j in range(10):
        draws = rng.random(rows)
        codes = np.where(
            y == 1, *(np.searchsorted(np.cumsum(weights[k, j])[:5], draws) for k in (1, 0))
        )
        columns[f"c{j}"] = names.gather(np.where(rng.random(rows) < holes, 6, codes))
    return pl.DataFrame({**columns, "label": pl.Series(["no", "yes"]).gather(y)})


def wide(quick: bool) -> Iterator[Row]:
    """Very many features: counting is linear in cells, certifying as fast as predicting."""
    rows, features = (1_000, 4_000) if quick else (5_000, 20_000)
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.integers(0, 3, (rows, features), dtype=np.int8))
    labels = rng.integers(0, 2, rows)
    holes = np.asfortranarray(np.where(rng.random(codes.shape) < 0.05, np.int8(-1), codes))
    part = np.asfortranarray(holes[:, : features // 4])
    yield compared(
        f"count {rows:,} × {features:,}; four times a quarter of the columns",
        1.2,
        3,
        partial(CountIndex.from_codes, holes, labels, weights="equal"),
        lambda: [CountIndex.from_codes(part, labels, weights="equal") for _ in range(4)],
    )
    index, theirs = (
        CountIndex.from_codes(holes, labels, weights="equal"),
        CategoricalNB().fit(codes, labels),
    )
    points = np.ascontiguousarray(rng.integers(0, 3, (1_000, features)))
    yield compared(
        f"verdicts of 1,000 points × {features:,}; CategoricalNB.predict",
        2.0,
        5,
        partial(certify, index, points),
        partial(theirs.predict, points),
    )


def odds(quick: bool) -> Iterator[Alone]:
    """The odds of open points, and of all rows of a table."""
    runs = 3 if quick else 7
    data = next(datasets_or_like())
    index, points = open_points(data, 100 if quick else 1_000)
    yield alone(
        f"odds within {GAP} of an open point of {data.name}, {len(index.labels)} labels",
        1e-3,
        runs,
        partial(label_odds, index, points, gap=GAP, alpha=0),
        len(points),
    )
    if titanic().exists():
        index = CountIndex.from_table(titanic(), "Survived", binning="uniform", weights="equal")
        ask = partial(label_odds, index, titanic(), gap=GAP)
        yield alone("odds of all rows of titanic", 3.0, runs, ask)


def reports(quick: bool) -> Iterator[Alone]:
    """Reports of wide tables and of many labels, all rows as points, from the index to the page."""
    for shape in WIDE:
        rows, features, _, labels, holes = shape
        index, points = generated(*shape)
        yield alone(
            f"report of {rows:,} × {features}, {labels} labels, {per_cent(holes)} missing",
            2.5 if labels < 30 else 4.0,
            1 if quick else 3,
            lambda index=index, points=points: report(index, points).html(),
        )


def many_labels(quick: bool) -> Iterator[Row]:
    """300 labels: certifying against predicting."""
    rows = 30_000 if quick else 100_000
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 300, rows)
    codes = ((labels[:, None] + rng.integers(0, 4, (rows, 20))) % 7).astype(np.int8)
    holes = np.asfortranarray(np.where(rng.random(codes.shape) < 0.02, np.int8(-1), codes))
    index, theirs = (
        CountIndex.from_codes(holes, labels, weights="equal"),
        CategoricalNB().fit(codes, labels),
    )
    for n_points in (1_000, 10_000):
        points = np.ascontiguousarray(codes[:n_points].astype(np.int64))
        yield compared(
            f"verdicts of {n_points:,} points × 20, 300 labels; CategoricalNB.predict",
            1.5,
            3 if quick else 9,
            partial(certify, index, points),
            partial(theirs.predict, points),
        )


def _processes(what: str, goal: float, runs: int, ours: list[str], peer: list[str]) -> Row:
    """Let two commands of Python take turns."""
    import resource

    seconds: dict[str, tuple[list[float], list[float]]] = {"ours": ([], []), "peer": ([], [])}
    for turn in range(runs + 1):
        for name, arguments in (("ours", ours), ("peer", peer)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                seconds[name][0].append(wall)
                seconds[name][1].append(used)
    return Row(what, seconds["ours"], seconds["peer"], goal)


ROWS: dict[str, Callable[[bool], Iterator[Row | Alone]]] = {
    "categorical": categorical,
    "small-tables": small_tables,
    "baseline": baseline,
    "cold-start": cold_start,
    "parquet": parquet,
    "wide": wide,
    "many-labels": many_labels,
    "odds": odds,
    "reports": reports,
}
