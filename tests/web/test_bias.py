"""Bias and a point's own holes over the API: every answer is the library's with the same options."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl
import pytest
from support.page import rows
from support.web_server import Served, analysed, told, upload

from nullproof import CountIndex, certify, tolerance
from nullproof.curve import BIASES

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
FEATURES = ("a", "b", "c")
Question = dict[str, Any]


TRAIN, POINTS = rows(150, 1), rows(40, 2)


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
    """List, point, typed point and file say what `certify` says with the same options."""
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
        assert (line["tolerance_rival"], line["n_own_missing"]) == (one.rival, one.n_own_missing)
    for place in range(0, 40, 7):
        values = {name: points[name][place] for name in FEATURES}
        answer = server.client.get(f"{own}/points/{place}").json()
        typed = server.client.post(f"{own}/point", json={"values": values}).json()
        assert {**answer, "point": None, "truth": None} == typed
        assert answer["values"] == values
        assert answer["possible"] == [*expected[place].possible]
        low = {one["label"]: one["low"] for one in answer["support"]}
        assert low == pytest.approx(expected[place].min_log_support)
    saved = pl.read_csv(server.client.get(f"{own}/files/certificates.csv").content)
    assert saved["certain"].to_list() == expected.certain.tolist()


def test_the_curve_counts_as_verdicts_do(
    server: Served, index: CountIndex, points: pl.DataFrame
) -> None:
    """As many hold at a bias as `certify` with that bias finds, and as many of them are right."""
    own = f"/api/analyses/{ordered(server)}"
    asked = [0, 0.013, 0.05, 0.31, 0.75, 1]
    answer = server.client.get(f"{own}/curve", params={"bias": asked}).json()
    assert (answer["n_points"], answer["n_labelled"]) == (40, 40)
    assert (answer["own_missing"], answer["bias"], answer["threshold"]) == ("skip", 1, 0.05)
    truth = points["y"].to_list()
    for step, bias in zip(answer["at"], asked, strict=True):
        found = certify(index, points, alpha=1, bias=bias)
        right = [label == true for label, true in zip(found.predicted, truth, strict=True)]
        for kind, wanted in (("hold", True), ("open", False)):
            those = [
                is_so
                for is_so, held in zip(right, found.certain.tolist(), strict=True)
                if held is wanted
            ]
            assert step[f"n_{kind}"] == len(those)
            assert step[f"accuracy_{kind}"] == (sum(those) / len(those) if those else None)
    assert answer["n_certain"] == answer["at"][-1]["n_hold"]
    default = server.client.get(f"{own}/curve").json()
    assert [step["bias"] for step in default["at"]] == [*BIASES]


@pytest.mark.parametrize(
    ("content", "n_labelled"),
    [
        (rows(10, 4), 10),
        ("a,b,c\nu,x,x\n", None),
        ("a,b,c,y\nu,x,x,p\nv,y,y,\nw,z,z,never\n", 2),
        ("a,b,c,y\nu,x,x,\n", None),
    ],
)
def test_only_labelled_points_are_right_or_wrong(
    server: Served, content: str, n_labelled: int | None
) -> None:
    """Accuracy is told of the points whose own label is known, and of nothing else."""
    own = f"/api/analyses/{ordered(server, content)}"
    answer = server.client.get(f"{own}/curve", params={"bias": 0}).json()
    assert answer["n_labelled"] == n_labelled
    (step,) = answer["at"]
    known = [step["accuracy_hold"], step["accuracy_open"]] != [None, None]
    assert known == (n_labelled is not None)


def test_odd_labels_of_points_are_no_labels(server: Served) -> None:
    """A spelling of missing is no label, and neither is a list."""
    content = "a,b,c,y\nu,x,x,?\nv,y,y,p\n"
    own = f"/api/analyses/{ordered(server, content, missing=['?'])}"
    assert server.client.get(f"{own}/curve").json()["n_labelled"] == 1
    lists = io.BytesIO()
    pl.DataFrame({"a": ["u"], "b": ["x"], "c": ["x"], "y": [["p", "q"]]}).write_parquet(lists)
    own = f"/api/analyses/{ordered(server, lists.getvalue())}"
    assert server.client.get(f"{own}/curve").json()["n_labelled"] is None


def test_labels_are_compared_as_the_index_names_them(server: Served) -> None:
    """Labels that are numbers or true and false in one file are recognised in the other."""
    for labels, others in ((("true", "false"), ("true", "false")), (("1", "2"), ("1.0", "2.0"))):
        lines = [f"{'uv'[n % 2]},{labels[n % 2]}" for n in range(8)]
        table = upload(server.client, "a,y\n" + "\n".join(lines))["id"]
        same = f"a,y\nu,{others[0]}\nv,{others[1]}\nv,{others[1]}\n"
        other = upload(server.client, same)["id"]
        name = analysed(server.client, table=table, points=other, label="y")
        answer = server.client.get(f"/api/analyses/{name}/curve", params={"bias": 1}).json()
        assert answer["at"][0]["accuracy_hold"] == 1, labels


@pytest.mark.parametrize("bias", [0, 0.02, 0.4, 1])
def test_support_at_a_bias(
    server: Served, index: CountIndex, points: pl.DataFrame, bias: float
) -> None:
    """The bars of a point at a bias are those of `certify`, also on a table with cells changed."""
    own = f"/api/analyses/{ordered(server, bias=0.1)}"
    fill = {"do": "fill", "feature": "a", "label": "p", "value": "u", "n_cells": 3}
    changed = index.fill("a", "u", "p", n_cells=3)
    for place in range(0, 40, 9):
        values = {name: points[name][place] for name in FEATURES}
        for counted, changes in ((index, []), (changed, [fill])):
            question = {"values": values, "changes": changes, "bias": bias}
            answer = server.client.post(f"{own}/support", json=question).json()
            expected = certify(counted, values, alpha=1, bias=bias)
            assert (answer["bias"], answer["certain"]) == (bias, expected.certain)
            assert (answer["label"], answer["possible"]) == (expected.label, [*expected.possible])
            for side, logs in (
                ("low", expected.min_log_support),
                ("high", expected.max_log_support),
            ):
                assert {one["label"]: one[side] for one in answer["support"]} == pytest.approx(logs)


def test_what_if_keeps_bias_and_own_missing(
    server: Served, index: CountIndex, points: pl.DataFrame
) -> None:
    """Certainty on the changed table is that of the same bias and reading."""
    fill = {"do": "fill", "feature": "a", "label": "p", "value": "u", "n_cells": 5}
    changed = index.fill("a", "u", "p", n_cells=5)
    for own_missing, bias in (("skip", 0.1), ("any", 0.1), ("skip", 1)):
        own = f"/api/analyses/{ordered(server, own_missing=own_missing, bias=bias)}"
        answer = server.client.post(f"{own}/what-if", json={"changes": [fill]}).json()
        options: Any = {"alpha": 1, "own_missing": own_missing, "bias": bias}
        before, after = (certify(counted, points, **options) for counted in (index, changed))
        assert answer["n_certain_before"] == before.certain.sum()
        assert answer["n_certain"] == after.certain.sum()
        for line in answer["changed"]:
            found = float(after.tolerance[line["point"]])
            assert line["tolerance"] == (None if found != found else found)


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


WRONG = [-0.1, 1.5, float("nan"), float("inf"), "lots", True, None, [0.1], 10**400]


@pytest.mark.parametrize("bias", WRONG, ids=lambda bias: str(bias)[:8])
def test_a_wrong_bias_is_told(server: Served, bias: Any) -> None:
    """A bias that is none is refused in one sentence, wherever it is given."""
    table = upload(server.client, TRAIN)["id"]
    own = f"/api/analyses/{ordered(server)}"
    for path, question in (
        ("/api/analyses", {"table": table, "label": "y"}),
        (f"{own}/support", {"values": {}}),
    ):
        content = json.dumps({**question, "bias": bias})
        answer = server.client.post(
            path, content=content, headers={"content-type": "application/json"}
        )
        told(answer, 422, "bias came as")
    for path in ("points", "curve"):
        if not isinstance(bias, list | bool | None):
            answer = server.client.get(f"{own}/{path}", params={"bias": str(bias)})
            told(answer, 422, "bias", "came as")


def test_other_wrong_settings_are_told(server: Served) -> None:
    """An unknown reading, no bias, and too many of them are refused."""
    table = upload(server.client, TRAIN)["id"]
    order = {"table": table, "label": "y", "own_missing": "guess"}
    told(server.client.post("/api/analyses", json=order), 422, "own_missing", "'guess'", "'skip'")
    own = f"/api/analyses/{ordered(server)}"
    told(server.client.post(f"{own}/support", json={"values": {}}), 422, "bias", "required")
    many = {"bias": [0.1] * 201}
    told(server.client.get(f"{own}/curve", params=many), 422, "bias", "200")
    told(server.client.get(f"{own}/points", params={"verdict": "robust"}), 422, "'robust'")
    question: Question = {"values": {"d": 1}, "bias": 0.1}
    told(server.client.post(f"{own}/support", json=question), 400, "'d'", "a, b, c")
    told(server.client.get("/api/analyses/none/curve"), 404, "no analysis")
