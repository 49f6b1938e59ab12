"""Take the pictures of docs/report.md: the demo's report in Chromium, wide and narrow, light and dark."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from nullproof import CountIndex, report
from nullproof.cli.demo import load

FIGURES = Path(__file__).parent.parent / "docs/figures"
WIDE, NARROW = 1000, 390


def main() -> None:
    """Write the pictures."""
    train, new = load()
    made = report(CountIndex.from_table(train, "churn", ignore=["customer"]), new)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page = Path(folder) / "report.html"
        made.save(page)
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for theme in ("light", "dark"):
            take(browser, page, theme, WIDE, ("certain", "fragility"), f"report_{theme}.png")
            take(browser, page, theme, NARROW, ("points", ""), f"report_narrow_{theme}.png")
        browser.close()


def take(
    browser: Browser, page: Path, theme: str, width: int, span: tuple[str, str], name: str
) -> None:
    """One picture, from the top of one section to the top of another, or 1500 pixels long."""
    tab = browser.new_page(color_scheme=theme, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
    tab.goto(page.as_uri())
    tab.locator("#open a").first.click()
    tab.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    tops = [tab.locator(f"#{place}").bounding_box() if place else None for place in span]
    start = 0.0 if span[0] == "certain" or tops[0] is None else tops[0]["y"]
    stop = start + 1500 if tops[1] is None else tops[1]["y"]
    clip = {"x": 0.0, "y": start, "width": float(width), "height": stop - start}
    tab.screenshot(path=FIGURES / name, full_page=True, clip=clip)  # type: ignore[arg-type]
    tab.close()


if __name__ == "__main__":
    main()
