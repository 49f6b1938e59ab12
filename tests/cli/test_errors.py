"""The command line: one line for every mistake, and nothing half-written."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import CERTIFY, TRAIN, Runner, one_line

from nullproof import files
from nullproof.cli import registry
from nullproof.cli import run as cli

FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty; give a table with a header row"),
    "header": (b"age,town,churn\n", "has a header but no rows"),
    "long row": (TRAIN.encode() + b"1,2,3,4\n", "ragged: a row has more fields"),
    "short row": (TRAIN.encode() + b"1,Ulm\n", "ragged: line 8 has 2 fields, the header has 3"),
    "junk": (
        b"\x93\x07\xd5\x01\xba\x02\xee\x03" + bytes(600),
        "is not a table; give a CSV, TSV, Parquet, Arrow, Excel",
    ),
    "gzip": (b"\x1f\x8b\x08\x00damaged", "is a damaged gzip file"),
    "parquet": (b"PAR1 and then nothing", "is not a table that can be read"),
    "twice": (TRAIN.replace("town", "age").encode(), "has two columns named 'age'"),
    "holes": (
        TRAIN.replace(",no", ",").encode(),
        "the label column 'churn' has 3 holes (rows 0, 1, 4, counted from 0)",
    ),
    "only a label": (b"churn\nyes\nno\n", "no column besides the label"),
    "no label": (TRAIN.replace("churn", "chrun").encode(), "did you mean 'chrun'?"),
    "nothing known": (b"age,churn\n,yes\nNA,no\n", "no column holds any known value"),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_training_files(run: Runner, folder: Path, case: str) -> None:
    """Every bad TRAIN is refused in one line."""
    written, reason = FILES[case]
    (folder / "train.csv").write_bytes(written)
    one_line(run(*CERTIFY), reason)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b"town\nUlm\n", "the points lack 1 of the 2 features: 'age'; add the column"),
        (b"town,age\nUlm,old\n", "column 'age' holds text such as 'old', but the training table"),
        (b"town,age\nUlm\n", "ragged: line 2 has 1 field, the header has 2"),
        (b"", "is empty"),
    ],
)
def test_bad_test_files(run: Runner, folder: Path, written: bytes, reason: str) -> None:
    """Every bad TEST is refused in one line."""
    (folder / "test.csv").write_bytes(written)
    one_line(run(*CERTIFY), reason)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["certify", ".", "--label", "churn"], "name the points as TEST"),
        (["certify", "empty", "test.csv", "--label", "churn"], "holds no CSV or Parquet files"),
        (["certify", "train.csv"], "no label column was named; add --label COL with one of age,"),
        (["certify"], "Missing argument 'TRAIN'; see nullproof --help"),
        (["certfy"], "No such command 'certfy'"),
        ([*CERTIFY, "--frob"], "No such option"),
        ([*CERTIFY, "--label"], "requires an argument"),
        ([*CERTIFY[:5], "--alpha", "x"], "'x' is not a number; give one like 0, 0.5 or 1/2"),
        ([*CERTIFY[:5], "--alpha", "1/0"], "'1/0' is not a number"),
        ([*CERTIFY, "--prior", "1,2,3"], "prior has 3 numbers but there are 2 labels"),
        ([*CERTIFY, "--prior", "1,x"], "'x' is not a number"),
        ([*CERTIFY, "--bins", "few"], "--bins is 'few'; give a whole number, or --binning none"),
        ([*CERTIFY, "--bins", "²"], "--bins is '²'"),
        ([*CERTIFY, "--bins", "0"], "bins is 0; give a whole number from 1 on"),
        ([*CERTIFY[:5], "--binning", "x"], "binning is 'x'; give 'mdl', 'uniform'"),
        ([*CERTIFY[:5], "--binning", "age=x"], "binning is 'x' for a column; give 'mdl'"),
        ([*CERTIFY[:5], "--binning", "x=mdl"], "binning names the column 'x', which is not among"),
        (
            [*CERTIFY[:5], "--binning", "mdl", "--binning", "none"],
            "--binning gives the rest two ways; give one",
        ),
        (
            [*CERTIFY, "-o", "out.txt"],
            "-o out.txt names no format by its ending; end it in .csv, .parquet or",
        ),
        ([*CERTIFY, "-o", "./test.csv"], "-o test.csv is a file that is read"),
    ],
)
def test_bad_arguments(run: Runner, folder: Path, arguments: list[str], reason: str) -> None:
    """Every mistake on the command line is told in one line, and nothing is written."""
    before = sorted(folder.iterdir())
    one_line(run(*arguments), reason)
    assert sorted(folder.iterdir()) == before
    assert (folder / "train.csv").read_text() == TRAIN


def test_debug_gives_the_traceback(run: Runner, folder: Path) -> None:
    """With --debug errors are told with where they come from, ours and typer's; the code is the same."""
    for arguments, said in (
        (["certify", "no.csv", "--debug", "--label", "x"], "NullproofError: no such file"),
        (["--debug", "frob"], "No such command 'frob'"),
    ):
        done = run(*arguments)
        assert done.code == 2
        assert done.out == ""
        assert done.err.startswith("Traceback (most recent call last)")
        assert said in done.err


class Abort(RuntimeError):  # noqa: N818
    """As typer calls it when the user presses Ctrl-C."""


class OddError(BaseException):
    """As polars' panics are: no Exception."""


