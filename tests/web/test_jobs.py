"""Jobs of the server, one by one: bad ones, cancelled ones, and what is kept of them."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from support.web_server import PATIENCE, until

from nullproof.web.desk import Shelf
from nullproof.web.jobs import Job, Workers


def test_a_bad_job_ends_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever goes wrong in one job is told by it, and the next one is done by the same thread."""
    workers = Workers(1)

    def broken(_: Any) -> None:
        raise RuntimeError("no luck")

    def greedy(_: Any) -> None:
        raise MemoryError

    jobs = [Job(broken), Job(greedy), Job(lambda say: say(0.5, "half"))]
    for job in jobs:
        workers.submit(job)
    until(lambda: all(job.over for job in jobs))
    assert [job.state for job in jobs] == ["failed", "failed", "done"]
    assert "no luck" in str(jobs[0].error)
    assert "memory" in str(jobs[1].error)
    assert "RuntimeError" in capsys.readouterr().err
    workers.close()


def test_a_cancelled_job_leaves_its_work() -> None:
    """Cancelling ends a job at its next step; one that waits is never begun."""
    workers, steps, hold = Workers(1), [0], threading.Event()

    def long(say: Any) -> None:
        hold.set()
        while True:
            steps[0] += 1
            say(0.0, "on and on")
            time.sleep(0.005)

    begun, waiting = Job(long), Job(lambda _: steps.append(1))
    workers.submit(begun)
    workers.submit(waiting)
    assert hold.wait(PATIENCE)
    waiting.cancel()
    begun.cancel()
    until(lambda: begun.over)
    assert (begun.state, waiting.state) == ("cancelled", "cancelled")
    done = steps[0]
    time.sleep(0.05)
    assert steps == [done]
    workers.close()


def test_a_long_computation_is_left() -> None:
    """Cancelling ends also what never tells of its progress, and nothing but that."""
    workers, hold = Workers(1), threading.Event()
    ends: list[Any] = []

    def silent(_: Any) -> None:
        with job.computing():
            hold.set()
            while True:
                np.sort(np.arange(1000)[::-1])

    def brief(_: Any) -> None:
        with later.computing():
            ends.append(sum(range(1000)))
        time.sleep(0.05)
        ends.append("still here")

    job, later = Job(silent), Job(brief)
    workers.submit(job)
    workers.submit(later)
    assert hold.wait(PATIENCE)
    job.cancel()
    job.cancel()
    until(lambda: later.over)
    assert (job.state, later.state) == ("cancelled", "done")
    assert ends == [499500, "still here"]
    workers.close()


class Box:
    """Something to keep."""

    def __init__(self, size: int, busy: bool = False) -> None:
        self.size, self.busy, self.gone = size, busy, False

    def discard(self) -> None:
        self.gone = True


def test_what_is_in_use_stays() -> None:
    """A thing in use is not dropped for another, however old it is; without room one is refused."""
    shelf: Shelf[Box] = Shelf("box", number=2, size=100, age=1e9)
    used, idle, third = Box(10, busy=True), Box(10), Box(10)
    for box in (used, idle, third):
        shelf.put(box)
    assert (used.gone, idle.gone, third.gone) == (False, True, False)
    third.busy = True
    with pytest.raises(ValueError, match="no room for another box right now"):
        shelf.put(Box(1))
    third.busy = False
    large = Box(95)
    shelf.put(large)
    assert third.gone
    shelf.clear()
    assert (used.gone, large.gone, len(shelf)) == (True, True, 0)
