"""What results look like: the picture of support intervals, a histogram of radii, tables in notebooks.

The picture tells the whole idea: per label a bar from its least to its greatest support, and a point
is certain if one bar lies clear of all others. It is plain SVG with text that is escaped, without
styles of its own: colours are readable on light and dark, and a page may change them by the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.words import cut, rounded, span

ROWS = 10
WIDTH = 380
CERTAIN, OPEN, OUT = "#1a8f5a", "#c96a00", "#7a8594"
_ROW, _BAR, _TOP, _ZERO = 42, 12, 4, 26
LONGEST_LABEL = 26
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TICKS = 5
_CURVE_HEIGHT, _CURVE_LEFT, _CURVE_RIGHT, _CURVE_TOP, _CURVE_BOTTOM = 210, 44, 14, 8, 36
_BIASES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
_MOST_SIZES = 7


class Interval(NamedTuple):
    """One label's bar: natural logarithms of its least and its greatest support, -inf for 0."""

    label: str
    low: float
    high: float
    kind: Literal["certain", "open", "out"]
    relative: bool = False

    @property
    def text(self) -> str:
        """The two supports in words."""
        said = multiple if self.relative else support
        return span(said(self.low), said(self.high))


def interval_rows(
    labels: Sequence[Any],
    low: Sequence[float | None],
    high: Sequence[float | None],
    *,
    possible: Sequence[bool] | None = None,
    relative: bool = False,
) -> list[Interval]:
    """The bars of a picture; the parameters are those of `intervals`."""
    lows, highs = ([_log(x) for x in side] for side in (low, high))
    if relative:
        unit = _unit(lows, highs)
        lows, highs = ([log - unit for log in side] for side in (lows, highs))
    wins = _possible(lows, highs) if possible is None else list(possible)
    winner: Literal["certain", "open"] = "certain" if sum(wins) == 1 else "open"
    return [
        Interval(str(label), least, most, winner if able else "out", relative)
        for label, least, most, able in zip(labels, lows, highs, wins, strict=True)
    ]