MISTAKES: list[tuple[BaseException, int, str]] = [
    (KeyboardInterrupt(), 130, "nullproof: interrupted\n"),
    (Abort(), 130, "nullproof: interrupted\n"),
    (MemoryError(), 2, "nullproof: there is not enough memory; give fewer rows"),
    (OSError(28, "No space left on device"), 2, "No space left on device\n"),
    (ZeroDivisionError("oh"), 2, "nullproof: ZeroDivisionError: oh; this is a mistake in"),
    (RecursionError("too deep"), 2, "nullproof: RecursionError: too deep; this is a mistake in"),
    (AssertionError(), 2, "nullproof: AssertionError: ; this is a mistake in nullproof"),
    (ImportError("no module\nof that name"), 2, "nullproof: ImportError: no module of that name;"),
    (
        pl.exceptions.PanicException("index out\nof bounds"),
        2,
        "PanicException: index out of bounds",
    ),
    (pl.exceptions.ComputeError("broken"), 2, "nullproof: ComputeError: broken; this is a mistake"),
    (OddError("odd"), 2, "nullproof: OddError: odd; this is a mistake in nullproof"),
    (GeneratorExit(), 2, "nullproof: GeneratorExit"),
    (SystemExit("a text, which Python ends with 1 for"), 2, "nullproof: a text, which Python ends"),
]


@pytest.mark.parametrize(("problem", "code", "message"), MISTAKES)
@pytest.mark.parametrize("where", ["start", "reading", "deciding", "showing"])
def test_what_should_not_happen(
    run: Runner,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    problem: BaseException,
    code: int,
    message: str,
) -> None:
    """Whatever happens is told in one line; exit code 1 never means anything but an open point."""

    def fail(*_: Any, **__: Any) -> None:
        raise problem

    place = {
        "start": "nullproof.cli.registry.asked_for",
        "reading": "nullproof.tables.options.open_table",
        "deciding": "nullproof.decision.certify",
        "showing": "nullproof.cli.certificates.show_certificates",
    }[where]
    monkeypatch.setattr(place, fail)
    done = run(*CERTIFY, "--check")
    assert done.code == code
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert message in done.err


@pytest.mark.parametrize(("left", "code"), [(None, 0), (0, 0), (1, 2), (3, 3), (143, 143)])
def test_leaving_by_a_code(
    run: Runner, monkeypatch: pytest.MonkeyPatch, left: int | None, code: int
) -> None:
    """Other ways to leave keep their codes, but 1 is only for points that are not certain."""

    def leave(*_: Any, **__: Any) -> None:
        raise SystemExit(left)

    monkeypatch.setattr(registry, "asked_for", leave)
    assert run("demo").code == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("closed", ["", "2>&-", "2>/dev/full"])
def test_a_full_disk_behind_the_output(folder: Path, closed: str) -> None:
    """Output that cannot be written is an error with its code, even if that cannot be told."""
    command = shlex.join([sys.executable, "-m", "nullproof", *CERTIFY, "-q"])
    done = subprocess.run(
        f"{command} >/dev/full {closed}",
        shell=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        check=False,
    )
    assert done.returncode == 2
    if not closed:
        assert done.stderr.count(b"\n") == 1
        assert b"No space left" in done.stderr


# Writing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
@pytest.mark.parametrize("old", [None, "what was there before"])
def test_nothing_half_written_is_left(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch, ending: str, old: str | None
) -> None:
    """A write that fails in its midst leaves what was there before, and no scrap beside it."""
    target = folder / f"out.{ending}"
    if old is not None:
        target.write_text(old)
    before = sorted(folder.iterdir())

    def fail(target: Any, *_: Any) -> None:
        with target.open("wb") if isinstance(target, Path) else target as stream:
            stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", lambda _, target, **__: fail(target))
    monkeypatch.setattr(pl.DataFrame, "write_parquet", lambda _, target, **__: fail(target))
    monkeypatch.setattr(Path, "write_text", fail)
    one_line(run(*CERTIFY, "-o", target.name), "cannot write out")
    assert sorted(folder.iterdir()) == before
    assert old is None or target.read_text() == old


def test_other_failures_of_writing_leave_nothing_either(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds when the writer itself breaks down."""
    before = sorted(folder.iterdir())

    def fail(*_: Any, **__: Any) -> None:
        raise pl.exceptions.ComputeError("broken")

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    one_line(run(*CERTIFY, "-o", "out.csv"), "ComputeError: broken")
    assert sorted(folder.iterdir()) == before


def test_a_directory_in_the_way(run: Runner, folder: Path) -> None:
    """A directory with the name of the output is not overwritten."""
    (folder / "out.csv").mkdir()
    before = sorted(folder.iterdir())
    one_line(run(*CERTIFY, "-o", "out.csv"), "-o out.csv is a folder; name a file in it")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("how", ["permission", "refusal"])
def test_a_folder_without_permission(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A folder that may not be written to is told as such."""
    (folder / "locked").mkdir()
    if how == "refusal":

        def refuse(**_: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(tempfile, "mkstemp", refuse)
    elif os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    else:
        (folder / "locked").chmod(0o500)
    one_line(
        run(*CERTIFY, "-o", "locked/out.csv"), "cannot write locked/out.csv: Permission denied"
    )
    assert list((folder / "locked").iterdir()) == []


def test_formats_are_told_by_the_library_too(tmp_path: Path) -> None:
    """Writing to an ending of no format is refused."""
    with pytest.raises(ValueError, match=r"its ending names no format; end it in .csv"):
        files.write_result(tmp_path / "out.txt", {}, {})
