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
from nullproof.reporting.html.curve import fragment_tolerance
from nullproof.reporting.html.elements import data
from nullproof.reporting.html.points import fragment_point, fragment_points
from nullproof.reporting.html.verdicts import (
    fragment_certain,
    fragment_headline,
    fragment_holes,
    fragment_open,
)
from nullproof.words import per_cent, some

__all__ = [
    "fragment_attack",
    "fragment_certain",
    "fragment_cleaning",
    "fragment_features",
    "fragment_fragility",
    "fragment_headline",
    "fragment_holes",
    "fragment_open",
    "fragment_point",
    "fragment_points",
    "fragment_tolerance",
    "policy",
    "render",
    "script",
    "story",
    "style",
]
_STORY = (
    fragment_headline,
    fragment_tolerance,
    fragment_certain,
    fragment_holes,
    fragment_open,
    fragment_fragility,
    fragment_features,
    fragment_attack,
    fragment_cleaning,
    fragment_points,
)


def render(document: dict[str, Any]) -> str:
    """Write the whole page for a document of `tell`."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(document['title'])}</title><style>{style()}</style></head><body>"
        '<a class="skip" href="#report">Skip to the report</a>'
        f"<header><p>nullproof report</p><h1>{escape(_heading(document))}</h1>"
        f"{_contents(document)}</header>"
        f'<main id="report" tabindex="-1">{story(document)}</main>'
        f"<footer>{_footer(document)}</footer><script>{script()}</script></body></html>\n"
    )


def story(document: dict[str, Any]) -> str:
    """All sections in their order, to be put into a page that has `style` and `script`."""
    return "".join(part(document) for part in _STORY)


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
    places = {
        **({"tolerance": "Tolerance"} if document["certain"]["n_points"] else {}),
        "holes": "Holes",
        "open": "Open points",
        "fragility": "Fragility",
        "features": "Features",
        "attack": "Attack",
        **({"cleaning": "Cleaning"} if document["cleaning"] else {}),
        "points": "Point by point",
    }
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in places.items())
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


def _prior(table: dict[str, Any]) -> str:
    """The shares of the labels before anything is known of a point."""
    shares = zip(table["labels"], table["prior"], strict=True)
    return f"prior {some((f'{data(label, 24)} {per_cent(share)}' for label, share in shares), 4)}"


def _footer(document: dict[str, Any]) -> str:
    table = document["table"]
    return (
        f"<p>Naive Bayes with smoothing α = {escape(table['alpha'])} and {_prior(table)}. "
        "Verdicts are exact: integers decide them. Each way to fill all missing cells with values of "
        "their columns is a world, and a tie is not a prediction.</p>"
    )
