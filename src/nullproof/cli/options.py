"""Every command and every option, declared once: names, meaning, how a value is read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nullproof.errors import NullproofError

if TYPE_CHECKING:
    from nullproof.counts.index import CountIndex

TABLES = (".csv", ".parquet")
RESULTS = (".csv", ".parquet", ".json")
MODELS = ("hist-gradient-boosting", "logistic-regression", "random-forest")


class Option(NamedTuple):
    """An option: what it takes (nothing for a flag), its help, how its value is read.

    ``flag`` is how it is written, where that does not follow from its key.
    """

    metavar: str
    help: str
    read: Callable[[str, str], Any] = lambda _name, text: text
    many: bool = False
    default: Any = None
    flag: str | None = None


def _whole(least: int | None = None) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise NullproofError(f"{name} is {text!r}; give a whole number") from None
        if least is not None and number < least:
            raise NullproofError(f"{name} is {number}; give {least} or more")
        return number

    return read


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NullproofError(f"{name} is {text!r}; give a number") from None


def _share(name: str, text: str) -> float:
    number = _number(name, text)
    if not 0 <= number <= 1:
        raise NullproofError(f"{name} is {text}; give a share from 0 to 1")
    return number


def _path(_name: str, text: str) -> Path:
    return Path(text)


def _switch(help_: str) -> Option:
    return Option("", help_, default=False)


OPTIONS: dict[str, Option] = {
    "label": Option("COL", "Column to predict."),
    "alpha": Option("A", "Smoothing, e.g. 0, 1 or 1/2; else 1.", default="1"),
    "prior": Option("P", "'uniform', or label=number,…; else the frequencies of the labels."),
    "own_missing": Option(
        "HOW",
        "Missing cells of the points: 'skip' them (the default), or let them hold 'any' value.",
        default="skip",
    ),
    "bias": Option(
        "[COL=]B",
        "How far missing cells may differ from known cells, 0 to 1 (anything).",
        many=True,
    ),
    "bins": Option("N", "How many bins 'uniform' and 'quantile' make; else 5.", _whole(1)),
    "binning": Option(
        "[COL=]HOW", "'mdl' (the default), 'uniform', 'quantile' or 'none'.", many=True
    ),
    "weights": Option(
        "[COL=]WEIGHT",
        "How much columns count: 'learned' (the default), 'equal', or a multiple of 1/8 from 0 to 2.",
        many=True,
    ),
    "missing": Option(
        "[COL=]TEXT",
        "A spelling of missing, in one column or in all, besides empty, NA, N/A, NaN, null, ?, #N/A, <NA>, "
        "and none, - and . unless they are values.",
        many=True,
    ),
    "missing_only": Option("TEXT", "A spelling of missing instead of those.", many=True),
    "missing_is_value": Option("COL", "A column where missing is an answer of its own.", many=True),
    "ignore": Option("COL", "A column to leave out.", many=True),
    "keep": Option("COL", "A column to count although it seems to name the rows.", many=True),
    "key": Option("COL", "A column that names the rows of TRAIN and TEST; not a feature."),
    "drop_unlabelled": _switch("Leave out rows of TRAIN without a label."),
    "encoding": Option("NAME", "Encoding of text files, e.g. cp1250; else UTF-8."),
    "no_header": _switch("The first row is data; the columns are c1, c2, …"),
    "skip_rows": Option("N", "Lines above the header to skip; else 0.", _whole(0), default=0),
    "sheet": Option("NAME", "Sheet of Excel files; else the first."),
    "like": Option("INDEX", "Saved index whose bins and domains to use."),
    "memory_limit": Option("SIZE", "Let DuckDB count TRAIN within this memory, e.g. 1GB."),
    "check": _switch("Exit 1 if a point is not certain or, with --bias, does not hold."),
    "min_share": Option(
        "S", "With --check: exit 1 if a smaller share of the points passes; else 1.", _share
    ),
    "min_radius": Option(
        "N", "With --check: a point passes if its radius is N or more.", _whole(1)
    ),
    "explain": Option(
        "POINT", "Show which cells of one point (by --key or position) speak for it."
    ),
    "rival": Option("LABEL", "Explain against this label, not the strongest rival."),
    "point": Option("POINT", "One point alone, by --key or position."),
    "threat": Option(
        "WHAT", "'cells' that are blanked or wrong, or added 'rows'.", default="cells"
    ),
    "only_columns": Option("COL", "Blank cells of this column alone.", many=True),
    "curve": _switch("How many predictions are right and stay so, by attack."),
    "skip_unbreakable": _switch("Leave out points that no attack can break."),
    "time_limit": Option("SECONDS", "How long to look for less; else 10.", _number, default=10.0),
    "steps": Option("N", "Rounds instead of a time limit.", _whole(0)),
    "seed": Option("N", "Seed of the search; else 0.", _whole(), default=0),
    "cells": Option(
        "HOW",
        "Chance fills missing cells as 'observed' in their label and column, or 'uniform'.",
        default="observed",
    ),
    "budget": Option("N", "The most cells.", _number),
    "answers": Option("FILE", "A worksheet, filled in.", many=True),
    "repaired": Option("FILE", "Write TRAIN with the answers.", _path),
    "compare": Option("JSON", "A report as JSON to put beside this one.", _path),
    "limit": Option("N", "How many points to list one by one; else 200.", _whole(0)),
    "also": Option(
        "POINT", "List this point too, by --key or position.", many=True, flag="--point"
    ),
    "model_name": Option(
        "NAME",
        "hist-gradient-boosting (the default), logistic-regression or random-forest.",
        default=MODELS[0],
        flag="--model",
    ),
    "worlds": Option("N", "Completed tables to fit on; else 32.", _whole(2), default=32),
    "all": _switch("Show every line, not only the first."),
    "json": _switch("Print JSON."),
    "output": Option("FILE", "Write .csv, .parquet or .json.", _path, flag="-o"),
}


def flag(key: str) -> str:
    """Return how an option is written: ``--own-missing``."""
    return OPTIONS[key].flag or f"--{key.replace('_', '-')}"


# How a file is read; and what is asked when a table is counted, but not where it is counted like an index.
READING = ("encoding", "no_header", "skip_rows", "sheet", "like", "memory_limit")
COUNTING = (
    *("bins", "binning", "weights", "missing", "missing_only"),
    *("missing_is_value", "ignore", "keep"),
)
TABLE = ("label", *COUNTING, "key", "drop_unlabelled", *READING)
MODEL = ("alpha", "prior")
# What the next command takes over: the rest belongs to one question.
SHARED = (*TABLE, *MODEL, "own_missing")
_ANSWER = ("json", "output")


class Command(NamedTuple):
    """A command: the options that it takes, and how its help differs from theirs.

    ``endings`` are those of the file of its answer, any if empty. TEST ``"may"``, ``"must"`` or can
    ``"never"`` be given.
    """

    takes: tuple[str, ...]
    helps: Mapping[str, str]
    endings: tuple[str, ...] = RESULTS
    test: str = "may"


COMMANDS: dict[str, Command] = {
    "certify": Command(
        (*SHARED, "bias", "check", "min_share", "explain", "rival", "all", *_ANSWER), {}
    ),
    "radius": Command(
        (
            *(*TABLE, *MODEL, "point", "threat", "only_columns", "check", "min_radius"),
            *("min_share", "curve", "all", *_ANSWER),
        ),
        {"check": "Exit 1 if a point is not certain or, with --min-radius, has a smaller radius."},
    ),
    "poison": Command(
        (
            *(*TABLE, *MODEL, "point", "threat", "only_columns", "skip_unbreakable"),
            *("time_limit", "steps", "seed", "all", *_ANSWER),
        ),
        {
            "train": "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -).",
            "test": "Points to attack.",
            "memory_limit": "Count TRAIN by DuckDB within, e.g., 1GB; with --key.",
            "output": "Write TRAIN with the attacked cells blank: .csv or .parquet.",
        },
        TABLES,
        "must",
    ),
    "odds": Command((*TABLE, *MODEL, "cells", "point", "all", *_ANSWER), {}),
    "clean": Command(
        (*TABLE, *MODEL, "bias", "budget", "answers", "repaired", "all", *_ANSWER),
        {"output": "Write a worksheet to fill in (.csv, .xlsx) or the plan (.json)."},
        (".csv", ".xlsx", ".json"),
    ),
    "report": Command(
        (*SHARED, "bias", "compare", "limit", "also", *_ANSWER),
        {"output": "Write the report: .html, .md or .json."},
        (),
    ),
    "index": Command(
        (*TABLE, "output"),
        {
            "train": "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -), folder or pattern.",
            "output": "File for the counts; its name may end in anything.",
        },
        (),
        "never",
    ),
    "audit": Command(
        (
            *(key for key in TABLE if key not in ("weights", "memory_limit")),
            *("bias", "model_name", "worlds", "seed", "check", "min_share", "all", *_ANSWER),
        ),
        {
            "check": "Exit 1 if a prediction was seen to change.",
            "min_share": "With --check: exit 1 if a smaller share stays the same; else 1.",
            "seed": "Seed of the worlds; else 0.",
        },
        test="must",
    ),
}


def typed(name: str, files: list[Any], values: Mapping[str, Any]) -> str:
    """Write a command as one types it: its files, then the options it takes that are not the default."""
    words = ["nullproof", name, *map(str, files)]
    for key in COMMANDS[name].takes:
        value = values.get(key)
        if value is None or value == OPTIONS[key].default or value == []:
            continue
        for given in value if isinstance(value, list) else [value]:
            if isinstance(given, float):
                given = f"{given:.15g}"
            words += [flag(key)] if value is True else [flag(key), str(given)]
    return shlex.join(words)


# Options written in a small language ------------------------------------------------------------------


def written_prior(written: str | None, index: CountIndex) -> Any:
    """Read a prior: its name, numbers, or numbers by label."""
    from nullproof.model.parameters import written_number

    if written is None or written == "uniform":
        return written
    parts = written.split(",")
    if "=" not in written:
        return [written_number(part) for part in parts]
    named = dict(part.rpartition("=")[::2] for part in parts)
    labels = [str(label) for label in index.labels]
    if {*named} != {*labels}:
        raise NullproofError(
            f"--prior names {', '.join(named)} but the labels are {', '.join(labels)}; give one number for "
            "each"
        )
    return [written_number(named[label]) for label in labels]


def written_bias(written: list[str] | None, default: Any = 1.0) -> Any:
    """Read a number, or numbers by column; a number without a column is that of the rest."""
    from nullproof.model.parameters import written_number

    needed = "a number from 0 to 1, or COLUMN=NUMBER"
    return _by_column("--bias", written, default, written_number, needed)


def written_binning(written: list[str] | None) -> Any:
    """Read a way to make bins, or ways by column; one without a column is that of the rest."""
    return _by_column("--binning", written, "mdl", str)


def written_weights(written: list[str] | None) -> Any:
    """Read how weights are found, or weights by column; one without a column is that of the rest."""
    from nullproof.model.parameters import REST, written_number

    def read(value: str) -> Any:
        return value if value in ("equal", "learned") else written_number(value)

    needed = "learned, equal, or COLUMN=NUMBER with a multiple of 1/8 from 0 to 2"
    found = _by_column("--weights", written, "learned", read, needed)
    return found if isinstance(found, str | dict) else {REST: found}


def _by_column(
    option: str,
    written: list[str] | None,
    default: Any,
    read: Callable[[str], Any],
    needed: str = "",
) -> Any:
    """Read entries VALUE and COLUMN=VALUE: one value for all, or a mapping that names the rest ``*``."""
    from nullproof.model.parameters import REST

    found: dict[str, Any] = {}
    for entry in written or ():
        column, sign, value = entry.rpartition("=")
        column = column if sign else REST
        if column in found:
            which = "the rest" if column == REST else repr(column)
            raise NullproofError(f"{option} gives {which} two values; give one")
        try:
            found[column] = read(value)
        except NullproofError:
            raise NullproofError(f"{option} is {entry!r}; give {needed}") from None
    return found.get(REST, default) if not {*found} - {REST} else found


def plain_bias(bias: Any) -> Any:
    """Return a bias as JSON writes it."""
    if isinstance(bias, dict):
        return {column: float(number) for column, number in bias.items()}
    return float(bias)
