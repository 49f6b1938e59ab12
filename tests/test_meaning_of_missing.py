"""Missing means what you say: declared values, single columns, blanks that are answers, sentinels, ids.

And what the index says of its columns, and the limits of what is taken.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.command_line import Runner
from support.index_view import counts
from support.refusing import refuses

from nullproof import (
    CertifiedNB,
    CountIndex,
    NullproofError,
    NullproofWarning,
    certify,
    report,
    tolerance,
)

RNG = random.Random(36)
LABELS = ["p", "q"]


def noticed(table: Any, label: str = "y", **options: Any) -> tuple[CountIndex, list[str]]:
    """Count a table with equal weights, and return what was said about it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        index = CountIndex.from_table(table, label, weights="equal", **options)
    return index, [str(one.message) for one in said if one.category is NullproofWarning]


def labelled(n_rows: int, **columns: Any) -> pl.DataFrame:
    """A table with random labels."""
    return pl.DataFrame({**columns, "y": [RNG.choice(LABELS) for _ in range(n_rows)]})


def domain(index: CountIndex, column: str) -> set[str]:
    return {*index.columns[column].values}


@pytest.mark.parametrize("declared", ["Enum", "categorical", "ARFF"])
def test_declared_values_are_values(declared: str, tmp_path: Path) -> None:
    """A spelling of missing is a value where it is declared, unless it was named."""
    cells: list[Any] = ["none", "a", "?", None]
    table: Any = pl.DataFrame({"x": cells, "y": [*"ppqq"]})
    if declared == "Enum":
        table = table.with_columns(pl.col("x").cast(pl.Enum(["none", "a", "?"])))
    elif declared == "categorical":
        table = pd.DataFrame({"x": pd.Categorical(cells), "y": [*"ppqq"]})
    else:
        table = tmp_path / "t.arff"
        head = "@relation r\n@attribute x {none, a, '?'}\n@attribute y {p, q}\n@data\n"
        table.write_text(f"{head}none,p\na,p\n'?',q\n?,q\n")
    index, said = noticed(table)
    assert domain(index, "x") == {"none", "a", "?"}
    assert index.n_missing == 1
    assert not any("taken as missing" in one for one in said)
    named, _ = noticed(table, missing=["none"])
    assert domain(named, "x") == {"a", "?"}


def test_spellings_for_one_column() -> None:
    """A mapping names what is missing in single columns, and ``*`` in all of them."""
    table = pl.DataFrame(
        {"a": [1, 97, 2, 1], "b": [97, 1, 2, 2], "c": ["u", "x", "v", "97"], "y": [*"ppqq"]}
    )
    for missing in ({"a": [97], "*": ["x"]}, {"a": 97, "*": "x"}):
        index, _ = noticed(table, missing=missing, binning="none")
        shares = {line.name: line.missing for line in index.columns if line.use == "feature"}
        assert shares == {"a": 0.25, "b": 0, "c": 0.25}
    for way in (table.lazy(), table.to_pandas()):
        assert noticed(way, missing={"a": [97], "*": ["x"]}, binning="none")[0] == index
    with pytest.raises(NullproofError, match="missing names the column 'z'"):
        noticed(table, missing={"z": [1]})


@pytest.mark.parametrize("binning", ["mdl", "uniform", "none"])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_blank_may_be_an_answer(binning: Any, lazy: bool, tmp_path: Path) -> None:
    """With ``missing_is_value`` counts are those of the table with a value in place of each blank."""
    words = [RNG.choice(["u", "v", None]) for _ in range(60)]
    numbers = [RNG.choice([1.5, 2.5, 40.0, None]) for _ in range(60)]
    frame = labelled(60, word=words, number=numbers)
    table = frame.lazy() if lazy else frame
    index, _ = noticed(table, missing_is_value=["word", "number"], binning=binning)
    assert index.n_missing == 0
    assert "(missing)" in domain(index, "word") & domain(index, "number")
    filled = frame.with_columns(pl.col("word").fill_null("(missing)")).drop("number")
    plain, _ = noticed(filled)
    assert counts(index, "word") == counts(plain, "word")
    j = index.features.index("word")
    assert (index.low(j) == index.high(j)).all()
    found = certify(index, frame)
    assert found.certain.all() or (np.nan_to_num(tolerance(index, frame)) == 0).any()
    assert index.columns["word"].missing == words.count(None) / 60
    index.save(tmp_path / "a.index")
    loaded = CountIndex.load(tmp_path / "a.index")
    assert loaded == index
    assert certify(loaded, frame).certain.tolist() == found.certain.tolist()
    assert CountIndex.from_table(table, "y", like=index) == index


