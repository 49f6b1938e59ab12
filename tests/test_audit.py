"""The audit of libraries never takes silence for health."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "audit.py"
HOLE = {"id": "CVE-1", "fix_versions": ["2.0"]}
SOUND = {"name": "numpy", "version": "2.4", "vulns": []}
HOLED = {"name": "rich", "version": "1.0", "vulns": [HOLE]}
LOST = {"name": "polars", "skip_reason": "not found"}
OWN = {"name": "nullproof", "skip_reason": "not found"}


@pytest.fixture(scope="module")
def audit() -> Any:
    spec = importlib.util.spec_from_file_location("audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    audit: Any, libraries: list[dict[str, Any]], code: int, said: str
) -> None:
    """0 means that every library was looked up and is sound; a hole is 1, a library not found is 3."""
    found, told = audit.verdict(libraries)
    assert found == code
    assert said in told
