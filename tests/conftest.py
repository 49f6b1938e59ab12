"""Fixtures of the command line, the page and the browser, and which tests are slow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.browser import chromium
from support.command_line import TEST, TRAIN, Runner
from support.web_server import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Folders, files and tests that need a browser, Java, a server or other programs, or much time.
SLOW = (
    "test_command_line.py::test_an_attacked_table_is_told",
    "test_command_line.py::test_json_keeps_to_its_schema",
    "test_command_line.py::test_the_next_command",
    "test_counts.py::test_all_cells",
    "test_counts.py::test_all_texts",
    "test_counts.py::test_columns_without",
    "test_counts.py::test_cuts",
    "test_counts.py::test_huge",
    "test_counts.py::test_points_and",
    "test_docs.py::test_commands_print_what_the_page_shows",
    "test_engines.py",
    "test_estimator.py::test_assumptions_are",
    "test_estimator.py::test_checks_of_scikit_learn",
    "test_estimator.py::test_cross_validation",
    "test_fuzz.py::test_broken_inputs",
    "test_odds.py::test_drawn_worlds_of_large",
    "test_odds.py::test_very_many_missing_cells",
    "test_oracle.py",
    "test_paper.py",
    "test_poison.py::test_effort_pays",
    "test_poison.py::test_laws_on_hundreds_of_rows",
    "test_poison.py::test_the_bounds_hold_where",
    "test_poison.py::test_vertex_cover[",
    "test_radius.py::test_hundreds_of_rows",
    "test_radius_rows.py::test_hundreds_of_rows",
    "test_real_data.py",
    "test_report.py::test_what_is_right",
    "test_worksheet.py::test_promises_are_kept",
)


# Tests by these come again and again with other random tables.
PARTS = ("block", "chunk", "seed")
# Of these, which have thousands of tables, the first part runs all lines that the others run.
TRACED_ONCE = ("test_bias.py::test_random_tables", "test_tolerance.py::test_random_tables")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``./check --fast`` leaves out, and what coverage is not measured of."""
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        if place.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if place.startswith("README.md"):
            # A reader sees notices; the page shows answers.
            item.add_marker(pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"))
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium once for a file: while it runs no other event loop can."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the page from a thread of this process, with small limits."""
    limits = {"max_upload": 1 << 20, "max_rows": 5000, "max_tables": 500, "max_analyses": 500}
    with served(tmp_path_factory.mktemp("web"), **limits) as started:
        yield started
