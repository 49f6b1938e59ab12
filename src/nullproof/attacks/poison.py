"""poison: which training cells to blank, or rows to add, until no given point is certain any more.

For one point the attack of its radius is a proven optimum. For several points the search for a joint attack
starts from the union of the single attacks (theory 5).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.attack import Attack
from nullproof.attacks.cells import Sides, spent
from nullproof.attacks.radius import Radii, Threat, radius
from nullproof.attacks.reach import Only
from nullproof.attacks.rows import joint_rows
from nullproof.attacks.search import Places, different
from nullproof.counts.index import CountIndex
from nullproof.counts.update import Cells
from nullproof.data.options import refuse_seed
from nullproof.data.points import Key, OwnMissing, shown_name
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
    """Choose training cells to blank, or rows to add, so that no given point is certain any more.

    For one point the attack is a proven optimum. For several it is the best one found, never worse
    than the union of the single ones, with a proven lower bound; interrupting (Ctrl-C) keeps the
    best so far.

    Parameters
    ----------
    threat
        ``"cells"``: blank cells. ``"rows"``: add rows with labels and values that the index has (T13),
        so that no point keeps its label; ``time_limit``, ``steps`` and ``seed`` play no part then.
    points
        As for `certify`. Points that are open already cost nothing. A certain point whose radius is
        not worked out is left out, with a warning.
    own_missing
        Only ``"skip"``: a point is predicted from the cells that it knows.
    only
        Which cells can be blanked, as for `radius`; by default all.
    time_limit
        Seconds to look for a better joint attack and bound.
    steps
        A number of rounds instead of a time: then the answer depends on ``seed`` alone.
    skip_unbreakable
        Leave out points that no attack can break (possible with smoothing) instead of refusing.
    on_progress
        Called with the best number of cells and the bound, in words, and with the share of the time (or of
        the steps) that is spent.
    key
        What names the points in the result: a column of theirs, or one name per point.

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
    if threat == "rows":
        rows, rivals = joint_rows(found.take(places))
        return Attack(_fallen_to(found, rivals, copies), bound, added=rows)
    plans = [single_attack(found, place) for place in places.tolist()]
    rivals = [rival for rival, _ in plans]
    blanks = union(blanks for _, blanks in plans)
    if len(plans) > 1 and _can_solve():
        from nullproof.attacks.joint import solve
        from nullproof.attacks.joint_problem import Problem

        problem = Problem.of(found.take(places))
        cells, needed = solve(
            problem,
            problem.cells_of(blanks),
            seconds=time_limit,
            rounds=steps,
            seed=seed,
            on_progress=within(on_progress, 0.1, 1.0),
        )
        blanks, rivals = problem.blanks(cells), problem.fallen_to(cells)
        bound = max(bound, needed)
    return Attack(_fallen_to(found, rivals, copies), bound, blanks)


def _to_break(found: Radii, skip_unbreakable: bool) -> tuple[Places, Places, int]:
    """Return where the different points to break stand, which of these each broken point is, and a bound.

    Refuse points that no attack can break, unless they are to be left out.
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
    first, copies = different(found.points.codes[:, broken])
    # Different points in the order in which they come.
    order = np.argsort(first)
    return broken[first[order]], np.argsort(order)[copies], int(found.radius[broken].max())


def _fallen_to(found: Radii, rivals: list[int], copies: Places) -> Radii:
    """Return the radii, each broken point with the rival that catches up in an attack."""
    overtaker = found.overtaker.copy()
    overtaker[found.broken] = np.array(rivals, dtype=np.int32)[copies]
    return replace(found, overtaker=overtaker)


def single_attack(found: Radii, place: int) -> tuple[int, tuple[Cells, ...]]:
    """Return the rival and the cells of a cheapest attack on one point.

    An attack that lets the rival win outright is preferred to one that only makes a tie.
    """
    winner, steps = int(found.winner[place]), (int(found.n_raise[place]), int(found.n_lower[place]))
    expected, codes = int(found.overtaker[place]), found.points.codes[:, place]
    others = (k for k in range(found.model.m) if k not in (winner, expected))
    ways = [(rival, True) for rival in (expected, *others)] + [(expected, False)]
    for rival, strict in ways:
        pair = np.array([[winner], [rival]], dtype=np.int32)
        sides = Sides.of(found.model, codes[:, None], pair[0], pair[1], found.reach)
        changes = spent(sides, *steps, strict=strict)
        if changes is not None:
            return rival, _blanks(found.reach.index, codes, (winner, rival), *changes)
    raise AssertionError("no attack has as many cells as the radius")


def union(attacks: Iterable[Iterable[Cells]]) -> tuple[Cells, ...]:
    """Join attacks: of each sort of cells, take as many as the largest of them takes."""
    needed: dict[tuple[int, int, tuple[int, ...]], int] = {}
    for cells in chain.from_iterable(attacks):
        key = (cells.label, cells.feature, cells.candidates)
        needed[key] = max(needed.get(key, 0), cells.n_cells)
    return tuple(Cells(*key, n_cells) for key, n_cells in sorted(needed.items()))


def _can_solve() -> bool:
    if importlib.util.find_spec("scipy") is not None:
        return True
    notice(
        "without scipy the attack is the union of the attacks on each point; for a joint attack "
        'and its bound install it with: pip install "nullproof[attack]"'
    )
    return False


def _blanks(
    reachable: CountIndex,
    codes: NDArray[np.int32],
    labels: tuple[int, int],
    lowered: list[int],
    raised: list[int],
) -> tuple[Cells, ...]:
    """Turn changes of counts into cells: the winner's that hold the value, the rival's that do not."""
    winner, rival = labels
    blanks: list[Cells] = []
    for j, code in enumerate(codes.tolist()):
        if lowered[j]:
            blanks.append(Cells(winner, j, (code,), lowered[j]))
        left = raised[j]
        known = reachable.exact(j)[:, rival]
        known[min(code, len(known) - 1)] = 0
        # The most frequent values first.
        for value in np.argsort(-known, kind="stable").tolist():
            part = min(left, int(known[value]))
            if part:
                blanks.append(Cells(rival, j, (value,), part))
                left -= part
    return tuple(blanks)
