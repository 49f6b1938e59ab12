"""A pytest plugin for environments without all libraries: a test that lacks one is skipped, and says which.

pytest -p support.lacking, as noxfile.py runs it. A plain check does without it, so that there no test is
skipped because something is not installed.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

_MODULE = re.compile(r"(?:No module named|could not import) '(\w+)")
_EXTRA = re.compile(r'pip install "nullproof\[(\w+)\]"')
_HALF_LOADED = re.compile(r"cannot import name '\w+' from '[\w.]+' \((.+?)\)")
# Files that could not be imported, each with the reason: what they lack, others cannot import from them.
_SKIPPED: dict[Path, str] = {}


def lacking(text: str) -> str | None:
    """What a failure says is not installed, and really is not; None if it is about something else."""
    for module in _MODULE.findall(text):
        if module not in ("nullproof", "support") and find_spec(module) is None:
            return f"needs {module}"
    for path in _HALF_LOADED.findall(text):
        if Path(path) in _SKIPPED:
            return _SKIPPED[Path(path)]
    extra = _EXTRA.search(text)
    return f"needs the extra {extra[1]}" if extra else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip files that import what is not installed."""
    report = yield
    reason = lacking(str(report.longrepr)) if report.failed else None
    if reason:
        _SKIPPED[collector.path] = reason
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip tests that fail for want of a library, and for nothing else."""
    report = yield
    reason = lacking(str(report.longrepr)) if report.failed else None
    if reason:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, reason)
    return report
