"""The page about the rooms names each of them, and every package is under an import contract."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/nullproof"
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")


def test_the_page_names_every_room() -> None:
    """The table of rooms names every module and folder of the package, and nothing else."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+(?:\.py|/))`", row)}
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("_")}
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert named == modules | folders


def test_the_page_names_files_that_are_there() -> None:
    """Every path that the page mentions exists."""
    paths = set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", PAGE))
    places = (PACKAGE, ROOT)
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def test_every_package_has_a_contract() -> None:
    """Each package names all its modules in layers, so that no import escapes."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    covered = {name for one in contracts if one.get("exhaustive") for name in one["containers"]}
    packages = {
        ".".join(path.parent.relative_to(PACKAGE.parent).parts)
        for path in PACKAGE.rglob("__init__.py")
        if any(other.name != "__init__.py" for other in path.parent.glob("*.py"))
    }
    assert covered == packages
    assert not [one["name"] for one in contracts if one.get("ignore_imports")]
