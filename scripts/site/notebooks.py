"""A notebook with its stored outputs, as a page of the site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def page_of(path: Path) -> str:
    """The notebook as Markdown: its words, its code, and what the code showed."""
    notebook = json.loads(path.read_text("utf-8"))
    title, *cells = [_cell(cell) for cell in notebook["cells"]]
    download = f"[Download this notebook]({path.name})"
    return "\n\n".join([title, download, *cells]) + "\n"


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    shown = [_output(output) for output in cell["outputs"]]
    return "\n\n".join([f"```python\n{source}\n```", *shown])


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _text("".join(output["text"]))
    data = output["data"]
    if "text/html" not in data:
        return _text("".join(data["text/plain"]))
    html = "".join(data["text/html"])
    lines = "".join(line for line in html.splitlines(keepends=True) if line.strip())
    return f'<div class="shown" data-search-exclude>{lines}</div>'


def _text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
