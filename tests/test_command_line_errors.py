"""Mistakes on the command line: one sentence on stderr, exit code 2, and every file as it was."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import CERTIFY, SOURCE, TRAIN, Runner, one_line

from nullproof import CountIndex

LABEL = "--label churn"
BOTH = f"train.csv test.csv {LABEL}"
INDEX = f"index train.csv {LABEL} -o new.index"

# The files beside train.csv and test.csv.
FILES = {
    "unlabelled.csv": TRAIN.replace("31,Ulm,no", "31,Ulm,"),
    "featureless.csv": "colour,shape\nred,round\n",
    "words.csv": "age,town\nold,Ulm\n",
    "headed.csv": "age,town,churn\n",
    "empty.csv": "",
    "half.json": json.dumps(
        {key: {} for key in ("title", "table", "certain", "fragility", "asked")}
        | {"verdicts": {"groups": []}, "points": []}
    ),
}
# What a person types, and what the sentence has to name: what came, and what helps.
CALLS: dict[str, tuple[str, ...]] = {
    # Files
    f"certify nowhere.csv {LABEL}": ("no such file", "nowhere.csv"),
    f"certify train.csv {LABEL} tset.csv": ("tset.csv", "test.csv"),
    f"certify train.csv {LABEL} --missing agee=28": ("'agee'", "missing"),
    f"odds train.csv folder {LABEL}": ("folder", "directory"),
    f"certify folder test.csv {LABEL}": ("folder", "no CSV or Parquet"),
    f"certify folder {LABEL}": ("folder", "TEST"),
    f"radius empty.csv {LABEL}": ("empty.csv is empty",),
    f"clean headed.csv {LABEL}": ("headed.csv", "no rows"),
    f"report unlabelled.csv {LABEL}": ("'churn'", "0"),
    f"certify train.csv featureless.csv {LABEL}": ("lack", "'age'"),
    f"clean train.csv words.csv {LABEL}": ("'age'", "'old'"),
    f"poison - - {LABEL}": ("TRAIN", "TEST", "standard input"),
    "certify old.index": ("old.index", "TEST"),
    "poison old.index test.csv": ("old.index", "table"),
    "index old.index -o new.index": ("old.index", "table"),
    f"certify {BOTH} --like train.csv": ("train.csv", "index"),
    "certify train.csv --like nothing.index": ("nothing.index",),
    # Columns
    "certify train.csv --label chrun": ("'chrun'", "'churn'"),
    "certify train.csv": ("--label", "age"),
    f"certify {BOTH} --bias agee=0.1": ("'agee'", "'age'"),
    # Options that are not there, or not there alone
    "certify": ("'TRAIN'", "--help"),
    "certfy": ("'certfy'",),
    f"certify {BOTH} --label town": ("--label", "once"),
    f"radius {BOTH} --cells uniform": ("--cells", "odds"),
    f"odds {BOTH} --bias 0.1": ("--bias", "certify, clean, report and audit", "odds"),
    f"odds {BOTH} --own-missing any": ("--own-missing", "certify"),
    f"odds {BOTH} --cells model": ("cells", "'model'", "'observed'"),
    f"odds {BOTH} --point 99": ("--point", "'99'"),
    f"odds {BOTH} --point 0 --all": ("--all", "--point"),
    f"radius {BOTH} --bias 0.1": ("--bias", "certify", "radius"),
    "demo --json": ("--json", "demo"),
    f"{INDEX} --alpha 1": ("--alpha", "certify"),
    f"index {BOTH} -o new.index": ("test.csv", "--help"),
    f"poison train.csv {LABEL}": ("TEST",),
    f"index train.csv {LABEL}": ("-o FILE",),
    f"poison {BOTH} --steps 3 --time-limit 3": ("--steps", "--time-limit"),
    f"clean {BOTH} --repaired new.csv": ("--repaired", "--answers"),
    f"certify {BOTH} --bins 7": ("--bins", "uniform"),
    f"radius {BOTH} --curve --check --min-radius 9": ("--check", "--curve"),
    f"radius {BOTH} --curve --point 0": ("--point", "--curve"),
    f"certify {BOTH} --explain 0 --check --min-share 0": ("--min-share", "--explain"),
    f"certify - test.csv {LABEL} --memory-limit 1GB": ("--memory-limit", "standard input"),
    # Options that a saved index makes meaningless
    "certify old.index test.csv --label town": ("--label", "'town'", "old.index"),
    "certify old.index test.csv --like old.index": ("--like", "old.index"),
    "certify old.index test.csv --drop-unlabelled": ("old.index",),
    "odds old.index test.csv --missing x": ("--missing", "old.index"),
    f"report {BOTH} --like old.index --ignore age": ("--ignore", "old.index"),
    "certify train.csv test.csv --label town --like old.index": ("'town'", "old.index"),
    # Values
    f"certify {BOTH} --bias age=2": ("'age'", "2"),
    f"certify {BOTH} --bias lots": ("--bias", "'lots'"),
    f"certify {BOTH} --bias age=": ("--bias", "'age='"),
    f"certify {BOTH} --bias age=1 --bias age=0": ("--bias", "'age'", "two"),
    f"radius {BOTH} --alpha x": ("'x'", "1/2"),
    f"report {BOTH} --prior yes=1": ("--prior", "no, yes"),
    f"clean {BOTH} --own-missing any": ("--own-missing", "certify"),
    f"certify {BOTH} --bins ²": ("--bins", "'²'"),
    f"certify {BOTH} --binning x": ("'x'", "'mdl'"),
    f"certify {BOTH} --binning mdl --binning none": ("--binning", "two"),
    f"radius {BOTH} --threat row": ("threat", "'row'", "'cells'"),
    # Where the answer goes
    f"certify {BOTH} -o out.xlsx": ("out.xlsx", ".csv"),
    f"certify {BOTH} -o ./test.csv": ("test.csv",),
    f"poison {BOTH} -o out.json": (".csv or .parquet",),
    f"poison {BOTH} -o train.csv": ("train.csv",),
    f"radius {BOTH} -o nowhere/out.csv": ("nowhere",),
    f"odds {BOTH} -o folder": ("-o folder",),
    f"certify {BOTH} -o folder.csv": ("folder.csv", "folder"),
    f"index train.csv {LABEL} -o train.csv": ("-o train.csv",),
    f"clean {BOTH} -o test.csv": ("-o test.csv",),
    f"certify {BOTH} --like old.index -o old.index": ("old.index",),
    f"certify t*n.csv test.csv {LABEL} -o train.csv": ("-o train.csv",),
    f"certify . test.csv {LABEL} -o out.csv": ("-o out.csv", "which is an input"),
    f"report {BOTH} --compare half.json": ("half.json", "report"),
    f"report {BOTH} -o report.pdf": ("report.pdf", ".html"),
    f"report {BOTH} --compare nothing.json": ("nothing.json",),
    f"report {BOTH} --compare train.csv": ("train.csv", "report"),
}


@pytest.fixture
def clumsy(folder: Path) -> Path:
    """Make the folder of a person in a hurry."""
    for name, content in FILES.items():
        (folder / name).write_text(content)
    for name in ("folder", "folder.csv"):
        (folder / name).mkdir()
    CountIndex.from_table(folder / "train.csv", "churn").save(folder / "old.index")
    return folder


@pytest.mark.parametrize("call", CALLS)
def test_clumsy_calls(run: Runner, clumsy: Path, call: str) -> None:
    """One sentence that names what came and what helps; nothing on stdout, and every file as it was."""
    before = {path: path.is_file() and path.read_bytes() for path in clumsy.iterdir()}
    done = run("-q", *call.split(), stdin=TRAIN.encode())
    one_line(done, *CALLS[call])
    assert {path: path.is_file() and path.read_bytes() for path in clumsy.iterdir()} == before
    assert not [*(clumsy / "folder").iterdir()]


def test_debug_gives_the_traceback(run: Runner) -> None:
    """With --debug an error comes with where it comes from; the exit code is the same."""
    for arguments, said in (
        (("certify", "no.csv", "--debug", "--label", "x"), "no.csv"),
        (("--debug", "frob"), "'frob'"),
    ):
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("Traceback (most recent call last)")
        assert said in done.err


class OddError(BaseException):
    """As polars' panics are: no Exception."""


