"""Write words and numbers: plurals, lists, shortened texts, shares, ranges."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

LONGEST = 160
_HEAD, _TAIL = 100, 30
# A report keeps a number and its sign on one line; a terminal gets a plain space.
_SIGN = "\u00a0%"
PLAIN = " %"


def many(count: int, name: str) -> str:
    """Write a number of things: ``1 cell``, ``2,000 cells``."""
    return f"{count:,} {name}" if count == 1 else f"{count:,} {name}s"


def duration(seconds: float) -> str:
    """Write a duration for people.

    >>> [duration(seconds) for seconds in (0.2, 59.6, 150, 7_000)]
    ['1 s', '1 min', '3 min', '1 h 57 min']
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(-(-whole // 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def some(items: Iterable[Any], most: int) -> str:
    """List the first items: ``a, b, c``, and ``…`` where there are more.

    >>> some("abcd", 3)
    'a, b, c, …'
    """
    first = [str(item) for item in islice(items, most + 1)]
    return ", ".join(first[:most]) + (", …" if len(first) > most else "")


def either(items: Sequence[str], word: str = "or") -> str:
    """List items: ``a``, ``a or b``, ``a, b or c``."""
    *first, last = items or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def cut(text: str, longest: int = 80) -> str:
    """Return the text, cut off with an ellipsis if it is too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def quoted(label: Any) -> str:
    """Write a label, or nothing for None; quote a label with a comma, so that lists stay readable."""
    text = "" if label is None else cut(str(label), 60)
    return f'"{text}"' if "," in text else text


def ends(text: str, head: int, tail: int) -> str:
    """Return both ends of a text."""
    return f"{text[:head]} … {text[-tail:]}"


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return the text, or only its two ends and its length if it is long."""
    if len(text) <= longest:
        return text
    return f"{ends(text, _HEAD, _TAIL)} [{len(text):,} characters]"


def text(value: Any) -> str:
    """Write a label, a feature or a value for the document.

    Characters that no file can hold, such as half of a surrogate pair, are replaced.
    """
    written = shortened(str(value))
    return written.encode("utf-8", "replace").decode("utf-8")


def number(exact: Fraction) -> str:
    """Write a fraction as ``0.1`` if a float represents it exactly, else as ``1/3``."""
    try:
        near = float(exact)
    except OverflowError:
        return shortened(str(exact))
    return repr(near).removesuffix(".0") if near == exact else shortened(str(exact))


def estimate(number: float) -> str:
    """Write an estimated number of points: ``4,075``, but ``12.4`` below a hundred."""
    # A document keeps one decimal, and every surface must write the same number.
    tenths = round(number, 1)
    return f"{tenths:,.0f}" if tenths >= 100 else f"{tenths:,.1f}"


def rounded(value: float) -> str:
    """Write a number for a list, with only its significant digits.

    >>> [rounded(value) for value in (209.0, 374.875, 0.00421, float("inf"), float("nan"))]
    ['209', '374.9', '0.00421', '∞', '–']
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def span(first: Any, last: Any) -> str:
    """Write a range: ``4 to 7``, or ``4`` if both ends are the same."""
    low, high = (f"{end:,}" if isinstance(end, int) else str(end) for end in (first, last))
    return low if low == high else f"{low} to {high}"


def per_cent(share: float | None, sign: str = _SIGN) -> str:
    """Write a share in per cent; show 0 and 100 only if they are exact.

    >>> [per_cent(share, PLAIN) for share in (1 / 3, 0.0001, 1.0)]
    ['33.3 %', 'under 0.1 %', '100 %']
    """
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}{sign}"
    if share < 0.001:
        return f"under 0.1{sign}"
    if share > 0.999:
        return f"over 99.9{sign}"
    return f"{100 * share:.1f}{sign}"


def tolerance(bias: float) -> str:
    """Write the largest bias up to which something holds, rounded down so that it is never overstated.

    >>> [tolerance(bias) for bias in (1.0, 0.05, 0.04999, 0.0001, 0.0, float("nan"))]
    ['1', '0.05', '0.049', 'under 0.001', '0', 'not even 0']
    """
    if bias != bias:
        return "not even 0"
    if 0 < bias < 0.001:
        return "under 0.001"
    # Round the shortest decimal form: as doubles, 0.029 times 1000 is below 29.
    return f"{Decimal(repr(float(bias))).quantize(Decimal('0.001'), ROUND_FLOOR).normalize():f}"


def odds(lower: float, upper: float, sign: str = _SIGN) -> str:
    """Write bounds of odds: one number if both look the same; 0 and 100 only if they are exact."""
    low, high = per_cent(lower, sign), per_cent(upper, sign)
    if low == high or upper < 0.001:
        return high
    if lower > 0.999:
        return low
    if lower < 0.001:
        return f"up to {high}"
    if upper > 0.999:
        return f"at least {low}"
    if f"{100 * lower:.1f}" == f"{100 * upper:.1f}":
        return low
    return f"{100 * lower:.1f} to {100 * upper:.1f}{sign}"


def typed(command: str, files: Iterable[Any], options: Mapping[str, Any]) -> str:
    """Write a command line; a list repeats its option, and True is a flag without a value.

    >>> typed("certify", ["a b.csv"], {"--bias": [0.1, "age=1"], "--all": True})
    "nullproof certify 'a b.csv' --bias 0.1 --bias age=1 --all"
    """
    words = ["nullproof", command, *map(str, files)]
    for flag, value in options.items():
        for given in value if isinstance(value, list) else [value]:
            written = f"{given:.15g}" if isinstance(given, float) else str(given)
            words += [flag] if given is True else [flag, written]
    return shlex.join(words)


def points_of_per_cent(bias: float) -> str:
    """Write a bias in percentage points: ``5 percentage points``."""
    count = f"{float(f'{100 * bias:.6g}'):g}"
    return f"{count} percentage point{'' if count == '1' else 's'}"


def verdict_meanings(bias: float | None, learned: str) -> dict[str, str]:
    """Return what certain, holds and open mean, in the same words everywhere.

    Parameters
    ----------
    bias
        The bias up to which a prediction holds; None if it differs by column.
    learned
        The scope of certain, such as "for the bins learned from the known cells"; may be empty.
    """
    within = "the bias of each column" if bias is None else points_of_per_cent(bias)
    certain = "the same label whatever the missing cells hold"
    return {
        "certain": f"{certain}, {learned}" if learned else certain,
        "holds": f"the same label as long as the missing cells resemble the known ones, within {within}",
        "open": "the missing cells may change the label",
    }
