"""The questions: every public function, with every option that changes an answer.

Answers are plain values under names of this file, so that a renamed attribute changes one line here.
"""

from __future__ import annotations

import contextlib
import csv
import gc
import hashlib
import io
import json
import runpy
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import nullproof as npf
from experiments.answers.laws import LAW
from experiments.answers.tables import RandomTable, RealTable, random_table, real_table
from nullproof import CountIndex, NullproofError, NullproofWarning
from nullproof.attacks import certified_accuracy_curve
from nullproof.cleaning import Cleaner
from nullproof.estimator import certainty_rate, certified_accuracy
from nullproof.odds import count_worlds

# What the record was made with, whatever has become the default since: the bias asked about besides 1,
# and equal weights.
BIAS = 0.05
TABLE_OPTIONS: dict[str, Any] = {"weights": "equal"}
REFUSED = "refused"
# Keys of JSON that hold sentences, which may be improved.
SENTENCES = ("title", "notes", "meaning", "how", "asked", "command", "next", "findings", "finding")
# Joint attacks take long, so only these are tried on real tables.
ATTACKED = ("breast_cancer", "employee", "fitness_class", "heart", "house_votes_84", "penguins")


@dataclass(frozen=True)
class Case:
    """A counted table with its points and their true labels, and the model to ask with."""

    index: CountIndex
    table: tuple[Any, ...]
    points: Any
    true_labels: Sequence[Any]
    model: dict[str, Any]
    n_closer: int = 4

    def ask(self, question: Callable[..., Any], points: Any, *more: Any, **options: Any) -> Any:
        """Ask a question about the index and points."""
        return question(self.index, points, *more, **self.model, **options)

    def some(self, places: Sequence[int]) -> Any:
        """Some of the points, in the form that all are in."""
        if isinstance(self.points, pl.DataFrame):
            return self.points[list(places)]
        return [self.points[place] for place in places]

    def count_like(self, table: Any) -> CountIndex:
        """Count a changed table by the domains of this one."""
        if len(self.table) == 2:
            return CountIndex.from_rows(table, self.table[1], like=self.index)
        return CountIndex.from_table(table, self.index.schema.label_name, like=self.index)


# Tables ------------------------------------------------------------------------------------------------


def ask_random(kind: str, seed: int) -> dict[str, Any]:
    """Ask everything about one random table."""
    warnings.simplefilter("ignore", NullproofWarning)
    table = random_table(kind, seed)
    if kind == "small":
        domains = {f"x{j}": domain for j, domain in enumerate(table.domains)}
        index = CountIndex.from_rows(
            table.rows, table.labels, domains=domains if seed % 2 else None, **TABLE_OPTIONS
        )
    else:
        codes = np.array([[-1 if c is None else c for c in row] for row in table.rows], np.int32)
        sizes = [*map(len, table.domains)]
        index = CountIndex.from_codes(codes, table.labels, n_values=sizes, **TABLE_OPTIONS)
    case = Case(index, (table.rows, table.labels), table.points, table.true_labels, table.model)
    answers = ask_case(case)
    answers["masked"] = {
        threat: asked(partial(masked_radius, case, threat, seed)) for threat in ("rows", "cells")
    }
    open_points = [p for p, it in enumerate(answers["certify"]["skip"]["certain"]) if not it]
    answers["worlds counted"] = {
        f"{p}": asked(partial(worlds_counted, case, p)) for p in open_points[:2]
    }
    if kind == "small" or seed < 20:
        answers["joint"] = asked(partial(attack, case, table.points, joint=True, steps=2))
    answers["cleaner"] = asked(partial(cleaned, case, table))
    answers["revised"] = asked(partial(revised, index, table))
    whole = [point for point in table.points if all(isinstance(c, int | str) for c in point)]
    cells = np.array(table.rows, dtype=object)
    if not any(isinstance(cell, set) for row in table.rows for cell in row):
        answers["estimator"] = asked(
            partial(estimated, cells, table.labels, np.array(whole, dtype=object), table.model)
        )
    return answers


