"""Feed broken inputs to every reader: ./check --fuzz MINUTES [READER …]

Each input comes from a valid file and a number, so it can be made again. A reader may answer, or refuse in
one sentence of ours. Anything else is a finding: another error, ten seconds without an end, more than a
gigabyte of memory, or a library that takes the process with it. So the readers run in a process of their
own, which is started again behind the input that ended it. Findings go to a folder, as the input and a
text; once they are mended, the inputs belong into tests/corpus.

One thing cannot be mended here: polars asks for as much memory as a damaged Parquet or Arrow file says, and
then ends the process (docs/faults.md). Such inputs are counted, and are a finding only on the page.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.fuzzing.ways import Way

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
SECONDS = 10
GIGABYTE = 1 << 30
# Beside the limit of the law, so that a machine with less memory lives on.
_MOST_MEMORY = 6 * GIGABYTE
_TOO_MUCH = 3
_ENDS = {
    -signal.SIGALRM: "took more than a minute",
    -signal.SIGPROF: f"took more than {SECONDS} s of processor time",
    _TOO_MUCH: "took more than a gigabyte of memory",
}


def main() -> int:
    """Run a campaign, print what was tried, and return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("readers", nargs="*", help="such as parquet or api; by default all")
    parser.add_argument("--round", type=int, default=int(time.time()), help="where to begin")
    parser.add_argument("--findings", type=Path, default=ROOT / "findings")
    given = parser.parse_args()
    end = time.time() + 60 * given.minutes
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as place:
        campaign = Campaign(Path(place), given.findings, given.readers)
        found = campaign.run(given.round, end)
    print(campaign.told(found))
    return int(found["n_findings"] > 0)


class Campaign:
    """A process that reads, watched by this one."""

    def __init__(self, folder: Path, findings: Path, readers: list[str]) -> None:
        self.folder, self.findings, self.readers = folder, findings, readers
        self.state = folder / "state.json"

    def run(self, first: int, end: float) -> dict[str, Any]:
        """Read until the time is over; how many inputs were tried, by reader."""
        total: dict[str, Any] = {"tried": {}, "refused": {}, "n_findings": 0, "n_ends": 0}
        start, place = first, 0
        while time.time() < end:
            code = self._process(start, place, end)
            state = json.loads(self.state.read_text())
            for kind in ("tried", "refused"):
                for name, number in state[kind].items():
                    total[kind][name] = total[kind].get(name, 0) + number
            total["n_findings"] += state["n_findings"]
            if code == -signal.SIGABRT and self._is_known(state["name"]):
                total["n_ends"] += 1
            elif code:
                total["n_findings"] += 1
                self._keep(state, _ENDS.get(code, f"ended the process with code {code}"))
            start, place = state["round"], state["place"] + 1
        return total

    def _process(self, start: int, place: int, end: float) -> int:
        self.state.write_text(
            json.dumps(
                {"round": start, "place": place, "tried": {}, "refused": {}, "n_findings": 0}
            )
        )
        code = f"import fuzz; fuzz.work({str(self.folder)!r}, {str(self.findings)!r}, {self.readers!r}, "
        code += f"{start}, {place}, {end})"
        environment = {**os.environ, "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "scripts"), *sys.path[:2]])
        with (self.folder / "said").open("wb") as said:
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, stderr=said, check=False
            )
        if done.returncode == 1:
            raise SystemExit(self._said())
        return done.returncode

    def _is_known(self, name: str) -> bool:
        """Whether polars ended the process for want of memory, elsewhere than on the page."""
        return name not in ("upload", "api") and "memory allocation of" in self._said()

    def _said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")[-2000:]

    def _keep(self, state: dict[str, Any], what: str) -> None:
        raw = (self.folder / "current").read_bytes()
        keep(self.findings, state["name"], state["number"], raw, f"{what}\n{self._said()}")

    def told(self, found: dict[str, Any]) -> str:
        """One line per reader."""
        lines = [
            f"{name:16}{tried:>12,} inputs, {found['refused'].get(name, 0):,} refused"
            for name, tried in found["tried"].items()
        ]
        n_tried = sum(found["tried"].values())
        lines.append(f"{'all':16}{n_tried:>12,} inputs, {found['n_findings']} findings")
        if found["n_ends"]:
            lines.append(f"{found['n_ends']} damaged files ended polars for want of memory")
        return "\n".join(lines)


def keep(findings: Path, name: str, number: int, raw: bytes, what: str) -> None:
    """Keep a finding: the input, and what came of it."""
    findings.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace(' ', '_')}-{number}"
    (findings / f"{stem}.bin").write_bytes(raw)
    (findings / f"{stem}.txt").write_text(what, "utf-8", errors="replace")
    print(f"{name}, input {number}: {what.splitlines()[0]}", file=sys.stderr, flush=True)


def work(
    folder: str, findings: str, readers: list[str], start: int, place: int, end: float
) -> None:
    """Read broken inputs one after another, in a process of its own."""
    from support.fuzzing.ways import ways

    known = ways(Path(folder))
    unknown = [name for name in readers if name not in known]
    if unknown:
        raise SystemExit(f"{unknown[0]} is none of {', '.join(known)}")
    chosen = [known[name] for name in readers or known]
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    most = _peak() + GIGABYTE
    state: dict[str, Any] = {"tried": {}, "refused": {}, "n_findings": 0}
    seen: set[str] = set()
    for way, number, at in _order(chosen, start, place):
        if time.time() > end:
            break
        raw = way.input(number)
        (Path(folder) / "current").write_bytes(raw)
        state |= {**at, "name": way.name, "number": number}
        state["tried"][way.name] = state["tried"].get(way.name, 0) + 1
        (Path(folder) / "state.json").write_text(json.dumps(state))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, 6 * SECONDS)
        try:
            refused = way.attempt(raw)
            state["refused"][way.name] = state["refused"].get(way.name, 0) + refused
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            sort = f"{way.name} {type(problem).__name__} {where.filename}:{where.lineno}"
            if sort not in seen:
                seen.add(sort)
                state["n_findings"] += 1
                told = f"{type(problem).__name__}: {str(problem)[:300]!r}\n"
                told += "".join(traceback.format_exception(problem))
                keep(Path(findings), way.name, number, raw, told)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _peak() > most:
            os._exit(_TOO_MUCH)
    (Path(folder) / "state.json").write_text(json.dumps(state))
    os._exit(0)


def _order(chosen: list[Way], start: int, place: int) -> Iterator[tuple[Way, int, dict[str, int]]]:
    """Round by round, as many inputs of each reader as its share; ``place`` of the first round is next."""
    turns = [(way, part) for way in chosen for part in range(way.share)]
    for number in count(start):
        for at in range(place, len(turns)):
            way, part = turns[at]
            yield way, number * way.share + part, {"round": number, "place": at}
        place = 0


def _peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
