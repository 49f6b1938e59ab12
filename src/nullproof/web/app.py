"""The web application: uploads, analyses, questions and downloads."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from copy import copy
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from nullproof import __version__
from nullproof.errors import NullproofError
from nullproof.model.parameters import written_number
from nullproof.reporting import render
from nullproof.results.files import to_csv, to_json
from nullproof.web import answers
from nullproof.web.analysis import Analysis, File, Ordered, Result, describe_worksheet, worksheet
from nullproof.web.forms import ErrorForm, Order, Wanted
from nullproof.web.guard import Guard
from nullproof.web.jobs import Job, Work, warm_up
from nullproof.web.limits import RequestError, Settings, error_body, shown_name
from nullproof.web.store import Store
from nullproof.web.uploads import Receiver, Upload, describe
from nullproof.words import cut

_DESCRIPTION = """Which predictions the missing training cells cannot change, for scripts.

Upload a table, order an analysis of it, ask for its state until it is `done`, then get the document
of the report, or ask about single points. Every error is
`{"error": "one sentence"}`. Files are sent as the body of the request, not as a form."""
STATIC = Path(__file__).parent / "static"
_WORKERS = 2
# Further uploads wait with their bytes unread, so that the disk does not fill up.
_UPLOADS_AT_ONCE = 512
_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorForm, "description": meaning}
    for code, meaning in (
        (400, "The data do not allow an answer."),
        (403, "The request comes from a page of another site."),
        (404, "There is no such table, analysis or point."),
        (409, "The analysis is not done, or failed."),
        (413, "The file or the table is too large."),
        (422, "The question does not have the right form."),
    )
}
_FILE = {
    "requestBody": {
        "required": True,
        "description": "The bytes of the file: CSV, TSV, Excel, ARFF, Parquet or Arrow; by gzip too.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
T = TypeVar("T")
router = APIRouter(prefix="/api", responses=_ERRORS)


class Desk:
    """The state of one server, on its event loop: uploads, analyses, and workers."""

    # The running analyses.
    jobs: TaskGroup

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.uploads: Store[Upload] = Store(
            "uploaded file", number=settings.max_tables, size=8 * settings.max_upload
        )
        self.analyses: Store[Analysis] = Store(
            "analysis", number=settings.max_analyses, size=settings.memory
        )
        # Workers for analyses, and for short jobs.
        self.workers, self.readers = anyio.Semaphore(_WORKERS), anyio.Semaphore(_WORKERS)
        self.uploading = anyio.Semaphore(_UPLOADS_AT_ONCE)

    async def work(self, job: Job) -> Any:
        """Return the result of a short job once it is done."""
        await job.run(self.readers)
        if job.error is not None:
            # A copy: the traceback of the original error would keep its frames, and with them a file.
            raise copy(job.error)
        return job.outcome

    def clear(self) -> None:
        """Forget everything, and delete all files."""
        for store in (self.analyses, self.uploads):
            store.clear()


def make_app(settings: Settings, folder: Path) -> Guard:
    """Return the application, guarded, with its uploads in ``folder``."""
    desk = Desk(settings, folder)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        warm_up()
        async with anyio.create_task_group() as desk.jobs:
            yield
            desk.jobs.cancel_scope.cancel()
        desk.clear()

    app = FastAPI(
        title="nullproof",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.desk = desk
    app.include_router(router)
    static = StaticFiles(directory=STATIC)
    app.mount("/static", static)

    async def page(request: Request) -> Response:
        return await static.get_response("index.html", request.scope)

    app.add_route("/", page)
    app.add_route("/report.css", lambda _: Response(render.style(), media_type="text/css"))
    app.add_route("/report.js", lambda _: Response(render.script(), media_type="text/javascript"))
    app.add_exception_handler(NullproofError, _sorry)
    app.add_exception_handler(HTTPException, _no_such_page)
    app.add_exception_handler(RequestValidationError, _wrong_form)
    app.add_exception_handler(Exception, _our_fault)
    # Outermost, so that answers to internal errors are guarded too.
    return Guard(app, settings.hosts)


def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


def _result(request: Request, analysis: str) -> Result:
    return _desk(request).analyses.get(analysis).result


# Tables --------------------------------------------------------------------------------------------


@router.get("/limits", tags=["tables"])
async def limits(request: Request) -> dict[str, Any]:
    """Return the version and the limits of this server."""
    settings = _desk(request).settings
    names = ("max_upload", "max_rows", "max_columns", "max_tables", "max_analyses")
    return {"version": __version__, **{name: getattr(settings, name) for name in names}}


@router.post("/tables", tags=["tables"], status_code=201, openapi_extra=_FILE)
async def upload(
    request: Request,
    name: Annotated[str, Query(description="File name, only to be shown.")] = "table",
) -> dict[str, Any]:
    """Upload a table: the file is the body of the request.

    For example: `curl --data-binary @train.csv 'http://127.0.0.1:8321/api/tables?name=train.csv'`
    """
    desk = _desk(request)
    return await _uploaded(request, name, describe, desk.settings)


async def _uploaded(request: Request, name: str, read: Work, *asked: Any) -> dict[str, Any]:
    """Receive a file, and describe it with a function that runs in a job."""
    desk = _desk(request)
    receiver = Receiver(desk.folder, name, desk.settings)
    try:
        async with desk.uploading:
            await receiver.receive(request.stream())
        return await _received(desk, receiver, read, *asked)
    except BaseException as problem:
        receiver.path.unlink(missing_ok=True)
        if isinstance(problem, ClientDisconnect):
            raise RequestError(
                400, "the connection was closed before the whole file had arrived"
            ) from None
        raise


async def _received(desk: Desk, receiver: Receiver, read: Work, *asked: Any) -> dict[str, Any]:
    file = await anyio.to_thread.run_sync(receiver.finish)
    file.description = await _description(desk, file, read, *asked)
    return {"id": desk.uploads.put(file), **file.description}


async def _description(desk: Desk, file: Upload, read: Work, *asked: Any) -> dict[str, Any]:
    died = f"{shown_name(file.name)} is damaged and cannot be read; export it again"
    found: dict[str, Any] = await desk.work(Job(read, file.path, file.name, *asked, died=died))
    return found


@router.post("/example", tags=["tables"], status_code=201)
async def example(request: Request) -> dict[str, Any]:
    """Load the embedded example, customers who may leave, as if it had been uploaded."""
    desk, tables = _desk(request), []
    for name in ("customers.csv", "new_customers.csv"):
        receiver = Receiver(desk.folder, name, desk.settings)
        receiver.path.write_bytes((files("nullproof") / "demo" / name).read_bytes())
        tables.append(await _received(desk, receiver, describe, desk.settings))
    return {"train": tables[0], "points": tables[1], "label": "churn", "key": "customer"}


@router.get("/tables/{table}", tags=["tables"])
async def table(
    request: Request,
    table: str,
    missing: Annotated[
        list[str] | None, Query(max_length=100, description="More texts that mean missing.")
    ] = None,
) -> dict[str, Any]:
    """Describe an uploaded table again, with more texts that mean missing."""
    desk = _desk(request)
    found = desk.uploads.get(table)
    if not missing:
        return {"id": table, **found.description}
    return {"id": table, **await _description(desk, found, describe, desk.settings, missing)}


@router.delete("/tables/{table}", tags=["tables"], status_code=204, response_model=None)
async def forget_table(request: Request, table: str) -> None:
    """Delete an uploaded table; its analyses stay."""
    _desk(request).uploads.drop(table)


@router.post("/worksheets", tags=["tables"], status_code=201, openapi_extra=_FILE)
async def add_worksheet(
    request: Request,
    name: Annotated[str, Query(description="File name, only to be shown.")] = "worksheet.csv",
) -> dict[str, Any]:
    """Upload a filled-in worksheet, CSV or Excel; orders that name it use its answers."""
    return await _uploaded(request, name, describe_worksheet)


# Analyses ------------------------------------------------------------------------------------------


@router.post("/analyses", tags=["analyses"], status_code=202)
async def order(request: Request, order: Order) -> dict[str, Any]:
    """Order an analysis; ask for its state until it is `done`."""
    desk = _desk(request)
    named = [order.table, *([order.points] if order.points else []), *order.answers]
    uploads = [desk.uploads.get(name) for name in named]
    if not 0 <= written_number(str(order.alpha)) < float("inf"):
        raise RequestError(400, f"alpha is {order.alpha}; give a number that is not negative")
    train, *others = [File(own.path, own.name) for own in uploads]
    points = others.pop(0) if order.points else None
    before = None if order.compare is None else _result(request, order.compare).document
    ordered = Ordered(order, train, points, others, before)

    def make_room() -> None:
        """Drop other analyses before this one, whose result somebody waits for."""
        with suppress(RequestError):
            desk.analyses.get(name)
        desk.analyses.make_room()

    analysis = Analysis(ordered, uploads, make_room)
    name = desk.analyses.put(analysis)
    desk.jobs.start_soon(analysis.run, desk.workers)
    return {"id": name, **analysis.document()}


@router.get("/analyses/{analysis}", tags=["analyses"])
async def state(request: Request, analysis: str) -> dict[str, Any]:
    """Return the state and progress of an analysis, and its order."""
    return {"id": analysis, **_desk(request).analyses.get(analysis).document()}


@router.delete("/analyses/{analysis}", tags=["analyses"], status_code=204, response_model=None)
async def cancel(request: Request, analysis: str) -> None:
    """Stop an analysis and forget it."""
    _desk(request).analyses.drop(analysis)


@router.get("/analyses/{analysis}/document", tags=["analyses"])
async def document(request: Request, analysis: str) -> Response:
    """Return everything that the report says, as plain data."""
    result = _result(request, analysis)
    return await _json(lambda: result.document)


@router.get("/analyses/{analysis}/sections", tags=["analyses"])
async def sections(request: Request, analysis: str) -> list[dict[str, str]]:
    """Return the parts of the report as HTML, for a page that has the report's style."""
    return [part._asdict() for part in _result(request, analysis).parts]


