"""Ways to break bytes and documents: flips, cuts, splices, hostile sizes, odd values."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

Break = Callable[[bytes, random.Random], bytes]

# What means something in a text file of some kind, or is read wrongly most easily.
TOKENS = (
    *(b'"', b'""', b"'", b"\n", b"\r", b"\r\n", b"\0", b",", b";", b"\t", b"|", b"{", b"}", b"%"),
    *(b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xed\xa0\x80", b"\xc3", b"\\", b"\x1a"),
    *(b"NaN", b"inf", b"-inf", b"1e400", b"-0", b"9" * 40, b"9" * 400, b"0x1", b"1_0", b"?", b"NA"),
    *(b"1,5", b"1.234,5", b"31.12.1999", b"2020-13-45", b"99999-01-01", b"24:00", b"true", b"None"),
    *(b"@data", b"@attribute", b"@relation", b"numeric", b"{0 1, 1 2}", b"date 'yyyy'", b"sparse"),
    *("é".encode(), "\u202e".encode(), "\U0001f600".encode(), "\u2028".encode(), b" ", b"x" * 3000),
    *(b"<c r='XFD1048576'>", b"<v>1e999</v>", b"t='s'", b"&#0;", b"&amp;", b"<!DOCTYPE x>", b"]]>"),
    *(
        b"\xff\xff\xff\xff\x0f",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x80\x80\x04",
        b"PAR1",
    ),
)
SIZES = (0, 1, 2, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
LARGE_SIZES = (*SIZES, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 1.5, -0.0, 1e308, float("nan")),
    *(float("inf"), "", "x", "\0", "\ud800", "9" * 50, "x" * 2000, "?", "NA", " ", "2020-13-45"),
    *(
        [],
        [[]],
        [None],
        [1, "x", None],
        {},
        {"a": 1},
        [float("nan")],
        "training",
        "points",
        "blank",
    ),
)


def broken(raw: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """Change some bytes, once or a few times; ``others`` are files to splice with."""
    content = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not content:
            break
        # The end of many kinds of files says what is in the rest.
        first = max(0, len(content) - 600) if rng.random() < 0.3 else 0
        at = rng.randrange(first, len(content))
        change = rng.choice(_CHANGES)
        change(content, at, rng)
    if others and rng.random() < 0.1:
        other = rng.choice(others)
        content[rng.randrange(len(content) + 1) :] = other[rng.randrange(len(other) + 1) :]
    return bytes(content)


def _flip(content: bytearray, at: int, rng: random.Random) -> None:
    content[at] ^= 1 << rng.randrange(8)


def _write(content: bytearray, at: int, rng: random.Random) -> None:
    width = rng.choice((1, 2, 4, 16))
    content[at : at + width] = rng.randbytes(width)


def _cut(content: bytearray, at: int, rng: random.Random) -> None:
    if rng.random() < 0.8:
        del content[at:]
    else:
        del content[:at]


def _remove(content: bytearray, at: int, rng: random.Random) -> None:
    del content[at : at + rng.choice((1, 1, 4, 30, 300))]


def _repeat(content: bytearray, at: int, rng: random.Random) -> None:
    part = content[at : at + rng.choice((1, 4, 30, 300))]
    content[at:at] = part * rng.choice((1, 1, 2, 50))


def _token(content: bytearray, at: int, rng: random.Random) -> None:
    token = rng.choice(TOKENS)
    content[at : at + rng.choice((0, 0, 1, len(token)))] = token


def _size(content: bytearray, at: int, rng: random.Random) -> None:
    width = rng.choice((1, 2, 4, 4, 8, 8))
    size = rng.choice(LARGE_SIZES if width == 8 else SIZES) % (1 << 8 * width)
    if rng.random() < 0.7:
        at -= at % width
    content[at : at + width] = size.to_bytes(width, rng.choice(("little", "little", "big")))


def _step(content: bytearray, at: int, rng: random.Random) -> None:
    content[at] = (content[at] + rng.choice((1, -1, 2, 16, 127))) % 256


_CHANGES = (_flip, _flip, _write, _cut, _remove, _repeat, _token, _token, _size, _size, _step)


def odd_document(document: Any, rng: random.Random) -> bytes:
    """JSON with a few of its parts replaced, taken out, repeated or nested, and now and then broken."""
    found = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = _changed_part(found, rng)
    written = json.dumps(found).encode()
    return broken(written, rng) if rng.random() < 0.25 else written


def _odd(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(ODD))


def _changed_part(document: Any, rng: random.Random) -> Any:
    place = document
    while isinstance(place, dict | list) and place:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        key = rng.choice(keys)
        if not isinstance(place[key], dict | list) or rng.random() < 0.3:
            _change_at(place, key, rng)
            return document
        place = place[key]
    return _odd(rng)


def _change_at(place: Any, key: Any, rng: random.Random) -> None:
    change = rng.choice(("odd", "odd", "odd", "remove", "nest", "add", "text"))
    if change == "remove":
        del place[key]
    elif change == "nest":
        deep = place[key]
        for _ in range(rng.choice((1, 2, 200))):
            deep = [deep]
        place[key] = deep
    elif change == "add" and isinstance(place, list):
        place.insert(key, copy.deepcopy(place[key]))
    elif change == "add":
        place[rng.choice(("", "none", "\ud800", "x" * 300))] = _odd(rng)
    elif change == "text":
        place[key] = str(place[key])
    else:
        place[key] = _odd(rng)
