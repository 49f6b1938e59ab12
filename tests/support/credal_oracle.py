"""The naive credal classifier (Zaffalon), from its description: another theory, and other code.

It allows every way to fill the missing training cells, as nullproof does, and a whole set of priors
besides. So it decides less, and whatever it decides must be certain here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Row = Sequence[Any]
# The set of priors weighs as much as one row; labels are compared at so many of its members.
MEMBERS = 51


def credal_labels(rows: Sequence[Row], labels: Sequence[Any], point: Row) -> set[Any]:
    """Return the labels that no other label dominates under every prior of the set."""
    known = [j for j, value in enumerate(point) if value is not None]
    n_of = Counter(labels)
    low = {label: [0] * len(known) for label in n_of}
    high = {label: [0] * len(known) for label in n_of}
    for row, label in zip(rows, labels, strict=True):
        for place, j in enumerate(known):
            low[label][place] += row[j] == point[j]
            high[label][place] += row[j] is None or row[j] == point[j]

    def dominates(one: Any, other: Any) -> bool:
        if not all(low[one]):
            return False
        for member in range(MEMBERS):
            # This much of the prior's row carries the other label, with the values of the point.
            share = member / (MEMBERS - 1)
            theirs = [count + share for count in high[other]]
            if all(theirs):
                odds = (n_of[other] + share) / (n_of[one] + 1 - share)
                lead = (len(known) - 1) * math.log(odds) + sum(map(math.log, low[one]))
                if lead <= sum(map(math.log, theirs)) + 1e-9:
                    return False
        return True

    return {one for one in n_of if not any(dominates(other, one) for other in n_of if other != one)}


def compare(
    certificates: Iterable[Any], rows: Sequence[Row], labels: Sequence[Any], points: Sequence[Row]
) -> int:
    """Check that what it decides is certain, with the same label; return how many points it decides."""
    n_decided = 0
    for certificate, point in zip(certificates, points, strict=True):
        possible = credal_labels(rows, labels, point)
        if len(possible) == 1:
            n_decided += 1
            assert certificate.certain
            assert {certificate.label} == possible
    return n_decided
