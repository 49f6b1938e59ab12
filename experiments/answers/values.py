"""Answers as plain values that JSON can hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Lists, dicts with texts as keys, texts, numbers, true, false and null."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {_key(key): plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "rows") and hasattr(value, "columns"):
        # A frame of polars.
        return [value.columns, *map(plain, value.rows())]
    return str(value)


def digest(value: Any) -> str:
    """A few characters that stand for a large answer."""
    return hashlib.sha256(json.dumps(plain(value)).encode()).hexdigest()[:16]


def _key(key: Any) -> str:
    return " | ".join(map(str, key)) if isinstance(key, tuple) else str(key)
