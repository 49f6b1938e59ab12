"""Attacks by added rows as a terminal shows them, and the longer table as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
from rich.console import Console
from rich.text import Text

from nullproof.cli.following import after_row_attack, shown_of
from nullproof.cli.outputs import (
    SETTLED,
    as_read,
    frame_writer,
    say_companion,
    typed_on_written,
)
from nullproof.cli.streams import console, echo, tell, working
from nullproof.cli.terminal import empty_grid, say_more, say_next
from nullproof.counts.storage import KEY, companion_of, write_with_companion
from nullproof.data.edits import TrainingTable
from nullproof.errors import NullproofError
from nullproof.words import cut, many

if TYPE_CHECKING:
    from nullproof.attacks.attack import RowAttack
    from nullproof.cli.options import Request
    from nullproof.cli.shown import Shown

_COLUMNS = 6


def answer_by_rows(
    request: Request, threat: str, *, skip_unbreakable: bool, show_all: bool
) -> None:
    """Answer `poison --threat rows`."""
    from nullproof.attacks.poison import poison as attack_on
    from nullproof.files import to_json

    with working("reading and counting"):
        index, points = request.load()
        if request.output is not None:
            _ = request.table
    with working("looking for rows to add") as say:
        asked: dict[str, Any] = {"threat": threat, **request.model(index)}
        attack = attack_on(
            index,
            points,
            skip_unbreakable=skip_unbreakable,
            on_progress=say,
            **asked,
            **request.naming(points),
        )
    if request.output is not None:
        write_longer(attack, request, request.output)
    if request.as_json:
        echo(to_json(attack.document()))
    elif request.output is None:
        following = after_row_attack(request, attack, skip_unbreakable)
        show_row_attack(console(), attack, shown_of(request, show_all, following))


def refuse_given(threat: str, options: dict[str, Any]) -> None:
    """Refuse options that are about cells to blank."""
    for name, given in options.items():
        if given:
            raise NullproofError(
                f"{name} is about the search for cells to blank; leave it out with --threat {threat}"
            )


def show_row_attack(console: Console, attack: RowAttack, shown: Shown) -> None:
    """Print what it costs, how good that is, and which rows are added."""
    console.print(Text(repr(attack.index), style="dim"))
    console.print(Text("\n").append(repr(attack), style="bold").append("\n"))
    weak = sum(target.radius == 0 for target in attack.targets)
    if weak:
        console.print(f"{weak:,} of the points were not certain before and cost nothing.\n")
    if attack.added:
        names = attack.index.features[:_COLUMNS]
        more = len(attack.index.features) - len(names)
        grid = empty_grid(">rows", "label", *names, *([f"{more} more columns"] if more else []))
        for own in sorted(attack.added, key=lambda own: -own.n_rows)[: shown.limit]:
            values = attack.values(own)
            cells = [Text(cut(values[name], 20)) for name in names]
            label = Text(str(attack.index.labels[own.label]))
            grid.add_row(f"{own.n_rows:,}", label, *cells, *(["…"] if more else []))
        console.print(grid)
        say_more(console, len(attack.added), "kinds of rows: --json gives them all", shown.limit)
        console.print(Text(f"\n{attack.effect}"))
    say_next(console, shown.following)


def write_longer(attack: RowAttack, request: Request, path: Path) -> None:
    """Write the table with the added rows, and beside it the counts of the table before."""
    training = TrainingTable.open(attack.index.schema, request.table)
    longer = training.extended(attack.rows(), nw.from_native(as_read(request)))
    write = frame_writer(longer, path, {KEY: companion_of(path).name})
    companion = write_with_companion(attack.index, path, write)
    train = "standard input" if request.train == "-" else request.train
    tell(f"wrote {path}: {train} with {many(attack.n_rows, 'row')} more")
    say_companion(companion, path, str(train))
    request.tell_next(
        typed_on_written("certify", request, path, like=companion, label=None, **SETTLED)
    )
