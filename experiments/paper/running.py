"""Carry out all tasks, skip those already measured, tell how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from experiments.paper.datasets import PAPER as PAPER_SETS
from experiments.paper.datasets import Dataset, Known, Note, from_openml, generate, load_all
from experiments.paper.preparation import index_of, split
from experiments.paper.store import Store
from experiments.paper.tasks import Grid, Task, carry_out
from nullproof.attacks.poison import poison
from nullproof.model.certify import certify

QUICK = Grid(
    runs=1,
    rates=(0.2, 0.8),
    n_points=(1, 4, 8),
    low_rates=(0.002, 0.02),
    n_agreement=100,
    max_rows=1_000,
    limit=2.0,
)


class Progress:
    """Time left, on a terminal in one line, else a line now and then."""

    def __init__(self, n_tasks: int, stream: TextIO) -> None:
        self._n_tasks, self._stream, self._n_done = n_tasks, stream, 0
        self._start = self._told = time.monotonic()
        self._seconds: dict[tuple[object, ...], float] = {}

    def done(self, task: Task, seconds: float, left: Sequence[Task]) -> None:
        """Expect of each task left what it took in an earlier run, or else the mean so far."""
        self._n_done += 1
        self._seconds[_without_run(task)] = seconds
        now = time.monotonic()
        live = self._stream.isatty()
        if now - self._told < (0.2 if live else 15) and left:
            return
        mean = (now - self._start) / self._n_done
        remaining = sum(self._seconds.get(_without_run(one), mean) for one in left)
        place = f"[{self._n_tasks - len(left)}/{self._n_tasks}]"
        what = f"{task.dataset} {task.part} {task.algorithm}, run {task.run + 1}"
        line = f"{place} {what}: about {_duration(remaining)} left"
        print(f"\r{line:<79}" if live else line, end="" if live else "\n", file=self._stream)
        self._stream.flush()
        self._told = now
        if live and not left:
            print(file=self._stream)


def load(
    folder: Path | None, *, stand_ins: bool, openml: bool, max_rows: int | None
) -> tuple[list[Dataset], list[Note]]:
    """The datasets to measure, and what is not as in the paper."""
    if openml and folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for known in PAPER_SETS:
            if known.openml and not any(folder.glob(f"{known.files[0]}.*")):
                print(f"fetching {known.files[0]} from OpenML", file=sys.stderr)
                from_openml(known, folder)
    datasets, notes = [], []
    for found in load_all(folder, stand_ins=stand_ins):
        if isinstance(found, Note):
            notes.append(found)
            print(f"{found.name}: {found.reason}", file=sys.stderr)
            continue
        if max_rows is not None and len(found.labels) > max_rows:
            notes.append(Note(found.name, f"only {max_rows:,} of its rows (--quick)"))
            found = found.head(max_rows)
        datasets.append(found)
    return datasets, notes


def measure(datasets: Sequence[Dataset], grid: Grid, store: Store, stream: TextIO) -> None:
    """Measure run after run, so that an interrupted experiment has all settings of the first runs."""
    plan = [
        (dataset, [task for task in _asked(dataset, grid, run) if not store.has(vars(task))])
        for run in range(grid.runs)
        for dataset in datasets
    ]
    todo = [task for _, tasks in plan for task in tasks]
    n_known = len(store.measures.rows)
    if n_known and todo:
        print(f"resuming: {n_known} measured before, {len(todo)} to go", file=stream)
    _warm_up()
    progress = Progress(len(todo), stream)
    place = 0
    for dataset, tasks in plan:
        parts = split(dataset, tasks[0].run) if tasks else None
        for task in tasks:
            assert parts is not None
            start = time.monotonic()
            carry_out(task, parts, grid, store)
            place += 1
            progress.done(task, time.monotonic() - start, todo[place:])


def _asked(dataset: Dataset, grid: Grid, run: int) -> list[Task]:
    if dataset.in_paper:
        return grid.tasks(dataset.title, run)
    return [grid.comparison(dataset.title, run)] if "agreement" in grid.parts else []


def _warm_up() -> None:
    """Load what is loaded on first use, so that no measurement pays for it."""
    tiny = split(generate(Known("warm-up", (), "", (50, 4, 2))), 0)
    certify(index_of(tiny.train), tiny.test, alpha=0)
    poison(index_of(tiny.train), tiny.test[:2], time_limit=0.1, alpha=0)


def _without_run(task: Task) -> tuple[object, ...]:
    return tuple(value for name, value in vars(task).items() if name != "run")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
