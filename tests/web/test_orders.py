"""What an order may say: names and true labels of points, rows without a label, changed cells."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import Runner
from support.web_server import Served, analysed, state, told, until, upload

from nullproof import CountIndex, certify
from nullproof.counts.companion import KEY
from nullproof.web.descriptions import proposed_label

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]
ROWS = [
    *(("n1", "u", "x", "p"), ("n2", "u", "", "p"), ("n3", "v", "y", "q"), ("n4", "", "y", "q")),
    *(("n5", "v", "x", "q"), ("n6", "u", "odd", "p"), ("n7", "v", "y", ""), ("n8", "u", "x", "")),
]
TABLE = "\n".join(["who,a,b,y", *(",".join(row) for row in ROWS)]) + "\n"
NEW = "who,a,b,really\nm1,u,x,q\nm2,v,,q\nm3,u,y,p\n"
ORDER: dict[str, Any] = {"label": "y", "key": "who", "unlabelled": "drop", "missing": ["odd"]}


@pytest.fixture(scope="module")
def tables(server: Served) -> tuple[str, str]:
    return upload(server.client, TABLE)["id"], upload(server.client, NEW)["id"]


def ordered(server: Served, tables: tuple[str, str], **more: Any) -> str:
    """The address of an analysis of the new points."""
    wanted = {"table": tables[0], "points": tables[1], "truth": "really", **ORDER, **more}
    return f"/api/analyses/{analysed(server.client, **wanted)}"


def error_of(server: Served, **order: Any) -> str:
    """Why an analysis fails."""
    name = server.client.post("/api/analyses", json=order).json()["id"]
    until(lambda: state(server.client, name)["state"] == "failed")
    return str(state(server.client, name)["error"])


def test_points_have_names_and_true_labels(server: Served, tables: tuple[str, str]) -> None:
    """The key names points and is no feature, nor is the truth; points are found by all of it."""
    own = ordered(server, tables)
    lines = server.client.get(f"{own}/points").json()["points"]
    assert [(line["key"], line["truth"]) for line in lines] == [
        *(("m1", "q"), ("m2", "q"), ("m3", "p")),
    ]
    features = server.client.get(f"{own}/features").json()["features"]
    assert [feature["name"] for feature in features] == ["a", "b"]
    one = server.client.get(f"{own}/points/2").json()
    assert (one["key"], one["truth"]) == ("m3", "p")

    def found(**asked: Any) -> list[int]:
        listed = server.client.get(f"{own}/points", params=asked).json()["points"]
        return [line["point"] for line in listed]

    assert [found(find=text) for text in ("2", "#0", "M2", "v", "none such")] == [
        *([2], [0], [1], [1], []),
    ]
    right = [line["point"] for line in lines if line["truth"] == line["predicted"]]
    assert found(right=True) == right
    assert found(right=False) == [place for place in range(3) if place not in right]
    tolerances = [line["tolerance"] for line in lines]
    weakest = sorted(
        range(3), key=lambda place: -1 if tolerances[place] is None else tolerances[place]
    )
    assert found(sort="tolerance") == weakest


def test_an_order_is_told_again(server: Served, tables: tuple[str, str]) -> None:
    """Whoever knows the address of an analysis can order it once more, as it was."""
    own = ordered(server, tables)
    order = server.client.get(own).json()["order"]
    assert {**order, **ORDER} == order
    assert (order["table"], order["points"], order["truth"]) == (*tables, "really")
    assert analysed(server.client, **order) != own.rpartition("/")[2]


def test_rows_without_a_label_are_left_out(server: Served, tables: tuple[str, str]) -> None:
    """They are counted before the run, refused by default, and left out if the order says so."""
    described = server.client.get(f"/api/tables/{tables[0]}").json()
    assert described["columns"][3]["n_unlabelled"] == 2
    assert "label" in error_of(server, table=tables[0], label="y")
    document = server.client.get(f"{ordered(server, tables)}/document").json()
    assert document["table"]["n_rows"] == 6


def test_spellings_of_missing_change_the_preview(server: Served, tables: tuple[str, str]) -> None:
    """A table is described again as it will be counted if further texts mean missing."""
    plain, spelled = (
        server.client.get(f"/api/tables/{tables[0]}", params={"missing": missing}).json()
        for missing in ([], ["odd"])
    )
    assert [table["columns"][2]["n_missing"] for table in (plain, spelled)] == [1, 2]
    assert [table["preview"][5][2] for table in (plain, spelled)] == ["odd", None]


def test_an_analysis_of_a_changed_table(server: Served, tables: tuple[str, str]) -> None:
    """Everything is about the table with its cells changed, and says so; a change too many is told."""
    change = {"do": "blank", "feature": "a", "label": "p", "value": "u", "n_cells": 2}
    own = ordered(server, tables, changes=[change])
    rows = [[cell or None for cell in row] for row in ROWS if row[3]]
    frame = pl.DataFrame(rows, schema=["who", "a", "b", "y"], orient="row")
    index = CountIndex.from_table(frame, "y", ignore=["who"], missing=["odd"])
    blanked = frame.with_columns(
        a=pl.when(pl.col("who").is_in(["n1", "n2"])).then(None).otherwise(pl.col("a"))
    )
    after = CountIndex.from_table(
        blanked.with_columns(b=pl.col("b").replace("odd", None)), "y", like=index
    )
    expected = certify(after, pl.read_csv(io.StringIO(NEW)))
    lines = server.client.get(f"{own}/points").json()["points"]
    assert [line["possible"] for line in lines] == [[*one.possible] for one in expected]
    notes = server.client.get(f"{own}/document").json()["notes"]
    assert "The table was changed: blanked 2 cells of a that held u in rows labelled p." in notes
    many = [{**change, "n_cells": 9}]
    assert "give at most that many" in error_of(server, table=tables[0], **ORDER, changes=many)


@pytest.mark.parametrize("option", ["key", "truth"])
def test_columns_that_are_not_there_are_told(
    server: Served, tables: tuple[str, str], option: str
) -> None:
    """A key or a truth that no table has fails with the names that there are."""
    wanted = {"table": tables[0], "points": tables[1], **ORDER, option: "whom"}
    assert "'whom'" in error_of(server, **wanted)
    told(server.client.post("/api/analyses", json={**wanted, option: 3}), 422, option)


def column(name: str, n_distinct: int, n_unlabelled: int = 0, is_key: bool = False) -> Any:
    return {
        "name": name,
        "n_distinct": n_distinct,
        "n_unlabelled": n_unlabelled,
        "is_key": is_key,
    }


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ([column("a", 3), column("b", 4)], "b"),
        ([column("a", 3), column("b", 4, n_unlabelled=2)], "a"),
        ([column("a", 3, n_unlabelled=1), column("b", 4, n_unlabelled=2)], "b"),
        ([column("Class", 30), column("b", 4)], "Class"),
        ([column("class", 300), column("b", 4), column("price", 600)], "b"),
        ([column("id", 9, is_key=True), column("one", 1), column("price", 600)], None),
    ],
)
def test_a_label_is_proposed(columns: list[dict[str, Any]], label: str | None) -> None:
    """By its name, else the last column with few values and no hole; never one that cannot be a label."""
    assert proposed_label(columns) == label


def test_a_poisoned_file_says_so(server: Served) -> None:
    """A Parquet file that an attack wrote names the index beside it, and the page is told."""
    stream = io.BytesIO()
    frame = pl.DataFrame({"a": ["u", None, "v"], "y": ["p", "q", "p"]})
    frame.write_parquet(stream, metadata={KEY: "t.parquet.before.index"})
    assert upload(server.client, stream.getvalue())["attacked"] == "t.parquet.before.index"
    assert upload(server.client, "a,y\nu,p\n,q\n")["attacked"] is None


def test_a_worksheet_is_that_of_the_command(
    server: Served, tables: tuple[str, str], tmp_path: Path, run: Runner
) -> None:
    """`nullproof clean` makes the same worksheet of the same files, and takes its answers back."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "new.csv").write_text(NEW)
    sheet = server.client.get(f"{ordered(server, tables, truth=None)}/files/worksheet.csv").text
    options = ["--label", "y", "--key", "who", "--drop-unlabelled", "--missing", "odd"]
    command = ["clean", str(tmp_path / "t.csv"), str(tmp_path / "new.csv"), *options]
    made = tmp_path / "made.csv"
    assert run(*command, "-o", str(made)).code == 0
    assert sheet == made.read_text("utf-8")
    assert len(sheet.splitlines()) > 1
    change = {"do": "blank", "feature": "a", "label": "p", "value": "u", "n_cells": 1}
    own = ordered(server, tables, changes=[change])
    told(server.client.get(f"{own}/files/worksheet.csv"), 409, "without changes")
