"""The examples run as they stand, from anywhere, and say what they promise."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROMISES = {
    "pipeline.py": r"^\d+ of \d+ hold whatever the missing values were; not these:$",
    "choose_smoothing.py": r"^chosen: \{'alpha': .*'bins': \d+\}$",
    "how_far.py": r"^the weakest holds up to 0\.\d+, then [01] may win$",
    "imputed_cells.py": r"^\d+ of \d+ predictions stand whatever these cells should have held$",
    "open_columns.py": r"^ *\d+% of these would be certain if '.*' were complete \(holes: \d+\)$",
    "what_to_clean.py": r"^all done at confidence 1.0 after \d+ cells, ours order$",
}


def test_every_example_is_listed() -> None:
    """No example is forgotten, and none has grown beyond thirty lines."""
    found = {path.name: len(path.read_text("utf-8").splitlines()) for path in EXAMPLES.glob("*.py")}
    assert found.keys() == PROMISES.keys()
    assert max(found.values()) < 30, found


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.filterwarnings("ignore:points lie outside")
def test_examples_run(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each runs in an empty folder, with warnings as errors, and prints the line it is about.

    That some of the points held out lie outside what training shows is no error.
    """
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(PROMISES[name], printed, re.MULTILINE), printed
    assert not list(tmp_path.iterdir())


def code_cells(name: str = "pipeline.ipynb") -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    notebook = json.loads((EXAMPLES / name).read_text("utf-8"))
    assert notebook["nbformat"] == 4
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.filterwarnings("ignore:points lie outside")
def test_notebook_runs_and_prints_what_it_stored() -> None:
    """The cells run one after the other, and print exactly what the stored outputs show."""
    names: dict[str, Any] = {}
    for cell in code_cells():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), "pipeline.ipynb", "exec"), names)
        stored = ["".join(out["text"]) for out in cell["outputs"] if out["output_type"] == "stream"]
        assert printed.getvalue() == "".join(stored)
    assert names["certificates"].certain.any()


def test_notebook_is_stored_with_its_outputs() -> None:
    """Every cell was executed, in order, without an error, and the tables are there to see."""
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    outputs = [out for cell in cells for out in cell["outputs"]]
    assert {out["output_type"] for out in outputs} == {"stream", "execute_result"}
    assert sum("text/html" in out.get("data", {}) for out in outputs) >= 2


def words(cell: dict[str, Any]) -> str:
    """The texts of all that a cell shows."""
    shown = "".join(
        "".join(out["data"].get("text/html", out["data"]["text/plain"]))
        for out in cell.get("outputs", [])
    )
    return re.sub(r"<[^>]*>", "|", shown)


def test_gallery_shows_what_the_code_shows_now() -> None:
    """Every cell runs and shows what is stored by scripts/render_notebook.py, charts by their words.

    Where the parts of a chart lie depends on the fonts of the machine.
    """
    pytest.importorskip("vl_convert")
    script = runpy.run_path(str(ROOT / "scripts" / "render_notebook.py"))
    stored = json.loads((EXAMPLES / "gallery.ipynb").read_text("utf-8"))
    made = script["rendered"](stored)
    for old, new in zip(stored["cells"], made["cells"], strict=True):
        assert words(old) == words(new), "".join(new["source"])
    shown = [text for cell in code_cells("gallery.ipynb") for text in map(str, cell["outputs"])]
    assert sum("<svg" in text for text in shown) > 6
