"""The command line: what it prints where, and its exit codes."""

from __future__ import annotations

import atexit
import gc
import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import CERTIFY, PAPER, TEST, TRAIN, Done, Runner, one_line

from nullproof import CountIndex, __version__, certify, files
from nullproof import __main__ as program
from nullproof.cli import demo, streams
from nullproof.cli import run as cli
from nullproof.cli.shown import SHOWN


def expected_document(train: Path, points: Any, truth: Any = None) -> dict[str, Any]:
    """Say what --json must print, from the library's own answer."""
    index = CountIndex.from_table(train, "churn")
    result = certify(index, index.encode(points), alpha=0, truth=truth)
    return {
        "n_points": len(result),
        "n_certain": int(result.certain.sum()),
        "verdicts": {
            name: int((result.verdict == name).sum()) for name in ("certain", "holds", "open")
        },
        "threshold": 0.05,
        "curve": [
            {"bias": bias, "n_hold": int((result.tolerance >= bias).sum())}
            for bias in (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1)
        ],
        "n_missing": index.n_missing,
        "own_missing": "skip",
        "bias": 1.0,
        "labels": list(index.labels),
        "points": [
            {
                "point": position,
                "predicted": one.predicted,
                "verdict": one.verdict,
                "certain": one.certain,
                "label": one.label,
                "possible": list(one.possible),
                "others": list(one.others),
                "tolerance": None if math.isnan(one.tolerance) else one.tolerance,
                "rival": one.rival,
                "n_own_missing": one.n_own_missing,
                **({} if truth is None else {"right": one.right}),
            }
            for position, one in enumerate(result)
        ],
    }


# Results ------------------------------------------------------------------------------------------


def test_the_summary_on_a_terminal(run: Runner) -> None:
    """The summary says what was counted, how many points are certain, and which; messages are none."""
    done = run(*CERTIFY)
    assert (done.code, done.err) == (0, "")
    assert "6 rows, 2 features, 2 labels (no, yes), 2 missing cells" in done.out
    assert "predictions are certain" in done.out
    table = done.out.partition("right?")[2].split("Next,")[0]
    assert [line.split()[:3] for line in table.splitlines() if line.strip()] == [
        ["0", "no", "certain"],
        ["1", "yes", "certain"],
        ["2", "no", "certain"],
    ]


def test_json_has_the_agreed_form(run: Runner, folder: Path) -> None:
    """--json prints the keys of the interface with positions from 0, and nothing else."""
    done = run(*CERTIFY, "--json")
    assert (done.code, done.err) == (0, "")
    document = expected_document(folder / "train.csv", folder / "test.csv", [None, None, "yes"])
    found = json.loads(done.out)
    truth = {name: (group["n"], group["n_right"]) for name, group in found.pop("truth").items()}
    assert truth == {"certain": (1, 0), "holds": (0, 0), "open": (0, 0)}
    assert found == document
    assert done.out.count("\n") == 1


def test_without_test_the_training_rows_are_the_points(run: Runner, folder: Path) -> None:
    """TRAIN alone asks about its own rows."""
    document = json.loads(run("certify", "train.csv", "--label", "churn", "--json").out)
    assert document["n_points"] == 6
    labels = ["no", "no", "yes", "yes", "no", "yes"]
    assert sum(group["n"] for group in document.pop("truth").values()) == 6
    assert document.pop("training_rows") is True
    assert document == expected_document(folder / "train.csv", folder / "train.csv", labels)


def test_rows_of_test_keep_their_positions(run: Runner, folder: Path) -> None:
    """Blank lines are no points; rows of empty cells are."""
    (folder / "test.csv").write_text("town,age\nUlm,30\n\n,\nBonn,62\n\n")
    document = json.loads(run(*CERTIFY, "--json").out)
    assert [point["point"] for point in document["points"]] == [0, 1, 2]
    assert document["points"][1]["possible"] == ["no", "yes"]


@pytest.mark.parametrize("stream", ["TRAIN", "TEST"])
def test_one_table_may_come_from_standard_input(run: Runner, stream: str) -> None:
    """- reads TRAIN or TEST from standard input."""
    names = {"TRAIN": ("-", "test.csv"), "TEST": ("train.csv", "-")}[stream]
    written = {"TRAIN": TRAIN, "TEST": TEST}[stream].encode()
    done = run("certify", *names, "--label", "churn", "--json", stdin=written)
    assert done == run(*CERTIFY, "--json")


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_results_in_files(run: Runner, folder: Path, ending: str) -> None:
    """-o writes the same verdicts in each format, prints nothing, and leaves no other file."""
    before = {*folder.iterdir()}
    done = run(*CERTIFY, "-o", f"out.{ending}", "-q")
    assert done == (0, "", "")
    written = folder / f"out.{ending}"
    assert {*folder.iterdir()} - before == {written}
    assert oct(written.stat().st_mode & 0o777) == oct(0o666 & ~umask())
    document = json.loads(run(*CERTIFY, "--json").out)
    if ending == "json":
        assert json.loads(written.read_text()) == document
        return
    frame = pl.read_csv(written) if ending == "csv" else pl.read_parquet(written)
    assert frame.columns == [*document["points"][0]]
    assert frame["certain"].to_list() == [point["certain"] for point in document["points"]]
    assert frame["label"].to_list() == [point["label"] for point in document["points"]]
    possible = [" | ".join(point["possible"]) for point in document["points"]]
    assert frame["possible"].to_list() == possible


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_file_and_json_together(run: Runner) -> None:
    """-o and --json may be combined."""
    done = run(*CERTIFY, "--json", "-o", "out.csv")
    assert json.loads(done.out)["n_points"] == 3


