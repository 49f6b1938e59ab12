"""Fixtures of the command line, which tests of reports and worksheets run too."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import TEST, TRAIN, Runner

HERE = Path(__file__).parent
# Folders and files of tests that need a browser, Java, a server or other programs, or much time.
SLOW = (
    "attacks/test_joint.py",
    "counts/engines/test_counting.py",
    "counts/engines/test_ways_engines.py",
    "counts/test_ways.py",
    "docs/test_examples.py",
    "experiments",
    "radii/test_bounds.py",
    "radii/test_cells.py",
    "reporting",
    "test_real_data.py",
    "web",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what ``./check --fast`` leaves out."""
    slow = [HERE / name for name in SLOW]
    for item in items:
        if any(item.path.is_relative_to(place) for place in slow):
            item.add_marker(pytest.mark.slow)


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
