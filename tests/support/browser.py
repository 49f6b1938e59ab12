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
# Milliseconds after which a page hangs: a busy machine may take long, but not so long.
_PATIENCE = 120_000
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Answers come up to so many milliseconds late, as on a busy machine: tests that do not wait fail.
_LATE = """
const prompt = window.fetch;
window.fetch = async (...asked) => {
  await new Promise((go) => setTimeout(go, Math.random() * %d));
  return prompt(...asked);
};
"""


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
        browser = started.chromium.launch(executable_path=found, args=arguments, timeout=_PATIENCE)
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
    complaints: list[str] = []
    page = patient_page(browser, **options)
    if latest := os.environ.get("NULLPROOF_LATE_ANSWERS"):
        page.add_init_script(_LATE % int(latest))
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
        page.context.close()


def patient_page(browser: Browser, **options: Any) -> Page:
    """Open a page, in a context of its own, that waits as long as a busy machine may take."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(_PATIENCE)
    return page


def _is_own(url: str, origin: str | None) -> bool:
    return url.startswith((origin or "file:", "data:", "blob:", "about:"))


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong for people who use a keyboard, a screen reader or low vision."""
    # Colours between those of two states have less contrast than either.
    page.wait_for_function(
        "() => document.getAnimations().every((one) => one.playState !== 'running')"
    )
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


# Boxes of the texts that can be seen: without those scrolled out of a box, hidden, or one on purpose
# above another (what sticks to the screen is put back into its place first).
_TEXTS = """() => {
  for (const node of document.querySelectorAll("*")) {
    if (getComputedStyle(node).position === "sticky") node.style.position = "static";
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const [text, parent] = [walker.currentNode, walker.currentNode.parentElement];
    if (!text.data.trim() || !parent.checkVisibility({ checkVisibilityCSS: true })) continue;
    if (parent.closest(".hidden-text, .skip, script, style, noscript, option, svg")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) {
      let [left, right, top, bottom] = [box.left, box.right, box.top, box.bottom];
      let cut = false;
      for (let around = parent; around; around = around.parentElement) {
        const [style, edge] = [getComputedStyle(around), around.getBoundingClientRect()];
        if (style.overflowX === "visible" || around === document.documentElement) continue;
        const scrolls = style.overflowX === "auto" || style.overflowX === "scroll";
        if (!scrolls && (right > edge.right + 1 || left < edge.left - 1)) cut = true;
        [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
        [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
      }
      if (right - left < 1 || bottom - top < 1) continue;
      found.push({ text: text.data.trim().slice(0, 60), left, right, top, bottom, cut });
    }
  }
  return found;
}"""


def clashes(page: Page) -> list[str]:
    """Texts that lie over one another or are cut off by the box that they are in."""
    boxes = sorted(page.evaluate(_TEXTS), key=lambda box: box["top"])
    found = [f"cut: {box['text']}" for box in boxes if box["cut"]]
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            if other["top"] >= one["bottom"] - 3:
                break
            wide = min(one["right"], other["right"]) - max(one["left"], other["left"])
            # Lines of text may touch; letters do not reach the edges of their boxes.
            high = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            if wide > 1.5 and high > 0.3 * min(
                one["bottom"] - one["top"], other["bottom"] - other["top"]
            ):
                found.append(f"{one['text']!r} over {other['text']!r}")
    return found
