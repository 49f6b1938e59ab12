"""Write docs/licences.md: the libraries that nullproof installs, with their licences.

To be run in an environment that has the extra all: .venv-dev/bin/python scripts/licences.py
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
HEAD = """# Licences of the libraries

nullproof itself is under the Apache License 2.0. `python scripts/licences.py` writes this page from the
metadata of the libraries. The last column says what requires a library, the core or an extra; the others
are their dependencies.

All these licences allow use in closed programs. One with MPL or LGPL wants changes to the library itself
published: {weak}.

| library | licence | required by |
|---|---|---|
"""
# Longer names that libraries write where today's short one is meant.
SPELLINGS = (
    (r"apache", "Apache-2.0"),
    (r"mozilla|mpl", "MPL-2.0"),
    (r"lgpl|lesser", "LGPL-3.0-only"),
    (r"python software|psf", "PSF-2.0"),
    (r"isc", "ISC"),
    (r"2-clause", "BSD-2-Clause"),
    (r"bsd|redistribution and use", "BSD-3-Clause"),
    (r"mit|permission is hereby granted", "MIT"),
)
WEAK = ("MPL", "LGPL")


def parts() -> dict[str, list[str]]:
    """The requirements of the core and of each extra but ``all``, as pyproject.toml writes them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name: one for name, one in project["optional-dependencies"].items() if name != "all"}
    return {"core": project["dependencies"], **extras}


def library(requirement: str) -> str:
    """The name of the library in a requirement, as registries write it."""
    name = re.match(r"[\w.-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def asked_for() -> dict[str, list[str]]:
    """For each library that pyproject.toml names, the parts that ask for it."""
    found: dict[str, list[str]] = {}
    for part, requirements in parts().items():
        for requirement in requirements:
            found.setdefault(library(requirement), []).append(part)
    return found


def installed() -> dict[str, Distribution]:
    """What pyproject.toml names, with all that comes along, as far as it is installed here."""
    found: dict[str, Distribution] = {}
    waiting = [requirement for one in parts().values() for requirement in one]
    while waiting:
        requirement = waiting.pop()
        name = library(requirement)
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        waiting += _needed(found[name], requirement)
    return found


def _needed(one: Distribution, requirement: str) -> Iterator[str]:
    """What a library needs itself, with the extras of it that the requirement asks for."""
    bracket = re.match(r"[\w.-]+\[([^\]]*)\]", requirement)
    wanted = {extra.strip() for extra in bracket[1].split(",")} if bracket else set()
    for needed in one.requires or []:
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", needed)
        if extra is None or extra[1] in wanted:
            yield needed


def licence(one: Distribution) -> str:
    """The licence that a library says it has, in today's short form."""
    fields = one.metadata
    if fields["License-Expression"]:
        return str(fields["License-Expression"])
    classifiers = [
        c.rpartition(" :: ")[2] for c in fields.get_all("Classifier") or [] if "License" in c
    ]
    for said in (*classifiers, str(fields["License"])):
        for pattern, short in SPELLINGS:
            if re.search(rf"\b(?:{pattern})\b", said, re.IGNORECASE):
                return short
    return "unknown"


def page() -> str:
    """The page, from what is installed here."""
    asked, found = asked_for(), installed()
    rows = {name: licence(one) for name, one in sorted(found.items())}
    weak = ", ".join(name for name, said in rows.items() if any(word in said for word in WEAK))
    lines = [
        f"| {name} | {said} | {', '.join(asked.get(name, ()))} |" for name, said in rows.items()
    ]
    return HEAD.format(weak=weak) + "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, if everything is installed that it should list."""
    lacking = sorted(asked_for().keys() - installed().keys())
    if lacking:
        sys.exit(f"not installed here: {', '.join(lacking)}; install the extra all, then try again")
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
