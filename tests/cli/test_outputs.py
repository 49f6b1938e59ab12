"""-o says what it wrote and what to do with it, above all with an attacked table."""

from __future__ import annotations

import json
import random
import shlex
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import CERTIFY, Runner, one_line

from nullproof import CountIndex, certify, poison
from nullproof.counts.companion import companion_of
from nullproof.errors import NullproofWarning

TABLES = ("train.csv", "test.csv", "--label", "kind")
POISON = ("-q", "poison", *TABLES, "--steps", "1", "-o")


@pytest.fixture
def numbers(folder: Path) -> None:
    """A table whose bins go when an attack blanks what they were cut by."""
    draw = random.Random(0)
    kinds = ["a"] * 30 + ["b"] * 30
    sizes = [draw.randrange(14) + (6 if kind == "b" else 0) for kind in kinds]
    reds = [draw.random() < (0.8 if kind == "a" else 0.2) for kind in kinds]
    rows = [
        f"{size},{'red' if red else 'blue'},{kind}"
        for size, red, kind in zip(sizes, reds, kinds, strict=True)
    ]
    (folder / "train.csv").write_text("\n".join(["size,colour,kind", *rows]) + "\n")
    (folder / "test.csv").write_text("size,colour\n1,red\n18,blue\n")


WRITTEN = {
    ("certify", "out.csv"): "wrote out.csv: 3 points, in the order of their rows",
    ("radius", "out.json"): "wrote out.json: 3 points, in the order of their rows",
    ("odds", "out.parquet"): "wrote out.parquet: 3 points, in the order of their rows",
    ("clean", "out.csv"): "wrote out.csv: 0 cells to fill in: no missing cell would make another",
    ("clean", "out.json"): "wrote out.json: the plan, 0 steps",
    ("report", "out.html"): "wrote out.html: open it in a browser, or send it round",
    ("report", "out.md"): "wrote out.md: Markdown, to read or to paste",
}


@pytest.mark.parametrize(("command", "name"), WRITTEN)
def test_what_was_written_is_said(run: Runner, command: str, name: str) -> None:
    """One line names the file and what is in it; -q silences it; standard output stays empty."""
    done = run(command, *CERTIFY[1:], "-o", name)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[0].startswith(WRITTEN[command, name])
    assert run("-q", command, *CERTIFY[1:], "-o", name) == (0, "", "")


@pytest.mark.parametrize("command", ["certify", "radius", "odds", "clean", "poison", "index"])
def test_the_next_command_can_be_pasted(run: Runner, folder: Path, command: str) -> None:
    """What is said to be next runs as it stands, on the same tables with the same options."""
    (folder / "TEST.csv").write_bytes((folder / "test.csv").read_bytes())
    (folder / "train.csv").write_text((folder / "train.csv").read_text() + ",Bonn,no\n" * 9)
    options = ("--label", "churn", "--binning", "age=none", "--missing", "Ulm or so")
    points = () if command == "index" else ("test.csv",)
    done = run("-q", command, "train.csv", *points, *options, "-o", "out.csv")
    assert done == (0, "", "")
    done = run(command, "train.csv", *points, *options, "-o", "out.csv")
    _, _, line = done.err.partition("next: nullproof ")
    words = shlex.split(line.splitlines()[0])
    assert run(*words).code == 0


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("name", ["poisoned.csv", "poisoned.parquet"])
def test_an_attacked_table_comes_with_the_bins_from_before(
    run: Runner, folder: Path, name: str
) -> None:
    """Counted like its companion no point is certain; counted by bins of its own there is a notice."""
    done = run(*POISON[1:], name)
    assert f"wrote {name}: train.csv with" in done.err
    assert f"next: nullproof certify {name} test.csv --like {name}.before.index" in done.err
    before = CountIndex.load(folder / f"{name}.before.index")
    assert before == CountIndex.from_table(folder / "train.csv", "kind")
    like = run("certify", name, "test.csv", "--like", f"{name}.before.index", "--json")
    assert (json.loads(like.out)["n_certain"], like.err) == (0, "")
    told = run("certify", name, *TABLES[1:])
    first = told.err.splitlines()[0]
    assert first.startswith(f"note: {name} is a table with cells that nullproof changed")
    assert first.endswith(f"--like {name}.before.index")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NullproofWarning)
        CountIndex.from_table(name, "kind")
    assert "cells that nullproof changed" in str(caught[0].message)


