"""Answer questions about a finished analysis: lists of points, and single points.

The library computes everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from nullproof.attacks.radius import radii_of
from nullproof.data.points import Points
from nullproof.model.certify import Certificates
from nullproof.model.verdicts import VERDICTS, verdicts
from nullproof.reporting import render
from nullproof.reporting import rows as details
from nullproof.results.files import to_csv
from nullproof.web.analysis import Result
from nullproof.web.forms import Wanted
from nullproof.web.limits import RequestError
from nullproof.words import cut, text

# The columns whose values are texts or can be written as texts.
_WRITTEN = ~(selectors.nested() | selectors.binary() | selectors.duration())


def listed(result: Result, wanted: Wanted) -> dict[str, Any]:
    """List one page of verdicts, and count each kind."""
    bias = _bias(result, wanted)
    places, counts = _places(result, wanted)
    shown = places[wanted.offset : wanted.offset + wanted.limit]
    chosen = result.certificates.take(shown)
    columns = {
        "point": shown.tolist(),
        **chosen.listed_columns(),
        "verdict": chosen.verdict_at(bias).tolist(),
        "truth": [None if own is None else text(own) for own in details.true_labels(chosen)],
    }
    lines = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        "n_points": len(places),
        "n_of": counts,
        "offset": wanted.offset,
        "bias": bias,
        "points": lines,
    }


def listed_file(result: Result, wanted: Wanted) -> str:
    """Return the whole list as the text of a CSV file."""
    places, _ = _places(result, wanted)
    chosen = result.certificates.take(places)
    verdict = chosen.verdict_at(_bias(result, wanted))
    return to_csv({**chosen.file_columns(), "point": places, "verdict": verdict.astype(str)})


def _bias(result: Result, wanted: Wanted) -> float:
    # The page gives one bias for all columns, so there is a threshold.
    return (result.certificates.threshold or 0.0) if wanted.bias is None else wanted.bias


def _places(result: Result, wanted: Wanted) -> tuple[NDArray[np.intp], dict[str, int]]:
    """Return the positions of the requested points, and their number by verdict."""
    verdict = result.certificates.verdict_at(_bias(result, wanted))
    rows = result.rows.with_columns(verdict=pl.Series(verdict, dtype=pl.String))
    if wanted.find.strip():
        rows = _found(rows, result.certificates.points, wanted.find.strip())
    if wanted.right is not None:
        rows = rows.filter(pl.col("right") == wanted.right) if "right" in rows.columns else rows[:0]
    counts = {name: int((rows["verdict"] == name).sum()) for name in VERDICTS}
    if wanted.verdict != "all":
        rows = rows.filter(pl.col("verdict") == wanted.verdict)
    # Points undecided even at a bias of 0 are null, and come first as the weakest.
    down = wanted.down
    rows = rows.sort(wanted.sort, descending=down, nulls_last=down, maintain_order=True)
    return rows["point"].to_numpy(), counts


def _found(rows: pl.DataFrame, points: Points, typed: str) -> pl.DataFrame:
    """Return the points of this name, else at this position, else with it in their name or a value."""

    def has(texts: pl.Expr) -> pl.Expr:
        # In capitals, since more letters are the same there: ß is SS.
        return texts.cast(pl.String).str.to_uppercase().str.contains(typed.upper(), literal=True)

    digits = typed.replace(",", "").removeprefix("#")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 13
    ways = [pl.col("point") == (int(digits) if is_number else -1)]
    if "key" in rows.columns:
        ways = [pl.col("key") == typed, *ways, has(pl.col("key"))]
    for way in ways:
        found = rows.filter(way)
        if len(found):
            return found
    if points.frame is None:
        return found
    cells: pl.DataFrame = points.frame.to_native()
    return rows.filter(cells.select(pl.any_horizontal(has(_WRITTEN))).to_series())


# One point -----------------------------------------------------------------------------------------


def one_point(certificates: Certificates, place: int) -> dict[str, Any]:
    """Return everything about one point of the analysis."""
    points = certificates.points
    if not 0 <= place < len(points):
        raise RequestError(
            404,
            f"there is no point {cut(str(place), 30)}; positions go from 0 to {len(points) - 1}",
        )
    places, strict = np.array([place]), certificates.model.unbiased
    own = points.take(places)
    row = details.points(certificates, radii_of(strict, own, verdicts(strict, own)), places)[0]
    return {**row, "html": render.row(row)}
