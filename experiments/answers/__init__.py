"""What every question answers, on random tables and on the datasets at hand: recorded, and compared later.

``python -m experiments answers record FILE`` asks all questions and writes the answers to one JSON file.
``python -m experiments answers compare FILE`` asks again, prints every answer that is different (where,
before, after) and ends with exit code 1 if there is one. With ``--quick`` fewer tables are asked about,
each with the same questions, so that a quick comparison also fits a full record. FILE belongs outside the
repository: it holds what the datasets say. Their folder is ``../shared/datasets`` or what
``NULLPROOF_DATA`` names.

The package may be rearranged between the two: only `names` knows how it is arranged.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.answers.comparing import differences, n_answers, part_of
from experiments.answers.on_the_line import demo, of_commands
from experiments.answers.random_questions import of_baselines, of_coded, of_small
from experiments.answers.random_tables import coded_table, small_table
from experiments.answers.real_tables import of_real, real_table
from experiments.tables_at_hand import LABELS
from nullproof import NullproofError

FOLDER = Path(os.environ.get("NULLPROOF_DATA", Path(__file__).parents[2] / "../shared/datasets"))
N_SMALL, N_CODED = 240, 80
QUICK_SMALL, QUICK_CODED, QUICK_REAL = 30, 10, ("breast_cancer", "penguins")
NOT_AT_HAND = (
    "the folder of datasets is not at hand, so they are left out; name it with NULLPROOF_DATA"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what ``python -m experiments answers`` takes."""
    parser.add_argument("do", choices=("record", "compare"))
    parser.add_argument("file", type=Path, metavar="FILE")


def run(arguments: argparse.Namespace) -> str:
    """Record or compare; ends the program with 1 if an answer is different."""
    path: Path = arguments.file
    if arguments.do == "compare" and not path.is_file():
        raise NullproofError(f"no such record: {path}; make it with answers record FILE")
    start = time.perf_counter()
    found = everything(quick=arguments.quick)
    seconds = f"{time.perf_counter() - start:.0f} s"
    # What is compared is what a record can hold.
    written = json.dumps(found, indent=0)
    if arguments.do == "record":
        path.write_text(written + "\n", "utf-8")
        return f"{n_answers(found):,} values recorded in {path} ({seconds})"
    after = json.loads(written)
    lines = list(differences(part_of(json.loads(path.read_text("utf-8")), after), after))
    if not lines:
        return f"{n_answers(after):,} values are the same ({seconds})"
    print(*lines, sep="\n")
    print(f"{len(lines):,} of {n_answers(after):,} values are different ({seconds})")
    raise SystemExit(1)


def everything(*, quick: bool) -> dict[str, Any]:
    """All answers, by group and table."""
    n_small, n_coded = (QUICK_SMALL, QUICK_CODED) if quick else (N_SMALL, N_CODED)
    found: dict[str, Any] = {
        "small tables": {f"{i}": of_small(small_table(i), i) for i in _told("small", n_small)},
        "coded tables": {f"{i}": of_coded(coded_table(i), i) for i in _told("coded", n_coded)},
        "baselines": {f"{i}": of_baselines(coded_table(i), i) for i in range(n_coded // 2)},
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["command line"] = {"demo": of_commands(demo(folder), folder)}
        if FOLDER.is_dir():
            names = [n for n in LABELS if not quick or n in QUICK_REAL]
            found["datasets"] = {
                n: of_real(real_table(FOLDER, n), folder) for n in _told("table", names)
            }
        else:
            print(NOT_AT_HAND, file=sys.stderr)
    return found


def _told(what: str, things: int | Sequence[str]) -> Iterator[Any]:
    """Say now and then what is being asked about."""
    every = range(things) if isinstance(things, int) else things
    for place, thing in enumerate(every):
        if not isinstance(things, int) or place % 40 == 0:
            print(f"{what} {thing}", file=sys.stderr)
        yield thing
