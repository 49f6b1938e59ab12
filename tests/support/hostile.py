"""A table whose every text tries to be something else: markup, marks of direction, very long."""

from __future__ import annotations

import csv
import random
from pathlib import Path

from nullproof import CountIndex

SCRIPT = "<script>document.title='broken'</script>"
QUOTES = "\"'><img src=x onerror=\"document.title='broken'\">"
BACKWARDS = "\u202egnirts\u200f"
HEBREW = "שלום (a|b) *c*"
LONG = "very" + "long" * 2500
MARKDOWN = "[a](b) `c` | d\n# e"

LABELS = (SCRIPT, QUOTES, BACKWARDS)
FEATURES = (SCRIPT, QUOTES, HEBREW, LONG, MARKDOWN)
VALUES = (SCRIPT, QUOTES, BACKWARDS, HEBREW, LONG, MARKDOWN, "", "&lt;", "]]>", "</style>")

Rows = list[tuple[str | None, ...]]


def hostile_index() -> CountIndex:
    rows, labels = _table(120, holes=0.06)
    return CountIndex.from_rows(rows, labels, features=FEATURES, weights="equal")


def hostile_points() -> Rows:
    rows, _ = _table(30, holes=0.02)
    return [*rows, ("<b>never seen</b>", *rows[0][1:])]


def _table(n_rows: int, *, holes: float) -> tuple[Rows, list[str]]:
    rng = random.Random(n_rows)
    rows: Rows = []
    labels = []
    for place in range(n_rows):
        label = place % len(LABELS)
        # Each label likes three values, so that some points are certain and some are not.
        liked = VALUES[3 * label : 3 * label + 3] + VALUES[-1:]
        cells = (rng.choice(liked if rng.random() < 0.7 else VALUES) for _ in FEATURES)
        rows.append(tuple(None if rng.random() < holes else cell for cell in cells))
        labels.append(LABELS[label])
    return rows, labels


def write_hostile(path: Path) -> str:
    """Write such a table as CSV, and return the name of its label column."""
    rows, labels = _table(60, holes=0.06)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = [(*row, label) for row, label in zip(rows, labels, strict=True)]
        csv.writer(file).writerows([(*FEATURES, f"label {SCRIPT}"), *lines])
    return f"label {SCRIPT}"
