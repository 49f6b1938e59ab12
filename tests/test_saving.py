"""An index on disk comes back as it was, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from strategies import Case, cases

from nullproof.counting import eager
from nullproof.counting.saving import is_saved
from nullproof.errors import NullproofError
from nullproof.index import CountIndex

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

ROWS = [("a", None), ("a", "x"), ('b\n"ü"', {"x", "y"}), ("null", "y")]
LABELS = ["yes", "yes", "no", "no"]


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS, domains={"x1": ["", "z"]}, missing=("?",))


@given(cases())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_indexes_come_back(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    """load(save(index)) equals index."""
    path = tmp_path_factory.mktemp("saved") / "case.index"
    before = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
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
    index().save(tmp_path / "a.index")
    frame = pl.read_parquet(tmp_path / "a.index")
    assert frame.columns == ["feature", "value", "labels", "counts"]
    assert frame.filter(pl.col("value") == "a")["counts"].to_list() == [[2]]
    header = json.loads(pl.read_parquet_metadata(tmp_path / "a.index")["nullproof"])
    assert header["version"] == 1
    assert is_saved(tmp_path / "a.index")


def test_truncated_files_are_refused(tmp_path: Path) -> None:
    """A file cut anywhere is an error, never a smaller index."""
    path = tmp_path / "a.index"
    index().save(path)
    whole = path.read_bytes()
    for size in (0, 3, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(NullproofError):
            CountIndex.load(path)
        assert not is_saved(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header, frame: header.update(version=99), "install a newer nullproof"),
        (lambda header, frame: header.update(label_counts=[5, 5]), "was altered"),
        (lambda header, frame: header.pop("digest"), "was altered"),
        (lambda header, frame: frame.append(frame.pop(0).fill_null("new")), "was altered"),
        (lambda header, frame: frame.append(frame.pop(0).reverse()), "was altered"),
    ],
)
def test_altered_files_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    """Changed counts, a changed header or a newer format get a clear error."""
    path = tmp_path / "a.index"
    index().save(path)
    header = json.loads(pl.read_parquet_metadata(path)["nullproof"])
    frames = [pl.read_parquet(path)]
    change(header, frames)
    frames[0].write_parquet(path, metadata={"nullproof": json.dumps(header)})
    with pytest.raises(NullproofError, match=said):
        CountIndex.load(path)


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
