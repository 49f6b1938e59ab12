"""The terms of supports by chance: logarithms, constants and Chernoff exponents by their definitions."""

from __future__ import annotations

import math
import random
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.count_tables import index_from_counts, random_index

from nullproof import CountIndex
from nullproof.counts.index import LEFT_OUT
from nullproof.model import Model
from nullproof.odds import terms as terms_module
from nullproof.odds.filling import Count, Filling, count_of
from nullproof.odds.terms import SLOPES, Table, Term, Terms, exponents, reaches

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")

ALPHAS: tuple[Any, ...] = (0, 1, Fraction(1, 3), Fraction(1, 10**400))


def log_of(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_terms_and_constants_make_supports(alpha: Any) -> None:
    """Without open cells a label's constant and its terms add up to its log support."""
    rng = random.Random(f"terms-{alpha}")
    for _ in range(15):
        index = random_index(rng, 12)
        known = [index.known[j].at(np.arange(n)[:, None], np.arange(len(index.labels)))
                 for j, n in enumerate(index.n_values.tolist())]  # fmt: skip
        index = index_from_counts(np.sum(known[0], axis=0).tolist(), [known[0]])
        prior: Any = rng.choice([None, [2.0, 1.0, 0.0, 3.0][: len(index.labels)]])
        model = Model(index, alpha, prior)
        terms = Terms(model, Filling(index), 1e-9)
        constants, magnitudes = terms.constants
        for code in range(int(index.n_values[0]) + 2):
            found = terms.of(0, code)
            assert terms.of(0, code) is found
            for i, term in enumerate(found):
                counts = index.high(0, np.array([code]))[0]
                support = model.support(i, [int(counts[i])])
                if term.zero or constants[i] == -math.inf:
                    assert support == 0
                    continue
                assert constants[i] + term.logs[0] == pytest.approx(log_of(support), abs=1e-9)
                assert magnitudes[i] >= abs(constants[i]) - 1e-9
                assert term.magnitude >= abs(float(term.logs[0])) - 1e-12


def test_terms_of_open_cells() -> None:
    """A term has the logarithm of each count, with its chance; a count of 0 without smoothing is apart."""
    rows: list[tuple[Any, ...]] = [("a",), (None,), (None,), ("b",), (None,), ("c",), (None,)]
    index = CountIndex.from_rows(rows, ["A", "A", "A", "A", "B", "B", "B"])
    for alpha in (0, 1):
        model, filling = Model(index, alpha), Filling(index)
        terms = Terms(model, filling, 1e-12)
        for code in range(3):
            for i, term in enumerate(terms.of(0, code)):
                low = int(filling.low(0, code)[i])
                count = count_of(low, filling.open(0, code)[i], 1e-12)
                counts = [count.first + k for k in range(len(count.probs))]
                finite = [(n, p) for n, p in zip(counts, count.probs, strict=True) if n + alpha]
                assert term.logs == pytest.approx([math.log(n + alpha) for n, _ in finite])
                assert term.probs.tolist() == [p for _, p in finite]
                assert term.zero == pytest.approx(1 - sum(p for _, p in finite), abs=1e-12)
                assert term.count.first == count.first
                expected = max((abs(math.log(n + alpha)) for n, _ in finite), default=0.0)
                assert term.magnitude == pytest.approx(expected)
        table, terms_here = terms.table(0, 0), terms.of(0, 0)
        assert terms.table(0, 0) is table
        for i, term in enumerate(terms_here):
            size = len(term.logs)
            assert table.above[i, :size] == pytest.approx(term.logs - term.logs[0])
            assert table.shares[i, :size] == pytest.approx(term.probs / term.probs.sum())
            assert not table.shares[i, size:].any()
    assert Table.of([]).above.shape == (0, 0)


def test_a_term_without_values() -> None:
    """A term that is never finite has no shares beside others, and is no number that is not one."""
    never = Term(Count(0, np.ones(1), 0.0), np.zeros(0), np.zeros(0), 1.0, 0.0)
    half = np.array([0.5, 0.25])
    table = Table.of([never, Term(Count(1, half, 0.0), np.log([1.0, 2.0]), half, 0.25, 1.0)])
    assert table.above == pytest.approx(np.array([[0.0, 0.0], [0.0, math.log(2)]]))
    assert table.shares == pytest.approx(np.array([[0.0, 0.0], [2 / 3, 1 / 3]]))


def test_terms_of_features_left_out() -> None:
    """A feature that a point leaves out adds the logarithm of its size, surely."""
    index = CountIndex.from_rows([("a",), ("b",), ("b",), (None,)], ["A", "A", "A", "B"])
    for alpha in (Fraction(1, 3), Fraction(1, 10**400)):
        model = Model(index, alpha)
        terms = Terms(model, Filling(index), 1e-12)
        code = int(model.points([(None,)], "skip").codes[0, 0])
        for i, term in enumerate(terms.of(0, code)):
            size = model.sizes[i][0]
            assert term.logs == pytest.approx([log_of(Fraction(size, alpha.denominator))])
            assert (term.probs.tolist(), term.zero) == ([1.0], 0.0)
            assert (term.count.first, term.count.probs.tolist()) == (LEFT_OUT, [1.0])
            assert term.count.error == 0
            both = math.log(size) + math.log(alpha.denominator)
            assert term.magnitude == pytest.approx(both)


def test_magnitude_of_large_fractions() -> None:
    """Where doubles do not hold α, a logarithm is a difference of two large ones, which all count."""
    index = CountIndex.from_rows([("a",), ("b",), ("b",), (None,)], ["A", "A", "A", "B"])
    alpha = Fraction(1, 10**400)
    for code in (0, 1):
        for term in Terms(Model(index, alpha), Filling(index), 1e-12).of(0, code):
            scale = 2 * math.log(alpha.denominator)
            assert term.magnitude == pytest.approx(scale + np.abs(term.logs).max())


def test_constants_of_labels() -> None:
    """The prior over the sizes; minus infinity for a label without a prior or without any size."""
    index = index_from_counts([6, 0, 3], [[(4, 0, 1), (2, 0, 2)], [(5, 0, 0), (1, 0, 3)]])
    plain = Terms(Model(index, 0, [1, 1, 0]), Filling(index), 0.1).constants
    assert plain[0].tolist() == pytest.approx([math.log(Fraction(1, 2) / 36), -math.inf, -math.inf])
    assert plain[1][0] == pytest.approx(math.log(2) + 2 * math.log(6))
    model = Model(index, Fraction(1, 3), [3, 1, 2])
    logs, magnitudes = Terms(model, Filling(index), 0.1).constants
    for i, (share, size) in enumerate([(3, 6), (1, 0), (2, 3)]):
        below = size + Fraction(2, 3)
        assert logs[i] == pytest.approx(log_of(Fraction(share, 6) / below**2))
        prior = Fraction(share, 6)
        parts = math.log(prior.numerator) + math.log(prior.denominator) + 2 * math.log(3 * below)
        assert magnitudes[i] == pytest.approx(parts + 2 * math.log(3))


def test_terms_of_a_changed_table() -> None:
    """What did not change is kept, the rest is made anew."""
    index = index_from_counts([6, 3], [[(4, 1), (2, 2)], [(5, 0), (1, 3)]])
    model, filling = Model(index, 1), Filling(index)
    terms = Terms(model, filling, 0.1)
    kept, gone = terms.of(0, 0), terms.of(1, 0)
    tables = terms.table(0, 0), terms.table(1, 0)
    other = terms.after(model, filling, {1})
    assert other.of(0, 0) is kept
    assert other.of(1, 0) is not gone
    assert other.table(0, 0) is tables[0]
    assert other.table(1, 0) is not tables[1]


# Chernoff -----------------------------------------------------------------------------------------


def drawn_law(rng: np.random.Generator) -> tuple[Any, Any]:
    """Values around 0 and their chances, for three labels; one of them has none."""
    deviations, shares = rng.normal(size=(3, 5)), rng.random((3, 5))
    shares[1] = shares[0, 3] = 0.0
    total = shares.sum(axis=1, keepdims=True)
    shares = shares / np.where(total > 0, total, 1)
    return deviations - (deviations * shares).sum(axis=1, keepdims=True), shares


def test_exponents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of the mean of exp(s·x), for slopes up and down that double, in blocks of any size."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        deviations, shares = drawn_law(rng)
        slopes = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
        found = exponents(deviations, shares, slopes)
        assert found.shape == (3, 12)
        for i, (own, chances) in enumerate(zip(deviations, shares, strict=True)):
            for k, slope in enumerate([*slopes, *-slopes]):
                mean = float((chances * np.exp(slope * own)).sum())
                assert found[i, k] == pytest.approx(math.log(mean) if mean else 0.0, abs=1e-9)
        with monkeypatch.context() as patched:
            patched.setattr(terms_module, "_BLOCK", 1)
            assert exponents(deviations, shares, slopes) == pytest.approx(found)
    assert exponents(np.zeros((2, 0)), np.zeros((2, 0)), np.ones(2)).tolist() == [[0.0] * 4] * 2


def test_exponents_of_steep_slopes() -> None:
    """Thirty squares later an exponent is still no less than the true one, and hardly more."""
    rng = np.random.default_rng(5)
    for scale in (1e-7, 1e-3, 0.3, 20.0, 200.0):
        deviations, shares = scale * rng.normal(size=6), rng.dirichlet(np.ones(6))
        found = exponents(deviations[None], shares[None], SLOPES)[0]
        # What thirty squares can be off by at most, and six tenths of it at least must have been added.
        off = 2.0**-52 * (4 + 2 * SLOPES[0] * float(np.ptp(deviations)))
        with localcontext(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN):
            for k, slope in enumerate([*SLOPES.tolist(), *(-SLOPES).tolist()]):
                powers = ((Decimal(slope) * Decimal(x)).exp() for x in deviations.tolist())
                chances = map(Decimal, shares.tolist())
                mean = sum(
                    (p * power for p, power in zip(chances, powers, strict=True)), Decimal(0)
                )
                more, most = (
                    Decimal(found[k].item()) - mean.ln(),
                    Decimal(off * 2 ** (k % len(SLOPES))),
                )
                assert Decimal("0.6") * most <= more <= Decimal("1.4") * most + Decimal("1e-14")


@pytest.mark.parametrize("chance", [0.5, 0.01, 1e-9])
def test_reaches(chance: float) -> None:
    """A sum gets farther with less than the chance, and the bound is the least of all slopes."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        deviations, shares = drawn_law(rng)
        sums = exponents(deviations, shares, SLOPES)
        above, below = reaches(sums, SLOPES, chance)
        of_points = np.array(reaches(np.stack([sums, sums + 1.0]), SLOPES, chance))
        assert of_points[:, 0].tolist() == [above.tolist(), below.tolist()]
        allowed = math.log(1 / chance)
        half = len(SLOPES)
        for i in (0, 2):
            ups = [(sums[i, k] + allowed) / slope for k, slope in enumerate(SLOPES)]
            downs = [(sums[i, half + k] + allowed) / slope for k, slope in enumerate(SLOPES)]
            assert above[i] == pytest.approx(max(min(ups), 0.0), rel=1e-6)
            assert below[i] == pytest.approx(max(min(downs), 0.0), rel=1e-6)
            assert above[i] >= max(min(ups), 0.0)
            assert shares[i][deviations[i] > above[i]].sum() <= chance
            assert shares[i][deviations[i] < -below[i]].sum() <= chance


def test_slopes_are_powers_of_two() -> None:
    """From 2^-6 to 2^23 for sums, and from a quarter to 64 for their errors."""
    assert SLOPES.tolist() == [2.0**k for k in range(-6, 24)]
    assert terms_module.ERROR_SLOPES.tolist() == [2.0**k for k in range(-2, 7)]
    assert exponents(np.zeros((1, 1)), np.ones((1, 1)), SLOPES).shape == (1, 60)
