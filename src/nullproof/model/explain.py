"""explain: which cells of a point speak for its label and which against it, and by how much.

Naive Bayes multiplies one factor per feature, so a lead is a sum of logarithms. The factors of a label
are least at its ``low`` counts and greatest at its ``high`` counts, and labels share no cells (T1). So one
world gives every feature its least term at once: low counts for the label, high counts for the rival.
Another one gives every feature its greatest term. Where a cell of the point may hold several values,
each feature has its own worst value (T4). Ratios are whole numbers; logarithms come last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nullproof.counts.index import LEFT_OUT, CountIndex
from nullproof.data.keys import key_at
from nullproof.data.points import OwnMissing, Points
from nullproof.data.schema import ONE
from nullproof.data.sources import native_frame
from nullproof.errors import NullproofError
from nullproof.model.model import Model
from nullproof.model.parameters import Alpha, Bias, Prior
from nullproof.model.predict import exact_shares, log_supports, winners
from nullproof.model.verdicts import least_ratio, verdicts
from nullproof.results import CellWords, cell_words
from nullproof.show import ROWS, LeadBar, factor, leads, shown_figure
from nullproof.words import some

# Above the line what the label has, below it what its rival has.
Ratio = tuple[int, int]


class Lead(NamedTuple):
    """How far a label is ahead of a rival, as natural logarithms; below 0 it is behind.

    Parameters
    ----------
    least
        In the world that is worst for the label: low counts for it and high counts for the rival. It
        is -inf where the label has no support there, whatever the rival has.
    reference
        By the model's own estimate from the known cells, as `predict` uses it; NaN where neither label
        has any support.
    greatest
        In the world that is best for the label: high counts for it and low counts for the rival. It is
        inf where the rival has no support there, whatever the label has.
    """

    least: float
    reference: float
    greatest: float


Ratios = tuple[Ratio, Ratio, Ratio]


class Term(NamedTuple):
    """What one cell of the point adds to the lead: the logarithm of its factor, times its weight."""

    cell: CellWords
    lead: Lead
    weight: float


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """What each cell of a point adds to the lead of its label over one rival.

    Parameters
    ----------
    position
        Where the point stands among ``points``.
    label, rival
        The two labels that are compared.
    prior
        What the prior adds to the lead, in every world the same.
    terms
        One per feature, in the order of the index.
    total
        The whole lead. The terms and the prior add up to it.
    leads
        The whole lead over each of the other labels.

    Examples
    --------
    >>> from nullproof import CountIndex, explain
    >>> rows = [("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
    >>> index = CountIndex.from_rows(rows, ["yes", "yes", "no", "no"])
    >>> one = explain(index, ("a", "x"))
    >>> one.label, one.rival, one.certain
    ('yes', 'no', True)
    >>> one.said(one.total.least), one.said(one.total.greatest)
    ('× 1.50 for yes', '× 2.25 for yes')
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
        """The strongest rival: the label that gets furthest in the least world."""
        return min(self.leads, key=lambda rival: _strength(self.leads[rival]))

    @property
    def strongest_first(self) -> tuple[Term, ...]:
        """The terms, those that weigh most by the known cells first, for the label or against it."""
        return tuple(sorted(self.terms, key=_weight, reverse=True))

    def against(self, rival: Any) -> Explanation:
        """Explain the same point and label against another rival."""
        return explanation_of(self.model, self.points, self.position, label=self.label, rival=rival)

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
        """Return the JSON form; a log is null where a label is ruled out, and ``rules_out`` says which."""
        return {
            "point": self.position,
            **key_at(self.points.names, self.position),
            "label": str(self.label),
            "rival": str(self.rival),
            "certain": self.certain,
            "total": self._plain(self.total, self.rival),
            "prior": _plain(self.prior, self.label, self.rival),
            "terms": [
                {
                    **term.cell._asdict(),
                    **self._plain(term.lead, self.rival),
                    "weight": term.weight,
                }
                for term in self.terms
            ],
            "rivals": [
                {"label": str(rival), **self._plain(lead, rival)}
                for rival, lead in self.leads.items()
            ],
        }

    def _plain(self, lead: Lead, rival: Any) -> dict[str, Any]:
        return {name: _plain(log, self.label, rival) for name, log in lead._asdict().items()}

    def _repr_html_(self) -> str:
        shown = self.strongest_first[:ROWS]
        bars = [LeadBar("prior", *(self.prior,) * 3, self.said(self.prior))]
        for term in shown:
            # The bin is in the text form; here it would push the number itself out.
            name = f"{term.cell.feature}: {term.cell.own or term.cell.shown}"
            bars.append(LeadBar(name, *term.lead, self.said(term.lead.reference)))
        return shown_figure(repr(self).splitlines()[0], leads(bars, self.label, self.rival))

    def __repr__(self) -> str:
        lines = [f"Explanation: {self.sentence()}", f"  prior: {self.said(self.prior)}"]
        for term in self.strongest_first[:5]:
            ends = " to ".join(self.said(log) for log in (term.lead.least, term.lead.greatest))
            said = self.said(term.lead.reference)
            where = "" if ends == f"{said} to {said}" else f" ({ends})"
            weight = "" if term.weight == 1 else f", weight {term.weight:g}"
            lines.append(f"  {term.cell.feature}: {term.cell.shown}: {said}{where}{weight}")
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
            f"explain takes one point but got {len(points):,}; give one row, or ask "
            "certify(index, points)[position].explain()"
        )
    return explanation_of(model, points, 0, label=label, rival=rival)


def explanation_of(
    model: Model, points: Points, position: int, *, label: Any = None, rival: Any = None
) -> Explanation:
    """Explain one of some points; options as for `explain`."""
    if model.m == 1:
        raise NullproofError(
            f"the only label is {model.index.labels[0]!r}, so nothing speaks against it; explain "
            "needs a table with two labels"
        )
    known: Known = {}
    ratios = _PointRatios(model, points.take(np.array([position])), known)
    i = ratios.predicted if label is None else _named(model, label, "label")
    totals = {k: ratios.total(i, k) for k in range(model.m) if k != i}
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
    cells: Sequence[CellWords] | None = None,
) -> Explanation:
    """Explain one label of a point against one rival, both by position.

    ``known`` serves many points; ``cells`` are the point's own in words, if they are known.
    """
    schema, label, rival = model.index.schema, *(model.index.labels[i] for i in pair)
    ratios = _PointRatios(model, points.take(np.array([position])), known)
    prior, *leads = ratios.leads(*pair)
    cells = cells or [cell_words(schema, points, position, j) for j in range(model.d)]
    parts = zip(cells, leads, model.float_weights.tolist(), strict=True)
    terms = tuple(Term(cell, lead, weight) for cell, lead, weight in parts)
    total = ratios.total(*pair)
    return Explanation(
        model, points, position, label, rival, prior.reference, terms, total, {rival: total}
    )


