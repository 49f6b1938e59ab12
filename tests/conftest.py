"""Fixtures of the command line, which tests of reports and worksheets run too."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import TEST, TRAIN, Runner


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
