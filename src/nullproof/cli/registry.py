"""Which command has which options: what its help lists, what it refuses and why, how it is typed again."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields
from operator import getitem
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from nullproof.cli.options import Request
from nullproof.cli.refusals import refuse_output, refuse_together
from nullproof.errors import NullproofError
from nullproof.files import FORMATS
from nullproof.words import either

TEST = "TEST"


class _Entry(NamedTuple):
    """A command and what `command` was told of it."""

    function: Callable[..., None]
    without: Mapping[str, str]
    needs: Mapping[str, str]
    helps: Mapping[str, str]
    endings: Collection[str]


_ENTRIES: dict[str, _Entry] = {}


def command(
    *,
    without: Mapping[str, str] | None = None,
    needs: Mapping[str, str] | None = None,
    helps: Mapping[str, str] | None = None,
    endings: Collection[str] = FORMATS,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a command whose first parameter is a `Request`: its fields become arguments too.

    Parameters
    ----------
    without
        Options (``"--alpha"``, ``TEST``) that the command does not have, each with the reason that a
        person is told who gives it.
    needs
        Fields of `Request` that must be given here, each with what a person is told who does not.
    helps
        Fields of `Request` whose help says something else here.
    endings
        How the name of the answer's file may end; empty for anything.
    """

    def enter(function: Callable[..., None]) -> Callable[..., None]:
        _ENTRIES[function.__name__] = _Entry(
            function, without or {}, needs or {}, helps or {}, endings
        )
        return function

    return enter


def typed(
    name: str, request: Request, more: Mapping[str, Any] | None = None, **changes: Any
) -> str:
    """A command on the same tables with the same options, as one types it.

    Options that the command does not have are left out, and so is where the answer goes.

    Parameters
    ----------
    more
        Options of the command's own; those that are None, False or empty are left out.
    changes
        Other values of fields of the request.
    """
    words = ["nullproof", name]
    changes = {"as_json": False, "output": None, **changes}
    defaults = {field.name: field.default for field in fields(Request)}
    for field_name, info in _shared().items():
        option = _names(info)[0]
        value = changes.get(field_name, getattr(request, field_name))
        if value == defaults[field_name] or option in _ENTRIES[name].without:
            continue
        words += [str(value)] if isinstance(info, ArgumentInfo) else _words(option, value)
    for option, value in (more or {}).items():
        words += _words(option, value)
    return shlex.join(words)


def asked_for(app: typer.Typer, arguments: Sequence[str] = ()) -> typer.Typer:
    """The program with all commands, or with the named one alone: working out options takes time."""
    program = copy(app)
    plain = {one.callback.__name__: one for one in app.registered_commands}  # type: ignore[union-attr]
    named = {*arguments[:1]} & {*plain, *_ENTRIES} or {*plain, *_ENTRIES}
    program.registered_commands = [one for name, one in plain.items() if name in named]
    for name, entry in _ENTRIES.items():
        if name in named:
            program.command(cls=Command)(_callback(entry))
    return program


def _callback(entry: _Entry) -> Callable[..., None]:
    """The function that typer calls: its parameters are fields of a request, then the command's own."""
    shared = [
        _parameter(name, info, name in entry.needs, entry.helps.get(name))
        for name, info in _shared().items()
        if not {*_names(info)} & {*entry.without}
    ]
    own_hints = get_type_hints(entry.function, include_extras=True)
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[parameter.name])
        for parameter in list(inspect.signature(entry.function).parameters.values())[1:]
    ]

    @functools.wraps(entry.function)
    def run(**arguments: Any) -> None:
        request = Request(**{p.name: arguments.pop(p.name) for p in shared})
        refuse_together(request)
        refuse_output(request, entry.endings)
        entry.function(request, **arguments)

    run.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*shared, *own)}
    del run.__wrapped__
    return run


