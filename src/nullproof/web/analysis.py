"""One analysis of an uploaded table: the report's document, and what can be asked afterwards.

Everything is worked out by the library; here it is only asked, one client's question at a time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.decision import Certificates, certificates_of
from nullproof.errors import NullproofError
from nullproof.model import Model, written_number
from nullproof.radii.cells import radii_of
from nullproof.reporting import points as details
from nullproof.reporting.document import document_of
from nullproof.tables import values
from nullproof.tables.options import TableOptions
from nullproof.tables.points import Points, encode_quietly
from nullproof.verdicts import verdicts
from nullproof.web.jobs import Job, Say
from nullproof.web.problems import RequestError
from nullproof.web.uploads import Upload
from nullproof.words import cut, some, text

_READING = 0.15


@dataclass(frozen=True)
class Options:
    """How a table is to be understood and judged, as the client wrote it."""

    label: str
    alpha: str
    prior: str | None
    table: TableOptions


@dataclass(frozen=True)
class Result:
    """A finished analysis."""

    model: Model
    points: Points
    certificates: Certificates
    document: dict[str, Any]

    @property
    def index(self) -> CountIndex:
        return self.model.index

    @property
    def size(self) -> int:
        """The memory that the points take."""
        frame = self.points.frame
        kept = 0 if frame is None else int(frame.estimated_size())
        supports = self.certificates.min_log_support.nbytes * 2
        return kept + self.points.codes.nbytes + supports


class Analysis:
    """A job that reads, counts and judges; its result once it is done."""

    def __init__(
        self,
        train: Upload,
        points: Upload | None,
        options: Options,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.options, self._train, self._points = options, train, points
        self._on_end = on_end
        self.patience: float | None = None
        self.asked = time.monotonic()
        self._result: Result | None = None
        self.job = Job(self._work)

    @property
    def size(self) -> int:
        return 0 if self._result is None else self._result.size

    @property
    def busy(self) -> bool:
        return not self.job.over

    def discard(self) -> None:
        """Stop working."""
        self.job.cancel()

    def stop_if_abandoned(self) -> None:
        """Stop working for somebody who does not ask any more."""
        if self.patience is not None and time.monotonic() - self.asked > self.patience:
            self.job.cancel()

    @property
    def result(self) -> Result:
        """The result, or why there is none."""
        if self.job.state == "failed":
            raise RequestError(409, f"this analysis failed: {self.job.error}")
        if self._result is None or not self.job.over:
            raise RequestError(409, f"this analysis is {self.job.state}; ask again when it is done")
        return self._result

    def _work(self, say: Say) -> None:
        try:
            with self._train:
                if self._points is None:
                    self._result = self._judged(None, say)
                else:
                    with self._points:
                        self._result = self._judged(self._points, say)
        finally:
            self._on_end()

    def _judged(self, named: Upload | None, say: Say) -> Result:
        index, table = self._counted(say)
        say(0.1, "reading the points")
        points = _encoded(index, table if named is None else named.path, named or self._train)
        alpha = written_number(self.options.alpha)
        prior = None if self.options.prior in (None, "") else self.options.prior
        model = Model(index, alpha, prior)  # type: ignore[arg-type]
        with self.job.computing():
            say(_READING, "certifying")
            certificates = certificates_of(model, points)
            document = document_of(
                model,
                points,
                certificates.verdicts,
                say=lambda doing, share: say(_READING + (0.95 - _READING) * share, doing),
            )
        return Result(model, points, certificates, document)

    def _counted(self, say: Say) -> tuple[CountIndex, Any]:
        options = self.options
        say(0.0, "reading the table")
        try:
            table = options.table.open(self._train.path, options.label)
            say(0.05, "counting the cells")
            index = CountIndex.from_table(table, options.label, **options.table.for_opened())
        except NullproofError as problem:
            raise self._train.explained(problem) from problem
        return index, table


def _encoded(index: CountIndex, source: Any, upload: Upload) -> Points:
    try:
        return encode_quietly(index.schema, source)
    except NullproofError as problem:
        raise upload.explained(problem) from problem


def about_points(result: Result, positions: NDArray[np.intp]) -> list[dict[str, Any]]:
    """The verdicts of some points, one line each."""
    labels = [text(label) for label in result.index.labels]
    possible, certain = result.certificates.possible, result.certificates.certain
    return [
        {
            "point": int(place),
            "certain": bool(certain[place]),
            "possible": [labels[i] for i in np.flatnonzero(possible[place])],
        }
        for place in positions.tolist()
    ]


def select(result: Result, verdict: str, label: str | None) -> NDArray[np.intp]:
    """The positions of the points with a verdict and, if one is named, a possible label."""
    possible, certain = result.certificates.possible, result.certificates.certain
    wanted = np.ones(len(certain), dtype=bool)
    if verdict != "all":
        wanted = certain if verdict == "certain" else ~certain
    if label is not None:
        wanted = wanted & possible[:, label_place(result.index, label)]
    return np.flatnonzero(wanted)


def label_place(index: CountIndex, label: str) -> int:
    """The position of a label, or which labels there are."""
    if label not in index.schema.label_codes:
        named = some(map(text, index.labels), 10)
        raise RequestError(400, f"there is no label {cut(label)!r}; it is one of {named}")
    return index.schema.label_codes[label]


def one_point(result: Result, position: int) -> Points:
    """A point of the analysis by its position."""
    if not 0 <= position < len(result.points):
        raise RequestError(
            404,
            f"there is no point {cut(str(position), 30)}; positions go from 0 to "
            f"{len(result.points) - 1}",
        )
    return result.points.take(np.array([position]))


def given_values(result: Result, position: int) -> dict[str, Any]:
    """The cells of a point as they were in its table; None for every spelling of missing."""
    frame = result.points.frame
    assert frame is not None
    missing = result.points.missing[:, position]
    return {
        name: None if gone else plain(frame[name][position])
        for name, gone in zip(result.index.features, missing, strict=True)
    }


def typed_point(index: CountIndex, values: dict[str, Any]) -> Points:
    """A point that a client wrote: one value per feature, None where it is not known."""
    unknown = [name for name in values if name not in index.schema.position]
    if unknown:
        raise RequestError(
            400,
            f"there is no feature {cut(unknown[0])!r}; the features are {some(index.features, 10)}",
        )
    for name, cell in values.items():
        _refuse_huge(name, cell)
    return encode_quietly(index.schema, {name: values.get(name) for name in index.features})


def _refuse_huge(name: str, cell: Any) -> None:
    """Refuse a number past all floats, which JSON allows to be written."""
    for one in cell if isinstance(cell, list) else [cell]:
        if isinstance(one, int) and abs(one) > sys.float_info.max:
            raise RequestError(
                400,
                f"the value of {cut(name)!r} is a number of more than 300 digits; give one "
                "that a double can hold, or text",
            )


def explain(model: Model, point: Points) -> dict[str, Any]:
    """All that is known of one point: intervals, radius, odds, and two worlds that disagree."""
    found = verdicts(model, point)
    fragile = radii_of(model, point, found)
    (told,) = details.points(model, point, (found, fragile), np.array([0]))
    return {name: told[name] for name in told if name not in ("point", "values")}


def plain(cell: Any) -> Any:
    """A cell as JSON has it."""
    if hasattr(cell, "to_list"):
        cell = cell.to_list()
    if isinstance(cell, list | tuple):
        return [plain(one) for one in cell]
    if values.is_missing(cell):
        return None
    if isinstance(cell, bool | str):
        return cell
    if isinstance(cell, int | float) and abs(cell) < 2**53:
        return cell
    return values.text(cell)
