"""An index on disk comes back as it was, or not at all.

``NULLPROOF_FLIPS`` sets how many of a file's bits are flipped one by one; a million is all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from support.counted import index_of
from support.strategies import Case, cases

from nullproof.counts import parquet as saving
from nullproof.counts import sparse as eager
from nullproof.counts.index import CountIndex
from nullproof.counts.parquet import is_saved
from nullproof.errors import NullproofError

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

ROWS = [("a", None), ("a", "x"), ('b\n"ü"', {"x", "y"}), ("null", "y")]
LABELS = ["yes", "yes", "no", "no"]
N_FLIPS = int(os.environ.get("NULLPROOF_FLIPS", "1500"))


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS, domains={"x1": ["", "z"]}, missing=("?",))


@given(cases())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_indexes_come_back(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    """load(save(index)) equals index."""
    path = tmp_path_factory.mktemp("saved") / "case.index"
    before = index_of(case)
    before.save(path)
    after = CountIndex.load(path)
    assert after == before
    assert after.schema == before.schema


def test_everything_comes_back(tmp_path: Path) -> None:
    """Bins, dates, booleans, declared values, odd texts, sets, spellings of missing and label types."""
    frame = pl.DataFrame(
        {
            "number": [1.5, None, 3.25, float("inf")],
            "day": pl.Series(["2024-01-01", "2024-02-01", None, "2024-03-01"]).str.to_date(),
            "flag": [True, False, None, True],
            "label": [1, 2, 2, 1],
        }
    )
    for before in (index(), CountIndex.from_table(frame, "label")):
        before.save(tmp_path / "a.index")
        after = CountIndex.load(tmp_path / "a.index")
        assert after == before
        assert after.schema == before.schema
        assert [type(label) for label in after.labels] == [type(label) for label in before.labels]


def test_sparse_counts_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that are kept sparse are saved and loaded alike."""
    monkeypatch.setattr(eager, "_JOINT", 10)
    monkeypatch.setattr(eager, "_DENSE", 10)
    rng = np.random.default_rng(0)
    rows = [(f"id{k}", str(rng.integers(3))) for k in range(60)]
    before = CountIndex.from_rows(rows, [str(k % 20) for k in range(60)])
    assert isinstance(before.known[0], eager.SparseCounts)
    before.save(tmp_path / "a.index")
    assert CountIndex.load(tmp_path / "a.index") == before


def test_the_file_is_ordinary_parquet(tmp_path: Path) -> None:
    """Any Parquet reader sees features, values, labels and counts."""
    path = tmp_path / "a.index"
    index().save(path)
    frame = pl.read_parquet(path)
    assert frame.columns == ["feature", "value", "labels", "counts"]
    assert frame.filter(pl.col("value") == "a")["counts"].to_list() == [[2]]
    header = json.loads(pl.read_parquet_metadata(path)["nullproof"])
    assert header["version"] == 3
    assert is_saved(path)
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(path).to_pylist() == frame.to_dicts()
    duckdb = pytest.importorskip("duckdb")
    read = "select feature, value, labels, counts from read_parquet(?)"
    assert duckdb.execute(read, [str(path)]).fetchall() == frame.rows()


def test_texts_that_look_like_a_seal_come_back(tmp_path: Path) -> None:
    """Values, labels and names may hold anything, also what marks the digest in the file."""
    marks = [saving._SEAL_MARK.decode(), saving._SEAL + "0" * 64, saving._SEAL_MARK.decode() * 9]
    before = CountIndex.from_rows(
        [(mark, None) for mark in marks],
        [marks[0], marks[1], marks[0]],
        features=[marks[0], marks[1]],
        missing=marks[2:],
    )
    before.save(tmp_path / "[a]*.index")
    after = CountIndex.load(tmp_path / "[a]*.index")
    assert after == before
    assert after.schema == before.schema
    pl.DataFrame({"a": [saving._SEAL, saving._SEAL + "0" * 64]}).write_parquet(tmp_path / "plain")
    assert not is_saved(tmp_path / "plain")


