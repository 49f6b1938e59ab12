"""A real Chromium, for the tests of everything that people see in a browser.

Use `chromium` in a module-wide fixture, put ``pytestmark = pytest.mark.xdist_group("browser")`` into
the module so that only one browser runs at a time, and open pages by `watched_page`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NARROW = 390
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium without a window; skip the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        pytest.skip("Chromium is not installed (on Debian: apt install chromium)")
    # Chromium refuses to run as root with its sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched_page(browser: Browser, origin: str | None = None, **options: Any) -> Iterator[Page]:
    """Open a page that must neither complain on the console nor ask anyone but ``origin``.

    Parameters
    ----------
    origin
        Start of the addresses that may be asked, e.g. ``http://127.0.0.1:8000/``; None for files
        on disk only, with the network cut off.
    options
        Of Playwright's ``new_context``: viewport, color_scheme, java_script_enabled, …
    """
    options = {"viewport": {"width": 1280, "height": 900}, "offline": origin is None, **options}
    context = browser.new_context(**options)
    complaints: list[str] = []
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    page.on(
        "request",
        lambda request: (
            None if _is_own(request.url, origin) else complaints.append(f"asked {request.url}")
        ),
    )
    try:
        yield page
        assert complaints == []
    finally:
        context.close()


def _is_own(url: str, origin: str | None) -> bool:
    return url.startswith((origin or "file:", "data:", "blob:", "about:"))


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong for people who use a keyboard, a screen reader or low vision."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for rule in found
        for node in rule["nodes"]
    ]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    return int(
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )
