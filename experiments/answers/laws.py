"""Where two records differ: numbers to their last digits, what may differ by design by its law.

An answer that names a law (under the key `LAW`) may have other digits than before as long as both
obey it: bounds of the same number, attacks that work and bounds of their size, worlds that are valid.
"""

from __future__ import annotations

import fnmatch
import math
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LAW = "law"
INTENDED = Path(__file__).with_name("intended.toml")
DIGITS = 1e-12
_LONGEST = 160


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Each value that differs: its place, and what it was and is."""
    if isinstance(before, dict) and isinstance(after, dict):
        if before.get(LAW) in LAWS and before.get(LAW) == after.get(LAW):
            if not LAWS[before[LAW]](before, after):
                yield place, f"{_short(before)} -> {_short(after)}"
            return
        for key in [*before, *(key for key in after if key not in before)]:
            here = f"{place} > {key}" if place else key
            if key in before and key in after:
                yield from differences(before[key], after[key], here)
            else:
                there = (
                    ("nothing", _short(after[key]))
                    if key in after
                    else (_short(before[key]), "nothing")
                )
                yield here, " -> ".join(there)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{place}[{number}]")
    elif not equal(before, after):
        yield place, f"{_short(before)} -> {_short(after)}"


def equal(before: Any, after: Any, digits: float = DIGITS) -> bool:
    """Whether two values are equal; a float may be off in its last digits."""
    if isinstance(before, list) and isinstance(after, list):
        pairs = zip(before, after, strict=False)
        return len(before) == len(after) and all(equal(*pair, digits) for pair in pairs)
    plain = (int, float)
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if not isinstance(before, plain) or not isinstance(after, plain):
        return bool(before == after)
    if isinstance(before, int) and isinstance(after, int):
        return before == after
    if math.isnan(before) or math.isnan(after):
        return math.isnan(before) and math.isnan(after)
    return math.isclose(before, after, rel_tol=digits, abs_tol=digits)


def _bounds(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Both bound the same odds, within the gap that was asked for."""
    numbers = [_flat(one[side]) for one in (before, after) for side in ("lower", "upper")]
    if len({*map(len, numbers)}) != 1:
        return False
    return all(
        low <= other_high + DIGITS
        and other_low <= high + DIGITS
        and other_high - other_low <= after["gap"] + DIGITS
        for low, high, other_low, other_high in zip(*numbers, strict=True)
    )


def _attack(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Both work, and neither is smaller than the proven bound of the other."""
    return bool(
        before["works"]
        and after["works"]
        and before["bound"] <= after["size"]
        and after["bound"] <= before["size"]
    )


def _valid(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """What was promised is so, now as before."""
    return bool(before["valid"] and after["valid"])


def _close(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Logarithms and probabilities, which sums in another order change a little."""
    return equal(_flat(before["numbers"]), _flat(after["numbers"]), 1e-9)


LAWS: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "bounds": _bounds,
    "attack": _attack,
    "valid": _valid,
    "close": _close,
}


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [one for part in value for one in _flat(part)]
    return [value]


def sort_out(found: Iterator[tuple[str, str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Differences that somebody asked for, by the reason, and all others."""
    entries = tomllib.loads(INTENDED.read_text("utf-8")).get("change", [])
    intended: dict[str, list[str]] = {}
    others = []
    for place, change in found:
        for entry in entries:
            if any(fnmatch.fnmatchcase(place, pattern) for pattern in entry["where"]):
                intended.setdefault(f"{entry['issue']}: {entry['why']}", []).append(place)
                break
        else:
            others.append(f"{place}: {change}")
    return intended, others


def n_values(found: Any) -> int:
    """How many single values there are."""
    if isinstance(found, dict):
        return sum(map(n_values, found.values()))
    return sum(map(n_values, found)) if isinstance(found, list) else 1


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
