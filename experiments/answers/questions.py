"""The questions that are asked about every table, whatever it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.answers.comparing import GONE, JSON
from experiments.answers.names import SENTENCES, GoneError, question, read
from experiments.answers.values import digest, plain
from nullproof import NullproofError

FILLINGS = ("uniform", "observed")
PLANS: dict[str, dict[str, Any]] = {
    "whole": {"budget": None, "confidence": 1.0, "cells": "uniform"},
    "some": {"budget": 5, "confidence": 0.9, "cells": "observed"},
}
REFUSED = "refused"


@dataclass(frozen=True)
class Case:
    """A table that was counted, the points, and the model to ask with.

    ``labels`` are those of plain rows, None for a frame; ``n_closer`` points are asked about one by one.
    """

    index: Any
    table: Any
    labels: list[str] | None
    points: Any
    model: dict[str, Any]
    n_closer: int = 4

    @property
    def rows(self) -> tuple[Any, ...]:
        """The table as the methods of results take it."""
        return (self.table,) if self.labels is None else (self.table, self.labels)

    def ask(self, name: str, points: Any, *more: Any, **options: Any) -> Any:
        """Ask a question that takes an index, points and a model."""
        return question(name)(self.index, points, *more, **self.model, **options)

    def some(self, places: Sequence[int]) -> Any:
        """Some of the points, in the form that all are in."""
        if isinstance(self.points, list):
            return [self.points[place] for place in places]
        return self.points[list(places)]


def asked(answer: Callable[[], Any]) -> Any:
    """An answer, or that it was refused (in which words does not matter)."""
    try:
        return plain(answer())
    except NullproofError:
        return REFUSED
    except GoneError:
        return GONE


def of_case(case: Case) -> dict[str, Any]:
    """All questions about one table and its points."""
    verdicts = read(case.ask("certify", case.points), "certificates")
    places = range(len(verdicts["certain"]))
    certain = [p for p in places if verdicts["certain"][p]][: case.n_closer]
    not_so = [p for p in places if not verdicts["certain"][p]][: case.n_closer]
    mixed = case.some(sorted([*certain, *not_so]))
    return {
        "index": counts(case.index),
        "certify": verdicts,
        "radius": asked(partial(case.ask, "radius", case.points)),
        "witness": {f"{p}": asked(partial(witness, case, case.some([p]))) for p in not_so},
        "attack": {f"{p}": asked(partial(attack, case, case.some([p]))) for p in certain},
        "odds": {how: asked(partial(odds, case, mixed, how)) for how in FILLINGS},
        "world counts": {f"{p}": asked(partial(world_counts, case, p)) for p in not_so[:2]},
        "plan": {name: asked(partial(plan, case, mixed, **how)) for name, how in PLANS.items()},
        "cases": asked(lambda: read(case.ask("cases", mixed), "cases")),
    }


def witness(case: Case, point: Any) -> list[dict[str, Any]]:
    """Two worlds, and whether they are worlds and predict what they say."""
    found = []
    for world in case.ask("witness", point):
        filled = world.complete(*case.rows)
        again = counted_like(case, filled)
        (possible,) = read(
            question("certify")(again, [tuple(world.point)], **case.model), "certificates"
        )["possible"]
        winners = [name for name, wins in zip(again.labels, possible, strict=True) if wins]
        found.append(
            {
                **read(world, "world"),
                "table": digest(filled),
                "is a world": within(again, case.index) and not read(again, "index")["holes"],
                "predicts what it says": plain(winners) == read(world, "world")["winners"],
            }
        )
    return found


def attack(case: Case, points: Any, **options: Any) -> dict[str, Any]:
    """An attack on points, its cells, and what it leaves of them."""
    found = case.ask("poison", points, skip_unbreakable=True, seed=0, **options)
    return {
        **read(found, "attack"),
        "targets": [read(target, "target") for target in found.targets],
        "cells": found.cells(*case.rows),
        "radius after": question("radius")(
            counted_like(case, found.apply(*case.rows)), points, **case.model
        ),
    }


def odds(case: Case, points: Any, how: str) -> dict[str, Any]:
    """The bounds of the odds."""
    return read(case.ask("label_odds", points, gap=0.02, cells=how), "odds")


def world_counts(case: Case, place: int) -> dict[str, Any]:
    """The exact numbers of worlds; with many holes they are huge, hence texts."""
    found = read(case.ask("count_worlds", case.some([place])), "world counts")
    return {name: digest(numbers) for name, numbers in found.items()}


def plan(case: Case, points: Any, **options: Any) -> dict[str, Any]:
    """A cleaning plan with its steps and cells."""
    found = case.ask("cleaning_plan", points, costs=None, **options)
    steps = [read(step, "step") for step in found.steps]
    return {**read(found, "plan"), "steps": steps, "cells": digest(found.cells(*case.rows))}


def document(case: Case, *, limit: int) -> dict[str, Any]:
    """What a report says."""
    return {JSON: without_sentences(case.ask("report", case.points, limit=limit).document)}


def without_sentences(value: Any) -> Any:
    """JSON without what is only there to be read."""
    if isinstance(value, dict):
        return {k: without_sentences(v) for k, v in value.items() if k not in SENTENCES}
    return [without_sentences(one) for one in value] if isinstance(value, list) else value


def counts(index: Any) -> dict[str, Any]:
    """An index in short."""
    sides = [[index.low(j), index.high(j)] for j in range(len(index.features))]
    return {**read(index, "index"), "low and high": digest(sides)}


def counted_like(case: Case, table: Any) -> Any:
    """A changed table, counted by the domains of the case."""
    if case.labels is not None:
        return question("CountIndex").from_rows(table, case.labels, like=case.index)
    name = case.index.schema.label_name
    return question("CountIndex").from_table(table, name, like=case.index)


def within(inner: Any, outer: Any) -> bool:
    """Whether the counts of one table lie between the least and the greatest ones of another."""
    return all(
        bool((outer.low(j) <= inner.low(j)).all() and (inner.high(j) <= outer.high(j)).all())
        for j in range(len(outer.features))
    )


def estimated(cells: Any, labels: Any, points: Any, model: dict[str, Any]) -> dict[str, Any]:
    """What scikit-learn's users see."""
    fitted = question("CertifiedNB")(
        **model, bins=5, binning="uniform", missing=("?",), domains=None
    ).fit(cells, labels)
    return {
        "predict": fitted.predict(points),
        "predict_proba": fitted.predict_proba(points),
        "certify": read(fitted.certify(points), "certificates"),
        "radius": fitted.radius(points),
        "possible": fitted.possible_labels(points),
        "score": fitted.score(cells, labels),
        "certainty": question("certainty_rate")(fitted, points),
        "certified": question("certified_accuracy")(fitted, cells, labels),
    }
