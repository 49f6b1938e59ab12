"""What to do after a command: the next question, as a command with the arguments already used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nullproof.cli.registry import typed
from nullproof.cli.shown import Following, Shown

if TYPE_CHECKING:
    from nullproof.attacks.attack import Attack, RowAttack
    from nullproof.attacks.radius import Radii
    from nullproof.cleaning.plan import CleaningPlan
    from nullproof.cli.options import Request
    from nullproof.counts.index import CountIndex
    from nullproof.odds.odds import LabelOdds

# How many cells a worksheet is proposed with where a plan names no place to stop, and at most.
_FIRST_CELLS, _MOST_CELLS = 100, 1000


def shown_of(request: Request, everything: bool, following: Following) -> Shown:
    """How an answer is shown; nothing follows where a table came on standard input and is gone."""
    gone = "-" in (request.train, request.test)
    return Shown(request.test is None, everything, None if gone else following)


def after_certify(
    request: Request, index: CountIndex, bias: list[str] | None, *, all_certain: bool
) -> Following:
    """What to clean, or how few cells would break the predictions where all are certain."""
    if all_certain or not index.n_missing:
        return _radius(request)
    return _clean(request, {"--bias": bias})


def after_radius(request: Request, result: Radii) -> Following:
    """Which cells an enemy would blank; what to clean where there is nothing to break."""
    if not result.radius.any() and result.model.index.n_missing:
        return _clean(request)
    finite = np.isfinite(result.radius)
    if request.test is None or not _has_rows(request) or not (finite & (result.radius > 0)).any():
        return _report(request)
    more: dict[str, Any] = {"--skip-unbreakable": not bool(finite.all())}
    if not result.reach.everything:
        pairs = zip(result.model.index.features, result.reach.columns, strict=True)
        more["--only-columns"] = [name for name, is_reached in pairs if is_reached]
    if result.threat == "rows":
        line = typed("poison", request, {**more, "--threat": "rows"})
        return Following("which rows an enemy would add to break them all", line)
    what = "which training cells an enemy would blank to break them all"
    return Following(what, typed("poison", request, more))


def after_curve(request: Request, asked: Mapping[str, Any]) -> Following:
    """Which points fall first, with the options that the curve was asked with."""
    threat, only = asked["threat"], asked["only"] or {}
    more = {
        "--threat": None if threat == "cells" else threat,
        "--only-columns": only.get("columns"),
    }
    line = typed("radius", request, more)
    return Following("which points fall first, and to which label", line)


def after_odds(request: Request, result: LabelOdds) -> Following:
    """What to clean, or the whole story where nearly all worlds agree."""
    if result.sure.all() or not result.model.index.n_missing:
        return _report(request)
    return _clean(request)


def after_clean(request: Request, plan: CleaningPlan, own: dict[str, Any]) -> Following:
    """The worksheet of a plan, given again with its ``own`` options; other questions where it is empty."""
    if plan.steps and _has_rows(request):
        more, which = {**own, "-o": _new_worksheet(own["--answers"] or ())}, "these cells"
        first = min(_FIRST_CELLS if plan.stop is None else plan.stop.n_cells, _MOST_CELLS)
        if first < plan.n_cells and own["--budget"] is None and not own["--cost"]:
            more["--budget"] = first
            which = f"the first {first:,} cells" if first > 1 else "the first cell"
        return Following(f"a worksheet with {which} to fill in", typed("clean", request, more))
    return _radius(request) if plan.done.all() else _report(request)


def _new_worksheet(answers: Iterable[object]) -> str:
    """A name for a worksheet that is not one of those already filled in."""
    taken = {str(path) for path in answers}
    names = ("worksheet.csv", *(f"worksheet{number}.csv" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def after_poison(request: Request, attack: Attack, own: dict[str, Any]) -> Following:
    """The poisoned table, with the attack's ``own`` options; what to clean where there is no attack."""
    if not attack.blanks:
        return _clean(request) if attack.index.n_missing else _report(request)
    if not _has_rows(request):
        return _report(request)
    line = typed("poison", request, {**own, "-o": "poisoned.csv"})
    return Following("the table with these cells blank", line)


def after_row_attack(request: Request, attack: RowAttack, skip_unbreakable: bool) -> Following:
    """The longer table; the whole story where no row is added, or TRAIN has no rows to add to."""
    if not attack.added or not _has_rows(request):
        return _report(request)
    more = {"--threat": "rows", "--skip-unbreakable": skip_unbreakable, "-o": "longer.csv"}
    return Following("the table with these rows", typed("poison", request, more))


def _clean(request: Request, more: dict[str, Any] | None = None) -> Following:
    return Following("which missing cells to look up first", typed("clean", request, more))


def _radius(request: Request) -> Following:
    return Following("how few cells would break each prediction", typed("radius", request))


def _report(request: Request) -> Following:
    line = typed("report", request, {"-o": "report.html"})
    return Following("all of this as a page to send round", line)


def _has_rows(request: Request) -> bool:
    """Whether the rows of TRAIN can be pointed at."""
    return not (request.is_index or request.is_lazy)
