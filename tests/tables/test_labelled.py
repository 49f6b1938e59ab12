"""Rows without a label: refused with their number, or left out, and then nothing of them counts."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning, poison, witness
from nullproof.cleaning import Cleaner
from nullproof.odds import draw
from nullproof.tables.bins import Binning

ROWS: list[tuple[Any, ...]] = [
    ("31", "Ulm", "no"),
    ("99", "Rome", None),
    (None, "Bonn", "no"),
    ("50", None, "yes"),
    (None, None, None),
    ("64", "Bonn", "yes"),
    ("33", "Ulm", "no"),
    ("old", "Bonn", None),
    ("61", "Ulm", "yes"),
]
NAMES = ["age", "town", "churn"]
KEPT = [row for row in ROWS if row[-1] is not None]
PLACES = [i for i, row in enumerate(ROWS) if row[-1] is not None]
TOLD = r"left out 3 rows without a label in column 'churn'; 6 are left"


def written(folder: Path, rows: list[tuple[Any, ...]], name: str = "t.csv") -> Path:
    lines = [NAMES, *([cell or "" for cell in row] for row in rows)]
    (folder / name).write_text("\n".join(map(",".join, lines)) + "\n")
    return folder / name


def test_they_are_refused_with_their_number_and_the_way_out(tmp_path: Path) -> None:
    """The message counts the holes and names both options, in memory and in DuckDB."""
    path = written(tmp_path, ROWS)
    reason = r'has 3 holes.*unlabelled="drop", --drop-unlabelled'
    for limit in (None, "1GB"):
        with pytest.raises(NullproofError, match=reason):
            CountIndex.from_table(path, "churn", memory_limit=limit)
    with pytest.raises(NullproofError, match="unlabelled is 'keep'; give 'refuse', or 'drop'"):
        CountIndex.from_table(path, "churn", unlabelled="keep")  # type: ignore[arg-type]


def test_what_they_hold_has_no_say(tmp_path: Path) -> None:
    """The index is that of the table without them: kinds, domains and counts, whatever counts it."""
    path, kept = written(tmp_path, ROWS), written(tmp_path, KEPT, "kept.csv")
    ways: tuple[Binning, ...] = ("mdl", "uniform", "none")
    for binning in ways:
        expected = CountIndex.from_table(kept, "churn", binning=binning)
        for limit in (None, "1GB"):
            with pytest.warns(NullproofWarning, match=TOLD):
                found = CountIndex.from_table(
                    path, "churn", unlabelled="drop", binning=binning, memory_limit=limit
                )
            assert found == expected
        with pytest.warns(NullproofWarning, match=TOLD):
            again = CountIndex.from_table(path, "churn", unlabelled="drop", like=expected)
        assert again == expected


def ways(frame: pl.DataFrame) -> dict[str, Any]:
    return {
        "polars": frame,
        "pandas": frame.to_pandas(),
        "arrow": frame.to_arrow(),
        "lazy": frame.lazy(),
        "duckdb": duckdb.from_arrow(frame.to_arrow()),
        "mapping": frame.to_dict(as_series=False),
    }


LABELS = {
    "text": (["a", None, "b", " ? ", "a"], ("?",)),
    "integers": ([1, None, 2, -9, 1], ("-9",)),
    "doubles": ([1.5, float("nan"), 2.0, None, 1.5], ()),
    "booleans": ([True, None, False, None, True], ()),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("way", ["polars", "pandas", "arrow", "lazy", "duckdb", "mapping"])
def test_every_way_and_kind_of_label(kind: str, way: str) -> None:
    """Null, NaN and named spellings are no labels, in every library."""
    labels, missing = LABELS[kind]
    frame = pl.DataFrame({"x": ["u", "v", None, "w", "v"], "y": labels})
    expected = CountIndex.from_table(frame[[0, 2, 4]], "y", missing=missing)
    table = ways(frame)[way]
    with pytest.warns(NullproofWarning, match="left out 2 rows without a label"):
        found = CountIndex.from_table(table, "y", missing=missing, unlabelled="drop")
    assert found == expected


@pytest.mark.parametrize("way", ["polars", "pandas", "arrow", "lazy", "duckdb", "mapping", "array"])
def test_doubtful_spellings_are_judged_by_the_rows_that_count(way: str) -> None:
    """A hole in a row without a label does not make ``none`` a value of the others, in any library."""
    frame = pl.DataFrame({"x0": ["u", "v", "none", None], "x1": ["a", "b", "a", None]})
    table = frame.to_numpy() if way == "array" else ways(frame)[way]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        found = CountIndex.from_table(table, "x1", unlabelled="drop")
        expected = CountIndex.from_table(frame[:3], "x1")
    assert found.schema.features[0].values == ("u", "v")
    assert found == expected


def test_nothing_is_said_where_every_row_has_a_label(tmp_path: Path) -> None:
    """Then the option changes nothing; where no row has one, there is nothing to count."""
    path = written(tmp_path, KEPT)
    expected = CountIndex.from_table(path, "churn")
    assert CountIndex.from_table(path, "churn", unlabelled="drop") == expected
    empty = pl.DataFrame({"a": [1, 2], "y": [None, None]}, schema={"a": pl.Int64, "y": pl.String})
    for table in (empty, empty.lazy()):
        with pytest.raises(NullproofError, match="none of the 2 rows has a label in column 'y'"):
            CountIndex.from_table(table, "y", unlabelled="drop")


# The table again ----------------------------------------------------------------------------------


@pytest.fixture
def counted(tmp_path: Path) -> tuple[CountIndex, Path]:
    path = written(tmp_path, [("77", *row[1:]) if row[0] == "old" else row for row in ROWS])
    with pytest.warns(NullproofWarning, match=TOLD):
        return CountIndex.from_table(
            path, "churn", binning="uniform", bins=2, unlabelled="drop"
        ), path


def test_attacks_name_rows_as_the_file_has_them(counted: tuple[CountIndex, Path]) -> None:
    """The cells are those of the table without the rows, at their places in the file."""
    index, path = counted
    kept = written(path.parent, KEPT, "kept.csv")
    attack = poison(index, [(33, "Ulm")], alpha=1)
    cells = attack.cells(path)
    assert cells == [(PLACES[row], column) for row, column in attack.cells(kept)]
    assert attack.cells(written(path.parent, ROWS, "old.csv")) == cells
    assert len(cells) == attack.n_cells > 0
    poisoned = attack.apply(path)
    assert poisoned[PLACES].rows() == attack.apply(kept).rows()
    assert poisoned["churn"].null_count() == 3
    with pytest.warns(NullproofWarning, match=TOLD):
        after = CountIndex.from_table(poisoned, "churn", like=index, unlabelled="drop")
    assert after == attack.index_after


def test_worlds_fill_the_rows_that_count(counted: tuple[CountIndex, Path]) -> None:
    """A witness fills the holes of rows with a label and leaves the others as they are."""
    index, path = counted
    kept = written(path.parent, KEPT, "kept.csv")
    for world in witness(index, (None, "Ulm"), own_missing="any"):
        whole = world.complete(path)
        assert [tuple(map(str, row)) for row in whole[PLACES].rows()] == [
            tuple(map(str, row)) for row in world.complete(kept).rows()
        ]
        assert whole["churn"].null_count() == 3
        assert whole["age"].null_count() == 1
    drawn = draw(index, path, seed=3)
    assert drawn[PLACES].select("age", "town").null_count().row(0) == (0, 0)
    assert drawn["age"].null_count() == 1


def test_worksheets_know_only_rows_that_count(counted: tuple[CountIndex, Path]) -> None:
    """An answer for a row with a label is counted at its place; for another it is refused."""
    index, path = counted
    cleaner = Cleaner(index, [(31, "Ulm")], path, alpha=1)
    with pytest.raises(NullproofError, match="row 4, which has no label and was left out"):
        cleaner.answer({(4, "age"): "40"})
    cleaner.answer({(2, "age"): "40", (3, "town"): "Ulm"})
    assert cleaner.index.n_missing == 0
    filled = cleaner.complete()
    assert (filled["age"][2], filled["town"][3]) == (40, "Ulm")


def test_random_tables_with_candidates() -> None:
    """Cells with several candidates keep their places too."""
    rng = random.Random(3)
    for _ in range(30):
        cells = [rng.choice([["u"], ["u", "v"], ["v", "w"], None]) for _ in range(8)]
        labels = ["p", "q", *rng.choices(["p", "q", None], k=6)]
        frame = pl.DataFrame({"x": cells, "z": ["s", "t"] * 4, "y": labels})
        rows = [i for i, label in enumerate(labels) if label is not None]
        if len(rows) == 8:
            continue
        expected = CountIndex.from_table(frame[rows], "y")
        with pytest.warns(NullproofWarning, match="left out"):
            index = CountIndex.from_table(frame, "y", unlabelled="drop")
        assert index == expected
        there, here = (
            Cleaner(index, [("u", "s")], table).open_cells for table in (frame[rows], frame)
        )
        for j in range(2):
            assert np.array_equal(np.array(rows)[there.open_rows(j)], here.open_rows(j))


def test_a_row_in_a_message_is_one_of_the_file(counted: tuple[CountIndex, Path]) -> None:
    """A value outside the domain is named by its place in the file, dropped rows or not."""
    index, path = counted
    rows = [(*row[:1], "Rome", *row[2:]) if i == 6 else row for i, row in enumerate(ROWS)]
    with (
        pytest.warns(NullproofWarning, match=TOLD),
        pytest.raises(NullproofError, match="column 'town' holds a value in row 6 that is not"),
    ):
        CountIndex.from_table(
            written(path.parent, rows, "n.csv"), "churn", like=index, unlabelled="drop"
        )


def test_pandas_keeps_its_type(tmp_path: Path) -> None:
    """The poisoned table is of the type that was given."""
    frame = pd.DataFrame(ROWS, columns=NAMES).replace({"old": "9"})
    frame["age"] = frame["age"].astype(float)
    with pytest.warns(NullproofWarning, match=TOLD):
        index = CountIndex.from_table(frame, "churn", unlabelled="drop")
    attack = poison(index, [(33, "Ulm")], alpha=1)
    assert isinstance(attack.apply(frame), pd.DataFrame)
