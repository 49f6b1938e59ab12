"""The site builds without a warning, its links lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from support.browser import NARROW, overflow, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("material", reason="the tools of the site are not installed")
pytest.importorskip("mkdocstrings", reason="the tools of the site are not installed")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
SEARCHED = """() => {
  document.querySelector("[data-md-component=search-query]").dispatchEvent(new KeyboardEvent("keyup"));
  return document.querySelector(".md-search-result__item a[href*='assumptions']") !== null;
}"""

ROOT = Path(__file__).parents[1]
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Seen(HTMLParser):
    """What a page loads, where its links lead, and which places it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if LOADED.get(tag) in given:
            self.loads.append(given[LOADED[tag]])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as ``./site`` builds it: every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    built = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Seen]:
    """All pages of the site, read."""
    return {path: Seen(path) for path in sorted(site.rglob("*.html"))}


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Seen]) -> None:
    """No page and no style sheet names a style, script, font or picture of another server."""
    outside = [
        (page.name, one) for page, seen in pages.items() for one in seen.loads if "//" in one
    ]
    assert outside == []
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?https?:", sheet.read_text("utf-8"))


def test_links_lead_somewhere(site: Path, pages: dict[Path, Seen]) -> None:
    """Each link within the site leads to a file that is there, and to a place on it."""
    dead = []
    for page, seen in pages.items():
        if page.name == "404.html":
            continue
        for link in [*seen.links, *seen.loads]:
            name, _, place = unquote(link).partition("#")
            target = (page.parent / name).resolve() if name else page
            if "//" in link or link.startswith("data:"):
                continue
            if not target.exists() or (place and place not in pages[target].places):
                dead.append((page.relative_to(site).as_posix(), link))
    assert dead == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site as a plain server of files gives it."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any, **__: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_search_finds_a_word(browser: Browser, address: str) -> None:
    """Search works without any other server: a word of one page leads to it."""
    with watched_page(browser, address) as page:
        page.goto(address + "index.html")
        page.locator("[data-md-component=search-query]").fill("Manski")
        # Keys that come before the search listens are lost.
        page.wait_for_function(SEARCHED, polling=300)


def test_pages_fit_a_narrow_screen(
    browser: Browser, address: str, site: Path, pages: dict[Path, Seen]
) -> None:
    """No page scrolls sideways at 390 pixels. Without scripts, which is faster."""
    size = {"width": NARROW, "height": 844}
    wide = []
    with watched_page(browser, address, viewport=size, java_script_enabled=False) as page:
        for path in pages:
            page.goto(address + path.relative_to(site).as_posix())
            page.evaluate("document.querySelector('header').remove()")  # scripts lay out its title
            wide += [path.name] * (overflow(page) > 0)
    assert wide == []
