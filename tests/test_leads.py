"""How far winners are ahead at any bias, in floats, against the same in fractions (T10)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.bias_tables import random_holed

from nullproof import leads as leads_module
from nullproof.bias import Groups, share_of
from nullproof.counts.index import LEFT_OUT
from nullproof.leads import Tables, _rounded_down, _two_product, _Whole, floats_do
from nullproof.model import Model
from nullproof.tables.points import Points

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")


def questions(seed: int, n_tables: int) -> Iterator[tuple[Model, Points]]:
    """Random tables with their points, some with a column whose bias is fixed."""
    rng = random.Random(seed)
    for number in range(n_tables):
        holed = random_holed(rng, n_rows=12, own_missing=(0.0, 0.3)[number % 2])
        fixed = {"f0": Fraction(1, 3)} if number % 3 == 0 else {}
        model = Model(holed.index(), holed.alpha, holed.weights, fixed)
        if model.m > 1 and floats_do(model):
            yield model, model.points(list(holed.points) * 2, ("skip", "any")[number // 2 % 2])


def least_ratio(model: Model, points: Points, j: int, code: int, pair: tuple[int, int]) -> Any:
    """The worst factor of a winner over a rival among the candidates of a cell; infinite over nothing."""
    i, k = pair
    sizes = [int(n) + model.alpha * int(model.index.n_values[j]) for n in model.index.label_counts]
    found: list[Any] = []
    for own in points.candidates(j, code):
        least, most = (
            int(counts[0, label])
            for counts, label in (
                (model.low(j, np.array([own])), i),
                (model.high(j, np.array([own])), k),
            )
        )
        if least == LEFT_OUT:
            found.append(Fraction(1))
            continue
        above, below = (least + model.alpha) * sizes[k], (most + model.alpha) * sizes[i]
        found.append(0 if not above else above / below if below else math.inf)
    return min(found)


def exact_lead(model: Model, points: Points, place: int, pair: tuple[int, int]) -> float:
    """The logarithm of the winner's least support over the rival's greatest, by fractions."""
    i, k = pair
    codes = points.codes[:, place].tolist()
    ratios = [least_ratio(model, points, j, code, pair) for j, code in enumerate(codes)]
    if 0 in ratios:
        return -math.inf
    if math.inf in ratios or not model.prior[k]:
        return math.inf
    ratio = math.prod(ratios, start=model.prior[i] / model.prior[k])
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def has_support(model: Model, i: int) -> bool:
    return bool(model.prior[i]) and bool(model.alpha or model.index.label_counts[i])


def drawn_pairs(
    rng: random.Random, model: Model, points: Points
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None:
    """Places, winners that can have support, and rivals."""
    able = [i for i in range(model.m) if has_support(model, i)]
    rivals_of = {i: [k for k in able if k != i] for i in able}
    if len(able) < 2:
        return None
    places = np.array(rng.sample(range(len(points)), rng.randint(1, len(points))))
    winner = np.array([rng.choice(able) for _ in places])
    rival = np.array([rng.choice(rivals_of[int(i)]) for i in winner])
    return places, winner, rival


@pytest.mark.parametrize("wide", [2, 10_000])
def test_leads_are_those_of_fractions(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """T4, T10: at any bias the lead is right within its slack, and so it is for some of the points."""
    monkeypatch.setattr(leads_module, "WIDE", wide)
    rng, n_finite = random.Random(wide), 0
    for model, points in questions(20261117, 60):
        found = drawn_pairs(rng, model, points)
        if found is None:
            continue
        places, winner, rival = found
        pairs = Tables(model, points).pairs(places, winner, rival)
        bias = np.array([rng.choice((rng.random(), rng.random() / 9, 1.0)) for _ in places])
        lead, (again, loss) = pairs.lead(bias), pairs.lead_and_loss(bias)
        assert lead.log.tolist() == again.log.tolist()
        assert lead.n_cells.tolist() == again.n_cells.tolist()
        assert loss.shape == bias.shape
        for row, place in enumerate(places.tolist()):
            at = model.biased(Fraction(float(bias[row])))
            expected = exact_lead(at, points, place, (int(winner[row]), int(rival[row])))
            if math.isfinite(expected):
                n_finite += 1
                assert abs(lead.log[row] - expected) <= pairs.slack[row] < 1e-9
            else:
                assert lead.log[row] == expected
        some = np.flatnonzero([rng.random() < 0.6 for _ in places])
        part = pairs.at(some).lead(bias[some])
        assert part.log.tolist() == lead.at(some).log.tolist()
        assert part.n_cells.tolist() == lead.at(some).n_cells.tolist()
    assert n_finite > 60


def test_cells_moved_are_the_jumps_of_counts() -> None:
    """From one bias to a greater one every count that moves by a cell is one jump."""
    rng, n_moved = random.Random(2), 0
    for model, points in questions(20261118, 60):
        complete = points.take(np.flatnonzero(points.complete))
        found = drawn_pairs(rng, model, complete) if len(complete) else None
        if found is None:
            continue
        places, winner, rival = found
        pairs = Tables(model, complete).pairs(places, winner, rival)
        less, more = sorted((rng.random(), rng.random()))
        moved = [pairs.lead(np.full(len(places), bias)).n_cells for bias in (less, more, 1.0)]
        assert moved[2].tolist() == pairs.lost().n_cells.tolist()
        assert np.isneginf(pairs.lost().log).all()
        before, after = (model.biased(Fraction(bias)) for bias in (less, more))
        for row, place in enumerate(places.tolist()):
            expected = 0
            for j in range(model.d):
                code = complete.codes[j, [place]]
                fell = before.low(j, code) - after.low(j, code)
                rose = after.high(j, code) - before.high(j, code)
                expected += int(fell[0, winner[row]]) + int(rose[0, rival[row]])
            assert moved[1][row] - moved[0][row] == expected
            n_moved += expected
    assert n_moved > 20


def test_all_counts_at_some_biases() -> None:
    """The tables of least and greatest counts, smoothed, row by row."""
    rng = random.Random(3)
    for model, points in questions(20261119, 25):
        tables = Tables(model, points)
        biases = np.array([rng.random(), 1.0, rng.random()])
        some = slice(model.m, len(tables.low))
        (least, most), (fewest, greatest) = tables.at(biases, slice(None))
        assert (least == tables.low[:, None] + fewest).all()
        assert (most == tables.high[:, None] + greatest).all()
        assert (tables.at(biases, some)[0][0] == least[some]).all()
        assert (tables.at(biases, some)[1][1] == greatest[some]).all()
        for number, bias in enumerate(biases.tolist()):
            at, start = model.biased(Fraction(bias)), 0
            for j in range(model.d):
                codes = np.arange(int(model.index.n_values[j]) + 1)
                rows = slice(start, start + len(codes) * model.m)
                alpha = float(model.alpha)
                low, high = at.low(j, codes) + alpha, at.high(j, codes) + alpha
                assert least[rows, number] == pytest.approx(low.ravel())
                assert most[rows, number] == pytest.approx(high.ravel())
                # One more row for a feature that is left out.
                start += (len(codes) + 1) * model.m


def below(exact: Fraction) -> float:
    """The greatest double that is not above a fraction."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def test_quotients_are_rounded_down() -> None:
    """The greatest double not above, also where the nearest is above, and zero without a sign."""
    rng = np.random.default_rng(4)
    above = rng.integers(0, 2**53, 2000).astype(float)
    under = rng.integers(1, 2**53, 2000).astype(float)
    small = rng.integers(0, 50, (2, 500)).astype(float)
    for a, b in ((above, under), (np.minimum(above, under), under), (small[0], small[1] + 1)):
        found = _rounded_down(a, b)
        assert found.tolist() == [
            below(Fraction(int(x), int(y))) for x, y in zip(a, b, strict=True)
        ]
    assert str(_rounded_down(np.array([-0.0]), np.array([3.0])).tolist()) == "[0.0]"
    minus = _rounded_down(np.array([-1.0, -2.0]), np.array([3.0, 7.0]))
    assert minus.tolist() == [below(Fraction(-1, 3)), below(Fraction(-2, 7))]


