"""Every speed claim of the project in one run."""

from __future__ import annotations

import importlib

TITLE = "Speed, all in one run"
PARTS = ("decision", "assumptions", "estimator", "radius", "odds")


def run(*, quick: bool) -> list[str]:
    lines: list[str] = []
    for name in PARTS:
        part = importlib.import_module(f"experiments.{name}")
        lines += [f"# {part.TITLE}", "", *part.run(quick=quick)]
    return lines
