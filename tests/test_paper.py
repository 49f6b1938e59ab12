"""The paper's algorithms and experiments: right where the paper is."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import paper
from experiments.paper.baselines import (
    CodedTable,
    approximate_decision,
    greedy_search,
    iterate,
    iterate_with_index,
    random_poisoning,
    smarter_random,
    union,
)
from experiments.paper.datasets import Dataset, Known, Note, generate
from experiments.paper.preparation import index_of
from experiments.paper.running import QUICK
from experiments.paper.store import Store
from experiments.paper.summary import Results
from nullproof import certify, radius

SMALL = Known("small", ("small", "small_2024"), "y", (60, 4, 2), (("small_20", 20),))
OTHER = Known("other", ("other",), "y", (30, 3, 3))
GRID = replace(
    QUICK, rates=(0.2,), n_points=(1, 2), low_rates=(0.02,), n_agreement=5, limit=60.0, runs=1
)
SEEDS = range(40)

# Algorithms ---------------------------------------------------------------------------------------


def random_table(seed: int, *, missing: float = 0.0) -> tuple[CodedTable, Any]:
    """Draw a small table whose labels are of very different size, so that rivals saturate, and points."""
    rng = np.random.default_rng(seed)
    n, d, m = rng.integers(4, 30), rng.integers(1, 5), rng.integers(2, 4)
    sizes = rng.integers(2, 4, d)
    codes = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    codes[: sizes.max()] = np.minimum(np.arange(sizes.max())[:, None], sizes - 1)
    labels = rng.choice(m, n, p=(weights := 3.0 ** -np.arange(m)) / weights.sum())
    labels[:m] = np.arange(m)
    codes[rng.random(codes.shape) < missing] = -1
    points = np.stack([rng.integers(0, size, 4) for size in sizes], axis=1)
    return CodedTable.of(codes, labels, n_values=sizes.tolist()), points


def test_decisions() -> None:
    """Algorithm 1 certifies what nullproof does; sampling calls every certain point certain."""
    for seed in SEEDS:
        table, points = random_table(seed, missing=0.15)
        expected = certify(index_of(table), points, alpha=0).certain
        assert iterate(table, points).tolist() == expected.tolist()
        assert iterate_with_index(table, points).tolist() == expected.tolist()
        assert (approximate_decision(table, points, n_worlds=5, seed=seed) >= expected).all()


def test_exceptions_of_algorithm_1() -> None:
    """It takes missing cells of a constant column for open, and lets them hold an unseen value."""
    constant = CodedTable.of([[0, 0], [0, -1], [0, -1], [1, 0], [0, 0]], [0, 0, 0, 1, 1])
    assert certify(index_of(constant), np.array([[0, 0]]), alpha=0).certain.tolist() == [True]
    unseen = CodedTable.of([[0, 0], [1, 1], [-1, 0]], [0, 0, 1])
    for table, point in ((constant, [0, 0]), (unseen, [2, 0])):
        assert iterate(table, point).tolist() == [False]
        assert iterate_with_index(table, point).tolist() == [False]


def blanked(table: CodedTable, cells: Any) -> CodedTable:
    codes = table.codes.copy()
    codes[np.divmod(np.asarray(cells, dtype=np.int64), table.n_features)] = -1
    return CodedTable.of(codes, table.labels, n_values=table.n_values)


def test_random_attacks_stop_at_the_first_cell_that_breaks_the_point() -> None:
    """With the last cell the point is open, without it certain, and the radius is never beaten."""
    for seed in SEEDS:
        table, (point, *_) = random_table(seed)
        least = np.asarray(radius(index_of(table), point[None], alpha=0))[0]
        by_passes = random_poisoning(table, point, seed=seed)
        for found in (by_passes, smarter_random(table, point, seed=seed)):
            assert not iterate(blanked(table, found.cells), point)[0]
            assert found.n_cells >= least
            assert not found.n_cells or iterate(blanked(table, found.cells[:-1]), point)[0]
        halved = random_poisoning(table, point, seed=seed, check="bisect")
        assert halved.cells.tolist() == by_passes.cells.tolist()


def test_greedy_is_optimal_unless_a_rival_saturates() -> None:
    """GS equals the radius but for T6; its cells break the point; what it claims is told apart."""
    n_longer = n_false = 0
    for seed in SEEDS:
        table, points = random_table(seed)
        for point in points:
            found = greedy_search(table, point)
            optimum = np.asarray(radius(index_of(table), point[None], alpha=0))[0]
            assert not iterate(blanked(table, found.cells), point)[0]
            assert found.n_claimed <= found.n_cells
            assert found.saturated or found.n_claimed == found.n_cells == optimum
            n_longer += found.n_cells > optimum
            n_false += found.n_claimed < optimum
        both = union([points[0], points[0]], partial(greedy_search, table))
        assert both.n_cells == greedy_search(table, points[0]).n_cells
    assert n_longer
    assert n_false


# Experiments --------------------------------------------------------------------------------------


@pytest.fixture
def datasets() -> list[Dataset]:
    """Two generated tables that pass for datasets of the paper."""
    return [replace(generate(SMALL), name="HE"), replace(generate(OTHER), name="FC")]


def test_the_whole_experiment(
    datasets: list[Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One command leaves tables, figures and a page that needs no other file; numbers obey the theory."""
    notes = [Note("HE", "generated <stand-in>")]
    monkeypatch.setattr(paper, "load", lambda *_, **__: (datasets, notes))
    monkeypatch.setattr(paper, "QUICK", GRID)
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    paper.add_arguments(parser)
    page = paper.run(parser.parse_args(["--quick", "-o", str(tmp_path)])).read_text("utf-8")
    assert "generated &lt;stand-in&gt;" in page
    assert "http" not in page
    names = {path.stem for path in tmp_path.glob("*.svg")}
    assert {"decision_rates", "decision_points", "single_poisoning", "multiple_poisoning"} <= names
    settings = json.loads((tmp_path / "settings.json").read_text("utf-8"))
    results = Results.of(Store(tmp_path, settings))
    for name in ("Iterate", "Iterate+Index", "nullproof"):
        assert {row["n_wrong"] for row in results.some(part="decision", algorithm=name)} == {"0"}
    assert {row["n_wrong"] for row in results.some(part="certainty")} == {"0"}
    assert all(row["explained"] == "True" for row in results.exceptions)
    single = results.some(part="single", dataset="HE (generated)", run="0")
    cells = {row["algorithm"]: int(row["n_cells"]) for row in single}
    assert min(cells["GS"], cells["RP"], cells["SR"]) >= cells["nullproof"]
