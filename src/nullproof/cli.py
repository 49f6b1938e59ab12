"""The command line: commands in, exit codes out; the work is done elsewhere."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nullproof import __version__
from nullproof.arguments import Request, command, console, echo, working
from nullproof.errors import NullproofError, NullproofWarning

if TYPE_CHECKING:
    from nullproof.blanking.attack import Attack

app = typer.Typer(
    name="nullproof",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_TABLES = (".csv", ".parquet")
Check = Annotated[bool, typer.Option("--check", help="Exit 1 if a point is not robust.")]
SkipUnbreakable = Annotated[
    bool, typer.Option("--skip-unbreakable", help="Leave out points that no attack can break.")
]


@app.callback()
def _options(
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notices.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Which predictions hold whatever the missing training values really were.

    [bold]Example:[/] nullproof certify train.csv test.csv --label churn
    """


@app.command()
def demo() -> None:
    """Show what a certificate is, on an embedded example.

    [bold]Example:[/] nullproof demo
    """
    from nullproof.reporting.demo import show_demo

    show_demo(console())


@command(app)
def certify(request: Request, check: Check = False) -> None:
    """Tell for each point whether every world predicts the same label.

    [bold]Example:[/] nullproof certify train.csv test.csv --label churn --missing '?'
    """
    from nullproof.decision import certify as decide
    from nullproof.reporting import certificates

    with working("reading and counting"):
        index, points = request.load()
    with working("certifying"):
        result = decide(index, points, **request.model(index))
    request.answer(
        lambda: certificates.document(index, result),
        lambda: certificates.as_columns(result),
        lambda console: certificates.show(console, index, result),
    )
    if check and not result.robust.all():
        raise typer.Exit(1)


@command(app)
def radius(request: Request, check: Check = False) -> None:
    """Tell how many training cells would have to be blanked before a prediction is not certain.

    [bold]Example:[/] nullproof radius train.csv test.csv --label churn -o radii.csv
    """
    from nullproof.blanking.radii import radii
    from nullproof.reporting import radii as report

    with working("reading and counting"):
        index, points = request.load()
    with working("finding the fewest cells for each point"):
        result = radii(index, points, **request.model(index))
    request.answer(
        lambda: report.document(result),
        lambda: report.as_columns(result),
        lambda console: report.show(console, index, result),
    )
    if check and not result.radius.all():
        raise typer.Exit(1)


@command(app)
def poison(
    request: Request,
    skip_unbreakable: SkipUnbreakable = False,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="How long to look for less.")
    ] = 10.0,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="Rounds instead of a time limit.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the search.")] = 0,
) -> None:
    """Choose training cells to blank so that no point of TEST is certain; -o writes that table.

    [bold]Example:[/] nullproof poison train.csv test.csv --label churn -o poisoned.csv
    """
    from nullproof.blanking.poisoning import poison as attack_on
    from nullproof.reporting import attacks
    from nullproof.reporting.files import to_json

    if request.test is None:
        raise NullproofError("no points to attack were named; give TEST after TRAIN")
    if request.output is not None and request.output.suffix not in _TABLES:
        raise NullproofError(
            f"-o {request.output} is to be the poisoned table; end it in {' or '.join(_TABLES)}"
        )
    with working("reading and counting"):
        index, points = request.load()
        table = request.table
    with working("looking for an attack") as say:
        attack = attack_on(
            index,
            points,
            time_limit=time_limit,
            steps=steps,
            seed=seed,
            skip_unbreakable=skip_unbreakable,
            on_progress=lambda best, bound: say(_progress(best, bound)),
            **request.model(index),
        )
    if request.output is not None:
        _write_poisoned(attack, request, request.output)
    if request.as_json:
        echo(to_json(attacks.document(attack, attack.cells(table))))
    elif request.output is None:
        attacks.show(console(), attack)


