"""The terminal output of certify, letter by letter: 80 and 120 columns, coloured and plain.

After a change that is meant, NULLPROOF_GOLDEN=1 writes the files anew; read their difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command_line import PAPER, Runner, write_customers

GOLDEN = Path(__file__).parent / "golden"
LABEL = ("--label", "churn", "--key", "customer", *PAPER)
CALLS = {
    "points": ("certify", "customers.csv", "new.csv", *LABEL),
    "rows": ("certify", "customers.csv", *LABEL, "--bias", "0.2"),
}


@pytest.mark.parametrize("colour", ["plain", "colour"])
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", [*CALLS])
def test_certify_on_a_terminal(
    run: Runner,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    width: int,
    colour: str,
) -> None:
    """Nothing that people read changes without being seen, and every line but the command fits."""
    write_customers(folder)
    monkeypatch.setenv("COLUMNS", str(width))
    if colour == "colour":
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
    done = run(*CALLS[name], "-q")
    assert done.code == 0
    path = GOLDEN / f"{name}_{width}_{colour}.txt"
    shown = "\n".join(line.rstrip() for line in done.out.splitlines()) + "\n"
    if os.environ.get("NULLPROOF_GOLDEN"):
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")
    if colour == "plain":
        assert max(map(len, shown.splitlines()[:-1])) <= width
