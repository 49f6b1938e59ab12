"""CertifiedNB: nullproof as a scikit-learn classifier, and its scorers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from types import SimpleNamespace
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.poison import poison
from nullproof.attacks.radius import Threat, radius
from nullproof.attacks.reach import Only
from nullproof.cleaning.plan import CleaningPlan, cleaning_plan
from nullproof.counts.count import count_like, count_table, feature_names
from nullproof.counts.index import CountIndex
from nullproof.counts.weights import FEWEST_ROWS
from nullproof.data.binning import Binning, Rows
from nullproof.data.missing import Missing, Spellings
from nullproof.data.options import TableOptions, Weights
from nullproof.data.points import OwnMissing, Points, encode_points, encode_quietly, refuse_reading
from nullproof.data.schema import Schema, fit_feature, widen_feature
from nullproof.data.sources import Reading, Table, open_rows, open_table
from nullproof.data.types import Column, text
from nullproof.errors import NullproofError, NullproofWarning, missing_extra, notice
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import Bias, Prior
from nullproof.model.predict import probabilities, winners
from nullproof.model.tolerance import tolerances_of
from nullproof.odds.odds import LabelOdds, label_odds

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.validation import (
        check_array,
        check_consistent_length,
        check_is_fitted,
        validate_data,
    )

    from nullproof.classes import classes_of, known_classes
except ImportError:
    raise missing_extra("CertifiedNB", "sklearn") from None

__all__ = ["CertifiedNB", "certainty_rate", "certified_accuracy"]


class CertifiedNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes for tables with missing cells, which says which of its predictions are certain.

    Parameters
    ----------
    alpha
        Smoothing; 1 as in CategoricalNB, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per class.
    binning, bins
        How numeric and date columns are binned: ``"mdl"`` cuts where the labels change, as long as the
        MDL rule accepts the cut; ``"uniform"`` makes bins of equal width, ``"quantile"`` bins with equally
        many rows, ``bins`` of them; ``"none"`` makes every number a category. Or a mapping from column to
        one of these, with ``"*"`` for the rest. The first chunk fixes the cuts.
    weights
        ``"learned"``: redundant or uninformative columns count less, if there are 100 rows or more;
        ``"equal"``: every column counts 1; or a mapping from column to a multiple of 1/8 from 0 to 2,
        with ``"*"`` for the rest. The first chunk fixes them.
    missing
        Texts that mean missing, e.g. ``("unknown",)``, besides the usual ones (as `CountIndex.from_table`),
        or a mapping from column to such texts, with ``"*"`` for all columns.
    missing_is_value
        Columns where "missing" is itself an answer and counts as a value.
    domains
        Declared categories per column name (``x0``, ``x1``, … for arrays).
    own_missing
        ``"skip"``: certify from the known cells of a row, as `predict` does; ``"any"``: certify whatever
        its missing cells hold.
    bias
        How far missing training cells may differ from the known ones: 1 for any values at all, a
        smaller number, or a mapping from column to number with ``"*"`` for the rest.

    Attributes
    ----------
    index_
        The counts behind all answers; `CountIndex.save` writes them to a file, and `from_index` makes an
        estimator from them.
    weights_
        How much each column counts.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([["a", None], ["a", "x"], ["a", "y"], ["b", "x"]], dtype=object)
    >>> model = CertifiedNB().fit(X, ["yes", "yes", "no", "no"])
    >>> model.predict([["a", "x"], ["b", "y"]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.certify([["a", "x"], ["a", "y"]])
    Certificates: 1 of 2 points certain, 0 hold up to a bias of 0.05, 1 open
      0: Certificate(certain: yes in every world)
      1: Certificate(open: no or yes, a tie)
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        prior: Prior = None,
        binning: Binning | Mapping[str, Binning] = "mdl",
        bins: int = 5,
        weights: Weights = "learned",
        missing: Spellings = (),
        missing_is_value: Collection[str] = (),
        domains: Mapping[str, Iterable[Any]] | None = None,
        own_missing: OwnMissing = "skip",
        bias: Bias = 1.0,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.bins = bins
        self.binning = binning
        self.weights = weights
        self.missing = missing
        self.missing_is_value = missing_is_value
        self.domains = domains
        self.own_missing = own_missing
        self.bias = bias

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:  # noqa: N803
        """Count the table; X may be a data frame, an array or lists, with missing cells anywhere."""
        _refuse_weights(unsupported)
        table = self._read(X, reset=True)
        classes, codes = classes_of(y, table.n_rows)
        self._keep(self._counted(table, classes, codes), classes)
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
        known = self.classes_ if classes is None else classes_of(classes, len(classes))[0]
        if not first and not np.array_equal(known, self.classes_):
            raise NullproofError(
                f"classes are {known.tolist()} but the first call named {self.classes_.tolist()}; "
                "give the same, or leave them out"
            )
        table = self._read(X, reset=first)
        codes = known_classes(y, table.n_rows, known)
        if first:
            if self.weights == "learned" and table.n_rows < FEWEST_ROWS:
                notice(
                    f"The first chunk has {table.n_rows:,} rows, too few to learn weights from, so every "
                    f"column counts 1 in all of them; give {FEWEST_ROWS} rows or more first, or "
                    'weights="equal"'
                )
            self._keep(self._counted(table, known, codes), known)
        else:
            schema = _widened_schema(self.index_.schema, table, self._options(), Rows(codes))
            names = [text(label) for label in known.tolist()]
            labels = Column("label", "category", codes=codes, values=names)
            chunk = CountIndex.of(count_like(schema, table, labels))
            self._keep(self.index_.widened(schema) + chunk, known)
        return self

    @classmethod
    def from_index(cls, index: CountIndex, **parameters: Any) -> Self:
        """Make a fitted estimator from an index, for example a saved one."""
        estimator = cls(**parameters)
        # scikit-learn sorts classes as texts; an index sorts numbers in texts by size.
        classes = np.unique(np.array(index.labels))
        index = index.widened(replace(index.schema, labels=tuple(classes.tolist())))
        names = tuple(line.name for line in index.schema.columns if line.use != "label")
        names = names or index.features
        estimator.n_features_in_ = len(names)
        if names != _numbered(len(names)):
            estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator._keep(index, classes)
        return estimator

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict, skipping missing cells; a row that is certain or holds gets that label."""
        places = winners(self._model, self._encoded(X, quiet=True))
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the probabilities of the classes, skipping missing cells."""
        return probabilities(self._model, self._encoded(X, quiet=True))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def certify(self, X: Any) -> Certificates:  # noqa: N803
        """Decide for each row whether every world within the bias predicts the same label."""
        return certificates_of(self._model, self._points(X))

    def decide(self, X: Any, otherwise: Any = None) -> NDArray[np.object_]:  # noqa: N803
        """Return the label where it is certain, or holds up to ``bias``, and ``otherwise`` elsewhere."""
        judged = self.certify(X)
        labels: NDArray[np.object_] = judged.label
        labels[~judged.certain] = otherwise
        return labels

    def tolerance(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the largest bias up to which each row's prediction holds; NaN if undecided even at 0."""
        return tolerances_of(self._model, self._points(X)).value

    def possible_labels(self, X: Any) -> list[list[Any]]:  # noqa: N803
        """List the labels that win or tie in some world, for each row."""
        return [list(certificate.possible) for certificate in self.certify(X)]

    def radius(
        self,
        X: Any,  # noqa: N803
        *,
        threat: Threat = "cells",
        only: Only = None,
    ) -> NDArray[np.float64]:
        """Count the fewest training cells to blank or falsify before each row is no longer certain.

        With ``threat="rows"``, count the fewest training rows to add; ``only`` names the ``"columns"``
        whose cells can be blanked; both as for `radius`.
        """
        found: NDArray[np.float64] = self._ask(radius, X, threat=threat, only=only).radius
        return found

    def poison(self, X: Any, *, threat: Threat = "cells", **options: Any) -> Any:  # noqa: N803
        """Choose training cells to blank, or rows to add, so that no row's prediction is certain.

        Options as for `poison`.
        """
        return self._ask(poison, X, threat=threat, **options)

    def label_odds(self, X: Any, **options: Any) -> LabelOdds:  # noqa: N803
        """Bound how likely each class is over all worlds; options as for `label_odds`."""
        found: LabelOdds = self._ask(label_odds, X, **options)
        return found

    def cleaning_plan(self, X: Any, **options: Any) -> CleaningPlan:  # noqa: N803
        """Plan which missing training cells to look up first; options as for `cleaning_plan`.

        ``bias`` defaults to that of the estimator, or to 0.05 if that is 1.
        """
        if not self._model.is_unbiased:
            options.setdefault("bias", self.bias)
        plan: CleaningPlan = self._ask(cleaning_plan, X, **options)
        return plan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _options(self) -> TableOptions:
        return TableOptions(
            self.missing,
            self.bins,
            self.binning,
            self.domains or {},
            missing_is_value=self.missing_is_value,
            weights=self.weights,
        )

    def _counted(self, table: Table, classes: Any, codes: NDArray[np.int32]) -> CountIndex:
        options = self._options()
        names = feature_names(table.names, "", options)
        name = "label"
        while name in table.names:
            name += "_"
        labels = Column(name, "number", numbers=codes)
        # `weights_` has them.
        found = CountIndex.of(count_table(table, names, labels, options, quiet_weights=True))
        present = tuple(classes[list(found.labels)].tolist())
        counted = replace(found, schema=replace(found.schema, labels=present))
        return counted.widened(replace(found.schema, labels=tuple(classes.tolist())))

    @property
    def _model(self) -> Model:
        """The counts with the current parameters, even if they were set after `fit`."""
        # Checking for the counts is quick.
        if not hasattr(self, "index_"):
            check_is_fitted(self)
        return Model(self.index_, self.alpha, self.prior, self.bias)

    def _ask(self, question: Callable[..., Any], X: Any, **options: Any) -> Any:  # noqa: N803
        """Ask about some rows with the current parameters; attacks and odds take no bias."""
        points = self._points(X)
        model = {"alpha": self.alpha, "prior": self.prior, "own_missing": self.own_missing}
        return question(self.index_, points, **model, **options)

    def _encoded(self, X: Any, *, quiet: bool = False) -> Points:  # noqa: N803
        if not hasattr(self, "index_"):
            check_is_fitted(self)
        encode = encode_quietly if quiet else encode_points
        return encode(self.index_.schema, self._read(X, reset=False))

    def _points(self, X: Any) -> Points:  # noqa: N803
        """Return the rows, with their missing cells read as ``own_missing`` says."""
        return self._encoded(X).read(self.own_missing)

    def _read(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        missing = Missing.of(self.missing) if reset else self.index_.schema.missing
        # Checking for pandas is quick.
        if nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_into_dataframe(X):
            table = open_table(X, Reading(missing))
            if not table.n_rows or not table.names:
                check_array(np.empty((table.n_rows, len(table.names))))
            if reset or not self._knows(X, table):
                validate_data(self, _header(X, table), reset=reset, skip_check_array=True)
        else:
            # Lists keep the type of each cell: NumPy alone would turn mixed rows into text.
            cells = np.array(X, dtype=object) if isinstance(X, list | tuple) and len(X) else X
            if isinstance(cells, np.ma.MaskedArray):
                masked = np.nan if cells.dtype.kind == "f" else None
                cells = np.where(np.ma.getmaskarray(cells), masked, cells.data)  # type: ignore[arg-type]
            cells = validate_data(self, cells, reset=reset, dtype=None, ensure_all_finite=False)
            if cells.dtype.kind == "O":
                # Cells of plain rows may be sets of candidates.
                table = open_rows(cells.tolist(), _numbered(cells.shape[1]), missing=missing)
            else:
                table = open_table(cells, Reading(missing))
        return table.renamed(getattr(self, "feature_names_in_", _numbered(len(table.names))))

    def _knows(self, X: Any, table: Table) -> bool:  # noqa: N803
        """Return whether a frame has exactly the columns of `fit`; scikit-learn's check is slower."""
        names = getattr(self, "feature_names_in_", ())
        # Names that were converted on the way are texts only now.
        return table.source is X and table.names == (*names,)

    def _keep(self, index: CountIndex, classes: NDArray[Any]) -> None:
        refuse_reading(self.own_missing)
        model = Model(index, self.alpha, self.prior, self.bias)
        weights = dict(zip(index.features, model.float_weights.tolist(), strict=True))
        names = getattr(self, "feature_names_in_", _numbered(self.n_features_in_))
        self.index_, self.classes_ = index, classes
        # A column that is left out has weight 0.
        self.weights_ = np.array([weights.get(name, 0.0) for name in names])


def _refuse_weights(unsupported: Mapping[str, Any]) -> None:
    if unsupported.get("sample_weight") is not None:
        raise NullproofError(
            "sample_weight was given, but worlds count cells, not weights; leave it out, or repeat "
            "rows instead"
        )
    for name in unsupported.keys() - {"sample_weight"}:
        raise TypeError(f"fit got an unexpected keyword argument {name!r}")


def _widened_schema(schema: Schema, table: Table, options: TableOptions, rows: Rows) -> Schema:
    """Add the new values of a further chunk, and features that had no known value so far."""
    features = []
    for name in table.names:
        position = schema.position.get(name)
        if position is not None:
            feature = schema.features[position]
            features.append(widen_feature(feature, table.like(feature)))
            continue
        column = table.column(name)
        if name not in schema.left_out and column.known.any():
            binning = options.binning_of(name)
            as_value = name in options.missing_is_value
            fitted, _ = fit_feature(
                column, bins=options.bins, binning=binning, rows=rows, missing_is_value=as_value
            )
            features += options.weighted([fitted])
    return replace(schema, features=tuple(features))


def _header(X: Any, table: Table) -> Any:  # noqa: N803
    """Return the frame for scikit-learn to check: before 1.9 it finds no names in polars 2 frames."""
    if not nw.dependencies.is_polars_dataframe(X):
        return X
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True)
    if hasattr(probe, "feature_names_in_"):
        return X
    header = SimpleNamespace(shape=X.shape, column_names=lambda: table.names)
    header.__dataframe__ = lambda: header
    return header


