"""Uploads to the page, and malformed requests: one sentence below 500 each, and nothing is left behind.

Requests that a client would refuse to send are put to the application itself.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import polars as pl
import pytest
from support.web_server import HOLES, Served, analysed, told, upload
from support.workbooks import with_less_declared, with_part, workbook

from nullproof import CountIndex

pytest.importorskip("fastapi", reason="FastAPI is not installed")
from support.asking import Asked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]


# Uploads -------------------------------------------------------------------------------------------


FORMS: dict[str, Callable[[str, pl.DataFrame], bytes]] = {
    "csv": lambda text, _: text.encode(),
    "gz": lambda text, _: gzip.compress(text.encode()),
    "xlsx": lambda _, frame: workbook([frame.columns, *frame.rows()]),
}


@pytest.mark.parametrize("form", FORMS)
def test_uploads_are_described(server: Served, form: str) -> None:
    """Every kind of table is understood, and says what a person needs to choose."""
    text = "id,a,y\n" + "".join(
        f"{n},{'?' if n == 3 else 'unknown' if n == 5 else 'xyz'[n % 3]},{'' if n == 4 else 'pq'[n % 2]}\n"
        for n in range(30)
    )
    content = FORMS[form](text, pl.read_csv(text.encode()))
    table = upload(server.client, content, f"t.{form}")
    assert table["name"] == f"t.{form}"
    assert table["n_rows"] == 30
    assert [column["name"] for column in table["columns"]] == ["id", "a", "y"]
    assert [column["type"] for column in table["columns"]] == ["number", "text", "text"]
    assert [column["n_missing"] for column in table["columns"]] == [0, 1, 1]
    assert [column["is_key"] for column in table["columns"]] == [True, False, False]
    assert table["preview"][4] == ["4", "y", None]
    assert server.client.get(f"/api/tables/{table['id']}").json() == table


BAD: dict[str, Any] = {
    "empty": (b"", 400, "empty"),
    "one column": (b"a\n1\n2\n", 400, "one column"),
    "binary": (b"\x00\x01\x02" * 100, 400, "not a table"),
    "ragged": (b"a,b\n1,2,3\n", 400, "ragged"),
    "broken gzip": (gzip.compress(b"a,b\n1,2\n" * 999)[:-20], 400, "damaged gzip"),
    "zstd": (b"\x28\xb5\x2f\xfd" + b"1" * 50, 415, "zstd"),
    "broken Parquet": (b"PAR1" + b"1" * 500, 400, "not a table"),
    "rows": (b"a,b\n" + b"1,2\n" * 5001, 413, "5,001 rows", "accepts at most 5,000", "--max-rows"),
    "wide": (
        (",".join(f"c{n}" for n in range(2001)) + "\n" + "1," * 2000 + "1\n").encode(),
        413,
        "2,001 columns",
    ),
    "large": (b"a,b\n" + b"1" * (1 << 20), 413, "larger than 1 MB", "--max-upload"),
    "Excel bomb": (
        with_part(
            workbook([["a", "b"], [1, 2]]), "xl/styles.xml", lambda xml: xml + b" " * (1 << 20)
        ),
        413,
        "larger than 1 MB",
    ),
    "Excel that holds more than it declares": (
        with_less_declared(
            with_part(
                workbook([["a", "b"], [1, 2]]), "xl/styles.xml", lambda xml: xml + b" " * (1 << 20)
            ),
            "xl/styles.xml",
        ),
        413,
        "larger than 1 MB",
    ),
    "gzip bomb": (gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 20)), 413, "larger than 1 MB"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_uploads_are_told(server: Served, kind: str) -> None:
    """A file that is not a table, or too large, is refused in one sentence and leaves nothing."""
    content, status, *reasons = BAD[kind]
    before = {*server.folder.iterdir()}
    answer = server.client.post("/api/tables", params={"name": "mine.csv"}, content=content)
    told(answer, status, "mine.csv", *reasons)
    assert str(server.folder) not in answer.text
    assert {*server.folder.iterdir()} == before


def test_a_small_file_with_many_rows(server: Served) -> None:
    """Parquet holds a million equal rows in a few bytes; their number is known before they are read."""
    stream = io.BytesIO()
    pl.DataFrame({"a": [1] * 1_000_000, "y": ["p"] * 1_000_000}).write_parquet(stream)
    assert len(stream.getvalue()) < 1 << 18
    told(server.client.post("/api/tables", content=stream.getvalue()), 413, "1,000,000 rows")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../../etc/passwd", "passwd"),
        ("C:\\x\\y.csv", "y.csv"),
        ("a\x00b\n\u202e.csv", "ab.csv"),
        ("<script>.csv", "<script>.csv"),
        ("x" * 10_000, "x" * 200),
        ("../", "table"),
    ],
)
def test_names_are_only_shown(server: Served, name: str, shown: str) -> None:
    """A file name from the browser never becomes a path, and is shown without its folders."""
    before = {*server.folder.iterdir()}
    table = upload(server.client, HOLES, name)
    assert table["name"] == shown
    (made,) = {*server.folder.iterdir()} - before
    assert made.suffix == ".table"
    server.client.delete(f"/api/tables/{table['id']}")
    assert {*server.folder.iterdir()} == before
    told(server.client.get(f"/api/tables/{table['id']}"), 404, "no uploaded file")


ODDITIES = {
    "a": ["x", "?", "gone", "z"] * 10,
    "n": [*range(20)] * 2,
    "b": [*map(str, range(39)), "tbd"],
    "y": ["p", "q"] * 20,
}
ORDERS: list[dict[str, Any]] = [
    {"missing": ["gone"]},
    {"missing_only": ["gone", "tbd"]},
    {"bins": 2, "binning": "quantile", "missing": ["tbd"]},
    {"ignore": ["a"], "keep": ["n"]},
]


@pytest.mark.parametrize("order", ORDERS)
def test_table_options_reach_the_library(server: Served, order: dict[str, Any]) -> None:
    """Features and missing cells are those that the library counts with the same options."""
    stream, frame = io.BytesIO(), pl.DataFrame(ODDITIES)
    frame.write_parquet(stream)
    table = upload(server.client, stream.getvalue())
    name = analysed(server.client, table=table["id"], label="y", **order)
    index = CountIndex.from_table(frame, "y", **order)
    document = server.client.get(f"/api/analyses/{name}/document").json()
    used = [column for column in document["columns"]["listed"] if column["use"] == "feature"]
    assert {column["column"] for column in used} == {*index.features}
    assert document["table"]["n_missing"] == index.n_missing


# Foreign pages -------------------------------------------------------------------------------------


FOREIGN: list[tuple[dict[str, str], int]] = [
    ({"host": "evil.example"}, 421),
    ({"host": "127.0.0.1.evil.example"}, 421),
    ({"host": "user@127.0.0.1"}, 421),
    ({"host": "127.0.0.1:x"}, 421),
    ({"host": "[::1]evil.org"}, 421),
    ({"host": "localhost/x"}, 421),
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://127.0.0.1:1"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), FOREIGN)
def test_foreign_pages_are_refused(server: Served, headers: dict[str, str], status: int) -> None:
    """Neither a page of another site nor a name that was pointed at this server gets an answer."""
    before = {*server.folder.iterdir()}
    for method, path in (("GET", "/api/limits"), ("POST", "/api/tables"), ("POST", "/api/example")):
        answer = server.client.request(method, path, headers=headers, content=HOLES)
        told(answer, status)
        assert "access-control-allow-origin" not in answer.headers
    assert {*server.folder.iterdir()} == before


def test_own_pages_are_answered(server: Served) -> None:
    """The page itself, by either name of the loopback, and scripts without these headers may ask."""
    port = server.url.rsplit(":", 1)[1].strip("/")
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert server.client.get("/api/limits", headers=own).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/static/main.js", "/api/limits", "/nowhere", "/openapi.json", "/report.css"]
)
@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_every_answer_has_safe_headers(server: Served, path: str, host: str) -> None:
    """Nothing may be framed, guessed, sent on or loaded from elsewhere, whatever the answer is."""
    headers = server.client.get(path, headers={"host": host}).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


# Malformed requests --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    asked = Asked(tmp_path_factory.mktemp("asked")).analyse()
    yield asked
    asked.close()


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
    for kind, position in product(("points", "files"), NUMBERS):
        asked.fine(method, f"/api/analyses/{asked.analysis}/{kind}/{position}", b"{}")


# JSON that is not what is asked for, as text: Python's own writer would not write all of it.
ODD = ["null", "true", "1", "-1", "1e400", "-0", "1.5", "NaN", "Infinity", "-Infinity", "9" * 30]
ODD += ["9" * 400, "9" * 4000, "-" + "9" * 4000, "9" * 5000, '""', '"x"', '"\\u0000"', '"\\ud800"']
ODD += ['"' + "x" * 50_000 + '"', "[]", "[[]]", "[null]", '[1, "x", null, true]', "[NaN, 1e400]"]
ODD += ["[" + "9" * 400 + "]", '["\\ud800"]', "{}", '{"a": 1}', '{"\\ud800": 1}', '"2020-13-45"']
ODD += ["[" * 300 + "]" * 300, "[" * 5000 + "]" * 5000, '{"a":' * 500 + "1" + "}" * 500]


def written(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"


def test_odd_json_in_every_field(asked: Asked) -> None:
    """Wrong types, NaN, huge numbers, half characters and deep nesting are told, in every field."""
    order = {"table": f'"{asked.table}"', "label": '"y"'}
    fields = [*asked.fields_of_an_order(), "none", "\\ud800"]
    for field, odd in product(fields, ODD):
        body = written({**order, field: odd})
        answer = asked.fine("POST", "/api/analyses", body.encode())
        if answer.status == 202:
            failed = asked.outcome(json.loads(answer.content)["id"]) or ""
            assert "mistake" not in failed, body
