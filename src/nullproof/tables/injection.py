"""inject_missing: make holes in a table, to see what they do to predictions.

The draw needs only the raw 64-bit numbers of PCG64, whose stream NumPy promises never to change, and
multiplications and divisions, which every machine rounds alike. So the same seed blanks the same
cells on any machine, with any version and in any data frame library.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nullproof.errors import NullproofError
from nullproof.seeds import refuse_seed
from nullproof.tables.cells import set_cells
from nullproof.tables.columns import Column
from nullproof.tables.readers import Table, open_table, refuse_unknown
from nullproof.tables.values import in_order

Mechanism = Literal["uniform", "value"]
Mask = NDArray[np.bool_]
_MECHANISMS = ("uniform", "value")


def inject_missing(
    table: Any,
    rate: float,
    *,
    features: float | Collection[str] | None = None,
    label: str | None = None,
    seed: int = 0,
    mechanism: Mechanism = "uniform",
) -> Any:
    """Blank a share of the known cells of a table.

    Parameters
    ----------
    table
        A data frame (the result has the same type), or a lazy one, a DuckDB table or a file (the
        result is a polars frame).
    rate
        The share of the known cells of the features to blank, from 0 to 1; rounded to whole cells.
    features
        The columns to make holes in; a number like 0.2 draws that share of them; None means all.
    label
        The label column, which never gets holes.
    seed
        The same seed blanks the same cells, on any machine and in any data frame library.
    mechanism
        ``"uniform"``: every cell is equally likely. ``"value"``: not at random; the greater a cell's value
        among those of its column, the likelier it is blanked, in proportion to the value's rank (texts
        rank in alphabetical order), as when high incomes are kept secret.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "churn": ["no", "no", "yes", "yes"]})
    >>> inject_missing(table, 0.5, label="churn", seed=1)["age"].to_list()
    [None, 30, 40, None]
    """
    if mechanism not in _MECHANISMS:
        raise NullproofError(
            f"mechanism is {mechanism!r}; give {' or '.join(map(repr, _MECHANISMS))}"
        )
    opened = open_table(table)
    if opened.frame is None:
        raise NullproofError(
            f"{type(table).__name__} is not a data frame; give one of pandas, polars, pyarrow or "
            "DuckDB, or the path of a file"
        )
    refuse_seed(seed)
    names = _chosen_features(opened, features, label, seed)
    columns = [opened.column(name) for name in names]
    known = np.stack([column.known for column in columns], axis=1)
    weights = None
    if mechanism == "value":
        weights = np.stack([_weights(column) for column in columns], axis=1)
    blanked = draw_cells(known, rate, seed=seed, weights=weights)
    changes = {
        name: dict.fromkeys(np.flatnonzero(blanked[:, j]).tolist()) for j, name in enumerate(names)
    }
    return set_cells(opened.frame, changes)


def draw_cells(
    known: Mask, rate: float, *, seed: int, weights: NDArray[np.float64] | None = None
) -> Mask:
    """Draw a share of the known cells (rows × features) without replacement.

    Cells take numbers column by column. With ``weights``, those with the smallest number per weight are
    drawn (sequential Poisson sampling), so that chances are close to proportional to the weights
    (theory 6).
    """
    if not 0 <= rate <= 1:
        raise NullproofError(f"rate is {rate!r}; give a share of the cells, from 0 to 1")
    keys: NDArray[np.float64] = uniforms(known.size, seed, stream=1)
    if weights is not None:
        keys = keys / weights.ravel(order="F")
    keys = np.where(known.ravel(order="F"), keys, np.inf)
    n_cells = round(float(rate) * int(known.sum()))
    return _smallest(keys, n_cells).reshape(known.shape, order="F")


def draw_features(n_features: int, share: float, *, seed: int) -> list[int]:
    """Draw a share of the features, at least one."""
    if not 0 < share <= 1:
        raise NullproofError(
            f"features is {share!r}; give a share above 0 and up to 1, or names of columns"
        )
    keys = uniforms(n_features, seed, stream=0)
    return np.flatnonzero(_smallest(keys, max(1, round(share * n_features)))).tolist()


def uniforms(size: int, seed: int, *, stream: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) from the raw stream of PCG64; each ``stream`` of a seed is independent."""
    raw = np.random.PCG64(np.random.SeedSequence([seed, stream])).random_raw(size)
    return (raw >> np.uint64(11)).astype(np.float64) * np.float64(2.0**-53)


def _smallest(keys: NDArray[np.float64], n_wanted: int) -> Mask:
    """Mark the smallest keys; of equal ones the first, so that nothing is left to the sorting."""
    if n_wanted == 0:
        return np.zeros(len(keys), dtype=bool)
    limit = np.partition(keys, n_wanted - 1)[n_wanted - 1]
    marked: Mask = keys < limit
    marked[np.flatnonzero(keys == limit)[: n_wanted - int(marked.sum())]] = True
    return marked


def _chosen_features(
    table: Table, features: float | Collection[str] | None, label: str | None, seed: int
) -> Sequence[str]:
    if label is not None:
        refuse_unknown([label], table.names, "label")
    names = [name for name in table.names if name != label]
    if not names:
        raise NullproofError("the table has no column besides the label; give at least one feature")
    if features is None:
        return names
    if isinstance(features, int | float):
        return [names[j] for j in draw_features(len(names), features, seed=seed)]
    wanted = [features] if isinstance(features, str) else list(features)
    refuse_unknown(wanted, names, "features")
    return [name for name in names if name in wanted]


def _weights(column: Column) -> NDArray[np.float64]:
    """The rank of each cell's value among the column's distinct ones, as a multiple of the mean rank.

    So a column of many values gets as many holes as one of few.
    """
    known = column.known
    ranks = np.ones(len(column))
    if column.numbers is not None:
        ranks[known] += np.unique(column.numbers[known], return_inverse=True)[1]
    else:
        assert column.codes is not None
        codes = column.codes[known]
        places = np.zeros(len(column.values))
        used = np.unique(codes).tolist()
        order = in_order({column.values[code] for code in used})
        rank = {value: place for place, value in enumerate(order)}
        places[used] = [rank[column.values[code]] for code in used]
        ranks[known] += places[codes]
    # Sums of whole numbers are exact, hence the same on every machine.
    weights: NDArray[np.float64] = ranks / (ranks.sum() / max(len(ranks), 1))
    return weights
