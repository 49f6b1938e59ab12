"""Measurements on disk: every row is appended as soon as it is known, so that a run can be resumed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nullproof.errors import NullproofError

KEY = ("part", "dataset", "algorithm", "holes", "rate", "n_points", "run")
MEASURES = (
    *KEY,
    "seconds",
    "status",
    "n_certain",
    "n_wrong",
    "n_cells",
    "poisoning_rate",
    "lower_bound",
)
EXCEPTIONS = (
    "dataset",
    "run",
    "point",
    "greedy",
    "optimum",
    "claimed",
    "saturated_rivals",
    "n_raise",
    "n_lower",
    "explained",
)
CERTAINTY = (
    "dataset",
    "run",
    "rate",
    "n_missing",
    "bin",
    "median_radius",
    "n_points",
    "n_certain",
)
Row = dict[str, str]


class Sheet:
    """One CSV file with fixed columns; a last line cut short by an interruption is dropped."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self._path, self._columns = path, columns
        self.rows: list[Row] = []
        text = path.read_text("utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole:
            self.rows = list(csv.DictReader(io.StringIO(whole)))
        if whole != text or not whole:
            header = whole or ",".join(columns) + "\n"
            path.write_text(header, "utf-8", newline="")

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows in one write."""
        written = [{c: _text(row.get(c, "")) for c in self._columns} for row in rows]
        lines = io.StringIO()
        csv.DictWriter(lines, self._columns, lineterminator="\n").writerows(written)
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(lines.getvalue())
        self.rows += written


class Store:
    """The three sheets of an output folder, and the settings that they were measured with."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        _agree(folder / "settings.json", settings)
        self.measures = Sheet(folder / "measurements.csv", MEASURES)
        self.exceptions = Sheet(folder / "exceptions.csv", EXCEPTIONS)
        self.certainty = Sheet(folder / "certainty.csv", CERTAINTY)
        self._done = {key_of(row) for row in self.measures.rows}

    def has(self, task: Mapping[str, Any]) -> bool:
        return key_of(task) in self._done

    def add(self, row: Mapping[str, Any]) -> None:
        self.measures.add([row])
        self._done.add(key_of(row))


def key_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells one measurement from another."""
    return tuple(_text(row[column]) for column in KEY)


def _agree(path: Path, settings: Mapping[str, Any]) -> None:
    """Refuse to mix measurements of different settings in one folder."""
    if path.exists():
        before = json.loads(path.read_text("utf-8"))
        changed = [name for name, value in settings.items() if before.get(name) != value]
        if changed:
            named = ", ".join(f"{n} was {before.get(n)!r}, is {settings[n]!r}" for n in changed)
            raise NullproofError(
                f"{path.parent} holds measurements with other settings ({named}); "
                "give another folder, or delete it"
            )
        return
    path.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")


def _text(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
