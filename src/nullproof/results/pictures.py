"""Draw every picture of nullproof as SVG, for notebook, report and page.

Pictures bring no styles of their own: their colours are readable on light and dark, and a page may change
them by the classes. Texts are escaped here. Supports come as natural logarithms, -inf (or None) for 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.words import PLAIN, cut, per_cent, rounded, span

# How many rows of a table a notebook shows.
ROWS = 10
WIDTH = 380
COLOURS = {"certain": "#1a8f5a", "holds": "#2f6fc9", "open": "#c96a00", "out": "#7a8594"}
LONGEST_LABEL = 26
_ROW, _BAR, _TOP = 42, 12, 4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_BIASES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)


# Numbers as pictures write them -----------------------------------------------------------------------


def support(log: float) -> str:
    """Write a support with three digits and a power of ten."""
    if log == -math.inf:
        return "0"
    digits, exponent = _scientific(log, 2)
    if -3 <= exponent <= 0:
        return f"{math.exp(log):.{2 - exponent}f}"
    return f"{digits}·{_power(exponent)}"


def multiple(log: float) -> str:
    """Write a multiple: ``1.32``, and a power of ten where it is far from 1.

    >>> [multiple(math.log(times)) for times in (1.317, 0.000996, 12_345, 9.96e-5)]
    ['1.32', '0.000996', '1.2·10⁴', '1.0·10⁻⁴']
    """
    if log == -math.inf:
        return "0"
    if math.log(0.000995) <= log < math.log(9995):
        return f"{float(f'{math.exp(log):.3g}'):g}"
    digits, exponent = _scientific(log, 1)
    return f"{digits}·{_power(exponent)}"


def factor(log: float) -> str:
    """Write how many times as much, whichever sign the logarithm has: ``× 3.20``."""
    size = abs(log)
    if size >= math.log(999_999.5):
        return f"× {support(size)}"
    times = math.exp(size)
    n_decimals = 2 if times < 9.995 else 1 if times < 99.95 else 0
    return f"× {times:,.{n_decimals}f}"


def _scientific(log: float, n_decimals: int) -> tuple[str, int]:
    exponent = math.floor(log / math.log(10))
    digits = f"{math.exp(log - exponent * math.log(10)):.{n_decimals}f}"
    return (f"{1:.{n_decimals}f}", exponent + 1) if digits.startswith("10") else (digits, exponent)


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


# Support intervals ------------------------------------------------------------------------------------


Support = tuple[Any, float | None, float | None, bool]


class Interval(NamedTuple):
    """The bar of one label, from its least to its greatest support, and the two in words."""

    label: str
    low: float
    high: float
    kind: Literal["certain", "open", "out"]
    text: str


def intervals(supports: Iterable[Support]) -> str:
    """Draw the support of each label over all worlds, on one logarithmic scale.

    A point is certain if one bar lies clear of all others. Numbers are multiples of the best support that
    some label has in every world.

    Parameters
    ----------
    supports
        From top to bottom, per label: its name, the natural logarithms of its least and its greatest
        support (None or -inf is a support of 0), and whether it wins or ties in some world.

    Examples
    --------
    >>> picture = intervals([("yes", -2.0, -1.0, True), ("no", -5.0, None, False)])
    >>> picture[:37], "yes lies clear" in picture
    ('<svg class="np-intervals" role="img" ', True)
    """
    bars = _bars([(str(label), _log(low), _log(high), able) for label, low, high, able in supports])
    scale = _Scale([end for bar in bars for end in (bar.low, bar.high)])
    bottom, parts = _TOP + _ROW * len(bars), []
    winners = [bar for bar in bars if bar.kind != "out"]
    if len(winners) == 1 < len(bars) and math.isfinite(winners[0].low):
        x = scale.place(winners[0].low)
        dashed = f'class="np-clear" stroke="{COLOURS["certain"]}" stroke-dasharray="4 3"'
        parts.append(_line((x, x), (_TOP + 18, bottom), dashed))
    for place, bar in enumerate(bars):
        parts.append(_interval(bar, scale, _TOP + _ROW * place))
    return _svg("np-intervals", bottom, _in_words(bars), parts)


def _bars(supports: Sequence[tuple[str, float, float, bool]]) -> list[Interval]:
    """Return the bars, from multiples of the best support that some label has in every world."""
    best = max((low for _, low, _, _ in supports), default=-math.inf)
    if not math.isfinite(best):
        best = max((high for _, _, high, _ in supports if math.isfinite(high)), default=0.0)
    winner: Literal["certain", "open"] = (
        "certain" if sum(able for *_, able in supports) == 1 else "open"
    )
    return [
        Interval(
            label,
            low - best,
            high - best,
            winner if able else "out",
            span(multiple(low - best), multiple(high - best)),
        )
        for label, low, high, able in supports
    ]


def _in_words(bars: Sequence[Interval]) -> str:
    """Describe the picture of some intervals."""
    names = [cut(bar.label, LONGEST_LABEL) for bar in bars]
    ranges = "; ".join(f"{name}: {bar.text}" for name, bar in zip(names, bars, strict=True))
    able = [name for name, bar in zip(names, bars, strict=True) if bar.kind != "out"]
    verdict = (
        f"{able[0]} lies clear of all others: certain"
        if len(able) == 1
        else f"{' and '.join(able)} overlap: not certain"
    )
    return f"Support of each label, in multiples. {ranges}. {verdict}."


def _interval(bar: Interval, scale: _Scale, top: float) -> str:
    start, stop, y = scale.place(bar.low), scale.place(bar.high), top + 20
    colour, dashes = COLOURS[bar.kind], ""
    fill = f'fill="{colour}"' + (' fill-opacity="0.25"' if bar.kind == "out" else "")
    if bar.low == -math.inf < bar.high:
        # 0 is infinitely far on this scale, so the bar ends in a dashed line.
        start, middle = scale.left, y + _BAR / 2
        dashed = f'stroke="{colour}" stroke-width="3" stroke-dasharray="3 3"'
        dashes = _line((1, start), (middle, middle), dashed)
    length = max(stop - start, 4.0)
    bold = "" if bar.kind == "out" else ' font-weight="600"'
    return (
        f'<g class="np-{bar.kind}"><title>{escape(bar.label[:200])}: {bar.text}</title>'
        + _name(bar.label, top + 14, bold + ' direction="ltr" unicode-bidi="isolate"')
        + _number(bar.text, top + 14)
        + dashes
        + f'<rect class="np-bar" x="{min(start, WIDTH - length):.1f}" y="{y}" width="{length:.1f}" '
        f'height="{_BAR}" rx="3" {fill} stroke="{colour}"/></g>'
    )


class _Scale:
    """The place of a log support; a support of 0 is left of all others."""

    _ZERO = 26.0

    def __init__(self, logs: Sequence[float]) -> None:
        finite = [log for log in logs if math.isfinite(log)]
        self.left = self._ZERO if len(finite) < len(logs) else 1.0
        self.low, self.high = min(finite, default=0.0), max(finite, default=0.0)

    def place(self, log: float) -> float:
        if log == -math.inf:
            return 1.0
        if self.high == self.low:
            return (self.left + WIDTH) / 2
        return self.left + (log - self.low) / (self.high - self.low) * (WIDTH - 1 - self.left)


# What speaks for a label and what against it ------------------------------------------------------------


class LeadBar(NamedTuple):
    """The contribution of one cell to a lead: natural logarithms, and the reference in words."""

    name: str
    least: float
    reference: float
    greatest: float
    text: str


def leads(bars: Sequence[LeadBar], label: Any, rival: Any) -> str:
    """Draw what each cell adds to the lead of a label over its rival, as bars to both sides.

    A bar goes from the centre to the reference: to the right where the cell speaks for the label, to the
    left where it speaks for the rival. A thin line reaches from the least to the greatest term.

    Examples
    --------
    >>> picture = leads([LeadBar("age: 22", -0.5, 0.5, 1.0, "× 1.65 for yes")], "yes", "no")
    >>> picture[:33], picture.count("<rect")
    ('<svg class="np-leads" role="img" ', 1)
    """
    ends = [abs(end) for bar in bars for end in bar[1:4] if math.isfinite(end)]
    reach, middle, bottom = max(ends, default=0.0) or 1.0, WIDTH / 2, _TOP + _ROW * len(bars)

    def place(log: float) -> float:
        # Infinite values are drawn to the edge; NaN in the middle.
        log = 0.0 if math.isnan(log) else min(max(log, -reach), reach)
        return middle + log / reach * (middle - 2)

    parts = [
        _line((middle, middle), (_TOP, bottom + 4), 'stroke="currentColor" stroke-opacity="0.5"'),
        _text(0, bottom + 19, f"← {cut(str(rival), LONGEST_LABEL)}", ' font-size="11"'),
        _number(f"{cut(str(label), LONGEST_LABEL)} →", bottom + 19, 11),
    ]
    for number, bar in enumerate(bars):
        top = _TOP + _ROW * number
        start, mark, stop = place(bar.least), place(bar.reference), place(bar.greatest)
        kind = "holds" if bar.reference >= 0 else "open"
        colour, y = COLOURS[kind], top + 20
        parts += [
            f'<g class="np-{kind}"><title>{escape(bar.name[:200])}: {escape(bar.text)}</title>',
            _name(bar.name, top + 14),
            _number(bar.text, top + 14),
            f'<rect class="np-bar" x="{min(middle, mark):.1f}" y="{y}" '
            f'width="{max(abs(mark - middle), 1.0):.1f}" height="{_BAR}" rx="2" fill="{colour}" '
            f'stroke="{colour}"/>',
            _line((start, stop), (y + _BAR / 2,) * 2, 'stroke="currentColor" stroke-width="2"'),
            "</g>",
        ]
    words = "; ".join(f"{cut(bar.name, LONGEST_LABEL)}: {bar.text}" for bar in bars)
    return _svg("np-leads", bottom + 24, words, parts)


# Curves -------------------------------------------------------------------------------------------------


def curve_by_bias(
    biases: Sequence[float], shares: Sequence[float], words: str, dashed: float | None = None
) -> str:
    """Draw how a share falls as the bias grows, with a dashed line at one bias."""
    # On a square-root scale, which gives small biases more room.
    places = [(math.sqrt(bias), share) for bias, share in zip(biases, shares, strict=True)]
    ticks = [(math.sqrt(bias), f"{bias:g}") for bias in _BIASES]
    marks = [] if dashed is None else [((math.sqrt(dashed),) * 2, (0.0, 1.0))]
    return _curve(places, ticks, "bias", words, marks)


def curve_by_size(
    sizes: Sequence[int],
    shares: Sequence[float],
    words: str,
    axis: str,
    level: float | None = None,
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
    ticks = [(place(size), f"{size:,}") for size in (0, *tens[:: max(1, math.ceil(len(tens) / 6))])]
    marks = [] if level is None else [((0.0, 1.0), (level, level))]
    return _curve(steps, ticks, axis, words, marks)


def _curve(
    places: Sequence[tuple[float, float]],
    ticks: Sequence[tuple[float, str]],
    title: str,
    words: str,
    marks: Sequence[tuple[tuple[float, float], tuple[float, float]]],
) -> str:
    """Draw a line above an area; all places are between 0 and 1, from the left and from the bottom."""
    height, left, right, top, bottom = 210, 44, 14, 8, 36

    def x_at(place: float) -> float:
        return left + place * (WIDTH - right - left)

    def y_at(share: float) -> float:
        return top + (1 - share) * (height - top - bottom)

    line = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in places)
    end = x_at(places[-1][0] if places else 0.0)
    floor, green = y_at(0.0), COLOURS["certain"]
    parts = [
        f"<title>{escape(words)}</title>",
        f'<polygon class="np-area" points="{line} {end:.1f},{floor:.1f} {left},{floor:.1f}" '
        f'fill="{green}" fill-opacity="0.2"/>',
        f'<polyline class="np-line" points="{line}" fill="none" stroke="{green}" stroke-width="2"/>',
        '<g class="np-axis" font-size="11">',
    ]
    faint = 'stroke="currentColor" stroke-opacity="0.3"'
    for place, name in ticks:
        x = x_at(place)
        parts += [
            _line((x, x), (floor, floor + 4), faint),
            _text(x, floor + 16, name, ' text-anchor="middle"'),
        ]
    for share in (0.0, 0.5, 1.0):
        y = y_at(share)
        parts += [
            _line((left, WIDTH - right), (y, y), faint),
            _text(left - 6, y + 4, f"{100 * share:.0f}\u00a0%", ' text-anchor="end"'),
        ]
    parts.append(_text((left + WIDTH) / 2, height - 3, title, ' text-anchor="middle"') + "</g>")
    for (x1, x2), (y1, y2) in marks:
        dashed = 'class="np-threshold" stroke="currentColor" stroke-dasharray="4 3"'
        parts.append(_line((x_at(x1), x_at(x2)), (y_at(y1), y_at(y2)), dashed))
    return _svg("np-curve", height, words, parts)


# Bars ---------------------------------------------------------------------------------------------------


def stack(shares: Mapping[str, float]) -> str:
    """Draw shares of a whole as one bar; the names are kinds of `COLOURS`."""
    parts, start = [], 0.0
    for kind, share in shares.items():
        parts.append(
            f'<rect class="np-{kind}" x="{100 * start:.3f}%" width="{100 * share:.3f}%" height="100%" '
            f'fill="{COLOURS[kind]}"/>'
        )
        start += share
    words = ", ".join(f"{per_cent(share, PLAIN)} {kind}" for kind, share in shares.items())
    return (
        f'<svg class="np-stack" role="img" aria-label="{escape(words)}" width="100%" height="16" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def bar(share: float, kind: str = "out", behind: float = 0.0) -> str:
    """Draw a bar as long as a share, in front of a paler one; it stands beside its number."""
    return (
        f'<svg class="np-share np-{kind}" aria-hidden="true" width="112" height="11" '
        f'fill="{COLOURS[kind]}" xmlns="http://www.w3.org/2000/svg">'
        '<rect class="np-track" width="100%" height="100%" fill="currentColor" fill-opacity="0.1"/>'
        f'<rect width="{100 * behind:.2f}%" height="100%" fill-opacity="0.35"/>'
        f'<rect width="{100 * share:.2f}%" height="100%"/></svg>'
    )


def distribution(values: Sequence[Mapping[str, Any]]) -> str:
    """Draw the ``share`` of each ``value`` or bin, as small bars side by side."""
    if not values:
        return ""
    words = ", ".join(f"{cut(one['value'], 24)} {per_cent(one['share'])}" for one in values[:8])
    most, step = max(one["share"] for one in values) or 1.0, 120 / len(values)
    heights = [28 * (one["share"] / most) for one in values]
    bars = "".join(
        f'<rect x="{place * step:.2f}" y="{28 - height:.2f}" '
        f'width="{max(step - min(1.5, step / 4), 0.5):.2f}" height="{height:.2f}"/>'
        for place, height in enumerate(heights)
    )
    return (
        f'<svg class="np-distribution" role="img" aria-label="{escape(words)}" viewBox="0 0 120 28" '
        f'width="120" height="28" fill="{COLOURS["holds"]}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(words)}</title>{bars}</svg>"
    )


def histogram(radius: NDArray[np.float64], n_bars: int) -> list[dict[str, int]]:
    """Count the points by radius, in bars of equal ratio that include both ends."""
    if not len(radius):
        return []
    low, high = float(radius.min()), float(radius.max())
    edges = np.unique(np.round(np.geomspace(low, high + 1, n_bars + 1)))
    counts, edges = np.histogram(radius, bins=edges)
    return [
        {"start": int(start), "stop": int(stop) - 1, "n_points": int(count)}
        for start, stop, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


# Notebooks ----------------------------------------------------------------------------------------------


def shown_table(
    headline: str, columns: Mapping[str, Sequence[Any]], n_rows: int, above: str = ""
) -> str:
    """Show a headline and the first rows of a table; all text is escaped.

    ``columns`` need to hold no more than the first `ROWS` rows of ``n_rows``; ``above`` is a picture
    between the two.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = zip(*(list(column)[:ROWS] for column in columns.values()), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    more = f"<p>… and {n_rows - ROWS:,} more</p>" if n_rows > ROWS else ""
    return (
        f'<div style="max-width:100%;overflow-x:auto"><p><b>{escape(headline)}</b></p>{above}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def shown_figure(caption: str, picture: str) -> str:
    """Show a picture, which is HTML already, below its caption, which is escaped."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


def chip(verdict: str) -> str:
    """Show a verdict in its colour."""
    colour = COLOURS.get(verdict, COLOURS["out"])
    return (
        f'<span style="border:1px solid {colour};border-radius:9px;color:{colour};padding:0 8px">'
        f"{escape(verdict)}</span>"
    )


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return rounded(cell)
    if cell in ("certain", "holds", "open"):
        return chip(cell)
    return f"{cell:,}" if isinstance(cell, int) else escape(cut(str(cell), 60))


# SVG ----------------------------------------------------------------------------------------------------


def _svg(kind: str, height: float, words: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(words)}" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="currentColor" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _name(text: str, y: float, how: str = "") -> str:
    return _text(0, y, cut(text, LONGEST_LABEL), how)


def _number(text: str, y: float, size: int = 12) -> str:
    return _text(WIDTH, y, text, f' text-anchor="end" font-size="{size}"')


def _text(x: float, y: float, text: str, how: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{how}>{escape(text)}</text>'


def _line(x: tuple[float, float], y: tuple[float, float], how: str) -> str:
    return f'<line x1="{x[0]:.1f}" x2="{x[1]:.1f}" y1="{y[0]:.1f}" y2="{y[1]:.1f}" {how}/>'


def _log(log: float | None) -> float:
    return -math.inf if log is None or math.isnan(log) else float(log)
