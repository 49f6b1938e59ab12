"""Ask a database of known vulnerabilities about every library that is installed here: nox -s audit

Exit code 0: all were looked up, none is known to have a hole. 1: holes are listed. 3: some or all could not
be looked up, so that nothing may be concluded from silence.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SERVICES = ("osv", "pypi")
# No database knows a package before it is published.
OWN = "nullproof"


def looked_up(service: str) -> list[dict[str, Any]] | None:
    """What a database says of each library, or None if it does not answer."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "-f",
        "json",
        "-s",
        service,
        "--progress-spinner=off",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except ValueError:
        return None


def verdict(libraries: list[dict[str, Any]]) -> tuple[int, str]:
    """The exit code, and what to say."""
    others = [one for one in libraries if one["name"] != OWN]
    holes = [
        f"{one['name']} {one['version']}: {hole['id']}, "
        f"mended in {', '.join(hole['fix_versions']) or 'no version'}"
        for one in others
        for hole in one.get("vulns", ())
    ]
    unknown = [one["name"] for one in others if "vulns" not in one]
    if holes:
        return 1, "\n".join(["known vulnerabilities:", *holes])
    if others and len(unknown) < len(others):
        told = f"{len(others) - len(unknown)} libraries looked up, none has a known vulnerability"
        return (3 if unknown else 0), told + (
            f"; not found: {', '.join(unknown)}" if unknown else ""
        )
    return 3, (
        "no database of known vulnerabilities could be reached: NOTHING WAS CHECKED; "
        "run this again where there is a connection"
    )


def main() -> None:
    """Ask one database after the other, until one knows something."""
    code, said = verdict([])
    for service in SERVICES:
        libraries = looked_up(service)
        if libraries is not None:
            code, said = verdict(libraries)
            if "NOTHING" not in said:
                break
    print(said)
    sys.exit(code)


if __name__ == "__main__":
    main()
