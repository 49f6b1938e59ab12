"""Tests use the public face only: what a user can import, the command line, and the page's HTTP API.

So a room can be rebuilt without its tests. What a test needs from inside is a sign that something public
lacks; the few exceptions are listed here with their reasons. Attributes with an
underscore are ruff's to find (SLF001).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.command_line import SOURCE

import nullproof

TESTS = Path(__file__).parent
PUBLIC = {
    "nullproof",
    *(f"nullproof.{name}" for name in ("attacks", "cleaning", "odds", "estimator")),
}
# Where the command line and the page are reached, and where all modules are looked through.
DOORS = {
    "support/command_line.py": {"nullproof.__main__"},
    "support/warm.py": {"nullproof.__main__", "nullproof.web"},
    "support/asking.py": {"nullproof.web"},
    "support/web_server.py": {"nullproof.web"},
    # In processes of their own, of which one lacks every extra.
    "test_extras.py": {"nullproof.__main__"},
    "test_package.py": {"nullproof.__main__"},
}
_IN_TEXT = re.compile(r"(?:\bfrom |\bimport |::)(nullproof(?:\.\w+)+)")
_PATH = re.compile(r"nullproof(?:\.\w+)+")


def imported(source: str) -> Iterator[str]:
    """Yield the modules of nullproof that a file imports, patches, or names in code as text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("nullproof"))
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("nullproof"):
            yield str(node.module)
            yield from (
                f"{node.module}.{one.name}"
                for one in node.names
                if _is_inside(str(node.module), one.name)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (_module(name) for name in _IN_TEXT.findall(node.value))
            if _PATH.fullmatch(node.value):
                yield _module(node.value)


def _is_inside(module: str, name: str) -> bool:
    """Return whether a name is private, or a module of the package that is not offered as a name."""
    places = (SOURCE / "nullproof" / name, SOURCE / "nullproof" / f"{name}.py")
    is_module = name not in nullproof.__all__ and any(place.exists() for place in places)
    return (name.startswith("_") and name != "__version__") or (module == "nullproof" and is_module)


def _module(name: str) -> str:
    """Return the module of a dotted name: what ends in a class is a name of its module."""
    parts = name.split(".")
    return ".".join(part for part in parts if not part[:1].isupper())


def test_only_public_modules_are_imported() -> None:
    """No test imports, patches or names in a program a module that is not public."""
    found = {}
    for path in TESTS.rglob("*.py"):
        place = path.relative_to(TESTS).as_posix()
        inside = {*imported(path.read_text("utf-8"))} - PUBLIC - DOORS.get(place, set())
        if inside and place != "test_face.py":
            found[place] = sorted(inside)
    assert found == {}
