"""Results into files, which are written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nullproof.errors import NullproofError

FORMATS = (".csv", ".parquet", ".json")


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the target, then rename: a reader never sees half a file."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise NullproofError(f"cannot write {path}: {problem.strerror}") from problem
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(path)
    except OSError as problem:
        raise NullproofError(f"cannot write {path}: {problem.strerror}") from problem
    finally:
        part.unlink(missing_ok=True)


def write_result(path: Path, columns: dict[str, list[Any]], document: dict[str, Any]) -> None:
    """Write a result as CSV or Parquet (``columns``) or as JSON (``document``), by the file's name."""
    if path.suffix not in FORMATS:
        raise NullproofError(
            f"cannot write {path.name}: its ending names no format; end it in {', '.join(FORMATS)}"
        )
    if path.suffix == ".json":
        write_whole(path, lambda part: part.write_text(to_json(document) + "\n", "utf-8"))
        return
    frame = _frame(columns)
    if path.suffix == ".csv":
        write_whole(path, frame.write_csv)
    else:
        write_whole(path, frame.write_parquet)


def to_json(document: dict[str, Any]) -> str:
    """Strict JSON; NaN and infinite numbers are an error."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def to_csv(columns: dict[str, list[Any]]) -> str:
    """Columns as the text of a CSV file."""
    written: str = _frame(columns).write_csv()
    return written


def _frame(columns: dict[str, list[Any]]) -> Any:
    import polars as pl

    # A column that is null throughout has no type, which few readers of Parquet know.
    return pl.DataFrame(columns, strict=False).with_columns(pl.col(pl.Null).cast(pl.String))
