"""An index on disk: a Parquet file that any tool can read, with its schema as JSON beside the counts.

One row per feature and value, and one with a null value for the missing cells of each feature;
``counts`` has a number for each label. The file's metadata hold, under ``nullproof``, the labels, the
features' kinds and bins, the counts of candidate sets and the version of the format, and under
``nullproof-seal`` a digest of all bytes of the file, taken with zeros in the place of the digest itself.
No part of a file is parsed before its seal is checked.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from nullproof.counts.count import DenseCounts, IndexFields
from nullproof.data.missing import Missing
from nullproof.data.schema import ColumnRecord, Feature, Schema
from nullproof.errors import NullproofError, notice
from nullproof.files import write_together, write_whole

if TYPE_CHECKING:
    import polars as pl

VERSION = 5
_KEY = "nullproof"
_MAGIC = b"PAR1"
_SEAL_KEY, _SEAL, _OPEN = "nullproof-seal", "nullproof-sha256:", "0" * 64
# The entry as a Parquet footer writes it: each text after a 0x18 and its length.
_SEAL_MARK = f"\x18\x0e{_SEAL_KEY}\x18{chr(len(_SEAL + _OPEN))}{_SEAL}".encode()


def is_saved(path: str | Path) -> bool:
    """Return whether a file is a saved index, even a damaged one; reads only the end of the file."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            footer = _footer(stream)
    except (OSError, ValueError, MemoryError):
        return False
    return _SEAL_MARK in footer


def save(index: IndexFields, path: str | Path) -> None:
    """Write the counts of an index to a file, whole or not at all."""
    write_whole(Path(path), writer(index))


