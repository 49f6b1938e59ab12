"""The web application: one FastAPI app with its API, its page and the files to take home."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from anyio import create_task_group
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from nullproof import __version__
from nullproof.errors import NullproofError
from nullproof.files import to_csv, to_json
from nullproof.reporting import html
from nullproof.web import api
from nullproof.web.desk import Desk, desk_of
from nullproof.web.forms import ErrorForm, SectionForm
from nullproof.web.guard import Guard
from nullproof.web.kept import KeptFiles
from nullproof.web.problems import RequestError, body
from nullproof.web.settings import Settings
from nullproof.words import cut

_DESCRIPTION = """Which predictions of Naive Bayes hold whatever the missing training values were.

Upload a table, order an analysis of it, ask for its state until it is `done`, then get the document
of the report, ask about single points, or blank and fill training cells. Every error is
`{"error": "one sentence"}`. Files are sent as the body of the request, not as a form."""
router = APIRouter()
STATIC = Path(__file__).parent / "static"
_FRESH = {"cache-control": "no-cache"}
_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorForm, "description": "There is no such analysis."},
    409: {"model": ErrorForm, "description": "The analysis is not done, or failed."},
    422: {"model": ErrorForm, "description": "There is no such file."},
}
_TYPES = {
    "report.html": "text/html",
    "certificates.csv": "text/csv",
    "certificates.json": "application/json",
    "document.json": "application/json",
    "worksheet.csv": "text/csv",
}
Name = Literal[
    "report.html", "certificates.csv", "certificates.json", "document.json", "worksheet.csv"
]


def make_app(settings: Settings, folder: Path) -> Guard:
    """The application, guarded, with its uploads in ``folder``."""
    desk = Desk.open(settings, folder)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with create_task_group() as tasks:
            tasks.start_soon(desk.watch)
            yield
            tasks.cancel_scope.cancel()
        desk.close()

    app = FastAPI(
        title="nullproof",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.desk = desk
    app.include_router(api.router)
    app.include_router(router)
    app.state.kept = KeptFiles(STATIC)
    app.mount("/static", app.state.kept, name="static")

    app.add_exception_handler(NullproofError, _sorry)
    app.add_exception_handler(HTTPException, _no_such_page)
    app.add_exception_handler(RequestValidationError, _wrong_form)
    app.add_exception_handler(Exception, _our_fault)
    # Around everything, so that the answer to a mistake of ours is guarded too.
    return Guard(app, settings.hosts)


@router.get(
    "/api/analyses/{analysis}/files/{name}",
    tags=["downloads"],
    response_class=Response,
    responses={
        200: {"description": "The file.", "content": {kind: {} for kind in {*_TYPES.values()}}},
        **_ERRORS,
    },
)
def download(request: Request, analysis: str, name: Name) -> Response:
    """Download the report as one HTML file, certificates, document, or a worksheet of missing cells."""
    found = desk_of(request).analyses.get(analysis)
    result = found.result
    if name == "report.html":
        content = html.render(result.document)
    elif name == "worksheet.csv":
        content = found.worksheet()
    elif name == "certificates.csv":
        content = to_csv(result.certificates.file_columns())
    elif name == "certificates.json":
        content = to_json({**result.certificates.document(), "n_missing": result.index.n_missing})
    else:
        content = to_json(result.document)
    disposition = {"content-disposition": f'attachment; filename="nullproof-{name}"'}
    return Response(content, media_type=f"{_TYPES[name]}; charset=utf-8", headers=disposition)


@router.get("/api/analyses/{analysis}/sections", tags=["downloads"], responses=_ERRORS)
def sections(request: Request, analysis: str) -> list[SectionForm]:
    """Give the sections of the report, in its order, for a page that has the report's style."""
    document = desk_of(request).analyses.get(analysis).result.document
    return [
        SectionForm(name=name, title=title, html=drawn)
        for name, title, drawn in html.parts(document)
    ]


@router.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    """The page; which analysis it shows is in its address."""
    kept: KeptFiles = request.app.state.kept
    return kept.answer("index.html", dict(request.scope["headers"]))


@router.get("/report.css", include_in_schema=False)
async def style() -> Response:
    """The look of the report."""
    return Response(html.style(), media_type="text/css; charset=utf-8", headers=_FRESH)


@router.get("/report.js", include_in_schema=False)
async def script() -> Response:
    """The comforts of the report: sorting."""
    return Response(html.script(), media_type="text/javascript; charset=utf-8", headers=_FRESH)


async def _sorry(_: Request, problem: Exception) -> Response:
    status = problem.status if isinstance(problem, RequestError) else 400
    return _error(status, str(problem))


async def _no_such_page(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    said = {
        400: "the body cannot be read as JSON; send JSON in UTF-8, nested no deeper than the form is",
        404: "there is nothing at this address; /openapi.json lists what can be asked",
        405: f"{request.method} is not for this address; /openapi.json says which method is",
    }
    message = said.get(problem.status_code, str(problem.detail))
    return _error(problem.status_code, message, problem.headers)


async def _wrong_form(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    came = _shown(first.get("input"))
    needed = first["msg"].lower()
    if first["type"] == "json_invalid" or isinstance(first.get("input"), bytes):
        where, needed = "the body", "it is not JSON; send JSON as content-type application/json"
    return _error(422, f"{cut(where)} came as {came}: {needed}; see /openapi.json for the form")


async def _our_fault(_: Request, problem: Exception) -> Response:
    traceback.print_exception(problem, file=sys.stderr)
    return _error(500, f"{type(problem).__name__}: {problem}; this is a mistake in nullproof")


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body(message), status, headers, media_type="application/json")


def _shown(came: Any) -> str:
    """What came, as a message shows it."""
    try:
        return cut(repr(came), 60)
    except (RecursionError, ValueError):
        # Nested too deeply, or a number with too many digits.
        return f"a {type(came).__name__} that is too large to show"
