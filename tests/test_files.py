"""Files of every kind: CSV, TSV, Excel, ARFF, Parquet, packed, in any encoding, broken or whole."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import os
import random
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backports import zstd
from support.command_line import TRAIN, Runner
from support.index_view import counts, kind, notices, quietly, read, saved_and_loaded, values
from support.workbooks import with_part, workbook

from nullproof import CountIndex, NullproofError, NullproofWarning, certify, inject_missing

FRAME = pl.DataFrame(
    {
        "age": [31, None, 50, 64],
        "town": ["Ulm, south", 'the "old" one', None, "two\nlines"],
        "y": ["a", "b", "a", "b"],
    }
)
CSV = b'age,town,y\n31,"Ulm, south",a\n,"the ""old"" one",b\n50,,a\n64,"two\nlines",b\n'


def put(folder: Path, written: str | bytes | bytearray, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(written.encode() if isinstance(written, str) else written)
    return path


def frame_of(path: Path) -> pl.DataFrame:
    """The table of a file as it is read: no cell of it is blanked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        found: pl.DataFrame = inject_missing(path, 0)
    return found


def is_table(path: Path, columns: dict[str, list[Any]], label: str = "y", **options: Any) -> None:
    """Whether a file counts as these columns do."""
    keep = [name for name in columns if name != label]
    how: dict[str, Any] = {"binning": "none", "keep": keep}
    expected = quietly(pl.DataFrame(columns, strict=False), label, **how)
    found = quietly(path, label, **how, **options)
    assert found == expected
    assert found.features == expected.features


def refused(path: Path, reason: str, label: str = "y", **options: Any) -> None:
    """Whether a file is refused in one sentence with this reason."""
    with pytest.raises(NullproofError, match=reason) as caught:
        quietly(path, label, **options)
    said = str(caught.value)
    assert "\n" not in said
    assert "polars" not in said
    assert "infer_schema" not in said


# Formats ------------------------------------------------------------------------------------------


