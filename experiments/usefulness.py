"""How many predictions of real tables are certain, or hold, and how many of each are right.

The folder of datasets is named by ``NULLPROOF_DATA``; ``NULLPROOF_BINNING`` says how numbers are binned.
Each table is taken as it is and with 5 % and 20 % of the known cells blanked, in the training table and
in the points, by chance and by value; 80 % of the rows train. Alpha 1, one seed.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiments.blanking import Mechanism, blank_cells
from experiments.tables_at_hand import LABELS, MOST_ROWS, at_hand, frame_of
from experiments.usefulness_figure import draw
from nullproof.counts.index import CountIndex
from nullproof.model.accuracy import CurvePoint, Truth
from nullproof.model.certify import certify
from nullproof.model.predict import log_supports

TITLE = "How useful an answer is"
BINNING = os.environ.get("NULLPROOF_BINNING", "mdl")
N_POINTS = 600
BIASES = (0.02, 0.05, 0.1)
HOLDS = 0.05
# The default, and plain Naive Bayes beside it.
WEIGHTS: tuple[Any, ...] = ("learned", "equal")
SETTINGS: dict[str, tuple[float, Mechanism]] = {
    "as it is": (0.0, "uniform"),
    "5 % by chance": (0.05, "uniform"),
    "5 % by value": (0.05, "value"),
    "20 % by chance": (0.2, "uniform"),
    "20 % by value": (0.2, "value"),
}


@dataclass(frozen=True)
class Measured:
    """What was found for one table, one way to blank cells, and one kind of weights.

    Parameters
    ----------
    certain
        The shares of certain points with their own holes read as any value, and skipped.
    truth
        How many predictions are right, and hold as the bias grows, holes of the points skipped.
    n_changed
        Predictions that the table without the blanked cells gives another label: of those that hold
        at 0.05, and of the rest.
    n_right_by_margin
        As many predictions as hold at 0.05, but those with the greatest lead over the second label: how
        many of them are right.
    """

    table: str
    setting: str
    weights: str
    certain: tuple[float, float]
    truth: Truth
    n_changed: tuple[int, int]
    n_right_by_margin: int

    def at(self, bias: float) -> CurvePoint:
        return self.truth.at(bias)

    def share(self, bias: float) -> float:
        return self.at(bias).n_hold / self.truth.everything.n_points

    @property
    def accuracy(self) -> float:
        every = self.truth.everything
        return every.n_right / every.n_points


def run(*, quick: bool) -> list[str]:
    found = at_hand()
    names = [*found][:4] if quick else [*found]
    measured = [one for name in names for one in measure_table(name, found[name])]
    if not quick:
        default = [one for one in measured if one.weights == WEIGHTS[0]]
        draw(default, Path(__file__).parent.parent / "docs" / "figures" / "usefulness.png")
    return [*_preface(), *_summary(measured), *_listing(measured)]


def measure_table(name: str, path: Path) -> Iterator[Measured]:
    frame = frame_of(name, path)
    for setting, (rate, mechanism) in SETTINGS.items():
        print(name, setting, file=sys.stderr, flush=True)
        for weights in WEIGHTS:
            yield measure(name, frame, setting, weights, rate=rate, mechanism=mechanism)


def measure(
    name: str,
    frame: pl.DataFrame,
    setting: str,
    weights: Any,
    *,
    rate: float,
    mechanism: Mechanism,
    seed: int = 0,
) -> Measured:
    """Blank cells, count four fifths of the rows, and judge some of the others."""
    label = LABELS[name]
    holed = frame
    if rate:
        holed = blank_cells(frame, rate, label=label, mechanism=mechanism, seed=seed)
    cut = len(frame) * 4 // 5
    cells = holed[cut : cut + N_POINTS].drop(label)
    options: dict[str, Any] = {"binning": BINNING, "weights": weights}
    whole = CountIndex.from_table(frame[:cut], label, **options)
    # The same bins, weights and domains, so that nothing but the blanked cells differs.
    index = CountIndex.from_table(holed[:cut], label, like=whole)
    result = certify(index, cells, alpha=1)
    known = Truth(result.with_truth(frame[cut : cut + N_POINTS, label]))
    strict = certify(index, cells, alpha=1, own_missing="any").certain
    changed = certify(whole, cells, alpha=1).predicted != result.predicted
    holds = result.tolerance >= HOLDS
    supports = np.sort(log_supports(result.model, result.points), axis=1)
    surest = np.zeros(len(holds), dtype=bool)
    surest[np.argsort(supports[:, -2] - supports[:, -1], kind="stable")[: holds.sum()]] = True
    return Measured(
        name,
        setting,
        weights,
        (float(strict.mean()), float(result.certain.mean())),
        known,
        (int(changed[holds].sum()), int(changed[~holds].sum())),
        known.group(surest).n_right,
    )


def _preface() -> list[str]:
    return [
        f"Up to {N_POINTS} held-out points a table, at most {MOST_ROWS:,} rows of it, 80/20 split, alpha "
        f"1, one seed; bins of numbers: {BINNING}. Cells are blanked in the training table and in the "
        "points, beside the holes that a table has; bins, weights and domains are those of the training "
        "table before. Learned weights are the default, equal ones plain Naive Bayes. *Certain, any*: "
        "whatever a point's own holes hold; from there on they are skipped. "
        "*Changed*: predictions that the table without the blanked training cells gives another label, of "
        "those that hold at 0.05 and of the rest. *Margin*: as many predictions as hold at 0.05, but "
        "those with the greatest lead over the second label.",
        "",
        "![Per table the share of predictions that are certain or hold, and the accuracy of those that "
        "hold and of the rest](../../docs/figures/usefulness.png)",
        "",
    ]


def _summary(measured: list[Measured]) -> Iterator[str]:
    yield "## Medians over the tables, and all points together"
    yield ""
    yield (
        "| blanked | weights | certain, any | certain | mean | holds 0.02 | 0.05 | 0.1 | lowest 0.05 "
        "| right: all / holds / rest / margin | changed: holds / rest |"
    )
    yield "|---" * 11 + "|"
    for setting, weights in itertools.product(SETTINGS, WEIGHTS):
        own = [one for one in measured if (one.setting, one.weights) == (setting, weights)]
        medians = [
            np.median([one.certain[0] for one in own]),
            np.median([one.certain[1] for one in own]),
            np.mean([one.certain[1] for one in own]),
            *(np.median([one.share(bias) for one in own]) for bias in BIASES),
            min(one.share(HOLDS) for one in own),
        ]
        shares = " | ".join(map(_two, medians))
        yield f"| {setting} | {weights} | {shares} | {_right(own)} | {_changed(own)} |"
    yield ""


def _listing(measured: list[Measured]) -> Iterator[str]:
    yield "## Table by table"
    yield ""
    yield (
        "| table | blanked | weights | points | certain, any | certain | holds 0.02 | 0.05 | 0.1 "
        "| right: all / holds / rest / margin | changed: holds / rest |"
    )
    yield "|---" * 11 + "|"
    for one in measured:
        shares = [*one.certain, *(one.share(bias) for bias in BIASES)]
        cells = [
            one.table,
            one.setting,
            one.weights,
            str(one.truth.everything.n_points),
            *map(_two, shares),
        ]
        yield f"| {' | '.join(cells)} | {_right([one])} | {_changed([one])} |"
    yield ""


def _right(some: list[Measured]) -> str:
    ends = [one.at(HOLDS) for one in some]
    n_hold, n_rest = _sizes(some)
    right_hold = sum(end.hold.n_right for end in ends)
    right_rest = sum(end.rest.n_right for end in ends)
    shares = (
        (right_hold + right_rest, n_hold + n_rest),
        (right_hold, n_hold),
        (right_rest, n_rest),
        (sum(one.n_right_by_margin for one in some), n_hold),
    )
    return " / ".join(_three(n_right, size) for n_right, size in shares)


def _changed(some: list[Measured]) -> str:
    changed = (sum(one.n_changed[place] for one in some) for place in (0, 1))
    return " / ".join(f"{n} of {size}" for n, size in zip(changed, _sizes(some), strict=True))


def _sizes(some: list[Measured]) -> tuple[int, int]:
    """How many predictions hold, and how many do not."""
    ends = [one.at(HOLDS) for one in some]
    return sum(end.n_hold for end in ends), sum(end.rest.n_points for end in ends)


def _two(share: float) -> str:
    return f"{share:.2f}"


def _three(n: float, size: int) -> str:
    return f"{n / size:.3f}" if size else "–"
