"""Where two records differ: floats to twelve digits, everything else exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from experiments.answers.names import RENAMED

TOLERANCE = 1e-12
# Below this key stands JSON as a command or a report wrote it.
JSON = "json"
GONE = "gone"
_LONGEST = 160


def differences(before: Any, after: Any, path: str = "", *, as_json: bool = False) -> Iterator[str]:
    """One line for each value that differs: its place, before, after."""
    if isinstance(before, dict) and isinstance(after, dict):
        before = {RENAMED.get(k, k): v for k, v in before.items()} if as_json else before
        for key in [*before, *(key for key in after if key not in before)]:
            inside = as_json or key == JSON
            here = f"{path} > {key}" if path else key
            if key in before and key in after:
                yield from differences(before[key], after[key], here, as_json=inside)
            else:
                missing = "nothing"
                yield _line(here, before.get(key, missing), after.get(key, missing))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{place}]", as_json=as_json)
    elif GONE not in (before, after) and not same(before, after):
        yield _line(path, before, after)


def same(before: Any, after: Any) -> bool:
    """Whether two values are equal; a float may be off in its last digits."""
    numbers = (int, float)
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if not isinstance(before, numbers) or not isinstance(after, numbers):
        return bool(before == after)
    if isinstance(before, int) and isinstance(after, int):
        return before == after
    if math.isnan(before) or math.isnan(after):
        return math.isnan(before) and math.isnan(after)
    return math.isclose(before, after, rel_tol=TOLERANCE)


def part_of(whole: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """What was recorded of those tables that were asked about again."""
    return {
        group: {name: answer for name, answer in tables.items() if name in asked[group]}
        for group, tables in whole.items()
        if group in asked
    }


def n_answers(found: Any) -> int:
    """How many single values there are."""
    if isinstance(found, dict):
        return sum(map(n_answers, found.values()))
    return sum(map(n_answers, found)) if isinstance(found, list) else 1


def _line(path: str, before: Any, after: Any) -> str:
    return f"{path}: {_short(before)} -> {_short(after)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
