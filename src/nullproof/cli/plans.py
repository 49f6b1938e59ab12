"""A cleaning plan as a terminal shows it: what to look up first, how far that gets, where to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nullproof.cli.shown import SHOWN, Shown
from nullproof.cli.terminal import (
    empty_grid,
    say_more,
    say_next,
    say_whose,
)
from nullproof.data.keys import shown_name
from nullproof.words import cut, many, some

if TYPE_CHECKING:
    from nullproof.cleaning.plan import CleaningPlan

_STAGES = 10
_BAR = 12
_HEAD = "columns (and labels)"


def show_plan(
    console: Console, plan: CleaningPlan, brought: dict[str, Any] | None, shown: Shown
) -> None:
    """Print what the answers brought, then what to look up next."""
    console.print(Text(repr(plan.index), style="dim"))
    say_whose(console, shown)
    if brought is not None:
        _show_progress(console, brought)
    console.print(Text("\n").append(plan.headline, "bold"))
    console.print(Text(plan.meaning, style="dim"))
    if plan.steps:
        _show_stages(console, plan, shown)
    elif plan.n_done + len(plan.stuck) == plan.n_points:
        console.print("No missing cell needs to be looked up.")
    else:
        console.print("No missing cell to look up would help the others.")
    if plan.stuck:
        names = (shown_name(plan.points.names, place) for place in plan.stuck)
        console.print(Text(f"\nLabels tie whatever these cells hold for point {some(names, 10)}."))
    for sentence in filter(None, (plan.hint, plan.certainty)):
        console.print(Text(f"\n{sentence}"))
    say_next(console, shown.following)


def _show_stages(console: Console, plan: CleaningPlan, shown: Shown) -> None:
    stages = plan.stages
    limit = None if shown.everything else _STAGES
    console.print("Look up these missing cells of the training table first:\n")
    console.print(_stages(plan, limit, console.width))
    say_more(console, len(stages), "lines: --all shows them, --json lists every step", limit)
    rest = plan.n_cells - stages[-1].so_far
    if rest:
        console.print(
            f"{many(rest, 'cell')} probably bring nothing more; points near a tie may need them.",
            style="dim",
        )
    console.print(
        "Done: the points expected to be done after a line and those above it.", style="dim"
    )
    if plan.stop is not None:
        console.print(Text(f"\n{plan.stop.sentence}"))


def _stages(plan: CleaningPlan, limit: int | None, width: int) -> Table:
    grid = empty_grid(">cells", ">so far", _HEAD, ">done", "")
    first = plan.stages[:limit]
    numbers = [
        (f"{stage.n_cells:,}", f"{stage.so_far:,}", f"{stage.expected:,.1f}") for stage in first
    ]
    # What the other columns leave for the names; columns are two spaces apart.
    taken = [max(map(len, row)) for row in zip(("cells", "so far", "done"), *numbers, strict=True)]
    left = max(width - sum(taken) - _BAR - 8, len(_HEAD))
    whole = max(plan.n_points - plan.n_done, 1)
    for stage, (n_cells, so_far, done) in zip(first, numbers, strict=True):
        full = min(max(round((stage.expected - plan.n_done) / whole * _BAR), 0), _BAR)
        bar = Text("█" * full, style="green").append("·" * (_BAR - full), style="dim")
        grid.add_row(n_cells, so_far, Text(cut(stage.columns(), left)), done, bar)
    return grid


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
        name = entry.get("key") or entry["point"]
        console.print(f"  point {name} is done: {entry['label']}", highlight=False, markup=False)
    say_more(console, len(gained), "points: --json lists all")
