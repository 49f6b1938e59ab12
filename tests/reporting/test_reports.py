"""report: the same story as a page, as Markdown and as JSON, in the library and on the command line."""

from __future__ import annotations

import base64
import builtins
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Runner, one_line
from support.hostile import FEATURES, LABELS, LONG, SCRIPT, VALUES, hostile_index, hostile_points

import nullproof
from nullproof import CountIndex, NullproofError, report, words
from nullproof.cli.demo import load
from nullproof.reporting import html, markdown
from nullproof.reporting.order import TITLES, sections
from nullproof.reporting.reports import Report

pytestmark = pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
REPORT = ("report", "train.csv", "test.csv", "--label", "churn")
EMPTY = {"meta", "img", "br", "input", "link", "rect", "line"}


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
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
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
def made() -> Report:
    train, new = load()
    return report(CountIndex.from_table(train, "churn", ignore=["customer"]), new, alpha=0)


@pytest.fixture(scope="module")
def hostile() -> Report:
    return report(hostile_index(), hostile_points(), alpha=0)


def test_the_page_tells_the_story_in_order(made: Report) -> None:
    """The sections come in the order of the story, each once, and their links lead somewhere."""
    page = Page(made.html())
    assert [name for name in page.ids() if name in TITLES] == sections(made.document)
    assert len(page.ids()) == len(set(page.ids()))
    links = [value[1:] for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert set(links) <= set(page.ids())
    assert "62.5\u00a0%" in page.text
    assert page.tags.count("h1") == 1


def test_the_page_shows_every_told_point(made: Report) -> None:
    """Every point has its picture, its values and, if it is open, its odds and two worlds."""
    page = Page(made.html())
    for point in made.document["points"]:
        assert f"point-{point['point']}" in page.ids()
    drawn = [v for tag, name, v in page.attributes if (tag, name) == ("svg", "class")]
    assert drawn.count("np-intervals") == 8 + 2
    assert page.text.count("Two worlds that disagree") == 3


def test_nothing_is_loaded_and_nothing_else_may_run(made: Report) -> None:
    """The page names no other address, has no inline style or handler, and its policy has its hashes."""
    written = made.html()
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


def test_hostile_texts_are_texts(hostile: Report) -> None:
    """Markup in labels, features and values adds no element, and is readable as it is."""
    page = Page(hostile.html())
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert "img" not in page.tags
    assert not {"b", "bdi"} & {name for _, name, _ in page.attributes}
    assert SCRIPT in page.text
    assert "never seen in training" in page.text
    assert len(hostile.html()) < 2_000_000
    assert LONG not in hostile.html()
    assert "[10,004 characters]" in hostile.html()


def test_hostile_texts_in_markdown(hostile: Report) -> None:
    """No text of the data is markup, ends a line or a cell, or turns what follows."""
    written = hostile.markdown()
    assert "<" not in written
    for mark in ("\u202e", "\u200f"):
        assert mark not in written
    for line in written.splitlines():
        assert not line.startswith("# e")
        if line.startswith("|"):
            assert line.endswith("|")
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in rows]
    assert set(cells) <= {3, 4, 5, 6}
    assert "\\[a\\]\\(b\\)" in written
    assert markdown.data("a`b*c") == "a\\`b\\*c"


def test_json_is_the_document(hostile: Report) -> None:
    """The JSON is strict and gives the document back."""
    assert json.loads(hostile.json()) == hostile.document
    assert {*LABELS, *FEATURES, *VALUES}  # all of them went through


@pytest.mark.parametrize("ending", [".html", ".md", ".json", ".HTML"])
def test_save(made: Report, tmp_path: Path, ending: str) -> None:
    """The ending names the format; the file is the whole text and nothing is left beside it."""
    path = tmp_path / f"report{ending}"
    made.save(path)
    assert path.read_text("utf-8") == made.written(ending.lower()[1:])
    assert list(tmp_path.iterdir()) == [path]


