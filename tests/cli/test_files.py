"""The command line on the files people have: every kind, its options, and every way it can be broken."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from support.command_line import CERTIFY, TRAIN, Runner, one_line
from support.workbooks import with_part, workbook

ARFF = (
    "@relation r\n@attribute age numeric\n@attribute town {Ulm,Bonn,'Bad Ems'}\n"
    "@attribute churn {no,yes}\n@data\n"
    + "\n".join(
        ",".join(cell or "?" for cell in line.split(",")) for line in TRAIN.splitlines()[1:]
    )
    + "\n"
)
CELLS = [
    [int(cell) if cell.isdigit() else cell or None for cell in line.split(",")]
    for line in TRAIN.splitlines()
]
UMLAUTS = TRAIN.replace("Ulm", "Köln")
KINDS: dict[str, bytes] = {
    "csv": TRAIN.encode(),
    "xlsx": workbook(CELLS),
    "arff": ARFF.encode(),
    "latin-1": UMLAUTS.encode("latin-1"),
    "utf-16": UMLAUTS.encode("utf-16"),
    "gz": gzip.compress(TRAIN.encode()),
    "arff.gz": gzip.compress(ARFF.encode()),
    "xlsx.gz": gzip.compress(workbook(CELLS)),
}
LABEL = ("--label", "churn")


@pytest.fixture(autouse=True)
def tables(folder: Path) -> None:
    (folder / "train.csv").write_text(TRAIN)
    (folder / "test.csv").write_text(TRAIN)


def certified(run: Runner, train: str, *options: str) -> list[dict[str, object]]:
    done = run("-q", "certify", train, "test.csv", *LABEL, "--json", *options)
    assert (done.code, done.err) == (0, ""), done
    points: list[dict[str, object]] = json.loads(done.out)["points"]
    return points


@pytest.mark.parametrize("kind", ["xlsx", "arff", "gz", "arff.gz", "xlsx.gz"])
def test_every_kind_gives_the_same_answer(run: Runner, folder: Path, kind: str) -> None:
    """The same table has the same certificates, as TRAIN and as standard input, whatever its name."""
    (folder / "other").write_bytes(KINDS[kind])
    # The third town, which no row has, is a value that a hole may hold.
    options = ("--missing", "?") if kind.startswith("arff") else ()
    expected = certified(run, "train.csv")
    found = certified(run, "other", *options)
    assert [p["predicted"] for p in found] == [p["predicted"] for p in expected]
    done = run("certify", "-", "test.csv", *LABEL, "--json", stdin=KINDS[kind])
    assert json.loads(done.out)["points"] == found


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp437"])
def test_encodings(run: Runner, folder: Path, encoding: str) -> None:
    """--encoding is for TRAIN and TEST; without it a notice tells what was taken."""
    for name in ("train.csv", "test.csv"):
        (folder / name).write_bytes(UMLAUTS.encode(encoding))
    named = run(*CERTIFY, "--encoding", encoding)
    assert (named.code, named.err) == (0, "")
    if encoding == "latin-1":
        done = run(*CERTIFY)
        assert done.code == 0
        assert done.err.count("note: t") == 2
        assert "note: train.csv is not UTF-8 text and was read as cp1252" in done.err
        # The next command at the end has the encoding, where it was given.
        assert " --encoding latin-1" in named.out.splitlines()[-1]
        assert named.out.replace(" --encoding latin-1", "") == done.out


def test_without_a_header(run: Runner, folder: Path) -> None:
    """--no-header is for TRAIN and TEST; the columns are c1, c2, …"""
    rows = TRAIN.partition("\n")[2]
    for name in ("train.csv", "test.csv"):
        (folder / name).write_text(rows)
    done = run("certify", "train.csv", "test.csv", "--label", "c3", "--no-header", "--json")
    assert (done.code, done.err) == (0, "")
    (folder / "test.csv").write_text(TRAIN)
    (folder / "train.csv").write_text(TRAIN)
    assert json.loads(done.out)["points"] == certified(run, "train.csv")


def test_a_named_sheet(run: Runner, folder: Path) -> None:
    """--sheet names the sheet of an Excel file."""
    (folder / "t.xlsx").write_bytes(workbook({"notes": [["read"], ["me"]], "data": CELLS}))
    done = run("certify", "t.xlsx", *LABEL, "--sheet", "data")
    assert (done.code, done.err) == (0, "")
    one_line(run("-q", "certify", "t.xlsx", *LABEL), "there is no column 'churn'")
    # TEST is a text file, for which the sheet means nothing.
    assert certified(run, "t.xlsx", "--sheet", "data") == certified(run, "train.csv")


def test_rows_without_a_label(run: Runner, folder: Path) -> None:
    """--drop-unlabelled leaves them out with a notice; rows are named as the file has them."""
    holes = TRAIN + "99,Rome,\n40,Ulm,no\n"
    (folder / "train.csv").write_text(holes)
    one_line(run(*CERTIFY), "has 1 hole (row 6, counted from 0); fill it in or leave that row out")
    done = run(*CERTIFY, "--drop-unlabelled")
    assert done.code == 0
    assert done.err == ("note: left out 1 row without a label in column 'churn'; 7 are left\n"), (
        done.err
    )
    done = run("-q", "poison", "train.csv", "test.csv", *LABEL, "--drop-unlabelled", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    poisoned = pl.read_csv(folder / "p.csv")
    assert poisoned.height == 8
    assert poisoned.row(6) == (99, "Rome", None)
    clean = ("-q", "clean", "train.csv", "test.csv", *LABEL, "--drop-unlabelled")
    assert run(*clean, "-o", "work.csv").code == 0
    rows = pl.read_csv(folder / "work.csv")["row"].to_list()
    assert 6 not in rows


def test_written_tables_have_plain_numbers(run: Runner, folder: Path) -> None:
    """A table that is written with changed cells is read again as it was, whatever separates it."""
    rows = TRAIN.replace(",", ";").replace("31;", "3,1;").replace("50;", "5,05;").replace("6", "6,")
    (folder / "train.csv").write_text(rows)
    (folder / "test.csv").write_text(rows)
    done = run("-q", "poison", "train.csv", "test.csv", *LABEL, "-o", "p.csv", "--json")
    assert done.code == 0
    poisoned = pl.read_csv(folder / "p.csv")
    blank = [cell["row"] for cell in json.loads(done.out)["cells"] if cell["column"] == "age"]
    expected = [3.1, None, 5.05, 6.4, 33.0, 6.1]
    assert poisoned["age"].to_list() == [
        None if row in blank else x for row, x in enumerate(expected)
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["t.parquet", *LABEL, "--encoding", "cp1252"], "encoding was given but t.parquet is a P"),
        (["t.parquet", *LABEL, "--no-header"], "header=False was given but t.parquet is a Parquet"),
        (["train.csv", *LABEL, "--sheet", "a"], "sheet was given but train.csv is a text file"),
        (["t.xlsx", *LABEL, "--encoding", "utf-8"], "encoding was given but t.xlsx is an Excel f"),
        (["t.arff", *LABEL, "--no-header"], "header=False was given but t.arff is an ARFF file"),
        (["t.index", "test.csv", "--drop-unlabelled"], "the saved index t.index has settled"),
        (["t.index", "test.csv", "--sheet", "a"], "sheet was given but test.csv is a text file"),
        (["train.csv", *LABEL, "--encoding", "klingon"], "encoding is 'klingon', which is no enc"),
        (["t.xlsx", "test.csv", *LABEL, "--memory-limit", "1GB"], "not .xlsx; give files of one"),
        (
            ["train.csv", "test.csv", *LABEL, "--memory-limit", "1GB", "--no-header"],
            "header=False was given but the table is counted where it is",
        ),
    ],
)
def test_options_that_make_no_sense(
    run: Runner, folder: Path, arguments: list[str], reason: str
) -> None:
    """An option that the file leaves no choice for is refused, not ignored."""
    pl.read_csv(TRAIN.encode()).write_parquet(folder / "t.parquet")
    (folder / "t.xlsx").write_bytes(KINDS["xlsx"])
    (folder / "t.arff").write_bytes(KINDS["arff"])
    assert run("index", "train.csv", *LABEL, "-o", "t.index").code == 0
    one_line(run("certify", *arguments), reason)


# Broken files -------------------------------------------------------------------------------------

SHEET = "xl/worksheets/sheet1.xml"
STRINGS = "xl/sharedStrings.xml"
BOOK = "xl/workbook.xml"


def mutated(raw: bytes, rng: random.Random) -> bytes:
    """Cut off, overwrite, repeat or take out some bytes."""
    content = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at, width = rng.randrange(len(content)), rng.choice([1, 1, 4, 30])
        change = rng.choice(["cut", "write", "repeat", "remove"])
        if change == "write":
            content[at : at + width] = rng.randbytes(width)
        elif change == "repeat":
            content[at:at] = content[at : at + width]
        elif change == "remove":
            del content[at : at + width]
        else:
            del content[at:]
        if not content:
            break
    return bytes(content)


def inside(part: str) -> Callable[[bytes, random.Random], bytes]:
    """Break one part of an Excel file and pack it again, so that the checksums are right."""
    return lambda raw, rng: with_part(raw, part, lambda xml: mutated(xml, rng))


WAYS: dict[str, tuple[str, Callable[[bytes, random.Random], bytes]]] = {
    **{kind: (kind, mutated) for kind in KINDS},
    "sheet": ("xlsx", inside(SHEET)),
    "strings": ("xlsx", inside(STRINGS)),
    "book": ("xlsx", inside(BOOK)),
}


@pytest.mark.parametrize("way", WAYS)
def test_broken_files_are_a_table_or_one_sentence(run: Runner, folder: Path, way: str) -> None:
    """Whatever is cut off or overwritten: certificates, or exit code 2 and one line, no traceback."""
    kind, change = WAYS[way]
    rng = random.Random(f"{way} 29")
    n_refused = 0
    for _ in range(24):
        (folder / "train.csv").write_bytes(change(KINDS[kind], rng))
        done = run("-q", "certify", "train.csv", "test.csv", *LABEL)
        if done.code:
            one_line(done, "")
            assert "mistake in nullproof" not in done.err, done.err
            n_refused += 1
    assert n_refused > 5
