"""Run long work in processes of their own, so that it can be ended at any moment.

A damaged file may end the process that reads it, and compiled code cannot be interrupted: neither
disturbs the server. Processes are forked from a small one that has the library loaded already.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Literal

from nullproof.errors import NullproofError, NullproofWarning
from nullproof.web.limits import RequestError

State = Literal["waiting", "working", "done", "failed", "cancelled"]
Say = Callable[[float, str], None]
# Takes a way to report progress, and other arguments; returns what can be pickled.
Work = Callable[..., Any]
_LOADED = ["nullproof.web.analysis", "nullproof.web.uploads"]


class Job:
    """Some work, how far it is, and how it ended.

    Parameters
    ----------
    work
        A function of a module. It is called with a way to report progress (a share and a text), and
        the arguments.
    died
        What to say if the process ends without a word.
    """

    def __init__(
        self,
        work: Work,
        *arguments: Any,
        died: str = "the work ended without an answer, perhaps for lack of memory; use fewer rows",
    ) -> None:
        self._work, self._arguments, self._died = work, arguments, died
        self._lock = threading.Lock()
        self._process: Any = None
        self.state: State = "waiting"
        self.share, self.doing, self.seconds = 0.0, "waiting for a free worker", 0.0
        self.error: NullproofError | None = None
        self.outcome: Any = None

    @property
    def over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ("done", "failed", "cancelled")

    def release(self) -> None:
        """Let go of what the work needed; called once, when the job is over, even if it never began."""

    def cancel(self) -> None:
        """End the work now."""
        with self._lock:
            was, process = self.state, self._process
            if not self.over:
                self.state = self.doing = "cancelled"
            if process is not None:
                process.kill()
        if was == "waiting":
            self.release()

    def run(self) -> None:
        """Do the work in another process, and wait for it."""
        start = time.monotonic()
        try:
            receiving = self._started()
        except OSError as problem:
            self.error = NullproofError(f"no process could be started ({problem}); try again")
            self.state = self.doing = "failed"
            self.release()
            return
        if receiving is None:
            return
        try:
            ended, content = self._listen(receiving)
        finally:
            self._process.join()
            receiving.close()
        with self._lock:
            self.seconds, self._process = time.monotonic() - start, None
            if self.state == "working":
                self.state = self.doing = ended
                if ended == "done":
                    self.share, self.outcome = 1.0, content
                else:
                    self.error = content
        self.release()

    def _started(self) -> Connection | None:
        """Start the process and return where it reports to; None if the job was cancelled before."""
        with self._lock:
            if self.state != "waiting":
                return None
            receiving: Connection
            receiving, sending = _context().Pipe(duplex=False)
            self._process = _context().Process(
                target=_in_process, args=(sending, self._work, self._arguments), daemon=True
            )
            self._process.start()
            self.state = "working"
        sending.close()
        return receiving

    def _listen(self, receiving: Connection) -> tuple[Literal["done", "failed"], Any]:
        """Follow the work to its end: its result, or the error."""
        while True:
            try:
                kind, content = receiving.recv()
            except (EOFError, OSError):
                return "failed", NullproofError(self._died)
            if kind != "progress":
                return kind, content
            share, doing = content
            with self._lock:
                if self.state == "working":
                    self.share, self.doing = max(self.share, min(share, 1.0)), doing


def _context() -> Any:
    return multiprocessing.get_context("forkserver")


def _in_process(sending: Connection, work: Work, arguments: tuple[Any, ...]) -> None:
    """Do the work of a job; the server ends this process, not Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", NullproofWarning)
    try:
        sending.send(("done", work(lambda *said: sending.send(("progress", said)), *arguments)))
    except NullproofError as problem:
        # Kinds of errors with arguments of their own cannot all be pickled.
        kept = problem if isinstance(problem, RequestError) else NullproofError(str(problem))
        sending.send(("failed", kept))
    except MemoryError:
        sending.send(
            ("failed", NullproofError("the table is too large for this machine; use fewer rows"))
        )
    except BrokenPipeError:
        # The server is gone.
        sys.exit(1)
    except BaseException as problem:
        # A panic of polars is no Exception.
        traceback.print_exc(file=sys.stderr)
        said = f"{type(problem).__name__}: {problem}; this is a mistake in nullproof"
        sending.send(("failed", NullproofError(said)))


class Workers:
    """A few jobs at a time, in the order they come."""

    def __init__(self, number: int) -> None:
        _context().set_forkserver_preload(_LOADED)
        self._pool = ThreadPoolExecutor(number, thread_name_prefix="job")
        self._jobs: set[Job] = set()

    def submit(self, job: Job) -> Future[None]:
        """Do a job when a worker is free."""
        self._jobs.add(job)
        future = self._pool.submit(job.run)
        future.add_done_callback(lambda _: self._jobs.discard(job))
        return future

    def close(self) -> None:
        """Cancel all jobs, and wait for their processes to end."""
        for job in [*self._jobs]:
            job.cancel()
        self._pool.shutdown()
