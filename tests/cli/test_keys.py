"""--key: a column that names rows, in TRAIN and in TEST, in every output of every command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from support.command_line import Runner, one_line

HEAD = "id,age,town,churn\n"
ROWS = ["31,Ulm,no", ",Bonn,no", ",Ulm,yes", "64,,yes", "33,,no", "61,Ulm,yes"] * 5
KEYS = ["0007", "u 2", "x,y"]
NOTE = "note: 'id' names the rows (--key), so it is not counted as a feature\n"
LABEL = ("--label", "churn", "--binning", "uniform")
BOTH = ("train.csv", "test.csv", *LABEL, "--key", "id")


@pytest.fixture(autouse=True)
def tables(folder: Path) -> None:
    numbered = [f"{2 * number:03},{row}\n" for number, row in enumerate(ROWS)]
    (folder / "train.csv").write_text(HEAD + "".join(numbered))
    (folder / "test.csv").write_text('town,id,age\nUlm,0007,32\nBonn,u 2,62\n,"x,y",33\n')


@pytest.mark.parametrize("command", ["certify", "radius", "odds"])
def test_points_are_named(run: Runner, folder: Path, command: str) -> None:
    """The key is beside the position in JSON and files, and instead of it on the terminal."""
    done = run(command, *BOTH, "--json")
    assert (done.code, done.err) == (0, NOTE)
    assert [point["key"] for point in json.loads(done.out)["points"]] == KEYS
    assert run(command, *BOTH, "-o", "found.csv", "-q").code == 0
    with (folder / "found.csv").open(newline="") as file:
        assert [line["key"] for line in csv.DictReader(file)] == KEYS
    shown = run(command, *BOTH).out
    assert all(key in shown for key in KEYS)
    assert "id" in shown


def test_training_rows_are_named(run: Runner) -> None:
    """Without TEST the points are named by the column of TRAIN, as it is written."""
    points = json.loads(run("certify", "train.csv", *LABEL, "--key", "id", "--json").out)["points"]
    assert [point["key"] for point in points[:3]] == ["000", "002", "004"]


def test_the_key_changes_no_answer(run: Runner) -> None:
    """A column that names rows is no feature: the same as without the column."""
    keyed = json.loads(run("certify", *BOTH, "--json").out)
    plain = json.loads(
        run("certify", "train.csv", "test.csv", *LABEL, "--ignore", "id", "--json").out
    )
    for point in keyed["points"]:
        del point["key"]
    assert keyed == plain


def test_worksheets_name_the_rows(run: Runner, folder: Path) -> None:
    """A worksheet carries the key of each row of TRAIN, and comes back with it."""
    assert run("clean", *BOTH, "-o", "sheet.csv", "-q").code == 0
    with (folder / "sheet.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    assert lines
    assert all(line["key"] == f"{2 * int(line['row']):03}" for line in lines)
    values = {"age": "33", "town": "Ulm"}
    with (folder / "sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        writer.writerows({**line, "value": values[line["column"]]} for line in lines)
    done = run("clean", *BOTH, "--answers", "sheet.csv", "--json")
    brought = json.loads(done.out)["answers"]
    assert brought["n_answers"] == len(lines)
    assert {gained["key"] for gained in brought["became_done"]} <= {*KEYS}


def test_attacks_name_rows_and_points(run: Runner) -> None:
    """The cells of an attack have row and key, its points position and key."""
    found = json.loads(run("poison", *BOTH, "--steps", "1", "--json").out)
    assert found["cells"]
    assert all(cell["key"] == f"{2 * cell['row']:03}" for cell in found["cells"])
    assert [point["key"] for point in found["points"]] == KEYS


def test_reports_name_points(run: Runner) -> None:
    """A report lists its points by their key."""
    told = json.loads(run("report", *BOTH, "--json").out)
    assert [point["key"] for point in told["points"]] == KEYS


def test_a_key_that_only_train_has(run: Runner, folder: Path) -> None:
    """Rows of TRAIN are named, the points keep their positions, and a notice says so."""
    (folder / "test.csv").write_text("town,age\nUlm,32\n")
    done = run("clean", *BOTH, "-o", "sheet.csv")
    assert "note: TEST has no column 'id', so its points are named by their positions" in done.err
    assert "row,key,column" in (folder / "sheet.csv").read_text()


def test_a_key_of_points_whose_training_table_is_counted(run: Runner) -> None:
    """A saved index has no rows to name, but TEST may have the column; an index never counts a key."""
    assert run("index", "train.csv", *LABEL, "--key", "id", "-o", "counts.index").err.startswith(
        NOTE
    )
    done = run("certify", "counts.index", "test.csv", "--key", "id", "--json")
    assert (done.code, done.err) == (0, "")
    assert [point["key"] for point in json.loads(done.out)["points"]] == KEYS


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((*BOTH[:-1], "idd"), "there is no column 'idd' in the table; did you mean 'id'?"),
        ((*BOTH[:-1], "churn"), "--key is 'churn', the label"),
        ((*BOTH, "--keep", "id"), "'id' is given to --key, which names rows, and to --keep"),
    ],
)
def test_mistakes(run: Runner, arguments: tuple[str, ...], reason: str) -> None:
    """One line that says what came, what was needed and what to do."""
    one_line(run("certify", *arguments, "-q"), reason)


def test_a_feature_of_a_saved_index_is_no_key(run: Runner) -> None:
    """What an index counts cannot name the points, since it predicts from it."""
    run("index", "train.csv", *LABEL, "-o", "counts.index")
    done = run("certify", "counts.index", "test.csv", "--key", "town")
    one_line(done, "--key is 'town', which the index counts as a feature; count the table anew")
