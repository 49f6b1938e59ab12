"""Witness worlds: two tables anyone can check, one of which speaks against the other."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from support import oracle
from support.strategies import EXTREME_ALPHAS, Case, cases, random_case

from nullproof import CountIndex, NullproofError, certify, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_CHUNKS = 8
N_TABLES = 100  # in a chunk
SEED = 20240606


def assert_witnessed(case: Case) -> int:
    """Check the witness of every point of a case with the oracle; count the open points."""
    index = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
    options: Any = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
    options["own_missing"] = "any"
    n_witnessed = 0
    for point in case.points:
        if oracle.certain(case.outcomes(point)):
            with pytest.raises(NullproofError):
                witness(index, point, **options)
            continue
        first, second = (
            check_world(case, point, world) for world in witness(index, point, **options)
        )
        assert first != second or len(first) > 1, (point, case)
        n_witnessed += 1
    return n_witnessed


def check_world(case: Case, point: tuple[Any, ...], world: Any) -> frozenset[Any]:
    """Let the oracle confirm that a world is possible and who wins it; return the winners."""
    completed = world.complete(case.rows, case.labels)
    assert isinstance(completed, list)
    assert all(isinstance(row, tuple) for row in completed)
    assert oracle.is_world(completed, case.rows, case.domains), (point, case)
    assert oracle.is_world([world.point], [point], case.domains), (point, case)
    values = oracle.supports(
        completed, case.labels, world.point, case.domains, alpha=case.alpha, prior=case.prior
    )
    assert len(set(world.winners)) == len(world.winners)
    assert frozenset(world.winners) == oracle.winners(values), (point, case)
    return frozenset(world.winners)


# Plain rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_witnesses_of_random_tables(chunk: int) -> None:
    """Each witness is a possible world with the winners it claims; the two disagree or one ties."""
    seed = f"{SEED}-{chunk}"
    print("seed", seed)
    rng = random.Random(seed)
    assert sum(assert_witnessed(random_case(rng)) for _ in range(N_TABLES)) > N_TABLES / 4


def test_witnesses_with_extreme_alphas() -> None:
    """Smoothing beyond double precision has true witnesses too."""
    rng = random.Random(SEED)
    for _ in range(N_TABLES):
        assert_witnessed(replace(random_case(rng), alpha=rng.choice(EXTREME_ALPHAS)))


@given(cases())
@settings(max_examples=150, deadline=None)
def test_witnesses_of_shrinking_tables(case: Case) -> None:
    """The same law with cases that shrink to the smallest false witness."""
    assert_witnessed(case)


def test_insurance_story() -> None:
    """The customer's prediction hangs on where another customer lives."""
    rows = [
        ("20s", "abroad", "low"),
        ("40s", "US", "low"),
        ("40s", "abroad", "low"),
        ("40s", "US", "low"),
        ("30s", None, "high"),
    ]
    labels = ["stays", "stays", "churns", "churns", "churns"]
    index = CountIndex.from_rows(rows, labels, features=["Age", "In-US", "Income"])
    worlds = witness(index, ("40s", "abroad", "low"), alpha=0)
    told = {world.winners: world.complete(rows, labels)[4] for world in worlds}
    assert told == {("churns",): ("30s", "abroad", "high"), ("stays",): ("30s", "US", "high")}


def test_witness_of_a_tie_without_holes() -> None:
    """A tie in a complete table is its own witness: the table comes back as it was."""
    rows, labels = [("a",), ("a",)], ["A", "B"]
    for world in witness(CountIndex.from_rows(rows, labels), ("a",), alpha=0):
        assert world.complete(rows, labels) == rows
        assert set(world.winners) == {"A", "B"}
        assert world.point == ("a",)


def test_witness_of_an_open_point() -> None:
    """Where only the point is incomplete, the two worlds differ in how they complete the point."""
    rows, labels = [("a", "x"), ("a", "x"), ("b", "x"), ("b", "x")], ["A", "A", "B", "B"]
    first, second = witness(
        CountIndex.from_rows(rows, labels), (None, "x"), own_missing="any", alpha=0
    )
    assert {first.point: first.winners, second.point: second.winners} == {
        ("a", "x"): ("A",),
        ("b", "x"): ("B",),
    }


def test_certain_points_have_no_witness() -> None:
    """No two worlds disagree on a certain point; asking for them is an error that says so."""
    index = CountIndex.from_rows([("a",), ("b",)], ["A", "B"])
    with pytest.raises(NullproofError, match="certain"):
        witness(index, ("a",), alpha=0)


def test_spelled_missing_cells_of_the_point() -> None:
    """A cell of the point that only spells missing is completed like any other hole."""
    rows, labels = [("a", "?"), ("b", "x"), ("a", "y"), ("b", "x")], ["A", "B", "A", "B"]
    index = CountIndex.from_rows(rows, labels, missing=("?",))
    case = Case(
        rows=(("a", None), *rows[1:]),
        labels=tuple(labels),
        features=index.features,
        declared=None,
        points=((None, "x"),),
        alpha=0,
        prior=None,
    )
    first, second = witness(index, ("?", "x"), own_missing="any", alpha=0)
    assert check_world(case, case.points[0], first) != check_world(case, case.points[0], second)


