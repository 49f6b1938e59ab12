"""explain: which cells of a point support its label and which oppose it, and by how much.

Naive Bayes multiplies one factor per feature, so a lead is a sum of logarithms. The factors of a label
are least at its ``low`` counts and greatest at its ``high`` counts, and labels share no cells (T1). So one
world gives every feature its least term at once: low counts for the label, high counts for the rival.
Another one gives every feature its greatest term. Where a cell of the point may hold several values,
each feature has its own worst value (T4). The logarithms are floats, for display; whether a label is
certain is what the exact verdict says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nullproof.counts.index import CountIndex
from nullproof.data.points import OwnMissing, Points, key_at
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.model.bias import Floats
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.predict import log_shares, winners
from nullproof.model.verdicts import verdicts
from nullproof.results import CellWords, cell_words
from nullproof.results.pictures import ROWS, LeadBar, factor, leads, shown_figure
from nullproof.words import some


class Lead(NamedTuple):
    """How far a label is ahead of a rival, as natural logarithms; below 0 it is behind.

    In the world that is worst for the label (-inf where it has no support there), by the estimate from the
    known cells that `predict` uses (NaN where neither has any), and in the world that is best for it
    (inf where the rival has no support there).
    """

    least: float
    reference: float
    greatest: float


class Term(NamedTuple):
    """What one cell of the point adds to the lead: the logarithm of its factor, times its weight."""

    cell: CellWords
    lead: Lead
    weight: float


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """The contribution of each cell of a point to the lead of its label over one rival.

    Parameters
    ----------
    position
        Where the point stands among ``points``.
    label, rival
        The two labels that are compared.
    prior
        The contribution of the prior to the lead, the same in every world.
    terms
        One per feature, in the order of the index.
    total
        The whole lead. The terms and the prior add up to it.
    leads
        The whole lead over each of the other labels.
    """

    model: Model
    points: Points
    position: int
    label: Any
    rival: Any
    prior: float
    terms: tuple[Term, ...]
    total: Lead
    leads: dict[Any, Lead]

    @cached_property
    def certain(self) -> bool:
        """Whether ``label`` wins in every world (of at most the bias): what the verdict says."""
        judged = verdicts(self.model, self.points.take(np.array([self.position])))
        return bool(judged.certain[0]) and self.model.named(judged.winner)[0] == self.label

    @property
    def nearest(self) -> Any:
        """The strongest rival: the label that comes closest, or leads most, in the least world."""
        return min(self.leads, key=lambda rival: _strength(self.leads[rival]))

    @property
    def strongest_first(self) -> tuple[Term, ...]:
        """The terms, ordered by their weight by the known cells, for the label or against it."""
        return tuple(sorted(self.terms, key=_weight, reverse=True))

    def said(self, log: float) -> str:
        """Write a lead or a term: ``× 3.20 for yes``, ``rules no out``, ``even``."""
        if math.isnan(log):
            return "rules both out"
        if math.isinf(log):
            return f"rules {self.rival if log > 0 else self.label} out"
        return f"{factor(log)} for {self.label if log > 0 else self.rival}" if log else "even"

    def sentence(self) -> str:
        """Write the verdict on the label, with the leads over this rival."""
        verdict = (
            f"every world predicts {self.label}"
            if self.certain
            else f"some world does not predict {self.label}"
        )
        least, reference, greatest = (self.said(log) for log in self.total)
        return (
            f"{self.label} against {self.rival}: {reference} by the known cells, {least} in the least "
            f"world, {greatest} in the greatest; {verdict}"
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one row for the prior and one per feature; each log column adds up to its lead."""
        cells = [None, *(term.cell for term in self.terms)]
        logs = [Lead(*(self.prior,) * 3), *(term.lead for term in self.terms)]
        return {
            "feature": [None if cell is None else cell.feature for cell in cells],
            "value": [None if cell is None else cell.value for cell in cells],
            "kind": ["prior" if cell is None else cell.kind for cell in cells],
            **{name: [lead[place] for lead in logs] for place, name in enumerate(Lead._fields)},
            "weight": [1.0, *(term.weight for term in self.terms)],
        }

    def file_columns(self) -> dict[str, list[Any]]:
        """Return the columns as a file holds them."""
        return self.columns()

    def to_frame(self) -> Any:
        """Return one row for the prior and one per feature, in the library that the point came in."""
        return native_frame(self.columns(), self.points.frame, same_rows=False)

    def document(self) -> dict[str, Any]:
        """Return the JSON form: the rows of `columns`, with nulls for infinite logarithms, and in words."""
        columns = self.columns()
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        leads = [Lead(*(self.prior,) * 3), *(term.lead for term in self.terms)]
        return {
            "point": self.position,
            **key_at(self.points.names, self.position),
            "label": str(self.label),
            "rival": str(self.rival),
            "certain": self.certain,
            "total": self._plain(self.total),
            "terms": [{**row, **self._plain(lead)} for row, lead in zip(rows, leads, strict=True)],
            "rivals": [
                {"label": str(rival), **replace(self, rival=rival)._plain(lead)}
                for rival, lead in self.leads.items()
            ],
        }

    def _plain(self, lead: Lead) -> dict[str, Any]:
        plain = {name: log if math.isfinite(log) else None for name, log in lead._asdict().items()}
        return {**plain, "said": self._words(lead)}

    def _words(self, lead: Lead) -> str:
        """Write the reference, and the range if it is not a single number."""
        ends = " to ".join(self.said(log) for log in (lead.least, lead.greatest))
        reference = self.said(lead.reference)
        return reference if ends == f"{reference} to {reference}" else f"{reference} ({ends})"

    def _repr_html_(self) -> str:
        shown = self.strongest_first[:ROWS]
        bars = [LeadBar("prior", *(self.prior,) * 3, self.said(self.prior))]
        for term in shown:
            # The text form shows the bin; here it would displace the number.
            name = f"{term.cell.feature}: {term.cell.own or term.cell.shown}"
            bars.append(LeadBar(name, *term.lead, self.said(term.lead.reference)))
        return shown_figure(repr(self).splitlines()[0], leads(bars, self.label, self.rival))

    def __repr__(self) -> str:
        lines = [f"Explanation: {self.sentence()}", f"  prior: {self.said(self.prior)}"]
        for term in self.strongest_first[:5]:
            weight = "" if term.weight == 1 else f", weight {term.weight:g}"
            lines.append(
                f"  {term.cell.feature}: {term.cell.shown}: {self._words(term.lead)}{weight}"
            )
        return "\n".join(lines + (["  …"] if len(self.terms) > 5 else []))


