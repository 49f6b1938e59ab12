"""Time and memory of things that are compared with each other."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

LIBRARIES = ("numpy", "polars", "pandas", "pyarrow", "scikit-learn", "narwhals")


def machine() -> str:
    """One line about where the numbers come from."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"{libraries}. Medians; in brackets the fastest and the slowest run."
    )


def times(runs: int, **tasks: Callable[[], Any]) -> dict[str, list[float]]:
    """Seconds of each task, taking turns so that a slow moment of the machine hits all of them."""
    return both_times(runs, **tasks)[0]


def both_times(
    runs: int, **tasks: Callable[[], Any]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of each task by the clock, and of the processor, which a busy machine spoils less."""
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    processor: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()
    for _ in range(runs):
        for name, task in tasks.items():
            start, used = time.perf_counter(), time.process_time()
            task()
            wall[name].append(time.perf_counter() - start)
            processor[name].append(time.process_time() - used)
    return wall, processor


def shown(seconds: list[float]) -> str:
    """Median and spread in milliseconds."""
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    return f"{middle * 1e3:,.2f} ms ({low * 1e3:,.2f} to {high * 1e3:,.2f})"


def ratio(slow: list[float], fast: list[float]) -> float:
    """How many times the median of one is that of the other."""
    return statistics.median(slow) / statistics.median(fast)


def in_process(code: str, *arguments: str) -> tuple[float, float]:
    """Run code in a process of its own: seconds of its work, and its peak memory in MB.

    The code may set ``start`` after its imports.
    """
    program = (
        "import re, sys, time\n"
        f"{code}\n"
        "seconds = time.perf_counter() - start\n"
        "status = open('/proc/self/status').read()\n"
        "print(seconds, int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)