def ask_real(name: str) -> dict[str, Any]:
    """Ask everything about one dataset: as the paper counts it, by default, and as a file."""
    warnings.simplefilter("ignore", NullproofWarning)
    table = real_table(name)
    paper = {"binning": "uniform", "bins": 5, "ignore": table.ignore}
    answers: dict[str, Any] = {
        "paper": _ask_frame(table, paper, {"alpha": 0, "prior": None}),
        "default": _ask_frame(table, {"ignore": table.ignore}, {"alpha": 1.0, "prior": None}),
        "quantile": asked(lambda: counts(_counted(table, binning="quantile", bins=4))),
        "none": asked(lambda: counts(_counted(table, binning="none"))),
        "file": asked(
            lambda: counts(CountIndex.from_table(table.path, table.label, **TABLE_OPTIONS))
        ),
        "missing injected": digest(npf.inject_missing(table.train, 0.1, label=table.label, seed=3)),
    }
    with tempfile.TemporaryDirectory() as folder:
        answers["command line"] = _commands(
            Path(folder), table.train, table.points, table.label, table.ignore
        )
    return answers


def ask_commands() -> dict[str, Any]:
    """Ask every command about the embedded example."""
    home = files("nullproof") / "demo"
    train, points = (
        pl.read_csv((home / name).read_bytes()) for name in ("customers.csv", "new_customers.csv")
    )
    with tempfile.TemporaryDirectory() as folder:
        return _commands(Path(folder), train, points, "churn", ["customer"])


def _counted(table: RealTable, **options: Any) -> CountIndex:
    return CountIndex.from_table(
        table.train, table.label, ignore=table.ignore, **options, **TABLE_OPTIONS
    )


