"""Work that both cores share: order, how much is under way, and what goes wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from nullproof.cores import on_both_cores


def test_results_come_in_order() -> None:
    """A slow item does not let a quick one pass."""

    def slowly(n: int) -> int:
        time.sleep(n / 100)
        return n

    assert list(on_both_cores(slowly, [3, 0, 2, 1, 0])) == [3, 0, 2, 1, 0]


def test_few_items_are_read_ahead() -> None:
    """Whoever takes results slowly does not have all items read at once: they may be large."""
    read = []

    def items() -> Iterator[int]:
        for n in range(20):
            read.append(n)
            yield n

    for done in on_both_cores(abs, items()):
        assert len(read) <= done + 3


def test_a_failure_is_told() -> None:
    """What one item raises reaches whoever takes its result, after those before it."""
    results = on_both_cores(lambda n: 6 // n, [1, 2, 0, 3])
    assert [next(results), next(results)] == [6, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)
