"""The JSON API: tables in, analyses made, questions answered."""

from __future__ import annotations

import time
from importlib.resources import files
from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request
from starlette.requests import ClientDisconnect

from nullproof import __version__
from nullproof.data.missing import written_spellings
from nullproof.data.options import TableOptions
from nullproof.model.accuracy import BIASES
from nullproof.model.parameters import written_number
from nullproof.web import changes
from nullproof.web.analysis import Analysis, Options, Result
from nullproof.web.answers import (
    Wanted,
    about_points,
    curve,
    explain,
    given_values,
    named,
    one_point,
    select,
    support_at,
    typed_point,
    what_ifs,
)
from nullproof.web.descriptions import Description
from nullproof.web.desk import Desk, desk_of
from nullproof.web.forms import (
    AnalysisForm,
    CurveForm,
    ErrorForm,
    ExampleForm,
    FeatureCounts,
    FeaturesForm,
    Limits,
    PointAnswer,
    PointsPage,
    SheetForm,
    SupportAnswer,
    TableForm,
    WhatIfAnswer,
)
from nullproof.web.problems import RequestError
from nullproof.web.questions import (
    AnalysisOrder,
    Bias,
    ChangeForm,
    PointQuestion,
    SupportQuestion,
    WhatIf,
)
from nullproof.web.uploads import Receiver, Upload, last_part, receive
from nullproof.web.worksheets import Sheet

