"""certify: is a prediction the same in every world of an incomplete training table, or how far?"""

from __future__ import annotations

from typing import Any, overload

from nullproof.bias import Bias
from nullproof.certificate import Certificate
from nullproof.certificates import Certificates, certificates_of
from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key
from nullproof.data.points import OwnHoles
from nullproof.model import Alpha, Model, Prior
from nullproof.truths import Truth


@overload
def certify(
    index: CountIndex,
    points: tuple[Any, ...] | dict[str, Any],
    *,
    alpha: Alpha = ...,
    prior: Prior = ...,
    own_missing: OwnHoles = ...,
    bias: Bias = ...,
    key: Key | None = ...,
    truth: Any = ...,
) -> Certificate: ...
@overload
def certify(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = ...,
    prior: Prior = ...,
    own_missing: OwnHoles = ...,
    bias: Bias = ...,
    key: Key | None = ...,
    truth: Any = ...,
) -> Certificates: ...
def certify(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    bias: Bias = 1.0,
    key: Key | None = None,
    truth: Any = None,
) -> Certificate | Certificates:
    """Decide for each point whether every world predicts the same label; exact for tables of any size.

    Parameters
    ----------
    points
        A data frame, a file, an array or a list of rows; or one point, as a tuple with one value per
        feature in the order of ``index.features``, or as a mapping. A cell may be None (not known)
        or a set of candidates.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        ``"skip"``: predict from the cells that a point knows, as `predict` does. ``"any"``: the
        prediction must be the same whatever the point's own missing cells hold.
    bias
        How far missing training cells may differ from the known ones (docs/assumptions.md): 1 for
        any values at all; 0.05 if the share of a value among them is within 0.05 of its share
        among the known cells. Or a mapping from column to number, with ``"*"`` for the rest.
    key
        What names the points in the result: a column of theirs, or one name per point.
    truth
        The true label of each point, None where it is not known. It changes no verdict, and only tells
        which predictions are right.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> certify(index, ("a", "x")).certain
    True
    >>> certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    Certificates: 2 of 3 points certain, 0 hold up to a bias of 0.05, 1 open
      0: Certificate(certain: yes in every world)
      1: Certificate(open: no or yes, a tie)
      2: Certificate(certain: no in every world)
    """
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    found = certificates_of(model, encoded)
    if truth is not None:
        found = found.with_truth([truth] if encoded.single else truth)
    return found[0] if encoded.single else found


def truth(certificates: Certificates, labels: Any) -> Truth:
    """Tell how many predictions are right: of all points, by verdict, and as the bias grows.

    Parameters
    ----------
    certificates
        What `certify` gave.
    labels
        The true label of each point, None where it is not known. Labels that the training table does
        not have are not counted either.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> found = certify(index, [("a", "x"), ("a", "y"), ("b", "y")])
    >>> truth(found, ["yes", "yes", "no"])
    Truth: 2 of 3 predictions right (66.7 %, balanced 75.0 %)
      certain: 2 of 2 right (100 %)
      holds: 0 of 0 right
      open: 0 of 1 right (0 %)
    """
    found = certificates.with_truth(labels).truth
    assert found is not None
    return found
