"""Worksheets and the command clean: out to a person and back, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import Runner, one_line

from nullproof import CountIndex, cleaning_plan
from nullproof.cleaning import Cell, Cleaner
from nullproof.cleaning.worksheet import read_worksheet, write_worksheet
from nullproof.errors import NullproofError

PLACES = "age,town,member,since,churn"
LINES = (
    "31,Ulm,true,2024-01-01,no",
    ",Bonn,false,2024-02-01,no",
    "50,,true,2024-03-01,yes",
    "64,Bonn,,2024-05-01,yes",
    "33,Ulm,true,,no",
    "61,Ulm,false,2024-08-01,yes",
    "47,,true,2024-09-01,no",
    ",Ulm,false,2024-10-01,yes",
    '58,"Halle, Saale",true,2024-11-01,yes',
)
TRAIN = "\n".join((PLACES, *LINES)) + "\n"
TRUTH = {
    (1, "age"): "35",
    (2, "town"): "Halle, Saale",
    (3, "member"): "true",
    (4, "since"): "2024-04-01",
    (6, "town"): "Ulm",
    (7, "age"): "48.5",
}
CLEAN = ("clean", "places.csv", "--label", "churn", "--binning", "uniform")
Sheet = list[dict[str, str]]


@pytest.fixture
def work(run: Runner, folder: Path) -> Runner:
    """Give a table with holes of all kinds to work on."""
    (folder / "places.csv").write_text(TRAIN)
    return run


def read(path: str) -> Sheet:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: str, lines: Sheet, *, delimiter: str = ",", encoding: str = "utf-8") -> None:
    with Path(path).open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, [*lines[0]], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(lines)


def filled_in(lines: Sheet) -> Sheet:
    """Answer every line with the truth."""
    return [{**line, "value": TRUTH[int(line["row"]), line["column"]]} for line in lines]


def cells_of(lines: Sheet) -> list[tuple[int, str]]:
    return [(int(line["row"]), line["column"]) for line in lines]


def fresh(work: Runner, name: str = "sheet.csv") -> Sheet:
    """Write the worksheet of the table and read it."""
    done = work(*CLEAN, "-o", name)
    assert done.code == 0, done
    lines = read(name)
    assert done.out == ""
    assert f"{len(lines)} cells to fill in" in done.err
    return lines


def as_document(work: Runner, *more: str) -> Any:
    done = work(*CLEAN, "--json", *more)
    assert done.code == 0, done
    return json.loads(done.out)


def counted(path: str = "places.csv", like: CountIndex | None = None) -> CountIndex:
    if like is not None:
        return CountIndex.from_table(path, "churn", like=like)
    return CountIndex.from_table(path, "churn", binning="uniform")


def expected_cleaner(answers: dict[tuple[int, str], str]) -> Cleaner:
    """Answer cells of the table, whose rows are the points."""
    cleaner = Cleaner(counted(), "places.csv", "places.csv", alpha=1)
    own = {Cell(*cell, "points"): value for cell, value in answers.items()}
    cleaner.answer({**answers, **own})
    return cleaner


# Out and back ---------------------------------------------------------------------------------------


def test_plan_is_shown(work: Runner) -> None:
    """Without options the plan is a table; as JSON it is that of cleaning_plan."""
    plan = cleaning_plan(counted(), "places.csv", alpha=1)
    assert plan.steps
    shown = work(*CLEAN)
    assert shown.code == 0
    assert f"{plan.n_done} of 9 points are certain" in shown.out
    assert plan.steps[0].feature in shown.out
    assert "holds up to a bias of 0.05" in shown.out
    assert "has a label with odds of 0.99 or more" in shown.out
    assert "The usual choice is --bias 0.05" in shown.out
    document = as_document(work)
    assert document["n_cells"] == plan.n_cells
    assert [step["feature"] for step in document["steps"]] == [s.feature for s in plan.steps]
    assert [step["best"] for step in document["steps"]] == [s.best for s in plan.steps]
    assert document["n_done"] == plan.n_done
    work(*CLEAN, "-o", "plan.json")
    assert json.loads(Path("plan.json").read_text()) == document


def test_worksheet_names_the_cells(work: Runner) -> None:
    """A line per cell of the plan, in its order, with a check that no spreadsheet takes for a number."""
    lines = fresh(work)
    plan = cleaning_plan(counted(), "places.csv", alpha=1)
    assert cells_of(lines) == [cell[:2] for cell in plan.cells("places.csv")]
    assert {*cells_of(lines)} <= {*TRUTH}
    assert [*lines[0]] == ["table", "row", "column", "label", "candidates", "value", "check"]
    features = {feature.name: feature for feature in counted().schema.features}
    for line in lines:
        assert LINES[int(line["row"])].endswith(line["label"])
        assert (line["value"], line["table"]) == ("", "training")
        assert {*line["candidates"].split(" | ")} == {*features[line["column"]].values}
        with pytest.raises(ValueError, match="could not convert"):
            float(line["check"])
        assert line["check"][0].isalpha()
        assert line["check"][0] not in "eE"


@pytest.mark.parametrize(
    "how", ["plain", "sorted", "semicolons", "byte order mark", "columns", "gone"]
)
def test_answers_come_back(work: Runner, how: str) -> None:
    """However a spreadsheet leaves the lines, the answers that are there are taken."""
    lines = filled_in(fresh(work))
    if how == "sorted":
        lines.sort(key=lambda line: (line["column"], -int(line["row"])))
    if how == "gone":
        lines = [{**lines[0], "value": ""}, *lines[2:]]
    if how == "columns":
        lines = [{**dict(reversed(line.items())), "note": "seen, by me"} for line in lines]
    write(
        "sheet.csv",
        lines,
        delimiter=";" if how == "semicolons" else ",",
        encoding="utf-8-sig" if how == "byte order mark" else "utf-8",
    )
    answers = {cell: TRUTH[cell] for cell in cells_of([x for x in lines if x["value"]])}
    cleaner = expected_cleaner(answers)
    before = as_document(work)
    document = as_document(work, "--answers", "sheet.csv", "--repaired", "repaired.csv")
    assert document["answers"]["n_answers"] == len(answers)
    assert document["answers"]["n_done_before"] == before["n_done"]
    assert document["n_done"] == document["answers"]["n_done"] == int(cleaner.done.sum())
    gained = [entry["point"] for entry in document["answers"]["became_done"]]
    assert len(gained) == document["n_done"] - before["n_done"] > 0
    repaired = counted("repaired.csv", like=cleaner.original)
    assert repaired == cleaner.index
    kept = Path("repaired.csv").read_text().splitlines()
    assert len(kept) == 10
    assert kept[1] == LINES[0]


def test_answers_are_told(work: Runner) -> None:
    """On a terminal, what became certain comes first."""
    write("sheet.csv", filled_in(fresh(work)))
    shown = work(*CLEAN, "--answers", "sheet.csv")
    assert shown.code == 0
    assert re.search(
        r"\d answers taken: \d points? done, \d before\n  point \d is done: ", shown.out
    )
    odds = work(*CLEAN, "--answers", "sheet.csv", "--confidence", "0.9")
    assert "points are done: certain, or with odds of 0.9 or more" in odds.out


def test_the_next_worksheet_overwrites_none(work: Runner) -> None:
    """The command that is proposed next writes beside the worksheets that were filled in."""
    write("worksheet.csv", filled_in(fresh(work))[:1])
    shown = work(*CLEAN, "--answers", "worksheet.csv")
    assert shown.out.rstrip().endswith("--answers worksheet.csv -o worksheet2.csv")


def test_second_worksheet(work: Runner) -> None:
    """What was answered is not asked again, and both worksheets together are the whole work."""
    lines = filled_in(fresh(work))
    write("first.csv", lines[:2])
    done = work(*CLEAN, "--answers", "first.csv", "-o", "second.csv")
    assert done.code == 0, done
    second = read("second.csv")
    assert not {*cells_of(lines[:2])} & {*cells_of(second)}
    assert second
    write("second.csv", filled_in(second))
    for order in (("first.csv", "second.csv"), ("second.csv", "first.csv")):
        done = work(
            *CLEAN, "--json", "--answers", order[0], "--answers", order[1], "--repaired", "all.csv"
        )
        document = json.loads(done.out)
        assert document["answers"]["n_answers"] == 2 + len(second)
        assert document["steps"] == []
        answers = {cell: TRUTH[cell] for cell in cells_of([*lines[:2], *second])}
        cleaner = expected_cleaner(answers)
        assert counted("all.csv", like=cleaner.original) == cleaner.index
    (Path("places.csv")).write_text(Path("all.csv").read_text())
    one_line(work(*CLEAN, "--answers", "first.csv"), "belongs to another table or was altered")


def test_candidates_are_named(tmp_path: Path) -> None:
    """A cell says what it may hold, whatever characters values hold: the most frequent first."""
    odd = 'new\nline; \u2028\x0c"quoted"'
    rows: list[Any] = [(frozenset(["x", odd]),), (None,), ("x",), ("y",), (odd,), ("y",)]
    labels = ["A", "A", "B", "B", "A", "A"]
    index = CountIndex.from_rows(rows, labels, features=["f\x0bg"])
    cleaner = Cleaner(index, rows, rows, labels, own_missing="any")
    cells = [Cell(0, "f\x0bg"), Cell(1, "f\x0bg"), Cell(1, "f\x0bg", "points")]
    path = tmp_path / "sheet.csv"
    assert write_worksheet(path, cleaner, cells) == 3
    lines = read(str(path))
    assert [line["candidates"].split(" | ") for line in lines] == [
        [odd, "x"],
        [odd, "y", "x"],
        ["y", odd, "x"],
    ]
    assert [line["label"] for line in lines] == ["A", "A", ""]
    assert read_worksheet(path, cleaner) == {}
    write(str(path), [{**line, "value": odd} for line in lines])
    assert {
        cell: own.value for cell, own in read_worksheet(path, cleaner).items()
    } == dict.fromkeys(cells, odd)


def test_many_candidates_are_cut(tmp_path: Path) -> None:
    """Of many candidates the worksheet shows the first, and says how many there are."""
    rows: list[Any] = [(None,), *((f"v{k:02}",) for k in [*range(30)] * 3)]
    labels = ["A", *["A", "B", "B"] * 30]
    cleaner = Cleaner(CountIndex.from_rows(rows, labels), rows, rows, labels)
    path = tmp_path / "sheet.csv"
    write_worksheet(path, cleaner, [Cell(0, "x0")])
    shown = read(str(path))[0]["candidates"]
    assert shown.startswith("v00 | v03 | ")
    assert shown.endswith(" | … (30 in all)")
    assert len(shown.split(" | ")) == 9


def test_unknown_values_are_skipped(work: Runner) -> None:
    """An empty value and ? say that a value is still unknown; the others are taken."""
    lines = filled_in(fresh(work))
    unknown = [{**line, "value": value} for line, value in zip(lines, (" ? ", " "), strict=False)]
    write("sheet.csv", [*unknown, *lines[2:]])
    taken = as_document(work, "--answers", "sheet.csv")
    assert taken["answers"]["n_answers"] == len(lines) - 2
    write("sheet.csv", [{**line, "value": "?"} for line in lines])
    assert as_document(work, "--answers", "sheet.csv")["answers"]["n_answers"] == 0


def test_a_question_mark_can_be_a_value(tmp_path: Path) -> None:
    """Where ? is a value of the column it is an answer."""
    rows: list[Any] = [(None, "a"), ("?", "b"), ("x", None), ("x", "a")]
    index = CountIndex.from_rows(rows, ["A", "A", "B", "B"], missing_only=("NA",))
    cleaner = Cleaner(index, rows, rows, ["A", "A", "B", "B"])
    path = tmp_path / "sheet.csv"
    write_worksheet(path, cleaner, [Cell(0, "x0"), Cell(2, "x1")])
    write(str(path), [{**line, "value": "?"} for line in read(str(path))])
    assert [*read_worksheet(path, cleaner)] == [Cell(0, "x0")]


@pytest.mark.filterwarnings("ignore:read as numbers")
def test_answers_are_written_as_the_table_is(tmp_path: Path) -> None:
    """Where the table has decimal commas, an answer may have one; a plain number is understood too."""
    table, path = tmp_path / "table.csv", tmp_path / "sheet.csv"
    lines = [f"{number // 10},{number % 10};{number > 20}" for number in range(1, 41)]
    table.write_text("\n".join(["weight;heavy", *lines, ";True", ";False"]) + "\n")
    cleaner = Cleaner(CountIndex.from_table(table, "heavy"), [(1.0,)], table)
    write_worksheet(path, cleaner, [Cell(40, "weight"), Cell(41, "weight")])
    answers = zip(read(str(path)), ("3,7", "1.2"), strict=True)
    write(str(path), [{**line, "value": value} for line, value in answers])
    assert [answer.value for answer in read_worksheet(path, cleaner).values()] == ["3.7", "1.2"]


def test_keys_name_the_rows(work: Runner) -> None:
    """With --key each line has the name of its row, in either table."""
    named = [f"k{i}," + line for i, line in enumerate(TRAIN.splitlines())]
    Path("places.csv").write_text("\n".join(["id," + PLACES, *named[1:]]) + "\n")
    Path("new.csv").write_text("id,age,town,member,since\nnew,,Ulm,true,2024-01-01\n")
    clean = (*CLEAN[:2], "new.csv", *CLEAN[2:], "--key", "id", "--own-missing", "any")
    assert work(*clean, "-o", "sheet.csv").code == 0
    lines = read("sheet.csv")
    assert [*lines[0]][:3] == ["table", "row", "key"]
    assert {line["table"] for line in lines} <= {"training", "points"}
    for line in lines:
        own = line["table"] == "points"
        assert line["key"] == ("new" if own else f"k{int(line['row']) + 1}")


# What is refused ------------------------------------------------------------------------------------


def altered(lines: Sheet, about: str, **changes: str) -> Sheet:
    """Change the first line about a column."""
    place = next(k for k, line in enumerate(lines) if line["column"] == about)
    return [*lines[:place], {**lines[place], **changes}, *lines[place + 1 :]]


WRONG: dict[str, tuple[Any, str]] = {
    "outside the domain": (
        lambda x: altered(x, "town", value="Köln"),
        "1 answer is no value of its column: 'town' has Bonn, Halle, Saale, Ulm (sheet.csv, line",
    ),
    "not a number": (lambda x: altered(x, "age", value="old"), ": 'old'); mend the line"),
    "not a boolean": (
        lambda x: altered(x, "member", value="maybe"),
        "'member' has false, true (sheet",
    ),
    "not a date": (lambda x: altered(x, "since", value="spring"), ": 'spring')"),
    "no table": (lambda x: altered(x, "age", table="test"), "the table is 'test'; give 'training'"),
    "another table": (
        lambda x: altered(x, "age", table="points"),
        "belongs to another table or was altered",
    ),
    "another row": (
        lambda x: altered(x, "age", row="0"),
        "belongs to another table or was altered",
    ),
    "no row": (lambda x: altered(x, "age", row="first"), "the row is 'first'; give a whole number"),
    "another column": (
        lambda x: altered(x, "age", column="town"),
        "belongs to another table or was",
    ),
    "another check": (lambda x: altered(x, "age", check="00000000"), "belongs to another table or"),
    "twice": (lambda x: [*x, x[0]], "has two answers; leave one of them"),
    "no header": (
        lambda x: [dict(enumerate(line.values())) for line in x],
        "has no column 'table'",
    ),
    "no check": (
        lambda x: [{k: v for k, v in line.items() if k != "check"} for line in x],
        "has no column 'check'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(work: Runner, name: str) -> None:
    """A wrong worksheet is one line on stderr and exit code 2, and nothing is written."""
    change, message = WRONG[name]
    write("sheet.csv", change(filled_in(fresh(work))))
    before = sorted(path.name for path in Path().iterdir())
    refused(work, message)
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_range_is_no_answer(work: Runner) -> None:
    """Whoever writes the range that a number lies in is told to write the number."""
    lines = filled_in(fresh(work))
    ranges = next(line["candidates"] for line in lines if line["column"] == "age").split(" | ")
    write("sheet.csv", altered(lines, "age", value=ranges[0]))
    done = work(*CLEAN, "--answers", "sheet.csv")
    one_line(done, "1 answer is no value of its column: ")
    assert "; write the number itself rather than the range it lies in, mend the lines" in done.err


def test_all_misfits_are_named_at_once(work: Runner) -> None:
    """Every line with a value outside its column is named in one message, over all worksheets."""
    lines = filled_in(fresh(work))
    lines = altered(altered(lines, "age", value="old"), "town", value="Rome")
    places = {line["value"]: number for number, line in enumerate(lines)}
    write("one.csv", lines[: places["old"] + 1])
    write("two.csv", lines[places["old"] + 1 :])
    done = work(*CLEAN, "--answers", "one.csv", "--answers", "two.csv")
    one_line(done, "2 answers are no values of their columns: ")
    for value in ("old", "Rome"):
        place = places[value]
        first = place <= places["old"]
        number = place + 2 if first else place - places["old"] + 1
        assert f"({'one' if first else 'two'}.csv, line {number}: {value!r})" in done.err
    assert "mend the lines, or write ? where a value is not known" in done.err


def test_numbers_that_a_column_does_not_show() -> None:
    """A column of the numbers 1 and 2 takes no other, whether its bins would hold it or not."""
    table = pl.DataFrame({"x": [None, *[1, 2] * 20], "y": ["A", *["A", "B"] * 20]})
    for binning in ("mdl", "uniform", "none"):
        index = CountIndex.from_table(table, "y", binning=binning)
        for value in ("99", "1.4", "0", "2.5"):
            cleaner = Cleaner(index, table, table)
            with pytest.raises(NullproofError, match=r"not one of its values \(1, 2\)"):
                cleaner.answer({(0, "x"): value})
        Cleaner(index, table, table).answer({(0, "x"): "2.0"})


def test_numbers_beyond_the_others_are_told_of(work: Runner) -> None:
    """A column that shows ranges takes a number beyond them, with a notice: it may be a slip."""
    write("sheet.csv", altered(filled_in(fresh(work)), "age", value="99"))
    done = work(*CLEAN, "--answers", "sheet.csv")
    assert done.code == 0
    assert "1 answer beyond all that the column shows" in done.err
    assert "'age' is 99" in done.err


def refused(work: Runner, message: str, *sheets: str) -> None:
    options = [part for sheet in sheets or ("sheet.csv",) for part in ("--answers", sheet)]
    files = ("--repaired", "repaired.csv", "-o", "next.csv")
    one_line(work(*CLEAN, *options, *files), message)


def test_wrong_files(work: Runner, folder: Path) -> None:
    """Files that are cut, not text, not there or given twice."""
    lines = filled_in(fresh(work))
    write("sheet.csv", lines)
    whole = Path("sheet.csv").read_bytes()
    refused(work, "has an answer in another worksheet too", "sheet.csv", "sheet.csv")
    last = whole.rstrip().rfind(b",")
    Path("sheet.csv").write_bytes(whole[:last])
    refused(work, f"sheet.csv, line {len(lines) + 1} is cut short")
    Path("sheet.csv").write_bytes(whole[: last + 3])
    refused(work, "belongs to another table or was altered")
    Path("sheet.csv").write_bytes(whole.replace(b"Ulm", b"\xdclm"))
    refused(work, "is not UTF-8 text; save the worksheet as CSV UTF-8")
    Path("sheet.csv").write_bytes(b"")
    refused(work, "has no column 'table'")
    Path("sheet.csv").write_bytes(whole + b'1,age,no,,"' + b"9" * 200_000)
    refused(work, "sheet.csv")
    refused(
        work,
        "no such worksheet: nothing.csv (No such file or directory); name the file",
        "nothing.csv",
    )
    refused(work, "empty", "empty")
    write("other.csv", [lines[0]])
    Path("places.csv").write_text(TRAIN + "20,Ulm,true,2024-01-02,no\n")
    refused(work, "other.csv, line 2 (row", "other.csv")
    assert not (folder / "repaired.csv").exists()
    assert not (folder / "next.csv").exists()


def test_saved_index(work: Runner) -> None:
    """A saved index is enough for a plan; cells need the table."""
    assert work("index", *CLEAN[1:], "-o", "places.index").code == 0
    saved = ("clean", "places.index", "places.csv", "--alpha", "1")
    done = work(*saved, "--json")
    assert json.loads(done.out) == as_document(work, "places.csv")
    one_line(work(*saved, "-o", "sheet.csv"), "is a saved index, without rows; give the table")
    write("answers.csv", filled_in(fresh(work)))
    one_line(work(*saved, "--answers", "answers.csv"), "is a saved index, without rows")


def test_options(work: Runner) -> None:
    """Costs, budget and confidence reach the plan; wrong ones are one line."""
    whole = as_document(work)
    first = whole["steps"][0]["feature"]
    dear = as_document(work, "--cost", f"{first}=1e6")
    assert dear["steps"][0]["feature"] != first
    few = as_document(work, "--budget", "2")
    assert few["n_cells"] == 2 < whole["n_cells"]
    priced = as_document(work, "--budget", "2", *(f"--cost={c}=2" for c in PLACES.split(",")[:4]))
    assert priced["n_cells"] == 1
    work(*CLEAN, "--budget", "2", "-o", "sheet.csv")
    assert len(read("sheet.csv")) == 2
    odds = as_document(work, "--confidence", "0.6", "--cells", "observed")
    assert odds["confidence"] == 0.6
    assert odds["n_done"] >= whole["n_done"]
    for option, value, message in (
        ("--cost", "age", "--cost is 'age'; give COLUMN=NUMBER"),
        ("--cost", "age=dear", "'dear' is not a number"),
        ("--cost", "size=2", "costs names 'size', which is no feature"),
        ("--cost", "age=0", "the cost of 'age' is 0"),
        ("--budget", "-1", "budget is -1"),
        ("--confidence", "0.4", "confidence is 0.4; give 1"),
        ("--cells", "even", "cells is 'even'; give 'uniform', 'observed' or 'model'"),
        ("--repaired", "new.csv", "--repaired new.csv needs --answers"),
        ("-o", "plan.parquet", "plan.parquet names no format by its ending"),
    ):
        one_line(work(*CLEAN, option, value), message)


def test_nothing_to_clean(work: Runner) -> None:
    """A table without holes needs no cells, and says so."""
    Path("places.csv").write_text(PLACES + "\n" + LINES[0] + "\n" + LINES[5] + "\n")
    done = work(*CLEAN)
    assert done.code == 0
    assert "No missing cell needs to be filled" in done.out
    assert "Labels tie" not in done.out
    assert fresh(work) == []


def test_ties_are_named(work: Runner) -> None:
    """Points that no cell makes certain are named, whether or not others need cells."""
    Path("points.csv").write_text("age,town,member,since\n31,Rome,true,2024-01-01\n")
    clean = ("-q", "clean", "places.csv", "points.csv", *CLEAN[2:], "--alpha", "0")
    done = work(*clean)
    assert done.code == 0
    assert "0 of 1 points are certain" in done.out
    assert "No missing cell needs to be filled" in done.out
    assert "Labels tie whatever these cells hold for point 0" in done.out
    assert json.loads(work(*clean, "--json").out)["stuck"] == [0]
    assert "No missing cell within the budget" in work(*CLEAN, "--budget", "0").out


def test_files_are_not_overwritten(work: Runner) -> None:
    """What is read is not written over, neither the table nor the worksheets."""
    write("sheet.csv", filled_in(fresh(work)))
    before = Path("sheet.csv").read_text()
    one_line(work(*CLEAN, "-o", "places.csv"), "is a file that is read")
    one_line(work(*CLEAN, "--answers", "sheet.csv", "-o", "sheet.csv"), "is a file that is read")
    one_line(
        work(*CLEAN, "--answers", "sheet.csv", "--repaired", "places.csv"), "is a file that is read"
    )
    assert Path("sheet.csv").read_text() == before
    assert Path("places.csv").read_text() == TRAIN
