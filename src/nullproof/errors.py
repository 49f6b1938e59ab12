"""Exceptions and warnings: each message says what was given, what is needed and what to do."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Spark loses its gateway or its context; a call that ends without a message has lost its Java process.
_LOST = re.compile(
    r"connection|network|gateway|in the JVM|stopped sparkcontext|while calling \S+$", re.IGNORECASE
)


class NullproofError(ValueError):
    """An input that nullproof rejects; the message is one sentence for the user."""


class MissingExtraError(NullproofError, ImportError):
    """An optional dependency is not installed; the message gives the install line."""


class NullproofWarning(UserWarning):
    """Something in the data that the user should know about; the answer is still valid."""


def notice(message: str) -> None:
    """Warn the user, at the line of their code that called nullproof."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "nullproof":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, NullproofWarning, stacklevel=level)


def missing_extra(what: str, extra: str) -> MissingExtraError:
    """Return the error that names a missing extra and how to install it."""
    return MissingExtraError(
        f"{what} needs an optional part that is not installed; "
        f'install it with: pip install "nullproof[{extra}]"'
    )


@contextmanager
def explained(engine: str) -> Iterator[None]:
    """Turn an error of an engine, or of a library it uses, into one sentence."""
    try:
        yield
    except ModuleNotFoundError as problem:
        if problem.name != "pyarrow":
            raise
        extra = "spark" if engine.lower().startswith("pyspark") else "duckdb"
        raise missing_extra(f"counting in {engine.lower()}", extra) from problem
    except BaseException as problem:
        origin = type(problem).__module__.partition(".")[0]
        # A polars panic is not an Exception. Libraries overflow at dates beyond Python's range.
        theirs = isinstance(problem, Exception) and origin not in ("builtins", "nullproof")
        told = isinstance(problem, OverflowError | NotImplementedError | ConnectionError | EOFError)
        if not (theirs or told or origin == "pyo3_runtime"):
            raise
        said = " ".join(str(problem).split())[:200] or "it gave no answer"
        lost = isinstance(problem, ConnectionError | EOFError) or _LOST.search(said)
        advice = (
            "the connection may be lost, so connect and count again"
            if lost
            else "cast the column to text, numbers or dates there, leave it out with ignore, or read the "
            "table into memory first"
        )
        raise NullproofError(
            f"{engine.lower()} cannot count the table: {said}; {advice}"
        ) from problem
