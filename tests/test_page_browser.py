"""The page in real Chromium: what a person does with a mouse, a keyboard, a small screen."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from support.browser import NARROW, clashes, overflow, patient_page, violations, watched_page
from support.hostile import SCRIPT, write_hostile
from support.page import bars, filled, open_point, rows, show_example, wait_for_result
from support.ten_tables import LABEL, NAMES, ON_THE_PAGE, check_name, tables
from support.web_server import Served, analysed, upload

from nullproof import CountIndex, certify

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.xdist_group("browser"),
]
DEMO = Path(str(files("nullproof") / "demo"))
FOCUSED = "document.activeElement"
OPEN = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
TRAIN, POINTS = rows(150, 1), rows(40, 2)


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server.url) as opened:
        opened.goto(server.url)
        yield opened


# Files, options, addresses -------------------------------------------------------------------------


def test_upload_and_options(page: Page, server: Served) -> None:
    """Two files are chosen, described and analysed as the form says."""
    page.set_input_files("#drop-train input", DEMO / "customers.csv")
    page.wait_for_selector("#options:not([hidden])")
    assert "36 rows, 6 columns" in page.inner_text("#drop-train")
    assert page.get_by_label("ignore customer").is_checked()
    page.set_input_files("#drop-points input", DEMO / "new_customers.csv")
    page.wait_for_selector("#drop-points.full")
    label = page.get_by_label("Column to predict")
    label.select_option("")
    page.click("text=Find out what is certain")
    assert label.evaluate("node => !node.validity.valid")
    label.select_option("churn")
    page.click("text=Find out what is certain")
    wait_for_result(page)
    assert "62.5" in page.inner_text("#certain")
    assert "3 predictions depend" in page.inner_text("#explore")


def test_problems_are_told(browser: Browser, server: Served, tmp_path: Path) -> None:
    """What is wrong stands where it was done, in the words of the server."""
    page = patient_page(browser)
    page.goto(server.url)
    for name, content, reason in (
        ("empty.csv", "", "empty.csv is empty"),
        ("large.csv", "a,b\n" + "1,2\n" * 300_000, "larger than 1 MB"),
    ):
        (tmp_path / name).write_text(content)
        page.set_input_files("#drop-train input", tmp_path / name)
        page.wait_for_selector(f"#drop-train [role=alert] >> text={reason}")
    page.set_input_files("#drop-train input", DEMO / "customers.csv")
    page.wait_for_selector("#options:not([hidden])")
    page.get_by_label("Column to predict").select_option("in_us")
    page.click("text=Find out what is certain")
    page.wait_for_selector("#job [role=alert]")
    assert "in_us" in page.inner_text("#job")
    page.get_by_label("Column to predict").select_option("churn")
    page.get_by_label("Smoothing α").first.fill("much")
    page.click("text=Find out what is certain")
    page.wait_for_selector("#job >> text='much' is not a number")
    page.get_by_label("Smoothing α").first.fill("0")
    page.click("text=Find out what is certain")
    wait_for_result(page)
    page.route("**/api/analyses/*/point", lambda route: route.abort())
    page.locator(".editor select").first.select_option(index=0)
    page.locator(".editor select").first.select_option(index=1)
    page.wait_for_selector(".panel [role=alert] >> text=does not answer")
    assert re.search("nullproof serve", page.inner_text(".panel"))
    page.context.close()


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


def test_a_job_can_be_cancelled_from_anywhere(page: Page) -> None:
    """The button is on the screen wherever the page is scrolled to, and the old answer stays."""
    show_example(page)
    shown = page.url
    asked: list[Route] = []
    page.route("**/api/analyses", lambda route: asked.extend([route]))
    with page.expect_request("**/api/analyses"):
        page.click("text=Judge again")
    for height in (0, 100_000):
        page.evaluate("height => scrollTo(0, height)", height)
        box = page.locator("#job button").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 900
    page.click("#job >> text=Cancel")
    asked[0].continue_()
    page.unroute("**/api/analyses")
    page.wait_for_selector("#job >> text=was cancelled")
    assert page.url.split("&")[0] == shown.split("&")[0]


# Points and changed tables -------------------------------------------------------------------------


def test_a_point_and_its_values(page: Page) -> None:
    """A click opens a point; a changed value moves its bars, and the way back is one click."""
    show_example(page)
    open_point(page, 2, by="td:last-child")
    assert "Open: no or yes" in page.inner_text(".panel .verdict")
    assert "Two worlds that disagree" in page.inner_text(".panel")
    start = bars(page)
    page.locator(".panel").get_by_label("age").select_option("18-35")
    page.wait_for_selector(".panel .verdict.is-certain")
    page.wait_for_selector(".panel .note:visible")
    assert "Certain: yes" in page.inner_text(".panel .verdict")
    assert bars(page) != start
    assert "1 value of this point changed" in page.inner_text(".panel .note")
    assert page.locator(".panel .iv-ghost:visible").count() == 2
    page.click("text=Back to the original values")
    page.wait_for_function(
        "old => JSON.stringify([...document.querySelectorAll('.panel .iv-bar')].map("
        "(bar) => bar.style.left + ' ' + bar.style.width)) === old",
        arg=json.dumps(start, separators=(",", ":")),
    )


def test_what_if(page: Page) -> None:
    """Cells are blanked and filled, certainty changes, and everything can be taken back."""
    show_example(page)
    part = page.locator("#what-if")
    part.get_by_label("Feature").select_option(label="income")
    part.get_by_label("Value").select_option("low")
    part.get_by_label("In rows labelled").select_option("yes")
    part.get_by_label("How many").fill("4")
    page.click("#fragility a[href='#point-5']")
    page.wait_for_selector(".panel .verdict.is-certain")
    page.click("text=Change them")
    page.wait_for_selector("#what-if .moved")
    assert "3 of 8 predictions certain" in part.inner_text()
    assert "point 5 is no longer certain" in part.inner_text()
    page.wait_for_selector(".panel .verdict.is-open")
    page.wait_for_selector(".panel .note:visible")
    assert "cells changed below" in page.inner_text(".panel .note")
    page.click("text=Back to the original table")
    page.wait_for_selector("#what-if >> text=Nothing is changed yet")
    page.wait_for_selector(".panel .verdict.is-certain")


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
    n_answers = len(sheet.strip().splitlines()) - 1
    taken = f"{n_answers} answer{'s' * (n_answers > 1)} taken: 8 of 8 predictions"
    page.wait_for_selector(f"#certain >> text={taken}")
    wait_for_result(page)
    assert "5 (62.5" in page.inner_text("#compared tr:has-text('certain')")
    assert page.locator("#lookup").count() == 0
    page.reload()
    page.wait_for_selector(f"#certain >> text={taken}")
    wait_for_result(page)
    page.click("text=Back to the table without them")
    page.wait_for_function(
        "old => document.querySelector('#certain .big')?.innerText === old", arg=before
    )
    assert page.locator("#compared").count() == 0


# The slider for bias -------------------------------------------------------------------------------


STEPS = (0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1)


def analyse(page: Page, folder: Path, train: str = TRAIN, points: str = POINTS) -> None:
    """Upload two tables and analyse them with smoothing."""
    for name, content in (("train", train), ("points", points)):
        (folder / f"{name}.csv").write_text(content, "utf-8")
        page.set_input_files(f"#drop-{name} input", folder / f"{name}.csv")
        page.wait_for_selector(f"#drop-{name}.full")
    page.get_by_label("Column to predict").select_option("y")
    page.locator("#options").get_by_label("Smoothing α").fill("1")
    page.click("text=Find out what is certain")
    wait_for_result(page)


def move(page: Page, step: int) -> None:
    """Put the slider on one of its steps."""
    page.locator(".bias-input").fill(str(step))


def counts(page: Page) -> list[int]:
    """How many are certain, hold and are open, as the page says."""
    found = page.eval_on_selector_all(".tally li b", "all => all.map((one) => one.textContent)")
    return [int(text.replace(",", "")) for text in found]


def chips(page: Page) -> list[str]:
    """The verdicts of the points that are listed."""
    return [text.strip() for text in page.locator("table.list .chip").all_inner_texts()]


def test_the_slider_says_what_the_library_says(page: Page, tmp_path: Path) -> None:
    """Counts and verdicts are, at every step, those of `certify`; keys move it, and it is read out."""
    analyse(page, tmp_path)
    index = CountIndex.from_table(pl.read_csv(io.StringIO(TRAIN)), "y")
    points = pl.read_csv(io.StringIO(POINTS))
    strict = certify(index, points, alpha=1).certain
    open_point(page, 3)
    assert page.get_by_label("Bias", exact=True).last.input_value() == "4"
    for step, bias in enumerate(STEPS):
        move(page, step)
        found = certify(index, points, alpha=1, bias=bias)
        n_hold = int(found.certain.sum())
        expected = [int(strict.sum()), n_hold - int(strict.sum()), len(points) - n_hold]
        assert counts(page) == expected, bias
        named = [
            "certain" if s else "holds" if h else "open"
            for s, h in zip(strict, found.certain, strict=True)
        ]
        assert chips(page) == named[:12], bias
        page.wait_for_selector(f".panel .verdict >> text=/{named[3]}/i")
        said = page.locator(".bias-input").get_attribute("aria-valuetext") or ""
        assert said.startswith(f"{bias:g}: ")
    page.locator(".bias-input").focus()
    page.keyboard.press("Home")
    assert (page.locator(".bias-input").get_attribute("aria-valuetext") or "").startswith("0: ")


# Everyone and every table --------------------------------------------------------------------------


def press_until(page: Page, wanted: str, limit: int = 60) -> None:
    """Press Tab until an element is focused, and check that each on the way can be seen to be."""
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate(f"wanted => {FOCUSED}.matches(wanted)", wanted):
            return
        seen = page.evaluate(
            f"""() => {{ const style = getComputedStyle({FOCUSED});
            const label = {FOCUSED}.nextElementSibling?.querySelector?.(".button");
            const shown = (one) => one && parseFloat(one.outlineWidth) > 0 && one.outlineStyle !== "none";
            return shown(style) || shown(label && getComputedStyle(label)); }}"""
        )
        assert seen, page.evaluate(f"{FOCUSED}.outerHTML.slice(0, 200)")
    raise AssertionError(f"{wanted} cannot be reached by Tab")


def test_keyboard_only(page: Page, server: Served) -> None:
    """Everything can be reached, seen and done by keys alone."""
    page.keyboard.press("Tab")
    assert page.evaluate(f"{FOCUSED}.className") == "skip"
    press_until(page, "#drop-train input")
    press_until(page, "#example")
    page.keyboard.press("Enter")
    wait_for_result(page)
    assert page.evaluate(f"{FOCUSED}.id") == "certain"
    press_until(page, "tr[data-point='3'] button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel h3 >> text=Point 3")
    assert page.evaluate(f"{FOCUSED}.textContent").startswith("Point 3")
    before = bars(page)
    press_until(page, ".editor select")
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "before => document.querySelector('.panel .note:not([hidden])') !== null", arg=before
    )
    assert bars(page) != before
    press_until(page, "#what-if button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector("#what-if .changes li")
    press_until(page, "#downloads a")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_on_every_screen(browser: Browser, server: Served, scheme: str) -> None:
    """Names, roles and contrast are right, and a narrow screen never scrolls sideways."""
    width = NARROW if scheme == "dark" else 1280
    size: Any = {"width": width, "height": 844}
    with watched_page(browser, server.url, viewport=size, color_scheme=scheme) as page:
        page.goto(server.url)
        assert violations(page) == []
        show_example(page)
        page.click("text=Change them")
        page.wait_for_selector("#what-if .step")
        page.evaluate(OPEN)
        assert violations(page) == []
        assert overflow(page) == 0
        page.set_viewport_size({"width": NARROW, "height": 844})
        page.wait_for_function("width => innerWidth === width", arg=NARROW)
        assert overflow(page) == 0
        page.goto(f"{server.url}static/api.html")
        page.wait_for_selector("details")
        page.locator("summary").nth(3).click()
        assert violations(page) == []
        assert overflow(page) == 0
        assert "/api/analyses/{analysis}/what-if" in page.inner_text("main")


def test_hostile_text_is_text(browser: Browser, server: Served, tmp_path: Path) -> None:
    """Whatever names, categories, labels and files are called, it is shown and never run."""
    path = tmp_path / "<img src=x onerror=window.hit=1>.csv"
    label = write_hostile(path)
    with watched_page(browser, server.url, viewport={"width": NARROW, "height": 844}) as page:
        page.goto(server.url)
        page.set_input_files("#drop-train input", path)
        page.wait_for_selector("#options:not([hidden])")
        assert "<img src=x" in page.inner_text("#drop-train")
        page.get_by_label("Column to predict").select_option(label)
        for box in page.locator("#options input[type=checkbox]:checked:not(:disabled)").all():
            box.uncheck()
        page.click("text=Find out what is certain")
        wait_for_result(page)
        page.get_by_label("Which points", exact=True).select_option("all")
        open_point(page, 3)
        page.locator(".editor select").first.select_option(index=1)
        page.wait_for_selector(".panel .note:visible")
        page.click("text=Change them")
        page.wait_for_selector("#what-if .step, #what-if .problem:visible")
        page.evaluate(OPEN)
        assert page.evaluate("window.hit") is None
        assert page.title() != "broken"
        assert page.locator("main img, main script").count() == 0
        text = page.inner_text("#result")
        assert SCRIPT in text
        assert "long" * 250 not in text
        assert overflow(page) == 0
        assert violations(page) == []


EMPTY = """() => [...document.querySelectorAll("#result section")].filter(
  (one) => one.innerText.replace(one.querySelector("h2").innerText, "").trim().length < 20
).map((one) => one.id)"""


# Axe takes its time with every element: the report's sections it sees in the report, and of many fields
# of one kind a few will do.
TOLD_ELSEWHERE = """() => {
  const own = "#explore, #lookup, #what-if, #downloads";
  for (const one of document.querySelectorAll("#result > section")) if (!one.matches(own)) one.remove();
  document.querySelectorAll(".editor .field:nth-child(n + 12)").forEach((one) => one.remove());
}"""


@pytest.mark.parametrize("name", ON_THE_PAGE)
def test_a_table_on_the_page(browser: Browser, server: Served, name: str) -> None:
    """Wide and narrow nothing covers or cuts a text or is empty, and axe finds nothing."""
    train, points = (upload(server.client, frame.write_csv())["id"] for frame in tables(name))
    made = analysed(server.client, table=train, points=points, label=LABEL)
    told = server.client.get(f"/api/analyses/{made}/document").json()
    check_name(name, told["certain"])
    scheme: Any = ("light", "dark")[NAMES.index(name) % 2]
    with watched_page(browser, server.url, color_scheme=scheme) as page:
        page.goto(f"{server.url}?analysis={made}")
        wait_for_result(page)
        for width in (1280, NARROW):
            sized(page, width)
            assert overflow(page) == 0
            assert page.evaluate(EMPTY) == []
            assert clashes(page) == [], width
        page.evaluate(TOLD_ELSEWHERE)
        assert violations(page) == []


def sized(page: Page, width: int) -> None:
    """Make the screen so wide, and wait until nothing moves any more."""
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_function(
        "width => innerWidth === width"
        " && document.getAnimations().every((one) => one.playState !== 'running')",
        arg=width,
    )
