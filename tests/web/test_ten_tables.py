"""Ten tables on the page, in real Chromium: every text can be read, every number is that of the others."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import NARROW, clashes, overflow, violations, watched_page
from support.command_line import Runner
from support.documents import answers
from support.page import wait_for_result
from support.ten_tables import LABEL, NAMES, check_name, tables
from support.web_server import Served, analysed, upload

from nullproof.words import per_cent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("browser"),
]
EMPTY = """() => [...document.querySelectorAll("#result section")].filter(
  (one) => one.innerText.replace(one.querySelector("h2").innerText, "").trim().length < 20
).map((one) => one.id)"""
# The three groups, as the report and the page draw them.
GROUPS = """() => [...document.querySelectorAll("#certain table tbody tr")].map(
  (row) => [...row.children].slice(0, 3).map((cell) => cell.innerText.replace(/\\s/g, " "))
)"""

# Axe takes its time with every element: the report's sections it sees in the report, and of many fields
# of one kind a few will do.
TOLD_ELSEWHERE = """() => {
  const own = "#explore, #lookup, #what-if, #downloads";
  for (const one of document.querySelectorAll("#result > section")) if (!one.matches(own)) one.remove();
  document.querySelectorAll(".editor .field:nth-child(n + 12)").forEach((one) => one.remove());
}"""

# What these have of its own axe finds on another table, or in their reports.
LIKE_ANOTHER = ("300 columns", "right to left", "one label", "all certain")


# Seconds each: what the others have of their own is looked at in their reports.
SHOWN = ("a fifth missing", "30 labels", "60 columns", "long names", "none certain")


@pytest.mark.parametrize("name", NAMES if "NULLPROOF_TEN_TABLES" in os.environ else SHOWN)
def test_a_table_on_the_page(
    browser: Browser, server: Served, run: Runner, folder: Path, name: str
) -> None:
    """Wide and narrow nothing covers or cuts a text or is empty, axe finds nothing, and numbers agree."""
    train, points = tables(name)
    for file, frame in (("train.csv", train), ("test.csv", points)):
        frame.write_csv(folder / file)
    ids = [upload(server.client, (folder / f).read_bytes(), f) for f in ("train.csv", "test.csv")]
    made = analysed(server.client, table=ids[0]["id"], points=ids[1]["id"], label=LABEL)
    told = server.client.get(f"/api/analyses/{made}/document").json()
    check_name(name, told["certain"])
    scheme: Any = ("light", "dark")[NAMES.index(name) % 2]
    with watched_page(browser, server.url, color_scheme=scheme) as page:
        page.goto(f"{server.url}?analysis={made}")
        wait_for_result(page)
        for width in (1280, NARROW) if name == "60 columns" else ():
            bars_stay_in_view(page, width)
        for width in (1280, NARROW):
            sized(page, width)
            assert overflow(page) == 0
            assert page.evaluate(EMPTY) == []
            assert clashes(page) == [], width
        shown = page.evaluate(GROUPS), page.inner_text("#certain .big").replace("\xa0", " ")
        if name not in LIKE_ANOTHER:
            page.evaluate(TOLD_ELSEWHERE)
            assert violations(page) == []
    numbers_agree(run, folder, told, shown)


def sized(page: Page, width: int) -> None:
    """Make the screen so wide, and wait until nothing moves any more."""
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_function(
        "width => innerWidth === width"
        " && document.getAnimations().every((one) => one.playState !== 'running')",
        arg=width,
    )


def numbers_agree(run: Runner, folder: Path, told: Any, shown: tuple[list[list[str]], str]) -> None:
    """Report, terminal and JSON say of the same files what the page says."""
    asked = ("train.csv", "test.csv", "--label", LABEL, "-q")
    done = run("report", *asked, "-o", "report.html", "--json")
    assert done.code == 0, done.err
    assert answers(json.loads(done.out)) == answers(told)
    terminal = run("certify", *asked).out
    drawn = (folder / "report.html").read_text("utf-8")
    groups, big = shown
    assert big == per_cent(told["certain"]["share"]).replace("\xa0", " ")
    assert f'class="big">{per_cent(told["certain"]["share"])}<' in drawn
    for one, row in zip(told["verdicts"]["groups"], groups, strict=True):
        share = per_cent(one["share"])
        assert row == [one["verdict"], f"{one['n_points']:,}", share.replace("\xa0", " ")]
        cells = f'<td class="number">{one["n_points"]:,}</td><td class="number">{share}</td>'
        assert f">{one['verdict']}</span></th>{cells}" in drawn
        said = rf"^{one['verdict']} +{one['n_points']} +{share}".replace("\xa0", " ")
        assert re.search(said, terminal, re.MULTILINE), terminal


def bars_stay_in_view(page: Page, width: int) -> None:
    """The verdict and its bars are on the screen while the last of many values is edited."""
    sized(page, width)
    last = page.locator(".editor select").last
    last.scroll_into_view_if_needed()
    last.select_option("not known, left out")
    last.select_option(index=0)
    page.wait_for_selector(".panel .note:not([hidden])", state="attached")
    box, field = page.locator(".panel .iv-rows").bounding_box(), last.bounding_box()
    assert box is not None
    assert field is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= field["y"] <= 844
