"""Worksheets that come back to the page: their answers are taken as `nullproof clean` takes them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import watched_page
from support.command_line import Runner
from support.page import rows, show_example, wait_for_result
from support.web_server import Served, analysed, state, told, until, upload

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("browser"),
]
TRAIN, POINTS = rows(40, 3), rows(12, 4)


def filled(sheet: str, n_answers: int, answer: str | None = None) -> str:
    """The same worksheet with its first lines answered: what is likeliest, or something else."""
    lines = [*csv.DictReader(io.StringIO(sheet))]
    for line in lines[:n_answers]:
        line["value"] = answer or line["candidates"].split(" | ")[0]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*lines[0]])
    writer.writeheader()
    writer.writerows(lines)
    return stream.getvalue()


def send(server: Served, content: str | bytes, name: str = "filled.csv") -> Any:
    return server.client.post("/api/worksheets", params={"name": name}, content=content)


def sheet_of(server: Served, analysis: str) -> str:
    return server.client.get(f"/api/analyses/{analysis}/files/worksheet.csv").text


def ordered(server: Served, own_missing: str, *, points: bool) -> tuple[dict[str, Any], str]:
    """An order for the two tables, or for the training rows, and the id of its analysis."""
    order = {"table": upload(server.client, TRAIN)["id"], "label": "y", "own_missing": own_missing}
    if points:
        order["points"] = upload(server.client, POINTS, "p.csv")["id"]
    return order, analysed(server.client, **order)


@pytest.mark.parametrize(("own_missing", "points"), [("any", True), ("skip", False)])
def test_answers_are_those_of_the_command(
    server: Served, run: Runner, folder: Path, own_missing: str, points: bool
) -> None:
    """Every verdict is that of the repaired files, counted as before; the next worksheet is the same."""
    order, first = ordered(server, own_missing, points=points)
    answers = filled(sheet_of(server, first), 9)
    sheet = send(server, answers, "folder/filled.csv").json()
    assert (sheet["name"], sheet["n_lines"]) == ("filled.csv", len(answers.splitlines()) - 1)
    second = analysed(server.client, **order, answers=[sheet["id"]], compare=first)

    (folder / "filled.csv").write_text(answers)
    (folder / "t.csv").write_text(TRAIN)
    (folder / "p.csv").write_text(POINTS)
    files = ["t.csv", *(["p.csv"] if points else [])]
    how = ["--own-missing", own_missing]
    mended = ["--repaired", "t2.csv", *(["--repaired-test", "p2.csv"] if points else [])]
    taken = ["--label", "y", *how, "--answers", "filled.csv"]
    assert run("-q", "clean", *files, *taken, *mended).code == 0
    again = ["t2.csv", *(["p2.csv"] if points else [])]
    like = ["--like", "t2.csv.before.index", *how, "--json"]
    expected = json.loads(run("-q", "certify", *again, *like).out)["points"]
    shown = server.client.get(f"/api/analyses/{second}/points").json()["points"]
    for one, other in zip(shown, expected, strict=True):
        assert {name: one[name] for name in other if name in one} == {
            name: other[name] for name in other if name in one
        }
    assert run("-q", "clean", *files, *taken, "-o", "left.csv").code == 0
    assert sheet_of(server, second) == (folder / "left.csv").read_text("utf-8")

    document = server.client.get(f"/api/analyses/{second}/document").json()
    before = server.client.get(f"/api/analyses/{first}/document").json()
    n_certain = [one["certain"]["n_certain"] for one in (document, before)]
    assert document["findings"][0].startswith(f"9 answers taken: {n_certain[0]} of ")
    assert "filled.csv" in json.dumps(document["asked"]["options"])
    sides = {one["name"]: one for one in document["compared"]["measures"]}
    assert [sides["certain"][at].split()[0] for at in ("here", "there")] == [*map(str, n_certain)]


def test_an_answer_to_a_point_is_its_value(server: Served) -> None:
    """A cell that a point lacked is shown, found and sent back with what the worksheet said."""
    order, first = ordered(server, "any", points=True)
    lines = sheet_of(server, first).splitlines(keepends=True)
    own = [line for line in lines[1:] if line.startswith("points,")]
    answers = filled("".join([lines[0], *own]), 1)
    line = next(csv.DictReader(io.StringIO(answers)))
    sheet = send(server, answers).json()["id"]
    second = analysed(server.client, **order, answers=[sheet])
    at = f"points/{line['row']}"
    was, now = (
        server.client.get(f"/api/analyses/{name}/{at}").json()["values"] for name in (first, second)
    )
    assert was[line["column"]] is None
    assert now == {**was, line["column"]: line["value"]}


def test_a_worksheet_that_cannot_be_taken_is_told(server: Served) -> None:
    """One sentence with the name of the file as the person knows it; no path, and no file stays."""
    order, first = ordered(server, "skip", points=False)
    left = sorted(server.folder.iterdir())
    good = sheet_of(server, first)
    told(send(server, "a,b\n1,2\n"), 400, "filled.csv has no column 'table'")
    told(send(server, b"\xff\xfe\x00", "x.csv"), 400, "x.csv is not UTF-8")
    told(send(server, b"PK\x03\x04no", "x.xlsx"), 400, "x.xlsx is a damaged Excel file")
    told(send(server, good + "x" * (4 << 20)), 413, "send a worksheet in parts")
    for content, reason in (
        (filled(good, 2, "nothing of the kind"), "filled.csv, line 2: 'nothing of the kind'"),
        (re.sub(r",c\w{8}\b", ",c12345678", filled(good, 1)), "filled.csv, line 2 (row"),
    ):
        sheet = send(server, content).json()["id"]
        made = server.client.post("/api/analyses", json={**order, "answers": [sheet]}).json()["id"]
        until(lambda name=made: state(server.client, name)["state"] == "failed")
        assert reason in state(server.client, made)["error"]
        assert str(server.folder) not in state(server.client, made)["error"]
    told(server.client.post("/api/analyses", json={**order, "answers": ["x"]}), 404, "worksheet")
    told(server.client.post("/api/analyses", json={**order, "compare": "x"}), 404, "analysis")
    assert sorted(server.folder.iterdir()) == left


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server.url) as opened:
        opened.goto(server.url)
        yield opened


def test_a_worksheet_goes_out_and_comes_back(page: Page, tmp_path: Path) -> None:
    """Filled in and dropped, it gives the analysis with its answers beside that from before, and back."""
    show_example(page)
    before, first = page.inner_text("#certain .big"), page.url.split("&")[0]
    with page.expect_download() as saved:
        page.click("#lookup >> text=Worksheet, CSV")
    sheet = Path(saved.value.path()).read_text("utf-8")
    (tmp_path / "wrong.csv").write_text(filled(sheet, 1, "no such value"))
    page.set_input_files("#lookup input", tmp_path / "wrong.csv")
    page.wait_for_selector("#job [role=alert] >> text=wrong.csv, line 2: 'no such value'")
    assert page.url.split("&")[0] == first
    (tmp_path / "filled.csv").write_text(filled(sheet, 99))
    page.set_input_files("#lookup input", tmp_path / "filled.csv")
    page.wait_for_selector("#certain >> text=8 answers taken: 8 of 8 predictions are certain now")
    wait_for_result(page)
    assert "5 (62.5" in page.inner_text("#compared tr:has-text('certain')")
    assert page.locator("#lookup").count() == 0
    page.reload()
    page.wait_for_selector("#certain >> text=8 answers taken")
    wait_for_result(page)
    page.click("text=Back to the table without them")
    page.wait_for_function(
        "old => document.querySelector('#certain .big')?.innerText === old", arg=before
    )
    assert page.locator("#compared").count() == 0
