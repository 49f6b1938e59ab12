"""poison: which training cells to blank until none of the given points is certain any more.

For one point the frontier of radii gives a proven optimum. For several points the search for a joint
attack starts from the union of the single attacks (theory 5).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.attack import Attack, Target, taken
from nullproof.attacks.joint.effort import Effort
from nullproof.attacks.joint.problem import Problem
from nullproof.attacks.joint.proof import Found, solve
from nullproof.attacks.row_attack import RowAttack
from nullproof.attacks.row_search import RowSearch
from nullproof.counts.index import CountIndex
from nullproof.counts.update import Cells
from nullproof.data.keys import Key, shown_name
from nullproof.data.points import OwnHoles, Points
from nullproof.errors import NullproofError, notice
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress, within
from nullproof.radii.cells import radii_of, refuse_threat
from nullproof.radii.reach import Only, Reach
from nullproof.radii.results import Radii, Threat
from nullproof.radii.solving import PointCounts
from nullproof.seeds import refuse_seed
from nullproof.words import some

Codes = tuple[int, ...]
# Of the winner and of the rival, for each feature.
Counts = tuple[list[int], list[int]]


@overload
def poison(
    index: CountIndex,
    points: Any,
    *,
    threat: Literal["cells"] = "cells",
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    only: Only = None,
    time_limit: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
    key: Key | None = None,
) -> Attack: ...
@overload
def poison(
    index: CountIndex,
    points: Any,
    *,
    threat: Literal["rows"],
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    time_limit: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
    key: Key | None = None,
) -> RowAttack: ...
def poison(  # noqa: PLR0913
    index: CountIndex,
    points: Any,
    *,
    threat: Threat = "cells",
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnHoles = "skip",
    only: Only = None,
    time_limit: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
    key: Key | None = None,
) -> Attack | RowAttack:
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
        ``"skip"``: a point is predicted from the cells that it knows, so blanking cells of the
        features that it lacks changes nothing. ``"any"``: it falls as soon as one of its completions
        does.
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
    Attack: 2 cells break 1 certain point (optimal)
    >>> attack.apply(rows, labels)
    [(None, None), ('a', 'x'), ('a', 'x'), ('b', 'y')]
    >>> attack = poison(CountIndex.from_rows(rows, labels), [("b", "y")], threat="rows")
    >>> attack
    RowAttack: 1 added row breaks 1 certain point (optimal)
    >>> attack.apply(rows, labels)[0][-1], attack.apply(rows, labels)[1][-1]
    (('b', 'y'), 'yes')
    """
    refuse_threat(threat, only)
    model = Model(index, alpha, prior)
    encoded = model.points(points, own_missing, key)
    if threat == "rows":
        judged = verdicts(model, encoded)
        return row_attack_of(model, encoded, judged, skip_unbreakable, on_progress)
    return attack_of(
        model,
        encoded,
        verdicts(model, encoded),
        reach=Reach.of(index, only),
        effort=effort_of(time_limit, steps),
        seed=seed,
        skip_unbreakable=skip_unbreakable,
        on_progress=on_progress,
    )


def effort_of(time_limit: float = 10.0, steps: int | None = None) -> Effort:
    """How long to look for a better attack: so many seconds, or so many rounds."""
    if time_limit < 0 or (steps is not None and steps < 0):
        raise NullproofError(
            f"time_limit is {time_limit} and steps is {steps}; give numbers that are 0 or more"
        )
    return Effort(seconds=time_limit, rounds=steps)


def attack_of(
    model: Model,
    points: Points,
    judged: Verdicts,
    *,
    effort: Effort,
    reach: Reach | None = None,
    seed: int = 0,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
) -> Attack:
    """The attack on points whose verdicts, over all worlds, are known; options as for `poison`."""
    model.refuse_weights("poison")
    refuse_seed(seed)
    found = radii_of(model, points, judged, within(on_progress, 0.0, 0.1), reach=reach)
    model, reach = found.model, found.reach
    _refuse_unbreakable(found, points, skip_unbreakable)
    places = different(found, np.flatnonzero((found.radius > 0) & np.isfinite(found.radius)))
    plans = [single_attack(found, place) for place in places.values()]
    rivals = [rival for rival, _ in plans]
    blanks = union(blanks for _, blanks in plans)
    bound = max((int(r) for r in found.radius if math.isfinite(r)), default=0)
    if len(plans) > 1 and _can_solve():
        problem = Problem.of(found, list(places.values()))
        tell = _told(within(on_progress, 0.1, 1.0))
        cells, needed = solve(problem, effort=effort, seed=seed, on_progress=tell)
        if cells.sum() < sum(blank.n_cells for blank in blanks):
            blanks = problem.blanks(cells)
            rivals = problem.fallen_to(cells)
        if points.complete[found.radius > 0].all():
            # In a joint attack another completion than a point's weakest may be cheaper.
            bound = max(bound, needed)
    fallen_to = dict(zip(places, rivals, strict=True))
    targets = tuple(_targets(model.index, found, fallen_to))
    return Attack(model, reach, blanks, bound, targets, points.names)


