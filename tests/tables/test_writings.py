"""Numbers and dates as people write them: read where a whole column leaves no doubt, else told."""

from __future__ import annotations

import datetime as dt
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning, certify
from nullproof.tables.values import as_number, parsed_date
from nullproof.tables.writings import Writing, judged, writing

NUMBERS: dict[str, tuple[list[str], list[float]]] = {
    "decimal comma": (["3,14", "-2,5", "7", "1.234,5"], [3.14, -2.5, 7, 1234.5]),
    "decimal comma with €": (["3,50 €", "€ 1.200", "-0,5€"], [3.5, 1200, -0.5]),
    "decimal comma with %": (["12,5 %", "3%"], [12.5, 3]),
    "decimal point": (["1,234,567", "1,000.5", "3"], [1234567, 1000.5, 3]),
    "decimal point with $": (["$1,200", "$ 5", "-$0.99"], [1200, 5, -0.99]),
    "decimal point with %": (["12 %", "3 %"], [12, 3]),
}
SPACES = (["1 234", "5", "1\u00a0234\u202f567"], [1234, 5, 1234567])


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_without_doubt(name: str) -> None:
    """Each text becomes the number that a person means, by the rules that every text has."""
    texts, numbers = NUMBERS[name]
    found = judged(pl.Series(texts), semicolons=name == "decimal comma")
    assert found == writing(name)
    assert [as_number(text) for text in plain(found, texts)] == numbers


def test_spaces_between_thousands() -> None:
    """Where a space parts thousands, it does not matter which the decimal mark would be."""
    found = judged(pl.Series(SPACES[0]), semicolons=False)
    assert isinstance(found, Writing)
    assert [as_number(text) for text in plain(found, SPACES[0])] == SPACES[1]


def plain(found: Writing | str | None, texts: list[str]) -> list[str]:
    assert isinstance(found, Writing)
    made: list[str] = pl.DataFrame({"x": texts}).select(found.plain(pl.col("x")))["x"].to_list()
    return made


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        (["1,234", "5"], "two readings"),
        (["3,14", "2,7"], "two readings"),
        (["1,234 %"], "two readings"),
        (["$5", "5"], "several ways"),
        (["$5", "€5"], "several ways"),
        (["1,5", "2.5"], "several ways"),
        (["03/04/2024", "1/2/2024"], "day or month"),
        (["03/04/2024", "13.04.2024"], "day or month"),
        (["13/04/2024", "04/13/2024"], "day or month"),
        (["31/02/2024"], None),
        (["2024/31/01"], None),
        (["red", "3,14"], None),
        (["1", "2"], None),
        (["9007199254740993", "1.5"], None),
        (["1.2.3"], None),
        (["192.168.0.1"], None),
        ([], None),
    ],
)
def test_columns_in_doubt(texts: list[str], doubt: str | None) -> None:
    """What can be read in two ways is not guessed at, and what is no number is left alone."""
    assert judged(pl.Series(texts, dtype=pl.String), semicolons=False) == doubt


def test_random_numbers_come_back() -> None:
    """Random numbers in any writing are read as those numbers, or are in doubt; never as others."""
    rng = random.Random(17)
    n_found = 0
    for _ in range(400):
        comma = rng.random() < 0.5
        unit = rng.choice(["", "$", "€", "%"])
        digits = rng.choice([0, 1, 2, 3])
        numbers = [
            round(rng.uniform(-9999999, 9999999), digits) for _ in range(rng.choice([1, 3, 9]))
        ]
        texts = [written(x, digits, comma, rng.choice(["", ",", " "]), unit) for x in numbers]
        found = judged(pl.Series(texts), semicolons=comma)
        if isinstance(found, Writing):
            n_found += 1
            made = [as_number(text) for text in plain(found, texts)]
            assert made == [pytest.approx(x) for x in numbers], (texts, found.name)
    assert n_found > 200


def written(x: float, digits: int, comma: bool, group: str, unit: str) -> str:
    number = f"{abs(x):,.{digits}f}"
    if not group:
        number = number.replace(",", "")
    elif group == " ":
        number = number.replace(",", " ")
    if comma:
        number = number.translate(str.maketrans(",.", ".,"))
    sign = "-" if x < 0 else ""
    return f"{sign}{unit}{number}" if unit in ("$", "€") else f"{sign}{number} {unit}".strip()