def refusal(app: typer.Typer, problem: Any) -> str | None:
    """What to tell of an option or argument that typer refused, where we can say why."""
    context = getattr(problem, "ctx", None)
    if context is None or context.parent is None:
        return None
    name, entry = context.info_name, _ENTRIES.get(context.info_name)
    missed = str(getattr(getattr(problem, "param", None), "name", None))
    needs, without = (entry.needs, entry.without) if entry else ({}, {})
    if "Missing" in type(problem).__name__ and missed in needs:
        return needs[missed]
    option = getattr(problem, "option_name", None)
    if option is None:
        extra = "unexpected extra argument" in problem.format_message()
        return without[TEST] if extra and TEST in without else None
    if option in without:
        return f"{option} {without[option]}"
    every = typer.main.get_command(asked_for(app)).commands.values()  # type: ignore[attr-defined]
    others = [other for other in every if _has(other, option)]
    if not others or type(problem).__name__ != "NoSuchOption":
        return None
    owners = either([str(other.name) for other in others], "and")
    return f"{option} belongs to {owners}, not to {name}; leave it out"


class _PlainHelp:
    """Help as a person reads it: flags take no value, and TRAIN stands without braces."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            if hasattr(parameter, "get_runtime_param"):
                parameter.get_runtime_param = _Reader(parameter).itself
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: Iterable[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.strip("{}") for piece in pieces]


class _Reader:
    """Reads what is given for an option; texts and paths as they stand.

    typer loads pydantic to read any value, which takes a tenth of a second at each start of the command.
    It is asked only for numbers that are written on the line.
    """

    def __init__(self, parameter: Any) -> None:
        self.kind, self.typer_reader = (
            parameter.type_descriptor.annotation,
            parameter.get_runtime_param,
        )

    def itself(self) -> _Reader:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple else None
        if self.kind is Path:
            return Path(value)
        if self.kind == list[str]:
            return [*value]
        if isinstance(self.kind, type) and isinstance(value, self.kind):
            return value
        return self.typer_reader().coerce(value, param=param, ctx=ctx)


class Command(_PlainHelp, TyperCommand):
    """A command with plain help, in which an option that takes a value is given once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        for parameter, times in Counter(given).items():
            is_flag, many = (
                getattr(parameter, "is_flag", True),
                getattr(parameter, "multiple", True),
            )
            if times > 1 and not is_flag and not many:
                raise NullproofError(f"{parameter.opts[-1]} is given {times} times; give it once")
        return super().parse_args(ctx, args)


class Group(_PlainHelp, TyperGroup):
    """The whole program with plain help, the server last."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: name == "serve")


def _shared() -> dict[str, ArgumentInfo | OptionInfo]:
    """The fields of a request, each with what typer knows of it."""
    return {field.name: _hints()[field.name].__metadata__[0] for field in fields(Request)}


@functools.cache
def _hints() -> dict[str, Any]:
    """The types of a request's fields, read once: every start of the command asks for them often."""
    return get_type_hints(Request, include_extras=True)


def _names(info: ArgumentInfo | OptionInfo) -> list[str]:
    """How an option is written, the long name first; of an argument its metavar."""
    if isinstance(info, ArgumentInfo):
        return [str(info.metavar)]
    # In an annotation the first name stands where the default would.
    return sorted((str(info.default), *(info.param_decls or ())), key=len, reverse=True)


def _words(option: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    given = value if isinstance(value, list) else [value]
    return [word for one in given for word in (option, str(one))]


def _has(other: Any, option: str) -> bool:
    return any(option in parameter.opts for parameter in other.params)


def _parameter(
    name: str, info: ArgumentInfo | OptionInfo, needed: bool, told: str | None
) -> inspect.Parameter:
    """A field of a request as a parameter of a command."""
    hint = _hints()[name]
    default = getattr(Request, name, inspect.Parameter.empty)
    if told is not None:
        info = copy(info)
        info.help = told
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if needed else default,
        annotation=getitem(Annotated, (hint.__origin__, info)),
    )