MISTAKES: list[tuple[BaseException, int, str]] = [
    (KeyboardInterrupt(), 130, "interrupted"),
    (MemoryError(), 2, "memory"),
    (OSError(28, "No space left on device"), 2, "No space left on device"),
    (ZeroDivisionError("oh"), 2, "ZeroDivisionError: oh"),
    (ImportError("no module\nof that name"), 2, "no module of that name"),
    (pl.exceptions.PanicException("index out\nof bounds"), 2, "index out of bounds"),
    (OddError("odd"), 2, "OddError: odd"),
    (GeneratorExit(), 2, "GeneratorExit"),
    (SystemExit("a text, which Python ends with 1 for"), 2, "a text, which Python ends"),
    (SystemExit(1), 2, ""),
    (SystemExit(143), 143, ""),
    (SystemExit(0), 0, ""),
]


@pytest.mark.parametrize(("problem", "code", "message"), MISTAKES)
def test_what_should_not_happen(
    run: Runner, problem: BaseException, code: int, message: str
) -> None:
    """Whatever comes up is told in one line; exit code 1 never means anything but an open point."""
    done = run("certify", "-", *CERTIFY[2:], "--check", stdin=problem)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert done.err.count("\n") == bool(message)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("closed", ["", "2>&-"])
def test_a_full_disk_behind_the_output(folder: Path, closed: str) -> None:
    """Output that cannot be written is an error with its code, even if that cannot be told."""
    command = shlex.join([sys.executable, "-m", "nullproof", *CERTIFY, "-q"])
    done = subprocess.run(
        f"{command} >/dev/full {closed}",
        shell=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=False,
    )
    assert done.returncode == 2
    if not closed:
        assert done.stderr.count(b"\n") == 1
        assert b"No space left" in done.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left"), pl.exceptions.ComputeError("no")]
)
def test_nothing_half_written_is_left(
    run: Runner,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    problem: Exception,
) -> None:
    """If polars fails in the midst of a file, what was there before stays, and no scrap beside it."""
    (folder / f"out.{ending}").write_text("before")
    before = sorted(folder.iterdir())

    def fail(_: Any, target: Any = None, **__: Any) -> None:
        if isinstance(target, str | Path):
            Path(target).write_bytes(b"half")
        raise problem

    for frame in (pl.DataFrame, pl.LazyFrame):
        for name in ("write_csv", "write_parquet", "sink_csv", "sink_parquet"):
            if hasattr(frame, name):
                monkeypatch.setattr(frame, name, fail)
    one_line(run(*CERTIFY, "-o", f"out.{ending}"), str(problem).removeprefix("[Errno 28] "))
    assert sorted(folder.iterdir()) == before
    assert (folder / f"out.{ending}").read_text() == "before"
