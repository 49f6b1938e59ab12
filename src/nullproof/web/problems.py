"""Errors of the API: a status code and one sentence, as JSON."""

from __future__ import annotations

import json

from nullproof.errors import NullproofError
from nullproof.words import ends

_LONGEST = 600


class RequestError(NullproofError):
    """Something that the client must change; ``status`` is the HTTP code."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def body(message: str) -> bytes:
    """The one form that every error has: one line, not too long, in UTF-8 whatever it quotes."""
    line = " ".join(message.split())
    if len(line) > _LONGEST:
        # The end of a sentence says what to do.
        line = ends(line, _LONGEST // 2, _LONGEST // 3)
    return json.dumps({"error": line}, ensure_ascii=False).encode(errors="replace")
