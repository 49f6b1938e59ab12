"""The commands that a page shows, run as a person would type them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from support.command_line import Runner

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


def said(command: str, run: Runner) -> tuple[str, str]:
    """What a command prints: its results, and the same with its notices before them."""
    typed = command.removesuffix(EXIT)
    done = run(*shlex.split(typed, comments=True)[1:])
    code = f"{done.code}\n" if typed != command else ""
    assert code or done.code == 0, done.err
    return tidy(done.out + code), tidy(done.err + done.out + code)


def agrees(shown: str, printed: tuple[str, str]) -> bool:
    """Whether a page shows what was printed: nothing, all of it, or its beginning and then ``…``."""
    if shown.endswith("\n…"):
        return any(text.startswith(shown.removesuffix("…")) for text in printed)
    return not shown or shown in printed


def tidy(text: str) -> str:
    """Lines without spaces at their ends, which no page shows."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
