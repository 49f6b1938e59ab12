"""The joint problem of an index and points, and its answer in terms of the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.problem import CandidateCells, Counts, Problem, build_problem
from nullproof.attacks.joint.proof import solve
from nullproof.counts.revise import Cells
from nullproof.model import Model

Codes = tuple[int, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class JointAttack:
    """The cells found, the rival (by position) that each point falls to, and a proven bound."""

    blanks: tuple[Cells, ...]
    rivals: dict[Codes, int]
    lower_bound: int

    @property
    def n_cells(self) -> int:
        return sum(blank.n_cells for blank in self.blanks)


def attack_jointly(
    model: Model,
    targets: Sequence[Codes],
    *,
    effort: Effort,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> JointAttack:
    """Look for the fewest cells that break all of some distinct, complete, certain points."""
    problem = build_problem(_counts(model, targets))
    found = solve(problem, effort=effort, seed=seed, on_progress=on_progress)
    rivals = {
        codes: found.rivals[int(row)] for codes, row in zip(targets, problem.position, strict=True)
    }
    return JointAttack(_blanks(problem, found.cells), rivals, found.lower_bound)


def _counts(model: Model, targets: Sequence[Codes]) -> Counts:
    index = model.index
    codes = np.array(targets, dtype=np.int64).reshape(len(targets), model.d)
    # Features × points × labels, turned to points × labels × features.
    low = np.stack([index.low(j, codes[:, j]) for j in range(model.d)]).transpose(1, 2, 0)
    high = np.stack([index.high(j, codes[:, j]) for j in range(model.d)]).transpose(1, 2, 0)
    sets = [
        CandidateCells(label, j, frozenset(candidates), int(count))
        for j, own in enumerate(index.sets)
        for candidates, counts in own.items()
        for label, count in enumerate(counts)
        if count
    ]
    return Counts(
        exact=[index.exact(j) for j in range(model.d)],
        n_values=index.n_values,
        codes=codes,
        low=low,
        high=high,
        label_counts=index.label_counts,
        alpha=model.alpha,
        prior=model.prior,
        sets=sets,
    )


def _blanks(problem: Problem, cells: np.ndarray) -> tuple[Cells, ...]:
    """Cells of a group do the same to every point: take them from its parts in order."""
    blanks = []
    for group in np.flatnonzero(cells).tolist():
        needed = int(cells[group])
        for part in problem.parts[group]:
            taken = min(needed, part.count)
            if taken:
                label, feature = int(problem.label[group]), int(problem.feature[group])
                blanks.append(Cells(label, feature, tuple(sorted(part.values)), taken))
                needed -= taken
    return tuple(blanks)
