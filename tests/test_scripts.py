"""The environments of ./run and ./check are made once, and again when what they need has changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

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


@pytest.mark.parametrize("name", NEEDED)
def test_environments_follow_what_they_need(tmp_path: Path, name: str) -> None:
    """A second run installs nothing; a changed file of the three installs once more."""
    project = Project(tmp_path)
    assert project.n_installed() == 1
    assert project.n_installed() == 1
    (tmp_path / name).write_text("something else\n")
    assert project.n_installed() == 2
    assert project.n_installed() == 2