def _plain(log: float, label: Any, rival: Any) -> dict[str, Any]:
    """Return a lead or a term as JSON has it."""
    out = [label] * (log != math.inf) + [rival] * (log != -math.inf)
    ahead = None if math.isnan(log) or log == 0 else label if log > 0 else rival
    return {
        "log": log if math.isfinite(log) else None,
        "times": math.exp(abs(log)) if abs(log) < 700 else None,
        "for": None if ahead is None else str(ahead),
        "rules_out": [] if math.isfinite(log) else [str(one) for one in out],
    }


def _strength(lead: Lead) -> tuple[float, float, float]:
    """Order rivals by how weak the label is against them: at least, by the reference, at most."""
    return lead.least, 0.0 if math.isnan(lead.reference) else lead.reference, lead.greatest


def _weight(term: Term) -> tuple[float, float]:
    """Order terms by how much they weigh by the reference, then by how much they may weigh."""
    reference = abs(term.lead.reference)
    width = max(abs(term.lead.least), abs(term.lead.greatest))
    return (math.inf if math.isnan(reference) else reference), width


def _named(model: Model, label: Any, what: str) -> int:
    labels = model.index.labels
    for i, own in enumerate(labels):
        if own == label or str(own) == label:
            return i
    raise NullproofError(f"the {what} is {label!r}; give one of {some(map(repr, labels), 8)}")


class CellCounts(NamedTuple):
    """What one code of a feature stands for: per label its counts at both ends, and its share.

    The counts have one entry per value that the cell may hold.
    """

    low: list[list[int]]
    high: list[list[int]]
    shares: list[Fraction]