@pytest.mark.parametrize(
    ("texts", "name", "first"),
    [
        (["31/01/2024", "3/4/2024"], "day first", dt.date(2024, 1, 31)),
        (["01-31-2024 10:30", "3-4-2024 00:00"], "month first", dt.datetime(2024, 1, 31, 10, 30)),
        (["2024/01/31", "2024/2/1"], "year first", dt.date(2024, 1, 31)),
        (["03.04.2024", "5.6.2024"], "day first", dt.date(2024, 4, 3)),
    ],
)
def test_dates_without_doubt(texts: list[str], name: str, first: dt.date) -> None:
    """A day after the twelfth tells the order for the whole column; points part day first."""
    found = judged(pl.Series(texts), semicolons=False)
    assert found == writing(name)
    made = [parsed_date(text) for text in plain(found, texts)]
    assert None not in made
    assert made[0] == int(np.datetime64(first, "us").astype(np.int64))


# Files --------------------------------------------------------------------------------------------

TRAIN = (
    "size;price;when;share;code;y\n3,14;$1,200;31/01/2024;12 %;1,5;a\n2,7;$5;03/04/2024;7 %;x;b\n"
    ";NA;;;;a\n-1,0;$1,200.50;15/02/2024;50 %;1,5;b\n"
)
PLAIN = (
    "size;price;when;share;code;y\n3.14;1200;2024-01-31;12;1,5;a\n2.7;5;2024-04-03;7;x;b\n"
    ";NA;;;;a\n-1;1200.5;2024-02-15;50;1,5;b\n"
)


