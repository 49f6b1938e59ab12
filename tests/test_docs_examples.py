"""The notebooks run as they stand, and show what is stored in them."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
RENDERED = runpy.run_path(str(ROOT / "scripts" / "render_notebook.py"))["rendered"]


def words(output: dict[str, Any]) -> str:
    """The texts of an output. Where the parts of a chart lie depends on the fonts of the machine."""
    data = output.get("data", {})
    shown = "".join(output.get("text", data.get("text/html", data.get("text/plain", ()))))
    return re.sub(r"<[^>]*>", "|", shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_is_stored(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell runs in an empty folder and shows what scripts/render_notebook.py stored."""
    stored = json.loads(path.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    made = RENDERED(stored)
    for old, new in zip(stored["cells"], made["cells"], strict=True):
        was, now = ([words(one) for one in cell.get("outputs", ())] for cell in (old, new))
        assert was == now, "".join(new["source"])