def row_attack_of(
    model: Model,
    points: Points,
    judged: Verdicts,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
) -> RowAttack:
    """The attack by added rows on points whose verdicts, over all worlds, are known."""
    model.refuse_weights("poison")
    model = model.unbiased
    found = radii_of(model, points, judged, on_progress, threat="rows")
    _refuse_unbreakable(found, points, skip_unbreakable)
    places = different(found, np.flatnonzero((found.radius > 0) & np.isfinite(found.radius)))
    chosen = np.array([*places.values()], dtype=np.intp)
    search = RowSearch(model, found.codes[:, chosen], found.winner[chosen], found.overtaker[chosen])
    bound = max((int(r) for r in found.radius if math.isfinite(r)), default=0)
    if len(chosen) == 1:
        (place,) = chosen.tolist()
        search.take(0, int(found.n_raise[place]), int(found.n_lower[place]))
    elif not search.run(bound):
        raise NullproofError(
            f"no rows were found that break all {len(chosen)} points at once, though each can be broken "
            "alone; attack fewer points"
        )
    rivals = [search.fallen_to(place) for place in range(len(chosen))]
    targets = tuple(_targets(model.index, found, dict(zip(places, rivals, strict=True))))
    return RowAttack(model, search.rows, bound, targets, points.names)


def _refuse_unbreakable(found: Radii, points: Points, skip: bool) -> None:
    unbreakable = np.flatnonzero(np.isinf(found.radius))
    if len(unbreakable) and not skip:
        names = [shown_name(points.names, place) for place in unbreakable[:11].tolist()]
        raise _no_attack(names, found)


def different(found: Radii, places: NDArray[np.intp]) -> dict[Codes, int]:
    """Each different point once, with the first place where it stands."""
    first: dict[Codes, int] = {}
    for place in places.tolist():
        first.setdefault(tuple(found.codes[:, place].tolist()), place)
    return first


def single_attack(found: Radii, place: int) -> tuple[int, tuple[Cells, ...]]:
    """The rival and the cells of a cheapest attack on one point.

    An attack that lets the rival win outright is preferred to one that only makes a tie.
    """
    winner, n_cells = int(found.winner[place]), int(found.radius[place])
    expected = int(found.overtaker[place])
    counts = PointCounts(found.model, found.codes[:, place : place + 1], found.reach)
    others = (k for k in range(found.model.m) if k not in (winner, expected))
    ways = [(rival, True) for rival in (expected, *others)] + [(expected, False)]
    for rival, strict in ways:
        after = counts.attacks(0, winner, rival, strict=strict).after(n_cells)
        if after is not None:
            before = counts.low[:, 0, winner].tolist(), counts.high[:, 0, rival].tolist()
            codes = found.codes[:, place]
            return rival, _blanks(found.reach.index, codes, (winner, rival), before, after)
    raise AssertionError("no attack has as many cells as the radius")


def union(attacks: Iterable[Iterable[Cells]]) -> tuple[Cells, ...]:
    """One attack that does the work of all: of each sort of cells, as many as the largest of them takes."""
    needed: dict[tuple[int, int, tuple[int, ...]], int] = {}
    for cells in chain.from_iterable(attacks):
        key = (cells.label, cells.feature, cells.candidates)
        needed[key] = max(needed.get(key, 0), cells.n_cells)
    return tuple(Cells(*key, n_cells) for key, n_cells in sorted(needed.items()))


def _told(on_progress: Progress | None) -> Found | None:
    """Say in words how good the best attack so far is."""
    if on_progress is None:
        return None

    def tell(best: int, bound: int, share: float) -> None:
        gap = f", {100 * (best / bound - 1):.0f} % apart" if bound else ""
        said = f"best {best:,} cells, at least {bound:,} needed{gap} (Ctrl-C keeps the best)"
        on_progress(said, share)

    return tell


def _can_solve() -> bool:
    if importlib.util.find_spec("scipy") is not None:
        return True
    notice(
        "without scipy the attack is the union of the attacks on each point; for a joint attack "
        'and its bound install it with: pip install "nullproof[attack]"'
    )
    return False


def _no_attack(points: list[str], found: Radii) -> NullproofError:
    done = "every cell blanked" if found.reach.everything else "every cell within reach blanked"
    if found.threat == "rows":
        done = "any number of rows added"
    return NullproofError(
        f"no attack can break point {some(points, 10)}: its label wins even with {done}; leave "
        "such points out, or pass skip_unbreakable=True (--skip-unbreakable)"
    )


def _targets(index: CountIndex, found: Radii, rivals: dict[Codes, int]) -> Iterator[Target]:
    labels = found.label
    for place in range(len(found)):
        codes = tuple(found.codes[:, place].tolist())
        rival = index.labels[rivals[codes]] if codes in rivals else None
        radius, reason = float(found.radius[place]), found.not_worked_out[place]
        yield Target(place, labels[place], rival, radius, codes, reason)


def _blanks(
    reachable: CountIndex,
    codes: NDArray[np.int32],
    labels: tuple[int, int],
    before: Counts,
    after: Counts,
) -> tuple[Cells, ...]:
    """Turn counts into cells: the winner's that hold the point's value, the rival's that cannot hold it."""
    winner, rival = labels
    blanks: list[Cells] = []
    for j, code in enumerate(codes.tolist()):
        n_lower, n_raise = before[0][j] - after[0][j], after[1][j] - before[1][j]
        if n_lower:
            blanks.append(Cells(winner, j, (code,), n_lower))
        if n_raise:
            blanks += taken(_others(reachable, j, rival, code), n_raise)
    return tuple(blanks)


def _others(index: CountIndex, j: int, label: int, code: int) -> Iterator[Cells]:
    """Cells of a label that cannot hold a value: known ones first, the most frequent values first."""
    known = index.exact(j)[:, label]
    known[code] = 0
    for value in np.argsort(-known, kind="stable").tolist():
        yield Cells(label, j, (value,), int(known[value]))
    for candidates, counts in index.sets[j].items():
        if code not in candidates:
            yield Cells(label, j, candidates, int(counts[label]))
