"""certify -o FILE reads points in blocks: the same verdicts, notices and errors as in one piece."""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import Done, Runner, one_line

from nullproof import files
from nullproof.tables import formats

TRAIN = pl.DataFrame(
    {
        "price": ["1.200,50", "3,5", None, "2.000", "7,25", "3,5", "1.200,50", "12,0"] * 3,
        "town": ["Ulm", "Bonn", "Ulm", None, "Köln", "Bonn", "Ulm, east", "two\nlines"] * 3,
        "member": ["true", "false", "true", "true", None, "false", "false", "true"] * 3,
        "since": ["2024-01-03", "2023-05-01", None, "2024-02-07", "2022-01-01", *["2023-01-01"] * 3]
        * 3,
        "visits": [1, 2, 3, 4, 5, 6, None, 8] * 3,
        "churn": ["no", "yes", "no", "no", "yes", "yes", "maybe", "yes"] * 3,
    }
)
POINTS = pl.DataFrame(
    {
        "id": ["a", "b", None, "d", "b", "f", "g", "h", "a"],
        "town": ["Ulm", "Bonn", "", "Paris", "Ulm, east", "two\nlines", 'say "no"', "Köln", None],
        "member": ["true", None, "false", "true", "True", "false", "true", "n/a", "false"],
        "since": ["2024-01-03", "2024-05-01", None, *["2023-01-01"] * 5, "2022-02-02"],
        "visits": ["1", "2", "n/a", "40", "5", "", "7", "-3", "3"],
        "price": ["2.000", "3.000", "3,5", None, "1.200", "7,25", "3,5", "12,0", "1.200,50"],
        "churn": ["no", None, "yes", "perhaps", "no", "yes", "maybe", "yes", "no"],
        "more": ["x"] * 9,
    }
)
ASKED: dict[str, tuple[str, ...]] = {
    "plain": (),
    "key and truth": ("--key", "id", "--check"),
    "any": ("--own-missing", "any", "--key", "id"),
    "bias": ("--bias", "0.05", "--prior", "uniform"),
    "bias by column": ("--bias", "town=0.2", "--bias", "0.01", "--alpha", "1/2"),
    "no smoothing": ("--alpha", "0", "--own-missing", "any"),
}


