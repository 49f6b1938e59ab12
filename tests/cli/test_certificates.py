"""certify on the command line: bias, tolerance, own holes, and the truth that TEST may hold."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.command_line import CERTIFY, PAPER, Runner, one_line, write_customers
from support.documents import answers

from nullproof import CountIndex, certify, cleaning_plan, label_odds, report
from nullproof.cleaning.goals import goals
from nullproof.cleaning.plan import CleaningPlan
from nullproof.cli.demo import load
from nullproof.radii.cells import radii

CUSTOMERS = ("--label", "churn", "--ignore", "customer")
DEMO = ("certify", "customers.csv", "new.csv", *CUSTOMERS, *PAPER)


@pytest.fixture(autouse=True)
def tables(folder: Path) -> None:
    write_customers(folder)


@pytest.fixture
def index(folder: Path) -> CountIndex:
    path = folder / "customers.csv"
    return CountIndex.from_table(path, "churn", ignore=["customer"], binning="uniform")


def asked(run: Runner, *options: str) -> dict[str, Any]:
    done = run(*DEMO, "--json", *options)
    assert (done.code, done.err) == (0, "")
    document: dict[str, Any] = json.loads(done.out)
    return document


@pytest.fixture
def shown(run: Runner, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Certify the points of this file, and give what 80 columns show."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(*options: str) -> str:
        done = run(*DEMO, *options)
        assert (done.code, done.err) == (0, "")
        lines = [line.rstrip() for line in done.out.splitlines()]
        # The command at the end is one line, however long.
        assert max(map(len, lines[:-1])) <= 80
        return "\n".join([*lines, ""])

    return show


def test_the_summary_follows_the_question(shown: Callable[..., str]) -> None:
    """A bias that is asked about is the threshold; the other reading and named columns are told."""
    strict = shown("--bias", "0.5", "--own-missing", "any")
    assert (
        "Of 5 predictions 2 are certain, 0 more hold up to a bias of 0.5 and 3 are open."
        in strict.replace("\n", " ")
    )
    assert "same label up to a bias of 0.5 (see below)" in strict
    assert "they may hold anything (--own-missing any). With\n--own-missing skip 3" in strict
    assert "instead of 2 points are certain within a bias of 0.5." in strict.replace("\n", " ")
    named = shown("--bias", "age=0", "--bias", "claim=1/4", "--bias", "0.1")
    assert "Columns that keep a bias of their own: age 0 and claim 0.25." in named
    assert "up to the bias by column (see below)" in named


def test_training_rows_as_points_are_told(run: Runner) -> None:
    """Without TEST every output says whose predictions these are, and that their accuracy flatters."""
    done = run("certify", "customers.csv", *CUSTOMERS)
    said = " ".join(done.out.split())
    assert "The points are the training rows themselves" in said
    assert "so the shares of right ones flatter it; name TEST for new rows." in said
    for command in ("certify", "radius", "odds", "clean"):
        assert json.loads(run(command, "customers.csv", *CUSTOMERS, "--json").out)["training_rows"]
        shown = run(command, "customers.csv", *CUSTOMERS).out
        assert "The points are the training rows themselves" in shown
        assert "training_rows" not in run(command, *DEMO[1:], "--json").out


def lines_of(out: str) -> list[list[str]]:
    """The words of each line of the table of points."""
    table = out.partition("or else")[2].partition("\n\n")[0].splitlines()[1:]
    return [line.split() for line in table if line.strip() and "more:" not in line]


def test_the_weakest_points_come_first(run: Runner) -> None:
    """Where not all points fit: the weakest, then others at even distances; --all shows every point."""
    lines = lines_of(run("certify", "customers.csv", *CUSTOMERS).out)
    verdicts = [line[2] for line in lines if line != ["…"]]
    n_weakest = lines.index(["…"])
    assert (len(verdicts), n_weakest) == (20, sum(verdict != "certain" for verdict in verdicts))
    assert verdicts == sorted(verdicts, key=["open", "holds", "certain"].index)
    assert verdicts[0] == "open"
    every = lines_of(run("certify", "customers.csv", *CUSTOMERS, "--all").out)
    assert sorted(int(line[0]) for line in every) == [*range(36)]
    assert every[:n_weakest] == lines[:n_weakest]


@pytest.mark.parametrize("command", ["radius", "odds", "clean", "poison"])
def test_every_listing_can_be_had_whole(run: Runner, folder: Path, command: str) -> None:
    """--all leaves out no line; without it a line says how many are left out."""
    points = pl.concat([load()[1]] * 20)
    points.write_csv(folder / "new.csv")
    arguments = (command, *DEMO[1:], *(("--steps", "1") if command == "poison" else ()))
    short, whole = run(*arguments).out, run(*arguments, "--all").out
    assert "--all shows them" not in whole
    assert whole.count("\n") >= short.count("\n") - 1
    if command in ("radius", "odds"):
        assert "more points: --all shows them, --json or -o FILE gives them all" in short


def test_radii_are_no_wall_of_zeros(run: Runner, folder: Path) -> None:
    """Where not all points fit, those that are certain are listed, and the others are counted."""
    pl.concat([load()[1]] * 20).write_csv(folder / "new.csv")
    arguments = ("radius", *DEMO[1:])
    points = json.loads(run(*arguments, "--json").out)["points"]
    n_weak = sum(point["radius"] == 0 for point in points)
    assert n_weak > 20
    short, whole = run(*arguments).out, run(*arguments, "--all").out
    assert f"{n_weak} points are not certain now and need no attack (radius 0)" in short
    assert (short.count("  not certain"), whole.count("  not certain")) == (0, n_weak)
    assert whole.index("  not certain") > whole.rindex("  yes ")


def test_a_column_without_a_word_is_not_shown(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all is certain nothing could be else, and verdicts are whole on narrow terminals too."""
    (folder / "whole.csv").write_text("a,y\n" + "u,yes\nv,no\n" * 30)
    monkeypatch.setenv("COLUMNS", "40")
    out = run("certify", "whole.csv", "--label", "y").out
    assert "or else" not in out
    assert out.count("certain  ") >= 20