@pytest.mark.usefixtures("numbers")
def test_forgetting_the_bins_would_change_the_answer(run: Runner) -> None:
    """The trap is real: by bins of its own the attacked table gives certain points again."""
    run(*POISON, "poisoned.csv")
    own = json.loads(run("certify", "poisoned.csv", *TABLES[1:], "--json").out)
    assert own["n_certain"] > 0


@pytest.mark.usefixtures("numbers")
def test_a_parquet_file_under_another_name_still_tells(run: Runner, folder: Path) -> None:
    """The file itself names its companion, also where that is gone; other tables tell nothing."""
    run(*POISON, "poisoned.parquet")
    (folder / "poisoned.parquet").rename(folder / "moved.parquet")
    for how in ("count it with like", "find that file and count the table with like"):
        told = run("certify", "moved.parquet", *TABLES[1:]).err
        assert "--like poisoned.parquet.before.index" in told
        assert how in told
        companion_of(folder / "poisoned.parquet").unlink(missing_ok=True)
    pl.read_parquet("moved.parquet").write_parquet("plain.parquet")
    assert "changed" not in run("certify", "plain.parquet", *TABLES[1:]).err


@pytest.mark.usefixtures("numbers")
def test_folders_and_patterns_are_looked_through(run: Runner, folder: Path) -> None:
    """An attacked file among many is told of too."""
    pytest.importorskip("duckdb")
    (folder / "parts").mkdir()
    run(*POISON, "parts/poisoned.csv")
    for many in ("parts", "parts/*.csv"):
        assert "cells that nullproof changed" in run("certify", many, *TABLES[1:]).err


@pytest.mark.usefixtures("numbers")
def test_a_companion_is_written_over_only_if_it_is_one(run: Runner, folder: Path) -> None:
    """A file of another kind in its place is kept, and refused before the attack is looked for."""
    companion = folder / "poisoned.csv.before.index"
    companion.write_text("my notes")
    one_line(run(*POISON, "poisoned.csv"), "is a file of another kind; move it")
    assert companion.read_text() == "my notes"
    assert not (folder / "poisoned.csv").exists()
    CountIndex.from_rows([("x",)], ["y"]).save(companion)
    assert run(*POISON, "poisoned.csv").code == 0
    assert CountIndex.load(companion).features == ("size", "colour")


@pytest.mark.usefixtures("numbers")
def test_both_files_or_neither(run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the table cannot be written there is no companion either."""
    before = sorted(folder.iterdir())

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    done = run(*POISON, "poisoned.csv")
    one_line(done, "cannot write poisoned.csv: No space left on device")
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("numbers")
def test_the_library_says_how_to_count_an_attacked_table(folder: Path) -> None:
    """With like= there is nothing to tell, and the points stay broken."""
    from nullproof import poison

    index = CountIndex.from_table(folder / "train.csv", "kind")
    frame = pl.read_csv(folder / "train.csv")
    attack = poison(index, folder / "test.csv", steps=1)
    after = CountIndex.from_table(attack.apply(frame), "kind", like=index)
    assert not certify(after, folder / "test.csv").certain.any()


def test_an_attacked_table_keeps_values_that_look_missing(run: Runner, folder: Path) -> None:
    """What is a value by --missing-only is still one in the table that is written."""
    (folder / "odd.csv").write_text("x,y\nNA,p\nNA,p\nNA,p\nb,q\nb,q\nb,q\ngone,q\n")
    (folder / "points.csv").write_text("x\nNA\n")
    table = ("odd.csv", "points.csv", "--label", "y", "--missing-only", "gone")
    assert run("-q", "poison", *table, "--steps", "1", "-o", "attacked.csv").code == 0
    index = CountIndex.from_table(folder / "odd.csv", "y", missing_only=("gone",))
    attack = poison(index, folder / "points.csv", steps=1)
    assert 0 < sum(sort.n_cells for sort in attack.blanks) < 6
    attacked = CountIndex.from_table(folder / "attacked.csv", "y", like=index)
    assert attacked == index.blanked(attack.blanks)
