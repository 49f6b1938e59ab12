"""A picture for each entry of the gallery: what the notebook drew, or a drawing of what it printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nullproof.results.pictures import curve_by_size, stack

PLACE = re.compile(r"<!-- (first|last) picture of (\w+) -->")
# The bars of tables are too small to stand alone.
DRAWN = re.compile(r'<svg class="np-(?!stack|share)[^>]*>.*?</svg>', re.DOTALL)


def with_pictures(markdown: str, folder: Path) -> str:
    """Put a picture of each notebook where the page names it."""
    return PLACE.sub(lambda place: _picture(folder / f"{place[2]}.ipynb", place[1]), markdown)


def _picture(path: Path, which: str) -> str:
    shown = _shown(path)
    drawn = DRAWN.findall(shown) or [_drawn(path.stem, shown)]
    picture = drawn[0 if which == "first" else -1]
    return f'<div class="picture" data-search-exclude>{picture}</div>'


def _shown(path: Path) -> str:
    """Return everything that the cells of a notebook show."""
    outputs = [
        output
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", ())
    ]
    shown = [one.get("text") or one["data"].get("text/html", ()) for one in outputs]
    return "".join(line for lines in shown for line in lines)


def _drawn(name: str, shown: str) -> str:
    """Draw the numbers of a notebook that has no picture."""
    if name == "fragile":
        rows = re.findall(r"<tr><td>(\d+)</td><td>\d+</td><td>([\d.]+)\s%</td></tr>", shown)
        shares = [float(share) / 100 for _, share in rows]
        words = "Share of predictions that stay right, by cells in the attack."
        return curve_by_size([int(size) for size, _ in rows], shares, words, "cells in the attack")
    if name == "what_to_clean":
        lines = re.findall(r"(\d+) cells: +([\d.]+) points hold", shown)
        n_points = int(re.findall(r"of (\d+) points", shown)[0])
        shares = [float(points) / n_points for _, points in lines]
        words = "Share of predictions expected to hold, by cells looked up."
        return curve_by_size([int(size) for size, _ in lines], shares, words, "cells looked up")
    n_stand, n_points = map(int, re.findall(r"(\d+) of (\d+) predictions stand", shown)[0])
    share = n_stand / n_points
    return stack({"certain": share, "open": 1 - share})