_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorForm, "description": "The data do not allow an answer."},
    403: {"model": ErrorForm, "description": "The request comes from a page of another site."},
    404: {"model": ErrorForm, "description": "There is no such table, analysis or point."},
    422: {"model": ErrorForm, "description": "The question does not have the right form."},
}
_NOT_READY: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorForm, "description": "The analysis is not done, or failed."}
}
_FILE = {
    "requestBody": {
        "required": True,
        "description": "The bytes of the file: CSV, TSV, Excel, ARFF, Parquet or Arrow; by gzip too.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
# What is asked about so few points is answered sooner than a thread begins.
_FEW = 1000
router = APIRouter(prefix="/api", responses=_ERRORS)


@router.get("/limits", tags=["tables"])
async def limits(request: Request) -> Limits:
    """Tell how much this server takes."""
    own = desk_of(request).settings
    return Limits(
        version=__version__,
        max_upload=own.max_upload,
        max_rows=own.max_rows,
        max_columns=own.max_columns,
        max_tables=own.max_tables,
        max_analyses=own.max_analyses,
    )


@router.post(
    "/tables",
    tags=["tables"],
    status_code=201,
    openapi_extra=_FILE,
    responses={
        408: {"model": ErrorForm, "description": "The file stopped arriving."},
        413: {"model": ErrorForm, "description": "The file or the table is too large."},
        415: {"model": ErrorForm, "description": "The file is packed in a way not supported."},
        503: {"model": ErrorForm, "description": "All places are in use."},
    },
)
async def upload(
    request: Request,
    name: Annotated[str, Query(description="File name, only to be shown.")] = "table",
) -> TableForm:
    """Upload a table: the file is the body of the request.

    For example: `curl --data-binary @train.csv 'http://127.0.0.1:8321/api/tables?name=train.csv'`
    """
    desk = desk_of(request)
    receiver = Receiver(desk.folder, name, desk.settings)
    try:
        # Those beyond wait with their bytes unread, so that the disk holds a few files at most.
        async with desk.uploading:
            await receive(request.stream(), receiver, desk.settings.idle)
            table = await anyio.to_thread.run_sync(receiver.finish, limiter=desk.limiter)
        return _table_form(desk.tables.put(table), table)
    except ClientDisconnect:
        receiver.path.unlink(missing_ok=True)
        raise RequestError(
            400, "the connection was closed before the whole file had arrived"
        ) from None
    except BaseException:
        receiver.path.unlink(missing_ok=True)
        raise


@router.post("/example", tags=["tables"], status_code=201)
async def example(request: Request) -> ExampleForm:
    """Take the embedded example, customers who may leave, as if it had been uploaded."""
    desk = desk_of(request)
    train = await anyio.to_thread.run_sync(_embedded, desk, "customers.csv")
    points = await anyio.to_thread.run_sync(_embedded, desk, "new_customers.csv")
    return ExampleForm(train=train, points=points, label="churn", ignore=["customer"])


@router.get("/tables/{table}", tags=["tables"])
def table(
    request: Request,
    table: str,
    missing: Annotated[
        list[str] | None, Query(max_length=100, description="Further spellings of missing.")
    ] = None,
) -> TableForm:
    """Describe an uploaded table again, also with further spellings of missing."""
    found = desk_of(request).tables.get(table)
    return _table_form(table, found, found.read_with(missing) if missing else found.description)


@router.delete("/tables/{table}", tags=["tables"], status_code=204, response_model=None)
def forget_table(request: Request, table: str) -> None:
    """Delete an uploaded table; analyses of it stay."""
    desk_of(request).tables.drop(table)


@router.post(
    "/worksheets",
    tags=["tables"],
    status_code=201,
    openapi_extra=_FILE,
    responses={
        413: {"model": ErrorForm, "description": "The file is too large."},
        503: {"model": ErrorForm, "description": "All places are in use."},
    },
)
async def worksheet(
    request: Request,
    name: Annotated[str, Query(description="File name, only to be shown.")] = "worksheet.csv",
) -> SheetForm:
    """Upload a worksheet that was filled in, CSV or Excel; an order names it to take its answers."""
    desk = desk_of(request)
    sheet = Sheet(last_part(name), await request.body())
    n_lines = await anyio.to_thread.run_sync(sheet.check, desk.folder, limiter=desk.limiter)
    return SheetForm(id=desk.worksheets.put(sheet), name=sheet.name, n_lines=n_lines)


@router.post("/analyses", tags=["analyses"], status_code=202)
def order(request: Request, wanted: AnalysisOrder) -> AnalysisForm:
    """Order an analysis; ask for its state until it is `done`."""
    desk = desk_of(request)
    train = desk.tables.get(wanted.table)
    points = None if wanted.points is None else desk.tables.get(wanted.points)
    alpha = str(wanted.alpha)
    if not 0 <= written_number(alpha) < float("inf"):
        raise RequestError(400, f"alpha is {alpha}; give a number that is not negative")
    options = Options(
        wanted.label,
        alpha,
        wanted.prior,
        TableOptions(
            written_spellings(wanted.missing),
            wanted.bins,
            wanted.binning,
            ignore=wanted.ignore,
            keep=wanted.keep,
            missing_only=wanted.missing_only,
            missing_is_value=wanted.missing_is_value,
            unlabelled=wanted.unlabelled,
        ),
        wanted.own_missing,
        wanted.bias,
        wanted.key,
        wanted.truth,
        _changes(wanted.changes),
    )
    answers = [desk.worksheets.get(sheet) for sheet in wanted.answers]
    before = None if wanted.compare is None else desk.analyses.get(wanted.compare).result.document
    # From here on it holds its tables, and nothing may fail that does not discard it.
    analysis = Analysis(train, points, options, desk.analyses.settle)
    analysis.answers, analysis.before = answers, before
    analysis.patience, analysis.order = wanted.patience, wanted.model_dump()
    analysis.usual = AnalysisOrder.model_validate({"table": "", "label": ""}).model_dump()
    try:
        name = desk.analyses.put(analysis)
    except RequestError:
        analysis.discard()
        raise
    desk.workers.submit(analysis.job)
    return _analysis_form(name, analysis)


@router.get("/analyses/{analysis}", tags=["analyses"])
async def state(request: Request, analysis: str) -> AnalysisForm:
    """Tell how far an analysis is."""
    found = desk_of(request).analyses.get(analysis)
    found.asked = time.monotonic()
    return _analysis_form(analysis, found)


@router.delete("/analyses/{analysis}", tags=["analyses"], status_code=204, response_model=None)
async def cancel(request: Request, analysis: str) -> None:
    """Stop an analysis and forget it."""
    desk_of(request).analyses.drop(analysis)


@router.get("/analyses/{analysis}/document", tags=["analyses"], responses=_NOT_READY)
def document(request: Request, analysis: str) -> dict[str, Any]:
    """Give everything that the report says, as plain data (keys: `nullproof.reporting.document`)."""
    return desk_of(request).analyses.get(analysis).result.document


@router.get("/analyses/{analysis}/curve", tags=["points"], responses=_NOT_READY)
def holding(
    request: Request,
    analysis: str,
    bias: Annotated[
        list[Bias] | None,
        Query(max_length=200, description="At which biases; without any, at ten from 0 to 1."),
    ] = None,
) -> CurveForm:
    """Count how many predictions hold at some biases, and how many of those are right."""
    result = desk_of(request).analyses.get(analysis).result
    return CurveForm.model_validate(curve(result, BIASES if bias is None else bias))


@router.get("/analyses/{analysis}/points", tags=["points"], responses=_NOT_READY)
async def points(
    request: Request,
    analysis: str,
    verdict: Annotated[Literal["all", "certain", "holds", "open"], Query()] = "all",
    label: Annotated[str | None, Query(description="A label that must be possible.")] = None,
    bias: Annotated[
        Bias | None,
        Query(description="At which bias a prediction holds; without it, at the threshold."),
    ] = None,
    find: Annotated[
        str | None,
        Query(max_length=200, description="A position, or a part of a name or of a value."),
    ] = None,
    right: Annotated[
        bool | None, Query(description="Whether the prediction is the true label.")
    ] = None,
    sort: Annotated[
        Literal["point", "tolerance"], Query(description="By position, or least tolerance first.")
    ] = "point",
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> PointsPage:
    """List verdicts, some at a time."""
    result = desk_of(request).analyses.get(analysis).result
    wanted = Wanted(verdict, label, find, right, sort)
    if len(result.points) <= _FEW:
        return _points_page(result, wanted, bias, offset, limit)
    return await anyio.to_thread.run_sync(_points_page, result, wanted, bias, offset, limit)


def _points_page(
    result: Result, wanted: Wanted, bias: float | None, offset: int, limit: int
) -> PointsPage:
    found = result.certificates
    # The page gives one bias for all columns, so there is a threshold.
    at = (found.threshold or 0.0) if bias is None else bias
    places = select(result, wanted, at)
    lines = [
        {**line, **named(result, line["point"])}
        for line in about_points(found, places[offset : offset + limit], at)
    ]
    return PointsPage.model_validate(
        {"n_points": len(places), "offset": offset, "bias": at, "points": lines}
    )


@router.get("/analyses/{analysis}/points/{point}", tags=["points"], responses=_NOT_READY)
def point(request: Request, analysis: str, point: Annotated[int, Path(ge=0)]) -> PointAnswer:
    """Tell all about one point: its support intervals, odds, radius and two worlds that disagree."""
    result = desk_of(request).analyses.get(analysis).result
    told = explain(result.model, one_point(result, point))
    return PointAnswer.model_validate(
        {**told, "point": point, "values": given_values(result, point), **named(result, point)}
    )


@router.post("/analyses/{analysis}/point", tags=["points"], responses=_NOT_READY)
def judge(request: Request, analysis: str, question: PointQuestion) -> PointAnswer:
    """Judge a point with any values, also on a table with cells blanked or filled."""
    result = desk_of(request).analyses.get(analysis).result
    model = changes.changed_model(result.model, _changes(question.changes))
    told = explain(model, typed_point(result, model.index, question.values))
    return PointAnswer.model_validate({"point": None, "values": question.values, **told})


@router.post("/analyses/{analysis}/support", tags=["points"], responses=_NOT_READY)
def support(request: Request, analysis: str, question: SupportQuestion) -> SupportAnswer:
    """Give the ranges of support of a point at a bias: quick, without odds, radius and worlds."""
    result = desk_of(request).analyses.get(analysis).result
    model = changes.changed_model(result.model, _changes(question.changes))
    point = typed_point(result, model.index, question.values)
    return SupportAnswer.model_validate(support_at(model, point, question.bias))


@router.get("/analyses/{analysis}/features", tags=["what if"], responses=_NOT_READY)
def features(request: Request, analysis: str) -> FeaturesForm:
    """List the features with their values and missing cells."""
    index = desk_of(request).analyses.get(analysis).result.index
    return FeaturesForm.model_validate(
        {"labels": [*index.schema.label_codes], "features": changes.about_features(index)}
    )


@router.get("/analyses/{analysis}/features/{feature}", tags=["what if"], responses=_NOT_READY)
async def feature(
    request: Request, analysis: str, feature: Annotated[int, Path(ge=0)]
) -> FeatureCounts:
    """Count the known and missing cells of one feature, named by its position."""
    index = desk_of(request).analyses.get(analysis).result.index
    return FeatureCounts.model_validate(changes.about_feature(index, feature))


@router.post("/analyses/{analysis}/what-if", tags=["what if"], responses=_NOT_READY)
async def what_if(request: Request, analysis: str, question: WhatIf) -> WhatIfAnswer:
    """Blank or fill training cells and certify all points again, against the original."""
    desk = desk_of(request)
    result = desk.analyses.get(analysis).result
    answer = await anyio.to_thread.run_sync(
        what_ifs, result, _changes(question.changes), limiter=desk.limiter
    )
    return WhatIfAnswer.model_validate(answer)


def _changes(wanted: list[ChangeForm]) -> list[changes.Change]:
    return [
        changes.Change(one.do, one.feature, one.label, one.value, one.n_cells) for one in wanted
    ]


def _embedded(desk: Desk, name: str) -> TableForm:
    receiver = Receiver(desk.folder, name, desk.settings)
    receiver.path.write_bytes((files("nullproof") / "demo" / name).read_bytes())
    table = receiver.finish()
    return _table_form(desk.tables.put(table), table)


def _table_form(name: str, table: Upload, found: Description | None = None) -> TableForm:
    told = vars(found or table.description)
    return TableForm.model_validate({"id": name, "name": table.name, "n_bytes": table.size, **told})


def _analysis_form(name: str, analysis: Analysis) -> AnalysisForm:
    job = analysis.job
    return AnalysisForm(
        id=name,
        state=job.state,
        share=job.share,
        doing=job.doing,
        seconds=job.seconds,
        error=job.error,
        order=AnalysisOrder.model_validate(analysis.order),
    )
