"""The files of the page, kept in memory: asking the disk for each would take most of the server's time."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class KeptFiles:
    """An application that sends the files of one folder, which it has read when it was made.

    A browser asks each time whether its copy is still right, so that it never mixes two versions.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.name: (path.read_bytes(), _headers(path))
            for path in folder.iterdir()
            if path.is_file()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        answer = self.answer(scope["path"].partition("/static/")[2], dict(scope["headers"]))
        await answer(scope, receive, send)

    def answer(self, name: str, asked: Mapping[bytes, bytes]) -> Response:
        """One file, or nothing if the browser has it."""
        if name not in self._files:
            raise HTTPException(404)
        content, headers = self._files[name]
        if asked.get(b"if-none-match", b"").decode("latin-1").removeprefix("W/") == headers["etag"]:
            kept = {name: value for name, value in headers.items() if name != "content-type"}
            return Response(None, 304, kept)
        return Response(content, headers=headers)


def _headers(path: Path) -> dict[str, str]:
    # What the system calls a kind may be wrong, e.g. in the registry of Windows.
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    return {"content-type": kind, "etag": f'"{digest}"', "cache-control": "no-cache"}