def test_the_estimator_takes_blanks_as_answers() -> None:
    """``CertifiedNB`` has the same option, in chunks too."""
    cells = [[RNG.choice(["u", "v", None])] for _ in range(40)]
    labels = [RNG.choice(LABELS) for _ in cells]
    model = CertifiedNB(missing_is_value=["x0"]).fit(cells, labels)
    assert model.index_.n_missing == 0
    chunks = CertifiedNB(missing_is_value=["x0"], weights="equal").partial_fit(
        cells[:20], labels[:20], LABELS
    )
    assert chunks.partial_fit(cells[20:], labels[20:]).index_ == model.index_


def test_blanks_that_say_much_are_offered_as_values() -> None:
    """A notice offers ``missing_is_value`` where being missing says much about the label."""
    labels = [RNG.choice(LABELS) for _ in range(400)]
    telling = [None if label == "p" and RNG.random() < 0.9 else "u" for label in labels]
    chance = [None if RNG.random() < 0.5 else RNG.choice("uv") for _ in labels]
    _, said = noticed(pl.DataFrame({"a": telling, "b": chance, "y": labels}))
    (offer,) = (one for one in said if "missing_is_value" in one)
    assert "'a'" in offer
    assert "'b'" not in offer


def test_rows_of_descriptions_are_left_out(tmp_path: Path) -> None:
    """A row of descriptions, or a repeated header, is left out with a notice; numbers are numbers again."""
    rows = [f"{k % 7},{k % 5}.5,{'pq'[k % 2]}" for k in range(60)]
    plain, odd = tmp_path / "plain.csv", tmp_path / "odd.csv"
    plain.write_text("\n".join(["a,b,y", *rows]))
    expected, _ = noticed(plain)
    odd.write_text("\n".join(["a,b,y", "age in years,weight in kg,q", *rows]))
    index, said = noticed(odd)
    assert any("left out row 1 " in one for one in said)
    assert index == expected
    odd.write_text("\n".join(["a,b,y", *rows[:30], "a,b,y", *rows[30:]]))
    index, said = noticed(odd)
    assert any("left out row 31 " in one for one in said)
    assert index == expected


def test_titles_above_the_header_are_skipped(tmp_path: Path) -> None:
    """A header that cannot be one suggests ``skip_rows``, which leaves out lines above it."""
    path = tmp_path / "t.csv"
    path.write_text("Survey of 2024,,\n,,\na,b,y\n1,u,p\n2,v,q\n")
    with pytest.raises(NullproofError, match="--skip-rows"):
        CountIndex.from_table(path, "y")
    index = CountIndex.from_table(path, "y", skip_rows=2)
    assert (index.n_rows, index.features) == (2, ("a", "b"))


def test_ids_leaks_and_misspelt_labels() -> None:
    """Ids are left out, columns that give the label away are named, another case is suggested."""
    n_rows = 300
    frame = labelled(
        n_rows,
        encounter_id=RNG.sample(range(10**6), n_rows),
        PassengerId=RNG.sample(range(1, 500), n_rows),
        income=RNG.sample(range(10**6), n_rows),
    )
    frame = frame.with_columns(outcome=pl.col("y").replace({"p": "lost", "q": "won"}))
    index, said = noticed(frame)
    assert index.features == ("income", "outcome")
    assert noticed(frame.lazy())[0] == index
    assert "'outcome' alone gives the label" in said[0]
    document = report(index, frame).document
    assert document["finding"].startswith("'outcome' alone gives the label")
    assert document["next"]["text"].endswith('leave it out: --ignore "outcome"')
    with pytest.raises(NullproofError, match="did you mean 'PassengerId'"):
        CountIndex.from_table(frame, "passengerid")


