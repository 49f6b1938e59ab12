"""radius, poison, index and --like on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from support.command_line import Runner, one_line

from nullproof import CountIndex, certify
from nullproof.counts.companion import companion_of

COUNT = ("--label", "kind", "--binning", "uniform")
LABEL = (*COUNT, "--alpha", "0")
TRAIN = (
    "colour,size,code,kind\n"
    + "red,1,007,a\n" * 6
    + "blue,9,008,a\n"
    + "blue,9,008,b\n" * 5
    + "red,,007,b\n" * 4
)
TEST = "colour,size,code\nred,1,007\nblue,9,008\nblue,1,007\n"


@pytest.fixture(autouse=True)
def tables(folder: Path) -> None:
    (folder / "train.csv").write_text(TRAIN)
    (folder / "test.csv").write_text(TEST)


def test_radius_json(run: Runner) -> None:
    """The JSON has the keys of the interface, whole radii, and null where no attack exists."""
    done = run("radius", "train.csv", "test.csv", *LABEL, "--json")
    document = json.loads(done.out)
    assert done.code == 0
    assert document["n_points"] == 3
    assert [set(point) >= {"point", "radius", "label", "rival"} for point in document["points"]]
    assert [point["point"] for point in document["points"]] == [0, 1, 2]
    first = document["points"][0]
    assert isinstance(first["radius"], int)
    assert (first["label"], first["rival"]) == ("a", "b")
    smooth = run("radius", "train.csv", "test.csv", *COUNT, "--json", "--alpha", "1000")
    assert {point["radius"] for point in json.loads(smooth.out)["points"]} == {None}


def test_radius_of_added_rows(run: Runner) -> None:
    """--threat rows counts rows, says so in words and JSON, and another threat is refused."""
    done = run("radius", "train.csv", "test.csv", *LABEL, "--threat", "rows", "--json")
    document = json.loads(done.out)
    assert document["threat"] == "rows"
    cells = json.loads(run("radius", "train.csv", "test.csv", *LABEL, "--json").out)
    assert cells["threat"] == "cells"
    assert [(one["radius"] or 0) > 0 for one in document["points"]] == [
        (one["radius"] or 0) > 0 for one in cells["points"]
    ]
    assert "rows to add before" in run("radius", "train.csv", *LABEL, "--threat", "rows").out
    refused = run("radius", "train.csv", "test.csv", *LABEL, "--threat", "row")
    assert (refused.code, "threat is 'row'; give 'cells'" in refused.err) == (2, True)


def test_poison_by_rows(run: Runner, folder: Path) -> None:
    """--threat rows: the rows in JSON and words, and a longer table in which the labels are lost."""
    options = (*LABEL, "--threat", "rows", "--skip-unbreakable")
    document = json.loads(run("poison", "train.csv", "test.csv", *options, "--json").out)
    assert document["n_rows"] >= document["lower_bound"] > 0
    shown = run("poison", "train.csv", "test.csv", *options)
    assert "added row" in shown.out
    assert "longer.csv" in shown.out
    for name in ("longer.csv", "longer.parquet"):
        done = run("poison", "train.csv", "test.csv", *options, "-o", name)
        assert (done.code, f"{document['n_rows']} row" in done.err) == (0, True)
        before = json.loads(run("certify", "train.csv", "test.csv", *LABEL, "--json").out)
        companion = companion_of(Path(name)).name
        after = json.loads(run("certify", name, "test.csv", "--like", companion, "--json").out)
        for one, other in zip(before["points"], after["points"], strict=True):
            assert not one["certain"] or other["label"] != one["label"]
    refused = run("poison", "train.csv", "test.csv", *options, "--steps", "3")
    assert (refused.code, "--steps is about the search for cells" in refused.err) == (2, True)


def test_radius_curve(run: Runner) -> None:
    """--curve counts right predictions by the size of the attack, and needs true labels."""
    done = run("radius", "train.csv", *LABEL, "--curve", "--json")
    document = json.loads(done.out)
    assert document["training_rows"] is True
    shares = [step["share"] for step in document["curve"]]
    assert shares == sorted(shares, reverse=True)
    assert document["accuracy"] >= shares[0]
    shown = run("radius", "train.csv", *LABEL, "--curve", "--threat", "rows").out
    assert "training rows added" in shown
    assert "training rows themselves" in shown
    refused = run("radius", "train.csv", "test.csv", *LABEL, "--curve")
    assert (refused.code, "--curve needs true labels" in refused.err) == (2, True)


def test_radius_shows_the_weakest_first(run: Runner) -> None:
    """On a terminal: a histogram, then the certain points by radius, then those that need no attack."""
    done = run("radius", "train.csv", "test.csv", *LABEL)
    assert "█" in done.out
    shown = [line.split() for line in done.out.splitlines() if line.strip()[:1].isdigit()]
    radii = [int(row[1]) for row in shown if row[0] in "012" and row[1].isdigit()]
    assert radii[-3:] == sorted(radii[-3:], key=lambda radius: (radius == 0, radius))


@pytest.mark.parametrize("name", ["radii.csv", "radii.parquet", "radii.json"])
def test_radius_files(run: Runner, folder: Path, name: str) -> None:
    """-o writes the points in their order."""
    assert run("radius", "train.csv", "test.csv", *LABEL, "-o", name).code == 0
    if name.endswith("json"):
        points = json.loads((folder / name).read_text())["points"]
    else:
        read = pl.read_csv if name.endswith("csv") else pl.read_parquet
        points = read(folder / name).to_dicts()
    assert [point["point"] for point in points] == [0, 1, 2]
    assert all(point["radius"] is not None for point in points)


def test_radius_check(run: Runner) -> None:
    """--check exits 1 when a point is not certain."""
    assert run("radius", "train.csv", "test.csv", *LABEL, "--check").code == 1


def test_an_attack_keeps_to_the_columns_that_are_named(run: Runner) -> None:
    """--only-columns limits radius and poison alike; a column that is not there is refused."""
    limits = ("--only-columns", "size", "--json")
    radii = json.loads(run("radius", "train.csv", "test.csv", *COUNT, *limits).out)["points"]
    every = json.loads(run("radius", "train.csv", "test.csv", *COUNT, "--json").out)["points"]
    pairs = [(a["radius"], b["radius"]) for a, b in zip(radii, every, strict=True)]
    assert all(one is None or one >= other for one, other in pairs)
    assert any(one != other for one, other in pairs)
    attack = run("poison", "train.csv", "test.csv", *COUNT, *limits, "--skip-unbreakable")
    assert {cell["column"] for cell in json.loads(attack.out)["cells"]} <= {"size"}
    told = run("radius", "train.csv", "test.csv", *COUNT, *limits[:2]).out
    assert "--only-columns size" in told.splitlines()[-1]
    wrong = run("radius", "train.csv", "test.csv", *COUNT, "--only-columns", "color")
    assert wrong.code == 2
    assert "'color'" in wrong.err


def test_poison_json_names_real_cells(run: Runner, folder: Path) -> None:
    """Blanking exactly the named cells by hand makes every point open."""
    done = run("poison", "train.csv", "test.csv", *LABEL, "--steps", "20", "--json")
    document = json.loads(done.out)
    assert document["n_points"] == 3
    assert document["n_cells"] == len(document["cells"]) >= document["lower_bound"] > 0
    assert document["optimal"] == (document["n_cells"] == document["lower_bound"])
    lines = [line.split(",") for line in TRAIN.splitlines()]
    for cell in document["cells"]:
        lines[cell["row"] + 1][lines[0].index(cell["column"])] = ""
    (folder / "by_hand.csv").write_text("\n".join(",".join(line) for line in lines))
    index = CountIndex.from_table(folder / "train.csv", "kind", binning="uniform")
    after = CountIndex.from_table(folder / "by_hand.csv", "kind", like=index)
    assert not certify(after, folder / "test.csv", alpha=0).certain.any()


def test_poison_writes_the_table_as_it_was_written(run: Runner, folder: Path) -> None:
    """The poisoned CSV differs from TRAIN only in blank cells; TRAIN itself is untouched."""
    assert (
        run("poison", "train.csv", "test.csv", *LABEL, "--steps", "20", "-o", "poisoned.csv").code
        == 0
    )
    assert (folder / "train.csv").read_text() == TRAIN
    before = [line.split(",") for line in TRAIN.splitlines()]
    after = [line.split(",") for line in (folder / "poisoned.csv").read_text().splitlines()]
    assert len(before) == len(after)
    changed = [
        (a, b)
        for old, new in zip(before, after, strict=True)
        for a, b in zip(old, new, strict=True)
        if a != b
    ]
    assert changed
    assert all(b == "" for _, b in changed)


def test_poison_shows_the_attack(run: Runner) -> None:
    """People see the number of cells, the bound, which cells, and which label falls to which."""
    out = run("poison", "train.csv", "test.csv", *LABEL, "--steps", "20").out
    assert "Attack:" in out
    assert "colour" in out or "size" in out or "code" in out
    assert "→" in out
    assert "1 of the points were not certain before" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("poison", "train.csv", "test.csv", *LABEL, "-o", "train.csv"), "a file that is read"),
        (("poison", "train.csv", "test.csv", *COUNT, "--alpha", "1000"), "--skip-unbreakable"),
        (("certify", "train.csv", "--like", "nothing.index"), "no such index file"),
    ],
)
def test_mistakes(run: Runner, arguments: tuple[str, ...], said: str) -> None:
    """One line on stderr, exit 2, nothing on stdout."""
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_unbreakable_points_can_be_left_out(run: Runner) -> None:
    """--skip-unbreakable attacks the others."""
    arguments = ("poison", "train.csv", "test.csv", *COUNT, "--alpha", "1000", "--json")
    done = run(*arguments, "--skip-unbreakable")
    assert done.code == 0
    assert json.loads(done.out)["n_cells"] == 0


def test_a_saved_index_is_a_training_table(run: Runner) -> None:
    """certify and radius say the same of a table and of its saved index."""
    assert run("index", "train.csv", *COUNT, "-o", "counts.index").code == 0
    for question in ("certify", "radius"):
        from_table = run(question, "train.csv", "test.csv", *LABEL, "--json").out
        assert run(question, "counts.index", "test.csv", "--alpha", "0", "--json").out == from_table
    assert "name TEST too" in run("certify", "counts.index").err
    assert "give the table that has the cells" in run("poison", "counts.index", "test.csv").err


@pytest.mark.parametrize(
    "option",
    [
        *(["--missing", "x"], ["--missing-only", "x"], ["--ignore", "age"], ["--keep", "age"]),
        *(["--bins", "7"], ["--binning", "quantile"]),
    ],
)
def test_what_an_index_has_settled_is_refused(run: Runner, option: list[str]) -> None:
    """Options about the training table mean nothing to a saved index, nor to a table counted like one."""
    run("index", "train.csv", *COUNT, "-o", "counts.index")
    for tables in (
        ("counts.index", "test.csv"),
        ("train.csv", "test.csv", "--like", "counts.index"),
    ):
        one_line(
            run("certify", *tables, *option),
            f"{option[0]} is given, but the saved index counts.index",
        )


def test_spellings_and_columns_on_the_command_line(run: Runner, folder: Path) -> None:
    """--missing-only replaces the usual spellings, --keep brings a column back; both are remembered."""
    pytest.importorskip("duckdb")
    rows = [f"c{n},{'?' if n % 4 else 'u'},{'x' if n % 3 else 'gone'},{n % 2}" for n in range(40)]
    (folder / "ids.csv").write_text("\n".join(["id,a,b,y", *rows]))
    told = run("certify", "ids.csv", "--label", "y", "--json")
    assert "left out, since it names the rows: 'id'" in told.err
    assert "'?' in 'a' was taken as missing" in told.err
    assert json.loads(told.out)["n_missing"] == 30
    for more in ((), ("--memory-limit", "200MB")):
        options = ("--label", "y", "--missing-only", "gone", "--keep", "id", *more)
        assert run("index", "ids.csv", *options, "-o", "counts.index").code == 0
        index = CountIndex.load(folder / "counts.index")
        assert (index.features, index.n_missing) == (("id", "a", "b"), 14)
        assert index.schema.missing_only == ("gone",)
    both = run("certify", "ids.csv", "--label", "y", "--missing", "x", "--missing-only", "z")
    one_line(both, "give missing to add to the usual spellings, or missing_only to replace them")
    one_line(
        run("certify", "ids.csv", "--label", "y", "--keep", "di"), "keep names the column 'di'"
    )


def test_the_help_lists_the_usual_spellings(run: Runner) -> None:
    """What is missing without being named is in the help."""
    said = " ".join(run("certify", "--help").out.replace("│", " ").split())
    assert "besides empty, NA, N/A, NaN, null, ?, #N/A, <NA>, and none, - and . unless" in said


def test_like_takes_over_domains_and_label(run: Runner, folder: Path) -> None:
    """A poisoned file is judged by the bins and domains from before the attack."""
    run("index", "train.csv", *COUNT, "-o", "counts.index")
    run("poison", "train.csv", "test.csv", *LABEL, "--steps", "20", "-o", "poisoned.csv")
    judged = ("certify", "poisoned.csv", "test.csv", "--like", "counts.index", "--alpha", "0")
    done = run(*judged, "--json")
    assert json.loads(done.out)["n_certain"] == 0


def test_odds_json(run: Runner) -> None:
    """Bounds of every label for every point, at most the gap apart; certain points are exactly 1 and 0."""
    done = run("odds", "train.csv", "test.csv", *LABEL, "--json", "--gap", "0.001")
    points = json.loads(done.out)["points"]
    assert [point["point"] for point in points] == [0, 1, 2]
    for point in points:
        assert set(point["lower"]) == set(point["upper"]) == {"a", "b"}
        assert all(point["upper"][x] - point["lower"][x] <= 0.001 for x in ("a", "b"))
    assert points[0]["lower"]["a"] == points[0]["upper"]["a"] == 1
    assert 0 < points[2]["upper"]["b"] < 1


def test_odds_are_shown_as_bars(run: Runner) -> None:
    """On a terminal every possible label of a point has a bar."""
    out = run("odds", "train.csv", "test.csv", *LABEL, "--cells", "observed").out
    assert "█" in out
    assert "%" in out


def test_labels_are_shown_as_written(run: Runner, folder: Path) -> None:
    """A label that is also the name of a picture stays a word."""
    rows = "colour,mood\nred,:smile:\nred,:smile:\nred,:smile:\nblue,:cry:\nblue,:cry:\n"
    (folder / "moods.csv").write_text(rows)
    done = run("poison", "moods.csv", "moods.csv", "--label", "mood", "--steps", "1")
    assert done.code == 0
    assert ":smile: → :cry:" in done.out


def test_odds_mistakes(run: Runner) -> None:
    """An unknown filling and an impossible gap are told in one line."""
    for wrong in (("--cells", "magic"), ("--gap", "-1"), ("--gap", "2")):
        done = run("odds", "train.csv", "test.csv", *LABEL, *wrong)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1


def test_poison_names_cells_by_a_key_of_many_files(run: Runner, folder: Path) -> None:
    """A table of several files has no rows to count: its cells are named by a column."""
    pytest.importorskip("duckdb")
    table = pl.read_csv("train.csv", infer_schema_length=0)
    keys = [f"k{row:02}" for row in range(len(table))]
    named = table.with_columns(pl.Series("key", keys))
    (folder / "parts").mkdir()
    named[:3].write_csv("parts/a.csv")
    named[3:].write_csv("parts/b.csv")
    named.write_csv("named.csv")
    options = ("test.csv", *LABEL, "--ignore", "key", "--json", "--steps", "1")
    by_key = json.loads(run("poison", "parts", *options, "--key", "key").out)
    by_row = json.loads(run("poison", "named.csv", *options).out)
    assert by_key["n_cells"] == by_row["n_cells"] == len(by_key["cells"]) > 0
    assert {cell["key"] for cell in by_key["cells"]} <= {*keys}
    one_line(run("poison", "parts", *options), "cannot be named by their rows")
    one_line(run("poison", "parts", *options, "--key", "nope"), "no column 'nope'")
