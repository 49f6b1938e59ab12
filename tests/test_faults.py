"""Kills, full disks, folders that take nothing, files that change: nothing is lost, nothing is left.

``NULLPROOF_KILLS`` sets how often each command is killed; without it one of them is, twice. ``-rP``
shows how many of the kills met a file that was being written.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import SOURCE, Runner, one_line, write_customers
from support.warm import warm_command

from nullproof import CountIndex

pytestmark = pytest.mark.slow

N_KILLS = int(os.environ.get("NULLPROOF_KILLS", "0"))
FILES = ("customers.csv", "new.csv", "--label", "churn", "--ignore", "customer")
TRAIN = (FILES[0], *FILES[2:])
# Each command that writes, and the files that it writes.
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "certify": (("certify", *FILES, "-o", "out.csv"), ("out.csv",)),
    "certify, Parquet": (("certify", *FILES, "-o", "out.parquet"), ("out.parquet",)),
    "radius": (("radius", *FILES, "-o", "out.json"), ("out.json",)),
    "odds": (("odds", *FILES, "-o", "out.csv"), ("out.csv",)),
    "clean": (("clean", *FILES, "-o", "out.xlsx"), ("out.xlsx",)),
    "repair": (
        ("clean", *FILES, "--answers", "sheet.csv", "--repaired", "out.csv"),
        ("out.csv", "out.csv.before.index"),
    ),
    # By rounds: the clock would end the search elsewhere on a busy machine.
    "poison": (
        ("poison", *FILES, "--steps", "20", "-o", "out.csv"),
        ("out.csv", "out.csv.before.index"),
    ),
    "report": (("report", *FILES, "-o", "out.html"), ("out.html",)),
    "index": (("index", *TRAIN, "-o", "out.index"), ("out.index",)),
    "index by DuckDB": (
        ("index", *TRAIN, "--memory-limit", "1GB", "-o", "out.index"),
        ("out.index",),
    ),
}
KILLED = [*COMMANDS] if N_KILLS else ["poison"]
BEFORE = b"what was here before"


class Command:
    """A command as a process of its own, with its temporary files in a folder of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, (self.arguments, self.targets) = folder, COMMANDS[name]
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        # A report tells the minute, and a minute ends while it is killed again and again.
        self.environment = {"TMPDIR": str(self.scratch), "SOURCE_DATE_EPOCH": "0"}
        write_customers(folder)
        if name == "repair":
            self._run("clean", *FILES, "-o", "sheet.csv")
        self.inputs = {*folder.iterdir()}

    def finished(self) -> None:
        """Run it to its end, started as a user starts it."""
        self._run(*self.arguments)

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "nullproof", "-q", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment, "PYTHONPATH": str(SOURCE)},
            check=True,
            capture_output=True,
        )

    def seconds(self) -> float:
        """How long it takes where everything is loaded before."""
        start = time.monotonic()
        process = warm_command(self.folder, self.arguments, **self.environment)
        process.join()
        assert process.exitcode == 0
        return time.monotonic() - start

    def killed(self, after: float, sight: str | None = None) -> bool:
        """Kill it so long after its start, or after a file came that ends so; whether a part is left."""
        before = self._listed()
        process = warm_command(self.folder, self.arguments, **self.environment)
        # Most files are written within a millisecond; who waits is woken sooner than who never rests.
        while sight is not None and not self._is_new(sight, before) and process.is_alive():
            time.sleep(0.0005)
        if after:
            process.join(after)
        process.kill()
        process.join()
        return self._is_new(".part", before)

    def _is_new(self, ending: str, before: set[str]) -> bool:
        return any(name.endswith(ending) for name in self._listed() - before)

    def _listed(self) -> set[str]:
        return {*(entry.name for entry in os.scandir(self.folder)), *self._scratched()}

    def put_before(self) -> None:
        """Put files in the way that another run may have left; a companion must be an index."""
        for name in self.targets:
            path = self.folder / name
            if name.endswith(".before.index"):
                CountIndex.from_rows([("a",), ("b",)], ["p", "q"]).save(path)
            else:
                path.write_bytes(BEFORE)

    def contents(self) -> list[bytes]:
        return [(self.folder / name).read_bytes() for name in self.targets]

    def others(self) -> set[Path]:
        """What is neither an input nor a result."""
        own = {*self.inputs, *(self.folder / name for name in self.targets)}
        return ({*self.folder.iterdir()} - own) | {
            self.scratch / name for name in self._scratched()
        }

    def _scratched(self) -> Iterator[str]:
        # Python tries a temporary folder out with a file of another name, and may be killed meanwhile.
        names = (entry.name for entry in os.scandir(self.scratch))
        return (name for name in names if name.startswith("nullproof"))


