"""Reading files: every format gives the same table, and every bad file one clear sentence."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from backports import zstd

from nullproof import CountIndex, NullproofError
from nullproof.errors import NullproofWarning
from nullproof.tables.formats import read_file

FRAME = pl.DataFrame(
    {
        "age": [31, None, 50, 64],
        "town": ["Ulm, south", 'the "old" one', None, "two\nlines"],
        "y": ["a", "b", "a", "b"],
    }
)


def csv_bytes(separator: str = ",") -> bytes:
    return FRAME.write_csv(separator=separator).encode()


def binary(write: Callable[[io.BytesIO], Any]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


FORMS = {
    "plain.csv": csv_bytes(),
    "tabs.tsv": csv_bytes("\t"),
    "semicolons.csv": csv_bytes(";"),
    "bars.txt": csv_bytes("|"),
    "mark.csv": b"\xef\xbb\xbf" + csv_bytes(),
    "windows.csv": csv_bytes().replace(b"\n", b"\r\n").replace(b"two\r\n", b"two\n"),
    "table.parquet": binary(FRAME.write_parquet),
    "table.arrow": binary(FRAME.write_ipc),
    "stream.arrow": binary(FRAME.write_ipc_stream),
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
    path = tmp_path / (name + packing)
    path.write_bytes(PACKINGS[packing](FORMS[name]))
    table = read_file(path)
    assert table.frame.equals(FRAME)
    assert table.from_text == (not name.endswith(("parquet", "arrow")))


@pytest.mark.parametrize("name", ["plain.csv", "table.parquet", "stream.arrow"])
def test_standard_input_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path - means standard input, in any format."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(FORMS[name])))
    assert read_file("-").frame.equals(FRAME)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """A named pipe, as the shell's <(…) makes one, is read like a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(FORMS["plain.csv"],))
    writer.start()
    assert read_file(pipe).frame.equals(FRAME)
    writer.join()


def rows_of(tmp_path: Path, written: str | bytes, name: str = "t.csv", **options: Any) -> Any:
    path = tmp_path / name
    path.write_bytes(written.encode() if isinstance(written, str) else written)
    return read_file(path, **options).frame.rows()


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    """Blank lines count for nothing wherever they stand, also those of spaces."""
    written = "\n\na,b\n\n1,x\n   \n2,\n\r\n\n"
    rows = rows_of(tmp_path, written)
    assert [tuple(str(cell or "") for cell in row) for row in rows] == [("1", "x"), ("2", "")]


def test_a_row_of_empty_fields_stays(tmp_path: Path) -> None:
    """A row whose cells are all missing is a row: the points after it keep their positions."""
    assert rows_of(tmp_path, "a,b\n1,2\n,\n\n3,4\n") == [(1, 2), (None, None), (3, 4)]


def test_a_blank_line_of_a_single_column_is_a_missing_cell(tmp_path: Path) -> None:
    """With one column only, an empty line is the one way to write a missing cell."""
    assert rows_of(tmp_path, "a\n1\n\n3\n") == [(1,), (None,), (3,)]


@pytest.mark.parametrize("header", ['"a,b;;;;|",y', '"a\nb;;;;",y', "\n\na,y"])
def test_headers_with_separators_and_newlines_in_quotes(header: str, tmp_path: Path) -> None:
    """Only what stands outside quotes tells the separator; blank lines before the header do not count."""
    rows = rows_of(tmp_path, header + "\n01,02\n", as_text=["y"])
    assert rows == [(1, "02")]


def test_a_very_long_field_is_read(tmp_path: Path) -> None:
    """Python's limit on the size of a field is none of the table's."""
    long = "x" * 200_000
    assert rows_of(tmp_path, f'a,b\n"{long}",\nu,v\n') == [(long, None), ("u", "v")]


def test_columns_kept_as_text(tmp_path: Path) -> None:
    """A column to keep as text keeps its leading zeros."""
    assert rows_of(tmp_path, "a,b\n01,01\n", as_text=["b", "unknown"]) == [(1, "01")]


@pytest.mark.parametrize("late", ["word", "1.5", "true"])
def test_a_column_that_changes_far_down_is_read(late: str, tmp_path: Path) -> None:
    """What a column holds is told by all of its rows, not by the first ones."""
    rows = rows_of(tmp_path, "a,b\n" + "1,2\n" * 10_500 + f"{late},2\n")
    assert len(rows) == 10_501
    assert str(rows[-1][0]) == late


