"""Feed broken inputs to every reader: ./check --fuzz MINUTES [READER …]

Each input comes from a valid file and a number, so it can be made again. A reader may answer, or refuse in
one sentence of ours. Anything else is a finding: another error, ten seconds without an end, more than a
gigabyte of memory, or a library that takes the process with it. So the readers run in a process of their
own, which is started again behind the input that ended it. Findings go to a folder, as the input and a
text; once they are mended, the inputs belong into tests/corpus.

One thing cannot be mended here: polars asks for as much memory as a damaged Parquet or Arrow file says, and
then ends the process (experiments/notes/faults.md). Such inputs are counted, and are a finding only on
the page.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.fuzzing.law import Way

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
SECONDS = 10
GIGABYTE = 1 << 30
# Beside the limit of the law, so that a machine with less memory lives on.
_MOST_MEMORY = 6 * GIGABYTE
_HARD_LIMIT = resource.getrlimit(resource.RLIMIT_DATA)[1]
_TOO_MUCH, _NO_ROOM = 3, 4
_ENDS = {
    -signal.SIGALRM: "took more than a minute",
    -signal.SIGPROF: f"took more than {SECONDS} s of processor time",
    _TOO_MUCH: "took more than a gigabyte of memory",
    _NO_ROOM: "ended in a MemoryError",
}
_MOST_READERS = 100
_LONGEST_INPUT = 4 << 20


def main() -> int:
    """Run a campaign, print what was tried, and return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("readers", nargs="*", help="such as parquet or api; by default all")
    parser.add_argument("--inputs", type=int, default=1 << 62, help="end after so many")
    parser.add_argument("--round", type=int, default=int(time.time()), help="where to begin")
    parser.add_argument("--findings", type=Path, default=ROOT / "findings")
    given = parser.parse_args()
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as place:
        campaign = Campaign(Path(place), given.findings, given.readers, given.inputs)
        found = campaign.run(given.round, time.time() + 60 * given.minutes)
    print(found.told())
    return int(found.n_findings > 0)


class Ledger:
    """What is tried right now and how much was tried, in memory that outlives the process that reads.

    ``round``, ``way`` and ``part`` say which input is being read.
    """

    def __init__(self, path: Path) -> None:
        size = 8 * (8 + 2 * _MOST_READERS)
        if not path.exists():
            path.write_bytes(b"")
            os.truncate(path, size + _LONGEST_INPUT)
        with path.open("r+b") as stream:
            self._whole = memoryview(mmap.mmap(stream.fileno(), 0))
        self._numbers = self._whole[:size].cast("q")
        self._input = self._whole[size:]

    def begin(self, at: tuple[int, int, int], raw: bytes) -> None:
        """Note an input before it is read."""
        numbers = self._numbers
        numbers[0], numbers[1], numbers[2] = at
        numbers[3] = length = min(len(raw), _LONGEST_INPUT)
        self._input[:length] = raw[:length]
        numbers[8 + 2 * at[1]] += 1

    def add_refused(self, way: int, n: int) -> None:
        self._numbers[9 + 2 * way] += n

    def add_finding(self) -> None:
        self._numbers[4] += 1

    @property
    def at(self) -> tuple[int, int, int]:
        return self._numbers[0], self._numbers[1], self._numbers[2]

    @property
    def raw(self) -> bytes:
        return bytes(self._input[: self._numbers[3]])

    @property
    def n_findings(self) -> int:
        return self._numbers[4]

    @property
    def n_tried(self) -> int:
        return sum(self._numbers[8::2])

    def counts(self, way: int) -> tuple[int, int]:
        """How many inputs of a reader were tried, and refused."""
        return self._numbers[8 + 2 * way], self._numbers[9 + 2 * way]


