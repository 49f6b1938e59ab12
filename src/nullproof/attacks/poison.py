"""poison: which training cells to blank, or rows to add, until no given point is certain.

For one point, the attack behind its radius is a proven optimum. For several points, the search for a joint
attack starts from the union of the single attacks (theory 5).
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np

from nullproof.attacks.attack import Attack
from nullproof.attacks.cells import Sides, spent
from nullproof.attacks.joint_problem import Ints, Problem
from nullproof.attacks.radius import Radii, Threat, radius
from nullproof.attacks.reach import Only
from nullproof.attacks.rows import joint_rows
from nullproof.attacks.search import Places
from nullproof.counts.index import CountIndex
from nullproof.data.options import refuse_seed
from nullproof.data.points import Key, OwnMissing, distinct, shown_name
from nullproof.errors import NullproofError, notice
from nullproof.model.parameters import Alpha, Prior
from nullproof.progress import Progress, within
from nullproof.words import some


def poison(  # noqa: PLR0913
    index: CountIndex,
    points: Any,
    *,
    threat: Threat = "cells",
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    only: Only = None,
    time_limit: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
    key: Key | None = None,
) -> Attack:
    """Choose training cells to blank, or rows to add, so that no given point is certain.

    For one point, the attack is a proven optimum. For several, it is the best attack found, with a proven
    lower bound, and never worse than the union of the single attacks; interrupting (Ctrl-C) keeps the
    best attack so far.

    Parameters
    ----------
    threat
        ``"cells"``: blank cells. ``"rows"``: add rows with labels and values that the index has (T13),
        so that no point keeps its label; ``time_limit``, ``steps`` and ``seed`` play no part then.
    points
        As for `certify`. Points that are already open cost nothing. Certain points whose radius is not
        worked out are left out, with a warning.
    own_missing
        Only ``"skip"``: a point is predicted from its known cells.
    only
        Which cells can be blanked, as for `radius`; by default all.
    time_limit
        Seconds to look for a better joint attack and bound.
    steps
        A number of rounds instead of a time limit, so that the answer depends only on ``seed``.
    skip_unbreakable
        Leave out points that no attack can break (possible with smoothing) instead of raising an error.
    on_progress
        Called with a text (the best number of cells and the bound) and the share of the time or steps
        used.
    key
        The names of the points in the result: one of their columns, or one name per point.

    Examples
    --------
    >>> rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y")]
    >>> labels = ["yes", "yes", "yes", "no"]
    >>> attack = poison(CountIndex.from_rows(rows, labels), [("b", "y")])
    >>> attack
    Attack: 2 blank cells make 1 certain point no longer certain (optimal)
    >>> attack.apply(rows, labels)
    [(None, None), ('a', 'x'), ('a', 'x'), ('b', 'y')]
    >>> attack = poison(CountIndex.from_rows(rows, labels), [("b", "y")], threat="rows")
    >>> attack
    Attack: 1 added row makes 1 certain point no longer certain (optimal)
    >>> attack.apply(rows, labels)[0][-1], attack.apply(rows, labels)[1][-1]
    (('b', 'y'), 'yes')
    """
    refuse_seed(seed)
    if time_limit < 0 or (steps is not None and steps < 0):
        raise NullproofError(
            f"time_limit is {time_limit} and steps is {steps}; give numbers that are 0 or more"
        )
    found = radius(
        index,
        points,
        alpha=alpha,
        prior=prior,
        own_missing=own_missing,
        key=key,
        on_progress=on_progress if threat == "rows" else within(on_progress, 0.0, 0.1),
        threat=threat,
        only=only,
    )
    places, copies, bound = _to_break(found, skip_unbreakable)
    broken = found.take(places)
    if threat == "rows":
        rows, rivals = joint_rows(broken)
        return Attack(_fallen_to(found, rivals, copies), bound, added=rows)
    problem = Problem.of(broken)
    cells = union(problem, broken)
    if len(places) > 1 and _can_solve():
        from nullproof.attacks.joint import solve

        cells, needed = solve(
            problem,
            cells,
            seconds=time_limit,
            rounds=steps,
            seed=seed,
            on_progress=within(on_progress, 0.1, 1.0),
        )
        bound = max(bound, needed)
    rivals = problem.fallen_to(cells)
    return Attack(_fallen_to(found, rivals, copies), bound, problem.blanks(cells))


def _to_break(found: Radii, skip_unbreakable: bool) -> tuple[Places, Places, int]:
    """Return the places of the distinct points to break, the copy each point is of, and a bound.

    Reject points that no attack can break, unless they are to be left out.
    """
    unbreakable = np.flatnonzero(np.isinf(found.radius))
    if len(unbreakable) and not skip_unbreakable:
        names = [shown_name(found.names, place) for place in unbreakable[:11].tolist()]
        done = "every cell blanked" if found.reach.everything else "every cell within reach blanked"
        done = done if found.threat == "cells" else "any number of rows added"
        raise NullproofError(
            f"no attack can break point {some(names, 10)}: its label wins even with {done}; leave "
            "such points out, or pass skip_unbreakable=True (--skip-unbreakable)"
        )
    broken = found.broken
    if not len(broken):
        return broken, broken, 0
    first, copies = distinct(found.points.codes[:, broken])
    # Distinct points in their original order.
    order = np.argsort(first)
    return broken[first[order]], np.argsort(order)[copies], int(found.radius[broken].max())


def _fallen_to(found: Radii, rivals: list[int], copies: Places) -> Radii:
    """Return the radii, each broken point with the rival that catches up in an attack."""
    overtaker = found.overtaker.copy()
    overtaker[found.broken] = np.array(rivals, dtype=np.int32)[copies]
    return replace(found, overtaker=overtaker)


def union(problem: Problem, found: Radii) -> Ints:
    """Return the cells per group that hold a cheapest attack on each point of the problem."""
    cells = np.zeros(problem.n_groups, dtype=np.int64)
    for point in range(problem.n_points):
        cells = np.maximum(cells, _cells_alone(problem, found, point))
    return cells


def _cells_alone(problem: Problem, found: Radii, point: int) -> Ints:
    """Return the cells per group of a cheapest attack on one point."""
    codes = problem.codes[:, [point]]
    winner, rival = found.winner[[point]], found.overtaker[[point]]
    sides = Sides.of(problem.model, codes, winner, rival, problem.reach)
    lowered, raised = spent(sides, int(found.n_raise[point]), int(found.n_lower[point]))
    cells = np.where(problem.lowers[:, point], np.array(lowered)[problem.feature], 0)
    for j in np.flatnonzero(raised).tolist():
        can_raise = problem.raises[:, point] & (problem.label == rival)
        groups = np.flatnonzero(can_raise & (problem.feature == j))
        # The largest groups first.
        groups = groups[np.argsort(-problem.capacity[groups], kind="stable")]
        room = problem.capacity[groups]
        cells[groups] = np.clip(raised[j] - (np.cumsum(room) - room), 0, room)
    return cells


def _can_solve() -> bool:
    if importlib.util.find_spec("scipy") is not None:
        return True
    notice(
        "without scipy the attack is the union of the attacks on each point; for a joint attack "
        'and its bound install it with: pip install "nullproof[attack]"'
    )
    return False