def damages(whole: bytes, other: bytes) -> Iterator[bytes]:
    """The bytes of a file cut, lengthened, with blocks swapped, wiped or from another file."""
    size, rng = len(whole), np.random.default_rng(0)
    yield from (whole[:cut] for cut in {0, 3, 4, 8, 11, 12, 40, size // 2, *range(size - 20, size)})
    yield from (whole[cut:] for cut in (1, 4, size // 2, size - 12, size - 8))
    yield from (whole + more for more in (b"\0", b"PAR1", bytes(4096), whole, other))
    yield from (b"\0" + whole, b"PAR1" + whole, other + whole)
    for _ in range(200):
        a, b, c = sorted(rng.integers(0, size + 1, 3).tolist())
        yield whole[:a] + whole[b:c] + whole[a:b] + whole[c:]
        yield whole[:a] + bytes(b - a) + whole[b:]
        yield whole[:a] + rng.bytes(b - a) + whole[b:]
        yield whole[:a] + other[a:]
        yield whole[:a] + other[a:b] + whole[b:]
        yield whole[:a] + other[max(0, len(other) - (size - a)) :]
    # The footer may claim any length.
    for length in (0, 1, size - 12, size, 2**31 - 1, 2**32 - 1):
        yield whole[:-8] + length.to_bytes(4, "little") + whole[-4:]


def flips(whole: bytes) -> Iterator[bytes]:
    """Files that differ in one bit."""
    bits = np.arange(len(whole) * 8)
    if len(bits) > N_FLIPS:
        bits = np.random.default_rng(0).choice(bits, N_FLIPS, replace=False)
    for bit in bits.tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Whatever happened to its bytes, a file is refused in one sentence or is the index it was."""
    path = tmp_path / "a.index"
    (index() + index()).save(path)
    other = path.read_bytes()
    index().save(path)
    whole = path.read_bytes()
    n_refused = 0
    for damaged in (*damages(whole, other), *flips(whole)):
        path.write_bytes(damaged)
        assert isinstance(is_saved(path), bool)
        if damaged in (whole, other):
            continue
        with pytest.raises(NullproofError) as refused:
            CountIndex.load(path)
        assert str(refused.value).startswith(str(path))
        assert "; " in str(refused.value)
        assert "\n" not in str(refused.value)
        n_refused += 1
    assert n_refused > 1200


def test_an_index_stays_one_with_a_flipped_bit(tmp_path: Path) -> None:
    """A damaged index is told as such and not taken for a table, unless it is no Parquet any more."""
    path = tmp_path / "a.index"
    index().save(path)
    whole = path.read_bytes()
    for bit in range(32, 8 * (len(whole) - 8), 31):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert is_saved(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header, frame: header.update(version=99), "install a newer nullproof"),
        (lambda header, frame: header.update(version=1), "count the table again"),
        (lambda header, frame: header.update(label_counts=[5, 5]), "was altered"),
        (lambda header, frame: frame.append(frame.pop(0).fill_null("new")), "was altered"),
        (lambda header, frame: frame.append(frame.pop(0).reverse()), "was altered"),
    ],
)
def test_altered_files_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    """What another program has written anew gets a clear error, with the seal of before or without."""
    path = tmp_path / "a.index"
    index().save(path)
    metadata = dict(pl.read_parquet_metadata(path))
    header, frames = json.loads(metadata["nullproof"]), [pl.read_parquet(path)]
    change(header, frames)
    seal = {"nullproof-seal": metadata["nullproof-seal"]}
    for more in ({}, seal) if said == "was altered" else ({},):
        frames[0].write_parquet(path, metadata={"nullproof": json.dumps(header), **more})
        assert is_saved(path)
        with pytest.raises(NullproofError, match=said):
            CountIndex.load(path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"version": 4, "labels": []}, "has format 4 and this nullproof reads format 3; install a"),
        ({"version": 2, "labels": []}, "has format 2, which an older nullproof wrote"),
        ({"version": 3, "labels": []}, "is damaged or was altered"),
        ({"version": "3"}, "is damaged or was altered"),
        ([], "is damaged or was altered"),
    ],
)
def test_sealed_files_of_others_are_refused(tmp_path: Path, header: Any, said: str) -> None:
    """A whole seal does not make an index: what cannot be understood is refused as well."""
    path = tmp_path / "a.index"
    metadata = {"nullproof": json.dumps(header), "nullproof-seal": saving._SEAL + saving._OPEN}
    pl.DataFrame({"a": [1]}).write_parquet(path, metadata=metadata)
    saving._seal(path)
    with pytest.raises(NullproofError, match=said):
        CountIndex.load(path)


@pytest.mark.parametrize(
    "problem",
    [
        pl.exceptions.PanicException("broken"),
        MemoryError(),
        RecursionError(),
        OSError(5, "Input/output error"),
        ZeroDivisionError(),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    """A reader that panics or runs out of memory ends in the error that all others end in."""

    def fail(*_: Any, **__: Any) -> None:
        raise problem

    index().save(tmp_path / "a.index")
    monkeypatch.setattr(pl, "read_parquet", fail)
    with pytest.raises(NullproofError, match=r"a\.index"):
        CountIndex.load(tmp_path / "a.index")


def test_odd_paths_are_no_index(tmp_path: Path) -> None:
    """A folder, a pipe and a path that cannot be are not opened, and hold no index."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "a\0b", "", tmp_path / ("x" * 5000)):
        assert not is_saved(path)
        with pytest.raises(NullproofError):
            CountIndex.load(path)


def test_a_training_table_is_told_apart_by_its_end(tmp_path: Path) -> None:
    """Whether a file is an index is seen without reading its rows."""
    path = tmp_path / "large.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    small = path.read_bytes()
    with path.open("wb") as stream:
        stream.write(small[:4])
        stream.seek(50_000_000_000)
        stream.write(small)
    assert not is_saved(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a text file and a plain Parquet file are no index."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    for name in ("none.index", "a.csv", "a.parquet"):
        with pytest.raises(NullproofError, match="index"):
            CountIndex.load(tmp_path / name)
        assert not is_saved(tmp_path / name)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If writing breaks off, the file of before is still whole and nothing else is left."""
    path = tmp_path / "a.index"
    index().save(path)

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", broken)
    with pytest.raises(NullproofError, match="No space left"):
        (index() + index()).save(path)
    assert CountIndex.load(path) == index()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.index"]
