"""Fixtures of the command line, the page and the browser, and which tests are slow."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import TEST, TRAIN, Runner

# Folders, files and tests that need a browser, Java, a server or other programs, or much time.
SLOW = (
    "attacks/test_joint.py",
    "attacks/test_poisoning.py::test_any_smoothing",
    "cleaning/test_cleaner.py::test_curves",
    "cli/test_files.py::test_broken_files",
    "counts/engines/test_counting.py",
    "counts/engines/test_dying.py",
    "counts/engines/test_ways_engines.py",
    "counts/test_ways.py",
    "estimator/test_estimator.py::test_assumptions_are",
    "experiments/",
    "radii/test_bounds.py",
    "radii/test_cells.py",
    "radii/test_own_missing.py::test_counts_too_large",
    "tables/test_cuts.py::test_noise",
    "tables/test_writings.py::test_random_files",
    "test_fuzz.py::test_broken_inputs",
    "test_oracle.py",
    "test_oracle_of_bias.py",
    "test_prediction.py::test_categorical_nb",
    "test_real_data.py",
)


# Tests by these come again and again with other random tables.
PARTS = ("block", "chunk", "seed")
# Of these, which have thousands of tables, the first part runs all lines that the others run.
TRACED_ONCE = (
    "attacks/test_reach.py::test_random_tables",
    "radii/test_changed_cells.py::test_random_tables",
    "radii/test_reach.py::test_random_tables",
    "test_bias.py::test_random_tables",
    "test_decision.py::test_random_tables",
    "test_own_missing.py::test_random_tables",
    "test_tolerance.py::test_random_tables",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``./check --fast`` leaves out, and what coverage is not measured of."""
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        if place.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        made_by = getattr(item, "callspec", None)
        if made_by is not None and any(made_by.params.get(part) for part in PARTS):
            item.add_marker(pytest.mark.slow)
            if place.startswith(TRACED_ONCE):
                item.add_marker(pytest.mark.no_cover)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a training and a test table, and work in it."""
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "test.csv").write_text(TEST)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    """Run the command line in the folder of the tables."""
    return Runner(monkeypatch, capsys)