def _ask_frame(table: RealTable, options: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    index = CountIndex.from_table(table.train, table.label, **options, **TABLE_OPTIONS)
    true_labels = table.points[table.label].to_list()
    case = Case(index, (table.train,), table.points, true_labels, model, n_closer=2)
    answers = ask_case(case)
    if table.name in ATTACKED:
        certain = [p for p, it in enumerate(answers["certify"]["skip"]["certain"]) if it][:4]
        answers["joint"] = asked(partial(attack, case, case.some(certain), joint=True, steps=2))
    names = list(index.features)
    answers["estimator"] = asked(
        partial(
            estimated,
            table.train.select(names),
            table.train[table.label],
            table.points.select(names),
            model,
            **{name: value for name, value in options.items() if name != "ignore"},
        )
    )
    half = table.train.height // 2
    parts = [case.count_like(part) for part in (table.train[:half], table.train[half:])]
    answers["halves"] = {"add up": parts[0] + parts[1] == index, "first": counts(parts[0])}
    return answers


# Questions about one table -----------------------------------------------------------------------------


def ask_case(case: Case) -> dict[str, Any]:
    """Ask every question about one table and its points."""
    verdicts = {own: certificates(case, own_missing=own) for own in ("skip", "any")}
    mapping = {case.index.features[0]: 1.0, "*": BIAS}
    certain = verdicts["skip"]["certain"]
    some_certain = [p for p, it in enumerate(certain) if it][: case.n_closer]
    some_open = [p for p, it in enumerate(certain) if not it][: case.n_closer]
    few = case.some(sorted([*some_certain, *some_open]))
    # Candidates of the points themselves are neither looked up nor given odds.
    complete = few
    if isinstance(few, list):
        complete = [point for point in few if not any(isinstance(cell, set) for cell in point)]
    first_column = {"columns": [case.index.features[0]]}
    return {
        "index": counts(case.index),
        "certify": verdicts,
        "certify within a bias": {
            "0.05": asked(lambda: certificates(case, bias=BIAS)),
            "0": asked(lambda: certificates(case, bias=0)),
            "mapping": asked(lambda: certificates(case, bias=mapping)),
            "mapping, any": asked(lambda: certificates(case, bias=mapping, own_missing="any")),
        },
        "tolerance": {
            own: asked(partial(case.ask, npf.tolerance, case.points, own_missing=own))
            for own in ("skip", "any")
        },
        "witness": {
            f"{p}, {own}, {bias}": asked(partial(witnesses, case, p, own, bias))
            for p in some_open
            for own in ("skip", "any")
            for bias in (1.0, BIAS)
        },
        "explain": {
            f"{p}": asked(partial(explained, case, p)) for p in [*some_certain, *some_open]
        },
        "truth": asked(partial(right, case)),
        "radius": {
            "cells": asked(lambda: np.asarray(case.ask(npf.radius, case.points))),
            "rows": asked(lambda: np.asarray(case.ask(npf.radius, case.points, threat="rows"))),
            "one column": asked(
                lambda: np.asarray(case.ask(npf.radius, case.points, only=first_column))
            ),
        },
        "certified accuracy": asked(
            lambda: plain_json(
                case.ask(certified_accuracy_curve, case.points, case.true_labels).document()
            )
        ),
        "attack": {
            f"{p}": {
                "cells": asked(partial(attack, case, case.some([p]))),
                "one column": asked(partial(attack, case, case.some([p]), only=first_column)),
                "rows": asked(partial(added_rows, case, case.some([p]))),
            }
            for p in some_certain[:2]
        },
        "odds": {how: asked(partial(odds, case, complete, how)) for how in ("uniform", "observed")},
        "plan": {
            "certain": asked(partial(plan, case, complete, bias=1.0)),
            "holds": asked(partial(plan, case, complete, bias=BIAS)),
            "five cells": asked(partial(plan, case, complete, budget=5, bias=1.0)),
        },
        "report": asked(lambda: plain_json(case.ask(npf.report, case.points, limit=3).document)),
    }


def certificates(case: Case, **options: Any) -> dict[str, Any]:
    """The verdicts on all points."""
    result = case.ask(npf.certify, case.points, **options)
    return {
        "certain": plain(result.certain),
        "label": plain(result.label),
        "predicted": plain(result.predicted),
        "possible": plain(result.possible),
        "verdict": plain(result.verdict),
        "tolerance": plain(result.tolerance),
    }


def witnesses(case: Case, place: int, own_missing: str, bias: float) -> dict[str, Any]:
    """Whether two worlds are worlds, predict what they say, and disagree."""
    options = {"own_missing": own_missing, "bias": bias}
    worlds = case.ask(npf.witness, case.some([place]), **options)
    winners, valid = [], True
    for world in worlds:
        again = case.count_like(world.complete(*case.table))
        asked_again: Any = {**case.model, "own_missing": own_missing}
        (possible,) = npf.certify(again, [tuple(world.point)], **asked_again).possible
        winners.append([*np.array(again.labels, dtype=object)[possible]])
        valid &= within(again, case.index) and not again.n_missing
        valid &= sorted(map(str, winners[-1])) == sorted(map(str, world.winners))
    differ = winners[0] != winners[1] or len(winners[0]) > 1
    return {LAW: "valid", "valid": bool(valid and differ)}


def explained(case: Case, place: int) -> dict[str, Any]:
    """The leads of an explanation."""
    result = case.ask(npf.explain, case.some([place]))
    leads = [[*result.total], [[*term.lead] for term in result.terms], result.prior]
    numbers = json.loads(json.dumps(plain(leads)))
    return {
        "label": plain(result.label),
        "certain": result.certain,
        "leads": {LAW: "close", "numbers": numbers},
    }


def right(case: Case) -> Any:
    """How many predictions are right, by verdict."""
    result = case.ask(npf.certify, case.points)
    return plain_json(npf.truth(result, case.true_labels).document())


def attack(case: Case, points: Any, *, joint: bool = False, **options: Any) -> dict[str, Any]:
    """An attack: its size (exact for one point), its bound, and whether it works."""
    result = case.ask(npf.poison, points, skip_unbreakable=True, seed=0, **options)
    cells = result.cells(*case.table)
    after = case.count_like(result.apply(*case.table))
    targets = [point for point, target in enumerate(result.targets) if target.broken]
    left = npf.certify(after, points, **case.model).certain[targets]
    works = len({*cells}) == len(cells) == result.n_cells and not left.any()
    size = {"size": result.n_cells, "bound": result.lower_bound, "works": bool(works)}
    return {"targets": targets, "attack": {LAW: "attack", **size} if joint else size}


def added_rows(case: Case, points: Any) -> dict[str, Any]:
    """An attack by added rows."""
    result = case.ask(npf.poison, points, threat="rows", skip_unbreakable=True)
    before = case.ask(npf.certify, points).label[0]
    after = npf.certify(result.index_after, points, **case.model).label[0]
    return {"size": result.n_rows, "works": before != after}


def masked_radius(case: Case, what: str, seed: int) -> Any:
    """Radii against an attacker who reaches only some rows or cells."""
    rng = np.random.default_rng(seed)
    shape = (len(case.table[0]), len(case.index.features))
    mask = rng.random(shape[0] if what == "rows" else shape) < 0.6
    only = {what: mask, "table": case.table[0], "labels": case.table[1]}
    return np.asarray(case.ask(npf.radius, case.points, only=only))


def odds(case: Case, points: Any, how: str) -> dict[str, Any]:
    """Bounds of the odds."""
    result = case.ask(npf.label_odds, points, gap=0.02, cells=how)
    sides = {"lower": plain(result.lower), "upper": plain(result.upper)}
    return {LAW: "bounds", "gap": 0.02, **sides}


def worlds_counted(case: Case, place: int) -> dict[str, Any]:
    """The exact numbers of worlds, which may have thousands of digits."""
    result = case.ask(count_worlds, case.some([place]))
    return {name: digest(getattr(result, name)) for name in ("total", "wins", "ties")}


def plan(case: Case, points: Any, **options: Any) -> dict[str, Any]:
    """A cleaning plan: what is done before it, its steps, and whether its cells are there to fill."""
    result = case.ask(npf.cleaning_plan, points, **options)
    cells = [(cell.row, cell.column) for cell in result.cells(*case.table)]
    valid = len({*cells}) == len(cells) and all(_is_missing(case, *cell) for cell in cells)
    steps = [[str(s.label), s.feature, s.n_cells, s.expected] for s in result.steps]
    return {
        "done": plain(result.done),
        "n_cells": result.n_cells,
        "steps": plain(steps),
        "cells": {LAW: "valid", "valid": valid},
    }


def _is_missing(case: Case, row: int, column: str) -> bool:
    if len(case.table) == 1:
        return case.table[0][column][row] is None
    cell = case.table[0][row][case.index.features.index(column)]
    return cell is None or isinstance(cell, set)


def cleaned(case: Case, table: RandomTable) -> Any:
    """What a cleaner knows while it is given true values, two at a time."""
    # The points' own cells are not looked up.
    points = [p for p in table.points if not any(isinstance(cell, set) for cell in p)]
    cleaner = Cleaner(case.index, points, *case.table, bias=1.0, **case.model)
    n_certain = [int(np.sum(cleaner.certain))]
    while not cleaner.finished:
        cells = cleaner.next(2)
        columns = [case.index.features.index(cell.column) for cell in cells]
        answers = [table.truth[cell.row][j] for cell, j in zip(cells, columns, strict=True)]
        cleaner.fill(dict(zip(cells, answers, strict=True)))
        n_certain.append(int(np.sum(cleaner.certain)))
    grows = n_certain == sorted(n_certain)
    return {"before": n_certain[0], "after": n_certain[-1], "grows": grows}


def revised(index: CountIndex, table: RandomTable) -> dict[str, Any]:
    """An index that follows its table, is added up from parts, and is saved."""
    half = len(table.rows) // 2
    first, second = (
        (table.rows[:half], table.labels[:half]),
        (table.rows[half:], table.labels[half:]),
    )
    part, rest = (CountIndex.from_rows(*own, like=index) for own in (first, second))
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "saved.index")
        loaded = CountIndex.load(Path(folder) / "saved.index")
    return {
        "sum is the whole": part + rest == index,
        "difference is the part": index - rest == part,
        "loaded is the whole": loaded == index,
    }


