"""A table with every kind of column and of odd value, to be counted alike wherever it is."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl


def odd_table(n_rows: int = 2000, seed: int = 0) -> pl.DataFrame:
    """All kinds of columns and of odd values, with holes."""
    rng = random.Random(seed)

    def cells(draw: Callable[[], Any], holes: float = 0.1) -> list[Any]:
        return [None if rng.random() < holes else draw() for _ in range(n_rows)]

    odd = ["", "null", "é\n", "'q\"", "1", "01", " a", "NULL", "None", "日本", "a\tb", "\\", "%s"]
    start = dt.datetime(2020, 2, 29)
    return pl.DataFrame(
        {
            "odd": cells(lambda: rng.choice(odd)),
            "word": cells(lambda: rng.choice("abc"), 0.0),
            "many": cells(lambda: f"category {rng.randrange(10_000)}"),
            "spelled": cells(lambda: rng.choice(["1", "2.5", "?", "10"])),
            "real": cells(lambda: rng.choice([rng.gauss(0, 1), float("nan"), float("inf")])),
            "code": cells(lambda: rng.choice([-999.0, 0.5, 0.25, 2.0])),
            "whole": cells(lambda: rng.randrange(-50, 50)),
            "big": cells(lambda: rng.randrange(2**60, 2**60 + 5), 0.0),
            "flag": cells(lambda: rng.random() < 0.3),
            "day": cells(lambda: start.date() + dt.timedelta(rng.randrange(900))),
            "stamp": cells(lambda: start + dt.timedelta(microseconds=rng.randrange(10**14))),
            "constant": [7] * n_rows,
            "empty": pl.Series([None] * n_rows, dtype=pl.Float64),
            "label": cells(lambda: rng.choice(["yes", "no", "per'haps\n"]), 0.0),
        },
        schema_overrides={"real": pl.Float64, "whole": pl.Int32},
    ).with_columns(
        zoned=pl.col("stamp").dt.replace_time_zone("UTC"), single=pl.col("real").cast(pl.Float32)
    )


def many_numbers(n_rows: int = 6000, seed: int = 1) -> pl.DataFrame:
    """Columns of thousands of numbers and moments that the label follows, one number of each often."""
    rng = random.Random(seed)
    start = dt.datetime(2020, 2, 29)
    signal = [0.0 if rng.random() < 0.3 else rng.gauss(0, 1) for _ in range(n_rows)]
    signal[:4] = [-0.0, 5e-324, -5e-324, 40.0]
    holes = [None, float("nan"), float("inf"), float("-inf")]
    return pl.DataFrame(
        {
            "real": [rng.choice(holes) if rng.random() < 0.1 else x for x in signal],
            "whole": [round(x * 10_000) for x in signal],
            "cents": [decimal.Decimal(round(x * 10_000)) / 100 for x in signal],
            "day": [start.date() + dt.timedelta(round(x * 5000)) for x in signal],
            "stamp": [start + dt.timedelta(microseconds=round(x * 10**13)) for x in signal],
            "label": [
                ("low", "middle", "high")[(x + rng.gauss(0, 0.5) > -0.7) + (x > 0.4)]
                for x in signal
            ],
        },
        schema_overrides={"cents": pl.Decimal(18, 2)},
    )


def crowded_numbers(n_rows: int = 140_000, seed: int = 2) -> pl.DataFrame:
    """So many rows that an engine deals the numbers into cells; columns crowd in their own ways."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=n_rows)
    label = np.digitize(signal + rng.normal(size=n_rows), [-1, 0.5])
    real = np.where(rng.random(n_rows) < 0.01, np.nan, signal)
    real[:6] = [np.inf, -np.inf, np.inf, -0.0, 5e-324, -5e-324]
    return pl.DataFrame(
        {
            "real": real,
            "skew": np.exp(signal * 4),
            "zeros": np.where(rng.random(n_rows) < 0.5, 0.0, np.sinh(signal * 9)),
            "towns": np.round(signal) * 1e6 + rng.random(n_rows) * 1e-3,
            "whole": (signal * 10_000).astype(np.int64),
            "wide": np.tanh(signal) * 1.7e308,
            "single": signal.astype(np.float32),
            "label": pl.Series(label).replace_strict({0: "low", 1: "middle", 2: "high"}),
        }
    )
