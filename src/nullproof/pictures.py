"""The picture of the whole idea: per label a bar from its least to its greatest support.

A point is certain if one bar lies clear of all others. Plain SVG with text that is escaped, without
styles of its own: colours are readable on light and dark, and a page may change them by the classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

WIDTH = 380
CERTAIN, OPEN, OUT = "#1a8f5a", "#c96a00", "#7a8594"
_ROW, _BAR, _TOP, _ZERO = 42, 12, 4, 26
_LONGEST = 26
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TICKS = 5


class _Bar(NamedTuple):
    label: str
    low: float
    high: float
    possible: bool


def intervals(
    labels: Sequence[Any],
    low: Sequence[float | None],
    high: Sequence[float | None],
    *,
    possible: Sequence[bool] | None = None,
) -> str:
    """Draw the support of each label over all worlds, on one logarithmic scale.

    Parameters
    ----------
    labels
        Names of the bars, from top to bottom; long ones are shortened.
    low, high
        Natural logarithms of the least and the greatest support; None or -inf is a support of 0.
    possible
        Which labels win or tie in some world; by default as the bars show it.

    Examples
    --------
    >>> picture = intervals(["yes", "no"], [-2.0, -5.0], [-1.0, None])
    >>> picture[:37], "yes lies clear" in picture
    ('<svg class="np-intervals" role="img" ', True)
    """
    lows, highs = ([_log(x) for x in side] for side in (low, high))
    wins = _possible(lows, highs) if possible is None else list(possible)
    rows = zip([str(label) for label in labels], lows, highs, wins, strict=True)
    bars = [_Bar(*row) for row in rows]
    scale = _Scale([*lows, *highs])
    height = _TOP + _ROW * len(bars) + 24
    told = describe(labels, lows, highs, possible=wins)
    parts = [
        f'<svg class="np-intervals" role="img" aria-label="{escape(told)}" viewBox="0 0 {WIDTH} '
        f'{height}" width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        'font-size="13" fill="currentColor" xmlns="http://www.w3.org/2000/svg">',
        *_axis(scale, _TOP + _ROW * len(bars)),
        *_clearance(bars, scale),
    ]
    for place, bar in enumerate(bars):
        parts += _row(bar, scale, _TOP + _ROW * place, sum(wins) == 1)
    return "".join([*parts, "</svg>"])


def describe(
    labels: Sequence[Any],
    low: Sequence[float | None],
    high: Sequence[float | None],
    *,
    possible: Sequence[bool] | None = None,
) -> str:
    """Say in words what the picture shows."""
    lows, highs = ([_log(x) for x in side] for side in (low, high))
    wins = _possible(lows, highs) if possible is None else list(possible)
    names = [shortened(str(label)) for label in labels]
    ranges = "; ".join(
        f"{name}: {_range(a, b)}" for name, a, b in zip(names, lows, highs, strict=True)
    )
    able = [name for name, is_so in zip(names, wins, strict=True) if is_so]
    verdict = (
        f"{able[0]} lies clear of all others: certain"
        if len(able) == 1
        else f"{' and '.join(able)} overlap: not certain"
    )
    return f"Support of each label. {ranges}. {verdict}."


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A text that fits, with a mark where it was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def support(log: float) -> str:
    """A support, given by its natural logarithm, with three digits and a power of ten."""
    if log == -math.inf:
        return "0"
    exponent = math.floor(log / math.log(10))
    digits = f"{math.exp(log - exponent * math.log(10)):.2f}"
    if digits == "10.00":
        digits, exponent = "1.00", exponent + 1
    if -3 <= exponent <= 0:
        return f"{math.exp(log):.{2 - exponent}f}"
    return f"{digits}·{_power(exponent)}"


class _Scale:
    """Where a log support lies; a support of 0 has a place of its own, left of the rest."""

    def __init__(self, logs: Sequence[float]) -> None:
        finite = [log for log in logs if math.isfinite(log)]
        self.has_zero = len(finite) < len(logs)
        self.left = float(_ZERO if self.has_zero else 1)
        self.low, self.high = (min(finite), max(finite)) if finite else (0.0, 0.0)
        self.is_empty = not finite

    def place(self, log: float) -> float:
        if log == -math.inf:
            return 1.0
        if self.high == self.low:
            return (self.left + WIDTH) / 2
        share = (log - self.low) / (self.high - self.low)
        return self.left + share * (WIDTH - 1 - self.left)

    def ticks(self) -> list[tuple[float, str]]:
        """Powers of ten within the scale, few enough to be told apart."""
        found = [(1.0, "0")] if self.has_zero else []
        if self.is_empty:
            return found
        first, last = math.ceil(self.low / math.log(10)), math.floor(self.high / math.log(10))
        step = max(1, math.ceil((last - first + 1) / _TICKS))
        tens = [(self.place(e * math.log(10)), _power(e)) for e in range(first, last + 1, step)]
        if len(tens) < 2:
            tens = [(self.place(log), support(log)) for log in sorted({self.low, self.high})]
        return found + [(x, name) for x, name in tens if not self.has_zero or x > 2 * _ZERO]


def _row(bar: _Bar, scale: _Scale, top: float, certain: bool) -> list[str]:
    """The name and the numbers of a label, and its bar below them."""
    kind = ("certain" if certain else "open") if bar.possible else "out"
    colour = {"certain": CERTAIN, "open": OPEN, "out": OUT}[kind]
    start, stop = scale.place(bar.low), scale.place(bar.high)
    y = top + 20
    numbers = _range(bar.low, bar.high)
    fill = f'fill="{colour}"' if bar.possible else f'fill="{colour}" fill-opacity="0.25"'
    weight = ' font-weight="600"' if bar.possible else ""
    parts = [
        f'<g class="np-{kind}"><title>{escape(bar.label[:200])}: {numbers}</title>'
        f'<text x="0" y="{top + 14}"{weight} direction="ltr" unicode-bidi="isolate">'
        f"{escape(shortened(bar.label))}</text>"
        f'<text x="{WIDTH}" y="{top + 14}" text-anchor="end" font-size="12">{numbers}</text>'
    ]
    if bar.low == -math.inf and bar.high > -math.inf:
        # Down to 0 is infinitely far on this scale, so the bar breaks off into a dashed line.
        solid = scale.left
        parts.append(
            f'<line x1="1" x2="{solid:.1f}" y1="{y + _BAR / 2}" y2="{y + _BAR / 2}" '
            f'stroke="{colour}" stroke-width="3" stroke-dasharray="3 3"/>'
        )
        start = solid
    length = max(stop - start, 4.0)
    start = min(start, WIDTH - length)
    parts.append(
        f'<rect class="np-bar" x="{start:.1f}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="3" '
        f'{fill} stroke="{colour}"/></g>'
    )
    return parts


def _axis(scale: _Scale, bottom: float) -> list[str]:
    parts = [
        f'<g class="np-axis" font-size="11"><line x1="0" x2="{WIDTH}" y1="{bottom + 2}" '
        f'y2="{bottom + 2}" stroke="currentColor" stroke-opacity="0.5"/>'
    ]
    for x, name in scale.ticks():
        anchor = "start" if x < 20 else "end" if x > WIDTH - 20 else "middle"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom + 2}" y2="{bottom + 6}" '
            f'stroke="currentColor" stroke-opacity="0.5"/><text x="{x:.1f}" y="{bottom + 19}" '
            f'text-anchor="{anchor}">{name}</text>'
        )
    return [*parts, "</g>"]


def _clearance(bars: list[_Bar], scale: _Scale) -> list[str]:
    """The line that no other bar crosses: the least support of the certain label."""
    winners = [bar for bar in bars if bar.possible]
    if len(winners) != 1 or winners[0].low == -math.inf or len(bars) == 1:
        return []
    x = scale.place(winners[0].low)
    return [
        f'<line class="np-clear" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP + 18}" '
        f'y2="{_TOP + _ROW * len(bars) + 2}" stroke="{CERTAIN}" stroke-dasharray="4 3"/>'
    ]


def _range(low: float, high: float) -> str:
    least, most = support(low), support(high)
    return least if least == most else f"{least} to {most}"


def _possible(low: list[float], high: list[float]) -> list[bool]:
    """The labels whose greatest support no other label's least support exceeds (T3)."""
    return [
        not any(a > top for place, a in enumerate(low) if place != own)
        for own, top in enumerate(high)
    ]


def _log(log: float | None) -> float:
    return -math.inf if log is None or math.isnan(log) else float(log)


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPTS)
