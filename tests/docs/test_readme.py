"""The README says what is true: its commands print what it shows, its links lead somewhere, it is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.pages import agrees, commands, said

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@pytest.mark.parametrize(("command", "shown"), commands(README))
def test_commands_print_what_the_readme_shows(
    command: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command of the README prints the lines below it."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    printed = said(command, monkeypatch, capsys)
    assert agrees(shown, printed), printed[0]


def test_some_command_is_shown_with_its_output() -> None:
    """The test above has something to check."""
    assert any(shown for _, shown in commands(README))


def test_links_lead_somewhere() -> None:
    """Each file that the README links to is there."""
    links = re.findall(r"\]\(([^)\s#]+)\)", README.read_text("utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_it_is_read_in_two_minutes() -> None:
    """The rest is on the site."""
    assert len(README.read_text("utf-8").splitlines()) < 90
