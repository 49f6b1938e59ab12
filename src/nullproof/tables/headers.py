"""The names of the columns of a file: its first row, or c1, c2, …"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nullproof.errors import NullproofError, notice
from nullproof.tables.values import as_number
from nullproof.words import some

if TYPE_CHECKING:
    import polars as pl


def numbered_names(width: int) -> list[str]:
    """The names of the columns of a file without a header."""
    return [f"c{place}" for place in range(1, width + 1)]


def with_names(frame: pl.DataFrame, header: Sequence[str], where: str) -> pl.DataFrame:
    """The columns under the names of their header, without those that have neither name nor cells."""
    blank = [not name.strip() for name in header]
    kept = [
        (column, name)
        for column, name, is_blank in zip(frame.columns, header, blank, strict=True)
        if not (is_blank and _is_empty(frame[column]))
    ]
    n_unnamed = sum(not name.strip() for _, name in kept)
    if n_unnamed > 1:
        raise NullproofError(
            f"{where} has {n_unnamed} columns with cells but without a name; give each column its own name"
        )
    return frame.select(column for column, _ in kept).rename(dict(kept))


def _is_empty(series: pl.Series) -> bool:
    """Whether no cell holds more than spaces."""
    import polars as pl

    known = series.drop_nulls()
    return not len(known) or (known.dtype == pl.String and not known.str.strip_chars().ne("").any())


def refuse_repeated(header: Sequence[str], where: str) -> None:
    """Refuse a name that two columns have, and point out a header that may be none."""
    seen = [name for name in header if name.strip()]
    twice = sorted({name for name in seen if seen.count(name) > 1})
    if not twice:
        return
    many = "two" if seen.count(twice[0]) == 2 else str(seen.count(twice[0]))
    others = f" (and {some(map(repr, twice[1:]), 4)} repeated too)" if twice[1:] else ""
    hint = (
        ", or say header=False or --no-header if it has no names" if looks_like_data(header) else ""
    )
    raise NullproofError(
        f"{where} has {many} columns named {twice[0]!r}{others}; give each column its own name{hint}"
    )


def tell_of_data(header: Sequence[str], where: str) -> None:
    """Say so where the first row looks like data."""
    if looks_like_data(header):
        notice(
            f"the first row of {where} holds numbers ({some(header, 4)}) and was read as the names of the "
            "columns; if it is data, say header=False or --no-header"
        )


def looks_like_data(header: Sequence[str]) -> bool:
    """Whether all names are numbers, or one is a number that is not whole; years may be names."""
    numbers = [as_number(name) for name in header if name.strip()]
    parts = (isinstance(x, float) and math.isfinite(x) for x in numbers)
    return all(x is not None for x in numbers) or any(parts)
