"""``python -m experiments NAME``: run one experiment and write what it measured to results/NAME.md.

``paper`` writes figures and tables to a folder of their own instead. ``answers`` measures nothing: it
records what every question answers, and compares that with an earlier record.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from pathlib import Path

from experiments.measuring import machine
from nullproof.errors import NullproofError, NullproofWarning

NAMES = (
    "speed",
    "accuracy",
    "annotate",
    "assumptions",
    "audit",
    "bias",
    "cleaning",
    "cuts",
    "decision",
    "engines",
    "estimator",
    "joint",
    "load",
    "odds",
    "radius",
    "report",
    "usefulness",
)
OWN_ARGUMENTS = ("paper", "answers")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True)
    for name in (*NAMES, *OWN_ARGUMENTS):
        one = names.add_parser(name)
        one.add_argument("--quick", action="store_true", help="fewer rows, for a first look")
        if name == "speed":
            one.add_argument("--only", metavar="ROW", help="one row of what people wait for")
        if name in OWN_ARGUMENTS:
            importlib.import_module(f"experiments.{name}").add_arguments(one)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NullproofWarning)
    experiment = importlib.import_module(f"experiments.{arguments.name}")
    if arguments.name in OWN_ARGUMENTS:
        try:
            print(experiment.run(arguments))
        except NullproofError as problem:
            parser.exit(2, f"{problem}\n")
        return
    only = getattr(arguments, "only", None)
    lines = experiment.run(quick=arguments.quick, **({} if only is None else {"only": only}))
    text = "\n".join([f"# {experiment.TITLE}", "", machine(), "", *lines, ""])
    print(text)
    if not arguments.quick and only is None:
        (Path(__file__).parent / "results" / f"{arguments.name}.md").write_text(text, "utf-8")


main()
