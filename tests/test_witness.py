"""Witnesses piece by piece: few worlds within a bias, every form of a point, and what notebooks show."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support import oracle
from support.bias_tables import random_holed

from nullproof import CountIndex, NullproofError, certify, witness
from nullproof.model import Model
from nullproof.verdicts import point_counts, verdicts
from nullproof.worlds import disagreeing, favouring

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
ROWS: list[tuple[Any, ...]] = [
    ("a", None, "p"),
    ("a", "x", None),
    ("a", "y", "p"),
    ("b", "x", "q"),
    (None, "y", "q"),
    ("b", {"x", "y"}, "p"),
]
LABELS = ["yes", "yes", "no", "no", "no", "yes"]


@pytest.mark.parametrize("bias", [Fraction(1), Fraction(1, 4), Fraction(0)])
def test_few_witnesses_within_a_bias(bias: Fraction) -> None:
    """T9: both worlds are worlds of the bias with the winners and supports they claim, and disagree."""
    rng, n_witnessed = random.Random(int(60 * bias)), 0
    for number in range(40):
        holed = random_holed(rng, own_missing=0.2)
        index, reading = holed.index(), ("skip", "any")[number % 2]
        options: dict[str, Any] = {"bias": bias, "own_missing": reading, **holed.options}
        for point in holed.points:
            if certify(index, point, **options).certain:
                continue
            worlds = witness(index, point, **options)
            told = []
            for world in worlds:
                completed = world.complete(holed.rows, holed.labels)
                assert holed.is_world(completed, (bias,) * len(holed.domains))
                for cell, given, domain in zip(world.point, point, holed.domains, strict=True):
                    left_out = given is None and reading == "skip"
                    assert cell is None if left_out else cell in oracle.candidates(given, domain)
                values = holed.supports(completed, world.point)
                assert frozenset(world.winners) == oracle.winners(values)
                for label, support in values.items():
                    log = math.log(support) if support else -math.inf
                    assert world.log_supports[label] == pytest.approx(log, abs=1e-9)
                told.append({*world.winners})
            assert told[0] != told[1] or len(told[0]) > 1
            n_witnessed += 1
    assert n_witnessed > 15


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


def test_counts_that_are_known_need_not_be_found_again() -> None:
    """Worlds from given counts are those from counts that are looked up."""
    index = CountIndex.from_rows(ROWS, LABELS)
    model = Model(index, 1)
    points = model.points(("a", "y", "p"))
    found = verdicts(model, points)
    cells = ("a", "y", "p")
    plain = disagreeing(model, points, found, cells)
    given = disagreeing(model, points, found, cells, point_counts(model, points, 0))
    for one, other in zip(plain, given, strict=True):
        assert (one.winners, one.raised, one.codes) == (other.winners, other.raised, other.codes)
        assert one.log_supports == other.log_supports


def table_after(shown: str, headline: str) -> list[list[str]]:
    """The cells of the table below a headline, its own first row included."""
    part = shown[shown.index(headline) :].split("</table>")[0]
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in part.split("<tr>")[1:]]


def test_notebooks_show_shares_and_holes() -> None:
    """Supports as shares of the greatest, and holes by how differently they are filled."""
    index = CountIndex.from_rows(ROWS, LABELS)
    pair = witness(index, ("a", "y", "p"))
    shown = pair._repr_html_()
    names = [f"a world that {world.verdict}" for world in pair]
    head, *rows = table_after(shown, "Two worlds")
    assert head == ["support of", *names]
    for name, *shares in rows:
        for world, share in zip(pair, shares, strict=True):
            greatest = max(world.log_supports.values())
            expected = 100 * math.exp(world.log_supports[name] - greatest)
            assert float(share.split()[0]) == pytest.approx(expected, abs=0.06)
    head, *rows = table_after(shown, "Holes that they fill")
    counts = [world.filled() for world in pair]
    apart = np.abs(counts[0] - counts[1])
    assert len(rows) == (apart > 0).sum()
    differences = []
    for feature, label, n_missing, *texts in rows:
        j, i = index.features.index(feature), index.labels.index(label)
        assert int(n_missing) == index.n_open[j, i]
        assert [int(text.split()[0]) for text in texts] == [own[j, i] for own in counts]
        differences.append(int(apart[j, i]))
    assert differences == sorted(differences, reverse=True)
    # A label without any support beside others that have some.
    some = CountIndex.from_rows(
        [("a",), (None,), ("a",), ("b",)], list("AABC"), domains={"x0": ["b"]}
    )
    shown_rows = table_after(witness(some, ("a",), alpha=0)._repr_html_(), "Two worlds")[1:]
    columns = [[row[side].split()[0] for row in shown_rows] for side in (1, 2)]
    for column in columns:
        assert "100" in column
        assert column[2] == "0"
    # Holes that both worlds fill alike are not told: a domain of one value leaves them no choice.
    alike = CountIndex.from_rows([(*row, None if row[0] else "z") for row in ROWS], LABELS)
    told = table_after(witness(alike, ("a", "y", "p", "z"))._repr_html_(), "Holes that they fill")[
        1:
    ]
    assert {row[0] for row in told} <= {"x0", "x1", "x2"}
    # Two worlds with the same verdict have columns of their own.
    tied = CountIndex.from_rows([("a",), ("a",), ("b",)], list("ABC"))
    both = witness(tied, ("a",), alpha=0)._repr_html_()
    assert "a world that ties A and B, too" in both
    nothing = CountIndex.from_rows([("a", "x"), ("b", "y")], ["A", "B"])
    zero = witness(nothing, ("a", "y"), alpha=0)
    assert [world.verdict for world in zero] == ["ties A and B"] * 2
    rows = table_after(zero._repr_html_(), "Two worlds")[1:]
    assert [row[1:] for row in rows] == [["0\N{NO-BREAK SPACE}%"] * 2] * 2


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


def test_cells_are_shared_out_within_the_bias() -> None:
    """No value gets more of the open cells than the bias allows it, nor fewer."""
    rows = [("a",), ("b",), ("c",), *[(None,)] * 6, ("a",), ("b",)]
    labels = ["A"] * 9 + ["B"] * 2
    model = Model(CountIndex.from_rows(rows, labels), 0, bias=Fraction(1, 6))
    # A third of six cells, give or take one: from one to three of each value.
    for raised, own in ((1, 1), (0, 3)):
        world = favouring(model, ("a",), [0], raised)
        filled = [row[0] for row in world.complete(rows, labels)][3:9]
        assert filled.count("a") == own
        assert all(1 <= filled.count(value) <= 3 for value in "abc")


def test_a_value_that_is_unseen_is_not_written() -> None:
    """A cell that is not known any more, at a value outside the domain, has nothing to show."""
    model = Model(CountIndex.from_rows([("a",), ("b",)], ["A", "B"]), 1)
    assert [favouring(model, (None,), [code], 0).point for code in (1, 2, 3)] == [
        ("b",),
        (None,),
        (None,),
    ]


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


def test_worlds_keep_nanoseconds() -> None:
    """A hole is filled with a value of the column, not with that value cut down to its microsecond."""
    ticks = pl.Series([1, 1001, 1001, 5005, None, None, None, None]).cast(pl.Datetime("ns"))
    table = pl.DataFrame({"x": ticks, "y": list("aabbabab")})
    index = CountIndex.from_table(table, label="y", binning="none")
    for world in witness(index, (np.datetime64(1001, "ns"),)):
        filled = world.complete(table)["x"].to_physical().to_list()
        assert filled[:4] == [1, 1001, 1001, 5005]
        assert {*filled} == {1, 1001, 5005}
