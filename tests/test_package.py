"""The package: what it says of itself, which names are public, and what is loaded when."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
from support.command_line import SOURCE

from nullproof import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
# Their major versions follow the calendar, or come several times a year: a cap would only be in the way.
WITHOUT_CAP = {"dask", "distributed", "pyarrow"}
# Whoever installs nullproof may use it in a closed program under any of these.
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "LGPL-3.0-only"),
    *("MIT", "MPL-2.0", "PSF-2.0", "Zlib"),
}
REQUIREMENTS = sorted(
    {
        (part, one)
        for part, several in {
            "core": PROJECT["dependencies"],
            **PROJECT["optional-dependencies"],
        }.items()
        for one in several
        if part != "all"
    }
)


def name_of(requirement: str) -> str:
    """The library that a requirement or a pinned version names."""
    return re.split(r"[^\w.-]", requirement)[0].replace(".", "-").lower()


def numbers(version: str) -> tuple[int, ...]:
    """A version, to be compared."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def released() -> list[tuple[str, str]]:
    """Versions and days of the changelog, newest first."""
    return re.findall(r"^## \[(\d[\d.]*)\] - (\S+)$", CHANGELOG, re.MULTILINE)


def test_the_version_is_the_newest_of_the_changelog_and_the_citation() -> None:
    """The version is written in the package; changelog and citation follow it, with one day."""
    (version, day), *older = released()
    assert version == __version__
    assert date.fromisoformat(day)
    assert f"version: {version}\n" in CITATION
    assert f'date-released: "{day}"\n' in CITATION
    assert all(numbers(one) < numbers(version) for one, _ in older)


@pytest.mark.parametrize(("part", "requirement"), REQUIREMENTS)
def test_versions_are_bounded(part: str, requirement: str) -> None:
    """Each library has a floor, and a cap just past the newest major that the checks run with."""
    floor = re.search(r">=([\d.]+)", requirement)
    cap = re.search(r"<(\d+)(?![\d.])", requirement)
    name = name_of(requirement)
    assert floor, requirement
    assert (cap is None) == (name in WITHOUT_CAP)
    pins = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    tried = {name_of(pin): pin.partition("==")[2] for pin in pins if "==" in pin}
    if name in tried:
        assert numbers(floor[1]) <= numbers(tried[name])
        assert cap is None or int(cap[1]) == numbers(tried[name])[0] + 1


def test_all_is_every_extra() -> None:
    """The extra ``all`` names each of the others."""
    extras = {*PROJECT["optional-dependencies"]} - {"all"}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert everything == f"nullproof[{','.join(sorted(extras))}]"


def listed() -> dict[str, tuple[str, str]]:
    """For each library on the page of licences, its licence and the parts that ask for it."""
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    rows = re.findall(r"^\| (\S+) \| (.+?) \| (.*?) ?\|$", page, re.MULTILINE)
    return {name: (licence, parts) for name, licence, parts in rows if name != "library"}


def test_every_library_is_listed_with_its_licence() -> None:
    """The page of licences has each library that pyproject.toml names, with a licence that is allowed."""
    asked: dict[str, set[str]] = {}
    for part, requirement in REQUIREMENTS:
        asked.setdefault(name_of(requirement), set()).add(part)
    told = {name: {*parts.split(", ")} for name, (_, parts) in listed().items() if parts}
    assert told == asked
    for name, (licence, _) in listed().items():
        assert {*re.split(r" AND | OR ", licence)} <= ALLOWED, name


# Names and imports ---------------------------------------------------------------------------------


# The face that users rely on: names may be added, never renamed.
PUBLIC = {
    *("CertifiedNB", "CountIndex", "NullproofError", "NullproofWarning", "certify", "tolerance"),
    *("cleaning_plan", "explain", "inject_missing", "label_odds", "poison", "radius", "report"),
    *("truth", "witness"),
}
ROOMS = {
    "": PUBLIC,
    ".attacks": {"Attack", "Radii", "RowAttack", "Target", "certified_accuracy_curve"},
    ".cleaning": {"Cleaner", "CleaningPlan", "cleaning_plan"},
    ".odds": {"LabelOdds", "WorldCounts", "count_worlds", "label_odds"},
    ".estimator": {"CertifiedNB"},
}
HEAVY = {"sklearn", "scipy", "pandas", "polars", "duckdb", "pyarrow", "plotly"}
RUN = """
import contextlib, sys
from nullproof.__main__ import main
sys.argv = ["nullproof", *{arguments}]
with contextlib.suppress(SystemExit):
    main()
"""


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_public_names(room: str) -> None:
    """Each name can be had, is listed, and is what it is called; another is an AttributeError."""
    module = importlib.import_module(f"nullproof{room}")
    assert {*module.__all__} >= ROOMS[room]
    assert {*module.__all__} <= {*dir(module)}
    for name in module.__all__:
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def loaded_after(code: str) -> set[str]:
    """The libraries that a program has loaded at its end."""
    listing = "import sys; print('modules', *{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{listing}"], capture_output=True, text=True, check=True
    )
    return {*done.stdout.splitlines()[-1].split()[1:]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("from nullproof import CountIndex, attacks, certify, cleaning, odds, witness", HEAVY),
        (RUN.format(arguments=["certify", "--help"]), HEAVY | {"numpy", "narwhals"}),
        (RUN.format(arguments=["--version"]), HEAVY | {"numpy", "narwhals", "typer", "rich"}),
    ],
)
def test_nothing_heavy_is_loaded(code: str, unused: set[str]) -> None:
    """The library loads NumPy at most, help what parses and prints, the version not even that."""
    loaded = loaded_after(code)
    assert "nullproof" in loaded
    assert not loaded & unused


@pytest.mark.slow
def test_a_command_starts_without_pydantic(tmp_path: Path) -> None:
    """Texts, paths and flags on the line are read without pydantic, which takes a tenth of a second."""
    demo = SOURCE / "nullproof" / "demo"
    line = ["certify", str(demo / "customers.csv"), str(demo / "new_customers.csv"), "-q"]
    line += ["--label", "churn", "--ignore", "customer", "-o", str(tmp_path / "out.csv")]
    loaded = loaded_after(RUN.format(arguments=line))
    assert (tmp_path / "out.csv").exists()
    assert "polars" in loaded
    assert "pydantic" not in loaded


def test_docs_and_examples_import_public_names_only() -> None:
    """What users read imports from nullproof or from a room that offers names, nowhere deeper."""
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").iterdir()]
    for path in files:
        text = path.read_text("utf-8") if path.is_file() else ""
        for module in re.findall(r"(?:from|import) (nullproof[.\w]*)", text):
            assert module.count(".") <= 1, (path.name, module)
            assert hasattr(importlib.import_module(module), "__all__"), (path.name, module)
        for module, names in re.findall(r"from (nullproof\.\w+) import ([\w, ]+)", text):
            known = dir(importlib.import_module(module))
            assert {name.strip() for name in names.split(",")} <= {*known}, path.name
