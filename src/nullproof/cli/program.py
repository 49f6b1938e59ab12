"""The Typer program: its commands and their options."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from math import inf
from typing import Annotated, Any

import typer

from nullproof.cli.options import COMMANDS, COUNTING, MODEL, OPTIONS, READING, flag
from nullproof.cli.streams import console, echo
from nullproof.errors import NullproofError

_PANELS = {
    "How the model predicts": (*MODEL, "own_missing"),
    "How columns become features": (*COUNTING, "drop_unlabelled"),
    "How files are read": READING,
}
_TRAIN = "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -) or saved index."
_TEST = "Points to predict; by default the training rows."


def program() -> typer.Typer:
    """Return the Typer program with all commands."""
    app = typer.Typer(
        name="nullproof",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

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
        from nullproof.cli.demo import show_demo

        show_demo(console())

    for name in COMMANDS:
        app.command(name)(_callback(name))

    @app.command()
    def serve(
        port: Annotated[
            int, typer.Option("--port", metavar="N", help="Port; 0 picks a free one.")
        ] = 8321,
        host: Annotated[
            str, typer.Option("--host", metavar="H", help="Address to listen on.")
        ] = "127.0.0.1",
        name: Annotated[
            list[str] | None,
            typer.Option("--name", metavar="HOST", help="A host name of the server; repeatable."),
        ] = None,
        max_upload: Annotated[
            int, typer.Option("--max-upload", metavar="MB", min=1, help="Largest file.")
        ] = 256,
        max_rows: Annotated[
            int,
            typer.Option(
                "--max-rows", metavar="N", min=1, help="Largest number of rows in a table."
            ),
        ] = 2_000_000,
        browser: Annotated[
            bool | None,
            typer.Option(
                "--browser/--no-browser", help="Open a browser; default: only on a terminal."
            ),
        ] = None,
    ) -> None:
        """Serve a local page for exploring a table, with a JSON API; Ctrl-C stops it.

        [bold]Example:[/] nullproof serve --port 8321
        """
        from nullproof.web.limits import MEGABYTE, Settings
        from nullproof.web.server import serve as serve_page

        serve_page(
            Settings(tuple(name or ()), max_upload=max_upload * MEGABYTE, max_rows=max_rows),
            host=host,
            port=port,
            say=lambda address: echo(f"nullproof is running at {address} (Ctrl-C stops it)"),
            browser=sys.stdout.isatty() if browser is None else browser,
        )

    return app


def _callback(name: str) -> Callable[..., None]:
    """Return the function that Typer calls; its signature lists the options of the command.

    Every option with a value is read as a list of texts, so that repeated options can be rejected and
    messages can quote the input.
    """
    command = COMMANDS[name]
    kind = inspect.Parameter.KEYWORD_ONLY
    info: Any = typer.Argument(metavar="TRAIN", help=command.helps.get("train", _TRAIN))
    parameters = [inspect.Parameter("train", kind, annotation=Annotated[str, info])]
    if command.test != "never":
        text = command.helps.get("test", _TEST)
        info = typer.Argument(metavar="TEST", help=text, show_default=False)
        hint: Any = Annotated[str | None, info]
        parameters.append(inspect.Parameter("test", kind, default=None, annotation=hint))
    for key in command.takes:
        option = OPTIONS[key]
        text = command.helps.get(key, option.help)
        text = f"{text.rstrip('.')}; repeatable." if option.many else text
        panel = next((title for title, keys in _PANELS.items() if key in keys), None)
        info = typer.Option(
            *(["--output"] if key == "output" else []),
            flag(key),
            # One space, since a flag takes no value.
            metavar=option.metavar or " ",
            help=text,
            show_default=False,
            rich_help_panel=panel,
        )
        takes: Any = list[str] | None if option.metavar else bool
        nothing = None if option.metavar else False
        hint = Annotated[takes, info]
        parameters.append(inspect.Parameter(key, kind, default=nothing, annotation=hint))

    def run(train: str, test: str | None = None, **given: Any) -> None:
        # Imported here, since help does not need it.
        from nullproof.cli import commands
        from nullproof.cli.request import Request, refuse_output, refuse_together

        if command.test == "must" and test is None:
            raise NullproofError("there are no points to predict; give TEST after TRAIN")
        given = {key: _value(key, given[key]) for key in command.takes}
        values = {key: given.get(key, option.default) for key, option in OPTIONS.items()}
        request = Request(train=train, test=test, **values)
        refuse_together(request)
        refuse_output(request, command.endings)
        getattr(commands, name)(request)

    run.__name__ = name
    run.__doc__ = f"{command.does}\n\n[bold]Example:[/] nullproof {command.example}"
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _value(key: str, given: Any) -> Any:
    """Parse the values of an option; reject repeated values unless the option allows them."""
    option = OPTIONS[key]
    if not given:
        return option.default
    if not option.metavar:
        return True
    if option.many:
        return [*given]
    if len(given) > 1:
        raise NullproofError(f"{flag(key)} is given {len(given)} times; give it once")
    try:
        value = option.type(given[0])
    except ValueError:
        kind = "whole number" if option.type is int else "number"
        raise NullproofError(f"{flag(key)} is {given[0]!r}; give a {kind}") from None
    if option.least is not None and not option.least <= value <= option.most:
        ends = (
            f"{option.least} or more" if option.most == inf else f"a number from 0 to {option.most}"
        )
        raise NullproofError(f"{flag(key)} is {given[0]}; give {ends}")
    return value
