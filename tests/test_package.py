"""What the package says of itself agrees: version, changelog, citation, versions, licences, addresses."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

from nullproof import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
# Their major versions follow the calendar, or come several times a year: a cap would only be in the way.
WITHOUT_CAP = {"dask", "distributed", "pyarrow"}
# Whoever installs nullproof may use it in a closed program under any of these.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "LGPL-3.0-only",
    "MIT",
    "MPL-2.0",
    "PSF-2.0",
    "Zlib",
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


def test_the_changelog_has_the_usual_form() -> None:
    """Each heading is a version with its day or Unreleased, each heading below it a kind of change."""
    versions = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert [*dict.fromkeys(versions)] == versions
    assert all(
        re.fullmatch(r"\[[\d.]+\] - \d{4}-\d\d-\d\d|\[Unreleased\]", one) for one in versions
    )
    for section in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert {*kinds} <= KINDS
        assert len({*kinds}) == len(kinds)
        assert not re.match(r"[^\n]*\n+- ", section), "lines stand below Added, Changed or Fixed"


def test_the_paper_is_cited() -> None:
    """The citation names the paper with all who wrote it."""
    for said in ("Naive Bayes Classifiers over Missing Data: Decision and Poisoning", "2024"):
        assert said in CITATION
    assert re.findall(r"family-names: (\w+)", CITATION) == ["Bian", "Ouyang", "Fan", "Koutris"]


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
    """The page of licences has each library that pyproject.toml names, for just the parts that do."""
    asked: dict[str, set[str]] = {}
    for part, requirement in REQUIREMENTS:
        asked.setdefault(name_of(requirement), set()).add(part)
    told = {name: {*parts.split(", ")} for name, (_, parts) in listed().items() if parts}
    assert told == asked


def test_every_licence_is_known() -> None:
    """No library has a licence that nobody looked at."""
    for name, (licence, _) in listed().items():
        assert {*re.split(r" AND | OR ", licence)} <= ALLOWED, name


def test_addresses_are_in_one_place() -> None:
    """Addresses that a maintainer fills in stand in pyproject.toml and nowhere else."""
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog", "Security"} == {
        *PROJECT["urls"]
    }
    addresses = [*PROJECT["urls"].values()]
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob(".github/**/*"),
        ROOT / "CITATION.cff",
    ]
    for page in pages:
        if page.is_file():
            text = page.read_text("utf-8")
            assert not [url for url in addresses if url in text], page.name
