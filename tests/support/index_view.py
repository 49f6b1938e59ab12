"""What an index says of itself and how it reads points: the one place that knows where that is kept."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from nullproof import CountIndex, NullproofWarning

# A value of a point that the training table never shows.
UNSEEN = "<unseen>"
_KINDS = {"category": "text", "number": "number", "integer": "number", "float": "number"}
_KINDS |= {"date": "datetime", "code": "code"}
Cell = str | frozenset[str] | None


def quietly(table: Any, label: str = "y", **options: Any) -> CountIndex:
    """Count a table without its notices, with equal weights unless they are given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        return CountIndex.from_table(table, label, **_unweighted(options))


def notices(table: Any, label: str = "y", **options: Any) -> list[str]:
    """Return what is said when a table is counted, with equal weights unless they are given."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CountIndex.from_table(table, label, **_unweighted(options))
    return [str(notice.message) for notice in caught]


def _unweighted(options: dict[str, Any]) -> dict[str, Any]:
    return options if options.get("like") is not None else {"weights": "equal", **options}


def feature(index: CountIndex, name: str | None = None) -> Any:
    """Return the feature of a name, or the first."""
    return index.schema.features[0 if name is None else index.features.index(name)]


def values(index: CountIndex, name: str | None = None) -> tuple[str, ...]:
    """Return the domain of a feature as text, in its order."""
    found: tuple[str, ...] = feature(index, name).values
    return found


def kind(index: CountIndex, name: str | None = None) -> str:
    """Return text, number, datetime, boolean or code."""
    found: str = feature(index, name).kind
    return _KINDS.get(found, found)


def edges(index: CountIndex, name: str | None = None) -> tuple[float, ...]:
    """Return the edges of the bins of a feature; none where every value is its own."""
    found: tuple[float, ...] = feature(index, name).edges
    return found


def bins(index: CountIndex, name: str | None = None) -> tuple[int, ...]:
    """Return which bin each value of the domain is."""
    found: tuple[int, ...] = feature(index, name).bins
    return found


def left_out(index: CountIndex) -> tuple[str, ...]:
    """Return the columns that were left out because they name the rows."""
    return index.schema.left_out


def counts(index: CountIndex, name: str | None = None) -> dict[str | None, list[int]]:
    """Return how many cells of each label are known to hold each value; None for the missing ones."""
    j = 0 if name is None else index.features.index(name)
    found: dict[str | None, list[int]] = {}
    found.update(zip(values(index, name), index.exact(j)[:-1].tolist(), strict=True))
    found[None] = index.n_null[j].tolist()
    return found


def read(index: CountIndex, points: Any) -> dict[str, list[Cell]]:
    """Return every cell of the points as the index reads it: a value, candidates, or None if missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullproofWarning)
        found = index.encode(points)
    made: dict[str, list[Cell]] = {}
    for j, name in enumerate(index.features):
        names = [*values(index, name), UNSEEN]
        made[name] = [
            None
            if missing
            else names[code]
            if code < len(names)
            else frozenset(names[one] for one in found.candidates(j, code))
            for code, missing in zip(
                found.codes[j].tolist(), found.missing[j].tolist(), strict=True
            )
        ]
    return made


def saved_and_loaded(index: CountIndex, folder: Path) -> CountIndex:
    """Return the index that comes back from a file."""
    path = folder / "saved.index"
    index.save(path)
    return CountIndex.load(path)
