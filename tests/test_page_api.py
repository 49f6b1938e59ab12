"""The page's HTTP API: every answer is the library's, every mistake one sentence."""

from __future__ import annotations

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command_line import TRAIN as CUSTOMERS
from support.command_line import Runner, demo_tables
from support.page import filled, rows
from support.web_server import (
    HOLES,
    Example,
    Served,
    analysed,
    served,
    state,
    told,
    until,
    upload,
)

from nullproof import CountIndex, certify, label_odds, radius, tolerance

# Threads share one list of filters; the command switches these notices off too.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]
FEATURES = ("a", "b", "c")
TRAIN, POINTS = rows(150, 1), rows(40, 2)
PEOPLE = [
    *(("n1", "u", "x", "p"), ("n2", "u", "", "p"), ("n3", "v", "y", "q"), ("n4", "", "y", "q")),
    *(("n5", "v", "x", "q"), ("n6", "u", "odd", "p"), ("n7", "v", "y", ""), ("n8", "u", "x", "")),
]
TABLE = "\n".join(["who,a,b,y", *(",".join(row) for row in PEOPLE)]) + "\n"
NEW = "who,a,b,y\nm1,u,x,q\nm2,v,,q\nm3,u,y,p\n"
ORDER: dict[str, Any] = {"label": "y", "key": "who", "unlabelled": "drop", "missing": ["odd"]}


@pytest.fixture(scope="module")
def example(server: Served) -> Example:
    """The embedded example, analysed by the server, and counted by the library."""
    made = server.client.post("/api/example").json()
    name = analysed(
        server.client,
        table=made["train"]["id"],
        points=made["points"]["id"],
        label=made["label"],
        key=made["key"],
    )
    train, new = demo_tables()
    return name, CountIndex.from_table(train, "churn", ignore=["customer"]), new


@pytest.fixture(scope="module")
def tables(server: Served) -> tuple[str, str]:
    """Two small tables: people with a key, two of them without a label, and new ones."""
    return upload(server.client, TABLE)["id"], upload(server.client, NEW)["id"]


# The example ---------------------------------------------------------------------------------------


def test_a_point_is_explained(server: Served, example: Example) -> None:
    """Verdict, intervals, radius and odds of a point are those of the library."""
    name, index, new = example
    certificates, radii, odds = (
        certify(index, new),
        radius(index, new).radius,
        label_odds(index, new),
    )
    for place in range(len(new)):
        answer = server.client.get(f"/api/analyses/{name}/points/{place}").json()
        values = {cell["feature"]: cell["value"] for cell in answer["values"]}
        assert values == {name: new[name][place] for name in index.features}
        assert answer["certain"] == certificates[place].certain
        assert answer["radius"] == radii[place]
        if not answer["certain"]:
            shown = {one["label"]: one["lower"] for one in answer["odds"]}
            assert shown == {label: pair[0] for label, pair in odds[place].items()}
            winners = [set(world["winners"]) for world in answer["worlds"]]
            assert winners[0] != winners[1]


def test_downloads(server: Served, example: Example) -> None:
    """The report and the certificates can be taken home."""
    name, index, new = example
    path = f"/api/analyses/{name}/files/"
    saved = server.client.get(path + "certificates.csv")
    assert saved.headers["content-disposition"].startswith("attachment; filename=")
    expected = certify(index, new).certain.tolist()
    assert pl.read_csv(io.BytesIO(saved.content))["certain"].to_list() == expected
    assert server.client.get(path + "report.html").text.startswith("<!doctype html>")
    assert server.client.get(path + "document.json").json()["certain"]["n_certain"] == sum(expected)
    told(server.client.get(path + "passwd"), 422, "report.html")


# Bias and missing cells of points ------------------------------------------------------------------


@pytest.fixture(scope="module")
def index() -> CountIndex:
    return CountIndex.from_table(pl.read_csv(io.StringIO(TRAIN)), "y")


@pytest.fixture(scope="module")
def points() -> pl.DataFrame:
    return pl.read_csv(io.StringIO(POINTS))


def ordered(server: Served, points: str | bytes | None = POINTS, **order: Any) -> str:
    """Analyse the table with some settings."""
    named = None if points is None else upload(server.client, points)["id"]
    table = upload(server.client, TRAIN)["id"]
    return analysed(server.client, table=table, points=named, label="y", alpha=1, **order)