def explain(
    index: CountIndex,
    point: Any,
    *,
    label: Any = None,
    rival: Any = None,
    alpha: Alpha = 1.0,
    prior: Prior = None,
    own_missing: OwnMissing = "skip",
    bias: Bias = 1.0,
) -> Explanation:
    """Explain which cells of a point speak for its label and which against it, and by how much.

    Each cell adds a term to the lead of the label over a rival: the logarithm of how many times as
    frequent its value is among the rows of the label as among those of the rival, times the weight of its
    column. Three numbers are given for each: in the *least* world, where the missing cells suit the
    label worst; by the *reference*, the estimate from the known cells that `predict` uses; and in the
    *greatest* world, where they suit it best. The label is certain if its least lead over every rival is
    above 0.

    Parameters
    ----------
    point
        One point, as for `certify`.
    label
        The label to explain; by default the predicted one.
    rival
        The label to compare it with; by default the one with the greatest support against it in the
        least world.
    alpha, prior, own_missing, bias
        As for `certify`. With a bias the two worlds are the least and the greatest of that bias. A
        cell that the point does not know is left out, and adds nothing; under ``"any"`` it adds its
        worst value in the least world and its best one in the greatest.

    Examples
    --------
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> explain(index, ("a", "x"))
    Explanation: yes against no: × 2.00 for yes by the known cells, × 1.50 for yes in the least world, \
× 2.25 for yes in the greatest; every world predicts yes
      prior: even
      x0: a: × 1.50 for yes
      x1: x: × 1.33 for yes (even to × 1.50 for yes)
    """
    model = Model(index, alpha, prior, bias)
    points = model.points(point, own_missing)
    if len(points) != 1:
        raise NullproofError(
            f"explain takes one point but got {len(points):,}; give one row, or use "
            "certify(index, points)[position].explain()"
        )
    return explanation_of(model, points, 0, label=label, rival=rival)


def explanation_of(
    model: Model, points: Points, position: int, *, label: Any = None, rival: Any = None
) -> Explanation:
    """Explain one of some points; options as for `explain`."""
    if model.m == 1:
        raise NullproofError(
            f"the only label is {model.index.labels[0]!r}, so it has no rival; explain "
            "needs a table with two labels"
        )
    known: Known = {}
    i = (
        int(winners(model, points.take(np.array([position])))[0])
        if label is None
        else _named(model, label, "label")
    )
    whole = _whole(model, _cell_leads(model, points, position, i, known), i)
    totals = {k: Lead(*whole[:, k].tolist()) for k in range(model.m) if k != i}
    nearest = min(totals, key=lambda k: _strength(totals[k]))
    k = nearest if rival is None else _named(model, rival, "rival")
    if k == i:
        raise NullproofError(f"label and rival are both {rival!r}; give two labels")
    leads = {model.index.labels[other]: lead for other, lead in totals.items()}
    return replace(terms_against(model, points, position, (i, k), known), leads=leads)


