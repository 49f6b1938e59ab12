"""The examples on the pages of ``docs/`` print what the pages show, and their links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def examples(page: Path) -> doctest.DocTest:
    """The prompts of a page, in order; fences count as blank lines, so that output ends there."""
    text = FENCE.sub("", page.read_text("utf-8"))
    return doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if examples(page).examples], ids=lambda page: page.name
)
def test_examples_print_what_the_page_shows(page: Path) -> None:
    """Each prompt prints exactly what stands below it."""
    found: list[str] = []
    doctest.DocTestRunner(verbose=False).run(examples(page), out=found.append)
    assert not found, "".join(found)


def test_some_page_has_examples() -> None:
    """The test above has something to check."""
    assert len(examples(DOCS / "assumptions.md").examples) > 10


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Each file that a page links to is there, and so is the heading."""
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not heading or heading in anchors(target), link
