"""report: everything nullproof can say about a set of predictions, in one file to share or compare."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from nullproof.counts.index import CountIndex
from nullproof.data.points import Key, OwnMissing, place_of
from nullproof.data.types import text as value_text
from nullproof.errors import NullproofError
from nullproof.model.certify import certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.progress import Progress
from nullproof.reporting import render
from nullproof.reporting.document import LIMIT, Asked, document_of
from nullproof.results.files import to_json, write_whole
from nullproof.words import either, per_cent, text

FORMATS = ("html", "md", "json")
_HEIGHT = 720
_MOST_POINTS = 20


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """A report on a set of points.

    Parameters
    ----------
    document
        The report as plain values; docs/report.md explains its keys.

    Examples
    --------
    >>> from nullproof import CountIndex, report
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> made = report(index, [("a", "x"), ("a", "y")])
    >>> made.document["certain"]["n_certain"]
    1
    >>> print(made.markdown().splitlines()[0])
    # 1 of 2 predictions are certain (50.0 %)
    """

    document: dict[str, Any]

    def compared(self, other: Report | str | Path, name: str = "the other report") -> Report:
        """Return this report compared with another one: before and after cleaning, or two models.

        ``other`` is a report, or the path of one that was saved as JSON.
        """
        if isinstance(other, Report):
            beside = other.document
        else:
            beside, name = read(Path(other)), Path(other).name
        return Report({**self.document, "compared": compared(self.document, beside, name)})

    def html(self) -> str:
        """Return one self-contained page: no network, no other file needed."""
        return render.html(self.document)

    def markdown(self) -> str:
        """Return the report as Markdown."""
        return render.markdown(self.document)

    def json(self) -> str:
        """Return the document itself, as strict JSON."""
        return to_json(self.document)

    def written(self, form: str) -> str:
        """Return the report in one of the `FORMATS`."""
        if form not in FORMATS:
            raise NullproofError(f"a report cannot be written as {form!r}; give {either(FORMATS)}")
        return {"html": self.html, "md": self.markdown, "json": self.json}[form]()

    def save(self, path: str | Path, form: str | None = None) -> None:
        """Write the report atomically, in the format of the file's ending unless ``form`` is given."""
        path = Path(path)
        text = self.written(form or format_of(path))
        write_whole(path, lambda part: part.write_text(text, "utf-8"))

    def _repr_html_(self) -> str:
        # In a frame, neither page can change the look of the other.
        page = escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="{escape(repr(self))}" '
            f'width="100%" height="{_HEIGHT}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        title = self.document["title"]
        return f"Report: {title.replace(chr(0xA0), ' ')}; save it as .html, .md or .json"


def format_of(path: Path) -> str:
    """Return the format that the ending of a file names."""
    form = path.suffix.lower().lstrip(".")
    if form not in FORMATS:
        raise NullproofError(
            f"{path.name} names no format of a report by its ending; end it in .html, .md or .json"
        )
    return form


def report(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    bias: Bias = 1.0,
    truth: Any = None,
    limit: int = LIMIT,
    on_progress: Progress | None = None,
    key: Key | None = None,
    asked: Asked | None = None,
    also: Iterable[Any] = (),
) -> Report:
    """Write a report to share: how certain the predictions are, why not more of them, how fragile.

    Parameters
    ----------
    points
        As for `certify`.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        ``"skip"``: predict from the known cells of a point. ``"any"``: the prediction must be the same
        whatever the point's own missing cells hold.
    bias
        As for `certify`. The report separates predictions that are certain, that hold up to this bias
        (0.05 if none is given) and that are open; the cleaning plan aims at the same bias.
    truth
        The true label of each point (None if unknown), to count how many predictions of each kind are
        right; it changes no verdict.
    limit
        The largest number of points shown one by one, with odds and witness worlds; verdict and radius
        are computed for all points.
    on_progress
        Called with what is being done and which share of the work is done.
    key
        The names of the points in the report: one of their columns, or one name per point.
    asked
        The origin of the tables, to be shown in the report: an `Asked`.
    also
        Further points to show one by one: their names if there is a key, else their positions.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> made = report(index, [("a", "x"), ("a", "y"), ("b", "y")])
    >>> made
    Report: 2 of 3 predictions are certain (66.7 %); save it as .html, .md or .json
    >>> made.document["open"]["n_points"]
    1
    """
    if limit < 0:
        raise NullproofError(f"limit is {limit}; give a number of points that is 0 or more")
    say = on_progress or (lambda _text, _share: None)
    say("reading the points", 0.0)
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    say("certifying", 0.05)
    judged = certificates_of(model, encoded)
    if truth is not None:
        judged = judged.with_truth(truth)
    places = [
        place_of(value_text(one), encoded.names, len(encoded), "a point asked for") for one in also
    ]
    return Report(document_of(judged, limit=limit, say=say, asked=asked, also=places))


# Beside another report: before and after cleaning, or two models of the same points --------------------


def read(path: Path) -> dict[str, Any]:
    """Read the document of a report that was written as JSON."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        # Comparing it with itself reveals missing keys.
        compared(found, found, path.name)
    except OSError as problem:
        raise NullproofError(
            f"{path} cannot be read: {problem.strerror}; give a report saved as JSON"
        ) from problem
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as problem:
        raise NullproofError(
            f"{path} is not a JSON report; make one with nullproof report … -o FILE.json"
        ) from problem
    return found


def compared(document: dict[str, Any], other: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the comparison of two reports: measures of both, and the listed points that changed.

    ``name`` is the name of the other report.
    """
    lists = [one["points"] for one in (document, other)]
    # Names that are not unique identify nothing, so match points by their order instead.
    name_of = "key" if all(map(_has_keys, lists)) else "point"
    mine, theirs = ({point[name_of]: point for point in points} for points in lists)
    both = [key for key in mine if key in theirs]
    changed = [key for key in both if _said(mine[key]) != _said(theirs[key])]
    return {
        "name": text(name),
        "title": text(other["title"]),
        "measures": [
            {"name": what, "here": here, "there": there}
            for (what, here), (_, there) in zip(_measures(document), _measures(other), strict=True)
        ],
        "n_matched": len(both),
        "n_changed": len(changed),
        "points": [
            {
                "point": mine[key]["point"],
                "key": mine[key].get("key"),
                "here": _said(mine[key]),
                "there": _said(theirs[key]),
            }
            for key in changed[:_MOST_POINTS]
        ],
    }


def _has_keys(points: list[dict[str, Any]]) -> bool:
    keys = {point.get("key") for point in points}
    return None not in keys and len(keys) == len(points)


def _said(point: dict[str, Any]) -> dict[str, str | None]:
    return {"predicted": point["predicted"], "verdict": point["verdict"]}


def _measures(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the measures to show side by side, as texts."""
    table = document["table"]
    found = [("missing cells", f"{table['n_missing']:,} ({per_cent(table['share_missing'])})")]
    for group in document["verdicts"]["groups"]:
        line = f"{group['n_points']:,} ({per_cent(group['share'])})"
        if group["n_known"]:
            line += f", {per_cent(group['n_right'] / group['n_known'])} right"
        found.append((group["verdict"], line))
    return found
