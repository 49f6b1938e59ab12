"""CertifiedNB as scikit-learn users meet it: their checks, their pipelines, their data frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.mixed_tables import (
    COLUMNS,
    LABELS,
    LIBRARIES,
    object_array,
    pandas_frame,
    polars_frame,
)

from nullproof import (
    CertifiedNB,
    CountIndex,
    NullproofError,
    NullproofWarning,
    certify,
    cleaning_plan,
)
from nullproof.estimator import certainty_rate, certified_accuracy

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


EXPECTED_FAILURES: dict[str, str] = {}  # name of the check: why it must fail

ESTIMATORS = [
    CertifiedNB(),
    CertifiedNB(alpha=1.0, bins=3, binning="quantile"),
    CertifiedNB(prior="uniform", binning="none"),
    CertifiedNB(alpha=1.0, own_missing="any", bias=0.05),
]


CHECKS = parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)


# A list, since scikit-learn 1.6 hands on a generator that pytest 9 warns of.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_checks_of_scikit_learn(estimator: CertifiedNB, check: Callable[..., None]) -> None:
    """The estimator passes scikit-learn's own checks; expected failures are named and strict."""
    check(estimator)


@pytest.fixture(scope="module")
def reference() -> CertifiedNB:
    return CertifiedNB(alpha=0.5).fit(pl.DataFrame(COLUMNS), LABELS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_same_answers_from_every_library(library: str, reference: CertifiedNB) -> None:
    """Counts, predictions, probabilities and certificates do not depend on where a table is from."""
    table = LIBRARIES[library]()
    model = CertifiedNB(alpha=0.5).fit(table, LABELS)
    expected = reference.certify(pl.DataFrame(COLUMNS))
    assert 0 < expected.certain.sum() < len(LABELS)
    np.testing.assert_array_equal(model.certify(table).possible, expected.possible)
    np.testing.assert_array_equal(model.predict(table), reference.predict(pl.DataFrame(COLUMNS)))
    np.testing.assert_array_equal(
        model.predict_proba(table), reference.predict_proba(pl.DataFrame(COLUMNS))
    )
    if hasattr(model, "feature_names_in_"):
        assert model.feature_names_in_.tolist() == list(COLUMNS)
        assert model.index_ == reference.index_
    else:
        assert model.index_.features == tuple(f"x{j}" for j in range(len(COLUMNS)))


@pytest.mark.parametrize(
    "make",
    [
        lambda array: array,
        lambda array: array.astype(np.float32),
        lambda array: array.tolist(),
        lambda array: array.astype(object),
        pd.DataFrame,
        lambda array: pd.DataFrame(array).astype("Float64"),
        lambda array: pl.DataFrame(array).fill_nan(None),
        lambda array: pa.table({f"column_{j}": array[:, j] for j in range(array.shape[1])}),
        np.asfortranarray,
    ],
)
def test_same_answers_from_numbers(make: Callable[[Any], Any]) -> None:
    """So it is with numbers only, NaN being missing; quarters are the same in single precision."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 80)
    array = np.round((rng.normal(size=(80, 4)) + labels[:, None]) * 4) / 4
    array[rng.random(array.shape) < 0.02] = np.nan
    model, expected = (CertifiedNB(1.0).fit(table, labels) for table in (make(array), array))
    np.testing.assert_array_equal(
        model.certify(make(array)).possible, expected.certify(array).possible
    )
    np.testing.assert_array_equal(model.predict_proba(make(array)), expected.predict_proba(array))


def test_answers_come_back_in_the_library_of_the_points(reference: CertifiedNB) -> None:
    """Certificates become a frame of the points' library; pandas keeps its index."""
    frame = pandas_frame().set_axis([f"customer {i}" for i in range(len(LABELS))])
    told = reference.certify(frame).to_frame()
    assert isinstance(told, pd.DataFrame)
    assert told.index.equals(frame.index)
    assert told.columns.tolist() == [
        "predicted",
        "verdict",
        "certain",
        "label",
        "possible",
        "others",
        "tolerance",
        "rival",
        "n_own_missing",
    ]
    some = frame.iloc[[5, 3, 8]]
    assert reference.certify(some).to_frame().index.tolist() == some.index.tolist()
    assert isinstance(reference.certify(polars_frame()).to_frame(), pl.DataFrame)
    assert isinstance(reference.certify(pa.table(COLUMNS)).to_frame(), pa.Table)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        told = reference.certify(object_array()).to_frame()
    assert isinstance(told, pl.DataFrame)


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        np.array(LABELS),
        np.array(LABELS, dtype=object),
        pd.Series(LABELS, index=range(100, 100 + len(LABELS))),
        pd.Series(LABELS, dtype="category"),
        pd.Series(LABELS, dtype="string"),
        pl.Series(LABELS),
        pl.Series(LABELS, dtype=pl.Categorical),
        pa.array(LABELS),
        pa.chunked_array([LABELS]),
    ],
    ids=lambda labels: f"{type(labels).__module__}.{type(labels).__name__}",
)
def test_labels_of_every_library(labels: Any, reference: CertifiedNB) -> None:
    """Labels may be in any library too, also in another than the table."""
    model = CertifiedNB(alpha=0.5).fit(polars_frame(), labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.index_ == reference.index_
    assert certified_accuracy(model, polars_frame(), labels) == certified_accuracy(
        reference, polars_frame(), LABELS
    )


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2, 0, 2, 0], [0, 2]),
        ([2.0, 0.0, 2.0, 0.0], [0.0, 2.0]),
        ([True, False, True, False], [False, True]),
        (pd.Series([2, 0, 2, 0], dtype="Int64"), [0, 2]),
        (pd.Series([True, False, True, False], dtype="boolean"), [False, True]),
        (np.array([2, 0, 2, 0], dtype=object), [0, 2]),
        (np.array([5, -(2**40), 5, -(2**40)]), [-(2**40), 5]),
    ],
)
def test_kinds_of_labels(labels: Any, classes: list[Any]) -> None:
    """Predictions and certain labels have the values and the kind of the labels given."""
    model = CertifiedNB().fit([["a"], ["b"], ["a"], ["b"]], labels)
    assert model.classes_.tolist() == classes
    assert model.predict([["a"], ["b"]]).tolist() == classes[::-1]
    assert [type(label) for label in model.predict([["a"]]).tolist()] == [type(classes[0])]
    assert model.certify([["a"], ["b"]]).label.tolist() == classes[::-1]


