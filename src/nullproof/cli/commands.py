"""The commands: each turns a request into an answer; the library does the work.

Modules that only one command needs (attacks, odds, cleaning, reports) are imported by that command.
"""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nullproof.cli.options import MODELS, OPTIONS, SHARED
from nullproof.cli.request import Following, Request, written_bias
from nullproof.cli.show import (
    show_accuracy_curve,
    show_attack,
    show_audit,
    show_certificates,
    show_explanation,
    show_odds,
    show_plan,
    show_radii,
)
from nullproof.cli.streams import SCREEN, echo, tell, working
from nullproof.cli.tables import pipeline, plain_frames, write_attacked, write_repaired
from nullproof.counts.index import CountIndex
from nullproof.counts.storage import refuse_companion
from nullproof.data.edits import TrainingTable
from nullproof.data.points import place_of, row_names
from nullproof.errors import NullproofError
from nullproof.model.certify import certify as decide
from nullproof.model.model import Model
from nullproof.results.files import write_result
from nullproof.words import many


def certify(request: Request) -> None:
    """Certify the points, or explain one of them."""
    bias, explained = written_bias(request.bias), request.explain
    index, points = request.load()
    with working("certifying"):
        result = decide(index, points, bias=bias, **request.model(), **request.naming())
    if explained is not None:
        place = place_of(explained, result.points.names, len(result), "--explain")
        why = result[place].explain(rival=request.rival)
        request.answer(why, show_explanation, share=float(why.certain))
        return
    with working("certifying") as say:
        result.work_out(say)
        labels = request.truth()
        result = result if labels is None else result.with_truth(labels)
    # Like the report: propose cleaning or, if no prediction is open, the radius.
    is_open = result.n_of("open") and index.n_missing
    request.answer(
        result,
        show_certificates,
        request.then("clean" if is_open else "radius"),
        share=_share(result.certain),
        n_missing=index.n_missing,
        own_missing=request.own_missing,
        bias={column: float(own) for column, own in bias.items()}
        if isinstance(bias, dict)
        else float(bias),
    )


def radius(request: Request) -> None:
    """Find the radius of each point, or how many predictions stay right under attacks of each size."""
    from nullproof.attacks.radius import radius as radius_of

    index, points = request.load()
    asked = {"threat": request.threat, "only": _only(request), **request.model()}
    if request.curve:
        _answer_curve(request, index, points, asked)
        return
    points, naming = request.chosen()
    with working(f"finding the fewest {request.threat} for each point") as say:
        result = radius_of(index, points, on_progress=say, **asked, **naming)
    # NaN means not worked out, which does not fail the check.
    passed = ~(result.radius < (request.min_radius or 1))
    request.answer(result, show_radii, _after_radius(request, result), share=_share(passed))


def _answer_curve(request: Request, index: CountIndex, points: Any, asked: dict[str, Any]) -> None:
    from nullproof.attacks.accuracy import certified_accuracy_curve

    labels = request.truth()
    if labels is None:
        raise NullproofError(
            f"--curve needs true labels, but no point has one in a column {index.schema.label_name!r}; add "
            "it to TEST, or leave --curve out"
        )
    with working(f"finding the fewest {asked['threat']} for each point"):
        result = certified_accuracy_curve(index, points, labels, **asked)
    what = "which points lose their certainty first, and to which label"
    request.answer(result, show_accuracy_curve, (what, request.again("radius")))


def _after_radius(request: Request, result: Any) -> Following:
    """Propose the next command: an attack or, if no point can be broken, cleaning."""
    if not result.radius.any() and result.model.index.n_missing:
        return request.then("clean")
    finite = np.isfinite(result.radius)
    if request.test is None or not request.has_rows or not (finite & (result.radius > 0)).any():
        return request.then("report")
    what = (
        "which rows an attacker would add so that no point is certain"
        if request.threat == "rows"
        else "which training cells an attacker would blank so that no point is certain"
    )
    return what, request.again("poison", skip_unbreakable=not bool(finite.all()))


