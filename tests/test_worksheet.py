"""Worksheets of the command clean: out to a person, back with answers, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.command_line import Runner, one_line
from support.workbooks import workbook

from nullproof import CountIndex, certify, cleaning_plan
from nullproof.cleaning import Cleaner

COLUMNS = "age,town,member,since,churn"
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
TRAIN = "\n".join((COLUMNS, *LINES)) + "\n"
TRUTH = {
    (1, "age"): "35",
    (2, "town"): "Halle, Saale",
    (3, "member"): "true",
    (4, "since"): "2024-04-01",
    (6, "town"): "Ulm",
    (7, "age"): "48.5",
}
OPTIONS = ("--label", "churn", "--binning", "uniform", "--bias", "1")
CLEAN = ("clean", "places.csv", *OPTIONS)
Sheet = list[dict[str, str]]


@pytest.fixture
def work(run: Runner, folder: Path) -> Runner:
    """Give a table with missing cells of all kinds to work on."""
    (folder / "places.csv").write_text(TRAIN)
    return run


def read(path: str) -> Sheet:
    """Read a worksheet as any CSV reader does."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: str, lines: Sheet, *, delimiter: str = ",", encoding: str = "utf-8") -> None:
    """Write the lines of a worksheet."""
    with Path(path).open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, [*lines[0]], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(lines)


def cells_of(lines: Sheet) -> list[tuple[int, str]]:
    """List the cells that a worksheet asks for."""
    return [(int(line["row"]), line["column"]) for line in lines]


def filled_in(lines: Sheet, truth: dict[tuple[int, str], str] | None = None) -> Sheet:
    """Answer every line with the truth."""
    known = TRUTH if truth is None else truth
    return [{**line, "value": known[int(line["row"]), line["column"]]} for line in lines]


def fresh(work: Runner, name: str = "sheet.csv", clean: tuple[str, ...] = CLEAN) -> Sheet:
    """Write the worksheet of the table and read it."""
    done = work(*clean, "-o", name)
    assert (done.code, done.out) == (0, ""), done
    lines = read(name)
    assert f"{len(lines)} cell" in done.err or not lines
    return lines


def as_document(work: Runner, *more: str, clean: tuple[str, ...] = CLEAN) -> Any:
    """Run clean and read its JSON."""
    done = work(*clean, "--json", *more)
    assert done.code == 0, done
    return json.loads(done.out)


def counted(path: str = "places.csv", like: CountIndex | None = None) -> CountIndex:
    """Count a table as the command does."""
    if like is not None:
        return CountIndex.from_table(path, "churn", like=like)
    return CountIndex.from_table(path, "churn", binning="uniform")


def held_after(answers: dict[tuple[int, str], str]) -> tuple[CountIndex, int]:
    """Fill cells of the table, whose rows are the points: its index, and how many are certain."""
    table = [*csv.DictReader(TRAIN.splitlines())]
    for (row, column), value in answers.items():
        table[row][column] = value
    write("expected.csv", table)
    index = counted("expected.csv", like=counted())
    return index, int(certify(index, "expected.csv").certain.sum())


# Out and back -------------------------------------------------------------------------------------


def test_worksheets_name_the_cells(work: Runner) -> None:
    """A line per cell of the plan, in its order: its line in the file, candidates, an empty value."""
    lines = fresh(work)
    plan = cleaning_plan(counted(), "places.csv", bias=1.0)
    assert cells_of(lines) == [(cell.row, cell.column) for cell in plan.cells("places.csv")]
    assert {*cells_of(lines)} <= {*TRUTH}
    for line in lines:
        assert LINES[int(line["row"])].endswith(line["label"])
        assert (line["value"], line["line"]) == ("", str(int(line["row"]) + 2))
        # No spreadsheet takes the check for a number.
        assert line["check"][0].isalpha()
        assert line["check"][0] not in "eE"
    towns = next(line for line in lines if line["column"] == "town")["candidates"]
    assert {*towns.split(" | ")} == {"Ulm", "Bonn", "Halle, Saale"}


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
    delimiter = ";" if how == "semicolons" else ","
    encoding = "utf-8-sig" if how == "byte order mark" else "utf-8"
    write("sheet.csv", lines, delimiter=delimiter, encoding=encoding)
    answers = {cell: TRUTH[cell] for cell in cells_of([x for x in lines if x["value"]])}
    index, n_held = held_after(answers)
    before = as_document(work)
    document = as_document(work, "--answers", "sheet.csv", "--repaired", "repaired.csv")
    assert document["answers"]["n_answers"] == len(answers)
    assert document["answers"]["n_done_before"] == before["n_done"]
    assert document["n_done"] == document["answers"]["n_done"] == n_held
    gained = document["answers"]["became_done"]
    assert len(gained) == document["n_done"] - before["n_done"] > 0
    assert counted("repaired.csv", like=counted()) == index
    kept = Path("repaired.csv").read_text().splitlines()
    assert (len(kept), kept[1]) == (10, LINES[0])
    assert [step["feature"] for step in document["steps"]] == [
        step.feature for step in cleaning_plan(index, "repaired.csv", bias=1.0).steps
    ]


