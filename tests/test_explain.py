"""explain: each term against the counts of enumerated worlds, and the whole against the verdicts."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd
import pytest
from support import oracle
from support.amounts import n_tables, seeded
from support.bias_oracle import READINGS, Bias, Judge, OwnMissing, shortened
from support.bias_tables import random_holed, random_mapping
from support.counted import fitted, index_of
from support.refusing import refuses
from support.strategies import Case

from nullproof import CountIndex, certify, explain

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
N_TABLES = n_tables(100, least=30)

ROWS = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
LABELS = ["yes", "yes", "no", "no"]


# The oracle ---------------------------------------------------------------------------------------


def logarithm(above: Fraction, below: Fraction, nothing: float) -> float:
    """The logarithm of a quotient; ``nothing`` where both are 0."""
    if not above or not below:
        return nothing if above == below else math.inf if above else -math.inf
    return math.log(above / below)


def least(pairs: Iterable[tuple[Fraction, ...]]) -> float:
    """The least logarithm: a label without support is behind everything."""
    return min(logarithm(above, below, -math.inf) for above, below in pairs)


def shares(judge: Judge, label: Any, j: int, value: Any, bias: Bias) -> list[Fraction]:
    """What one feature multiplies the support of a label by, in every world of the bias."""
    size = judge.n_rows[label] + judge.alpha * len(judge.domains[j])
    if not size:
        return [Fraction(0)]
    return [(count + judge.alpha) / size for count in judge.counts(label, j, value, bias[j])]


def least_term(
    judge: Judge, j: int, cell: Any, pair: tuple[Any, Any], bias: Bias, reading: OwnMissing
) -> float:
    """The least that a cell adds to the lead of the first label, over all worlds and its own values."""
    weight = judge.exponents[1 + j] / judge.exponents[0]
    if not weight or (cell is None and reading == "skip"):
        sizes = [judge.n_rows[label] + judge.alpha for label in pair]
        return least([(Fraction(bool(sizes[0])), Fraction(bool(sizes[1])))])
    return weight * min(
        least(itertools.product(*(shares(judge, label, j, value, bias) for label in pair)))
        for value in oracle.candidates(cell, judge.domains[j])
    )


def least_lead(
    judge: Judge, point: Any, pair: tuple[Any, Any], bias: Bias, reading: OwnMissing
) -> float:
    """The least lead of the first label over all worlds and completions, from whole supports."""
    kept, points = shortened(point, judge.domains, reading)
    power = min(
        least(itertools.product(*(judge.supports(label, kept, own, bias) for label in pair)))
        for own in points
    )
    return power / judge.exponents[0]


class Asked(NamedTuple):
    """A random table, and the explanations of its points against a random rival."""

    holed: Case
    judge: Judge
    bias: Bias
    reading: OwnMissing
    found: Any  # the certificates of its points
    told: list[Any]  # an explanation of each


@functools.cache
def tables() -> list[Asked]:
    """The random tables of this file."""
    rng = seeded("explain")
    return [asked(rng) for _ in range(N_TABLES)]


def asked(rng: random.Random) -> Asked:
    """Draw a table and ask."""
    weighted = rng.random() < 0.5
    holed = random_holed(rng, n_rows=9, own_missing=0.2, weighted=weighted)
    while len(holed.names) < 2:
        holed = random_holed(rng, n_rows=9, own_missing=0.2, weighted=weighted)
    judge, reading = holed.judge(), rng.choice(READINGS)
    mapping, bias = random_mapping(rng, holed, judge)
    options = {**holed.options, "bias": mapping, "own_missing": reading}
    found = certify(index_of(holed), list(holed.points), **options)
    told = []
    for one in found:
        first = one.explain()
        rival = rng.choice([None, *first.leads])
        told.append(first if rival is None else one.explain(rival=rival))
    return Asked(holed, judge, bias, reading, found, told)


# Laws on random tables ----------------------------------------------------------------------------


def test_terms_and_leads_are_those_of_the_enumerated_worlds() -> None:
    """Each least and greatest term, and the whole lead, is the extreme over all worlds of the bias."""
    for holed, judge, bias, reading, _, told in tables():
        for point, one in zip(holed.points, told, strict=True):
            pair = one.label, one.rival
            for j, term in enumerate(one.terms):
                own = least_term(judge, j, point[j], pair, bias, reading)
                other = least_term(judge, j, point[j], pair[::-1], bias, reading)
                assert term.lead.least == pytest.approx(own, abs=1e-12), holed
                assert term.lead.greatest == pytest.approx(-other, abs=1e-12), holed
            for rival, lead in one.leads.items():
                own = least_lead(judge, point, (one.label, rival), bias, reading)
                other = least_lead(judge, point, (rival, one.label), bias, reading)
                assert lead.least == pytest.approx(own, abs=1e-12), holed
                assert lead.greatest == pytest.approx(-other, abs=1e-12), holed


def test_the_reference_is_the_estimate_that_predict_uses() -> None:
    """The reference lead is the logarithm of a quotient of probabilities, for every rival."""
    n_compared = 0
    for number in range(60):
        rng = seeded(number)
        holed = random_holed(rng, own_missing=0.2, only_text=True, weighted=number % 2 == 0)
        if len(holed.names) < 2:
            continue
        model = fitted(holed)
        points = list(holed.points)
        logs, found = model.predict_log_proba(points), model.certify(points)
        for own, certificate in zip(logs, found, strict=True):
            one = certificate.explain()
            assert certificate.predicted in (None, one.label)
            by_label = dict(zip(model.classes_.tolist(), own.tolist(), strict=True))
            for rival, lead in one.leads.items():
                if math.isfinite(lead.reference):
                    expected = by_label[one.label] - by_label[rival]
                    assert lead.reference == pytest.approx(expected, abs=1e-9), holed
                    n_compared += 1
    assert n_compared > 60


def test_terms_add_up_and_the_reference_lies_between() -> None:
    """Prior and terms sum to the lead in each column; least ≤ reference ≤ greatest in every row.

    Infinite terms, where a label is ruled out, make the whole infinite.
    """
    for *_, told in tables():
        for one in told:
            columns, total = one.columns(), one.total
            for name, whole in total._asdict().items():
                if all(map(math.isfinite, columns[name])):
                    assert whole == pytest.approx(math.fsum(columns[name]), abs=1e-9)
                else:
                    assert not math.isfinite(whole)
            for lead in (total, *(term.lead for term in one.terms)):
                if not math.isnan(lead.reference):
                    assert lead.least - 1e-12 <= lead.reference <= lead.greatest + 1e-12


def test_leads_agree_with_the_verdicts() -> None:
    """A label is certain iff all its least leads are above 0, and possible iff no greatest is below 0."""
    n_certain = 0
    for holed, _, _, _, found, told in tables():
        for one, certificate in zip(told, found, strict=True):
            assert one.certain == certificate.certain
            assert one.nearest == certificate.explain().rival
            assert (one.leads[one.nearest].least > 0) == one.certain
            for label in holed.names:
                other = certificate.explain(label=label)
                possible = all(lead.greatest >= 0 for lead in other.leads.values())
                assert possible == (label in certificate.possible), holed
            n_certain += one.certain
    assert n_certain > N_TABLES // 4


# Examples -----------------------------------------------------------------------------------------


def index() -> CountIndex:
    return CountIndex.from_rows(ROWS, LABELS)


def test_cells_that_are_left_out_or_never_seen() -> None:
    """A hole adds nothing and says so; a value never seen counts for nobody."""
    with pytest.warns(match="never occur"):
        one = explain(index(), (None, "new"))
    assert [term.cell.shown for term in one.terms] == ["not known: left out", "new (never seen)"]
    assert [term.lead for term in one.terms] == [(0.0,) * 3] * 2
    assert "not known: any value" in repr(explain(index(), (None, "x"), own_missing="any"))
    assert explain(index(), ({"a", "b"}, "x")).terms[0].cell.shown == "a or b"


def test_without_smoothing_a_cell_rules_labels_out() -> None:
    """With alpha 0 a count of 0 is an infinite factor, in words and in JSON."""
    one = explain(index(), ("b", "x"), alpha=0)
    assert one.label == "no"
    assert one.terms[0].lead == (math.inf,) * 3
    assert "rules yes out" in repr(one)
    told = one.document()["terms"][1]
    assert (told["feature"], told["least"], told["said"]) == ("x0", None, "rules yes out")
    with pytest.warns(match="ties at zero"):
        nobody = explain(index(), ("new", "x"), alpha=0)
    assert nobody.said(nobody.total.reference) == "rules both out"
    assert nobody.document()["total"]["said"].startswith("rules both out")


def test_frames_files_and_pictures() -> None:
    """The frame has the library of the point; JSON is strict; the picture has a bar for each cell."""
    table = pd.DataFrame(ROWS, columns=["u", "v"]).assign(label=LABELS)
    counted = CountIndex.from_table(table, label="label", keep=["u", "v"])
    one = explain(counted, table.drop(columns="label").iloc[[1]])
    frame = one.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["kind"]) == ["prior", "known", "known"]
    assert frame["least"].sum() == pytest.approx(one.total.least)
    document = json.loads(json.dumps(one.document(), allow_nan=False))
    assert (document["label"], document["rivals"][0]["label"]) == ("yes", "no")
    columns = {name: [row[name] for row in document["terms"]] for name in frame}
    assert columns == one.columns()
    said = "× 2.00 for yes (× 1.50 for yes to × 2.25 for yes)"
    assert document["total"] == {**one.total._asdict(), "said": said}
    picture = one._repr_html_()
    assert picture.count("<rect") == 3
    assert "<b>" not in explain(counted, ("a", "x"))._repr_html_()


test_mistakes = refuses(
    "Two points, an unknown label, a label against itself, a single label.",
    lambda counted, point, rival: explain(counted, point, rival=rival),
    (index(), [("a", "x"), ("a", "y")], None, r"takes one point but got 2; .*\.explain\(\)"),
    (index(), ("a", "x"), "maybe", "the rival is 'maybe'; give one of 'no', 'yes'"),
    (index(), ("a", "x"), "yes", "both 'yes'; give two labels"),
    (CountIndex.from_rows([("a",)], ["yes"]), ("a",), None, "the only label is 'yes'"),
)
