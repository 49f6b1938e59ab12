"""What is loaded when, and which names are public."""

from __future__ import annotations

import subprocess
import sys

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
    "inject_missing",
    "label_odds",
    "poison",
    "radius",
    "report",
    "witness",
]


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


def test_the_public_names() -> None:
    """The public names are these; each can be had and is listed."""
    assert nullproof.__all__ == sorted(nullproof.__all__) == PUBLIC
    assert len(PUBLIC) <= 12
    assert {*PUBLIC} <= {*dir(nullproof)}
    for name in PUBLIC:
        assert getattr(nullproof, name).__name__ == name


def test_unknown_names_are_told() -> None:
    """A name that is not there is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="module 'nullproof' has no attribute 'certfy'"):
        nullproof.certfy  # noqa: B018
