"""witness: two completed tables that anyone can check, one of which speaks against the other.

CategoricalNB, trained on such tables, knows neither missing cells nor nullproof.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.naive_bayes import CategoricalNB
from support import oracle
from support.bias_oracle import Bias, OwnMissing
from support.bias_tables import Holed, random_bias, random_holed, random_mapping, random_world

from nullproof import CountIndex, NullproofError, certify, tolerance, witness

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_CHUNKS = 4
N_TABLES = 150  # in a chunk
SEED = 20240606
READINGS: tuple[OwnMissing, ...] = ("skip", "any")
ROWS: list[tuple[Any, ...]] = [
    ("a", None, "p"),
    ("a", "x", None),
    ("a", "y", "p"),
    ("b", "x", "q"),
    (None, "y", "q"),
    ("b", {"x", "y"}, "p"),
]
LABELS = ["yes", "yes", "no", "no", "no", "yes"]


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


def test_spelled_missing_cells_of_the_point() -> None:
    """A cell of the point that only spells missing is completed like any other missing cell."""
    rows, labels = [("a", "?"), ("b", "x"), ("a", "y"), ("b", "x")], ["A", "B", "A", "B"]
    index = CountIndex.from_rows(rows, labels, missing=("?",))
    first, second = witness(index, ("?", "x"), own_missing="any", alpha=0)
    assert {first.point[0], second.point[0]} <= {"a", "b"}
    assert first.winners != second.winners


# Within a bias ---------------------------------------------------------------------------------


def check_world(holed: Holed, point: Any, world: Any, bias: Bias, reading: OwnMissing) -> Any:
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
            power = 1 if holed.eighths is None else 8
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
        judge, index, reading = holed.judge(), holed.index(), rng.choice(READINGS)
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


def test_witness_within_a_bias_by_hand() -> None:
    """Just above 2/3 all three holes of A may be b's, which ties; at 2/3 there is no witness."""
    rows = [("a",), *[(None,)] * 3, ("a",)]
    labels = list("AAAAB")
    index = CountIndex.from_rows(rows, labels, domains={"x0": ["a", "b"]})
    with pytest.raises(NullproofError):
        witness(index, ("a",), alpha=0, bias=Fraction(2, 3))
    worlds = witness(index, ("a",), alpha=0, bias=0.67)
    n_a = sorted(world.complete(rows, labels).count(("a",)) for world in worlds)
    assert n_a[0] == 2
    assert ("A", "B") in {tuple(sorted(world.winners)) for world in worlds}


# Proof by scikit-learn ----------------------------------------------------------------------------


def told_by_categorical_nb(holed: Holed, world: Sequence[Any], point: Sequence[Any]) -> Any:
    """The label that CategoricalNB predicts in a world, None for a tie (or all but)."""
    best, *others = sorted(holed.supports(world, point).values(), reverse=True)
    if any(best <= other * Fraction(1_000_001, 1_000_000) for other in others):
        return None
    kept = [j for j, cell in enumerate(point) if cell is not None]
    if not kept:
        return None
    places = [{value: code for code, value in enumerate(holed.domains[j])} for j in kept]

    def codes(row: Sequence[Any]) -> list[int]:
        return [place[row[j]] for place, j in zip(places, kept, strict=True)]

    weights = holed.weights
    model = CategoricalNB(
        alpha=float(holed.alpha),
        fit_prior=weights is None,
        class_prior=(
            [float(holed.prior[x]) for x in holed.names] if isinstance(weights, list) else None
        ),
        min_categories=[len(place) for place in places],
    )
    model.fit(np.array([codes(row) for row in world]), list(holed.labels))
    return model.predict(np.array([codes(point)]))[0]


def known_to(holed: Holed, point: Sequence[Any]) -> bool:
    """Whether every value of a point is in its domain: CategoricalNB fails at others."""
    return all(
        cell is None or cell in domain for cell, domain in zip(point, holed.domains, strict=True)
    )


