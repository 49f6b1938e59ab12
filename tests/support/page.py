"""Tables with missing cells, and what a person does on the page of `nullproof serve`, for browser tests."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


PARTS = ("overview", "rows", "columns", "clean", "attacks")


def wait_for_result(page: Page) -> None:
    """Wait until an analysis is shown with its first row."""
    page.wait_for_selector("#result:not([hidden])")
    page.wait_for_selector(".one-row article", state="attached")
    page.wait_for_selector("#job", state="hidden")


def show_example(page: Page) -> None:
    """Analyse the embedded example."""
    page.click("#example")
    wait_for_result(page)


def show_part(page: Page, part: str) -> bool:
    """Open a tab; whether there is one."""
    if not page.locator(f"#tab-{part}").count():
        return False
    page.click(f"#tab-{part}")
    page.wait_for_selector(f"#part-{part}", state="visible")
    return True


def open_row(page: Page, place: int) -> None:
    """Open a row of the list, and wait for what is said about it."""
    page.click(f"tr[data-point='{place}'] button")
    page.wait_for_selector(f".one-row #point-{place}")


def rows(n_rows: int, seed: int, labels: Sequence[str] = "pqr") -> str:
    """A table of three features with missing cells, and a label."""
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
