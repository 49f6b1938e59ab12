"""Progress and notices on standard error: only on a terminal, never mixed, silenced by -q."""

from __future__ import annotations

import io
import re
import sys
import warnings

import pytest
from support.command_line import CERTIFY, Runner

from nullproof.cli import run as cli
from nullproof.cli.streams import SCREEN, told, working
from nullproof.errors import NullproofWarning

MOVES = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[\?25[lh]|([\r\n])|([^\x1b\r\n]+)")


class Terminal(io.StringIO):
    """Standard error that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(written: str) -> list[str]:
    """The lines that a person sees after a terminal has followed all moves of its cursor."""
    lines, row, column = [""], 0, 0
    for amount, move, control, text in MOVES.findall(written):
        if control == "\r":
            column = 0
        elif control == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif move == "K":
            lines[row] = ""
        elif move == "A":
            row -= int(amount or 1)
    return [line.rstrip() for line in lines if line.strip()]


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Take the place of standard error; in a fixture pytest would put its own there again."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(SCREEN, "quiet", False)
    return found


def test_a_notice_leaves_no_half_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice stands on lines of its own above the progress, which is gone at the end."""
    terminal = on_terminal(monkeypatch)
    long = "a notice that is longer than a terminal is wide, " * 4
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = cli._show_notice
        with working("weighing [the] worlds") as say:
            say("weighing [the] worlds", 0.5)
            warnings.warn(long, NullproofWarning, stacklevel=1)
            say("weighing [the] worlds", 0.75)
        warnings.warn("another", NullproofWarning, stacklevel=1)
    assert "weighing [the] worlds … 75 %" in terminal.getvalue()
    assert shown(terminal.getvalue()) == [f"note: {long}".rstrip(), "note: another"]


def test_progress_is_gone_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the work, the line is taken away, and the next notice is a plain one."""
    terminal = on_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), working("weighing"):
        raise KeyboardInterrupt
    SCREEN.notice("note: after it")
    assert shown(terminal.getvalue()) == ["note: after it"]


def test_progress_only_on_a_terminal(run: Runner) -> None:
    """Into a file or a pipe nothing but notices is written."""
    done = run(*CERTIFY)
    assert "certifying" not in done.err


def test_quiet_silences_progress(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """-q leaves standard error empty, also on a terminal."""
    terminal = on_terminal(monkeypatch)
    assert run("-q", *CERTIFY).code == 0
    assert terminal.getvalue() == ""
    assert run(*CERTIFY).code == 0
    assert "reading and counting" in terminal.getvalue()
    assert all(line.startswith("note: ") for line in shown(terminal.getvalue()))


def test_what_is_told() -> None:
    """The share always, the time that is left only where a guess is worth something."""
    assert told("weighing", 0.25, 1.0) == "weighing … 25 %"
    assert told("weighing", 0.25, 10.0) == "weighing … 25 %, 30 s left"
    assert told("weighing", 0.5, 200.0) == "weighing … 50 %, 4 min left"
    assert told("weighing", 0.0, 10.0) == "weighing … 0 %"
    assert told("weighing", 1.0, 10.0) == "weighing … 100 %"
