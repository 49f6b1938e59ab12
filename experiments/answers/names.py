"""The only place that knows how the package is arranged: edit these tables when something moves.

Answers are kept under names of this folder, so a renamed attribute changes one entry here. What
commands and reports write as JSON is kept with its own keys; `RENAMED` tells which of them have
another name since the record was made.
"""

from __future__ import annotations

import importlib
from typing import Any

from experiments.answers.values import plain

# Where each question is found; None: it is gone, and its answers are neither asked for nor compared.
PLACES: dict[str, str | None] = {
    "CertifiedNB": "nullproof:CertifiedNB",
    "Cleaner": "nullproof.cleaning.cleaner:Cleaner",
    "CountIndex": "nullproof:CountIndex",
    "baselines": "nullproof.baselines:",
    "cases": "nullproof.cleaning.needs:cases",
    "certainty_rate": "nullproof.estimator:certainty_rate",
    "certified_accuracy": "nullproof.estimator:certified_accuracy",
    "certify": "nullproof:certify",
    "cleaning_plan": "nullproof:cleaning_plan",
    "count_worlds": "nullproof.odds.worlds:count_worlds",
    "draw": "nullproof.odds.samples:draw",
    "inject_missing": "nullproof:inject_missing",
    "label_odds": "nullproof:label_odds",
    "poison": "nullproof:poison",
    "radius": "nullproof:radius",
    "report": "nullproof:report",
    "sample_worlds": "nullproof.odds.samples:sample_worlds",
    "sampled_odds": "nullproof.odds.samples:sampled_odds",
    "simulate_cleaning": "nullproof.cleaning.simulation:simulate_cleaning",
    "witness": "nullproof:witness",
}
# The folder of the package with the embedded example.
DEMO = "demo"

# What is read of each result: its name in the record, and the attribute.
ATTRIBUTES: dict[str, dict[str, str]] = {
    "certificates": {
        "certain": "certain",
        "label": "label",
        "possible": "possible",
        "min_log": "min_log_support",
        "max_log": "max_log_support",
    },
    "world": {"winners": "winners", "point": "point", "logs": "log_supports"},
    "attack": {"n_cells": "n_cells", "lower_bound": "lower_bound", "optimal": "optimal"},
    "target": {"label": "label", "rival": "rival", "radius": "radius"},
    "odds": {"lower": "lower", "upper": "upper", "likeliest": "likeliest"},
    "world counts": {"total": "total", "wins": "wins", "ties": "ties", "odds": "odds"},
    "plan": {"enough": "done", "stuck": "stuck", "n_cells": "n_cells"},
    "step": {
        "label": "label",
        "feature": "feature",
        "n_cells": "n_cells",
        "expected": "expected",
        "best": "best",
    },
    "cases": {"best": "best", "worst": "worst", "proven": "proven"},
    "cleaner": {"certain": "certain", "enough": "done", "done": "finished", "n_open": "n_open"},
    "curve": {"n_cells": "n_cells", "n_enough": "n_done", "n_open": "n_open", "area": "area"},
    "greedy": {"n_cells": "n_cells", "n_claimed": "n_claimed", "saturated": "saturated"},
    "index": {"labels": "labels", "features": "features", "rows": "n_rows", "holes": "n_missing"},
}

# Keys of JSON that were renamed since the record was made: before, after.
RENAMED: dict[str, str] = {
    "robust": "certain",
    "n_robust": "n_certain",
    "robust_before": "certain_before",
    "n_own_holes": "n_own_missing",
    "uncertain": "open",
    "n_uncertain": "n_open",
    "n_settled": "n_done",
    "n_settled_before": "n_done_before",
    "became_settled": "became_done",
}
# Keys of JSON that hold sentences, which may be improved.
SENTENCES = ("title", "notes", "meaning", "how", "asked", "command")


def question(name: str) -> Any:
    """The function, class or module that answers a question."""
    place = PLACES[name]
    if place is None:
        raise GoneError(name)
    module, _, attribute = place.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def read(result: Any, kind: str) -> dict[str, Any]:
    """What is kept of a result, as plain values."""
    names = ATTRIBUTES[kind].items()
    return {name: plain(getattr(result, attribute)) for name, attribute in names}


class GoneError(Exception):
    """A question that the package does not answer any more."""
