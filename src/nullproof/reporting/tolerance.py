"""What a report says about bias: the assumptions in words, the three verdicts, and the curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from nullproof.data.points import Points
from nullproof.model.accuracy import BIASES, CertaintyCurve
from nullproof.model.certify import Certificates
from nullproof.model.model import Model
from nullproof.model.verdicts import VERDICTS, verdicts
from nullproof.words import many, number, some, text
from nullproof.words import tolerance as amount

# Closer together near 0, where most predictions stop holding.
_DRAWN = tuple(sorted({*BIASES, *((step / 60) ** 2 for step in range(61))}))
_MOST_COLUMNS = 5


def assumptions(judged: Certificates) -> list[str]:
    """What the words certain, holds and open mean here, one sentence each."""
    bias = judged.up_to
    learned, completed = "", ""
    if judged.learned:
        learned, completed = f" {judged.learned}", " Count a completed table like this index."
    said = [
        "A prediction is certain if every way to fill in the missing cells of the training table "
        f"gives the same label{learned}.{completed}",
        f"A prediction holds up to {bias} if the label stays the same as long as the missing cells "
        "are like the known ones, give or take: of the missing cells of a label and a column, the "
        "share that hold a value differs by at most that much from its share among the known cells.",
        "A prediction is open if not even that is known.",
    ]
    named = [
        f"{text(name)} {number(own)}"
        for name, own, fixed in zip(
            judged.model.index.features, judged.model.bias, judged.model.fixed, strict=True
        )
        if fixed
    ]
    if named:
        said.append(
            f"Columns with a bias of their own, which they keep: {some(named, _MOST_COLUMNS)} "
            "(0: like the known cells, 1: anything)."
        )
    if judged.points.missing.any():
        said.append(
            "Cells that a point itself does not know are left out: it is predicted from those that "
            "it knows."
            if judged.points.own_missing == "skip"
            else "Cells that a point itself does not know may hold anything, too."
        )
    return said


def groups(judged: Certificates, curve: CertaintyCurve) -> dict[str, Any]:
    """How many points have each verdict, and how many of these predictions are right, if known."""
    found, yardstick = judged.verdict, ""
    if curve.actual is not None and (curve.actual >= 0).any():
        names = [None if place < 0 else judged.labels[place] for place in curve.actual.tolist()]
        yardstick = judged.with_truth(names).truth.yardstick()  # type: ignore[union-attr]
    return {
        "goal": "certain" if judged.strict else "holds",
        "threshold": judged.threshold,
        "up_to": judged.up_to,
        "learned": judged.learned,
        "yardstick": yardstick,
        "groups": [
            {
                "verdict": verdict,
                "n_points": int((found == verdict).sum()),
                "share": float((found == verdict).mean()) if len(found) else None,
                "n_right": None
                if curve.right is None
                else int(curve.right[found == verdict].sum()),
                "n_known": None
                if curve.actual is None
                else int((curve.actual[found == verdict] >= 0).sum()),
            }
            for verdict in VERDICTS
        ],
    }


def share_at_goal(groups: dict[str, Any]) -> float | None:
    """The share of points that are certain or, if a bias was asked about, that hold up to it."""
    certain, holds, _ = (one["share"] for one in groups["groups"])
    return certain if certain is None or groups["goal"] == "certain" else float(certain + holds)


def curve_columns(curve: CertaintyCurve) -> dict[str, Any]:
    """The curve as columns: at a few biases to be read, and at many to be drawn."""
    drawn = curve.columns(_DRAWN)
    return {
        **curve.columns(),
        "drawn": {name: drawn[name] for name in ("bias", "n_hold", "share")},
    }


def own_missing(model: Model, points: Points, n_certain: int) -> dict[str, Any]:
    """How many points have holes of their own, and how many points are certain in each reading.

    ``n_certain`` is the number of points that are certain in the reading that was asked for.
    """
    reading = points.own_missing
    counts: dict[str, int] = {"skip": n_certain, "any": n_certain}
    holed = np.flatnonzero(points.missing.any(axis=0))
    if len(holed):
        some_ones, wide = points.take(holed), model.unbiased
        both = {
            one: int(verdicts(wide, some_ones.read(one)).certain.sum()) for one in ("skip", "any")
        }
        counts = {one: n_certain - both[reading] + both[one] for one in both}
    return {
        "reading": reading,
        "n_points": int((points.n_own_missing > 0).sum()),
        "n_certain": counts,
    }


def own_missing_text(own: dict[str, Any]) -> str:
    """Say what the points' own holes change; nothing where they change nothing."""
    if not own["n_points"]:
        return ""
    verb = "has" if own["n_points"] == 1 else "have"
    said = f"{many(own['n_points'], 'point')} {verb} cells that are not known."
    skip, every = own["n_certain"]["skip"], own["n_certain"]["any"]
    if skip == every:
        return said
    return (
        f"{said} Predicted from the cells that a point knows, {skip:,} are certain; whatever its "
        f"own holes hold, {every:,} are."
    )


def curve_text(document: dict[str, Any]) -> str:
    """Explain the curve to somebody who has not read the paper."""
    n_points = document["certain"]["n_points"]
    columns, named = document["curve"], document["verdicts"]["threshold"]
    held = dict(zip(columns["bias"], columns["n_hold"], strict=True))
    return (
        ("" if named is not None else "This is about the columns without a bias of their own. ")
        + "Nobody knows what the missing cells hold. If they were just like the known cells of their "
        f"label and column (a bias of 0), {held[0.0]:,} of {many(n_points, 'prediction')} would be the "
        "same whichever cells hold which values. The further they may differ from the known ones, the "
        f"fewer predictions hold: {held[0.05]:,} up to a bias of 0.05, and {held[1.0]:,} whatever "
        f"{'the' if named is not None else 'their'} cells hold."
    )


def holds_text(point: dict[str, Any]) -> str:
    """Say how far one prediction holds, but not which label catches up then."""
    if point["tolerance"] is None:
        return "not even a bias of 0 decides"
    if point["tolerance"] == 1:
        return "holds whatever the missing cells hold"
    return f"holds up to a bias of {amount(point['tolerance'])}"
