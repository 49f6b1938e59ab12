"""One analysis of an uploaded table: the order, the job that carries it out, and its result.

`analyse` and `worksheet` run in separate processes (`nullproof.web.jobs`) and do what the commands
``report`` and ``clean`` do with the same files and options.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nullproof.cleaning.plan import USUAL_BIAS, goal_in_words
from nullproof.cleaning.worksheet import Work, lines_of, read_lines
from nullproof.counts.index import CountIndex
from nullproof.data.labels import true_labels
from nullproof.data.missing import written_spellings
from nullproof.data.options import AS_USUAL, TableOptions
from nullproof.data.points import encode_points
from nullproof.data.sources import no_such_column
from nullproof.errors import NullproofError, NullproofWarning
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import written_number
from nullproof.reporting.document import Asked, document_of
from nullproof.reporting.render import Part, parts
from nullproof.reporting.reports import compared
from nullproof.web.forms import Order
from nullproof.web.jobs import Job, Say
from nullproof.web.limits import RequestError
from nullproof.web.uploads import Upload, by_name
from nullproof.words import many, typed

_COUNTED, _JUDGED = 0.12, 0.25
# Options that an order shares with the command line.
_OPTIONS = (
    *("alpha", "prior", "weights", "bins", "binning", "missing", "missing_only"),
    *("missing_is_value", "ignore", "keep", "own_missing", "key", "bias"),
)


@dataclass(frozen=True)
class File:
    """A file of this server, and the name under which the user knows it."""

    path: Path
    name: str


@dataclass(frozen=True)
class Ordered:
    """An order with the files that it names."""

    order: Order
    train: File
    points: File | None
    answers: Sequence[File]
    before: dict[str, Any] | None

    @property
    def names(self) -> dict[Path, str]:
        """The names under which the user knows the files."""
        files = (self.train, self.points, *self.answers)
        return {file.path: file.name for file in files if file is not None}

    @property
    def table_options(self) -> TableOptions:
        named = {"bins", "binning", "weights", "ignore", "keep", "missing_only"}
        named |= {"missing_is_value", "unlabelled"}
        missing = written_spellings(self.order.missing)
        return TableOptions(missing, **self.order.model_dump(include=named))

    @property
    def model_options(self) -> dict[str, Any]:
        return {"alpha": written_number(str(self.order.alpha)), "prior": self.order.prior}


@dataclass(frozen=True)
class Result:
    """A finished analysis: the verdicts on its points, and its report, as plain values and rendered."""

    certificates: Certificates
    document: dict[str, Any]
    parts: Sequence[Part]

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The values by which lists of points are filtered and sorted."""
        columns = self.certificates.file_columns()
        by = ("point", "key", "predicted", "tolerance", "rival", "right")
        return pl.DataFrame({name: columns[name] for name in by if name in columns})

    @property
    def size(self) -> int:
        """The approximate memory of the points, in bytes."""
        points, supports = self.certificates.points, self.certificates.min_log_support.nbytes
        frame = points.frame
        return (
            points.codes.nbytes + 4 * supports + int(0 if frame is None else frame.estimated_size())
        )


class Analysis(Job):
    """A job that reads, counts and certifies; it holds the result once it is done."""

    def __init__(
        self, ordered: Ordered, uploads: Sequence[Upload], on_end: Callable[[], None]
    ) -> None:
        super().__init__(analyse, ordered)
        # The tables must stay until the job is over, even if a user deletes them meanwhile.
        self.ordered, self._uploads, self._on_end = ordered, [*uploads], on_end

    def release(self) -> None:
        """Release the tables."""
        self._uploads.clear()
        self._on_end()

    @property
    def size(self) -> int:
        return self.outcome.size if self.state == "done" else 0

    @property
    def busy(self) -> bool:
        return not self.over

    def discard(self) -> None:
        """Stop working."""
        self.cancel()

    @property
    def result(self) -> Result:
        """The result; raise an error if there is none."""
        if self.state == "failed":
            raise RequestError(409, f"this analysis failed: {self.error}")
        if self.state == "cancelled":
            raise RequestError(409, "this analysis was cancelled; order it again")
        if self.state != "done":
            raise RequestError(409, f"this analysis is {self.state}; ask again when it is done")
        found: Result = self.outcome
        return found

    def document(self) -> dict[str, Any]:
        """Return the state, the progress, and the order."""
        return {
            "state": self.state,
            "share": self.share,
            "doing": self.doing,
            "seconds": self.seconds,
            "error": None if self.error is None else " ".join(str(self.error).split()),
            "order": self.ordered.order.model_dump(),
        }


# In a separate process -----------------------------------------------------------------------------


def analyse(say: Say, ordered: Ordered) -> Result:
    """Read the tables, count, certify, and write the document of the report."""
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always", NullproofWarning)
        work, actual = _open(ordered, say)
        brought = None
        if ordered.answers:
            say(_COUNTED, "taking the answers")
            brought = _take(work, ordered)
    model = Model(work.model.index, bias=ordered.order.bias, **ordered.model_options)
    say(_COUNTED, "certifying")
    certificates = replace(certificates_of(model, work.points), actual=actual)
    document = document_of(
        certificates,
        asked=_asked(ordered, [by_name(str(own.message), ordered.names) for own in notices]),
        say=lambda doing, share: say(_JUDGED + (1 - _JUDGED) * share, doing),
    )
    if brought is not None:
        document["finding"] = f"{_said_of_answers(brought, work)} {document['finding']}"
    if ordered.before is not None:
        document["compared"] = compared(document, ordered.before, "the analysis before")
    return Result(certificates, document, parts(document))


