"""Every speed claim of the project in one run, or one row of what people wait for (``--only``)."""

from __future__ import annotations

import importlib

from experiments import waiting

TITLE = "Speed, all in one run"
PARTS = ("decision", "assumptions", "estimator", "radius", "odds")


def run(*, quick: bool, only: str | None = None) -> list[str]:
    lines = [f"# {waiting.TITLE}", "", *waiting.run(quick=quick, only=only)]
    if only is not None:
        return lines
    for name in PARTS:
        part = importlib.import_module(f"experiments.{name}")
        lines += [f"# {part.TITLE}", "", *part.run(quick=quick)]
    return lines