@pytest.fixture
def tables(folder: Path) -> Path:
    """A training table of all kinds of columns, and its points in every kind of file."""
    TRAIN.write_csv(folder / "train.csv", separator=";")
    text = POINTS.write_csv()
    (folder / "p.csv").write_text(text, newline="")
    (folder / "lines.csv").write_text(
        "\n" + text.replace("\n", "\r\n") + "\r\n\r\n\r\n", newline=""
    )
    (folder / "p.tsv").write_text(POINTS.write_csv(separator="\t"), newline="")
    (folder / "p.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "windows.csv").write_bytes(text.encode("cp1252"))
    if find_spec("xlsxwriter"):
        POINTS.write_excel(folder / "p.xlsx")
    typed = POINTS.with_columns(
        pl.col("visits").cast(pl.Int64, strict=False),
        pl.col("since").str.to_date(),
        pl.col("town").cast(pl.Categorical),
        pl.Series("price", [2000.0, 3000, 3.5, None, 1200, 7.25, 3.5, 12, 1200.5], strict=False),
    )
    typed.write_parquet(folder / "p.parquet", row_group_size=4)
    typed.write_ipc(folder / "p.arrow")
    typed.write_ipc_stream(folder / "stream.arrow")
    return folder


def certify(run: Runner, test: str, *options: str, stdin: bytes = b"") -> Done:
    return run("certify", "train.csv", test, "--label", "churn", *options, stdin=stdin)


def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one or two points."""
    monkeypatch.setattr(formats, "BLOCK", 9)
    monkeypatch.setattr(formats, "FEWEST", 2)


FILES = ("p.csv", "lines.csv", "p.tsv", "p.csv.gz", "windows.csv", "p.parquet", "p.arrow")
WHOLE = ("p.xlsx", "stream.arrow", "-")


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        *((test, "key and truth") for test in (*FILES, *WHOLE)),
        *(
            (test, asked)
            for test in ("p.csv", "p.parquet")
            for asked in ASKED
            if "key" not in asked
        ),
    ],
)
def test_blocks_equal_the_whole(
    run: Runner, tables: Path, monkeypatch: pytest.MonkeyPatch, test: str, asked: str
) -> None:
    """Verdicts, notices and the exit code are the same in blocks, in one, and as JSON."""
    if test == "p.xlsx":
        pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")
    options, stdin = ASKED[asked], (tables / "p.csv").read_bytes()
    whole = certify(run, test, *options, "-o", "whole.parquet", stdin=stdin)
    told = certify(run, test, *options, "--json", stdin=stdin)
    small_blocks(monkeypatch)
    for ending in ("parquet", "csv"):
        done = certify(run, test, *options, "-o", f"blocks.{ending}", stdin=stdin)
        assert done.err.replace(f"blocks.{ending}", "whole.parquet") == whole.err
        assert (done.code, done.out) == (whole.code, "")
    assert whole.code == told.code
    found = pl.read_parquet("whole.parquet")
    in_blocks = pl.read_parquet("blocks.parquet")
    assert in_blocks.equals(found)
    assert in_blocks.schema == found.schema
    assert Path("blocks.csv").read_text() == found.write_csv()
    assert _rows(found) == json.loads(told.out)["points"]


def _rows(found: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a file as JSON has them: possible and other labels as lists."""
    return [
        {
            name: [label for label in cell.split(" | ") if label]
            if name in ("possible", "others")
            else cell
            for name, cell in row.items()
        }
        for row in found.iter_rows(named=True)
    ]


@pytest.mark.parametrize("test", FILES[:5])
def test_many_blocks_are_read(
    tables: Path, monkeypatch: pytest.MonkeyPatch, run: Runner, test: str
) -> None:
    """A text file comes in several blocks, unless it has to be read whole to tell its encoding."""
    written: list[int] = []
    rows = files.frame_of

    def noted(columns: Any) -> Any:
        written.append(len(columns["point"]))
        return rows(columns)

    monkeypatch.setattr(files, "frame_of", noted)
    small_blocks(monkeypatch)
    certify(run, test, "-o", "out.csv")
    assert sum(written) == 9
    assert (len(written) > 3) == (test != "windows.csv")


def test_no_label_at_all(run: Runner, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label column without a known label tells nothing of right and wrong; one label at the end does."""
    small_blocks(monkeypatch)
    for last, is_told in (("?", False), ("yes", True)):
        text = POINTS.with_columns(churn=pl.Series([*["?"] * 8, last])).write_csv()
        (tables / "points.csv").write_text(text, newline="")
        certify(run, "points.csv", "-o", "out.parquet")
        assert ("right" in pl.read_parquet("out.parquet").columns) == is_told


BROKEN = {
    "a short row": ("z,Bonn", "is ragged: line 13 has 2 fields, the header has 8"),
    "text for a number": (
        "z,Bonn,true,2023-01-01,many,3,no,x",
        "column 'visits' holds text such as 'many', but the training table holds numbers",
    ),
    "an open quote": ('z,"Bonn,true,2023-01-01,4,3,no,x', "has a quote that stands inside a value"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_errors_in_later_blocks(
    run: Runner, tables: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A mistake further down is one sentence, the one of the whole file, and leaves nothing behind."""
    row, reason = BROKEN[how]
    (tables / "p.csv").write_text(f"{POINTS.write_csv()}\n{row}\n", newline="")
    for ending in ("csv", "parquet"):
        (tables / f"out.{ending}").write_text("before")
    before = sorted(tables.iterdir())
    one_line(certify(run, "p.csv", "-q", "--json"), reason)
    small_blocks(monkeypatch)
    for ending in ("csv", "parquet"):
        one_line(certify(run, "p.csv", "-q", "-o", f"out.{ending}"), reason)
        assert (tables / f"out.{ending}").read_text() == "before"
    assert sorted(tables.iterdir()) == before


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow"])
def test_damaged_and_empty_files(run: Runner, tables: Path, name: str) -> None:
    """A file that cannot be read is told as such; one without rows gives a file without rows."""
    (tables / "d.parquet").write_bytes((tables / name).read_bytes()[:-200])
    one_line(
        certify(run, "d.parquet", "-q", "-o", "out.parquet"), "is not a table that can be read"
    )
    pl.read_parquet("p.parquet").clear().write_parquet("e.parquet")
    assert certify(run, "e.parquet", "-q", "-o", "out.parquet").code == 0
    assert pl.read_parquet("out.parquet").height == 0


def test_a_file_without_rows(run: Runner, tables: Path) -> None:
    """A header alone is refused, with or without an end of its line, and with blank lines below."""
    for rest in ("", "\n", "\n\n\n"):
        (tables / "h.csv").write_text(",".join(POINTS.columns) + rest)
        one_line(certify(run, "h.csv", "-q", "-o", "out.csv"), "has a header but no rows")


def test_a_folder_with_brackets(run: Runner, tables: Path) -> None:
    """Brackets in a path are no pattern."""
    (tables / "a[1]").mkdir()
    (tables / "p.parquet").rename(tables / "a[1]" / "p.parquet")
    assert certify(run, "a[1]/p.parquet", "-q", "-o", "a[1]/out.parquet").code == 0
    assert (tables / "a[1]" / "out.parquet").stat().st_size


def test_a_full_disk(run: Runner, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What polars says of a full disk is told as any other program's."""

    def fail(*_: Any, **__: Any) -> None:
        raise pl.exceptions.ComputeError(
            "parquet: underlying IO error: No space left on device (os error 28)"
        )

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", fail)
    done = certify(run, "p.csv", "-q", "-o", "out.parquet")
    one_line(done, "cannot write out.parquet: No space left on device")