def counted(path: Path, **options: Any) -> tuple[CountIndex, list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        index = CountIndex.from_table(path, "y", **options)
    return index, [str(notice.message) for notice in told]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, content in (("train.csv", TRAIN), ("plain.csv", PLAIN)):
        (tmp_path / name).write_text(content)
    return tmp_path / "train.csv", tmp_path / "plain.csv"


@pytest.mark.parametrize("binning", ["mdl", "uniform", "none"])
@pytest.mark.parametrize("limit", [None, "1GB"])
def test_the_same_index_as_from_plain_texts(
    files: tuple[Path, Path], binning: str, limit: str | None
) -> None:
    """In memory and in DuckDB, a table counts as the same table written plainly, and it is told."""
    index, told = counted(files[0], binning=binning, memory_limit=limit)
    expected, silent = counted(files[1], binning=binning)
    assert index == expected
    assert dict(index.schema.writings) == {
        "size": "decimal comma",
        "price": "decimal point with $",
        "when": "day first",
        "share": "decimal point with %",
    }
    assert [notice for notice in told if notice.startswith("read as")] == [
        "read as numbers (decimal comma): 'size' ('-1,0')",
        "read as numbers (decimal point with $): 'price' ('$1,200')",
        "read as dates (day first): 'when' ('03/04/2024')",
        "read as numbers (decimal point with %): 'share' ('12 %')",
    ]
    assert not [notice for notice in silent if "read as" in notice]


def test_random_files_by_both_readers(tmp_path: Path) -> None:
    """Memory and DuckDB agree on every file, in doubt or not, and on further rows read like it."""
    rng = random.Random(23)
    sorts = [
        ["3,14", "2,7", "10", "0,5"],
        ["1,234", "2,345,678", "7"],
        ["$1,200", "$5", " $7.50"],
        ["12 %", "7,5 %", "3%"],
        ["1 234", "12 345", "6"],
        ["31/01/2024", "03/04/2024", "1/2/2024 10:30"],
        ["01.02.2024", "31.12.2023"],
        ["2024/01/31", "2023/2/1"],
        ["u", "v", "1,5"],
    ]
    for _ in range(12):
        separator = rng.choice(";\t,")
        columns = [rng.choice(sorts) for _ in range(3)]
        rows = [[rng.choice([*texts, "", "NA"]) for texts in columns] for _ in range(6)]
        lines = [["a", "b", "c", "y"], *([*row, rng.choice("pq")] for row in rows)]
        lines += [["", "", "", "p"], ["", "", "", "q"]]
        quoted = [[f'"{cell}"' if "," in cell else cell for cell in line] for line in lines]
        (tmp_path / "t.csv").write_text("\n".join(map(separator.join, quoted)) + "\n")
        try:
            here, told = counted(tmp_path / "t.csv", binning="uniform", bins=2)
        except NullproofError:
            continue  # Nothing is known in any column.
        there, also_told = counted(
            tmp_path / "t.csv", binning="uniform", bins=2, memory_limit="1GB"
        )
        assert there == here, lines
        assert there.schema.writings == here.schema.writings
        assert also_told == told
        again, _ = counted(tmp_path / "t.csv", like=here, memory_limit="1GB")
        assert again == here


@pytest.mark.parametrize("saved", [False, True])
def test_points_are_read_as_the_training_table_was(
    files: tuple[Path, Path], saved: bool, tmp_path: Path
) -> None:
    """A point with a doubtful date has the day that the training table gives it, also when saved."""
    index, _ = counted(files[0])
    if saved:
        index.save(tmp_path / "i.index")
        index = CountIndex.load(tmp_path / "i.index")
    (tmp_path / "test.csv").write_text('size,price,when,share,code\n"2,7",$5,03/04/2024,7 %,x\n')
    (tmp_path / "same.csv").write_text("size,price,when,share,code\n2.7,5,2024-04-03,7,x\n")
    found, same = (index.encode(tmp_path / name).codes for name in ("test.csv", "same.csv"))
    assert np.array_equal(found, same)
    assert len(certify(index, tmp_path / "test.csv")) == 1
    (tmp_path / "test.csv").write_text("size,price,when,share,code\n2.7,€5,2024-04-03,7 %,x\n")
    with pytest.raises(NullproofError, match="column 'price' holds text such as '€5'"):
        index.encode(tmp_path / "test.csv")


@pytest.mark.parametrize("limit", [None, "1GB"])
def test_further_files_like_the_first(files: tuple[Path, Path], limit: str | None) -> None:
    """A file counted like an index is read as that was, even where it alone would be in doubt."""
    index, _ = counted(files[0])
    lines = TRAIN.splitlines()
    (files[0].parent / "more.csv").write_text(f"{lines[0]}\n{lines[2]}\n")
    (files[0].parent / "rest.csv").write_text("\n".join([lines[0], lines[1], *lines[3:]]))
    more, told = counted(files[0].parent / "more.csv", like=index, memory_limit=limit)
    rest, _ = counted(files[0].parent / "rest.csv", like=index, memory_limit=limit)
    assert more + rest == index
    assert told == []


@pytest.mark.parametrize("limit", [None, "1GB"])
def test_doubts_are_told_by_column(tmp_path: Path, limit: str | None) -> None:
    """A column in doubt stays text; the notice names it, shows a text and says what to write."""
    (tmp_path / "t.csv").write_text(
        'a,b,c,d,y\n"1,234",$5,03/04/2024,u,p\n"2,345",7,05/06/2024,v,q\n'
    )
    index, told = counted(tmp_path / "t.csv", memory_limit=limit)
    assert [feature.kind for feature in index.schema.features] == ["category"] * 4
    assert [notice.partition(";")[0] for notice in told] == [
        "left as text: 'a' ('1,234')",
        "left as text: 'b' ('$5')",
        "left as text: 'c' ('03/04/2024')",
    ]
    assert "write dates like 2024-12-31" in told[2]


def test_frames_and_labels_stay_as_they_are(files: tuple[Path, Path]) -> None:
    """Only columns of files are read so; a label is a text, and so are the texts of a data frame."""
    frame = pl.read_csv(files[0], separator=";", infer_schema=False)
    index = CountIndex.from_table(frame, "y", binning="none", missing=["NA"])
    assert index.schema.features[0].values == ("-1,0", "2,7", "3,14")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        index = CountIndex.from_table(files[0], "share", unlabelled="drop")
    assert index.labels == ("12 %", "50 %", "7 %")
