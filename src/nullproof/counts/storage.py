"""An index on disk: a line with format and digest, then the schema as JSON and the counts, compressed.

The digest is checked before any part of a file is decompressed or parsed.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shlex
import zlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from nullproof.counts.fields import IndexFields
from nullproof.data.missing import Missing
from nullproof.data.schema import ColumnRecord, Feature, Schema
from nullproof.errors import NullproofError, notice
from nullproof.results.files import write_together, write_whole

VERSION = 8
# Most counts that an index may hold take less than half of this.
_LARGEST = 1 << 30
_START = b"nullproof index "
_FIRST_LINE = re.compile(_START + rb"(\d+) ([0-9a-f]{64})\n")


def is_saved(path: str | Path) -> bool:
    """Return whether a file is a saved index, even a damaged one; reads only the start of the file."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(_START)) == _START
    except (OSError, ValueError):
        return False


def save(index: IndexFields, path: str | Path) -> None:
    """Write the counts of an index to a file, atomically."""
    whole = _packed(index)
    write_whole(Path(path), lambda part: part.write_bytes(whole))


def _packed(index: IndexFields) -> bytes:
    schema = index.schema
    header = {
        **_fields(schema),
        "missing": _fields(schema.missing),
        "columns": [_fields(record) for record in schema.columns],
        "features": [_fields(feature) for feature in schema.features],
        "sets": [
            [[codes, counts.tolist()] for codes, counts in sets.items()] for sets in index.sets
        ],
    }
    counts = np.concatenate([index.label_counts[None], index.n_null, *index.known])
    body = json.dumps(header).encode() + b"\n" + counts.astype("<i8").tobytes()
    if len(body) > _LARGEST:
        raise NullproofError(
            f"the index takes {len(body) >> 20:,} MB and at most {_LARGEST >> 20:,} MB can be saved; leave "
            "out columns of very many values"
        )
    packed = zlib.compress(body, level=1)
    first_line = f"{VERSION} {hashlib.sha256(packed).hexdigest()}\n"
    return _START + first_line.encode() + packed


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def load(path: str | Path) -> IndexFields:
    """Read an index back; reject a file that is damaged, altered or of another format."""
    try:
        if not Path(path).is_file():
            raise NullproofError(f"no such index file: {path}; check the path")
        raw = Path(path).read_bytes()
        if not raw.startswith(_START):
            raise NullproofError(f"{path} is not an index; give a file that CountIndex.save wrote")
        first_line = _FIRST_LINE.match(raw)
        if first_line is None:
            raise ValueError("the first line is damaged")
        version, packed = int(first_line[1]), raw[first_line.end() :]
        if version != VERSION:
            advice = "install a newer nullproof" if version > VERSION else "count the table again"
            raise NullproofError(
                f"{path} has format {version} but this nullproof reads format {VERSION}; {advice}"
            )
        if hashlib.sha256(packed).hexdigest() != first_line[2].decode():
            raise ValueError("the digest differs")
        return _unpacked(packed)
    except NullproofError:
        raise
    except OSError as problem:
        raise NullproofError(f"cannot read {path}: {problem.strerror or problem}") from problem
    except MemoryError as problem:
        raise NullproofError(
            f"{path} is too large for the free memory; use a machine with more"
        ) from problem
    except Exception as problem:
        raise NullproofError(
            f"{path} is damaged or was altered; count the table again"
        ) from problem


def _unpacked(packed: bytes) -> IndexFields:
    unpacker = zlib.decompressobj()
    text, _, raw = unpacker.decompress(packed, _LARGEST).partition(b"\n")
    if not unpacker.eof:
        raise ValueError("it unpacks to more than any index holds, or is cut short")
    header = {key: _tuples(value) for key, value in json.loads(text).items()}
    all_sets, missing = header.pop("sets"), Missing(**header.pop("missing"))
    features = tuple(Feature(**own) for own in header.pop("features"))
    columns = tuple(ColumnRecord(**own) for own in header.pop("columns"))
    schema = Schema(features=features, missing=missing, columns=columns, **header)
    counts = np.frombuffer(raw, "<i8").astype(np.int64).reshape(-1, len(schema.labels))
    ends = np.cumsum([1, len(features), *(feature.n_values for feature in features)])
    label_counts, n_null, *known, _ = np.split(counts, ends)
    sets = tuple({codes: np.array(cells, np.int64) for codes, cells in sets} for sets in all_sets)
    return IndexFields(schema, label_counts[0], tuple(known), n_null, sets)


def _tuples(value: Any) -> Any:
    """Return what JSON has in lists as the tuples that were written."""
    if isinstance(value, dict):
        return {key: _tuples(own) for key, own in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# The counts of a table before some cells of it were changed, kept beside the changed table: its
# companion. Cells that are blanked or filled move bins, so a changed table must be counted like the table
# before. The name of the companion only adds an ending.

_ENDING = ".before.index"


def companion_of(table: Path) -> Path:
    """Return the name of the index beside a changed table."""
    return table.with_name(table.name + _ENDING)


def refuse_companion(table: Path) -> None:
    """Reject a table whose companion would overwrite a file that is not an index."""
    companion = companion_of(table)
    if companion.exists() and not is_saved(companion):
        raise NullproofError(
            f"{companion}, the file for the original counts, exists and is not an index; move it "
            f"away, or give {table.name} another name"
        )


def write_with_companion(index: IndexFields, table: Path, write: Callable[[Path], Any]) -> Path:
    """Write the index beside a changed table that ``write`` writes, both whole or neither."""
    companion, whole = companion_of(table), _packed(index)
    # The companion first: a table without one would silently be counted wrongly.
    write_together({companion: lambda part: part.write_bytes(whole), table: write})
    return companion


def warn_of_companion(source: Any) -> None:
    """Warn if a file changed by nullproof is counted with new bins."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return
    # Of a path that is too long, these say no instead of an error; a pattern is none.
    where = glob.escape(str(source)) if os.path.exists(source) else str(source)  # noqa: PTH110
    if os.path.isdir(source):  # noqa: PTH112
        where += "/*"
    for companion in sorted(glob.glob(where + _ENDING)):  # noqa: PTH207 (may be absolute)
        table = companion.removesuffix(_ENDING)
        if Path(table).is_file() and is_saved(companion):
            notice(
                f"nullproof changed cells of {table}, and {companion} holds the original bins; with new "
                "bins, other points may seem certain, so count it with "
                f"like=CountIndex.load({companion!r}) or --like {shlex.quote(companion)}"
            )
            return
