"""What a report tells first: findings, the next step, accuracy, what was asked, and no empty section."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Runner, one_line, write_customers

from nullproof import CountIndex, explain, report
from nullproof.cli.demo import load
from nullproof.radii import certified_accuracy_curve
from nullproof.reporting.order import TITLES, sections
from nullproof.reporting.reports import Report

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
ROWS, LABELS = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y")], ["yes", "yes", "no", "no"]
ASK = ("--label", "churn", "--key", "customer")


def told(rows: list[Any], labels: list[str], points: Any, **options: Any) -> Report:
    return report(CountIndex.from_rows(rows, labels), points, **options)


def test_what_matters_most_leads() -> None:
    """The radius leads where nothing is missing, tolerance and odds where nothing is certain."""
    whole = told(ROWS, LABELS, [("a", "x"), ("b", "y")], truth=["yes", "no"])
    assert sections(whole.document)[:3] == ["fragility", "accuracy", "attack"]
    assert "one world" in whole.html()
    holed = told([(None,), (None,), ("a",), ("b",)], LABELS, [("a",)])
    assert holed.document["certain"]["n_certain"] == 0
    assert [name for name in sections(holed.document) if name != "data"][:2] == [
        "tolerance",
        "open",
    ]
    assert not {"fragility", "attack", "accuracy"} & {*sections(holed.document)}


def test_nothing_empty_is_told() -> None:
    """A section without content is neither on the page nor in its contents, nor in Markdown."""
    train, new = load()
    demo = report(CountIndex.from_table(train, "churn", ignore=["customer"]), new, alpha=0)
    whole = told(ROWS, LABELS, [("a", "x")])
    for made in (demo, whole, told(ROWS, LABELS, [])):
        page, names = made.html(), sections(made.document)
        assert re.findall(r'<section id="(\w+)"', page) == names
        assert re.findall(r'<li><a href="#(\w+)"', page) == names
        assert made.markdown().count("\n## ") == len({*names} - {"points"})
        assert "0 of 0" not in page
        assert "None" not in page
    assert {*sections(demo.document)} < {*TITLES}
    assert sections(told(ROWS, LABELS, []).document) == ["asked"]


def test_findings_and_what_was_asked(run: Runner, folder: Path) -> None:
    """Three findings, a next command that runs, and a command that makes the same report again."""
    write_customers(folder)
    assert run("report", "customers.csv", "new.csv", *ASK, "-o", "r.json").code == 0
    first = json.loads((folder / "r.json").read_text("utf-8"))
    assert len(first["findings"]) == 3
    assert (first["asked"]["train"], first["asked"]["test"]) == ("customers.csv", "new.csv")
    assert run(*shlex.split(first["asked"]["command"])[1:]).code == 0
    again = json.loads((folder / "r.json").read_text("utf-8"))
    for document in (first, again):
        assert document["asked"].pop("date").endswith("UTC")
    assert again == first
    assert run(*shlex.split(first["next"]["command"])[1:]).code == 0


def test_any_point_can_be_asked_for(run: Runner, folder: Path) -> None:
    """--point lists it beside the sample, by number or key; the report says how, and what --limit gives."""
    write_customers(folder)
    few = ("report", "customers.csv", "new.csv", "--label", "churn", "--limit", "2")
    plain = json.loads(run(*few, "--ignore", "customer", "--json").out)
    left = next(n for n in range(5) if n not in [point["point"] for point in plain["points"]])
    assert "--point" in plain["sample"]["more"]
    asked = (*few, "--ignore", "customer", "--point", f"{left}")
    for form in ("html", "md"):
        assert plain["sample"]["more"] in run(*asked, "--format", form).out
    more = json.loads(run(*asked, "--json").out)
    assert [point["point"] for point in more["points"]] == sorted(
        [left, *(point["point"] for point in plain["points"])]
    )
    assert more["sample"]["how"].endswith("besides 1 point that was asked for")
    assert f"--limit 2 --point {left}" in more["asked"]["command"]
    named = json.loads(run(*few, "--key", "customer", "--point", "11037", "--json").out)
    assert "11037" in [point["key"] for point in named["points"]]
    refused = run(*few, "--key", "customer", "--point", "11")
    assert (refused.code, "but no point has this name" in refused.err) == (2, True)


def test_right_predictions_are_told_without_points(run: Runner, folder: Path) -> None:
    """The training rows have labels, so what certify says of them a report says too."""
    write_customers(folder)
    certified = json.loads(run("certify", "customers.csv", *ASK, "--json").out)
    found = json.loads(run("report", "customers.csv", *ASK, "--json").out)
    for group in found["verdicts"]["groups"]:
        own = certified["truth"][group["verdict"]]
        assert (group["n_known"], group["n_right"]) == (own["n"], own["n_right"])
    assert found["asked"]["training_rows"]
    assert "training rows themselves" in found["notes"][0]


def test_notices_of_reading_are_told_once(run: Runner, folder: Path) -> None:
    """What was left out or taken as missing while the file was read is in the report, and on stderr."""
    lines = [
        "id,plan,constant,churn",
        *(f"c{n},{'ab?'[n % 3]},one,{'yn'[n % 2]}" for n in range(40)),
    ]
    (folder / "t.csv").write_text("\n".join(lines), "utf-8")
    done = run("report", "t.csv", "--label", "churn", "--json")
    notes = json.loads(done.out)["notes"]
    assert len([note for note in notes if "'id'" in note]) == 1
    assert any("constant" in note for note in notes)
    assert any("'?'" in note for note in notes)
    assert "'id'" in done.err


def test_accuracy_under_attack_is_the_curve() -> None:
    """The report's curve is that of certified_accuracy_curve, at every size that it lists."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    truth = ["yes", None, "no", "no", "yes", "no", None, "yes"]
    made = report(index, new, truth=truth)
    found, curve = made.document["accuracy"], certified_accuracy_curve(index, new, truth)
    assert found["accuracy"] == curve.accuracy
    assert [(row["k"], row["n"]) for row in found["curve"]] == [
        (k, curve.n_at(k)) for k in curve.some_sizes()
    ]
    assert found["drawn"] == {name: curve.columns()[name] for name in ("k", "share")}
    assert "How many stay right under attack" in made.html()
    assert "How many stay right under attack" in made.markdown()
    assert report(index, new).document["accuracy"] is None


