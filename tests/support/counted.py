"""A random case as nullproof takes it: its table counted, its smoothing and prior as options."""

from __future__ import annotations

from typing import Any

from nullproof import CountIndex
from support.strategies import Case


def index_of(case: Case) -> CountIndex:
    """Count the table of a case."""
    return CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )


def options_of(case: Case, index: CountIndex) -> Any:
    """Smoothing and prior of a case, as nullproof takes them."""
    return {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
