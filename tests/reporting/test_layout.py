"""Every report can be read in a browser: no text covers another or is cut, and no section is empty."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.browser import NARROW, chromium, overflow, violations, watched_page
from support.schemas import problems
from support.ten_tables import LABEL, NAMES, check_name, tables

from nullproof import CountIndex, report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
]
# The boxes of all texts that can be seen, cut to what scrolls; pairs of them that cover each other, and
# those that a box cuts off which does not scroll.
CROWDED = """() => {
  const seen = [], problems = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode, owner = node.parentElement;
    if (!node.data.trim() || owner.closest("script, style, title, .skip, option")) continue;
    if (!owner.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
      for (let at = owner; at && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at), outer = at.getBoundingClientRect();
        if (style.overflowX === "visible" || at instanceof SVGElement) continue;
        if (style.overflowX === "hidden" && (right > outer.right + 1 || left < outer.left - 1)) {
          problems.push(`cut: ${node.data.trim().slice(0, 60)}`);
        }
        [left, right] = [Math.max(left, outer.left), Math.min(right, outer.right)];
        [top, bottom] = [Math.max(top, outer.top), Math.min(bottom, outer.bottom)];
      }
      if (right - left > 1 && bottom - top > 1) {
        seen.push({ left, top, right, bottom, text: node.data.trim().slice(0, 60), node });
      }
    }
  }
  seen.sort((a, b) => a.top - b.top);
  seen.forEach((one, place) => {
    if (one.right > innerWidth + 1 || one.left < -1) problems.push(`outside: ${one.text}`);
    for (const other of seen.slice(place + 1)) {
      if (other.top >= one.bottom) break;
      if (other.node === one.node) continue;
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      // Lines of text stand closer than their boxes.
      if (wide > 1 && high > 0.45 * Math.min(one.bottom - one.top, other.bottom - other.top)) {
        problems.push(`${one.text} | ${other.text}`);
      }
    }
  });
  return [...new Set(problems)].slice(0, 8);
}"""
EMPTY = """() => [...document.querySelectorAll("section")].filter(
  (one) => one.innerText.replace(one.querySelector("h2").innerText, "").trim().length < 20
).map((one) => one.id)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("name", NAMES)
def test_nothing_covers_or_cuts_a_text(browser: Browser, tmp_path: Path, name: str) -> None:
    """Wide and light, narrow and dark, with two points open: texts stand apart, sections say something."""
    train, points = tables(name)
    index = CountIndex.from_table(train, LABEL)
    told = report(index, points, truth=points[LABEL].to_list(), limit=15)
    check_name(name, told.document["certain"])
    assert problems("report", json.loads(told.json())) == []
    told.save(tmp_path / "report.html")
    for width, theme in ((1280, "light"), (NARROW, "dark")):
        size = {"width": width, "height": 900}
        with watched_page(browser, viewport=size, color_scheme=theme) as page:
            page.goto((tmp_path / "report.html").as_uri())
            page.evaluate(
                "[...document.querySelectorAll('.point')].slice(0, 2).forEach(p => p.open = true)"
            )
            assert page.evaluate(CROWDED) == []
            assert page.evaluate(EMPTY) == []
            assert overflow(page) == 0
            if width == NARROW:
                # Folded points are made like those that are open, and axe takes its time with each.
                page.evaluate(
                    "document.querySelectorAll('.point:not([open])').forEach(p => p.remove())"
                )
                assert violations(page) == []
