"""Single texts that stand for something: cells, dates, smoothing, names of files."""

from __future__ import annotations

import math
import random
from decimal import Decimal

from nullproof.parameters import exact_alpha, written_number
from nullproof.tables.values import as_number, date_text, parsed_date, text
from nullproof.web.uploads import last_part
from support.fuzzing.breaking import below, broken_text, pick
from support.fuzzing.law import BrokenLawError, Make, Read

_SEEDS = (
    *(b"12", b"-1.5e-3", b"+007", b" 12 ", b".5", b"1e308", b"inf", b"1/2", b"9007199254740993"),
    *(b"2024-02-29", b"2024-12-31 23:59:59.999999999", b"2024-01-01T00:00:00+14:00", b"20240101"),
    *(b"C:\\tables\\a b.csv", b"../../etc/passwd", b"table.csv.gz", b"0001-01-01T00:00Z", b"0.1"),
)


def reading_values() -> tuple[Make, Read]:
    """Every text that a cell, an option or a name may be, most with digits of their own."""
    shuffling = random.Random(0)
    digits = [bytes.maketrans(b"0123456789", b"0123456789")]
    for _ in range(999):
        own = [*b"0123456789"]
        shuffling.shuffle(own)
        digits.append(bytes.maketrans(b"0123456789", bytes(own)))

    def make(rng: random.Random) -> bytes:
        seed = pick(_SEEDS, rng).translate(digits[below(len(digits), rng)])
        return broken_text(seed, rng, _SEEDS)

    return make, _read


def _read(raw: bytes) -> None:
    """Read it as all of these, and check what comes out against what Python says."""
    written = raw.decode("utf-8", "surrogateescape")
    number = as_number(written)
    if number is not None and not _is_same(number, written):
        raise BrokenLawError(f"{written!r} was read as the number {number!r}")
    moment = parsed_date(written)
    if moment is not None and parsed_date(date_text(moment)) != moment:
        raise BrokenLawError(f"{written!r} is not the moment {date_text(moment)!r}")
    name = last_part(written)
    if not name.isprintable() or {"/", "\\"} & {*name} or not 0 < len(name) < 1000:
        raise BrokenLawError(f"a file is called {name!r}")
    exact_alpha(written_number(written))


def _is_same(number: float, written: str) -> bool:
    """Whether a number is what its text says, and is written again as a text that says the same."""
    if isinstance(number, int) and Decimal(written.strip()) != number:
        return False
    if isinstance(number, float) and not math.isfinite(number):
        return True
    return as_number(text(number)) == number
