"""The command line: the answers of the library, in JSON, files and words, with the promised exit codes."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import random
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import (
    CERTIFY,
    PAPER,
    SOURCE,
    TEST,
    TRAIN,
    Runner,
    one_line,
    started,
    write_customers,
)
from support.documents import answers
from support.page import rows
from support.schemas import SCHEMAS, problems
from support.workbooks import workbook

from nullproof import (
    CountIndex,
    NullproofWarning,
    __version__,
    certify,
    cleaning_plan,
    explain,
    label_odds,
    poison,
    radius,
    report,
)

CUSTOMERS = ("--label", "churn", "--ignore", "customer")
DEMO = ("customers.csv", "new.csv", *CUSTOMERS, *PAPER)
QUESTIONS = ("certify", "radius", "odds", "poison", "clean", "report")
KINDS = "colour,size,code,kind\n" + "red,1,007,a\n" * 6 + "blue,9,008,a\n"
KINDS += "blue,9,008,b\n" * 5 + "red,,007,b\n" * 4
KIND_POINTS = "colour,size,code\nred,1,007\nblue,9,008\nblue,1,007\n"
BOTH = ("train.csv", "test.csv")
COUNT = ("--label", "kind", "--binning", "uniform")
KIND = (*COUNT, "--alpha", "0")


@pytest.fixture
def customers(folder: Path) -> CountIndex:
    """Write the demo's table and five customers, and count the table."""
    write_customers(folder)
    path = folder / "customers.csv"
    return CountIndex.from_table(path, "churn", ignore=["customer"], binning="uniform")


@pytest.fixture
def kinds(folder: Path) -> Path:
    """Write a table in which attacks are easy to follow, and three points."""
    (folder / "train.csv").write_text(KINDS)
    (folder / "test.csv").write_text(KIND_POINTS)
    return folder


def asked(run: Runner, *arguments: str, stdin: bytes = b"") -> Any:
    """Ask for JSON, which comes alone and with exit code 0."""
    done = run("-q", *arguments, "--json", stdin=stdin)
    assert (done.code, done.err) == (0, ""), done
    assert done.out.count("\n") == 1
    return json.loads(done.out)


# The answers of the library -------------------------------------------------------------------------


LIBRARY: dict[str, Callable[..., Any]] = {
    "certify": lambda index, points, **own: certify(index, points, **own).document(),
    "radius": lambda index, points, **own: radius(index, points, **own).document(),
    "odds": lambda index, points, **own: label_odds(index, points, **own).document(),
    "clean": lambda index, points, **own: cleaning_plan(index, points, **own).document(),
    "report": lambda index, points, **own: json.loads(report(index, points, **own).json()),
}
BIASES: list[tuple[tuple[str, ...], Any]] = [
    ((), 1.0),
    (("--bias", "0.05"), 0.05),
    (("--bias", "age=1", "--bias", "0.05"), {"age": 1, "*": 0.05}),
    (("--bias", "age=1/3"), {"age": 1 / 3}),
]
SMOOTHING: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--alpha", "1/2"), {"alpha": 0.5}),
    (("--prior", "uniform"), {"prior": "uniform"}),
    (("--prior", "1,3"), {"prior": [1, 3]}),
    (("--prior", "yes=3,no=1", "--alpha", "0.25"), {"prior": [1, 3], "alpha": 0.25}),
]


def agrees(command: str, found: dict[str, Any], expected: Any) -> None:
    """Check that a document of the command line says what the library's does."""
    expected = json.loads(json.dumps(expected))
    if command == "report":
        found, expected = answers(found), answers(expected)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("command", [*LIBRARY])
def test_every_question_gets_the_answer_of_the_library(
    run: Runner, folder: Path, customers: CountIndex, command: str
) -> None:
    """--json is the document of the library with the same options, and --check follows them."""
    pl.read_csv(folder / "new.csv").drop("churn").write_csv(folder / "new.csv")
    points = customers.encode(folder / "new.csv")
    ways: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), {}), *SMOOTHING]
    # An enemy and chance have no bias.
    if command in ("clean", "report"):
        ways.append((BIASES[2][0], {"bias": BIASES[2][1]}))
    if command == "certify":
        ways += [
            ((*options, "--own-missing", own), {"bias": bias, "own_missing": own})
            for options, bias in BIASES
            for own in ("skip", "any")
        ]
    for options, given in ways:
        question = (command, *DEMO[:-4], *PAPER[2:], *options)
        document = asked(run, *question)
        agrees(command, document, LIBRARY[command](customers, points, **given))
        if command == "certify":
            open_ones = document["n_certain"] < document["n_points"]
            assert run(*question, "--check", "--json").code == int(open_ones)


