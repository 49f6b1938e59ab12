"""Pieces of a text file: whole rows, all of them, none twice."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from nullproof.tables.contents import Content
from nullproof.tables.pieces import header_of, pieces

CELLS = ("a", "", '"x, y"', '"two\nlines"', '"say ""no"""', "5", '"\r\n"')


def rows_of(text: bytes) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text.decode(), newline="")) if row]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("top", ["", "\ufeff", "\n\n"])
def test_rows_are_never_cut(tmp_path: Path, end: str, top: str) -> None:
    """Pieces of any size hold the rows of the file in their order, and know how many lines are above."""
    draw = random.Random(0)
    lines = [",".join(draw.choice(CELLS) for _ in range(3)) for _ in range(40)]
    path = tmp_path / "table.csv"
    path.write_bytes((top + end.join(['one,two,"th\nree"', *lines])).encode())
    content = Content(path)
    header = header_of(content)
    assert rows_of(header.removeprefix(b"\xef\xbb\xbf")) == [["one", "two", "th\nree"]]
    whole = path.read_bytes()[len(header) :]
    for size in (1, 2, 7, 50, 10_000):
        found = list(pieces(content, len(header), size))
        assert b"".join(piece.data for piece in found) == whole
        assert [row for piece in found for row in rows_of(piece.data)] == rows_of(whole)
        n_lines = [piece.data.count(b"\n") for piece in found]
        assert [piece.n_above for piece in found] == [sum(n_lines[:k]) for k in range(len(found))]
        assert found[-1].share == 1


def test_a_file_without_a_header(tmp_path: Path) -> None:
    """From the beginning on, the mark of UTF-8 is no part of the first row."""
    path = tmp_path / "table.csv"
    path.write_bytes("\ufeff1,2\n3,4\n".encode())
    assert [piece.data for piece in pieces(Content(path), 0, 1)] == [b"1,2\n", b"3,4\n"]


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    """Then all that follows is one piece, which the reader refuses."""
    path = tmp_path / "table.csv"
    path.write_bytes(b'a,b\n1,2\n"3,4\n5,6\n')
    assert [piece.data for piece in pieces(Content(path), 4, 5)] == [b"1,2\n", b'"3,4\n5,6\n']
