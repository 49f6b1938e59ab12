"""Files to take home, and what the page itself is made of."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from nullproof.files import to_json
from nullproof.reporting import html
from nullproof.terminal import certificates
from nullproof.web.desk import desk_of
from nullproof.web.forms import ErrorForm

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
}
Name = Literal["report.html", "certificates.csv", "certificates.json", "document.json"]


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
    """Download the report as one HTML file, the certificates of all points, or the document."""
    desk = desk_of(request)
    result = desk.analyses.get(analysis).result
    if name == "report.html":
        content = desk.drawer.report(result.document)
    elif name == "certificates.csv":
        content = _csv(certificates.as_columns(result.certificates))
    elif name == "certificates.json":
        content = to_json(certificates.document(result.index, result.certificates))
    else:
        content = to_json(result.document)
    disposition = {"content-disposition": f'attachment; filename="nullproof-{name}"'}
    return Response(content, media_type=f"{_TYPES[name]}; charset=utf-8", headers=disposition)


@router.get("/api/analyses/{analysis}/sections", tags=["downloads"], responses=_ERRORS)
def sections(request: Request, analysis: str) -> dict[str, str]:
    """Give sections of the report as HTML, for a page that has the report's style."""
    desk = desk_of(request)
    return desk.drawer.sections(desk.analyses.get(analysis).result.document)


@router.get("/", include_in_schema=False)
def page(request: Request) -> Response:
    """The page."""
    desk_of(request).drawer.warm_up()
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})


@router.get("/vega.js", include_in_schema=False)
def charts(request: Request) -> Response:
    """The library that draws the charts; nothing is loaded from elsewhere."""
    headers = {"cache-control": "max-age=3600"}
    content = desk_of(request).drawer.library()
    return Response(content, media_type="text/javascript; charset=utf-8", headers=headers)


@router.get("/report.css", include_in_schema=False)
def style() -> Response:
    """The look of the report."""
    return Response(html.style(), media_type="text/css; charset=utf-8", headers=_FRESH)


@router.get("/report.js", include_in_schema=False)
def script() -> Response:
    """The comforts of the report: sorting."""
    return Response(html.script(), media_type="text/javascript; charset=utf-8", headers=_FRESH)


def _csv(columns: dict[str, list[Any]]) -> str:
    import polars as pl

    frame = pl.DataFrame(columns, strict=False).with_columns(pl.col(pl.Null).cast(pl.String))
    stream = io.BytesIO()
    frame.write_csv(stream)
    return stream.getvalue().decode()
