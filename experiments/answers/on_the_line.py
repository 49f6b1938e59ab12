"""What the commands print as JSON; they run in this process, as ``python -m nullproof`` would."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from experiments.answers.comparing import JSON
from experiments.answers.names import DEMO
from experiments.answers.questions import without_sentences

_FEW = 5


@dataclass(frozen=True)
class Files:
    """A training table and points as files, and how the commands are to read them."""

    train: Path
    points: Path
    few_points: Path
    arguments: tuple[str, ...]

    @classmethod
    def of(
        cls, folder: Path, train: pl.DataFrame, points: pl.DataFrame, label: str, ignore: list[str]
    ) -> Files:
        """Write the tables, and a few points for what takes long."""
        paths = folder / "train.csv", folder / "points.csv", folder / "few_points.csv"
        for frame, path in zip((train, points, points.head(_FEW)), paths, strict=True):
            frame.write_csv(path)
        left_out = [word for name in ignore for word in ("--ignore", name)]
        return cls(*paths, ("--label", label, *left_out))


def demo(folder: Path) -> Files:
    """The embedded example."""
    home = files("nullproof") / DEMO
    names = "customers.csv", "new_customers.csv"
    train, points = (pl.read_csv((home / name).read_bytes()) for name in names)
    return Files.of(folder, train, points, "churn", ["customer"])


def of_commands(paths: Files, folder: Path) -> dict[str, Any]:
    """Every command that prints JSON, with and without smoothing."""
    table = ("--bins", "5", "--binning", "uniform", "--missing", "?", *paths.arguments)
    train, both = str(paths.train), (str(paths.train), str(paths.points))
    few = train, str(paths.few_points)
    found: dict[str, Any] = {}
    for alpha in ("0", "1/2"):
        model = ("--alpha", alpha)
        found[f"alpha {alpha}"] = {
            "certify": printed("certify", *both, *table, *model),
            "certify itself": printed("certify", train, *table, *model),
            "radius": printed("radius", *both, *table, *model, "--check"),
            "odds": printed("odds", *both, *table, *model, "--prior", "uniform", "--gap", "0.05"),
            "clean": printed("clean", *both, *table, *model, "--budget", "20"),
            "report": printed("report", *both, *table, *model),
            "poison": printed("poison", *few, *table, *model, "--steps", "1", "--skip-unbreakable"),
        }
    saved = str(folder / "saved.index")
    found["index"] = printed("index", train, *table, "-o", saved, as_json=False)
    found["saved"] = printed("certify", saved, both[1], "--alpha", "1", "--check")
    found["refused"] = printed("certify", *both, "--label", "no such column")
    return found


def printed(*arguments: str, as_json: bool = True) -> dict[str, Any]:
    """The exit code of a command, and the JSON that it prints."""
    words = ["nullproof", "-q", *arguments, *(["--json"] if as_json else [])]
    stream, before, threshold = io.StringIO(), sys.argv, gc.get_threshold()
    try:
        sys.argv = words
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(io.StringIO()):
            code = _code(words)
    finally:
        # A command ends its process as a rule, and sets both for it alone.
        sys.argv = before
        gc.set_threshold(*threshold)
    text = stream.getvalue()
    return {"exit": code, **({JSON: without_sentences(json.loads(text))} if text else {})}


def _code(words: Sequence[str]) -> Any:
    # Python warns of a module that is run though somebody imported it already.
    sys.modules.pop(f"{words[0]}.__main__", None)
    try:
        runpy.run_module(words[0], run_name="__main__")
    except SystemExit as ending:
        return ending.code
    return 0
