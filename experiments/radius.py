"""The radius of every point: cost against CategoricalNB.predict, and its growth with the table."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from experiments.decision import FEATURES, ROWS, random_codes
from experiments.measuring import ratio, shown, times
from experiments.paper.baselines import CodedTable, greedy_search
from nullproof.attacks.radius import Threat, radius
from nullproof.counts.index import CountIndex

TITLE = "The radius of 100,000 points"


def run(*, quick: bool) -> list[str]:
    rows, n_points = (ROWS // 10, 10_000) if quick else (ROWS, 100_000)
    points = np.ascontiguousarray(random_codes(n_points, seed=1)[0].astype(np.int64))
    lines = [
        f"{n_points:,} points, {FEATURES} features, 2 labels; a complete training table.",
        "",
        "| rows counted | alpha | threat | radius | CategoricalNB.predict | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for n_rows in (rows // 16, rows // 4, rows):
        complete, _, labels = random_codes(n_rows)
        index = CountIndex.from_codes(complete, labels, weights="equal")
        model = CategoricalNB().fit(complete, labels)
        threats: tuple[Threat, ...] = ("cells", "rows")
        for alpha, threat in product((0.0, 1.0), threats):
            seconds = times(
                5,
                ours=partial(radius, index, points, alpha=alpha, threat=threat),
                theirs=partial(model.predict, points),
            )
            lines.append(
                f"| {n_rows:,} | {alpha:g} | {threat} | {shown(seconds['ours'])} "
                f"| {shown(seconds['theirs'])} | {ratio(seconds['ours'], seconds['theirs']):.1f} |"
            )
    return [*lines, "", *_against_greedy()]


def _against_greedy() -> list[str]:
    """Per point against the paper's greedy, on a table of the size of bodyPerformance."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 10_714)
    codes = np.stack(
        [rng.choice(5, size=len(labels), p=rng.dirichlet(np.ones(5) * 3)) for _ in range(11)],
        axis=1,
    )
    codes = np.where(rng.random(codes.shape) < 0.3, labels[:, None], codes)
    points = codes[:2_679]
    index = CountIndex.from_codes(codes, labels, weights="equal")
    table = CodedTable.of(codes, labels)
    seconds = times(
        3,
        ours=partial(radius, index, points),
        greedy=lambda: [greedy_search(table, point) for point in points[:40].tolist()],
    )
    ours = [s / len(points) for s in seconds["ours"]]
    greedy = [s / 40 for s in seconds["greedy"]]
    return [
        "The paper's greedy (`experiments.paper.baselines`, one pass over the table a point) on "
        f"{len(labels):,} rows × 11 features, 4 labels:",
        "",
        "| way | time a point | times ours |",
        "|---|---|---|",
        f"| radius of {len(points):,} points | {min(ours) * 1e6:.1f} µs | 1 |",
        f"| greedy | {min(greedy) * 1e6:,.1f} µs | {ratio(greedy, ours):,.0f} |",
        "",
    ]
