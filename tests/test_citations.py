"""Comments cite ``docs/theory.md`` by number, and every number leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "experiments", "docs", "examples", "scripts")
CITED = re.compile(r"\b(T[1-9]\d?)\b|\b[Tt]heory (\d+)\b")


def test_every_citation_leads_somewhere() -> None:
    """Each ``T3`` and each ``theory 6`` is a statement or a section of the page, which has it once."""
    theory = (ROOT / "docs/theory.md").read_text("utf-8")
    known = re.findall(r"^(?:\*\*(T\d+)\.\*\*|## (\d+)\. )", theory, re.MULTILINE)
    assert len({*known}) == len(known) > 10
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".js") and path != Path(__file__):
                assert {*CITED.findall(path.read_text("utf-8"))} <= {*known}, path
