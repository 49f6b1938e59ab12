"""The counterparts of the paper's figures, as SVG and PNG."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from experiments.paper.store import Row
from experiments.paper.summary import Results, middle_of, series, total
from experiments.paper.tasks import DECIDERS, OURS, POISONERS

STYLES = {
    "AD": ("#7f7f7f", "s"),
    "Iterate": ("#e69f00", "^"),
    "Iterate+Index": ("#0072b2", "v"),
    "RP": ("#7f7f7f", "s"),
    "SR": ("#e69f00", "^"),
    "GS": ("#0072b2", "v"),
    OURS: ("#d55e00", "o"),
}
RULES: dict[Any, Any] = {
    "svg.hashsalt": "nullproof",
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.markersize": 4,
    "lines.linewidth": 1.2,
}
COLUMNS = 5


def draw_all(results: Results, folder: Path) -> dict[str, str]:
    """Write every figure and return what each shows, by file name without ending."""
    figures: dict[str, tuple[str, Callable[[Results], Figure]]] = {
        "decision_rates": (
            "Deciding the most points: running time against the share of missing cells",
            _decision_rates,
        ),
        "decision_points": (
            "Deciding: running time against the number of points, at the lowest of the paper's rates",
            _decision_points,
        ),
        "single_poisoning": (
            "Poisoning one point: running time, cells, poisoning rate (hollow: time estimated as "
            "number of passes × one pass)",
            lambda found: _poisoning(found, "single"),
        ),
        "multiple_poisoning": (
            "Poisoning many points: running time, cells, poisoning rate; the union for RP, SR and GS, "
            "a joint attack for nullproof, with the proven lower bound as a bar",
            lambda found: _poisoning(found, "multiple"),
        ),
        "multiple_cells": ("Poisoning: cells against the number of points", _multiple("n_cells")),
        "multiple_time": (
            "Poisoning: running time against the number of points",
            _multiple("seconds"),
        ),
        "sampling": (
            "Of the points that AD calls certain, the share that is not",
            _sampling,
        ),
        "certainty": (
            "Certain predictions against the share of missing cells, and against missing cells as a "
            "multiple of the point's radius",
            _certainty,
        ),
    }
    with mpl.rc_context(RULES):
        for name, (_, draw) in figures.items():
            figure = draw(results)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            # The layout is found already and is what takes the time.
            figure.set_layout_engine("none")
            figure.savefig(folder / f"{name}.png", dpi=110)
    return {name: caption for name, (caption, _) in figures.items()}


def _decision_rates(results: Results) -> Figure:
    rows = [r for r in results.some(part="decision", holes="all") if float(r["rate"]) >= 0.2]
    most = max((row["n_points"] for row in rows), key=int)
    rows = [row for row in rows if row["n_points"] == most]
    return _small_multiples(results.datasets, rows, "rate", "seconds", DECIDERS)


def _decision_points(results: Results) -> Figure:
    rows = results.some(part="decision", holes="all")
    fewest = min((row["n_points"] for row in rows), key=int)
    base = next(row["rate"] for row in rows if row["n_points"] == fewest)
    rows = [row for row in rows if row["rate"] == base]
    return _small_multiples(results.datasets, rows, "n_points", "seconds", DECIDERS)


def _multiple(y: str) -> Callable[[Results], Figure]:
    def draw(results: Results) -> Figure:
        rows = results.some(part="multiple")
        return _small_multiples(results.datasets, rows, "n_points", y, POISONERS)

    return draw


def _small_multiples(
    datasets: Sequence[str], rows: list[Row], x: str, y: str, algorithms: Sequence[str]
) -> Figure:
    """One log-scale panel per dataset, one line per algorithm."""
    n_rows = math.ceil(len(datasets) / COLUMNS)
    figure = Figure(figsize=(10, 2.1 * n_rows + 0.4), layout="constrained")
    grid: Any = figure.subplots(n_rows, COLUMNS, squeeze=False)
    panels: list[Axes] = [panel for line in grid for panel in line]
    for panel, dataset in zip(panels, datasets, strict=False):
        for name in algorithms:
            mine = [r for r in rows if (r["dataset"], r["algorithm"]) == (dataset, name)]
            middle = statistics.median if y == "seconds" else statistics.fmean
            xs, ys, estimated = series(mine, x, y, middle=middle)
            color, marker = STYLES[name]
            fill = "none" if estimated and y == "seconds" else "full"
            panel.plot(xs, ys, color=color, marker=marker, label=name, fillstyle=fill)
        panel.set_title(dataset)
        _log_axis(panel, y)
        _x_axis(panel, x, [row for row in rows if row["dataset"] == dataset])
    for panel in panels[len(datasets) :]:
        panel.remove()
    for line in grid:
        line[0].set_ylabel({"seconds": "time", "n_cells": "cells"}[y])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _log_axis(panel: Axes, column: str) -> None:
    panel.set_yscale("log")
    # Whole decades, so that every panel has labelled lines.
    least, most = panel.get_ylim()
    panel.set_ylim(10.0 ** math.floor(math.log10(least)), 10.0 ** math.ceil(math.log10(most)))
    panel.yaxis.set_minor_locator(NullLocator())
    write = {"seconds": _time_text, "n_cells": "{:,.0f}".format, "poisoning_rate": _share_text}
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: write[column](value)))


def _time_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.99 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _share_text(share: float) -> str:
    return f"{share * 100:g} %"


def _x_axis(panel: Axes, x: str, rows: list[Row]) -> None:
    ticks = sorted({float(row[x]) for row in rows})
    if x == "n_points":
        panel.set_xscale("log", base=2)
        panel.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
        panel.set_xlabel("points")
    else:
        panel.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
        panel.set_xlabel("missing")
    panel.minorticks_off()


def _poisoning(results: Results, part: str) -> Figure:
    """Time, cells and poisoning rate, datasets side by side."""
    most = max((row["n_points"] for row in results.some(part=part)), key=int)
    figure = Figure(figsize=(10, 2.8), layout="constrained")
    panels: Any = figure.subplots(1, 3)
    titles = {"seconds": "time", "n_cells": "cells", "poisoning_rate": "poisoning rate"}
    for panel, (column, title) in zip(panels, titles.items(), strict=True):
        for offset, name in enumerate(POISONERS):
            color, marker = STYLES[name]
            for place, dataset in enumerate(results.datasets):
                rows = results.some(part=part, dataset=dataset, algorithm=name, n_points=most)
                value = middle_of(rows, column, mean=column != "seconds")
                if not value:
                    continue
                hollow = column == "seconds" and any(r["status"] == "estimated" for r in rows)
                panel.plot(
                    place + (offset - 1.5) * 0.15,
                    value,
                    color=color,
                    marker=marker,
                    linestyle="none",
                    fillstyle="none" if hollow else "full",
                    label=name if place == 0 else None,
                )
                bound = middle_of(rows, "lower_bound", mean=True)
                if column == "n_cells" and part == "multiple" and bound:
                    panel.hlines(bound, place - 0.3, place + 0.4, color=color, linewidth=1.5)
        _log_axis(panel, column)
        panel.set_title(title)
        names = results.datasets
        panel.set_xticks(range(len(names)), names, fontsize=6, rotation=45, ha="right")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _sampling(results: Results) -> Figure:
    figure = Figure(figsize=(6, 2.8), layout="constrained")
    panel = figure.subplots()
    for place, dataset in enumerate(results.datasets):
        shares = {}
        rows = results.some(part="decision", algorithm="AD", holes="all", dataset=dataset)
        for rate in sorted({float(row["rate"]) for row in rows}):
            mine = [row for row in rows if float(row["rate"]) == rate]
            n_said = total(mine, "n_certain")
            if n_said:
                shares[rate] = total(mine, "n_wrong") / n_said
        panel.plot([*shares], [*shares.values()], **_line(place), label=dataset)
    panel.set_xscale("log")
    _percent_axes(panel, sorted({float(r["rate"]) for r in results.some(algorithm="AD")}))
    panel.set_xlabel("missing cells")
    panel.set_ylabel("wrong among\n“certain” by AD")
    figure.legend(loc="outside right center")
    return figure


def _certainty(results: Results) -> Figure:
    figure = Figure(figsize=(10, 3), layout="constrained")
    panels: Any = figure.subplots(1, 2)
    for place, dataset in enumerate(results.datasets):
        mine = [row for row in results.certainty if row["dataset"] == dataset]
        for panel, column in zip(panels, ("rate", "bin"), strict=True):
            shares = {}
            for value in sorted({float(row[column]) for row in mine}):
                rows = [row for row in mine if float(row[column]) == value]
                if total(rows, "n_points") >= 10:
                    at = value if column == "rate" else 2.0 ** (value + 0.5)
                    shares[at] = total(rows, "n_certain") / total(rows, "n_points")
            panel.plot([*shares], [*shares.values()], **_line(place), label=dataset)
    _percent_axes(panels[0], sorted({float(row["rate"]) for row in results.certainty}))
    panels[0].set_xlabel("missing cells")
    panels[0].set_ylabel("certain predictions")
    panels[1].set_xscale("log", base=2)
    panels[1].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panels[1].set_xlabel("missing cells ÷ radius of the point")
    panels[1].axvline(1, color="black", linewidth=0.8, linestyle=":")
    panels[1].set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _line(place: int) -> dict[str, Any]:
    return {"color": mpl.colormaps["tab10"](place % 10), "marker": "osv^D<>pXh"[place % 10]}


def _percent_axes(panel: Axes, ticks: Sequence[float]) -> None:
    panel.set_xscale("log")
    panel.set_xticks(ticks, [f"{tick * 100:g} %" for tick in ticks], fontsize=6, rotation=45)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    panel.minorticks_off()
