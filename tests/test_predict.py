"""Plain predictions: scikit-learn's own on complete data, the certain label where there is one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB
from support import oracle
from support.counted import fitted
from support.large_counts import two_labels
from support.strategies import EXTREME_ALPHAS, Case, random_case, random_weights, table

from nullproof import CertifiedNB, certify

# Random points hold unseen values on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:points hold values:nullproof.NullproofWarning")
SEED = 20240607
N_TABLES = 50  # in a chunk
ALPHAS = (1.0, 0.5, 0.1, 1e-3, 3.0, 0.7)


# Complete data ------------------------------------------------------------------------------------


@st.composite
def complete_tables(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[int]]:
    """Codes, labels, points and domain sizes; few rows, so that ties are frequent."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    labels = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    points = draw(st.lists(row, min_size=1, max_size=6))
    return np.array(rows), np.array(labels), np.array(points), sizes


def both(
    rows: NDArray[Any], labels: Any, sizes: Sequence[int], alpha: float
) -> tuple[CertifiedNB, CategoricalNB]:
    """Fit CertifiedNB and CategoricalNB to the same complete codes with the same domains."""
    domains = {f"x{j}": range(size) for j, size in enumerate(sizes)}
    theirs = CategoricalNB(alpha=alpha, force_alpha=True, min_categories=list(sizes))
    with np.errstate(divide="ignore"):
        theirs.fit(rows, labels)
    ours = CertifiedNB(alpha, binning="none", domains=domains, weights="equal")
    return ours.fit(rows, labels), theirs


TIED = np.array([[0], [0], [0], [1], [2], [1]])


@given(complete_tables(), st.sampled_from((*ALPHAS, 0.0)))
@settings(max_examples=180, deadline=None)
# A tie that only the order of floating-point sums decides.
@example((TIED, np.array([0, 1, 0, 1, 1, 0]), TIED, [3]), 0.7)
def test_complete_data_as_categorical_nb(
    table: tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[int]], alpha: float
) -> None:
    """On complete data labels equal those of CategoricalNB, ties included, and probabilities too.

    Without smoothing they do so wherever some label has any support.
    """
    assert_equals_categorical_nb(*table, alpha)