def test_products_with_their_error() -> None:
    """The rounded product and what rounding took away are the exact product together."""
    rng = np.random.default_rng(5)
    a, b = rng.random(500), rng.integers(1, 2**53, 500).astype(float)
    product, error = _two_product(a, b)
    assert product.tolist() == (a * b).tolist()
    for x, y, rounded, rest in zip(a, b, product, error, strict=True):
        assert Fraction(rounded) + Fraction(rest) == Fraction(x) * Fraction(y)


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1), Fraction(2, 3), Fraction(1, 10**9)])
@pytest.mark.parametrize("scale", [1, 10**8])
def test_jumps_are_rounded_down(alpha: Fraction, scale: int) -> None:
    """The bias up to which a count of cells is reached, exactly, however large the numbers are."""
    rng = random.Random(f"{alpha} {scale}")
    columns: list[list[int]] = []
    for _ in range(60):
        of = rng.choice((0, rng.randint(0, 5) * scale + rng.randint(0, 3)))
        one, n = rng.randint(0, of), rng.randint(1, 9 * scale)
        columns.append([one, n, of, rng.randint(2, 5), rng.randint(0, n)])
    known, n_cells, n_known, n_candidates, cells = (
        np.array(own, dtype=np.int64)[:, None] for own in zip(*columns, strict=True)
    )
    whole = _Whole.of(Groups(known, n_cells, n_known, n_candidates), alpha)
    places = np.array(rng.sample(range(60), 40))
    for sign in (1, -1):
        found = whole.jump(places, sign, cells.ravel()[places].astype(float), alpha)
        for place, jump in zip(places.tolist(), found.tolist(), strict=True):
            one, n, of, size, held = columns[place]
            share = Fraction(*share_of(one, of, size, alpha))
            assert jump == below(sign * (Fraction(held, n) - share))
    part = whole.take(places)
    assert part.n_cells.tolist() == n_cells.ravel()[places].tolist()


def test_where_floats_do() -> None:
    """Without smoothing, and with smoothing from a billionth to a billion."""
    index = random_holed(random.Random(1)).index()
    billion = 10**9
    for alpha, do in (
        (0, True),
        (1, True),
        (Fraction(1, billion), True),
        (Fraction(1, billion + 1), False),
        (billion, True),
        (billion + 1, False),
        (Fraction(1, 10**400), False),
    ):
        assert floats_do(Model(index, alpha)) is do
    tiny = [Fraction(1, 10**400), *[Fraction(1)] * (len(index.labels) - 1)]
    assert not floats_do(Model(index, 1, tiny))
