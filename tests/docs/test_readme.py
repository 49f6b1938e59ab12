"""The README says what is true: its commands print what it shows, its map names what is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nullproof.cli import run as cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def shown_commands() -> list[tuple[str, str]]:
    """Commands of the README that are shown with their output."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    found = [re.match(r"\$ (\./run [^\n]*)\n(.+)", block, re.DOTALL) for block in blocks]
    return [(match[1], match[2]) for match in found if match and not match[2].startswith("$")]


@pytest.mark.parametrize(("command", "output"), shown_commands())
def test_commands_print_what_the_readme_shows(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command of the README prints exactly the lines below it."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert tidy(printed) == tidy(output)


def tidy(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_some_command_is_shown_with_its_output() -> None:
    """The test above has something to check."""
    assert shown_commands()


def test_the_map_names_rooms_that_are_there() -> None:
    """Every room on the README's map is a module or a folder of the package."""
    table = README.split("## Map")[1].split("[docs/architecture.md]")[0]
    named = re.findall(r"`(\w+(?:\.py|/))`", table)
    assert named
    assert [name for name in named if not (ROOT / "src/nullproof" / name).exists()] == []
