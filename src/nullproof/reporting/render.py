"""Present the document of a report, by templates for HTML and Markdown.

Nothing is computed here. Jinja2 escapes every variable, for HTML or for Markdown.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nullproof import words
from nullproof.results import pictures

Document = dict[str, Any]
TITLES = {
    "overview": "Overview",
    "compared": "Compared",
    "rows": "Rows",
    "columns": "Columns",
    "clean": "Clean up",
    "attacks": "Attacks",
    "asked": "What was asked",
}
_MARKDOWN_ROWS, _MARKDOWN_LINES, _MARKDOWN_TEXT = 20, 40, 1000
# Texts from the data never contain it, since control characters are replaced.
_GAP = "\f"
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


class Part(NamedTuple):
    """One part of the report: its name (also its id), its short title, and its HTML."""

    name: str
    title: str
    html: Markup


def parts(document: Document) -> list[Part]:
    """Render the parts one by one, for a page that has `style` and `script`."""
    return [Part(name, TITLES[name], told) for name, told in _told(document, _html()).items()]


def row(point: Document) -> str:
    """Render one entry of ``points``."""
    story: Any = _html().get_template("story.jinja").module
    return str(story.row(point, True))


def html(document: Document, drawn: Sequence[Part] | None = None) -> str:
    """Return one self-contained page: no network, no other file, no JavaScript needed.

    ``drawn`` are its parts, if they were rendered already.
    """
    return (
        _html()
        .get_template("report.html")
        .render(
            document=document,
            parts=parts(document) if drawn is None else drawn,
            style=Markup(style()),
            script=Markup(script()),
            policy=policy(),
        )
    )


def markdown(document: Document) -> str:
    """Return the report as Markdown, for mails, wikis and pull requests."""
    told = _GAP.join([f"# {document['title']}", *_told(document, _markdown()).values()])
    return re.sub(rf"(\s*{_GAP}\n*)+", "\n\n", told).strip() + "\n"


def _told(document: Document, environment: Environment) -> dict[str, Markup]:
    """Render the parts that have content, in order."""
    empty = {
        "compared": not document.get("compared"),
        "rows": not document["points"],
        "clean": not document["cleaning"],
        "attacks": not document["fragility"]["n_certain"],
    }
    story = environment.get_template("story.jinja").module
    return {name: getattr(story, name)(document) for name in TITLES if not empty.get(name)}


def style() -> str:
    """Return the style sheet of the report."""
    return (files("nullproof.reporting") / "templates" / "report.css").read_text("utf-8")


def script() -> str:
    """Return the script of the report, which works with any selection of parts."""
    return (files("nullproof.reporting") / "templates" / "report.js").read_text("utf-8")


def policy() -> str:
    """Return the content security policy: the page may use only its own style and script."""
    shown, run = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
        for text in (style(), script())
    )
    return (
        f"default-src 'none'; style-src 'sha256-{shown}'; script-src 'sha256-{run}'; "
        "base-uri 'none'; form-action 'none'"
    )


# Two environments for one story -----------------------------------------------------------------------


def _environment(dialect: str, **options: Any) -> Environment:
    environment = Environment(
        loader=PackageLoader("nullproof.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        **options,
    )
    environment.globals.update(dialect=dialect, html=False, n_rows=None, n_lines=None)
    environment.filters.update(
        count=lambda number: f"{number:,}",
        cut=words.cut,
        estimate=words.estimate,
        many=words.many,
        odds=words.odds,
        per_cent=words.per_cent,
        sentence=lambda text: f"{text[:1].upper()}{text[1:]}.",
        span=words.span,
        tolerance=lambda bias: words.tolerance(float("nan") if bias is None else bias),
    )
    return environment


@cache
def _html() -> Environment:
    environment = _environment("html.jinja")
    # Pictures escape their own texts.
    drawings = {name: _drawing(draw) for name, draw in _DRAWINGS.items()}
    environment.globals.update(html=True, data=data, pictures=SimpleNamespace(**drawings))
    return environment


@cache
def _markdown() -> Environment:
    environment = _environment("markdown.jinja", finalize=in_markdown)
    environment.globals.update(
        n_rows=_MARKDOWN_ROWS,
        n_lines=_MARKDOWN_LINES,
        gap=Markup(_GAP),
        data=lambda text, _longest=0: text,
        pictures=SimpleNamespace(**dict.fromkeys(_DRAWINGS, lambda *_: "")),
    )
    # A command on one line, since an indented block ends at the first line that is not indented.
    environment.filters["line"] = lambda command: Markup(" ".join(command.splitlines()))
    return environment


def data(text: str, longest: int = 60) -> Markup:
    """Write a text from the data, isolated in its writing direction and shortened in the middle."""
    if len(text) <= longest:
        kind = ' class="long"' if len(text) > 24 else ""
        return Markup(f"<bdi{kind}>{escape(text)}</bdi>")
    tail = longest // 3
    short = words.ends(text, longest - tail - 3, tail)
    return Markup(f'<bdi class="long" title="{escape(text)}">{escape(short)}</bdi>')


def in_markdown(value: Any) -> Markup:
    """Escape a text for Markdown and HTML, and isolate its writing direction."""
    if isinstance(value, Markup):
        return value
    plain = " ".join("".join(map(_printable, words.cut(str(value), _MARKDOWN_TEXT))).split())
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _MARKS.sub(r"\\\1", escaped)
    if any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in plain):
        return Markup(f"\u2068{escaped}\u2069")
    return Markup(escaped)


def _printable(sign: str) -> str:
    """Replace bidirectional marks and other control characters."""
    if sign.isprintable():
        return sign
    return " " if sign.isspace() or unicodedata.category(sign) == "Cc" else "�"


# Pictures of parts of the document --------------------------------------------------------------------


def _leads(why: Document) -> str:
    bars = [
        pictures.LeadBar._make((f"{one['feature']}: {one['value']}", *one["drawn"], one["said"]))
        for one in why["terms"]
    ]
    return pictures.leads(bars, why["label"], why["rival"])


_SUPPORT = itemgetter("label", "low", "high", "possible")
_DRAWINGS: dict[str, Callable[..., str]] = {
    "bar": pictures.bar,
    "curve_by_bias": pictures.curve_by_bias,
    "curve_by_size": pictures.curve_by_size,
    "distribution": lambda column: pictures.distribution(column["values"]),
    "intervals": lambda support: pictures.intervals(map(_SUPPORT, support)),
    "leads": _leads,
    "stack": lambda groups: pictures.stack({one["verdict"]: one["share"] for one in groups}),
}


def _drawing(draw: Callable[..., str]) -> Callable[..., Markup]:
    return lambda *values: Markup(draw(*values))
