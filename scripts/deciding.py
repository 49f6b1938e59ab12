"""Fail if some line or branch of what decides was run by no test: the last step of ./check --coverage.

The modules are those of [tool.nullproof] in pyproject.toml.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Read what was measured last, print what no test has run, and return 1 if there is any."""
    measured = coverage.Coverage()
    measured.load()
    return int(has_gaps(measured, deciding(), ROOT / "src" / "nullproof"))


def deciding() -> list[str]:
    """The names of the modules that decide."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found: list[str] = settings["tool"]["nullproof"]["decides"]
    return found


def has_gaps(measured: coverage.Coverage, modules: list[str], folder: Path) -> bool:
    """Whether a module has a line or a branch that was not run; one that was never loaded has."""
    files = [folder / f"{name.replace('.', '/')}.py" for name in modules]
    unknown = {str(file) for file in files} - measured.get_data().measured_files()
    if unknown:
        print(f"never loaded: {', '.join(sorted(unknown))}")
        return True
    print("What decides:")
    return measured.report(include=[str(file) for file in files], skip_covered=True) < 100


if __name__ == "__main__":
    sys.exit(main())
