"""CertifiedNB in chunks, pipelines, searches and ensembles of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer
from support.mixed_tables import LABELS, LIBRARIES, mixed, object_array, pandas_frame, polars_frame

from nullproof import CertifiedNB, CountIndex, NullproofError, NullproofWarning
from nullproof.estimator import certainty_rate, certified_accuracy

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


# In chunks ----------------------------------------------------------------------------------------


def sorted_extremes_first(columns: dict[str, list[Any]], labels: list[str]) -> tuple[Any, Any]:
    """A frame whose first rows show the least and the greatest number of every column."""
    frame = pl.DataFrame(columns)
    numeric = ("age", "visits", "joined")
    ends = [frame[name].arg_min() for name in numeric] + [frame[name].arg_max() for name in numeric]
    order = list(dict.fromkeys([*ends, *range(len(labels))]))
    return frame[order], [labels[row] for row in order]


def without_texts(index: CountIndex) -> CountIndex:
    """The index with its bins numbered: texts follow from what the first chunk shows."""
    features = [
        replace(feature, values=tuple(map(str, feature.bins))) if feature.edges else feature
        for feature in index.schema.features
    ]
    return replace(index, schema=replace(index.schema, features=tuple(features)))


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
    whole = CertifiedNB(bins=9, binning="uniform").fit(convert[library](frame), labels)
    model = CertifiedNB(bins=9, binning="uniform")
    for start in range(0, len(labels), size):
        part, names = frame[start : start + size], labels[start : start + size]
        model.partial_fit(convert[library](part), names, classes=["yes", "no"])
    assert without_texts(model.index_) == without_texts(whole.index_)
    assert model.classes_.tolist() == ["no", "yes"]


def test_a_column_empty_in_the_first_chunk() -> None:
    """A column without a known value at first joins when it shows one; its holes are kept."""
    first, second = [["a", None], ["b", None]], [["a", "x"], ["b", "y"], ["a", None]]
    model = CertifiedNB()
    with pytest.warns(NullproofWarning, match="left out for lack of any known value: 'x1'"):
        model.partial_fit(first, ["A", "B"], classes=["A", "B"])
    assert model.predict([["a", None]]).tolist() == ["A"]
    model.partial_fit(second, ["A", "B", "B"])
    whole = CertifiedNB().fit([*first, *second], ["A", "B", "A", "B", "B"])
    assert model.index_ == whole.index_
    assert model.index_.features == ("x0", "x1")


def test_such_a_column_of_a_frame_that_continues_as_an_array() -> None:
    """It joins under its own name, also when later chunks are arrays without names."""
    first = pl.DataFrame({"city": ["a", "b"], "plan": pl.Series([None, None], dtype=pl.String)})
    model = CertifiedNB()
    with pytest.warns(NullproofWarning, match="'plan'"):
        model.partial_fit(first, ["A", "B"], classes=["A", "B"])
    with pytest.warns(UserWarning, match="feature names"):
        model.partial_fit([["a", "x"], ["b", "y"]], ["A", "B"])
    assert model.index_.features == ("city", "plan")


def test_a_class_that_comes_later() -> None:
    """The first chunk need not show every class that it names."""
    model = CertifiedNB(1.0).partial_fit([["a"], ["b"]], [0, 0], classes=[0, 1, 2])
    assert model.predict_proba([["a"]]).shape == (1, 3)
    model.partial_fit([["b"], ["a"]], [2, 1])
    assert model.index_.label_counts.tolist() == [2, 1, 1]


def test_chunks_after_fit() -> None:
    """A fitted estimator goes on counting."""
    model = CertifiedNB().fit([["a"], ["b"]], ["A", "B"]).partial_fit([["c"]], ["B"])
    assert model.index_ == CertifiedNB().fit([["a"], ["b"], ["c"]], ["A", "B", "B"]).index_


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["A", "B"], None, "got no classes; give all labels that will occur"),
        (["A", "C"], ["A", "B"], "y holds 'C', which is not among the classes"),
        (["A", None], ["A", "B"], "y has 1 missing label"),
    ],
)
def test_bad_first_chunks(labels: list[Any], classes: Any, message: str) -> None:
    """A first chunk must name all classes and hold no others."""
    model = CertifiedNB()
    with pytest.raises(NullproofError, match=message):
        model.partial_fit([["a"], ["b"]], labels, classes=classes)
    assert not hasattr(model, "index_")


def test_bad_further_chunks() -> None:
    """A further chunk that is refused leaves the counts as they were."""
    model = CertifiedNB().partial_fit([["a"], ["b"]], ["A", "B"], classes=["A", "B"])
    before = model.index_
    with pytest.raises(NullproofError, match="the first call named"):
        model.partial_fit([["a"]], ["A"], classes=["A", "C"])
    with pytest.raises(NullproofError, match="y holds 'C'"):
        model.partial_fit([["a"]], ["C"])
    with pytest.raises(ValueError, match="expecting 1 features"):
        model.partial_fit([["a", "b"]], ["A"])
    with pytest.raises(NullproofError, match="sample_weight"):
        model.partial_fit([["a"]], ["A"], sample_weight=[1.0])
    assert model.index_ is before


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


def test_column_transformer_without_names() -> None:
    """The array that a column transformer makes of a mixed frame gives the same answers."""
    chosen = ["age", "city", "plan"]
    prepared = ColumnTransformer([("keep", "passthrough", chosen)])
    pipeline = Pipeline([("prepare", prepared), ("model", CertifiedNB(1.0))])
    pipeline.fit(pandas_frame(), LABELS)
    direct = CertifiedNB(1.0).fit(pandas_frame()[chosen], LABELS)
    np.testing.assert_array_equal(
        pipeline.predict_proba(pandas_frame()), direct.predict_proba(pandas_frame()[chosen])
    )


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


def test_grid_search() -> None:
    """Smoothing and bins can be chosen by certified accuracy, also within a pipeline."""
    pipeline = make_pipeline(FunctionTransformer(), CertifiedNB(binning="uniform"))
    grid = {
        "certifiednb__alpha": [0.1, 1.0],
        "certifiednb__bins": [2, 5],
        "certifiednb__prior": [None, "uniform"],
    }
    search = GridSearchCV(pipeline, grid, scoring=certified_accuracy, cv=3)
    search.fit(pandas_frame(), LABELS)
    assert search.best_params_["certifiednb__bins"] in (2, 5)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0
    assert certainty_rate(search, pandas_frame()) > 0


@pytest.mark.parametrize("table", [pandas_frame(), object_array()], ids=["frame", "array"])
def test_calibration(table: Any) -> None:
    """Probabilities can be calibrated."""
    model = CalibratedClassifierCV(CertifiedNB(1.0), cv=3).fit(table, LABELS)
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    assert model.score(table, LABELS) > 0.7


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_voting(voting: str) -> None:
    """It votes with other classifiers, each with its own view of the table."""
    binned = make_pipeline(
        make_column_transformer((FunctionTransformer(lambda frame: frame.fillna(0)), ["visits"])),
        KBinsDiscretizer(3, encode="ordinal", quantile_method="linear")
        if "quantile_method" in KBinsDiscretizer().get_params()
        else KBinsDiscretizer(3, encode="ordinal"),
        GaussianNB(),
    )
    votes = VotingClassifier([("certified", CertifiedNB(1.0)), ("other", binned)], voting=voting)
    assert votes.fit(pandas_frame(), LABELS).score(pandas_frame(), LABELS) > 0.6
