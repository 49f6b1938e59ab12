"""Rows to add that serve several points at once: greedy by floats, then pruned, verified with integers.

More rows may undo an attack on another point, since they also make its winner or its rival more
frequent. So every step looks at all points, and what is given is checked with `Model.exceeds`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.attack import AddedRows
from nullproof.counts.index import LEFT_OUT
from nullproof.data.points import evenly
from nullproof.model.model import Model

Floats = NDArray[np.float64]
Kind = tuple[int, tuple[int, ...]]
# So many points at a time offer the rows that would break them.
_OFFERING = 24
_ROUNDS = 400
_CLEAR = 1e-9
# No lead counts for more than this, so that supports of zero can be compared.
_FAR = 700.0


class RowSearch:
    """Certain points, the rows added so far, and what these do to each point.

    Parameters
    ----------
    codes
        Features × points.
    winner, rival
        Per point its certain label, and the rival of its cheapest single attack.
    """

    def __init__(
        self,
        model: Model,
        codes: NDArray[np.int32],
        winner: NDArray[np.int32],
        rival: NDArray[np.int32],
    ) -> None:
        self.model, self.codes, self.winner, self.rival = model, codes, winner, rival
        points = np.arange(codes.shape[1])
        # Points × labels × features: the winner's low counts, the others' high counts.
        self._counts = np.empty((len(points), model.m, model.d), dtype=np.int64)
        for j, own in enumerate(codes):
            self._counts[:, :, j] = model.high(j, own)
            self._counts[points, winner, j] = model.low(j, own)[points, winner]
        self._is_out = (model.index.n_values < codes.T) | (model.float_weights == 0)
        self.added: dict[Kind, int] = {}
        self._logs = np.stack([self._support(k, self._counts[:, k], 0) for k in range(model.m)], 1)

    @property
    def rows(self) -> tuple[AddedRows, ...]:
        """What is added."""
        return tuple(AddedRows(*kind, n_rows) for kind, n_rows in sorted(self.added.items()))

    def take(self, place: int, n_raise: int, n_lower: int) -> None:
        """Add the rows of a cheapest attack on one point."""
        for kind, n_rows in ((self.raising(place), n_raise), (self.lowering(place), n_lower)):
            if n_rows:
                self._add(kind, n_rows)

    def run(self, most: int) -> bool:
        """Add rows until all points are broken; return whether that was reached.

        ``most`` is the largest radius; large steps are tried first, then smaller and larger ones.
        """
        before = self._counts.copy(), self._logs
        for step in dict.fromkeys(max(1, size) for size in (most // 4, most // 32, most, 4 * most)):
            self._counts, self._logs, self.added = before[0].copy(), before[1], {}
            if self._run(step):
                return True
        return False

    def _run(self, step: int) -> bool:
        for _ in range(_ROUNDS):
            standing = self.standing()
            if not len(standing):
                self._prune()
                return self.verified()
            kind = self._best(standing, step)
            if kind is not None:
                self._add(kind, step)
            elif step > 1:
                step //= 2
            else:
                self._add(self.raising(int(standing[0])), 1)
        return False

    def standing(self) -> NDArray[np.intp]:
        """The points whose label is still certain; integers decide where floats are close."""
        lead = self._lead(self._logs)
        close = np.flatnonzero(np.abs(lead) <= _CLEAR)
        stands = lead < 0
        for place in close.tolist():
            stands[place] = self._stands(place)
        return np.flatnonzero(stands)

    def raising(self, place: int) -> Kind:
        """A row of a point's rival that agrees with it wherever a row can."""
        label = int(self.rival[place])
        return label, tuple(
            code if code < size else _usual(self.model, j, label, None)
            for j, (code, size) in enumerate(self._cells(place))
        )

    def lowering(self, place: int) -> Kind:
        """A row of a point's winner that disagrees with it wherever a row can."""
        label = int(self.winner[place])
        return label, tuple(
            _usual(self.model, j, label, code) for j, (code, _) in enumerate(self._cells(place))
        )

    def _cells(self, place: int) -> list[tuple[int, int]]:
        sizes = self.model.index.n_values.tolist()
        return list(zip(self.codes[:, place].tolist(), sizes, strict=True))

    def _best(self, standing: NDArray[np.intp], step: int) -> Kind | None:
        """The row of which ``step`` more bring the standing points furthest, if any helps."""
        offering = evenly(standing, _OFFERING).tolist()
        kinds = {kind for place in offering for kind in (self.raising(place), self.lowering(place))}
        best, gained = None, _CLEAR
        before = _deficit(self._lead(self._logs))
        for kind in sorted(kinds | {*self.added}):
            gain = before - _deficit(self._lead(self._with(kind, step)))
            if gain > gained:
                best, gained = kind, gain
        return best

    def _prune(self) -> None:
        """Take rows away as long as all points stay broken."""
        for kind in sorted(self.added, key=lambda kind: self.added[kind]):
            size = 1 << max(self.added[kind].bit_length() - 1, 0)
            while size:
                if self.added[kind] >= size:
                    self._add(kind, -size)
                    if len(self.standing()):
                        self._add(kind, size)
                        size //= 2
                else:
                    size //= 2
        self.added = {kind: n_rows for kind, n_rows in self.added.items() if n_rows}

    def _add(self, kind: Kind, n_rows: int) -> None:
        self._logs = self._with(kind, n_rows)
        self._counts[:, kind[0]] += n_rows * self._agrees(kind)
        self.added[kind] = self.added.get(kind, 0) + n_rows

    def _with(self, kind: Kind, n_rows: int) -> Floats:
        """The log supports after so many rows more of one kind."""
        label = kind[0]
        logs = self._logs.copy()
        counts = self._counts[:, label] + n_rows * self._agrees(kind)
        logs[:, label] = self._support(label, counts, self._n_added(label) + n_rows)
        return logs

    def _agrees(self, kind: Kind) -> NDArray[np.int64]:
        """Points × features: 1 where a row of this kind agrees with the point."""
        return np.asarray(np.array(kind[1]) == self.codes.T, dtype=np.int64)

    def _n_added(self, label: int) -> int:
        return sum(n_rows for kind, n_rows in self.added.items() if kind[0] == label)

    def _support(self, label: int, counts: NDArray[np.int64], n_added: int) -> Floats:
        model, alpha = self.model, float(self.model.alpha)
        n_rows = float(model.index.label_counts[label]) + n_added
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.log((counts + alpha) / (n_rows + alpha * model.index.n_values))
            share = np.log(n_rows) if model.prior_is_counted else model.log_prior[label]
            logs = np.where(self._is_out, 0.0, model.float_weights * terms).sum(axis=1) + share
        return np.asarray(np.maximum(np.nan_to_num(logs, nan=-np.inf), -_FAR * 10))

    def _lead(self, logs: Floats) -> Floats:
        """How far the best rival of each point is ahead of its winner; negative while it stands."""
        points = np.arange(len(self.winner))
        own = logs[points, self.winner]
        others = logs.copy()
        others[points, self.winner] = -math.inf
        lead: Floats = np.clip(others.max(axis=1) - own, -_FAR, _FAR)
        return lead

    def fallen_to(self, place: int) -> int:
        """A label that the winner of a broken point no longer exceeds."""
        rivals = (k for k in range(self.model.m) if k != self.winner[place])
        return next(k for k in rivals if not self._exceeds(place, k))

    def _stands(self, place: int) -> bool:
        rivals = (k for k in range(self.model.m) if k != self.winner[place])
        return all(self._exceeds(place, k) for k in rivals)

    def _exceeds(self, place: int, rival: int) -> bool:
        own = int(self.winner[place])
        rows = [
            np.where(self._is_out[place], LEFT_OUT, self._counts[place, label]).tolist()
            for label in (own, rival)
        ]
        added = self._n_added(own), self._n_added(rival)
        return self.model.exceeds(own, rows[0], rival, rows[1], added=added)

    def verified(self) -> bool:
        """Whether integers say that no point keeps its label."""
        return not any(self._stands(place) for place in range(len(self.winner)))


def _deficit(lead: Floats) -> float:
    """How far all standing points together are from falling."""
    return float(-np.minimum(lead, 0).sum())


def _usual(model: Model, j: int, label: int, but: int | None) -> int:
    """The value that a label's rows hold most often in a feature, other than one if there is another."""
    known = model.index.exact(j)[:-1, label].copy()
    if but is not None and but < len(known) and len(known) > 1:
        known[but] = -1
    return int(known.argmax())
