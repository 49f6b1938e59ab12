"""What SECURITY.md promises: nothing that is read is run, and no text of the data rules a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from support.command_line import Runner

SOURCE = Path(__file__).parents[1] / "src" / "nullproof"
# What ruff's rules for the package (pyproject.toml) do not see.
RUNNING = re.compile(r"(?<![.\w])(__import__|compile)\(|\.(deserialize|popen)\(|allow_pickle")


def test_nothing_that_is_read_is_run() -> None:
    """No module of the package unpickles, evaluates text or runs another program."""
    found = {path: RUNNING.findall(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    assert len(found) > 60
    assert not any(found.values()), found


@pytest.mark.parametrize(
    "arguments",
    [
        ("certify",),
        ("certify", "--explain", "p\x1b[2J3"),
        ("radius",),
        ("odds",),
        ("clean",),
        ("poison", "--steps", "1"),
        ("certify", "--label", "ch\x9burn"),
        ("certify", "--json"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]).encode("unicode_escape").decode(),
)
def test_no_text_of_the_data_rules_a_terminal(run: Runner, arguments: tuple[str, ...]) -> None:
    """Keys, values, labels and arguments with control characters are shown without them."""
    bad = ["\x1b[2J", "\x07", "\x9b31m", "\u202e", "\r", "\x7f"]
    rows = [
        (f"p\x1b[2J{i}", f"t{bad[i % 6]}" if i % 3 else None, f"{'yes' if i % 2 else 'no'}\x1b[0m")
        for i in range(24)
    ]
    pl.DataFrame(rows, orient="row", schema=["id", "town\x1b[1m", "churn"]).write_csv("bad.csv")
    command, *own = arguments
    label = () if "--label" in own else ("--label", "churn")
    done = run(command, "bad.csv", "bad.csv", *label, "--key", "id", *own)
    shown = done.out + done.err
    assert not [letter for letter in shown if letter in "\x1b\x07\x9b\u202e\r\x7f"]
    assert len(shown) > 40