def estimated(
    cells: Any, labels: Any, points: Any, model: dict[str, Any], **options: Any
) -> dict[str, Any]:
    """What scikit-learn's users see."""
    fitted = npf.CertifiedNB(**model, **{"binning": "uniform", **options}, **TABLE_OPTIONS)
    fitted.fit(cells, labels)
    probabilities = plain(fitted.predict_proba(points))
    return {
        "predict": plain(fitted.predict(points)),
        "predict_proba": {LAW: "close", "numbers": probabilities},
        "certain": plain(fitted.certify(points).certain),
        "tolerance": plain(fitted.tolerance(points)),
        "radius": plain(np.asarray(fitted.radius(points))),
        "possible": plain(fitted.possible_labels(points)),
        "score": fitted.score(cells, labels),
        "certainty": certainty_rate(fitted, points),
        "certified": certified_accuracy(fitted, cells, labels),
    }


def counts(index: CountIndex) -> dict[str, Any]:
    """An index in short."""
    sides = [[index.low(j), index.high(j)] for j in range(len(index.features))]
    return {
        "labels": [*map(str, index.labels)],
        "features": plain(index.features),
        "n_rows": index.n_rows,
        "n_missing": index.n_missing,
        "low and high": [digest(side) for side in sides],
    }


def within(inner: CountIndex, outer: CountIndex) -> bool:
    """Whether the counts of one table lie between the least and the greatest ones of another."""
    return all(
        bool((outer.low(j) <= inner.low(j)).all() and (inner.high(j) <= outer.high(j)).all())
        for j in range(len(outer.features))
    )


# The command line --------------------------------------------------------------------------------------


