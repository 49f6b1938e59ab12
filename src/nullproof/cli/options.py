"""What every command is asked in the same words: tables, options, and where the answer goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from nullproof.cli.keys import left_out, refuse_unknown_key
from nullproof.cli.streams import console, echo, tell
from nullproof.cli.written import written_binning, written_prior, written_weights
from nullproof.errors import NullproofError, notice
from nullproof.words import many, some

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from nullproof.cli.shown import Answer
    from nullproof.counts.index import CountIndex
    from nullproof.data.options import TableOptions
    from nullproof.data.schema import Schema
    from nullproof.data.sources import Blocks, FileOptions, Table


Named = TypeVar("Named", "Table", "Blocks")


@dataclass(frozen=True)
class Request:
    """The arguments that commands share, as written on the line; `load` and `model` understand them."""

    train: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="Training table (CSV, TSV, Excel, ARFF, Parquet, Arrow, or -) or saved index.",
        ),
    ]
    test: Annotated[
        str | None,
        typer.Argument(metavar="TEST", help="Points to predict; by default the training rows."),
    ] = None
    label: Annotated[
        str | None, typer.Option("--label", metavar="COL", help="Column to predict.")
    ] = None
    alpha: Annotated[
        str, typer.Option("--alpha", metavar="A", help="Smoothing, e.g. 0, 1 or 1/2.")
    ] = "1"
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior", metavar="P", help="'uniform', or label=number,…; else label frequencies."
        ),
    ] = None
    own_missing: Annotated[
        str,
        typer.Option(
            "--own-missing",
            metavar="HOW",
            help="Missing cells of the points: 'skip' them, or let them hold 'any' value.",
        ),
    ] = "skip"
    bins: Annotated[
        str | None,
        typer.Option(
            "--bins", metavar="N", help="How many bins 'uniform' and 'quantile' make; else 5."
        ),
    ] = None
    binning: Annotated[
        list[str] | None,
        typer.Option(
            "--binning",
            metavar="[COL=]HOW",
            help="'mdl' (the default), 'uniform', 'quantile' or 'none'; repeatable.",
        ),
    ] = None
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weights",
            metavar="[COL=]WEIGHT",
            help="How much columns count: 'learned' (the default), 'equal', or a multiple of 1/8 from 0 to "
            "2; repeatable.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="[COL=]TEXT",
            help="A spelling of missing, in one column or in all, besides empty, NA, N/A, NaN, null, ?, "
            "#N/A, <NA>, and none, - and . unless they are values; repeatable.",
        ),
    ] = None
    missing_only: Annotated[
        list[str] | None,
        typer.Option(
            "--missing-only",
            metavar="TEXT",
            help="A spelling of missing instead of those; repeatable.",
        ),
    ] = None
    missing_is_value: Annotated[
        list[str] | None,
        typer.Option(
            "--missing-is-value",
            metavar="COL",
            help="A column where missing is an answer of its own; repeatable.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="COL", help="A column to leave out; repeatable."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COL",
            help="A column to count although it seems to name the rows; repeatable.",
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="COL",
            help="A column that names the rows of TRAIN and TEST; not a feature.",
        ),
    ] = None
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out rows of TRAIN without a label.")
    ] = False
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding", metavar="NAME", help="Encoding of text files, e.g. cp1250; else UTF-8."
        ),
    ] = None
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="The first row is data; the columns are c1, c2, …"),
    ] = False
    skip_rows: Annotated[
        int,
        typer.Option(
            "--skip-rows", metavar="N", min=0, help="Lines above the header to skip; else 0."
        ),
    ] = 0
    sheet: Annotated[
        str | None,
        typer.Option("--sheet", metavar="NAME", help="Sheet of Excel files; else the first."),
    ] = None
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="INDEX", help="Saved index whose bins and domains to use."),
    ] = None
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Let DuckDB count TRAIN within this memory, e.g. 1GB.",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write .csv, .parquet or .json."),
    ] = None

    def load(self) -> tuple[CountIndex, Table]:
        """Read and count TRAIN; the points are TEST, or the rows of TRAIN."""
        index, options, like = self._loaded()
        points = self._table if self.test is None else options.open(self.test, *like)
        return index, self._with_key(index, points)

    def load_blocks(self) -> tuple[CountIndex, Blocks]:
        """The same with points that come in blocks."""
        from nullproof.data.sources import Blocks

        index, options, like = self._loaded()
        if self.test is None:
            return index, self._with_key(index, Blocks.of(self._table))
        return index, self._with_key(index, options.open_blocks(self.test, *like))

    def _loaded(self) -> tuple[CountIndex, TableOptions, tuple[str, Schema, str | None]]:
        """The counts of TRAIN, how TEST is read, and like what; its label and its key stay as written."""
        from nullproof.data.options import TableOptions
        from nullproof.data.points import refuse_reading

        refuse_reading(self.own_missing, "--own-missing")
        if self.test is None and self.is_index:
            raise NullproofError(f"{self.train} is a saved index, without rows; name TEST too")
        if self.test is None and self.is_lazy:
            raise NullproofError(
                f"{self.train} is counted without being read into memory; name the points as TEST"
            )
        index = self._saved(self.train) if self.is_index else self._counted()
        self._name_columns_without_part(index)
        # What TRAIN has taken may mean nothing for TEST: a sheet, where TEST is a text file.
        options = TableOptions(file=replace(self.file, strict=self.is_index))
        return index, options, (index.schema.label_name, index.schema, self.key)

    def _name_columns_without_part(self, index: CountIndex) -> None:
        """Give the notice of columns with missing cells that play no part, unless it was given."""
        from nullproof.data.notices import NOTABLE, no_part_notice

        fresh = not self.is_index and self._like is None
        given = [*no_part_notice(index, least=NOTABLE)] if fresh else []
        for said in no_part_notice(index):
            if said not in given:
                notice(said)

    def count(self) -> CountIndex:
        """Read and count TRAIN alone, for a file of counts."""
        if not self.is_index:
            return self._counted()
        raise NullproofError(f"{self.train} is a saved index already; give the table to count")

    def _with_key(self, index: CountIndex, points: Named) -> Named:
        """The points, if they or TRAIN have the column of --key."""
        if self.key is not None:
            refuse_unknown_key(self.key, index, points.names, self._names)
        return points

    def _counted(self) -> CountIndex:
        """Count TRAIN, as the options say or like a saved index."""
        from nullproof.counts.index import CountIndex
        from nullproof.counts.storage import warn_of_companion

        if self.is_lazy:
            if self.label is None and self._like is None:
                raise NullproofError("no label column was named; add --label COL")
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
        return CountIndex.from_table(self._table, self._label, like=self._like, **self._for_opened)

    @property
    def _for_opened(self) -> dict[str, Any]:
        """How the columns of TRAIN become features; the key is none."""
        options = self._options.for_opened()
        if self.key is not None and self._like is None and self.key != self._label:
            options["ignore"] = left_out(
                self.key, self._names, self._options.ignore, self._options.keep
            )
        return options

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The columns of TRAIN; none of a saved index."""
        from nullproof.counts.engines import open_lazily

        if self.is_index:
            return ()
        if not self.is_lazy:
            return tuple(self._table.names)
        spelled, limit = self._options.spelled, self.memory_limit
        with open_lazily(self.train, self._label, spelled, memory_limit=limit) as lazy:
            return () if lazy is None else lazy.names

    @property
    def table(self) -> Any:
        """The training table itself, for commands that point at its cells."""
        if self.is_index:
            raise NullproofError(
                f"{self.train} is a saved index, without rows; give the table that has the cells"
            )
        if self.is_lazy:
            raise NullproofError(
                f"the cells of {self.train} cannot be named by their rows; give one file, "
                "without --memory-limit"
            )
        return self._table

    @property
    def by_key(self) -> bool:
        """Whether rows of TRAIN have only names, and no positions: it is not read into memory."""
        return self.key is not None and self.is_lazy

    @property
    def is_lazy(self) -> bool:
        """Whether TRAIN is many files, or is not to be read into memory."""
        from nullproof.counts.engines.files import is_many

        return self.train != "-" and (self.memory_limit is not None or is_many(self.train))

    @cached_property
    def is_index(self) -> bool:
        """Whether TRAIN is a saved index."""
        from nullproof.counts.storage import is_saved

        return self.train != "-" and is_saved(self.train)

    @cached_property
    def _like(self) -> CountIndex | None:
        return None if self.like is None else self._saved(self.like)

    def _saved(self, path: str) -> CountIndex:
        """Load an index, and refuse a label that is not its own."""
        from nullproof.counts.index import CountIndex

        index = CountIndex.load(path)
        name = index.schema.label_name
        if self.label not in (None, name):
            raise NullproofError(
                f"--label is {self.label!r}, but the saved index {path} counts by {name!r}; leave "
                "--label out, or count the table anew"
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
            return self.label
        if self._like is not None:
            return self._like.schema.label_name
        named = some(self._table.names, 20)
        raise NullproofError(f"no label column was named; add --label COL with one of {named}")

    def truth(self, index: CountIndex, points: Table) -> NDArray[np.object_] | None:
        """The true label of each point, None where it has none; None alone if no point has one."""
        import numpy as np

        from nullproof.data.labels import true_labels

        codes = true_labels(index.schema, points)
        if codes is None or not (codes >= 0).any():
            return None
        return np.array([*index.labels, None], dtype=object)[codes]

    def model(self, index: CountIndex) -> dict[str, Any]:
        """The options of every question: smoothing, prior, and how holes of the points are read."""
        from nullproof.model.parameters import written_number

        return {
            "alpha": written_number(self.alpha),
            "prior": written_prior(self.prior, index),
            "own_missing": self.own_missing,
        }

    @property
    def whose(self) -> dict[str, bool]:
        """What an answer says if the points are the training rows."""
        return {"training_rows": True} if self.test is None else {}

    def naming(self, points: Table | Blocks) -> dict[str, Any]:
        """The option that names the points, if they have the column of --key."""
        return {"key": self.key if self.key in points.names else None}

    def answer(
        self,
        result: Answer,
        show: Callable[[Console], None],
        then: str | None = None,
        **more: Any,
    ) -> None:
        """Give the result as asked: into a file, as JSON (with ``more``), or to be looked at.

        ``then`` is the next command, which is told beside a file.
        """
        from nullproof.files import to_json, write_result

        if self.output is None and not self.as_json:
            show(console())
            return
        wanted = self.as_json or (self.output is not None and self.output.suffix == ".json")
        # For many points the document takes longer than the answer.
        document = {**result.document(), **more} if wanted else {}
        if self.output is not None:
            columns = result.file_columns()
            write_result(self.output, columns, document)
            self.tell_written(len(columns["point"]) if "point" in columns else None, then)
        if self.as_json:
            echo(to_json(document))

    def tell_written(self, n_points: int | None, then: str | None) -> None:
        """Say that the answer is in its file, and what the next command is."""
        of = "" if n_points is None else f": {many(n_points, 'point')}, in the order of their rows"
        tell(f"wrote {self.output}{of}")
        self.tell_next(then)

    def tell_next(self, line: str | None) -> None:
        """Say the next command, unless a table came on standard input and is gone."""
        if line is not None and "-" not in (self.train, self.test):
            tell(f"next: {line}")

    @cached_property
    def _options(self) -> TableOptions:
        from nullproof.data.missing import written_spellings
        from nullproof.data.options import TableOptions

        return TableOptions(
            written_spellings(self.missing or ()),
            TableOptions.bins if self.bins is None else int(self.bins),
            written_binning(self.binning) if self.binning else TableOptions.binning,
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
        """How TRAIN and TEST are to be read where they are files of text or Excel."""
        from nullproof.data.sources import FileOptions

        return FileOptions(self.encoding, not self.no_header, self.sheet, self.skip_rows)