def worksheet(say: Say, ordered: Ordered) -> str:
    """Return the cells that are left to look up, as the worksheet that ``clean`` writes."""
    work, _ = _open(ordered, say)
    _take(work, ordered)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worksheet.csv"
        work.write_worksheet(path, work.plan(None))
        return path.read_text("utf-8")


def describe_worksheet(say: Say, path: Path, name: str) -> dict[str, Any]:
    """Count the lines of a worksheet; reject any other file."""
    say(0.0, "reading the worksheet")
    try:
        return {"name": name, "n_lines": len(read_lines(path))}
    except NullproofError as problem:
        raise RequestError(400, by_name(str(problem), {path: name})) from problem


def _open(ordered: Ordered, say: Say) -> tuple[Work, NDArray[np.int32] | None]:
    """Read and count the table, and read the points and their true labels."""
    try:
        return _read(ordered, say)
    except NullproofError as problem:
        raise NullproofError(by_name(str(problem), ordered.names)) from problem


def _read(ordered: Ordered, say: Say) -> tuple[Work, NDArray[np.int32] | None]:
    order, options, path = ordered.order, ordered.table_options, ordered.train.path
    say(0.0, "reading the table")
    table = options.open(path, order.label, key=order.key)
    say(0.05, "counting the cells")
    how = options.for_opened()
    if order.key in table.names and order.key not in (order.label, *order.ignore):
        how["ignore"] = [*how["ignore"], order.key]
    index = CountIndex.from_table(table, order.label, **how)
    say(0.1, "reading the points")
    rows = table
    if ordered.points is not None:
        rows = AS_USUAL.open(ordered.points.path, order.label, index.schema, order.key)
    key = order.key if order.key in rows.names else None
    if key != order.key and order.key not in table.names:
        raise no_such_column(str(order.key), rows.names)
    smoothed = ordered.model_options["alpha"] > 0
    encoded = encode_points(index.schema, rows, smoothed=smoothed, key=key)
    codes = true_labels(index.schema, rows)
    bias = USUAL_BIAS if order.bias == 1 else order.bias
    work = Work(
        index,
        encoded.read(order.own_missing),
        lambda: table,
        {"bias": bias, **ordered.model_options},
        key=order.key,
        same_rows=ordered.points is None,
        lines=lambda: lines_of(path, table, options.file),
    )
    return work, codes if codes is not None and (codes >= 0).any() else None


def _take(work: Work, ordered: Ordered) -> dict[str, Any] | None:
    """Take the answers of worksheets, all or none."""
    try:
        return work.take([sheet.path for sheet in ordered.answers])
    except NullproofError as problem:
        raise NullproofError(by_name(str(problem), ordered.names)) from problem


def _said_of_answers(brought: Mapping[str, Any], work: Work) -> str:
    """Summarize how many answers were accepted, and how many predictions now reach the plan's goal."""
    was, now = brought["n_done_before"], brought["n_done"]
    said = (
        f"{many(brought['n_answers'], 'answer')} accepted: {now:,} of "
        f"{many(len(work.points), 'prediction')} {goal_in_words(work.model)}"
    )
    return f"{said}, as many as before." if was == now else f"{said} now, {was:,} did before."


def _asked(ordered: Ordered, notices: Sequence[str]) -> Asked:
    """Return the origin of the report: files, options, and equivalent commands."""
    # Options that differ from the defaults; the page sends smoothing as typed.
    given = ordered.order.model_dump(exclude_defaults=True)
    given["alpha"] = ordered.model_options["alpha"]
    if given["alpha"] == 1:
        del given["alpha"]
    files = [file.name for file in (ordered.train, ordered.points) if file is not None]
    answers = [sheet.name for sheet in ordered.answers]
    options = {name: given[name] for name in ("label", *_OPTIONS, "unlabelled") if name in given}

    def command(verb: str, output: str = "", leave_out: Sequence[str] = (), **more: Any) -> str:
        named = {name: value for name, value in options.items() if name not in leave_out}
        if named.pop("unlabelled", None) == "drop":
            named["drop_unlabelled"] = True
        flags = {f"--{name.replace('_', '-')}": value for name, value in (named | more).items()}
        return typed(verb, files, flags | ({"-o": output} if output else {}))

    # Only report takes --own-missing, and attacks take no bias.
    sheet = f"worksheet{len(answers) + 1}.csv" if answers else "worksheet.csv"
    taken = {"answers": answers} if answers else {}
    commands = {"clean": command("clean", sheet, ["own_missing"], **taken)}
    if not answers:
        commands["report"] = command("report", "report.html")
        commands["radius"] = command("radius", leave_out=["own_missing", "bias"])
    test = None if ordered.points is None else ordered.points.name
    return Asked(files[0], test, options | taken, notices, commands)
