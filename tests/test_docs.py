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
import tomllib
from pathlib import Path

import pytest
from support.command_line import Runner

ROOT = Path(__file__).parents[1]
DOCS, PACKAGE, README = ROOT / "docs", ROOT / "src/nullproof", ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
ARCHITECTURE = (DOCS / "architecture.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = "; echo $?"
FENCE = re.compile(r"^```.*$", re.MULTILINE)
# Blocks that are no examples with prompts, and the test that runs them.
RUN_ELSEWHERE = {"web.md": "tests/test_page_api.py"}
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


def test_the_page_names_every_room() -> None:
    """The table of rooms names every module and folder of the package, and nothing else."""
    rows = re.findall(r"^\| (`.*?) \|", ARCHITECTURE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+(?:\.py|/))`", row)}
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("_")}
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert named == modules | folders


def test_the_page_names_files_that_are_there() -> None:
    """Every path that the page mentions exists."""
    paths = set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", ARCHITECTURE))
    places = (PACKAGE, ROOT)
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def test_every_package_has_a_contract() -> None:
    """All rooms stand in one order; those that are not rebuilt yet name all their modules, too."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    covered = {name for one in contracts if one.get("exhaustive") for name in one["containers"]}
    packages = {
        ".".join(path.parent.relative_to(PACKAGE.parent).parts)
        for path in PACKAGE.rglob("__init__.py")
        if any(other.name != "__init__.py" for other in path.parent.glob("*.py"))
    }
    rebuilt = {f"nullproof.{room}" for room in ("data", "counts", "counts.engines")}
    assert covered == packages - rebuilt
    assert not [one["name"] for one in contracts if one.get("ignore_imports")]
