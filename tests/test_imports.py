"""What is loaded when, and which names are public."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nullproof

HEAVY = {"sklearn", "scipy", "pandas", "polars", "duckdb", "pyarrow", "plotly", "altair"}
PUBLIC = [
    "CertifiedNB",
    "CountIndex",
    "NullproofError",
    "NullproofWarning",
    "certify",
    "cleaning_plan",
    "explain",
    "inject_missing",
    "label_odds",
    "poison",
    "radius",
    "report",
    "tolerance",
    "truth",
    "witness",
]


ROOMS = {
    "attacks": ["AddedRows", "Attack", "RowAttack", "Target", "locate_cells", "poison"],
    "baselines": [
        "CodedTable",
        "Greedy",
        "Poisoning",
        "approximate_decision",
        "greedy_search",
        "iterate",
        "iterate_with_index",
        "random_poisoning",
        "smarter_random",
        "union",
    ],
    "cleaning": [
        "Cases",
        "Cell",
        "Cleaner",
        "CleaningPlan",
        "Curve",
        "FeatureEffects",
        "Step",
        "cases",
        "cleaning_plan",
        "feature_effects",
        "simulate_cleaning",
    ],
    "odds": [
        "Learned",
        "Odds",
        "WorldCounts",
        "count_worlds",
        "draw",
        "label_odds",
        "sample_worlds",
        "sampled_odds",
    ],
    "plots": [
        "Picture",
        "plot_certified_accuracy",
        "plot_cleaning",
        "plot_intervals",
        "plot_missing",
        "plot_radius",
        "plot_tolerance",
    ],
    "radii": ["AccuracyCurve", "Radii", "certified_accuracy_curve", "radii", "radius"],
}
ROOT = Path(__file__).parents[1]


def loaded_after(code: str) -> set[str]:
    listing = "import sys; print('modules', *{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{listing}"], capture_output=True, text=True, check=True
    )
    return {*done.stdout.splitlines()[-1].split()[1:]}


HELP = """
import contextlib, sys
from nullproof.cli.run import main
sys.argv = ["nullproof", *{arguments}]
with contextlib.suppress(SystemExit):
    main()
"""


@pytest.mark.parametrize(
    "code",
    [
        "import nullproof",
        "from nullproof import CountIndex, certify, witness",
        "import nullproof.attacks, nullproof.baselines, nullproof.cleaning, nullproof.odds",
        "import nullproof.plots, nullproof.radii",
        HELP.format(arguments=["--help"]),
        HELP.format(arguments=["certify", "--help"]),
        HELP.format(arguments=["--version"]),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    """Neither the library nor its help loads a data frame library or scikit-learn."""
    loaded = loaded_after(code)
    assert "nullproof" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["--help"], {"numpy", "narwhals"}),
        (["certify", "--help"], {"numpy", "narwhals"}),
        (["--version"], {"numpy", "narwhals", "typer", "rich"}),
    ],
)
def test_help_loads_nothing_that_counts(arguments: list[str], unused: set[str]) -> None:
    """Help loads what parses and prints alone, and the version not even that."""
    loaded = loaded_after(HELP.format(arguments=arguments))
    assert "nullproof" in loaded
    assert not loaded & unused


def test_a_command_starts_without_pydantic(tmp_path: Path) -> None:
    """Texts, paths and flags on the line are read without pydantic, which loads for a tenth of a second."""
    demo = ROOT / "src" / "nullproof" / "demo"
    line = ["certify", str(demo / "customers.csv"), str(demo / "new_customers.csv"), "-q"]
    line += ["--label", "churn", "--ignore", "customer", "-o", str(tmp_path / "out.csv")]
    loaded = loaded_after(HELP.format(arguments=line))
    assert (tmp_path / "out.csv").exists()
    assert "polars" in loaded
    assert "pydantic" not in loaded


def test_the_public_names() -> None:
    """The public names are these; each can be had and is listed."""
    assert nullproof.__all__ == sorted(nullproof.__all__) == PUBLIC
    assert len({*PUBLIC} - {"NullproofError", "NullproofWarning"}) <= 13
    assert {*PUBLIC} <= {*dir(nullproof)}
    for name in PUBLIC:
        assert getattr(nullproof, name).__name__ == name


def test_unknown_names_are_told() -> None:
    """A name that is not there is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="module 'nullproof' has no attribute 'certfy'"):
        nullproof.certfy  # noqa: B018


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_the_names_of_a_room(room: str) -> None:
    """Each name that a room offers can be had, is listed, and is in the table of its docstring."""
    module = importlib.import_module(f"nullproof.{room}")
    assert module.__all__ == ROOMS[room]
    assert {*ROOMS[room]} <= {*dir(module)}
    for name in ROOMS[room]:
        assert getattr(module, name).__name__ == name
        assert f"`{name}`" in str(module.__doc__)
    with pytest.raises(AttributeError, match=f"module 'nullproof.{room}' has no attribute"):
        module.nothing  # noqa: B018


def test_docs_and_examples_import_public_names_only() -> None:
    """What users read imports from nullproof or from a room that offers names, nowhere deeper."""
    offered = {"nullproof", "nullproof.estimator", *(f"nullproof.{room}" for room in ROOMS)}
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").iterdir()]
    for path in files:
        if path.is_file():
            text = path.read_text("utf-8")
            imported = re.findall(r"(?:from|import) (nullproof[.\w]*)", text)
            assert {*imported} <= offered, path.name
            for module, names in re.findall(r"from (nullproof\.\w+) import ([\w, ]+)", text):
                known = dir(importlib.import_module(module))
                assert {name.strip() for name in names.split(",")} <= {*known}, path.name
