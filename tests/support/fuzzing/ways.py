"""Every reader with inputs for it, and the law: an answer, or one sentence of our own."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nullproof.cleaning.worksheet import Work
from nullproof.counts import parquet
from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError, NullproofWarning
from nullproof.tables.formats import read_file
from support.fuzzing import seeds
from support.fuzzing.breaking import broken, odd_document
from support.workbooks import with_part

# A message may quote a name, however long that is.
LONGEST = 5000
_PARTS = ("xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml")
# One in so many tables that can be read is also counted, as points and as a training table.
_COUNTED = 8


class BrokenLawError(AssertionError):
    """Something else came out than an answer or one sentence."""


@dataclass(frozen=True)
class Way:
    """A reader, and how its inputs are made.

    Parameters
    ----------
    make
        One input, at random.
    read
        Reads it; what is refused is a `NullproofError`.
    share
        How many of its inputs are tried for one of the dearest reader.
    """

    name: str
    make: Callable[[random.Random], bytes]
    read: Callable[[bytes], Any]
    share: int = 1

    def input(self, number: int) -> bytes:
        """The input of a number, always the same."""
        return self.make(random.Random(f"{self.name} {number}"))

    def attempt(self, raw: bytes) -> bool:
        """Read an input; whether it was refused. Anything but an answer and one sentence is raised."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", NullproofWarning)
                self.read(raw)
        except NullproofError as problem:
            said = str(problem)
            if "\n" in said or not 10 < len(said) < LONGEST or "mistake in nullproof" in said:
                raise BrokenLawError(f"not one sentence: {said[:300]!r}") from problem
            return True
        return False


def ways(folder: Path) -> dict[str, Way]:
    """Every reader, by its name; files go to ``folder``."""
    found = [*_tables(folder), *_packed(folder), *_indexes(folder), *_cleaning(folder)]
    return {way.name: way for way in (*found, *_questions(folder))}


