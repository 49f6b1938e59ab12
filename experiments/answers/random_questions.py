"""All questions on random tables: also those that need plain rows, codes, or the truth behind the holes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.answers.names import question, read
from experiments.answers.questions import (
    FILLINGS,
    Case,
    asked,
    attack,
    counts,
    document,
    estimated,
    of_case,
)
from experiments.answers.random_tables import RandomTable
from experiments.answers.values import plain

STRATEGIES = ("ours", "random", "most missing")
STEPS = 2
# A joint attack on a larger table takes a second or two, so only the first ones are attacked.
N_ATTACKED = 24


def of_small(table: RandomTable, seed: int) -> dict[str, Any]:
    """Rows with candidate sets; half of the tables have declared domains."""
    domains = {f"x{j}": domain for j, domain in enumerate(table.domains)}
    index = question("CountIndex").from_rows(
        table.rows, table.labels, domains=domains if seed % 2 else None
    )
    case = Case(index, table.rows, table.labels, table.points, table.model)
    return {
        **of_case(case),
        "joint": asked(partial(attack, case, table.points, steps=STEPS)),
        "chance": {how: asked(partial(chance, case, how, seed)) for how in FILLINGS},
        "cleaner": asked(partial(cleaned, case, table)),
        "simulation": {
            how: asked(partial(simulated, case, table, how, seed)) for how in STRATEGIES
        },
        "report": asked(partial(document, case, limit=4)),
        "revised": asked(partial(revised, index, table)),
    }


def of_coded(table: RandomTable, seed: int) -> dict[str, Any]:
    """More rows, given as codes; points also as an array, and asked by the estimator."""
    codes = np.array([[-1 if c is None else c for c in row] for row in table.rows], dtype=np.int32)
    sizes = [len(domain) for domain in table.domains]
    index = question("CountIndex").from_codes(codes, table.labels, n_values=sizes)
    case = Case(index, table.rows, table.labels, table.points, table.model)
    array = np.array(whole(table.points), dtype=np.int32)
    cells = np.array(table.rows, dtype=object)
    found = of_case(case)
    if seed < N_ATTACKED:
        found["joint"] = asked(partial(attack, case, table.points, steps=STEPS))
    return {
        **found,
        "array": asked(lambda: read(case.ask("certify", array), "certificates")),
        "chance": {how: asked(partial(chance, case, how, seed)) for how in FILLINGS},
        "report": asked(partial(document, case, limit=4)),
        "estimator": asked(
            partial(estimated, cells, table.labels, array.astype(object), table.model)
        ),
    }


def of_baselines(table: RandomTable, seed: int) -> dict[str, Any]:
    """The paper's algorithms: decisions with holes, poisonings without."""
    paper, labels = question("baselines"), [int(label[1:]) for label in table.labels]
    sizes, points = [len(domain) for domain in table.domains], whole(table.points)[:3]
    holed = [[-1 if cell is None else cell for cell in row] for row in table.rows]
    decided = paper.CodedTable.of(holed, labels, n_values=sizes)
    complete = paper.CodedTable.of(table.truth, labels, n_values=sizes)
    greedy = partial(paper.greedy_search, complete)
    random = partial(paper.random_poisoning, complete, seed=seed, check="bisect")
    smarter = partial(paper.smarter_random, complete, seed=seed)
    return {
        "AD": plain(paper.approximate_decision(decided, points, n_worlds=10, seed=seed)),
        "Iterate": plain(paper.iterate(decided, points)),
        "Iterate+Index": plain(paper.iterate_with_index(decided, points)),
        "RP": [plain(random(point).cells) for point in points],
        "SR": [plain(smarter(point).cells) for point in points],
        "GS": [{**read(greedy(p), "greedy"), "cells": plain(greedy(p).cells)} for p in points],
        "union": plain(paper.union(points, greedy).cells),
    }


def whole(points: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The points that have one value for every feature."""
    return [point for point in points if all(isinstance(cell, int | str) for cell in point)]


def chance(case: Case, how: str, seed: int) -> dict[str, Any]:
    """Worlds drawn by chance, as counts, as odds and as a table."""
    points = whole(case.points)[:2]
    return {
        "worlds": question("sample_worlds")(case.index, points, 5, seed, cells=how),
        "odds": case.ask("sampled_odds", points, 20, seed, cells=how),
        "table": question("draw")(case.index, *case.rows, cells=how, seed=seed),
    }


def cleaner(case: Case, confidence: float) -> Any:
    """A cleaner that has no answer yet."""
    options = {"confidence": confidence, "cells": "uniform", "costs": None, **case.model}
    return question("Cleaner")(case.index, case.points, *case.rows, **options)


def cleaned(case: Case, table: RandomTable) -> list[Any]:
    """What a cleaner proposes, two cells at a time, while it is told the truth."""
    one, steps = cleaner(case, 1.0), []
    for _ in range(4):
        proposed = one.next(2)
        steps.append({"next": proposed, **read(one, "cleaner")})
        if not proposed:
            break
        # What a point itself lacks is answered by the first row.
        rows = [0 if cell.table == "points" else cell.row for cell in proposed]
        columns = [int(cell.column[1:]) for cell in proposed]
        found = [table.truth[row][j] for row, j in zip(rows, columns, strict=True)]
        one.fill(dict(zip(proposed, found, strict=True)))
    return [*steps, one.complete()]


def simulated(case: Case, table: RandomTable, how: str, seed: int) -> dict[str, Any]:
    """How far one order of work gets."""
    worker = cleaner(case, 1.0 if seed % 3 else 0.9)
    options = {"strategy": how, "step": 2, "seed": seed}
    return read(
        question("simulate_cleaning")(worker, table.truth, table.labels, **options), "curve"
    )


def revised(index: Any, table: RandomTable) -> dict[str, Any]:
    """An index that follows its table, and one that is added up from parts."""
    half = len(table.rows) // 2
    first, second = slice(None, half), slice(half, None)
    parts = [
        question("CountIndex").from_rows(table.rows[part], table.labels[part], like=index)
        for part in (first, second)
    ]
    rest = table.rows[second], table.labels[second]
    return {
        "sum": counts(parts[0] + parts[1]),
        "sum is the whole": parts[0] + parts[1] == index,
        "updated": counts(parts[0].update(*rest)),
        "removed": counts(index.remove(*rest)),
    }
