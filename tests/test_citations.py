"""Comments cite ``docs/theory.md`` by number, and every number leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path
    for folder in ("src", "tests", "experiments", "docs", "examples", "scripts")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".md", ".js") and path != Path(__file__)
)
STATEMENT = re.compile(r"\b(T[1-9]\d?)\b")
SECTION = re.compile(r"\b[Tt]heory (\d+)\b")


def citations(text: str) -> set[str]:
    """Statements as ``T3``, sections as ``6``."""
    return {*STATEMENT.findall(text), *SECTION.findall(text)}


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The statements and sections that the page has."""
    theory = (ROOT / "docs/theory.md").read_text("utf-8")
    statements = re.findall(r"^\*\*(T\d+)\.\*\*", theory, re.MULTILINE)
    sections = re.findall(r"^## (\d+)\. ", theory, re.MULTILINE)
    assert len(set(statements)) == len(statements)
    assert len(set(sections)) == len(sections)
    return {*statements, *sections}


def test_every_citation_leads_somewhere(known: set[str]) -> None:
    """Each ``T3`` and each ``theory 6`` is a statement or a section of the page."""
    astray = {
        str(path.relative_to(ROOT)): sorted(lost)
        for path in FILES
        if (lost := citations(path.read_text("utf-8")) - known)
    }
    assert not astray


def test_every_statement_is_cited(known: set[str]) -> None:
    """The page has no numbered statement that the package does not rely on."""
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert {one for one in known if one.startswith("T")} <= citations(source)
