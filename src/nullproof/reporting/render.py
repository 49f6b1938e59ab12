"""Present the document of a report: one story, told by templates in HTML and in Markdown.

Nothing is worked out here. Jinja2 escapes every variable, for HTML or for Markdown.
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
# No text of the data holds it: controls are replaced.
_GAP = "\f"
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


class Part(NamedTuple):
    """One part of the story: its name (also its id), its short title, and its HTML."""

    name: str
    title: str
    html: Markup


def parts(document: Document) -> list[Part]:
    """Draw the parts one by one, for a page that has `style` and `script`."""
    return [Part(name, TITLES[name], told) for name, told in _told(document, _html()).items()]


def row(point: Document) -> str:
    """Draw one entry of ``points``."""
    story: Any = _html().get_template("story.jinja").module
    return str(story.row(point, True))


def html(document: Document, drawn: Sequence[Part] | None = None) -> str:
    """Write one page that needs nothing else: no network, no other file, no JavaScript.

    ``drawn`` are its parts, if they are drawn already.
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
    """Write the same story as Markdown, for mails, wikis and pull requests."""
    told = _GAP.join([f"# {document['title']}", *_told(document, _markdown()).values()])
    return re.sub(rf"(\s*{_GAP}\n*)+", "\n\n", told).strip() + "\n"


def _told(document: Document, environment: Environment) -> dict[str, Markup]:
    """Tell the parts that have something to say, in the order of the story."""
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
    """Return the script of the report, which works on whatever parts a page holds."""
    return (files("nullproof.reporting") / "templates" / "report.js").read_text("utf-8")


def policy() -> str:
    """Say what the page may do: show its own style, run its own script, and nothing else."""
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
    # Pictures escape the texts that they hold.
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
    # A command by itself; an indented block ends at the first line that is not indented.
    environment.filters["line"] = lambda command: Markup(" ".join(command.splitlines()))
    return environment


def data(text: str, longest: int = 60) -> Markup:
    """Write a text of the data on its own in its writing direction; a long one loses its middle."""
    if len(text) <= longest:
        kind = ' class="long"' if len(text) > 24 else ""
        return Markup(f"<bdi{kind}>{escape(text)}</bdi>")
    tail = longest // 3
    short = words.ends(text, longest - tail - 3, tail)
    return Markup(f'<bdi class="long" title="{escape(text)}">{escape(short)}</bdi>')


def in_markdown(value: Any) -> Markup:
    """Write a text so that marks of Markdown and HTML lose their meaning and directions stay inside."""
    if isinstance(value, Markup):
        return value
    plain = " ".join("".join(map(_printable, words.cut(str(value), _MARKDOWN_TEXT))).split())
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _MARKS.sub(r"\\\1", escaped)
    if any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in plain):
        return Markup(f"\u2068{escaped}\u2069")
    return Markup(escaped)


def _printable(sign: str) -> str:
    """Replace marks that turn the direction of what follows, and other controls."""
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