def test_a_label_column_without_labels_has_a_type(tmp_path: Path) -> None:
    """Where no point is certain the label column is still text in Parquet."""
    columns: dict[str, list[Any]] = {
        "point": [0],
        "certain": [False],
        "label": [None],
        "possible": ["a | b"],
    }
    files.write_result(tmp_path / "t.parquet", columns, {})
    assert pl.read_parquet(tmp_path / "t.parquet").schema["label"] == pl.String


def test_check_tells_by_the_exit_code(run: Runner, folder: Path) -> None:
    """--check exits 1 when a point is open and 0 when all are certain, and prints the same."""
    (folder / "test.csv").write_text("town,age\nUlm,31\n,\n")
    plain = run(*CERTIFY)
    assert run(*CERTIFY, "--check") == (1, plain.out, "")
    (folder / "test.csv").write_text("town,age\nBonn,63\nBonn,64\n")
    (folder / "train.csv").write_text("age,town,churn\n31,Ulm,no\n64,Bonn,yes\n")
    assert run(*CERTIFY, "--check").code == 0


def test_many_points_are_cut_on_a_terminal(run: Runner, folder: Path) -> None:
    """A long table ends in a line that says where the rest is."""
    (folder / "test.csv").write_text("town,age\n" + "Ulm,31\n" * (SHOWN + 1234))
    assert "… 1,234 more: --all shows them, --json or -o FILE gives them all" in run(*CERTIFY).out


def test_options_reach_the_library(run: Runner, folder: Path) -> None:
    """Every table option of the command line means what it means in the library."""
    (folder / "train.csv").write_text(TRAIN.replace(",,", ",?,").replace("\n,", "\n-9,"))
    asked, paper = CERTIFY[:5], ("--alpha", "0")
    done = run(*asked, *paper, "--json", "--missing", "?", "--missing", "-9", "--binning", "none")
    assert json.loads(done.out)["n_missing"] == 2
    assert done.err.startswith("note: points hold values that the training table never shows")
    for options in (
        ["--bins", "3", "--binning", "uniform"],
        ["--binning", "quantile"],
        ["--ignore", "age"],
    ):
        assert run(*asked, *options, "--json", "-q").code == 0


def test_bins_by_column(run: Runner, folder: Path) -> None:
    """Without a column a way is that of the rest; the saved index has those bins."""
    (folder / "train.csv").write_text(
        "a,b,y\n" + "".join(f"{k},{k},{k // 6}\n" for k in (*range(12),) * 2)
    )
    ways: list[tuple[list[str], Any]] = [
        (["none"], "none"),
        (["a=mdl"], {"a": "mdl"}),
        (["a=mdl", "none"], {"a": "mdl", "*": "none"}),
        (["quantile", "b=none", "a=mdl"], {"a": "mdl", "b": "none"}),
    ]
    for written, given in ways:
        options = [part for how in written for part in ("--binning", how)]
        done = run("index", "train.csv", "--label", "y", "-o", "i.index", "-q", *options)
        assert done.code == 0, done.err
        expected = CountIndex.from_table(folder / "train.csv", "y", binning=given)
        assert CountIndex.load(folder / "i.index") == expected


@pytest.mark.parametrize(
    ("written", "given"),
    [("uniform", "uniform"), ("1,3", [1, 3]), ("yes=3,no=1", [1, 3]), ("1/2,0.5", [0.5, 0.5])],
)
def test_priors_and_smoothing(run: Runner, folder: Path, written: str, given: Any) -> None:
    """Priors are given by name or in the order of the labels; numbers may be fractions."""
    index = CountIndex.from_table(folder / "train.csv", "churn")
    expected = certify(index, index.encode(folder / "test.csv"), alpha=0.5, prior=given)
    done = run(*CERTIFY[:5], *PAPER[2:], "--json", "--prior", written, "--alpha", "1/2")
    found = [point["possible"] for point in json.loads(done.out)["points"]]
    assert found == [list(one.possible) for one in expected]


# Notices and appearance ---------------------------------------------------------------------------


def test_notices_go_to_stderr_and_can_be_silenced(run: Runner, folder: Path) -> None:
    """A notice is one line on stderr, wherever -q stands it is not, and stdout stays the same."""
    (folder / "train.csv").write_text(TRAIN.replace(",,", ",?,"))
    loud = run(*CERTIFY, "--json")
    assert loud.err == (
        "note: '?' in 'town' was taken as missing; if it is a value, name what is missing instead: "
        "missing_only=(…) or --missing-only TEXT\n"
    )
    for quiet in (("-q", *CERTIFY, "--json"), (*CERTIFY, "--json", "--quiet")):
        assert run(*quiet) == (0, loud.out, "")


