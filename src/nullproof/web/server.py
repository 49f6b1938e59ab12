"""serve: start the server, report its address, and clean up at the end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from nullproof.errors import NullproofError, missing_extra
from nullproof.scratch import own_folder
from nullproof.web.limits import LOOPBACK, Settings

FOLDERS = "nullproof-serve-"
_GRACE = 1
# Workers are started through sockets, whose names have at most 107 bytes.
_LONGEST_FOLDER = 70
_EVERYWHERE = ("0.0.0.0", "::", "")


def serve(
    settings: Settings, *, host: str, port: int, say: Callable[[str], None], browser: bool
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Parameters
    ----------
    say
        A function that is called with the address.
    browser
        Whether to open it in a browser.
    """
    try:
        import uvicorn

        from nullproof.web.app import make_app
    except ImportError:
        raise missing_extra("nullproof serve", "web") from None
    settings = _with_names(settings, host)
    listener = _listener(host, port)
    address = _address(host, listener.getsockname()[1])
    # uvicorn re-raises a signal after it has shut down, which must not kill the process then.
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        with own_folder(FOLDERS) as folder:
            if len(str(folder)) <= _LONGEST_FOLDER:
                # Files that killed workers leave behind are deleted with the folder. So are the sockets
                # of multiprocessing, which would otherwise delete its folder after ours is gone.
                os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
                own: Any = multiprocessing.current_process()
                own._config["tempdir"] = str(folder)
            config = uvicorn.Config(
                make_app(settings, folder),
                log_level="critical",
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=_GRACE,
            )
            say(address)
            if browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()


def _with_names(settings: Settings, host: str) -> Settings:
    """Return settings with the host's names; they must be given if the address is not the loopback."""
    if host in LOOPBACK:
        return settings
    if host in _EVERYWHERE and not settings.names:
        raise NullproofError(
            f"--host {host} listens on every address of this machine, but no host name was given; "
            "add --name with each name that people will type, e.g. --name lab.example.org"
        )
    sys.stderr.write(
        f"note: {host} is not the loopback: everyone who can reach it can use this server and its "
        "memory; there is no password and no encryption\n"
    )
    return settings if host in _EVERYWHERE else replace(settings, names=(*settings.names, host))


def _listener(host: str, port: int) -> socket.socket:
    if not 0 <= port < 65536:
        raise NullproofError(f"--port is {port}; give a number from 0 (any free port) to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as problem:
        if isinstance(problem, socket.gaierror) or problem.errno in (99, 49):
            raise NullproofError(
                f"--host {host} is not an address of this machine; give one that is, or leave it out"
            ) from problem
        if isinstance(problem, PermissionError):
            raise NullproofError(
                f"port {port} is for the administrator only; give one above 1023 with --port"
            ) from problem
        raise NullproofError(
            f"port {port} of {host} is in use, perhaps by another nullproof serve; give another "
            "with --port N, or --port 0 for any free one"
        ) from problem
    # Otherwise the second half of an answer waits 40 ms until the client confirms the first; accepted
    # connections inherit this.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _address(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in _EVERYWHERE else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
