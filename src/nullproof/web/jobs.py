"""Run long work in separate processes, so that it can be ended at any moment.

A damaged file may end the process that reads it, and compiled code cannot be interrupted: neither
disturbs the server. Processes are forked from a small one that has the library loaded already. The state
of a job changes on the event loop only.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Literal

import anyio
from anyio.to_thread import run_sync

from nullproof.errors import NullproofError, NullproofWarning
from nullproof.web.limits import RequestError

State = Literal["waiting", "working", "done", "failed", "cancelled"]
Say = Callable[[float, str], None]
# Takes a function to report progress, and other arguments; returns a value that can be pickled.
Work = Callable[..., Any]
_LOADED = ["nullproof.web.analysis", "nullproof.web.uploads"]


def warm_up() -> None:
    """Start the process that others are forked from, so that the library is loaded before the first job."""
    forkserver.set_forkserver_preload(_LOADED)
    # The server ends its processes, not Ctrl-C: they inherit what is blocked here. The tracker, which the
    # other process needs, would unblock it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Job:
    """A piece of work, its progress, and how it ended.

    Parameters
    ----------
    work
        A function of a module. It is called with a function to report progress (a share and a text), and
        the arguments.
    died
        The error message if the process ends without an answer.
    """

    def __init__(
        self,
        work: Work,
        *arguments: Any,
        died: str = "the work ended without an answer, perhaps because memory ran out; use fewer rows",
    ) -> None:
        self._work, self._arguments, self._died = work, arguments, died
        self._scope = anyio.CancelScope()
        # A separate thread listens to the process, however many threads others use.
        self._listener = anyio.CapacityLimiter(1)
        self.state: State = "waiting"
        self.share, self.doing, self.seconds = 0.0, "waiting for a free worker", 0.0
        self.error: NullproofError | None = None
        self.outcome: Any = None

    @property
    def over(self) -> bool:
        """Whether the job has reached its last state."""
        return self.state in ("done", "failed", "cancelled")

    def release(self) -> None:
        """Release resources of the work; called once when the job is over, even if it never began."""

    def cancel(self) -> None:
        """End the work now."""
        self._end("cancelled")
        self._scope.cancel()

    async def run(self, free: anyio.Semaphore) -> None:
        """Do the work in another process as soon as one is free, and wait for it."""
        try:
            with self._scope:
                async with free:
                    await self._follow()
        except Exception as problem:
            # No process could be started, or its answer could not be read; the server goes on.
            self._end(
                "failed", NullproofError(f"the work could not be done ({problem}); try again")
            )
        finally:
            self._end("cancelled")
            self.release()

    def _end(self, state: State, content: Any = None) -> None:
        """Enter the last state, unless the job is over."""
        if self.over:
            return
        self.state = self.doing = state
        if state == "done":
            self.share, self.outcome = 1.0, content
        else:
            self.error = content

    async def _follow(self) -> None:
        """Start a process, and follow it to its end."""
        self.state, start = "working", time.monotonic()
        context = multiprocessing.get_context("forkserver")
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(
            target=_in_process, args=(sending, self._work, self._arguments), daemon=True
        )
        await run_sync(process.start, limiter=self._listener)
        sending.close()
        try:
            ended, content = await self._listen(receiving)
        except BaseException:
            process.kill()
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(process.join, limiter=self._listener)
        self.seconds = time.monotonic() - start
        self._end(ended, content)

    async def _listen(self, receiving: Connection) -> tuple[Literal["done", "failed"], Any]:
        """Follow the work to its end: its result, or the error."""
        while True:
            try:
                # On cancel the thread is left behind; it ends with the process.
                kind, content = await run_sync(
                    receiving.recv, abandon_on_cancel=True, limiter=self._listener
                )
            except (EOFError, OSError):
                return "failed", NullproofError(self._died)
            if kind != "progress":
                return kind, content
            if not self.over:
                share, self.doing = content
                self.share = max(self.share, min(share, 1.0))


def _in_process(sending: Connection, work: Work, arguments: tuple[Any, ...]) -> None:
    """Do the work of a job, and send how it ended."""
    warnings.simplefilter("ignore", NullproofWarning)
    try:
        sending.send(("done", work(lambda *said: sending.send(("progress", said)), *arguments)))
    except NullproofError as problem:
        # Not all errors with custom arguments can be pickled.
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
        # A polars panic is not an Exception.
        traceback.print_exc(file=sys.stderr)
        said = f"{type(problem).__name__}: {problem}; this is a bug in nullproof"
        sending.send(("failed", NullproofError(said)))
