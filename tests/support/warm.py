"""A command in a process that has loaded everything before: it begins to work at once."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from pkgutil import walk_packages

import nullproof

_LEFT_OUT = ("nullproof.__main__", "nullproof.web", "nullproof.estimator")


def warm_command(folder: Path, arguments: tuple[str, ...], **environment: str) -> BaseProcess:
    """Start a command in a folder, as a fork of a process that runs nothing but imports."""
    context = multiprocessing.get_context("forkserver")
    modules = [found.name for found in walk_packages(nullproof.__path__, "nullproof.")]
    context.set_forkserver_preload(
        ["polars", "duckdb", *(name for name in modules if not name.startswith(_LEFT_OUT))]
    )
    process = context.Process(target=_run, args=(folder, arguments, environment))
    process.start()
    return process


def _run(folder: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    from nullproof.__main__ import main

    os.chdir(folder)
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.argv = ["nullproof", "-q", *arguments]
    main()
