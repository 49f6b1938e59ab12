"""The paper's experiments: datasets are checked, runs can be interrupted, the page is whole."""

from __future__ import annotations

import argparse
import gzip
import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from experiments import paper
from experiments.paper import running
from experiments.paper.claims import claims_table
from experiments.paper.datasets import Dataset, Known, Note, generate, load_all
from experiments.paper.preparation import index_of, split
from experiments.paper.running import QUICK, Progress, load, measure
from experiments.paper.store import MEASURES, Store
from experiments.paper.summary import Results
from experiments.paper.tasks import PARTS, Task, carry_out
from nullproof import NullproofError, certify

SMALL = Known("small", ("small", "small_2024"), "y", (60, 4, 2), (("small_20", 20),))
OTHER = Known("other", ("other",), "y", (30, 3, 3))
GRID = replace(
    QUICK, rates=(0.2,), n_points=(1, 2), low_rates=(0.02,), n_agreement=5, limit=60.0, runs=2
)


def write(folder: Path, name: str, n_rows: int, n_columns: int = 4, n_labels: int = 2) -> None:
    columns = {f"x{j}": [(i * (j + 2)) % 7 for i in range(n_rows)] for j in range(n_columns - 2)}
    words = {"w": ["?" if i == 3 else "ab"[i % 2] for i in range(n_rows)]}
    table = pl.DataFrame({**columns, **words, "y": [f"l{i % n_labels}" for i in range(n_rows)]})
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(table.write_csv().encode()))


def loaded(folder: Path | None, **options: Any) -> list[Dataset | Note]:
    return list(load_all(folder, known=(SMALL,), **options))


@pytest.fixture
def datasets() -> list[Dataset]:
    """Two generated tables that pass for datasets of the paper."""
    return [replace(generate(SMALL), name="HE"), replace(generate(OTHER), name="FC")]


@pytest.mark.parametrize("name", ["small", "small_2024"])
def test_a_dataset_is_found_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    """Bins of equal width, words as they are, and a hole of the file as a value of its own."""
    write(tmp_path, name, 60)
    (found,) = loaded(tmp_path)
    assert isinstance(found, Dataset)
    assert (found.title, found.origin, found.codes.shape) == ("small", "real", (60, 3))
    assert found.n_values == (5, 5, 3)
    assert found.codes[3, 2] == 2
    assert found.labels[:4].tolist() == [0, 1, 0, 1]


def test_bins_have_equal_width(tmp_path: Path) -> None:
    """Numbers fall into five intervals of equal width, of which only those seen are a domain."""
    table = pl.DataFrame({"x": [0.0, 1.9, 2.0, 10.0, 9.0], "y": [*"ababa"]})
    (tmp_path / "five.csv.gz").write_bytes(gzip.compress(table.write_csv().encode()))
    (found,) = load_all(tmp_path, known=(Known("five", ("five",), "y", (5, 2, 2)),))
    assert isinstance(found, Dataset)
    assert found.codes[:, 0].tolist() == [0, 0, 1, 2, 2]
    assert found.labels.tolist() == [0, 1, 0, 1, 0]
    assert found.n_values == (3,)


def test_a_partial_dataset_is_named_so(tmp_path: Path) -> None:
    """A known part of a dataset is used, and says that it is one; the whole file comes first."""
    write(tmp_path, "small_20", 20)
    note, found = loaded(tmp_path)
    assert isinstance(note, Note)
    assert "20 of 60 rows" in note.reason
    assert isinstance(found, Dataset)
    assert found.title == "small (part)"
    write(tmp_path, "small", 60)
    assert [one.title for one in loaded(tmp_path) if isinstance(one, Dataset)] == ["small"]


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_labels", "said"),
    [
        (59, 4, 2, "59 rows × 4 columns"),
        (60, 5, 2, "should have 60 rows × 4 columns"),
        (60, 4, 3, "3 labels"),
    ],
)
def test_another_shape_is_named_and_left_out(
    tmp_path: Path, n_rows: int, n_columns: int, n_labels: int, said: str
) -> None:
    """A truncated or different file is no reason to stop, and none to stand in for it."""
    write(tmp_path, "small", n_rows, n_columns, n_labels)
    (note,) = loaded(tmp_path)
    assert isinstance(note, Note)
    assert note.reason.startswith("left out")
    assert said in note.reason


def test_a_damaged_file_is_named_and_left_out(tmp_path: Path) -> None:
    """A file cut off in the middle of its packing is left out like any other."""
    write(tmp_path, "small", 60)
    path = tmp_path / "small.csv.gz"
    path.write_bytes(path.read_bytes()[:40])
    (note,) = loaded(tmp_path)
    assert isinstance(note, Note)
    assert note.reason.startswith("left out")


