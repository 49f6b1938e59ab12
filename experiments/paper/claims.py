"""What the paper says about its algorithms, each claim with the ratios that were measured here."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from experiments.paper.summary import Results, Table, base_rate, middle_of, most_points, total
from experiments.paper.tasks import OURS

DECISION = {"part": "decision", "holes": "all"}


class Claim(NamedTuple):
    """A claim, the paper's own word or figure, and what to divide by what to see whether it holds."""

    what: str
    paper: str
    above: Mapping[str, Any]
    below: Mapping[str, Any]
    column: str = "seconds"


def claims_table(results: Results) -> Table:
    """Every claim with the geometric mean, the least and the greatest of its ratio over the datasets."""
    head = ["claim", "the paper says", "measured (least to greatest)", "datasets"]
    rows = [_measured(results, claim) for claim in _claims(results)]
    return head, [*rows, *_counted(results)]


def _measured(results: Results, claim: Claim) -> list[str]:
    found = []
    for dataset in results.datasets:
        above, below = (
            middle_of(results.some(dataset=dataset, **which), claim.column)
            for which in (claim.above, claim.below)
        )
        if above is not None and below:
            found.append(above / below)
    if not found:
        return [claim.what, claim.paper, "–", "0"]
    middle = statistics.geometric_mean(found)
    shown = f"{_times(middle)} ({_times(min(found))} to {_times(max(found))})"
    return [claim.what, claim.paper, shown, str(len(found))]


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 20 else f"{ratio:.2g}" if ratio < 1 else f"{ratio:.1f}"


def _claims(results: Results) -> Iterator[Claim]:
    base, most = base_rate(results), most_points(results, "decision")
    rates = {row["rate"] for row in results.some(**DECISION, n_points=most)}
    highest = max(rates, key=float)
    one, many = ({**DECISION, "rate": base, "n_points": n} for n in (1, most))
    for other, word in (
        ("Iterate", "10 times as long, at other rates almost 20 times"),
        ("AD", "much longer"),
    ):
        yield Claim(
            f"{other} ÷ Iterate+Index, {most} points",
            word,
            {**many, "algorithm": other},
            {**many, "algorithm": "Iterate+Index"},
        )
    yield Claim(
        "Iterate+Index ÷ Iterate, 1 point",
        "building the index can be slow",
        {**one, "algorithm": "Iterate+Index"},
        {**one, "algorithm": "Iterate"},
    )
    for name, word in (
        ("AD", "almost linear"),
        ("Iterate", "almost linear"),
        ("Iterate+Index", "almost the same"),
        (OURS, "–"),
    ):
        yield Claim(
            f"{name}: {most} points ÷ 1 point",
            word,
            {**many, "algorithm": name},
            {**one, "algorithm": name},
        )
    for name, word in (("Iterate+Index", "almost uniform"), (OURS, "–")):
        yield Claim(
            f"{name}: {float(highest):.0%} missing ÷ {float(base):.0%}",
            word,
            {**many, "rate": highest, "algorithm": name},
            {**many, "algorithm": name},
        )
    yield from _on_poisoning(results)


def _on_poisoning(results: Results) -> Iterator[Claim]:
    words = {
        ("single", "RP", "seconds"): "GS is significantly faster",
        ("single", "SR", "seconds"): "GS is marginally faster on most",
        ("single", "RP", "n_cells"): "always more",
        ("single", "SR", "n_cells"): "always more",
        ("single", OURS, "seconds"): "–",
        ("multiple", "SR", "seconds"): "similar",
        ("multiple", "RP", "n_cells"): "more on most",
        ("multiple", "SR", "n_cells"): "more on most",
        ("multiple", OURS, "n_cells"): "–",
    }
    for (part, name, column), word in words.items():
        n_points = most_points(results, part)
        many = {"part": part, "n_points": n_points}
        what = "time" if column == "seconds" else "cells"
        yield Claim(
            f"{name} ÷ GS, {what}, {n_points} point{'s' * (n_points != '1')}",
            word,
            {**many, "algorithm": name},
            {**many, "algorithm": "GS"},
            column,
        )


def _counted(results: Results) -> Iterator[list[str]]:
    """The claims that are no ratios: GS is optimal, and FC is easier to poison than WQ."""
    compared = results.some(part="agreement")
    wrong, points = total(compared, "n_wrong"), total(compared, "n_certain")
    names = len({row["dataset"] for row in compared})
    said = f"not on {wrong:,} of {points:,} points"
    yield ["GS blanks the fewest cells for one point", "proven", said, str(names)]
    rates = {
        name: middle_of(
            results.some(part="single", algorithm="GS", dataset=name), "poisoning_rate", mean=True
        )
        for name in ("FC", "WQ")
    }
    shown = [f"{name} {rate:.2%}" for name, rate in rates.items() if rate is not None]
    yield [
        "Poisoning rate of GS for one point, FC beside WQ",
        "that of FC is much lower",
        ", ".join(shown) or "–",
        str(len(shown)),
    ]
