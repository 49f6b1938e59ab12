"""The page in real Chromium: what a person does with a mouse, a keyboard, a small screen."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from support.browser import NARROW, clashes, overflow, patient_page, violations, watched_page
from support.hostile import SCRIPT, write_hostile
from support.page import PARTS, filled, open_row, rows, show_example, show_part, wait_for_result
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
RUN = "text=Find out what is certain"
TRAIN, POINTS = rows(150, 1), rows(40, 2)


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server.url) as opened:
        opened.goto(server.url)
        yield opened


# Files, options, addresses -------------------------------------------------------------------------


def test_upload_and_options(page: Page, tmp_path: Path) -> None:
    """Two files are chosen, described and analysed as the form says; a new file clears the answer."""
    page.set_input_files("#drop-train input", DEMO / "customers.csv")
    page.wait_for_selector("#options:not([hidden])")
    assert "36 rows, 6 columns" in page.inner_text("#drop-train")
    assert page.get_by_label("ignore customer").is_checked()
    page.set_input_files("#drop-points input", DEMO / "new_customers.csv")
    page.wait_for_selector("#drop-points.full")
    label = page.get_by_label("Column to predict")
    label.select_option("")
    page.click(RUN)
    assert label.evaluate("node => !node.validity.valid")
    label.select_option("churn")
    page.click(RUN)
    wait_for_result(page)
    assert "62.5" in page.inner_text("#certain")
    assert not page.is_visible("#options")
    show_part(page, "rows")
    assert "7 of 8 predictions hold" in page.inner_text(".bias-words")
    page.click("text=Change data or options")
    (tmp_path / "one.csv").write_text("a,y\nu,p\nv,p\n")
    page.set_input_files("#drop-train input", tmp_path / "one.csv")
    page.wait_for_selector("#drop-train >> text=2 rows")
    assert not page.is_visible("#result")
    page.get_by_label("Column to predict").select_option("y")
    assert "nothing to predict" in page.inner_text("#options")


def test_problems_are_shown(browser: Browser, server: Served, tmp_path: Path) -> None:
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
    page.click(RUN)
    page.wait_for_selector("#job [role=alert]")
    assert "in_us" in page.inner_text("#job")
    page.get_by_label("Column to predict").select_option("churn")
    page.click("text=More options")
    page.get_by_label("Smoothing α").fill("much")
    page.click(RUN)
    page.wait_for_selector("#job >> text='much' is not a number")
    page.get_by_label("Smoothing α").fill("0")
    page.click(RUN)
    wait_for_result(page)
    show_part(page, "rows")
    page.route("**/api/analyses/*/points/*", lambda route: route.abort())
    page.locator("tr[data-point]").last.click()
    page.wait_for_selector(".one-row [role=alert] >> text=does not respond")
    page.context.close()


def test_an_analysis_has_an_address(browser: Browser, page: Page, server: Served) -> None:
    """Reload, Back, Forward and a bookmark lead to the same analysis, part, filter and row."""
    show_example(page)
    show_part(page, "rows")
    page.click(".tools >> text=certain 5")
    page.wait_for_function("() => document.querySelectorAll('tr[data-point]').length === 5")
    open_row(page, 5)
    bookmark = page.url
    page.reload()
    wait_for_result(page)
    page.wait_for_selector(".one-row #point-5", state="visible")
    assert page.locator("tr[data-point]").count() == 5
    show_part(page, "columns")
    page.go_back()
    page.wait_for_selector("#part-rows", state="visible")
    with watched_page(browser, server.url) as other:
        other.goto(bookmark)
        wait_for_result(other)
        other.wait_for_selector(".one-row #point-5", state="visible")
        assert other.title().endswith("nullproof")
        other.click("text=Change data or options")
        assert "customers.csv" in other.inner_text("#drop-train")
        assert other.get_by_label("Column to predict").input_value() == "churn"


def test_an_analysis_that_is_gone(browser: Browser, server: Served) -> None:
    """A bookmark of another day says what happened, and the page can be used."""
    page = patient_page(browser)
    page.goto(f"{server.url}?analysis=nothing-here")
    page.wait_for_selector("#job [role=alert] >> text=kept only while their server runs")
    show_example(page)
    page.context.close()


def test_a_job_can_be_cancelled(page: Page) -> None:
    """The button is on the screen wherever the page is scrolled to, and the old answer stays."""
    show_example(page)
    shown = page.url
    asked: list[Route] = []
    page.route("**/api/analyses", lambda route: asked.extend([route]))
    page.click("text=Change data or options")
    with page.expect_request("**/api/analyses"):
        page.click(RUN)
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


def test_the_theme_can_be_switched(page: Page) -> None:
    """It follows the system until it is switched, and is kept."""
    dark = "() => getComputedStyle(document.documentElement).colorScheme === 'dark'"
    assert not page.evaluate(dark)
    page.click("#theme")
    page.click("#theme")
    assert page.evaluate(dark)
    page.reload()
    page.wait_for_function(dark)


# Rows and changed tables ---------------------------------------------------------------------------


def test_a_row(page: Page) -> None:
    """A click opens a row: its verdict, its values and two worlds that disagree."""
    show_example(page)
    show_part(page, "rows")
    open_row(page, 2)
    assert "Two worlds that disagree" in page.inner_text(".one-row")
    assert page.locator(".one-row .tag").first.inner_text() == "open"


def test_rows_are_sorted_found_and_taken_home(page: Page) -> None:
    """A heading sorts, a chip filters, a name finds; the file has what is listed."""
    show_example(page)
    show_part(page, "rows")
    listed = (
        "() => [...document.querySelectorAll('tr[data-point]')].map((row) => row.dataset.point)"
    )
    assert page.evaluate(listed) == ["2", "3", "6", "0", "1", "4", "5", "7"]
    page.click("th >> text=row")
    page.wait_for_selector("tbody tr:first-child[data-point='0']")
    page.click("th >> text=row")
    page.wait_for_selector("tbody tr:first-child[data-point='7']")
    page.click(".tools >> text=holds 2")
    page.wait_for_function(f"() => ({listed})().join() === '6,3'")
    with page.expect_download() as saved:
        page.click("text=CSV of these rows")
    assert saved.value.suggested_filename == "customers-rows.csv"
    assert pl.read_csv(saved.value.path())["point"].to_list() == [6, 3]
    page.click(".tools >> text=all")
    page.fill(".tools input", "11040")
    page.wait_for_function(f"() => ({listed})().join() === '4'")
    page.press(".tools input", "Enter")
    page.wait_for_selector(".one-row #point-4")


def test_a_worksheet_goes_out_and_comes_back(page: Page, tmp_path: Path) -> None:
    """Filled in and dropped, it gives the analysis with its answers beside that from before, and back."""
    show_example(page)
    before, first = page.inner_text("#certain .big >> nth=0"), page.url.split("&")[0]
    show_part(page, "clean")
    with page.expect_download() as saved:
        page.click("#lookup >> text=Download the worksheet")
    assert saved.value.suggested_filename == "customers-worksheet.csv"
    sheet = Path(saved.value.path()).read_text("utf-8-sig")
    (tmp_path / "wrong.csv").write_text(filled(sheet, 1, "no such value"))
    page.set_input_files("#lookup input", tmp_path / "wrong.csv")
    page.wait_for_selector("#job [role=alert] >> text=wrong.csv, line 2: 'no such value'")
    assert page.url.split("&")[0] == first
    (tmp_path / "filled.csv").write_text(filled(sheet, 99))
    page.set_input_files("#lookup input", tmp_path / "filled.csv")
    n_answers = len(sheet.strip().splitlines()) - 1
    taken = f"{n_answers} answer{'s' * (n_answers > 1)} accepted: 8 of 8 predictions"
    page.wait_for_selector(f"#certain >> text={taken}")
    wait_for_result(page)
    assert show_part(page, "compared")
    page.go_back()
    page.go_back()
    page.wait_for_function(
        "old => document.querySelector('#certain .big')?.innerText === old", arg=before
    )


# The slider for bias -------------------------------------------------------------------------------


# Positions of the slider, and the biases there.
STEPS = {0: 0, 1: 0.001, 6: 0.01, 11: 0.05, 14: 0.1, 20: 0.35, 23: 0.5, 28: 1}


def analyse(page: Page, folder: Path, train: str = TRAIN, points: str = POINTS) -> None:
    """Upload two tables and analyse them."""
    for name, content in (("train", train), ("points", points)):
        (folder / f"{name}.csv").write_text(content, "utf-8")
        page.set_input_files(f"#drop-{name} input", folder / f"{name}.csv")
        page.wait_for_selector(f"#drop-{name}.full")
    page.get_by_label("Column to predict").select_option("y")
    page.click(RUN)
    wait_for_result(page)


def test_the_slider_says_what_the_library_says(page: Page, tmp_path: Path) -> None:
    """Chips, sentence and list are, at every step, those of `certify`; keys move it."""
    analyse(page, tmp_path)
    show_part(page, "rows")
    index = CountIndex.from_table(pl.read_csv(io.StringIO(TRAIN)), "y")
    points = pl.read_csv(io.StringIO(POINTS))
    strict = certify(index, points, alpha=1).certain
    slider = page.locator(".bias input")
    assert slider.input_value() == "11"
    for step, bias in STEPS.items():
        slider.fill(str(step))
        n_hold = int(certify(index, points, alpha=1, bias=bias).certain.sum())
        assert f"{n_hold} of 40 predictions hold" in page.inner_text(".bias-words"), bias
        wanted = [40, int(strict.sum()), n_hold - int(strict.sum()), 40 - n_hold]
        shown = [
            f"{kind} {n}"
            for kind, n in zip(("all", "certain", "holds", "open"), wanted, strict=True)
        ]
        page.wait_for_function(
            "wanted => [...document.querySelectorAll('.tools > button')]"
            ".map((chip) => chip.textContent).join() === wanted",
            arg=",".join(shown),
        )
    slider.focus()
    page.keyboard.press("Home")
    assert (slider.get_attribute("aria-valuetext") or "").startswith("0: ")


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
    press_until(page, "#tab-overview")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#part-rows", state="visible")
    press_until(page, "tr[data-point='3'] button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".one-row #point-3")
    page.focus("#tab-rows")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#part-clean", state="visible")
    press_until(page, "#lookup a.main")
    with page.expect_download():
        page.keyboard.press("Enter")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_on_every_screen(browser: Browser, server: Served, scheme: str) -> None:
    """Names, roles and contrast are right, and a narrow screen never scrolls sideways."""
    width = NARROW if scheme == "dark" else 1280
    size: Any = {"width": width, "height": 844}
    with watched_page(browser, server.url, viewport=size, color_scheme=scheme) as page:
        page.goto(server.url)
        assert violations(page) == []
        show_example(page)
        page.evaluate(OPEN)
        for part in PARTS:
            assert show_part(page, part)
            assert violations(page) == [], part
            for shown in (width, NARROW):
                sized(page, shown)
                assert overflow(page) == 0, part
            sized(page, width)


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
        page.click(RUN)
        wait_for_result(page)
        page.evaluate(OPEN)
        text = ""
        for part in PARTS:
            if show_part(page, part):
                assert overflow(page) == 0, part
                assert violations(page) == [], part
                text += page.inner_text("#result")
        assert page.evaluate("window.hit") is None
        assert page.title() != "broken"
        assert page.locator("main img, main script").count() == 0
        assert SCRIPT in text
        assert "long" * 250 not in text


EMPTY = """() => [...document.querySelectorAll("#result section")].filter(
  (one) => one.offsetParent && !one.closest("details:not([open])")
).filter(
  (one) => one.innerText.replace(one.querySelector("h2").innerText, "").trim().length < 20
).map((one) => one.id)"""


@pytest.mark.parametrize("name", ON_THE_PAGE)
def test_a_table_on_the_page(browser: Browser, server: Served, name: str) -> None:
    """Wide and narrow nothing covers or cuts a text or is empty, and axe finds nothing in the rows."""
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
            for part in PARTS:
                if show_part(page, part):
                    assert overflow(page) == 0, part
                    assert page.evaluate(EMPTY) == [], part
                    assert clashes(page) == [], (width, part)
        show_part(page, "rows")
        assert violations(page) == []


def sized(page: Page, width: int) -> None:
    """Make the screen so wide, and wait until nothing moves any more."""
    page.set_viewport_size({"width": width, "height": 844})
    page.wait_for_function(
        "width => innerWidth === width"
        " && document.getAnimations().every((one) => one.playState !== 'running')",
        arg=width,
    )