def test_the_index_describes_its_columns(run: Runner, folder: Path) -> None:
    """One line per column in the order of the table; commands name columns that play no part."""
    n_rows = 60
    columns = {
        "name": [None if k % 3 == 0 else f"n{k}" for k in range(n_rows)],
        "age": [None if k % 4 == 0 else 30 for k in range(n_rows)],
        "town": [None if k % 5 == 0 else "uv"[k % 2] for k in range(n_rows)],
        "note": ["x"] * n_rows,
    }
    frame = labelled(n_rows, **columns)
    index, _ = noticed(frame, ignore=["note"])
    lines = {line.name: line for line in index.columns}
    assert [*lines] == ["name", "age", "town", "note", "y"]
    assert lines["name"].use == "left out"
    assert lines["name"].missing == pytest.approx(1 / 3)
    assert (lines["note"].use, lines["note"].why) == ("left out", "ignored")
    assert (lines["y"].use, lines["town"].use) == ("label", "feature")
    assert not lines["age"].plays_a_part
    assert lines["town"].plays_a_part
    assert lines["town"].missing == 0.2
    assert index.columns.to_frame().height == 5
    assert json.loads(json.dumps(index.columns.document()))[2]["values"] == ["u", "v"]
    assert repr(index.columns).splitlines()[1].startswith("  name: left out")
    index.save(folder / "a.index")
    assert CountIndex.load(folder / "a.index").columns.document() == index.columns.document()
    frame.write_csv(folder / "t.csv")
    for command in (["t.csv", "--label", "y"], ["a.index", "t.csv"]):
        done = run("certify", *command)
        assert done.code == 0
        assert "play no part: 'name' (left out, 33.3 % missing), 'age' (one bin" in done.err


test_limits = refuses(
    "What is beyond the limits is rejected in one sentence.",
    CountIndex.from_codes,
    (np.zeros((1, 20_001), np.int8), ["p"], "20,001 columns"),
    (np.zeros((10_001, 1), np.int8), np.arange(10_001), "10,001 different"),
)


test_other_types_are_rejected_by_column = refuses(
    "What is none of the five kinds of values is rejected with the name of its column.",
    lambda cells: CountIndex.from_table({"x": cells, "y": LABELS}, "y"),
    (pl.Series([2**64 - 1, 1], dtype=pl.UInt64), "column 'x' .*beyond 64 bits"),
    (pl.Series([1, 1001]).cast(pl.Datetime("ns")), "column 'x' .*nanoseconds"),
    (pl.Series(["1234567890123456.7", "1"]).cast(pl.Decimal(30, 1)), "column 'x' .*15 digits"),
    ([2**70, 1], "column 'x' .*beyond 64 bits"),
    (np.array([1 + 2j, 1]), "column 'x' .*complex"),
    (np.array(["12000-01-01", "2000-01-01"], dtype="datetime64[D]"), "column 'x' .*9999"),
)


def test_what_other_types_become() -> None:
    """Decimals are floats, durations seconds, times of day texts; structured arrays are refused."""
    stamps = pl.Series([1_000, 2_000]).cast(pl.Datetime("ns"))
    table = pl.DataFrame(
        {
            "decimal": pl.Series(["0.50", "1.00"]).cast(pl.Decimal(9, 2)),
            "duration": [dt.timedelta(seconds=1.5), dt.timedelta(minutes=1)],
            "time": [dt.time(10, 30), dt.time(0)],
            "stamp": stamps,
            "y": LABELS,
        }
    )
    index, _ = noticed(table, binning="none")
    assert domain(index, "decimal") == {"0.5", "1"}
    assert domain(index, "duration") == {"1.5", "60"}
    assert domain(index, "time") == {"10:30:00", "00:00:00"}
    assert domain(index, "stamp") == {"1970-01-01 00:00:00.000001", "1970-01-01 00:00:00.000002"}
    array = np.array([(1, "p"), (2, "q")], dtype=[("x", "i4"), ("y", "U1")])
    with pytest.raises(NullproofError, match="the array has 1 dimension; give two"):
        CountIndex.from_table(array, "y")