def smoothed(rng: random.Random, own_missing: float) -> Holed:
    """Draw a table that CategoricalNB can be trained on: smoothing, and rows for every label."""
    while True:
        holed = random_holed(rng, own_missing=own_missing, only_text=True)
        if holed.alpha >= 0.1:
            return holed


def test_categorical_nb_disagrees_on_witness_worlds() -> None:
    """Trained on the two witness worlds of a point, CategoricalNB contradicts itself or ties."""
    rng = random.Random(SEED)
    n_disagree = 0
    with config_context(skip_parameter_validation=True):
        for _ in range(100):
            holed = smoothed(rng, 0.2)
            index, reading = holed.index(), rng.choice(READINGS)
            bias = random_bias(rng, holed.judge())
            for point in holed.points:
                try:
                    worlds = witness(index, point, bias=bias, own_missing=reading, **holed.options)
                except NullproofError:
                    continue
                if not all(known_to(holed, world.point) for world in worlds):
                    continue
                told = [
                    told_by_categorical_nb(
                        holed, world.complete(holed.rows, holed.labels), world.point
                    )
                    for world in worlds
                ]
                for world, label in zip(worlds, told, strict=True):
                    assert label is None or world.winners == (label,), holed
                assert None in told or told[0] != told[1], (point, bias, holed)
                n_disagree += None not in told
    assert n_disagree > 10


def test_categorical_nb_agrees_within_the_tolerance() -> None:
    """Random completions within its tolerance never change what CategoricalNB says of a point."""
    rng = random.Random(SEED)
    n_agreed = 0
    with config_context(skip_parameter_validation=True):
        for _ in range(80):
            holed = smoothed(rng, 0.2)
            index, points = holed.index(), list(holed.points)
            d = len(holed.features)
            for point, number in zip(
                points, tolerance(index, points, **holed.options).tolist(), strict=True
            ):
                if not number >= 0 or (number == 1 and rng.random() < 0.7):
                    continue
                label = certify(index, point, bias=number, **holed.options).label
                assert label is not None
                for _ in range(3):
                    world = random_world(rng, holed, (Fraction(number),) * d)
                    assert holed.is_world(world, (Fraction(number),) * d)
                    completed = tuple(
                        rng.choice(sorted(cell)) if isinstance(cell, frozenset) else cell
                        for cell in point
                    )
                    if known_to(holed, completed):
                        told = told_by_categorical_nb(holed, world, completed)
                        assert told in (label, None), (point, number, world, holed)
                        n_agreed += told is not None
    assert n_agreed > 50


# By hand --------------------------------------------------------------------------------


def filled_by_hand(world: Any) -> list[list[int]]:
    """How many holes of each label and feature hold the point's value, cell by cell."""
    completed = world.complete(ROWS, LABELS)
    return [
        [
            sum(
                before[j] != after[j] and after[j] == world.point[j]
                for before, after, own in zip(ROWS, completed, LABELS, strict=True)
                if own == label
            )
            for label in ("no", "yes")
        ]
        for j in range(3)
    ]


@pytest.mark.parametrize("own_missing", ["skip", "any"])
def test_holes_that_hold_the_value_of_the_point(own_missing: Any) -> None:
    """What a world says it fills is what it fills."""
    index = CountIndex.from_rows(ROWS, LABELS)
    n_open = 0
    for point in (("a", "y", "p"), ("b", "x", "q"), ("a", "y", None), ({"a", "b"}, "x", "p")):
        if not certify(index, point, own_missing=own_missing).certain:
            n_open += 1
            for world in witness(index, point, own_missing=own_missing):
                found = world.filled()
                known = [j for j, cell in enumerate(world.point) if cell is not None]
                expected = filled_by_hand(world)
                assert [found[j].tolist() for j in known] == [expected[j] for j in known]
    assert n_open > 1


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
    """The first world raises the possible label with the greatest least support, the other its rival."""
    rows = (
        [("a",)] * 5
        + [(None,), ("b",)]
        + [("a",)] * 3
        + [(None,)] * 4
        + [("a",)] * 2
        + [(None,)] * 2
    )
    labels = ["A"] * 7 + ["B"] * 7 + ["C"] * 4
    index = CountIndex.from_rows(rows, labels)
    one, other = witness(index, ("a",), alpha=0)
    assert one.winners == ("A",)
    assert other.winners == ("B",)
    assert certify(index, ("a",), alpha=0).possible == ("A", "B")
    # Of two rivals that may win, the one with the greatest support is taken, whatever its name.
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


