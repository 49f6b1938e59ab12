"""witness: two completed tables that anyone can check, one of which speaks against the other."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support import oracle
from support.bias_oracle import READINGS, Bias, OwnMissing
from support.bias_tables import random_holed, random_mapping
from support.counted import index_of
from support.strategies import Case

from nullproof import CountIndex, NullproofError, certify, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_CHUNKS = 4
N_TABLES = 150  # in a chunk
SEED = 20240606
ROWS: list[tuple[Any, ...]] = [
    ("a", None, "p"),
    ("a", "x", None),
    ("a", "y", "p"),
    ("b", "x", "q"),
    (None, "y", "q"),
    ("b", {"x", "y"}, "p"),
]
LABELS = ["yes", "yes", "no", "no", "no", "yes"]


def test_spelled_missing_cells_of_the_point() -> None:
    """A cell of the point that only spells missing is completed like any other missing cell."""
    rows, labels = [("a", "?"), ("b", "x"), ("a", "y"), ("b", "x")], ["A", "B", "A", "B"]
    index = CountIndex.from_rows(rows, labels, missing=("?",))
    first, second = witness(index, ("?", "x"), own_missing="any", alpha=0)
    assert {first.point[0], second.point[0]} <= {"a", "b"}
    assert first.winners != second.winners


# Within a bias ---------------------------------------------------------------------------------


def check_world(holed: Case, point: Any, world: Any, bias: Bias, reading: OwnMissing) -> Any:
    """Let the oracle confirm that a world has the bias and the winners it claims; return these."""
    completed = world.complete(holed.rows, holed.labels)
    assert holed.is_world(completed, bias), (point, bias, completed, holed)
    for cell, asked, domain in zip(world.point, point, holed.domains, strict=True):
        if asked is None and reading == "skip":
            assert cell is None, (point, world.point, holed)
        else:
            assert cell in oracle.candidates(asked, domain), (point, world.point, holed)
    values = holed.supports(completed, world.point)
    for label, support in values.items():
        log = -math.inf
        if support:
            # With weights the oracle gives eighth powers.
            power = 1 if holed.weights is None else 8
            log = (math.log(support.numerator) - math.log(support.denominator)) / power
        assert world.log_supports[label] == pytest.approx(log, abs=1e-9), (point, bias, holed)
    assert frozenset(world.winners) == oracle.winners(values), (point, bias, completed, holed)
    assert len({*world.winners}) == len(world.winners)
    return frozenset(world.winners)


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_witnesses_within_a_bias(chunk: int) -> None:
    """Both worlds have at most the bias, by counting their rows, and they disagree or one ties."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    n_witnessed = 0
    for _ in range(N_TABLES):
        holed = random_holed(rng, own_missing=0.2, weighted=rng.random() < 0.5)
        judge, index, reading = holed.judge(), index_of(holed), rng.choice(READINGS)
        asked, bias = random_mapping(rng, holed, judge)
        for point in holed.points:
            options: dict[str, Any] = {"bias": asked, "own_missing": reading, **holed.options}
            if judge.verdict(point, bias, reading).label is not None:
                with pytest.raises(NullproofError):
                    witness(index, point, **options)
                continue
            first, second = (
                check_world(holed, point, world, bias, reading)
                for world in witness(index, point, **options)
            )
            assert first != second or len(first) > 1, (point, bias, reading, holed)
            n_witnessed += 1
    assert n_witnessed > N_TABLES / 4


# By hand --------------------------------------------------------------------------------


def test_every_form_of_one_point() -> None:
    """Tuples, mappings, series and tables of one row have the same witness; none and two have none."""
    index = CountIndex.from_rows(ROWS, LABELS, features=["f", "g", "h"])
    cells = {"f": "a", "g": "y", "h": None}
    forms: list[Any] = [
        tuple(cells.values()),
        [*cells.values()],
        [tuple(cells.values())],
        cells,
        dict(reversed(cells.items())),
        [cells],
        pd.Series(cells),
        pd.DataFrame([cells]),
        pl.DataFrame([cells]).select("h", "g", "f"),
        np.array([[*cells.values()]], dtype=object),
    ]
    for form in forms:
        one, other = witness(index, form, own_missing="any")
        assert (one.point[:2], other.point[:2]) == (("a", "y"), ("a", "y"))
        assert {one.point[2], other.point[2]} <= {"p", "q"}
        skipped = witness(index, form)
        assert [world.point for world in skipped] == [("a", "y", None)] * 2
    for some in ([], [forms[0]] * 2):
        with pytest.raises(NullproofError, match=f"takes one point but got {len(some)}"):
            witness(index, some)


