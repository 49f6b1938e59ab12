"""Where an analysis comes from, for its report: files, date, notices, commands that say the same."""

from __future__ import annotations

import shlex
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from nullproof import __version__
from nullproof.errors import NullproofWarning
from nullproof.model.parameters import written_number
from nullproof.reporting.asked import Asked

# The options of an order that the command line has too, by their flags.
_FLAGS = {
    "alpha": "--alpha",
    "prior": "--prior",
    "bins": "--bins",
    "binning": "--binning",
    "missing": "--missing",
    "missing_only": "--missing-only",
    "missing_is_value": "--missing-is-value",
    "ignore": "--ignore",
    "keep": "--keep",
    "own_missing": "--own-missing",
    "key": "--key",
    "bias": "--bias",
}
_local = threading.local()


def asked_of(
    order: Mapping[str, Any],
    usual: Mapping[str, Any],
    train: str,
    points: str | None,
    answers: Sequence[str] = (),
) -> Asked:
    """What the report tells of its origin.

    Parameters
    ----------
    usual
        An order of nothing but defaults.
    train, points, answers
        The names of the uploaded files: tables, and worksheets that were filled in.
    """
    given = {name: order[name] for name in order if order[name] != usual.get(name)}
    if written_number(str(order["alpha"])) == usual["alpha"]:
        given.pop("alpha", None)
    # Cells that were changed, and labels under another name, are beyond the command line.
    again = not order["changes"] and order["truth"] in (None, order["label"])
    commands = _commands(given, train, points, answers) if again else {}
    return Asked(
        train=train,
        test=points,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        command=commands.get("report"),
        options=[
            (name.replace("_", " "), _written(value))
            for name, value in given.items()
            if name in _FLAGS or name in ("label", "unlabelled", "truth")
        ]
        + [("answers", name) for name in [", ".join(answers)] if name],
        notices=told(),
        commands=commands,
        training_rows=points is None,
    )


def _commands(
    given: Mapping[str, Any], train: str, points: str | None, answers: Sequence[str]
) -> dict[str, str]:
    """What to type by verb; only clean takes answers."""
    if answers:
        more = [word for name in answers for word in ("--answers", name)]
        more += ["-o", f"worksheet{len(answers) + 1}.csv"]
        return {"clean": _typed("clean", given, train, points, more)}
    return {
        "report": _typed("report", given, train, points, ["-o", "report.html"]),
        "clean": _typed("clean", given, train, points, ["-o", "worksheet.csv"]),
        "radius": _typed("radius", given, train, points, []),
    }


def _typed(
    verb: str, given: Mapping[str, Any], train: str, points: str | None, more: Sequence[str]
) -> str:
    """A command that can be pasted into a shell, in the folder of the files."""
    words = ["nullproof", verb, train, *([] if points is None else [points])]
    words += ["--label", given["label"]]
    for name, flag in _FLAGS.items():
        values = given.get(name, [])
        if verb == "radius" and name == "bias":
            continue
        for value in values if isinstance(values, list) else [values]:
            words += [flag, str(value)]
    words += ["--drop-unlabelled"] if given.get("unlabelled") == "drop" else []
    return shlex.join([*words, *more])


def _written(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def listening() -> Iterator[None]:
    """Keep what this thread is told by notices; threads share one way to show them."""
    _local.told = []
    try:
        yield
    finally:
        _local.told = []


def told() -> list[str]:
    """What this thread was told since it listens."""
    return [*getattr(_local, "told", [])]


def retell(rewrite: Callable[[str], str]) -> None:
    """Say what this thread was told in other words."""
    _local.told = [rewrite(notice) for notice in told()]


def keep_notices() -> None:
    """Let every thread keep its own notices, instead of writing them to the terminal."""
    warnings.filterwarnings("always", category=NullproofWarning)
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, NullproofWarning):
            getattr(_local, "told", []).append(str(message))
        else:
            shown(message, category, *where, **more)

    warnings.showwarning = show
