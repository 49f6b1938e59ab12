"""Break one thing at a time in what decides, and see that a test fails: ./check --mutants [MODULE …]

A mutant is a module with one small change (scripts/mutations.py). It is killed if one of the tests of its
package fails or takes far too long; the others are printed. A survivor shows that a test is missing, or
changes nothing that anybody can see (a block size, a bound that is still valid), so a module passes if the
share of killed mutants reaches the score of its package ([tool.nullproof.mutants] in pyproject.toml).

Tests are collected once. Each is run once as it is, to see how long it takes and which lines it runs; then
each mutant gets a process of its own, split off with everything imported, in which the functions have
the changed code, and the tests that run its lines are tried, the quickest first.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import hashlib
import importlib
import os
import pickle
import pkgutil
import random
import re
import resource
import signal
import sys
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import coverage
import numpy as np
import pytest
from mutations import Mutant, mutants

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "pyproject.toml"
# As many random tables as catch a fault within seconds, and one thread, since others do not survive a fork.
ENVIRONMENT = {
    "NULLPROOF_MORE": "0.03",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
_MEMORY = 6 * 2**30
# So many tests are traced in one process: to begin tracing takes longer than most of them.
_TOGETHER = 25
_PLAIN = (bool, int, float, str, tuple, frozenset, dict, Fraction, range, re.Pattern, np.ndarray)


class Run(NamedTuple):
    """A test as it is: whether it passes, in how many seconds, and which lines of each file it runs."""

    passes: bool
    seconds: float
    lines: dict[str, frozenset[int]]


_TOO_SLOW = Run(passes=False, seconds=0, lines={})


class Module:
    """A module, its mutants that are left, and how many tests have killed."""

    def __init__(self, name: str, score: float) -> None:
        self.name, self.score, self.n_killed = name, score, 0
        self.path = str(ROOT / "src" / "nullproof" / f"{name.replace('.', '/')}.py")
        self.left = mutants(Path(self.path).read_text("utf-8"), self.path)

    def __str__(self) -> str:
        return f"{self.name}: {self.n_killed} killed, {len(self.left)} left"

    @property
    def passes(self) -> bool:
        """Whether enough of its mutants were killed."""
        return self.n_killed >= self.score * (self.n_killed + len(self.left))


class Bench:
    """A pytest plugin that tries mutants of some modules instead of running the tests once."""

    def __init__(self, modules: list[Module], given: Any) -> None:
        self.modules, self.seconds, self.slowest = modules, given.seconds, given.slowest
        self.kept_runs = Path(given.runs) if given.runs else None
        self.runs: dict[pytest.Item, Run] = {}
        self.kills: Counter[pytest.Item] = Counter()
        self.n_failed = 0
        self.out = os.fdopen(os.dup(1), "w")

    def pytest_sessionstart(self) -> None:
        """Let hypothesis draw the same examples each time, and import the whole package."""
        from hypothesis import settings

        settings.register_profile("mutants", derandomize=True, database=None)
        settings.load_profile("mutants")
        for found in pkgutil.walk_packages([str(ROOT / "src" / "nullproof")], "nullproof."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run each test once, then try the mutants."""
        functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        gc.freeze()
        self._run_all(session.items)
        for module in self.modules:
            live = [one for one in functions if one.__code__.co_filename == module.path]
            self._try(module, session.items, live)
            self._say(str(module))
        return True

    def _try(self, module: Module, items: list[pytest.Item], live: list[FunctionType]) -> None:
        """Try the mutants of a module that are left with some tests."""
        tried, module.left = module.left, []
        for number, mutant in enumerate(tried, 1):
            if self._survives(module, mutant, items, live):
                module.left.append(mutant)
                self._say(f"{module.name}, {mutant}")
            else:
                module.n_killed += 1
            if number % 50 == 0:
                self._say(f"  {number} of {len(tried)}; {module}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self.n_failed += report.failed

    def _passes(self, item: pytest.Item) -> bool:
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self.n_failed

    def _say(self, line: str) -> None:
        print(line, file=self.out, flush=True)

    def _run_all(self, items: list[pytest.Item]) -> None:
        """Run each test once as it is, unless that was kept from another time with the same modules."""
        sources = repr([(m.path, Path(m.path).read_text("utf-8")) for m in self.modules])
        known: dict[tuple[str, str], Run] = {}
        if self.kept_runs is not None and self.kept_runs.exists():
            known = pickle.loads(self.kept_runs.read_bytes())
        shown = hashlib.sha256(sources.encode()).hexdigest()
        fresh = [item for item in items if (item.nodeid, shown) not in known]
        for start in range(0, len(fresh), _TOGETHER):
            together = fresh[start : start + _TOGETHER]
            # Where one of them takes too long, each gets a process of its own.
            runs = self._as_they_are(together) or [
                (self._as_they_are([item]) or [_TOO_SLOW])[0] for item in together
            ]
            for item, run in zip(together, runs, strict=True):
                known[item.nodeid, shown] = run
        for item in items:
            self.runs[item] = known[item.nodeid, shown]
            if not self.runs[item].passes:
                self._say(f"{item.nodeid} is too slow or fails as it is, and is left out")
        self._say(f"{len(items)} tests, {sum(self.runs[item].seconds for item in items):.0f} s")
        if self.kept_runs is not None:
            self.kept_runs.write_bytes(pickle.dumps(known))

    def _as_they_are(self, items: list[pytest.Item]) -> list[Run]:
        """Run some tests in a process of their own, traced; nothing if they take too long."""

        def traced() -> list[Run]:
            paths = [module.path for module in self.modules]
            tracer = coverage.Coverage(data_file=None, config_file=False, include=paths)
            tracer.start()
            outcomes = []
            for number, item in enumerate(items):
                forget()
                tracer.switch_context(f"test {number}")
                start, self.n_failed = time.process_time(), 0
                outcomes.append((self._passes(item), time.process_time() - start))
            tracer.stop()
            # That a test runs no line of these modules is nothing to warn of.
            warnings.simplefilter("ignore")
            found, runs = tracer.get_data(), []
            for number, (passes, seconds) in enumerate(outcomes):
                found.set_query_context(f"test {number}")
                lines = {path: frozenset(found.lines(path) or ()) for path in paths}
                runs.append(Run(passes, seconds, lines))
            return runs

        found = split_off(traced, self.slowest)
        return found if isinstance(found, list) else []

    def _survives(
        self, module: Module, mutant: Mutant, items: list[pytest.Item], live: list[FunctionType]
    ) -> bool:
        """Whether no test notices the change within the time it is worth."""
        tests = []
        for item in items:
            run = self.runs[item]
            lines = run.lines.get(module.path, frozenset())
            if run.passes and (lines & mutant.lines if mutant.lines else lines):
                tests.append(item)
        tests.sort(key=lambda item: self.runs[item].seconds / (1 + 3 * self.kills[item]))
        whole = sum(self.runs[item].seconds for item in tests)

        def tried() -> int | None:
            put_in_place(mutant, module.name, live)
            for number, item in enumerate(tests):
                if not self._passes(item):
                    return number
                if time.process_time() > self.seconds:
                    return None
            return None

        found = split_off(tried, int(3 * min(whole, self.seconds)) + 10)
        if isinstance(found, int):
            self.kills[tests[found]] += 1
        return found is None


def split_off(work: Callable[[], Any], seconds: int) -> Any:
    """Do work in a process of its own, and give its result; the word "ended" if it did not finish."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            # The machine may be busy: waiting is a failure only if it takes very long.
            signal.alarm(20 * seconds)
            os.write(writing, pickle.dumps(work()))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer) if answer else "ended"


def forget() -> None:
    """Drop what tests keep for each other, so that each is seen to run all the lines it stands on."""
    for name, module in [*sys.modules.items()]:
        if name.startswith(("test", "support")):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def put_in_place(mutant: Mutant, module: str, live: list[FunctionType]) -> None:
    """Give the functions of a module that is imported the code of the mutant, and its constants."""
    if mutant.lines:
        codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(mutant.code)}
        for function in live:
            key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
            if key in codes:
                function.__code__ = codes[key]
        return
    name = f"nullproof.{module}"
    fresh = ModuleType(name)
    fresh.__file__ = sys.modules[name].__file__
    here = sys.modules[name]
    sys.modules[name] = fresh
    exec(mutant.code, vars(fresh))
    sys.modules[name] = here
    others = [one for key, one in [*sys.modules.items()] if key.startswith(("nullproof", "test"))]
    for key, value in vars(fresh).items():
        old = getattr(here, key, None)
        if isinstance(value, type) and value.__module__ == name:
            _renew(old, value)
        elif isinstance(value, FunctionType) and value.__module__ == name:
            old.__defaults__, old.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
        elif isinstance(value, _PLAIN) or is_dataclass(value):
            _exchange(key, old, value, others)


def _exchange(key: str, old: Any, new: Any, modules: list[ModuleType]) -> None:
    """Give modules another constant where they have the old one; an object stays of its class."""
    if repr(new) == repr(old):
        return
    if is_dataclass(new):
        new = replace(old, **vars(new))
    for module in modules:
        if repr(vars(module).get(key)) == repr(old):
            setattr(module, key, new)


def _renew(old: Any, new: Any) -> None:
    """Give a class the defaults and constants of another."""
    for key, value in vars(new).items():
        if isinstance(value, FunctionType):
            was = vars(old)[key]
            was.__defaults__, was.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
        elif isinstance(value, _PLAIN) and not key.startswith("__"):
            setattr(old, key, value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def modules_of(name: str, package: dict[str, Any]) -> list[str]:
    """The modules of a package: those that are named, or every file."""
    folder = ROOT / "src" / "nullproof" / name
    files = [path.relative_to(folder.parent).with_suffix("") for path in folder.rglob("*.py")]
    found = [".".join(path.parts) for path in sorted(files) if path.name != "__init__"]
    return [*package.get("modules", found)]


def draw(modules: list[Module], n_drawn: int, seed: int) -> None:
    """Keep a random part of the mutants of all modules."""
    every = [(module, one) for module in modules for one in module.left]
    kept = random.Random(seed).sample(every, min(n_drawn, len(every)))
    for module in modules:
        module.left = [one for one in module.left if (module, one) in kept]


def main() -> None:
    """Try the modules that are named, or all that decide."""
    packages = tomllib.loads(SETTINGS.read_text("utf-8"))["tool"]["nullproof"]["mutants"]
    every = {
        module: package
        for name, package in packages.items()
        for module in modules_of(name, package)
    }
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help="such as model.verdicts; by default all")
    parser.add_argument("--draw", type=int, metavar="N", help="only N mutants, at random")
    parser.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    parser.add_argument("--again", type=Path, help="only those that another run printed to a file")
    parser.add_argument("--tests", nargs="+", help="in place of the tests of their packages")
    parser.add_argument(
        "--seconds", type=int, default=60, help="of processor time after which one has survived"
    )
    parser.add_argument(
        "--slowest", type=int, default=20, help="seconds: tests that take longer are left out"
    )
    parser.add_argument("--runs", help="a file that keeps which lines each test runs")
    given = parser.parse_args()
    unknown = [name for name in given.modules if name not in every]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(every)}")
    os.environ.update({**ENVIRONMENT, **os.environ})
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    modules = [Module(name, every[name]["score"]) for name in given.modules or every]
    if given.again is not None:
        wanted = {line.strip() for line in given.again.read_text("utf-8").splitlines()}
        for module in modules:
            module.left = [one for one in module.left if f"{module.name}, {one}" in wanted]
    if given.draw is not None:
        draw(modules, given.draw, given.seed)
    modules = [module for module in modules if module.left]
    wanted = dict.fromkeys(test for module in modules for test in every[module.name]["tests"])
    tests = given.tests or [*wanted]
    options = ["-q", "-s", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*options, *tests], plugins=[Bench(modules, given)])
    sys.exit(not all(module.passes for module in modules))


if __name__ == "__main__":
    main()
