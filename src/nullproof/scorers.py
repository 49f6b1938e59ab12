"""Scorers for scikit-learn: the share of predictions that are certain, or certain and right."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import Threat
from nullproof.data.types import text
from nullproof.errors import NullproofError, NullproofWarning, missing_extra

try:
    from sklearn.utils.validation import check_consistent_length
except ImportError:
    raise missing_extra("CertifiedNB", "sklearn") from None


def certified_accuracy(
    estimator: Any = None,
    X: Any = None,  # noqa: N803
    y: Any = None,
    *,
    k: float = 0,
    threat: Threat = "cells",
) -> Any:
    """Score the share of points whose prediction is certain and right.

    Use it as ``scoring=certified_accuracy``; a pipeline that ends in a CertifiedNB will do too.
    ``scoring=certified_accuracy(k=5)`` asks that the prediction stays so under any attack of 5
    training cells that are blanked or falsified, ``certified_accuracy(k=5, threat="rows")`` of 5 rows
    that are added. Attacks know no bias.

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
    if not k >= 0:
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
    """The estimator that certifies, and the rows as the steps before it leave them."""
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