def test_warnings_of_libraries_are_not_shown(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only our own notices are shown: what libraries tell developers is none of the user's."""

    def warn(_: Any) -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=1)

    monkeypatch.setattr(demo, "show_demo", warn)
    assert run("demo") == (0, "", "")


def test_the_demo_shows_an_open_point_and_two_worlds(run: Runner) -> None:
    """The demo tells the whole story: verdicts, an open point, and two worlds that disagree."""
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    assert "Of 8 predictions 5 are certain" in done.out
    assert "open" in done.out
    assert "Why is customer" in done.out
    assert "one world" in done.out
    assert "another world" in done.out
    assert "Now yours:" in done.out
    prediction = next(line for line in done.out.splitlines() if line.startswith("prediction"))
    assert prediction.split()[1:3] != prediction.split()[3:5]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], [], ["certify", "--help"], ["demo", "-h"]]
)
def test_help_opens_with_an_example(run: Runner, arguments: list[str]) -> None:
    """Help shows an example before anything else, and no arguments at all show help."""
    done = run(*arguments)
    assert (done.code, done.err) == (0, "")
    head = done.out.partition("Options")[0]
    assert "Example: nullproof" in head


def test_the_version(run: Runner) -> None:
    """--version prints the version, wherever it stands."""
    assert run("--version") == run("certify", "--version") == (0, f"nullproof {__version__}\n", "")


def test_progress_is_shown_on_a_terminal_only(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spinner tells what is going on, on stderr, if that is a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    plain = run(*CERTIFY, "--json")
    assert plain.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = run(*CERTIFY, "--json")
    assert done.out == plain.out
    assert "reading and counting …" in done.err


def test_a_reader_that_has_gone_ends_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken pipe is no error, whoever notices it first."""

    def refuse(*_: Any, **__: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    with (folder / "stdout").open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr("typer.echo", refuse)
        monkeypatch.setattr(sys, "argv", ["nullproof", *CERTIFY, "--json"])
        with pytest.raises(SystemExit) as left:
            cli.main()
    assert left.value.code == 0
    with pytest.raises(BrokenPipeError):
        streams.console().on_broken_pipe()


# As a real process --------------------------------------------------------------------------------


def process(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    source = str(Path(cli.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": source, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "nullproof", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_a_real_process(folder: Path) -> None:
    """As a process: results to stdout, one line to stderr, exit codes as promised."""
    done = process(folder, "certify", "-", "test.csv", "--label", "churn", "--json", input=TRAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n_points"] == 3
    failed = process(folder, "certify", "no.csv", "--label", "churn")
    one_line(Done(failed.returncode, failed.stdout, failed.stderr), "no such file: no.csv")
    traced = process(folder, "certify", "no.csv", "--label", "churn", "--debug")
    assert traced.returncode == 2
    assert "Traceback" in traced.stderr


def test_a_terminal_without_blocks(folder: Path) -> None:
    """Where only ASCII can be written, the numbers are; the drawing is not."""
    done = process(folder, *CERTIFY, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "All 3 predictions are certain." in done.stdout


@pytest.mark.parametrize("colour", [True, False])
def test_colours_follow_the_environment(folder: Path, colour: bool) -> None:
    """NO_COLOR takes every colour away, even where colour is forced."""
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "100"}
    environment = forced if colour else {**forced, "NO_COLOR": "1"}
    done = process(folder, *CERTIFY, env=environment)
    assert ("\x1b[32m" in done.stdout or "\x1b[33m" in done.stdout) == colour
    assert "predictions are certain" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--json"], 0), ([], 0), (["--json", "--check"], 1), (["--check"], 1)]
)
def test_a_reader_that_goes_away_is_no_error(folder: Path, arguments: list[str], code: int) -> None:
    """| head ends the output without a traceback; a check that failed before has failed."""
    (folder / "test.csv").write_text("town,age\n" + ",\n" * 1_500)
    read, write = os.pipe()
    os.close(read)
    source = str(Path(cli.__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, "-m", "nullproof", *CERTIFY, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        os.close(write)
        assert child.stderr is not None
        assert child.stderr.read() == ""
    assert child.returncode == code


@pytest.mark.parametrize(("command", "n_changes"), [("certify", 1), ("serve", 0)])
def test_cycles_are_looked_for_seldom(
    monkeypatch: pytest.MonkeyPatch, command: str, n_changes: int
) -> None:
    """A command seldom looks for cycles, a server as often as Python does, and neither at its end."""
    thresholds: list[int] = []
    last: list[Any] = []
    monkeypatch.setattr(sys, "argv", ["nullproof", command])
    monkeypatch.setattr(gc, "set_threshold", thresholds.append)
    monkeypatch.setattr(atexit, "register", last.append)
    monkeypatch.setattr(cli, "main", lambda: last.append("ran"))
    program.main()
    assert len(thresholds) == n_changes
    # Python's own is 700, or 2,000 from 3.13 on; that of this process may have been raised by a library.
    assert all(number > 2000 for number in thresholds)
    assert last == [gc.freeze, "ran"]
