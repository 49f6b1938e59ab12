"""Load public names when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def public(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    homes
        The module of each public name, relative to the package or absolute.
    """
    names = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name] if homes[name].startswith("nullproof.") else f"{package}.{homes[name]}"
        return getattr(importlib.import_module(home), name)

    def listed() -> list[str]:
        return [*vars(importlib.import_module(package)), *names]

    return names, get, listed
