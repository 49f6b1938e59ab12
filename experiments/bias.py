"""The bias that really arises when known cells of real tables are blanked, by chance and by value.

The folder of datasets is named by ``NULLPROOF_DATA``; ``NULLPROOF_BINNING`` says how numbers are binned.
For each column and label: the least bias of a world in which the blanked cells hold what they held.
Alpha 1, one seed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.blanking import Mechanism, blank_cells
from experiments.tables_at_hand import LABELS, MOST_ROWS, at_hand, frame_of
from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable

TITLE = "The bias that really arises"
BINNING = os.environ.get("NULLPROOF_BINNING", "uniform")
ALPHA = 1.0
SETTINGS: dict[str, tuple[float, Mechanism]] = {
    "5 % by chance": (0.05, "uniform"),
    "20 % by chance": (0.2, "uniform"),
    "5 % by value": (0.05, "value"),
    "20 % by value": (0.2, "value"),
}
SIZES = ((1, 10), (10, 30), (30, 100), (100, 300), (300, 1_000), (1_000, 1_000_000))
LIMITS = (0.02, 0.05, 0.1, 0.2)
# Columns whose meaning a reader can guess, for the table that is shown.
COLUMNS = {
    "adult": ("age", "education-num", "hours-per-week", "sex"),
    "titanic": ("Pclass", "Sex", "Age"),
    "heart": ("Age", "Sex", "MaxHR"),
    "penguins": ("body_mass_g", "island"),
    "bodyPerformance": ("age", "weight_kg", "gender"),
    "pima_diabetes": ("age", "bmi"),
}


@dataclass(frozen=True)
class Group:
    """The blanked cells of one column and label, and the bias of what they held."""

    table: str
    column: str
    setting: str
    n_cells: int
    bias: float


def run(*, quick: bool) -> list[str]:
    found = at_hand()
    names = [*found][:4] if quick else [*found]
    groups = [group for name in names for group in measure_table(name, found[name])]
    return [
        *_preface(),
        *_by_size(groups),
        *_by_table(groups),
        *_columns(groups),
    ]


def least_bias(known: NDArray[Any], blanked: NDArray[Any], alpha: float = ALPHA) -> float:
    """The bias above which the worlds include the one where the blanked cells hold what they held.

    The counts are per value of the domain. A value with reference ``q`` that ``x`` of ``M`` cells hold asks
    for ``⌊M(q - ε)⌋ ≤ x ≤ ⌈M(q + ε)⌉``, that is for ``ε > q - (x + 1)/M`` and ``ε > (x - 1)/M - q``
    (theory 8).
    """
    n_cells, whole = int(blanked.sum()), known.sum() + alpha * len(known)
    reference = (known + alpha) / whole if whole else np.full(len(known), 1 / len(known))
    fewer, more = reference - (blanked + 1) / n_cells, (blanked - 1) / n_cells - reference
    return float(max(0.0, fewer.max(), more.max())) if len(known) > 1 else 0.0


def measure_table(name: str, path: Path) -> Iterator[Group]:
    label, frame = LABELS[name], frame_of(name, path)
    options: dict[str, Any] = {"binning": BINNING, "weights": "equal"}
    index = CountIndex.from_table(frame, label, **options)
    training = TrainingTable.open(index.schema, frame)
    codes = {feature: training.writer(j).encoded.codes for j, feature in enumerate(index.features)}
    for setting, (rate, mechanism) in SETTINGS.items():
        print(name, setting, file=sys.stderr, flush=True)
        holed = blank_cells(frame, rate, label=label, mechanism=mechanism)
        for j, feature in enumerate(index.features):
            counts = _counts(
                codes[feature], _known(holed, feature), training.row_labels, int(index.n_values[j])
            )
            for known, blanked in counts:
                if blanked.any():
                    bias = least_bias(known, blanked)
                    yield Group(name, feature, setting, int(blanked.sum()), bias)


def _known(frame: pl.DataFrame, column: str) -> NDArray[np.bool_]:
    return frame[column].is_not_null().to_numpy()


def _counts(
    codes: NDArray[Any], known: NDArray[np.bool_], labels: NDArray[Any], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Per label how many cells hold each value: those left, and those blanked."""
    for label in np.unique(labels):
        here = (labels == label) & (codes >= 0)
        yield (
            np.bincount(codes[here & known], minlength=size),
            np.bincount(codes[here & ~known], minlength=size),
        )


def _preface() -> list[str]:
    return [
        "Known cells are blanked with `inject_missing` and looked at again. For each column and label with "
        "a blanked cell: the least bias of a world in which they hold what they held. At most "
        f"{MOST_ROWS:,} rows of a table, alpha 1, one seed; numbers in 5 bins, {BINNING}. Holes that a "
        "table has itself are left aside, since nobody knows what they hold.",
        "",
    ]


def _by_size(groups: list[Group]) -> Iterator[str]:
    yield "## By the number of blanked cells of a column and label"
    yield ""
    head = " | ".join(f"within {limit:g}" for limit in LIMITS)
    yield f"| blanked | cells | columns × labels | median | 9 in 10 | worst | {head} |"
    yield "|---" * (6 + len(LIMITS)) + "|"
    for setting in SETTINGS:
        for least, most in SIZES:
            own = np.array(
                [g.bias for g in groups if g.setting == setting and least <= g.n_cells < most]
            )
            if not len(own):
                continue
            size = f"{least:,} to {most - 1:,}" if most < SIZES[-1][1] else f"{least:,} or more"
            found = [np.median(own), np.quantile(own, 0.9), own.max()]
            within = [f"{(own <= limit).mean():.0%}" for limit in LIMITS]
            cells = [setting, size, f"{len(own):,}", *(f"{b:.3f}" for b in found), *within]
            yield f"| {' | '.join(cells)} |"
    yield ""


def _by_table(groups: list[Group]) -> Iterator[str]:
    yield "## By table: median and worst of its columns and labels"
    yield ""
    yield f"| table | {' | '.join(SETTINGS)} | worst column, 20 % by value |"
    yield "|---" * (2 + len(SETTINGS)) + "|"
    for name in dict.fromkeys(group.table for group in groups):
        cells = [name]
        worst = ""
        for setting in SETTINGS:
            own = [g for g in groups if (g.table, g.setting) == (name, setting)]
            top = max(own, key=lambda group: group.bias)
            cells.append(f"{np.median([g.bias for g in own]):.3f}, {top.bias:.3f}")
            worst = f"{top.column} ({top.n_cells:,} cells)"
        yield f"| {' | '.join([*cells, worst])} |"
    yield ""


def _columns(groups: list[Group]) -> Iterator[str]:
    yield "## Some columns: the label with the greatest bias, and its number of blanked cells"
    yield ""
    yield f"| column | {' | '.join(SETTINGS)} |"
    yield "|---" * (1 + len(SETTINGS)) + "|"
    for name, columns in COLUMNS.items():
        for column in columns:
            own = [g for g in groups if (g.table, g.column) == (name, column)]
            if not own:
                continue
            cells = [f"{name}: {column}"]
            for setting in SETTINGS:
                top = max((g for g in own if g.setting == setting), key=lambda g: g.bias)
                cells.append(f"{top.bias:.3f} ({top.n_cells:,})")
            yield f"| {' | '.join(cells)} |"
    yield ""
