"""The command line: arguments in, exit codes out; the work is done elsewhere."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nullproof import __version__
from nullproof.errors import NullproofError, NullproofWarning

if TYPE_CHECKING:
    from rich.console import Console

    from nullproof.index import CountIndex

app = typer.Typer(
    name="nullproof",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Train = Annotated[
    str, typer.Argument(metavar="TRAIN", help="Training table: CSV, TSV, Parquet or Arrow, or -.")
]
Test = Annotated[
    str | None,
    typer.Argument(metavar="TEST", help="Points to predict; by default the training rows."),
]
Label = Annotated[str | None, typer.Option("--label", metavar="COL", help="Column to predict.")]
Alpha = Annotated[str, typer.Option("--alpha", metavar="A", help="Smoothing, e.g. 0, 1 or 1/2.")]
PriorText = Annotated[
    str | None,
    typer.Option(
        "--prior", metavar="P", help="'uniform', or label=number,…; else label frequencies."
    ),
]
Bins = Annotated[
    str, typer.Option("--bins", metavar="N", help="Bins of numbers and dates, or 'none'.")
]
BinningName = Annotated[
    str, typer.Option("--binning", metavar="HOW", help="'uniform' or 'quantile'.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A spelling of missing, e.g. '?'; repeatable."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COL", help="A column to leave out; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write .csv, .parquet or .json."),
]
Check = Annotated[bool, typer.Option("--check", help="Exit 1 if a point is not robust.")]


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
    from nullproof.report.demo import show_demo

    show_demo(_console())


@app.command()
def certify(
    train: Train,
    test: Test = None,
    label: Label = None,
    alpha: Alpha = "0",
    prior: PriorText = None,
    bins: Bins = "5",
    binning: BinningName = "uniform",
    missing: Missing = None,
    ignore: Ignore = None,
    as_json: Json = False,
    output: Output = None,
    check: Check = False,
) -> None:
    """Tell for each point whether every world predicts the same label.

    [bold]Example:[/] nullproof certify train.csv test.csv --label churn --missing '?'
    """
    from nullproof.decision import certify as decide
    from nullproof.report import certificates
    from nullproof.report.files import write_result

    _refuse_output(output, train, test)
    smoothing = _number(alpha)
    with _working("reading and counting"):
        index, points = _load(train, test, label, _table_options(bins, binning, missing, ignore))
    with _working("certifying"):
        result = decide(index, points, alpha=smoothing, prior=_prior(prior, index))
    if output is not None:
        columns = certificates.as_columns(result)
        write_result(output, columns, certificates.document(index, result))
    if as_json:
        from nullproof.report.files import to_json

        typer.echo(to_json(certificates.document(index, result)))
    elif output is None:
        certificates.show(_console(), index, result)
    if check and not result.robust.all():
        raise typer.Exit(1)


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


def _console() -> Console:
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            # rich would exit with 1, which means that a point is not robust.
            raise BrokenPipeError

    return Pipe(highlight=False)


@contextmanager
def _working(what: str) -> Iterator[None]:
    """Show a spinner on a terminal while something long goes on."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(f"{what} …"):
            yield
    else:
        yield


def _load(
    train: str, test: str | None, label: str | None, options: dict[str, Any]
) -> tuple[CountIndex, Any]:
    from nullproof.index import CountIndex
    from nullproof.readers import open_table

    if train == test == "-":
        raise NullproofError("TRAIN and TEST are both standard input; give one of them as a file")
    as_text = [] if label is None else [label]
    table = open_table(train, missing=options["missing"], as_text=as_text)
    if label is None:
        raise NullproofError(
            f"no label column was named; add --label COL with one of {', '.join(table.names[:20])}"
        )
    index = CountIndex.from_table(table, label, **options)
    return index, table if test is None else test


def _table_options(
    bins: str, binning: str, missing: list[str] | None, ignore: list[str] | None
) -> dict[str, Any]:
    if bins.lower() != "none" and not bins.isdecimal():
        raise NullproofError(f"--bins is {bins!r}; give a whole number or none")
    return {
        "bins": None if bins.lower() == "none" else int(bins),
        "binning": binning,
        "missing": tuple(missing or ()),
        "ignore": tuple(ignore or ()),
    }


def _number(written: str) -> Any:
    try:
        return Fraction(written) if "/" in written else float(written)
    except (ValueError, ZeroDivisionError):
        raise NullproofError(f"{written!r} is not a number; give one like 0, 0.5 or 1/2") from None


def _prior(written: str | None, index: CountIndex) -> Any:
    if written is None or written == "uniform":
        return written
    parts = written.split(",")
    if "=" not in written:
        return [_number(part) for part in parts]
    named = dict(part.rpartition("=")[::2] for part in parts)
    labels = [str(label) for label in index.labels]
    if {*named} != {*labels}:
        raise NullproofError(
            f"--prior names {', '.join(named)} but the labels are {', '.join(labels)}; "
            "give one number for each"
        )
    return [_number(named[label]) for label in labels]


def _refuse_output(output: Path | None, *inputs: str | None) -> None:
    from nullproof.report.files import FORMATS

    if output is None:
        return
    if output.suffix not in FORMATS:
        raise NullproofError(
            f"-o {output} names no format by its ending; end it in {', '.join(FORMATS)}"
        )
    if not output.parent.is_dir():
        raise NullproofError(f"-o {output}: there is no folder {output.parent}; make it first")
    if any(name not in (None, "-") and _same_file(output, Path(str(name))) for name in inputs):
        raise NullproofError(f"-o {output} is a file that is read; give another name")


def _same_file(a: Path, b: Path) -> bool:
    return a.exists() and b.exists() and a.samefile(b)
