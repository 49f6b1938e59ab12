"""Random tables as nullproof takes them: counted, with smoothing and prior as options."""

from __future__ import annotations

from typing import Any

from nullproof import CountIndex
from support.attack_oracle import LargeTable
from support.strategies import Case


def index_of(case: Case) -> CountIndex:
    """Count the table of a case."""
    return CountIndex.from_rows(
        case.rows,
        case.labels,
        features=case.features,
        domains=case.declared,
        weights=case.given_weights,
    )


def options_of(case: Case, index: CountIndex) -> Any:
    """Smoothing and prior of a case, as nullproof takes them."""
    return {"alpha": case.alpha, "prior": case.prior_for(index.labels)}


def index_of_codes(table: LargeTable) -> CountIndex:
    """Count a table of codes, doubled as often as it says."""
    index = CountIndex.from_codes(
        table.codes, table.labels, n_values=table.n_values, weights="equal"
    )
    for _ in range(table.times.bit_length() - 1):
        index = index + index
    return index