def test_values_of_a_domain_of_one() -> None:
    """Where a domain has one value, a missing cell holds it, whatever the point has."""
    rows = [("a", "x"), (None, "y"), ("a", None), (None, "x")]
    labels = list("ABAB")
    index = CountIndex.from_rows(rows, labels)
    for point in (("a", "x"), ("z", "x"), ("z", "y")):
        if not certify(index, point, alpha=1).certain:
            for world in witness(index, point, alpha=1):
                completed = world.complete(rows, labels)
                assert [row[0] for row in completed] == ["a"] * 4


def test_binned_candidates_of_a_point_and_of_rows() -> None:
    """A candidate within the right bin is taken, also where a cell without bins has candidates."""
    frame = pl.DataFrame(
        {"n": [[1.0, 9.0], [2.0], [8.0], [1.5, 5.0]], "w": ["u", "v", None, "u"], "y": list("AABB")}
    )
    index = CountIndex.from_table(frame, "y", bins=3, binning="uniform")
    for world in witness(index, ({9.0, 1.0}, "u"), alpha=0, own_missing="any"):
        assert world.point[0] in (1.0, 9.0)
        filled = world.complete(frame)
        for cell, own in zip(filled["n"].to_list(), frame["n"].to_list(), strict=True):
            assert cell in own
        assert filled["w"].to_list()[2] in ("u", "v")
        counted = CountIndex.from_table(filled, "y", like=index)
        assert {*certify(counted, world.point, alpha=0).possible} == {*world.winners}
    one, other = witness(index, (9.0, "u"), alpha=0)
    assert {one.complete(frame)["n"][0], other.complete(frame)["n"][0]} == {1.0, 9.0}


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


def test_notebooks_show_both_worlds() -> None:
    """Supports are shares of the greatest; only missing cells that the worlds fill differently are told."""
    index = CountIndex.from_rows([(*row, None if row[0] else "z") for row in ROWS], LABELS)
    pair = witness(index, ("a", "y", "p", "z"))
    shown = pair._repr_html_()
    supports = re.findall(r"<tr><td>(no|yes)</td><td>(.*?)</td><td>(.*?)</td></tr>", shown)
    assert [name for name, *_ in supports] == ["no", "yes"]
    for name, *shares in supports:
        for world, share in zip(pair, shares, strict=True):
            greatest = max(world.log_supports.values())
            expected = 100 * math.exp(world.log_supports[name] - greatest)
            assert float(share.split()[0]) == pytest.approx(expected, abs=0.06)
    cells = re.findall(r"<tr><td>(x\d)</td><td>(no|yes)</td><td>(\d+)</td>", shown)
    apart = pair[0].filled() - pair[1].filled()
    told = {(int(name[1:]), ("no", "yes").index(label)) for name, label, _ in cells}
    assert told == {*zip(*map(np.ndarray.tolist, np.nonzero(apart)), strict=True)}
    assert len(told) > 1
    sizes = [abs(int(apart[int(name[1:]), ("no", "yes").index(label)])) for name, label, _ in cells]
    assert sizes == sorted(sizes, reverse=True)
    tied = CountIndex.from_rows([("a",), ("a",), ("b",)], list("ABC"))
    both = witness(tied, ("a",), alpha=0)._repr_html_()
    assert re.findall(r"a world that (ties A and B.*?)<", both) == [
        "ties A and B",
        "ties A and B, too",
    ]


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
            assert counted.n_missing == 0
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
