"""What a report says of attacks on right predictions: how many stay right under any attack of some size."""

from __future__ import annotations

from typing import Any

import numpy as np

from nullproof.attacks.accuracy import AccuracyCurve
from nullproof.attacks.radius import Radii
from nullproof.data.points import evenly
from nullproof.model.accuracy import CertaintyCurve
from nullproof.model.verdicts import Verdicts
from nullproof.words import many, per_cent

_MOST_STEPS = 200


def accuracy(anywhere: Verdicts, fragile: Radii, curve: CertaintyCurve) -> dict[str, Any] | None:
    """The curve at a few sizes to be read and at more to be drawn; None if no true label is known."""
    if curve.actual is None or curve.right is None or not (curve.actual >= 0).any():
        return None
    known = curve.actual >= 0
    found = AccuracyCurve(
        "cells",
        fragile.radius[known],
        np.asarray(anywhere.winner == curve.actual)[known],
        curve.right[known],
        len(known),
    )
    sizes = found.some_sizes()
    steps = found.steps[evenly(np.arange(len(found.steps)), _MOST_STEPS)].tolist()
    return {
        "n_known": found.n_known,
        "n_right": int(found.right.sum()),
        "accuracy": found.accuracy,
        "curve": [{"k": k, "n": found.n_at(k), "share": found.at(k)} for k in sizes],
        "drawn": {"k": steps, "share": [found.at(k) for k in steps]},
    }


def in_words(told: dict[str, Any]) -> str:
    """Explain the curve to somebody who sees one for the first time."""
    first = told["curve"][0]
    return (
        f"{per_cent(told['accuracy'])} of {many(told['n_known'], 'prediction')} with a known label "
        f"are right; {per_cent(first['share'])} are right and certain. Whoever blanks or falsifies "
        "k cells of the training table can turn some of these: the curve says how many are right "
        "and stay so whichever k cells that are."
    )