@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_points_of_codes_and_of_rows_with_a_name() -> None:
    """Codes come back as they were given; a column that only names the rows is no cell of the point."""
    codes = np.array([[0, 1], [1, 0], [0, -1], [1, 1]])
    index = CountIndex.from_codes(codes, [0, 1, 0, 1])
    for world in witness(index, np.array([[-1, 1]]), own_missing="any"):
        assert world.point[1] == 1
        assert world.point[0] in (0, 1)
    rows = [(f"id {k}", "uv"[k // 2 % 2], "xyz"[k % 3] if k % 5 else None) for k in range(24)]
    named = CountIndex.from_rows(rows, list("pq") * 12)
    assert named.features == ("x1", "x2")
    n_open = sum(not certify(named, row).certain for row in rows)
    assert n_open > 3
    for row in rows:
        if not certify(named, row).certain:
            for world in witness(named, row):
                assert world.point == row[1:]


def test_what_is_asked_unless_told_otherwise() -> None:
    """A smoothing of 1 and any bias; that a point is certain is told with the bias it is certain for."""
    index = CountIndex.from_rows(ROWS, LABELS)
    point = ("a", "y", "p")
    plain, told = witness(index, point), witness(index, point, alpha=1, bias=1)
    assert [world.log_supports for world in plain] == [world.log_supports for world in told]
    complete = CountIndex.from_rows([("a",), ("b",)], ["A", "B"])
    with pytest.raises(NullproofError, match="certain: every world predicts 'A'"):
        witness(complete, ("a",))
    with pytest.raises(NullproofError, match="certain: every world of this bias predicts 'B'"):
        witness(complete, ("b",), bias=0.5)


def test_the_likeliest_label_is_raised_first() -> None:
    """Of two rivals that may win, the one with the greatest support is taken, whatever its name."""
    cells = {"A": "aaabbb", "B": "aa????", "C": "aa???b"}
    for names in ("ABC", "ACB", "CAB"):
        rows = [(None if c == "?" else c,) for own in cells.values() for c in own]
        renamed = [name for name in names for _ in range(6)]
        for point in (("a",), ({"a"},)):
            pair = witness(CountIndex.from_rows(rows, renamed), point, alpha=0)
            assert [world.winners for world in pair] == [(names[0],), (names[1],)]
    tied = CountIndex.from_rows([("a",), ("a",), ("b",)], list("ABC"))
    pair = witness(tied, ("a",), alpha=0)
    assert [world.winners for world in pair] == [("A", "B")] * 2
    assert [sorted(world.raised) for world in pair] == [[0], [1]]


def test_binned_candidates_of_a_point_and_of_rows() -> None:
    """A cell with candidates is filled with one of them, not with another value of the same bin."""
    plain = {"n": [1.0, 2.0, 5.0, 9.0], "w": ["u", "v", "v", "u"], "y": list("AABB")}
    bins = CountIndex.from_table(plain, "y", bins=3, binning="uniform")
    rows: list[Any] = [([1.0, 9.0], "u"), (2.0, "v"), (8.0, None), ([1.5, 5.0], "u")]
    index = CountIndex.from_rows(rows, "AABB", like=bins)
    for world in witness(index, ({9.0, 1.0}, "u"), alpha=0, own_missing="any"):
        assert world.point[0] in (1.0, 9.0)
        filled = world.complete(rows, "AABB")
        assert filled[0][0] in (1.0, 9.0)
        assert filled[3][0] in (1.5, 5.0)
        assert filled[2][1] in ("u", "v")
        counted = CountIndex.from_rows(filled, "AABB", like=index)
        assert {*certify(counted, world.point, alpha=0).possible} == {*world.winners}
    one, other = witness(index, (9.0, "u"), alpha=0)
    assert {one.complete(rows, "AABB")[0][0], other.complete(rows, "AABB")[0][0]} == {1.0, 9.0}


def test_a_tie_is_shown_from_both_sides() -> None:
    """Where the first world ties, the other raises the next possible label, though another could win."""
    rows = [("a",), ("b",), ("a",), ("b",), (None,), (None,)]
    index = CountIndex.from_rows(rows, list("AABBCC"))
    pair = witness(index, ("a",), alpha=0)
    assert certify(index, ("a",), alpha=0).possible == ("A", "B", "C")
    assert [(world.winners, sorted(world.raised)) for world in pair] == [
        (("A", "B"), [0]),
        (("A", "B"), [1]),
    ]


# Data frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_completed_frames(library: str) -> None:
    """Cells that spell missing are filled, columns left out are not, and the world wins as claimed."""
    frame: Any = pl.DataFrame(
        {
            "age": [23.5, None, 61.0, 35.25, 47.0, None, 52.5, 29.0],
            "city": ["Oslo", "Rome", "?", "Rome", "Oslo", "Oslo", None, "Rome"],
            "churn": ["yes", "no", "no", "yes", "no", "yes", "no", "yes"],
            "plan": ["gold", "basic", None, "basic", None, "gold", "basic", "gold"],
            "note": ["kept", None, None, "as", "it", "is", "?", None],
        },
        schema_overrides={"plan": pl.Enum(["basic", "gold", "never taken"])},
    )
    options: Any = {"bins": 3, "binning": "uniform", "missing": ("?",), "ignore": ("note",)}
    frame = frame.to_pandas() if library == "pandas" else frame
    index = CountIndex.from_table(frame, label="churn", **options)
    points = pl.DataFrame(frame).select(index.features).fill_nan(None).rows()
    judged = certify(index, points, own_missing="any", alpha=0)
    assert (~judged.certain).sum() >= 3
    for place in np.flatnonzero(~judged.certain).tolist():
        for world in witness(index, points[place], own_missing="any", alpha=0):
            filled = world.complete(frame)
            assert type(filled) is type(frame)
            assert list(filled.columns) == list(frame.columns)
            before, after = pl.DataFrame(frame), pl.DataFrame(filled)
            for name in ("note", "churn"):
                assert after[name].to_list() == before[name].to_list()
            assert after["city"].to_list()[:2] == ["Oslo", "Rome"]
            counted = CountIndex.from_table(filled, label="churn", like=index)
            assert counted.n_missing == 0
            assert {*certify(counted, world.point, alpha=0).possible} == {*world.winners}
