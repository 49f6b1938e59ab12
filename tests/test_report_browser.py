"""The report in real Chromium: from disk, without network, by keyboard, on a narrow screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.browser import NARROW, clashes, overflow, violations, watched_page
from support.command_line import demo_tables
from support.hostile import SCRIPT, hostile_index, hostile_points
from support.schemas import problems
from support.ten_tables import AS_REPORTS, LABEL, check_name, tables

from nullproof import CountIndex, report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
]
# Sections with a heading and nothing below it.
EMPTY = """() => [...document.querySelectorAll("section")].filter(
  (one) => one.innerText.replace(one.querySelector("h2").innerText, "").trim().length < 20
).map((one) => one.id)"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of reports on disk: the demo, hostile texts, many points and many labels."""
    folder = tmp_path_factory.mktemp("reports")
    train, new = demo_tables()
    reports = {
        "demo": report(CountIndex.from_table(train, "churn", ignore=["customer"]), new, alpha=0),
        "hostile": report(hostile_index(), hostile_points(), alpha=0),
        "many": report(*many(), limit=12),
    }
    for name, made in reports.items():
        made.save(folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in reports}


def many() -> tuple[CountIndex, Any]:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 14, 1500)
    codes = ((labels[:, None] + rng.integers(0, 4, (1500, 8))) % 9).astype(np.int32)
    points = codes[:120].copy()
    codes[rng.random(codes.shape) < 0.002] = -1
    return CountIndex.from_codes(codes, labels), points


@pytest.mark.parametrize(
    ("name", "theme"),
    [("demo", "light"), ("hostile", "light"), ("hostile", "dark"), ("many", "dark")],
)
def test_it_opens_without_a_complaint(
    browser: Browser, pages: dict[str, str], name: str, theme: Any
) -> None:
    """Nothing is loaded, the console stays empty, axe finds nothing wrong, and it fits a narrow screen."""
    size = {"width": 1280 if theme == "light" else NARROW, "height": 800}
    with watched_page(browser, color_scheme=theme, viewport=size) as page:
        page.goto(pages[name])
        assert "certain" in page.title()
        closed = page.locator("details:not([open]) > summary")
        while closed.count():
            closed.first.click()
        page.locator("tr[data-verdict=open] a").first.click()
        if name != "many":
            assert violations(page) == []
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert overflow(page) == 0
        assert page.title() != "broken"
        assert page.locator("img").count() == 0
        if name == "hostile":
            assert page.get_by_text(SCRIPT).first.is_visible()
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, shade[4:-1].split(","))) > 400) == (theme == "light")


def test_without_javascript_it_is_all_there(browser: Browser, pages: dict[str, str]) -> None:
    """A link opens its point, and the story reads the same; only the tools are not there."""
    with watched_page(browser, java_script_enabled=False) as page:
        page.goto(pages["demo"])
        assert page.locator("h2").count() >= 5
        assert page.locator(".tools").count() == 0
        assert page.locator("thead button").count() == 0
        assert page.get_by_text("62.5 %").first.is_visible()
        page.locator("#rows a[href='#point-2']").click()
        assert page.locator(".point:visible").count() == 1
        assert page.locator("#point-2").is_visible()
        assert page.locator("#point-2 svg[role=img]").first.is_visible()


def test_rows_are_filtered_sorted_and_opened(browser: Browser, pages: dict[str, str]) -> None:
    """Chips count and filter, headings sort, and a link shows its row alone, also one that is filtered."""
    with watched_page(browser) as page:
        page.goto(pages["demo"])
        shown = page.locator("table.filtered tbody tr:visible")
        for verdict, n_shown in (("certain", 5), ("holds", 1), ("open", 2)):
            page.get_by_role("button", name=f"{verdict} {n_shown}").click()
            assert shown.count() == n_shown
            assert page.get_by_text(f"{n_shown} of 8 shown").is_visible()
        page.get_by_role("button", name="all 8").click()
        column = "rows => rows.map(row => Number(row.children[3].dataset.key))"
        found = shown.evaluate_all(column)
        assert found == sorted(found)
        page.get_by_role("button", name="holds up to").click()
        page.get_by_role("button", name="holds up to").click()
        assert shown.evaluate_all(column) == found[::-1]
        page.get_by_role("button", name="certain 5").click()
        page.locator("#attacks a[href^='#point-']").first.click()
        assert page.locator(".point:visible").count() == 1
        assert page.evaluate("document.activeElement.className").startswith("point")


def test_keyboard_only(browser: Browser, pages: dict[str, str]) -> None:
    """The first tab skips to the report; sorting and rows work by Enter."""
    with watched_page(browser) as page:
        page.goto(pages["demo"])
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the report"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "report"
        seen = tab_until(page, "verdict")
        page.keyboard.press("Enter")
        assert page.locator("#rows th[aria-sort=ascending]").count() == 1
        seen += tab_until(page, "2")
        page.keyboard.press("Enter")
        assert page.locator("#point-2").is_visible()
        assert len(seen) < 40


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def tab_until(page: Page, text: str) -> list[str]:
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        visible = page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'")
        assert visible, f"no focus ring on {seen[-1]!r}"
        if seen[-1] == text:
            return seen
    raise AssertionError(f"{text!r} cannot be reached: {seen}")


def test_in_a_notebook(browser: Browser, tmp_path: Path) -> None:
    """In the frame of a notebook the report works, and neither changes the other."""
    train, new = demo_tables()
    made = report(CountIndex.from_table(train, "churn", ignore=["customer"]), new, alpha=0)
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><h1>mine</h1>{made._repr_html_()}", "utf-8")
    with watched_page(browser) as page:
        page.goto(notebook.as_uri())
        frame = page.frame_locator("iframe")
        frame.locator("#rows a[href='#point-2']").click()
        assert frame.locator("#point-2").is_visible()
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontSize") == "32px"


@pytest.mark.parametrize("name", AS_REPORTS)
def test_nothing_covers_or_cuts_a_text(browser: Browser, tmp_path: Path, name: str) -> None:
    """Wide and light, narrow and dark, with two rows open: texts stand apart, sections say something."""
    train, points = tables(name)
    index = CountIndex.from_table(train, LABEL)
    told = report(index, points, truth=points[LABEL].to_list(), limit=15)
    check_name(name, told.document["certain"])
    assert problems("report", json.loads(told.json())) == []
    told.save(tmp_path / "report.html")
    for width, theme in ((1280, "light"), (NARROW, "dark")):
        size = {"width": width, "height": 900}
        with watched_page(browser, viewport=size, color_scheme=theme) as page:
            page.goto((tmp_path / "report.html").as_uri())
            page.evaluate(
                "[...document.querySelectorAll('.point')].slice(0, 2)"
                ".forEach(p => p.style.display = 'block')"
            )
            assert clashes(page) == []
            assert page.evaluate(EMPTY) == []
            assert overflow(page) == 0
            if width == NARROW:
                assert violations(page) == []