@dataclass
class Found:
    """How many inputs were tried and refused, by reader, and what came of them."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    n_findings: int = 0
    n_ends: int = 0

    def told(self) -> str:
        """One line per reader."""
        lines = [
            f"{name:16}{tried:>12,} inputs, {refused:,} refused"
            for name, (tried, refused) in self.counts.items()
        ]
        n_tried = sum(tried for tried, _ in self.counts.values())
        lines.append(f"{'all':16}{n_tried:>12,} inputs, {self.n_findings} findings")
        if self.n_ends:
            lines.append(f"{self.n_ends} damaged files ended polars for want of memory")
        return "\n".join(lines)


class Campaign:
    """A process that reads, watched by this one."""

    def __init__(self, folder: Path, findings: Path, readers: list[str], most: int) -> None:
        self.folder, self.findings, self.readers, self.most = folder, findings, readers, most
        self.ledger = Ledger(folder / "ledger")

    def run(self, first: int, end: float) -> Found:
        """Read until the time is over, or there were inputs enough."""
        found = Found()
        at = (first, 0, 0)
        while time.time() < end and self.ledger.n_tried < self.most:
            code = self._process(at, end)
            before, at = at, self.ledger.at
            start, way, part = at
            if code == _NO_ROOM and at != before:
                # polars may have kept memory of inputs before; this one is read again.
                continue
            if code == -signal.SIGABRT and self._is_known():
                found.n_ends += 1
            elif code:
                found.n_findings += 1
                what = _ENDS.get(code, f"ended the process with code {code}")
                told = f"{what}\n{self._said()}"
                keep(self.findings, self._names()[way], f"{start}-{part}", self.ledger.raw, told)
            at = (start, way, part + 1)
        found.counts = {name: self.ledger.counts(k) for k, name in enumerate(self._names())}
        found.n_findings += self.ledger.n_findings
        return found

    def _process(self, at: tuple[int, int, int], end: float) -> int:
        code = f"import fuzz; fuzz.work({str(self.folder)!r}, {str(self.findings)!r}, {self.readers!r}, "
        code += f"{at!r}, {end}, {self.most})"
        environment = {**os.environ, "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "scripts"), *sys.path[:2]])
        with (self.folder / "said").open("wb") as said:
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, stderr=said, check=False
            )
        if done.returncode == 1:
            raise SystemExit(f"the reader of {self.ledger.at} failed: {self._said()}")
        return done.returncode

    def _names(self) -> list[str]:
        return (self.folder / "names").read_text("utf-8").split("\n")

    def _is_known(self) -> bool:
        """Whether polars ended the process for want of memory, elsewhere than on the page."""
        name = self._names()[self.ledger.at[1]]
        return name not in ("upload", "api") and "memory allocation of" in self._said()

    def _said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")[-2000:]


def keep(findings: Path, name: str, number: str, raw: bytes, what: str) -> None:
    """Keep a finding: the input, and what came of it."""
    findings.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace(' ', '_')}-{number}"
    (findings / f"{stem}.bin").write_bytes(raw)
    (findings / f"{stem}.txt").write_text(what, "utf-8", errors="replace")
    print(f"{name}, input {number}: {what.splitlines()[0]}", file=sys.stderr, flush=True)


def work(
    folder: str, findings: str, readers: list[str], at: tuple[int, int, int], end: float, most: int
) -> None:
    """Read broken inputs one after another, in a process of its own."""
    from support.fuzzing.law import warnings_as_errors
    from support.fuzzing.ways import ways

    known = ways(Path(folder))
    unknown = [name for name in readers if name not in known]
    if unknown:
        raise SystemExit(f"{unknown[0]} is none of {', '.join(known)}")
    chosen = [known[name] for name in readers or known]
    (Path(folder) / "names").write_text("\n".join(way.name for way in chosen), "utf-8")
    ledger = Ledger(Path(folder) / "ledger")
    left, seen, most_memory = most - ledger.n_tried, set[str](), _peak() + GIGABYTE
    with warnings_as_errors():
        for place, way, raw in islice(_order(chosen, at), left):
            if time.time() > end:
                break
            ledger.begin(place, raw)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.setitimer(signal.ITIMER_REAL, 6 * SECONDS)
            try:
                ledger.add_refused(place[1], way.attempt(raw))
            except (KeyboardInterrupt, SystemExit):
                raise
            except MemoryError:
                os._exit(_NO_ROOM)
            except BaseException as problem:
                if _is_new(seen, way.name, problem):
                    ledger.add_finding()
                    told = f"{type(problem).__name__}: {str(problem)[:300]!r}\n"
                    told += "".join(traceback.format_exception(problem))
                    keep(Path(findings), way.name, f"{place[0]}-{place[2]}", raw, told)
            if _peak() > most_memory:
                os._exit(_TOO_MUCH)
    os._exit(0)


def _is_new(seen: set[str], name: str, problem: BaseException) -> bool:
    """Whether nothing like it was found before at the same place."""
    where = traceback.extract_tb(problem.__traceback__)[-1]
    sort = f"{name} {type(problem).__name__} {where.filename}:{where.lineno}"
    new = sort not in seen
    seen.add(sort)
    return new


def _order(
    chosen: list[Way], start: tuple[int, int, int]
) -> Iterator[tuple[tuple[int, int, int], Way, bytes]]:
    """Round by round the inputs of each reader, from one of them on."""
    for number in count(start[0]):
        for k, way in enumerate(chosen):
            first = (number, k, 0)
            if first < (*start[:2], 0):
                continue
            begin = start[2] if first == (*start[:2], 0) else 0
            # polars keeps some of what damaged files make it ask for, and never uses it.
            resource.setrlimit(resource.RLIMIT_DATA, (_claimed() + _MOST_MEMORY, _HARD_LIMIT))
            # A reader that is new takes a while until it is ready.
            signal.setitimer(signal.ITIMER_PROF, 6 * SECONDS)
            try:
                for part, raw in islice(enumerate(way.inputs(number)), begin, None):
                    yield (number, k, part), way, raw
            except MemoryError:
                os._exit(_NO_ROOM)


def _peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _claimed() -> int:
    """How much memory this process has asked for, used or not, in bytes."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[5]) * resource.getpagesize() if statm.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
