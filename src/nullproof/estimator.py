"""CertifiedNB: nullproof as a scikit-learn classifier, and scorers that count certain predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.building import Options, count_like, count_table, feature_names
from nullproof.columns import Column, fit_feature, widen_feature
from nullproof.decision import Certificates, certify
from nullproof.errors import NullproofError, missing_extra
from nullproof.index import CountIndex
from nullproof.points import encode_quietly
from nullproof.prediction import log_supports, probabilities, winners
from nullproof.readers import Table, open_table
from nullproof.schema import Schema
from nullproof.support import Model, Prior

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_feature_names,
        _check_n_features,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError:
    raise missing_extra("CertifiedNB", "sklearn") from None


class CertifiedNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes for tables with holes, which says which of its predictions are certain.

    Parameters
    ----------
    alpha
        Smoothing; 0 as in the paper, 1 as in CategoricalNB.
    prior
        None for the label frequencies, ``"uniform"``, or one number per class.
    bins, binning
        Number of bins of numeric and date columns (None: every number is a category), and whether
        they are of equal width (``"uniform"``) or hold equally many rows (``"quantile"``).
    missing
        Spellings of missing besides None, NaN, NA and NaT, e.g. ``("?",)``.
    domains
        Declared categories per column name (``x0``, ``x1``, … for arrays).

    Attributes
    ----------
    index_
        The counts that all answers come from; `CountIndex.save` keeps them, `from_index` revives.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([["a", None], ["a", "x"], ["b", "y"], ["b", "x"]], dtype=object)
    >>> model = CertifiedNB().fit(X, ["yes", "yes", "no", "no"])
    >>> model.predict([["a", "x"], ["b", "y"]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.certify([["a", "x"], ["a", "y"]])
    Certificates: 1 of 2 points robust
      0: Certificate(robust: yes in every world)
      1: Certificate(not robust: no or yes)
    """

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        prior: Prior = None,
        bins: int | None = 5,
        binning: Literal["uniform", "quantile"] = "uniform",
        missing: Sequence[str] = (),
        domains: Mapping[str, Iterable[Any]] | None = None,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.bins = bins
        self.binning = binning
        self.missing = missing
        self.domains = domains

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:  # noqa: N803
        """Count the table; X may be a data frame, an array or lists, with holes anywhere."""
        _refuse_weights(unsupported)
        table = self._read(X, reset=True)
        classes, codes = _classes(y, table.n_rows)
        self.index_ = self._counted(table, classes, codes)
        self.classes_ = classes
        return self

    def partial_fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        classes: Any = None,
        **unsupported: Any,
    ) -> Self:
        """Count a further chunk.

        The first chunk fixes the bins (and needs ``classes``); values seen later join the domains.
        """
        _refuse_weights(unsupported)
        first = not hasattr(self, "index_")
        if first and classes is None:
            raise NullproofError(
                "the first call of partial_fit got no classes; give all labels that will occur"
            )
        known = np.unique(np.asarray(classes)) if classes is not None else self.classes_
        if not first and not np.array_equal(known, self.classes_):
            raise NullproofError(
                f"classes are {known.tolist()} but the first call named {self.classes_.tolist()}; "
                "give the same, or leave them out"
            )
        table = self._read(X, reset=first)
        _, codes = _classes(y, table.n_rows, known)
        if first:
            self.index_, self.classes_ = self._counted(table, known, codes), known
        else:
            schema = _widened_schema(self.index_.schema, table, self._options())
            chunk = CountIndex(*count_like(schema, table, _named(known, codes)))
            self.index_ = self.index_.widened(schema) + chunk
        return self

    @classmethod
    def from_index(cls, index: CountIndex, **parameters: Any) -> Self:
        """Make a fitted estimator of an index, e.g. one that was saved."""
        estimator = cls(**parameters)
        estimator.index_ = index
        estimator.classes_ = np.array(index.labels)
        estimator.n_features_in_ = len(index.features)
        estimator.feature_names_in_ = np.array(index.features, dtype=object)
        return estimator

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict with missing cells skipped; a robust point always gets its certain label."""
        model, points = self._model_and_points(X)
        predicted: NDArray[Any] = self.classes_[winners(model, points, log_supports(model, points))]
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Probabilities of the classes with missing cells skipped."""
        model, points = self._model_and_points(X)
        return probabilities(model, log_supports(model, points))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def certify(self, X: Any) -> Certificates:  # noqa: N803
        """Tell for each row whether every world predicts the same label."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        return certify(self.index_, table, alpha=self.alpha, prior=self.prior)

    def possible_labels(self, X: Any) -> list[list[Any]]:  # noqa: N803
        """The labels that win or tie in some world, for each row."""
        return [list(certificate.possible) for certificate in self.certify(X)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _options(self) -> Options:
        return Options(self.bins, self.binning, dict(self.domains or {}))

    def _counted(self, table: Table, classes: Any, codes: NDArray[np.int64]) -> CountIndex:
        names = feature_names(table, "", (), self._options())
        labels = Column("label", "number", numbers=codes)
        found = CountIndex(*count_table(table, names, labels, self._options(), tuple(self.missing)))
        present = tuple(classes[list(found.labels)].tolist())
        counted = replace(found, schema=replace(found.schema, labels=present))
        return counted.widened(replace(found.schema, labels=tuple(classes.tolist())))

    def _model_and_points(self, X: Any) -> tuple[Model, Any]:  # noqa: N803
        check_is_fitted(self)
        table = self._read(X, reset=False)
        model = Model.of(self.index_, self.alpha, self.prior)
        return model, encode_quietly(self.index_.schema, table)

    def _read(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            if not len(frame) or not len(frame.columns):
                validate_data(self, np.empty(frame.shape), reset=reset, skip_check_array=False)
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)
            if not all(isinstance(name, str) for name in frame.columns):
                frame = frame.rename({name: f"x{j}" for j, name in enumerate(frame.columns)})
            return open_table(frame.to_native(), missing=self.missing)
        if isinstance(X, list | tuple):
            X = _object_array(X)  # noqa: N806
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)  # noqa: N806
        table = open_table(X, missing=self.missing)
        if not reset and hasattr(self, "feature_names_in_"):
            return table.renamed(tuple(self.feature_names_in_))
        return table


def certified_accuracy(estimator: Any, X: Any, y: Any) -> float:  # noqa: N803
    """Score the share of points whose prediction is certain and right.

    Use it as ``scoring=certified_accuracy``; a pipeline that ends in a CertifiedNB will do too.
    """
    labels = _certificates(estimator, X).label
    return float(np.mean([label == truth for label, truth in zip(labels, y, strict=True)]))


def certainty_rate(estimator: Any, X: Any, y: Any = None) -> float:  # noqa: N803, ARG001
    """Score the share of points whose prediction is certain; ``scoring=certainty_rate``."""
    return float(np.mean(_certificates(estimator, X).robust))


def _certificates(estimator: Any, X: Any) -> Certificates:  # noqa: N803
    if hasattr(estimator, "steps"):
        for _, step in estimator.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.transform(X)  # noqa: N806
        estimator = estimator.steps[-1][1]
    if not hasattr(estimator, "certify"):
        raise NullproofError(
            f"{type(estimator).__name__} cannot certify; score a CertifiedNB or a pipeline that "
            "ends in one"
        )
    certificates: Certificates = estimator.certify(X)
    return certificates


def _refuse_weights(unsupported: Mapping[str, Any]) -> None:
    if unsupported.get("sample_weight") is not None:
        raise NullproofError(
            "sample_weight was given, but worlds count cells, not weights; leave it out, or repeat "
            "rows instead"
        )
    unknown = [name for name in unsupported if name != "sample_weight"]
    if unknown:
        raise TypeError(f"fit got an unexpected keyword argument {unknown[0]!r}")


def _classes(
    y: Any, n_rows: int, classes: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The sorted classes and the class of every row."""
    if y is None:
        raise NullproofError("requires y to be passed, but the target y is None")
    if isinstance(y, nw.Series) or hasattr(y, "to_numpy"):
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
    holes = np.flatnonzero([_is_hole(label) for label in np.asarray(y, dtype=object).ravel()])
    if len(holes):
        rows = ", ".join(str(row) for row in holes[:5])
        raise NullproofError(
            f"y has {len(holes)} missing labels (rows {rows}{', …' if len(holes) > 5 else ''}); "
            "fill them in or leave those rows out: labels are never missing"
        )
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    if len(y) != n_rows:
        check_consistent_length(np.empty(n_rows), y)
    if classes is None:
        found, codes = np.unique(y, return_inverse=True)
        return found, codes.astype(np.int64)
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    strange = np.flatnonzero(classes[codes] != y)
    if len(strange):
        raise NullproofError(
            f"y holds {y[strange[0]]!r}, which is not among the classes {classes.tolist()}; "
            "name all labels in the first call of partial_fit"
        )
    return classes, codes.astype(np.int64)


def _is_hole(label: Any) -> bool:
    return label is None or label != label or type(label).__name__ in ("NAType", "NaTType")


def _named(classes: NDArray[Any], codes: NDArray[np.int64]) -> Column:
    from nullproof.schema import text

    return Column("label", "category", codes=codes, values=[text(x) for x in classes.tolist()])


def _widened_schema(schema: Schema, table: Table, options: Options) -> Schema:
    """Add what a further chunk shows: values, and features that had no known value so far."""
    features = []
    for name in table.names:
        column, position = table.column(name), schema.position.get(name)
        if position is not None:
            features.append(widen_feature(schema.features[position], column))
        elif column.sets or column.known.any():
            fitted, _ = fit_feature(column, bins=options.bins, binning=options.binning)
            features.append(fitted)
    return replace(schema, features=tuple(features))


def _object_array(rows: Any) -> NDArray[Any]:
    """Lists keep the type of each cell: NumPy alone would turn mixed rows into text."""
    array = np.asarray(rows, dtype=object) if len(rows) else np.asarray(rows)
    return array
