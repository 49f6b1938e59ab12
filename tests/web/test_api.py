"""The JSON API on a real server: its answers are those of the library, its errors one sentence."""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import TRAIN
from support.web_server import Example, Served, analysed, served, state, told, until, upload

from nullproof import CountIndex, certify, label_odds, radius
from nullproof.cli.demo import load
from nullproof.model import Model
from nullproof.reporting.document import tell
from nullproof.web.answers import explain

# Threads share one list of filters; the command switches these notices off too.
pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
HOLES = "a,b,y\n1,x,no\n2,,no\n,x,yes\n4,z,yes\n5,z,no\n6,x,yes\n"


def test_the_document_is_that_of_the_library(server: Served, example: Example) -> None:
    """What the page shows is what the report says."""
    name, index, new = example
    document = server.client.get(f"/api/analyses/{name}/document").json()
    expected = json.loads(json.dumps(tell(index, new)))
    # Only the server knows the files, and what to type in their folder.
    assert document.pop("asked")["train"] == "customers.csv"
    assert document.pop("next")["command"].startswith("nullproof clean customers.csv new_cust")
    assert document == {key: expected[key] for key in document}
    assert {*expected} - {*document} == {"asked", "next"}
    assert document["certain"]["n_certain"] == 5


def test_a_point_is_explained(server: Served, example: Example) -> None:
    """Verdict, intervals, radius and odds of a point are those of the library."""
    name, index, new = example
    certificates, radii, odds = (
        certify(index, new),
        radius(index, new),
        label_odds(index, new),
    )
    for place in range(len(new)):
        answer = server.client.get(f"/api/analyses/{name}/points/{place}").json()
        assert answer["point"] == place
        assert answer["values"] == {f: new[f][place] for f in index.features}
        assert answer["bins"] == {}
        assert answer["certain"] == certificates[place].certain
        assert answer["possible"] == list(certificates[place].possible)
        assert answer["radius"] == radii[place]
        low = {one["label"]: one["low"] for one in answer["support"]}
        assert low == certificates[place].min_log_support
        if not answer["certain"]:
            shown = {one["label"]: one["lower"] for one in answer["odds"]}
            assert shown == {label: pair[0] for label, pair in odds[place].items()}
            winners = [set(world["winners"]) for world in answer["worlds"]]
            assert winners[0] != winners[1]


def test_numbers_come_with_their_bins() -> None:
    """A point's numbers lie in bins that are named as the report names them; holes lie in none."""
    table = {"age": [16, 20, 32, 40, 41, 66], "town": [*"uvuvuv"], "y": [*"aababb"]}
    index = CountIndex.from_table(pl.DataFrame(table), "y", bins=3, binning="uniform")
    model = Model(index, 1)
    for age, bins in ((22, {"age": "16–32"}), (66, {"age": "66"}), (None, {})):
        point = index.encode({"age": age, "town": "u"}).read("skip")
        assert explain(model, point)["bins"] == bins


def test_a_point_is_edited(server: Served, example: Example) -> None:
    """Any values can be judged: known, missing, candidates, never seen."""
    name, index, _ = example
    points = [
        {"age": "18-35", "in_us": "no", "income": "low", "claim": "no"},
        {"age": None, "in_us": "yes", "income": "low", "claim": "no"},
        {"age": ["18-35", "over 55"], "in_us": "yes", "income": "low", "claim": "no"},
        {"age": "never", "in_us": "yes", "income": "low", "claim": "no"},
    ]
    for values in points:
        answer = server.client.post(f"/api/analyses/{name}/point", json={"values": values})
        expected = certify(index, values)
        assert answer.json()["possible"] == list(expected.possible), values
    left_out = server.client.post(f"/api/analyses/{name}/point", json={"values": {"age": "18-35"}})
    nulls = dict.fromkeys(index.features) | {"age": "18-35"}
    assert left_out.json()["possible"] == list(certify(index, nulls).possible)


def test_verdicts_are_listed(server: Served, example: Example) -> None:
    """The list of points can be filtered and paged."""
    name, index, new = example
    path = f"/api/analyses/{name}/points"
    expected = certify(index, new).verdict.tolist()
    for verdict in ("certain", "holds", "open"):
        page = server.client.get(path, params={"verdict": verdict}).json()
        assert page["bias"] == 0.05
        assert [line["point"] for line in page["points"]] == [
            place for place, found in enumerate(expected) if found == verdict
        ]
    page = server.client.get(path, params={"label": "yes", "offset": 1, "limit": 2}).json()
    assert page["n_points"] > len(page["points"]) == 2
    assert all("yes" in line["possible"] for line in page["points"])
    told(server.client.get(path, params={"label": "maybe"}), 400, "'maybe'", "no, yes")


