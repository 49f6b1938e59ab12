"""Uploads and orders of the web page: every kind of table, every bad one, one sentence each."""

from __future__ import annotations

import gzip
import io
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.command_line import TEST, TRAIN
from support.web_server import Example, Served, analysed, told, upload
from support.workbooks import with_part, workbook

# Threads share one list of filters; the command switches these notices off too.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
HOLES = "a,b,y\n1,x,no\n2,,no\n,x,yes\n4,z,yes\n5,z,no\n6,x,yes\n"


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow", "xlsx", "arff", "gz"])
def test_uploads_are_described(server: Served, form: str) -> None:
    """Every kind of table is understood, and says what a person needs to choose."""
    text = "id,a,y\n" + "".join(
        f"{n},{'?' if n == 3 else 'unknown' if n == 5 else 'xyz'[n % 3]},{'' if n == 4 else 'pq'[n % 2]}\n"
        for n in range(30)
    )
    frame = pl.read_csv(text.encode())
    content: bytes = text.encode()
    if form == "tsv":
        content = text.replace(",", "\t").encode()
    if form == "gz":
        content = gzip.compress(content)
    if form == "xlsx":
        content = workbook([frame.columns, *frame.rows()])
    if form == "arff":
        content = (
            b"@relation r\n@attribute id numeric\n@attribute a string\n@attribute y string\n@data\n"
        )
        content += text.partition("\n")[2].replace("?", "'?'").encode()
    if form in ("parquet", "arrow"):
        stream = io.BytesIO()
        frame.write_parquet(stream) if form == "parquet" else frame.write_ipc(stream)
        content = stream.getvalue()
    table = upload(server.client, content, f"t.{form}")
    assert table["name"] == f"t.{form}"
    assert table["n_rows"] == 30
    assert [column["name"] for column in table["columns"]] == ["id", "a", "y"]
    assert [column["type"] for column in table["columns"]] == ["number", "text", "text"]
    assert [column["n_missing"] for column in table["columns"]] == [0, 1, 1]
    assert [column["is_key"] for column in table["columns"]] == [True, False, False]
    assert table["preview"][4] == ["4", "y", None]
    assert table["spellings"] == ["unknown"]
    assert server.client.get(f"/api/tables/{table['id']}").json() == table


BAD: dict[str, Any] = {
    "empty": (b"", 400, "empty"),
    "one column": (b"a\n1\n2\n", 400, "one column"),
    "binary": (b"\x00\x01\x02" * 100, 400, "not a table"),
    "no text": (b"a,b\n\x81,2\n", 400, "UTF-8"),
    "broken Excel": (b"PK\x03\x04" + b"1" * 500, 400, "damaged Excel"),
    "ragged": (b"a,b\n1,2,3\n", 400, "ragged"),
    "twice": (b"a,a\n1,2\n", 400, "two columns"),
    "broken gzip": (gzip.compress(b"a,b\n1,2\n" * 999)[:-20], 400, "damaged gzip"),
    "zstd": (b"\x28\xb5\x2f\xfd" + b"1" * 50, 415, "zstd"),
    "broken Parquet": (b"PAR1" + b"1" * 500, 400, "not a table"),
    "rows": (b"a,b\n" + b"1,2\n" * 5001, 413, "5,001 rows", "takes 5,000", "--max-rows"),
    "lines": (b"a,b\n" + b"1,2\n" * 20_000, 413, "rows", "--max-rows"),
    "columns": (",".join(f"c{n}" for n in range(2001)).encode() + b"\n", 400, "no rows"),
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


def test_damaged_files_are_told(server: Served) -> None:
    """Whatever bytes of a file are wrong, the answer is never a mistake of ours."""
    stream, rng = io.BytesIO(), np.random.default_rng(7)
    pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "y"], "y": ["p", "q", "p"]}).write_parquet(
        stream
    )
    whole = np.frombuffer(stream.getvalue(), dtype=np.uint8)
    for _ in range(12):
        damaged = whole.copy()
        damaged[rng.integers(4, len(whole), 3)] = rng.integers(0, 256, 3)
        answer = server.client.post("/api/tables", content=damaged.tobytes())
        if answer.status_code != 201:
            told(answer, 400)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b'{"values": {"age": "\\ud800"}}', 422, "surrogate"),
        # Too deep for Python 3.11 and 3.12; later ones see that it is cut short.
        (b'{"values": ' + b"[" * 5000, 400 if sys.version_info < (3, 13) else 422, "JSON"),
        (b"\xff\xfe{", 400, "UTF-8"),
        (b"[]", 422, "valid"),
        (b'{"values": {"age": {"a": 1}}}', 422, "values.age"),
        (b'{"values": {}, "x": "' + b"x" * (5 << 20) + b'"}', 413, "4,194,304"),
    ],
)
def test_strange_bodies_are_told(
    server: Served, example: Example, body: bytes, status: int, reason: str
) -> None:
    """A body that is no question is refused, whatever it is."""
    answer = server.client.post(
        f"/api/analyses/{example[0]}/point",
        content=body,
        headers={"content-type": "application/json"},
    )
    told(answer, status, reason)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("C:\\x\\y.csv", "y.csv"),
        ("..\\../a b.csv", "a b.csv"),
        ("a\x00b\n\u202e.csv", "ab.csv"),
        ("<script>.csv", "<script>.csv"),
        ("x" * 10_000, "x" * 200),
        ("", "table"),
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
    told(server.client.get(f"/api/tables/{table['id']}"), 404, "no table")


