"""Broken inputs: every reader answers, or refuses in one sentence, and takes nothing with it.

``./check --fuzz MINUTES`` tries more of them, and always other ones.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed")
pytest.importorskip("fastexcel", reason="fastexcel is not installed")
from support.fuzzing.law import Way, warnings_as_errors
from support.fuzzing.ways import ways

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "corpus"
N_INPUTS = 8_000


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Way]:
    return ways(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: path.name)
def test_past_findings_are_refused(readers: dict[str, Way], path: Path) -> None:
    """What once brought another error, or ended the process, is refused in one sentence."""
    with warnings_as_errors():
        assert readers[path.parent.name.replace("_", " ")].attempt(path.read_bytes())


def test_broken_inputs(tmp_path: Path) -> None:
    """Some broken inputs for every reader, always the same ones, find nothing."""
    # An hour is enough for all of them on any machine.
    command = [sys.executable, str(ROOT / "scripts" / "fuzz.py"), "60", "--inputs", str(N_INPUTS)]
    done = subprocess.run(
        [*command, "--round", "500000", "--findings", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f" {N_INPUTS:,} inputs, 0 findings" in done.stdout