def test_the_truth_is_counted_and_never_decides(
    run: Runner, folder: Path, customers: CountIndex
) -> None:
    """Labels in TEST say how many of each verdict are right; without them all else is the same."""
    told = asked(run, "certify", *DEMO)
    assert [point["right"] for point in told["points"]] == [True, False, True, None, None]
    groups = {name: (group["n"], group["n_right"]) for name, group in told.pop("truth").items()}
    assert groups == {"certain": (1, 1), "holds": (1, 1), "open": (1, 0)}
    for point in told["points"]:
        del point["right"]
    points = pl.read_csv(folder / "new.csv")
    for table in (points.drop("churn"), points.with_columns(churn=pl.lit("?"))):
        table.write_csv(folder / "new.csv")
        assert asked(run, "certify", *DEMO) == told


def test_without_test_the_training_rows_are_the_points(
    run: Runner, folder: Path, customers: CountIndex
) -> None:
    """TRAIN alone asks about its own rows with their labels, and every output says so."""
    expected = certify(customers, folder / "customers.csv").verdict.tolist()
    for command in ("certify", "radius", "odds", "clean"):
        told = asked(run, command, "customers.csv", *CUSTOMERS, *PAPER[2:])
        assert told["training_rows"] is True
        assert "training rows themselves" in run(command, "customers.csv", *CUSTOMERS).out
        assert "training_rows" not in asked(run, command, *DEMO)
        if command == "certify":
            assert [point["verdict"] for point in told["points"]] == expected
            assert sum(group["n"] for group in told["truth"].values()) == len(expected)


def test_one_table_may_come_from_standard_input(run: Runner) -> None:
    """- reads TRAIN or TEST from standard input."""
    for names, written in ((("-", "test.csv"), TRAIN), (("train.csv", "-"), TEST)):
        found = asked(run, "certify", *names, "--label", "churn", *PAPER, stdin=written.encode())
        assert found == asked(run, *CERTIFY)


INDEX_OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("--missing ? --missing=-9", {"missing": ["?", "-9"]}),
    ("--missing-only gone", {"missing_only": ["gone"]}),
    ("--missing a=11 --missing ?", {"missing": {"a": ["11"], "*": ["?"]}}),
    ("--missing-is-value b", {"missing_is_value": ["b"]}),
    ("--binning uniform --bins 3", {"binning": "uniform", "bins": 3}),
    ("--binning quantile", {"binning": "quantile"}),
    ("--binning a=mdl --binning none", {"binning": {"a": "mdl", "*": "none"}}),
    ("--binning quantile --binning b=none", {"binning": {"b": "none", "*": "quantile"}}),
    ("--ignore a", {"ignore": ["a"]}),
    ("--keep id", {"keep": ["id"]}),
    ("--like old.index", {"like": "old.index"}),
    ("--drop-unlabelled", {"unlabelled": "drop"}),
]


@pytest.mark.parametrize(("options", "given"), INDEX_OPTIONS)
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_table_options_reach_the_library(
    run: Runner, folder: Path, options: str, given: dict[str, Any]
) -> None:
    """A saved index is the one that the library counts with the same options."""
    rows = [
        f"c{n},{n % 12},{n // 2 if n % 5 else '?'},{'gone' if n % 9 == 4 else 'x'},{n // 20}\n"
        for n in range(40)
    ]
    (folder / "t.csv").write_text(
        "id,a,b,c,y\n" + "".join(rows) + ",1,2,x,\n" * ("drop" in options)
    )
    CountIndex.from_table(pl.read_csv(folder / "t.csv", infer_schema=False)[:40], "y").save(
        "old.index"
    )
    if "like" in given:
        given = {"like": CountIndex.load("old.index")}
    assert run("-q", "index", "t.csv", "--label", "y", *options.split(), "-o", "i.index").code == 0
    assert CountIndex.load("i.index") == CountIndex.from_table(folder / "t.csv", "y", **given)


def as_arff(text: str) -> bytes:
    names, rows = text.split("\n", 1)
    head = "".join(f"@attribute {name} string\n" for name in names.split(","))
    return f"@relation r\n{head}@data\n{rows}".encode()


