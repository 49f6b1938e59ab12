"""Single texts that stand for something: cells, dates, smoothing."""

from __future__ import annotations

import random
from typing import Any

from nullproof import CountIndex, certify
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
    """Read it as a cell, as a cell that is counted again, and as smoothing."""
    written = raw.decode("utf-8", "surrogateescape")
    index = CountIndex.from_rows([(written,), ("other",), ("more",)], ["p", "q", "q"])
    if index.n_rows != 3 or index.update([(written,)], ["p"]).n_rows != 4:
        raise BrokenLawError(f"{written!r} was not counted")
    alpha: Any = written[:50]
    certify(index, ("other",), alpha=alpha)
