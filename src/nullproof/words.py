"""How the reports write texts of the data and numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

LONGEST = 160
_HEAD, _TAIL = 100, 30
# Number and sign stay on one line.
_SIGN = "\u00a0%"


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, or its two ends and its length if it is long."""
    if len(text) <= longest:
        return text
    return f"{text[:_HEAD]} … {text[-_TAIL:]} [{len(text):,} characters]"


def text(value: Any) -> str:
    """A label, a feature or a value as the document writes it.

    What no file can hold, such as half of a surrogate pair, is replaced.
    """
    written = shortened(str(value))
    return written.encode("utf-8", "replace").decode("utf-8")


def number(exact: Fraction) -> str:
    """A number as people write it: ``0.1`` where a float is exactly that, else ``1/3``."""
    try:
        near = float(exact)
    except OverflowError:
        return shortened(str(exact))
    return repr(near).removesuffix(".0") if near == exact else shortened(str(exact))


def many(count: int, name: str) -> str:
    """``1 cell``, ``2,000 cells``."""
    return f"{count:,} {name}" if count == 1 else f"{count:,} {name}s"


def per_cent(share: float | None) -> str:
    """A share in per cent; 0 and 100 only where they are exact."""
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}{_SIGN}"
    if share < 0.001:
        return f"under 0.1{_SIGN}"
    if share > 0.999:
        return f"over 99.9{_SIGN}"
    return f"{100 * share:.1f}{_SIGN}"


def odds(lower: float, upper: float) -> str:
    """Bounds of odds: one number where both show the same, 0 and 100 only where they are exact."""
    low, high = per_cent(lower), per_cent(upper)
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
    return f"{100 * lower:.1f} to {100 * upper:.1f}{_SIGN}"


def cleaning_text(cleaning: dict[str, Any]) -> str:
    """What a plan is for, in words."""
    n_judged, n_likely = cleaning["n_judged"], cleaning["n_likely"]
    said = (
        f"{many(cleaning['n_cells'], 'missing cell')} matter to the open points. In this order they "
        "probably make many points certain soon; points near a tie need almost all of them. "
    )
    if n_judged < cleaning["n_open"]:
        said += f"Worked out for {n_judged:,} of {cleaning['n_open']:,} open points. "
    return said + (
        f"For {n_likely:,} of {n_judged:,} no cell need be looked up if odds of "
        f"{cleaning['confidence']:.0%} are enough.".replace("%", " %")
    )
