"""What the README and the pages of ``docs/`` say is what happens: Python, commands, links, names."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from support.command_line import Runner

ROOT = Path(__file__).parents[1]
DOCS, PACKAGE, README = ROOT / "docs", ROOT / "src/nullproof", ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = "; echo $?"
FENCE = re.compile(r"^```.*$", re.MULTILINE)
# Pages that need Java, a database server or a cluster; NULLPROOF_GUIDES=all runs them.
DEAR = {"spark.md", "postgres.md", "dask.md"}
# Tables that commands name and that do not come with the package.
NOT_HERE = ("hypothyroid_train.csv", "adult_train.csv", "titanic.csv")
NAMED = {
    name.rpartition(".")[2]
    for page in (DOCS / "reference").glob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
}
ROOMS = ("", ".attacks", ".cleaning", ".estimator", ".odds")


def commands(page: Path) -> list[tuple[str, str]]:
    """The commands of nullproof on a page, each with the output that is shown below it."""
    found = []
    for kind, block in BLOCK.findall(page.read_text("utf-8")):
        if kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                if re.match(r"(nullproof|\./run) (?!serve)", command):
                    found.append((command, tidy(shown)))
    return found


def said(command: str, run: Runner) -> tuple[str, str]:
    """What a command prints: its results, and the same with its notices before them."""
    typed = command.removesuffix(EXIT)
    done = run(*shlex.split(typed, comments=True)[1:])
    code = f"{done.code}\n" if typed != command else ""
    assert code or done.code == 0, done.err
    return tidy(done.out + code), tidy(done.err + done.out + code)


def agrees(shown: str, printed: tuple[str, str]) -> bool:
    """Whether a page shows what was printed: nothing, all of it, or its beginning and then ``…``."""
    if shown.endswith("\n…"):
        return any(text.startswith(shown.removesuffix("…")) for text in printed)
    return not shown or shown in printed


def tidy(text: str) -> str:
    """Lines without spaces at their ends, which no page shows."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def named(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def examples(page: Path) -> doctest.DocTest:
    """The prompts of a page, in order; fences count as blank lines, so that output ends there."""
    text = FENCE.sub("", page.read_text("utf-8"))
    return doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)


@pytest.fixture
def tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the tables that the pages name into the folder: the demo, also as train.csv and test.csv."""
    for name, copy in (("customers.csv", "train.csv"), ("new_customers.csv", "test.csv")):
        for target in (name, copy):
            shutil.copy(PACKAGE / "demo" / name, folder / target)
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if examples(page).examples], ids=named)
@pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning")
def test_examples_print_what_the_page_shows(page: Path, tables: Path) -> None:
    """Each prompt prints exactly what stands below it."""
    if page.name in DEAR and os.environ.get("NULLPROOF_GUIDES") != "all":
        pytest.skip("needs Java or a server; NULLPROOF_GUIDES=all runs it")
    found: list[str] = []
    doctest.DocTestRunner(verbose=False).run(examples(page), out=found.append)
    assert not found, "".join(found)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=named)
def test_commands_print_what_the_page_shows(page: Path, tables: Path, run: Runner) -> None:
    """Each command runs, one after the other, and prints the lines below it, if there are any."""
    for command, shown in commands(page):
        if any(name in command for name in NOT_HERE):
            continue
        if "nullproof poison" in command:
            # Without it an attack is the union of the attacks on each point.
            pytest.importorskip("scipy")
        printed = said(command, run)
        assert agrees(shown, printed), f"{command}\n{printed[0]}"


@pytest.mark.parametrize(("command", "shown"), commands(README))
def test_commands_print_what_the_readme_shows(
    command: str, shown: str, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of the README prints the lines below it."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    printed = said(command, run)
    assert agrees(shown, printed), printed[0]


def test_the_figure_of_the_readme_is_current() -> None:
    """docs/figures/intervals.svg shows what the demo is now; scripts/intervals_figure.py redraws it."""
    script = runpy.run_path(str(ROOT / "scripts/intervals_figure.py"))
    assert (DOCS / "figures/intervals.svg").read_text("utf-8") == script["figure"]()


@pytest.mark.parametrize("room", ROOMS)
def test_the_reference_has_every_public_name(room: str) -> None:
    """A name that can be imported has its place on a page, and each function an example."""
    module = importlib.import_module(f"nullproof{room}")
    assert [name for name in module.__all__ if name not in NAMED] == []
    functions = [one for name in module.__all__ if inspect.isfunction(one := getattr(module, name))]
    assert [one.__name__ for one in functions if ">>> " not in (inspect.getdoc(one) or "")] == []
