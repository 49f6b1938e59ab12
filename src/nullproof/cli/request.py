"""One request: read and count its tables, check its options, give its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from glob import glob
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import typer

from nullproof.cli.options import COMMANDS, COUNTING, OPTIONS, TABLES, flag
from nullproof.cli.show import Display
from nullproof.cli.streams import console, echo, tell, working
from nullproof.counts.engines import open_lazily
from nullproof.counts.engines.files import is_many
from nullproof.counts.index import CountIndex
from nullproof.counts.storage import companion_of, is_saved, warn_of_companion
from nullproof.data.labels import true_labels
from nullproof.data.missing import written_spellings
from nullproof.data.notices import no_part_notice
from nullproof.data.options import TableOptions
from nullproof.data.points import encode_points, place_of, refuse_key, refuse_reading
from nullproof.data.sources import FileOptions, Table, no_such_column
from nullproof.errors import NullproofError, notice
from nullproof.model.parameters import REST, written_number
from nullproof.results.files import to_json, write_result
from nullproof.words import either, many, some, typed

# Options of one answer only, which the proposed next command does not repeat.
_OWN = (
    *("check", "min_share", "min_radius", "explain", "rival", "curve", "repaired"),
    *("all", "json", "output"),
)
# What to do next, in words, and the command that does it.
Following = tuple[str, str]
_NEXT = {
    "clean": "which missing cells to look up first",
    "radius": "how few cells it takes until each prediction is no longer certain",
    "report": "all of this as a page to share",
}


class Request(SimpleNamespace):
    """TRAIN, TEST and every option as attributes; options of other commands have their defaults.

    `load` sets ``index`` and ``points``; ``place`` is the position of the only point that was asked
    about.
    """

    place = 0

    # Tables ---------------------------------------------------------------------------------------

    def load(self) -> tuple[CountIndex, Table]:
        """Read and count TRAIN; the points are TEST, or the rows of TRAIN."""
        refuse_reading(self.own_missing, "--own-missing")
        with working("reading and counting"):
            points: Any = self.table if self.test is None else None
            index = self._saved(self.train) if self.is_index else self.count()
            for line in no_part_notice(index):
                notice(line)
            if self.test is not None:
                # An option for TRAIN may not fit TEST: a sheet, if TEST is a text file.
                options = TableOptions(file=replace(self.file, strict=self.is_index))
                points = options.open(self.test, index.schema.label_name, index.schema, self.key)
            self._refuse_key(index, points)
        self.index, self.points = index, points
        return index, points

    def count(self) -> CountIndex:
        """Count TRAIN, by the options or like a saved index."""
        if self.is_lazy:
            return CountIndex.from_table(
                self.train,
                self._label,
                like=self._like,
                memory_limit=self.memory_limit,
                missing=self._options.missing,
                encoding=self.encoding,
                header=not self.no_header,
                sheet=self.sheet,
                skip_rows=self.skip_rows,
                missing_only=self._options.missing_only,
                **self._for_opened,
            )
        if self._like is None:
            warn_of_companion(self.train)
            # An opened table has taken the spellings, so that it would not miss these columns.
            self._options.refuse_unknown_columns(self._table.names)
        return CountIndex.from_table(self._table, self._label, like=self._like, **self._for_opened)

    @property
    def _for_opened(self) -> dict[str, Any]:
        """The options that turn columns of TRAIN into features; the key is not a feature."""
        options = self._options.for_opened()
        key = self.key
        if key is None or self._like is not None or key == self._label or key not in self._names:
            return options
        if key in (self.keep or ()):
            raise NullproofError(
                f"{key!r} is given to --key, which names rows, and to --keep, which makes it a feature; "
                "give it to one of them"
            )
        if key not in options["ignore"]:
            notice(f"{key!r} names the rows (--key), so it is not counted as a feature")
            options["ignore"] = [*options["ignore"], key]
        return options

    def _refuse_key(self, index: CountIndex, points: Any) -> None:
        """Reject a key that is a feature or the label, or that is in no table."""
        refuse_key(index.schema, self.key, "--key")
        if self.key is not None and self.key not in points.names:
            if self.key not in self._names:
                raise no_such_column(self.key, points.names)
            notice(f"TEST has no column {self.key!r}, so its points are named by their positions")

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The columns of TRAIN; empty for a saved index."""
        if self.is_index:
            return ()
        if not self.is_lazy:
            return tuple(self._table.names)
        spelled, limit = self._options.spelled, self.memory_limit
        with open_lazily(self.train, self._label, spelled, memory_limit=limit) as lazy:
            return () if lazy is None else lazy.names

    @property
    def table(self) -> Any:
        """TRAIN with its rows, which are the points or hold the cells to name."""
        if not self.has_rows:
            what, needed = "is a saved index, without rows", "give the table that was counted"
            if self.is_lazy:
                what = "is counted without being read into memory"
                needed = "give one file, without --memory-limit"
            if self.test is None:
                needed = "name the points as TEST"
            raise NullproofError(f"{self.train} {what}; {needed}")
        return self._table

    @property
    def has_rows(self) -> bool:
        """Whether the rows of TRAIN are available by position."""
        return not (self.is_index or self.is_lazy)

    @property
    def is_lazy(self) -> bool:
        """Whether TRAIN consists of several files or must not be read into memory."""
        return self.train != "-" and (self.memory_limit is not None or is_many(self.train))

    @cached_property
    def is_index(self) -> bool:
        """Whether TRAIN is a saved index."""
        return self.train != "-" and is_saved(self.train)

    @cached_property
    def _like(self) -> CountIndex | None:
        return None if self.like is None else self._saved(self.like)

    def _saved(self, path: str) -> CountIndex:
        """Load an index, and reject a --label that differs from its label."""
        index = CountIndex.load(path)
        name = index.schema.label_name
        if self.label not in (None, name):
            raise NullproofError(
                f"--label is {self.label!r}, but the saved index {path} has the label {name!r}; leave "
                "--label out, or count the table again"
            )
        return index

    @cached_property
    def _table(self) -> Any:
        schema = None if self._like is None else self._like.schema
        label = self.label or (None if schema is None else schema.label_name)
        return self._options.open(self.train, label, schema, self.key)

    @property
    def _label(self) -> str:
        if self.label is not None:
            return str(self.label)
        if self._like is not None:
            return self._like.schema.label_name
        names = "" if self.is_lazy else f" with one of {some(self._table.names, 20)}"
        raise NullproofError(f"no label column was given; add --label COL{names}")

    @cached_property
    def _options(self) -> TableOptions:
        return TableOptions(
            written_spellings(self.missing or ()),
            TableOptions.bins if self.bins is None else self.bins,
            written_binning(self.binning),
            ignore=self.ignore or (),
            unlabelled="drop" if self.drop_unlabelled else "refuse",
            file=self.file,
            keep=self.keep or (),
            missing_only=self.missing_only,
            missing_is_value=self.missing_is_value or (),
            weights=written_weights(self.weights),
        )

    @property
    def file(self) -> FileOptions:
        """How to read TRAIN and TEST if they are text or Excel files."""
        return FileOptions(self.encoding, not self.no_header, self.sheet, self.skip_rows)

    # Questions ------------------------------------------------------------------------------------

    def truth(self) -> Any:
        """Return the true label of each point, None if it is unknown; return None if all are unknown."""
        codes = true_labels(self.index.schema, self.points)
        if codes is None or not (codes >= 0).any():
            return None
        return np.array([*self.index.labels, None], dtype=object)[codes]

    def model(self) -> dict[str, Any]:
        """Return smoothing, prior, and how missing cells of the points are read."""
        return {
            "alpha": written_number(self.alpha),
            "prior": written_prior(self.prior, self.index),
            "own_missing": self.own_missing,
        }

    def naming(self) -> dict[str, Any]:
        """Return the option that names the points, if they have the --key column."""
        return {"key": self.key if self.key in self.points.names else None}

    def chosen(self) -> tuple[Any, dict[str, Any]]:
        """Return the requested points, and the option that names them.

        These are all points, or only the one given by --point, which is already named.
        """
        if self.point is None:
            return self.points, self.naming()
        encoded = encode_points(self.index.schema, self.points, **self.naming())
        self.place = place_of(self.point, encoded.names, len(encoded), "--point")
        return encoded.take_whole(np.array([self.place])), {}

    # Answers --------------------------------------------------------------------------------------

    def answer(
        self,
        result: Any,
        show: Callable[[Display, Any], None],
        following: Following | None = None,
        *,
        share: float = 1.0,
        document: Callable[[], dict[str, Any]] | None = None,
        write: Callable[[dict[str, Any]], None] | None = None,
        **more: Any,
    ) -> None:
        """Write the result to a file, print it as JSON (with ``more``), or show it on the terminal.

        Parameters
        ----------
        share
            The share of the points that pass ``--check``.
        document, write
            Functions that make the JSON form and write the file, if they replace those of the result.
        """
        failed = self.check and share < (1.0 if self.min_share is None else self.min_share)
        try:
            made = self._document(document or result.document, more)
            if self.output is not None and write is not None:
                write(made)
            elif self.output is not None:
                self._write(result, made, following)
            if self.json:
                echo(to_json(made))
            elif self.output is None:
                self._show(show, result, following)
        except BrokenPipeError:
            # The check fails even if nobody reads the output.
            if not failed:
                raise
        if failed:
            raise typer.Exit(1)

    def _document(self, make: Callable[[], dict[str, Any]], more: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON form if requested: for many points it takes longer than the answer itself."""
        if not (self.json or (self.output is not None and self.output.suffix == ".json")):
            return {}
        made = {**make(), **more}
        if self.test is None:
            made["training_rows"] = True
        if self.place:
            made["points"][0]["point"] = self.place
        return made

    def _write(self, result: Any, document: dict[str, Any], following: Following | None) -> None:
        """Write the result to its file, and propose the next command."""
        columns, of = result.file_columns(), ""
        if self.place:
            columns["point"] = [self.place]
        write_result(self.output, columns, document)
        if "point" in columns:
            of = f": {many(len(columns['point']), 'point')}, in the order of their rows"
            of += ", which are the training rows themselves" if self.test is None else ""
        tell(f"wrote {self.output}{of}")
        if following is not None:
            self.tell_next(following[1])

    def _show(
        self, show: Callable[[Display, Any], None], result: Any, following: Following | None
    ) -> None:
        """Show a result on the terminal, between the name of the table and the proposed next command."""
        display = Display(console(), self.all, self.test is None, self.place)
        display.open(None if self.train == "-" else Path(self.train).name, self.index)
        show(display, result)
        if following is not None and not self.is_gone:
            display.say_next(*following)

    def tell_next(self, line: str) -> None:
        """Print the next command, unless a table was read from standard input and is gone."""
        if not self.is_gone:
            tell(f"next: {line}")

    @property
    def is_gone(self) -> bool:
        """Whether a table was read from standard input, so that no later command can read it."""
        return "-" in (self.train, self.test)

    def again(self, command: str, **more: Any) -> str:
        """Write a command for the same tables, with the given options that it accepts, and ``more``."""
        values = {key: getattr(self, key) for key in OPTIONS if key not in _OWN} | more
        files = [values.pop("train", self.train), values.pop("test", self.test)]
        options = {
            flag(key): values[key]
            for key in COMMANDS[command].takes
            if values.get(key) not in (None, [], OPTIONS[key].default)
        }
        return typed(command, [file for file in files if file is not None], options)

    def then(self, command: str) -> Following:
        """Propose a command that usually comes next."""
        output = "report.html" if command == "report" else None
        return _NEXT[command], self.again(command, output=output)

    def altered(self, path: Path, companion: Path) -> str:
        """Write the command that certifies with a table written by this program: UTF-8 with a header."""
        reading = ("encoding", "no_header", "sheet", "skip_rows")
        settled = dict.fromkeys((*COUNTING, "label", *reading))
        # These options apply to both tables, but only TEST still needs them: predict the rows of TRAIN.
        is_odd = any(getattr(self, key) != OPTIONS[key].default for key in reading)
        test = None if is_odd else self.test
        return self.again("certify", **settled, train=path, test=test, like=companion)


# Options that contradict each other, rejected by name before any work is done ---------------------------

_NEEDED = {"min_share": "check", "min_radius": "check", "rival": "explain", "repaired": "answers"}
_APART = (
    *(("all", "explain"), ("all", "point"), ("curve", "check"), ("curve", "point")),
    *(("explain", "min_share"), ("steps", "time_limit")),
    *(("threat", "time_limit"), ("threat", "steps"), ("threat", "seed")),
)


def refuse_together(request: Request) -> None:
    """Reject options that do not fit TRAIN or each other."""
    written_number(request.alpha)
    given = {key for key, option in OPTIONS.items() if getattr(request, key) != option.default}
    train = request.train
    if train == request.test == "-":
        raise NullproofError("TRAIN and TEST are both standard input; give one of them as a file")
    if "memory_limit" in given and (request.is_index or train == "-"):
        what = "is already counted" if request.is_index else "(standard input) is read into memory"
        raise NullproofError(f"--memory-limit is given, but {train} {what}; leave it out")
    settled = {*COUNTING, "like", "drop_unlabelled"} if request.is_index else {*COUNTING}
    saved = train if request.is_index else request.like
    for key in OPTIONS:
        if saved is not None and key in settled & given:
            raise NullproofError(
                f"{flag(key)} is given, but it is fixed by the saved index {saved}; leave it out, or "
                "count the table anew"
            )
    ways = written_binning(request.binning)
    ways = {*ways.values()} if isinstance(ways, dict) else {ways}
    if "bins" in given and not {"uniform", "quantile"} & ways:
        raise NullproofError(
            f"--bins is {request.bins}, but no column has uniform or quantile bins, which alone take a "
            "number; leave --bins out, or add --binning uniform"
        )
    for key, other in _NEEDED.items():
        if key in given and other not in given:
            raise NullproofError(f"{flag(key)} is given without {flag(other)}; give both or none")
    for key, other in _APART:
        if {key, other} <= given:
            raise NullproofError(
                f"{flag(key)} and {flag(other)} do not go together; leave one of them out"
            )


def refuse_output(request: Request, endings: Iterable[str]) -> None:
    """Reject output files that cannot be written, are also inputs, or have unknown endings."""
    folder = Path(request.train)
    # TRAIN may be a pattern of several files.
    train = [*glob(request.train, recursive=True), request.train]  # noqa: PTH207
    read = (*train, request.test, request.like, request.compare, *(request.answers or ()))
    taken = [Path(name) for name in read if name not in (None, "-")]
    targets = (("-o", request.output, endings), ("--repaired", request.repaired, TABLES))
    for option, path, wanted in targets:
        if path is None:
            continue
        if str(path) == "-":
            raise NullproofError(f"{option} is -, which is not a file; give a file name")
        if wanted and path.suffix not in wanted:
            raise NullproofError(
                f"{option} {path} has no ending that names a format; end it in {either([*wanted], 'or')}"
            )
        if not path.parent.is_dir():
            raise NullproofError(
                f"{option} {path}: there is no folder {path.parent}; create it first"
            )
        if path.is_dir():
            raise NullproofError(f"{option} {path} is a folder; name a file in it")
        if folder.is_dir() and path.resolve().is_relative_to(folder.resolve()):
            raise NullproofError(
                f"{option} {path} is in {folder}, which is an input; give another folder"
            )
        written = [path] if request.like is None else [path, companion_of(path)]
        if any(_same_file(own, other) for own in written for other in taken):
            raise NullproofError(
                f"{option} {path} is already an input or output of this command; give another name"
            )
        taken.append(path)


def _same_file(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


# Options written in a small language ------------------------------------------------------------------


def written_prior(written: str | None, index: CountIndex) -> Any:
    """Read a prior: its name, numbers, or numbers by label."""
    if written is None or written == "uniform":
        return written
    parts = written.split(",")
    if "=" not in written:
        return [written_number(part) for part in parts]
    named = dict(part.rpartition("=")[::2] for part in parts)
    labels = [str(label) for label in index.labels]
    if {*named} != {*labels}:
        raise NullproofError(
            f"--prior names {', '.join(named)} but the labels are {', '.join(labels)}; give one number for "
            "each"
        )
    return [written_number(named[label]) for label in labels]


def written_bias(written: list[str] | None, default: Any = 1.0) -> Any:
    """Read a number, or numbers by column; a number without a column is for the rest."""
    needed = "a number from 0 to 1, or COLUMN=NUMBER"
    return _by_column("--bias", written, default, written_number, needed)


def written_binning(written: list[str] | None) -> Any:
    """Read a binning, or binnings by column; one without a column is for the rest."""
    return _by_column("--binning", written, "mdl", str)


def written_weights(written: list[str] | None) -> Any:
    """Read how weights are found, or weights by column; one without a column is for the rest."""

    def read(value: str) -> Any:
        return value if value in ("equal", "learned") else written_number(value)

    needed = "learned, equal, or COLUMN=NUMBER with a multiple of 1/8 from 0 to 2"
    found = _by_column("--weights", written, "learned", read, needed)
    return found if isinstance(found, str | dict) else {REST: found}


def _by_column(
    option: str,
    written: list[str] | None,
    default: Any,
    read: Callable[[str], Any],
    needed: str = "",
) -> Any:
    """Read entries VALUE and COLUMN=VALUE: one value for all, or a mapping with ``*`` for the rest."""
    found: dict[str, Any] = {}
    for entry in written or ():
        column, sign, value = entry.rpartition("=")
        column = column if sign else REST
        if column in found:
            which = "the rest" if column == REST else repr(column)
            raise NullproofError(f"{option} gives {which} two values; give one")
        try:
            found[column] = read(value)
        except NullproofError:
            raise NullproofError(f"{option} is {entry!r}; give {needed}") from None
    return found.get(REST, default) if not {*found} - {REST} else found
