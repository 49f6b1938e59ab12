"""The reference has every public name, and every public function shows how it is called."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
PAGES = (Path(__file__).parents[2] / "docs/reference").glob("*.md")
NAMED = {name for page in PAGES for name in re.findall(r"^::: (\S+)$", page.read_text(), re.M)}
# The paper's algorithms, nullproof.baselines, are for comparisons and not in the reference.
ROOMS = ("", ".attacks", ".cleaning", ".estimator", ".odds", ".plots", ".radii")


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(room: str) -> None:
    """A name that can be imported from a room has its place on a page, once."""
    module = importlib.import_module(f"nullproof{room}")
    found = {name.rpartition(".")[2] for name in NAMED}
    assert [name for name in module.__all__ if name not in found] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_function_has_an_example(room: str) -> None:
    """The example is run with the others of the package."""
    module = importlib.import_module(f"nullproof{room}")
    functions = [getattr(module, name) for name in module.__all__]
    silent = [
        one.__name__
        for one in functions
        if inspect.isfunction(one) and ">>> " not in (inspect.getdoc(one) or "")
    ]
    assert silent == []
