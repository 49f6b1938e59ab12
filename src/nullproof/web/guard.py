"""Answer only pages of this server and programs that address it by one of its names.

A page of another site can make a browser send requests to the loopback, under its own name (DNS
rebinding) or across sites. The first shows in the Host header, the second in Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from anyio import move_on_after
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nullproof.web.limits import error_body
from nullproof.words import cut

UPLOADS = ("/api/tables", "/api/worksheets")
LONGEST = 4 << 20
_DRAINED = 16 * LONGEST
_PATIENCE = 10.0
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# Stricter than urllib, which finds one of our names in "[::1]evil.org" and in "localhost/x".
_HOST = re.compile(
    r"(?:\[([0-9a-f:.]+)\]|([^\s\[\]:/\\?#@]+?))\.*(?::([0-9]{0,5}))?", re.IGNORECASE
)
_ORIGIN = re.compile(r"https?://([^\s/\\?#@]+)", re.IGNORECASE)


class Guard:
    """Reject requests from other sites, and send security headers with every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, kept = scope["path"], "no-store" if scope["path"].startswith("/api/") else "no-cache"
        safe = {"cache-control": kept, **HEADERS}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in safe.items():
                    headers.setdefault(name, value)
            await send(message)

        rejected = rejection(Headers(scope=scope), self._hosts, path)
        if rejected is None:
            # Files are sent whole; range requests are for media players and would add more kinds of errors.
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"range"]
            await self._app(scope, receive, guarded)
            return
        await _drain(receive)
        status, message = rejected
        answer = Response(
            error_body(message), status, {"connection": "close"}, media_type="application/json"
        )
        await answer(scope, receive, guarded)


def rejection(
    headers: Mapping[str, str], hosts: frozenset[str], path: str
) -> tuple[int, str] | None:
    """Return why a request is rejected, as a status code and a sentence; None if it is accepted."""
    host = headers.get("host", "")
    if _name(host) not in hosts:
        return 421, (
            f"the request is addressed to the host {cut(host)!r}, which is not a name of this server; "
            "use 127.0.0.1 or localhost, or start the server with --name and this host"
        )
    origin = headers.get("origin")
    if origin is not None and _place(origin) != host.lower():
        return 403, (
            f"the request comes from a page of {cut(origin)!r}; only pages of this server may send "
            "requests, so open its own address"
        )
    other_site = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    if other_site and path.startswith("/api/"):
        return 403, (
            "the request comes from a page of another site; only pages of this server may send "
            "requests, so open its own address"
        )
    if "\0" in path or not path.isascii():
        return 404, "there is nothing at this address; /openapi.json lists all addresses"
    return None if path in UPLOADS else _too_long(headers)


def _too_long(headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Reject bodies that would fill the memory: only files are streamed to disk."""
    if "transfer-encoding" in headers:
        return 411, "the request has no Content-Length; only uploads may come in chunks"
    length = headers.get("content-length", "0")
    if re.fullmatch("[0-9]{1,18}", length) and int(length) <= LONGEST:
        return None
    return 413, (
        f"the request has {cut(length, 20)} bytes; send at most {LONGEST:,}, and files to "
        f"{' or '.join(UPLOADS)}"
    )


async def _drain(receive: Receive) -> None:
    """Read the rest of a rejected request, up to a limit: many clients read the answer only after that."""
    left = _DRAINED
    with move_on_after(_PATIENCE):
        while left > 0:
            message = await receive()
            if message["type"] != "http.request" or not message.get("more_body"):
                return
            left -= len(message.get("body", b""))


def _place(origin: str) -> str | None:
    """Return the host and port of an origin; None if it is malformed."""
    found = _ORIGIN.fullmatch(origin)
    return found[1].lower() if found else None


def _name(host: str) -> str | None:
    """Return the name in a Host header, in lower case; None if it is malformed."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else None
