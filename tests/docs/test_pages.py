"""What the pages of ``docs/`` show is what happens: their Python, their commands and their links."""

from __future__ import annotations

import doctest
import os
import re
import shutil
from pathlib import Path

import pytest
from support.pages import BLOCK, agrees, commands, said

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```.*$", re.MULTILINE)
# Blocks that are no examples with prompts, and the test that runs them.
RUN_ELSEWHERE = {"web.md": "tests/web/test_api.py"}
# Pages that need Java or a database server; NULLPROOF_GUIDES=all runs them.
DEAR = {"spark.md", "postgres.md"}
# Tables that commands name and that do not come with the package.
NOT_HERE = ("hypothyroid_train.csv", "adult_train.csv", "titanic.csv")


def named(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def examples(page: Path) -> doctest.DocTest:
    """The prompts of a page, in order; fences count as blank lines, so that output ends there."""
    text = FENCE.sub("", page.read_text("utf-8"))
    return doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables that the pages name: the demo, also as train.csv and test.csv."""
    for name in ("customers", "new_customers"):
        table = ROOT / f"src/nullproof/demo/{name}.csv"
        for copy in (f"{name}.csv", {"customers": "train.csv"}.get(name, "test.csv")):
            shutil.copy(table, tmp_path / copy)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page).examples], ids=named)
@pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning")
def test_examples_print_what_the_page_shows(page: Path, folder: Path) -> None:
    """Each prompt prints exactly what stands below it."""
    if page.name in DEAR and os.environ.get("NULLPROOF_GUIDES") != "all":
        pytest.skip("needs Java or a server; NULLPROOF_GUIDES=all runs it")
    found: list[str] = []
    doctest.DocTestRunner(verbose=False).run(examples(page), out=found.append)
    assert not found, "".join(found)


def test_some_page_has_examples() -> None:
    """The test above has something to check."""
    assert len(examples(DOCS / "assumptions.md").examples) > 10


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=named)
def test_commands_print_what_the_page_shows(
    page: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command runs, one after the other, and prints the lines below it, if there are any."""
    for command, shown in commands(page):
        if any(name in command for name in NOT_HERE):
            continue
        if "nullproof poison" in command:
            # Without it an attack is the union of the attacks on each point.
            pytest.importorskip("scipy")
        printed = said(command, monkeypatch, capsys)
        assert agrees(shown, printed), f"{command}\n{printed[0]}"


def test_every_block_of_python_is_run() -> None:
    """A block of Python has prompts, or a test of its own."""
    silent = {
        named(page)
        for page in PAGES
        for kind, block in BLOCK.findall(page.read_text("utf-8"))
        if kind in ("python", "pycon") and ">>> " not in block
    }
    assert silent == RUN_ELSEWHERE.keys()


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """Each file that a page links to is there, and so is the heading."""
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not heading or heading in anchors(target), link
