"""The page as a place to come back to, and its forms before anything runs, in real Chromium."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.browser import patient_page, watched_page
from support.page import open_point, show_example, wait_for_result
from support.web_server import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("addresses")) as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server.url) as opened:
        opened.goto(server.url)
        yield opened


def table(n_rows: int, n_columns: int, labels: int = 2, holes: float = 0.1) -> str:
    """Categories with holes; the last rows have no label."""
    pick = random.Random(n_rows)
    lines = [",".join(["who", *(f"f{j}" for j in range(n_columns)), "price", "class"])]
    for row in range(n_rows):
        y = pick.randrange(labels)
        cells = [
            "" if pick.random() < holes else pick.choice(["unknown", f"v{y % 5}", "v7"])
            for _ in range(n_columns)
        ]
        label = "" if row >= n_rows - 3 else f"label {y}"
        lines.append(",".join([f"n{row}", *cells, f"{row + 0.5}", label]))
    return "\n".join(lines) + "\n"


def upload(page: Page, folder: Path, content: str) -> None:
    (folder / "t.csv").write_text(content)
    page.set_input_files("#drop-train input", folder / "t.csv")
    page.wait_for_selector("#options:not([hidden])")


def test_an_analysis_has_an_address(browser: Browser, page: Page, server: Served) -> None:
    """Reload, Back, Forward and a bookmark lead to the same analysis, point and settings."""
    show_example(page)
    first = page.url
    assert "analysis=" in first
    open_point(page, 5)
    page.reload()
    wait_for_result(page)
    page.wait_for_selector(".panel h3 >> text=Point 5")
    assert "customers.csv" in page.inner_text("#drop-train")
    assert page.get_by_label("Column to predict").input_value() == "churn"
    bookmark = page.url
    page.locator("#certain").get_by_label("Smoothing α").fill("30")
    page.click("text=Judge again")
    page.wait_for_function("old => !location.href.includes(old)", arg=first.split("=")[1][:16])
    page.wait_for_selector("#job", state="hidden")
    assert page.locator("#certain").get_by_label("Smoothing α").input_value() == "30"
    page.click("nav >> text=Holes")
    page.go_back()
    page.go_back()
    page.wait_for_function(
        "() => document.querySelector('#certain .again input')?.value.startsWith('1')"
    )
    assert page.url.startswith(bookmark[:40])
    with watched_page(browser, server.url) as other:
        other.goto(bookmark)
        wait_for_result(other)
        other.wait_for_selector(".panel h3 >> text=Point 5")
        assert other.title().endswith("nullproof")


def test_an_analysis_that_is_gone_is_told(browser: Browser, server: Served) -> None:
    """A bookmark of another day says what happened, and the page can be used."""
    page = patient_page(browser)
    page.goto(f"{server.url}?analysis=nothing-here")
    page.wait_for_selector("#job [role=alert] >> text=as long as their server runs")
    show_example(page)
    page.context.close()


def test_the_label_is_proposed_and_judged_before_the_run(page: Page, tmp_path: Path) -> None:
    """Few values are proposed, a column of prices is told, and rows without a label go by a button."""
    upload(page, tmp_path, table(60, 3))
    label = page.get_by_label("Column to predict")
    assert label.input_value() == "class"
    label.select_option("price")
    assert "60 different values in 60 rows" in page.inner_text(".label-told .problem")
    label.select_option("class")
    assert page.locator(".label-told .problem").count() == 0
    page.click("text=Leave out the 3 rows without a label")
    assert "3 rows without a label are left out" in page.inner_text(".label-told")
    assert page.get_by_label("What names the rows").input_value() == "who"
    unknown = page.locator(".preview td >> text=unknown")
    assert page.get_by_label("Spellings of missing").input_value() == "unknown"
    unknown.first.wait_for(state="detached")
    page.get_by_label("Spellings of missing").fill("")
    unknown.first.wait_for()
    page.click("text=Find out what is certain")
    wait_for_result(page)
    assert "57 rows" in page.inner_text("#certain")
    page.get_by_label("Find").fill("n41")
    page.wait_for_function("() => document.querySelectorAll('tr[data-point]').length === 1")
    assert "41" in page.inner_text("tr[data-point]")


def test_a_changed_table_is_analysed_as_a_whole(page: Page) -> None:
    """The page says what shows the changes and what does not; one click makes all of it do so."""
    show_example(page)
    before = page.inner_text("#certain .big")
    part = page.locator("#what-if")
    part.get_by_label("Feature").select_option(label="income")
    part.get_by_label("Value").select_option("low")
    part.get_by_label("In rows labelled").select_option("yes")
    part.get_by_label("How many").fill("4")
    page.click("text=Change them")
    page.wait_for_selector(".changed-table:visible")
    assert "downloads show the original" in page.inner_text(".changed-table")
    page.click("text=Work all of it out on the changed table")
    page.wait_for_function(
        "old => document.querySelector('#certain .big')?.innerText !== old", arg=before
    )
    assert "37.5" in page.inner_text("#certain .big")
    assert "blanked 4 cells of income" in page.inner_text("#certain")
    page.reload()
    wait_for_result(page)
    assert "37.5" in page.inner_text("#certain .big")
    page.click("#certain >> text=Back to the original table")
    page.wait_for_function(
        "old => document.querySelector('#certain .big')?.innerText === old", arg=before
    )


def test_a_job_can_be_cancelled_from_anywhere(page: Page) -> None:
    """The button is on the screen wherever the page is scrolled to, and the old answer stays.

    So it is before the server has taken the order too.
    """
    show_example(page)
    shown = page.url
    asked: list[Route] = []
    page.route("**/api/analyses", lambda route: asked.extend([route]))
    with page.expect_request("**/api/analyses"):
        page.click("text=Judge again")
    page.click("#job >> text=Cancel")
    asked[0].continue_()
    page.unroute("**/api/analyses")
    page.wait_for_selector("#job >> text=was cancelled")
    assert page.url.split("&")[0] == shown.split("&")[0]
    page.route(
        "**/api/analyses/*",
        lambda route: (
            route.fulfill(
                json={"id": "x", "state": "working", "share": 0.5, "doing": "on", "order": {}}
            )
            if route.request.method == "GET"
            else route.continue_()
        ),
    )
    page.click("text=Judge again")
    # The button is made anew when the server has taken the order.
    page.wait_for_selector("#job.at-work >> text=on …")
    for height in (0, 100_000):
        page.evaluate("height => scrollTo(0, height)", height)
        box = page.locator("#job button").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 900
    page.click("#job >> text=Cancel")
    page.wait_for_selector("#job >> text=was cancelled")
    assert page.url.split("&")[0] == shown.split("&")[0]