def _recounted(frame: pl.DataFrame, like: CountIndex) -> CountIndex:
    return CountIndex.from_table(frame, "churn", like=like)


@pytest.mark.parametrize("do", ["blank", "fill"])
def test_what_if_counts_the_changed_table(server: Served, example: Example, do: str) -> None:
    """Blanking or filling cells gives the verdicts of the table that was changed by hand."""
    name, index, new = example
    train, _ = load()
    before, after = (("yes", None), (None, "no"))[do == "fill"]
    cells = pl.col("in_us").is_null() if before is None else pl.col("in_us") == before
    rows = train.with_row_index().filter(cells & (pl.col("churn") == "yes"))["index"][:2]
    changed = train.with_columns(
        pl.when(pl.int_range(pl.len()).is_in(rows.to_list()))
        .then(pl.lit(after, dtype=pl.String))
        .otherwise(pl.col("in_us"))
        .alias("in_us")
    )
    change = {
        "do": do,
        "feature": "in_us",
        "label": "yes",
        "value": "yes" if do == "blank" else "no",
        "n_cells": 2,
    }
    answer = server.client.post(f"/api/analyses/{name}/what-if", json={"changes": [change]}).json()
    expected = certify(_recounted(changed, index), new)
    assert answer["n_certain_before"] == 5
    assert answer["n_certain"] == int(expected.certain.sum())
    assert answer["n_missing"] == index.n_missing + (2 if do == "blank" else -2)
    moved = {line["point"]: line["possible"] for line in answer["changed"]}
    original = certify(index, new)
    assert moved == {
        place: list(expected[place].possible)
        for place in range(len(new))
        if expected[place].possible != original[place].possible
    }
    one = server.client.post(
        f"/api/analyses/{name}/point",
        json={"values": {f: new[f][2] for f in index.features}, "changes": [change]},
    ).json()
    high = {line["label"]: line["high"] for line in one["support"]}
    assert high == pytest.approx(expected[2].max_log_support)


def test_what_if_with_bins_dates_and_numbers(server: Served) -> None:
    """A value of the domain can be an interval; filling it fills the bin, and undoes a blank."""
    rows = "".join(
        f"{n / 10},2024-0{n % 9 + 1}-11,{'true' if n % 3 else 'false'},{'pq'[n % 2]}\n"
        for n in range(40)
    )
    table = upload(server.client, "n,d,b,y\n" + rows)
    name = analysed(
        server.client, table=table["id"], label="y", bins=3, binning="uniform", alpha="1/2"
    )
    for place, feature in enumerate(
        server.client.get(f"/api/analyses/{name}/features").json()["features"]
    ):
        counts = server.client.get(f"/api/analyses/{name}/features/{place}").json()
        known = [(v, k) for v, row in enumerate(counts["known"]) for k, n in enumerate(row) if n]
        value, label = known[0]
        there = {
            "feature": feature["name"],
            "label": "pq"[label],
            "value": counts["values"][value],
        }
        n_cells = counts["known"][value][label]
        changes = [{"do": do, "n_cells": n_cells, **there} for do in ("blank", "fill")]
        path = f"/api/analyses/{name}/what-if"
        blanked = server.client.post(path, json={"changes": changes[:1]}).json()
        assert blanked["n_missing"] == n_cells
        assert blanked["n_certain"] <= blanked["n_certain_before"]
        undone = server.client.post(path, json={"changes": changes}).json()
        assert undone["n_missing"] == undone["n_missing_before"] == 0
        assert undone["changed"] == []
        many = {"do": "blank", "n_cells": n_cells + 1, **there}
        told(
            server.client.post(path, json={"changes": [many]}), 400, "change 1", f"{n_cells} cells"
        )


