"""The commands that a page shows, run as a person would type them."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from nullproof.attacks.joint.effort import Effort, Watch
from nullproof.cli import run as cli

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = "; echo $?"


def commands(page: Path) -> list[tuple[str, str]]:
    """The commands of nullproof on a page, each with the output that is shown below it."""
    found = []
    for kind, block in BLOCK.findall(page.read_text("utf-8")):
        if kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                if re.match(r"(nullproof|\./run) (?!serve)", command):
                    found.append((command, tidy(shown)))
    return found


def said(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    """What a command prints: its results, and the same with its notices before them.

    Attacks are looked for until they are proven, however long a busy machine takes: no clock goes on.
    """
    monkeypatch.setattr(Effort, "begin", lambda self: Watch(replace(self, clock=lambda: 0.0)))
    typed = command.removesuffix(EXIT)
    monkeypatch.setattr("sys.argv", shlex.split(typed, comments=True))
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    printed = capsys.readouterr()
    code = f"{stopped.value.code}\n" if typed != command else ""
    assert code or stopped.value.code == 0, printed.err
    return tidy(printed.out + code), tidy(printed.err + printed.out + code)


def agrees(shown: str, printed: tuple[str, str]) -> bool:
    """Whether a page shows what was printed: nothing, all of it, or its beginning and then ``…``."""
    if shown.endswith("\n…"):
        return any(text.startswith(shown.removesuffix("…")) for text in printed)
    return not shown or shown in printed


def tidy(text: str) -> str:
    """Lines without spaces at their ends, which no page shows."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
