"""report: the library's answers about one table as a document, and the same document in every format."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.amounts import SEED
from support.command_line import Runner, demo_tables, write_customers
from support.hostile import LONG, SCRIPT, hostile_index, hostile_points
from support.strategies import Case, random_case, with_cell

from nullproof import (
    CountIndex,
    NullproofError,
    certify,
    cleaning_plan,
    explain,
    label_odds,
    radius,
    report,
)
from nullproof.attacks import Radii, certified_accuracy_curve

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
HOSTILE = "<b>&\"x'</b>"
EMPTY = {"meta", "img", "br", "input", "link", "rect", "line"}
ASK = ("--label", "churn", "--key", "customer")
ROWS, LABELS = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y")], ["yes", "yes", "no", "no"]


class Page(HTMLParser):
    """What a page is made of, and whether its tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def ids(self) -> list[str]:
        return [value for _, name, value in self.attributes if name == "id"]


@pytest.fixture(scope="module")
def demo() -> tuple[CountIndex, pl.DataFrame]:
    train, new = demo_tables()
    return CountIndex.from_table(train, "churn", ignore=["customer"]), new


def large_table(n_rows: int = 400) -> tuple[CountIndex, list[Any], list[str]]:
    """A table with missing cells, points that lack some themselves, and their true labels."""
    rng = np.random.default_rng(5)
    names = np.array(["yes", "no", HOSTILE])
    labels = rng.integers(0, 3, n_rows)
    cells: Any = (labels[:, None] + rng.integers(0, 3, (n_rows, 4))) % 4
    cells = cells.astype(str).astype(object)
    cells[rng.random(cells.shape) < 0.12] = None
    rows = [*map(tuple, cells)]
    index = CountIndex.from_rows(rows, names[labels].tolist(), features=["a", "b", "c", "d"])
    return index, rows[:90], names[labels][:90].tolist()


INDEX, POINTS, TRUTH = large_table()
OPTIONS: list[dict[str, Any]] = [{}, {"bias": 0.02}, {"bias": {"a": 1.0, "*": 0.1}}]


def many_points(n_points: int) -> tuple[CountIndex, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 2000)
    noise = rng.integers(0, 3, (2000, 6)) * (rng.random((2000, 6)) < 0.5)
    rows = ((labels[:, None] + noise) % 4).astype(np.int32)
    points = rows[rng.integers(0, 2000, n_points)]
    rows[rng.random(rows.shape) < 0.02] = -1
    return CountIndex.from_codes(rows, labels, n_values=[4] * 6), points


# The document ---------------------------------------------------------------------------------------


def text(label: Any) -> str | None:
    return None if label is None else str(label)


def check_numbers(document: dict[str, Any], index: CountIndex, points: Any, **asked: Any) -> None:
    """Check that everything about verdicts, bias, radii and odds is what the library says."""
    judged = certify(index, points, **asked)
    found = {one["verdict"]: one["n_points"] for one in document["verdicts"]["groups"]}
    assert found == {name: (judged.verdict == name).sum() for name in ("certain", "holds", "open")}
    assert document["verdicts"]["threshold"] == judged.threshold
    assert document["certain"]["n_certain"] == found["certain"]
    assert document["open"]["n_points"] == found["open"]
    curve = judged.curve()
    assert document["curve"]["bias"] == [at.bias for at in curve]
    assert document["curve"]["n_hold"] == [at.n_hold for at in curve]
    chance = {name: value for name, value in asked.items() if name != "bias"}
    try:
        distances = radius(index, points, **chance)
    except NullproofError:
        # Tables and points with several candidates have no radius.
        distances = None
    for point in document["points"]:
        place = point["point"]
        one = judged[place]
        assert point["verdict"] == judged.verdict[place]
        assert point["predicted"] == text(one.predicted)
        assert point["tolerance"] == (None if math.isnan(one.tolerance) else one.tolerance)
        assert point["tolerance_rival"] == text(one.rival)
        assert point["n_own_missing"] == one.n_own_missing
        assert point["certain"] == (point["verdict"] == "certain") == (point["label"] is not None)
        if "bias" not in asked:
            assert point["possible"] == [*map(str, one.possible)]
        if distances is not None and point["not_worked_out"] is None:
            size = math.inf if point["radius"] is None else point["radius"]
            assert size == distances.radius[place]
        odds = point["odds"]
        # Candidates, and any value of a point's own missing cells, have no odds, and the reason is given.
        assert (odds is None) == (point["certain"] or point["odds_reason"] is not None)
        if odds and point["predicted"] is not None:
            assert odds[0]["label"] == point["predicted"]
        for row in () if odds is None else odds:
            assert 0 <= row["lower"] <= row["upper"] <= 1
    if distances is not None:
        check_attack(document, distances)