def test_downloads(server: Served, example: Example) -> None:
    """The report and the certificates can be taken home."""
    name, index, new = example
    path = f"/api/analyses/{name}/files/"
    csv = server.client.get(path + "certificates.csv")
    assert csv.headers["content-disposition"] == 'attachment; filename="nullproof-certificates.csv"'
    assert pl.read_csv(io.BytesIO(csv.content))["certain"].to_list() == [
        bool(one) for one in certify(index, new).certain
    ]
    listed = server.client.get(path + "certificates.json").json()
    assert listed["n_certain"] == 5
    assert len(listed["points"]) == 8
    report = server.client.get(path + "report.html")
    assert report.text.startswith("<!doctype html>")
    assert "62.5" in report.text
    assert "8 predictions" in report.text
    assert server.client.get(path + "document.json").json()["certain"]["n_certain"] == 5
    told(server.client.get(path + "passwd"), 422, "report.html")


@pytest.mark.parametrize(
    ("order", "status", "reasons"),
    [
        ({"table": "nothing", "label": "y"}, 404, ["no table 'nothing'"]),
        ({"label": "y", "alpha": "lots"}, 400, ["'lots' is not a number"]),
        ({"label": "y", "alpha": -1}, 400, ["alpha is -1"]),
        ({"label": "y", "alpha": "nan"}, 400, ["alpha is nan"]),
        ({"label": "y", "bins": 0, "binning": "uniform"}, 422, ["bins", "0"]),
        ({"label": "y", "binning": "odd"}, 422, ["binning", "'odd'", "quantile"]),
        ({"label": "y", "lable": "y"}, 422, ["lable"]),
        ({}, 422, ["label", "required"]),
    ],
)
def test_bad_orders_are_told(
    server: Served, order: dict[str, Any], status: int, reasons: list[str]
) -> None:
    """An order that cannot be carried out is refused at once, in one sentence."""
    table = upload(server.client, HOLES)["id"]
    told(server.client.post("/api/analyses", json={"table": table, **order}), status, *reasons)


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"label": "why"}, "there is no column 'why'"),
        ({"label": "y", "ignore": ["no"]}, "'no'"),
        ({"label": "b"}, "b"),
        ({"label": "y", "points": "other"}, "the points lack"),
    ],
)
def test_failed_analyses_say_why(server: Served, order: dict[str, Any], reason: str) -> None:
    """What is found out while working is told by the state, and nothing else can be asked."""
    table = upload(server.client, HOLES, "mine.csv")["id"]
    if "points" in order:
        order = {**order, "points": upload(server.client, "c,d\n1,2\n")["id"]}
    name = server.client.post("/api/analyses", json={"table": table, **order}).json()["id"]
    until(lambda: state(server.client, name)["state"] == "failed")
    error = state(server.client, name)["error"]
    assert reason in error
    assert str(server.folder) not in error
    for path in ("document", "points/0", "features", "files/certificates.csv", "sections"):
        told(server.client.get(f"/api/analyses/{name}/{path}"), 409, "failed", reason)


def test_questions_about_nothing(server: Served, example: Example) -> None:
    """Whatever is not there is told, with what is."""
    name, *_ = example
    client, own = server.client, f"/api/analyses/{name}"
    told(client.get("/api/analyses/none/document"), 404, "no analysis")
    told(client.delete("/api/analyses/none"), 404, "no analysis")
    told(client.get(f"{own}/points/8"), 404, "0 to 7")
    told(client.get(f"{own}/points/-1"), 422, "-1")
    told(client.get(f"{own}/points/first"), 422, "first")
    told(client.get(f"{own}/features/4"), 404, "0 to 3")
    told(client.post(f"{own}/point", json={"values": {"ages": 3}}), 400, "'ages'", "age, in_us")
    told(client.post(f"{own}/point", content=b"{"), 422, "JSON")
    told(client.get("/nowhere"), 404, "/openapi.json")
    told(client.put("/api/limits"), 405, "PUT")
    told(client.get("/static/../app.py"), 404)
    told(client.get("/static/%2e%2e/app.py"), 404)
    for change, reason in (
        ({"feature": "aeg"}, "'aeg'"),
        ({"label": "maybe"}, "'maybe'"),
        ({"value": "0-17"}, "18-35, 36-55, over 55"),
        ({"n_cells": 99}, "at most"),
        ({"do": "fill", "n_cells": 2}, "1 cells"),
    ):
        full = {"do": "blank", "feature": "age", "label": "no", "value": "18-35", **change}
        told(client.post(f"{own}/what-if", json={"changes": [full]}), 400, reason)