def test_a_second_worksheet(work: Runner) -> None:
    """What was answered is not asked again; both worksheets together are the whole work."""
    lines = filled_in(fresh(work))
    write("first.csv", lines[:2])
    second = filled_in(fresh(work, "second.csv", (*CLEAN, "--answers", "first.csv")))
    assert second
    assert not {*cells_of(lines[:2])} & {*cells_of(second)}
    write("second.csv", second)
    index, _ = held_after({cell: TRUTH[cell] for cell in cells_of([*lines[:2], *second])})
    for one, two in (("first.csv", "second.csv"), ("second.csv", "first.csv")):
        more = ("--answers", one, "--answers", two, "--repaired", "all.csv")
        document = as_document(work, *more)
        assert document["answers"]["n_answers"] == 2 + len(second)
        assert document["steps"] == []
        assert counted("all.csv", like=counted()) == index
    Path("places.csv").write_text(Path("all.csv").read_text())
    one_line(work(*CLEAN, "--answers", "first.csv"), "another table")


def test_unknown_values_are_skipped(work: Runner) -> None:
    """An empty value and ? say that a value is still unknown; the others are taken."""
    lines = filled_in(fresh(work))
    unknown = [{**line, "value": value} for line, value in zip(lines, (" ? ", " "), strict=False)]
    write("sheet.csv", [*unknown, *lines[2:]])
    taken = as_document(work, "--answers", "sheet.csv")["answers"]
    assert taken["n_answers"] == len(lines) - 2
    write("sheet.csv", [{**line, "value": "?"} for line in lines])
    assert as_document(work, "--answers", "sheet.csv")["answers"]["n_answers"] == 0


def test_candidates(work: Runner) -> None:
    """A cell says what it may hold, whatever characters values hold, most frequent first, not all."""
    odd = 'new\nline; \u2028\x0c"quoted"'
    values = [None, *[odd] * 3, *["y"] * 2, *[f"v{k:02}" for k in range(30)], "y"]
    labels = [*["A"] * 6, *["A", "B"] * 15, "B"]
    pl.DataFrame({"f": values, "churn": labels}).write_csv("odd.csv")
    clean = ("clean", "odd.csv", "--label", "churn", "--keep", "f", "--bias", "1")
    (line,) = fresh(work, clean=clean)
    assert line["candidates"].split(" | ")[:2] == [odd, "y"]
    assert "32" in line["candidates"].split(" | ")[-1]
    assert len(line["candidates"].split(" | ")) < 32
    for value in (odd, "v29"):
        write("sheet.csv", [{**line, "value": value}])
        document = as_document(
            work, "--answers", "sheet.csv", "--repaired", "mended.csv", clean=clean
        )
        assert document["answers"]["n_answers"] == 1
        assert pl.read_csv("mended.csv")["f"][0] == value


def excel_cells(lines: Sheet, values: dict[tuple[int, str], Any]) -> list[list[Any]]:
    """Put the lines of a worksheet into the cells of a spreadsheet, with these values."""
    rows: list[list[Any]] = [[*lines[0]]]
    for line in lines:
        own = {**line, "value": values[int(line["row"]), line["column"]]}
        rows.append([*own.values()])
    return rows


