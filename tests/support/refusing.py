"""Mistakes as a table: what is asked, and what the one sentence of the refusal says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nullproof import NullproofError


def refuses(law: str, ask: Callable[..., Any], *cases: tuple[Any, ...]) -> Any:
    """Make a test: each case is what ``ask`` is given, and a pattern of the refusal, which is one line."""

    def test(case: tuple[Any, ...]) -> None:
        *given, words = case
        with pytest.raises(NullproofError, match=words) as caught:
            ask(*given)
        assert "\n" not in str(caught.value)

    test.__doc__ = law
    return pytest.mark.parametrize("case", cases, ids=lambda case: str(case[-1]))(test)
