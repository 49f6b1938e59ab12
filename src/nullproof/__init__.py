"""Which predictions of Naive Bayes hold whatever the missing training values really were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

__version__ = "0.3.0"

if TYPE_CHECKING:
    from nullproof.annotating import annotate as annotate
    from nullproof.attacks.poison import poison as poison
    from nullproof.attacks.radius import radius as radius
    from nullproof.auditing import audit as audit
    from nullproof.cleaning.plan import cleaning_plan as cleaning_plan
    from nullproof.counts.index import CountIndex as CountIndex
    from nullproof.data.edits import inject_missing as inject_missing
    from nullproof.errors import NullproofError as NullproofError
    from nullproof.errors import NullproofWarning as NullproofWarning
    from nullproof.estimator import CertifiedNB as CertifiedNB
    from nullproof.model.certify import certify as certify
    from nullproof.model.certify import truth as truth
    from nullproof.model.explain import explain as explain
    from nullproof.model.tolerance import tolerance as tolerance
    from nullproof.model.witness import witness as witness
    from nullproof.odds.odds import label_odds as label_odds
    from nullproof.reporting.reports import report as report

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "CertifiedNB": "estimator",
        "CountIndex": "counts.index",
        "NullproofError": "errors",
        "NullproofWarning": "errors",
        "annotate": "annotating",
        "audit": "auditing",
        "certify": "model.certify",
        "cleaning_plan": "cleaning.plan",
        "explain": "model.explain",
        "inject_missing": "data.edits",
        "label_odds": "odds.odds",
        "poison": "attacks.poison",
        "radius": "attacks.radius",
        "report": "reporting.reports",
        "tolerance": "model.tolerance",
        "truth": "model.certify",
        "witness": "model.witness",
    },
)