def terms_against(
    model: Model,
    points: Points,
    position: int,
    pair: tuple[int, int],
    known: Known,
    words: Sequence[CellWords] | None = None,
) -> Explanation:
    """Explain one label of a point against one rival, both by position.

    ``known`` serves many points; ``words`` are the point's own cells in words, if they are known.
    """
    i, k = pair
    label, rival = model.index.labels[i], model.index.labels[k]
    cells = _cell_leads(model, points, position, i, known)
    total = Lead(*_whole(model, cells, i)[:, k].tolist())
    words = words or [cell_words(model.index.schema, points, position, j) for j in range(model.d)]
    parts = zip(words, cells[:, :, k].T.tolist(), model.float_weights.tolist(), strict=True)
    terms = tuple(Term(cell, Lead(*lead), weight) for cell, lead, weight in parts)
    prior = float(_log_odds(model, i)[k])
    return Explanation(model, points, position, label, rival, prior, terms, total, {rival: total})


def _strength(lead: Lead) -> tuple[float, ...]:
    """Order rivals by how weak the label is against them: at least, by the reference, at most."""
    logs = (lead.least, 0.0 if math.isnan(lead.reference) else lead.reference, lead.greatest)
    return tuple(map(_rounded, logs))


def _rounded(log: float) -> float:
    """Return a logarithm with ten decimals, so that rounding does not tell equal ones apart."""
    return round(log, 10) if math.isfinite(log) else log


def _weight(term: Term) -> tuple[float, float]:
    """Order terms by how much they weigh by the reference, then by how much they may weigh."""
    reference = abs(term.lead.reference)
    width = max(abs(term.lead.least), abs(term.lead.greatest))
    return _rounded(math.inf if math.isnan(reference) else reference), _rounded(width)


def _named(model: Model, label: Any, what: str) -> int:
    labels = model.index.labels
    for i, own in enumerate(labels):
        if own == label or str(own) == label:
            return i
    raise NullproofError(f"the {what} is {label!r}; give one of {some(map(repr, labels), 8)}")


# Leads ----------------------------------------------------------------------------------------------

# Per feature and code the log terms of its candidates at both ends (candidates × labels), and by the
# known cells; for points of the same candidates.
Known = dict[tuple[int, int], tuple[Floats, Floats, Floats]]
# Sums of logarithms that are closer to 0 than this are 0.
_NOTHING = 1e-12


def _cell_leads(model: Model, points: Points, position: int, i: int, known: Known) -> Floats:
    """Return what cells add to the lead of label ``i``: least, reference, greatest × features × rivals.

    The least lead of a cell is at the candidate that is worst for the label (T4).
    """
    leads = np.empty((3, model.d, model.m))
    for j, code in enumerate(points.codes[:, position].tolist()):
        if (j, code) not in known:
            terms = model.term_rows(j, np.array(points.candidates(j, code)))
            low, high = terms[:, : model.m], terms[:, model.m :]
            known[j, code] = low, high, log_shares(model, points, j, code)
        low, high, reference = known[j, code]
        with np.errstate(invalid="ignore"):
            least, reverse = low[:, [i]] - high, low - high[:, [i]]
            leads[1, j] = reference[i] - reference
        # A label without support, whatever the rival has, is behind.
        leads[0, j] = np.where(np.isnan(least), -np.inf, least).min(axis=0)
        leads[2, j] = -np.where(np.isnan(reverse), -np.inf, reverse).min(axis=0)
    return _cleared(leads)


def _whole(model: Model, cells: Floats, i: int) -> Floats:
    """Return the whole lead of label ``i`` over every rival: least, reference, greatest × rivals."""
    with np.errstate(invalid="ignore"):
        total = _log_odds(model, i) + cells.sum(axis=1)
    for side, nothing in ((0, -np.inf), (2, np.inf)):
        total[side, np.isnan(total[side])] = nothing
    return _cleared(total)


def _cleared(logs: Floats) -> Floats:
    return np.where(np.abs(logs) < _NOTHING, 0.0, logs)


def _log_odds(model: Model, i: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(model.log_prior[i] - model.log_prior)
