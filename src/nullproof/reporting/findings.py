"""The three findings on top of a report, in plain words, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from nullproof.reporting.order import nothing_missing
from nullproof.words import either, many, per_cent

MOST = 3


def findings(document: dict[str, Any]) -> list[str]:
    """The first of all that can be found, in the order in which it matters."""
    if not document["certain"]["n_points"]:
        return []
    told: tuple[Iterator[str], ...] = (_verdicts(document), _right(document), _causes(document))
    if nothing_missing(document):
        told = (_right(document), _attacks(document), _under_attack(document))
    elif not document["certain"]["n_certain"]:
        told = (_verdicts(document), _chances(document), _causes(document), _right(document))
    elif not document["open"]["n_points"]:
        told = (_verdicts(document), _right(document), _attacks(document))
    rest = (_attacks(document), _chances(document), _under_attack(document), _labels(document))
    found = dict.fromkeys(one for part in (*told, *rest) for one in part)
    return [*islice(found, MOST)]


def next_step(document: dict[str, Any], commands: Mapping[str, str]) -> dict[str, Any] | None:
    """What to do next, and the command that does it; None where there is nothing to ask."""
    plan = document["cleaning"]
    if plan and plan["stages"]:
        first = plan["stages"][0]
        text = (
            f"Look up missing cells of the training table, first {many(first['n_cells'], 'cell')} of "
            f"{first['columns']}."
        )
        return _with_command(text, " The whole list:", commands.get("clean"))
    if document["fragility"]["n_certain"]:
        text = "See how few cells would break each prediction, and which label would win then"
        return _with_command(text, ":", commands.get("radius"))
    return None


def _with_command(text: str, lead: str, command: str | None) -> dict[str, Any]:
    """What to do; ``lead`` leads to the command, where there is one."""
    end = lead if command else "" if text.endswith(".") else "."
    return {"text": text + end, "command": command}


def _verdicts(document: dict[str, Any]) -> Iterator[str]:
    verdicts = document["verdicts"]
    certain, holds, _ = (one["n_points"] for one in verdicts["groups"])
    n_points = document["certain"]["n_points"]
    kept = f"as long as the missing cells are like the known ones, up to {verdicts['up_to']}"
    if certain == n_points:
        yield "All predictions are certain: nothing that the missing cells may hold changes one."
    elif holds and certain:
        yield (
            f"{certain:,} of {many(n_points, 'prediction')} cannot change, whatever the missing "
            f"cells hold; {holds:,} more stay {kept}."
        )
    elif holds:
        yield f"No prediction is certain, but {holds:,} of {n_points:,} stay {kept}."
    elif certain:
        yield (
            f"{certain:,} of {many(n_points, 'prediction')} cannot change, whatever the missing "
            "cells hold; all others may, even if those are much like the known ones."
        )
    else:
        yield (
            f"None of {many(n_points, 'prediction')} is certain, and none stays {kept}: the missing "
            "cells decide."
        )


def _right(document: dict[str, Any]) -> Iterator[str]:
    told = [one for one in document["verdicts"]["groups"] if one["n_known"]]
    names = {"certain": "the certain", "holds": "those that hold", "open": "the open ones"}
    if len(told) == 1:
        share = per_cent(told[0]["n_right"] / told[0]["n_known"])
        yield f"{share} of the predictions are right. {document['verdicts']['yardstick']}"
    elif told:
        shares = [
            f"{per_cent(one['n_right'] / one['n_known'])} of {names[one['verdict']]}"
            for one in told
        ]
        yield f"Right are {either(shares, 'and')}. {document['verdicts']['yardstick']}"


def _causes(document: dict[str, Any]) -> Iterator[str]:
    plan = document["cleaning"]
    if not plan:
        return
    first = plan["stages"][0]
    yield (
        f"Missing cells of {first['columns']} matter most: {many(first['n_cells'], 'cell')} looked up are "
        f"expected to bring the points that hold from {plan['n_done']:,} to {first['expected']:,.1f}."
    )


def _attacks(document: dict[str, Any]) -> Iterator[str]:
    fragility = document["fragility"]
    if fragility["least"] is not None:
        yield (
            f"The weakest certain prediction falls once {many(fragility['least'], 'training cell')} "
            f"{'is' if fragility['least'] == 1 else 'are'} blanked or wrong; half of them stand until "
            f"{fragility['median']:,g} are."
        )
    elif fragility["n_unbreakable"] == fragility["n_certain"] > 0:
        yield "No attack on the cells of the training table breaks a certain prediction."


def _chances(document: dict[str, Any]) -> Iterator[str]:
    n_odds, n_likely = (document["open"][name] for name in ("n_odds", "n_likely"))
    worlds = "the same label in at least 99\u00a0% of the worlds"
    if n_likely:
        yield (
            f"Chance is kinder than the worst case: of {many(n_odds, 'open point')} with odds, "
            f"{n_likely:,} {'has' if n_likely == 1 else 'have'} {worlds}."
        )
    elif n_odds:
        yield f"Chance helps little: of {many(n_odds, 'open point')} with odds, none has {worlds}."


def _under_attack(document: dict[str, Any]) -> Iterator[str]:
    told = document["accuracy"]
    if not told or not document["certain"]["n_certain"]:
        return
    half = [row for row in told["curve"] if row["share"] >= told["accuracy"] / 2]
    if half:
        row = half[-1]
        yield (
            f"{per_cent(row['share'])} are right and stay so whichever {many(row['k'], 'cell')} of "
            "the training table an enemy changes."
        )


def _labels(document: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in document["certain"]["labels"] if row["n_possible"]]
    if rows:
        most = max(rows, key=lambda row: row["n_possible"])
        yield (
            f"{most['label']} is possible for {most['n_possible']:,} points and certain for "
            f"{most['n_certain']:,}."
        )
