"""Who may ask: only pages of this server and programs that address it by one of its own names.

A foreign page can make a browser send requests to the loopback, by its own name (DNS rebinding) or
across sites. The first shows in the Host header, the second in Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from anyio import move_on_after

from nullproof.web.problems import body
from nullproof.words import cut

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UPLOADS = "/api/tables"
LONGEST = 4 << 20
_DRAINED = 16 * LONGEST
_PATIENCE = 10.0
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NOT_KEPT = (b"cache-control", b"no-store")
# Stricter than urllib, which finds a name of ours in "[::1]evil.org" and in "localhost/x".
_HOST = re.compile(
    r"(?:\[([0-9a-f:.]+)\]|([^\s\[\]:/\\?#@]+?))\.*(?::([0-9]{0,9}))?", re.IGNORECASE
)
_ORIGIN = re.compile(r"https?://([^\s/\\?#@]+)", re.IGNORECASE)
_MOST_PORTS = 65536


class Guard:
    """Refuses what comes from elsewhere, and sends safe headers with every answer."""

    def __init__(self, app: App, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_safe(message.get("headers", []), scope["path"])
            await send(message)

        # Files are sent whole; parts of them are for players, and would bring errors of their own.
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"range"]
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refused = refusal(headers, self._hosts, is_api=scope["path"].startswith("/api/"))
        if refused is None and scope["path"] != UPLOADS:
            refused = _too_long(headers)
        if refused is None:
            try:
                await self._app(scope, receive, guarded)
            except BaseException as problem:
                # A panic of polars is no Exception, so the application has not told it; it is known
                # by its name, for a server at rest has no polars loaded.
                if type(problem).__name__ != "PanicException":
                    raise
                traceback.print_exception(problem, file=sys.stderr)
                await _tell(guarded, 500, f"{problem}; this is a mistake in nullproof")
            return
        await _drain(receive)
        await _tell(guarded, *refused)


async def _tell(send: Send, status: int, message: str) -> None:
    start = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body(message)})


async def _drain(receive: Receive) -> None:
    """Read the rest of a refused request, within reason: many clients read no answer before that."""
    left = _DRAINED
    with move_on_after(_PATIENCE):
        while left > 0:
            message = await receive()
            if message["type"] != "http.request" or not message.get("more_body"):
                return
            left -= len(message.get("body", b""))


def refusal(
    headers: Mapping[str, str], hosts: frozenset[str], *, is_api: bool
) -> tuple[int, str] | None:
    """Why a request with these headers is refused, as a code and a sentence; None if it is not."""
    host = headers.get("host", "")
    if _name(host) not in hosts:
        return 421, (
            f"the request is addressed to the host {cut(host)!r}, which is not a name of "
            "this server; use 127.0.0.1 or localhost, or name the host with --name when the "
            "server is started"
        )
    origin = headers.get("origin")
    if origin is not None and _place(origin) != host.lower():
        return 403, (
            f"the request comes from a page of {cut(origin)!r}; only pages of this server "
            "may ask it, so open its own address"
        )
    if is_api and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return 403, (
            "the request comes from a page of another site; only pages of this server may ask "
            "it, so open its own address"
        )
    return None


def _too_long(headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Refuse questions that would fill the memory: only files are streamed to disk."""
    if "transfer-encoding" in headers:
        return (
            411,
            f"the length of the question is not given; only {UPLOADS} takes it piece by piece",
        )
    length = headers.get("content-length", "0")
    if re.fullmatch("[0-9]{1,18}", length) and int(length) <= LONGEST:
        return None
    return 413, (
        f"the question has {cut(length, 20)} bytes; ask with at most {LONGEST:,}, send a worksheet in "
        f"parts, and tables to {UPLOADS}"
    )


def _place(origin: str) -> str | None:
    """Host and port of an origin; None if it is malformed."""
    found = _ORIGIN.fullmatch(origin)
    return found[1].lower() if found else None


def _name(host: str) -> str | None:
    """The name in a Host header, in lower case; None if it is malformed."""
    found = _HOST.fullmatch(host)
    if found is None or int(found[3] or 0) >= _MOST_PORTS:
        return None
    return (found[1] or found[2]).lower()


def _with_safe(headers: list[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in headers}
    safe = [*_SAFE, _NOT_KEPT] if path.startswith("/api/") else _SAFE
    return [*headers, *(pair for pair in safe if pair[0] not in names)]