@pytest.mark.parametrize("own_missing", ["skip", "any"])
@pytest.mark.parametrize("bias", [1, 0.05, 0.3])
def test_every_answer_follows_the_settings(
    server: Served, index: CountIndex, points: pl.DataFrame, own_missing: Any, bias: float
) -> None:
    """List, point and file say what `certify` says with the same options."""
    own = f"/api/analyses/{ordered(server, own_missing=own_missing, bias=bias)}"
    expected = certify(index, points, alpha=1, own_missing=own_missing, bias=bias)
    page = server.client.get(f"{own}/points", params={"limit": 100}).json()
    assert page["bias"] == expected.threshold
    for line in page["points"]:
        one = expected[line["point"]]
        assert line["predicted"] == one.predicted
        assert line["verdict"] == expected.verdict[line["point"]]
        assert (line["certain"], line["possible"]) == (one.certain, [*one.possible])
        assert line["tolerance"] == (None if one.tolerance != one.tolerance else one.tolerance)
        assert (line["rival"], line["n_own_missing"]) == (one.rival, one.n_own_missing)
    for place in range(0, 40, 7):
        answer = server.client.get(f"{own}/points/{place}").json()
        values = {cell["feature"]: cell["value"] for cell in answer["values"]}
        assert values == {name: points[name][place] for name in FEATURES}
        # Possible labels and supports are those of all worlds, whatever the bias.
        strict = certify(index, points[place], alpha=1, own_missing=own_missing)[0]
        assert answer["possible"] == [*strict.possible]
        low = {one["label"]: one["low"] for one in answer["support"]}
        assert low == pytest.approx(strict.min_log_support)
    saved = pl.read_csv(server.client.get(f"{own}/files/certificates.csv").content)
    assert saved["certain"].to_list() == expected.certain.tolist()


def test_the_curve_counts_as_verdicts_do(
    server: Served, index: CountIndex, points: pl.DataFrame
) -> None:
    """As many hold at a bias of the slider as `certify` with that bias finds; the threshold is one."""
    own = f"/api/analyses/{ordered(server, bias=0.013)}"
    drawn = server.client.get(f"{own}/document").json()["curve"]["drawn"]
    assert {0, 0.013, 0.05, 1} <= {*drawn["bias"]}
    for bias, n_hold in zip(drawn["bias"], drawn["n_hold"], strict=True):
        assert n_hold == certify(index, points, alpha=1, bias=bias).certain.sum()


def test_the_list_can_be_filtered_at_any_bias(
    server: Served, index: CountIndex, points: pl.DataFrame
) -> None:
    """A verdict is that of the bias that is asked about, whatever the analysis was ordered with."""
    own = f"/api/analyses/{ordered(server, points=None)}"
    found = tolerance(index, index.encode(pl.read_csv(io.StringIO(TRAIN))), alpha=1)
    for bias in (0, 0.2, 1):
        wanted = {"certain": found == 1, "holds": (found >= bias) & (found < 1)}
        wanted["open"] = ~(wanted["certain"] | wanted["holds"])
        for verdict, those in wanted.items():
            asked = {"verdict": verdict, "bias": bias, "limit": 1000}
            page = server.client.get(f"{own}/points", params=asked).json()
            assert [line["point"] for line in page["points"]] == those.nonzero()[0].tolist()
            assert {line["verdict"] for line in page["points"]} <= {verdict}
    path = f"{own}/points"
    page = server.client.get(path, params={"offset": 1, "limit": 2}).json()
    assert page["n_points"] > len(page["points"]) == 2
    told(server.client.get(path, params={"verdict": "robust"}), 422, "'robust'")


# Orders --------------------------------------------------------------------------------------------


def address(server: Served, tables: tuple[str, str], **more: Any) -> str:
    """The address of an analysis of the new points."""
    wanted = {"table": tables[0], "points": tables[1], **ORDER, **more}
    return f"/api/analyses/{analysed(server.client, **wanted)}"


def error_of(server: Served, **order: Any) -> str:
    """Why an analysis fails."""
    name = server.client.post("/api/analyses", json=order).json()["id"]
    until(lambda: state(server.client, name)["state"] == "failed")
    return str(state(server.client, name)["error"])


