"""What a text file wrote where its reader made nulls: the first rows again, as they are written.

A reader that knows the spellings of missing is fast, but their texts are gone. A notice is to name
them, so the columns with nulls are read once more, as text and no further than some megabytes.
"""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nullproof.tables.spellings import Spellings
from nullproof.tables.text_files import separator_of

if TYPE_CHECKING:
    import polars as pl

_ROWS = 100_000
_BYTES = 1 << 23
_GZIP = b"\x1f\x8b"


def nulled_texts(
    path: str | Path, frame: pl.DataFrame, spellings: Spellings
) -> dict[str, list[str]]:
    """The spellings, by column, that a reader turned into nulls; nothing of what cannot be read again."""
    import polars as pl

    empty = [series.name for series in frame if series.null_count()]
    nulls = [spelling for spelling in spellings.nulls if spelling]
    if not empty or not nulls or not Path(path).is_file():
        return {}
    try:
        first = _first_rows(Path(path), empty)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error):
        return {}
    wanted = [pl.col(name).filter(pl.col(name).is_in(nulls)).unique().implode() for name in empty]
    found: dict[str, Any] = first.select(wanted).row(0, named=True)
    return {name: sorted(texts) for name, texts in found.items() if len(texts)}


def _first_rows(path: Path, names: list[str]) -> pl.DataFrame:
    """Some columns of the first rows, as text."""
    import polars as pl

    with path.open("rb") as stream:
        packed = stream.read(2) == _GZIP
    with gzip.open(path) if packed else path.open("rb") as stream:
        block = stream.read(_BYTES)
    # The last row may be cut off.
    whole = block if len(block) < _BYTES else block[: block.rfind(b"\n") + 1]
    header = whole[: whole.find(b"\n")].decode("utf-8", errors="replace")
    tabs = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    return pl.read_csv(
        BytesIO(whole),
        separator="\t" if tabs else separator_of(header),
        columns=names,
        n_rows=_ROWS,
        infer_schema=False,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
    )
