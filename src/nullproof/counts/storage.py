"""An index on disk: a Parquet file that any tool can read, with its schema as JSON beside the counts.

One row per feature and value, and one with a null value for the missing cells of each feature;
``labels`` and ``counts`` list the labels (by position) that have any. The file's metadata hold, under
``nullproof``, the labels, the features' kinds and bins, the counts of candidate sets and the version
of the format, and under ``nullproof-seal`` a digest of all bytes of the file, taken with zeros in the
place of the digest itself. No part of a file is parsed before its seal is checked.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from nullproof.counts.count import Counts, DenseCounts, IndexFields, from_cells
from nullproof.data.missing import Missing
from nullproof.data.schema import ColumnRecord, Feature, Schema
from nullproof.errors import NullproofError, notice
from nullproof.files import write_together, write_whole

if TYPE_CHECKING:
    import polars as pl

VERSION = 4
_KEY = "nullproof"
_PADDED = 8
_MAGIC = b"PAR1"
_SEAL_KEY, _SEAL, _OPEN = "nullproof-seal", "nullproof-sha256:", "0" * 64
# The two entries as a Parquet footer writes them: each text after a 0x18 and its length.
_SEAL_MARK = f"\x18\x0e{_SEAL_KEY}\x18{chr(len(_SEAL + _OPEN))}{_SEAL}".encode()
_HEADER_MARK = re.compile(rb'\x18\x09nullproof\x18.{1,5}\{"version": (\d{1,9}), ', re.DOTALL)


def is_saved(path: str | Path) -> bool:
    """Return whether a file is a saved index, even a damaged one; reads only the end of the file."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            footer = _footer(stream)
    except (OSError, ValueError, MemoryError):
        return False
    return _SEAL_MARK in footer or _HEADER_MARK.search(footer) is not None


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
        header = _HEADER_MARK.search(_footer(BytesIO(raw)))
        if header is None:
            raise NullproofError(f"{path} is not an index; give a file that CountIndex.save wrote")
        # Format 1 had no seal.
        _refuse_other_versions(path, int(header[1]))
        raise _damaged(path)
    if raw[start : start + len(_OPEN)] != _digest(raw, start):
        raise _damaged(path)
    return raw


def _damaged(path: str | Path) -> NullproofError:
    return NullproofError(f"{path} is damaged or was altered; count the table again")


def _refuse_other_versions(path: str | Path, version: int) -> None:
    if version > VERSION:
        raise NullproofError(
            f"{path} has format {version} and this nullproof reads format {VERSION}; "
            "install a newer nullproof"
        )
    if version < VERSION:
        raise NullproofError(
            f"{path} has format {version}, which an older nullproof wrote, and this one reads format "
            f"{VERSION}; count the table again"
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
    return {
        "version": VERSION,
        "labels": list(schema.labels),
        "label_name": schema.label_name,
        "label_counts": index.label_counts.tolist(),
        "missing": schema.missing.document(),
        "columns": [asdict(record) for record in schema.columns],
        "formats": dict(schema.formats),
        "features": [
            {
                "name": f.name,
                "kind": f.kind,
                "edges": [repr(e) for e in f.edges],
                "bins": f.bins,
                "missing_is_value": f.missing_is_value,
                "weight": f.weight,
            }
            for f in schema.features
        ],
        "sets": [
            [[list(codes), counts.tolist()] for codes, counts in sets.items()]
            for sets in index.sets
        ],
    }


def _frame(index: IndexFields) -> pl.DataFrame:
    import polars as pl

    features, values, rows, labels, counts = [], [], [], [], []
    n_rows = 0
    for j, (feature, known) in enumerate(zip(index.schema.features, index.known, strict=True)):
        size = feature.n_values
        features.append(np.full(size + 1, j, dtype=np.int32))
        values += [*feature.values, None]
        missing = DenseCounts(index.n_null[j : j + 1])
        for block, start in ((known, n_rows), (missing, n_rows + size)):
            where, which, what = block.cells()
            rows.append(where + start)
            labels.append(which)
            counts.append(what)
        n_rows += size + 1
    lengths = np.bincount(np.concatenate(rows), minlength=n_rows)
    return pl.DataFrame(
        {
            "feature": np.concatenate(features),
            "value": pl.Series(values, dtype=pl.String),
            "labels": _lists(np.concatenate(labels), lengths),
            "counts": _lists(np.concatenate(counts), lengths),
        }
    )


def _lists(flat: Counts, lengths: Counts) -> pl.Series:
    """Cut a flat array into lists, as many at once as can be."""
    import polars as pl

    starts, longest = np.cumsum(lengths) - lengths, int(lengths.max())
    if len(flat) and len(lengths) * longest <= _PADDED * (len(flat) + len(lengths)):
        # Make all lists equally long, then cut them: 0.03 s for a million; a group-by takes a second.
        places = np.minimum(starts[:, None] + np.arange(longest), len(flat) - 1)
        padded = pl.Series(flat[places].ravel()).reshape((len(lengths), longest)).arr.to_list()
        cut = pl.col("flat").list.head(pl.col("length"))
        return pl.DataFrame({"flat": padded, "length": lengths}).select(cut)["flat"]
    rows, parts = [], []
    for length in np.unique(lengths).tolist():
        rows.append(np.flatnonzero(lengths == length))
        block = flat[starts[rows[-1]][:, None] + np.arange(length)]
        nothing = pl.Series([[]], dtype=pl.List(pl.Int64))
        parts.append(
            pl.Series(block.ravel()).reshape(block.shape).arr.to_list()
            if length
            else nothing.new_from_index(0, len(block))
        )
    return pl.concat(parts).gather(np.argsort(np.concatenate(rows)))


def _index(header: dict[str, Any], frame: pl.DataFrame) -> IndexFields:
    n_labels = len(header["labels"])
    starts = np.append(np.flatnonzero(np.diff(frame["feature"], prepend=-1)), frame.height)
    lengths = frame["labels"].list.len().to_numpy()
    rows = np.repeat(np.arange(frame.height), lengths)
    labels = frame["labels"].explode().drop_nulls().to_numpy()
    counts = frame["counts"].explode().drop_nulls().to_numpy()
    cuts = np.searchsorted(rows, starts)
    values = frame["value"].to_list()
    features, known, n_null = [], [], np.zeros((len(header["features"]), n_labels), np.int64)
    for j, written in enumerate(header["features"]):
        first, last = int(starts[j]), int(starts[j + 1]) - 1
        edges = tuple(float(edge) for edge in written["edges"])
        features.append(
            Feature(
                written["name"],
                written["kind"],
                tuple(values[first:last]),
                edges,
                tuple(written["bins"]),
                written["missing_is_value"],
                written["weight"],
            )
        )
        part = slice(int(cuts[j]), int(cuts[j + 1]))
        missing = rows[part] == last
        n_null[j, labels[part][missing]] = counts[part][missing]
        cells = ~missing
        known.append(
            from_cells(
                rows[part][cells] - first,
                labels[part][cells],
                counts[part][cells],
                (last - first, n_labels),
            )
        )
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
    lists = [label_counts, *(counts for cells in sets for counts in cells.values())]
    if len(sets) != len(features) or any(counts.shape != (n_labels,) for counts in lists):
        raise ValueError("the header has counts of other labels or features than it names")
    return IndexFields(schema, label_counts, tuple(known), n_null, sets)


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
    path = Path(source)
    if path.is_dir():
        yield from path.iterdir()
    elif path.exists():
        yield path
    else:
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
