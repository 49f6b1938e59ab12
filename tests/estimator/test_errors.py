"""What CertifiedNB says of tables, labels and parameters that it cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError
from support.mixed_tables import COLUMNS, LABELS, object_array, pandas_frame, polars_frame

from nullproof import CertifiedNB, NullproofError, NullproofWarning
from nullproof.estimator import certainty_rate

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "certify", "possible_labels"])
def test_unfitted_use(method: str) -> None:
    """An estimator that was not fitted says so."""
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(CertifiedNB(), method)([["a"]])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        certainty_rate(CertifiedNB(), [["a"]])


def test_weights_are_refused() -> None:
    """Weights cannot be counted as cells; None is no weight."""
    with pytest.raises(NullproofError, match="sample_weight was given, but worlds count cells"):
        CertifiedNB().fit([["a"]], ["A"], sample_weight=[2.0])
    assert CertifiedNB().fit([["a"]], ["A"], sample_weight=None).classes_.tolist() == ["A"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'groups'"):
        CertifiedNB().fit([["a"]], ["A"], groups=[1])


@pytest.mark.parametrize("method", ["predict", "certify"])
def test_other_features_than_at_fit(method: str) -> None:
    """Numbers or names of features that differ from those at fit are refused, with names."""
    frame = pandas_frame()
    ask = getattr(CertifiedNB(1.0).fit(frame, LABELS), method)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- home"):
        ask(frame.rename(columns={"city": "home"}))
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- city"):
        ask(frame.drop(columns="city"))
    with pytest.raises(ValueError, match="must be in the same order"):
        ask(frame[frame.columns[::-1]])
    with (
        pytest.raises(ValueError, match="X has 5 features, but CertifiedNB is expecting 6"),
        pytest.warns(UserWarning, match="does not have valid feature names"),
    ):
        ask(object_array()[:, :5])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- home"):
        ask(pl.DataFrame(COLUMNS).rename({"city": "home"}))


def test_names_only_at_one_time() -> None:
    """Columns are taken in order where only the table or only the points have names; a warning tells."""
    named, array = CertifiedNB(1.0).fit(pandas_frame(), LABELS), object_array()
    expected = named.predict_proba(pandas_frame())
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(named.predict_proba(array), expected)
    places = [*range(array.shape[1])]
    digits = CertifiedNB(1.0).fit(pandas_frame().set_axis([*map(str, places)], axis=1), LABELS)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found = digits.predict_proba(pandas_frame().set_axis(places, axis=1))
    np.testing.assert_array_equal(found, expected)
    numbered = CertifiedNB(1.0).fit(array, LABELS)
    with pytest.warns(UserWarning, match="X has feature names"):
        np.testing.assert_array_equal(numbered.predict_proba(polars_frame()), expected)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "2D array"),
        (["a", "b"], "Expected 2D array"),
        ([["a"], ["b", "c"]], "Expected 2D array"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((2, 0)), "0 feature"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (pd.DataFrame(index=range(2)), "0 feature"),
        (pl.DataFrame({"a": []}), "0 sample"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "column name twice"),
        ([[None], [float("nan")]], "no column holds any known value"),
        ("train.csv", "2D array"),
    ],
)
def test_tables_that_are_none(table: Any, message: str) -> None:
    """What is not a table with rows and columns is refused in scikit-learn's words."""
    with pytest.raises(ValueError, match=message):
        CertifiedNB().fit(table, [0, 1])


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA, pd.NaT])
def test_holes_in_labels(hole: Any) -> None:
    """A missing label is refused: how many, and which rows."""
    names = [hole, "A", hole, "B", "A", hole]
    rows = [["a"]] * len(names)
    for labels in (names, np.array(names, dtype=object), pd.Series(names, dtype=object)):
        with pytest.raises(NullproofError, match=r"y has 3 missing labels \(rows 0, 2, 5, counted"):
            CertifiedNB().fit(rows, labels)
    with pytest.raises(NullproofError, match=r"8 missing labels \(rows 0, 1, 2, 3, 4, …, counted"):
        CertifiedNB().fit([["a"]] * 9, [hole] * 8 + ["A"])


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, np.nan]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["A", None], dtype="category"),
        pd.Series(["A", None], dtype="string"),
        pd.Series(["A", None], dtype="string[pyarrow]"),
        pl.Series(["A", None]),
        pl.Series([1, None]),
        pa.array(["A", None]),
        pa.chunked_array([["A", None]]),
    ],
    ids=lambda labels: (
        f"{type(labels).__module__}.{type(labels).__name__}-{labels.dtype}"
        if hasattr(labels, "dtype")
        else type(labels).__name__
    ),
)
def test_holes_in_labels_of_every_library(labels: Any) -> None:
    """A hole is a hole in whatever library the labels are."""
    with pytest.raises(NullproofError, match=r"y has 1 missing label \(row 1, counted from 0\)"):
        CertifiedNB().fit([["a"], ["b"]], labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed"),
        (["A"], r"inconsistent numbers of samples: \[2, 1\]"),
        (["A", "B", "A"], "inconsistent numbers of samples"),
        ([["A", "B"], ["B", "A"]], "1d array"),
        ([["A"], ["B", "A"]], "one type, one per row"),
        (["A", 1], "one type, one per row"),
        ([0.5, 1.25], "continuous"),
        ([np.inf, 1.0], "infinity"),
    ],
)
def test_bad_labels(labels: Any, message: str) -> None:
    """Labels must be one per row, of one kind, and no continuous numbers."""
    with pytest.raises(ValueError, match=message):
        CertifiedNB().fit([["a"], ["b"]], labels)