def binary(write: Callable[[io.BytesIO], Any]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


# Made when they are needed: libraries of tables start threads, and tests may be run in forks.
FORMS: dict[str, Callable[[], bytes]] = {
    "plain.csv": lambda: CSV,
    "tabs.tsv": lambda: FRAME.write_csv(separator="\t").encode(),
    "semicolons.csv": lambda: FRAME.write_csv(separator=";").encode(),
    "bars.txt": lambda: FRAME.write_csv(separator="|").encode(),
    "mark.csv": lambda: b"\xef\xbb\xbf" + CSV,
    "windows.csv": lambda: CSV.replace(b"\n", b"\r\n").replace(b"two\r\n", b"two\n"),
    "table.parquet": lambda: binary(FRAME.write_parquet),
    "table.arrow": lambda: binary(FRAME.write_ipc),
    "stream.arrow": lambda: binary(FRAME.write_ipc_stream),
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", FORMS)
def test_every_form_and_packing_gives_the_same_table(
    name: str, packing: str, tmp_path: Path
) -> None:
    """Format, separator, byte order mark, line ends and compression do not change a table."""
    path = put(tmp_path, PACKINGS[packing](FORMS[name]()), name + packing)
    assert frame_of(path).equals(FRAME)
    expected = CountIndex.from_table(FRAME, "y")
    assert CountIndex.from_table(path, "y") == CountIndex.from_table(str(path), "y") == expected


def test_lines_fields_and_quotes(tmp_path: Path) -> None:
    """Blank lines are no rows, empty fields are; only what stands outside quotes parts fields."""
    for text, rows in (
        ("\n\na,y\n\n1,x\n   \n2,z\n\r\n\n", [(1, "x"), (2, "z")]),
        ("a,y\n1,2\n,\n\n3,4\n", [(1, 2), (None, None), (3, 4)]),
        ("a\n1\n\n3\n", [(1,), (None,), (3,)]),
        (f'a,b\n"{"x" * 200_000}",\nu,v\n', [("x" * 200_000, None), ("u", "v")]),
        *((f"{head}\n1,2\n", [(1, 2)]) for head in ('"a,b;;;;|",y', '"a\nb;;;;",y', "\n\na,y")),
    ):
        assert frame_of(put(tmp_path, text)).rows() == rows
    is_table(
        put(tmp_path, "a,y\n01,01\n1,1\n,True\n"), {"a": [1, 1, None], "y": ["01", "1", "True"]}
    )


@pytest.mark.parametrize("late", ["word", "1.5", "true", "NA", "?"])
@pytest.mark.parametrize("n_before", [3, 10_500])
def test_a_column_is_what_all_of_its_rows_are(late: str, n_before: int, tmp_path: Path) -> None:
    """What a column holds is told by all of its rows, not by the first ones."""
    path = put(tmp_path, "a,y\n" + "1,p\n" * n_before + f"{late},q\n")
    index = quietly(path, binning="none")
    missing = late in ("NA", "?")
    expected: dict[str | None, list[int]] = {"1": [n_before, 0], None: [0, int(missing)]}
    assert counts(index) == expected | ({} if missing else {late: [0, 1]})
    assert kind(index) == ("text" if late in ("word", "true") else "number")
    assert quietly(path, binning="none", memory_limit="200MB") == index


@pytest.mark.parametrize("seed", range(12))
def test_readers_agree_on_random_files(seed: int, tmp_path: Path) -> None:
    """Columns of any sort, with spellings of missing at the top, the end or anywhere, in memory or not."""
    rng = random.Random(seed)
    sorts: list[tuple[str, ...]] = [
        *(("1", "2", "30"), ("1.5", "2.0", "-3e5"), ("a", "b", '"c"'), ("true", "false")),
        *(("inf", "1", "2.5"), ("3,14", "2,7", "0,5"), ("$1,200", "$5", " $7.50")),
        *(("12 %", "7,5 %", "3%"), ("1 234", "12 345", "6"), ("31/01/2024", "03/04/2024")),
        *(("01.02.2024", "31.12.2023"), ("2024/01/31", "2023/2/1"), ("u", "v", "1,5")),
    ]
    n_rows, separator = rng.choice([3, 40, 1500]), rng.choice(",;\t")
    columns = []
    for _ in range(4):
        sort = rng.choice(sorts)
        cells = [rng.choice(sort) for _ in range(n_rows)]
        for _ in range(rng.choice([0, 0, 1, 3])):
            place = rng.choice([0, n_rows - 1, rng.randrange(n_rows)])
            cells[place] = rng.choice(["", "NA", "NaN", "?", '"NA"', " NA"])
        columns.append([f'"{cell}"' if "," in cell else cell for cell in cells])
    columns.append([rng.choice("pq") for _ in range(n_rows)])
    lines = [["c0", "c1", "c2", "c3", "y"], *zip(*columns, strict=True)]
    path = put(tmp_path, "\n".join(map(separator.join, lines)) + "\n")
    options: dict[str, Any] = {"binning": "uniform", "bins": 2}
    here = quietly(path, **options)
    there = quietly(path, memory_limit="200MB", **options)
    assert there == here
    assert notices(path, **options) == notices(path, memory_limit="200MB", **options)
    assert quietly(path, like=here) == quietly(path, like=here, memory_limit="200MB") == here


BAD_FILES: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "empty": (b"", "is empty; give a table with a header row"),
    "newlines": (b"\n\n\n", "is empty"),
    "header": (b"a,b,y\n", "has a header but no rows"),
    "header and blanks": (b"a,b,y\n\n\n", "has a header but no rows"),
    "too many": (b"a,b,y\n1,2,p\n1,2,q,4\n", "ragged: a row has more fields than the header"),
    "too few": (b"a,b,y\n1,2,p\n1,2\n", "ragged: line 3 has 2 fields, the header has 3"),
    "too few, first": (b"a,y,b\n1,p\n1,p,2\n", "ragged: line 2 has 2 fields"),
    "too few, in quotes": (b'a,y,b\n1,p,NA\n"1,p"\n', "ragged: line 3 has 1 field,"),
    "too few, after quotes": (b'a,y,b\n"1,\n1",p,\n1,p\n', "ragged: line 4 has 2 fields"),
    "same names": (b"a,b,a\n1,2,3\n", "has two columns named 'a'"),
    "junk": (bytes(range(256)) * 9, "is not a table; give a CSV, TSV, Parquet, Arrow, Excel"),
    "UTF-16 unmarked": ("a,y\n1,p\n".encode("utf-16-le"), "is not a table"),
    "unclosed quote": (b'a,y\n"u,p\nv,q\n', "a quote that stands inside .* or is never closed"),
    "unclosed quote in header": (b'"a,y\nv,q\n', "has a header but no rows|quote"),
    "stray quote": (b'a,y\n5" pipe,p\nv,q\n', "a quote that stands inside a value"),
    "old line ends": (b"a,y\r1,p\r2,q\r", "ends its lines in CR alone"),
    "damaged gzip": (gzip.compress(CSV)[:-12], "is a damaged gzip file"),
    "damaged zstd": (zstd.compress(CSV)[:-6], "is a damaged zstd file"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "truncated parquet": (lambda: FORMS["table.parquet"]()[:-20], "is not a table that can"),
    "truncated arrow": (lambda: FORMS["table.arrow"]()[:60], "is not a table that can be read"),
    "truncated stream": (lambda: FORMS["stream.arrow"]()[:60], "is not a table that can be read"),
}


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    """A missing file offers the names near it; an impossible name and a named pipe are refused."""
    (tmp_path / "customers.csv").touch()
    refused(tmp_path / "custmers.csv", r"no such file.*did you mean customers\.csv\?")
    refused(tmp_path / "other.parquet", r"no such file.*; check the path")
    refused(tmp_path / "no" / "such.csv", r"no such file.*; check the path")
    refused(Path("x" * 5000), "cannot read x{199}…: File name too long")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is a named pipe; read it from standard input")


# Encodings ----------------------------------------------------------------------------------------

UMLAUTS = "größe,ville,y\n1,Orléans,p\n2,„Köln“ – €,q\n,Besançon,p\n"
UMLAUT_CELLS: dict[str, list[Any]] = {
    "größe": [1, 2, None],
    "ville": ["Orléans", "„Köln“ – €", "Besançon"],
    "y": ["p", "q", "p"],
}
CYRILLIC = "возраст,город,y\n1,Тула,да\n2,Омск,нет\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        *((one, False) for one in ("utf-8-sig", "utf-16", "utf-32", "utf-16-be")),
        *((one, True) for one in ("cp1252", "utf-16-le", "utf_8")),
    ],
)
def test_text_is_read_by_its_mark_or_its_name(
    encoding: str, named: bool, end: str, tmp_path: Path
) -> None:
    """A byte order mark says what the text is, or else a name does, and there is nothing to tell."""
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path = put(tmp_path, (mark + UMLAUTS.replace("\n", end)).encode(encoding))
    option = {"encoding": encoding} if named else {}
    is_table(path, UMLAUT_CELLS, **option)
    assert notices(path, **option) == []