def test_points_have_names_and_true_labels(server: Served, tables: tuple[str, str]) -> None:
    """The key names points and is no feature; points are found by all of it."""
    own = address(server, tables)
    lines = server.client.get(f"{own}/points").json()["points"]
    assert [(line["key"], line["truth"]) for line in lines] == [
        *(("m1", "q"), ("m2", "q"), ("m3", "p")),
    ]
    one = server.client.get(f"{own}/points/2").json()
    assert {cell["feature"] for cell in one["values"]} == {"a", "b"}
    assert (one["key"], one["truth"]) == ("m3", "p")

    def found(**asked: Any) -> list[int]:
        listed = server.client.get(f"{own}/points", params=asked).json()["points"]
        return [line["point"] for line in listed]

    assert [found(find=text) for text in ("2", "#0", "M2", "v", "none such")] == [
        *([2], [0], [1], [1], []),
    ]
    right = [line["point"] for line in lines if line["truth"] == line["predicted"]]
    assert found(right=True) == right
    assert found(right=False) == [place for place in range(3) if place not in right]
    tolerances = [line["tolerance"] for line in lines]
    weakest = sorted(
        range(3), key=lambda place: -1 if tolerances[place] is None else tolerances[place]
    )
    assert found(sort="tolerance") == weakest


def test_rows_are_found_in_capitals_and_not(server: Served) -> None:
    """Letters count as the same in any script, also where one of them becomes two."""
    people = ["Straße,u,p", "STRASSE,v,q", "ΟΔΟΣ ΜΕΓΑΛΗ,u,p", "οδός,v,q"]
    table = upload(server.client, "\n".join(["who,a,y", *people]))["id"]
    own = f"/api/analyses/{analysed(server.client, table=table, label='y', key='who')}/points"
    for typed, places in (("strasse", [0, 1]), ("STRAßE", [0, 1]), ("οδοσ", [2]), ("ΟΔΌΣ", [3])):
        listed = server.client.get(own, params={"find": typed}).json()["points"]
        assert [line["point"] for line in listed] == places


def test_a_number_is_first_a_name_then_a_position(server: Served) -> None:
    """Names that are numbers are what the page shows, so they come before positions; # is a position."""
    table = "id,a,y\n" + "".join(f"{n},{'uv'[n % 2]},{'pq'[n % 2]}\n" for n in range(1, 16))
    made = analysed(server.client, table=upload(server.client, table)["id"], label="y", key="id")
    for typed, places in (
        ("5", [4]),
        ("#5", [5]),
        ("0", [0]),
        ("14", [13]),
        ("1", [0]),
        ("16", []),
    ):
        listed = server.client.get(f"/api/analyses/{made}/points", params={"find": typed}).json()
        assert [line["point"] for line in listed["points"]] == places


def test_rows_without_a_label_are_left_out(server: Served, tables: tuple[str, str]) -> None:
    """They are counted before the run, refused by default, and left out if the order says so."""
    described = server.client.get(f"/api/tables/{tables[0]}").json()
    assert described["columns"][3]["n_unlabelled"] == 2
    assert "label" in error_of(server, table=tables[0], label="y")
    document = server.client.get(f"{address(server, tables)}/document").json()
    assert document["table"]["n_rows"] == 6


@pytest.mark.parametrize(
    ("header", "row", "label"),
    [
        ("a,b", ("uvw"[k % 3] + "," + "wxyz"[k % 4] for k in range(9)), "b"),
        ("Class,b", (f"{k % 7},{'wxyz'[k % 4]}" for k in range(30)), "Class"),
        ("price,b", (f"{k}.5,{'wxyz'[k % 4]}" for k in range(600)), "b"),
        ("id,price", (f"c{k},{k}.5" for k in range(600)), None),
    ],
)
def test_a_label_is_proposed(server: Served, header: str, row: Any, label: str | None) -> None:
    """By its name, else the last column with few values; never one that cannot be a label."""
    assert upload(server.client, "\n".join([header, *row]))["label"] == label


# Worksheets that come back -------------------------------------------------------------------------


def send(server: Served, content: Any, name: str = "filled.csv") -> Any:
    return server.client.post("/api/worksheets", params={"name": name}, content=content)


