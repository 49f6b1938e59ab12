"""Write results to files, atomically."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from nullproof.errors import NullproofError
from nullproof.scratch import own_part

FORMATS = (".csv", ".parquet", ".json")
# Beginnings of texts that a spreadsheet program would run as formulas, except plain numbers.
_RUNS = r"^'*[=+\-@\t\r]"
_NUMBER = r"^'*[+-]([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# Characters that JSON does not escape anyway: terminal controls, and bidirectional marks.
_CONTROL = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_OF_SYSTEM = re.compile(r"([^:]+) \(os error \d+\)")


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the target, then rename, so that a reader never sees half a file."""
    write_together({path: write})


def write_together(writes: Mapping[Path, Callable[[Path], Any]]) -> None:
    """Write several files beside their targets, then rename them one after another, in this order.

    Symbolic links are followed, so that their targets are written. Targets that are not files (a named
    pipe, ``/dev/stdout``) get the bytes as a stream.
    """
    with ExitStack() as parts:
        written = []
        for path, write in writes.items():
            with _told(path):
                is_stream = path.exists() and not (path.is_file() or path.is_dir())
                # In a pipe, the target of /dev/stdout has no path.
                target = path if is_stream else path.resolve()
                beside = Path(tempfile.gettempdir()) / path.name if is_stream else target
                part = parts.enter_context(own_part(beside))
                write(part)
                if not is_stream:
                    mask = os.umask(0)
                    os.umask(mask)
                    part.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
            written.append((part, path, target, is_stream))
        for part, path, target, is_stream in written:
            with _told(path):
                if is_stream:
                    with part.open("rb") as source, target.open("wb") as stream:
                        shutil.copyfileobj(source, stream)
                else:
                    part.replace(target)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn writing errors into one sentence."""
    try:
        yield
    except Exception as problem:
        # When polars writes, a full disk raises a polars error.
        told = _OF_SYSTEM.search(str(problem))
        why = getattr(problem, "strerror", None) or (told and told[1].strip())
        if not why and not isinstance(problem, OSError):
            raise
        raise NullproofError(f"cannot write {path}: {why or problem}") from problem


def write_result(path: Path, columns: dict[str, Any], document: dict[str, Any]) -> None:
    """Write a result as CSV or Parquet (``columns``) or as JSON (``document``), by the file's name."""
    if path.suffix not in FORMATS:
        raise NullproofError(
            f"cannot write {path.name}: its ending is not a known format; end it in {', '.join(FORMATS)}"
        )
    if path.suffix == ".json":
        write_whole(path, lambda part: part.write_text(to_json(document) + "\n", "utf-8"))
        return
    frame = frame_of(columns)
    if path.suffix == ".csv":
        write_whole(path, for_spreadsheets(frame).write_csv)
    else:
        write_whole(path, frame.write_parquet)


def to_json(document: dict[str, Any]) -> str:
    """Return strict JSON; NaN and infinite numbers are an error.

    Characters that control a terminal are escaped: they occur only inside texts.
    """
    written = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def to_csv(columns: dict[str, Any]) -> str:
    """Return columns as the text of a CSV file."""
    written: str = for_spreadsheets(frame_of(columns)).write_csv()
    return written


def frame_of(columns: dict[str, Any]) -> Any:
    """Return columns, lists or series of polars, as one data frame of polars."""
    import polars as pl

    # An all-null column has no type, which few Parquet readers support.
    return pl.DataFrame(columns, strict=False).with_columns(pl.col(pl.Null).cast(pl.String))


def for_spreadsheets(frame: Any) -> Any:
    """Return a data frame of polars whose texts no spreadsheet program runs as formulas."""
    import polars as pl

    texts = pl.col(pl.String)
    runs = texts.str.contains(_RUNS) & ~texts.str.contains(_NUMBER)
    shown = pl.when(runs).then(pl.lit("'") + texts).otherwise(texts)
    safe = frame.with_columns(shown.name.keep())
    return safe.rename({name: shown_in_spreadsheets(name) for name in safe.columns})


def shown_in_spreadsheets(text: str) -> str:
    """Return a text that a spreadsheet program shows: put an apostrophe before one that it would run."""
    return f"'{text}" if _would_run(text) else text


def taken_from_spreadsheets(text: str) -> str:
    """Return a text as it was before `shown_in_spreadsheets`."""
    return text[1:] if text.startswith("'") and _would_run(text) else text


def _would_run(text: str) -> bool:
    # Apostrophes before such a text are counted, so that it reads back as it was.
    return re.search(_RUNS, text) is not None and re.search(_NUMBER, text) is None
