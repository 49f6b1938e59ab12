"""A process of its own that draws: reports, their sections, and the library of the charts.

The library that draws charts holds Python's lock while it starts, which takes seconds. In a process
of its own it can do so without any other client noticing.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import IO, Any

from nullproof.errors import NullproofError, missing_extra

SECTIONS = ("headline", "certain", "features", "attack", "cleaning")


class Drawer:
    """Asks the drawing process, which is started by the first question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._library: str | None = None
        self._closed = False

    def report(self, document: dict[str, Any]) -> str:
        """The whole report as one HTML file."""
        return str(self._ask("report", document))

    def sections(self, document: dict[str, Any]) -> dict[str, str]:
        """Sections of the report, for a page that has its style."""
        found: dict[str, str] = self._ask("sections", document)
        return found

    def library(self) -> str:
        """Vega with Vega-Lite and its embedding, as they ship in vl-convert."""
        if self._library is None:
            self._library = str(self._ask("library", None))
        return self._library

    def warm_up(self) -> None:
        """Start in the background what the first chart will need."""
        if self._process is None and self._library is None:
            threading.Thread(target=self._quietly, daemon=True).start()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
            with self._lock:
                _close(process)

    def _quietly(self) -> None:
        try:
            self.library()
        except NullproofError:
            return

    def _ask(self, what: str, document: dict[str, Any] | None) -> Any:
        line = json.dumps([what, document], allow_nan=False).encode() + b"\n"
        with self._lock:
            reply = self._exchanged(line)
        if "error" in reply:
            raise NullproofError(reply["error"])
        return reply["drawn"]

    def _exchanged(self, line: bytes) -> dict[str, Any]:
        for _ in range(2):
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(line)
                process.stdin.flush()
                answer = process.stdout.readline()
            except OSError:
                answer = b""
            if answer:
                reply: dict[str, Any] = json.loads(answer)
                return reply
            # It has closed its pipes, but the system may not have noted its end yet.
            process.kill()
            process.wait()
        raise NullproofError("the drawing process has ended twice; the report cannot be drawn")

    def _running(self) -> subprocess.Popen[bytes]:
        """The process, started again if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            _close(self._process)
            self._process = None
        if self._process is None:
            self._process = self._started()
        return self._process

    def _started(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise NullproofError("the server is ending; start it again")
        # A session of its own, so that Ctrl-C reaches only the server, which then ends this too; the
        # modules of the server, and none that happen to lie in the current folder.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "nullproof.web.drawer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )


def _close(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that has ended, and close its pipes."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            assert pipe is not None
            pipe.close()


def answer(what: str, document: Any) -> Any:
    """Draw one thing."""
    if what == "library":
        try:
            import vl_convert
        except ImportError:
            raise missing_extra("drawing charts", "web") from None
        # Its stub asks for an argument that may be left out.
        bundle: Any = vl_convert.javascript_bundle
        return bundle()
    from nullproof.reporting import html

    if what == "report":
        return html.render(document)
    return {name: getattr(html, f"fragment_{name}")(document) for name in SECTIONS}


def run(source: IO[bytes], target: IO[bytes]) -> None:
    """Answer questions, one line each, until there are no more."""
    for line in source:
        try:
            reply = {"drawn": answer(*json.loads(line))}
        except Exception as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        target.write(json.dumps(reply).encode() + b"\n")
        target.flush()


if __name__ == "__main__":
    run(sys.stdin.buffer, sys.stdout.buffer)
