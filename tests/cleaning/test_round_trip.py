"""The whole round: plan, worksheet, answers, repaired tables, and certify keeps what was promised."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.command_line import Done, Runner, one_line
from support.workbooks import workbook

from nullproof import CountIndex
from nullproof.cleaning import Cell, Cleaner
from nullproof.cleaning.worksheet import write_worksheet
from nullproof.tables.formats import read_file

DATA = Path(os.environ.get("NULLPROOF_DATA", Path(__file__).parents[3] / "shared" / "datasets"))
LABELS = {
    "adult": "income",
    "breast_cancer": "Class",
    "fetal_health": "fetal_health",
    "heart": "HeartDisease",
    "house_votes_84": "Class",
    "hypothyroid": "Class",
    "mushrooms": "class",
    "penguins": "species",
    "pima_diabetes": "outcome",
    "titanic": "Survived",
    "bodyPerformance": "class",
}
N_ROWS, N_POINTS, N_CELLS = 1200, 40, 150


@pytest.fixture
def made_up(folder: Path) -> pl.DataFrame:
    """Give train.csv and test.csv with holes of all kinds of columns, and the training table without."""
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
    holed = blanked(truth, ["age", "size", "town", "member", "since"], 0.1, rng)
    holed[:120].write_csv(folder / "train.csv")
    holed[120:].drop("churn").write_csv(folder / "test.csv")
    return truth


def blanked(frame: pl.DataFrame, names: list[str], rate: float, rng: Any) -> pl.DataFrame:
    return frame.with_columns(
        pl.when(pl.Series(rng.random(len(frame)) >= rate)).then(pl.col(name)).alias(name)
        for name in names
    )


def read(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def answered(path: str, truth: pl.DataFrame, n_training: int, most: int | None = None) -> int:
    """Fill in a worksheet with the true values; how many lines have one."""
    lines = read(path)
    for line in lines[:most]:
        row = int(line["row"]) + (n_training if line["table"] == "points" else 0)
        value = truth[line["column"]][row]
        line["value"] = str(value).lower() if isinstance(value, bool) else str(value)
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*lines[0]])
        writer.writeheader()
        writer.writerows(lines)
    return len(lines[:most])


def certified(run: Runner, *arguments: str) -> list[Any]:
    done = run("certify", *arguments, "--json")
    assert done.code == 0, done
    return [point["certain"] for point in json.loads(done.out)["points"]]


def kept(
    run: Runner, clean: tuple[str, ...], outputs: tuple[str, ...], options: tuple[str, ...]
) -> None:
    """Take the answers, and check that certify on what is written gives what was promised."""
    done = run(*clean, "--answers", "sheet.csv", *outputs, "--json")
    assert done.code == 0, done
    promised = json.loads(done.out)
    tables = [name for name in outputs if not name.startswith("--")]
    if len(clean) > 2 and not clean[2].startswith("--") and "--repaired-test" not in outputs:
        tables.append(clean[2])
    found = certified(run, *tables, "--like", f"{tables[0]}.before.index", *options)
    assert sum(found) == promised["n_done"] == promised["answers"]["n_done"]
    became = [entry["point"] for entry in promised["answers"]["became_done"]]
    assert all(found[place] for place in became)


@pytest.mark.parametrize("most", [5, None])
@pytest.mark.parametrize("options", [(), ("--own-missing", "any"), ("--bias", "0.1")])
@pytest.mark.parametrize("train", ["train.csv", "train.parquet"])
def test_promises_are_kept(
    run: Runner, made_up: pl.DataFrame, options: tuple[str, ...], train: str, most: int | None
) -> None:
    """After answers, certify on the repaired tables gives exactly as many done points as was said."""
    if train.endswith(".parquet"):
        # Columns with types: what is written must be of these types too.
        pl.read_csv("train.csv", try_parse_dates=True).write_parquet(train)
    clean = ("clean", train, "test.csv", "--label", "churn", "--key", "id", *options)
    done = run(*clean, "-o", "sheet.csv")
    assert done.code == 0, done
    assert answered("sheet.csv", made_up, 120, most)
    outputs = ("--repaired", "new." + train.split(".")[1], "--repaired-test", "new_test.csv")
    kept(run, clean, outputs, (*options, "--key", "id"))


@pytest.mark.parametrize("options", [(), ("--own-missing", "any")])
def test_training_rows_as_points(
    run: Runner, made_up: pl.DataFrame, options: tuple[str, ...]
) -> None:
    """Where the points are the training rows, an answer fills the cell of both, asked for once."""
    clean = ("clean", "train.csv", "--label", "churn", "--ignore", "id", *options)
    assert run(*clean, "-o", "sheet.csv").code == 0
    lines = read("sheet.csv")
    cells = [(line["row"], line["column"]) for line in lines]
    assert len({*cells}) == len(cells)
    assert {line["table"] for line in lines} == {"training"}
    answered("sheet.csv", made_up, 120, 8)
    kept(run, clean, ("--repaired", "new.csv"), options)
    asked = run(*clean, "--answers", "sheet.csv", "--repaired-test", "x.csv")
    one_line(asked, "--repaired-test x.csv needs TEST")


@pytest.mark.parametrize("reading", ["any", "skip"])
def test_answers_for_test(run: Runner, made_up: pl.DataFrame, reading: str) -> None:
    """Answers for cells of TEST are written to --repaired-test; without it they are told of."""
    index = CountIndex.from_table("train.csv", "churn", ignore=["id"])
    cleaner = Cleaner(index, "test.csv", "train.csv", own_missing="any")
    holes = np.argwhere(cleaner.points.missing).tolist()
    cells = [Cell(place, index.features[j], "points") for j, place in holes]
    assert write_worksheet(Path("sheet.csv"), cleaner, cells) == len(cells) > 3
    answered("sheet.csv", made_up, 120, -1)
    options = ("--label", "churn", "--ignore", "id", "--own-missing", reading)
    clean = ("clean", "train.csv", "test.csv", *options)
    outputs = ("--repaired", "new.csv", "--repaired-test", "new_test.csv")
    kept(run, clean, outputs, ("--own-missing", reading))
    assert pl.read_csv("new_test.csv").null_count().sum_horizontal().item() == 1
    done = run(*clean, "--answers", "sheet.csv", "--repaired", "new.csv")
    told = f"{len(cells) - 1} answers for cells of test.csv stay out of new.csv; write them with "
    assert told + "--repaired-test FILE" in done.err


def excel_sheet(run: Runner, clean: tuple[str, ...]) -> pl.DataFrame:
    pytest.importorskip("fastexcel")
    done: Done = run(*clean, "-o", "sheet.xlsx")
    assert done.code == 0, done
    assert "cells to fill in" in done.err
    run(*clean, "-o", "sheet.csv")
    return read_file("sheet.xlsx", as_text=["row", "value", "check"]).frame


@pytest.mark.parametrize("typed", [False, True])
def test_excel_is_as_good_as_csv(run: Runner, made_up: pl.DataFrame, typed: bool) -> None:
    """An Excel worksheet has the cells of the CSV one, and its answers bring the same: texts or typed."""
    clean = ("clean", "train.csv", "test.csv", "--label", "churn", "--key", "id")
    frame = excel_sheet(run, clean)
    lines = read("sheet.csv")
    cells = [[x or "" for x in line] for line in frame.rows()]
    assert [*frame.columns] == [*lines[0]]
    assert cells == [[*line.values()] for line in lines]
    place = frame.columns.index("value")
    rows: list[list[Any]] = [[*frame.columns]]
    for line, cell in zip(lines, cells, strict=True):
        value = made_up[line["column"]][int(line["row"])]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        rows.append([*cell[:place], value if typed else text, *cell[place + 1 :]])
    rows[1][place] = "?"
    answered("sheet.csv", made_up, 120)
    Path("sheet.xlsx").write_bytes(workbook(rows))
    one = json.loads(run(*clean, "--answers", "sheet.xlsx", "--json").out)
    two = json.loads(run(*clean, "--answers", "sheet.csv", "--json").out)
    assert one["answers"]["n_answers"] == two["answers"]["n_answers"] - 1 == len(lines) - 1
    Path("sheet.xlsx").write_bytes(
        workbook([[*frame.columns[:-1]], *(row[:-1] for row in rows[1:])])
    )
    assert "sheet.xlsx has no column 'check'" in run(*clean, "--answers", "sheet.xlsx").err


@pytest.mark.skipif(not DATA.is_dir(), reason="no folder of datasets; name it: NULLPROOF_DATA")
@pytest.mark.parametrize("name", LABELS)
def test_promises_are_kept_on_real_tables(run: Runner, folder: Path, name: str) -> None:
    """On real tables with cells blanked besides, certify on the repaired table gives what was promised."""
    path = DATA / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not at hand")
    rng = np.random.default_rng(1)
    whole = pl.read_csv(path, infer_schema_length=None, null_values=["?", "NA"])
    whole = whole[rng.permutation(len(whole))[: N_ROWS + N_POINTS].tolist()]
    n = len(whole) - N_POINTS
    features = [column for column in whole.columns if column != LABELS[name]]
    # Holes of the table itself have no true value: the one before stands for it.
    truth = whole.with_columns(pl.col(features).forward_fill().backward_fill())
    held = blanked(whole, features, 0.02, rng)
    held[:n].write_csv(folder / "train.csv")
    held[n:].write_csv(folder / "test.csv")
    clean = ("clean", "train.csv", "test.csv", "--label", LABELS[name], "--budget", str(N_CELLS))
    assert run(*clean, "-o", "sheet.csv").code == 0
    assert answered("sheet.csv", truth, n)
    kept(run, clean, ("--repaired", "new.csv"), ())
