"""Take the sheets of docs/report.md and docs/web.md: ten tables, wide and narrow, light and dark."""

from __future__ import annotations

import base64
import sys
import tempfile
import warnings
from html import escape
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.browser import NARROW, chromium
from support.page import wait_for_result
from support.ten_tables import LABEL, NAMES, tables
from support.web_server import Served, analysed, served, upload

from nullproof import CountIndex, report
from nullproof.errors import NullproofWarning

FIGURES = Path(__file__).parent.parent / "docs/figures"
WIDE, HEIGHT, TILE = 1000, 1250, 300
# What is seen of each page: its start, so much further down, in this width and theme.
WAYS = ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark"))


def main() -> None:
    """Write the two sheets; with a folder as argument also each picture at full size."""
    warnings.simplefilter("ignore", NullproofWarning)
    whole = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as server,
        chromium() as browser,
    ):
        sheets: dict[str, list[tuple[str, bytes]]] = {"report": [], "web": []}
        for place, name in enumerate(NAMES):
            width, theme = WAYS[place % len(WAYS)]
            for kind, address in addresses(server, Path(folder), name).items():
                taken = picture(browser, address, width, theme)
                sheets[kind].append((f"{name}, {theme}", taken))
                if whole is not None:
                    (whole / f"{kind}_{place}.png").write_bytes(taken)
        for kind, tiles in sheets.items():
            write_sheet(browser, tiles, FIGURES / f"{kind}_tables.png")


def addresses(server: Served, folder: Path, name: str) -> dict[str, str]:
    """Where the report and the page of a table are."""
    train, points = tables(name)
    truth = points[LABEL].to_list()
    path = folder / "report.html"
    report(CountIndex.from_table(train, LABEL), points, truth=truth, limit=10).save(path)
    ids = [
        upload(server.client, own.write_csv().encode(), "t.csv")["id"] for own in (train, points)
    ]
    made = analysed(server.client, table=ids[0], points=ids[1], label=LABEL)
    return {"report": path.as_uri(), "web": f"{server.url}?analysis={made}"}


def picture(browser: Browser, address: str, width: int, theme: Any) -> bytes:
    """The start of a page, or of its answer."""
    height = HEIGHT * width // WIDE
    page: Page = browser.new_page(
        color_scheme=theme, viewport={"width": width, "height": height}, device_scale_factor=1
    )
    page.goto(address)
    if address.startswith("http"):
        wait_for_result(page)
        page.wait_for_function("() => scrollY > 0")
    taken = page.screenshot()
    page.close()
    return taken


def write_sheet(browser: Browser, tiles: list[tuple[str, bytes]], path: Path) -> None:
    """All pictures of one kind on one sheet, small."""
    figures = "".join(
        f'<figure><img src="data:image/png;base64,{base64.b64encode(taken).decode()}">'
        f"<figcaption>{escape(name)}</figcaption></figure>"
        for name, taken in tiles
    )
    page = browser.new_page(viewport={"width": 5 * (TILE + 16), "height": 400})
    page.set_content(
        "<style>body{margin:8px;display:grid;grid-template-columns:repeat(5,1fr);gap:16px 12px;"
        "font:14px sans-serif;background:#fff}figure{margin:0}img{width:100%;border:1px solid #ccc}"
        f"</style>{figures}"
    )
    page.screenshot(path=path, full_page=True)
    page.close()


if __name__ == "__main__":
    main()