def sheet_of(server: Served, analysis: str) -> str:
    return server.client.get(f"/api/analyses/{analysis}/files/worksheet.csv").text


@pytest.mark.parametrize("points", [True, False])
def test_answers_are_those_of_the_command(
    server: Served, run: Runner, folder: Path, points: bool
) -> None:
    """Every verdict is that of the repaired file, counted as before; the next worksheet is the same."""
    train, new = rows(40, 3), rows(12, 4)
    order = {"table": upload(server.client, train)["id"], "label": "y"}
    if points:
        order["points"] = upload(server.client, new, "p.csv")["id"]
    first = analysed(server.client, **order)
    sheet_before = sheet_of(server, first)
    answers = filled(sheet_before, 9)
    sheet = send(server, answers, "folder/filled.csv").json()
    assert (sheet["name"], sheet["n_lines"]) == ("filled.csv", len(answers.splitlines()) - 1)
    # Two sheets of one name are both taken; the second has no answers.
    unanswered = send(server, sheet_before).json()["id"]
    second = analysed(server.client, **order, answers=[sheet["id"], unanswered], compare=first)

    for name, content in (("filled.csv", answers), ("t.csv", train), ("p.csv", new)):
        (folder / name).write_text(content)
    test = ["p.csv"] if points else []
    clean = ["-q", "clean", "t.csv", *test, "--label", "y"]
    assert run(*clean, "-o", "first.csv").code == 0
    assert sheet_before == (folder / "first.csv").read_text("utf-8")
    taken = [*clean, "--answers", "filled.csv"]
    assert run(*taken, "--repaired", "t2.csv").code == 0
    like = ["--like", "t2.csv.before.index", "--json"]
    expected = json.loads(run("-q", "certify", "t2.csv", *test, *like).out)["points"]
    shown = server.client.get(f"/api/analyses/{second}/points").json()["points"]
    for one, other in zip(shown, expected, strict=True):
        same = {*one} & {*other}
        assert {name: one[name] for name in same} == {name: other[name] for name in same}
    assert run(*taken, "-o", "left.csv").code == 0
    assert sheet_of(server, second) == (folder / "left.csv").read_text("utf-8")
    document = server.client.get(f"/api/analyses/{second}/document").json()
    assert "filled.csv" in json.dumps(document["asked"]["options"])
    assert document["compared"]["measures"]


def test_a_worksheet_that_cannot_be_taken_is_told(server: Served) -> None:
    """One sentence with the name of the file as the person knows it; no path, no file stays."""
    order = {"table": upload(server.client, rows(40, 3))["id"], "label": "y"}
    first = analysed(server.client, **order)
    left = sorted(server.folder.iterdir())
    good = sheet_of(server, first)
    told(send(server, "a,b\n1,2\n"), 400, "filled.csv", "'row'")
    told(send(server, b"\xff\xfe\x00", "x.csv"), 400, "x.csv")
    told(send(server, b"PK\x03\x04no", "x.xlsx"), 400, "x.xlsx")
    told(send(server, good + "x" * (4 << 20)), 413, "filled.csv is larger than 1 MB")
    for content, reason in (
        (filled(good, 2, "nothing of the kind"), "filled.csv, line 2: 'nothing of the kind'"),
        (re.sub(r",c\w{8}\b", ",c12345678", filled(good, 1)), "filled.csv, line 2 (row"),
    ):
        sheet = send(server, content).json()["id"]
        made = server.client.post("/api/analyses", json={**order, "answers": [sheet]}).json()["id"]
        until(lambda name=made: state(server.client, name)["state"] == "failed")
        assert reason in state(server.client, made)["error"]
        assert str(server.folder) not in state(server.client, made)["error"]
        server.client.delete(f"/api/tables/{sheet}")
    told(
        server.client.post("/api/analyses", json={**order, "answers": ["x"]}),
        404,
        "no uploaded file",
    )
    told(server.client.post("/api/analyses", json={**order, "compare": "x"}), 404, "analysis")
    assert sorted(server.folder.iterdir()) == left


def test_a_worksheet_may_be_as_large_as_a_table(server: Served) -> None:
    """Like any upload it is neither a question of limited size nor of a size that must be known."""
    table = upload(server.client, rows(40, 3))["id"]
    sheet = sheet_of(server, analysed(server.client, table=table, label="y")).encode()
    assert send(server, iter([sheet, b"\n"])).status_code == 201
    told(send(server, "x" * (5 << 20)), 413, "filled.csv is larger than 1 MB", "--max-upload")