NEXT = {
    "certify": "nullproof clean",
    "radius": "nullproof poison",
    "odds": "nullproof clean",
    "clean": "nullproof clean",
    "poison": "nullproof poison",
}


@pytest.mark.parametrize("command", [*NEXT])
def test_the_next_command_can_be_pasted(
    run: Runner, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Every output ends with a command that has the arguments already used, and that runs."""
    monkeypatch.setenv("COLUMNS", "40")
    own = ("--steps", "1") if command == "poison" else ()
    done = run(command, *DEMO[1:], *own, "--missing", "not known")
    line = done.out.splitlines()[-1]
    assert line.startswith(f"  {NEXT[command]} customers.csv new.csv --label churn")
    assert "--missing 'not known'" in line
    following = run(*shlex.split(line)[1:])
    assert (following.code, following.err.startswith("nullproof:")) == (0, False)


def test_the_next_command_keeps_the_bias(run: Runner) -> None:
    """A bias goes on to clean, which has one, and not to radius, which has none."""
    done = run(*DEMO, "--bias", "age=1", "--bias", "0.4")
    assert done.out.splitlines()[-1].endswith("--bias age=1 --bias 0.4")
    done = run(*DEMO[:1], "customers.csv", "new.csv", *CUSTOMERS, "--bias", "0")
    assert "--bias" not in done.out.splitlines()[-1] or "clean" in done.out.splitlines()[-1]


def test_nothing_left_to_clean(run: Runner, folder: Path) -> None:
    """Where every point is certain the next question is the radius."""
    (folder / "whole.csv").write_text("a,kind\nx,0\ny,1\n")
    done = run("certify", "whole.csv", "--label", "kind", "--bias", "0.5")
    assert "█" * 40 in done.out
    assert "All 2 predictions are certain." in done.out
    assert done.out.splitlines()[-1] == "  nullproof radius whole.csv --label kind"
    assert "as the bias grows" not in done.out


def test_a_tie_and_a_share_below_one_per_cent(run: Runner, folder: Path) -> None:
    """A tie is named, and a curve that is not yet at 0 does not say 0 %."""
    (folder / "train.csv").write_text("a,kind\nx,0\nx,1\ny,1\n,1\n")
    (folder / "test.csv").write_text("a\nz\n" + "x\n" * 150 + "y\n")
    done = run("certify", "train.csv", "test.csv", "--label", "kind", "-q", *PAPER)
    assert "tie" in done.out
    assert "< 1 %" in done.out


def test_json_has_tolerance_and_truth(run: Runner, folder: Path, index: CountIndex) -> None:
    """The JSON tells of each point what the library does, and per verdict how many are right."""
    document = asked(run)
    result = certify(index, index.encode(folder / "new.csv"), alpha=0)
    for place, point in enumerate(document["points"]):
        one = result[place]
        assert (point["predicted"], point["rival"], point["verdict"]) == (
            one.predicted,
            one.rival,
            one.verdict,
        )
        assert point["n_own_missing"] == one.n_own_missing == int(place == 3)
        found = math.nan if point["tolerance"] is None else point["tolerance"]
        np.testing.assert_equal(found, one.tolerance)
    assert document["n_certain"] == 3
    assert document["verdicts"] == {"certain": 3, "holds": 1, "open": 1}
    assert (document["threshold"], document["bias"], document["own_missing"]) == (0.05, 1, "skip")
    assert document["curve"][0] == {"bias": 0, "n_hold": 4}
    assert document["curve"][-1] == {"bias": 1, "n_hold": 3}
    assert [point["right"] for point in document["points"]] == [True, False, True, None, None]
    assert [point["others"] for point in document["points"]] == [[], ["yes"], ["no"], [], []]
    counts = {name: (group["n"], group["n_right"]) for name, group in document["truth"].items()}
    assert counts == {"certain": (1, 1), "holds": (1, 1), "open": (1, 0)}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("label", [["007", "1"], ["1.50", "x"], [0, 1], [True, False]])
def test_truth_is_compared_as_it_is_written(
    run: Runner, folder: Path, label: list[Any], ending: str
) -> None:
    """Labels that look like numbers are the text that they are, in both files."""
    cells = pl.DataFrame({"a": ["x", "y"], "kind": label})
    for name in ("train", "test"):
        write = cells.write_csv if ending == "csv" else cells.write_parquet
        write(folder / f"{name}.{ending}")
    done = run("certify", f"train.{ending}", f"test.{ending}", "--label", "kind", "--json")
    assert json.loads(done.out)["truth"]["certain"] == {
        "n": 2,
        "n_right": 2,
        "accuracy": 1,
        "balanced_accuracy": 1,
    }


def test_the_truth_never_decides(run: Runner, folder: Path) -> None:
    """Without the labels in TEST, or with none that is known, all but the accuracy is the same."""
    told = asked(run)
    del told["truth"]
    for point in told["points"]:
        del point["right"]
    points = pl.read_csv(folder / "new.csv")
    for table in (points.drop("churn"), points.with_columns(churn=pl.lit("?"))):
        table.write_csv(folder / "new.csv")
        assert asked(run) == told


@pytest.mark.parametrize(
    ("options", "bias"),
    [
        ((), 1.0),
        (("--bias", "0.05"), 0.05),
        (("--bias", "*=0.05"), 0.05),
        (("--bias", "age=1", "--bias", "*=0.05"), {"age": 1, "*": 0.05}),
        (("--bias", "age=1", "--bias", "0.05"), {"age": 1, "*": 0.05}),
        (("--bias", "age=1/3"), {"age": 1 / 3}),
    ],
)
@pytest.mark.parametrize("own_missing", ["skip", "any"])
def test_assumptions_reach_the_library(
    run: Runner,
    folder: Path,
    index: CountIndex,
    options: tuple[str, ...],
    bias: Any,
    own_missing: Any,
) -> None:
    """--bias and --own-missing mean what they mean in the library; --check follows them."""
    points = index.encode(folder / "new.csv")
    expected = certify(index, points, bias=bias, own_missing=own_missing, alpha=0)
    document = asked(run, *options, "--own-missing", own_missing)
    assert [point["certain"] for point in document["points"]] == expected.certain.tolist()
    assert [point["verdict"] for point in document["points"]] == expected.verdict.tolist()
    checked = run(*DEMO, *options, "--own-missing", own_missing, "--check", "--json").code
    assert checked == int(not expected.certain.all())


def test_check_within_a_bias(run: Runner, folder: Path) -> None:
    """--check is content with points that hold at the bias asked about."""
    pl.read_csv(folder / "new.csv")[[0, 2]].write_csv(folder / "new.csv")
    assert run(*DEMO, "--check").code == 1
    assert run(*DEMO, "--check", "--bias", "0.4").code == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--bias", "-0.1"), "the bias is -0.1; give a number from 0"),
        (("--bias", "1.5"), "the bias is 1.5; give a number from 0"),
        (("--bias", "age=2"), "the bias of 'age' is 2.0; give a number from 0"),
        (("--bias", "nan"), "the bias is nan"),
        (("--bias", "few"), "--bias is 'few'; give a number from 0 to 1, or COLUMN=NUMBER"),
        (("--bias", "age="), "--bias is 'age='"),
        (("--bias", "ago=1"), "bias names 'ago', which is no feature; close names are 'age'"),
        (("--bias", "churn=1"), "no feature; they are age, in_us, income, claim, and '*'"),
        (("--bias", "1", "--bias", "*=0"), "--bias gives the rest two numbers; give one"),
        (("--bias", "age=1", "--bias", "age=0"), "--bias gives 'age' two numbers; give one"),
        (("--own-missing", "none"), "--own-missing is 'none'; give 'skip' (predict from the cells"),
    ],
)
def test_bad_assumptions(run: Runner, options: tuple[str, ...], reason: str) -> None:
    """One line that says what came, what was needed and what to do."""
    one_line(run(*DEMO, *options), reason)


@pytest.mark.parametrize(
    ("command", "what"), [("radius", "an enemy"), ("poison", "an enemy"), ("odds", "chance")]
)
def test_bias_is_about_accident(run: Runner, command: str, what: str) -> None:
    """Questions about an enemy or about chance have no bias, and say why."""
    done = run(command, *CERTIFY[1:], "--bias", "0.05")
    one_line(
        done,
        f"--bias is about accident, which certify, clean and report ask about, and not about {what}",
    )


def planned(plan: CleaningPlan) -> dict[str, Any]:
    """A plan and the goals that clean compares."""
    return {**plan.document(None), "goals": [goal.document() for goal in goals(plan)]}


LIBRARY: dict[str, Callable[..., Any]] = {
    "radius": lambda index, points, **own: radii(index, points, **own).document(),
    "odds": lambda index, points, **own: label_odds(index, points, **own).document(),
    "clean": lambda index, points, **own: planned(cleaning_plan(index, points, **own)),
    "report": lambda index, points, **own: json.loads(report(index, points, **own).json()),
}


@pytest.mark.parametrize("own_missing", ["skip", "any"])
@pytest.mark.parametrize("command", [*LIBRARY])
def test_every_question_reads_own_missing(
    run: Runner, folder: Path, index: CountIndex, command: str, own_missing: str
) -> None:
    """--own-missing reaches every question about points."""
    pl.read_csv(folder / "new.csv").drop("churn").write_csv(folder / "new.csv")
    done = run(command, *DEMO[1:], "--json", "--own-missing", own_missing)
    expected = LIBRARY[command](
        index, index.encode(folder / "new.csv"), alpha=0, own_missing=own_missing
    )
    assert (done.code, done.err) == (0, "")
    assert answers(json.loads(done.out)) == answers(json.loads(json.dumps(expected)))


def test_an_attack_reads_own_missing(run: Runner, folder: Path) -> None:
    """A point that its own holes make open needs no attack; with those left out it does."""
    pl.read_csv(folder / "new.csv")[[3]].write_csv(folder / "new.csv")
    arguments = ("poison", *DEMO[1:], "--steps", "1", "--json")
    n_cells = [
        json.loads(run(*arguments, "--own-missing", how).out)["n_cells"] for how in ("skip", "any")
    ]
    assert n_cells[0] > n_cells[1] == 0


@pytest.mark.parametrize("command", ["clean", "report"])
def test_bias_reaches_plans_and_reports(
    run: Runner, folder: Path, index: CountIndex, command: str
) -> None:
    """--bias means in clean and report what it means in the library."""
    pl.read_csv(folder / "new.csv").drop("churn").write_csv(folder / "new.csv")
    bias = {"age": 1.0, "*": 0.4}
    done = run(command, *DEMO[1:], "--json", "--bias", "age=1", "--bias", "0.4")
    expected = LIBRARY[command](index, index.encode(folder / "new.csv"), alpha=0, bias=bias)
    assert answers(json.loads(done.out)) == answers(json.loads(json.dumps(expected)))


def test_a_plan_within_a_bias_says_so(run: Runner) -> None:
    """What is done is told by the question: certain, or holding up to the bias."""
    assert "3 of 5 points are certain\n" in run("clean", *DEMO[1:]).out
    biased = run("clean", *DEMO[1:], "--bias", "0.4").out
    assert "4 of 5 points hold up to the bias\n" in biased
    assert "Until it is certain" not in biased
    assert "Certainty, whatever the missing cells hold, asks for more" in biased
    odds = run("clean", *DEMO[1:], "--confidence", "0.9").out
    assert "points are done: certain, or with odds of 0.9 or more" in odds


def test_a_report_tells_how_many_are_right(run: Runner, folder: Path) -> None:
    """A report counts what is right among the points of TEST whose label is known, if there are any."""
    told = run("report", *DEMO[1:]).out
    assert "| verdict | predictions | share | right |" in told
    assert "| certain | 3 | 60.0\N{NO-BREAK SPACE}% | 1 of 1 (100\N{NO-BREAK SPACE}%) |" in told
    pl.read_csv(folder / "new.csv").drop("churn").write_csv(folder / "new.csv")
    assert "right" not in run("report", *DEMO[1:]).out