BAD = {
    "empty": (b"", "is empty; give a table with a header row"),
    "newlines": (b"\n\n\n", "is empty"),
    "spaces": (b"   \n \n", "is empty"),
    "header": (b"a,b,y\n", "has a header but no rows"),
    "header and blanks": (b"a,b,y\n\n\n", "has a header but no rows"),
    "header unended": (b"a,b,y", "has a header but no rows"),
    "too many": (b"a,b,y\n1,2,p\n1,2,q,4\n", "ragged: a row has more fields than the header"),
    "too few": (b"a,b,y\n1,2,p\n1,2\n", "ragged: line 3 has 2 fields, the header has 3"),
    "too few, first": (b"a,y,b\n1,p\n1,p,2\n", "ragged: line 2 has 2 fields"),
    "too few, one": (b"a,y,b\n1,p,2\n1\n", "ragged: line 3 has 1 field, the header has 3"),
    "too few, in quotes": (b'a,y,b\n1,p,NA\n"1,p"\n', "ragged: line 3 has 1 field,"),
    "too few, after quotes": (b'a,y,b\n"1,\n1",p,\n1,p\n', "ragged: line 4 has 2 fields"),
    "same names": (b"a,b,a\n1,2,3\n", "has two columns named 'a'"),
    "same names in lines": (b'"x\ny",b,b\n1,2,3\n', "has two columns named 'b'"),
    "junk": (bytes(range(256)) * 9, "is not a table; give a CSV, TSV, Parquet, Arrow, Excel"),
    "UTF-16 unmarked": ("a,y\n1,p\n".encode("utf-16-le"), "is not a table"),
    "unclosed quote": (
        b'a,y\n"u,p\nv,q\n',
        "a quote that stands inside a value or is never closed",
    ),
    "unclosed quote in header": (b'"a,y\nv,q\n', "has a header but no rows|quote"),
    "stray quote": (b'a,y\n5" pipe,p\nv,q\n', "a quote that stands inside a value"),
    "old line ends": (b"a,y\r1,p\r2,q\r", "ends its lines in CR alone"),
    "damaged gzip": (gzip.compress(csv_bytes())[:-12], "is a damaged gzip file"),
    "mangled gzip": (
        gzip.compress(csv_bytes())[:20] + b"\xff" * 40,
        "is a damaged gzip file",
    ),
    "damaged zstd": (zstd.compress(csv_bytes())[:-6], "is a damaged zstd file"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "truncated parquet": (FORMS["table.parquet"][:-20], "is not a table that can be read"),
    "truncated arrow": (FORMS["table.arrow"][:60], "is not a table that can be read"),
    "truncated stream": (FORMS["stream.arrow"][:60], "is not a table that can be read"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    """A file that is no table is refused by name, with the reason, on one line."""
    written, reason = BAD[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(written)
    with pytest.raises(NullproofError, match=reason) as caught:
        read_file(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert "polars" not in message
    assert "infer_schema" not in message


def test_damaged_files_never_show_another_error(tmp_path: Path) -> None:
    """Whatever bytes are cut off or overwritten: a table or a NullproofError, nothing else."""
    seed = 7
    rng = random.Random(seed)
    path = tmp_path / "damaged"
    for name in ("plain.csv", "table.parquet", "table.arrow", "stream.arrow"):
        for packed in PACKINGS.values():
            for _ in range(25):
                raw = bytearray(packed(FORMS[name]))
                for _ in range(rng.choice([0, 1, 5])):
                    raw[rng.randrange(len(raw))] = rng.randrange(256)
                path.write_bytes(raw[: rng.choice([len(raw), rng.randrange(len(raw))])])
                with warnings.catch_warnings(), contextlib.suppress(NullproofError):
                    # A wrong byte may make a text look like one of Windows.
                    warnings.simplefilter("ignore", NullproofWarning)
                    read_file(path)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    """A missing file offers the names near it; a directory and an impossible name are told."""
    (tmp_path / "customers.csv").touch()
    with pytest.raises(NullproofError, match=r"no such file.*did you mean customers\.csv\?"):
        read_file(tmp_path / "custmers.csv")
    with pytest.raises(NullproofError, match=r"no such file.*; check the path"):
        read_file(tmp_path / "other.parquet")
    with pytest.raises(NullproofError, match=r"no such file.*; check the path"):
        read_file(tmp_path / "no" / "such.csv")
    with pytest.raises(NullproofError, match="is a directory; give one file"):
        read_file(tmp_path)
    with pytest.raises(NullproofError, match=r"cannot read .*too long"):
        read_file("x" * 5000)


def test_a_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that may not be opened is told as such, not as missing."""
    path = tmp_path / "secret.csv"
    path.write_bytes(csv_bytes())

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(NullproofError, match=r"cannot read .*: Permission denied"):
        read_file(path)


def test_zstd_without_its_extra_gives_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where zstd is not installed the message says how to install it."""
    path = tmp_path / "t.csv.zst"
    path.write_bytes(zstd.compress(csv_bytes()))
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(NullproofError, match=r'pip install "nullproof\[zstd\]"'):
        read_file(path)


def test_files_and_frames_count_the_same(tmp_path: Path) -> None:
    """Every format of the same table gives the same index as the data frame."""
    expected = CountIndex.from_table(FRAME, "y")
    for name, written in FORMS.items():
        path = tmp_path / name
        path.write_bytes(written)
        assert CountIndex.from_table(path, "y") == expected, name
        assert CountIndex.from_table(str(path), "y") == expected, name