@pytest.mark.parametrize("name", KILLED)
def test_killed_at_any_moment(tmp_path: Path, name: str) -> None:
    """Each file is the old one or the new one, a pair is never a new table alone, and all is cleared."""
    command = Command(tmp_path, name)
    command.finished()
    new = command.contents()
    # The first may load the modules.
    seconds = min(command.seconds(), command.seconds()) if N_KILLS else 0.5
    command.put_before()
    old = command.contents()
    rng, n_writing = random.Random(name), 0
    for k in range(N_KILLS or 2):
        if k % 2:
            n_writing += command.killed(rng.uniform(0, 1.05 * seconds))
        else:
            latest, sight = rng.choice((0, 0.001, 0.01)), rng.choice(("", ".part"))
            n_writing += command.killed(rng.uniform(0, latest), sight)
        found = command.contents()
        assert all(one in both for one, both in zip(found, zip(old, new, strict=True), strict=True))
        table, companion = found[0] == new[0], found[-1] == new[-1]
        assert companion or not table
        command.put_before()
    print(f"{name}: {k + 1} kills, {n_writing} of them while a file was written")
    command.finished()
    assert command.contents() == new
    assert command.others() == set()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB, which needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"x" * 4096)


WRITING = [name for name in COMMANDS if name not in ("repair", "index by DuckDB")]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_disks_that_take_nothing(
    run: Runner, folder: Path, small_disk: Path, name: str, fault: str
) -> None:
    """A full disk, and one that is read-only: one sentence, the old file, and nothing beside it."""
    write_customers(folder)
    arguments, targets = COMMANDS[name]
    places = [small_disk / target for target in targets]
    places[0].write_bytes(BEFORE)
    if fault == "full":
        fill(small_disk / "filler")
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    before = {path.name: path.stat().st_size for path in small_disk.iterdir()}
    reason = "No space left on device" if fault == "full" else "Read-only file system"
    one_line(run("-q", *arguments[:-1], str(places[0])), reason)
    assert {path.name: path.stat().st_size for path in small_disk.iterdir()} == before
    assert places[0].read_bytes() == BEFORE


class Meddler(io.StringIO):
    """A terminal on which somebody sees what is going on, and changes the table meanwhile."""

    changed = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "…" in text and "reading" not in text and not self.changed:
            self.changed = True
            pl.read_csv("customers.csv").reverse().write_csv("customers.csv")
        return super().write(text)


@pytest.mark.parametrize("threat", ["cells", "rows"])
def test_a_file_that_changes_meanwhile(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch, threat: str
) -> None:
    """Rows that were found in a file are not looked for in another one."""
    write_customers(folder)
    before, terminal = {*folder.iterdir()}, Meddler()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    done = run("poison", *FILES, "--threat", threat, "-o", "out.csv")
    assert terminal.changed
    assert done.code == 2
    assert "customers.csv was changed" in terminal.getvalue()
    assert {*folder.iterdir()} == before


def test_both_files_or_neither(run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a table cannot be written, there is no companion without it."""
    write_customers(folder)
    before = sorted(folder.iterdir())

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    one_line(run("-q", *COMMANDS["poison"][0]), "out.csv", "No space left on device")
    assert sorted(folder.iterdir()) == before