# Data frames --------------------------------------------------------------------------------------

MISSING_TEXT = "?"
COLUMNS: dict[str, list[Any]] = {
    "age": [23.5, None, 61.0, 35.25, 47.0, None, 52.5, 29.0],
    "city": ["Oslo", "Rome", "?", "Rome", "Oslo", "Oslo", None, "Rome"],
    "churn": ["yes", "no", "no", "yes", "no", "yes", "no", "yes"],
    "visits": [3, 8, 1, None, 5, 2, None, 9],
    "member": [True, False, None, True, True, False, False, None],
    "plan": ["gold", "basic", None, "basic", None, "gold", "basic", "gold"],
    "joined": [
        year and dt.date(year, 7, 1) for year in (2020, None, 2021, 2020, 2023, 2022, None, 2020)
    ],
    "note": ["kept", None, None, "as", "it", "is", "?", None],
}


PLANS = ["basic", "gold", "never taken"]


def make_frame(library: str) -> Any:
    """Build the table above with pandas or polars, each with types of its own."""
    module = pytest.importorskip(library)
    if library == "polars":
        return module.DataFrame(COLUMNS).cast({"plan": module.Enum(PLANS)})
    frame = module.DataFrame(COLUMNS).astype({"visits": "Int64", "member": "boolean"})
    frame["plan"] = module.Categorical(frame["plan"], categories=PLANS)
    frame["joined"] = module.to_datetime(frame["joined"])
    return frame


def cells(frame: Any) -> dict[str, list[Any]]:
    """Read a frame as plain lists, every kind of missing as None."""
    columns = {name: list(frame[name]) for name in frame.columns}
    return {name: [None if lacks(cell) else cell for cell in own] for name, own in columns.items()}


def lacks(cell: Any) -> bool:
    """Tell whether a cell of these frames is missing."""
    return cell is None or type(cell).__name__ == "NAType" or cell != cell or cell == MISSING_TEXT


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_completed_frames(library: str) -> None:
    """A completed frame keeps type, columns and known cells, lacks nothing, and wins as claimed."""
    frame = make_frame(library)
    index = CountIndex.from_table(
        frame, label="churn", bins=3, binning="uniform", missing=(MISSING_TEXT,), ignore=("note",)
    )
    before = cells(frame)
    points = list(zip(*(before[name] for name in index.features), strict=True))
    open_points = [
        p
        for p, certain in zip(
            points, certify(index, points, own_missing="any", alpha=0).certain, strict=True
        )
        if not certain
    ]
    assert len(open_points) >= 3
    for point in open_points:
        first, second = witness(index, point, own_missing="any", alpha=0)
        assert first.winners != second.winners or len(first.winners) > 1
        for world in (first, second):
            filled = world.complete(frame)
            assert_filled(frame, filled, features=index.features)
            counted = CountIndex.from_table(filled, label="churn", like=index)
            assert counted.n_null.sum() == 0
            assert set(certify(counted, world.point, alpha=0).possible) == set(world.winners)
    assert cells(frame) == before


def assert_filled(frame: Any, filled: Any, *, features: tuple[str, ...]) -> None:
    """Compare a completed frame with the one it came from."""
    assert type(filled) is type(frame)
    assert list(filled.columns) == list(frame.columns)
    assert len(filled) == len(frame)
    before, after = cells(frame), cells(filled)
    assert after["note"] == before["note"]
    assert after["churn"] == before["churn"]
    for name in features:
        assert None not in after[name]
        known = [i for i, cell in enumerate(before[name]) if cell is not None]
        assert [after[name][i] for i in known] == [before[name][i] for i in known]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_candidates_of_binned_numbers(library: str) -> None:
    """A number with candidates is filled with one of them, not with another of the same bin."""
    module = pytest.importorskip(library)
    options = [[1.0, 9.0], [2.0], [8.0], [1.5, 5.0], [7.0, 3.0], [9.5], [0.0], [10.0]]
    frame = module.DataFrame({"x": options, "y": list("abababab"), "label": list("AABBABAB")})
    index = CountIndex.from_table(frame, label="label", bins=3, binning="uniform")
    for world in witness(index, (5.0, "a"), alpha=0):
        filled = list(world.complete(frame)["x"])
        assert all(cell in own for cell, own in zip(filled, options, strict=True)), filled


def test_notebooks_show_two_worlds() -> None:
    """Both worlds stand side by side: supports as shares, and how many holes get the point's value."""
    rows = [("<b>", None), ("<b>", "x"), ("<b>", "y"), ("c", "x")]
    index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"], features=["one", "other"])
    pair = witness(index, ("<b>", "y"))
    shown = pair._repr_html_()
    assert "a world that predicts no" in shown
    assert "a world that predicts yes" in shown
    assert "0 like the point&#x27;s y" in shown
    assert "1 like the point&#x27;s y" in shown
    assert "<b>" not in shown.replace("<p><b>", "")
    for world in pair:
        filled = world.complete(rows, ["yes", "yes", "no", "no"])
        assert world.filled().tolist() == [
            [
                sum(
                    a[j] is None and b[j] == world.point[j]
                    for a, b in zip(rows[s], filled[s], strict=True)
                )
                for s in (slice(2, 4), slice(0, 2))
            ]
            for j in range(2)
        ]
