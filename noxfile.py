"""The matrix: every Python, the lowest and the newest libraries, no extra, each alone, the built package.

nox -l lists the sessions, nox -s lowest runs one, nox runs all of them. What follows -- goes to pytest in
place of the quick tests: nox -s lowest -- tests runs all tests there.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
# A Python that is not on this machine is told and passed over; where CI is set, it is an error.
nox.options.error_on_missing_interpreters = "CI" in os.environ

PROJECT = nox.project.load_toml("pyproject.toml")["project"]
PYTHONS = nox.project.python_versions({"project": PROJECT})
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]
EXTRAS = [extra for extra in PROJECT["optional-dependencies"] if extra != "all"]
RUNNERS = ("hypothesis", "pytest", "pytest-randomly", "pytest-xdist")
QUICK = ("-n", "auto", "--dist", "loadgroup", "-m", "not slow", "tests")
# As many random tables as find what another version of a library breaks; ./check asks about all others.
FEW = {"NULLPROOF_MORE": "0.05"}


def run_tests(
    session: nox.Session, *options: str, select: tuple[str, ...] = QUICK, **environment: str
) -> None:
    """Run the tests that were asked for, or those that are selected, with these options of pytest."""
    asked = session.posargs or select
    session.run("python", "-m", "pytest", "-q", *options, *asked, env={**FEW, **environment})


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All extras, with the versions that ./check has."""
    session.install("-c", "constraints.txt", "-e", ".[all]", "-r", "requirements-dev.txt")
    run_tests(session)


@nox.session(python=OLDEST, venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """All extras, with the lowest version of every library that pyproject.toml names."""
    floors = str(Path(session.create_tmp()) / "lowest.txt")
    which = (
        "--resolution",
        "lowest-direct",
        "--extra",
        "all",
        "--python",
        session.virtualenv.location,
    )
    session.run("uv", "pip", "compile", "-q", *which, "pyproject.toml", "-o", floors, external=True)
    session.install("-c", floors, "-e", ".[all]", "-r", "requirements-dev.txt")
    # Old libraries warn about newer ones.
    run_tests(session, "-W", "default")


@nox.session(python=NEWEST)
def newest(session: nox.Session) -> None:
    """All extras, with the newest version of every library, those past constraints.txt too."""
    session.install("--upgrade", "-e", ".[all]", "-r", "requirements-dev.txt")
    run_tests(session, "-W", "default")


@nox.session(python=OLDEST)
def bare(session: nox.Session) -> None:
    """No extra at all: what needs one is skipped, all else passes."""
    session.install("-c", "constraints.txt", "-e", ".", *RUNNERS)
    run_tests(session, "-p", "support.lacking", NULLPROOF_EXTRAS="", PYTHONPATH="tests")


@nox.session(python=OLDEST)
@nox.parametrize("extra", EXTRAS, ids=EXTRAS)
def extra(session: nox.Session, extra: str) -> None:
    """One extra alone: what it is for works."""
    session.install("-c", "constraints.txt", "-e", f".[{extra}]", *RUNNERS)
    run_tests(session, select=("tests/test_extras.py",), NULLPROOF_EXTRAS=extra)


@nox.session(python=OLDEST, reuse_venv=False)
@nox.parametrize("kind", ["wheel", "sdist"], ids=["wheel", "sdist"])
def built(session: nox.Session, kind: str) -> None:
    """The built wheel or sdist, installed elsewhere, with the tests of the sdist."""
    sdist, wheel = build(session, Path(session.create_tmp()) / "dist")
    install_elsewhere(session, wheel if kind == "wheel" else sdist, sdist)
    run_tests(session)


@nox.session(python=OLDEST)
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of what ./check installs, where a database can be reached."""
    session.install("-c", "constraints.txt", "-e", ".[all]", "pip-audit")
    said = session.run("python", "scripts/audit.py", success_codes=[0, 3], silent=True)
    session.log(said)
    if "NOTHING WAS CHECKED" in str(said):
        session.skip("no database of known vulnerabilities could be reached")


@nox.session(python=OLDEST, reuse_venv=False)
def release(session: nox.Session) -> None:
    """The dry run of a release, as docs/releasing.md tells: all but the tag and the upload."""
    session.install("cffconvert", "twine")
    session.run("cffconvert", "--validate", "-i", "CITATION.cff")
    sdist, wheel = build(session, Path("dist"))
    session.run("twine", "check", "--strict", str(sdist), str(wheel))
    install_elsewhere(session, wheel, sdist)
    run_tests(session)
    for name, address in PROJECT["urls"].items():
        if "example.org" in address:
            session.warn(f"[project.urls] {name} is still a placeholder: fill it in before the tag")


def build(session: nox.Session, dist: Path) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel."""
    shutil.rmtree(dist, ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(dist))
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    return sdist.resolve(), wheel.resolve()


def install_elsewhere(session: nox.Session, package: Path, sdist: Path) -> None:
    """Install what was built, and go where the sdist is unpacked, far from this folder."""
    session.install(
        "-c",
        "constraints.txt",
        f"nullproof[all] @ {package.as_uri()}",
        "-r",
        "requirements-dev.txt",
    )
    elsewhere = Path(session.create_tmp()) / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    with tarfile.open(sdist) as packed:
        packed.extractall(elsewhere, filter="data")
    session.chdir(elsewhere / sdist.name.removesuffix(".tar.gz"))
    where = "import nullproof; assert 'site-packages' in nullproof.__file__, nullproof.__file__"
    session.run("python", "-c", where)
    session.run("nullproof", "demo", silent=True)
    session.run("python", "-m", "pytest", "-q", "tests/test_package.py")
