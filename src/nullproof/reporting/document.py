"""tell: everything that a report says, as one plain document, in the order in which it is read.

The document is strict JSON: dicts with the keys below, lists, texts, numbers, true, false and null.
Labels, features and values are texts; those of more than `words.LONGEST` characters are shortened and
say how long they were. A *share* is between 0 and 1, or null where there is nothing to share.

``title``
    One sentence: the answer.
``findings``
    Up to three sentences: what matters most.
``next``
    What to do now, or null: ``text`` and ``command`` (what to type, or null).
``asked``
    Where the report comes from: ``version``, ``train`` and ``test`` (names of files), ``training_rows``
    (the points are the training rows), ``date``, ``options`` (each ``name`` and ``value``) and
    ``command`` (what makes the report again); null where it is not known.
``compared``
    Only if another report was given (``--compare``): its ``name`` and ``title``; ``measures``, each
    ``name``, ``here`` and ``there`` in words (or null); ``n_matched`` points that both list;
    ``n_changed`` of them with another prediction or verdict, and of the first of those ``point``,
    ``here`` and ``there``, each ``predicted`` and ``verdict``.
``assumptions``
    Sentences: what certain, holds and open mean here, and what is assumed of the missing cells.
``notes``
    Texts that the reader should know of: what was left out or taken as missing, columns that tell
    nothing, values that the table never shows, wide odds.
``table``
    The training table: ``label_name``, ``labels``, ``label_counts``, ``n_rows``, ``n_features``,
    ``n_cells``, ``n_missing``, ``share_missing``, ``alpha`` (text) and ``prior`` (one share per label).
``outside``
    Per feature, the points whose number lies outside what the training table shows, which is counted
    to the bins at its ends: ``feature`` and ``n_points``, most first; features without any are left
    out.
``verdicts``
    The three groups: ``goal`` (``"certain"``, or ``"holds"`` if a bias was given), ``threshold`` (the
    bias up to which a prediction holds), ``learned`` (what certain is meant for: the bins and weights
    learned from the known cells), and ``groups``, certain, holds and open: ``verdict``,
    ``n_points``, ``share``, ``n_right`` and of how many (``n_known``: those whose true label is known;
    both null if none is).
``own_missing``
    Cells that points themselves do not know: ``reading`` (``"skip"``: they are left out, ``"any"``:
    whatever they hold), ``n_points`` that have some, and ``n_certain``: how many points are certain in
    each reading.
``curve``
    How many predictions hold as the bias grows, as columns: ``bias``, ``n_hold``, ``share``, and where
    the true labels are known ``accuracy_hold`` and ``accuracy_rest``; ``drawn``: the first three at
    more biases, for a picture.
``accuracy``
    How many predictions are right and stay so under any attack on k cells, or null if no true label is
    known: ``n_known``, ``n_right``, ``accuracy`` (without any attack), ``curve`` at a few sizes (``k``,
    ``n``, ``share``), and ``drawn``, ``k`` and ``share`` at more of them for a picture.
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
    Points that do not even hold: ``n_points``; ``between``: ``labels`` and ``n_points`` of the most
    frequent sets of possible labels; ``n_between_left_off``; ``shown``: the positions of those that have
    an entry in ``points``; ``n_odds``: how many of these have odds; ``n_likely``: how many have one label
    in at least 99 % of the worlds; ``cells`` and ``gap``: how the odds are meant.
``fragility``
    The radius: ``n_certain``, ``n_unbreakable`` (no attack exists), ``n_not_worked_out`` (it would take
    too long), ``least``, ``median``, ``greatest`` (of the others, or null), ``histogram``: ``start``,
    ``stop`` (inclusive), ``n_points``; ``weakest``: up to ten of ``point``, ``label``, ``rival``,
    ``radius``.
``features``
    What would become of the points that are not done if one feature were complete (done: they hold up to
    the bias, 0.05 if none was given): ``meaning`` (the definition in words), ``n_open`` (points that are
    not done), ``n_left_off`` features with missing cells that were not judged, and ``features``, most
    useful first: ``feature``, ``n_missing``, ``expected`` (points that would be done, on average) and
    ``share`` (of those that are not).
``attack``
    What an attack looks like on the weakest certain point, or null: ``point``, ``label``, ``rival``,
    ``n_cells``; ``cells``: ``label``, ``feature``, ``values``, ``n_cells`` and ``effect`` (``"lowers"`` the
    point's own label or ``"raises"`` the rival); ``n_sorts_left_off``; ``before`` and ``after``: lists as
    ``support`` below.
``cleaning``
    The plan of `nullproof clean`, or null if nothing is to be looked up: ``headline`` (in words),
    ``n_points``, ``n_done`` (they hold up to the bias, 0.05 if none was given), ``n_cells`` (all cells of
    the plan), ``stages`` of ``columns``, ``n_cells``, ``so_far`` and ``expected`` (how many points will be
    done after this stage and those before it, on average), ``n_left_off`` stages, ``stop`` (a sentence, or
    null: where to stop), ``certainty`` (what certainty would take) and ``hint`` (columns that are missing
    nearly everywhere), sentences that may be empty.
``sample``
    Which points have an entry in ``points``: ``n_points``, ``n_shown``, ``all`` (true if none is left
    out), ``how`` (in words; it depends on nothing but the verdicts and what was asked for) and ``more``
    (in words, how to have other points; empty if none is left out).
``points``
    By position: ``point``, ``key`` (its name, if the points have names; in ``weakest`` and ``attack``,
    too), ``verdict``, ``certain``, ``label`` (or null), ``predicted`` (null for a tie),
    ``truth`` and ``right`` (the true label and whether the prediction is right, null if not known),
    ``tolerance`` (the largest bias up to which the prediction holds, null if there is none),
    ``tolerance_rival`` (the label that catches up then, or null), ``n_own_missing``, ``possible``,
    ``radius`` (0 if not certain, null if no attack exists) and its ``rival``, ``not_worked_out``
    (the reason why the radius of a certain point is not known and null, else null), and

    - ``values``: ``feature``, ``value``, ``kind`` (``"known"``, ``"unseen"``, ``"skipped"`` (not known,
      left out), ``"missing"`` (may hold anything) or ``"candidates"``), and ``own``: the point's own
      number or date where ``value`` is a bin that is written otherwise, else null;
      ``n_values_left_off``;
    - ``support``: ``label``, ``low``, ``high`` (natural logarithms, null for a support of 0) and
      ``possible``, the strongest labels first; ``n_labels_left_off``;
    - ``odds``: ``label``, ``lower``, ``upper``, the predicted label first; null if the point is certain, or
      the odds would take too long: ``odds_reason`` says why, and is null otherwise;
    - ``explanation``: what speaks for the strongest label and what for its strongest ``rival``, or null
      if there is one label: ``label``, ``rival``, ``prior`` (in words), ``total`` and ``terms``, the
      weightiest first, each with ``log`` (of the lead by the known cells, null if it is infinite) and
      in words ``said``, ``least`` and ``greatest`` (over all worlds); ``n_terms_left_off``;
    - ``worlds``: null if certain, else two of ``winners`` and ``support`` (``label``, ``log``);
    - ``differences`` between the two: ``label``, ``feature``, ``n_cells``, and ``first`` and
      ``second``, each ``value`` and ``takes`` (whether those cells take that value in that world,
      or any other); ``n_differences_left_off``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nullproof.attacks.radius import Radii, radii_of
from nullproof.counts.index import CountIndex
from nullproof.data.keys import Key, place_of
from nullproof.data.points import OwnMissing
from nullproof.data.types import text
from nullproof.errors import NullproofError
from nullproof.model.accuracy import CertaintyCurve
from nullproof.model.certify import Certificates, certificates_of
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.verdicts import Verdicts, verdicts
from nullproof.progress import Progress, within
from nullproof.reporting import overview, tolerance
from nullproof.reporting import points as details
from nullproof.reporting.accuracy import accuracy
from nullproof.reporting.asked import Asked
from nullproof.reporting.cleaning import complete_features, first_steps, planned
from nullproof.reporting.findings import findings, next_step
from nullproof.words import many, per_cent

LIMIT = 200
# Two worlds of a point cost time for every feature.
_BUDGET = 40_000
_TRAINING_ROWS = (
    "The points are the training rows themselves: how many predictions are right says how well the "
    "table fits itself, not how well new points will be predicted."
)


def tell(
    index: CountIndex,
    points: Any,
    *,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    bias: Bias = 1.0,
    truth: Any = None,
    limit: int = LIMIT,
    on_progress: Progress | None = None,
    key: Key | None = None,
    asked: Asked | None = None,
    also: Iterable[Any] = (),
) -> dict[str, Any]:
    """Work out all that a report says; see the module for the keys of the document.

    Parameters
    ----------
    points, alpha, prior, own_missing, bias
        As for `certify`.
    truth
        The true label of each point (None where it is not known), to tell how many predictions are
        right.
    limit
        How many points at most are shown one by one, with odds and witnesses; fewer where there are
        more than 200 features.
    on_progress
        Called with what is being done and which share of the work is done.
    key
        What names the points in the report: a column of theirs, or one name per point.
    asked
        Where the tables come from, to be told.
    also
        Points to be shown besides: their names if there is a key, else their positions.
    """
    if limit < 0:
        raise NullproofError(f"limit is {limit}; give a number of points that is 0 or more")
    say = on_progress or (lambda _text, _share: None)
    say("reading the points", 0.0)
    model = Model(index, alpha, prior, bias)
    encoded = model.points(points, own_missing, key)
    say("certifying", 0.05)
    found = certificates_of(model, encoded)
    places = [place_of(text(one), encoded.names, len(encoded), "a point asked for") for one in also]
    return document_of(found, truth=truth, limit=limit, say=say, asked=asked, also=places)


def document_of(
    judged: Certificates,
    *,
    truth: Any = None,
    limit: int = LIMIT,
    say: Progress,
    asked: Asked | None = None,
    also: Sequence[int] = (),
) -> dict[str, Any]:
    """The document of points whose verdicts, up to the model's bias, are known.

    Possible labels, supports, odds, worlds, radii and attacks are those of all worlds, whatever the
    bias; what to clean and which features to complete is about the bias.
    """
    points, strict = judged.points, judged.model.unbiased
    judged.work_out(lambda what, share: say(what, 0.1 + 0.3 * share))
    curve = judged.curve(truth)
    say("finding the fewest cells for each point", 0.4)
    anywhere = judged.verdicts if judged.strict else verdicts(strict, points)
    fragile = radii_of(strict, points, anywhere, within(say, 0.4, 0.5))
    most = max(overview.WEAKEST, _BUDGET // strict.d)
    chosen = overview.sample(judged.verdict == "open", fragile.radius, min(limit, most), also)
    say("weighing the worlds", 0.5)
    told = details.points(judged, fragile, chosen.shown, curve.actual, within(say, 0.5, 0.7))
    say("completing each feature, planning what to clean", 0.7)
    document = _document(judged, curve, (anywhere, fragile), told, chosen, within(say, 0.7, 1.0))
    asked = asked or Asked()
    document["sample"]["more"] = "" if document["sample"]["all"] else asked.more_points(most)
    notes = [*overview.sentences(asked.notices), *document["notes"]]
    if asked.training_rows:
        notes.insert(0, _TRAINING_ROWS)
    if document["own_missing"]["reading"] == "skip":
        notes.append(tolerance.own_missing_text(document["own_missing"]))
    document["notes"] = overview.told_once(notes)
    document["findings"] = findings(document)
    document["next"] = next_step(document, asked.commands)
    document["asked"] = asked.document(judged)
    say("done", 1.0)
    return document


def _document(
    judged: Certificates,
    curve: CertaintyCurve,
    results: tuple[Verdicts, Radii],
    told: list[dict[str, Any]],
    chosen: overview.Sample,
    say: Progress | None,
) -> dict[str, Any]:
    model, points, (anywhere, fragile) = judged.model, judged.points, results
    certain = overview.certain(judged, anywhere)
    plan = planned(judged, say)
    groups = tolerance.groups(judged, curve)
    return {
        "title": _title(groups),
        "assumptions": tolerance.assumptions(judged),
        "notes": overview.notes(model.index, points, told),
        "table": overview.table(model),
        "outside": overview.outside(model.index, points),
        "verdicts": groups,
        "own_missing": tolerance.own_missing(model, points, certain["n_certain"]),
        "curve": tolerance.curve_columns(curve),
        "accuracy": accuracy(anywhere, fragile, curve),
        "certain": certain,
        "holes": overview.holes(model.index),
        "open": overview.open_ones(judged, anywhere, told),
        "fragility": overview.fragility(fragile),
        "features": complete_features(plan),
        "attack": details.attack(model.unbiased, fragile),
        "cleaning": first_steps(plan),
        "sample": {
            "n_points": len(points),
            "n_shown": len(told),
            "all": len(told) == len(points),
            "how": chosen.how,
        },
        "points": told,
    }


def _title(groups: dict[str, Any]) -> str:
    n_certain, n_holds, n_open = (group["n_points"] for group in groups["groups"])
    n_points = n_certain + n_holds + n_open
    if not n_points:
        return "There are no points to predict"
    share = per_cent(tolerance.share_at_goal(groups))
    if groups["goal"] == "certain":
        verb = "is" if n_points == 1 else "are"
        return f"{n_certain:,} of {many(n_points, 'prediction')} {verb} certain ({share})"
    verb = "holds" if n_points == 1 else "hold"
    return (
        f"{n_certain + n_holds:,} of {many(n_points, 'prediction')} {verb} up to "
        f"{groups['up_to']} ({share}); {n_certain:,} certain"
    )
