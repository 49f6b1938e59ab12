"""The commands that ask about a table: arguments in, results out; the work is done elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nullproof.cli.options import Request
from nullproof.cli.registry import command
from nullproof.cli.shown import TABLES, ShowAll
from nullproof.cli.streams import console, echo, working
from nullproof.cli.written import BiasOption, plain_bias, written_bias
from nullproof.errors import NullproofError

if TYPE_CHECKING:
    from nullproof.attacks.attack import Attack

Check = Annotated[
    bool,
    typer.Option(
        "--check", help="Exit 1 if a point is not certain or, with --bias, does not hold."
    ),
]
Threat = Annotated[
    str,
    typer.Option(
        "--threat", metavar="WHAT", help="'cells' that are blanked or wrong, or added 'rows'."
    ),
]
SkipUnbreakable = Annotated[
    bool, typer.Option("--skip-unbreakable", help="Leave out points that no attack can break.")
]
OnlyColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--only-columns", metavar="COL", help="Blank cells of this column alone; repeatable."
    ),
]
_BIAS = (
    "is about accident, which certify, clean and report ask about, and not about {}; leave it out"
)


@command()
def certify(
    request: Request,
    bias: BiasOption = None,
    check: Check = False,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="POINT",
            help="Show which cells of one point (by --key or position) speak for its label.",
        ),
    ] = None,
    rival: Annotated[
        str | None,
        typer.Option(
            "--rival", metavar="LABEL", help="Explain against this label, not the strongest rival."
        ),
    ] = None,
    show_all: ShowAll = False,
) -> None:
    """Tell for each point whether every world predicts the same label, or up to which bias.

    [bold]Example:[/] nullproof certify train.csv test.csv --label churn --missing unknown
    """
    from nullproof.cli.certificates import show_certificates
    from nullproof.cli.following import after_certify, shown_of
    from nullproof.cli.outputs import failing
    from nullproof.model.certify import certify as decide

    asked_bias = written_bias(bias)
    if rival is not None and explain is None:
        raise NullproofError("--rival is given without --explain; add --explain POINT")
    if show_all and explain is not None:
        raise NullproofError("--all lists points, and --explain shows one; leave one of them out")
    into_table = request.output is not None and request.output.suffix in TABLES
    if into_table and explain is None and not request.as_json:
        from nullproof.cli.blocks import certify_in_blocks

        certify_in_blocks(request, bias, check=check)
        return
    with working("reading and counting"):
        index, points = request.load()
    with working("certifying"):
        named = request.naming(points)
        result = decide(index, points, bias=asked_bias, **request.model(index), **named)
    if explain is not None:
        from nullproof.cli.explanations import show_explanation
        from nullproof.data.keys import place_of

        place = place_of(explain, result.points.names, len(result), "--explain")
        one = result[place].explain(rival=rival)
        with failing(check and not one.certain):
            request.answer(one, lambda console: show_explanation(console, one))
        return
    with working("certifying") as say:
        result.work_out(say)
        labels = request.truth(index, points)
        result = result if labels is None else result.with_truth(labels)
    following = after_certify(request, index, bias, all_certain=bool(result.certain.all()))
    shown = shown_of(request, show_all, following)
    with failing(check and not result.certain.all()):
        request.answer(
            result,
            lambda console: show_certificates(console, result, shown),
            shown.then,
            n_missing=index.n_missing,
            own_missing=request.own_missing,
            bias=plain_bias(asked_bias),
            **request.whose,
        )


@command(without={"--bias": _BIAS.format("an enemy")})
def radius(
    request: Request,
    only_columns: OnlyColumns = None,
    check: Check = False,
    min_radius: Annotated[
        int | None,
        typer.Option(
            "--min-radius", metavar="N", help="With --check: exit 1 if a radius is below N."
        ),
    ] = None,
    threat: Threat = "cells",
    curve: Annotated[
        bool,
        typer.Option("--curve", help="How many predictions are right and stay so, by attack."),
    ] = False,
    show_all: ShowAll = False,
) -> None:
    """Count how many training cells must be blanked, or wrong, before a prediction is no longer certain.

    One number answers both; --threat rows counts the rows that must be added instead.

    [bold]Example:[/] nullproof radius train.csv test.csv --label churn -o radii.csv
    """
    from nullproof.attacks.radius import radius as radius_of
    from nullproof.cli.following import after_radius, shown_of
    from nullproof.cli.outputs import failing
    from nullproof.cli.terminal import show_radii

    if min_radius is not None and not check:
        raise NullproofError("--min-radius says when --check fails; give --check too")
    with working("reading and counting"):
        index, points = request.load()
    asked: dict[str, Any] = {"threat": threat, "only": _only(only_columns)}
    asked |= request.model(index)
    if curve:
        from nullproof.cli.curves import answer_curve

        answer_curve(request, index, points, asked, show_all=show_all)
        return
    with working(f"finding the fewest {threat} for each point") as say:
        result = radius_of(index, points, on_progress=say, **asked, **request.naming(points))
    with failing(check and bool((result.radius < (min_radius or 1)).any())):
        shown = shown_of(request, show_all, after_radius(request, result))
        request.answer(
            result,
            lambda console: show_radii(console, index, result, shown),
            shown.then,
            **request.whose,
        )


@command(
    without={"--bias": _BIAS.format("an enemy")},
    needs={"test": "no points to attack were named; give TEST after TRAIN"},
    helps={
        "train": "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -).",
        "test": "Points to attack.",
        "memory_limit": "Count TRAIN by DuckDB within, e.g., 1GB; with --key.",
        "output": "Write TRAIN with the attacked cells blank: .csv or .parquet.",
    },
    endings=TABLES,
)
def poison(
    request: Request,
    only_columns: OnlyColumns = None,
    skip_unbreakable: SkipUnbreakable = False,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="How long to look for less; else 10."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="Rounds instead of a time limit.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the search.")] = 0,
    threat: Threat = "cells",
    show_all: ShowAll = False,
) -> None:
    """Choose training cells to blank so that no point of TEST is certain; -o writes that table.

    --threat rows chooses rows to add instead, and -o writes the longer table.

    [bold]Example:[/] nullproof poison train.csv test.csv --label churn -o poisoned.csv
    """
    from nullproof.attacks.poison import poison as attack_on
    from nullproof.cli.following import after_poison, shown_of
    from nullproof.cli.outputs import write_poisoned
    from nullproof.cli.terminal import show_attack
    from nullproof.counts.storage import refuse_companion
    from nullproof.files import to_json

    if steps is not None and time_limit is not None:
        raise NullproofError(
            "--steps and --time-limit are both given, and each says how long to look; leave one out"
        )
    if request.output is not None:
        refuse_companion(request.output)
    if threat != "cells":
        from nullproof.cli.row_attacks import answer_by_rows, refuse_given

        refuse_given(
            threat,
            {
                "--time-limit": time_limit,
                "--steps": steps,
                "--seed": seed,
                "--only-columns": only_columns,
            },
        )
        answer_by_rows(request, threat, skip_unbreakable=skip_unbreakable, show_all=show_all)
        return
    with working("reading and counting"):
        index, points = request.load()
        if not request.by_key or request.output is not None:
            # Asked for now, so that a table without rows is refused before the long work.
            _ = request.table
    with working("looking for an attack") as say:
        attack = attack_on(
            index,
            points,
            only=_only(only_columns),
            time_limit=10.0 if time_limit is None else time_limit,
            steps=steps,
            seed=seed,
            skip_unbreakable=skip_unbreakable,
            on_progress=say,
            **request.model(index),
            **request.naming(points),
        )
    if request.output is not None:
        write_poisoned(attack, request, request.output)
    if request.as_json:
        echo(to_json(_attacked(request, attack)))
    elif request.output is None:
        own = {
            "--skip-unbreakable": skip_unbreakable,
            "--time-limit": time_limit,
            "--steps": steps,
            "--seed": seed or None,
        }
        following = after_poison(request, attack, own)
        show_attack(console(), attack, shown_of(request, show_all, following))


@command(
    without={
        "--bias": _BIAS.format("chance"),
        "--own-missing": "is not for odds, which come from the cells that a point knows; leave it out, or "
        "ask certify",
    }
)
def odds(
    request: Request,
    cells: Annotated[
        str,
        typer.Option(
            "--cells",
            metavar="HOW",
            help="Chance fills missing cells as 'observed' in their label and column, or 'uniform'.",
        ),
    ] = "observed",
    gap: Annotated[
        float, typer.Option("--gap", metavar="G", help="How far apart the bounds may be.")
    ] = 0.01,
    point: Annotated[
        str | None,
        typer.Option("--point", metavar="POINT", help="One point alone (by --key or position)."),
    ] = None,
    show_all: ShowAll = False,
) -> None:
    """Tell in which share of the worlds a prediction is the same if chance fills the missing cells.

    [bold]Example:[/] nullproof odds train.csv test.csv --label churn --point 3
    """
    import numpy as np

    from nullproof.cli.following import after_odds, shown_of
    from nullproof.cli.terminal import show_odds
    from nullproof.data.keys import place_of
    from nullproof.data.points import encode_points
    from nullproof.odds.odds import label_odds

    if show_all and point is not None:
        raise NullproofError("--all lists points, and --point shows one; leave one of them out")
    with working("reading and counting"):
        index, points = request.load()
    naming, place = request.naming(points), None
    if point is not None:
        encoded = encode_points(index.schema, points, **naming)
        place = place_of(point, encoded.names, len(encoded), "--point")
        naming = {}
    asked: Any = points if place is None else encoded.take(np.array([place]))
    with working("weighing the worlds") as say:
        result = label_odds(
            index,
            asked,
            cells=cells,  # type: ignore[arg-type]
            gap=gap,
            on_progress=say,
            **request.model(index),
            **naming,
        )
    result = result if place is None else replace(result, first=place)
    shown = shown_of(request, show_all, after_odds(request, result))
    request.answer(
        result,
        lambda console: show_odds(console, index, result, shown),
        shown.then,
        **request.whose,
    )


def _only(columns: list[str] | None) -> dict[str, list[str]] | None:
    """Which cells an attack can reach, as the library has it."""
    return {"columns": columns} if columns else None


def _attacked(request: Request, attack: Attack) -> dict[str, Any]:
    """The JSON form of an attack, with its cells by row, or by key where TRAIN is not read into memory."""
    from nullproof.data.edits import TrainingTable

    if request.by_key:
        limit = request.memory_limit or "1GB"
        cells = attack.locate(request.train, key=request.key, memory_limit=limit)
        return attack.document(cells, "key")
    table = request.table
    names = TrainingTable.open(attack.index.schema, table).names(request.key)
    return attack.document(attack.cells(table), rows=names)
