"""A cleaning plan as a terminal shows it: what to look up first, how far that gets, where to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.shown import SHOWN, Shown
from nullproof.cli.terminal import (
    empty_grid,
    point_heading,
    point_name,
    say_more,
    say_next,
    say_whose,
)
from nullproof.data.keys import shown_name
from nullproof.words import PLAIN, cut, many, per_cent, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nullproof.cleaning.goals import Goal
    from nullproof.cleaning.plan import CleaningPlan

_STAGES = 10
_LEFT_OUT = 5
_BAR = 12
_COLUMN = 24
_HEAD = "columns (and labels)"


def show_plan(
    console: Console,
    plan: CleaningPlan,
    brought: dict[str, Any] | None,
    goals: Sequence[Goal],
    shown: Shown,
) -> None:
    """Print what the answers brought, then what to look up next."""
    console.print(Text(repr(plan.index), style="dim"))
    say_whose(console, shown)
    if brought is not None:
        _show_progress(console, brought)
    said = f"{plan.n_done:,} of {plan.n_points:,} points {plan.what}"
    console.print(Text("\n").append(said, "bold"))
    if plan.steps:
        _show_stages(console, plan, shown)
    elif plan.n_done + len(plan.stuck) == plan.n_points:
        console.print("No missing cell needs to be filled.")
    else:
        console.print("No missing cell within the budget would help the others.")
    if plan.undecided:
        console.print(
            f"\nNo bound tells whether {many(len(plan.undecided), 'more point')} would be done: odds too "
            f"near {plan.confidence:g}, or too many holes. They count as not done."
        )
    if plan.stuck:
        names = (shown_name(plan.points.names, place) for place in plan.stuck)
        console.print(Text(f"\nLabels tie whatever these cells hold for point {some(names, 10)}."))
    if plan.steps and plan.typical_cases:
        console.print(Text(f"\n{plan.typical_cases}"))
    if plan.left_out:
        _show_left_out(console, plan)
    if plan.n_done + len(plan.stuck) < plan.n_points:
        plain = plan.confidence == 1 and plan.model.unbiased is plan.model
        _show_goals(console, goals, plan.n_points, plain)
    say_next(console, shown.following)


def _show_stages(console: Console, plan: CleaningPlan, shown: Shown) -> None:
    stages = plan.stages
    limit = None if shown.everything else _STAGES
    console.print("Look up these missing cells first:\n")
    console.print(_stages(plan, limit, console.width))
    say_more(console, len(stages), "lines: --all shows them, --json lists every step", limit)
    rest = plan.n_cells - (stages[-1].so_far if stages else 0)
    if rest:
        probably = "probably bring nothing more" if stages else "probably bring nothing"
        console.print(
            f"{many(rest, 'cell')} {probably}; points near a tie may need them.", style="dim"
        )
    console.print(
        "Table: training rows (of these labels), or the cells that the points themselves lack. Done: the "
        "points expected to be done after a line and those above it.",
        style="dim",
    )
    if plan.stop is not None:
        console.print(Text(f"\n{plan.stop.sentence}"))


def _stages(plan: CleaningPlan, limit: int | None, width: int) -> Table:
    grid = empty_grid(">cells", ">so far", "table", _HEAD, ">done", "")
    found = plan.stages[:limit]
    numbers = [(f"{own.n_cells:,}", f"{own.so_far:,}", f"{own.expected:,.1f}") for own in found]
    # What the other columns leave for the names; columns are two spaces apart.
    taken = [max(map(len, own)) for own in zip(("cells", "so far", "done"), *numbers, strict=True)]
    left = max(width - sum(taken) - len("training") - _BAR - 10, len(_HEAD))
    whole = max(plan.n_points - plan.n_done, 1)
    for stage, (n_cells, so_far, done) in zip(found, numbers, strict=True):
        full = round((stage.expected - plan.n_done) / whole * _BAR)
        bar = Text("█" * full, style="green").append("·" * (_BAR - full), style="dim")
        grid.add_row(n_cells, so_far, stage.table, Text(cut(stage.columns(), left)), done, bar)
    return grid


def _show_left_out(console: Console, plan: CleaningPlan) -> None:
    """The cells that points lack and that would secure or change their predictions."""
    found = plan.left_out
    securing = {one.cell.row for one in found if one.secures}
    changing = {one.cell.row for one in found if one.changes}
    console.print(
        f"\nThe points lack cells too, which their predictions leave out. Looked up, they may secure "
        f"{many(len(securing), 'open point')} and change {many(len(changing), 'prediction')}:\n"
    )
    names = plan.points.names
    grid = empty_grid(point_heading(names), "column", "predicted", ">then certain", ">then another")
    for one in found[:_LEFT_OUT]:
        grid.add_row(
            point_name(names, one.cell.row),
            Text(cut(one.cell.column, _COLUMN)),
            Text("a tie" if one.label is None else str(one.label)),
            "is done" if one.done else per_cent(one.secures, PLAIN),
            per_cent(one.changes, PLAIN),
        )
    console.print(grid)
    say_more(console, len(found), "cells: --json lists them", _LEFT_OUT)
    console.print(
        "How likely the cell, once known, makes the point done, and how likely it makes the prediction "
        "another one; both may be. Taken from the known cells of the predicted label.",
        style="dim",
    )


def _show_goals(console: Console, goals: Sequence[Goal], n_points: int, plain: bool) -> None:
    """How many cells each of the three goals takes."""
    from nullproof.cleaning.goals import SHARES

    whose = (
        "the points" if goals[0].n_points == n_points else f"{goals[0].n_points:,} of the points"
    )
    console.print(f"\nHow many cells it takes until so many of {whose} are done:\n")
    heads = (f">{share * 100:g}{PLAIN}" for share in SHARES)
    grid = empty_grid("a point is done if it", ">now", *heads)
    for goal in goals:
        cells = ("–" if own is None else f"{own:,}" for own in goal.n_cells)
        grid.add_row(_in_words(goal), f"{goal.n_done:,}", *cells)
    console.print(grid)
    if plain:
        console.print(
            "The usual choice is --bias 0.05: missing cells are like the known ones, up to 5"
            f"{PLAIN} of them.",
            style="dim",
        )


def _in_words(goal: Goal) -> str:
    if goal.confidence < 1:
        return f"has a label with odds of {goal.confidence:g} or more"
    if goal.bias == 1:
        return "is certain"
    bias = "the bias of each column" if goal.bias is None else f"a bias of {goal.bias:g}"
    return f"holds up to {bias}"


def _show_progress(console: Console, brought: dict[str, Any]) -> None:
    gained = brought["became_done"]
    answers, n_before, n_now = (
        many(brought["n_answers"], "answer"),
        brought["n_done_before"],
        brought["n_done"],
    )
    lost = n_before + len(gained) - n_now
    console.print(f"\n{answers} taken: {many(n_now, 'point')} done, {n_before:,} before")
    if lost:
        console.print(
            f"{many(lost, 'point')} no longer: with the known cells what is like them changes too, and a "
            "row that is a point has new cells of its own"
        )
    for entry in gained[:SHOWN]:
        said = "by its odds" if entry["label"] is None else entry["label"]
        name = entry.get("key") or entry["point"]
        console.print(f"  point {name} is done: {said}", highlight=False, markup=False)
    say_more(console, len(gained), "points: --json lists all")