def test_windows_text_is_read_and_told(tmp_path: Path) -> None:
    """What is not UTF-8 but can be text of Windows is read as that, with a notice, wherever it begins."""
    path = put(tmp_path, UMLAUTS.encode("cp1252"))
    (said,) = notices(path)
    assert "cp1252" in said
    assert "encoding" in said
    is_table(path, UMLAUT_CELLS)
    late = quietly(put(tmp_path, b"a,y\n" + b"u,p\n" * 9_999 + b"\xe9,q\n"))
    assert values(late) == ("u", "é")
    arff = "@relation r\n@attribute größe {groß,klein}\n@attribute y {p,q}\n@data\ngroß,p\n"
    path = put(tmp_path, arff.encode("latin-1"), "t.arff")
    assert values(quietly(path), "größe") == ("groß", "klein")


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        ("klingon", "encoding is 'klingon', which Python does not know as a text encoding"),
        ("base64", "encoding is 'base64', which Python does not know as a text encoding"),
        ("utf-8", r"is not utf-8 text \(byte 3: invalid .*\); name another encoding"),
        ("ascii", r"is not ascii text \(byte 3"),
    ],
)
def test_wrong_encodings_are_refused(encoding: str, reason: str, tmp_path: Path) -> None:
    """A name that Python does not know, or that does not fit, is refused in one sentence."""
    refused(put(tmp_path, UMLAUTS.encode("cp1252")), reason, encoding=encoding)
    for raw in (b"a,y\n\x81,p\n", b"a,y\n\xe9\x01,p\n", CYRILLIC.encode("cp1251")):
        refused(put(tmp_path, raw), r"not UTF-8 text \(line \d, byte 1\).*--encoding")


# Headers ------------------------------------------------------------------------------------------


