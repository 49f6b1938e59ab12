"""The picture of the usefulness experiment: what holds on each table, and how much of it is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.paper.figures import RULES
from nullproof.model.accuracy import CurvePoint
from nullproof.results.files import write_whole

# From what is certain whatever a hole holds to what holds at least a little.
SHADES = ("#08306b", "#2171b5", "#6baed6", "#9ecae1", "#deebf7")
NAMES = ("certain, any", "certain", "holds at 0.1", "holds at 0.05", "holds at 0.02")
RIGHT, REST = "#0072b2", "#d55e00"


class Shown(Protocol):
    """What the picture needs of a measurement."""

    @property
    def table(self) -> str: ...
    @property
    def setting(self) -> str: ...
    @property
    def certain(self) -> tuple[float, float]: ...
    def at(self, bias: float) -> CurvePoint: ...
    def share(self, bias: float) -> float: ...


def draw(measured: Sequence[Shown], path: Path) -> None:
    """Write the picture as PNG: bars of shares above, accuracies below, one column per setting."""
    tables = sorted({one.table for one in measured}, reverse=True)
    settings = list(dict.fromkeys(one.setting for one in measured))
    with mpl.rc_context({**RULES, "axes.axisbelow": True}):
        figure = Figure(figsize=(11, 0.36 * len(tables) + 1.6), layout="constrained")
        figure.set_facecolor("white")
        grid: Any = figure.subplots(2, len(settings), sharex=True, sharey=True, squeeze=False)
        for place, setting in enumerate(settings):
            own = {one.table: one for one in measured if one.setting == setting}
            _bars(grid[0][place], tables, own)
            _accuracies(grid[1][place], tables, own)
            grid[0][place].set_title(setting)
            grid[1][place].set_xlabel("accuracy")
        handles = [grid[row][0].get_legend_handles_labels() for row in (0, 1)]
        both = [handles[0][k] + handles[1][k] for k in (0, 1)]
        figure.legend(*both, loc="outside upper center", ncols=7)
        write_whole(path, lambda part: figure.savefig(part, format="png", dpi=110))


def _bars(panel: Axes, tables: list[str], own: dict[str, Shown]) -> None:
    columns = [
        [own[name].share(0.02) for name in tables],
        [own[name].share(0.05) for name in tables],
        [own[name].share(0.1) for name in tables],
        [own[name].certain[1] for name in tables],
        [own[name].certain[0] for name in tables],
    ]
    # The widest first: each of the others is drawn over it.
    for name, shade, shares in zip(reversed(NAMES), reversed(SHADES), columns, strict=True):
        panel.barh(tables, shares, color=shade, height=0.8, label=name)
    panel.tick_params(axis="y", labelsize=6)
    panel.set_xlim(0, 1.03)
    panel.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])


def _accuracies(panel: Axes, tables: list[str], own: dict[str, Shown]) -> None:
    ends = {name: own[name].at(0.05) for name in tables}
    for name, end in ends.items():
        if end.hold.accuracy is not None and end.rest.accuracy is not None:
            both = [end.rest.accuracy, end.hold.accuracy]
            panel.plot(both, [name, name], color="#999999", linewidth=0.8)
    for label, color, found in (
        ("right among those that hold at 0.05", RIGHT, [e.hold.accuracy for e in ends.values()]),
        ("right among the rest", REST, [e.rest.accuracy for e in ends.values()]),
    ):
        shown = [(x, name) for x, name in zip(found, tables, strict=True) if x is not None]
        xs, ys = [x for x, _ in shown], [name for _, name in shown]
        panel.plot(xs, ys, color=color, marker="o", linestyle="none", label=label)
    panel.tick_params(axis="y", labelsize=6)
