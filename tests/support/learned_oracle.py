"""What the rest of a row says about a missing cell, counted row by row in plain Python."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from support import oracle


def chances(
    rows: Sequence[Sequence[Any]],
    labels: Sequence[Any],
    domains: Sequence[Sequence[Hashable]],
    place: int,
    j: int,
) -> dict[Hashable, float]:
    """The chance of each candidate of one cell."""
    label = labels[place]
    alike = [
        row
        for row, own in zip(rows, labels, strict=True)
        if own == label and known(row, j, domains) is not None
    ]
    scores: dict[Hashable, float] = {}
    for value in oracle.candidates(rows[place][j], domains[j]):
        holders = [row for row in alike if known(row, j, domains) == (value,)]
        score = math.log((len(holders) + 1 / len(domains[j])) / (len(alike) + 1))
        ratios = []
        for k, domain in enumerate(domains):
            seen = known(rows[place], k, domains)
            if k == j or len(domain) == 1 or seen is None:
                continue
            telling = [row for row in alike if known(row, k, domains) is not None]
            beside = [row for row in holders if known(row, k, domains) is not None]
            alone = share(telling, k, seen, domains, 1, 1 / len(domain))
            ratios.append(math.log(share(beside, k, seen, domains, 2, alone) / alone))
        scores[value] = math.exp(score + sum(ratios) / math.sqrt(max(len(ratios), 1)))
    return {value: score / sum(scores.values()) for value, score in scores.items()}


def known(row: Sequence[Any], k: int, domains: Any) -> tuple[Hashable] | None:
    """The one value of a cell, None if it has several."""
    options = oracle.candidates(row[k], domains[k])
    return (options[0],) if len(options) == 1 and row[k] is not None else None


def share(
    rows: Sequence[Any], k: int, value: Any, domains: Any, doubt: float, otherwise: float
) -> float:
    """How often rows hold a value; ``doubt`` more rows would hold it as often as ``otherwise``."""
    held = len([row for row in rows if known(row, k, domains) == value])
    return (held + doubt * otherwise) / (len(rows) + doubt)
