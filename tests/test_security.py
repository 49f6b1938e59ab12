"""What SECURITY.md promises: nothing that is read is run, and no text of the data rules a terminal."""

from __future__ import annotations

import ast
from pathlib import Path

import polars as pl
import pytest
from support.command_line import Runner

SOURCE = Path(__file__).parents[1] / "src" / "nullproof"
# Modules that turn bytes into objects or programs, and calls that run what they are given.
UNPICKLING = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "runpy", "shelve", "yaml"}
RUNNING = {"__import__", "compile", "deserialize", "eval", "exec", "popen", "read_pickle", "system"}
PROGRAMS = {"code", "pty", "subprocess"}


def dangers(source: str) -> list[str]:
    """Names in a module that unpickle, evaluate, or run another program."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots = {name.name.partition(".")[0] for name in node.names}
            found += sorted(roots & (UNPICKLING | PROGRAMS))
        if isinstance(node, ast.ImportFrom) and not _shares_work(node):
            found += sorted({str(node.module).partition(".")[0]} & (UNPICKLING | PROGRAMS))
        if isinstance(node, ast.Call) and _called(node) in RUNNING:
            found.append(_called(node))
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.append("allow_pickle")
    return found


def _shares_work(node: ast.ImportFrom) -> bool:
    """Whether only the part of joblib is imported that hands work to processes of its own."""
    names = {name.name for name in node.names}
    return node.module == "joblib" and names <= {"Parallel", "delayed"}


def _called(call: ast.Call) -> str:
    """The name of what is called; ``compile`` counts only where it is Python's own."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    if isinstance(call.func, ast.Attribute) and call.func.attr != "compile":
        return call.func.attr
    return ""


def test_nothing_that_is_read_is_run() -> None:
    """No module of the package unpickles, evaluates text or runs another program."""
    found = {path: dangers(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    assert len(found) > 60
    assert {
        path.relative_to(SOURCE).as_posix(): names for path, names in found.items() if names
    } == {}


def test_what_runs_is_found() -> None:
    """The test above can fail; a pattern that is compiled runs nothing."""
    for source in (
        *("import pickle", "from marshal import loads", "import os.path, subprocess"),
        *("eval('1 + 1')", "os.system('ls')", "pd.read_pickle(path)"),
        *("pl.DataFrame.deserialize(path)", "np.load(path, allow_pickle=True)"),
    ):
        assert dangers(source), source
    assert dangers("import re\nre.compile('a')\n") == []


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