Name = Literal["report.html", "certificates.csv", "document.json", "worksheet.csv"]
_TYPES = {"html": "text/html", "csv": "text/csv", "json": "application/json"}


@router.get("/analyses/{analysis}/files/{name}", tags=["analyses"], response_class=Response)
async def download(request: Request, analysis: str, name: Name) -> Response:
    """Download the report, the certificates, the document, or a worksheet of cells to look up."""
    desk = _desk(request)
    found = desk.analyses.get(analysis)
    result = found.result
    if name == "worksheet.csv":
        content = await _worksheet(desk, found.ordered)
    else:
        content = await _aside(_written, result, name)
    return _file(found, name, content)


def _file(analysis: Analysis, name: str, content: str) -> Response:
    """Return a download, named after its table."""
    stem = analysis.ordered.train.name.partition(".")[0].encode("ascii", "ignore").decode()
    safe = "".join(sign for sign in stem if sign.isalnum() or sign in "-_ ").strip() or "table"
    disposition = {"content-disposition": f'attachment; filename="{safe}-{name}"'}
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=f"{kind}; charset=utf-8", headers=disposition)


async def _worksheet(desk: Desk, ordered: Ordered) -> str:
    try:
        sheet: str = await desk.work(Job(worksheet, ordered))
    except NullproofError as problem:
        gone = [name for path, name in ordered.names.items() if not path.exists()]
        if not gone:
            raise
        raise RequestError(
            409, f"{shown_name(gone[0])} was deleted; upload it and run the analysis again"
        ) from problem
    return sheet


