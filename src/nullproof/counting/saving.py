"""An index on disk: a Parquet file that any tool can read, with its schema as JSON beside the counts.

One row per feature and value, and one with a null value for the missing cells of each feature;
``labels`` and ``counts`` list the labels (by position) that have any. The file's metadata hold, under
``nullproof``, the labels, the features' kinds and bins, the counts of candidate sets, the version of
the format, and a digest of everything.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nullproof.counting.building import Tally
from nullproof.counting.eager import Counts, cells_of, from_cells
from nullproof.errors import NullproofError
from nullproof.schema import Feature, Schema
from nullproof.writing import write_whole

if TYPE_CHECKING:
    import polars as pl

VERSION = 1
_KEY = "nullproof"
_PADDED = 8


def is_saved(path: str | Path) -> bool:
    """Whether a file is a saved index."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(4) == b"PAR1" and _KEY in _metadata(path)
    except (OSError, NullproofError):
        return False


def save(tally: Tally, path: str | Path) -> None:
    """Write the counts of an index to a file, whole or not at all."""
    frame = _frame(tally)
    header = _header(tally)
    header["digest"] = _digest(header, frame)
    text = json.dumps(header, ensure_ascii=False)
    write_whole(
        Path(path),
        lambda part: frame.write_parquet(part, metadata={_KEY: text}, compression_level=1),
    )


def load(path: str | Path) -> Tally:
    """Read an index back, and refuse a file that is damaged, altered or of a newer format."""
    import polars as pl

    if not Path(path).is_file():
        raise NullproofError(f"no such index file: {path}; check the path")
    metadata = _metadata(path)
    if _KEY not in metadata:
        raise NullproofError(f"{path} is not an index; give a file that CountIndex.save wrote")
    header = json.loads(metadata[_KEY])
    if header.get("version", 0) > VERSION:
        raise NullproofError(
            f"{path} has format {header['version']} and this nullproof reads up to {VERSION}; "
            "install a newer nullproof"
        )
    digest = header.pop("digest", None)
    try:
        frame = pl.read_parquet(path)
        if digest != _digest(header, frame):
            raise ValueError("the digest differs")
        return _tally(header, frame)
    except (pl.exceptions.PolarsError, OSError, ValueError, KeyError, IndexError) as problem:
        raise NullproofError(
            f"{path} is damaged or was altered; count the table again"
        ) from problem


def _metadata(path: str | Path) -> dict[str, str]:
    import polars as pl

    try:
        return dict(pl.read_parquet_metadata(path))
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise NullproofError(
            f"{path} is not an index; give a file that CountIndex.save wrote"
        ) from problem


def _header(tally: Tally) -> dict[str, Any]:
    schema = tally.schema
    return {
        "version": VERSION,
        "labels": list(schema.labels),
        "label_name": schema.label_name,
        "label_counts": tally.label_counts.tolist(),
        "missing": list(schema.missing),
        "features": [
            {"name": f.name, "kind": f.kind, "edges": [repr(e) for e in f.edges], "bins": f.bins}
            for f in schema.features
        ],
        "sets": [
            [[list(codes), counts.tolist()] for codes, counts in sets.items()]
            for sets in tally.sets
        ],
    }


def _frame(tally: Tally) -> pl.DataFrame:
    import polars as pl

    features, values, rows, labels, counts = [], [], [], [], []
    n_rows = 0
    for j, (feature, known) in enumerate(zip(tally.schema.features, tally.known, strict=True)):
        size = feature.n_values
        features.append(np.full(size + 1, j, dtype=np.int32))
        values += [*feature.values, None]
        for block, start in ((known, n_rows), (tally.n_null[j : j + 1], n_rows + size)):
            where, which, what = cells_of(block)
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
        # All of one length and then cut: a million lists in 0.03 s, a group-by takes a second.
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


def _tally(header: dict[str, Any], frame: pl.DataFrame) -> Tally:
    n_labels = len(header["labels"])
    starts = np.append(np.flatnonzero(np.diff(frame["feature"], prepend=-1)), frame.height)
    lengths = frame["labels"].list.len().to_numpy()
    rows = np.repeat(np.arange(frame.height), lengths)
    labels = frame["labels"].explode().drop_nulls().to_numpy()
    counts = frame["counts"].explode().drop_nulls().to_numpy()
    cuts = np.searchsorted(rows, starts)
    values = frame["value"].to_list()
    features, known, n_null = [], [], np.zeros((len(header["features"]), n_labels), np.int64)
    for j, told in enumerate(header["features"]):
        first, last = int(starts[j]), int(starts[j + 1]) - 1
        edges = tuple(float(edge) for edge in told["edges"])
        features.append(
            Feature(
                told["name"], told["kind"], tuple(values[first:last]), edges, tuple(told["bins"])
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
        tuple(features), tuple(header["labels"]), header["label_name"], tuple(header["missing"])
    )
    sets = tuple(
        {tuple(codes): np.array(cells, dtype=np.int64) for codes, cells in sets}
        for sets in header["sets"]
    )
    label_counts = np.array(header["label_counts"], dtype=np.int64)
    return Tally(schema, label_counts, tuple(known), n_null, sets)


def _digest(header: dict[str, Any], frame: pl.DataFrame) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in ("labels", "counts"):
        digest.update(frame[name].list.len().to_numpy().tobytes())
        digest.update(frame[name].explode().drop_nulls().to_numpy().tobytes())
    digest.update(frame["feature"].to_numpy().tobytes())
    digest.update(frame["value"].fill_null("").str.join("\0").item().encode())
    return digest.hexdigest()