def test_spellings_of_missing(reference: CertifiedNB) -> None:
    """A spelling of missing is a hole wherever it stands, in the table and in the points."""
    spelled = polars_frame().with_columns(pl.col("city", "plan").fill_null(" n/k "))
    model = CertifiedNB(alpha=0.5, missing=("n/k",)).fit(spelled, LABELS)
    assert model.index_.n_missing == reference.index_.n_missing
    np.testing.assert_array_equal(
        model.certify(spelled).possible, reference.certify(polars_frame()).possible
    )
    revived = CertifiedNB.from_index(model.index_, alpha=0.5)
    np.testing.assert_array_equal(revived.predict_proba(spelled), model.predict_proba(spelled))


def test_candidates_in_cells() -> None:
    """Cells with several candidates are welcome in lists and frames, when fitting and asking."""
    rows = [["a", {"x", "y"}], ["a", "x"], ["b", "y"], [{"a", "b"}, "y"]]
    labels = ["A", "A", "B", "B"]
    model = CertifiedNB().fit(rows, labels)
    assert model.index_ == CountIndex.from_rows(rows, labels)
    assert model.certify([["a", {"x", "y"}]]).possible.tolist() == [[True, True]]
    assert model.predict([["a", {"x", "y"}], [{"a", "b"}, "y"]]).tolist() == ["A", "B"]


# The index ----------------------------------------------------------------------------------------


def test_certificates_are_those_of_the_index(reference: CertifiedNB) -> None:
    """The estimator adds nothing to what `certify` says of its index."""
    points = polars_frame()
    table = points.with_columns(churn=pl.Series(LABELS))
    assert reference.index_ == CountIndex.from_table(table, label="churn")
    told, expected = reference.certify(points), certify(reference.index_, points, alpha=0.5)
    np.testing.assert_array_equal(told.possible, expected.possible)
    names = reference.possible_labels(points)
    assert [tuple(own) for own in names] == [certificate.possible for certificate in expected]


