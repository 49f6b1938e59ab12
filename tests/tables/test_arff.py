"""ARFF: the format as Weka writes and OpenML serves it, and the line of every mistake."""

from __future__ import annotations

import datetime as dt
import gzip
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, certify
from nullproof.tables.formats import read_file

HEAD = """% made by hand
@RELATION 'two words'

@attribute 'body weight' REAL
@Attribute colour {red, 'light blue', "it's"}  % of the coat
@attribute note STRING
@attribute n integer
@attribute y{yes,no}
@DATA
"""


def read(folder: Path, written: str | bytes, **options: Any) -> pl.DataFrame:
    path = folder / "t.arff"
    path.write_bytes(written.encode() if isinstance(written, str) else written)
    return read_file(path, **options).frame


def refused(folder: Path, written: str, reason: str) -> None:
    with pytest.raises(NullproofError, match=reason) as caught:
        read(folder, written)
    assert "\n" not in str(caught.value)


ROWS = [
    (1.5, "red", "plain", 1, "yes"),
    (None, "light blue", "a, b", None, "no"),
    (-2000.0, "it's", 'say "it\'s"\tnow', 3, "no"),
    (7.0, None, None, 4, None),
]
DATA = """1.5,red,plain,1,yes
% between the rows

?, 'light blue' ,"a, b",?,no
  -2e3,"it's",'say "it\\'s"\\tnow',3,no
7,?,?,4,?
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_attributes_and_rows(end: str, packed: Any, tmp_path: Path) -> None:
    """Names and values with quotes, comments, blank lines and missing cells are read as declared."""
    frame = read(tmp_path, packed((HEAD + DATA).replace("\n", end).encode()))
    assert frame.columns == ["body weight", "colour", "note", "n", "y"]
    assert frame.rows() == ROWS
    assert frame.schema["colour"] == pl.Enum(["red", "light blue", "it's"])
    assert frame.schema["n"] == pl.Int64


def test_domains_are_closed_as_declared(tmp_path: Path) -> None:
    """A value that is declared but never seen may stand in a hole."""
    (tmp_path / "t.arff").write_text(
        "@relation r\n@attribute c {a,b,z}\n@attribute y {p,q}\n@data\na,p\n?,p\nb,q\n"
    )
    index = CountIndex.from_table(tmp_path / "t.arff", "y")
    assert index.schema.features[0].values == ("a", "b", "z")
    assert index.labels == ("p", "q")
    assert len(certify(index, tmp_path / "t.arff")) == 3


def test_the_same_index_as_from_csv(tmp_path: Path) -> None:
    """Random tables give the same index in both formats, quotes and spaces or not."""
    rng = random.Random(5)
    values = ["u", "v w", "x,y", "it's", "50 %"]
    for _ in range(20):
        rows = [
            (rng.choice(["1", "2.5", "-3e2", "?"]), rng.choice([*values, "?"])) for _ in range(9)
        ]
        labels = ["p", "q", *rng.choices(["p", "q"], k=7)]
        arff = ["@relation r", "@attribute a numeric", "@attribute b string", "@attribute y string"]
        arff.append("@data")
        quoted = {"v w": "v w", "x,y": '"x,y"', "it's": '"it\'s"'}
        arff += [f"{a}, {quoted.get(b, b)},{y}" for (a, b), y in zip(rows, labels, strict=True)]
        (tmp_path / "t.arff").write_text("\n".join(arff))
        table = pl.DataFrame({"a": [a for a, _ in rows], "b": [b for _, b in rows], "y": labels})
        table.write_csv(tmp_path / "t.csv")
        expected = CountIndex.from_table(tmp_path / "t.csv", "y", missing=["?"])
        assert CountIndex.from_table(tmp_path / "t.arff", "y", missing=["?"]) == expected


def test_rows_at_once_and_one_by_one_are_the_same(tmp_path: Path) -> None:
    """Plain rows are read by polars as a whole, others line by line; a comment makes the difference."""
    rng = random.Random(8)
    head = "@relation r\n@attribute a numeric\n@attribute b {u,'v w'}\n@attribute c string\n@data\n"
    for _ in range(60):
        rows = [
            ",".join(
                (
                    rng.choice(["1", " 2", "?", "-3e2", ""]),
                    rng.choice(["u", "'v w'", "?", "u "]),
                    rng.choice(["x", "", "?", "'p q'", "it's", "'a,b'"]),
                )
            )
            for _ in range(rng.choice([1, 3, 6]))
        ]
        body = "\n".join(rows) + rng.choice(["", "\n", "\r\n", "\n\n"])
        assert read(tmp_path, head + body).equals(read(tmp_path, head + "% rows\n" + body)), body


def test_dates(tmp_path: Path) -> None:
    """Dates follow the format that is declared, ISO 8601 if none is."""
    frame = read(
        tmp_path,
        "@relation r\n@attribute a date\n@attribute b date 'dd/MM/yyyy'\n"
        '@attribute c DATE "yyyy-MM-dd HH:mm:ss.SSS"\n@data\n'
        "2020-01-31T10:30:00,31/01/2020,'2020-01-31 10:30:00.250'\n?,?,?\n",
    )
    moment = dt.datetime(2020, 1, 31, 10, 30)
    later = moment + dt.timedelta(milliseconds=250)
    assert frame.rows() == [(moment, dt.date(2020, 1, 31), later), (None, None, None)]


def test_sparse_rows(tmp_path: Path) -> None:
    """What a sparse row leaves out is zero, or the first value of its attribute."""
    frame = read(
        tmp_path,
        "@relation r\n@attribute a numeric\n@attribute b {u,v}\n@attribute 'c d' numeric\n"
        "@attribute y {p,q}\n@data\n{0 1.5, 3 q}\n{}\n{ 1 'v' , 2 ? }\n2,u,3,p\n",
    )
    assert frame.rows() == [
        (1.5, "u", 0, "q"),
        (0.0, "u", 0, "p"),
        (0.0, "v", None, "p"),
        (2.0, "u", 3, "p"),
    ]


def test_tabs_and_spaces_separate_too(tmp_path: Path) -> None:
    """Weka takes them for separators where a row has no comma."""
    head = "@relation r\n@attribute a numeric\n@attribute y {p,q}\n@data\n"
    assert read(tmp_path, head + "1\tp\n2   q\n").rows() == [(1, "p"), (2, "q")]


def test_integers_are_exact(tmp_path: Path) -> None:
    """Integers that doubles mix up stay apart; numbers to keep as text are as they are written."""
    head = "@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n"
    rows = "9007199254740993,01\n9007199254740992,1\n?,1.0\n"
    frame = read(tmp_path, head + rows, as_text=["y"])
    assert frame["a"].to_list() == [2**53 + 1, 2**53, None]
    assert frame["y"].to_list() == ["01", "1", "1.0"]
    assert CountIndex.from_table(tmp_path / "t.arff", "y", binning="none").n_values.tolist() == [2]


def test_values_over_several_lines(tmp_path: Path) -> None:
    """A long list of values may be broken."""
    frame = read(tmp_path, "@relation r\n@attribute a {u,\n  v}\n@attribute b string\n@data\nv,x\n")
    assert frame.schema["a"] == pl.Enum(["u", "v"])


SHORT = "@relation r\n@attribute a numeric\n@attribute y {p,q}\n"
BAD = {
    "no data": (SHORT, "has no @data line"),
    "no rows": (SHORT + "@data\n\n% none\n", "has a header but no rows"),
    "no attributes": ("@relation r\n@data\n1,2\n", "line 2: the data begin without any @attribute"),
    "strange line": ("@relation r\nhello\n", "line 2: 'hello' is neither @relation"),
    "no type": (
        "@relation r\n@attribute a\n@data\n1\n",
        "line 2: the attribute 'a' has the type ''",
    ),
    "no name": ("@relation r\n@attribute\n@data\n1\n", "line 2: an @attribute needs a name"),
    "strange type": (
        "@relation r\n@attribute a complex\n@data\n1\n",
        "line 2: the attribute 'a' has the type 'complex'; give numeric, string, date",
    ),
    "relational": (
        "@relation r\n@attribute bag relational\n@attribute x numeric\n@end bag\n@data\n1\n",
        "line 2: the attribute 'bag' is relational",
    ),
    "open list": (SHORT + "@attribute c {u, v\n@data\n1,p,u\n", "line 4: the attribute 'c' has"),
    "quote in list": (
        SHORT + "@attribute c {'u'x, v}\n@data\n1,p,v\n",
        "line 4: the attribute 'c' has",
    ),
    "date format": (
        "@relation r\n@attribute d date 'EEE, yyyy'\n@data\n1\n",
        "line 2: the date format 'EEE, yyyy' has 'EEE'",
    ),
    "date": (
        "@relation r\n@attribute d date 'yyyy-MM-dd'\n@data\n2020-01-31\n2020-31-01\n",
        "line 5: 'd' is '2020-31-01' but",
    ),
    "twice": ("@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", "named 'a'"),
    "short row": (SHORT + "@data\n1,p\n1\n", "line 6: the row has 1 value and there are 2"),
    "long row": (SHORT + "@data\n1,p\n% x\n1,p,q\n", "line 7: the row has 3 values"),
    "long quoted row": (SHORT + "@data\n1,'p',q\n", "line 5: the row has 3 values"),
    "weight": (SHORT + "@data\n1,p,{5}\n", "line 5: the row has a weight"),
    "number": (SHORT + "@data\n1,p\n1x,p\n", "line 6: 'a' is '1x' but it is declared as numbers"),
    "nominal": (SHORT + "@data\n1,r\n", "line 5: 'y' is 'r' but it is declared with 'p', 'q'"),
    "quote": (SHORT + "@data\n1,'p\n", "line 5: a quote is never closed"),
    "quote inside": (SHORT + "@data\n1,'p'q\n", "line 5: a quote is never closed or stands inside"),
    "sparse end": (SHORT + "@data\n{0 1\n", "line 5: the sparse row has no }"),
    "sparse twice": (
        SHORT + "@data\n{0 1, 0 2}\n",
        "line 5: the sparse row has an attribute twice",
    ),
    "sparse place": (
        SHORT + "@data\n{2 1}\n",
        "line 5: the sparse row has a value for attribute 2",
    ),
    "sparse entry": (SHORT + "@data\n{p}\n", "line 5: the sparse row is not written like"),
    "sparse string": (
        "@relation r\n@attribute s string\n@attribute a numeric\n@data\n{1 2}\n",
        "line 5: the sparse row leaves out 's', which has no zero",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_told_by_their_line(case: str, tmp_path: Path) -> None:
    """Every mistake is one sentence with the line that is to be mended."""
    refused(tmp_path, *BAD[case])
