"""What SECURITY.md promises of the source: nothing that is read is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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
        if isinstance(node, ast.ImportFrom):
            found += sorted({str(node.module).partition(".")[0]} & (UNPICKLING | PROGRAMS))
        if isinstance(node, ast.Call) and _called(node) in RUNNING:
            found.append(_called(node))
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.append("allow_pickle")
    return found


def _called(call: ast.Call) -> str:
    """The name of what is called; ``compile`` counts only where it is Python's own."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    if isinstance(call.func, ast.Attribute) and call.func.attr != "compile":
        return call.func.attr
    return ""


def test_nothing_that_is_read_is_run() -> None:
    """No module of the package unpickles, evaluates text or runs another program.

    But one: the page lets Python itself try a Parquet or Arrow file before the server reads it.
    """
    found = {path: dangers(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    assert len(found) > 100
    told = {path.relative_to(SOURCE).as_posix(): names for path, names in found.items() if names}
    assert told == {"web/trials.py": ["subprocess"]}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "import os.path, subprocess",
        "eval('1 + 1')",
        "os.system('ls')",
        "pd.read_pickle(path)",
        "pl.DataFrame.deserialize(path)",
        "np.load(path, allow_pickle=True)",
    ],
)
def test_what_runs_is_found(source: str) -> None:
    """The test above can fail."""
    assert dangers(source)


def test_what_only_looks_alike_is_not() -> None:
    """A pattern is compiled, and runs nothing."""
    assert dangers("import re\nre.compile('a')\n") == []
