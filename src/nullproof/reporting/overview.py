"""The parts of a report's document about all points or the training table, and which points it lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.radius import Radii
from nullproof.counts.index import CountIndex
from nullproof.data.keys import RowNames, key_at
from nullproof.data.notices import standing_notices
from nullproof.data.points import Points, evenly
from nullproof.model.certify import Certificates
from nullproof.model.model import Model
from nullproof.model.verdicts import Verdicts
from nullproof.odds.odds import SURE
from nullproof.show import histogram
from nullproof.words import many, number, some, text

# With many labels none is far ahead, and finer bounds would take long.
_GAP, _WIDE_GAP, _MANY_LABELS = 0.01, 0.03, 20
WEAKEST = 10
MOST_FEATURES = 60
MOST_LABELS = 40
_MOST_SETS = 12
_BARS = 10


def table(model: Model) -> dict[str, Any]:
    """What was counted, and by which model the points are judged."""
    index = model.index
    n_cells = index.n_rows * len(index.features)
    return {
        "label_name": text(index.schema.label_name),
        "labels": [text(label) for label in index.labels],
        "label_counts": index.label_counts.tolist(),
        "n_rows": index.n_rows,
        "n_features": len(index.features),
        "n_cells": n_cells,
        "n_missing": index.n_missing,
        "share_missing": _share(index.n_missing, n_cells),
        "alpha": number(model.alpha),
        "prior": [float(share) for share in model.prior],
    }


def certain(judged: Certificates, anywhere: Verdicts) -> dict[str, Any]:
    """How many predictions hold in every world; ``anywhere`` are the verdicts without a bias."""
    is_certain = judged.verdict == "certain"
    own = Counter(judged.label[is_certain])
    n_certain = int(is_certain.sum())
    return {
        "n_points": len(judged),
        "n_certain": n_certain,
        "share": _share(n_certain, len(judged)),
        "labels": [
            {"label": text(label), "n_certain": own[label], "n_possible": n_possible}
            for label, n_possible in zip(
                judged.labels, anywhere.possible.sum(axis=0).tolist(), strict=True
            )
        ],
    }


def holes(index: CountIndex) -> dict[str, Any]:
    """Where the cells are missing, the features with most holes first."""
    missing, candidates = index.missing_cells()
    total = missing.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0]
    labels = np.sort(np.argsort(-index.label_counts, kind="stable")[:MOST_LABELS]).tolist()
    listed = [
        {
            "feature": text(index.features[j]),
            "n_missing": int(total[j]),
            "share": _share(int(total[j]), index.n_rows),
            "per_label": [
                {
                    "n_missing": int(missing[j, i]),
                    "n_candidates": int(candidates[j, i]),
                    "share": _share(int(missing[j, i]), int(index.label_counts[i])),
                }
                for i in labels
            ],
        }
        for j in order[:MOST_FEATURES].tolist()
    ]
    return {
        "labels": [text(index.labels[i]) for i in labels],
        "n_rows": [int(index.label_counts[i]) for i in labels],
        "features": listed,
        "n_complete": len(index.features) - len(order),
        "n_left_off": len(order) - len(listed),
        "n_labels_left_off": len(index.labels) - len(labels),
    }


def open_ones(
    judged: Certificates, anywhere: Verdicts, told: list[dict[str, Any]]
) -> dict[str, Any]:
    """How many points are open, and between which labels they are undecided."""
    index, is_open = judged.model.index, judged.verdict == "open"
    sets, counts = _distinct_rows(anywhere.possible[is_open])
    order = np.argsort(-counts, kind="stable")
    shown = [point for point in told if point["verdict"] == "open"]
    weighed = [point for point in shown if point["odds"] is not None]
    return {
        "n_points": int(is_open.sum()),
        "between": [
            {
                "labels": [text(index.labels[i]) for i in np.flatnonzero(sets[place])],
                "n_points": int(counts[place]),
            }
            for place in order[:_MOST_SETS].tolist()
        ],
        "n_between_left_off": max(0, len(sets) - _MOST_SETS),
        "shown": [point["point"] for point in shown],
        "n_odds": len(weighed),
        "n_likely": sum(_is_sure(point) for point in weighed),
        "cells": "observed",
        "gap": gap(index),
    }


def _is_sure(point: dict[str, Any]) -> bool:
    """Whether a point has its predicted label, which comes first, in nearly all worlds."""
    return point["predicted"] is not None and point["odds"][0]["lower"] >= SURE


def fragility(fragile: Radii) -> dict[str, Any]:
    """How many cells would have to be blanked before certain points are no longer certain."""
    radius = fragile.radius
    finite = radius[(radius > 0) & np.isfinite(radius)]
    labels, rivals = fragile.label, fragile.rival
    return {
        "n_certain": int((fragile.winner >= 0).sum()),
        "n_unbreakable": int(np.isinf(radius).sum()),
        "n_not_worked_out": int(np.isnan(radius).sum()),
        "least": int(finite.min()) if len(finite) else None,
        "median": float(np.median(finite)) if len(finite) else None,
        "greatest": int(finite.max()) if len(finite) else None,
        "histogram": histogram(finite, _BARS),
        "weakest": [
            {
                "point": place,
                **named(fragile.names, place),
                "label": text(labels[place]),
                "rival": text(rivals[place]),
                "radius": int(radius[place]),
            }
            for place in weakest(radius).tolist()
        ],
    }


def notes(index: CountIndex, points: Points, told: list[dict[str, Any]]) -> list[str]:
    """What the reader should know before trusting the numbers."""
    said = sentences(standing_notices(index))
    alone = [f.name for f, n in zip(index.schema.features, index.n_values, strict=True) if n == 1]
    if alone:
        named = some([text(name) for name in alone], 5)
        said.append(
            f"{many(len(alone), 'column')} with one value or one bin "
            f"{'tells' if len(alone) == 1 else 'tell'} nothing: {named}."
        )
    unseen = points.n_unseen
    if unseen.any():
        names = [text(index.features[j]) for j in np.argsort(-unseen, kind="stable")[:5].tolist()]
        named = ", ".join(names[: int((unseen > 0).sum())])
        said.append(
            f"{many(int(unseen.sum()), 'cell')} of the points hold values that the training table "
            f"never shows ({named}). No world gives such a value a count, so without smoothing "
            "every label ties at zero there."
        )
    beyond = outside(index, points)
    if beyond:
        n_cells = sum(column["n_points"] for column in beyond)
        listed = some([f"{column['feature']}: {column['n_points']:,}" for column in beyond], 10)
        said.append(
            f"{many(n_cells, 'cell')} of the points lie{'s' * (n_cells == 1)} outside what the training "
            f"table shows ({listed}). They count to the bins at its ends."
        )
    n_incomplete = int((~points.complete).sum())
    if n_incomplete:
        said.append(
            f"{many(n_incomplete, 'point')} of {len(points):,} have holes of their own that are not "
            "left out: they are certain only if every way to fill these, too, gives the same label."
        )
    close = gap(index)
    wide = [p for p in told if any(o["upper"] - o["lower"] > close for o in p["odds"] or ())]
    if wide:
        said.append(
            f"The odds of {many(len(wide), 'point')} are known less closely than to within "
            f"{close:g}: they have holes of their own, or labels tie too often there."
        )
    return said


def gap(index: CountIndex) -> float:
    """How close the two bounds of odds are made."""
    return _GAP if len(index.labels) < _MANY_LABELS else _WIDE_GAP


def sentences(notices: Iterable[str]) -> list[str]:
    """Notices as whole sentences."""
    return [f"{notice[0].upper()}{notice[1:]}." for notice in notices]


def told_once(notes: Iterable[str]) -> list[str]:
    """Notes without those that say the same again, in another order of columns, and without empty ones."""
    kept: dict[tuple[str, ...], str] = {}
    for note in notes:
        kept.setdefault(tuple(sorted(re.findall(r"\w+", note))), note)
    return [note for note in kept.values() if note]


def outside(index: CountIndex, points: Points) -> list[dict[str, Any]]:
    """How many points lie beyond the bins of each feature, most first."""
    pairs = zip(index.features, points.n_outside, strict=False)
    found = [{"feature": text(name), "n_points": count} for name, count in pairs if count]
    return sorted(found, key=lambda column: -column["n_points"])


class Sample(NamedTuple):
    """The positions of the points that are shown, in order, and in words how they were chosen."""

    shown: NDArray[np.intp]
    how: str


def named(names: RowNames | None, place: int) -> dict[str, Any]:
    """The entry ``key`` of a point, if the points have names."""
    key = key_at(names, place)
    return {name: None if value is None else text(value) for name, value in key.items()}


def weakest(radius: NDArray[np.float64], n_wanted: int = WEAKEST) -> NDArray[np.intp]:
    """The certain points with the smallest radius, smallest first; not those beyond any attack."""
    places = np.flatnonzero((radius > 0) & np.isfinite(radius))
    order = np.argsort(radius[places], kind="stable")[:n_wanted]
    picked: NDArray[np.intp] = places[order]
    return picked


def sample(
    is_open: NDArray[np.bool_], radius: NDArray[np.float64], limit: int, also: Sequence[int] = ()
) -> Sample:
    """All points if the limit allows it, else the weakest, and even samples of open ones and others.

    ``also`` are shown besides.
    """
    if len(is_open) <= limit:
        return Sample(np.arange(len(is_open)), "all points")
    found = _sample(is_open, radius, limit)
    shown = np.union1d(found.shown, np.array(also, dtype=np.intp))
    besides = len(shown) - len(found.shown)
    asked = f"; besides {many(besides, 'point')} that {'was' if besides == 1 else 'were'} asked for"
    return Sample(shown, found.how + (asked if besides else ""))


def _sample(is_open: NDArray[np.bool_], radius: NDArray[np.float64], limit: int) -> Sample:
    open_ones, held = np.flatnonzero(is_open), np.flatnonzero(~is_open)
    # Three quarters for the open ones, and what one side does not need goes to the other.
    n_held = min(len(held), limit - min(len(open_ones), limit * 3 // 4))
    frail = weakest(radius, min(WEAKEST, n_held))
    others = np.setdiff1d(held, frail)
    parts = [
        evenly(open_ones, limit - n_held),
        frail,
        evenly(others, n_held - len(frail)),
    ]
    how = " and ".join(
        f"{shown:,} of {total:,} {what}"
        for shown, total, what in (
            (len(parts[0]), len(open_ones), "open points"),
            (n_held, len(held), "points that hold or are certain"),
        )
        if shown
    )
    how += ", at even distances in their order"
    if len(frail):
        how += f"; among the certain ones the {many(len(frail), 'weakest one')}".replace(
            "1 weakest one", "weakest"
        )
    return Sample(np.sort(np.concatenate(parts)), how)


def _distinct_rows(rows: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    if not len(rows):
        return rows, np.empty(0, dtype=np.int64)
    # As bytes, which sort a hundred times faster than rows of booleans.
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, counts = np.unique(whole, return_index=True, return_counts=True)
    return rows[first], counts


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