@pytest.mark.parametrize("table", [polars_frame(), object_array()], ids=["frame", "array"])
def test_an_estimator_of_a_saved_index(table: Any, tmp_path: Path) -> None:
    """An index that was saved makes an estimator that answers as the fitted one."""
    model = CertifiedNB(alpha=0.5, prior="uniform").fit(table, LABELS)
    model.index_.save(tmp_path / "churn.index")
    index = CountIndex.load(tmp_path / "churn.index")
    revived = CertifiedNB.from_index(index, alpha=0.5, prior="uniform")
    assert revived.classes_.tolist() == model.classes_.tolist()
    assert revived.n_features_in_ == model.n_features_in_
    assert hasattr(revived, "feature_names_in_") == hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(revived.predict_proba(table), model.predict_proba(table))
    assert revived.score(table, LABELS) == model.score(table, LABELS)
    assert certified_accuracy(revived, table, LABELS) == certified_accuracy(model, table, LABELS)
    revived.partial_fit(table, LABELS)
    assert revived.index_ == model.index_ + model.index_


def test_parameters() -> None:
    """Parameters are kept as given, cloned and set; a clone is not fitted."""
    model = CertifiedNB(
        0.5,
        prior=[1, 3],
        bins=7,
        binning="quantile",
        missing=("?",),
        domains={},
        own_missing="any",
        bias={"x0": 0.5},
    )
    assert model.get_params() == {
        "alpha": 0.5,
        "prior": [1, 3],
        "bins": 7,
        "binning": "quantile",
        "missing": ("?",),
        "domains": {},
        "own_missing": "any",
        "bias": {"x0": 0.5},
    }
    copied = clone(model.set_params(binning="none", bins=5).fit([["a"], ["b"]], [0, 1]))
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "index_")
    assert repr(copied).startswith("CertifiedNB(")
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        model.set_params(beta=1)


def test_cleaning_plan_is_that_of_the_index() -> None:
    """The plan of an estimator is the one of its index, with its smoothing; labels are its classes."""
    rows = pd.DataFrame({"a": ["x", None, "y", "y", None], "b": ["p", "p", "q", None, "q"]})
    model = CertifiedNB(alpha=1, own_missing="any").fit(rows, ["no", "no", "yes", "yes", "yes"])
    options: dict[str, Any] = {"confidence": 0.9, "cells": "observed"}
    plan = model.cleaning_plan(rows, **options)
    same = cleaning_plan(model.index_, rows, alpha=1, own_missing="any", **options)
    assert plan.columns() == same.columns()
    # A cell that a point itself lacks belongs to no label.
    found = {(step.table, step.label) for step in model.cleaning_plan(rows).steps}
    assert {table for table, _ in found} == {"training", "points"}
    assert found <= {("training", "no"), ("training", "yes"), ("points", None)}
    near = cleaning_plan(model.index_, rows, alpha=1, own_missing="any", bias=0.1)
    assert model.set_params(bias=0.1).cleaning_plan(rows).columns() == near.columns()


ASSUMPTIONS: list[dict[str, Any]] = [
    {},
    {"own_missing": "any"},
    {"bias": 0.05},
    {"bias": {"age": 1, "*": 0.1}, "own_missing": "any"},
]


@pytest.mark.parametrize("assumptions", ASSUMPTIONS)
def test_assumptions_are_those_of_the_library(assumptions: dict[str, Any]) -> None:
    """Bias and reading of own holes mean the same as in `certify`; the enemy and chance know no bias."""
    model = CertifiedNB(alpha=1, **assumptions).fit(polars_frame(), LABELS)
    points, index = polars_frame(), model.index_
    told, expected = model.certify(points), certify(index, points, alpha=1, **assumptions)
    np.testing.assert_array_equal(told.possible, expected.possible)
    np.testing.assert_array_equal(model.tolerance(points), expected.tolerance)
    assert certainty_rate(model, points) == expected.certain.mean()
    revived = CertifiedNB.from_index(index, alpha=1, **assumptions)
    np.testing.assert_array_equal(revived.certify(points).certain, expected.certain)
    strict = CertifiedNB(alpha=1, own_missing=model.own_missing).fit(points, LABELS)
    np.testing.assert_array_equal(model.radius(points), strict.radius(points))
    assert {*model.radius(points, only={"columns": []}).tolist()} <= {0, np.inf}
    np.testing.assert_array_equal(
        model.label_odds(points[:4]).lower, strict.label_odds(points[:4]).lower
    )
    assert model.poison(points[:4], steps=1).n_cells == strict.poison(points[:4], steps=1).n_cells


