"""Small valid files of every kind that is read, to be broken."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from nullproof import CountIndex
from nullproof.cleaning import Cleaner
from support.command_line import ran
from support.workbooks import workbook

LABEL = "churn"
FRAME = pl.DataFrame(
    {
        "age": [31.5, None, 50, 64, 33, 61, 47, None],
        "visits": [1, 2, None, 4, 5, 6, 7, 8],
        "town": ["Ulm", "Bonn", None, "Bonn", "Halle, Saale", "Köln", "", "Ulm"],
        "since": [dt.date(2024, 1, 1 + k) if k != 3 else None for k in range(8)],
        "member": [True, False, None, True, True, False, False, True],
        LABEL: ["no", "no", "yes", "yes", "no", "yes", "no", "yes"],
    }
)
NESTED = FRAME.with_columns(
    tags=pl.Series([["a"], [], None, ["b", "c"], ["a"], ["a"], [None], ["b"]]),
    kind=pl.Series(["x", "y", "x", None, "y", "x", "y", "x"], dtype=pl.Categorical),
    moment=pl.Series([dt.datetime(2024, 1, 1, k) for k in range(8)]),
    price=pl.Series([1, 2, 3, None, 5, 6, 7, 8]).cast(pl.Decimal(10, 2)),
)
ARFF = (
    "% customers\n@relation 'a b'\n@attribute age numeric\n@attribute town {Ulm,'Bad Ems',\"K\\\"\"}\n"
    "@attribute since date 'yyyy-MM-dd'\n@attribute note string\n@attribute churn {no,yes}\n@data\n"
    "31,Ulm,2024-01-01,'it\\'s',no\n?,'Bad Ems',?,x,yes\n"
    "64,Ulm,2024-02-01,?,yes\n"
)
ODD_TEXTS = (
    "a;b;y\n1,5;31.12.1999;p\n2,25;01.02.2003;q\n1.234,5;;p\n",
    'a|"b c"|y\n"x ""y"""|1|p\n"two\nlines"|2|q\n',
    "\ufeffid,a,y\r\n001,1e5,p\r\n002,-inf,q\r\n003,NA,p\r\n",
    "a,b,y\n12 %,$ 1.30,p\n5 %,$ 2,q\n",
)


def texts() -> list[bytes]:
    """CSV and its like, in several encodings."""
    plain = FRAME.write_csv().encode()
    return [
        plain,
        plain,
        *(text.encode() for text in ODD_TEXTS),
        FRAME.write_csv().encode("utf-16"),
        FRAME.write_csv().encode("cp1252"),
    ]


def tabbed() -> list[bytes]:
    return [FRAME.write_csv(separator="\t").encode()]


def parquets() -> list[bytes]:
    """Parquet files with and without packing and statistics, in one piece and in several."""
    found = []
    for frame, options in (
        (FRAME, {"compression": "uncompressed"}),
        (NESTED, {"compression": "uncompressed", "statistics": False}),
        (FRAME, {"compression": "snappy", "row_group_size": 3}),
        (NESTED, {"compression": "zstd"}),
        (FRAME, {"compression": "gzip"}),
    ):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, **options)
        found.append(buffer.getvalue())
    return found


def arrows() -> list[bytes]:
    found = []
    for frame, packing in ((FRAME, "uncompressed"), (NESTED, "lz4"), (NESTED, "uncompressed")):
        buffer = io.BytesIO()
        frame.write_ipc(buffer, compression=packing)  # type: ignore[call-overload]
        found.append(buffer.getvalue())
    return found


def arrow_streams() -> list[bytes]:
    found = []
    for frame in (FRAME, NESTED):
        buffer = io.BytesIO()
        frame.write_ipc_stream(buffer)
        found.append(buffer.getvalue())
    return found


@cache
def workbooks() -> tuple[bytes, ...]:
    rows = [FRAME.columns, *(list(row) for row in FRAME.rows())]
    return workbook(rows), workbook({"empty": [], "here": rows, "more": rows[:3]})


def packed(raw: bytes, packing: str) -> bytes:
    """The same bytes in gzip or zstd."""
    if packing == "gzip":
        return gzip.compress(raw, 1, mtime=0)
    home = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    found: bytes = import_module(home).compress(raw)
    return found


@cache
def index() -> CountIndex:
    return CountIndex.from_table(FRAME, LABEL, binning="uniform")


def saved_indexes(folder: Path) -> list[bytes]:
    """Indexes of bins, categories and candidate sets, as they are saved."""
    rows: list[tuple[Any, ...]] = [("a", None), ({"a", "b"}, "x"), ("b", "y"), (None, "x")]
    found = []
    for one in (index(), CountIndex.from_rows(rows, ["p", "q", "p", "q"])):
        one.save(folder / "seed.index")
        found.append((folder / "seed.index").read_bytes())
    return found


def cleaner() -> Cleaner:
    return Cleaner(index(), FRAME.drop(LABEL), FRAME)


# The command that makes a worksheet of the table in train.csv, and takes it back.
CLEAN = ("-q", "clean", "train.csv", "--label", LABEL, "--bias", "1")


def worksheets(folder: Path, ending: str) -> list[bytes]:
    """A worksheet, and where it is text one with some of its answers filled in."""
    FRAME.write_csv(folder / "train.csv")
    path = folder / f"seed{ending}"
    done = ran(folder, *CLEAN, "-o", path.name)
    assert done.code == 0, done
    raw = path.read_bytes()
    if ending != ".csv":
        return [raw]
    answers = {"age": "50", "visits": "2", "town": "Ulm", "since": "2024-01-04", "member": "true"}
    filled = pl.read_csv(raw, infer_schema=False)
    filled = filled.with_columns(value=pl.col("column").replace_strict(answers))
    return [filled.write_csv(line_terminator="\r\n").encode(), raw]


def cleaner_state(folder: Path) -> Any:
    """What a cleaner saves, as JSON."""
    own = cleaner()
    own.fill({(1, "age"): 50, (2, "town"): "Ulm", (2, "visits"): 2})
    own.save(folder / "seed.json")
    return json.loads((folder / "seed.json").read_text("utf-8"))