def _written(result: Result, name: str) -> str:
    if name == "report.html":
        return render.html(result.document, result.parts)
    if name == "certificates.csv":
        return to_csv(result.certificates.file_columns())
    return to_json(result.document)


# Points --------------------------------------------------------------------------------------------


Chosen = Annotated[Wanted, Query()]


@router.get("/analyses/{analysis}/points", tags=["points"])
async def points(request: Request, analysis: str, wanted: Chosen) -> Response:
    """List verdicts, page by page."""
    return await _json(answers.listed, _result(request, analysis), wanted)


@router.get("/analyses/{analysis}/rows.csv", tags=["points"], response_class=Response)
async def listed_file(request: Request, analysis: str, wanted: Chosen) -> Response:
    """Download all verdicts that are listed, as CSV."""
    found = _desk(request).analyses.get(analysis)
    content = await _aside(answers.listed_file, found.result, wanted)
    return _file(found, "rows.csv", content)


@router.get("/analyses/{analysis}/points/{point}", tags=["points"])
async def point(request: Request, analysis: str, point: Annotated[int, InPath(ge=0)]) -> Response:
    """Return everything about one point: support intervals, odds, radius, two worlds that disagree."""
    return await _json(answers.one_point, _result(request, analysis).certificates, point)


async def _json(read: Callable[..., Any], *asked: Any) -> Response:
    content = await _aside(lambda: to_json(read(*asked)))
    return Response(content, media_type="application/json")


async def _aside(read: Callable[..., T], *asked: Any) -> T:
    """Read in a thread, so that neither other requests nor the server's shutdown wait for it."""
    return await anyio.to_thread.run_sync(read, *asked, abandon_on_cancel=True)


# Errors --------------------------------------------------------------------------------------------


async def _sorry(_: Request, problem: Exception) -> Response:
    return _error(problem.status if isinstance(problem, RequestError) else 400, str(problem))


async def _no_such_page(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    said = {
        400: "the body cannot be read as JSON; send JSON in UTF-8, nested no deeper than the form is",
        404: "there is nothing at this address; /openapi.json lists all addresses",
        405: f"{request.method} is not allowed at this address; /openapi.json lists the methods",
    }
    message = said.get(problem.status_code, str(problem.detail))
    return _error(problem.status_code, message, problem.headers)


async def _wrong_form(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    came, needed = _shown(first.get("input")), first["msg"].lower()
    if first["type"] == "json_invalid" or isinstance(first.get("input"), bytes):
        where, needed = "the body", "it is not JSON; send JSON as content-type application/json"
    return _error(422, f"{cut(where)} came as {came}: {needed}; see /openapi.json for the form")


async def _our_fault(_: Request, problem: Exception) -> Response:
    traceback.print_exception(problem, file=sys.stderr)
    return _error(500, f"{type(problem).__name__}: {problem}; this is a bug in nullproof")


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(error_body(message), status, headers, media_type="application/json")


def _shown(came: Any) -> str:
    """Return the received value, as messages show it."""
    try:
        return cut(repr(came), 60)
    except (RecursionError, ValueError):
        # Nested too deeply, or a number with too many digits.
        return f"a {type(came).__name__} that is too large to show"
