"""The certified accuracy curve as a terminal shows it: a few round sizes, each with a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from nullproof.cli.following import after_curve, shown_of
from nullproof.cli.streams import working
from nullproof.cli.terminal import empty_grid, say_next, say_whose
from nullproof.errors import NullproofError
from nullproof.words import PLAIN, many, per_cent

if TYPE_CHECKING:
    from nullproof.attacks.accuracy import AccuracyCurve
    from nullproof.cli.options import Request
    from nullproof.cli.shown import Shown
    from nullproof.counts.index import CountIndex
    from nullproof.data.sources import Table

_WIDTH = 40
_DEEDS = {"cells": "training cells blanked or wrong", "rows": "training rows added"}


def answer_curve(
    request: Request, index: CountIndex, points: Table, asked: dict[str, Any], *, show_all: bool
) -> None:
    """Answer `radius --curve`; ``asked`` are the options of `certified_accuracy_curve`."""
    from nullproof.attacks.accuracy import certified_accuracy_curve

    labels = request.truth(index, points)
    if labels is None:
        raise NullproofError(
            f"--curve needs true labels, but no point has one in a column "
            f"{index.schema.label_name!r}; add it to TEST, or leave --curve out"
        )
    with working(f"finding the fewest {asked['threat']} for each point"):
        result = certified_accuracy_curve(index, points, labels, **asked)
    shown = shown_of(request, show_all, after_curve(request, asked))
    request.answer(
        result,
        lambda console: show_accuracy_curve(console, index, result, shown),
        shown.then,
        **request.whose,
    )


def show_accuracy_curve(
    console: Console, index: CountIndex, curve: AccuracyCurve, shown: Shown
) -> None:
    """Print how many predictions are right, then how many stay so as attacks grow."""
    console.print(Text(repr(index), style="dim"))
    say_whose(console, shown)
    right, known = int(curve.right.sum()), many(curve.n_known, "prediction")
    head = f"{right:,} of {known} with a known true label are right"
    console.print(Text("\n").append(head, style="bold").append("\n"))
    console.print("right, and so whatever the holes hold and whatever an attack does:\n")
    grid = empty_grid(f">{_DEEDS[curve.threat]}", "", ">share", ">points")
    sizes = curve.steps.tolist() if shown.everything else curve.some_sizes()
    for k in sizes:
        bar = Text("█" * round(_WIDTH * curve.at(k)), style="cyan")
        grid.add_row(f"{k:,}", bar, per_cent(curve.at(k), PLAIN), f"{curve.n_at(k):,}")
    console.print(grid)
    if not shown.everything and len(curve.steps) > len(sizes):
        console.print("--all shows every step, --json or -o FILE gives them", style="dim")
    say_next(console, shown.following)