def _commands(
    folder: Path, train: pl.DataFrame, points: pl.DataFrame, label: str, ignore: list[str]
) -> dict[str, Any]:
    """Every command that prints JSON, with its defaults and as the paper counts."""
    paths = {"train": train, "points": points, "few": points.head(5)}
    for name, frame in paths.items():
        frame.write_csv(folder / f"{name}.csv")
    train_file, points_file, few_file = (str(folder / f"{name}.csv") for name in paths)
    left_out = [word for name in ignore for word in ("--ignore", name)]
    options = ("--label", label, *left_out, "--weights", "equal")
    settings = {"default": (), "paper": ("--alpha", "0", "--binning", "uniform", "--bins", "5")}
    answers: dict[str, Any] = {}
    for name, setting in settings.items():
        ask = partial(printed, options=(*options, *setting))
        sheet = str(folder / f"{name}.csv")
        answers[name] = {
            "certify": ask("certify", train_file, points_file),
            "certify itself": ask("certify", train_file, "--bias", "0.1"),
            "radius": ask("radius", train_file, points_file),
            "radius rows": ask("radius", train_file, points_file, "--threat", "rows"),
            "odds": ask("odds", train_file, few_file, "--cells", "observed"),
            "clean": ask("clean", train_file, points_file, "--budget", "20", "-o", sheet),
            "worksheet": _worksheet(Path(sheet)),
            "report": ask("report", train_file, points_file),
            "poison": ask("poison", train_file, few_file, "--skip-unbreakable", "--steps", "1"),
        }
    saved = str(folder / "saved.index")
    answers["index"] = printed("index", train_file, "-o", saved, options=options, as_json=False)
    answers["saved"] = printed("certify", saved, points_file, "--check", options=())
    answers["refused"] = printed("certify", train_file, options=("--label", "no such column"))
    return answers


def _worksheet(path: Path) -> Any:
    """The columns of a worksheet, and how many cells it asks for."""
    if not path.exists():
        return None
    with path.open(newline="", encoding="utf-8-sig") as lines:
        header, *rows = csv.reader(lines)
    return {"columns": header, "n_cells": len(rows)}


def printed(*words: str, options: Sequence[str], as_json: bool = True) -> dict[str, Any]:
    """The exit code of a command that runs in this process, and the JSON that it prints."""
    words = ("nullproof", "-q", *words, *options, *(["--json"] if as_json else []))
    stream, before, threshold = io.StringIO(), sys.argv, gc.get_threshold()
    sys.argv = [*words]
    # Python warns of a module that is run though somebody imported it already.
    sys.modules.pop("nullproof.__main__", None)
    code: Any = 0
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_module("nullproof", run_name="__main__")
    except SystemExit as ending:
        code = ending.code
    finally:
        # A command ends its process as a rule, and sets both for it alone.
        sys.argv = before
        gc.set_threshold(*threshold)
    text = stream.getvalue()
    return {"exit": code, **({"json": plain_json(json.loads(text))} if text else {})}


# Values ------------------------------------------------------------------------------------------------


def asked(answer: Callable[[], Any]) -> Any:
    """An answer, or that it was refused, in whichever words."""
    try:
        return plain(answer())
    except NullproofError:
        return REFUSED


def plain(value: Any) -> Any:
    """Lists, dicts with texts as keys, texts, numbers, true, false and null."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, int) and value.bit_length() > 64:
        return hex(value)
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, pl.DataFrame):
        return [value.columns, *map(plain, value.rows())]
    return str(value)


def plain_json(value: Any) -> Any:
    """JSON without what is only there to be read; bounds of odds and attacks by their laws."""
    if isinstance(value, Mapping):
        kept = {str(k): plain_json(v) for k, v in value.items() if k not in SENTENCES}
        if {"lower", "upper"} <= {*kept} and isinstance(kept["lower"], dict):
            sides = {side: [*kept[side].values()] for side in ("lower", "upper")}
            bounds = {LAW: "bounds", "gap": 1, **sides}
            kept = {k: v for k, v in kept.items() if k not in sides} | {"odds": bounds}
        if {"n_cells", "lower_bound", "cells"} <= {*kept}:
            size = {"size": kept["n_cells"], "bound": kept["lower_bound"]}
            works = len(kept["cells"]) == kept["n_cells"]
            kept = {"n_points": kept["n_points"], "attack": {LAW: "attack", **size, "works": works}}
        return kept
    return [plain_json(one) for one in value] if isinstance(value, list | tuple) else plain(value)


def digest(value: Any) -> str:
    """A few characters that stand for a large answer."""
    return hashlib.sha256(json.dumps(plain(value)).encode()).hexdigest()[:16]
