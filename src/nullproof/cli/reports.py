"""The command that writes a report, to send round."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nullproof.cli.options import Request
from nullproof.cli.registry import command
from nullproof.cli.streams import echo, noting, tell, working
from nullproof.cli.written import BiasOption, written_bias
from nullproof.errors import NullproofError

_REPORTS = {
    "html": "open it in a browser, or send it round; it needs nothing else",
    "md": "Markdown, to read or to paste",
    "json": "its keys are in docs/report.md",
}


@command(helps={"output": "Write the report: .html, .md or .json."}, endings=())
def report(
    request: Request,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help="html, md or json; else by the ending of -o."),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option("--compare", metavar="JSON", help="A report as JSON to put beside this one."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="How many points to tell one by one; else 200."),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--point",
            metavar="POINT",
            help="Tell of this point too (by --key or position); repeatable.",
        ),
    ] = None,
    bias: BiasOption = None,
) -> None:
    """Write a report to send round: how certain, why not more, how fragile; -o FILE.html, .md, .json.

    [bold]Example:[/] nullproof report train.csv test.csv --label churn -o report.html
    """
    from nullproof.cli.provenance import asked_of
    from nullproof.reporting.comparison import read
    from nullproof.reporting.document import LIMIT
    from nullproof.reporting.reports import FORMATS, format_of
    from nullproof.reporting.reports import report as tell_of

    written = form
    if form not in (None, "json") and request.as_json and request.output is None:
        raise NullproofError(
            f"--json and --format {form} are both given; leave one out, or name a file for one: -o FILE"
        )
    if form is None:
        form = "json" if request.as_json else "md"
        if request.output is not None:
            form = format_of(request.output)
    if form not in FORMATS:
        raise NullproofError(f"--format is {form!r}; give html, md or json")
    asked_bias = written_bias(bias)
    again: dict[str, Any] = {"--bias": bias, "--format": written, "--compare": compare}
    again |= {"--limit": limit, "--point": also}
    if compare is not None:
        # A mistake there is told before the work, not after it.
        read(compare)
    with noting() as notices, working("reading and counting"):
        index, points = request.load()
        labels = request.truth(index, points)
    with working("writing the report") as say:
        told = tell_of(
            index,
            points,
            on_progress=say,
            bias=asked_bias,
            truth=labels,
            asked=asked_of(request, again, notices),
            limit=LIMIT if limit is None else limit,
            also=also or (),
            **request.model(index),
            **request.naming(points),
        )
        if compare is not None:
            told = told.compared(compare)
        if request.output is not None:
            told.save(request.output, form)
            tell(f"wrote {request.output}: {_REPORTS[form]}")
    if request.output is None:
        echo(told.written(form).rstrip("\n"))
    elif request.as_json:
        echo(told.json())
