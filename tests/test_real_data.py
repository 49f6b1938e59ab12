"""Laws on real tables; they skip where the data are not at hand.

The folder is named by ``NULLPROOF_DATA``, else looked for beside the project.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.credal_oracle import compare

from nullproof import CountIndex, certify, inject_missing, poison, radius
from nullproof.attacks import Attack

DATA = Path(os.environ.get("NULLPROOF_DATA", Path(__file__).parents[2] / "shared" / "datasets"))
LABELS = {
    "adult": "income",
    "bodyPerformance": "class",
    "breast_cancer": "Class",
    "fetal_health": "fetal_health",
    "heart": "HeartDisease",
    "house_votes_84": "Class",
    "hypothyroid": "Class",
    "mushrooms": "class",
    "penguins": "species",
    "pima_diabetes": "outcome",
    "winequalityN": "type",
}
N_POINTS = 60
N_ATTACKS = 6

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason="no folder of datasets; name it: NULLPROOF_DATA"),
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
]


def load(name: str) -> tuple[pl.DataFrame, CountIndex]:
    path = DATA / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not at hand")
    table = inject_missing(path, 0)
    return table, CountIndex.from_table(table, LABELS[name], missing=("?",))


@pytest.mark.parametrize("name", LABELS)
def test_attacks_break_and_none_of_their_cells_can_be_spared(name: str) -> None:
    """Every attack breaks its point in the real table; without any one cell the point holds."""
    table, index = load(name)
    points = table.sample(N_POINTS, seed=1)
    found = np.asarray(radius(index, points, alpha=0))
    breakable = np.flatnonzero((found > 0) & np.isfinite(found))[:N_ATTACKS]
    for place in breakable.tolist():
        point = points[place]
        attack = poison(index, point, alpha=0)
        assert attack.optimal
        assert attack.n_cells == found[place]
        assert not certify(attack.index_after, point, alpha=0).certain[0]
        for spared in range(len(attack.blanks)):
            blanks = [
                replace(b, n_cells=b.n_cells - (number == spared))
                for number, b in enumerate(attack.blanks)
            ]
            assert certify(index.blanked(blanks), point, alpha=0).certain[0]
    if len(breakable):
        assert_cells_are_real(table, index, attack, LABELS[name])


def assert_cells_are_real(
    table: pl.DataFrame, index: CountIndex, attack: Attack, label: str
) -> None:
    """Count the poisoned table itself: the same index as was worked out."""
    assert len(set(attack.cells(table))) == attack.n_cells
    poisoned = attack.apply(table)
    assert poisoned.schema == table.schema
    assert CountIndex.from_table(poisoned, label, like=index) == attack.index_after


@pytest.mark.parametrize("name", LABELS)
def test_radius_and_certificate_agree(name: str) -> None:
    """A radius above zero means certain, with the same label; zero means open."""
    table, index = load(name)
    points = table.sample(min(len(table), 400), seed=2)
    result, found = certify(index, points, alpha=1.0), radius(index, points, alpha=1.0)
    assert ((found.radius > 0) == result.certain).all()
    assert found.label.tolist() == result.label.tolist()


def test_predictions_are_those_of_e1071() -> None:
    """Holes left out, as R's e1071 does: its published table of HouseVotes84, and its accuracy."""
    table, _ = load("house_votes_84")
    index = CountIndex.from_table(table, "Class", weights="equal")
    truth = table["Class"].to_numpy()
    pairs = zip(certify(index, table, alpha=0).predicted, truth, strict=True)
    assert Counter(pairs) == {
        ("democrat", "democrat"): 238,
        ("republican", "democrat"): 29,
        ("democrat", "republican"): 13,
        ("republican", "republican"): 155,
    }
    smoothed = np.asarray(certify(index, table, alpha=3).predicted)
    assert round(float(np.mean(smoothed == truth)), 4) == 0.9034


@pytest.mark.parametrize("name", ["house_votes_84", "breast_cancer", "mushrooms"])
def test_what_the_credal_classifier_decides_is_certain(name: str) -> None:
    """Zaffalon's classifier allows every completion too, and many priors: it decides fewer points."""
    table, _ = load(name)
    labels = table[LABELS[name]].to_list()
    cells = table.drop(LABELS[name])
    rows = cells.with_columns(pl.col(pl.String).replace("?", None)).rows()
    points = rows[:: len(rows) // 40]
    index = CountIndex.from_rows(
        rows, labels, features=cells.columns, keep=cells.columns, weights="equal"
    )
    result = certify(index, points, alpha=0)
    n_decided, n_certain = compare(result, rows, labels, points), int(result.certain.sum())
    print(f"{name}: of {len(points)} points {n_decided} decided, {n_certain} certain")
    assert 0 < n_decided <= n_certain
