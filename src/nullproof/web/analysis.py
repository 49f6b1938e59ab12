"""One analysis of an uploaded table: a job that reads, counts and judges, and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nullproof.cleaning.plan import USUAL_BIAS
from nullproof.cleaning.worksheet import Work, lines_of
from nullproof.counts.index import CountIndex
from nullproof.data import types
from nullproof.data.options import TableOptions
from nullproof.data.points import OwnMissing, Points, encode_points, encode_quietly
from nullproof.data.sources import Table, no_such_column
from nullproof.errors import NullproofError
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import written_number
from nullproof.reporting.asked import Asked
from nullproof.reporting.comparison import compared
from nullproof.reporting.document import document_of
from nullproof.reporting.findings import MOST
from nullproof.web.changes import Change, changed
from nullproof.web.jobs import Job, Say
from nullproof.web.origins import asked_of, listening
from nullproof.web.problems import RequestError
from nullproof.web.uploads import Upload
from nullproof.web.worksheets import Sheet, answers_told, take, written

_READING, _TOLERANCES = 0.15, 0.25


@dataclass(frozen=True)
class Options:
    """How a table is to be understood and judged, as the client wrote it.

    Parameters
    ----------
    key
        The column that names the points.
    truth
        The column of the points that holds their true labels; None: the label column, if they have it.
    changes
        What to change in the table before anything is judged, after the answers of worksheets.
    """

    label: str
    alpha: str
    prior: str | None
    table: TableOptions
    own_missing: OwnMissing = "skip"
    bias: float = 1.0
    key: str | None = None
    truth: str | None = None
    changes: Sequence[Change] = ()


@dataclass(frozen=True)
class Result:
    """A finished analysis.

    Parameters
    ----------
    points
        The points, with their own holes read as ``own_missing`` says.
    truth
        The label that each point has in its table, None where it has none; None if no such column.
    work
        The plan of what to look up, before any answer is taken.
    """

    model: Model
    points: Points
    certificates: Certificates
    document: dict[str, Any]
    own_missing: OwnMissing
    truth: list[Any] | None
    work: Callable[[], Work]

    @property
    def index(self) -> CountIndex:
        return self.model.index

    @property
    def size(self) -> int:
        """The memory that the points take."""
        frame = self.points.frame
        kept = 0 if frame is None else int(frame.estimated_size())
        supports = self.certificates.min_log_support.nbytes * 2
        tolerances = self.certificates.tolerance.nbytes * 2
        return kept + self.points.codes.nbytes + supports + tolerances


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
        self.answers: Sequence[Sheet] = ()
        self.before: dict[str, Any] | None = None
        self.patience: float | None = None
        self.order: dict[str, Any] = {}
        self.usual: dict[str, Any] = {}
        self.asked = time.monotonic()
        self._result: Result | None = None
        # An analysis that waits needs its tables too, whoever deletes them meanwhile.
        self._held = ExitStack()
        for upload in (train, *([] if points is None else [points])):
            self._held.enter_context(upload)
        self.job = Job(self._work, self._held.close)

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

    def worksheet(self) -> str:
        """The cells that are left to look up, as a file to fill in."""
        if self.options.changes:
            raise RequestError(
                409, "a worksheet is about the table as it is; analyse it without changes first"
            )
        work = self.result.work()
        take(work, self.answers, self._folder)
        return written(work, self._folder)

    def table(self) -> Table:
        """The training table, read again."""
        options = self.options
        try:
            with self._train:
                return options.table.open(self._train.path, options.label, key=options.key)
        except (NullproofError, OSError) as problem:
            raise RequestError(
                409, "the table of this analysis is gone; upload it again and analyse it anew"
            ) from problem

    def _work(self, say: Say) -> None:
        try:
            with listening():
                self._result = self._judged(self._points, say)
        finally:
            self._on_end()

    def _judged(self, named: Upload | None, say: Say) -> Result:
        index, table = self._counted(say)
        say(0.1, "reading the points")
        source = table if named is None else named.path
        points = self._encoded(index, source, named or self._train)
        truth = _truth(index, points, self.options)
        work = partial(self._planning, index, points, self.table)
        brought = None
        if self.answers:
            say(0.12, "taking the answers")
            answered = self._planning(index, points, lambda: table)
            brought = take(answered, self.answers, self._folder)
            index, points = answered.model.index, answered.points
        model = self._model(changed(index, self.options.changes))
        with self.job.computing():
            say(_READING, "certifying")
            certificates = certificates_of(model, points)
            say(_READING, "finding how far each prediction holds")
            certificates.tolerances  # noqa: B018 (kept for every later question)
            document = document_of(
                certificates,
                truth=truth,
                asked=self._asked(),
                say=lambda doing, share: say(_TOLERANCES + (0.95 - _TOLERANCES) * share, doing),
            )
        document["notes"] += [
            f"The table was changed: {change}." for change in self.options.changes
        ]
        if brought is not None:
            said = answers_told(brought, answered)
            document["findings"] = [said, *document["findings"]][:MOST]
        if self.before is not None:
            document["compared"] = compared(document, self.before, "the analysis before")
            self.before = None
        return Result(model, points, certificates, document, self.options.own_missing, truth, work)

    def _model(self, index: CountIndex) -> Model:
        options = self.options
        return Model(index, written_number(options.alpha), options.prior or None, options.bias)  # type: ignore[arg-type]

    def _planning(self, index: CountIndex, points: Points, table: Callable[[], Table]) -> Work:
        """What `nullproof clean` does with the same tables and options."""
        options = self.options
        how: dict[str, Any] = {
            "alpha": written_number(options.alpha),
            "prior": options.prior or None,
            "bias": USUAL_BIAS if options.bias == 1 else options.bias,
        }
        same = self._points is None
        return Work(
            index,
            points,
            table,
            how,
            key=options.key,
            same_rows=same,
            lines=lambda: lines_of(self._train.path, table(), options.table.file),
        )

    @property
    def _folder(self) -> Path:
        """Where this server keeps its files."""
        return self._train.path.parent

    def _asked(self) -> Asked:
        points = None if self._points is None else self._points.name
        answers = [sheet.name for sheet in self.answers]
        return asked_of(self.order, self.usual, self._train.name, points, answers)

    def _counted(self, say: Say) -> tuple[CountIndex, Any]:
        options = self.options
        say(0.0, "reading the table")
        try:
            table = options.table.open(self._train.path, options.label, key=options.key)
            say(0.05, "counting the cells")
            how = options.table.for_opened()
            how["ignore"] = [*how["ignore"], *self._no_features(table.names)]
            index = CountIndex.from_table(table, options.label, **how)
        except NullproofError as problem:
            raise self._train.explained(problem) from problem
        return index, table

    def _no_features(self, names: Sequence[str]) -> list[str]:
        """Columns that name the rows or hold true labels; nothing is to be predicted from them."""
        options = self.options
        beside = {options.key, options.truth} - {options.label, None, *options.table.ignore}
        return [name for name in names if name in beside]

    def _encoded(self, index: CountIndex, source: Any, upload: Upload) -> Points:
        """The points with their names, if there is a column that names them."""
        key = self.options.key
        try:
            points = encode_quietly(index.schema, source, key)
            assert points.frame is not None
            lacks = key is not None and key not in points.frame.columns
            if lacks and key not in self._train.column_names:
                raise no_such_column(str(key), points.frame.columns)
            named = encode_points(index.schema, points, key=None if lacks else key)
        except NullproofError as problem:
            raise upload.explained(problem) from problem
        return named.read(self.options.own_missing)


def _truth(index: CountIndex, points: Points, options: Options) -> list[Any] | None:
    """The labels that the points have in their own table, as the index names them."""
    frame, column = points.frame, options.truth or options.label
    assert frame is not None
    if column not in frame.columns:
        if options.truth is not None:
            raise no_such_column(column, frame.columns)
        return None
    cells = [None if isinstance(cell, list | dict) else cell for cell in frame[column].to_list()]
    named = {cell: _label(index, cell) for cell in {*cells}}
    return None if {*named.values()} <= {None} else [named[cell] for cell in cells]


def _label(index: CountIndex, cell: Any) -> Any:
    written = None if types.is_missing(cell) else types.text(cell)
    rule = index.schema.missing.rule(index.schema.label_name).of_labels
    if written is None or rule.is_missing(written):
        return None
    code = index.schema.label_codes.get(written)
    return written if code is None else index.labels[code]