def poison(request: Request) -> None:
    """Find an attack on all points, and write the attacked table."""
    from nullproof.attacks.poison import poison as attack_on

    by_rows = request.threat == "rows"
    by_key = request.key is not None and request.is_lazy
    if request.output is not None:
        refuse_companion(request.output)
    index, points = request.load()
    if request.output is not None or not (by_rows or by_key):
        # Read now, so that a table without rows is rejected before the long search.
        _ = request.table
    points, naming = request.chosen()
    with working("looking for an attack") as say:
        attack: Any = attack_on(
            index,
            points,
            threat=request.threat,
            only=_only(request),
            skip_unbreakable=request.skip_unbreakable,
            time_limit=request.time_limit,
            steps=request.steps,
            seed=request.seed,
            on_progress=say,
            **request.model(),
            **naming,
        )
    request.answer(
        attack,
        show_attack,
        _after_poison(request, attack, by_rows),
        document=attack.document if by_rows else lambda: _with_cells(request, attack, by_key),
        write=lambda _: write_attacked(attack, request),
    )


def _with_cells(request: Request, attack: Any, by_key: bool) -> dict[str, Any]:
    """Return the JSON form of an attack, naming cells by row, or by key if TRAIN is not in memory."""
    if by_key:
        limit = request.memory_limit or "1GB"
        cells = attack.locate(request.train, key=request.key, memory_limit=limit)
        return dict(attack.document(cells, "key"))
    names = TrainingTable.open(attack.index.schema, request.table).names(request.key)
    return dict(attack.document(attack.cells(request.table), rows=names))


def _after_poison(request: Request, attack: Any, by_rows: bool) -> Following:
    """Propose the next command: the altered table or, if there is no attack, cleaning or the report."""
    found = attack.added if by_rows else attack.blanks
    if not found and attack.index.n_missing and not by_rows:
        return request.then("clean")
    if not found or not request.has_rows:
        return request.then("report")
    what, file = ("these rows", "longer") if by_rows else ("these cells blank", "poisoned")
    return f"the table with {what}", request.again("poison", output=f"{file}.csv")


def odds(request: Request) -> None:
    """Bound the odds of each label."""
    from nullproof.odds.odds import label_odds

    index, points = request.load()
    points, naming = request.chosen()
    with working("weighing the worlds") as say:
        result = label_odds(
            index,
            points,
            cells=request.cells,
            on_progress=say,
            **request.model(),
            **naming,
        )
    done = result.sure.all() or not index.n_missing
    request.answer(result, show_odds, request.then("report" if done else "clean"))


def clean(request: Request) -> None:
    """Take answers, plan what to look up, and write a worksheet."""
    from nullproof.cleaning.plan import USUAL_BIAS
    from nullproof.cleaning.worksheet import ENDINGS, Work, lines_of

    answers = [Path(name) for name in request.answers or ()]
    if request.repaired is not None:
        refuse_companion(request.repaired)
    bias = written_bias(request.bias, USUAL_BIAS)
    index, points = request.load()
    options = {"bias": bias, **request.model()}
    own_missing = options.pop("own_missing")
    with working("planning") as say:
        judged = Model(index, options["alpha"], options["prior"], bias)
        work = Work(
            index,
            judged.points(points, own_missing, **request.naming()),
            lambda: request.table,
            options,
            key=request.key,
            same_rows=request.test is None,
            lines=lambda: lines_of(Path(request.train), request.table, request.file),
        )
        brought = work.take(answers)
        plan = work.plan(request.budget, say)
    if request.repaired is not None:
        write_repaired(request, work)

    def write(document: dict[str, Any]) -> None:
        if request.output.suffix not in ENDINGS:
            write_result(request.output, plan.columns(), document)
            tell(f"wrote {request.output}: the plan, {many(len(plan.steps), 'step')}")
            return
        n_cells = work.write_worksheet(request.output, plan)
        how = ", in the column 'value'" if n_cells else ": no missing cell would help another point"
        tell(f"wrote {request.output}: {many(n_cells, 'cell')} to fill in{how}")
        if n_cells:
            taken = [*map(str, answers), str(request.output)]
            request.tell_next(request.again("clean", answers=taken))

    request.answer(
        plan,
        partial(show_plan, brought=brought),
        _after_clean(request, plan),
        document=lambda: plan.document(brought),
        write=write,
    )


