"""How many more changes an audit sees with directed worlds, and how stable certain predictions are.

The folder of datasets is named by ``NULLPROOF_DATA``. The first part blanks 10 % of the known training
cells and counts the predictions that were seen to change in as many worlds by chance, directed, and in
the mixture that `audit` takes. The second part audits CertifiedNB itself, which learns bins and weights
anew in every world: how many of the predictions that were certain for the bins and weights of the known
cells change.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import polars as pl

from experiments.tables_at_hand import LABELS, at_hand, frame_of
from nullproof.auditing import audit
from nullproof.cli.options import MODELS
from nullproof.cli.tables import pipeline
from nullproof.data.edits import inject_missing
from nullproof.estimator import CertifiedNB

TITLE = "What an audit sees"
TABLES = (
    "heart",
    "employee",
    "adult",
    "fetal_health",
    "titanic",
    "pima_diabetes",
    "winequalityN",
    "hypothyroid",
    "house_votes_84",
)
N_ROWS, N_POINTS, BLANK = 1_500, 500, 0.1
WORLDS = (16, 64)
STABILITY_WORLDS = 100


def run(*, quick: bool) -> list[str]:
    found = at_hand()
    names = [name for name in TABLES if name in found][: 2 if quick else None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changes = [
            "| table | model | worlds | points | by chance | mixed | directed | other work, fits (s) |",
            "|---|---|---|---|---|---|---|---|",
        ]
        ratios: dict[int, list[float]] = {}
        for name in names:
            for model in MODELS:
                for n_worlds in WORLDS[: 1 if quick else None]:
                    line, ratio = _changes(name, found[name], model, n_worlds)
                    ratios.setdefault(n_worlds, []).append(ratio)
                    changes.append(line)
                    print(line, flush=True)
        means = [
            f"Geometric mean of mixed over chance, {n_worlds} worlds: "
            f"{np.exp(np.mean(np.log(found_ratios))):.2f}."
            for n_worlds, found_ratios in ratios.items()
        ]
        stability = [
            "| table | points | certain | of these seen to change | all seen to change |",
            "|---|---|---|---|---|",
        ]
        for name in names if quick else [*found]:
            stability.append(_stability(name, found[name], 10 if quick else STABILITY_WORLDS))
            print(stability[-1], flush=True)
    return [
        "## Changes that are seen",
        "",
        f"{N_ROWS:,} training rows, {BLANK:.0%} of their known cells blank, at most {N_POINTS} points.",
        "",
        *changes,
        "",
        *means,
        "",
        "## Certain predictions when bins and weights are learned anew",
        "",
        f"{STABILITY_WORLDS} worlds, half of them directed; tables as they are, or with 5 % blank.",
        "",
        *stability,
    ]


def _split(name: str, path: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    frame = frame_of(name, path, most_rows=N_ROWS + N_POINTS)
    frame = frame.filter(pl.col(LABELS[name]).is_not_null())
    n_train = min(N_ROWS, len(frame) * 3 // 4)
    train = frame[:n_train]
    # A column without a known cell cannot be filled by chance.
    held = [column.name for column in train if column.null_count() < n_train]
    return train.select(held), frame[n_train:].select(held)


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return numbers as doubles and the rest as texts, as the command line does."""
    return frame.with_columns(
        pl.col(name).cast(pl.Float64 if kind.is_numeric() else pl.String)
        for name, kind in frame.schema.items()
    )


def _changes(name: str, path: Any, model: str, n_worlds: int) -> tuple[str, float]:
    train, test = map(_plain, _split(name, path))
    label = LABELS[name]
    train = inject_missing(train, BLANK, label=label, seed=1)
    estimator = pipeline(model, train.drop(label))
    began = time.perf_counter()
    # Every other world is directed: of twice as many each kind has its number of worlds, and the first
    # half of them are the mixture that an audit of this size takes.
    found = audit(estimator, train, test, label=label, n_worlds=2 * n_worlds)
    rest = time.perf_counter() - began - found.seconds
    mixed = np.array(found.numbers) < n_worlds
    chance, both, directed = (
        int((found.predictions[some] != found.predictions[some][:1]).any(axis=0).sum())
        for some in (found.by_chance, mixed, ~found.by_chance)
    )
    seen = f"{chance} | {both} | {directed}"
    line = f"| {name} | {model} | {n_worlds} | {len(test)} | {seen} | {rest:.2f}, {found.seconds:.1f} |"
    return line, max(both, 1) / max(chance, 1)


def _stability(name: str, path: Any, n_worlds: int) -> str:
    train, test = _split(name, path)
    label = LABELS[name]
    if not sum(train.null_count().row(0)):
        train = inject_missing(train, 0.05, label=label, seed=1)
    model = CertifiedNB(weights="learned").fit(train.drop(label), train[label].to_numpy())
    certain = model.certify(test.drop(label)).certain
    found = audit(CertifiedNB(weights="learned"), train, test, label=label, n_worlds=n_worlds)
    return (
        f"| {name} | {len(test)} | {int(certain.sum())} | {int((found.changed & certain).sum())} | "
        f"{int(found.changed.sum())} |"
    )
