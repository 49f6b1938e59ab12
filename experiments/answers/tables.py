"""The tables that are asked about: small random ones, larger coded ones, and the datasets at hand.

Random tables use Python's own `random` alone, so the same seed gives the same table for good.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.tables_at_hand import IGNORED, LABELS

REAL = tuple(LABELS)
QUICK_REAL = ("breast_cancer", "penguins", "titanic")
ALPHAS: tuple[Any, ...] = (0, 1.0, 1.0, 0.5, Fraction(1, 3))
N_ROWS, N_POINTS = 2_000, 60
_MISSING = ["?", "NA", "N/A", "NaN", "null", "NULL"]
_RATE = 0.02


@dataclass(frozen=True)
class RandomTable:
    """Rows (None is missing, a set holds candidates), the world behind them, and points to ask about."""

    rows: list[tuple[Any, ...]]
    truth: list[tuple[Any, ...]]
    labels: list[str]
    domains: list[list[Any]]
    points: list[tuple[Any, ...]]
    true_labels: list[str]
    model: dict[str, Any]


def random_table(kind: str, seed: int) -> RandomTable:
    """A table of texts so small that it can be looked at, or a larger one of codes.

    Every third small table has cells with several candidates. In coded tables labels lean to values, so
    that many predictions are certain.
    """
    rng = random.Random(f"{kind} {seed}")
    if kind == "small":
        n_labels, n_features = rng.randint(2, 4), rng.randint(1, 4)
        domains: list[list[Any]] = [list("abcde"[: rng.randint(1, 4)]) for _ in range(n_features)]
        n_rows, rate = rng.randint(n_labels, 14), rng.choice([0.1, 0.3])
        candidates = rate / 3 if seed % 3 == 0 else 0.0
    else:
        n_labels, n_features = rng.randint(2, 5), rng.randint(2, 8)
        domains = [list(range(rng.randint(2, 6))) for _ in range(n_features)]
        n_rows, rate, candidates = rng.randint(30, 200), rng.choice([0.0, 0.02, 0.1]), 0.0
    labels = [f"l{i}" for i in range(n_labels)]
    of_rows = labels + [rng.choice(labels) for _ in range(n_rows - n_labels)]
    truth = [tuple(_value(rng, d, labels.index(label)) for d in domains) for label in of_rows]
    rows = [
        tuple(_blurred(rng, *pair, rate, candidates) for pair in zip(row, domains, strict=True))
        for row in truth
    ]
    points = [_point(rng, domains, what) for what in ("plain",) * 4 + ("missing", "set", "unseen")]
    prior = rng.choice([None, None, "uniform", [rng.randint(1, 3) for _ in labels]])
    return RandomTable(
        rows=rows,
        truth=truth,
        labels=of_rows,
        domains=domains,
        points=points,
        true_labels=[rng.choice(labels) for _ in points],
        model={"alpha": rng.choice(ALPHAS), "prior": prior},
    )


def _value(rng: random.Random, domain: list[Any], label: int) -> Any:
    return domain[label % len(domain)] if rng.random() < 0.5 else rng.choice(domain)


def _blurred(
    rng: random.Random, cell: Any, domain: list[Any], rate: float, candidates: float
) -> Any:
    kind = rng.random()
    if kind < rate:
        return None
    if len(domain) > 2 and kind < rate + candidates:
        return {cell, rng.choice([value for value in domain if value != cell])}
    return cell


def _point(rng: random.Random, domains: list[list[Any]], what: str) -> tuple[Any, ...]:
    cells = [_value(rng, domain, rng.randint(0, 4)) for domain in domains]
    place = rng.randrange(len(cells))
    if what == "missing":
        cells[place] = None
    elif what == "set" and len(domains[place]) > 1:
        cells[place] = set(rng.sample(domains[place], 2))
    elif what == "unseen":
        cells[place] = "never seen" if isinstance(cells[place], str) else len(domains[place])
    return tuple(cells)


@dataclass(frozen=True)
class RealTable:
    """Rows of a dataset to train on, others to predict, and the file itself."""

    name: str
    path: Path
    train: pl.DataFrame
    points: pl.DataFrame

    @property
    def label(self) -> str:
        return LABELS[self.name]

    @property
    def ignore(self) -> list[str]:
        return IGNORED.get(self.name, [])


def folder_of_datasets() -> Path:
    """Where the datasets are, if they are at hand."""
    usual = Path(__file__).parents[2] / "../shared/datasets"
    return Path(os.environ.get("NULLPROOF_DATA", usual))


def real_table(name: str) -> RealTable:
    """Rows at even distances, since the first ones of some files have one label only.

    A complete table gets missing cells, lest every prediction be certain.
    """
    path = folder_of_datasets() / f"{name}.csv.gz"
    frame = pl.read_csv(
        path,
        null_values=_MISSING,
        infer_schema_length=None,
        schema_overrides={LABELS[name]: pl.String},
    )
    frame = frame[_evenly(frame.height, N_ROWS + N_POINTS)]
    chosen = _evenly(frame.height, N_POINTS)
    train = frame[np.setdiff1d(np.arange(frame.height), chosen).tolist()]
    if not sum(train.null_count().row(0)):
        train = _with_missing_cells(train, LABELS[name])
    return RealTable(name, path, train, frame[chosen])


def _with_missing_cells(frame: pl.DataFrame, label: str) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    masks = {name: rng.random(frame.height) < _RATE for name in frame.columns if name != label}
    blanks = [
        pl.when(pl.Series(mask)).then(None).otherwise(pl.col(name)).alias(name)
        for name, mask in masks.items()
    ]
    return frame.with_columns(blanks)


def _evenly(size: int, n_wanted: int) -> list[int]:
    return [k * size // n_wanted for k in range(n_wanted)] if size > n_wanted else [*range(size)]
