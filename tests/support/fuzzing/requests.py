"""What a client may send to the page: headers, questions, files."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

from nullproof import NullproofError
from support.asking import Asked
from support.fuzzing import seeds
from support.fuzzing.breaking import below, broken, broken_text, odd_document, pick
from support.fuzzing.law import BrokenLawError, Make, Read, Way, reading_whole

_HEADERS = (
    *(("host", "127.0.0.1:8321"), ("host", "LOCALHOST."), ("host", "[::1]:80"), ("host", "a.b")),
    *(("origin", "http://127.0.0.1:8321"), ("origin", "null"), ("origin", "https://localhost.")),
    *(("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site"), ("range", "bytes=0-")),
    *(("content-length", "17"), ("content-length", "4194305"), ("transfer-encoding", "chunked")),
)
_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])\.*(:[0-9]*)?", re.IGNORECASE)


def ways_to_ask(folder: Path) -> list[Way]:
    """The guard of the page, its questions, and its uploads."""

    @cache
    def asked() -> Asked:
        uploads = folder / "uploads"
        uploads.mkdir(exist_ok=True)
        return Asked(uploads).analyse()

    return [
        Way("headers", 200, lambda: _headers(asked())),
        Way("api", 10, lambda: _orders(asked())),
        Way("upload", 3, lambda: _uploads(asked())),
    ]


def _headers(asked: Asked) -> tuple[Make, Read]:
    def make(rng: random.Random) -> bytes:
        lines = [f"host: 127.0.0.1:{below(70_000, rng)}".encode()]
        for _ in range(pick((1, 2, 3), rng)):
            name, value = pick(_HEADERS, rng)
            raw = value.encode()
            lines.append(
                f"{name}: ".encode() + (broken_text(raw, rng) if rng.random() < 0.7 else raw)
            )
        lines.append(pick((b"/api/limits", b"/", b"/api/tables", b"/report.css"), rng))
        return b"\n".join(lines)

    def read(raw: bytes) -> None:
        *lines, path = raw.decode("latin-1").split("\n")
        given = dict(line.split(": ", 1) for line in lines if ": " in line)
        headers = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in given.items()]
        answer = asked("GET", path, headers=headers)
        if answer.status >= 500:
            raise BrokenLawError(f"{answer.status} for {given}")
        if answer.status >= 400:
            raise NullproofError(
                answer.content.decode("utf-8", "replace")[:999] or "refused outright"
            )
        _check(given, path.startswith("/api/"))

    return make, read


def _check(given: dict[str, str], is_api: bool) -> None:
    """Nothing passes that is addressed to another host, or comes from another site."""
    host, origin = given.get("host", ""), given.get("origin")
    if not _OWN_HOST.fullmatch(host):
        raise BrokenLawError(f"passed for the host {host!r}")
    if origin is not None and origin.lower() not in (
        f"http://{host.lower()}",
        f"https://{host.lower()}",
    ):
        raise BrokenLawError(f"passed from {origin!r} to {host!r}")
    if is_api and given.get("sec-fetch-site") not in (None, "none", "same-origin"):
        raise BrokenLawError("passed from another site")


def _orders(asked: Asked) -> tuple[Make, Read]:
    right = _right_order(asked)

    def order(raw: bytes) -> None:
        answer = asked.fine("POST", "/api/analyses", raw)
        if answer.status >= 400:
            raise NullproofError(answer.error)
        if answer.status == 202:
            failed = asked.outcome(json.loads(answer.content)["id"])
            if failed:
                raise NullproofError(failed)

    read = reading_whole(order, [json.dumps(right).encode()])
    return lambda rng: odd_document(right, rng), read


def _right_order(asked: Asked) -> dict[str, Any]:
    """An order that the page carries out, with every field that it knows."""
    own = {
        "table": asked.table,
        "points": asked.table,
        "label": "y",
        "alpha": "1/2",
        "binning": "uniform",
        "missing": ["?", "town=x"],
        "missing_is_value": ["paid"],
        "ignore": ["day"],
        "keep": ["age"],
        "key": "town",
        "own_missing": "any",
        "prior": "uniform",
        "compare": asked.analysis,
    }
    fields = asked.fields_of_an_order()
    return {name: own.get(name, field.get("default")) for name, field in fields.items()}


def _uploads(asked: Asked) -> tuple[Make, Read]:
    # Parquet files are read twice, first in a process of their own, which takes a while.
    raws = [*2 * seeds.texts(), *seeds.workbooks(), seeds.ARFF.encode(), seeds.parquets()[0]]

    def upload(raw: bytes) -> None:
        answer = asked.fine("POST", "/api/tables", raw)
        if answer.status >= 400:
            raise NullproofError(answer.error)

    return lambda rng: broken(pick(raws, rng), rng, raws), reading_whole(upload, {*raws})