def assert_equals_categorical_nb(
    rows: NDArray[Any], labels: Any, points: NDArray[Any], sizes: list[int], alpha: float
) -> None:
    """Compare labels and probabilities of the points that some label supports."""
    ours, theirs = both(rows, labels, sizes, alpha)
    assert np.isfinite(ours.predict_proba(points)).all()
    points = points[np.isfinite(theirs.predict_joint_log_proba(points)).any(axis=1)]
    if not len(points):
        return
    np.testing.assert_array_equal(ours.predict(points), theirs.predict(points))
    expected = theirs.predict_proba(points)
    np.testing.assert_allclose(ours.predict_proba(points), expected, rtol=0, atol=1e-12)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            ours.predict_log_proba(points), theirs.predict_log_proba(points), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_large_complete_table(alpha: float) -> None:
    """The same holds for many rows, features and labels."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 5, 20_000)
    rows = (rng.integers(0, 8, (20_000, 25)) + labels[:, None] * (rng.random(25) < 0.5)) % 8
    assert_equals_categorical_nb(rows, labels, rows, [8] * 25, alpha)


# Certain points ------------------------------------------------------------------------------------


def weighted_case(rng: random.Random) -> Case:
    """Draw a case, every other time with weights."""
    case = random_case(rng)
    if rng.random() < 0.5:
        return case
    return replace(case, weights=random_weights(rng, len(case.features)))


def assert_certain_labels_predicted(case: Case) -> int:
    """Check the predictions for every point of a case; count the certain points."""
    model = fitted(case)
    points = list(case.points)
    certificates = model.certify(points)
    predicted, shares = model.predict(points), model.predict_proba(points)
    for certificate, label in zip(certificates, predicted.tolist(), strict=True):
        assert label == certificate.label or not certificate.certain, case
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    second, first = np.partition(shares, -2, axis=1)[:, -2:].T if shares.shape[1] > 1 else (0, 1)
    clear = first - second > 1e-9
    likeliest = model.classes_[shares.argmax(axis=1)]
    assert ((predicted == likeliest) | ~np.asarray(clear)).all(), case
    return int(certificates.certain.sum())


@pytest.mark.parametrize("alphas", [None, EXTREME_ALPHAS], ids=["usual", "extreme"])
def test_certain_points_of_random_tables(alphas: Sequence[Any] | None) -> None:
    """Whatever the missing cells, alpha and prior: a certain point is predicted its certain label."""
    rng = random.Random(SEED)
    n_certain = 0
    for _ in range(3 * N_TABLES):
        case = weighted_case(rng)
        if alphas is not None:
            case = replace(case, alpha=rng.choice(alphas))
        n_certain += assert_certain_labels_predicted(case)
    assert n_certain > N_TABLES


@pytest.mark.parametrize("point", [("a",), (None,), ("unseen",)])
def test_a_class_without_rows_has_no_support(point: tuple[Any, ...]) -> None:
    """Without smoothing a class that no row has is never predicted, whatever its prior."""
    model = CertifiedNB(prior=[0.1, 0.9], alpha=0, weights="equal").partial_fit(
        [["a"], ["b"]], ["A", "A"], classes=["A", "B"]
    )
    assert model.certify([point]).certain.tolist() == [point != ("unseen",)]
    if point != ("unseen",):
        assert model.predict([point]).tolist() == ["A"]
        assert model.predict_proba([point]).tolist() == [[1.0, 0.0]]


# By exact fractions ---------------------------------------------------------------------------------


def share(case: Case, j: int, label: Any, values: Sequence[Any]) -> Fraction:
    """What a cell multiplies a support by: open cells are shared out like the known ones of the label."""
    pairs = zip(case.rows, case.labels, strict=True)
    cells = [oracle.candidates(row[j], case.domains[j]) for row, own in pairs if own == label]
    alpha = Fraction(case.alpha)
    size = len(cells) + alpha * len(case.domains[j])
    known = [own[0] for own in cells if len(own) == 1]
    total = Fraction(0)
    for value in values:
        total += known.count(value) + alpha
        for own in cells:
            if len(own) > 1 and value in own:
                below = sum(one in own for one in known) + alpha * len(own)
                above = known.count(value) + alpha
                total += above / below if below else Fraction(1, len(own))
    return total / size if size else Fraction(0)


def supports(case: Case, point: Sequence[Any]) -> dict[Any, Fraction]:
    """The support of each label by the known cells, with the missing cells of the point skipped.

    To the eighth power, which is a fraction whatever the weights.
    """
    prior = oracle.shares(case.labels, oracle.distinct(case.labels), case.prior)
    found = {label: own**8 for label, own in prior.items()}
    for j, cell in enumerate(point):
        eighths = 8 if case.weights is None else case.weights[j]
        if cell is not None:
            values = oracle.candidates(cell, case.domains[j])
            found = {
                label: own * share(case, j, label, values) ** eighths
                for label, own in found.items()
            }
    return found


def assert_predicted_by_fractions(case: Case, own_missing: Any) -> int:
    """Hold predictions and probabilities of every point against the definition; count the ties."""
    model = fitted(case).set_params(own_missing=own_missing)
    points = list(case.points)
    predicted, shares, logs = (
        ask(points) for ask in (model.predict, model.predict_proba, model.predict_log_proba)
    )
    told = model.certify(points).predicted
    names, n_tied = model.classes_.tolist(), 0
    for place, point in enumerate(points):
        exact = supports(case, point)
        top = oracle.winners(exact)
        n_tied += len(top) > 1
        # Certificates leave a tie open, predict has to choose one of the best.
        only = next(iter(top)) if len(top) == 1 else None
        assert told[place] == (only if len(names) > 1 else names[0]), (point, exact, case)
        some = exact
        if not any(exact.values()):
            prior = oracle.shares(case.labels, list(exact), case.prior)
            some = {label: own**8 for label, own in prior.items()}
        assert predicted[place] in oracle.winners(some), (point, exact, case)
        roots = [float(some[name] / max(some.values())) ** 0.125 for name in names]
        expected = [root / sum(roots) for root in roots]
        assert shares[place] == pytest.approx(expected, rel=1e-9, abs=1e-300), (point, case)
        with np.errstate(divide="ignore"):
            assert logs[place] == pytest.approx(np.log(expected), rel=1e-9, abs=1e-9), case
    return n_tied


@pytest.mark.parametrize("own_missing", ["skip", "any"])
def test_predictions_are_those_of_the_known_cells(own_missing: Any) -> None:
    """T11: the greatest support from the known cells wins, and supports are the probabilities."""
    rng = random.Random(SEED)
    n_tied = 0
    for _ in range(3 * N_TABLES):
        case = weighted_case(rng)
        n_tied += assert_predicted_by_fractions(case, own_missing)
    assert n_tied > 20


def test_in_a_tie_floats_choose() -> None:
    """As in scikit-learn the greatest sum of logarithms wins, so the order of columns may decide."""
    rng, chosen = random.Random(3), set()
    for _ in range(40):
        counts = [rng.randint(1, 9) for _ in range(6)]
        index = two_labels((9, 9), counts, rng.sample(counts, 6))
        assert certify(index, ("0",) * 6, alpha=0).predicted is None
        rows, labels = table(9, A=counts, B=rng.sample(counts, 6))
        chosen |= {*CertifiedNB(0, binning="none").fit(rows, labels).predict([("a",) * 6]).tolist()}
    assert chosen == {"A", "B"}
