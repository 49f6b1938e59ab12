"""CertifiedNB as scikit-learn users meet it: their checks, their pipelines, their data frames."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

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


# A table with columns of every kind, in every library ----------------------------------------------


def mixed(n_rows: int = 90, seed: int = 0) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns of every kind with holes in them, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    churns = rng.random(n_rows) < 0.4
    shift = churns.astype(int)
    columns: dict[str, list[Any]] = {
        "age": (30 + 20 * shift + rng.normal(0, 8, n_rows)).round(1).tolist(),
        "visits": (rng.integers(0, 6, n_rows) + 4 * shift).tolist(),
        "city": rng.choice(["Oslo", "Rome", "Lima"], n_rows).tolist(),
        "plan": np.where(rng.random(n_rows) < 0.2 + 0.6 * shift, "gold", "basic").tolist(),
        "member": (rng.random(n_rows) < 0.8 - 0.5 * shift).tolist(),
        "joined": [dt.datetime(2018 + int(year), 7, 1) for year in rng.integers(0, 6, n_rows)],
    }
    for cells in columns.values():
        for row in np.flatnonzero(rng.random(n_rows) < 0.03):
            cells[int(row)] = None
    return columns, np.where(churns, "yes", "no").tolist()


COLUMNS, LABELS = mixed()


def pandas_frame() -> Any:
    return pd.DataFrame(COLUMNS)


def pandas_categorical() -> Any:
    return pandas_frame().astype({"city": "category", "plan": "category"})


def polars_frame() -> Any:
    return pl.DataFrame(COLUMNS)


def polars_categorical() -> Any:
    dtypes = {"city": pl.Categorical, "plan": pl.Enum(["gold", "basic"])}
    return polars_frame().cast(dtypes)


def object_array() -> Any:
    rows = np.empty((len(LABELS), len(COLUMNS)), dtype=object)
    for j, cells in enumerate(COLUMNS.values()):
        rows[:, j] = cells
    return rows


def with_na() -> Any:
    """Every hole a pd.NA, in columns of Python objects."""
    return pandas_frame().astype(object).where(pandas_frame().notna(), pd.NA)


LIBRARIES: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "pandas objects": lambda: pandas_frame().astype({"city": object, "plan": object}),
    "pandas pd.NA": with_na,
    "pandas nullable": lambda: pandas_frame().convert_dtypes(),
    "pandas categorical": pandas_categorical,
    "pandas Arrow-backed": lambda: pandas_frame().convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars_frame,
    "polars categorical": polars_categorical,
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow dictionary": lambda: pa.Table.from_pandas(pandas_categorical()),
    "NumPy objects": object_array,
    "lists": lambda: object_array().tolist(),
    "tuples": lambda: [tuple(row) for row in object_array()],
}


# scikit-learn's own checks -------------------------------------------------------------------------

CHECKS = parametrize_with_checks(
    [CertifiedNB(bins=3, binning="quantile"), CertifiedNB(alpha=1.0, own_missing="any", bias=0.05)]
)


# A list, since scikit-learn 1.6 hands on a generator that pytest 9 warns of.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_checks_of_scikit_learn(estimator: CertifiedNB, check: Callable[..., None]) -> None:
    """The estimator passes scikit-learn's own checks, without an exception."""
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
    "labels",
    [
        np.array(LABELS, dtype=object),
        pd.Series(LABELS, index=range(100, 100 + len(LABELS))),
        pd.Series(LABELS, dtype="category"),
        pl.Series(LABELS, dtype=pl.Categorical),
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


# The index ----------------------------------------------------------------------------------------


def named_frame() -> Any:
    """The table with a column that names its rows, and another spelling of missing."""
    named = polars_frame().with_columns(name=pl.Series([f"n{k}" for k in range(len(LABELS))]))
    return named.with_columns(pl.col("city", "plan").fill_null(" n/k "))


@pytest.mark.parametrize("table", [named_frame(), object_array()], ids=["frame", "array"])
@pytest.mark.parametrize("labels", [LABELS, [{"yes": "9", "no": "10"}[one] for one in LABELS]])
@pytest.mark.filterwarnings("ignore:left out, since it names the rows")
def test_an_estimator_of_a_saved_index(table: Any, labels: list[str], tmp_path: Path) -> None:
    """An index that was saved makes an estimator that answers as the fitted one.

    Classes are sorted as scikit-learn sorts them, and columns that were left out may come again.
    """
    parameters: dict[str, Any] = {"alpha": 0.5, "prior": "uniform"}
    model = CertifiedNB(missing=("n/k",), **parameters).fit(table, labels)
    assert model.index_.n_missing == CertifiedNB().fit(object_array(), LABELS).index_.n_missing
    model.index_.save(tmp_path / "churn.index")
    revived = CertifiedNB.from_index(CountIndex.load(tmp_path / "churn.index"), **parameters)
    assert revived.classes_.tolist() == model.classes_.tolist() == sorted({*labels})
    assert revived.n_features_in_ == model.n_features_in_
    assert revived.weights_.tolist() == model.weights_.tolist()
    assert hasattr(revived, "feature_names_in_") == hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(revived.predict_proba(table), model.predict_proba(table))
    assert revived.score(table, labels) == model.score(table, labels)
    assert certified_accuracy(revived, table, labels) == certified_accuracy(model, table, labels)
    revived.partial_fit(table, labels)
    assert revived.index_ == model.index_ + model.index_


def test_classes_are_sorted_as_scikit_learn_sorts_them() -> None:
    """An index has numbers in texts by their size; predictions keep their labels."""
    index = CountIndex.from_table({"x0": [*"uvuv"], "y": ["9", "10"] * 2}, "y")
    assert index.labels == ("9", "10")
    model = CertifiedNB.from_index(index)
    assert model.classes_.tolist() == ["10", "9"]
    assert model.predict([["u"], ["v"]]).tolist() == ["9", "10"]


def test_parameters() -> None:
    """Parameters are kept as given, cloned and set; a clone is not fitted."""
    given: dict[str, Any] = {"alpha": 0.5, "prior": [1, 3], "bins": 7, "binning": "quantile"}
    given |= {
        "missing": ("?",),
        "missing_is_value": (),
        "weights": "equal",
        "domains": {},
        "own_missing": "any",
        "bias": {"x0": 0.5},
    }
    model = CertifiedNB(**given)
    assert model.get_params() == given
    copied = clone(model.set_params(binning="none", bins=5).fit([["a"], ["b"]], [0, 1]))
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "index_")
    assert repr(copied).startswith("CertifiedNB(")
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        model.set_params(beta=1)


