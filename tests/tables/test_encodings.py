"""Text that is not UTF-8: read by its mark, by its name, or as Windows writes it."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import polars as pl
import pytest

from nullproof import CountIndex, NullproofError, NullproofWarning, certify
from nullproof.tables.contents import FileOptions
from nullproof.tables.formats import read_file

TABLE = "größe,ville,y\n1,Orléans,p\n2,„Köln“ – €,q\n,Besançon,p\n"
CYRILLIC = "возраст,город,y\n1,Тула,да\n2,Омск,нет\n"
EXPECTED = pl.read_csv(TABLE.encode())


def read(folder: Path, written: bytes, encoding: str | None = None) -> pl.DataFrame:
    path = folder / "t.csv"
    path.write_bytes(written)
    return read_file(path, options=FileOptions(encoding=encoding)).frame


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marked_text_is_read_by_its_mark(encoding: str, end: str, tmp_path: Path) -> None:
    """A byte order mark says what the text is, and nothing needs to be told."""
    assert read(tmp_path, TABLE.replace("\n", end).encode(encoding)).equals(EXPECTED)


def test_big_end_first(tmp_path: Path) -> None:
    """Both orders of bytes are known."""
    assert read(tmp_path, ("\ufeff" + TABLE).encode("utf-16-be")).equals(EXPECTED)


def test_windows_text_is_read_and_told(tmp_path: Path) -> None:
    """What is not UTF-8 but can be text of Windows is read as that, with a notice."""
    with pytest.warns(NullproofWarning, match=r"was read as cp1252 .*name its encoding") as told:
        assert read(tmp_path, TABLE.encode("cp1252")).equals(EXPECTED)
    assert len(told) == 1


def test_windows_text_far_down_is_read(tmp_path: Path) -> None:
    """The first letter that is not ASCII may stand anywhere."""
    with pytest.warns(NullproofWarning, match="cp1252"):
        frame = read(tmp_path, b"a,y\n" + b"u,p\n" * 9_999 + b"\xe9,q\n")
    assert frame["a"][-1] == "é"


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16-le", "utf_8"])
def test_a_named_encoding_is_taken(encoding: str, tmp_path: Path) -> None:
    """A name decides, and then there is nothing to tell."""
    frame = read(tmp_path, CYRILLIC.encode(encoding), encoding)
    assert frame.equals(pl.read_csv(CYRILLIC.encode()))


def test_arff_in_other_encodings(tmp_path: Path) -> None:
    """ARFF is text like any other."""
    written = "@relation r\n@attribute größe {groß,klein}\n@attribute y {p,q}\n@data\ngroß,p\n"
    (tmp_path / "t.arff").write_bytes(written.encode("latin-1"))
    with pytest.warns(NullproofWarning, match="cp1252"):
        frame = read_file(tmp_path / "t.arff").frame
    assert frame.rows() == [("groß", "p")]
    assert frame.columns == ["größe", "y"]


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        ("klingon", "encoding is 'klingon', which is no encoding of text that Python knows"),
        ("base64", "encoding is 'base64', which is no encoding of text"),
        ("a\0b", "which is no encoding of text"),
        ("utf-8", r"is not utf-8 text \(byte 3: invalid .*\); name another encoding"),
        ("ascii", r"is not ascii text \(byte 3"),
        ("utf-16-le", "zero bytes|not utf-16-le text|is not a table|has a header"),
    ],
)
def test_wrong_names_are_refused(encoding: str, reason: str, tmp_path: Path) -> None:
    """A name that Python does not know, or that does not fit, is refused in one sentence."""
    with pytest.raises(NullproofError, match=reason) as caught:
        read(tmp_path, TABLE.encode("cp1252"), encoding)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Bytes that Windows does not have, control bytes, and mostly foreign letters are not guessed at."""
    for written in (b"a,y\n\x81,p\n", b"a,y\n\xe9\x01,p\n", CYRILLIC.encode("cp1251")):
        with pytest.raises(NullproofError, match=r"not UTF-8 text \(line \d, byte 1\).*--encoding"):
            read(tmp_path, written)


def test_random_bytes_are_one_sentence(tmp_path: Path) -> None:
    """Whatever the bytes: a table, or one sentence."""
    rng = random.Random(11)
    n_refused = n_read = 0
    for _ in range(300):
        written = rng.randbytes(rng.choice([1, 8, 50, 3000]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NullproofWarning)
            try:
                read(tmp_path, written, rng.choice([None, None, "cp1252", "utf-16", "utf-8"]))
            except NullproofError as problem:
                n_refused += "\n" not in str(problem)
            else:
                n_read += 1
    assert n_refused + n_read == 300
    assert n_refused > 250


def test_training_table_and_points_may_differ(tmp_path: Path) -> None:
    """Values are compared as text, whatever the encoding of each file."""
    (tmp_path / "train.csv").write_bytes(TABLE.encode("cp1252"))
    (tmp_path / "test.csv").write_bytes(TABLE.encode("utf-16"))
    index = CountIndex.from_table(tmp_path / "train.csv", "y", encoding="cp1252")
    assert index == CountIndex.from_table(EXPECTED, "y")
    assert len(certify(index, tmp_path / "test.csv")) == 3