def test_labels_as_a_column() -> None:
    """A column of labels is flattened with scikit-learn's warning."""
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = CertifiedNB().fit([["a"], ["b"]], [["A"], ["B"]])
    assert model.classes_.tolist() == ["A", "B"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha is -1.0; give a number that is 0 or more"),
        ({"alpha": "1"}, "alpha is '1'"),
        ({"prior": [1.0]}, "prior has 1 numbers but there are 2 labels"),
        ({"prior": "flat"}, "prior is 'flat'"),
        ({"bins": 0, "binning": "uniform"}, "bins is 0; give a whole number from 1 on"),
        ({"binning": "equal"}, "binning is 'equal'"),
        ({"domains": {"x7": ["a"]}}, "domains names the column 'x7'"),
        ({"domains": {"x0": "ab"}}, "give a list of values"),
        ({"own_missing": "none"}, "own_missing is 'none'; give 'skip'"),
        ({"own_missing": None}, "own_missing is None"),
        ({"bias": 1.5}, "the bias is 1.5; give a number from 0"),
        ({"bias": "some"}, "the bias is 'some'"),
        ({"bias": {"x0": -1}}, "the bias of 'x0' is -1"),
        ({"bias": {"x9": 1}}, "bias names 'x9', which is no feature; close names are 'x0'"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    """Parameters are checked when fitting, not before and not later."""
    model = CertifiedNB(**parameters)
    with pytest.raises(NullproofError, match=message):
        model.fit([["a"], ["b"]], ["A", "B"])
    assert not hasattr(model, "index_")


def test_unseen_categories() -> None:
    """A category that the training table never shows is no reason to crash; certify tells of it."""
    model = CertifiedNB(1.0).fit(pandas_frame(), LABELS)
    strange = pandas_frame().assign(city="Quito")
    assert set(model.predict(strange)) <= {"no", "yes"}
    assert np.isfinite(model.predict_proba(strange)).all()
    with pytest.warns(NullproofWarning, match="never shows in 'city' \\(90\\)"):
        assert len(model.certify(strange)) == len(strange)
    assert certainty_rate(model, strange) < 1  # scorers keep quiet: held-out parts are like that
    declared = CertifiedNB(1.0, domains={"city": ["Quito"]}).fit(pandas_frame(), LABELS)
    assert declared.certify(strange).possible.shape == (90, 2)


def test_another_kind_of_column_than_at_fit() -> None:
    """Text where the training table has numbers is refused, with the name of the column."""
    model = CertifiedNB(1.0).fit(pandas_frame(), LABELS)
    with pytest.raises(NullproofError, match="column 'age' holds text such as 'old'"):
        model.predict(pandas_frame().assign(age="old"))
