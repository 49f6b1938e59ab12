"""Table options: the same for everyone, checked once, never ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, poison, witness
from nullproof.tables.options import TableOptions, stay_text
from nullproof.tables.readers import open_table

CODES = ["01"] * 6 + ["02"] * 3 + ["01"] + ["02"] * 5
LABELS = ["yes"] * 9 + ["no"] * 6


@pytest.fixture
def counted(tmp_path: Path) -> tuple[CountIndex, Path]:
    """A file of codes with leading zeros, counted like a frame where they are texts."""
    frame = pl.DataFrame({"code": CODES, "y": LABELS})
    path = tmp_path / "t.csv"
    frame.write_csv(path)
    return CountIndex.from_table(path, "y", like=CountIndex.from_table(frame, "y")), path


def test_a_file_counted_like_an_index_of_texts_is_found_again(
    counted: tuple[CountIndex, Path],
) -> None:
    """What is counted as text is read as text again: an attack finds "01" in the file."""
    index, path = counted
    attack = poison(index, [("01",), ("02",)], alpha=1, steps=20)
    cells = attack.cells(path)
    assert len(cells) == attack.n_cells > 0
    poisoned = attack.apply(path)
    assert CountIndex.from_table(poisoned, "y", like=index) == attack.index_after


def test_worlds_fill_a_file_with_its_texts(tmp_path: Path) -> None:
    """A world completes the holes of a file of codes, and keeps their leading zeros."""
    path = tmp_path / "holes.csv"
    path.write_text("code,y\n01,yes\n02,no\n,yes\n,no\n")
    frame = pl.DataFrame({"code": ["01", "02", None, None], "y": ["yes", "no", "yes", "no"]})
    index = CountIndex.from_table(path, "y", like=CountIndex.from_table(frame, "y"))
    for world in witness(index, ("01",), alpha=1):
        assert {*world.complete(path)["code"]} <= {"01", "02"}


def test_which_columns_stay_text() -> None:
    """The label does, and of a schema its categories; its numbers do not."""
    frame = pl.DataFrame({"code": ["01", "02"], "age": [1, 2], "y": ["a", "b"]})
    schema = CountIndex.from_table(frame, "y").schema
    assert stay_text("y") == ("y",)
    assert stay_text("y", schema) == ("y", "code")
    assert stay_text(None, schema) == ("code",)


def test_options_of_an_opened_table_are_refused() -> None:
    """Spellings of missing come too late for a table that is opened; they are not ignored."""
    source: dict[str, list[Any]] = {"a": ["?", "u", "v"], "y": ["p", "p", "q"]}
    opened = open_table(source, missing="?")
    with pytest.raises(NullproofError, match="the table is opened already"):
        CountIndex.from_table(opened, "y", missing=("?",))
    index = CountIndex.from_table(opened, "y")
    assert index == CountIndex.from_table(source, "y", missing=("?",))
    assert index.schema.missing == ("?",)


def test_one_text_is_one_option() -> None:
    """A single spelling or column need not be in a list, and spellings are trimmed."""
    assert TableOptions(missing=" ? ", ignore="a") == TableOptions(missing=["?"], ignore=["a"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"bins": 0, "binning": "uniform"}, "bins is 0; give a whole number"),
        ({"bins": True}, "bins is True"),
        ({"binning": "equal"}, "give 'mdl', 'uniform', 'quantile' or 'none'"),
        ({"binning": {"a": "mdl", "*": "x"}}, "binning is 'x' for a column; give"),
        ({"binning": ["mdl"]}, r"binning is \['mdl'\]; give"),
        ({"domains": {"a": "xyz"}}, "give a list of values"),
    ],
)
def test_bad_options(options: dict[str, Any], reason: str) -> None:
    """Options are checked where they are made, with or without a table."""
    with pytest.raises(NullproofError, match=reason):
        TableOptions(**options)