def _numbered(size: int) -> tuple[str, ...]:
    """Name columns that have no names."""
    return tuple(f"x{j}" for j in range(size))


# Scorers ------------------------------------------------------------------------------------------


def certified_accuracy(
    estimator: Any = None,
    X: Any = None,  # noqa: N803
    y: Any = None,
    *,
    k: float = 0,
    threat: Threat = "cells",
) -> Any:
    """Score the share of points whose prediction is certain and right.

    Use it as ``scoring=certified_accuracy``, also for a pipeline that ends in a CertifiedNB.
    ``scoring=certified_accuracy(k=5)`` requires that the prediction stays certain under any attack that
    blanks or falsifies 5 training cells, ``certified_accuracy(k=5, threat="rows")`` under any attack that
    adds 5 rows. Attacks ignore the bias.

    Examples
    --------
    >>> from nullproof import CertifiedNB
    >>> X = [["a", "x"], ["a", "x"], ["b", "y"], ["b", None]]
    >>> y = ["yes", "yes", "no", "no"]
    >>> model = CertifiedNB().fit(X, y)
    >>> certified_accuracy(model, X, y)
    1.0
    >>> certified_accuracy(k=1)(model, X, y)
    1.0
    """
    if not isinstance(k, Real) or not k >= 0:
        raise NullproofError(f"k is {k!r}; give a number of {threat} that is 0 or more")
    if estimator is None:
        return partial(certified_accuracy, k=k, threat=threat)
    final, rows = _final(estimator, X)
    found = _quietly(final.certify, rows)
    check_consistent_length(found.certain, y)
    labels = zip(found.label, np.asarray(y), strict=True)
    hits = np.array([text(label) == text(truth) for label, truth in labels]) & found.certain
    if k:
        hits &= _quietly(partial(final.radius, threat=threat), rows) > k
    return float(np.mean(hits))


def certainty_rate(estimator: Any, X: Any, y: Any = None) -> float:  # noqa: N803, ARG001
    """Score the share of points whose prediction is certain; ``scoring=certainty_rate``.

    An estimator with a bias counts the predictions that hold at that bias; so does `certified_accuracy`.

    Examples
    --------
    >>> from nullproof import CertifiedNB
    >>> X = [["a", "x"], ["a", "x"], ["b", "y"], ["b", None]]
    >>> certainty_rate(CertifiedNB().fit(X, ["yes", "yes", "no", "no"]), X)
    1.0
    """
    final, rows = _final(estimator, X)
    certain: NDArray[np.bool_] = _quietly(final.certify, rows).certain
    return float(np.mean(certain))


def _final(estimator: Any, X: Any) -> tuple[Any, Any]:  # noqa: N803
    """Return the estimator that certifies, and the rows as transformed by the steps before it."""
    estimator = getattr(estimator, "best_estimator_", estimator)
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
    return estimator, X


def _quietly(question: Any, rows: Any) -> Any:
    with warnings.catch_warnings():
        # Held-out parts often have unseen values; a warning for each part would be a flood.
        warnings.simplefilter("ignore", NullproofWarning)
        return question(rows)