def as_workbook(text: str, **sheets: Any) -> bytes:
    return workbook({**sheets, "data": [line.split(",") for line in text.splitlines()]})


# The same table in other forms, and what these need to be told, on the command line and in the library.
FORMS: dict[str, tuple[Callable[[str], bytes], str, dict[str, Any]]] = {
    "Excel": (as_workbook, "", {}),
    "ARFF": (as_arff, "", {}),
    "packed": (lambda text: gzip.compress(as_workbook(text)), "", {}),
    "UTF-16": (
        lambda text: text.encode("utf-16-le"),
        "--encoding utf-16-le",
        {"encoding": "utf-16-le"},
    ),
    "second sheet": (
        lambda text: as_workbook(text, notes=[["a"], ["b"]]),
        "--sheet data",
        {"sheet": "data"},
    ),
    "title": (lambda text: b"a title\n" + text.encode(), "--skip-rows 1", {"skip_rows": 1}),
    "no header": (
        lambda text: text.partition("\n")[2].encode(),
        "--no-header --label c3",
        {"header": False, "label": "c3"},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_by_name_and_on_standard_input(run: Runner, folder: Path, form: str) -> None:
    """Files of every form are counted as the library does, whatever their name, and from a stream."""
    write, options, given = FORMS[form]
    content = write(TRAIN)
    (folder / "other").write_bytes(content)
    options += " --label churn" * ("label" not in given)
    expected = CountIndex.from_table("other", **{"label": "churn", **given})
    for train, stdin in (("other", b""), ("-", content)):
        done = run("-q", "index", train, *options.split(), "-o", "i.index", stdin=stdin)
        assert done.code == 0, done
        assert CountIndex.load("i.index") == expected


def test_a_saved_index_is_a_training_table(run: Runner, kinds: Path) -> None:
    """Questions without rows get the same answer from a table and from its saved index."""
    assert run("-q", "index", "train.csv", *COUNT, "-o", "counts.index").code == 0
    for question in ("certify", "radius", "odds"):
        from_table = asked(run, question, *BOTH, *KIND)
        assert asked(run, question, "counts.index", "test.csv", "--alpha", "0") == from_table


# Attacks --------------------------------------------------------------------------------------------


def test_the_curve_counts_right_predictions_by_attack(run: Runner, kinds: Path) -> None:
    """--curve needs true labels; its shares never grow with the attack; --check is certify's."""
    document = asked(run, "radius", "train.csv", *KIND, "--curve")
    shares = [step["share"] for step in document["curve"]]
    assert shares == sorted(shares, reverse=True)
    assert document["accuracy"] >= shares[0]
    assert "training rows" in run("radius", "train.csv", *KIND, "--curve", "--threat", "rows").out
    one_line(run("radius", *BOTH, *KIND, "--curve"), "--curve needs true labels")
    assert run("radius", *BOTH, *KIND, "--check").code == 1


def test_an_attack_keeps_to_the_columns_that_are_named(run: Runner, kinds: Path) -> None:
    """--only-columns limits radius and poison alike; a column that is not there is refused."""
    limits = ("--only-columns", "size")
    limited, every = (
        [point["radius"] for point in asked(run, "radius", *BOTH, *COUNT, *more)["points"]]
        for more in (limits, ())
    )
    assert all(one is None or one >= other for one, other in zip(limited, every, strict=True))
    assert limited != every
    attack = asked(run, "poison", *BOTH, *COUNT, *limits, "--skip-unbreakable")
    assert {cell["column"] for cell in attack["cells"]} <= {"size"}
    one_line(run("radius", *BOTH, *COUNT, "--only-columns", "color"), "'color'")


def test_poison_names_cells_that_work(run: Runner, kinds: Path) -> None:
    """Blanking exactly the named cells by hand makes every point open; -o does the same to a copy."""
    document = asked(run, "poison", *BOTH, *KIND, "--steps", "20")
    assert document["n_cells"] == len(document["cells"]) >= document["lower_bound"] > 0
    assert document["optimal"] == (document["n_cells"] == document["lower_bound"])
    lines = [line.split(",") for line in KINDS.splitlines()]
    for cell in document["cells"]:
        lines[cell["row"] + 1][lines[0].index(cell["column"])] = ""
    (kinds / "by_hand.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    assert run("-q", "poison", *BOTH, *KIND, "--steps", "20", "-o", "poisoned.csv").code == 0
    index = CountIndex.from_table(kinds / "train.csv", "kind", binning="uniform")
    assert CountIndex.load(kinds / "poisoned.csv.before.index") == index
    for name in ("by_hand.csv", "poisoned.csv"):
        after = CountIndex.from_table(kinds / name, "kind", like=index)
        assert not certify(after, kinds / "test.csv", alpha=0).certain.any()
    assert (kinds / "poisoned.csv").read_text() == (kinds / "by_hand.csv").read_text()
    assert (kinds / "train.csv").read_text() == KINDS


def test_poison_by_rows(run: Runner, kinds: Path) -> None:
    """--threat rows gives a longer table in which each certain label is lost."""
    options = (*KIND, "--threat", "rows", "--skip-unbreakable")
    document = asked(run, "poison", *BOTH, *options)
    assert document["n_rows"] >= document["lower_bound"] > 0
    before = asked(run, "certify", *BOTH, *KIND)["points"]
    for name in ("longer.csv", "longer.parquet"):
        assert run("-q", "poison", *BOTH, *options, "-o", name).code == 0
        like = ("--like", f"{name}.before.index", "--alpha", "0")
        after = asked(run, "certify", name, "test.csv", *like)["points"]
        for one, other in zip(before, after, strict=True):
            assert not one["certain"] or other["label"] != one["label"]
    one_line(run("poison", *BOTH, *options, "--steps", "3"), "--steps")


@pytest.fixture
def numbers(folder: Path) -> Path:
    """Write a table whose bins go when an attack blanks what they were cut by."""
    draw = random.Random(0)
    labels = ["a"] * 30 + ["b"] * 30
    sizes = [draw.randrange(14) + (6 if label == "b" else 0) for label in labels]
    reds = [draw.random() < (0.8 if label == "a" else 0.2) for label in labels]
    rows = [
        f"{size},{'red' if red else 'blue'},{label}"
        for size, red, label in zip(sizes, reds, labels, strict=True)
    ]
    (folder / "train.csv").write_text("\n".join(["size,colour,kind", *rows]) + "\n")
    (folder / "test.csv").write_text("size,colour\n1,red\n18,blue\n")
    return folder


POISON = ("-q", "poison", *BOTH, "--label", "kind", "--steps", "1", "-o")


@pytest.mark.parametrize("name", ["poisoned.csv", "poisoned.parquet", "parts/poisoned.csv"])
def test_an_attacked_table_is_told_to_be_one(run: Runner, numbers: Path, name: str) -> None:
    """It comes with the bins from before; who forgets them is warned, in folders and patterns too."""
    (numbers / "parts").mkdir()
    companion = numbers / f"{name}.before.index"
    companion.write_text("my notes")
    one_line(run(*POISON, name), f"{name}.before.index")
    assert companion.read_text() == "my notes", "only an index is written over"
    companion.unlink()
    assert run(*POISON, name).code == 0
    told = run("certify", name, "test.csv", "--label", "kind", "--json")
    assert f"--like {name}.before.index" in told.err
    assert json.loads(told.out)["n_certain"] > 0, "the trap is real"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NullproofWarning)
        CountIndex.from_table(name, "kind")
    assert any(".before.index" in str(one.message) for one in caught)
    for source in ("parts", "parts/*.csv") if "parts" in name else ("poison[e]d.*[v|t]",):
        assert ".before.index" in run("certify", source, "test.csv", "--label", "kind").err
    assert ".before.index" not in run("certify", *BOTH, "--label", "kind").err


def test_an_attacked_table_keeps_values_that_look_missing(run: Runner, folder: Path) -> None:
    """What is a value by --missing-only is still one in the table that is written."""
    (folder / "odd.csv").write_text("x,y\nNA,p\nNA,p\nNA,p\nb,q\nb,q\nb,q\ngone,q\n")
    (folder / "points.csv").write_text("x\nNA\n")
    table = ("odd.csv", "points.csv", "--label", "y", "--missing-only", "gone")
    assert run("-q", "poison", *table, "--steps", "1", "-o", "attacked.csv").code == 0
    index = CountIndex.from_table(folder / "odd.csv", "y", missing_only=("gone",))
    attack = poison(index, folder / "points.csv", steps=1)
    frame = pl.read_csv(folder / "odd.csv", infer_schema=False)
    attacked = CountIndex.from_table(folder / "attacked.csv", "y", like=index)
    assert attacked == CountIndex.from_table(attack.apply(frame), "y", like=index)


# Keys and explanations ------------------------------------------------------------------------------


KEYS = ["0007", "u 2", "x,y"]
KEYED = (*BOTH, "--label", "churn", "--binning", "uniform", "--key", "id")


@pytest.fixture
def keyed(folder: Path) -> Path:
    """Write tables with a column that names rows."""
    rows = ["31,Ulm,no", ",Bonn,no", ",Ulm,yes", "64,,yes", "33,,no", "61,Ulm,yes"] * 5
    lines = [f"{2 * number:03},{row}\n" for number, row in enumerate(rows)]
    (folder / "train.csv").write_text("id,age,town,churn\n" + "".join(lines))
    (folder / "test.csv").write_text('town,id,age\nUlm,0007,32\nBonn,u 2,62\n,"x,y",33\n')
    return folder


@pytest.mark.parametrize("command", ["certify", "radius", "odds"])
def test_a_key_names_points_everywhere(run: Runner, keyed: Path, command: str) -> None:
    """The key is beside the position in JSON and files, shown to people, and changes no answer."""
    named = asked(run, command, *KEYED)["points"]
    plain = asked(run, command, *KEYED[:-2], "--ignore", "id")["points"]
    assert [point.pop("key") for point in named] == KEYS
    assert named == plain
    assert run("-q", command, *KEYED, "-o", "found.csv").code == 0
    assert pl.read_csv("found.csv", infer_schema=False)["key"].to_list() == KEYS
    shown = run(command, *KEYED).out
    assert all(key in shown for key in KEYS)


@pytest.mark.parametrize("command", ["poison", "clean"])
def test_a_key_names_rows_of_the_training_table(run: Runner, keyed: Path, command: str) -> None:
    """Cells of an attack and lines of a worksheet have the keys of their rows."""
    if command == "poison":
        cells = asked(run, "poison", *KEYED, "--steps", "1")["cells"]
    else:
        assert run("-q", "clean", *KEYED, "-o", "sheet.csv").code == 0
        cells = pl.read_csv("sheet.csv", infer_schema=False).to_dicts()
    assert cells
    assert all(cell["key"] == f"{2 * int(cell['row']):03}" for cell in cells)


def test_a_key_where_only_one_table_has_it(run: Runner, keyed: Path) -> None:
    """Training rows are named by TRAIN's column; a saved index has none, but TEST may have it."""
    label = KEYED[2:6]
    points = asked(run, "certify", "train.csv", *label, "--key", "id")["points"]
    assert [point["key"] for point in points[:3]] == ["000", "002", "004"]
    run("-q", "index", "train.csv", *label, "--key", "id", "-o", "counts.index")
    found = asked(run, "certify", "counts.index", "test.csv", "--key", "id")["points"]
    assert [point["key"] for point in found] == KEYS
    for wrong, reasons in (
        (("--key", "idd"), ("'idd'", "'id'")),
        (("--key", "churn"), ("'churn'", "label")),
        (("--key", "id", "--keep", "id"), ("--key", "--keep")),
    ):
        one_line(run("-q", "certify", *BOTH, *label, *wrong), *reasons)


def test_explain_gives_one_point(run: Runner, folder: Path) -> None:
    """--explain gives what the library explains, by position or key; --check looks at that point."""
    (folder / "test.csv").write_text("town,age,who\nBonn,40,Ann\nUlm,30,Bo\nUlm,,Bo\n")
    index = CountIndex.from_table(folder / "train.csv", "churn", binning="uniform")
    own = explain(index, {"town": "Ulm", "age": None}, label="no", rival="yes", alpha=0)
    told = asked(run, *CERTIFY, "--explain", "2", "--rival", "yes")
    assert (told["point"], told["label"], told["rival"]) == (2, "no", "yes")
    assert told["terms"] == json.loads(json.dumps(own.document()))["terms"]
    assert run(*CERTIFY, "--explain", "1", "--check").code == 0
    assert run(*CERTIFY, "--explain", "0", "--check").code == 1
    by_key = ("-q", *CERTIFY, "--key", "who", "--explain")
    found = json.loads(run(*by_key, "Ann", "--json").out)
    assert (found["point"], found["key"]) == (0, "Ann")
    one_line(run(*by_key, "Bo"), "points 1, 2")
    one_line(run(*by_key, "Cy"), "Ann, Bo")
    for wrong, reason in (
        (("3",), "0 to 2"),
        (("-1",), "0 to 2"),
        (("0", "--rival", "maybe"), "'maybe'"),
        (("0", "--all"), "--all"),
    ):
        one_line(run("-q", *CERTIFY, "--explain", *wrong), reason)
    one_line(run("-q", *CERTIFY, "--rival", "no"), "--explain")


# JSON and files -------------------------------------------------------------------------------------


WAYS: dict[str, tuple[str, ...]] = {
    "plain": ("new.csv", "--ignore", "customer"),
    "keyed": ("new.csv", "--key", "customer"),
    "training rows": ("--ignore", "customer"),
    "biased": ("new.csv", "--ignore", "customer", "--bias", "age=0.1"),
}


@pytest.mark.parametrize("way", [*WAYS])
@pytest.mark.parametrize("command", QUESTIONS)
@pytest.mark.usefixtures("customers")
def test_json_keeps_to_its_schema(run: Runner, command: str, way: str) -> None:
    """Every key is there, is of its type, and is described in docs/schemas; a key too many is found."""
    if (command, way) == ("poison", "training rows") or (
        way == "biased" and command in ("radius", "odds", "poison")
    ):
        return
    own: tuple[str, ...] = ("--steps", "1") if command == "poison" else ()
    own += ("--limit", "2", "--point", "11037") if (command, way) == ("report", "keyed") else ()
    document = asked(run, command, "customers.csv", *WAYS[way], "--label", "churn", *PAPER, *own)
    assert problems(command, document) == []
    assert problems(command, {**document, "news": 1}) == ["$.news is in no schema"]
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {*QUESTIONS, "audit"}
    if (command, way) == ("certify", "biased"):
        assert (document["threshold"], document["bias"]) == (None, {"age": 0.1})
    if (command, way) == ("report", "keyed"):
        assert "11037" in [point["key"] for point in document["points"]]
        assert len(document["points"]) <= 3
    if (command, way) == ("clean", "keyed"):
        arguments = ("clean", "customers.csv", *WAYS[way], "--label", "churn", *PAPER)
        run("-q", *arguments, "-o", "sheet.csv")
        answered = asked(run, *arguments, "--answers", "sheet.csv")
        assert "answers" in answered
        assert problems("clean", answered) == []


@pytest.mark.parametrize("command", ["certify", "radius", "odds"])
def test_files_hold_what_json_does(run: Runner, kinds: Path, command: str) -> None:
    """-o writes the same points in each format, says so once, and leaves no other file."""
    (kinds / "test.csv").write_text(KIND_POINTS + ",,\n")
    document = asked(run, command, *BOTH, *KIND)
    before, mask = {*kinds.iterdir()}, os.umask(0)
    os.umask(mask)
    for ending in ("csv", "parquet", "json"):
        done = run(command, *BOTH, *KIND, "-o", f"out.{ending}")
        assert (done.code, done.out, f"out.{ending}" in done.err) == (0, "", True)
        written = kinds / f"out.{ending}"
        with written.open("rb") as reading:
            start, rest = reading.read(9), written.read_bytes()[9:]
            assert run("-q", command, *BOTH, *COUNT, "-o", f"out.{ending}") == (0, "", "")
            assert reading.read() == rest, "who reads the old file reads it to its end"
        assert start != b""
        assert run("-q", command, *BOTH, *KIND, "-o", f"out.{ending}") == (0, "", "")
        assert {*kinds.iterdir()} - before == {written}
        assert oct(written.stat().st_mode & 0o777) == oct(0o666 & ~mask)
        if ending == "json":
            assert json.loads(written.read_text()) == document
        else:
            frame = pl.read_csv(written) if ending == "csv" else pl.read_parquet(written)
            compare_columns(frame, document["points"])
        written.unlink()
    assert json.loads(run(command, *BOTH, *KIND, "--json", "-o", "out.csv").out) == document


def compare_columns(frame: pl.DataFrame, points: list[dict[str, Any]]) -> None:
    """Check that the columns of a file are those of JSON: lists joined, mappings spread."""
    assert frame["point"].to_list() == [point["point"] for point in points]
    for name, value in points[0].items():
        cells = [point[name] for point in points]
        if isinstance(value, list):
            cells = [" | ".join(cell) or None for cell in cells]
            assert [cell or None for cell in frame[name]] == cells, name
        elif not isinstance(value, dict):
            found = frame[name].to_list()
            assert all(
                a == b or {a, b} <= {None, math.inf} or (a is None and b == "")
                for a, b in zip(cells, found, strict=True)
            ), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_many_points_are_written_as_few_are(run: Runner, folder: Path, ending: str) -> None:
    """A file too large for one piece gets the verdicts of its points; a fault at its end leaves nothing."""
    (folder / "t.csv").write_text(rows(60, 1))
    once = pl.read_csv(rows(25, 2).encode()).drop("y")
    many = pl.concat([once] * 44_000)
    getattr(many, f"write_{ending}")(folder / f"p.{ending}")
    asked = ("-q", "certify", "t.csv", f"p.{ending}", "--label", "y", "-o", f"out.{ending}")
    assert run(*asked).code == 0
    found = pl.read_csv(f"out.{ending}") if ending == "csv" else pl.read_parquet(f"out.{ending}")
    expected = certify(CountIndex.from_table(folder / "t.csv", "y"), once)
    assert found["point"].to_list() == [*range(1_100_000)]
    assert found["verdict"].to_list() == expected.verdict.tolist() * 44_000
    assert len({*expected.verdict}) > 1
    if ending == "csv":
        with (folder / "p.csv").open("a") as file:
            file.write("u,v\n")
        (folder / "out.csv").write_text("before")
        one_line(run(*asked), "p.csv", "ragged")
        assert (folder / "out.csv").read_text() == "before"


# What people see ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.usefixtures("customers")
def test_certify_on_a_terminal(run: Runner, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Every line but the command to paste fits; NO_COLOR takes colours away even where they are forced."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for points in (["new.csv"], []):
        asked = ("-q", "certify", "customers.csv", *points, "--label", "churn", "--key", "customer")
        monkeypatch.delenv("NO_COLOR", raising=False)
        coloured = run(*asked).out
        monkeypatch.setenv("NO_COLOR", "1")
        plain = run(*asked).out
        assert "\x1b[3" not in plain
        assert "\x1b[3" in coloured
        lines = [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in plain.splitlines()]
        assert max(map(len, lines[:-1])) <= width


@pytest.mark.parametrize("command", ["certify", "radius", "odds", "clean", "poison", "index"])
@pytest.mark.usefixtures("customers")
def test_the_next_command_can_be_pasted(
    run: Runner, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What is said to be next has the arguments already used, and runs as it stands."""
    monkeypatch.setenv("COLUMNS", "40")
    own = ("--steps", "1") if command == "poison" else ()
    options = (*CUSTOMERS, "--binning", "uniform", *own, "--missing", "not known")
    points = () if command == "index" else ("new.csv",)
    Path("TEST.csv").write_bytes(Path("new.csv").read_bytes())
    if command != "index":
        done = run("-q", command, "customers.csv", *points, *options)
        line = done.out.splitlines()[-1]
        assert line.startswith("  nullproof ")
        assert "--missing 'not known'" in line
        assert run(*shlex.split(line)[1:]).code == 0
    done = run(command, "customers.csv", *points, *options, "-o", "out.csv")
    assert done.out == ""
    _, _, line = done.err.partition("next: nullproof ")
    assert run(*shlex.split(line.splitlines()[0])).code == 0


def test_help_opens_with_an_example(run: Runner) -> None:
    """Help shows an example before anything else, also without arguments; --version stands anywhere."""
    for arguments in (["--help"], [], ["certify", "--help"], ["demo", "-h"]):
        done = run(*arguments)
        assert (done.code, done.err) == (0, "")
        assert "Example: nullproof" in done.out.partition("Options")[0]
    assert run("--version") == run("certify", "--version") == (0, f"nullproof {__version__}\n", "")


# Streams --------------------------------------------------------------------------------------------


def test_notices_go_to_stderr_and_can_be_silenced(run: Runner, folder: Path) -> None:
    """A notice is one line on stderr, wherever -q stands it is not, and stdout stays the same."""
    (folder / "train.csv").write_text(TRAIN.replace(",,", ",?,"))
    loud = run(*CERTIFY, "--json")
    assert loud.err.startswith("note: '?' in 'town'")
    assert "--missing-only" in loud.err
    assert loud.err.count("\n") == 1
    for quiet in (("-q", *CERTIFY, "--json"), (*CERTIFY, "--json", "--quiet")):
        assert run(*quiet) == (0, loud.out, "")


class Terminal(io.StringIO):
    """Standard error that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal stderr says what is going on; -q silences it, and stdout is the same."""
    plain = run(*CERTIFY, "--json")
    assert plain.err == ""
    monkeypatch.setenv("TERM", "xterm")
    for quiet in ((), ("-q",)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert run(*quiet, *CERTIFY, "--json").out == plain.out
        assert ("…" in terminal.getvalue()) == (not quiet)


@pytest.mark.slow
def test_a_real_process(folder: Path) -> None:
    """As a process, where only ASCII can be written: results on stdout, one line on stderr, exit codes."""
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    done = started(folder, "certify", "-", *CERTIFY[2:], env=ascii_only, input=TRAIN)
    assert (done.code, done.err) == (0, "")
    assert "3 predictions are certain" in done.out
    one_line(started(folder, "certify", "no.csv", "--label", "churn"), "no.csv")


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--json", "--check"], 1)])
def test_a_reader_that_goes_away_is_no_error(folder: Path, arguments: list[str], code: int) -> None:
    """| head ends the output without a traceback; a check that failed before has failed."""
    (folder / "test.csv").write_text("town,age\n" + ",\n" * 1_500)
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        [sys.executable, "-m", "nullproof", *CERTIFY, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        os.close(write)
        assert child.stderr is not None
        assert child.stderr.read() == ""
    assert child.returncode == code


# One point, shares that pass, and where files go -----------------------------------------------------


@pytest.mark.parametrize("command", ["radius", "odds"])
def test_one_point_alone_has_the_answer_it_has_among_others(
    run: Runner, keyed: Path, command: str
) -> None:
    """--point takes one row by its key or its position, and says its position in TEST."""
    whole = asked(run, command, *KEYED)["points"]
    for place, key in enumerate(KEYS):
        (one,) = asked(run, command, *KEYED, "--point", key)["points"]
        assert one == whole[place]
    (one,) = asked(run, command, *KEYED[:-2], "--ignore", "id", "--point", "1")["points"]
    assert one == {name: value for name, value in whole[1].items() if name != "key"}
    assert run(command, *KEYED, "--point", KEYS[1]).out


def test_an_attack_on_one_point(run: Runner, kinds: Path) -> None:
    """--point attacks one row, with as many cells as its radius, and says its position in TEST."""
    alone = asked(run, "poison", *BOTH, *KIND, "--point", "1")
    assert [point["point"] for point in alone["points"]] == [1]
    assert alone["n_points"] == 1
    assert alone["n_cells"] == asked(run, "radius", *BOTH, *KIND)["points"][1]["radius"]


@pytest.mark.usefixtures("customers")
def test_a_check_may_ask_for_a_share(run: Runner) -> None:
    """--min-share lets some points fail; without --check it is refused."""
    share = asked(run, "certify", *DEMO)["n_certain"] / 5
    assert 0 < share < 1
    radii = [point["radius"] for point in asked(run, "radius", *DEMO)["points"]]
    for least, code in ((share, 0), (share + 0.1, 1)):
        for output in ((), ("-o", "out.csv")):
            done = run("certify", *DEMO, "--check", "--min-share", str(least), *output)
            assert done.code == code, done
        assert run("radius", *DEMO, "--check", "--min-share", str(least)).code == code
    most = str(max(size for size in radii if size) + 1)
    assert run("radius", *DEMO, "--check", "--min-share", "0.1", "--min-radius", most).code == 1
    one_line(run("certify", *DEMO, "--min-share", "0.5"), "--check")


def test_files_go_through_links_and_pipes(run: Runner, folder: Path) -> None:
    """-o through a symbolic link writes its target and keeps the link; a named pipe gets the bytes."""
    assert run(*CERTIFY, "-o", "plain.csv").code == 0
    (folder / "target.csv").write_text("before")
    (folder / "link.csv").symlink_to("target.csv")
    assert run(*CERTIFY, "-o", "link.csv").code == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "target.csv").read_bytes() == (folder / "plain.csv").read_bytes()
    os.mkfifo(folder / "pipe.csv")
    with subprocess.Popen(["cat", folder / "pipe.csv"], stdout=subprocess.PIPE) as reader:
        assert run(*CERTIFY, "-o", "pipe.csv").code == 0
        assert reader.communicate()[0] == (folder / "plain.csv").read_bytes()
    assert (folder / "pipe.csv").is_fifo()
