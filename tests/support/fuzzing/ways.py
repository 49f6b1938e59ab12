"""Every reader with inputs for it."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

from nullproof import CountIndex, NullproofError, certify, inject_missing
from support.command_line import ran
from support.fuzzing import seeds
from support.fuzzing.breaking import below, broken, broken_text, odd_document, pick
from support.fuzzing.law import BrokenLawError, Make, Read, Way, reading_whole
from support.fuzzing.requests import ways_to_ask
from support.workbooks import with_part

_PARTS = ("xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml")
# Single texts that stand for something: cells, dates, smoothing.
_VALUES = (
    *(b"12", b"-1.5e-3", b"+007", b" 12 ", b".5", b"1e308", b"inf", b"1/2", b"9007199254740993"),
    *(b"2024-02-29", b"2024-12-31 23:59:59.999999999", b"2024-01-01T00:00:00+14:00", b"20240101"),
    *(b"C:\\tables\\a b.csv", b"../../etc/passwd", b"table.csv.gz", b"0001-01-01T00:00Z", b"0.1"),
)
# One in so many tables is read from a file, and counted, as points and as a training table.
_COUNTED = 8


def ways(folder: Path) -> dict[str, Way]:
    """Every reader, by its name; files go to ``folder``."""
    found = [*_tables(folder), *_packed(folder), *_indexes(folder), *_cleaning(folder)]
    found += [Way("values", 300, _values), *ways_to_ask(folder)]
    return {way.name: way for way in found}


def _mixed(raws: Sequence[bytes], read: Read) -> tuple[Make, Read]:
    return lambda rng: broken(pick(raws, rng), rng, raws), reading_whole(read, raws)


def _mixed_texts(raws: Sequence[bytes], read: Read) -> tuple[Make, Read]:
    return lambda rng: broken_text(pick(raws, rng), rng, raws), reading_whole(read, raws)


def _tables(folder: Path) -> list[Way]:
    def of(
        raws: Callable[[], Sequence[bytes]], ending: str = ""
    ) -> Callable[[], tuple[Make, Read]]:
        return lambda: _mixed(raws(), _reading(folder / f"input{ending}"))

    def text(
        raws: Callable[[], Sequence[bytes]], ending: str = ""
    ) -> Callable[[], tuple[Make, Read]]:
        return lambda: _mixed_texts(raws(), _reading(folder / f"input{ending}"))

    def sheets() -> tuple[Make, Read]:
        books = seeds.workbooks()

        def make(rng: random.Random) -> bytes:
            part = pick(_PARTS, rng)
            return with_part(pick(books, rng), part, lambda xml: broken(xml, rng))

        return make, reading_whole(_reading(folder / "input"), books)

    def duckdb() -> tuple[Make, Read]:
        return _mixed([seeds.texts()[0], *seeds.parquets()], _counting_files(folder))

    return [
        Way("csv", 40, text(seeds.texts)),
        Way("tsv", 6, text(seeds.tabbed, ".tsv")),
        Way("arff", 150, text(lambda: [seeds.ARFF.encode()])),
        Way("parquet", 600, of(seeds.parquets)),
        Way("arrow", 600, of(seeds.arrows)),
        Way("arrow stream", 2000, of(seeds.arrow_streams)),
        Way("excel", 250, of(seeds.workbooks)),
        Way("excel sheets", 5, sheets),
        Way("duckdb", 1, duckdb),
    ]


def _reading(path: Path) -> Read:
    """Most inputs come by standard input, which takes no file."""
    index, standard = seeds.index(), SimpleNamespace()

    def read(raw: bytes) -> None:
        if sum(raw[-99:]) % _COUNTED and not path.suffix:
            standard.buffer = io.BytesIO(raw)
            before, sys.stdin = sys.stdin, standard
            try:
                inject_missing("-", 0)
            finally:
                sys.stdin = before
            return
        path.write_bytes(raw)
        frame = inject_missing(path, 0)
        if frame.width:
            own = CountIndex.from_table(path, frame.columns[-1])
            for counted in (own, index):
                if {*counted.features} <= {*frame.columns}:
                    certify(counted, path)

    return read


def _counting_files(folder: Path) -> Read:
    def read(raw: bytes) -> None:
        path = folder / f"input{'.parquet' if raw[:3] == b'PAR' else '.csv'}"
        path.write_bytes(raw)
        CountIndex.from_table(path, seeds.LABEL, memory_limit="500MB")

    return read


def _packed(folder: Path) -> list[Way]:
    def way(packing: str) -> Way:
        def build() -> tuple[Make, Read]:
            raws = [*seeds.texts(), seeds.parquets()[0]]
            whole = [seeds.packed(raw, packing) for raw in raws]

            def make(rng: random.Random) -> bytes:
                if rng.random() < 0.8:
                    return broken(pick(whole, rng), rng, whole)
                return seeds.packed(broken_text(pick(raws, rng), rng, raws), packing)

            return make, reading_whole(_reading(folder / "input"), whole)

        return Way(packing, 200, build)

    return [way("gzip"), way("zstd")]


def _indexes(folder: Path) -> list[Way]:
    path = folder / "input.index"

    def build() -> tuple[Make, Read]:
        raws = seeds.saved_indexes(folder)

        def load(raw: bytes) -> None:
            path.write_bytes(raw)
            try:
                index = CountIndex.load(path)
            except NullproofError as problem:
                if not str(problem).startswith(f"{path} ") or "; " not in str(problem):
                    raise BrokenLawError(f"says not which file, or what to do: {problem}") from None
                raise
            if raw not in raws:
                raise BrokenLawError(f"taken though it was not saved like that: {index!r}")

        return _mixed(raws, load)

    return [Way("index", 1200, build)]


def _cleaning(folder: Path) -> list[Way]:
    def worksheet(ending: str, share: int) -> Way:
        def build() -> tuple[Make, Read]:
            raws, path = seeds.worksheets(folder, ending), folder / f"input{ending}"
            command = (*seeds.CLEAN, "--answers", path.name, "-o", f"next{ending}")

            def read(raw: bytes) -> None:
                path.write_bytes(raw)
                done = ran(folder, *command)
                if done.code:
                    raise NullproofError(done.err.removeprefix("nullproof: ").strip())

            return (_mixed_texts if ending == ".csv" else _mixed)(raws, read)

        return Way(f"worksheet {ending}", share, build)

    def cleaner() -> tuple[Make, Read]:
        state = seeds.cleaner_state(folder)

        def resume(raw: bytes) -> None:
            path = folder / "input.json"
            path.write_bytes(raw)
            seeds.cleaner().resume(path)

        read = reading_whole(resume, [json.dumps(state).encode()])
        return lambda rng: odd_document(state, rng), read

    return [worksheet(".csv", 4), worksheet(".xlsx", 4), Way("cleaner", 3, cleaner)]


def _values() -> tuple[Make, Read]:
    """Every text that a cell, an option or a name may be, most with digits of their own."""
    shuffling = random.Random(0)
    digits = [bytes.maketrans(b"0123456789", b"0123456789")]
    for _ in range(999):
        own = [*b"0123456789"]
        shuffling.shuffle(own)
        digits.append(bytes.maketrans(b"0123456789", bytes(own)))

    def make(rng: random.Random) -> bytes:
        seed = pick(_VALUES, rng).translate(digits[below(len(digits), rng)])
        return broken_text(seed, rng, _VALUES)

    return make, _read_value


def _read_value(raw: bytes) -> None:
    """Read it as a cell, as a cell that is counted again, and as smoothing."""
    written = raw.decode("utf-8", "surrogateescape")
    index = CountIndex.from_rows([(written,), ("other",), ("more",)], ["p", "q", "q"])
    again = CountIndex.from_rows([(written,)], ["p"], like=index)
    if index.n_rows != 3 or (index + again).n_rows != 4:
        raise BrokenLawError(f"{written!r} was not counted")
    try:
        alpha = Fraction(written[:50]) if "/" in written else float(written)
    except (ValueError, ZeroDivisionError):
        return
    certify(index, ("other",), alpha=alpha)
