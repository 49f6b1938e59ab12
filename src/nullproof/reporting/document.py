"""tell: everything that a report says, as one plain document, in the order in which it is read.

The document is strict JSON: dicts with the keys below, lists, texts, numbers, true, false and null.
Labels, features and values are texts; those of more than `words.LONGEST` characters are shortened and
say how long they were. A *share* is between 0 and 1, or null where there is nothing to share.

``title``
    One sentence: the answer.
``notes``
    Texts that the reader should know of: values that the table never shows, wide odds, what was
    left out.
``table``
    The training table: ``label_name``, ``labels``, ``label_counts``, ``n_rows``, ``n_features``,
    ``n_cells``, ``n_missing``, ``share_missing``, ``alpha`` (text) and ``prior`` (one share per label).
``certain``
    ``n_points``, ``n_certain``, ``share``, and per label ``labels``: ``label``, ``n_certain`` (points
    with this label in every world), ``n_possible`` (points where it wins or ties in some world).
``holes``
    Where cells are missing: ``labels``, ``n_rows`` (per label), and ``features``, those with the
    most missing cells first: ``feature``, ``n_missing``, ``share``, and per label ``per_label``:
    ``n_missing``, ``n_candidates`` (those of them that have a set of candidates, fewer than all
    values), ``share``. ``n_complete`` features have no hole, ``n_left_off`` with holes are not listed,
    ``n_labels_left_off`` labels are not listed.
``open``
    ``n_points``; ``between``: ``labels`` and ``n_points`` of the most frequent sets of possible labels;
    ``n_between_left_off``; ``shown``: the positions of those that have an entry in ``points``;
    ``n_odds``: how many of these have odds; ``n_likely``: how many have one label in at least 99 % of
    the worlds; ``cells`` and ``gap``: how the odds are meant.
``fragility``
    The radius: ``n_certain``, ``n_unbreakable`` (no attack exists), ``least``, ``median``, ``greatest``
    (of the others, or null), ``histogram``: ``start``, ``stop`` (inclusive), ``n_points``; ``weakest``: up
    to ten of ``point``, ``label``, ``rival``, ``radius``.
``features``
    What would become certain if one feature were complete: ``meaning`` (the definition in words),
    ``n_open``, ``n_judged`` (all, or an even sample of them), ``n_left_off`` features with holes
    that were not judged, and ``features``, most useful first: ``feature``, ``n_missing``, ``n_certain``
    and ``share`` (its holes filled as the known cells), ``n_could`` and ``share_could`` (some filling).
``attack``
    What an attack looks like on the weakest certain point, or null: ``point``, ``label``, ``rival``,
    ``n_cells``; ``cells``: ``label``, ``feature``, ``values``, ``n_cells`` and ``effect`` (``"lowers"`` the
    point's own label or ``"raises"`` the rival); ``n_sorts_left_off``; ``before`` and ``after``: lists as
    ``support`` below.
``cleaning``
    What to clean first, or null if nothing is open or missing: ``n_open``, ``n_judged`` (all, or
    an even sample of them), ``n_cells`` (all missing cells that matter to these), ``n_likely`` (points
    among them where one label's odds reach ``confidence`` already), ``steps`` of ``label``,
    ``feature``, ``n_cells``, ``expected`` and ``best`` (of the points judged, how many will be certain
    after this step and those before it: on average, and at best), ``n_left_off`` steps.
``sample``
    Which points have an entry in ``points``: ``n_points``, ``n_shown``, ``all`` (true if none is left
    out) and ``how`` (in words; it depends on nothing but the verdicts).
``points``
    By position: ``point``, ``certain``, ``label`` (or null), ``possible``, ``rival``, ``radius`` (0 if
    open, null if no attack exists), and

    - ``values``: ``feature``, ``value``, ``kind`` (``"known"``, ``"unseen"``, ``"missing"`` or
      ``"candidates"``); ``n_values_left_off``;
    - ``support``: ``label``, ``low``, ``high`` (natural logarithms, null for a support of 0) and
      ``possible``, the strongest labels first; ``n_labels_left_off``;
    - ``odds``: ``label``, ``lower``, ``upper``, likeliest first; null if the point is certain, or
      the odds would take too long: holes of its own, many features and labels;
    - ``worlds``: null if certain, else two of ``winners`` and ``support`` (``label``, ``log``);
    - ``differences`` between the two: ``label``, ``feature``, ``n_cells``, and ``first`` and
      ``second``, each ``value`` and ``takes`` (whether those cells take that value in that world,
      or any other); ``n_differences_left_off``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nullproof.cleaning.features import effects_of
from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError
from nullproof.model import Alpha, Model, Prior
from nullproof.radii.cells import Radii, radii_of
from nullproof.reporting import overview
from nullproof.reporting import points as details
from nullproof.reporting.cleaning import first_steps
from nullproof.tables.points import Points
from nullproof.verdicts import Verdicts, verdicts
from nullproof.words import many, per_cent

LIMIT = 200
# Two worlds of a point cost time for every feature.
_BUDGET = 40_000
Progress = Callable[[str, float], None]


def tell(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 0.0,
    prior: Prior = None,
    limit: int = LIMIT,
    on_progress: Progress | None = None,
) -> dict[str, Any]:
    """Work out all that a report says; see the module for the keys of the document.

    Parameters
    ----------
    points, alpha, prior
        As for `certify`.
    limit
        So many points at most are told one by one, with odds and witnesses; fewer where there
        are more than 200 features.
    on_progress
        Called with what is being done and which share of the work is behind.
    """
    if limit < 0:
        raise NullproofError(f"limit is {limit}; give a number of points that is 0 or more")
    say = on_progress or (lambda _text, _share: None)
    say("reading the points", 0.0)
    model, encoded = Model(index, alpha, prior), index.encode(points)
    say("certifying", 0.1)
    return document_of(model, encoded, verdicts(model, encoded), limit=limit, say=say)


def document_of(
    model: Model, points: Points, found: Verdicts, *, limit: int = LIMIT, say: Progress
) -> dict[str, Any]:
    """The document of points whose verdicts are known."""
    say("finding the fewest cells for each point", 0.2)
    fragile = radii_of(model, points, found)
    limit = min(limit, max(overview.WEAKEST, _BUDGET // model.d))
    chosen = overview.sample(found.certain, fragile.radius, limit)
    say("weighing the worlds", 0.4)
    told = details.points(model, points, (found, fragile), chosen.shown)
    say("completing each feature, planning what to clean", 0.7)
    document = _document(model, points, (found, fragile), told, chosen)
    say("done", 1.0)
    return document


def _document(
    model: Model,
    points: Points,
    results: tuple[Verdicts, Radii],
    told: list[dict[str, Any]],
    chosen: overview.Sample,
) -> dict[str, Any]:
    found, fragile = results
    certain = overview.certain(model.index, found)
    return {
        "title": _title(certain),
        "notes": overview.notes(model.index, points, told),
        "table": overview.table(model),
        "certain": certain,
        "holes": overview.holes(model.index),
        "open": overview.open_ones(model.index, found, told),
        "fragility": overview.fragility(fragile),
        "features": effects_of(model, points, found).document(),
        "attack": details.attack(model, fragile),
        "cleaning": first_steps(model, points, found),
        "sample": {
            "n_points": len(points),
            "n_shown": len(told),
            "all": len(told) == len(points),
            "how": chosen.how,
        },
        "points": told,
    }


def _title(certain: dict[str, Any]) -> str:
    n_points, n_certain = certain["n_points"], certain["n_certain"]
    if not n_points:
        return "There are no points to predict"
    verb = "is" if n_points == 1 else "are"
    return (
        f"{n_certain:,} of {many(n_points, 'prediction')} {verb} certain "
        f"({per_cent(certain['share'])})"
    )
