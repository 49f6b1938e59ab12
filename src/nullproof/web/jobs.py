"""Long work in threads of its own: with progress, stoppable, and never in the way of another."""

from __future__ import annotations

import ctypes
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from nullproof.errors import NullproofError

State = Literal["waiting", "working", "done", "failed", "cancelled"]
Say = Callable[[float, str], None]


class _Cancelled(BaseException):
    """Leaves the work of a job; not an Exception, so that nobody in between swallows it."""


@dataclass
class Job:
    """Some work, how far it is, and how it ended.

    Parameters
    ----------
    work
        Is given a function to call now and then with the share done and what is going on; that
        call does not return once the job was cancelled.
    release
        Is called once when the job is over, also if it was cancelled before it began.
    """

    work: Callable[[Say], None]
    release: Callable[[], None] = lambda: None
    state: State = "waiting"
    share: float = 0.0
    doing: str = "waiting for a free worker"
    error: str | None = None
    seconds: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: int | None = None
    _released: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ("done", "failed", "cancelled")

    def cancel(self) -> None:
        """Stop the work: at its next step, or anywhere if it is in a long computation."""
        with self._lock:
            if self._stop.is_set():
                return
            self._stop.set()
            waiting = self.state == "waiting"
            if waiting:
                self.state, self.doing = "cancelled", "cancelled"
            if self._thread is not None:
                _raise_in(self._thread, _Cancelled)
        if waiting:
            self._release()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Mark a long computation without files or locks, which may be left at any point."""
        self.say(self.share, self.doing)
        try:
            with self._lock:
                self._thread = threading.get_ident()
            yield
        finally:
            with self._lock:
                if self._stop.is_set():
                    # What was raised but has not arrived yet would hit whatever comes next.
                    _raise_in(threading.get_ident(), None)
                self._thread = None

    def say(self, share: float, doing: str) -> None:
        """Record progress; leave the work if the job was cancelled."""
        if self._stop.is_set():
            raise _Cancelled
        self.share, self.doing = max(self.share, min(share, 1.0)), doing

    def run(self) -> None:
        """Do the work; whatever goes wrong ends this job only."""
        if self._stop.is_set():
            return
        start = time.monotonic()
        self.state = "working"
        try:
            self.work(self.say)
            self.say(1.0, "done")
            self.state = "done"
        except (_Cancelled, KeyboardInterrupt):
            # polars turns Ctrl-C into an exception of whichever thread is calling it.
            self.state, self.doing = "cancelled", "cancelled"
        except NullproofError as problem:
            self._fail(str(problem))
        except MemoryError:
            self._fail("the table is too large for this machine's memory; use fewer rows")
        except BaseException as problem:
            # A panic of polars is no Exception; nothing may end the thread that does the next job.
            traceback.print_exc(file=sys.stderr)
            self._fail(f"{type(problem).__name__}: {problem}; this is a mistake in nullproof")
        finally:
            self.seconds = time.monotonic() - start
            self._release()

    def _release(self) -> None:
        """Once, although a job may be cancelled in the moment that it begins."""
        with self._lock:
            released, self._released = self._released, True
        if not released:
            self.release()

    def _fail(self, message: str) -> None:
        self.error = " ".join(message.split())
        self.state, self.doing = "failed", "failed"


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in another thread, or take back one that has not arrived there yet."""
    thrown = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), thrown)


class Workers:
    """A few threads that take jobs in the order they come.

    The threads are daemons: the work of a job is often one long call into compiled code, which
    nothing can stop, and the end of the program must not wait for it.
    """

    def __init__(self, number: int) -> None:
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._running: list[Job | None] = [None] * number
        for place in range(number):
            threading.Thread(target=self._work, args=(place,), daemon=True).start()

    def submit(self, job: Job) -> None:
        """Do a job when a thread is free."""
        self._queue.put(job)

    def close(self) -> None:
        """Cancel what is going on and let the threads end."""
        for job in self._running:
            if job is not None:
                job.cancel()
        for _ in self._running:
            self._queue.put(None)

    def _work(self, place: int) -> None:
        while (job := self._queue.get()) is not None:
            self._running[place] = job
            job.run()
            self._running[place] = None