def intervals(
    labels: Sequence[Any],
    low: Sequence[float | None],
    high: Sequence[float | None],
    *,
    possible: Sequence[bool] | None = None,
    relative: bool = False,
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
    relative
        Whether numbers are multiples of the best support that some label has in every world.

    Examples
    --------
    >>> picture = intervals(["yes", "no"], [-2.0, -5.0], [-1.0, None])
    >>> picture[:37], "yes lies clear" in picture
    ('<svg class="np-intervals" role="img" ', True)
    """
    bars = interval_rows(labels, low, high, possible=possible, relative=relative)
    scale = _Scale([end for bar in bars for end in (bar.low, bar.high)], relative)
    height = _TOP + _ROW * len(bars) + 24
    parts = [
        f'<svg class="np-intervals" role="img" aria-label="{escape(describe(bars))}" viewBox="0 0 {WIDTH} '
        f'{height}" width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        'font-size="13" fill="currentColor" xmlns="http://www.w3.org/2000/svg">',
        *_axis(scale, _TOP + _ROW * len(bars)),
        *_clearance(bars, scale),
    ]
    for place, bar in enumerate(bars):
        parts += _row(bar, scale, _TOP + _ROW * place)
    return "".join([*parts, "</svg>"])


def describe(bars: Sequence[Interval]) -> str:
    """Say in words what the picture shows."""
    names = [cut(bar.label, LONGEST_LABEL) for bar in bars]
    ranges = "; ".join(f"{name}: {bar.text}" for name, bar in zip(names, bars, strict=True))
    able = [name for name, bar in zip(names, bars, strict=True) if bar.kind != "out"]
    verdict = (
        f"{able[0]} lies clear of all others: certain"
        if len(able) == 1
        else f"{' and '.join(able)} overlap: not certain"
    )
    return f"Support of each label. {ranges}. {verdict}."


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


def multiple(log: float) -> str:
    """A multiple, given by its natural logarithm: ``1.32``, and a power of ten where it is far from 1.

    >>> [multiple(math.log(times)) for times in (1.317, 0.000996, 12_345, 9.96e-5)]
    ['1.32', '0.000996', '1.2·10⁴', '1.0·10⁻⁴']
    """
    if log == -math.inf:
        return "0"
    if math.log(0.000995) <= log < math.log(9995):
        return f"{float(f'{math.exp(log):.3g}'):g}"
    exponent = math.floor(log / math.log(10))
    digits = f"{math.exp(log - exponent * math.log(10)):.1f}"
    if digits == "10.0":
        digits, exponent = "1.0", exponent + 1
    return f"{digits}·{_power(exponent)}"


def _unit(low: Sequence[float], high: Sequence[float]) -> float:
    """The best support that some label has in every world; the greatest where none has any."""
    best = max(low, default=-math.inf)
    best = best if math.isfinite(best) else max(high, default=0.0)
    return best if math.isfinite(best) else 0.0


def factor(log: float) -> str:
    """How many times as much, given by a natural logarithm whose sign does not matter: ``× 3.20``."""
    size = abs(log)
    if size >= math.log(999_999.5):
        return f"× {support(size)}"
    times = math.exp(size)
    return (
        f"× {times:.2f}"
        if times < 9.995
        else f"× {times:.1f}"
        if times < 99.95
        else f"× {times:,.0f}"
    )


class LeadBar(NamedTuple):
    """What one cell adds to a lead: natural logarithms, and the one in the middle in words."""

    name: str
    least: float
    reference: float
    greatest: float
    text: str


def leads(bars: Sequence[LeadBar], label: Any, rival: Any) -> str:
    """Draw what each cell adds to the lead of a label over its rival.

    A bar goes from the least to the greatest term and has a mark at the reference. It lies on the right
    of the middle where the cell speaks for the label, and on the left where it speaks for the rival.

    Examples
    --------
    >>> picture = leads([LeadBar("age: 22", -0.5, 0.5, 1.0, "× 1.65 for yes")], "yes", "no")
    >>> picture[:33], picture.count("<rect")
    ('<svg class="np-leads" role="img" ', 1)
    """
    ends = [abs(end) for bar in bars for end in bar[1:4] if math.isfinite(end)]
    reach, middle = max(ends, default=0.0) or 1.0, WIDTH / 2
    height = _TOP + _ROW * len(bars) + 24

    def place(log: float) -> float:
        # What is infinite, or not a number, is drawn to the edge, or in the middle.
        log = 0.0 if math.isnan(log) else min(max(log, -reach), reach)
        return middle + log / reach * (middle - 2)

    said = "; ".join(f"{cut(bar.name, LONGEST_LABEL)}: {bar.text}" for bar in bars)
    bottom = _TOP + _ROW * len(bars)
    parts = [
        f'<svg class="np-leads" role="img" aria-label="{escape(said)}" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="13" '
        'fill="currentColor" xmlns="http://www.w3.org/2000/svg">',
        f'<line x1="{middle}" x2="{middle}" y1="{_TOP}" y2="{bottom + 4}" stroke="currentColor" '
        'stroke-opacity="0.5"/>',
        f'<text x="0" y="{bottom + 19}" font-size="11">← {escape(cut(str(rival), LONGEST_LABEL))}</text>',
        f'<text x="{WIDTH}" y="{bottom + 19}" font-size="11" text-anchor="end">'
        f"{escape(cut(str(label), LONGEST_LABEL))} →</text>",
    ]
    for number, bar in enumerate(bars):
        parts += _lead_row(bar, place, _TOP + _ROW * number)
    return "".join([*parts, "</svg>"])


class _Line(NamedTuple):
    """A falling line: where it passes, its ticks below (place and text), and what it is about.

    All places are between 0 and 1, from the left and from the bottom.
    """

    places: Sequence[tuple[float, float]]
    ticks: Sequence[tuple[float, str]]
    axis: str
    said: str
    dashed: float | None = None
    level: float | None = None


def curve_by_bias(
    biases: Sequence[float], shares: Sequence[float], said: str, dashed: float | None = None
) -> str:
    """Draw how a share falls as the bias grows, with a dashed line at one bias."""
    return _picture(
        _Line(
            # By its root, which gives small biases the room that they need.
            [(math.sqrt(bias), share) for bias, share in zip(biases, shares, strict=True)],
            [(math.sqrt(bias), f"{bias:g}") for bias in _BIASES],
            "bias",
            said,
            dashed=None if dashed is None else math.sqrt(dashed),
        )
    )


def curve_by_size(
    sizes: Sequence[int], shares: Sequence[float], said: str, axis: str, level: float | None = None
) -> str:
    """Draw how a share changes with a number of cells or rows, with a dashed line at one share."""
    last = max(sizes[-1], 1)

    def place(size: int) -> float:
        return math.log1p(size) / math.log1p(last)

    steps: list[tuple[float, float]] = []
    # A share holds from its size up to the next, so the line moves in steps.
    for size, share in zip(sizes, shares, strict=True):
        if steps:
            steps.append((place(size), steps[-1][1]))
        steps.append((place(size), share))
    tens = [10**exponent for exponent in range(len(str(last))) if 10**exponent <= last]
    every = max(1, math.ceil(len(tens) / (_MOST_SIZES - 1)))
    ticks = [(place(size), f"{size:,}") for size in (0, *tens[::every])]
    return _picture(_Line(steps, ticks, axis, said, level=level))


def _picture(line: _Line) -> str:
    places = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in line.places)
    end = line.places[-1][0] if line.places else 0.0
    ends = f"{_x(end):.1f},{_y(0.0):.1f} {_x(0.0):.1f},{_y(0.0):.1f}"
    said = escape(line.said)
    marks = ""
    if line.dashed is not None:
        marks += _mark((line.dashed, line.dashed), (0.0, 1.0))
    if line.level is not None:
        marks += _mark((0.0, 1.0), (line.level, line.level))
    return (
        f'<svg class="np-curve" role="img" aria-label="{said}" viewBox="0 0 {WIDTH} {_CURVE_HEIGHT}" '
        f'width="{WIDTH}" height="{_CURVE_HEIGHT}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor" xmlns="http://www.w3.org/2000/svg"><title>{said}</title>'
        f'<polygon class="np-area" points="{places} {ends}" fill="#1a8f5a" '
        f'fill-opacity="0.2"/><polyline class="np-line" points="{places}" fill="none" '
        f'stroke="#1a8f5a" stroke-width="2"/>{_curve_axes(line.ticks, line.axis)}{marks}</svg>'
    )


def _mark(x: tuple[float, float], y: tuple[float, float]) -> str:
    ends = f'x1="{_x(x[0]):.1f}" x2="{_x(x[1]):.1f}" y1="{_y(y[0]):.1f}" y2="{_y(y[1]):.1f}"'
    return f'<line class="np-threshold" {ends} stroke="currentColor" stroke-dasharray="4 3"/>'


def _curve_axes(ticks: Iterable[tuple[float, str]], title: str) -> str:
    parts = []
    for place, text in ticks:
        x = _x(place)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(0.0):.1f}" y2="{_y(0.0) + 4:.1f}" '
            f'stroke="currentColor" stroke-opacity="0.5"/><text x="{x:.1f}" y="{_y(0.0) + 16:.1f}" '
            f'text-anchor="middle">{text}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        parts.append(
            f'<line x1="{_CURVE_LEFT}" x2="{WIDTH - _CURVE_RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="currentColor" stroke-opacity="0.25"/><text x="{_CURVE_LEFT - 6}" y="{y + 4:.1f}" '
            f'text-anchor="end">{100 * share:.0f}\u00a0%</text>'
        )
    parts.append(
        f'<text x="{(_CURVE_LEFT + WIDTH) / 2:.1f}" y="{_CURVE_HEIGHT - 3}" '
        f'text-anchor="middle">{title}</text>'
    )
    return f'<g class="np-axis">{"".join(parts)}</g>'


def _x(place: float) -> float:
    return _CURVE_LEFT + place * (WIDTH - _CURVE_RIGHT - _CURVE_LEFT)


def _y(share: float) -> float:
    return _CURVE_TOP + (1 - share) * (_CURVE_HEIGHT - _CURVE_TOP - _CURVE_BOTTOM)


def histogram(radius: NDArray[np.float64], n_bars: int) -> list[dict[str, int]]:
    """How many points have which radius, in bars of equal ratio; both ends of a bar belong to it."""
    if not len(radius):
        return []
    low, high = float(radius.min()), float(radius.max())
    edges = np.unique(np.round(np.geomspace(low, high + 1, n_bars + 1)))
    counts, edges = np.histogram(radius, bins=edges)
    return [
        {"start": int(start), "stop": int(stop) - 1, "n_points": int(count)}
        for start, stop, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def shown_table(headline: str, columns: Mapping[str, Sequence[Any]], n_rows: int) -> str:
    """A headline and the first rows of a table; all text is escaped.

    ``columns`` need to hold no more than the first `ROWS` rows of ``n_rows``.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = zip(*(list(column)[:ROWS] for column in columns.values()), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    more = f"<p>… and {n_rows - ROWS:,} more</p>" if n_rows > ROWS else ""
    return (
        f"<div><p><b>{escape(headline)}</b></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def shown_figure(caption: str, picture: str) -> str:
    """A picture, which is HTML already, below its caption, which is escaped."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


class _Scale:
    """Where a log support lies; a support of 0 has a place of its own, left of the rest."""

    def __init__(self, logs: Sequence[float], relative: bool) -> None:
        self._relative = relative
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
        powers = range(first, last + 1, step)
        tens = [(self.place(e * math.log(10)), self._power(e)) for e in powers]
        if len(tens) < 2:
            said = multiple if self._relative else support
            tens = [(self.place(log), said(log)) for log in sorted({self.low, self.high})]
        return found + [(x, name) for x, name in tens if not self.has_zero or x > 2 * _ZERO]

    def _power(self, exponent: int) -> str:
        """A power of ten; small multiples as people write them."""
        return f"{10.0**exponent:g}" if self._relative and abs(exponent) <= 3 else _power(exponent)


def _row(bar: Interval, scale: _Scale, top: float) -> list[str]:
    """The name and the numbers of a label, and its bar below them."""
    colour = {"certain": CERTAIN, "open": OPEN, "out": OUT}[bar.kind]
    start, stop = scale.place(bar.low), scale.place(bar.high)
    y = top + 20
    fill = f'fill="{colour}"' + (' fill-opacity="0.25"' if bar.kind == "out" else "")
    weight = "" if bar.kind == "out" else ' font-weight="600"'
    parts = [
        f'<g class="np-{bar.kind}"><title>{escape(bar.label[:200])}: {bar.text}</title>'
        f'<text x="0" y="{top + 14}"{weight} direction="ltr" unicode-bidi="isolate">'
        f"{escape(cut(bar.label, LONGEST_LABEL))}</text>"
        f'<text x="{WIDTH}" y="{top + 14}" text-anchor="end" font-size="12">{bar.text}</text>'
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


def _lead_row(bar: LeadBar, place: Callable[[float], float], top: float) -> list[str]:
    """The name and the words of a cell, and its bar below them."""
    start, mark, stop = place(bar.least), place(bar.reference), place(bar.greatest)
    colour = CERTAIN if bar.least > 0 else OUT if bar.greatest < 0 else OPEN
    y, length = top + 20, max(stop - start, 2.0)
    return [
        f"<g><title>{escape(bar.name[:200])}: {escape(bar.text)}</title>"
        f'<text x="0" y="{top + 14}">{escape(cut(bar.name, LONGEST_LABEL))}</text>'
        f'<text x="{WIDTH}" y="{top + 14}" text-anchor="end" font-size="12">{escape(bar.text)}</text>'
        f'<rect class="np-bar" x="{start:.1f}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="3" '
        f'fill="{colour}" fill-opacity="0.35" stroke="{colour}"/>'
        f'<line x1="{mark:.1f}" x2="{mark:.1f}" y1="{y - 2}" y2="{y + _BAR + 2}" stroke="{colour}" '
        'stroke-width="3"/></g>'
    ]


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


def _clearance(bars: list[Interval], scale: _Scale) -> list[str]:
    """The line that no other bar crosses: the least support of the certain label."""
    winners = [bar for bar in bars if bar.kind != "out"]
    if len(winners) != 1 or winners[0].low == -math.inf or len(bars) == 1:
        return []
    x = scale.place(winners[0].low)
    return [
        f'<line class="np-clear" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP + 18}" '
        f'y2="{_TOP + _ROW * len(bars) + 2}" stroke="{CERTAIN}" stroke-dasharray="4 3"/>'
    ]


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


def _cell_text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return rounded(cell)
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