def test_save_refuses(made: Report, tmp_path: Path) -> None:
    """An unknown ending or format and a folder that is not there are told in one sentence."""
    with pytest.raises(NullproofError, match=r"end it in \.html, \.md or \.json"):
        made.save(tmp_path / "report.pdf")
    with pytest.raises(NullproofError, match="give html, md or json"):
        made.written("pdf")
    with pytest.raises(NullproofError, match="cannot write"):
        made.save(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_notebooks_show_it_in_a_frame(made: Report) -> None:
    """The notebook gets one frame that holds the whole page, and a short text."""
    page = Page(made._repr_html_())
    assert page.tags == ["iframe"]
    inside = next(value for _, name, value in page.attributes if name == "srcdoc")
    assert inside == made.html()
    assert repr(made) == (
        "Report: 5 of 8 predictions are certain (62.5 %); save it as .html, .md or .json"
    )


def test_without_the_extra_the_numbers_are_shown(
    made: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report needs no drawing library: its charts become tables with bars."""
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name in ("altair", "vl_convert"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    page = Page(made.html())
    assert "The numbers" not in page.text
    assert "Points by the number of cells to blank" in page.text
    assert "What one complete feature would change" in page.text


def test_cleaning_is_rendered_when_it_is_there(made: Report) -> None:
    """Stages of a plan appear in both forms; without a plan there is no such section."""
    stage = {
        "table": "training",
        "columns": "age (<yes>)",
        "n_cells": 2,
        "so_far": 2,
        "expected": 1.5,
    }
    cleaning = {**made.document["cleaning"], "stages": [stage], "n_left_off": 7}
    planned = {**made.document, "cleaning": cleaning}
    page = Page(html.render(planned))
    assert "cleaning" in page.ids()
    for said in ("1.5", "and 7 stages more", "missing cells matter"):
        assert said in page.text
        assert said in markdown.render(planned)
    assert "<yes>" in page.text
    assert "<yes>" not in markdown.render(planned)
    without = {**made.document, "cleaning": None}
    assert "cleaning" not in Page(html.render(without)).ids()
    assert "What to clean first" not in markdown.render(without)


def test_a_story_without_points() -> None:
    """No points, no holes, one label: the page is whole all the same."""
    index = CountIndex.from_rows([("a",), ("b",)], ["x", "x"])
    for points in ([("a",)], np.empty((0, 1), dtype=object)):
        made = report(index, points, alpha=0)
        Page(made.html())
        assert made.markdown().startswith("# ")


def test_the_report_of_30_000_points_stays_small() -> None:
    """The page is well below 10 MB however many points there are, with odd and long texts too."""
    rng = np.random.default_rng(1)
    n_rows, n_features = 30_000, 12
    labels = rng.integers(0, 4, n_rows)
    codes = ((labels[:, None] + rng.integers(0, 3, (n_rows, n_features))) % 6).astype(np.int32)
    points = codes.copy()
    codes[rng.random(codes.shape) < 0.001] = -1
    index = CountIndex.from_codes(codes, np.array([LONG + str(i) for i in range(4)])[labels])
    made = report(index, points, alpha=0)
    assert made.document["certain"]["n_points"] == n_rows
    assert len(made.html().encode()) < 4_000_000
    assert len(made.json()) < 4_000_000
    assert len(made.markdown()) < 100_000


def test_public_name() -> None:
    """It is had from the package itself."""
    assert nullproof.report is report


@pytest.mark.parametrize(
    ("name", "start"), [("r.html", "<!doctype"), ("r.md", "# "), ("r.json", "{")]
)
def test_command_writes_files(run: Runner, folder: Path, name: str, start: str) -> None:
    """-o writes what its ending says and prints nothing."""
    done = run(*REPORT, "-o", name)
    assert (done.code, done.out) == (0, "")
    assert (folder / name).read_text("utf-8").startswith(start)


def test_command_prints(run: Runner, folder: Path) -> None:
    """Without -o it prints Markdown, JSON with --json, or what --format says."""
    assert run(*REPORT).out.startswith("# ")
    assert json.loads(run(*REPORT, "--json").out)["certain"]["n_points"] == 3
    assert run(*REPORT, "--format", "html").out.startswith("<!doctype html>")
    done = run(*REPORT, "--format", "json", "-o", "story.txt")
    assert done.code == 0
    assert json.loads((folder / "story.txt").read_text("utf-8"))["certain"]["n_points"] == 3
    both = run(*REPORT, "--json", "-o", "r.html")
    assert json.loads(both.out)["certain"]["n_points"] == 3
    assert (folder / "r.html").exists()


def test_command_without_test_tells_of_the_training_rows(run: Runner) -> None:
    """Without TEST the rows of TRAIN are the points."""
    done = run("report", "train.csv", "--label", "churn", "--json", "--alpha", "1")
    document = json.loads(done.out)
    assert document["certain"]["n_points"] == document["table"]["n_rows"] == 6
    assert document["table"]["alpha"] == "1"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-o", "r.pdf"), "end it in .html, .md or .json"),
        (("--format", "pdf"), "give html, md or json"),
        (("-o", "nowhere/r.html"), "there is no folder"),
        (("--format", "html", "-o", "train.csv"), "is a file that is read"),
    ],
)
def test_command_mistakes(run: Runner, arguments: tuple[str, ...], reason: str) -> None:
    """One line, exit 2, nothing written."""
    one_line(run(*REPORT, *arguments), reason)


@pytest.mark.parametrize(
    ("lower", "upper", "written"),
    [
        (1.0, 1.0, "100 %"),
        (0.0, 0.0, "0 %"),
        (0.5, 0.5, "50.0 %"),
        (0.5, 0.5001, "50.0 %"),
        (0.25, 0.5, "25.0 to 50.0 %"),
        (0.0, 0.5, "up to 50.0 %"),
        (0.5, 1.0, "at least 50.0 %"),
        (0.9999, 1.0, "over 99.9 %"),
        (0.0, 0.0001, "under 0.1 %"),
        (0.0, 1.0, "up to 100 %"),
    ],
)
def test_odds_are_written(lower: float, upper: float, written: str) -> None:
    """Never more certain than they are: 0 and 100 only where both bounds are exactly that."""
    assert words.odds(lower, upper, words.PLAIN) == written