def test_cleaning_plan_is_that_of_the_index() -> None:
    """The plan of an estimator is the one of its index, with its smoothing; labels are its classes."""
    rows = pd.DataFrame({"a": ["x", None, "y", "y", None], "b": ["p", "p", "q", None, "q"]})
    model = CertifiedNB(alpha=1).fit(rows, ["no", "no", "yes", "yes", "yes"])
    for options in ({}, {"bias": 1.0}, {"budget": 1}):
        plan = model.cleaning_plan(rows, **options)
        assert plan.columns() == cleaning_plan(model.index_, rows, alpha=1, **options).columns()
    near = cleaning_plan(model.index_, rows, alpha=1, bias=0.1)
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
    assert index == CountIndex.from_table(points.with_columns(churn=pl.Series(LABELS)), "churn")
    told, expected = model.certify(points), certify(index, points, alpha=1, **assumptions)
    np.testing.assert_array_equal(told.possible, expected.possible)
    assert [tuple(own) for own in model.possible_labels(points)] == [
        certificate.possible for certificate in expected
    ]
    np.testing.assert_array_equal(model.tolerance(points), expected.tolerance)
    holds = ~np.isnan(told.tolerance)
    assert holds.any()
    assert model.predict(points)[holds].tolist() == told.predicted[holds].tolist()
    assert certainty_rate(model, points) == expected.certain.mean()
    revived = CertifiedNB.from_index(index, alpha=1, **assumptions)
    np.testing.assert_array_equal(revived.certify(points).certain, expected.certain)
    strict = CertifiedNB(alpha=1, own_missing=model.own_missing).fit(points, LABELS)
    if model.own_missing == "any":
        for question in (model.label_odds, model.radius):
            with pytest.raises(NullproofError, match="own_missing"):
                question(points[:4])
        return
    np.testing.assert_array_equal(
        model.label_odds(points[:4]).lower, strict.label_odds(points[:4]).lower
    )
    np.testing.assert_array_equal(model.radius(points), strict.radius(points))
    assert {*model.radius(points, only={"columns": []}).tolist()} <= {0, np.inf}
    assert model.poison(points[:4], steps=1).n_cells == strict.poison(points[:4], steps=1).n_cells
    rows = model.poison(points[:4], threat="rows", key=[*"abcd"], skip_unbreakable=True)
    assert rows.document()["points"][3]["key"] == "d"