def _after_clean(request: Request, plan: Any) -> Following:
    """Propose the next command: the worksheet of a plan, or another question if the plan is empty."""
    if not plan.steps or not request.has_rows:
        return request.then("radius" if plan.done.all() else "report")
    taken = request.answers or ()
    names = ("worksheet.csv", *(f"worksheet{number}.csv" for number in range(2, len(taken) + 2)))
    sheet = next(name for name in names if name not in taken)
    which, budget = "these cells", request.budget
    first = min(100 if plan.stop is None else plan.stop.n_cells, 1000)
    if first < plan.n_cells and budget is None:
        which, budget = f"the first {first:,} cells" if first > 1 else "the first cell", first
    line = request.again("clean", output=sheet, budget=budget)
    return f"a worksheet with {which} to fill in", line


def report(request: Request) -> None:
    """Write the report of all points."""
    from nullproof.reporting.document import LIMIT
    from nullproof.reporting.reports import format_of, read
    from nullproof.reporting.reports import report as make

    form = "json" if request.json else "md"
    form = form if request.output is None else format_of(request.output)
    if request.compare is not None:
        # Errors in these options are reported before the work, not after it.
        read(request.compare)
    bias = written_bias(request.bias)
    index, points = request.load()
    labels = request.truth()
    with working("writing the report") as say:
        made = make(
            index,
            points,
            on_progress=say,
            bias=bias,
            truth=labels,
            asked=_asked(request),
            limit=LIMIT if request.limit is None else request.limit,
            also=request.also or (),
            **request.model(),
            **request.naming(),
        )
        if request.compare is not None:
            made = made.compared(request.compare)
        if request.output is not None:
            made.save(request.output)
            what = {
                "html": "one file to open in a browser or to share",
                "md": "Markdown, to read or to paste",
                "json": "its keys are in docs/report.md",
            }
            tell(f"wrote {request.output}: {what[form]}")
    if request.output is None:
        echo(made.written(form).rstrip("\n"))
    elif request.json:
        echo(made.json())


def _asked(request: Request) -> Any:
    """Return where a report comes from; without commands if a table was read from standard input."""
    from nullproof.reporting.document import Asked

    values = {key: getattr(request, key) for key in SHARED}
    given = {key: value for key, value in values.items() if value != OPTIONS[key].default}
    sheet = "worksheet.csv" if request.has_rows else None
    commands = {
        "report": request.again("report", output=request.output),
        "clean": request.again("clean", output=sheet),
        "radius": request.again("radius"),
    }
    return Asked(
        _name(request.train),
        None if request.test is None else _name(request.test),
        given,
        [*SCREEN.notices],
        {} if request.is_gone else commands,
    )


def index(request: Request) -> None:
    """Count TRAIN and save the counts."""
    if request.output is None:
        raise NullproofError("no output file was given for the index; add -o FILE")
    if request.is_index:
        raise NullproofError(f"{request.train} is already a saved index; give the table to count")
    with working("reading and counting"):
        counted = request.count()
    counted.save(request.output)
    tell(f"wrote {request.output}: {repr(counted).partition(': ')[2]}")
    tell(f"next: nullproof certify {shlex.quote(str(request.output))} TEST.csv")


def audit(request: Request) -> None:
    """Fit a model on completed tables."""
    from nullproof.auditing import audit as fit_on_worlds

    if request.model_name not in MODELS:
        raise NullproofError(f"--model is {request.model_name!r}; give one of {', '.join(MODELS)}")
    counted, points = request.load()
    with working("reading the columns"):
        label = counted.schema.label_name
        train, test = plain_frames(counted, request.table, points)
        key = request.naming()["key"]
        named = None if key is None else row_names(key, points.frame, None, len(test)).values
    with working("fitting on completed tables") as say:
        result = fit_on_worlds(
            pipeline(request.model_name, train.drop(label)),
            train,
            test,
            label=label,
            n_worlds=request.worlds,
            bias=written_bias(request.bias),
            missing_is_value=request.missing_is_value or (),
            key=named,
            seed=request.seed,
            on_progress=say,
        )
    request.answer(
        result,
        show_audit,
        ("which predictions Naive Bayes can prove", request.again("certify")),
        share=_share(~result.changed),
        model=request.model_name,
    )


# What several commands share ----------------------------------------------------------------------------


def _name(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def _only(request: Request) -> dict[str, list[str]] | None:
    """Return which cells an attack can reach, as the library takes it."""
    return {"columns": request.only_columns} if request.only_columns else None


def _share(passed: NDArray[np.bool_]) -> float:
    return float(passed.mean()) if len(passed) else 1.0
