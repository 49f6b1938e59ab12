"""An index on disk: a Parquet file that any tool can read, with its schema as JSON beside the counts.

One row per feature and value, and one with a null value for the missing cells of each feature; ``counts``
has a number for each label. The file's metadata hold the rest of the index under ``nullproof``, and a
digest of the whole file under ``nullproof-seal``. No part of a file is parsed before its seal is checked.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
_SEAL_KEY, _SEAL, _OPEN = "nullproof-seal", "nullproof-sha256:", "0" * 64
# The entry as a Parquet footer writes it: each text after a 0x18 and its length. Neither JSON nor any later
# part of a footer can hold that, so the last one in a file is its seal.
_SEAL_MARK = f"\x18\x0e{_SEAL_KEY}\x18{chr(len(_SEAL + _OPEN))}{_SEAL}".encode()


def is_saved(path: str | Path) -> bool:
    """Return whether a file is a saved index, even a damaged one; reads only the end of the file."""
    try:
        with Path(path).open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(size - 8, 0))
            end = stream.read(8)
            length = int.from_bytes(end[:4], "little")
            if end[4:] != b"PAR1" or length > size - 12:
                return False
            stream.seek(size - 8 - length)
            return _SEAL_MARK in stream.read(length)
    except (OSError, ValueError, MemoryError):
        return False


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
        part.write_bytes(_sealed(part.read_bytes()))

    return write


def _sealed(raw: bytes) -> bytes:
    """Return a file with the digest of its bytes in its place, taken with zeros there."""
    start = raw.rindex(_SEAL_MARK) + len(_SEAL_MARK)
    before, after = raw[:start], raw[start + len(_OPEN) :]
    digest = hashlib.sha256(before + _OPEN.encode() + after).hexdigest()
    return before + digest.encode() + after


def load(path: str | Path) -> IndexFields:
    """Read an index back; reject a file that is damaged, altered or of another format."""
    import polars as pl

    try:
        if not Path(path).is_file():
            raise NullproofError(f"no such index file: {path}; check the path")
        raw = Path(path).read_bytes()
        if not is_saved(path):
            raise NullproofError(f"{path} is not an index; give a file that CountIndex.save wrote")
        if raw != _sealed(raw):
            raise ValueError("the seal is broken")
        header = json.loads(pl.read_parquet_metadata(BytesIO(raw))[_KEY])
        version = header["version"]
        if version != VERSION:
            advice = "install a newer nullproof" if version > VERSION else "count the table again"
            raise NullproofError(
                f"{path} has format {version} and this nullproof reads format {VERSION}; {advice}"
            )
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
        raise NullproofError(
            f"{path} is damaged or was altered; count the table again"
        ) from problem


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
    if not isinstance(source, str | Path) or str(source) == "-":
        return
    path = Path(source)
    # Of a path that is too long, these say no instead of an error; a pipe can be read only once.
    if os.path.isdir(source):  # noqa: PTH112
        tables = [*path.iterdir()]
    elif os.path.isfile(source):  # noqa: PTH113
        tables = [path]
    else:
        there = os.path.exists(source)  # noqa: PTH110
        tables = [] if there else [*map(Path, glob.glob(str(source)))]  # noqa: PTH207 (may be absolute)
    for table in tables:
        companion = companion_of(table)
        if not is_saved(companion):
            named = attacked_says(table)
            if named is None:
                continue
            companion = table.with_name(named)
        how = "count it with" if companion.is_file() else "find that file and count the table with"
        notice(
            f"{table} is a table with cells that nullproof changed, and {companion} holds the bins from "
            f"before; without these other points may seem certain, so {how} "
            f"like=CountIndex.load({str(companion)!r}) or --like {shlex.quote(str(companion))}"
        )
        return


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
