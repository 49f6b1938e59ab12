"""The report as one HTML file that needs nothing else: no network, no other file, no JavaScript.

The script only adds comfort: sorting, filtering, opening the point that a link names.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from typing import Any

from nullproof.reporting.html.causes import (
    fragment_attack,
    fragment_cleaning,
    fragment_features,
    fragment_fragility,
)
from nullproof.reporting.html.comparison import fragment_compared
from nullproof.reporting.html.curve import fragment_accuracy, fragment_tolerance
from nullproof.reporting.html.headline import fragment_headline
from nullproof.reporting.html.origin import byline, fragment_asked, fragment_data
from nullproof.reporting.html.points import fragment_point, fragment_points
from nullproof.reporting.html.verdicts import fragment_certain, fragment_holes, fragment_open
from nullproof.reporting.order import TITLES, sections

__all__ = [
    "fragment_accuracy",
    "fragment_asked",
    "fragment_attack",
    "fragment_certain",
    "fragment_cleaning",
    "fragment_compared",
    "fragment_data",
    "fragment_features",
    "fragment_fragility",
    "fragment_headline",
    "fragment_holes",
    "fragment_open",
    "fragment_point",
    "fragment_points",
    "fragment_tolerance",
    "parts",
    "policy",
    "render",
    "script",
    "story",
    "style",
]
_FRAGMENTS = {
    "compared": fragment_compared,
    "tolerance": fragment_tolerance,
    "labels": fragment_certain,
    "open": fragment_open,
    "fragility": fragment_fragility,
    "accuracy": fragment_accuracy,
    "attack": fragment_attack,
    "features": fragment_features,
    "cleaning": fragment_cleaning,
    "holes": fragment_holes,
    "data": fragment_data,
    "points": fragment_points,
    "asked": fragment_asked,
}


def render(document: dict[str, Any]) -> str:
    """Write the whole page for a document of `tell`."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(document['title'])}</title><style>{style()}</style></head><body>"
        '<a class="skip" href="#report">Skip to the report</a>'
        f"<header><p>{byline(document)}</p><h1>{escape(_heading(document))}</h1>"
        f"{_contents(document)}</header>"
        f'<main id="report" tabindex="-1">{story(document)}</main>'
        f"<script>{script()}</script></body></html>\n"
    )


def story(document: dict[str, Any]) -> str:
    """All sections in their order, to be put into a page that has `style` and `script`."""
    return "".join(drawn for _, _, drawn in parts(document))


def parts(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The sections one by one: name, short title and HTML; first the ``headline``."""
    headline = ("headline", "Answer", fragment_headline(document))
    names = sections(document)
    return [headline, *((name, TITLES[name], _FRAGMENTS[name](document)) for name in names)]


def style() -> str:
    """The style sheet of the report."""
    return _asset("report.css")


def script() -> str:
    """The script of the report, which works on whatever fragments the page holds."""
    return _asset("report.js")


def policy() -> str:
    """What the page may do: show its own style, run its own script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style())}'; script-src '{_digest(script())}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("nullproof.reporting") / "page" / name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _heading(document: dict[str, Any]) -> str:
    name = document["table"]["label_name"]
    # Rows that were given without a name for their labels say nothing here.
    return "How certain are the predictions" + ("?" if name == "label" else f" of {name}?")


def _contents(document: dict[str, Any]) -> str:
    links = "".join(f'<li><a href="#{name}">{TITLES[name]}</a></li>' for name in sections(document))
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