FOREIGN: list[tuple[dict[str, str], int]] = [
    ({"host": "evil.example"}, 421),
    ({"host": "evil.example:80"}, 421),
    ({"host": "127.0.0.1.evil.example"}, 421),
    ({"host": "user@127.0.0.1"}, 421),
    ({"host": "127.0.0.1:x"}, 421),
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


def test_files_of_the_page_are_sent_once(server: Served) -> None:
    """A browser that has a file is told so; each has its kind, and can only be read."""
    for path, kind in (("/", "text/html"), ("/static/main.js", "text/javascript")):
        whole = server.client.get(path)
        assert whole.headers["content-type"] == f"{kind}; charset=utf-8"
        assert whole.headers["cache-control"] == "no-cache"
        mark = whole.headers["etag"]
        for own in (mark, f"W/{mark}"):
            again = server.client.get(path, headers={"if-none-match": own})
            assert (again.status_code, again.content) == (304, b"")
        assert server.client.get(path, headers={"if-none-match": '"x"'}).content == whole.content
    head = server.client.head("/static/icon.svg")
    assert (head.headers["content-type"], head.content) == ("image/svg+xml", b"")
    told(server.client.post("/static/main.js"), 405)


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


def test_the_api_describes_itself(server: Served) -> None:
    """OpenAPI names every path with a description, and its errors have the one form they have."""
    api = server.client.get("/openapi.json").json()
    assert {"/api/tables", "/api/analyses", "/api/analyses/{analysis}/what-if"} <= {*api["paths"]}
    assert all(path.startswith("/api/") for path in api["paths"])
    for path, methods in api["paths"].items():
        for method, about in methods.items():
            assert about["description"], (method, path)
            for code, answer in about["responses"].items():
                if code.startswith("4"):
                    form = answer["content"]["application/json"]["schema"]["$ref"]
                    assert form.endswith("/ErrorForm"), (method, path, code)
    assert server.client.get("/docs").status_code == 404


def test_the_examples_of_the_api_work(server: Served, example: Example) -> None:
    """What OpenAPI shows as a question can be asked."""
    name, *_ = example
    forms = server.client.get("/openapi.json").json()["components"]["schemas"]
    for form, path, shown in (
        ("WhatIf", "what-if", "WhatIfAnswer"),
        ("PointQuestion", "point", "PointAnswer"),
        ("SupportQuestion", "support", "SupportAnswer"),
    ):
        answer = server.client.post(f"/api/analyses/{name}/{path}", json=forms[form]["examples"][0])
        assert answer.status_code == 200, answer.text
        assert {*answer.json()} == {*forms[shown]["properties"]}
    order = {**forms["AnalysisOrder"]["examples"][0]}
    order["table"] = server.client.post("/api/example").json()["train"]["id"]
    analysed(server.client, **order)


def test_the_script_of_the_docs(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What docs/web.md shows to script writers works as it stands."""
    text = (Path(__file__).parents[2] / "docs/web.md").read_text("utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "train.csv").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(script.replace("http://127.0.0.1:8321", server.url), names)
    names["client"].close()
    assert names["analysis"]["state"] == "done"
    answers = [line for line in script.splitlines() if line.startswith("client.")]
    assert len(answers) == 10


def test_the_oldest_make_room(tmp_path: Path) -> None:
    """No more is kept than allowed; what nobody asked for longest goes first, with its file."""
    with served(tmp_path, max_tables=2, max_analyses=2) as server:
        tables = [upload(server.client, HOLES)["id"] for _ in range(2)]
        server.client.get(f"/api/tables/{tables[0]}")
        tables.append(upload(server.client, HOLES)["id"])
        codes = [server.client.get(f"/api/tables/{one}").status_code for one in tables]
        assert codes == [200, 404, 200]
        assert len([*server.folder.iterdir()]) == 2
        made = [analysed(server.client, table=tables[0], label="y") for _ in range(3)]
        codes = [server.client.get(f"/api/analyses/{one}").status_code for one in made]
        assert codes == [404, 200, 200]
    # An analysis holds its table a moment longer than it takes to be done.
    until(lambda: [*server.folder.iterdir()] == [])


def test_the_old_go(tmp_path: Path) -> None:
    """What nobody asked for in a while is dropped."""
    with served(tmp_path, max_age=0.2) as server:
        table = upload(server.client, HOLES)["id"]
        time.sleep(0.3)
        assert server.client.get(f"/api/tables/{table}").status_code == 404
        assert [*server.folder.iterdir()] == []