# The cells that were looked up already, by feature and code; for points of the same candidates.
Known = dict[tuple[int, int], CellCounts]


class _PointRatios:
    """The ratios of any two labels of one point, cell by cell and all together."""

    def __init__(self, model: Model, point: Points, known: Known) -> None:
        self.model, self.point = model, point
        codes = point.codes[:, 0].tolist()
        for j, code in enumerate(codes):
            if (j, code) not in known:
                values = np.array(point.candidates(j, code))
                known[j, code] = CellCounts(
                    model.low(j, values).T.tolist(),
                    model.high(j, values).T.tolist(),
                    exact_shares(model, point, j, code),
                )
        self.cells = [known[j, code] for j, code in enumerate(codes)]

    @property
    def predicted(self) -> int:
        """The label that plain Naive Bayes predicts; in a tie one of those that share it."""
        return int(winners(self.model, self.point, log_supports(self.model, self.point))[0])

    def leads(self, i: int, k: int) -> list[Lead]:
        """Return what the prior and each feature add to the lead of ``i`` over ``k``."""
        # A weight of 0 has ratios of 1, but for labels that are ruled out.
        weights = [1.0, *(weight / ONE or 1.0 for weight in self.model.weights)]
        return [_lead(*own) for own in zip(self._ratios(i, k), weights, strict=True)]

    def total(self, i: int, k: int) -> Lead:
        """Return the lead of ``i`` over ``k``: all ratios multiplied, without any rounding."""
        exponents = [self.model.power, *(exponent or 1 for exponent in self.model.exponents)]
        columns = zip(*self._ratios(i, k), strict=True)
        least, reference, reverse = (_product(ratios, exponents) for ratios in columns)
        return _lead((least, reference, reverse), 1 / self.model.power)

    def _ratios(self, i: int, k: int) -> list[Ratios]:
        """Return the least ratio of ``i`` to ``k``, that by the known cells, the least of ``k`` to ``i``.

        Those of the prior come first, then those of each feature.
        """
        prior = self.model.prior
        ratios = [(_ratio(prior[i], prior[k]),) * 2 + (_ratio(prior[k], prior[i]),)]
        for j, cell in enumerate(self.cells):
            reference = _ratio(cell.shares[i], cell.shares[k])
            ratios.append((self._least(j, i, k), reference, self._least(j, k, i)))
        return ratios

    def _least(self, j: int, i: int, k: int) -> Ratio:
        """Return low counts of ``i`` against high counts of ``k``, at the worst candidate (T4)."""
        p, q = self.model.alpha.as_integer_ratio()
        low, high = self.cells[j].low[i], self.cells[j].high[k]
        mine, theirs = self.model.sizes[i][j], self.model.sizes[k][j]
        pairs = [(a * q + p, b * q + p) for a, b in zip(low, high, strict=True)]
        # A feature that is left out has its own size as numerator, so that its factor is 1.
        a, b = (mine, theirs) if low[0] == LEFT_OUT else pairs[least_ratio(pairs)]
        # A label without rows and without smoothing has no support.
        return a * (theirs or 1) if mine else 0, b * (mine or 1) if theirs else 0


def _ratio(mine: Fraction, theirs: Fraction) -> Ratio:
    return mine.numerator * theirs.denominator, theirs.numerator * mine.denominator


def _lead(ratios: Ratios, weight: float) -> Lead:
    """Return the three logarithms; the greatest lead is the least one of the rival, reversed."""
    least, reference, reverse = ratios
    return Lead(
        weight * _log(*least, nothing=-math.inf),
        weight * _log(*reference, nothing=math.nan),
        0.0 - weight * _log(*reverse, nothing=-math.inf),
    )


def _product(ratios: Iterable[Ratio], exponents: Sequence[int]) -> Ratio:
    above, below = zip(*ratios, strict=True)
    return math.prod(map(pow, above, exponents)), math.prod(map(pow, below, exponents))


def _log(above: int, below: int, *, nothing: float) -> float:
    """Return the logarithm of a ratio, with the sign of the integers; ``nothing`` where both are 0."""
    if not above or not below:
        return nothing if above == below else -math.inf if not above else math.inf
    if 2 * abs(above - below) < below:
        return math.log1p((above - below) / below)
    return math.log(above) - math.log(below)