def test_assumptions_may_be_set_later() -> None:
    """A fitted estimator answers by the parameters that it has now."""
    model = CertifiedNB(alpha=1).fit(polars_frame(), LABELS)
    strict = certainty_rate(model, polars_frame())
    assert certainty_rate(model.set_params(bias=0.02), polars_frame()) > strict


@pytest.mark.filterwarnings("ignore:'-' in 'a' was taken")
def test_columns_that_name_rows_are_left_out() -> None:
    """Names of rows are no features; declared values keep them, and later chunks leave them out too."""
    ids = [f"id {k}" for k in range(30)]
    frame = pd.DataFrame({"id": ids, "a": ["u", "v", "-"] * 10})
    y = ["p", "q"] * 15
    with pytest.warns(NullproofWarning, match="names the rows: 'id'"):
        model = CertifiedNB(weights="equal").partial_fit(frame, y, classes=["p", "q"])
    assert model.index_.features == ("a",)
    assert model.n_features_in_ == 2
    assert model.index_.n_missing == 10
    model.partial_fit(frame[:3], y[:3])
    assert model.index_.features == ("a",)
    assert model.index_.n_missing == 11
    assert len(model.predict(frame)) == 30
    with pytest.warns(NullproofWarning, match="'-' in 'a'"):
        kept = CertifiedNB(domains={"id": ids}).fit(frame, y)
    assert kept.index_.features == ("id", "a")


def test_masked_cells_are_missing() -> None:
    """scikit-learn drops NumPy's masks; here what is masked is missing."""
    plain = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]])
    mask = [[True, False], [False, False], [False, True]]
    labels = ["?", "-", "-"]
    expected = CertifiedNB(binning="none").fit(np.where(mask, np.nan, plain), labels)
    assert expected.classes_.tolist() == ["-", "?"], "labels are never read as missing"
    for kind in (float, int, object):
        masked = np.ma.masked_array(plain.astype(kind), mask=mask)
        model = CertifiedNB(binning="none").fit(masked, labels)
        assert model.index_ == expected.index_
        assert np.array_equal(
            model.predict_proba(masked), expected.predict_proba(np.where(mask, np.nan, plain))
        )


# In chunks ----------------------------------------------------------------------------------------


def sorted_extremes_first(columns: dict[str, list[Any]], labels: list[str]) -> tuple[Any, Any]:
    """A frame whose first rows show the least and the greatest number of every column."""
    frame = pl.DataFrame(columns)
    numeric = ("age", "visits", "joined")
    ends = [frame[name].arg_min() for name in numeric] + [frame[name].arg_max() for name in numeric]
    order = list(dict.fromkeys([*ends, *range(len(labels))]))
    return frame[order], [labels[row] for row in order]


def counts(index: CountIndex) -> list[Any]:
    """All counts of an index: texts of bins follow from what the first chunk shows."""
    features = range(len(index.features))
    return [index.n_rows, *([index.low(j).tolist(), index.high(j).tolist()] for j in features)]


@pytest.mark.parametrize("size", [8, 30, 500])
@pytest.mark.parametrize("library", ["polars", "pandas", "lists"])
def test_chunks_count_as_the_whole(size: int, library: str) -> None:
    """Chunk by chunk is the same as at once if the first shows the extremes that fix the bins.

    Values, bins and labels that the first chunk lacks are added as they come.
    """
    frame, labels = sorted_extremes_first(*mixed(500, seed=5))
    convert: dict[str, Callable[[Any], Any]] = {
        "polars": lambda part: part,
        "pandas": lambda part: part.to_pandas(),
        "lists": lambda part: [list(row) for row in part.rows()],
    }
    options: dict[str, Any] = {"bins": 9, "binning": "uniform", "weights": "equal"}
    whole = CertifiedNB(**options).fit(convert[library](frame), labels)
    model = CertifiedNB(**options)
    for start in range(0, len(labels), size):
        part, names = frame[start : start + size], labels[start : start + size]
        model.partial_fit(convert[library](part), names, classes=["yes", "no"])
    assert counts(model.index_) == counts(whole.index_)
    assert model.classes_.tolist() == ["no", "yes"]