def test_the_next_worksheet_needs_the_answers_before(server: Served) -> None:
    """If they are deleted, their file is named, as the table would be."""
    order = {"table": upload(server.client, rows(40, 3), "mine.csv")["id"], "label": "y"}
    sheet = sheet_of(server, analysed(server.client, **order))
    answers = send(server, filled(sheet, 4)).json()["id"]
    made = analysed(server.client, **order, answers=[answers])
    for name, gone in (
        (answers, "filled.csv was deleted"),
        (order["table"], "mine.csv was deleted"),
    ):
        server.client.delete(f"/api/tables/{name}")
        told(server.client.get(f"/api/analyses/{made}/files/worksheet.csv"), 409, gone)


# What cannot be done -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "status", "reasons"),
    [
        ({"table": "nothing", "label": "y"}, 404, ["no uploaded file 'nothing'"]),
        ({"label": "y", "alpha": "lots"}, 400, ["'lots' is not a number"]),
        ({"label": "y", "alpha": -1}, 400, ["alpha is -1"]),
        ({"label": "y", "bias": 1.5}, 422, ["bias", "1.5"]),
        ({"label": "y", "own_missing": "guess"}, 422, ["own_missing", "'guess'", "'skip'"]),
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


def test_failed_analyses_say_why(server: Served) -> None:
    """What is found out while working is told by the state, and nothing else can be asked."""
    table = upload(server.client, HOLES, "mine.csv")["id"]
    other = upload(server.client, "c,d\n1,2\n")["id"]
    orders: list[tuple[dict[str, Any], str]] = [
        ({"label": "why"}, "there is no column 'why'"),
        ({"label": "y", "ignore": ["no"]}, "'no'"),
        ({"label": "b"}, "b"),
        ({"label": "y", "points": other}, "the points lack"),
    ]
    for order, reason in orders:
        name = server.client.post("/api/analyses", json={"table": table, **order}).json()["id"]
        until(lambda name=name: state(server.client, name)["state"] == "failed")
        error = state(server.client, name)["error"]
        assert reason in error
        assert str(server.folder) not in error
        for path in ("document", "points/0", "files/certificates.csv", "sections"):
            told(server.client.get(f"/api/analyses/{name}/{path}"), 409, "failed", reason)


def test_questions_about_nothing(server: Served, example: Example) -> None:
    """Whatever is not there is told, with what is."""
    name, *_ = example
    client, own = server.client, f"/api/analyses/{name}"
    told(client.get("/api/analyses/none/document"), 404, "no analysis")
    told(client.delete("/api/analyses/none"), 404, "no analysis")
    table = upload(client, HOLES)["id"]
    with ThreadPoolExecutor(8) as pool:
        deleted = list(pool.map(lambda _: client.delete(f"/api/tables/{table}"), range(8)))
    assert sorted(answer.status_code for answer in deleted) == [204, *[404] * 7]
    told(client.get(f"{own}/points/8"), 404, "0 to 7")
    told(client.post("/api/analyses", content=b"{"), 422, "JSON")
    told(client.get("/nowhere"), 404, "/openapi.json")
    told(client.put("/api/limits"), 405, "PUT")
    told(client.get("/static/%2e%2e/app.py"), 404)


# The API as a whole --------------------------------------------------------------------------------


def test_the_example_of_the_api_works(server: Served) -> None:
    """What OpenAPI shows as an order can be ordered."""
    forms = server.client.get("/openapi.json").json()["components"]["schemas"]
    order = {**forms["Order"]["examples"][0]}
    order["table"] = server.client.post("/api/example").json()["train"]["id"]
    analysed(server.client, **order)


def test_the_script_of_the_docs(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What docs/web.md shows to script writers works as it stands."""
    text = (Path(__file__).parents[1] / "docs/web.md").read_text("utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "train.csv").write_text(CUSTOMERS)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(script.replace("http://127.0.0.1:8321", server.url), names)
    names["client"].close()
    assert names["analysis"]["state"] == "done"
    answers = [line for line in script.splitlines() if line.startswith("client.")]
    assert len(answers) == 6


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
