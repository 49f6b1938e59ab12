"""The program itself: its flags, all its commands, and here those that ask nothing about a table."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from nullproof.cli import audits, commands, reports, upkeep  # noqa: F401 (each enters its commands)
from nullproof.cli.registry import Command, Group
from nullproof.cli.streams import console, echo

app = typer.Typer(
    name="nullproof",
    cls=Group,
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


@app.command(cls=Command)
def demo() -> None:
    """Show what a certificate is, on an embedded example.

    [bold]Example:[/] nullproof demo
    """
    from nullproof.cli.demo import show_demo

    show_demo(console())


@app.command(cls=Command)
def serve(
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port; 0 for any free one.")
    ] = 8321,
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="Address to listen on.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST", help="A name the server is reached by; repeatable."),
    ] = None,
    max_upload: Annotated[
        int, typer.Option("--max-upload", metavar="MB", min=1, help="Largest file.")
    ] = 256,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=1, help="Most rows of a table.")
    ] = 2_000_000,
    browser: Annotated[
        bool | None,
        typer.Option("--browser/--no-browser", help="Open a browser; by default on a terminal."),
    ] = None,
) -> None:
    """Serve a local page to explore a table in, with a JSON API; Ctrl-C ends it.

    [bold]Example:[/] nullproof serve --port 8321
    """
    from nullproof.web.server import serve as serve_page
    from nullproof.web.settings import MEGABYTE, Settings

    serve_page(
        Settings(tuple(name or ()), max_upload=max_upload * MEGABYTE, max_rows=max_rows),
        host=host,
        port=port,
        say=lambda address: echo(f"nullproof serves {address} (Ctrl-C ends it)"),
        browser=sys.stdout.isatty() if browser is None else browser,
    )
