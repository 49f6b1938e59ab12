"""Ways to break bytes, texts and documents: flips, cuts, splices, hostile sizes, odd values."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

T = TypeVar("T")
Change = Callable[[bytearray, int, random.Random], None]

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
# Those that leave a text what it is, so that readers come to its rows.
WORDS = (
    *(token for token in TOKENS if token.isascii() and b"\0" not in token),
    *("é".encode(), "\u2028".encode(), b"1 000,5", b"$5", b"12 %", b"1/2/2020", b"12:30", b"''"),
)
_BYTE_ORDERS: tuple[Literal["little", "big"], ...] = ("little", "little", "big")
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
    for _ in range(pick((1, 1, 1, 2, 3, 8), rng)):
        if not content:
            break
        # The end of many kinds of files says what is in the rest.
        first = max(0, len(content) - 600) if rng.random() < 0.3 else 0
        at = first + below(len(content) - first, rng)
        pick(_CHANGES, rng)(content, at, rng)
    if others and rng.random() < 0.1:
        other = pick(others, rng)
        content[below(len(content) + 1, rng) :] = other[below(len(other) + 1, rng) :]
    return bytes(content)


def broken_text(raw: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """Change a text, mostly so that it stays one."""
    if rng.random() < 0.3:
        return broken(raw, rng, others)
    content = bytearray(raw)
    for _ in range(pick((1, 1, 2, 3, 8), rng)):
        at = below(len(content) + 1, rng)
        chance = rng.random()
        if chance < 0.6:
            word = pick(WORDS, rng)
            content[at : at + pick((0, 1, len(word)), rng)] = word
        elif chance < 0.8:
            del content[at : at + pick((1, 1, 4, 30), rng)]
        else:
            content[at:at] = content[at : at + pick((1, 4, 30, 300), rng)]
    return bytes(content)


def below(n: int, rng: random.Random) -> int:
    """A whole number from 0 to n - 1, in half the time of ``randrange``, and even enough."""
    return int(rng.random() * n)


def pick(choices: Sequence[T], rng: random.Random) -> T:
    """One of these, in half the time of ``choice``."""
    return choices[int(rng.random() * len(choices))]


def _flip(content: bytearray, at: int, rng: random.Random) -> None:
    content[at] ^= 1 << below(8, rng)


def _write(content: bytearray, at: int, rng: random.Random) -> None:
    width = pick((1, 2, 4, 16), rng)
    content[at : at + width] = rng.randbytes(width)


def _cut(content: bytearray, at: int, rng: random.Random) -> None:
    chance = rng.random()
    if chance < 0.3:
        # A download that was almost done.
        del content[-1 - below(20, rng) :]
    elif chance < 0.8:
        del content[at:]
    else:
        del content[:at]


def _remove(content: bytearray, at: int, rng: random.Random) -> None:
    del content[at : at + pick((1, 1, 4, 30, 300), rng)]


def _repeat(content: bytearray, at: int, rng: random.Random) -> None:
    part = content[at : at + pick((1, 4, 30, 300), rng)]
    content[at:at] = part * pick((1, 1, 2, 50), rng)


def _token(content: bytearray, at: int, rng: random.Random) -> None:
    token = pick(TOKENS, rng)
    content[at : at + pick((0, 0, 1, len(token)), rng)] = token


def _size(content: bytearray, at: int, rng: random.Random) -> None:
    width = pick((1, 2, 4, 4, 8, 8), rng)
    size = pick(LARGE_SIZES if width == 8 else SIZES, rng) % (1 << 8 * width)
    if rng.random() < 0.7:
        at -= at % width
    content[at : at + width] = size.to_bytes(width, pick(_BYTE_ORDERS, rng))


def _step(content: bytearray, at: int, rng: random.Random) -> None:
    content[at] = (content[at] + pick((1, -1, 2, 16, 127), rng)) % 256


_CHANGES: tuple[Change, ...] = (
    _flip,
    _flip,
    _write,
    _cut,
    _remove,
    _repeat,
    _token,
    _token,
    _size,
    _size,
    _step,
)


def odd_document(document: Any, rng: random.Random) -> bytes:
    """JSON with a few of its parts replaced, taken out, repeated or nested, and now and then broken."""
    found = copy.deepcopy(document)
    for _ in range(pick((1, 1, 2, 4), rng)):
        found = _changed_part(found, rng)
    written = json.dumps(found).encode()
    return broken(written, rng) if rng.random() < 0.25 else written


def _odd(rng: random.Random) -> Any:
    return copy.deepcopy(pick(ODD, rng))


def _changed_part(document: Any, rng: random.Random) -> Any:
    place = document
    while isinstance(place, dict | list) and place:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        key = pick(keys, rng)
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
