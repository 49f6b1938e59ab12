"""Present the document of a report: templates for HTML and Markdown, and the little that they call.

Nothing is worked out here. HTML is escaped by Jinja2; in Markdown every variable is escaped that no
filter of ours has written.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from functools import cache
from html import escape
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nullproof import words
from nullproof.reporting.comparison import in_words as beside
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
_MARKDOWN_ROWS, _MARKDOWN_COLUMNS, _MARKDOWN_TEXT = 20, 40, 1000
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


class Part(NamedTuple):
    """One part of the story: its name (also its id), its short title, and its HTML."""

    name: str
    title: str
    html: str


def sections(document: Document) -> list[str]:
    """Return the names of the parts that have something to say, in the order of the story."""
    empty = {
        "compared": not document.get("compared"),
        "rows": not document["points"],
        "clean": not document["cleaning"],
        "attacks": not document["fragility"]["n_certain"],
    }
    return [name for name in TITLES if not empty.get(name)]


def parts(document: Document) -> list[Part]:
    """Draw the parts one by one, for a page that has `style` and `script`."""
    shown = {point["point"] for point in document["points"]}
    macros = _html().get_template("parts.html").make_module({"shown": shown})
    return [
        Part(name, TITLES[name], str(getattr(macros, name)(document)))
        for name in sections(document)
    ]


def row(point: Document) -> str:
    """Draw one entry of ``points``."""
    macros: Any = _html().get_template("parts.html").make_module({"shown": {point["point"]}})
    return str(macros.row(point, True))


def html(document: Document) -> str:
    """Write one page that needs nothing else: no network, no other file, no JavaScript."""
    return (
        _html()
        .get_template("report.html")
        .render(
            document=document,
            parts=[part._replace(html=Markup(part.html)) for part in parts(document)],
            style=Markup(style()),
            script=Markup(script()),
            policy=policy(),
        )
    )


def markdown(document: Document) -> str:
    """Write the same story as Markdown, for mails, wikis and pull requests."""
    written = (
        _markdown()
        .get_template("report.md")
        .render(
            d=document,
            sections=sections(document),
            n_rows=_MARKDOWN_ROWS,
            n_columns=_MARKDOWN_COLUMNS,
        )
    )
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


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


# What both formats say in the same words --------------------------------------------------------------


def holds(point: Document) -> str:
    """Say how far one prediction holds, and which label then catches up."""
    tolerance, label = point["tolerance"], point["tolerance_rival"]
    if tolerance is None:
        against = f" against {label}" if label else ""
        return f"not even missing cells just like the known ones decide{against}"
    if tolerance == 1:
        threat = (
            f"; {words.many(point['radius'], 'training cell')} blanked or wrong would let "
            f"{point['rival']} catch up"
            if point["radius"]
            else ""
        )
        return f"holds whatever the missing cells hold{threat}"
    then = f"; then {label} catches up" if label else ""
    return f"holds up to a bias of {words.tolerance(tolerance)}{then}"


def rival(point: Document) -> str | None:
    """Return the label that threatens a prediction first: as the bias grows, or under an attack."""
    label: str | None = point["tolerance_rival"] or point["rival"]
    if label is None and point["explanation"]:
        label = point["explanation"]["rival"]
    return label


def radius(point: Document) -> str:
    """Write the radius of a point."""
    if point["radius"] is None:
        return "no attack" if point["not_worked_out"] is None else "not worked out"
    return f"{point['radius']:,}" if point["radius"] else "–"


def values(column: Document) -> str:
    """Name the number of values or bins of a column, with the first of them."""
    if column["use"] != "feature":
        return ""
    named = [words.cut(value["value"], 24) for value in column["values"]]
    more = [*named, "…"] if column["n_values"] > len(named) else named
    word = "bin" if column["binned"] else "value"
    return f"{words.many(column['n_values'], word)}: {words.some(more, 4)}"


def facts(document: Document) -> list[tuple[str, str]]:
    """List files, date, version and options, as far as they are known."""
    asked = document["asked"]
    points = "the training rows themselves" if asked["training_rows"] else asked["test"]
    pairs = [
        ("training table", asked["train"]),
        ("points", points),
        ("made", asked["date"]),
        ("nullproof", asked["version"]),
        *((option["name"], option["value"]) for option in asked["options"]),
    ]
    return [(name, value) for name, value in pairs if value]


_SHARED = {
    "beside": beside,
    "facts": facts,
    "holds": holds,
    "odds": words.odds,
    "radius": radius,
    "rival": rival,
    "span": words.span,
    "values": values,
}


def _tolerance(bias: float | None) -> str:
    return words.tolerance(float("nan") if bias is None else bias)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


_FILTERS = {
    "estimate": words.estimate,
    "count": lambda number: f"{number:,}",
    "many": words.many,
    "per_cent": words.per_cent,
    "tolerance": _tolerance,
}


# HTML -------------------------------------------------------------------------------------------------


def data(text: str, longest: int = 60) -> Markup:
    """Write a text of the data on its own in its writing direction; a long one loses its middle."""
    if len(text) <= longest:
        kind = ' class="long"' if len(text) > 24 else ""
        return Markup(f"<bdi{kind}>{escape(text)}</bdi>")
    tail = longest // 3
    short = words.ends(text, longest - tail - 3, tail)
    return Markup(f'<bdi class="long" title="{escape(text)}">{escape(short)}</bdi>')


def _stack(groups: list[Document]) -> str:
    return pictures.stack({group["verdict"]: group["share"] for group in groups})


def _intervals(support: list[Document]) -> str:
    rows = [(line["label"], line["low"], line["high"], line["possible"]) for line in support]
    return pictures.intervals(rows, relative=True)


def _leads(why: Document) -> str:
    bars = [
        pictures.LeadBar(
            f"{term['feature']}: {term['value']}", least, reference, greatest, term["said"]
        )
        for term in why["terms"]
        for least, reference, greatest in (term["drawn"],)
    ]
    return pictures.leads(bars, why["label"], why["rival"])


def _bias(document: Document) -> str:
    curve = document["curve"]
    pairs = zip(curve["bias"], curve["share"], strict=True)
    told = ", ".join(f"{words.per_cent(share)} up to {bias:g}" for bias, share in pairs)
    return pictures.curve_by_bias(
        curve["drawn"]["bias"],
        curve["drawn"]["share"],
        f"Share of predictions that hold, by bias: {told}.",
        document["verdicts"]["threshold"],
    )


def _certified(accuracy: Document) -> str:
    told = ", ".join(
        f"{words.per_cent(line['share'])} at {line['k']:,}" for line in accuracy["curve"]
    )
    return pictures.curve_by_size(
        accuracy["drawn"]["k"],
        accuracy["drawn"]["share"],
        f"Share of predictions that stay right, by cells: {told}.",
        "cells in the attack",
        accuracy["accuracy"],
    )


def _plan(plan: Document) -> str:
    drawn = plan["drawn"]
    told = f"Share of the other rows expected to be done: {words.per_cent(drawn['share'][-1])} at the end."
    return pictures.curve_by_size(drawn["n_cells"], drawn["share"], told, "cells looked up")


def _distribution(column: Document) -> str:
    told = ", ".join(
        f"{words.cut(value['value'], 24)} {words.per_cent(value['share'])}"
        for value in column["values"][:8]
    )
    return pictures.distribution([value["n_cells"] for value in column["values"]], told)


_DRAWINGS = {
    "bar": pictures.bar,
    "bias": _bias,
    "certified": _certified,
    "distribution": _distribution,
    "intervals": _intervals,
    "leads": _leads,
    "plan": _plan,
    "stack": _stack,
}


def _drawn(draw: Any) -> Any:
    # Pictures escape the texts that they hold.
    return lambda *values: Markup(draw(*values))


@cache
def _html() -> Environment:
    environment = Environment(
        loader=PackageLoader("nullproof.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    drawings = {name: _drawn(draw) for name, draw in _DRAWINGS.items()}
    environment.globals.update(_SHARED, data=data, pictures=SimpleNamespace(**drawings))
    environment.filters.update(_FILTERS, sentence=_sentence)
    return environment


# Markdown ---------------------------------------------------------------------------------------------


class _Written(str):
    """Markdown that needs no escaping."""

    __slots__ = ()


def in_markdown(value: Any) -> str:
    """Write a text so that marks of Markdown and HTML lose their meaning and directions stay inside."""
    if isinstance(value, _Written):
        return value
    plain = " ".join("".join(map(_printable, words.cut(str(value), _MARKDOWN_TEXT))).split())
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _MARKS.sub(r"\\\1", escaped)
    if any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in plain):
        return _Written(f"\u2068{escaped}\u2069")
    return _Written(escaped)


def _printable(sign: str) -> str:
    """Replace marks that turn the direction of what follows, and other controls."""
    if sign.isprintable():
        return sign
    return " " if sign.isspace() or unicodedata.category(sign) == "Cc" else "�"


def _line(command: str) -> _Written:
    """Write a command by itself; an indented block ends at the first line that is not."""
    return _Written(" ".join(command.split()))


@cache
def _markdown() -> Environment:
    environment = Environment(
        loader=PackageLoader("nullproof.reporting"),
        finalize=in_markdown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(_SHARED)
    written = {
        name: lambda *values, write=write: _Written(write(*values))
        for name, write in _FILTERS.items()
    }
    environment.filters.update(written, raw=_Written, md=in_markdown, line=_line, some=words.some)
    return environment
