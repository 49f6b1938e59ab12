"""Better attacks by destroying, repairing and polishing parts of one (theory 5).

Blanking is monotone: more cells never rescue a point. So any part of an attack may be given back,
the points that stand again be felled anew, and what became superfluous be trimmed. That chooses
how each point falls; given these choices, a linear program finds the cells (polish.py).
"""

from __future__ import annotations

import numpy as np

from nullproof.attacks.joint.moves import Moves
from nullproof.attacks.joint.polish import Polish
from nullproof.attacks.joint.problem import Floats, Ints, Problem
from nullproof.attacks.joint.single import ANYONE, Single
from nullproof.attacks.joint.state import State

# Steps without progress before the search starts anew.
PATIENCE = 25
# Moves of one repair before it gives up and takes the cells of the best attack.
MAX_MOVES = 300
# An attack is polished again while it is at most this much larger than the era's best.
WORTH = (1.2, 1.05, 1.01, 1.004)
# Attacks made from nothing at the beginning of an era; it goes on from the best of them.
STARTS = 12


class Search:
    """Destroy, repair and polish from one attack, keeping the best.

    An *era* lasts from one fresh start to the next.
    """

    def __init__(
        self, problem: Problem, start: Ints, singles: list[list[Single]], seed: int
    ) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.state = State(problem, start)
        self.weight = _rival_weights(problem, singles)
        self.polish = Polish(problem)
        self._trim()
        self.best = self.now = self.era = self.state.cells.copy()
        # The first step begins an era.
        self.idle, self.n_eras, self.n_starts = PATIENCE, 0, 0

    @property
    def n_cells(self) -> int:
        """Cells of the best attack so far."""
        return int(self.best.sum())

    def step(self) -> bool:
        """Try one change; return whether it gave the best attack so far."""
        if self.idle >= PATIENCE:
            self._begin_era()
        if self.n_starts:
            self.n_starts -= 1
            self.idle = 0
            self.state.set_all(np.zeros_like(self.best))
            # Lowering alone may fell many points with few groups; raising looks better at each move.
            self.repair(lower_only=self.n_starts % 3 == 0)
        else:
            self.state.set_all(self.now)
            self._destroy()
            self.repair(lower_only=bool(self.rng.random() < 0.15))
        self._trim()
        return self._settle(self._slack())

    def offer(self, cells: Ints) -> bool:
        """Complete, trim and consider an attack, or part of one, from elsewhere."""
        self.state.set_all(cells)
        self.repair()
        self._trim()
        return self._settle(0.0)

    def _begin_era(self) -> None:
        """Go on from fresh attacks or, every third time, from the best."""
        self.n_eras += 1
        self.idle = 0
        if self.n_eras % 3 == 0:
            self.now = self.era = self.best
        else:
            self.n_starts = STARTS
            # Anything is better than blanking all there is.
            self.now = self.era = self.problem.capacity

    def _settle(self, slack: float) -> bool:
        """Polish the state, and keep it if it is not much worse than before."""
        cells = self._polished()
        size, era = int(cells.sum()), int(self.era.sum())
        self.idle = 0 if size < era else self.idle + 1
        if size < era:
            self.era = cells
        if size <= int(self.now.sum()) * (1 + slack):
            # A walk that has drifted too far goes on from the best since the last restart.
            self.now = cells if size <= 1.02 * era else self.era
        better = size < self.n_cells
        if better:
            self.best = cells
        return better

    def _polished(self) -> Ints:
        """Return the state's attack, polished as long as that pays."""
        best = self.state.cells.copy()
        for worth in WORTH:
            before = int(best.sum())
            found = self.polish(self.state) if before <= worth * self.era.sum() else None
            if found is None:
                break
            for cells in (np.ceil(found - 1e-6), np.floor(found + 1e-6)):
                self.state.set_all(np.clip(cells.astype(np.int64), 0, self.problem.capacity))
                self.repair()
                self._trim()
                if self.state.n_cells < best.sum():
                    best = self.state.cells.copy()
            self.state.set_all(best)
            if best.sum() >= 0.9995 * before:
                break
        return best

    def _slack(self) -> float:
        """Now and then a slightly worse attack is kept, to leave local optima."""
        return float(0.01 * self.rng.exponential()) if self.rng.random() < 0.3 else 0.0

    def _destroy(self) -> None:
        used = np.flatnonzero(self.state.cells)
        kind = self.rng.random()
        if not len(used):
            return
        if kind < 0.4:
            n_gone = int(self.rng.integers(1, 4))
            gone = self.rng.choice(used, size=min(n_gone, len(used)), replace=False)
        elif kind < 0.8:
            n_points = int(self.rng.integers(1, 4))
            points = self.rng.permutation(self.problem.n_points)[:n_points]
            serves = np.any((self.problem.lowers | self.problem.raises)[:, points], axis=1)
            gone = used[serves[used] & (self.rng.random(len(used)) < 0.7)]
        else:
            gone = used[self.rng.random(len(used)) < self.rng.uniform(0.1, 0.6)]
        for group in gone:
            self.state.add(int(group), -int(self.state.cells[group]))

    def _trim(self) -> None:
        """Give back superfluous cells, groups in random order."""
        self.state.trim_all(self.rng.permutation(self.problem.n_groups))

    def repair(self, *, lower_only: bool = False) -> None:
        """Fell all standing points by the moves with the best rating.

        Ratings are blurred, so that different repairs choose differently: per move, or per group
        for the whole repair, which then settles on some groups instead of wavering.
        """
        noise = float(self.rng.choice([0.0, 0.3, 0.7]))
        steady = self.rng.random() < 0.5
        chunk = float(self.rng.choice([0.1, 0.3, 1.0]))
        weight = self.weight ** self.rng.choice([1.0, 2.0, 4.0])
        weight = weight * self._blur(noise, weight.size).reshape(weight.shape)
        taste = self._blur(noise, self.problem.n_groups)
        for _ in range(MAX_MOVES):
            points = np.flatnonzero(self.state.standing())
            if not len(points):
                return
            moves = Moves(self.state, points, chunk, lower_only)
            blur = taste[moves.group] if steady else self._blur(noise, len(moves.group))
            rating = moves.progress(weight[points]) * blur / moves.count
            top = int(np.argmax(rating))
            self.state.add(int(moves.group[top]), int(moves.count[top]))
        # More cells never rescue a point, so adding a whole attack fells the rest.
        self.state.set_all(np.maximum(self.state.cells, self.best))

    def _blur(self, noise: float, size: int) -> Floats:
        return self.rng.uniform(1 - noise, 1.0, size)


def _rival_weights(problem: Problem, singles: list[list[Single]]) -> Floats:
    """Weigh a rival by how cheap it is for the point alone, compared with the cheapest.

    Where a count can be blanked away, no rival costs more than that.
    """
    weight = np.zeros((problem.n_points, len(problem.weight)))
    for point, found in enumerate(singles):
        for single in reversed(found):
            share = max(1, found[0].n_cells) / max(1, single.n_cells)
            rivals = slice(None) if single.rival == ANYONE else single.rival
            weight[point, rivals] = np.maximum(weight[point, rivals], share)
    return weight
