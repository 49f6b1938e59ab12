"""Restrict an attack, or a careless import, to some columns, some rows, or some cells.

`Reach.index` counts the cells within reach as known and all others as missing. So its counts are the
numbers of cells that can be blanked, and no other part of an attack needs masks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.count import count_codes
from nullproof.counts.index import CountIndex
from nullproof.data.edits import TrainingTable
from nullproof.data.schema import Encoded
from nullproof.data.sources import refuse_unknown
from nullproof.errors import NullproofError
from nullproof.words import some

Bools = NDArray[np.bool_]
Only = Mapping[str, Any] | None
_KEYS = ("columns", "rows", "cells", "table", "labels")


@dataclass(frozen=True)
class Reach:
    """The cells that can be blanked.

    Parameters
    ----------
    index
        Their counts: a cell out of reach counts as missing.
    columns
        The features with a cell within reach.
    mask
        Rows × features of the training table; None where whole columns are within reach.
    """

    index: CountIndex
    columns: Bools
    mask: Bools | None = None

    @classmethod
    def of(cls, index: CountIndex, only: Only = None) -> Reach:
        """Read the option ``only``; None means that everything is within reach."""
        if only is None:
            return cls(index, np.ones(len(index.features), dtype=bool))
        _refuse_keys(only)
        columns = _columns(index, only.get("columns"))
        if "rows" not in only and "cells" not in only:
            return cls(_without_columns(index, ~columns), columns)
        training = TrainingTable.open(index.schema, only["table"], only.get("labels"))
        mask = np.tile(columns, (len(training.row_labels), 1))
        if "rows" in only:
            mask &= _row_mask(only["rows"], len(mask))[:, None]
        if "cells" in only:
            mask &= _cell_mask(only["cells"], mask.shape, index.features)
        reachable = _counted(training, mask)
        _refuse_other_table(index, reachable)
        columns &= (reachable.n_null < reachable.label_counts).any(axis=1)
        return cls(reachable, columns, mask)

    @property
    def everything(self) -> bool:
        """Whether no cell is out of reach."""
        return self.mask is None and bool(self.columns.all())


def _refuse_keys(only: Any) -> None:
    if not isinstance(only, Mapping) or not only:
        raise NullproofError(
            f"only is {only!r}; give a mapping such as {{'columns': ['age']}} or "
            "{'rows': mask, 'table': train}"
        )
    refuse_unknown(only, _KEYS, "only")
    if ("rows" in only or "cells" in only) != ("table" in only):
        raise NullproofError(
            "only needs rows or cells together with their training table; give both, "
            "say {'rows': mask, 'table': train}"
        )


def _columns(index: CountIndex, names: Any) -> Bools:
    if names is None:
        return np.ones(len(index.features), dtype=bool)
    names = [names] if isinstance(names, str) else list(names)
    refuse_unknown(names, index.features, "only")
    return np.isin(np.array(index.features, dtype=object), names)


def _row_mask(rows: Any, n_rows: int) -> Bools:
    each = f"the {n_rows:,} rows of the table"
    return _checked(np.asarray(rows), (n_rows,), "rows", each)


def _cell_mask(cells: Any, shape: tuple[int, ...], features: Sequence[str]) -> Bools:
    """Return rows × features; a data frame is matched by name, and columns it lacks are out of reach."""
    each = f"{shape[0]:,} rows and {shape[1]} features"
    if isinstance(cells, np.ndarray):
        return _checked(cells, shape, "cells", each)
    frame = nw.from_native(cells, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise NullproofError(
            f"the cells of only are a {type(cells).__name__}; give an array or a data frame of True "
            "and False"
        )
    mask = np.zeros((len(frame), len(features)), dtype=bool)
    for j, name in enumerate(features):
        own = frame[name].to_numpy() if name in frame.columns else mask[:, j]
        # Any text would count as True, and a missing cell as False.
        if own.dtype != bool:
            raise NullproofError(
                f"column {name!r} of the cells of only holds {own.dtype}; give True or False in "
                "each row, none missing"
            )
        mask[:, j] = own
    return _checked(mask, shape, "cells", each)


def _checked(mask: NDArray[Any], shape: tuple[int, ...], what: str, each: str) -> Bools:
    if mask.dtype != bool or mask.shape != shape:
        raise NullproofError(
            f"the {what} of only are an array of {mask.dtype} with shape {mask.shape}; give True or "
            f"False for each of {each}"
        )
    return mask


def _counted(training: TrainingTable, mask: Bools) -> CountIndex:
    """Count the cells within reach; rows that were left out when the table was counted stay out."""
    labelled = training.row_labels >= 0
    columns = []
    for j, within in enumerate(mask.T):
        codes = np.where(within, training.writer(j).encoded.codes, -1)
        columns.append(Encoded(codes[labelled], {}))
    return CountIndex.of(count_codes(training.schema, columns, training.row_labels[labelled]))


def _without_columns(index: CountIndex, gone: Bools) -> CountIndex:
    """Return the index as if some columns were missing altogether."""
    known, n_null = list(index.known), index.n_null.copy()
    for j in np.flatnonzero(gone).tolist():
        known[j] = np.zeros_like(known[j])
        n_null[j] = index.label_counts
    return replace(index, known=tuple(known), n_null=n_null)


def _refuse_other_table(index: CountIndex, reachable: CountIndex) -> None:
    """Refuse a table that has other rows, or more cells of some sort, than were counted."""
    same = np.array_equal(index.label_counts, reachable.label_counts)
    for counts, there in zip(index.known, reachable.known, strict=True):
        same &= bool((there <= counts).all())
    if not same:
        raise NullproofError(
            "the table of only is not the one that was counted: it has other labels or cells "
            f"({some(index.features, 5)}); give the table that was counted"
        )