def test_options_reach_the_library(server: Served) -> None:
    """Label, smoothing, prior, bins, spellings of missing and ignored columns are as ordered."""
    train, test = upload(server.client, TRAIN), upload(server.client, TEST)
    order = {"alpha": "1/3", "bins": 2, "binning": "quantile", "prior": "uniform", "ignore": []}
    name = analysed(
        server.client,
        table=train["id"],
        points=test["id"],
        label="churn",
        missing=["Ulm"],
        **order,
    )
    told_ = server.client.get(f"/api/analyses/{name}/document").json()
    assert told_["table"]["alpha"] == "1/3"
    assert told_["table"]["prior"] == [0.5, 0.5]
    assert told_["table"]["n_missing"] == 2 + 3
    features = server.client.get(f"/api/analyses/{name}/features").json()["features"]
    assert [(f["name"], f["n_values"]) for f in features] == [("age", 2), ("town", 1)]


def test_a_text_among_numbers_is_proposed(server: Served) -> None:
    """What keeps a column from being numbers may mean missing; what is missing already is not proposed."""
    cells = [*map(str, range(20)), "tbd", "N/a"]
    lines = "".join(f"{cell},{k % 2}\n" for k, cell in enumerate(cells))
    table = upload(server.client, f"a,y\n{lines}".encode())
    assert table["spellings"] == ["tbd"]


def test_spellings_of_missing_are_no_values(server: Served) -> None:
    """A point's cell that spells missing is shown as missing, also where the file is not text."""
    stream = io.BytesIO()
    pl.DataFrame({"a": ["x", "?", "z"], "b": [1, 2, None], "y": ["p", "q", "p"]}).write_parquet(
        stream
    )
    table = upload(server.client, stream.getvalue())
    assert table["spellings"] == []
    assert [column["n_missing"] for column in table["columns"]] == [1, 1, 0]
    name = analysed(server.client, table=table["id"], label="y")
    points = [server.client.get(f"/api/analyses/{name}/points/{k}").json() for k in range(3)]
    assert [point["values"] for point in points] == [
        {"a": "x", "b": 1},
        {"a": None, "b": 2},
        {"a": "z", "b": None},
    ]


def test_columns_that_name_rows_are_left_out_as_in_the_library(server: Served) -> None:
    """The preview marks what the analysis leaves out; what is kept is counted, in any kind of file."""
    rows = [(f"c{n}", n, n % 7, "-" if n % 5 else str(n), "pq"[n % 2]) for n in range(40)]
    lines = [",".join(map(str, row)) for row in rows]
    table = upload(server.client, "\n".join(["name,n,a,b,y", *lines]).encode())
    assert [column["is_key"] for column in table["columns"]] == [True, True, False, False, False]
    assert [column["type"] for column in table["columns"]][3] == "number"
    for keep, features in (([], ["a", "b"]), (["n"], ["n", "a", "b"])):
        name = analysed(server.client, table=table["id"], label="y", keep=keep)
        found = server.client.get(f"/api/analyses/{name}/features").json()["features"]
        assert [feature["name"] for feature in found] == features
    order = {"table": table["id"], "label": "y", "missing": ["c1"], "missing_only": ["c2"]}
    told(server.client.post("/api/analyses", json=order), 400, "or missing_only to replace them")


def test_missing_only_reaches_the_library(server: Served) -> None:
    """With other spellings of missing the usual ones are values."""
    table = upload(server.client, b"a,y\n?,p\nu,q\ngone,q\nv,p\n")
    name = analysed(server.client, table=table["id"], label="y", missing_only=["gone"])
    (feature,) = server.client.get(f"/api/analyses/{name}/features").json()["features"]
    assert feature["values"] == ["?", "u", "v"]
    assert sum(feature["n_missing"]) == 1


def test_columns_that_cannot_be_counted_may_be_uploaded(server: Served) -> None:
    """A nested column does not stand in the way of the others, if it is ignored."""
    stream = io.BytesIO()
    frame = pl.DataFrame({"a": [{"x": 1}, {"x": 2}], "b": ["u", "v"], "y": ["p", "q"]})
    frame.write_parquet(stream)
    table = upload(server.client, stream.getvalue())
    assert [column["is_key"] for column in table["columns"]] == [False] * 3
    analysed(server.client, table=table["id"], label="y", ignore=["a"])
