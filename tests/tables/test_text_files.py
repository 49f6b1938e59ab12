"""Text files are read without looking for spellings of missing first: that must not show."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nullproof.errors import NullproofError
from nullproof.tables import text_files
from nullproof.tables.contents import Content

NULLS = ("", "NA", "NaN", "nan", "?", "null", "-")
SORTS: tuple[tuple[str, ...], ...] = (
    ("1", "2", "30"),
    ("1.5", "2.0", "-3e5"),
    ("a", "b", '"c"'),
    ("true", "false"),
    ("1", "9007199254740993", "2.5"),
    ("inf", "1", "2.5"),
)


@pytest.mark.parametrize("n_rows", [3, 40, 1500])
@pytest.mark.parametrize("seed", range(12))
def test_reading_hopefully_gives_what_reading_patiently_gives(
    n_rows: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(_random_table(random.Random(f"{n_rows} {seed}"), n_rows), "utf-8")
    found = _outcome(path)
    monkeypatch.setattr(text_files, "_begins_with_spellings", lambda *_: False)
    hoped = _outcome(path)
    monkeypatch.setattr(text_files, "_read_hopefully", lambda *_: None)
    patient = _outcome(path)
    for other in (found, hoped):
        assert type(other) is type(patient)
        if isinstance(patient, pl.DataFrame):
            assert other.schema == patient.schema
            assert other.equals(patient)
        else:
            assert str(other) == str(patient)


def test_a_long_file_without_spellings_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1.5,a\n,b\n" * 2_000, "utf-8")
    calls: list[Any] = []
    read: Callable[..., pl.DataFrame] = pl.read_csv

    def noted(*arguments: Any, **options: Any) -> pl.DataFrame:
        calls.append(options["null_values"])
        return read(*arguments, **options)

    monkeypatch.setattr(pl, "read_csv", noted)
    assert isinstance(_outcome(path), pl.DataFrame)
    assert calls == [[""]]


def _random_table(rng: random.Random, n_rows: int) -> str:
    """Columns of one sort each; spellings of missing in none, at the top, at the end, or anywhere."""
    columns = []
    for _ in range(rng.randint(1, 5)):
        cells = [rng.choice(rng.choice(SORTS)) for _ in range(n_rows)]
        if rng.random() < 0.8:
            sort = rng.choice(SORTS)
            cells = [rng.choice(sort) for _ in range(n_rows)]
        for _ in range(rng.choice([0, 0, 1, 3])):
            place = rng.choice([0, n_rows - 1, rng.randrange(n_rows)])
            cells[place] = rng.choice([*NULLS, '"NA"', " NA"])
        columns.append(cells)
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    return "\n".join([",".join(f"c{j}" for j in range(len(columns))), *rows]) + "\n"


def _outcome(path: Path) -> Any:
    """The table, or what is wrong with it."""
    try:
        return text_files.read_text(Content(path), nulls=NULLS, as_text=["c0"])[0]
    except (NullproofError, pl.exceptions.PolarsError) as problem:
        return problem
