"""Malformed requests to the page: whatever comes, the answer is below 500 and errors are one sentence.

They are put to the application itself, because a client would refuse to send most of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="FastAPI is not installed")
from support.asking import Asked

from nullproof.web import api

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    asked = Asked(tmp_path_factory.mktemp("asked")).analyse()
    yield asked
    asked.close()


def routes(asked: Asked) -> list[tuple[str, str]]:
    """Every address of the API and the page, with its method."""
    own = {"analysis": asked.analysis, "table": asked.table, "point": "0", "feature": "0"}
    own |= {"name": "certificates.csv"}
    described = asked.addresses()
    found = [
        (method.upper(), path.format_map(own))
        for path, methods in described.items()
        for method in methods
        if method != "delete" and not path.endswith("sections")
    ]
    return [*found, ("GET", "/"), ("GET", "/static/main.js"), ("GET", "/openapi.json")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({b"origin": b"http://[::1"}, 403),
        ({b"origin": b"http://[::1]]"}, 403),
        ({b"origin": b"http://\xe2\x84\x80.com"}, 403),
        ({b"origin": b""}, 403),
        ({b"host": b"[::1"}, 421),
        ({b"host": b"127.0.0.1:x"}, 421),
        ({b"host": b"127.0.0.1:99999999999"}, 421),
        ({b"host": b"\xff\x00"}, 421),
        ({b"host": b""}, 421),
        ({b"content-length": b"9" * 5000}, 413),
        ({b"content-length": b"-1"}, 413),
        ({b"transfer-encoding": b"chunked"}, 411),
    ],
)
def test_malformed_headers_are_refused(
    asked: Asked, headers: dict[bytes, bytes], status: int
) -> None:
    """A Host or Origin that is no address is that of no page of ours."""
    assert asked.fine("GET", "/api/limits", headers=[*headers.items()]).status == status


HEADERS = [b"host", b"origin", b"sec-fetch-site", b"content-length", b"content-type"]
HEADERS += [b"transfer-encoding", b"range", b"if-none-match", b"if-modified-since", b"if-range"]
HEADERS += [b"accept", b"cookie", b"expect", b"content-encoding", b"authorization", b"upgrade"]
VALUES = [b"", b"http://[::1", b"[::1", b"//", b"\xff\xfe", b"a\0b", b"9" * 5000, b"-1", b"nan"]
VALUES += [b"bytes=abc", b"bytes=0-,5-1", b"bytes=999999999999999-", b"\xb2", b"x" * 9000]
VALUES += [b"application/json; charset=no", b"multipart/form-data", b"Thu, 99 Foo 9999 99:99 GMT"]


@pytest.mark.parametrize("name", HEADERS)
def test_every_route_bears_every_header(asked: Asked, name: bytes) -> None:
    """No header makes any route fail."""
    for place, (method, path) in enumerate(routes(asked)):
        for value in VALUES[place % 3 :: 3]:
            asked.fine(method, path, b"{}", [(name, value)])


def test_parts_of_files_are_not_sent(asked: Asked) -> None:
    """A range, malformed or not, gets the whole file."""
    whole = asked("GET", "/static/main.js")
    for value in (b"bytes=0-3", b"bytes=x", b"pages=1", b""):
        assert asked("GET", "/static/main.js", headers=[(b"range", value)]) == whole


PATHS = ["/static/\0", "/static/" + "a" * 5000, "/static/../app.py", "/static/\ud800", "/\ud800"]
PATHS += [
    "/api/tables/\ud800",
    "/api/tables/a\0",
    "/static/" + "a/" * 3000,
    "//",
    "/api",
    "/static",
]
PATHS += ["/api/analyses/" + "x" * 99_999, "/api/analyses/\0/points", "/api/limits/"]
NUMBERS = ["9" * 30, "9" * 4000, "9" * 5000, "1.5", "nan", "-1", "٣", " 1", "\0", "1e3", ""]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "FOO"])
def test_odd_addresses(asked: Asked, method: str) -> None:
    """An address of nothing, or a position that is no number, is told."""
    for path in PATHS:
        asked.fine(method, path, b"{}")
    for kind, position in product(("points", "features", "files"), NUMBERS):
        asked.fine(method, f"/api/analyses/{asked.analysis}/{kind}/{position}", b"{}")


def test_odd_queries(asked: Asked) -> None:
    """Parameters of the wrong kind are told."""
    values = [number.encode() for number in NUMBERS]
    values += [b"%ff", b"%00", b"%ED%A0%80", b"x" * 60_000, b"\xff\xfe", b"%", b"&&==", b"true"]
    for name, value in product((b"offset", b"limit", b"label", b"verdict", b"name", b""), values):
        query = name + b"=" + value
        asked.fine("GET", f"/api/analyses/{asked.analysis}/points", query=query)
        asked.fine("POST", "/api/tables", b"a,y\n1,2\n", query=query)


# JSON that is not what is asked for, as text: Python's own writer would not write all of it.
ODD = ["null", "true", "1", "-1", "1e400", "-0", "1.5", "NaN", "Infinity", "-Infinity", "9" * 30]
ODD += ["9" * 400, "9" * 4000, "-" + "9" * 4000, "9" * 5000, '""', '"x"', '"\\u0000"', '"\\ud800"']
ODD += ['"' + "x" * 50_000 + '"', "[]", "[[]]", "[null]", '[1, "x", null, true]', "[NaN, 1e400]"]
ODD += ["[" + "9" * 400 + "]", '["\\ud800"]', "{}", '{"a": 1}', '{"\\ud800": 1}', '"2020-13-45"']
ODD += ["[" * 300 + "]" * 300, "[" * 5000 + "]" * 5000, '{"a":' * 500 + "1" + "}" * 500]
CHANGE = {"do": '"blank"', "feature": '"town"', "label": '"p"', "value": '"x"', "n_cells": "1"}
FIELDS = {
    "point": [("values", name) for name in ("age", "town", "day", "paid", "none", "\\ud800")],
    "what-if": [("changes", name) for name in (*CHANGE, "none", "\\ud800")],
    "analyses": [
        ("", name)
        for name in ("table", "points", "label", "alpha", "prior", "bins", "binning", "missing")
    ]
    + [("", name) for name in ("ignore", "patience", "none", "\\ud800")],
}


def written(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"


@pytest.mark.parametrize(
    ("route", "field"), [(route, field) for route, fields in FIELDS.items() for field in fields]
)
def test_odd_json_in_every_field(asked: Asked, route: str, field: tuple[str, str]) -> None:
    """Wrong types, NaN, huge numbers, half characters and deep nesting are told, in every field."""
    outer, name = field
    path = "/api/analyses" if route == "analyses" else f"/api/analyses/{asked.analysis}/{route}"
    order = {"table": f'"{asked.table}"', "label": '"y"'}
    for odd in ODD:
        if outer == "values":
            body = written({"values": written({name: odd})})
        elif outer == "changes":
            body = written({"changes": f"[{written({**CHANGE, name: odd})}]"})
        else:
            body = written({**order, name: odd})
        answer = asked.fine("POST", path, body.encode())
        if answer.status == 202:
            failed = asked.outcome(json.loads(answer.content)["id"]) or ""
            assert "mistake" not in failed, body


def test_odd_bodies(asked: Asked) -> None:
    """A body that is no question at all is told, whatever its content-type says."""
    bodies = [odd.encode() for odd in ODD]
    bodies += [b"", b"{", b"\xff", b"\0", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"[1" * 999]
    bodies += [b"[" * 99_999, b'{"a":' * 9_999]
    kinds = [b"application/json", b"text/plain", b"multipart/form-data; boundary=x", b""]
    for body, kind in product(bodies, kinds):
        for path in ("/api/analyses", f"/api/analyses/{asked.analysis}/point"):
            asked.fine("POST", path, body, [(b"content-type", kind)])


NESTED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=()))
    | st.sampled_from(["age", "town", "x", "blank", "fill", "p", 10**400]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    values=NESTED | st.dictionaries(st.sampled_from(["age", "town", "day", "paid"]), NESTED),
    changes=NESTED | st.lists(st.fixed_dictionaries(dict.fromkeys(CHANGE, NESTED)), max_size=3),
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_questions(asked: Asked, values: Any, changes: Any) -> None:
    """Whatever JSON a question is made of, the answer is no mistake of ours."""
    own = f"/api/analyses/{asked.analysis}"
    asked.fine("POST", f"{own}/point", json.dumps({"values": values}).encode())
    asked.fine("POST", f"{own}/point", json.dumps({"values": {}, "changes": changes}).encode())
    asked.fine("POST", f"{own}/what-if", json.dumps({"changes": changes}).encode())


def test_no_candidates_are_not_missing(asked: Asked) -> None:
    """An empty list of candidates is refused, as the library refuses it."""
    path = f"/api/analyses/{asked.analysis}/point"
    answer = asked.fine("POST", path, b'{"values": {"town": []}}')
    assert answer.status == 400
    assert "the set of candidates is empty" in answer.error
    assert asked("POST", path, b'{"values": {"town": null}}').status == 200


def test_a_panic_is_told(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A panic of polars, which is no Exception, is a 500 with a sentence like every other mistake."""

    def panic(*_: Any) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(api, "explain", panic)
    answer = asked("GET", f"/api/analyses/{asked.analysis}/points/0")
    assert answer.status == 500
    assert "index out of bounds; this is a mistake in nullproof" in answer.error
    assert "PanicException" in capsys.readouterr().err