def test_a_column_empty_in_the_first_chunk() -> None:
    """A column without a known value at first joins when it shows one; its holes are kept."""
    first, second = [["a", None], ["b", None]], [["a", "x"], ["b", "y"], ["a", None]]
    model = CertifiedNB(weights="equal")
    with pytest.warns(NullproofWarning, match="left out, since they have no known values: 'x1'"):
        model.partial_fit(first, ["A", "B"], classes=["A", "B"])
    assert model.predict([["a", None]]).tolist() == ["A"]
    model.partial_fit(second, ["A", "B", "B"])
    whole = CertifiedNB().fit([*first, *second], ["A", "B", "A", "B", "B"])
    assert model.index_ == whole.index_
    assert model.index_.features == ("x0", "x1")


def test_a_class_that_comes_later() -> None:
    """The first chunk need not show every class that it names."""
    model = CertifiedNB(1.0, weights="equal").partial_fit([["a"], ["b"]], [0, 0], classes=[0, 1, 2])
    assert model.predict_proba([["a"]]).shape == (1, 3)
    model.partial_fit([["b"], ["a"]], [2, 1])
    assert model.predict_proba([[None]]) == pytest.approx(np.array([[0.5, 0.25, 0.25]]))


@pytest.mark.parametrize(
    ("n_before", "row", "label", "options", "message"),
    [
        (0, ["a"], "A", {}, "got no classes; give all labels that will occur"),
        (0, ["a"], "C", {"classes": [*"AB"]}, "y holds 'C', which is not among the classes"),
        (0, ["a"], None, {"classes": [*"AB"]}, "y has 1 missing label"),
        (1, ["a"], "A", {"classes": [*"AC"]}, "the first call named"),
        (1, ["a"], "C", {}, "y holds 'C'"),
        (1, ["a", "b"], "A", {}, "expecting 1 features"),
        (1, ["a"], "A", {"sample_weight": [1.0]}, "sample_weight was given, but worlds count"),
    ],
)
def test_bad_chunks(
    n_before: int, row: list[str], label: str | None, options: dict[str, Any], message: str
) -> None:
    """The first chunk names all classes, others fit to it; one that is refused changes no counts."""
    model = CertifiedNB(weights="equal")
    for _ in range(n_before):
        model.partial_fit([["a"], ["b"]], ["A", "B"], classes=["A", "B"])
    before = getattr(model, "index_", None)
    with pytest.raises(ValueError, match=message):
        model.partial_fit([row, row], [label or "A", label], **options)
    assert getattr(model, "index_", None) is before


# Among other estimators ---------------------------------------------------------------------------


