"""``python -m experiments NAME``: run one experiment and write what it measured to results/NAME.md."""

from __future__ import annotations

import argparse
import importlib
import warnings
from pathlib import Path

from experiments.measuring import machine
from nullproof.errors import NullproofWarning

NAMES = ("decision", "radius",)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, for a first look"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NullproofWarning)
    experiment = importlib.import_module(f"experiments.{arguments.name}")
    lines = experiment.run(quick=arguments.quick)
    text = "\n".join([f"# {experiment.TITLE}", "", machine(), "", *lines, ""])
    print(text)
    if not arguments.quick:
        (Path(__file__).parent / "results" / f"{arguments.name}.md").write_text(text, "utf-8")


main()
