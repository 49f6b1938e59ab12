"""label_odds: how likely each label is, with bounds that are proven and not estimated.

Every missing cell takes one of its candidates by chance, independently of all others; the odds of a
label are the probability that it wins, ties being shared out equally. Small cases are counted
exactly, large ones are bounded on a grid (theory 6).
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key, RowNames, key_at, key_columns, shown_name
from nullproof.data.points import OwnHoles, Points
from nullproof.data.sources import native_frame, some_rows
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.odds.bounds import OddsBounds, too_many
from nullproof.odds.filling import Filling, Rule, rule_of
from nullproof.odds.sureness import SURE, Sureness, in_blocks
from nullproof.progress import Progress, over
from nullproof.reasons import reasons_of, tell_of
from nullproof.selection import chosen
from nullproof.show import ROWS, shown_table
from nullproof.words import PLAIN, odds

_LEAST_GAP = 1e-6
_INTERRUPTED = "interrupted; ask again for this point"


@dataclass(frozen=True, repr=False, eq=False)
class Odds:
    """Bounds of the probability that each label wins, points × labels.

    Parameters
    ----------
    model
        The index with the smoothing and the prior that were asked about.
    lower, upper
        The true odds lie between them. The odds of a label that no world predicts are exactly 0,
        those of a certain label exactly 1.
    not_worked_out
        The reason for each point whose odds would take too long, None for the others. Its bounds are
        true but trivial: 0 to 1 for each possible label.

    Examples
    --------
    >>> from nullproof import CountIndex, label_odds
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> odds = label_odds(index, [("a", "x"), ("a", "y")])
    >>> odds.lower, odds.upper
    (array([[0. , 1. ],
           [0.5, 0.5]]), array([[0. , 1. ],
           [0.5, 0.5]]))
    """

    model: Model
    lower: Floats
    upper: Floats
    not_worked_out: NDArray[np.object_]
    frame: nw.DataFrame[Any] | None = None
    names: RowNames | None = None

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, in the order of the columns."""
        return self.model.index.labels

    @property
    def gap(self) -> float:
        """The greatest distance of two bounds."""
        return float((self.upper - self.lower).max(initial=0.0))

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which points have one label in at least 99 % of the worlds, whatever ``gap`` was asked for."""
        return np.asarray(self.lower.max(axis=1, initial=0.0) >= SURE)

    @property
    def likeliest(self) -> NDArray[np.object_]:
        """The label with the greatest odds, by the middle of its bounds."""
        return self.model.named((self.lower + self.upper).argmax(axis=1))

    def columns(self) -> dict[str, list[Any]]:
        """Return plain columns: the key if any, the likeliest label, all bounds, not_worked_out."""
        found = key_columns(self.names)
        found["likeliest"] = [str(label) for label in self.likeliest]
        for i, label in enumerate(self.labels):
            found[f"lower {label}"] = self.lower[:, i].tolist()
            found[f"upper {label}"] = self.upper[:, i].tolist()
        return {**found, "not_worked_out": self.not_worked_out.tolist()}

    def file_columns(self) -> dict[str, list[Any]]:
        """The columns as a file holds them: the position of each point first."""
        return {"point": list(range(len(self))), **self.columns()}

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        names = [str(label) for label in self.labels]
        bounds = zip(self.lower.tolist(), self.upper.tolist(), self.not_worked_out, strict=True)
        return {
            "n_points": len(self),
            "labels": names,
            "points": [
                {
                    "point": point,
                    **key_at(self.names, point),
                    "lower": dict(zip(names, lower, strict=True)),
                    "upper": dict(zip(names, upper, strict=True)),
                    "not_worked_out": reason,
                }
                for point, (lower, upper, reason) in enumerate(bounds)
            ],
        }

    def to_frame(self) -> Any:
        """One row per point, in the library that the points came in."""
        return native_frame(self.columns(), self.frame)

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, places: NDArray[np.intp]) -> Odds:
        """The odds of some of the points."""
        return replace(
            self,
            lower=self.lower[places],
            upper=self.upper[places],
            not_worked_out=self.not_worked_out[places],
            frame=some_rows(self.frame, places),
            names=None if self.names is None else self.names.take(places),
        )

    @overload
    def __getitem__(self, position: int) -> dict[Any, tuple[float, float]]: ...
    @overload
    def __getitem__(self, position: Any) -> Odds: ...
    def __getitem__(self, position: Any) -> dict[Any, tuple[float, float]] | Odds:
        """Lower and upper bound per label of one point; several points by a slice, positions or a mask."""
        place = chosen(position, len(self))
        if not isinstance(place, int):
            return self.take(place)
        pairs = zip(self.lower[place].tolist(), self.upper[place].tolist(), strict=True)
        return dict(zip(self.labels, pairs, strict=True))

    def __iter__(self) -> Iterator[dict[Any, tuple[float, float]]]:
        return (self[position] for position in range(len(self)))

    def _headline(self) -> str:
        n_sure = int(self.sure.sum())
        return f"Odds: {n_sure:,} of {len(self):,} points have one label in 99 % of the worlds"

    def _repr_html_(self) -> str:
        weakest = np.argsort(self.lower.max(axis=1), kind="stable")[:ROWS]
        some = self.take(weakest)
        columns: dict[str, list[Any]] = {
            "point": [shown_name(self.names, place) for place in weakest.tolist()]
        }
        ranks = np.argsort(-(some.lower + some.upper), axis=1, kind="stable")
        for rank, name in enumerate(["likeliest", "next"][: len(self.labels)]):
            own = ranks[:, [rank]]
            bounds = zip(
                *(np.take_along_axis(side, own, axis=1)[:, 0] for side in (some.lower, some.upper)),
                strict=True,
            )
            columns[name] = [self.labels[place] for place in own[:, 0].tolist()]
            columns[f"odds of the {name}"] = [odds(float(low), float(high)) for low, high in bounds]
        if any(some.not_worked_out):
            columns["not worked out"] = some.not_worked_out.tolist()
        return shown_table(f"{self._headline()}; least sure first", columns, len(self))

    def __repr__(self) -> str:
        lines = [self._headline()]
        for position in range(min(len(self), 5)):
            shown = (f"{label} {odds(*pair, PLAIN)}" for label, pair in self[position].items())
            lines.append(f"  {position}: " + ", ".join(shown))
        return "\n".join(lines + (["  …"] if len(self) > 5 else []))


def label_odds(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    cells: Rule = "uniform",
    table: Any = None,
    labels: Sequence[Any] | None = None,
    gap: float = 0.01,
    key: Key | None = None,
    on_progress: Progress | None = None,
) -> Odds:
    """Bound how likely each label is when chance fills the missing cells of the training table.

    Parameters
    ----------
    points
        A data frame, a file, an array, a list of rows, or one row. The bounds of a point with
        several candidates for a cell hold for each of its completions, so they may be further
        apart than ``gap``. A point with more than 1,024 completions is not worked out.
    alpha
        Smoothing; 1 as scikit-learn users know it, 0 as in the paper.
    prior
        None for the label frequencies, ``"uniform"``, or one number per label.
    own_missing
        ``"skip"``: the odds of a point come from the cells that it knows. ``"any"``: its bounds hold
        whatever its missing cells hold.
    cells
        ``"uniform"``: every candidate of a cell is equally likely, so odds are shares of worlds.
        ``"observed"``: a cell follows the known cells of its column and label, as far as its
        candidates occur there, else it is uniform. ``"model"``: each cell has chances of its own, by
        what the rest of its row and its label say (`odds.learned`); the bounds hold for these chances.
    table, labels
        For ``"model"``: the table that was counted; ``labels`` beside it where it was counted from
        plain rows. What was learned before may be given itself: ``cells=Learned.of(index, table)``.
    gap
        How far apart the two bounds may be, for a point that is complete or whose holes are skipped;
        at least 0.000001.
    key
        What names the points in the result: a column of theirs, or one name per point.
    on_progress
        Called with what is being done and which share of the work is done. Interrupting (Ctrl-C) keeps
        the points so far; the others are not worked out.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> label_odds(index, [("a", "x"), ("a", "y")])
    Odds: 1 of 2 points have one label in 99 % of the worlds
      0: no 0 %, yes 100 %
      1: no 50.0 %, yes 50.0 %
    """
    model = Model(index, alpha, prior)
    encoded = model.points(points, own_missing, key)
    found = verdicts(model, encoded)
    rule = rule_of(index, cells, table, labels)
    return odds_of(model, encoded, found, cells=rule, gap=gap, on_progress=on_progress)


def odds_of(
    model: Model,
    points: Points,
    found: Verdicts,
    *,
    cells: Rule = "uniform",
    gap: float = 0.01,
    on_progress: Progress | None = None,
    keep: bool = True,
    rule: Sureness | None = None,
) -> Odds:
    """The odds of points whose verdicts, over all worlds, are known; options as for `label_odds`.

    Unless it is to ``keep`` the points so far, Ctrl-C ends it. ``rule`` is that of the same model and
    cells, if there is one already.
    """
    model.refuse_weights("label_odds")
    if not isinstance(gap, numbers.Real) or not _LEAST_GAP <= gap <= 1:
        raise NullproofError(f"gap is {gap!r}; give a number from {_LEAST_GAP:f} to 1")
    rule = rule or Sureness(model, cells)
    asker = rule.asker.wider(float(gap))
    if gap < rule.asker.gap:
        asker = OddsBounds(model.unbiased, Filling(model.index, cells), float(gap))
    possible, certain = found.possible, found.certain
    lower, upper = np.zeros(possible.shape), possible.astype(np.float64)
    lower[certain] = possible[certain]
    never = too_many(points, np.flatnonzero(~certain).tolist())
    left = dict.fromkeys(np.flatnonzero(~certain).tolist(), _INTERRUPTED)
    blocks = in_blocks(points, np.array([place for place in left if place not in never], dtype=int))
    with suppress(*[KeyboardInterrupt] * keep):
        for block in over(blocks, "weighing the worlds", on_progress):
            some, own = points.take(block), possible[block]
            lower[block], upper[block] = _bounds(asker, rule, some, own)
            for place in block.tolist():
                del left[place]
    asker.notify()
    unsolved = {**left, **never}
    tell_of("the odds", unsolved)
    reasons = reasons_of(len(points), unsolved)
    return Odds(model, lower, upper, reasons, points.frame, points.names)


def _bounds(
    asker: OddsBounds, rule: Sureness, points: Points, possible: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Bounds of points that are not certain; they tell whether a label is `SURE` wherever that is known."""
    lower, upper = asker.of(points, possible)
    doubtful = np.flatnonzero((lower.max(axis=1) < SURE) & (upper.max(axis=1) >= SURE))
    labels = rule.of_open(points.take(doubtful), possible[doubtful])
    some = labels >= 0
    where = doubtful[some], labels[some]
    lower[where] = np.maximum(lower[where], SURE)
    return lower, upper