def check_attack(document: dict[str, Any], distances: Radii) -> None:
    """Check that the attack that is told is on a weakest certain point, with as many cells as it needs."""
    attack, fragility, sizes = document["attack"], document["fragility"], distances.radius
    finite = sizes[np.isfinite(sizes) & (sizes > 0)]
    assert (attack is None) == (not len(finite))
    assert sum(row["n_points"] for row in fragility["histogram"]) == len(finite)
    for row in fragility["histogram"]:
        assert row["n_points"] == ((sizes >= row["start"]) & (sizes <= row["stop"])).sum()
    assert [row["radius"] for row in fragility["weakest"]] == sorted(finite)[:10]
    for row in [*fragility["weakest"], *([] if attack is None else [attack])]:
        one = distances.document()["points"][row["point"]]
        assert (row["label"], row["rival"]) == (text(one["label"]), text(one["rival"]))
    if attack is not None:
        assert attack["n_cells"] == min(finite) == fragility["least"] == sizes[attack["point"]]
        assert sum(row["n_cells"] for row in attack["cells"]) == attack["n_cells"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_small_tables(seed: int) -> None:
    """Every number is the library's on tables with unseen values and priors; missing cells are counted."""
    rng = random.Random(SEED + seed)
    case = random_case(rng)
    index = CountIndex.from_rows(
        case.rows, case.labels, features=case.features, domains=case.declared
    )
    points = [tuple(None if isinstance(c, frozenset) else c for c in one) for one in case.points]
    asked = {"alpha": case.alpha, "prior": case.prior_for(index.labels)}
    if rng.random() < 0.5:
        asked["bias"] = rng.choice([0.3, 0])
    made = report(index, points, **asked)
    check_numbers(made.document, index, points, **asked)
    columns = made.document["columns"]["listed"]
    assert {line["column"]: line["n_missing"] for line in columns} == missing_cells(case)
    shares = [line["share"] for line in columns]
    assert shares == sorted(shares, reverse=True)
    attack = made.document["attack"]
    if attack is not None and "bias" not in asked:
        assert not certify(poisoned(case, attack), points[attack["point"]], **asked).certain
    same_numbers(made)


def missing_cells(case: Case) -> dict[str, int]:
    """Count missing cells by feature; one candidate is a value, several are none."""
    return {
        name: sum(
            row[j] is None or (isinstance(row[j], frozenset) and len(row[j]) > 1)
            for row in case.rows
        )
        for j, name in enumerate(case.features)
    }


def poisoned(case: Case, attack: dict[str, Any]) -> CountIndex:
    """Blank the cells that a document names, by hand."""
    changed = case
    for sort in attack["cells"]:
        j = case.features.index(sort["feature"])
        fitting = [
            (i, j)
            for i, (row, label) in enumerate(zip(changed.rows, case.labels, strict=True))
            if (cell := row[j]) is not None
            and str(label) == sort["label"]
            and {*map(str, cell if isinstance(cell, frozenset) else [cell])} == {*sort["values"]}
        ]
        assert len(fitting) >= sort["n_cells"]
        for place in fitting[: sort["n_cells"]]:
            changed = with_cell(changed, place, None)
    domains = dict(zip(case.features, (sorted({*map(str, d)}) for d in case.domains), strict=True))
    return CountIndex.from_rows(
        changed.rows, case.labels, features=case.features, domains=case.declared or domains
    )


@pytest.mark.parametrize("options", OPTIONS)
def test_numbers_are_those_of_the_library(options: Any) -> None:
    """On a larger table too; the document is strict JSON, and every format says the same numbers."""
    made = report(INDEX, POINTS, alpha=1, **options)
    document = made.document
    assert json.loads(json.dumps(document, allow_nan=False)) == document == json.loads(made.json())
    check_numbers(document, INDEX, POINTS, alpha=1, **options)
    assert document["own_missing"]["n_points"] == sum(None in point for point in POINTS)
    for reading in ("skip", "any"):
        n_certain = certify(INDEX, POINTS, alpha=1, own_missing=reading).certain.sum()
        assert document["own_missing"]["n_certain"][reading] == n_certain
    if document["cleaning"] is not None:
        held = certify(INDEX, POINTS, alpha=1, **{"bias": 0.05, **options}).certain
        assert document["cleaning"]["n_done"] == held.sum()
        effects = [line["expected"] for line in document["columns"]["listed"]]
        assert all(effect is None or 0 <= effect <= (~held).sum() for effect in effects)
    drawn = document["curve"]["drawn"]
    assert drawn["n_hold"] == sorted(drawn["n_hold"], reverse=True)
    same_numbers(made)
    assert HOSTILE not in made.html() + made.markdown()


def same_numbers(made: Any) -> None:
    """Check that HTML and Markdown both show each verdict's number, and no number is Markdown's alone."""
    page = " ".join(Page(made.html()).text.split())
    written = made.markdown()
    for group in made.document["verdicts"]["groups"]:
        if made.document["certain"]["n_points"]:
            n_points = f"{group['n_points']:,}"
            assert re.search(rf"\| {group['verdict']}[^|]*\| {n_points} \|", written)
            assert re.search(rf"\b{group['verdict']}\b[^|]*?\b{n_points}\b", page)
    number = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")
    unnumbered = re.sub(r"^\d+\. ", "", written, flags=re.MULTILINE)
    alone = {*number.findall(unnumbered)} - {*number.findall(page)}
    assert alone == set()


def test_what_is_right() -> None:
    """True labels say how many of each verdict are right, in every format, and change no verdict."""
    plain = report(INDEX, POINTS, alpha=1).document
    made = report(INDEX, POINTS, alpha=1, truth=TRUTH)
    judged = certify(INDEX, POINTS, alpha=1)
    right = np.array([a == b for a, b in zip(judged.predicted, TRUTH, strict=True)])
    groups = zip(made.document["verdicts"]["groups"], plain["verdicts"]["groups"], strict=True)
    for one, before in groups:
        assert one["n_right"] == right[judged.verdict == one["verdict"]].sum()
        assert {**one, "n_right": None, "n_known": None} == before
        said = f"{one['n_right']} of {one['n_known']}"
        assert said in made.markdown()
        assert said in " ".join(Page(made.html()).text.split())
    unknown = {"truth": None, "right": None}
    assert [point | unknown for point in made.document["points"]] == plain["points"]
    assert [point["right"] for point in made.document["points"]] == [
        right[point["point"]] for point in made.document["points"]
    ]
    curve = certified_accuracy_curve(INDEX, POINTS, TRUTH, alpha=1)
    assert made.document["accuracy"]["accuracy"] == curve.accuracy
    assert made.document["accuracy"]["curve"]
    for row in made.document["accuracy"]["curve"]:
        assert row["n"] == curve.n_at(row["k"])
    assert plain["accuracy"] is None
    with pytest.raises(NullproofError, match="truth has 1 labels but there are 90 points"):
        report(INDEX, POINTS, truth=["yes"])


def test_the_weakest_of_many_points() -> None:
    """Verdicts and radii count all points; the weakest are listed, and those that were asked for."""
    index, points = many_points(3000)
    document = report(index, points, limit=40, alpha=0).document
    check_numbers(document, index, points, alpha=0)
    shown = [point["point"] for point in document["points"]]
    assert len(shown) == 40 == document["sample"]["n_shown"]
    judged, found = certify(index, points, alpha=0), radius(index, points, alpha=0).radius
    weakness = [(np.nan_to_num(judged.tolerance[k], nan=-1), found[k], k) for k in range(3000)]
    order = [place for *_, place in sorted(weakness)]
    assert shown == order[:40]
    asked = report(index, points, limit=40, also=[order[1000], order[3]], alpha=0)
    assert [point["point"] for point in asked.document["points"]] == [*order[:40], order[1000]]
    assert asked.document["sample"]["n_weakest"] == 40
    assert asked.document["sample"]["asked"] == sorted([order[1000], order[3]])
    assert "The 40 weakest of 3,000 rows and 1 asked for" in asked.html()
    # Markdown lists fewer, but what was asked for.
    also = [order[30], order[1000], order[3]]
    brief = report(index, points, limit=40, also=also, alpha=0).markdown()
    assert "The 20 weakest of 3,000 rows and 2 asked for" in brief
    assert "As HTML this report lists 41." in brief
    for place in also:
        assert f"\n| {place:,} | " in brief
    alone = report(index, points, limit=0, also=also[:1], alpha=0)
    assert "1 of 3,000 rows, asked for: how far" in alone.html()
    assert report(index, points, limit=40, alpha=0).document == document
    assert report(index, points[:50], limit=0, alpha=0).document["points"] == []
    with pytest.raises(NullproofError, match="limit is -1"):
        report(index, points[:50], limit=-1)


def test_what_others_say_the_report_says(demo: tuple[CountIndex, pl.DataFrame]) -> None:
    """Odds, explanations and the plan for the open points are those of their own functions."""
    index, new = demo
    document = report(index, new, alpha=0).document
    odds = label_odds(index, new, alpha=0)
    for point in document["points"]:
        told = point["explanation"]
        single = new[point["point"]]
        own = explain(index, single, label=told["label"], rival=told["rival"], alpha=0)
        assert told["total"]["log"] == own.total.reference
        assert [row["log"] for row in told["terms"]] == [
            term.lead.reference for term in own.strongest_first
        ]
        for row in point["odds"] or ():
            assert (row["lower"], row["upper"]) == odds[point["point"]][row["label"]]
        if point["worlds"] is not None:
            winners = [{*world["winners"]} for world in point["worlds"]]
            assert len(winners[0] | winners[1]) > 1
            assert (winners[0] | winners[1]) <= {*point["possible"]}
        assert (point["worlds"] is None) == point["certain"]
    plan = cleaning_plan(index, new, alpha=0)
    cleaning = document["cleaning"]
    assert [stage["n_cells"] for stage in cleaning["stages"]] == [
        stage.n_cells for stage in plan.stages
    ]
    certain_ones = new.filter(pl.Series(certify(index, new, alpha=0).certain))
    assert report(index, certain_ones, alpha=0).document["cleaning"] is None


BINNED = {"age": [16, 20, 32, 40, 41, 66], "fare": [7.25, 8.5, 30.125, 71.5, 40.0, None]}


@pytest.mark.parametrize("form", ["rows", "array"])
def test_points_are_told_with_their_own_numbers(form: str) -> None:
    """A number comes with its bin where that is written otherwise, whatever the points came as."""
    index = CountIndex.from_table(
        pl.DataFrame({**BINNED, "y": list("aababb")}), "y", bins=3, binning="uniform"
    )
    rows: Any = [(22, 30.125), (70.0, 7.5), (40, None)]
    made = report(index, np.array(rows, dtype=float) if form == "array" else rows, alpha=1)
    told = [
        [(v["own"], v["value"]) for v in sorted(point["values"], key=lambda v: v["feature"])]
        for point in sorted(made.document["points"], key=lambda point: point["point"])
    ]
    assert told == [
        [("22", "16–32"), ("30.125", "[28.7, 50.1)")],
        [("70", "66"), ("7.5", "[7.25, 28.7)")],
        [("40", "33–49"), (None, None)],
    ]
    assert any("lie outside" in note and "'age' (1)" in note for note in made.document["notes"])


# HTML and Markdown ----------------------------------------------------------------------------------


def test_sections_are_the_same_in_both(demo: tuple[CountIndex, pl.DataFrame]) -> None:
    """Contents, sections and Markdown headings agree; ids are unique and links lead somewhere."""
    without = report(CountIndex.from_rows(ROWS, LABELS), [("a", "x")])
    for made in (report(*demo, alpha=0), without):
        page = Page(made.html())
        sections = re.findall(r'<section id="(\w+)"', made.html())
        assert len(page.ids()) == len(set(page.ids()))
        links = [value[1:] for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
        assert set(sections) <= set(links) <= set(page.ids())
        assert made.markdown().count("\n## ") == len({*sections} - {"overview"})
        assert "None" not in page.text + made.markdown()


def test_nothing_is_loaded_and_nothing_else_may_run(demo: tuple[CountIndex, pl.DataFrame]) -> None:
    """The page names no other address, has no inline style or handler, and its policy has its hashes."""
    written = report(*demo, alpha=0).html()
    page = Page(written)
    for _, name, value in page.attributes:
        assert name not in ("src", "style", "srcdoc")
        assert not name.startswith("on")
        if name == "href":
            assert value.startswith("#")
        assert name.startswith("xmlns") or "://" not in value
    policy = next(v for _, name, v in page.attributes if name == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", written, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_texts_are_texts() -> None:
    """Markup in labels, features and values adds no element, ends no line or cell, and can be read."""
    hostile = report(hostile_index(), hostile_points(), alpha=0)
    page, written = Page(hostile.html()), hostile.markdown()
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert "img" not in page.tags
    assert SCRIPT in page.text
    assert LONG not in hostile.html() + written
    assert "[10,004 characters]" in page.text
    assert len(hostile.html()) < 2_000_000
    assert not {*"<\u202e\u200f"} & {*written}
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} <= {3, 4, 5, 6, 7}
    assert "\\[a\\]\\(b\\)" in written
    assert json.loads(hostile.json()) == hostile.document


@pytest.mark.parametrize("points", [[("a", "x")], []])
@pytest.mark.parametrize("labels", [LABELS, ["one"] * 4])
def test_little_to_tell(points: Any, labels: list[str]) -> None:
    """No points, no missing cells, one label: every format is whole all the same."""
    made = report(CountIndex.from_rows(ROWS, labels), points, alpha=0)
    Page(made.html())
    assert made.markdown().startswith("# ")
    assert not any(line["n_missing"] for line in made.document["columns"]["listed"])
    assert "0 of 0" not in made.html()


def test_files(demo: tuple[CountIndex, pl.DataFrame], tmp_path: Path) -> None:
    """The ending names the format, and nothing is left beside the file; anything else is refused."""
    made = report(*demo, alpha=0)
    formats = {".html": made.html(), ".md": made.markdown(), ".JSON": made.json()}
    for ending, content in formats.items():
        path = tmp_path / f"report{ending}"
        made.save(path)
        assert path.read_text("utf-8") == content
        assert [*tmp_path.iterdir()] == [path]
        path.unlink()
    for name, reason in (("report.pdf", ".html"), ("nowhere/report.html", "cannot write")):
        with pytest.raises(NullproofError, match=re.escape(reason)):
            made.save(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


# The command ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_commands_in_a_report_run(run: Runner, folder: Path) -> None:
    """What was asked makes the same report again, and what is said to be next runs."""
    write_customers(folder)
    assert run("-q", "report", "customers.csv", "new.csv", *ASK, "-o", "r.json").code == 0
    first = json.loads((folder / "r.json").read_text("utf-8"))
    assert (first["asked"]["train"], first["asked"]["test"]) == ("customers.csv", "new.csv")
    assert run(*shlex.split(first["asked"]["command"])[1:]).code == 0
    again = json.loads((folder / "r.json").read_text("utf-8"))
    for document in (first, again):
        assert document["asked"].pop("date").endswith("UTC")
    assert again == first
    assert run(*shlex.split(first["next"]["command"])[1:]).code == 0


def test_two_reports_side_by_side(run: Runner, folder: Path) -> None:
    """--compare puts another report's numbers and the points that changed beside this one's."""
    write_customers(folder)
    asked = ("-q", "report", "customers.csv", "new.csv", *ASK)
    assert run(*asked, "--alpha", "0", "-o", "before.json").code == 0
    assert run(*asked, "--alpha", "50", "--compare", "before.json", "-o", "after.json").code == 0
    before, after = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("before", "after")
    )
    sides = {row["name"]: (row["there"], row["here"]) for row in after["compared"]["measures"]}
    assert [*sides] == ["missing cells", "certain", "holds", "open"]
    n_certain = [side["certain"]["n_certain"] for side in (before, after)]
    assert [side.split()[0] for side in sides["certain"]] == [*map(str, n_certain)]
    changed = [
        mine["point"]
        for mine, theirs in zip(after["points"], before["points"], strict=True)
        if (mine["predicted"], mine["verdict"]) != (theirs["predicted"], theirs["verdict"])
    ]
    assert changed
    assert [row["point"] for row in after["compared"]["points"]] == changed
