"""Tables with holes, and what a person does on the page of `nullproof serve`, for browser tests."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def wait_for_result(page: Page) -> None:
    """Wait until an analysis is shown with its first point."""
    page.wait_for_selector("#downloads")
    page.wait_for_selector(".panel .verdict")
    page.wait_for_selector("#job", state="hidden")


def show_example(page: Page) -> None:
    """Analyse the embedded example."""
    page.click("#example")
    wait_for_result(page)


def open_point(page: Page, place: int, by: str = "button") -> None:
    """Open a point of the list by its button or its row, and wait for its bars.

    It may be open already: whoever goes on with the panel from before loses what is done there.
    """
    page.eval_on_selector(".panel h3", "node => { node.dataset.before = ''; }")
    page.click(f"tr[data-point='{place}'] {by}")
    page.wait_for_selector(f".panel h3:not([data-before]) >> text=Point {place}")
    page.wait_for_selector(".panel .iv-bar", state="attached")


def bars(page: Page) -> list[str]:
    """Where the bars of the open point are."""
    found: list[str] = page.eval_on_selector_all(
        ".panel .iv-bar", "bars => bars.map((bar) => bar.style.left + ' ' + bar.style.width)"
    )
    return found


def rows(n_rows: int, seed: int, labels: Sequence[str] = "pqr") -> str:
    """A table of three features with holes, and a label."""
    pick = random.Random(seed)
    lines = ["a,b,c,y"]
    for _ in range(n_rows):
        place = pick.randrange(3)
        cells = ["" if pick.random() < 0.2 else "uvw"[pick.choice([place, pick.randrange(3)])]]
        cells += ["" if pick.random() < 0.15 else pick.choice("xyz") for _ in "bc"]
        lines.append(",".join([*cells, labels[place]]))
    return "\n".join(lines) + "\n"


def filled(sheet: str, n_answers: int, answer: str | None = None) -> str:
    """The same worksheet with its first lines answered: what is likeliest, or something else."""
    lines = [*csv.DictReader(io.StringIO(sheet))]
    for line in lines[:n_answers]:
        line["value"] = answer or line["candidates"].split(" | ")[0]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*lines[0]])
    writer.writeheader()
    writer.writerows(lines)
    return stream.getvalue()
