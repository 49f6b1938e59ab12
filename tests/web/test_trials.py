"""A first reading of uploads in a process of its own."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from nullproof.web import trials


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A Parquet file that is as it should be."""
    path = tmp_path / "whole.parquet"
    pl.DataFrame({"a": [1, 2]}).write_parquet(path)
    return path


def test_a_whole_file_lets_its_reader_go(whole: Path) -> None:
    """Also one that is refused with an error: that is told when it is read again."""
    assert not trials.ends_its_reader(whole)
    whole.write_bytes(whole.read_bytes()[:-9])
    assert not trials.ends_its_reader(whole)


@pytest.mark.parametrize("code", ["import os; os.abort()", "import time; time.sleep(600)"])
def test_readers_that_die_or_never_end(
    monkeypatch: pytest.MonkeyPatch, whole: Path, code: str
) -> None:
    """Both files are refused, and the server goes on."""
    monkeypatch.setattr(trials, "_CODE", code)
    monkeypatch.setattr(trials, "_SECONDS", 1.0 if "sleep" in code else 120.0)
    assert trials.ends_its_reader(whole)


def test_other_files_are_not_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A text cannot end its reader."""
    monkeypatch.setattr(trials, "_CODE", "import os; os.abort()")
    text = tmp_path / "a.csv"
    text.write_text("a,b\n1,2\n")
    assert not trials.ends_its_reader(text)