@pytest.mark.parametrize("typed", [False, True], ids=["texts", "typed"])
def test_excel_is_as_good_as_csv(work: Runner, typed: bool) -> None:
    """An Excel worksheet has the lines of the CSV one, and its answers bring the same."""
    pytest.importorskip("fastexcel")
    lines = fresh(work)
    assert work(*CLEAN, "-o", "sheet.xlsx").code == 0
    frame = pl.read_excel("sheet.xlsx", infer_schema_length=0, engine="calamine")
    assert [*frame.columns] == [*lines[0]]
    assert [[x or "" for x in row] for row in frame.rows()] == [[*own.values()] for own in lines]
    values: dict[tuple[int, str], Any] = {**TRUTH}
    if typed:
        values |= {(1, "age"): 35, (7, "age"): 48.5, (3, "member"): True}
        values[4, "since"] = np.datetime64("2024-04-01").astype(object)
    rows = excel_cells(lines, values)
    Path("sheet.xlsx").write_bytes(workbook(rows))
    write("sheet.csv", filled_in(lines))
    excel, plain = (as_document(work, "--answers", f"sheet.{kind}") for kind in ("xlsx", "csv"))
    assert excel == plain
    assert excel["answers"]["n_answers"] == len(lines)
    Path("sheet.xlsx").write_bytes(workbook([row[:-1] for row in rows]))
    one_line(work(*CLEAN, "--answers", "sheet.xlsx"), "'check'")


