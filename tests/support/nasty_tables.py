"""Seeded tables of nasty cells: every type that some way can hold, and text files full of look-alikes."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from support.plain_counter import DAY, USUAL, Column, Kind, Table, days_of, places


def _words(line: str) -> list[str]:
    return line.split()


_NAN = float("nan")
_INF = float("inf")
# Integers of every width, as far as 64 bits with a sign hold them.
_WIDTHS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, min(2**bits, 2**63) - 1) for bits in (8, 16, 32, 64)},
}
_WHOLE = (0, 1, 2, -1, -9, 5, 2**53, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2)
_REAL = (0.0, -0.0, 1.0, -9.0, 0.1, 0.1 + 2**-56, 0.30000000000000004, 1e-7, 5e-324, 1e16, 1e17)
_LARGE = (1e22, 1e23, 2.0**53, 2.0**53 + 2, 1.7e308, -1.7e308, 123456789.123, 1e300)
_NOT_FINITE = (_INF, -_INF, _NAN)
_CENTS = ("1.00", "0.10", "0.25", "-9.00", "-0.01", "1234567.89")
_TEXTS = [
    *_words("a b NA N/A NaN nan null NULL None inf 0x10 1_000 1 1.0 01 +5 .5 5. 1e5 true True ? -"),
    *_words("nA #N/A <NA> none NONE . ?? unknown"),
    *_words("٣ é # #c 2020-01-31 2020-1-1 2020-02-30 日本 %s"),
    *("", " ", " ? ", " none", " a", "a ", "x\ny", "x\r\ny", '"', "'", "a,b", "a;b", "\\", "\t"),
]
_WORDS = ("a", "b", "c", "d", "é", "日本", "it's", 'a "b"', "x y")
_ROWS = (1, 2, 3, 5, 8, 12, 24)
# Days on either side of what nanoseconds can hold, and the first and last of Python's calendar.
_EDGE_DAYS = (
    *((1970, 1, 1), (1969, 12, 31), (2020, 2, 29), (1600, 3, 1), (1, 1, 1), (9999, 12, 31)),
    *((1677, 9, 21), (1677, 9, 23), (2262, 4, 10), (2262, 4, 12)),
)
_SPAN_NS = 2**63 - 1
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_STAMPS = (
    *(f"timestamp[{unit}{zone}]" for unit in ("s", "ms", "us") for zone in ("", ",UTC")),
    *("timestamp[us,Europe/Oslo]", "timestamp[ns]"),
)


# Typed columns -----------------------------------------------------------------------------------


def _integers(stored: str) -> list[Any]:
    low, high = _WIDTHS[stored]
    cells = {low, high, low + 1, high - 1, 0, *_WHOLE}
    return sorted(cell for cell in cells if low <= cell <= high)


def _floats(stored: str) -> list[Any]:
    if stored == "float64":
        return [*_REAL, *_LARGE, *_NOT_FINITE]
    small = (*_REAL[:8], 0.5, 1.5, 2.0, 3.25, *_NOT_FINITE)
    return [struct.unpack("f", struct.pack("f", cell))[0] for cell in small]


def _stamps(stored: str) -> list[Any]:
    unit = max(1000, _UNITS[stored.partition("[")[2].partition("]")[0].partition(",")[0]])
    moments = [days_of(*day) * DAY for day in _EDGE_DAYS]
    moments += [m + shift for m in moments[:9] for shift in (1000, 10**6, DAY - 1000, DAY // 2)]
    fitting = {m // unit * unit for m in moments if m < days_of(9999, 12, 31) * DAY + DAY}
    return sorted(m for m in fitting if "[ns" not in stored or abs(m) <= _SPAN_NS)


def _times(stored: str) -> list[Any]:
    unit = _UNITS[stored[5:-1]]
    moments = (0, 1000, 10**6, 10**9, DAY - 1000, DAY // 2, DAY // 2 + 1000)
    return sorted({m // unit * unit for m in moments})


def _days(stored: str) -> list[Any]:
    return [days_of(*day) for day in _EDGE_DAYS]


_POOLS: dict[str, tuple[Kind, Any]] = {
    **dict.fromkeys(_WIDTHS, ("integer", _integers)),
    **dict.fromkeys(("float32", "float64"), ("float", _floats)),
    "decimal(9,2)": ("decimal", lambda _: [Decimal(text) for text in _CENTS]),
    "bool": ("boolean", lambda _: [True, False]),
    **{
        stored: ("text", lambda _: list(_TEXTS))
        for stored in ("string", "large_string", "string_view")
    },
    "dictionary": ("text", lambda _: list(_WORDS)),
    "enum": ("category", lambda _: list(_WORDS)),
    **dict.fromkeys(("date32", "date64"), ("date", _days)),
    **dict.fromkeys(_STAMPS, ("stamp", _stamps)),
    **{f"time[{unit}]": ("time", _times) for unit in ("s", "ms", "us")},
}
STORED = tuple(_POOLS)
_LABELS = ("string", "int64", "uint64", "bool", "date32", "float64", "decimal(9,2)", "enum", "int8")


def typed_column(rng: random.Random, name: str, stored: str, n_rows: int) -> Column:
    """Draw a column: few distinct cells, so that they repeat, with holes, or nothing but holes."""
    kind, pool = _POOLS[stored]
    cells = pool(stored)
    few = rng.sample(cells, min(len(cells), rng.choice((1, 2, 4, 8))))
    holes = rng.choice((0.0, 0.0, 0.3, 0.3, 1.0))
    drawn = tuple(None if rng.random() < holes else rng.choice(few) for _ in range(n_rows))
    names_rows = kind in ("integer", "float", "decimal") or stored == "string"
    if names_rows and rng.random() < 0.15:
        drawn = _naming(rng, kind, n_rows)
    categories: tuple[str, ...] = ()
    if kind == "category":
        categories = tuple(rng.sample(_WORDS, len(_WORDS)))[: rng.randint(1, len(_WORDS))]
        drawn = tuple(cell if cell in categories else None for cell in drawn)
    return Column(name, kind, drawn, stored, categories)


def _naming(rng: random.Random, kind: Kind, n_rows: int) -> tuple[Any, ...]:
    """Names or numbers of the rows, or nearly so: one cell in the wrong place spoils them."""
    first = rng.choice((0, 1, 5))
    numbers = [first + row for row in range(n_rows)]
    if kind == "text":
        cells: list[Any] = [f"id {number % rng.randint(1, n_rows)}" for number in numbers]
    else:
        make = {"integer": int, "float": float, "decimal": Decimal}[kind]
        cells = [make(number) for number in numbers]
    if rng.random() < 0.4:
        cells[rng.randrange(n_rows)] = rng.choice(
            (None, cells[0], None if kind == "text" else make(0))
        )
    rng.shuffle(cells)
    return tuple(cells)


def whole_table(rng: random.Random, holes: bool) -> Table:
    """A table of all types with all cells of their pools; the wildest are in columns of their own."""
    cells = {}
    for stored, (_, pool) in _POOLS.items():
        wild = [cell for cell in pool(stored) if is_wild(stored, cell)]
        cells[f"c {stored}"] = stored, [c for c in pool(stored) if not is_wild(stored, c)]
        if wild:
            cells[f"wild {stored}"] = stored, [*wild, *pool(stored)[:2]]
    n_rows = max(len(found) for _, found in cells.values()) + 2 * holes
    columns = []
    for name, (stored, found) in cells.items():
        drawn = [None] * (2 * holes) + [found[r % len(found)] for r in range(n_rows - 2 * holes)]
        rng.shuffle(drawn)
        categories = _WORDS if stored == "enum" else ()
        columns.append(Column(name, _POOLS[stored][0], tuple(drawn), stored, categories))
    return Table(tuple(columns), typed_label(rng, n_rows, "string"), _cuts(rng, n_rows))


def is_wild(stored: str, cell: Any) -> bool:
    """Whether a number is so far from all others that one bin would hold these."""
    return isinstance(cell, float) and 10**307 < abs(cell) < _INF


def cut_table(table: Table, first: float) -> Table:
    """The cells of each column in order, and a label that changes after a share of them: all are cut."""
    n_first = round(first * table.n_rows)
    label = tuple("yes" if row < n_first else "no" for row in range(table.n_rows)) * 2
    columns = tuple(replace(c, cells=_in_order(c) * 2) for c in table.columns)
    kind: Kind = "written" if table.label.kind == "written" else "text"
    return Table(columns, Column("label", kind, label, "string"), table.cuts)


def _in_order(column: Column) -> tuple[Any, ...]:
    found = places(column)
    if found is None:
        return column.cells
    rows = sorted((math.inf if x is None else x, row) for row, x in enumerate(found))
    return tuple(column.cells[row] for _, row in rows)


def empty_table(rng: random.Random) -> Table:
    """A table of all types without a known cell."""
    columns = tuple(
        Column(f"c {stored}", kind, (None,) * 3, stored, _WORDS if stored == "enum" else ())
        for stored, (kind, _) in _POOLS.items()
    )
    return Table(columns, typed_label(rng, 3, "string"), (0, 2))


def typed_label(rng: random.Random, n_rows: int, stored: str | None = None) -> Column:
    """Draw labels of any type; they have no holes."""
    stored = stored or rng.choice(_LABELS)
    kind, pool = _POOLS[stored]
    cells = [c for c in pool(stored) if c == c and not (isinstance(c, str) and USUAL.surely(c))]
    few = rng.sample(cells, min(len(cells), rng.randint(1, 3)))
    drawn = tuple(rng.choice(few) for _ in range(n_rows))
    return Column("label", kind, drawn, stored, tuple(few) if kind == "category" else ())


def typed_table(rng: random.Random, stored: Sequence[str] = (), n_rows: int | None = None) -> Table:
    """Draw a table of typed columns: of the given types, or of one to six at random."""
    n_rows = n_rows or rng.choice(_ROWS)
    stored = stored or rng.choices(STORED, k=rng.randint(1, 6))
    columns = tuple(typed_column(rng, f"c{j}", s, n_rows) for j, s in enumerate(stored))
    return Table(columns, typed_label(rng, n_rows), _cuts(rng, n_rows))


def _cuts(rng: random.Random, n_rows: int) -> tuple[int, ...]:
    """Where new parts begin: none to two places, which may leave parts empty."""
    return tuple(sorted(rng.randint(0, n_rows) for _ in range(rng.randint(0, 2))))


# Text files --------------------------------------------------------------------------------------

_NUMBERS = _words(
    "1 2 -9 -9.0 0 -0 -0.0 1.0 01 +5 .5 5. 1e5 1E5 1e-7 1e22 100000 inf -inf 0.1 2.50"
)
_DATES = [
    *_words("2020-01-31 2020-02-29 1970-01-01 0001-01-01 9999-12-31 1677-09-21 2262-04-12"),
    *_words("2020-01-31T10:30 2020-01-31T10:30:00.5+02:00 2020-01-31T08:30:00.500Z"),
    *_words("2020-01-31T23:59:59.999999 2020-01-31T10:30:00.1234"),
    *("2020-01-31 10:30", "2020-01-31 10:30:00", "2020-01-31 00:00:00"),
    "1969-12-31 23:59:59.999999",
]
_TRUTHS = _words("true false True False TRUE FALSE")
# 1,5 and $5 and 5% alone in a column are numbers (docs/files.md); tests/test_files.py has those.
_ALMOST = _words(
    "0x10 1_000 1,,5 ٣ 2020-1-1 2020-02-30 2020-13-01 20200131 1e infinity 1.2.3 + . --5 1d 12:30 $5x "
    "5%% #N/A # #c None ? - t f yes"
)
_SPACED = [" 1", "2 ", " 1.0 ", " NA", "nan ", " ", "  "]
_SPELLED = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", "n/a", "nA", "#N/A", "<NA>")
_DOUBTFUL = ("none", "None", "-", ".", " - ")
_WRITTEN: dict[str, list[str]] = {
    "numbers": _NUMBERS,
    "spaced": [*_NUMBERS, *_SPACED],
    "integers": [str(number) for number in _WHOLE],
    "dates": _DATES,
    "days": [t for t in _DATES if len(t) == 10],
    "truths": _TRUTHS,
    "almost numbers": [*_NUMBERS[:6], *_ALMOST],
    "almost dates": [*_DATES[:6], "2020-1-1", "2020-02-30", "2021-02-29 10:00"],
    "almost truths": [*_TRUTHS, "yes", "1", "t"],
    "texts": _TEXTS,
    "words": list(_WORDS),
    "nothing": [""],
    "numbers or nothing": [*_NUMBERS[:4], *_DOUBTFUL],
    "words or nothing": [*_WORDS[:4], *_DOUBTFUL],
}


def written_table(rng: random.Random) -> Table:
    """Draw the raw texts of a text file; names may have spaces around them."""
    n_rows = rng.choice(_ROWS)
    sorts = rng.choices(list(_WRITTEN), k=rng.randint(1, 5))
    columns = tuple(_written_column(rng, j, sort, n_rows) for j, sort in enumerate(sorts))
    few = rng.choice((("yes", "no"), ("1", "2"), ("é", "a b", "no"), ("9007199254740993", "1")))
    label = Column("label", "written", tuple(rng.choice(few) for _ in range(n_rows)))
    return Table(columns, label, _cuts(rng, n_rows))


def whole_written_table(rng: random.Random) -> Table:
    """A text file with a column of each sort, with all texts of that sort."""
    n_rows = max(map(len, _WRITTEN.values())) + len(_SPELLED)
    columns = []
    for sort, pool in _WRITTEN.items():
        cells = [*_SPELLED, *(pool[row % len(pool)] for row in range(n_rows - len(_SPELLED)))]
        rng.shuffle(cells)
        columns.append(Column(f"#{sort}", "written", tuple(cells)))
    label = Column("label", "written", tuple(rng.choice(("yes", "no")) for _ in range(n_rows)))
    return Table(tuple(columns), label, _cuts(rng, n_rows))


def _written_column(rng: random.Random, j: int, sort: str, n_rows: int) -> Column:
    pool = _WRITTEN[sort]
    few = rng.sample(pool, min(len(pool), rng.choice((1, 2, 3, 6))))
    holes = rng.choice((0.0, 0.3, 0.3, 0.9))
    cells = [rng.choice(_SPELLED if rng.random() < holes else few) for _ in range(n_rows)]
    if rng.random() < 0.15:
        made = _naming(rng, rng.choice(("text", "integer")), n_rows)
        cells = ["" if cell is None else str(cell) for cell in made]
    name = rng.choice((f"c{j}", f"c{j}", f" c{j}", f"c{j} ", f"é {j}", f"#c{j}"))
    return Column(name, "written", tuple(cells))
