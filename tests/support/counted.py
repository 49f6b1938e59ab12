"""Random tables as nullproof takes them: counted or fitted, with smoothing and prior as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nullproof import CountIndex
from support.attack_oracle import LargeTable
from support.strategies import EMPTY, Case, weights_by_name

if TYPE_CHECKING:
    from nullproof import CertifiedNB


def index_of(case: Case) -> CountIndex:
    """Count the table of a case."""
    options: Any = {
        "features": case.features,
        "domains": case.declared,
        "weights": case.given_weights,
    }
    if case.has_empty_label:
        rows, labels = [*case.rows, case.rows[0]], [*case.labels, EMPTY]
        options = {"like": CountIndex.from_rows(rows, labels, **options)}
    return CountIndex.from_rows(case.rows, case.labels, **options)


def options_of(case: Case, index: CountIndex) -> Any:
    """Smoothing and prior of a case, as nullproof takes them."""
    return {"alpha": case.alpha, "prior": case.prior_for(index.labels)}


def fitted(case: Case, **options: Any) -> CertifiedNB:
    """Fit a CertifiedNB to the plain rows of a case, whose columns have no names there."""
    # It needs scikit-learn, which most of what is tested with these tables does not.
    from nullproof import CertifiedNB

    names = {name: f"x{j}" for j, name in enumerate(case.features)}
    options["domains"] = {names[name]: own for name, own in (case.declared or {}).items()}
    options["weights"] = weights_by_name([*names.values()], case.weights)
    model = CertifiedNB(case.alpha, prior=case.options["prior"], binning="none", **options)
    return model.fit(list(case.rows), list(case.labels))


def index_of_codes(table: LargeTable) -> CountIndex:
    """Count a table of codes, doubled as often as it says."""
    index = CountIndex.from_codes(
        table.codes, table.labels, n_values=table.n_values, weights="equal"
    )
    for _ in range(table.times.bit_length() - 1):
        index = index + index
    return index
