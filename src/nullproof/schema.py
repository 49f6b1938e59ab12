"""What an index counts: features with their closed domains, and labels.

A code is the position of a value in its feature's domain. Values are compared as text, so that the
same data from a CSV file, a database or any data frame library has the same codes.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["category", "boolean", "number", "date", "code"]


@dataclass(frozen=True)
class Feature:
    """One column of the training table and its closed domain.

    Parameters
    ----------
    kind
        ``"category"``, ``"boolean"``, ``"number"``, ``"date"``, or ``"code"`` (integers 0, 1, …, negative =
        missing).
    values
        The domain as text, in a fixed order; a bin is written as its interval.
    edges
        Bin edges of a binned number or date (microseconds since 1970); empty where every value is
        its own category.
    bins
        For binned columns: which bin each value of the domain is.
    """

    name: str
    kind: Kind
    values: tuple[str, ...]
    edges: tuple[float, ...] = ()
    bins: tuple[int, ...] = ()

    @property
    def n_values(self) -> int:
        return len(self.values)

    @cached_property
    def codes(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def sorted_numbers(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The domain of an unbinned number as sorted floats, and the code of each."""
        found = np.array([float(value) for value in self.values], dtype=np.float64)
        order = np.argsort(found)
        return found[order], order

    def __repr__(self) -> str:
        shown = ", ".join(self.values[:4]) + (", …" if self.n_values > 4 else "")
        return f"Feature({self.name!r}, {self.kind}, {self.n_values} values: {shown})"


@dataclass(frozen=True)
class Schema:
    """The features, in order, the labels, and the spellings of missing that an index counts by."""

    features: tuple[Feature, ...]
    labels: tuple[Any, ...]
    label_name: str = "label"
    missing: tuple[str, ...] = ()

    @cached_property
    def label_codes(self) -> dict[str, int]:
        return {text(label): code for code, label in enumerate(self.labels)}

    @cached_property
    def position(self) -> dict[str, int]:
        return {feature.name: j for j, feature in enumerate(self.features)}


def text(value: Any) -> str:
    """Write a value the one way that values are compared: ``1``, ``1.0`` and ``"1"`` are the same."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real | decimal.Decimal):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)
    if isinstance(value, dt.datetime):
        return in_utc(value).isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)


def in_utc(value: dt.datetime) -> dt.datetime:
    """The same moment without a time zone, as time stamps are compared."""
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def in_order(values: Iterable[str]) -> tuple[str, ...]:
    """Sort numbers by size and before texts, so that a domain never depends on the order of rows."""
    numbers_, words = [], []
    for value in values:
        number = as_number(value)
        if number is None:
            words.append(value)
        else:
            numbers_.append((number, value))
    return (*(value for _, value in sorted(numbers_)), *sorted(words))


def as_number(value: str) -> float | None:
    """The finite number that a text writes, None if it writes none."""
    # Cheaper than a failing conversion: of what begins with a letter only inf and nan are floats.
    if value[:1].isascii() and value[:1].isalpha():
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_number(value: Any) -> bool:
    """Whether a plain Python value is a number; true and false are not."""
    kinds = numbers.Real | decimal.Decimal
    return isinstance(value, kinds) and not isinstance(value, bool | np.bool_)


def is_missing(value: Any) -> bool:
    """Whether a plain Python cell is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, numbers.Real | decimal.Decimal) and bool(value != value)