def test_missing_datasets_are_stood_in_for_or_left_out(tmp_path: Path) -> None:
    """A stand-in has the right shape and is marked; the same one is made every time."""
    note, made = loaded(tmp_path)
    assert isinstance(note, Note)
    assert isinstance(made, Dataset)
    assert made.title == "small (generated)"
    assert (made.codes.shape, made.n_labels) == ((60, 3), 2)
    assert np.array_equal(made.codes, generate(SMALL).codes)
    assert made.codes[:4].tolist() == [[2, 1, 3], [2, 1, 3], [1, 3, 1], [3, 1, 3]]
    (note,) = loaded(None, stand_ins=False)
    assert isinstance(note, Note)
    assert note.reason.startswith("left out")


def test_splits_holes_and_points_come_from_the_seed(datasets: list[Dataset]) -> None:
    """80/20, exact rates over all or a fifth of the features, points that have a prediction."""
    one, again, other = split(datasets[0], 0), split(datasets[0], 0), split(datasets[0], 1)
    assert (one.train.n_rows, len(one.test)) == (48, 12)
    assert np.array_equal(one.train.codes, again.train.codes)
    assert not np.array_equal(one.train.codes, other.train.codes)
    everywhere, fifth = one.incomplete(0.25, "all"), one.incomplete(0.25, "a fifth")
    assert int((everywhere.codes < 0).sum()) == 36
    assert sorted((fifth.codes < 0).sum(axis=0).tolist()) == [0, 0, 12]
    points = one.points(5, predicted=True)
    assert certify(index_of(one.train), points, alpha=0).certain.all()
    assert len(datasets[0].head(10).labels) == 10
    assert datasets[0].head(100) is datasets[0]


