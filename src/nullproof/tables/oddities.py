"""What is odd about the distinct texts of a column: strays among numbers or dates, spellings alike.

One text that is no number makes a column of numbers text, where each number is a value of its own. Nobody
wants that, so it is told; what the column is, `kinds.py` decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from nullproof.tables.values import as_number, parsed_date
from nullproof.tables.writings import AS_WRITTEN

_WRITTEN = re.compile(AS_WRITTEN)
# Fewer numbers may be grades, or a "3+" among 0, 1 and 2: a category.
_FEW_NUMBERS = 10
_MANY_NUMBERS = 20
# So many strays are still strays; beyond them, and beyond a twentieth of all texts, they are codes.
_FEW_STRAYS = 3
_SHARE = 20
_SAMPLE = 64
_MANY_TEXTS = 1_000


def strays(texts: Sequence[str]) -> list[str]:
    """The few distinct texts among many numbers or dates that are neither.

    >>> strays(["unknown", *map(str, range(18, 80))])
    ['unknown']
    >>> strays(["red", "green", *map(str, range(5))])
    []
    """
    if len(texts) <= _FEW_NUMBERS:
        return []
    some = texts[:: len(texts) // _SAMPLE + 1]
    if 2 * sum(map(_is_amount, some)) < len(some):
        return []
    most, found = max(_FEW_STRAYS, len(texts) // _SHARE), []
    for written in texts:
        if not _is_amount(written):
            found.append(written.strip())
            if len(found) > most:
                return []
    return sorted(found) if len(texts) - len(found) >= _FEW_NUMBERS else []


def amounts(texts: Sequence[str]) -> Literal["numbers", "dates"] | None:
    """What texts look like, by some of them: numbers, or dates as ISO 8601 writes them.

    >>> amounts([f"2024-01-{day:02d}" for day in range(1, 32)])
    'dates'
    """
    some = texts[:: len(texts) // _SAMPLE + 1]
    if len(texts) > _FEW_NUMBERS and all(parsed_date(text) is not None for text in some):
        return "dates"
    # Fewer different numbers are codes or grades more often than not.
    if len(texts) > _MANY_NUMBERS and all(as_number(text) is not None for text in some):
        return "numbers"
    return None


def alike(texts: Collection[str]) -> list[list[str]]:
    """Groups of texts that differ only in upper and lower case or in spaces around them.

    >>> alike(["Nord", "nord", "Ost"])
    [['Nord', 'nord']]
    """
    if len(texts) > _MANY_TEXTS:
        return []
    groups: dict[str, list[str]] = {}
    for written in texts:
        groups.setdefault(written.strip().casefold(), []).append(written)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def _is_amount(written: str) -> bool:
    if written[:1].isalpha():
        return as_number(written) is not None
    return (
        _WRITTEN.fullmatch(written) is not None
        or as_number(written) is not None
        or parsed_date(written) is not None
    )
