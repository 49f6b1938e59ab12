"""Every number on two surfaces is the same: library, terminal, JSON, report, Markdown, page."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import Runner
from support.documents import answers
from support.web_server import Served, analysed, upload

from nullproof import CountIndex, certify, cleaning_plan, label_odds, radius

# Threads share one list of filters; the command switches these notices off too.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]
DATA = Path(os.environ.get("NULLPROOF_DATA", Path(__file__).parents[2] / "shared" / "datasets"))
REAL = {
    "titanic": "Survived",
    "hypothyroid": "Class",
    "penguins": "species",
    "house_votes_84": "Class",
    "winequalityN": "type",
    "adult": "income",
}
MADE = {"two labels": 2, "four labels": 4, "many holes": 2}
N_TRAIN, N_TEST = 80, 10


def written(folder: Path, name: str) -> str:
    """Write train.csv and test.csv with some more holes; give the name of the label column."""
    if name in REAL:
        path = DATA / f"{name}.csv.gz"
        if not path.exists():
            pytest.skip(f"{path.name} is not at hand; set NULLPROOF_DATA")
        table, label = pl.read_csv(path, infer_schema=False), REAL[name]
        table = table.filter(pl.col(label).is_not_null()).sample(N_TRAIN + N_TEST, seed=1)
    else:
        table, label = made(MADE[name]), "y"
    draw = random.Random(name)
    share = 0.3 if name == "many holes" else 0.06
    for column in table.columns:
        if column != label:
            cells = [None if draw.random() < share else cell for cell in table[column]]
            table = table.with_columns(pl.Series(column, cells, pl.String))
    table[:N_TRAIN].write_csv(folder / "train.csv")
    table[N_TRAIN : N_TRAIN + N_TEST].write_csv(folder / "test.csv")
    return label


def made(n_labels: int) -> pl.DataFrame:
    """A table with a number, two categories and a column that names the rows."""
    draw = random.Random(n_labels)
    labels = [draw.randrange(n_labels) for _ in range(N_TRAIN + N_TEST)]
    columns = {
        "name": [f"row {place}" for place in range(len(labels))],
        "size": [str(draw.randrange(20) + 6 * label) for label in labels],
        "colour": [draw.choice(["red", "blue", "green"][: 2 + label % 2]) for label in labels],
        "town": [draw.choice("uvwx"[label % 3 :]) for label in labels],
        "y": [f"class {label}" for label in labels],
    }
    return pl.DataFrame(columns)


@pytest.mark.parametrize("name", [*MADE, *REAL])
def test_no_surface_contradicts_another(
    run: Runner, folder: Path, server: Served, name: str
) -> None:
    """The same table, points and options give the same numbers, whoever is asked."""
    label = written(folder, name)
    index = CountIndex.from_table("train.csv", label)
    asked = ("train.csv", "test.csv", "--label", label)

    def told(command: str, *options: str) -> Any:
        done = run("-q", command, *asked, *options, "--json")
        assert done.code == 0, done
        return json.loads(done.out)

    judged = certify(index, "test.csv")
    certified, report = told("certify"), told("report")
    groups = {group["verdict"]: group for group in report["verdicts"]["groups"]}
    for verdict, group in groups.items():
        n_points = int((judged.verdict == verdict).sum())
        assert certified["verdicts"][verdict] == group["n_points"] == n_points
        known = {"n": group["n_known"], "n_right": group["n_right"]}
        assert certified["truth"][verdict].items() >= known.items()
    assert certified["n_points"] == report["certain"]["n_points"] == len(judged)
    assert certified["n_missing"] == report["table"]["n_missing"] == index.n_missing
    assert certified["labels"] == report["table"]["labels"] == [str(x) for x in index.labels]
    assert report["table"]["n_features"] == len(index.features)
    for n_points in (len(judged), *(group["n_points"] for group in groups.values())):
        assert re.search(rf"\b{n_points}\b", repr(judged).splitlines()[0])

    n_sure = int(label_odds(index, "test.csv").sure.sum())
    odds, plan = told("odds"), told("clean")
    assert (
        sum(point["lower"].get(point["predicted"], 0) >= 0.99 for point in odds["points"]) == n_sure
    )
    n_held = int(certify(index, "test.csv", bias=0.05).certain.sum())
    assert plan["n_done"] == cleaning_plan(index, "test.csv").n_done == n_held
    cleaning = report["cleaning"]
    assert (cleaning is None) == (not plan["steps"])
    if cleaning is not None:
        assert (cleaning["n_done"], cleaning["n_cells"]) == (n_held, plan["n_cells"])
        assert cleaning["first"] in report["next"]["text"]

    radii = {point["point"]: point["radius"] for point in told("radius")["points"]}
    exact = radius(index, "test.csv").radius
    for point in report["points"]:
        if point["not_worked_out"] is None:
            assert point["radius"] == radii[point["point"]]
            assert point["radius"] in (None, exact[point["point"]])

    shown = run("-q", "certify", *asked).out
    markdown = run("-q", "report", *asked).out
    for verdict, group in groups.items():
        assert re.search(rf"^{verdict} +{group['n_points']} ", shown, re.MULTILINE), shown
        assert re.search(rf"\| {verdict}[^|]*\| {group['n_points']} \|", markdown), markdown
    headline = re.search(r"(\d+) of (\d+) predictions", run("-q", "odds", *asked).out)
    assert headline is not None
    assert headline.groups() == (str(n_sure), str(len(judged)))

    page = document_of(server, folder, label)
    assert answers(page) == answers(report)


def document_of(server: Served, folder: Path, label: str) -> Any:
    """What the page shows of the same two files."""
    train, points = (
        upload(server.client, (folder / name).read_bytes(), name)["id"]
        for name in ("train.csv", "test.csv")
    )
    order = {"table": train, "points": points, "label": label}
    name = analysed(server.client, **order)
    return server.client.get(f"/api/analyses/{name}/document").json()
