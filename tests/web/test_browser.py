"""The page in a real browser: what a person does with a mouse, a keyboard, a small screen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import NARROW, overflow, patient_page, violations, watched_page
from support.page import bars, open_point, show_example, wait_for_result
from support.web_server import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("browser"),
]
DEMO = Path(str(files("nullproof") / "demo"))
FOCUSED = "document.activeElement"
OPEN = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("page"), max_upload=1 << 20) as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server.url) as opened:
        opened.goto(server.url)
        yield opened


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
    page.click("#drop-points >> text=Remove")
    page.get_by_label("Smoothing α").first.fill("1")
    page.click("text=Find out what is certain")
    page.wait_for_function(
        "() => document.querySelector('#certain')?.innerText.includes('36 predictions')"
    )


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
    page.locator(".panel").get_by_label("age").select_option("not known, left out")
    page.locator(".panel").get_by_label("in_us").select_option("not known, left out")
    page.wait_for_selector(".panel .note >> text=2 values of this point changed")
    page.click("text=Back to the original values")
    page.wait_for_function(
        "old => JSON.stringify([...document.querySelectorAll('.panel .iv-bar')].map("
        "(bar) => bar.style.left + ' ' + bar.style.width)) === old",
        arg=json.dumps(start, separators=(",", ":")),
    )
    page.get_by_label("Which points", exact=True).select_option("certain")
    open_point(page, 5)
    assert "2 blanked cells would break it" in page.inner_text(".panel .verdict")


def test_smoothing_is_changed(page: Page) -> None:
    """Another α judges again, and the answer changes."""
    show_example(page)
    before = page.inner_text("#certain .big")
    page.locator("#certain").get_by_label("Smoothing α").fill("30")
    page.click("text=Judge again")
    page.wait_for_function(
        "before => document.querySelector('#certain .big').innerText !== before", arg=before
    )
    assert page.locator("#certain").get_by_label("Smoothing α").input_value() == "30"


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
    part.get_by_label("What to do").select_option("fill")
    part.get_by_label("Value").select_option("low")
    page.click("text=Change them")
    page.wait_for_function(
        "() => document.querySelector('#what-if .outcome').innerText.includes('5 of 8')"
    )
    assert part.locator(".changes li").count() == 2
    page.click("text=Undo the last")
    page.wait_for_function(
        "() => document.querySelector('#what-if .outcome').innerText.includes('3 of 8')"
    )
    page.click("text=Back to the original table")
    page.wait_for_selector("#what-if >> text=Nothing is changed yet")
    page.wait_for_selector(".panel .verdict.is-certain")


def test_downloads(page: Page) -> None:
    """The report and the certificates are saved under plain names."""
    show_example(page)
    for title, name, start in (
        ("Report", "nullproof-report.html", "<!doctype html>"),
        ("Certificates, CSV", "nullproof-certificates.csv", "point,key,predicted"),
        ("Certificates, JSON", "nullproof-certificates.json", '{"n_points": 8'),
    ):
        with page.expect_download() as saved:
            page.click(f"#downloads >> text={title}")
        assert saved.value.suggested_filename == name
        assert Path(saved.value.path()).read_text("utf-8").startswith(start)


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


HOSTILE = "<script>window.hit=1</script>"
IMAGE = "<img src=x onerror=window.hit=1>"
TEXTS = [HOSTILE, IMAGE, "\"'`</td></bdi>&amp;", "\u202eabc\u202c", "x" * 10_000, "${1}{{2}}"]


def hostile_table() -> str:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = [",".join(quoted(text) for text in (*TEXTS[:5], f"label {HOSTILE}"))]
    for row in range(24):
        cells = [TEXTS[(row * (j + 1)) % len(TEXTS)] for j in range(5)]
        if row % 7 == 0:
            cells[row % 5] = ""
        lines.append(",".join(quoted(text) for text in (*cells, TEXTS[row % 3] + "y" * 50)))
    return "\n".join(lines) + "\n"


def test_hostile_text_is_text(browser: Browser, server: Served, tmp_path: Path) -> None:
    """Whatever names, categories, labels and files are called, it is shown and never run."""
    path = tmp_path / f"{IMAGE.replace('/', '')}.csv"
    path.write_text(hostile_table(), "utf-8")
    with watched_page(browser, server.url, viewport={"width": NARROW, "height": 844}) as page:
        page.goto(server.url)
        page.set_input_files("#drop-train input", path)
        page.wait_for_selector("#options:not([hidden])")
        assert "<img src=x" in page.inner_text("#drop-train")
        page.get_by_label("Column to predict").select_option(f"label {HOSTILE}")
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
        assert page.locator("main img, main script").count() == 0
        text = page.inner_text("#result")
        assert HOSTILE in text
        assert IMAGE in text
        assert "x" * 1000 not in text
        assert overflow(page) == 0
        assert violations(page) == []


def test_files_can_be_dropped(page: Page) -> None:
    """A file that is dropped on the page is uploaded."""
    page.evaluate(
        """() => { const carried = new DataTransfer();
        carried.items.add(new File(["a,b,y\\n1,2,p\\n1,,q\\n"], "dropped.csv"));
        for (const kind of ["dragover", "drop"]) document.querySelector("#drop-train").dispatchEvent(
            new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true })); }"""
    )
    page.wait_for_selector("#drop-train.full")
    assert "dropped.csv" in page.inner_text("#drop-train")


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
