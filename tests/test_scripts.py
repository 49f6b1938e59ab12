"""Environments that are made when needed, changes for ./check --mutants, and the audit of libraries."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("pyproject.toml", "constraints.txt", "requirements-dev.txt")
# Instead of a Python: makes the folder of an environment, and notes each installation.
PYTHON = """#!/bin/sh
[ "$2" = venv ] || exit 0
mkdir -p "$4/bin"
printf '#!/bin/sh\\necho installed >> "%s"\\n' "$LOG" > "$4/bin/python"
chmod +x "$4/bin/python"
"""


class Project:
    """A folder with the files that an environment depends on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        for name in NEEDED:
            (folder / name).write_text(f"{name}\n")
        (folder / "python").write_text(PYTHON)
        (folder / "python").chmod(0o755)

    def n_installed(self) -> int:
        """Ask for the environment, and count the installations up to now."""
        script = f'. "{ROOT}/scripts/python.sh"; make_environment "$PWD/.venv" "$PWD" something'
        environment = {"PATH": "/usr/bin:/bin", "PYTHON": "./python", "LOG": str(self.log)}
        subprocess.run(["sh", "-euc", script], cwd=self.folder, env=environment, check=True)
        return len(self.log.read_text().splitlines())


def test_environments_follow_what_they_need(tmp_path: Path) -> None:
    """A second run installs nothing; each changed file of the three installs once more."""
    project = Project(tmp_path)
    assert project.n_installed() == 1
    for n_changed, name in enumerate(NEEDED, 1):
        assert project.n_installed() == n_changed
        (tmp_path / name).write_text("something else\n")
        assert project.n_installed() == n_changed + 1


SOURCE = """
def least(x: int, y: int = 1) -> int:
    if x and y < 2:
        return min(x, -y)
    raise ValueError(f"{1}")
"""


def test_mutants_differ_in_one_place_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every comparison, operator, number and name is changed once, with all else as it was."""
    mutations = _script("mutations", monkeypatch)
    found = mutations.mutants(SOURCE, "least.py")
    assert [(one.before, one.after, sorted(one.lines)) for one in found] == [
        ("1", "2", []),
        ("x and y < 2", "x or y < 2", [3]),
        ("y < 2", "y <= 2", [3]),
        ("2", "3", [3]),
        ("min(x, -y)", "max(x, -y)", [4]),
        ("-y", "+y", [4]),
    ]
    answers = []
    for one in found:
        space: dict[str, Any] = {}
        exec(one.code, space)
        answers.append(space["least"](5, 1))
    assert answers == [-1, -1, -1, -1, 5, 1]


HOLE = {"id": "CVE-1", "fix_versions": ["2.0"]}
SOUND = {"name": "numpy", "version": "2.4", "vulns": []}
HOLED = {"name": "rich", "version": "1.0", "vulns": [HOLE]}
LOST = {"name": "polars", "skip_reason": "not found"}
OWN = {"name": "nullproof", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("libraries", "code", "said"),
    [
        ([SOUND, OWN], 0, "1 libraries looked up, none"),
        ([SOUND, HOLED, LOST], 1, "rich 1.0: CVE-1, mended in 2.0"),
        ([SOUND, LOST], 3, "not found: polars"),
        ([LOST, OWN], 3, "NOTHING WAS CHECKED"),
        ([], 3, "NOTHING WAS CHECKED"),
    ],
)
def test_only_what_was_looked_up_is_healthy(
    monkeypatch: pytest.MonkeyPatch, libraries: list[dict[str, Any]], code: int, said: str
) -> None:
    """0 means that every library was looked up and is sound; a hole is 1, a library not found is 3."""
    found, told = _script("audit", monkeypatch).verdict(libraries)
    assert found == code
    assert said in told


def _script(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    place = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert place is not None
    assert place.loader is not None
    script = importlib.util.module_from_spec(place)
    monkeypatch.setitem(sys.modules, name, script)
    place.loader.exec_module(script)
    return script
