"""The ten datasets of the paper, and two more: found by file name, checked by shape, or stood in for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.data.binning import Rows
from nullproof.data.edits import uniforms
from nullproof.data.labels import label_codes
from nullproof.data.missing import Missing
from nullproof.data.schema import fit_feature
from nullproof.data.sources import Reading, Table, open_table
from nullproof.errors import NullproofError

ENDINGS = (".csv.gz", ".csv", ".csv.zst", ".parquet")
MISSING = ("?", "NA", "-")


@dataclass(frozen=True)
class Known:
    """What is known of a dataset: file names, label, and the paper's rows × columns × labels.

    ``partial`` names files that hold only some of the rows, and how many. ``openml`` is the number of
    the same table on OpenML, where there is one.
    """

    short: str
    files: tuple[str, ...]
    label: str
    shape: tuple[int, int, int]
    partial: tuple[tuple[str, int], ...] = ()
    openml: int | None = None


PAPER = (
    Known("HE", ("heart",), "HeartDisease", (918, 12, 2)),
    Known("FC", ("fitness_class", "fitness_class_2212"), "attended", (1_500, 8, 2)),
    Known("FH", ("fetal_health",), "fetal_health", (2_126, 22, 3)),
    Known("EM", ("employee", "Employee"), "LeaveOrNot", (4_653, 9, 2)),
    Known("WQ", ("winequalityN",), "type", (6_497, 13, 2)),
    Known(
        "CB",
        ("company_bankruptcy", "company-bankruptcy", "data"),
        "Bankrupt?",
        (6_819, 96, 2),
        (("company_bankruptcy_5807", 5_807),),
    ),
    Known("MR", ("mushrooms", "mushroom"), "class", (8_124, 23, 2), openml=24),
    Known("BP", ("bodyPerformance",), "class", (13_393, 12, 4)),
    Known(
        "SC",
        ("star_classification",),
        "class",
        (100_000, 18, 3),
        (("star_classification_10k", 10_000),),
    ),
    Known("CC", ("creditcard_2023", "creditcard"), "Class", (568_630, 31, 2)),
)


# Not in the paper: real tables with a rare label, where the greedy search is not optimal (T6).
RARE_LABELS = (
    Known("hypothyroid", ("hypothyroid",), "Class", (3_772, 30, 4)),
    Known("polish", ("polish_bankruptcy_1year",), "class", (7_027, 65, 2)),
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A complete table of codes; ``origin`` is "real", "real, in part" or "generated"."""

    name: str
    origin: str
    codes: NDArray[np.signedinteger]
    labels: NDArray[np.int64]
    n_values: tuple[int, ...]

    @property
    def n_labels(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def in_paper(self) -> bool:
        return any(self.name == known.short for known in PAPER)

    @property
    def title(self) -> str:
        """The name to show, which never hides what is not the paper's table."""
        if self.origin == "real":
            return self.name
        return f"{self.name} ({'generated' if self.origin == 'generated' else 'part'})"

    def head(self, n_rows: int) -> Dataset:
        """At most ``n_rows`` rows, spread over the table."""
        if n_rows >= len(self.labels):
            return self
        rows = np.linspace(0, len(self.labels) - 1, n_rows).astype(np.int64)
        return replace(self, codes=np.asfortranarray(self.codes[rows]), labels=self.labels[rows])


@dataclass(frozen=True)
class Note:
    """A dataset that is not as in the paper, and why."""

    name: str
    reason: str


def load_all(
    folder: Path | None,
    *,
    stand_ins: bool = True,
    known: tuple[Known, ...] = (*PAPER, *RARE_LABELS),
) -> Iterator[Dataset | Note]:
    """Load what is there; tell what is left out and what is stood in for."""
    for one in known:
        path, n_rows = _found(one, folder)
        if path is None:
            reason = f"no file {one.files[0]}{ENDINGS[0]} or {ENDINGS[1]} in the data folder"
            if not stand_ins or one in RARE_LABELS:
                yield Note(one.short, f"left out: {reason}")
                continue
            yield Note(one.short, f"generated stand-in of {_shape_text(one.shape)}: {reason}")
            yield generate(one)
            continue
        try:
            dataset = _checked(one, path, n_rows)
        except NullproofError as problem:
            yield Note(one.short, f"left out: {problem}")
            continue
        if dataset.origin != "real":
            share = f"{n_rows:,} of {one.shape[0]:,} rows ({path.name})"
            yield Note(one.short, f"in part: {share}; not comparable row for row with the paper")
        yield dataset


def from_openml(known: Known, folder: Path) -> Path:
    """Fetch a table from OpenML (needs a network) and save it where `load_all` finds it."""
    from sklearn.datasets import fetch_openml

    frame = fetch_openml(data_id=known.openml, as_frame=True, parser="auto").frame
    path = folder / f"{known.files[0]}.csv"
    frame.to_csv(path, index=False)
    return path


def generate(known: Known, *, seed: int = 0) -> Dataset:
    """Make a table of the same shape: five values a feature, their frequencies differ by label."""
    n_rows, n_columns, n_labels = known.shape
    seed += zlib.crc32(known.short.encode())
    labels = (uniforms(n_rows, seed, stream=2) * n_labels).astype(np.int64)
    labels[:n_labels] = np.arange(n_labels)
    codes = np.empty((n_rows, n_columns - 1), dtype=np.int8, order="F")
    for j in range(n_columns - 1):
        weights = 0.2 + uniforms(5 * n_labels, seed, stream=100 + j).reshape(n_labels, 5)
        limits = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        draws = uniforms(n_rows, seed, stream=10_000 + j)
        codes[:, j] = (draws[:, None] >= limits[labels, :4]).sum(axis=1)
    return Dataset(known.short, "generated", codes, labels, (5,) * (n_columns - 1))


def coded(table: Table, label: str) -> tuple[NDArray[Any], NDArray[np.int64], tuple[int, ...]]:
    """Codes, labels and domain sizes: 5 bins of equal width, active domains.

    The paper calls its tables complete, so a hole of the file counts as a value of its own.
    """
    labels, _ = label_codes(table.labels(label))
    columns, sizes = [], []
    for name in table.names:
        if name == label:
            continue
        feature, encoded = fit_feature(table.column(name), bins=5, binning="uniform", rows=Rows())
        holes = encoded.codes < 0
        columns.append(np.where(holes, feature.n_values, encoded.codes))
        sizes.append(feature.n_values + int(holes.any()))
    narrow = np.int8 if max(sizes) < 2**7 else np.int32
    codes = np.asfortranarray(np.stack(columns, axis=1).astype(narrow))
    return codes, labels.astype(np.int64), tuple(sizes)


def _found(known: Known, folder: Path | None) -> tuple[Path | None, int]:
    """The file of a dataset and the rows it should have; whole files come first."""
    if folder is not None:
        names = [(name, known.shape[0]) for name in known.files]
        for name, n_rows in [*names, *known.partial]:
            for ending in ENDINGS:
                if (folder / f"{name}{ending}").is_file():
                    return folder / f"{name}{ending}", n_rows
    return None, 0


def _checked(known: Known, path: Path, n_rows: int) -> Dataset:
    table = open_table(path, Reading(Missing.of(MISSING), [known.label]))
    expected = (n_rows, *known.shape[1:])
    if (table.n_rows, len(table.names)) != expected[:2]:
        found = f"{table.n_rows:,} rows × {len(table.names)} columns"
        raise NullproofError(f"{path.name} has {found} but should have {_shape_text(expected)}")
    codes, labels, sizes = coded(table, known.label)
    origin = "real" if n_rows == known.shape[0] else "real, in part"
    dataset = Dataset(known.short, origin, codes, labels, sizes)
    if dataset.n_labels != known.shape[2]:
        raise NullproofError(
            f"{path.name} has {dataset.n_labels} labels but should have {known.shape[2]}"
        )
    return dataset


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"{shape[0]:,} rows × {shape[1]} columns"
