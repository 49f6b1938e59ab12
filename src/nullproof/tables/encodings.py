"""Text files that are not UTF-8: by their mark, by the name that was given, or as Windows writes them."""

from __future__ import annotations

import codecs
import re

from nullproof.errors import NullproofError, notice
from nullproof.tables.contents import KINDS, Content

# What Excel and other programs write on Windows in Western Europe and America.
WINDOWS = "cp1252"
# The longer marks first: that of UTF-16 begins that of UTF-32.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_ASCII = bytes(range(0x20, 0x7F)) + b"\t\r\n\f"
# Of the bytes of a text in a language with Latin letters, far more are ASCII.
_LEAST_ASCII = 0.7


class NotUtf8Error(Exception):
    """A text file turned out not to be UTF-8 while it was read."""


def decode(content: Content, encoding: str | None) -> None:
    """Turn a text into UTF-8 if its mark or the user says that it is something else."""
    if encoding is None:
        marked = next(
            (name for mark, name in _MARKS.items() if content.start(4).startswith(mark)), None
        )
        if marked is None:
            if b"\0" in content.start():
                raise NullproofError(f"{content.name} is not a table; give a {KINDS}")
            return
        encoding = marked
    _transcode(content, encoding)


def is_utf8(content: Content) -> bool:
    """Whether all of a text is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with content.open() as stream:
        try:
            while block := stream.read(1 << 22):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def decode_as_windows(content: Content) -> None:
    """Take a text that is not UTF-8 for what Windows writes, and say so; refuse what cannot be that."""
    with content.open() as stream:
        raw = stream.read()
    n_ascii = len(raw) - len(raw.translate(None, _ASCII))
    if _CONTROLS.search(raw) or n_ascii < _LEAST_ASCII * len(raw):
        raise _not_utf8(content)
    try:
        written = raw.decode(WINDOWS)
    except UnicodeDecodeError:
        raise _not_utf8(content) from None
    content.data = written.encode()
    notice(
        f"{content.name} is not UTF-8 text and was read as {WINDOWS} (Windows, Western Europe); if letters "
        "look wrong, name its encoding: encoding= or --encoding"
    )


def _transcode(content: Content, encoding: str) -> None:
    with content.open() as stream:
        raw = stream.read()
    try:
        written = raw.decode(encoding)
    except (LookupError, ValueError) as problem:
        if isinstance(problem, UnicodeDecodeError):
            raise NullproofError(
                f"{content.name} is not {encoding} text (byte {problem.start + 1}: {problem.reason}); "
                "name another encoding, or save it as UTF-8"
            ) from None
        raise NullproofError(
            f"encoding is {encoding!r}, which is no encoding of text that Python knows; give one like "
            "utf-8, cp1252, latin-1 or utf-16"
        ) from None
    content.data = written.removeprefix("\ufeff").encode(errors="replace")
    if not content.data:
        raise content.empty()
    if "\0" in written:
        raise NullproofError(
            f"{content.name} holds zero bytes when read as {encoding}, and is not a table; give a {KINDS}"
        )


def _not_utf8(content: Content) -> NullproofError:
    with content.open() as stream:
        places = ((line, _undecodable(raw)) for line, raw in enumerate(stream, start=1))
        line, at = next(((line, at) for line, at in places if at), (1, 1))
    return NullproofError(
        f"{content.name} is not UTF-8 text (line {line}, byte {at}); save it as UTF-8, or name its "
        "encoding: encoding= or --encoding"
    )


def _undecodable(raw: bytes) -> int:
    """Which byte, counted from 1, is not UTF-8; 0 if there is none."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.start + 1
    return 0
