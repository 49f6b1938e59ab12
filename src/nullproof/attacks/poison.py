"""poison: which training cells to blank, or rows to add, until no given point is certain any more.

For one point the attack of its radius is a proven optimum. For several points the search for a joint attack
starts from the union of the single attacks (theory 5).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from nullproof.attacks.attack import Attack, RowAttack, Target
from nullproof.attacks.cells import Sides, spent
from nullproof.attacks.radius import Radii, Threat, radii_of, refuse_question
from nullproof.attacks.reach import Only, Reach
from nullproof.attacks.row_search import RowSearch
from nullproof.counts.index import CountIndex
from nullproof.counts.update import Cells
from nullproof.data.keys import Key, shown_name
from nullproof.data.points import OwnMissing, Points
from nullproof.errors import NullproofError, notice
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress, within
from nullproof.seeds import refuse_seed
from nullproof.words import some

Codes = tuple[int, ...]


@overload
def poison(
    index: CountIndex,
    points: Any,
    *,
    threat: Literal["cells"] = "cells",
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
) -> Attack: ...
@overload
def poison(
    index: CountIndex,
    points: Any,
    *,
    threat: Literal["rows"],
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
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
    own_missing: OwnMissing = "skip",
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
    RowAttack: 1 added row makes 1 certain point no longer certain (optimal)
    >>> attack.apply(rows, labels)[0][-1], attack.apply(rows, labels)[1][-1]
    (('b', 'y'), 'yes')
    """
    refuse_question(index, threat, own_missing, only)
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
        time_limit=time_limit,
        steps=steps,
        seed=seed,
        skip_unbreakable=skip_unbreakable,
        on_progress=on_progress,
    )


def attack_of(
    model: Model,
    points: Points,
    judged: Verdicts,
    *,
    reach: Reach | None = None,
    time_limit: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
) -> Attack:
    """The attack on points whose verdicts, over all worlds, are known; options as for `poison`."""
    refuse_seed(seed)
    if time_limit < 0 or (steps is not None and steps < 0):
        raise NullproofError(
            f"time_limit is {time_limit} and steps is {steps}; give numbers that are 0 or more"
        )
    found = radii_of(model, points, judged, within(on_progress, 0.0, 0.1), reach=reach)
    model, reach = found.model, found.reach
    _refuse_unbreakable(found, points, skip_unbreakable)
    places = different(found)
    plans = [single_attack(found, place) for place in places.values()]
    rivals = [rival for rival, _ in plans]
    blanks = union(blanks for _, blanks in plans)
    bound = max((int(r) for r in found.radius if math.isfinite(r)), default=0)
    if len(plans) > 1 and _can_solve():
        from nullproof.attacks.joint import Effort, solve
        from nullproof.attacks.joint_problem import Problem

        problem = Problem.of(found, list(places.values()))
        cells, needed = solve(
            problem,
            problem.cells_of(blanks),
            effort=Effort(time_limit, steps),
            seed=seed,
            on_progress=_progress_of_search(within(on_progress, 0.1, 1.0)),
        )
        blanks, rivals = problem.blanks(cells), problem.fallen_to(cells)
        bound = max(bound, needed)
    targets = tuple(_targets(found, dict(zip(places, rivals, strict=True))))
    return Attack(model, reach, blanks, bound, targets, points.names)


def row_attack_of(
    model: Model,
    points: Points,
    judged: Verdicts,
    skip_unbreakable: bool = False,
    on_progress: Progress | None = None,
) -> RowAttack:
    """The attack by added rows on points whose verdicts, over all worlds, are known."""
    model = model.unbiased
    found = radii_of(model, points, judged, on_progress, threat="rows")
    _refuse_unbreakable(found, points, skip_unbreakable)
    places = different(found)
    chosen = np.array([*places.values()], dtype=np.intp)
    search = RowSearch(model, found.codes[:, chosen], found.winner[chosen], found.overtaker[chosen])
    bound = max((int(r) for r in found.radius if math.isfinite(r)), default=0)
    if len(chosen) == 1:
        (place,) = chosen.tolist()
        search.take(0, int(found.n_raise[place]), int(found.n_lower[place]))
    elif len(chosen) and not search.run(bound):
        raise NullproofError(
            f"no rows were found that break all {len(chosen)} points at once, though each can be broken "
            "alone; rows that do may exist, for the search does not try all; attack fewer points"
        )
    rivals = [search.fallen_to(place) for place in range(len(chosen))]
    targets = tuple(_targets(found, dict(zip(places, rivals, strict=True))))
    return RowAttack(model, search.rows, bound, targets, points.names)


def _refuse_unbreakable(found: Radii, points: Points, skip: bool) -> None:
    unbreakable = np.flatnonzero(np.isinf(found.radius))
    if len(unbreakable) and not skip:
        names = [shown_name(points.names, place) for place in unbreakable[:11].tolist()]
        raise _no_attack(names, found)


def different(found: Radii) -> dict[Codes, int]:
    """Return each different point that an attack breaks once, with the first place where it stands."""
    first: dict[Codes, int] = {}
    for place in np.flatnonzero((found.radius > 0) & np.isfinite(found.radius)).tolist():
        first.setdefault(tuple(found.codes[:, place].tolist()), place)
    return first


def single_attack(found: Radii, place: int) -> tuple[int, tuple[Cells, ...]]:
    """Return the rival and the cells of a cheapest attack on one point.

    An attack that lets the rival win outright is preferred to one that only makes a tie.
    """
    winner, n_cells = int(found.winner[place]), int(found.radius[place])
    expected, codes = int(found.overtaker[place]), found.codes[:, place]
    others = (k for k in range(found.model.m) if k not in (winner, expected))
    ways = [(rival, True) for rival in (expected, *others)] + [(expected, False)]
    for rival, strict in ways:
        pair = np.array([[winner], [rival]], dtype=np.int32)
        sides = Sides.of(found.model, codes[:, None], pair[0], pair[1], found.reach)
        changes = spent(sides, n_cells, strict=strict)
        if changes is not None:
            return rival, _blanks(found.reach.index, codes, (winner, rival), *changes)
    raise AssertionError("no attack has as many cells as the radius")


def union(attacks: Iterable[Iterable[Cells]]) -> tuple[Cells, ...]:
    """One attack that does the work of all: of each sort of cells, as many as the largest of them takes."""
    needed: dict[tuple[int, int, tuple[int, ...]], int] = {}
    for cells in chain.from_iterable(attacks):
        key = (cells.label, cells.feature, cells.candidates)
        needed[key] = max(needed.get(key, 0), cells.n_cells)
    return tuple(Cells(*key, n_cells) for key, n_cells in sorted(needed.items()))


def _progress_of_search(on_progress: Progress | None) -> Any:
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


def _targets(found: Radii, rivals: dict[Codes, int]) -> Iterator[Target]:
    labels, names = found.label, found.model.index.labels
    for place in range(len(found)):
        codes = tuple(found.codes[:, place].tolist())
        rival = names[rivals[codes]] if codes in rivals else None
        radius, reason = float(found.radius[place]), found.not_worked_out[place]
        yield Target(place, labels[place], rival, radius, codes, reason)


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
