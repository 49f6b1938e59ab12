"""The rule of missing texts: what is surely missing, what is in doubt, and what decides it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nullproof import CountIndex, NullproofError
from nullproof.tables.spellings import COMMON, SURE, Spellings

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

SURE_ONES = ["", " ", "NA", "nA", "n/a", "NaN", "Null", "?", " ? ", "#N/A", "<na>"]
DOUBTFUL = ["none", "None", "NONE", "-", " - ", "."]


def feature_of(cells: list[Any], **options: Any) -> tuple[str, tuple[str, ...], int]:
    """The kind, the values and the number of holes of a column, the same in every library."""
    labels = ["p", "q"] * len(cells)
    table = {"a": cells, "b": ["x"] * len(cells), "y": labels[: len(cells)]}
    frames = [
        table,
        pd.DataFrame(table),
        pl.DataFrame(table),
        pa.table(table),
        pl.DataFrame(table).lazy(),
    ]
    indexes = [CountIndex.from_table(f, "y", binning="none", **options) for f in frames]
    assert all(index == indexes[0] for index in indexes)
    index = indexes[0]
    if "a" not in index.features:
        return "none", (), len(cells)
    feature = index.schema.features[index.schema.position["a"]]
    return feature.kind, feature.values, int(index.n_open[index.schema.position["a"]].sum())


@pytest.mark.parametrize("spelling", SURE_ONES)
def test_sure_spellings_are_missing_in_every_column_of_texts(spelling: str) -> None:
    """A sure spelling is missing beside anything, in any case and trimmed."""
    assert feature_of(["u", "v", spelling]) == ("category", ("u", "v"), 1)
    assert feature_of(["u", "u", spelling]) == ("category", ("u",), 1)
    assert feature_of(["1", "3", spelling]) == ("number", ("1", "3"), 1)


@pytest.mark.parametrize("spelling", DOUBTFUL)
@pytest.mark.parametrize(
    ("others", "kind"),
    [
        (["u", "v"], "category"),
        (["1", "3"], "number"),
        (["1", "3", None], "number"),
        (["2020-01-01", "2021-01-01", "?"], "date"),
        (["true", "False", ""], "boolean"),
    ],
)
def test_doubtful_spellings_are_missing_without_evidence(
    spelling: str, others: list[Any], kind: str
) -> None:
    """Beside texts without other holes, and beside numbers, dates and booleans, they are missing."""
    found, values, n_missing = feature_of([*others, spelling])
    assert (found, len(values)) == (kind, 2)
    assert n_missing == len(others) - 1


@pytest.mark.parametrize("spelling", DOUBTFUL)
@pytest.mark.parametrize("hole", [None, "?", "", " NA"])
def test_doubtful_spellings_are_values_beside_texts_with_other_holes(
    spelling: str, hole: str | None
) -> None:
    """Where texts mark their holes otherwise, a doubtful spelling is a value."""
    kind, values, n_missing = feature_of(["u", "v", spelling, hole])
    assert (kind, {*values}, n_missing) == ("category", {"u", "v", spelling}, 1)


@pytest.mark.parametrize("spelling", DOUBTFUL)
def test_one_of_two_values_is_a_value(spelling: str) -> None:
    """A doubtful spelling with exactly one other value beside it is a value: + and - are."""
    assert feature_of(["+", spelling, "+"])[1:] == (tuple(sorted(["+", spelling])), 0)
    assert feature_of(["+", spelling, None])[2] == 1
    assert {*feature_of(["5", spelling, "5"])[1]} == {"5", spelling}


def test_several_doubtful_spellings_stand_or_fall_together() -> None:
    """Two doubtful spellings beside one value are no pair; with other holes all are values."""
    assert feature_of(["u", "-", "none"]) == ("category", ("u",), 2)
    assert feature_of(["u", "-", "none", None])[1:] == (("-", "none", "u"), 1)


def test_doubtful_spellings_alone_are_missing() -> None:
    """A column of nothing but doubtful spellings and holes has no known cell."""
    assert feature_of(["-", "none", None])[0] == "none"


def test_named_spellings_are_missing_whatever_the_column_shows() -> None:
    """A spelling that was named is missing, and is another sort of hole for the doubtful ones."""
    assert feature_of(["+", "-", "+"], missing=("-",)) == ("category", ("+",), 1)
    assert feature_of(["u", "v", "none", "gone"], missing="gone")[1] == ("none", "u", "v")
    assert feature_of(["u", "v", "Gone"], missing="gone")[2] == 0


@pytest.mark.parametrize("only", [("gone",), (), "gone"])
def test_missing_only_replaces_the_usual_spellings(only: Any, tmp_path: Path) -> None:
    """With missing_only texts are missing where they are named; nulls always, and empty cells of files."""
    n_missing = 1 + ("gone" in only)
    cells = ["NA", "?", "none", "gone", None, ""]
    assert feature_of(cells, missing_only=only)[2] == n_missing
    path = tmp_path / "t.csv"
    lines = [f"{cell or ''},{y}" for cell, y in zip(cells, "pqpqpq", strict=True)]
    path.write_text("\n".join(["a,y", *lines]))
    for limit in (None, "200MB"):
        index = CountIndex.from_table(path, "y", missing_only=only, memory_limit=limit)
        assert index.n_missing == n_missing + 1
        index.save(tmp_path / "i.index")
        loaded = CountIndex.load(tmp_path / "i.index")
        assert loaded.schema.missing_only == (("gone",) if "gone" in only else ())
        assert loaded.schema == index.schema
        again = CountIndex.from_table(path, "y", like=loaded)
        assert again == index


def test_missing_and_missing_only_exclude_each_other() -> None:
    """One adds to the list, the other replaces it."""
    table = {"a": ["u", "v"], "y": ["p", "q"]}
    with pytest.raises(NullproofError, match="give missing to add to the usual spellings, or"):
        CountIndex.from_table(table, "y", missing=("?",), missing_only=("x",))
    index = CountIndex.from_table(table, "y")
    with pytest.raises(NullproofError, match="missing_only is given together with like"):
        CountIndex.from_table(table, "y", like=index, missing_only=("x",))
    with pytest.raises(NullproofError, match="keep is given together with like"):
        CountIndex.from_rows([("u",)], ["p"], like=index, keep=("a",))


def test_declared_values_are_values() -> None:
    """What domains declares is a value, a sure spelling too, but only to the letter."""
    kind, values, n_missing = feature_of(["u", "?", " ?", "none"], domains={"a": ["?", "v"]})
    assert (kind, values, n_missing) == ("category", ("?", "none", "u", "v"), 1)


def test_candidates_are_values() -> None:
    """What a set names as a candidate is a value, and so is the same text as a cell."""
    index = CountIndex.from_rows([({"none", "u"},), ("none",), ("v",), ("w",)], "ppqq")
    assert index.schema.features[0].values == ("none", "u", "v", "w")
    assert index.n_missing == 1
    named = CountIndex.from_rows([({"none", "u"},), ("v",)], "pq", missing="none")
    assert named.n_null.tolist() == [[1, 0]]


def test_categories_of_a_type_are_read_like_cells() -> None:
    """Categories that pandas or an Enum declare are missing where a cell of that text would be."""
    words = ["?", "none", "u", "v", "w"]
    labels = ["p", "q", "p"]
    pandas = pd.DataFrame({"a": pd.Categorical(["u", "v", "?"], categories=words), "y": labels})
    enum = pl.DataFrame({"a": pl.Series(["u", "v", "?"], dtype=pl.Enum(words)), "y": labels})
    for table in (pandas, enum, enum.lazy()):
        index = CountIndex.from_table(table, "y")
        assert index.schema.features[0].values == ("none", "u", "v", "w")
        assert index.n_missing == 1


def test_unused_texts_of_a_dictionary_decide_nothing() -> None:
    """Only the cells count: an Arrow dictionary may list texts that no cell holds."""
    codes = pa.array([0, 1, 0], pa.int32())
    cells = pa.DictionaryArray.from_arrays(codes, ["01", "-", "?", "x"])
    index = CountIndex.from_table(pa.table({"a": cells, "y": ["p", "q", "p"]}), "y")
    assert index.schema.features[0].values == ("01", "-")
    plain = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), ["01", "2", "?"])
    index = CountIndex.from_table(pa.table({"a": plain, "y": ["p", "q", "p"]}), "y")
    assert index.schema.features[0].kind == "category"


# Labels -------------------------------------------------------------------------------------------


def test_labels_follow_the_sure_spellings_alone(tmp_path: Path) -> None:
    """A label may be - or none; ? is a hole among labels, unless they are given apart."""
    table = {"a": ["u", "v", "u"], "y": ["-", "+", "none"]}
    assert CountIndex.from_table(table, "y").labels == ("+", "-", "none")
    (tmp_path / "t.csv").write_text("a,y\nu,-\nv,+\nu,.\n")
    for limit in (None, "200MB"):
        index = CountIndex.from_table(tmp_path / "t.csv", "y", memory_limit=limit)
        assert index.labels == ("+", "-", ".")
    with pytest.raises(NullproofError, match="the label column 'y' has 1 hole"):
        CountIndex.from_table({**table, "y": ["-", "+", "?"]}, "y")
    assert CountIndex.from_rows([("u",), ("v",)], ["?", "NA"]).labels == ("?", "NA")


# What was decided stays ---------------------------------------------------------------------------


def test_points_follow_the_domain() -> None:
    """In points a usual spelling is a value if the domain holds it to the letter, else it is missing."""
    kept = CountIndex.from_rows([("u",), ("v",), ("-",), (None,)], "ppqq")
    lost = CountIndex.from_rows([("u",), ("v",), ("-",), ("u",)], "ppqq")
    points = [("-",), (" -",), ("none",), ("?",), ("w",)]
    assert kept.encode(points).codes.tolist() == [[0, 5, 5, 5, 3]]
    assert lost.encode(points).codes.tolist() == [[4, 4, 4, 4, 2]]
    frame = pl.DataFrame({"x0": [cell for (cell,) in points]})
    assert kept.encode(frame).codes.tolist() == [[0, 5, 5, 5, 3]]
    assert kept.encode(np.array(points)).codes.tolist() == [[0, 5, 5, 5, 3]]


def test_further_tables_follow_the_domain(tmp_path: Path) -> None:
    """A chunk counted like an index reads spellings as that index does, whatever the chunk shows."""
    first = CountIndex.from_table({"a": ["01", "x", "-", None], "y": list("ppqq")}, "y")
    assert first.schema.features[0].values == ("01", "-", "x")
    chunk = {"a": ["-", "01", "?"], "y": list("pqq")}
    more = CountIndex.from_table(chunk, "y", like=first)
    assert more.n_null.tolist() == [[0, 1]]
    assert more.exact(0)[:-1].tolist() == [[0, 1], [1, 0], [0, 0]]
    pl.DataFrame(chunk).write_csv(tmp_path / "t.csv")
    for table in (pl.DataFrame(chunk), pl.DataFrame(chunk).lazy(), tmp_path / "t.csv"):
        assert CountIndex.from_table(table, "y", like=first) == more
    limited = CountIndex.from_table(tmp_path / "t.csv", "y", like=first, memory_limit="200MB")
    assert limited == more


def test_order_and_number_of_cells_do_not_matter() -> None:
    """The rule sees which texts there are: any order and any number of cells decides alike."""
    for cells in (["u", "v", "-", None], ["1", "2", "-"], ["u", "-"], ["u", "v", "."]):
        orders = itertools.permutations(cells)
        found = {feature_of([*some, *some[:1] * n])[:2] for some in orders for n in (0, 2)}
        assert len(found) == 1


def test_readers_get_sure_spellings_only() -> None:
    """What a reader of files turns into nulls is surely missing, so that the rest can be judged."""
    assert {spelling.lower() for spelling in COMMON} == {*SURE}
    assert Spellings.of(("x", "?,NA")).nulls == [*COMMON, "x"]
    assert Spellings.of((), ("x", "?")).nulls == ["", "x", "?"]