def writer(index: IndexFields) -> Callable[[Path], None]:
    """Return a function that writes the counts of an index to a file."""
    try:
        frame = _frame(index)
        text = json.dumps(_header(index), ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError as problem:
        raise NullproofError(
            f"a text of the index holds {problem.object[problem.start]!r}, half of a letter, which no file "
            "can hold; mend that text in the table"
        ) from problem

    def write(part: Path) -> None:
        metadata = {_KEY: text, _SEAL_KEY: _SEAL + _OPEN}
        frame.write_parquet(part, metadata=metadata, compression_level=1)
        _seal(part)

    return write


def load(path: str | Path) -> IndexFields:
    """Read an index back, and refuse a file that is damaged, altered or of another format."""
    import polars as pl

    try:
        raw = _sealed(path)
        header = json.loads(pl.read_parquet_metadata(BytesIO(raw))[_KEY])
        _refuse_other_versions(path, header["version"])
        return _index(header, pl.read_parquet(BytesIO(raw)))
    except NullproofError:
        raise
    except OSError as problem:
        raise NullproofError(f"cannot read {path}: {problem.strerror or problem}") from problem
    except MemoryError as problem:
        raise NullproofError(
            f"{path} is too large for the memory that is left; use a machine with more"
        ) from problem
    except (Exception, pl.exceptions.PanicException) as problem:
        raise _damaged(path) from problem


def _sealed(path: str | Path) -> bytes:
    """Read an index file, and refuse it if its seal is broken."""
    if not Path(path).is_file():
        raise NullproofError(f"no such index file: {path}; check the path")
    raw = Path(path).read_bytes()
    start = _digest_start(raw)
    if start is None:
        raise NullproofError(f"{path} is not an index; give a file that CountIndex.save wrote")
    if raw[start : start + len(_OPEN)] != _digest(raw, start):
        raise _damaged(path)
    return raw


def _damaged(path: str | Path) -> NullproofError:
    return NullproofError(f"{path} is damaged or was altered; count the table again")


def _refuse_other_versions(path: str | Path, version: int) -> None:
    if version != VERSION:
        advice = "install a newer nullproof" if version > VERSION else "count the table again"
        raise NullproofError(
            f"{path} has format {version} and this nullproof reads format {VERSION}; {advice}"
        )


def _footer(stream: BinaryIO) -> bytes:
    """Return the footer of a Parquet file, where its metadata are; nothing of any other file."""
    size = stream.seek(0, 2)
    stream.seek(0)
    if size < 12 or stream.read(4) != _MAGIC:
        return b""
    stream.seek(size - 8)
    end = stream.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > size - 12:
        return b""
    stream.seek(size - 8 - length)
    return stream.read(length)


def _digest_start(raw: bytes) -> int | None:
    """Return where the digest begins: after the last mark, since values may hold a mark too."""
    footer = _footer(BytesIO(raw))
    place = footer.rfind(_SEAL_MARK)
    return None if place < 0 else len(raw) - 8 - len(footer) + place + len(_SEAL_MARK)


def _digest(raw: bytes, start: int) -> bytes:
    view = memoryview(raw)
    digest = hashlib.sha256(view[:start])
    digest.update(_OPEN.encode())
    digest.update(view[start + len(_OPEN) :])
    return digest.hexdigest().encode()


def _seal(part: Path) -> None:
    """Put the digest of a written file in its place."""
    raw = part.read_bytes()
    start = _digest_start(raw)
    if start is None or raw[start : start + len(_OPEN)] != _OPEN.encode():
        raise AssertionError("the Parquet writer has not written the place of the digest as asked")
    with part.open("r+b") as stream:
        stream.seek(start)
        stream.write(_digest(raw, start))


def _header(index: IndexFields) -> dict[str, Any]:
    schema = index.schema
    features = [asdict(replace(feature, values=())) for feature in schema.features]
    return {
        "version": VERSION,
        "labels": list(schema.labels),
        "label_name": schema.label_name,
        "label_counts": index.label_counts.tolist(),
        "missing": schema.missing.document(),
        "columns": [asdict(record) for record in schema.columns],
        "formats": dict(schema.formats),
        # Edges as texts: JSON has no infinite numbers.
        "features": [{**own, "edges": [*map(repr, own["edges"])]} for own in features],
        "sets": [
            [[list(codes), counts.tolist()] for codes, counts in sets.items()]
            for sets in index.sets
        ],
    }


def _frame(index: IndexFields) -> pl.DataFrame:
    import polars as pl

    features, values, counts = [], [], []
    for j, (feature, known) in enumerate(zip(index.schema.features, index.known, strict=True)):
        features.append(np.full(feature.n_values + 1, j, dtype=np.int32))
        values += [*feature.values, None]
        counts += [known.dense, index.n_null[j : j + 1]]
    return pl.DataFrame(
        {
            "feature": np.concatenate(features),
            "value": pl.Series(values, dtype=pl.String),
            "counts": pl.Series(np.concatenate(counts)).arr.to_list(),
        }
    )


def _index(header: dict[str, Any], frame: pl.DataFrame) -> IndexFields:
    n_labels = len(header["labels"])
    counts = frame["counts"].explode().to_numpy().reshape(frame.height, n_labels)
    values = frame["value"].to_list()
    features, known, n_null = [], [], []
    ends = np.flatnonzero(frame["value"].is_null().to_numpy()).tolist()
    for written, before, end in zip(header["features"], [-1, *ends], ends, strict=False):
        written["values"] = tuple(values[before + 1 : end])
        written["edges"] = tuple(map(float, written["edges"]))
        features.append(Feature(**{**written, "bins": tuple(written["bins"])}))
        known.append(DenseCounts(counts[before + 1 : end]))
        n_null.append(counts[end])
    schema = Schema(
        tuple(features),
        tuple(header["labels"]),
        header["label_name"],
        Missing.from_document(header["missing"]),
        tuple(ColumnRecord(**record) for record in header["columns"]),
        tuple(header["formats"].items()),
    )
    sets = tuple(
        {tuple(codes): np.array(cells, dtype=np.int64) for codes, cells in sets}
        for sets in header["sets"]
    )
    label_counts = np.array(header["label_counts"], dtype=np.int64)
    return IndexFields(schema, label_counts, tuple(known), np.array(n_null), sets)


# The counts of a table before some cells of it were changed, kept beside the changed table: its
# companion. Cells that are blanked or filled move bins, so a changed table must be counted like the table
# before. The name of the companion only adds an ending; a Parquet file also names it in its metadata,
# since files get other names.

KEY = "nullproof-before"
_ENDING = ".before.index"


def companion_of(table: Path) -> Path:
    """Return the name of the index beside a changed table."""
    return table.with_name(table.name + _ENDING)


def refuse_companion(table: Path) -> None:
    """Reject a table whose companion would be written over a file that is no index."""
    companion = companion_of(table)
    if companion.exists() and not is_saved(companion):
        raise NullproofError(
            f"{companion}, where the counts of the table before go, is a file of another kind; move it "
            f"away, or give {table.name} another name"
        )


def write_with_companion(index: IndexFields, table: Path, write: Callable[[Path], Any]) -> Path:
    """Write the index beside a changed table that ``write`` writes, both whole or neither."""
    companion = companion_of(table)
    # The companion first: a table without one would be counted wrongly, and nobody would know.
    write_together({companion: writer(index), table: write})
    return companion


def warn_of_companion(source: Any) -> None:
    """Give a notice if a file that is counted by bins of its own is one that was changed here."""
    for table in _files(source):
        companion = _found(table)
        if companion is None:
            continue
        how = "count it with" if companion.is_file() else "find that file and count the table with"
        notice(
            f"{table} is a table with cells that nullproof changed, and {companion} holds the bins from "
            f"before; without these other points may seem certain, so {how} "
            f"like=CountIndex.load({str(companion)!r}) or --like {shlex.quote(str(companion))}"
        )
        return


def _files(source: Any) -> Iterator[Path]:
    """Return the files behind a path, a folder or a pattern."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return
    # Of a path that is too long, these say no instead of an error; a pipe can be read only once.
    if os.path.isdir(source):  # noqa: PTH112
        yield from Path(source).iterdir()
    elif os.path.isfile(source):  # noqa: PTH113
        yield Path(source)
    elif not os.path.exists(source):  # noqa: PTH110
        yield from map(Path, glob.glob(str(source)))  # noqa: PTH207 (may be absolute)


def _found(table: Path) -> Path | None:
    """Return the companion of a table, by the table's name or by what its file says."""
    if is_saved(companion_of(table)):
        return companion_of(table)
    named = attacked_says(table)
    return None if named is None else table.with_name(named)


def attacked_says(table: Path) -> str | None:
    """Return the name of the companion that an attacked Parquet file itself names, or None."""
    try:
        with table.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                return None
        import polars as pl

        named = pl.read_parquet_metadata(table).get(KEY)
    except Exception:
        # Reading the file will say what is wrong.
        return None
    return None if named is None else Path(named).name
