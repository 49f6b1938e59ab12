"""The slider for bias in a real browser: what it shows is what the library says at that bias."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from support.browser import NARROW, overflow, violations, watched_page
from support.page import bars, open_point, rows, show_example, wait_for_result
from support.web_server import Served, served

from nullproof import CountIndex, certify

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("browser"),
]
STEPS = (0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1)
MOVED = "old => document.querySelector('.panel .iv-bar').style.width !== old"
HOSTILE = "<script>window.hit=1</script>"
TRAIN, POINTS = rows(150, 1), rows(40, 2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("slider")) as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server.url) as opened:
        opened.goto(server.url)
        yield opened


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


def multiple(log: float, line: float) -> str:
    """A support as the page writes it: a multiple of the one that the line marks."""
    if not math.isfinite(log):
        return "0"
    part = math.exp(log - line)
    if 0.000995 <= part < 9995:
        return f"{part:.3g}" if part < 1000 else f"{round(part, -1):.0f}"
    digits, exponent = f"{part:.1e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits}·10{raised}"


def test_the_slider_says_what_the_library_says(page: Page, tmp_path: Path) -> None:
    """Counts, verdicts of the list and bars of a point are, at every step, those of `certify`."""
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
        low, high = found[3].min_log_support, found[3].max_log_support
        line = max(low.values())
        texts = [(multiple(low[name], line), multiple(high[name], line)) for name in low]
        ranges = {least if least == most else f"{least} to {most}" for least, most in texts}
        page.wait_for_function(
            "wanted => [...document.querySelectorAll('.panel .iv-range')]"
            ".every((one) => wanted.includes(one.textContent))",
            arg=[*ranges],
        )
        assert named[3] in page.inner_text(".panel .verdict").lower()


def test_the_list_follows_the_slider(page: Page, tmp_path: Path) -> None:
    """A list of open points has other points at another bias."""
    analyse(page, tmp_path)
    page.get_by_label("Which points", exact=True).select_option("open")
    for step in (16, 0, 8):
        move(page, step)
        n_open = counts(page)[2]
        said = f"of {n_open} point"
        page.wait_for_function(
            "said => document.querySelector('.all-points').innerText.includes(said)", arg=said
        )
        assert {*chips(page)} == {"open"}


def test_own_missing_are_left_out_or_not(page: Page, tmp_path: Path) -> None:
    """A hole of a point itself is told to be left out, and may be read as any value instead."""
    analyse(page, tmp_path)
    assert "not known, left out" in page.inner_text("table.list")
    before = counts(page)
    page.locator("#certain").get_by_label("A point's own holes").select_option("any")
    page.click("text=Judge again")
    page.wait_for_function(
        "() => !document.querySelector('table.list')?.innerText.includes('left out')"
    )
    page.wait_for_selector("table.list >> text=not known")
    assert counts(page)[0] < before[0]
    assert page.locator("#options").get_by_label("A point's own holes").input_value() == "any"


def test_a_bias_of_ones_own(page: Page, tmp_path: Path) -> None:
    """The slider starts at the bias of the settings; one that is none is refused on the page."""
    analyse(page, tmp_path)
    bias = page.locator("#certain").get_by_label("Bias", exact=True)
    for wrong in ("-1", "2", "lots"):
        bias.fill(wrong)
        page.click("text=Judge again")
        page.wait_for_selector("#certain .problem:visible")
        assert "from 0" in page.inner_text("#certain .problem")
    bias.fill("0.04")
    page.click("text=Judge again")
    page.wait_for_selector(".bias-words >> text=Bias 0.04")
    assert "within 4 percentage points" in page.inner_text(".bias-words")


def test_keys_move_the_slider(page: Page) -> None:
    """Arrows, Home and End move the slider, and what it says is told to a screen reader."""
    show_example(page)
    slider = page.locator(".bias-input")
    slider.focus()
    outline = "node => getComputedStyle(node).outlineStyle"
    start = bars(page)
    for key, bias, certain in (
        ("ArrowRight", "0.07", False),
        ("End", "1", True),
        ("Home", "0", False),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.className") == "bias-input"
        assert slider.evaluate(outline) != "none"
        said = slider.get_attribute("aria-valuetext") or ""
        assert said.startswith(f"{bias}: holds")
        assert "of 8 predictions hold" in said
        assert (counts(page)[1] == 0) is certain
        if certain:
            page.wait_for_function(MOVED, arg=start[0].split()[1])


def test_the_curve_has_a_marker_and_numbers(page: Page, tmp_path: Path) -> None:
    """The marker stands above the thumb; the table has what the curve draws; labels tell accuracy."""
    analyse(page, tmp_path)
    for step in (0, 7, 16):
        move(page, step)
        box = page.locator(".bias-input").bounding_box()
        mark = page.locator(".holding .bias-mark").bounding_box()
        assert box is not None
        assert mark is not None
        thumb = 24
        at = box["x"] + thumb / 2 + (box["width"] - thumb) * step / 16
        assert mark["x"] + mark["width"] / 2 == pytest.approx(at, abs=1.5)
    page.click(".bias-numbers summary")
    cells = page.locator(".bias-numbers tbody tr").last.locator("td").all_inner_texts()
    assert int(cells[0]) == counts(page)[0]
    assert "Right are" in page.inner_text(".bias-right")
    assert page.locator(".rightness").count() == 1
    page.click("#example")
    page.wait_for_function("() => document.querySelector('.bias-right')?.hidden")
    assert page.locator(".rightness").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_has_room(
    browser: Browser, server: Served, tmp_path: Path, scheme: Any
) -> None:
    """On a phone the slider is as wide as the screen allows, and nothing hangs over or is misnamed."""
    size: Any = {"width": NARROW, "height": 844}
    with watched_page(browser, server.url, viewport=size, color_scheme=scheme) as page:
        page.goto(server.url)
        analyse(page, tmp_path)
        for step in (0, 5, 16):
            move(page, step)
            assert overflow(page) == 0
        box = page.locator(".bias-input").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["width"] >= 260
        assert box["height"] >= 24
        page.click(".bias-numbers summary")
        assert violations(page) == []


def test_hostile_labels_stay_text(browser: Browser, server: Served, tmp_path: Path) -> None:
    """Labels and rivals that look like markup are shown as they are, wherever the slider stands."""
    labels = [HOSTILE, "<img src=x onerror=window.hit=1>", "</b></td>&amp;"]
    quoted = [f'"{label}"' for label in labels]
    size: Any = {"width": NARROW, "height": 844}
    with watched_page(browser, server.url, viewport=size) as page:
        page.goto(server.url)
        analyse(page, tmp_path, rows(150, 1, quoted), rows(40, 2, quoted))
        for step in (0, 6, 16):
            move(page, step)
            page.wait_for_timeout(150)
        assert page.evaluate("window.hit") is None
        assert page.locator("#explore img, #explore script").count() == 0
        text = page.inner_text("#explore")
        assert all(label[:20] in text for label in labels)
        assert overflow(page) == 0