@command(app)
def odds(
    request: Request,
    cells: Annotated[
        str, typer.Option("--cells", metavar="HOW", help="Holes are 'uniform' or as 'observed'.")
    ] = "uniform",
    gap: Annotated[
        float, typer.Option("--gap", metavar="G", help="How far apart the bounds may be.")
    ] = 0.01,
) -> None:
    """Tell how likely each label is when the holes are filled by chance, with guaranteed bounds.

    [bold]Example:[/] nullproof odds train.csv test.csv --label churn --gap 0.001
    """
    from nullproof.odds.odds import label_odds
    from nullproof.reporting import odds as report

    with working("reading and counting"):
        index, points = request.load()
    with working("weighing the worlds"):
        result = label_odds(index, points, cells=cells, gap=gap, **request.model(index))  # type: ignore[arg-type]
    request.answer(
        lambda: report.document(result),
        lambda: report.as_columns(result),
        lambda console: report.show(console, index, result),
    )


@command(app)
def index(request: Request) -> None:
    """Count TRAIN and save the counts; the file can be TRAIN of every other command.

    [bold]Example:[/] nullproof index train.parquet --label churn -o churn.index
    """
    if request.output is None:
        raise NullproofError("no file was named for the index; add -o FILE")
    with working("reading and counting"):
        counted = request.count()
    counted.save(request.output)
    typer.echo(repr(counted), err=True)


def _progress(best: int, bound: int) -> str:
    gap = f", {best / bound - 1:.0%} apart" if bound else ""
    return f"best {best:,} cells, at least {bound:,} needed{gap} (Ctrl-C keeps the best)"


def _write_poisoned(attack: Attack, request: Request, path: Path) -> None:
    """Write the table as it was read, text as it was written, with the attacked cells blank."""
    import narwhals as nw

    from nullproof.reading.files import read_file
    from nullproof.reading.tables import set_cells
    from nullproof.writing import write_whole

    table = request.table
    changes: dict[str, dict[int, Any]] = {}
    for row, column in attack.cells(table):
        changes.setdefault(column, {})[row] = None
    frame = table.frame
    if request.train != "-":
        frame = nw.from_native(read_file(request.train, as_text=table.names)[0])
    poisoned = set_cells(frame, changes)
    write_whole(path, poisoned.write_csv if path.suffix == ".csv" else poisoned.write_parquet)


def main() -> None:
    """Run the command line and turn every error into one line and exit code 2."""
    arguments = sys.argv[1:]
    debug = _take(arguments, "--debug")
    quiet = _take(arguments, "-q") | _take(arguments, "--quiet")
    if "--version" in arguments:
        typer.echo(f"nullproof {__version__}")
        sys.exit(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if quiet else "always", NullproofWarning)
            warnings.showwarning = _show_notice
            code = app(arguments or ["--help"], prog_name="nullproof", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone (| head): not an error, and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except (NullproofError, OSError, MemoryError) as problem:
        if debug:
            raise
        _fail(str(problem) or type(problem).__name__)
    except Exception as problem:
        if debug:
            raise
        # typer brings its own copy of click, so its errors are told by what they can do.
        if type(problem).__name__ == "Abort":
            _fail("interrupted", 130)
        if hasattr(problem, "format_message"):
            _fail(f"{problem.format_message().rstrip('.')}; see nullproof --help")
        _fail(f"{type(problem).__name__}: {problem}; this is a mistake in nullproof, see --debug")
    sys.exit(code if isinstance(code, int) else 0)


def _take(arguments: list[str], flag: str) -> bool:
    """Allow a flag of the whole program anywhere on the line."""
    found = flag in arguments
    while flag in arguments:
        arguments.remove(flag)
    return found


def _fail(message: str, code: int = 2) -> None:
    typer.echo(f"nullproof: {' '.join(message.split())}", err=True)
    sys.exit(code)


def _show_notice(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, NullproofWarning):
        typer.echo(f"note: {message}", err=True)
