"""What every question answers, on random tables and on the datasets at hand: recorded, and compared later.

``python -m experiments answers record FILE`` asks every public function and writes the answers to one
file. ``python -m experiments answers compare FILE`` asks again and prints every answer that differs
(where, before, after). With ``--quick`` fewer tables are asked about, each with the same questions, so a
quick comparison fits a full record too. What may differ by design is compared by its law (`laws`).
Changes that somebody asked for are listed in ``intended.toml``; any other difference ends with exit code 1.
FILE belongs outside the repository: it holds what the datasets say. Their folder is
``../shared/datasets`` or what ``NULLPROOF_DATA`` names.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.answers.laws import differences, n_values, sort_out
from experiments.answers.questions import ask_commands, ask_random, ask_real
from experiments.answers.tables import QUICK_REAL, REAL, folder_of_datasets
from nullproof import NullproofError

N_SMALL, N_CODED = 240, 60
QUICK_SMALL, QUICK_CODED = 48, 8
NOT_AT_HAND = (
    "the datasets are not at hand, so they are left out; name their folder: NULLPROOF_DATA=DIR"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``python -m experiments answers`` takes."""
    parser.add_argument("do", choices=("record", "compare"))
    parser.add_argument("file", type=Path, metavar="FILE")


def run(arguments: argparse.Namespace) -> str:
    """Record or compare; exit with 1 if an answer differs and nobody asked for it."""
    path: Path = arguments.file
    if arguments.do == "compare" and not path.is_file():
        raise NullproofError(f"no such record: {path}; make it with answers record FILE")
    start = time.perf_counter()
    after = json.loads(json.dumps(everything(quick=arguments.quick)))
    took = f"{n_values(after):,} values, {time.perf_counter() - start:.0f} s"
    if arguments.do == "record":
        path.write_bytes(gzip.compress(json.dumps(after, indent=0).encode()))
        return f"recorded in {path} ({took})"
    before = json.loads(gzip.decompress(path.read_bytes()))
    found = differences({name: before.get(name) for name in after}, after)
    intended, others = sort_out(found)
    for entry, places in intended.items():
        print(f"intended: {entry} ({len(places):,} values, first {places[0]})")
    if not others:
        return f"the same, but for what is intended ({took})" if intended else f"the same ({took})"
    print(*others, sep="\n")
    print(f"{len(others):,} values differ ({took})")
    raise SystemExit(1)


def everything(*, quick: bool) -> dict[str, Any]:
    """All answers, by table."""
    n_small, n_coded = (QUICK_SMALL, QUICK_CODED) if quick else (N_SMALL, N_CODED)
    jobs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    if folder_of_datasets().is_dir():
        names = QUICK_REAL if quick else REAL
        jobs.update({f"dataset {name}": (ask_real, (name,)) for name in names})
    else:
        print(NOT_AT_HAND, file=sys.stderr)
    jobs["command line"] = (ask_commands, ())
    jobs.update({f"small table {seed}": (ask_random, ("small", seed)) for seed in range(n_small)})
    jobs.update({f"coded table {seed}": (ask_random, ("coded", seed)) for seed in range(n_coded)})
    # Each table has its process to itself; more threads would only slow both cores down.
    os.environ.update(OPENBLAS_NUM_THREADS="1", POLARS_MAX_THREADS="1")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        futures = {name: pool.submit(ask, *about) for name, (ask, about) in jobs.items()}
        answers = {}
        for name, future in futures.items():
            answers[name] = future.result()
            if not name.startswith(("small", "coded")) or name.endswith("0"):
                print(name, file=sys.stderr)
    return answers