def test_pipeline_and_column_transformer() -> None:
    """A pipeline passes frames on, and a column transformer may prepare some of their columns."""
    frame = pandas_frame()
    prepared = make_column_transformer(
        (FunctionTransformer(np.log1p, feature_names_out="one-to-one"), ["age"]),
        ("drop", ["joined"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    pipeline = make_pipeline(prepared.set_output(transform="pandas"), CertifiedNB(1.0))
    pipeline.fit(frame, LABELS)
    assert pipeline[-1].index_.features == ("age", "visits", "city", "plan", "member")
    assert pipeline.score(frame, LABELS) > 0.7
    assert pipeline.predict_proba(frame).shape == (len(frame), 2)
    assert 0 < certified_accuracy(pipeline, frame, LABELS) < 1


@pytest.mark.parametrize("library", ["pandas", "polars", "NumPy objects"])
def test_cross_validation(library: str) -> None:
    """Cross-validation works on frames and arrays, with every way to score."""
    table = LIBRARIES[library]()
    model = CertifiedNB(1.0)
    assert cross_val_score(model, table, LABELS, cv=3).mean() > 0.7
    assert len(cross_val_predict(model, table, LABELS, cv=3, method="predict_proba")) == len(LABELS)
    right = cross_val_score(model, table, LABELS, cv=3, scoring=certified_accuracy)
    certain = cross_val_score(model, table, LABELS, cv=3, scoring=certainty_rate)
    assert (right > 0).all()
    assert (right <= certain).all()
    assert (certain < 1).all()
    pipeline = make_pipeline(FunctionTransformer(), "passthrough", model)
    np.testing.assert_array_equal(
        cross_val_score(pipeline, table, LABELS, cv=3, scoring=certified_accuracy), right
    )


def test_scorers() -> None:
    """The scores are the shares of certain points, and of those that are certain and right."""
    reference = CertifiedNB(alpha=0.5).fit(polars_frame(), LABELS)
    frame = polars_frame()
    told = reference.certify(frame)
    right = [label == truth for label, truth in zip(told.label, LABELS, strict=True)]
    assert certified_accuracy(reference, frame, LABELS) == np.mean(right)
    assert certainty_rate(reference, frame) == told.certain.mean()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        certified_accuracy(reference, frame, LABELS[:5])
    other = GaussianNB().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(NullproofError, match="GaussianNB cannot certify"):
        certainty_rate(make_pipeline(other), [[1.0]])


# What it refuses --------------------------------------------------------------------------------


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
        ([["a"], ["b", "c"]], "2D array"),
        ("train.csv", "2D array"),
        (pd.DataFrame(index=range(2)), "0 feature"),
        (pl.DataFrame({"a": []}), "0 sample"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "column name twice"),
        ([[None], [float("nan")]], "no column holds any known value"),
    ],
)
def test_tables_that_are_none(table: Any, message: str) -> None:
    """What is not a table with rows and columns is refused in scikit-learn's words."""
    with pytest.raises(ValueError, match=message):
        CertifiedNB().fit(table, [0, 1])


@pytest.mark.parametrize(
    "labels",
    [
        ["A", None],
        np.array(["A", pd.NA], dtype=object),
        np.array([1.0, np.nan]),
        np.ma.masked_array([1, 2], mask=[False, True]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["A", None], dtype="category"),
        pd.Series(["A", None], dtype="string[pyarrow]"),
        pl.Series(["A", None]),
        pa.chunked_array([["A", None]]),
    ],
    ids=lambda labels: type(labels).__module__,
)
def test_missing_labels(labels: Any) -> None:
    """A missing label is refused with its row, in whatever library the labels are."""
    with pytest.raises(NullproofError, match=r"1 missing label.*\b1\b"):
        CertifiedNB().fit([["a"], ["b"]], labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["A"], r"inconsistent numbers of samples: \[2, 1\]"),
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


def test_unseen_categories() -> None:
    """A category that the training table never shows is no reason to crash; certify tells of it."""
    model = CertifiedNB(1.0).fit(pandas_frame(), LABELS)
    strange = pandas_frame().assign(city="Quito")
    assert set(model.predict(strange)) <= {"no", "yes"}
    assert np.isfinite(model.predict_proba(strange)).all()
    with pytest.warns(
        NullproofWarning, match="never occur in the training table in 'city' \\(90\\)"
    ):
        assert len(model.certify(strange)) == len(strange)
    assert certainty_rate(model, strange) < 1  # scorers keep quiet: held-out parts are like that
    declared = CertifiedNB(1.0, domains={"city": ["Quito"]}).fit(pandas_frame(), LABELS)
    assert declared.certify(strange).possible.shape == (90, 2)


def test_another_kind_of_column_than_at_fit() -> None:
    """Text where the training table has numbers is refused, with the name of the column."""
    model = CertifiedNB(1.0).fit(pandas_frame(), LABELS)
    with pytest.raises(NullproofError, match="column 'age' holds text such as 'old'"):
        model.predict(pandas_frame().assign(age="old"))


# What a hostile reader found ----------------------------------------------------------------------


def test_clumsy_calls_of_the_estimator() -> None:
    """Unfitted, without rows, or with classes that are none: an error of scikit-learn's kind or ours."""
    for question in (CertifiedNB().radius, CertifiedNB().poison):
        with pytest.raises(NotFittedError):
            question([["a"]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CertifiedNB().fit([["a"]], np.array([], dtype=object))
    with pytest.raises(NullproofError, match="missing label"):
        CertifiedNB().partial_fit([["a"]], [0.0], classes=[0.0, float("nan")])
    model = CertifiedNB().fit([["a", "x"], ["b", None]] * 2, ["p", "q"] * 2)
    assert model.label_odds([["a", "x"]], key=["k"]).to_frame()["key"].to_list() == ["k"]
    assert model.cleaning_plan([["a", "x"]], key=["k"]).n_points == 1


def test_candidates_have_no_bins() -> None:
    """Sets of candidates are counted as values; among numbers that get bins they are rejected."""
    rows: list[Any] = [[{1.5, 2.5}], [1.5], [2.5], [3.5]]
    with pytest.raises(NullproofError, match="'x0' has sets of candidates among numbers"):
        CertifiedNB().fit(rows, list("aabb"))
    assert CertifiedNB(binning="none").fit(rows, list("aabb")).index_.n_missing == 1
