"""Charts that need no network: drawn as SVG where they are shown, in the colours of the page."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nullproof.errors import NullproofError, missing_extra
from nullproof.files import write_whole
from nullproof.words import either

# Fonts differ from those that Vega measures by: room for labels that turn out longer.
_PADDING = {"left": 24, "right": 16, "top": 4, "bottom": 4}
_NAMED = re.compile(r'(\bid="|url\(#|href="#)([^")]*)')
_ENDINGS = (".svg", ".png", ".html", ".json")


@dataclass(frozen=True, repr=False)
class Picture:
    """A chart as a notebook shows it, drawn without a network and readable on light and dark.

    Parameters
    ----------
    chart
        The Altair chart, for whoever wants to change it or to put it beside others.
    """

    chart: Any

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification."""
        found: dict[str, Any] = self.chart.to_dict()
        return found

    def save(self, path: str | Path) -> None:
        """Write the chart to a file: ``.svg``, ``.png``, ``.html`` or ``.json``."""
        target = Path(path)
        if target.suffix not in _ENDINGS:
            raise NullproofError(
                f"{target.name} ends in none of {either(_ENDINGS)}; name one of them"
            )
        if target.suffix == ".svg":
            content = svg(self).encode()
        elif target.suffix == ".html":
            # The text of the chart has the colour of the page, which has to be said where it is alone.
            scheme = (
                '<!doctype html><meta charset="utf-8"><style>:root{color-scheme:light dark}</style>'
            )
            content = f"{scheme}{svg(self)}\n".encode()
        elif target.suffix == ".png":
            content = _vl_convert().vegalite_to_png(_on_paper(self.to_dict()), scale=2)
        else:
            content = self.chart.to_json().encode()
        write_whole(target, lambda part: part.write_bytes(content))

    def _repr_html_(self) -> str:
        return svg(self)

    def __repr__(self) -> str:
        return (
            "Picture: a notebook shows it, save('chart.svg') writes it, chart is the Altair chart"
        )


def svg(chart: Any) -> str:
    """A chart as SVG that needs nothing else to be seen: the same text each time, with ids of its own."""
    drawn: str = _vl_convert().vegalite_to_svg(chart.to_dict())
    # Vega counts its ids on from chart to chart.
    names = [*dict.fromkeys(re.findall(r'\bid="([^"]*)"', drawn))]
    bare = re.sub(_NAMED, r"\g<1>", drawn)
    own = {name: f"np{zlib.crc32(bare.encode()):08x}-{place}" for place, name in enumerate(names)}
    return re.sub(_NAMED, lambda found: found[1] + own.get(found[2], found[2]), drawn)


def altair() -> Any:
    """The library that charts are made with."""
    try:
        import altair as found
    except ImportError as problem:
        raise missing_extra("a chart", "report") from problem
    return found


def themed(chart: Any) -> Any:
    """The chart in the colours of the page it is on."""
    text = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11}
    line = {"domainColor": "currentColor", "tickColor": "currentColor", "domainOpacity": 0.5}
    return (
        chart.configure(
            background="transparent", font="system-ui, sans-serif", aria=False, padding=_PADDING
        )
        .configure_view(stroke=None)
        .configure_axis(**text, **line, titleFontWeight="normal", titleFontSize=11)
        .configure_legend(**text)
        .configure_header(**text)
        .configure_title(color="currentColor", fontSize=12, fontWeight="normal", anchor="start")
        .configure_text(color="currentColor", fontSize=12)
    )


def _on_paper(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with a white ground and black text: a PNG is on no page."""
    black = _coloured(spec.get("config", {}))
    return {**spec, "config": {**black, "background": "white"}}


def _coloured(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _coloured(value) for name, value in part.items()}
    return "black" if part == "currentColor" else part


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as problem:
        raise missing_extra("drawing a chart", "report") from problem
    return vl_convert
