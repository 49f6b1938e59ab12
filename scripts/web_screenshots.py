"""Take the pictures of docs/web.md: the page with the embedded example, in Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.browser import NARROW, chromium
from support.web_server import serving

FIGURES = Path(__file__).parent.parent / "docs/figures"
WIDE = 1180


def main() -> None:
    """Write the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as started,
        chromium() as browser,
    ):
        page = shown(browser, started.url, WIDE, "light")
        page.click("tr[data-point='2'] button")
        page.wait_for_selector(".panel h3 >> text=Point 2")
        page.locator(".panel").get_by_label("age").select_option("36-55")
        page.wait_for_selector(".panel .verdict.is-certain")
        take(page, "certain", "explore", "web_light.png")
        page = shown(browser, started.url, WIDE, "dark")
        page.locator("#what-if").get_by_label("Feature").select_option(label="income")
        page.locator("#what-if").get_by_label("In rows labelled").select_option("yes")
        page.locator("#what-if").get_by_label("Value").select_option("low")
        page.locator("#what-if").get_by_label("How many").fill("2")
        page.click("text=Change them")
        page.wait_for_selector("#what-if .moved")
        take(page, "what-if", "downloads", "web_dark.png")
        page = shown(browser, started.url, NARROW, "light")
        take(page, "explore", "explore", "web_narrow.png")
        page.goto(started.url)
        page.set_viewport_size({"width": WIDE, "height": 900})
        page.screenshot(path=FIGURES / "web_start.png", clip=box(0, 0, WIDE, 480))


def shown(browser: Browser, url: str, width: int, scheme: Any) -> Page:
    """A page with the result of the example."""
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.goto(url)
    page.click("#example")
    page.wait_for_selector(".panel .verdict", timeout=60_000)
    page.wait_for_selector("#job", state="hidden")
    return page


def take(page: Page, first: str, last: str, name: str) -> None:
    """One picture, from the top of one section to the end of another."""
    page.wait_for_timeout(1000)
    page.evaluate("() => { scrollTo(0, 0); document.activeElement.blur(); }")
    start, stop = (page.locator(f"#{place}").bounding_box() for place in (first, last))
    assert start is not None
    assert stop is not None
    width = float(page.evaluate("() => innerWidth"))
    end = stop["y"] + stop["height"] + 24
    page.screenshot(
        path=FIGURES / name,
        full_page=True,
        clip=box(0, start["y"] - 24, width, end - start["y"] + 24),
    )


def box(x: float, y: float, width: float, height: float) -> Any:
    """A part of the page."""
    return {"x": x, "y": y, "width": width, "height": height}


if __name__ == "__main__":
    main()
