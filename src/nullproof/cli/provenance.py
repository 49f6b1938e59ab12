"""Where a report comes from, as its command line says: files, date, options, and the command itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nullproof import __version__
from nullproof.cli.registry import typed
from nullproof.reporting.asked import Asked

if TYPE_CHECKING:
    from nullproof.cli.options import Request

# Told elsewhere in a report, or no option of the question.
_ELSEWHERE = ("train", "test", "as_json", "output")


def asked_of(request: Request, own: Mapping[str, Any], notices: Sequence[str]) -> Asked:
    """What a report tells of its origin; no command where a table came on standard input.

    ``own`` are the options that only report has, and the bias.
    """
    gone = "-" in (request.train, request.test)
    again, bias = {**own, "-o": request.output}, own["--bias"]
    commands = {
        "clean": typed("clean", request, {"--bias": bias, "-o": "worksheet.csv"}),
        "radius": typed("radius", request),
    }
    if request.is_index or request.is_lazy:
        commands["clean"] = typed("clean", request, {"--bias": bias})
    return Asked(
        train=_file(request.train),
        test=None if request.test is None else _file(request.test),
        date=_now().strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        command=None if gone else typed("report", request, again),
        options=_given(request),
        notices=notices,
        commands={} if gone else commands,
        training_rows=request.test is None,
    )


def _given(request: Request) -> list[tuple[str, str]]:
    """The options that were given, as they were written."""
    found = []
    for field in fields(request):
        value = getattr(request, field.name)
        if field.name not in _ELSEWHERE and value != field.default:
            written = ", ".join(value) if isinstance(value, list) else str(value)
            found.append((field.name.replace("_", " "), "yes" if value is True else written))
    return found


def _file(name: str) -> str:
    return "standard input" if name == "-" else Path(name).name


def _now() -> datetime:
    """The time, or what SOURCE_DATE_EPOCH says it is, so that a report can be made again to the letter."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