@pytest.mark.parametrize("assumptions", ASSUMPTIONS)
def test_predictions_agree_with_what_holds(assumptions: dict[str, Any]) -> None:
    """A row that is certain, or holds up to any bias, is predicted the label it holds."""
    model = CertifiedNB(alpha=1, **assumptions).fit(polars_frame(), LABELS)
    found = model.certify(polars_frame())
    holds = ~np.isnan(found.tolerance)
    predicted = model.predict(polars_frame())
    assert holds.any()
    assert predicted[holds].tolist() == found.predicted[holds].tolist()
    assert predicted[found.certain].tolist() == found.label[found.certain].tolist()


def test_assumptions_may_be_set_later() -> None:
    """A fitted estimator answers by the parameters that it has now, and refuses bad ones when used."""
    model = CertifiedNB(alpha=1).fit(polars_frame(), LABELS)
    strict = certainty_rate(model, polars_frame())
    assert certainty_rate(model.set_params(bias=0.02), polars_frame()) > strict
    for wrong in ({"bias": 2}, {"own_missing": "none"}):
        with pytest.raises(NullproofError, match="give"):
            clone(model).set_params(bias=1, own_missing="skip").fit(
                polars_frame(), LABELS
            ).set_params(**wrong).certify(polars_frame())


@pytest.mark.filterwarnings("ignore:'-' in 'a' was taken")
def test_columns_that_name_rows_are_left_out() -> None:
    """Names of rows are no features; declared values keep them, and later chunks leave them out too."""
    ids = [f"id {k}" for k in range(30)]
    frame = pd.DataFrame({"id": ids, "a": ["u", "v", "-"] * 10})
    y = ["p", "q"] * 15
    with pytest.warns(NullproofWarning, match="names the rows: 'id'"):
        model = CertifiedNB().partial_fit(frame, y, classes=["p", "q"])
    assert model.index_.features == ("a",)
    assert model.n_features_in_ == 2
    assert model.index_.n_missing == 10
    model.partial_fit(frame[:3], y[:3])
    assert model.index_.features == ("a",)
    assert model.index_.n_missing == 11
    assert len(model.predict(frame)) == 30
    with pytest.warns(NullproofWarning, match="'id' has 30 values in 30 rows"):
        kept = CertifiedNB(domains={"id": ids}).fit(frame, y)
    assert kept.index_.features == ("id", "a")


def test_labels_are_what_they_are() -> None:
    """y is never spelled out: ? and - are classes."""
    cells = np.array([["u"], ["v"], ["u"]], dtype=object)
    assert CertifiedNB().fit(cells, ["?", "-", "NA"]).classes_.tolist() == ["-", "?", "NA"]


def test_masked_cells_are_missing() -> None:
    """scikit-learn drops NumPy's masks; here what is masked is a hole, and a label is never one."""
    plain = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]])
    mask = [[True, False], [False, False], [False, True]]
    labels = ["p", "q", "q"]
    expected = CertifiedNB(binning="none").fit(np.where(mask, np.nan, plain), labels)
    for kind in (float, int, object):
        masked = np.ma.masked_array(plain.astype(kind), mask=mask)
        model = CertifiedNB(binning="none").fit(masked, labels)
        assert model.index_ == expected.index_
        assert np.array_equal(
            model.predict_proba(masked), expected.predict_proba(np.where(mask, np.nan, plain))
        )
    with pytest.raises(NullproofError, match="1 missing label"):
        CertifiedNB().fit(plain, np.ma.masked_array([1, 2, 2], mask=[True, False, False]))
