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

from nullproof import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


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


def test_all_is_every_extra() -> None:
    """The extra ``all`` names each of the others."""
    extras = {*PROJECT["optional-dependencies"]} - {"all"}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert everything == f"nullproof[{','.join(sorted(extras))}]"


# Names and imports ---------------------------------------------------------------------------------


# The face that users rely on: names may be added, never renamed.
PUBLIC = {
    *("CertifiedNB", "CountIndex", "NullproofError", "NullproofWarning", "certify", "tolerance"),
    *("cleaning_plan", "explain", "inject_missing", "label_odds", "poison", "radius", "report"),
    *("truth", "witness"),
}
ROOMS = {
    "": PUBLIC,
    ".attacks": {"Attack", "Radii", "certified_accuracy_curve"},
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