def test_an_interrupted_run_goes_on_where_it_was(
    datasets: list[Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured is not measured again, a torn line is; in the end nothing is missing."""
    measured: list[Task] = []

    def watched(task: Task, *rest: Any) -> None:
        if len(measured) == stop:
            raise KeyboardInterrupt
        measured.append(task)
        carry_out(task, *rest)

    monkeypatch.setattr(running, "carry_out", watched)
    stop = 30
    with pytest.raises(KeyboardInterrupt):
        measure(datasets, GRID, Store(tmp_path, {"quick": True}), io.StringIO())
    path = tmp_path / "measurements.csv"
    path.write_text(path.read_text("utf-8")[:-5], "utf-8")
    stop = -1
    said = io.StringIO()
    measure(datasets, GRID, Store(tmp_path, {"quick": True}), said)
    assert "resuming: 29 measured before" in said.getvalue()
    assert "0 s left" in said.getvalue()
    assert len(measured) - 1 == len(set(measured)) == len(Store(tmp_path, {}).measures.rows)
    measure(datasets, GRID, Store(tmp_path, {"quick": True}), io.StringIO())
    assert len(measured) - 1 == len(set(measured))


def test_a_folder_holds_one_kind_of_measurements(tmp_path: Path) -> None:
    """Quick and full measurements are never mixed."""
    Store(tmp_path, {"quick": True})
    with pytest.raises(NullproofError, match="quick was True, is False"):
        Store(tmp_path, {"quick": False})


def test_measurements_agree_with_the_theory(datasets: list[Dataset], tmp_path: Path) -> None:
    """Iterate is never wrong, GS is ours, sampling errs to one side, fewer holes than the radius
    break nothing."""
    store = Store(tmp_path, {})
    measure(datasets, GRID, store, io.StringIO())
    results = Results.of(store)
    assert results.datasets == ["HE (generated)", "FC (generated)"]
    for name in ("Iterate", "Iterate+Index", "nullproof"):
        assert {row["n_wrong"] for row in results.some(part="decision", algorithm=name)} == {"0"}
    assert {row["n_wrong"] for row in results.some(part="certainty")} == {"0"}
    assert all(row["explained"] == "True" for row in results.exceptions)
    for run in ("0", "1"):
        cells = {
            row["algorithm"]: int(row["n_cells"])
            for row in results.some(part="single", dataset="HE (generated)", run=run)
        }
        assert cells["GS"] >= cells["nullproof"]
        assert min(cells["RP"], cells["SR"]) >= cells["nullproof"]


def test_what_takes_too_long_is_left_out(datasets: list[Dataset], tmp_path: Path) -> None:
    """Beyond the limit AD is left out and RP estimated; both say so."""
    store = Store(tmp_path, {})
    measure(datasets[:1], replace(GRID, limit=1e-9, runs=1), store, io.StringIO())
    results = Results.of(store)
    assert "left out" in {row["status"] for row in results.some(algorithm="AD")}
    assert {row["status"] for row in results.some(algorithm="RP")} == {"estimated"}


def test_the_whole_experiment(
    datasets: list[Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One command leaves tables, figures and a page that needs no other file."""
    rare = replace(datasets[0], name="elsewhere")
    notes = [Note("HE", "generated <stand-in>")]
    monkeypatch.setattr(paper, "load", lambda *_, **__: ([*datasets, rare], notes))
    monkeypatch.setattr(paper, "QUICK", replace(GRID, runs=1))
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    paper.add_arguments(parser)
    arguments = parser.parse_args(["--quick", "-o", str(tmp_path)])
    page = paper.run(arguments).read_text("utf-8")
    assert "generated &lt;stand-in&gt;" in page
    assert "src='data:image/svg+xml;base64," in page
    assert "http" not in page
    names = {path.stem for path in tmp_path.glob("*.svg")}
    assert names == {path.stem for path in tmp_path.glob("*.png")}
    assert {"decision_rates", "decision_points", "single_poisoning", "multiple_poisoning"} <= names
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert "elsewhere (generated)" in summary
    assert "AD says certain" in summary
    assert "| Iterate ÷ Iterate+Index, 2 points |" in summary
    assert "| SR ÷ GS, cells, 2 points |" in summary
    assert json.loads((tmp_path / "settings.json").read_text("utf-8"))["quick"]


def test_a_claim_is_set_beside_its_ratio() -> None:
    """The middle of the runs of each dataset is divided, and the geometric mean over datasets is shown."""
    rows = [
        {
            **asdict(Task("decision", dataset, algorithm, "all", 0.2, points, run)),
            "seconds": seconds,
        }
        for dataset, (alone, index) in {"HE": (8, 2), "FC": (1, 1)}.items()
        for run in range(3)
        for algorithm, seconds in (("Iterate", alone + 100 * (run == 2)), ("Iterate+Index", index))
        for points in (1, 16)
    ]
    rows += [
        {**asdict(Task("agreement", "HE", "GS", "none", 0.0, 9, 0)), "n_wrong": 2, "n_certain": 9},
        {**asdict(Task("single", "FC", "GS", "none", 0.0, 1, 0)), "poisoning_rate": 0.05},
        asdict(Task("multiple", "FC", "GS", "none", 0.0, 16, 0)),
    ]
    empty = dict.fromkeys(MEASURES, "")
    texts = [{**empty, **{name: str(value) for name, value in row.items()}} for row in rows]
    _, table = claims_table(Results(texts, [], []))
    found = {row[0]: (row[2], row[3]) for row in table}
    assert found["Iterate ÷ Iterate+Index, 16 points"] == ("2.0 (1.0 to 4.0)", "2")
    assert found["Iterate+Index ÷ Iterate, 1 point"] == ("0.5 (0.25 to 1.0)", "2")
    assert found["AD ÷ Iterate+Index, 16 points"] == ("–", "0")
    assert found["GS blanks the fewest cells for one point"] == ("not on 2 of 9 points", "1")
    assert found["Poisoning rate of GS for one point, FC beside WQ"] == ("FC 5.00%", "1")


@pytest.mark.parametrize("part", PARTS)
def test_one_part_alone(
    datasets: list[Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Only what was asked for is measured."""
    monkeypatch.setattr(paper, "load", lambda *_, **__: (datasets[:1], []))
    monkeypatch.setattr(paper, "QUICK", replace(GRID, runs=1))
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    paper.add_arguments(parser)
    measured = pl.read_csv(
        paper.run(parser.parse_args(["--quick", "--part", part, "-o", str(tmp_path)]))
    )
    assert measured["part"].unique().to_list() == [part]


def test_without_any_dataset_there_is_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No data and no stand-ins: one sentence, no page."""
    monkeypatch.setattr(paper, "load", lambda *_, **__: ([], []))
    options = argparse.Namespace(
        quick=True,
        data=None,
        output=tmp_path,
        runs=1,
        limit=1.0,
        part=None,
        real_only=True,
        openml=False,
    )
    with pytest.raises(SystemExit, match="no dataset"):
        paper.run(options)


def test_openml_fills_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What OpenML has is saved under its file name, once, and checked like any other file."""
    asked: list[int] = []

    class Fetched:
        frame = pd.DataFrame({"class": ["e", "p"], "odor": ["a", "b"]})

    def fetch(*, data_id: int, **_: Any) -> Fetched:
        asked.append(data_id)
        return Fetched()

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    for _ in range(2):
        found, notes = load(tmp_path, stand_ins=False, openml=True, max_rows=None)
    assert (found, asked) == ([], [24])
    told = {note.name: note.reason for note in notes}
    assert "mushrooms.csv has 2 rows × 2 columns" in told["MR"]
    assert "left out" in told["hypothyroid"]
    assert "MR: left out" in capsys.readouterr().err


def test_quick_takes_some_of_the_rows(
    datasets: list[Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer rows are a deviation from the paper too, and told."""
    monkeypatch.setattr(running, "load_all", lambda *_, **__: datasets)
    found, notes = load(None, stand_ins=True, openml=False, max_rows=40)
    assert [len(one.labels) for one in found] == [40, 30]
    assert [note.name for note in notes] == ["HE"]


def test_time_left_is_told_on_a_terminal(datasets: list[Dataset]) -> None:
    """On a terminal one line is written over and over."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    tasks = GRID.tasks("HE", 0)
    progress = Progress(2, stream)
    progress.done(tasks[0], 1.0, tasks[1:])
    progress.done(tasks[1], 1.0, [])
    assert stream.getvalue().startswith("\r")
    assert stream.getvalue().endswith("left" + stream.getvalue().rpartition("left")[2])
