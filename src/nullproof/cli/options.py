"""Every command and every option, declared once: names, help, and how a value is parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

TABLES = (".csv", ".parquet")
RESULTS = (".csv", ".parquet", ".json")
MODELS = ("hist-gradient-boosting", "logistic-regression", "random-forest")


class Option(NamedTuple):
    """An option: its placeholder (empty for a flag), help text, and the type and range of its value.

    ``flag`` is its spelling on the command line, if that does not follow from its key.
    """

    metavar: str
    help: str
    type: Callable[[str], Any] = str
    least: float | None = None
    most: float = inf
    many: bool = False
    default: Any = None
    flag: str | None = None


def _switch(help_: str) -> Option:
    return Option("", help_, default=False)


OPTIONS: dict[str, Option] = {
    "label": Option("COL", "Column to predict."),
    "alpha": Option("A", "Smoothing, e.g. 0, 1 or 1/2; default 1.", default="1"),
    "prior": Option("P", "'uniform' or label=number,…; default: the frequencies of the labels."),
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
    "bins": Option("N", "How many bins 'uniform' and 'quantile' make; default 5.", int, 1),
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
        "A text that means missing, in one column or in all, besides empty, NA, N/A, NaN, null, ?, #N/A "
        "and <NA>; none, - and . mean missing too unless they are values.",
        many=True,
    ),
    "missing_only": Option(
        "TEXT", "A text that means missing, replacing the usual ones.", many=True
    ),
    "missing_is_value": Option("COL", "A column where missing is itself a value.", many=True),
    "ignore": Option("COL", "A column to leave out.", many=True),
    "keep": Option("COL", "A column to keep although it looks like row names.", many=True),
    "key": Option("COL", "A column that names the rows of TRAIN and TEST; not a feature."),
    "drop_unlabelled": _switch("Leave out rows of TRAIN without a label."),
    "encoding": Option("NAME", "Encoding of text files, e.g. cp1250; default UTF-8."),
    "no_header": _switch("The first row is data; the columns are c1, c2, …"),
    "skip_rows": Option("N", "Lines to skip above the header; default 0.", int, 0, default=0),
    "sheet": Option("NAME", "Sheet of Excel files; default: the first."),
    "like": Option("INDEX", "Saved index whose bins and domains to use."),
    "memory_limit": Option("SIZE", "Let DuckDB count TRAIN within this memory, e.g. 1GB."),
    "check": _switch("Exit 1 if a point is not certain or, with --bias, does not hold."),
    "min_share": Option(
        "S", "With --check: exit 1 if a smaller share of the points passes; default 1.", float, 0, 1
    ),
    "min_radius": Option("N", "With --check: a point passes if its radius is N or more.", int, 1),
    "explain": Option("POINT", "Explain one point (by --key or position), cell by cell."),
    "rival": Option("LABEL", "Explain against this label, not the strongest rival."),
    "point": Option("POINT", "Only this point, by --key or position."),
    "threat": Option(
        "WHAT", "Attack by blanked or wrong 'cells', or by added 'rows'.", default="cells"
    ),
    "only_columns": Option("COL", "Blank cells of this column only.", many=True),
    "curve": _switch("Count the predictions that stay right, by attack size."),
    "skip_unbreakable": _switch("Leave out points that no attack can break."),
    "time_limit": Option(
        "SECONDS", "How long to look for a smaller attack; default 10.", float, default=10.0
    ),
    "steps": Option("N", "Number of rounds, instead of a time limit.", int, 0),
    "seed": Option("N", "Random seed of the search; default 0.", int, default=0),
    "cells": Option(
        "HOW",
        "Chance fills missing cells as 'observed' in their label and column, or 'uniform'.",
        default="observed",
    ),
    "budget": Option("N", "The most cells.", int),
    "answers": Option("FILE", "A filled-in worksheet.", many=True),
    "repaired": Option("FILE", "Write TRAIN with the answers.", Path),
    "compare": Option("JSON", "A JSON report to compare this one with.", Path),
    "limit": Option("N", "How many points to list one by one; default 200.", int, 0),
    "also": Option(
        "POINT", "Also list this point, by --key or position.", many=True, flag="--point"
    ),
    "model_name": Option(
        "NAME",
        "hist-gradient-boosting (the default), logistic-regression or random-forest.",
        default=MODELS[0],
        flag="--model",
    ),
    "worlds": Option("N", "Completed tables to fit on; default 32.", int, 2, default=32),
    "all": _switch("Show every line, not only the first."),
    "json": _switch("Print JSON."),
    "output": Option("FILE", "Write .csv, .parquet or .json.", Path, flag="-o"),
}


def flag(key: str) -> str:
    """Return how an option is written: ``--own-missing``."""
    return OPTIONS[key].flag or f"--{key.replace('_', '-')}"


# How a file is read, and options for counting a table that do not apply with --like.
READING = ("encoding", "no_header", "skip_rows", "sheet", "like", "memory_limit")
COUNTING = (
    *("bins", "binning", "weights", "missing", "missing_only"),
    *("missing_is_value", "ignore", "keep"),
)
TABLE = ("label", *COUNTING, "key", "drop_unlabelled", *READING)
MODEL = ("alpha", "prior")
# Options that a report lists.
SHARED = (*TABLE, *MODEL, "own_missing")
_ANSWER = ("json", "output")


class Command(NamedTuple):
    """A command: what it does, an example, its options, and help texts that replace those of the options.

    ``endings`` are the allowed endings of its output file; empty allows any. TEST ``"may"``, ``"must"``
    or can ``"never"`` be given.
    """

    does: str
    example: str
    takes: tuple[str, ...]
    helps: Mapping[str, str] = {}
    endings: tuple[str, ...] = RESULTS
    test: str = "may"


COMMANDS: dict[str, Command] = {
    "certify": Command(
        "Decide for each point whether every world predicts the same label, or up to which bias.",
        "certify train.csv test.csv --label churn --missing unknown",
        (*SHARED, "bias", "check", "min_share", "explain", "rival", "all", *_ANSWER),
    ),
    "radius": Command(
        "Find how many training cells must be blanked or wrong before a prediction is no longer certain."
        "\n\nThe number is the same for both; --threat rows counts added rows instead.",
        "radius train.csv test.csv --label churn -o radii.csv",
        (
            *(*TABLE, *MODEL, "point", "threat", "only_columns", "check", "min_radius"),
            *("min_share", "curve", "all", *_ANSWER),
        ),
        {"check": "Exit 1 if a point is not certain or, with --min-radius, has a smaller radius."},
    ),
    "poison": Command(
        "Choose training cells to blank so that no point of TEST is certain; -o writes that table."
        "\n\n--threat rows chooses rows to add instead, and -o writes the longer table.",
        "poison train.csv test.csv --label churn -o poisoned.csv",
        (
            *(*TABLE, *MODEL, "point", "threat", "only_columns", "skip_unbreakable"),
            *("time_limit", "steps", "seed", "all", *_ANSWER),
        ),
        {
            "train": "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -).",
            "test": "Points to attack.",
            "memory_limit": "Let DuckDB count TRAIN within, e.g., 1GB; needs --key.",
            "output": "Write TRAIN with the attacked cells blank: .csv or .parquet.",
        },
        TABLES,
        "must",
    ),
    "odds": Command(
        "Bound the share of worlds that agree on a prediction if chance fills the missing cells.",
        "odds train.csv test.csv --label churn --point 3",
        (*TABLE, *MODEL, "cells", "point", "all", *_ANSWER),
    ),
    "clean": Command(
        "List the missing cells of TRAIN to look up first; -o FILE.csv writes them as a worksheet."
        "\n\nPoints are done when they hold up to a bias of 0.05; --bias 1 asks for certainty.",
        "clean train.csv test.csv --label churn -o worksheet.csv",
        (*TABLE, *MODEL, "bias", "budget", "answers", "repaired", "all", *_ANSWER),
        {"output": "Write a worksheet to fill in (.csv, .xlsx) or the plan (.json)."},
        (".csv", ".xlsx", ".json"),
    ),
    "report": Command(
        "Write a report to share: how certain, why not more, how fragile; -o FILE.html, .md, .json.",
        "report train.csv test.csv --label churn -o report.html",
        (*SHARED, "bias", "compare", "limit", "also", *_ANSWER),
        {"output": "Write the report: .html, .md or .json."},
        (),
    ),
    "index": Command(
        "Count TRAIN and save the counts; every other command accepts the file as TRAIN.",
        "index train.parquet --label churn -o churn.index",
        (*TABLE, "output"),
        {
            "train": "Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -), folder or pattern.",
            "output": "File for the counts, with any ending.",
        },
        (),
        "never",
    ),
    "audit": Command(
        "Fit a model on many completions of TRAIN and list the predictions that change."
        "\n\nTwo completed tables prove each change; nothing proves that the others never change.",
        "audit train.csv test.csv --label churn --model random-forest",
        (
            *(key for key in TABLE if key not in ("weights", "binning", "bins", "memory_limit")),
            *("bias", "model_name", "worlds", "seed", "check", "min_share", "all", *_ANSWER),
        ),
        {
            "check": "Exit 1 if a prediction changes.",
            "min_share": "With --check: exit 1 if a smaller share stays the same; default 1.",
            "seed": "Random seed of the worlds; default 0.",
        },
        test="must",
    ),
}