RUNS = ("=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "'=1", "''@x")


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_nothing_runs_in_a_spreadsheet(work: Runner, ending: str) -> None:
    """Texts that a spreadsheet would run get an apostrophe, and read back as they were."""
    rows = [{"=f": value, "g": None if k % 3 else "a", "y": "-A"} for k, value in enumerate(RUNS)]
    rows += [{"=f": value, "g": "b", "y": "+B"} for value in ("-1.5", *RUNS)]
    rows += [{"=f": None, "g": "a", "y": "-A"}, {"=f": None, "g": "b", "y": "-A"}]
    pl.DataFrame(rows).write_csv("odd.csv")
    # A column that is different in nearly every row would be left out as an id.
    clean = ("clean", "odd.csv", "--label", "y", "--keep", "=f", "--bias", "1")
    assert work(*clean, "-o", f"sheet.{ending}").code == 0
    if ending == "csv":
        lines = read("sheet.csv")
    else:
        frame = pl.read_excel("sheet.xlsx", infer_schema_length=0, engine="calamine")
        lines = [{k: v or "" for k, v in row.items()} for row in frame.rows(named=True)]
    assert not any(cell.startswith((*"=+@\t", "-A")) for line in lines for cell in line.values())
    asked = [line for line in lines if line["column"] == "'=f"]
    assert len(asked) == 2
    for value in (*RUNS, "-1.5"):
        written = value if value == "-1.5" else f"'{value}"
        write("back.csv", [{**asked[0], "value": written}])
        as_document(work, "--answers", "back.csv", "--repaired", "new.parquet", clean=clean)
        row = int(asked[0]["row"])
        assert pl.read_parquet("new.parquet")["=f"][row] == value
    assert work("certify", "odd.csv", "--label", "y", "--keep", "=f", "-o", "said.csv").code == 0
    assert {line["predicted"] for line in read("said.csv")} <= {"'-A", "'+B"}


def test_lines_in_the_file(work: Runner) -> None:
    """Lines are those of the file, or not told where a row may be no line of its own."""
    options = ("--label", "churn", "--binning", "uniform", "--bias", "1")
    Path("below.csv").write_text("made by hand\n" + TRAIN)
    below = fresh(work, clean=("clean", "below.csv", *options, "--skip-rows", "1"))
    assert all(int(line["line"]) == int(line["row"]) + 3 for line in below)
    Path("blank.csv").write_text(TRAIN.replace("50,,", "\n50,,"))
    assert "line" not in fresh(work, clean=("clean", "blank.csv", *options))[0]


# What is refused ----------------------------------------------------------------------------------


def altered(lines: Sheet, about: str, **changes: str) -> Sheet:
    """Change the first line about a column."""
    place = next(k for k, line in enumerate(lines) if line["column"] == about)
    return [*lines[:place], {**lines[place], **changes}, *lines[place + 1 :]]


WRONG: dict[str, tuple[Any, str]] = {
    "outside the domain": (lambda x: altered(x, "town", value="Köln"), "'town'"),
    "not a date": (lambda x: altered(x, "since", value="spring"), "'spring'"),
    "another row": (lambda x: altered(x, "age", row="0"), "another table"),
    "no row": (lambda x: altered(x, "age", row="first"), "'first'"),
    "another check": (lambda x: altered(x, "age", check="00000000"), "another table"),
    "twice": (lambda x: [*x, x[0]], "two answers"),
    "no header": (lambda x: [dict(enumerate(y.values())) for y in x], "no column"),
    "no check": (lambda x: [{k: v for k, v in y.items() if k != "check"} for y in x], "'check'"),
}


def refused(work: Runner, words: str, *sheets: str) -> str:
    """See a worksheet refused in one line, and nothing written."""
    options = [part for sheet in sheets or ("sheet.csv",) for part in ("--answers", sheet)]
    before = sorted(path.name for path in Path().iterdir())
    done = work(*CLEAN, *options, "--repaired", "repaired.csv", "-o", "next.csv")
    one_line(done, words)
    assert sorted(path.name for path in Path().iterdir()) == before
    return done.err


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(work: Runner, name: str) -> None:
    """A wrong worksheet is one line on stderr and exit code 2, and nothing is written."""
    change, words = WRONG[name]
    write("sheet.csv", change(filled_in(fresh(work))))
    assert "sheet.csv" in refused(work, words)


def test_all_misfits_are_named_at_once(work: Runner) -> None:
    """Every line with a value outside its column is named in one message, over all worksheets."""
    lines = filled_in(fresh(work))
    lines = altered(altered(lines, "age", value="old"), "town", value="Rome")
    places = {line["value"]: number for number, line in enumerate(lines)}
    cut = places["old"] + 1
    write("one.csv", lines[:cut])
    write("two.csv", lines[cut:])
    told = refused(work, "2 answers", "one.csv", "two.csv")
    for value in ("old", "Rome"):
        place = places[value]
        sheet, number = ("one", place + 2) if place < cut else ("two", place - cut + 2)
        assert f"{sheet}.csv, line {number}: {value!r}" in told


def test_a_range_is_no_answer(work: Runner) -> None:
    """Whoever writes the range that a number lies in is told to write the number."""
    lines = filled_in(fresh(work))
    ranges = next(line["candidates"] for line in lines if line["column"] == "age").split(" | ")
    write("sheet.csv", altered(lines, "age", value=ranges[0]))
    assert "the number itself" in refused(work, "'age'")


def test_wrong_files(work: Runner) -> None:
    """Files that are cut, not text, not there or given twice."""
    lines = filled_in(fresh(work))
    write("sheet.csv", lines)
    whole = Path("sheet.csv").read_bytes()
    refused(work, "another worksheet", "sheet.csv", "sheet.csv")
    last = whole.rstrip().rfind(b",")
    for content, words in (
        (whole[:last], f"line {len(lines) + 1}"),
        (whole[: last + 3], "another table"),
        (whole.replace(b"Ulm", b"\xdclm"), "UTF-8"),
        (b"", "'row'"),
        (whole + b'1,age,no,,"' + b"9" * 200_000, "sheet.csv"),
    ):
        Path("sheet.csv").write_bytes(content)
        refused(work, words)
    refused(work, "nothing.csv", "nothing.csv")
    refused(work, "empty", "empty")
    write("other.csv", [lines[0]])
    Path("places.csv").write_text(TRAIN + "20,Ulm,true,2024-01-02,no\n")
    refused(work, "other.csv, line 2", "other.csv")


def test_saved_index(work: Runner) -> None:
    """A saved index is enough for a plan; cells need the table."""
    assert work("index", "places.csv", *OPTIONS[:4], "-o", "places.index").code == 0
    saved = ("clean", "places.index", "places.csv", "--bias", "1")
    assert as_document(work, clean=saved) == as_document(work, "places.csv")
    one_line(work(*saved, "-o", "sheet.csv"), "saved index")
    write("answers.csv", filled_in(fresh(work)))
    one_line(work(*saved, "--answers", "answers.csv"), "saved index")


def test_options(work: Runner) -> None:
    """A budget reaches the plan; a wrong one is one line."""
    whole = as_document(work)
    assert as_document(work, "--budget", "2")["n_cells"] == 2 < whole["n_cells"]
    assert len(fresh(work, clean=(*CLEAN, "--budget", "2"))) == 2
    one_line(work(*CLEAN, "--budget", "few"), "--budget", "'few'")
    one_line(work(*CLEAN, "-o", "plan.parquet"), "plan.parquet")


# The whole round ----------------------------------------------------------------------------------


def made_up(folder: Path) -> dict[tuple[int, str], str]:
    """Write train.csv and test.csv with missing cells in columns of all kinds; return the truth."""
    rng = np.random.default_rng(7)
    n = 160
    label = rng.integers(0, 2, n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 60, n) + 9 * label
    truth = pl.DataFrame(
        {
            "id": [f"r{k}" for k in range(n)],
            "age": 20 + rng.integers(0, 30, n) + 6 * label,
            "size": (rng.random(n) + 0.2 * label).round(3),
            "town": rng.choice(["Ulm", "Bonn", "Halle, Saale"], n),
            "member": rng.random(n) < 0.4 + 0.2 * label,
            "since": days.astype("datetime64[D]"),
            "churn": np.where(label, "yes", "no"),
        }
    )
    names = ["age", "size", "town", "member", "since"]
    holed = truth.with_columns(
        pl.when(pl.Series(rng.random(n) >= 0.1)).then(pl.col(name)).alias(name) for name in names
    )
    holed[:120].write_csv(folder / "train.csv")
    holed[120:].drop("churn").write_csv(folder / "test.csv")
    return {
        (row, name): str(value).lower() if isinstance(value, bool) else str(value)
        for name in names
        for row, value in enumerate(truth[name].to_list())
    }


def assert_kept(run: Runner, clean: tuple[str, ...], repaired: str, bias: tuple[str, ...]) -> None:
    """Take the answers, and check that certify on what is written gives what was promised."""
    promised = as_document(run, "--answers", "sheet.csv", "--repaired", repaired, clean=clean)
    tests = [name for name in clean[2:3] if not name.startswith("--")]
    like = ("--like", f"{repaired}.before.index")
    done = run("certify", repaired, *tests, *like, *bias, "--json")
    assert done.code == 0, done
    found = [point["certain"] for point in json.loads(done.out)["points"]]
    assert sum(found) == promised["n_done"] == promised["answers"]["n_done"]
    assert all(found[entry["point"]] for entry in promised["answers"]["became_done"])


@pytest.mark.parametrize("most", [5, None], ids=["some", "all"])
@pytest.mark.parametrize("bias", ["1", "0.1"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_promises_are_kept(
    run: Runner, folder: Path, bias: str, ending: str, most: int | None
) -> None:
    """After answers, certify on the repaired table gives as many done points as was said."""
    truth = made_up(folder)
    if ending == "parquet":
        # Columns with types: what is written must be of these types too.
        pl.read_csv("train.csv", try_parse_dates=True).write_parquet("train.parquet")
    options = ("--label", "churn", "--key", "id", "--bias", bias, "--weights", "equal")
    clean = ("clean", f"train.{ending}", "test.csv", *options)
    lines = fresh(run, clean=clean)
    assert lines
    write("sheet.csv", filled_in(lines[:most], truth))
    assert_kept(run, clean, f"new.{ending}", ("--key", "id", "--bias", bias))


def test_training_rows_as_points(run: Runner, folder: Path) -> None:
    """Where the points are the training rows, an answer fills the cell of both, asked for once."""
    truth = made_up(folder)
    clean = ("clean", "train.csv", "--label", "churn", "--ignore", "id", "--bias", "1")
    lines = fresh(run, clean=clean)
    assert len({*cells_of(lines)}) == len(lines)
    write("sheet.csv", filled_in(lines[:8], truth))
    assert_kept(run, clean, "new.csv", ("--bias", "1"))


def test_decimal_commas_are_read_back(run: Runner, folder: Path) -> None:
    """A repaired file with points for its decimal commas counts as the file with the answers would."""
    cells = [f"{k % 9 + 1},{125 * (k % 8):03}" for k in range(40)]
    lines = [f"{cell};{'no' if cell < '5' else 'yes'}" for cell in [*cells, "2,5"]]
    for name, cell in (("comma.csv", ""), ("whole.csv", "3,125")):
        (folder / name).write_text("\n".join(["size;churn", *lines, *[f"{cell};no"] * 9]))
    clean = ("clean", "comma.csv", "--label", "churn", "--bias", "1", "--binning", "uniform")
    write("sheet.csv", [{**line, "value": "3,125"} for line in fresh(run, clean=clean)])
    as_document(run, "--answers", "sheet.csv", "--repaired", "new.csv", clean=clean)
    before = CountIndex.load("new.csv.before.index")
    assert counted("new.csv", like=before) == counted("whole.csv", like=before)


def test_answers_keep_their_bins_in_narrow_columns(run: Runner, folder: Path) -> None:
    """Floats of 32 bits would round this answer into the next bin."""
    cells = {
        "size": [0.0, 0.25] * 5 + [0.75, 1.0] * 5 + [None] * 15,
        "churn": [*"nnnnnnnnnnyyyyyyyyyynnnnnnnnnnnnnnn"],
    }
    frame = pl.DataFrame(cells, schema_overrides={"size": pl.Float32})
    frame.write_parquet(folder / "narrow.parquet")
    cut = ("--binning", "uniform", "--bins", "2")
    clean = ("clean", "narrow.parquet", "--label", "churn", "--bias", "1", *cut)
    write("sheet.csv", [{**line, "value": "0.49999999"} for line in fresh(run, clean=clean)])
    as_document(run, "--answers", "sheet.csv", "--repaired", "new.parquet", clean=clean)
    index = counted("new.parquet", like=CountIndex.load("new.parquet.before.index"))
    assert index.exact(0)[:-1].tolist() == [[25, 0], [0, 10]]


# Values as the table writes them ------------------------------------------------------------------


def test_decimal_commas(run: Runner, folder: Path) -> None:
    """Where the table has decimal commas, an answer may have one; a plain number is understood."""
    lines = [f"{n // 10},{n % 10};{n % 4 > 1}" for n in range(1, 41)]
    (folder / "table.csv").write_text("\n".join(["weight;heavy", *lines, ";True", ";False"]) + "\n")
    options = ("--label", "heavy", "--binning", "uniform", "--bins", "2", "--bias", "1")
    clean = ("clean", "table.csv", *options)
    asked = fresh(run, clean=clean)
    assert cells_of(asked)
    for written, value in (("3,7", 3.7), ("1.2", 1.2), ("0.125", 0.125), ("0,125", 0.125)):
        write("sheet.csv", [{**asked[0], "value": written}])
        as_document(run, "--answers", "sheet.csv", "--repaired", "new.parquet", clean=clean)
        row = int(asked[0]["row"])
        found = str(pl.read_parquet("new.parquet")["weight"][row]).replace(",", ".")
        assert float(found) == value, written


def test_an_answer_that_may_mean_two_numbers(run: Runner, folder: Path) -> None:
    """Where decimals have commas 1.234 may be a thousand or one: it is refused, 1,234 and 1234 are not."""
    rows = [*["1,234;a"] * 30, *["5,5;b"] * 30, *[";a"] * 40, *[";b"] * 40]
    (folder / "t.csv").write_text("\n".join(["x;y", *rows, ""]))
    clean = ("clean", "t.csv", "--label", "y", "--bias", "1")
    (line, *_) = fresh(run, clean=clean)
    write("one.csv", [{**line, "value": "1.234"}])
    one_line(run("-q", *clean, "--answers", "one.csv"), "may mean 1.234 or 1234")
    write("one.csv", [{**line, "value": "1,234"}])
    assert run(*clean, "--answers", "one.csv").code == 0


def test_a_question_mark_can_be_a_value(run: Runner, folder: Path) -> None:
    """Where ? is a value of the column it is an answer; elsewhere it says that none is known."""
    (folder / "marks.csv").write_text("f,g,y\nNA,a,A\n?,b,A\nx,NA,B\nx,a,A\n?,b,B\nx,a,B\n")
    clean = ("clean", "marks.csv", "--label", "y", "--missing-only", "NA", "--bias", "1")
    lines = fresh(run, clean=clean)
    assert {(0, "f"), (2, "g")} >= {*cells_of(lines)}
    write("sheet.csv", [{**line, "value": "?"} for line in lines])
    n_marks = sum(line["column"] == "f" for line in lines)
    document = as_document(run, "--answers", "sheet.csv", clean=clean)
    assert document["answers"]["n_answers"] == n_marks == 1


def test_numbers_that_a_column_does_not_show() -> None:
    """A column of the numbers 1 and 2 takes no other, whether its bins would hold it or not."""
    table = pl.DataFrame({"x": [None, *[1, 2] * 20], "y": ["A", *["A", "B"] * 20]})
    for binning in ("mdl", "uniform", "none"):
        index = CountIndex.from_table(table, "y", binning=binning)
        for value in ("99", "1.4", "0", "2.5"):
            with pytest.raises(ValueError, match="1, 2"):
                Cleaner(index, table, table).fill({(0, "x"): value})
        Cleaner(index, table, table).fill({(0, "x"): "2.0"})