def _mixed(raws: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    return lambda rng: broken(rng.choice(raws), rng, raws)


def _tables(folder: Path) -> list[Way]:
    texts, books = seeds.texts(), seeds.workbooks()
    binary = (seeds.parquets(), seeds.arrows(), seeds.arrow_streams())
    read = _reading(folder / "input")

    def book(rng: random.Random) -> bytes:
        part = rng.choice(_PARTS)
        return with_part(rng.choice(books), part, lambda xml: broken(xml, rng))

    return [
        Way("csv", _mixed(texts), read, 16),
        Way("tsv", _mixed(seeds.tabbed()), _reading(folder / "input.tsv"), 4),
        Way("arff", _mixed([seeds.ARFF.encode()]), read, 16),
        Way("parquet", _mixed(binary[0]), read, 40),
        Way("arrow", _mixed(binary[1]), read, 60),
        Way("arrow stream", _mixed(binary[2]), read, 60),
        Way("excel", _mixed(books), read, 16),
        Way("excel sheets", book, read, 4),
        Way("duckdb", _mixed([texts[0], *binary[0]]), _counting_files(folder), 1),
    ]


def _reading(path: Path) -> Callable[[bytes], None]:
    index = seeds.index()

    def read(raw: bytes) -> None:
        path.write_bytes(raw)
        frame = read_file(path).frame
        if raw and sum(raw[-99:]) % _COUNTED == 0 and frame.width:
            index.encode(path)
            CountIndex.from_table(path, frame.columns[-1])

    return read


def _counting_files(folder: Path) -> Callable[[bytes], None]:
    def read(raw: bytes) -> None:
        path = folder / f"input{'.parquet' if raw[:3] == b'PAR' else '.csv'}"
        path.write_bytes(raw)
        CountIndex.from_table(path, seeds.LABEL, memory_limit="500MB")

    return read


def _packed(folder: Path) -> list[Way]:
    raws, read = [*seeds.texts(), seeds.parquets()[0]], _reading(folder / "input.gz")

    def way(packing: str) -> Way:
        whole = [seeds.packed(raw, packing) for raw in raws]

        def make(rng: random.Random) -> bytes:
            if rng.random() < 0.7:
                return broken(rng.choice(whole), rng, whole)
            return seeds.packed(broken(rng.choice(raws), rng, raws), packing)

        return Way(packing, make, read, 50)

    return [way("gzip"), way("zstd")]


def _indexes(folder: Path) -> list[Way]:
    path, raws = folder / "input.index", seeds.saved_indexes(folder)

    def load(raw: bytes) -> None:
        path.write_bytes(raw)
        parquet.is_saved(path)
        repr(CountIndex.load(path))

    def sealed(rng: random.Random) -> bytes:
        """A broken file whose seal is right all the same, as only this program could write it."""
        raw = bytearray(broken(rng.choice(raws), rng, raws))
        start = parquet._digest_start(bytes(raw))
        if start is not None:
            raw[start : start + 64] = parquet._digest(bytes(raw), start)
        return bytes(raw)

    return [Way("index", _mixed(raws), load, 200), Way("sealed index", sealed, load, 40)]


def _cleaning(folder: Path) -> list[Way]:
    own, state = seeds.cleaner(), seeds.cleaner_state(folder)

    def worksheet(ending: str, share: int) -> Way:
        path, raws = folder / f"input{ending}", seeds.worksheets(folder, ending)
        options = {"cells": None, "own_holes": "any", "alpha": 1.0}

        def read(raw: bytes) -> None:
            path.write_bytes(raw)
            Work(own.original, own.points, lambda: seeds.FRAME, options).take([path])

        return Way(f"worksheet {ending}", _mixed(raws), read, share)

    def resume(raw: bytes) -> None:
        path = folder / "input.json"
        path.write_bytes(raw)
        seeds.cleaner().resume(path)

    return [
        worksheet(".csv", 2),
        worksheet(".xlsx", 1),
        Way("cleaner", lambda rng: odd_document(state, rng), resume, 2),
    ]


def _questions(folder: Path) -> list[Way]:
    from support.asking import Asked

    uploads = folder / "uploads"
    uploads.mkdir(exist_ok=True)
    asked = Asked(uploads).analyse()
    own = f"/api/analyses/{asked.analysis}"
    change = {"do": "blank", "feature": "town", "label": "p", "value": "x", "n_cells": 1}
    values = {"age": 1, "town": ["x", None], "day": "2020-01-01", "paid": True}
    point = {"values": values, "changes": [change]}
    order = {"table": asked.table, "points": asked.table, "label": "y", "alpha": "1/2", "bins": 3}
    order |= {
        "binning": "uniform",
        "missing": ["?"],
        "ignore": ["day"],
        "keep": ["age"],
        "bias": 1.0,
    }
    order |= {
        "own_holes": "any",
        "truth": "y",
        "key": "town",
        "changes": [change],
        "prior": "uniform",
    }
    forms = {
        f"{own}/point": point,
        f"{own}/support": {**point, "bias": 0.05},
        f"{own}/what-if": {"changes": [change, {**change, "do": "fill"}]},
        "/api/analyses": order,
    }
    paths = [*forms]

    def make(rng: random.Random) -> bytes:
        place = rng.randrange(len(paths))
        return bytes([place]) + odd_document(forms[paths[place]], rng)

    def ask(raw: bytes) -> None:
        if not raw or raw[0] >= len(paths):
            return
        answer = asked.fine("POST", paths[raw[0]], raw[1:])
        if answer.status >= 400:
            raise NullproofError(answer.error)
        if answer.status == 202:
            failed = asked.outcome(json.loads(answer.content)["id"])
            if failed:
                raise NullproofError(failed)

    # Parquet files are read twice, first in a process of their own, which takes a while.
    tables = [*2 * seeds.texts(), *seeds.workbooks(), seeds.ARFF.encode(), seeds.parquets()[0]]

    def upload(raw: bytes) -> None:
        answer = asked.fine("POST", "/api/tables", raw)
        if answer.status >= 400:
            raise NullproofError(answer.error)

    return [Way("api", make, ask, 8), Way("upload", _mixed(tables), upload, 2)]
