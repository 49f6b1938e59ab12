"""The commands that look after a table: which cells to look up, and its counts kept for later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nullproof.cli.options import Request
from nullproof.cli.refusals import refuse_overwriting
from nullproof.cli.registry import TEST, command, typed
from nullproof.cli.shown import ShowAll
from nullproof.cli.streams import console, echo, tell, working
from nullproof.cli.written import BiasOption, written_bias
from nullproof.errors import NullproofError
from nullproof.words import many

_QUESTION = "belongs to the question, not to the counts; leave it out here and give it to certify"


@command(
    helps={"output": "Write a worksheet to fill in (.csv, .xlsx) or the plan (.json)."},
    endings=(".csv", ".xlsx", ".json"),
)
def clean(
    request: Request,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="N", help="The most cells, or their cost.")
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", metavar="COL=N", help="Cost of a cell of a column; repeatable."),
    ] = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option("--answers", metavar="FILE", help="A worksheet, filled in; repeatable."),
    ] = None,
    repaired: Annotated[
        Path | None,
        typer.Option("--repaired", metavar="FILE", help="Write TRAIN with the answers."),
    ] = None,
    bias: BiasOption = None,
    show_all: ShowAll = False,
) -> None:
    """List the missing cells of TRAIN to look up first; -o FILE.csv writes them as a worksheet to fill in.

    Points are done when they hold up to a bias of 0.05; --bias 1 asks for certainty.

    [bold]Example:[/] nullproof clean train.csv test.csv --label churn -o worksheet.csv
    """
    from nullproof.cleaning.plan import USUAL_BIAS
    from nullproof.cleaning.worksheet import ENDINGS, Work, lines_of
    from nullproof.cli.following import after_clean, shown_of
    from nullproof.cli.outputs import refuse_repaired, write_repaired
    from nullproof.cli.plans import show_plan
    from nullproof.files import to_json, write_result
    from nullproof.model.model import Model

    refuse_repaired(repaired, bool(answers))
    refuse_overwriting(
        {"-o": request.output, "--repaired": repaired},
        (request.train, request.test, request.like, *(answers or ())),
    )
    asked_bias = written_bias(bias) if bias else USUAL_BIAS
    with working("reading and counting"):
        index, points = request.load()
    options = {"costs": _costs(cost), "bias": asked_bias, **request.model(index)}
    own_missing = options.pop("own_missing")
    with working("planning") as say:
        judged = Model(index, options["alpha"], options["prior"], asked_bias)
        work = Work(
            index,
            judged.points(points, own_missing, **request.naming(points)),
            lambda: request.table,
            options,
            key=request.key,
            same_rows=request.test is None,
            lines=lambda: lines_of(Path(request.train), request.table, request.file),
        )
        brought = work.take(answers or [])
        plan = work.plan(budget, say)
    if repaired is not None:
        write_repaired(request, work, repaired, bias)
    own: dict[str, Any] = {
        "--budget": budget if budget is None else f"{budget:.15g}",
        "--cost": cost,
        "--bias": bias,
        "--answers": answers,
    }
    document = {**plan.document(brought), **request.whose}
    if request.output is not None and request.output.suffix in ENDINGS:
        n_cells = work.write_worksheet(request.output, plan)
        how = ", in the column 'value'" if n_cells else ": no missing cell would help another point"
        tell(f"wrote {request.output}: {many(n_cells, 'cell')} to fill in{how}")
        if n_cells:
            taken = {**own, "--answers": [*(answers or ()), request.output]}
            request.tell_next(typed("clean", request, taken))
    elif request.output is not None:
        write_result(request.output, plan.columns(), document)
        tell(f"wrote {request.output}: the plan, {many(len(plan.steps), 'step')}")
    if request.as_json:
        echo(to_json(document))
    elif request.output is None:
        shown = shown_of(request, show_all, after_clean(request, plan, own))
        show_plan(console(), plan, brought, shown)


@command(
    without={
        **dict.fromkeys(("--alpha", "--prior", "--own-missing", "--bias", "--check"), _QUESTION),
        "--json": "is for answers, and index writes counts to a file; leave it out",
        TEST: "index counts TRAIN alone, and TEST belongs to the question; leave it out here and give it "
        "to certify",
    },
    needs={"output": "no file was named for the index; add -o FILE"},
    helps={
        "train": "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -), folder or pattern.",
        "output": "File for the counts; its name may end in anything.",
    },
    endings=(),
)
def index(request: Request) -> None:
    """Count TRAIN and save the counts; the file can be TRAIN of every other command.

    [bold]Example:[/] nullproof index train.parquet --label churn -o churn.index
    """
    with working("reading and counting"):
        counted = request.count()
    counted.save(request.output)  # type: ignore[arg-type]  # needed above
    tell(f"wrote {request.output}: {counted!r}")
    tell(f"next: {typed('certify', Request(str(request.output), 'TEST.csv'))}")


def _costs(written: list[str] | None) -> dict[str, float]:
    """Read COLUMN=NUMBER pairs."""
    from nullproof.model.parameters import written_number

    pairs = [entry.rpartition("=") for entry in written or ()]
    for column, sign, cost in pairs:
        if not sign or not column:
            raise NullproofError(f"--cost is {cost!r}; give COLUMN=NUMBER")
    return {column: float(written_number(cost)) for column, _, cost in pairs}
