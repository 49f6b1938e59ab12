"""Two small tables and a way to run the command line on them in this process."""

from __future__ import annotations

import atexit
import gc
import io
import os
import subprocess
import sys
import warnings
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import polars as pl
import pytest

from nullproof.__main__ import main

TRAIN = "age,town,churn\n31,Ulm,no\n,Bonn,no\n50,,yes\n64,Bonn,yes\n33,Ulm,no\n61,Ulm,yes\n"
TEST = "town,age,churn,other\nUlm,32,?,1\nBonn,62,,2\n,33,yes,3\n"

SOURCE = Path(__file__).parents[2] / "src"
PAPER = ("--alpha", "0", "--binning", "uniform")
CERTIFY = ("certify", "train.csv", "test.csv", "--label", "churn", *PAPER)


def demo_tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Load the training table of the demo and its new customers, which are part of the package."""
    folder = files("nullproof") / "demo"
    return (
        pl.read_csv((folder / "customers.csv").read_bytes()),
        pl.read_csv((folder / "new_customers.csv").read_bytes()),
    )


def write_customers(folder: Path) -> None:
    """Write the demo's table and five customers: one lacks a cell, one has a new label, one has none."""
    train, new = demo_tables()
    train.write_csv(folder / "customers.csv")
    points = new[[0, 2, 3, 3, 1]].with_columns(
        churn=pl.Series(["yes", "yes", "yes", "maybe", None])
    )
    points[3, "in_us"] = None
    points.write_csv(folder / "new.csv")


class Done(NamedTuple):
    """What a run left behind."""

    code: int
    out: str
    err: str


class Failing(io.RawIOBase):
    """A stream that cannot be read."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__()
        self.problem = problem

    def read(self, size: int = -1) -> bytes:
        raise self.problem

    def readinto(self, buffer: Any) -> int:
        raise self.problem


class Runner:
    """Runs the command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: str, stdin: bytes | BaseException = b"") -> Done:
        """Run a command; an exception as standard input comes up when that is read."""
        stream = Failing(stdin) if isinstance(stdin, BaseException) else io.BytesIO(stdin)
        self.monkeypatch.setattr(sys, "argv", ["nullproof", *arguments])
        self.monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        threshold = gc.get_threshold()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                with pytest.raises(SystemExit) as left:
                    main()
        finally:
            # The program prepares for the end of its process, which here goes on.
            gc.set_threshold(*threshold)
            atexit.unregister(gc.freeze)
        shown = self.capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Done(left.value.code, shown.out, shown.err)


def ran(folder: Path, *arguments: str, stdin: bytes = b"") -> Done:
    """Run the command line in a folder, without any fixture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        out, err = io.StringIO(), io.StringIO()
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        shown = SimpleNamespace(
            readouterr=lambda: SimpleNamespace(out=out.getvalue(), err=err.getvalue())
        )
        return Runner(patch, cast("Any", shown))(*arguments, stdin=stdin)


def one_line(done: Done, *reasons: str) -> None:
    """Check that a run failed with one line on stderr, exit code 2, and nothing on stdout."""
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("nullproof: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    for reason in reasons:
        assert reason in done.err, done.err


def started(folder: Path, *arguments: str, **options: Any) -> Done:
    """Run the command line as a process of its own; ``env`` is added to the environment."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **options.pop("env", {})}
    done = subprocess.run(
        [sys.executable, "-m", "nullproof", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    return Done(done.returncode, done.stdout, done.stderr)
