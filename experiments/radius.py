"""The radius of every point: cost against CategoricalNB.predict, and its growth with the table."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from experiments.decision import FEATURES, ROWS, random_codes
from experiments.measuring import ratio, shown, times
from nullproof.index import CountIndex
from nullproof.radii import radius

TITLE = "The radius of 100,000 points"


def run(*, quick: bool) -> list[str]:
    rows, n_points = (ROWS // 10, 10_000) if quick else (ROWS, 100_000)
    points = np.ascontiguousarray(random_codes(n_points, seed=1)[0].astype(np.int64))
    lines = [
        f"{n_points:,} points, {FEATURES} features, 2 labels; a complete training table.",
        "",
        "| rows counted | alpha | radius | CategoricalNB.predict | ratio |",
        "|---|---|---|---|---|",
    ]
    for n_rows in (rows // 16, rows // 4, rows):
        complete, _, labels = random_codes(n_rows)
        index = CountIndex.from_codes(complete, labels)
        model = CategoricalNB().fit(complete, labels)
        for alpha in (0.0, 1.0):
            seconds = times(
                5,
                ours=partial(radius, index, points, alpha=alpha),
                theirs=partial(model.predict, points),
            )
            lines.append(
                f"| {n_rows:,} | {alpha:g} | {shown(seconds['ours'])} "
                f"| {shown(seconds['theirs'])} | {ratio(seconds['ours'], seconds['theirs']):.1f} |"
            )
    return [*lines, ""]