def test_two_reports_side_by_side(run: Runner, folder: Path) -> None:
    """What another report says stands beside this one, with the points that changed, in every form."""
    write_customers(folder)
    asked = ("report", "customers.csv", "new.csv", *ASK)
    assert run(*asked, "--alpha", "0", "-o", "before.json").code == 0
    assert run(*asked, "--alpha", "50", "--compare", "before.json", "-o", "after.json").code == 0
    before, after = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("before", "after")
    )
    told = after["compared"]
    sides = {row["name"]: (row["there"], row["here"]) for row in told["measures"]}
    assert sides["smoothing"] == ("0", "50")
    for group, other in zip(before["verdicts"]["groups"], after["verdicts"]["groups"], strict=True):
        there, here = sides[group["verdict"]]
        assert there.startswith(f"{group['n_points']} (")
        assert here.startswith(f"{other['n_points']} (")
    changed = [
        mine["point"]
        for mine, theirs in zip(after["points"], before["points"], strict=True)
        if (mine["predicted"], mine["verdict"]) != (theirs["predicted"], theirs["verdict"])
    ]
    assert changed
    assert [row["point"] for row in told["points"]] == changed
    for form in ("html", "md"):
        shown = run(*asked, "--compare", "before.json", "--format", form).out
        assert "Beside another report" in shown
    assert "--compare before.json" in after["asked"]["command"]


@pytest.mark.parametrize("text", ["{}", "[1]", "no JSON", "[" * 9_999, None])
def test_what_is_no_report_is_refused(run: Runner, folder: Path, text: str | None) -> None:
    """A file that is no report as JSON is told in one sentence, before any work."""
    if text is not None:
        (folder / "other.json").write_text(text, "utf-8")
    done = run("report", "missing.csv", "--label", "churn", "--compare", "other.json")
    one_line(
        done, "other.json cannot be read" if text is None else "other.json is no report as JSON"
    )


def test_every_listed_point_is_explained_as_explain_does() -> None:
    """What speaks for a point in a report is what explain says of the same two labels."""
    train, new = load()
    index = CountIndex.from_table(train, "churn", ignore=["customer"])
    for point in report(index, new).document["points"]:
        told = point["explanation"]
        own = explain(index, new[point["point"]], label=told["label"], rival=told["rival"])
        assert told["total"]["log"] == own.total.reference
        assert [row["log"] for row in told["terms"]] == [
            term.lead.reference for term in own.strongest_first
        ]
        assert told["total"]["said"] == own.said(own.total.reference)
        assert (point["odds"] is None) == point["certain"]
        assert point["odds_reason"] is None
