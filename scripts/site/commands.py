"""The command line as Markdown, from its own help."""

from __future__ import annotations

import re
from typing import Any

import typer

from nullproof.cli.program import program


def described() -> str:
    """Every command: what it does, an example, its arguments and options."""
    group = typer.main.get_command(program())
    return "\n\n".join(_command(name, one) for name, one in group.commands.items())


def _command(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=name)
    pieces = " ".join(command.collect_usage_pieces(context))
    text, _, example = command.help.partition("[bold]Example:[/]")
    parts = [
        f"## {name}",
        re.sub(r"\[/?\w*\]", "", text).strip(),
        f"```console\n$ {example.strip()}\n```",
        f"Usage: `nullproof {name} {pieces}`",
        _table([one for one in command.get_params(context) if one.name != "help"]),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(parameters: list[Any]) -> str:
    if not parameters:
        return ""
    rows = [f"| {_name(one)} | {_help(one)} |" for one in parameters]
    return "\n".join(["| | what it does |", "|---|---|", *rows])


def _name(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{one.metavar}`"
    names = " ".join([*one.opts, *one.secondary_opts])
    return _code(f"{names} {one.metavar or ''}".strip())


def _help(one: Any) -> str:
    said = re.sub(r"[|<*_\[]", lambda match: f"\\{match[0]}", one.help or "")
    shown = one.default if one.default not in (None, False, ()) else None
    return said if shown is None else f"{said} Default: {_code(str(shown))}."


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")