def test_headers(tmp_path: Path) -> None:
    """Separators at the end make no columns; one blank name stays; repeated names are refused."""
    is_table(
        put(tmp_path, "a;b;y;;\n1;;p;;\n2;u;q;; \n"),
        {"a": [1, 2], "b": [None, "u"], "y": ["p", "q"]},
    )
    assert quietly(put(tmp_path, ",a,y,\n0,1,p,\n1,2,q,\n")).features == ("", "a")
    refused(put(tmp_path, ",a,,\n0,1,p,\n"), "has 2 columns with cells but without a name")
    refused(put(tmp_path, "a,b,a,b\n1,2,3,4\n"), r"two columns named 'a' \(and 'b' repeated too\)")
    refused(put(tmp_path, "a,a,a\n1,2,3\n"), "has 3 columns named 'a'; give each column its own")
    refused(put(tmp_path, "0.2,0.2,y\n1,2,y\n"), r"named '0\.2'; .*header=False or --no-header")
    told = notices(put(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n"), "setosa")
    assert "5.1, 3.5, setosa" in told[0]
    assert "--no-header" in told[0]
    assert not notices(put(tmp_path, "a,2019,y\n1,2,p\n2,3,q\n"))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_files_without_a_header(name: str, tmp_path: Path) -> None:
    """The columns are c1, c2, …, and the first row is a row, after blank lines and a mark too."""
    written = '\ufeff\n5.1,"Ulm, south",p\n4.9,,q\n'
    if name == "t.tsv":
        written = written.replace(",", "\t").replace("Ulm\t", "Ulm,")
    path = put(tmp_path, written, name)
    cells: dict[str, list[Any]] = {"c1": [5.1, 4.9], "c2": ["Ulm, south", None], "c3": ["p", "q"]}
    is_table(path, cells, "c3", header=False)
    refused(
        put(tmp_path, "1,2\n3,4\n5\n"),
        "line 3 has 1 field, the first row has 2",
        "c2",
        header=False,
    )


@pytest.mark.parametrize("option", [{"header": False}, {"encoding": "utf-8"}, {"sheet": "a"}])
def test_options_of_files_are_refused_elsewhere(option: dict[str, Any], tmp_path: Path) -> None:
    """A data frame, another kind of file and files that DuckDB counts leave no such choice."""
    frame = pl.DataFrame({"a": [1, 2], "y": ["p", "q"]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    book = put(tmp_path, workbook([["a", "y"], [1, "p"]]), "t.xlsx")
    other = {"encoding": (book, "an Excel file"), "sheet": (tmp_path / "t.csv", "a text file")}
    sheet = put(tmp_path, SHORT + "@data\n1,p\n", "t.arff")
    for table, reason in (
        other.get(next(iter(option)), (sheet, "an ARFF file")),
        (frame, "but the table is a DataFrame"),
        (frame.lazy(), "but the table is counted where it is"),
        (tmp_path / "t.parquet", "is a Parquet file, where it has no effect"),
    ):
        refused(table, reason, **option)  # type: ignore[arg-type]
    refused(tmp_path / "t.csv", "counted where it is", memory_limit="1GB", **option)


# Numbers and dates as people write them -----------------------------------------------------------

WRITINGS: dict[str, tuple[list[str], list[Any]]] = {
    "decimal comma": (["3,14", "-2,5", "7", "1.234,5"], [3.14, -2.5, 7, 1234.5]),
    "commas between semicolons": (["3,14", "2,7", "-1,0"], [3.14, 2.7, -1]),
    "euros": (["3,50 €", "€ 1.200", "-0,5€"], [3.5, 1200, -0.5]),
    "comma and per cent": (["12,5 %", "3%"], [12.5, 3]),
    "thousands": (["1,234,567", "1,000.5", "3"], [1234567, 1000.5, 3]),
    "dollars": (["$1,200", "$ 5", "-$0.99"], [1200, 5, -0.99]),
    "per cent": (["12 %", "3 %"], [12, 3]),
    "spaces": (["1 234", "5", "1\u00a0234\u202f567"], [1234, 5, 1234567]),
    "day first": (["31/01/2024", "3/4/2024"], [dt.date(2024, 1, 31), dt.date(2024, 4, 3)]),
    "points": (["03.04.2024", "5.6.2024"], [dt.date(2024, 4, 3), dt.date(2024, 6, 5)]),
    "year first": (["2024/01/31", "2024/2/1"], [dt.date(2024, 1, 31), dt.date(2024, 2, 1)]),
    "month first": (
        ["01-31-2024 10:30", "3-4-2024 00:00"],
        [dt.datetime(2024, 1, 31, 10, 30), dt.datetime(2024, 3, 4)],
    ),
}
DOUBTS: dict[str, list[str]] = {
    "thousands or decimals": ["1,234", "5"],
    "decimals without semicolons": ["3,14", "2,7"],
    "units": ["$5", "5"],
    "two units": ["$5", "€5"],
    "two marks": ["1,5", "2.5"],
    "day or month": ["03/04/2024", "1/2/2024"],
    "both": ["13/04/2024", "04/13/2024"],
    "no day": ["31/02/2024", "2024/31/01"],
    "a word": ["red", "3,14"],
    "a version": ["1.2.3", "192.168.0.1"],
}


def written_table(texts: list[str], separator: str) -> str:
    lines = [f'"{text}"{separator}{"pq"[k % 2]}' for k, text in enumerate(texts)]
    return "\n".join([f"x{separator}y", *lines]) + "\n"


@pytest.mark.parametrize("limit", [None, "200MB"])
@pytest.mark.parametrize("name", [*WRITINGS, *DOUBTS])
def test_numbers_and_dates_of_people(name: str, limit: str | None, tmp_path: Path) -> None:
    """Each text is the number or day that a person means; what can be read in two ways stays text."""
    texts, cells = WRITINGS.get(name, (DOUBTS.get(name, []),) * 2)
    separator = ";" if "comma" in name or name == "euros" else ","
    path = put(tmp_path, written_table(texts, separator))
    is_table(path, {"x": cells, "y": [*"pqpq"][: len(cells)]}, memory_limit=limit)
    start = "read as" if name in WRITINGS else "left as text"
    said = [one for one in notices(path, memory_limit=limit) if one.startswith(start)]
    assert len(said) == (name not in ("no day", "a word", "a version"))
    assert all("'x'" in one for one in said)
    if name in DOUBTS:
        return
    # Points and further files are read as this one was, whatever they would be alone.
    index = saved_and_loaded(quietly(path, binning="none", keep="x", memory_limit=limit), tmp_path)
    head, *lines = path.read_text("utf-8").splitlines()
    parts = [put(tmp_path, f"{head}\n{line}\n", f"{k}.csv") for k, line in enumerate(lines)]
    counted = [quietly(part, like=index, memory_limit=limit) for part in parts]
    assert sum(counted[1:], counted[0]) == index
    for part, cell in zip(parts, cells, strict=True):
        assert read(index, part) == read(index, pl.DataFrame({"x": [cell]}))
    wrong = put(tmp_path, written_table(["£5"], ","), "wrong.csv")
    with pytest.raises(NullproofError, match="column 'x' holds text such as '£5'"):
        certify(index, wrong)


def test_random_numbers_come_back(tmp_path: Path) -> None:
    """Random numbers in any writing are read as those numbers, or stay text; never as others."""
    rng, n_found = random.Random(17), 0
    for _ in range(25):
        comma, unit, digits = rng.random() < 0.5, rng.choice(["", "$", "€", "%"]), rng.randrange(4)
        group = rng.choice(["", ",", " "])
        cells = [
            round(rng.uniform(-9999999, 9999999), digits) for _ in range(rng.choice([1, 3, 9]))
        ]
        texts = [as_written(x, digits, comma, group, unit) for x in cells]
        path = put(tmp_path, written_table(texts, ";" if comma else ","))
        index = quietly(path, binning="none", keep="x")
        if kind(index, "x") == "number":
            n_found += 1
            assert sorted(map(float, values(index))) == pytest.approx(sorted({*cells}))
    assert n_found > 10


def as_written(x: float, digits: int, comma: bool, group: str, unit: str) -> str:
    number = f"{abs(x):,.{digits}f}".replace(",", "\0")
    number = number.replace(".", ",") if comma else number
    own = {"": "", " ": " ", ",": "." if comma else ","}[group]
    number = number.replace("\0", own)
    sign = "-" if x < 0 else ""
    return f"{sign}{unit}{number}" if unit in ("$", "€") else f"{sign}{number} {unit}".strip()


def test_only_features_of_files_are_read_so(tmp_path: Path) -> None:
    """A label is a text, and so are the texts of a data frame."""
    path = put(tmp_path, written_table(["12 %", "3 %"], ","))
    assert quietly(path, "x").labels == ("12 %", "3 %")
    frame = pl.read_csv(path, infer_schema=False)
    assert values(quietly(frame, binning="none", keep="x")) == ("12 %", "3 %")


# ARFF ---------------------------------------------------------------------------------------------

HEAD = """% made by hand
@RELATION 'two words'

@attribute 'body weight' REAL
@Attribute colour {red, 'light blue', "it's"}  % of the coat
@attribute note STRING
@attribute n integer
@attribute y{yes,no}
@DATA
"""
ARFF_ROWS = [
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
def test_attributes_and_rows_of_arff(end: str, packed: Any, tmp_path: Path) -> None:
    """Names and values with quotes, comments, blank lines and missing cells are read as declared."""
    path = put(tmp_path, packed((HEAD + DATA).replace("\n", end).encode()), "t.arff")
    frame = frame_of(path)
    assert frame.columns == ["body weight", "colour", "note", "n", "y"]
    assert frame.rows() == ARFF_ROWS
    index = quietly(path, unlabelled="drop")
    assert {*values(index, "colour")} == {"red", "light blue", "it's"}
    assert index.labels == ("no", "yes")


def arff(*lines: str) -> str:
    return "\n".join(["@relation r", *lines]) + "\n"


NOON = dt.datetime(2020, 1, 31, 12)
ARFF_FORMS: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "dates": (
        (
            *("@attribute a date", '@attribute b DATE "yyyy-MM-dd HH:mm:ss.SSS"', "@data"),
            *("2020-01-31T12:00:00,'2020-01-31 12:00:00.250'", "?,?"),
        ),
        [(NOON, NOON + dt.timedelta(microseconds=250_000)), (None, None)],
    ),
    "tabs and spaces": (
        ("@attribute a numeric", "@attribute y {p,q}", "@data", "1\tp", "2   q"),
        [(1, "p"), (2, "q")],
    ),
    "a list of two lines": (
        ("@attribute a {u,", "  v}", "@attribute b string", "@data", "v,x"),
        [("v", "x")],
    ),
    "exact integers": (
        ("@attribute a numeric", "@data", "9007199254740993", "9007199254740992", "?"),
        [(2**53 + 1,), (2**53,), (None,)],
    ),
    "spaces in quotes": (
        ("@attribute x string", "@data", "' a '", "a", " 'a b' "),
        [(" a ",), ("a",), ("a b",)],
    ),
}


@pytest.mark.parametrize("comment", ["", "% read row by row\n"])
@pytest.mark.parametrize("name", ARFF_FORMS)
def test_forms_of_arff(name: str, comment: str, tmp_path: Path) -> None:
    """Declared dates, other separators and quotes are read as Weka does, in any case."""
    lines, rows = ARFF_FORMS[name]
    assert frame_of(put(tmp_path, arff(*lines) + comment, "t.arff")).rows() == rows


def test_arff_and_csv_give_the_same_index(tmp_path: Path) -> None:
    """Random tables give the same index in both formats, quotes, comments and spaces or not."""
    rng = random.Random(5)
    quoted = {"x,y": '"x,y"', "it's": '"it\'s"'}
    head = arff("@attribute a numeric", "@attribute b string", "@attribute y string", "@data")
    for number in range(12):
        cells: dict[str, list[Any]] = {
            "a": [rng.choice(["1", "2.5", "-3e2", "?"]) for _ in range(9)],
            "b": [rng.choice(["u", "v w", "x,y", "it's", "50 %", "?"]) for _ in range(9)],
            "y": ["p", "q", *rng.choices(["p", "q"], k=7)],
        }
        rows = [f"{a}, {quoted.get(b, b)},{y}" for a, b, y in zip(*cells.values(), strict=True)]
        comment = "% rows\n" * (number % 2)
        path = put(tmp_path, head + comment + "\n".join(rows), "t.arff")
        pl.DataFrame(cells).write_csv(tmp_path / "t.csv")
        assert quietly(path) == quietly(tmp_path / "t.csv")


SHORT = "@relation r\n@attribute a numeric\n@attribute y {p,q}\n"
DATED = "@relation r\n@attribute d date 'dd/MM/yyyy'\n@data\n"
BAD_ARFF: dict[str, tuple[str, str]] = {
    "no data": (SHORT, "has no @data line"),
    "no rows": (SHORT + "@data\n\n% none\n", "has a header but no rows"),
    "no attributes": ("@relation r\n@data\n1,2\n", "line 2: the data begin before any @attribute"),
    "strange line": ("@relation r\nhello\n", "line 2: 'hello' is neither @relation"),
    "no name": ("@relation r\n@attribute\n@data\n1\n", "line 2: an @attribute needs a name"),
    "strange type": (
        "@relation r\n@attribute a complex\n",
        "line 2: .*'complex'; give numeric, st",
    ),
    "open list": (SHORT + "@attribute c {u, v\n@data\n1,p,u\n", "line 4: the attribute 'c' has"),
    "date": (DATED + "2020-01-31\n2020-31-01\n", "line 5: 'd' is '2020-31-01' but"),
    "twice": ("@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", "named 'a'"),
    "short row": (SHORT + "@data\n1,p\n1\n", "line 6: the row has 1 value and there are 2"),
    "long row": (SHORT + "@data\n1,p\n% x\n1,p,q\n", "line 7: the row has 3 values"),
    "long quoted row": (SHORT + "@data\n1,'p',q\n", "line 5: the row has 3 values"),
    "weight": (SHORT + "@data\n1,p,{5}\n", "line 5: the row has 3 values .* without a weight"),
    "number": (SHORT + "@data\n1,p\n1x,p\n", "line 6: 'a' is '1x' but it is declared as numeric"),
    "nominal": (SHORT + "@data\n1,r\n", "line 5: 'y' is 'r' but its declared values are 'p', 'q'"),
    "quote": (SHORT + "@data\n1,'p\n", "line 5: a quote is never closed"),
    "quote inside": (SHORT + "@data\n1,'p'q\n", "line 5: a quote is never closed or stands inside"),
    "sparse": (SHORT + "@data\n{0 1, 1 p}\n", "line 5: sparse rows are not supported"),
    "other dates": (DATED + "31/01/2020\n", "'31/01/2020' but dates must look like 2024-12-31"),
}


# Excel --------------------------------------------------------------------------------------------

DAY = dt.date(2024, 2, 28)
SHEET = "xl/worksheets/sheet1.xml"
SHEET_ROWS: list[list[Any]] = [
    ["age", "town", "since", "paid", "mixed", "y"],
    [31, "Ulm", DAY, True, 1, "a"],
    [None, "Bonn", None, False, "x", "b"],
    [50.5, None, DAY, None, 2.5, "a"],
]


@pytest.mark.parametrize("cells", [[0, 1, None], [2.0**53, 1e300, 1 / 3]], ids=str)
def test_cells_of_excel_keep_their_values(cells: list[Any], tmp_path: Path) -> None:
    """Numbers are those of a list of them, with a header and without, whatever the file's name is."""
    how: dict[str, Any] = {"binning": "none", "keep": "c1"}
    expected = quietly({"c1": cells, "c2": [*"pqq"]}, "c2", **how)
    rows = [*zip(cells, "pqq", strict=True)]
    book = put(tmp_path, workbook([["c1", "c2"], *rows]), "book.data")
    assert quietly(book, "c2", **how) == expected
    bare = put(tmp_path, workbook(rows), "book.data")
    assert quietly(bare, "c2", header=False, **how) == expected


def test_excel_and_csv_give_the_same_index(tmp_path: Path) -> None:
    """A table saved as Excel counts as the same table saved as CSV, points included."""
    cells: Any = [["age", "code", "seen", "y"], [31, "01", "2020-01-31", 1], [2, "NA", " ", 0]]
    cells += [[None, "7", "2020-02-01", 1], [31, "1", None, 0]]
    excel = put(tmp_path, workbook(cells), "t.xlsx")
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in cells]
    text = put(tmp_path, "\n".join(lines))
    index = quietly(excel)
    assert index == quietly(text)
    assert index.labels == ("0", "1")
    assert read(index, excel) == read(index, text)
    assert frame_of(put(tmp_path, workbook(SHEET_ROWS), "t.xlsx")).columns == SHEET_ROWS[0]
    money = [["paid", "when", "y"], ["1,200.5", "31/01/2024", "p"], ["5", "03/04/2024", "q"]]
    path = put(tmp_path, workbook(money), "t.xlsx")
    days = [dt.date(2024, 1, 31), dt.date(2024, 4, 3)]
    is_table(path, {"paid": [1200.5, 5], "when": days, "y": ["p", "q"]})


def test_rows_columns_and_names_of_a_sheet(tmp_path: Path) -> None:
    """Blank rows and columns around the table count for nothing; names are those that are written."""
    cells: Any = [[], [], [None, "a", "y", ""], [None, 1, "p", " "], [None, 2, "q"], [], []]
    is_table(put(tmp_path, workbook(cells), "t.xlsx"), {"a": [1, 2], "y": ["p", "q"]})
    rows: Any = [["n", "n_1", "n_1_1", 2019, "y"], [1, 2, 3, 4, "p"], [1, 2, 3, 5, "q"]]
    index = quietly(put(tmp_path, workbook(rows), "t.xlsx"))
    assert index.features == ("n", "n_1", "n_1_1", "2019")
    spread: Any = [["size", None, "y"], [1, 2, "p"], [3, 4, "q"]]
    assert quietly(put(tmp_path, workbook(spread), "t.xlsx")).features == ("size", "")
    failed = with_part(
        workbook([["a", "y"], [1, "p"], [2, "q"]]),
        SHEET,
        lambda xml: xml.replace(b'<c r="A3"><v>2</v>', b'<c r="A3" t="e"><v>#N/A</v>'),
    )
    is_table(put(tmp_path, failed, "t.xlsx"), {"a": [1, None], "y": ["p", "q"]})


def test_sheets(tmp_path: Path) -> None:
    """The first sheet with cells is read, and others are told; a sheet can be named."""
    sheets: Any = {"empty": [], "one": [["a", "y"], [1, "p"]], "two": [["b", "y"], [2, "q"]]}
    path = put(tmp_path, workbook(sheets), "t.xlsx")
    with pytest.warns(NullproofWarning, match=r"2 sheets with cells \('one', 'two'\)"):
        assert CountIndex.from_table(path, "y").features == ("a",)
    assert quietly(path, sheet="two").features == ("b",)
    refused(path, "has no sheet 'three'; it has 'empty', 'one', 'two'", sheet="three")
    refused(path, "the sheet 'empty' of .* is empty", sheet="empty")


def archive(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


BOOK = workbook(SHEET_ROWS)
FAR_OUT = with_part(BOOK, SHEET, lambda xml: xml.replace(b'r="B2"', b'r="XFD1048576"', 1))
BAD_BOOKS: dict[str, tuple[bytes, str]] = {
    "empty": (workbook([]), "is empty; give a table with a header row"),
    "no rows": (workbook([["a", "y"]]), "has a header but no rows"),
    "same names": (workbook([["a", "a"], [1, 2]]), "has two columns named 'a'"),
    "no names": (workbook([["s", None, None, "y"], [1, 2, 3, "p"]]), "2 columns with cells but"),
    "half": (BOOK[: len(BOOK) // 2], "is not a table that can be read: File is not a zip file"),
    "old": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"old Excel file \(\.xls\)"),
    "zip": (archive({"a.csv": b"a,b\n1,2\n"}), r"is a zip archive but not an \.xlsx file; save"),
    "no book": (archive({"xl/workbook.xml": b"<x"}), "is not a table that can be read"),
    "far out": (FAR_OUT, "row 1,048,576 and column 16,384"),
}


BAD: dict[str, dict[str, Any]] = {"b.csv": BAD_FILES, "b.arff": BAD_ARFF, "b.data": BAD_BOOKS}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name in BAD for case in BAD[name]])
def test_bad_files_are_refused_in_one_sentence(name: str, case: str, tmp_path: Path) -> None:
    """What is no table is refused by name, with the reason and the line to be mended, on one line."""
    written, reason = BAD[name][case]
    path = put(tmp_path, written() if callable(written) else written, name)
    refused(path, f"{path}.*({reason})")


# On the command line ------------------------------------------------------------------------------


def test_written_tables_have_plain_numbers(run: Runner, folder: Path) -> None:
    """A table that is written with changed cells is read again as it was, whatever separates it."""
    rows = TRAIN.replace(",", ";").replace("31;", "3,1;").replace("50;", "5,05;").replace("6", "6,")
    (folder / "train.csv").write_text(rows)
    (folder / "test.csv").write_text(rows)
    done = run("-q", "poison", "train.csv", "test.csv", "--label", "churn", "-o", "p.csv", "--json")
    assert done.code == 0
    blank = [cell["row"] for cell in json.loads(done.out)["cells"] if cell["column"] == "age"]
    expected = [3.1, None, 5.05, 6.4, 33.0, 6.1]
    assert pl.read_csv(folder / "p.csv")["age"].to_list() == [
        None if row in blank else x for row, x in enumerate(expected)
    ]
