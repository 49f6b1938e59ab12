"""A table with columns of every kind, in every library."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


# A mixed table ------------------------------------------------------------------------------------


def mixed(n_rows: int = 90, seed: int = 0) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns of every kind with holes in them, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    churns = rng.random(n_rows) < 0.4
    shift = churns.astype(int)
    columns: dict[str, list[Any]] = {
        "age": (30 + 20 * shift + rng.normal(0, 8, n_rows)).round(1).tolist(),
        "visits": (rng.integers(0, 6, n_rows) + 4 * shift).tolist(),
        "city": rng.choice(["Oslo", "Rome", "Lima"], n_rows).tolist(),
        "plan": np.where(rng.random(n_rows) < 0.2 + 0.6 * shift, "gold", "basic").tolist(),
        "member": (rng.random(n_rows) < 0.8 - 0.5 * shift).tolist(),
        "joined": [dt.datetime(2018 + int(year), 7, 1) for year in rng.integers(0, 6, n_rows)],
    }
    for cells in columns.values():
        for row in np.flatnonzero(rng.random(n_rows) < 0.03):
            cells[int(row)] = None
    return columns, np.where(churns, "yes", "no").tolist()


COLUMNS, LABELS = mixed()


def pandas_frame() -> Any:
    return pd.DataFrame(COLUMNS)


def pandas_categorical() -> Any:
    return pandas_frame().astype({"city": "category", "plan": "category"})


def polars_frame() -> Any:
    return pl.DataFrame(COLUMNS)


def polars_categorical() -> Any:
    dtypes = {"city": pl.Categorical, "plan": pl.Enum(["gold", "basic"])}
    return polars_frame().cast(dtypes)


def object_array() -> Any:
    rows = np.empty((len(LABELS), len(COLUMNS)), dtype=object)
    for j, cells in enumerate(COLUMNS.values()):
        rows[:, j] = cells
    return rows


def with_na() -> Any:
    """Every hole a pd.NA, in columns of Python objects."""
    return pandas_frame().astype(object).where(pandas_frame().notna(), pd.NA)


LIBRARIES: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "pandas objects": lambda: pandas_frame().astype({"city": object, "plan": object}),
    "pandas pd.NA": with_na,
    "pandas nullable": lambda: pandas_frame().convert_dtypes(),
    "pandas categorical": pandas_categorical,
    "pandas Arrow-backed": lambda: pandas_frame().convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars_frame,
    "polars categorical": polars_categorical,
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow dictionary": lambda: pa.Table.from_pandas(pandas_categorical()),
    "NumPy objects": object_array,
    "lists": lambda: object_array().tolist(),
    "tuples": lambda: [tuple(row) for row in object_array()],
}
