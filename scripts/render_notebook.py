"""Run a notebook's cells and store what they show: python scripts/render_notebook.py examples/*.ipynb

No Jupyter is needed: a cell shows what it prints and, if its last line is an expression, that value.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any


def rendered(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run one after the other."""
    names: dict[str, Any] = {}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = run("".join(cell["source"]), names, count)
            cells.append({**cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What one cell shows: its text, then its last value."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "notebook", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        outputs.append(shown(value, count))
    return outputs


def shown(value: Any, count: int) -> dict[str, Any]:
    """A value as a notebook stores it: its HTML if it has some, and its text."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data = {"text/html": value._repr_html_().splitlines(keepends=True), **data}
    return {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            made = rendered(json.loads(path.read_text("utf-8")))
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
