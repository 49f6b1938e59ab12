"""A real server on the loopback for tests: in a thread of this process, or as the command itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    import httpx
    import polars as pl

    from nullproof import CountIndex

ROOT = Path(__file__).parents[2]
HOLES = "a,b,y\n1,x,no\n2,,no\n,x,yes\n4,z,yes\n5,z,no\n6,x,yes\n"
# Seconds after which something hangs: a busy machine may take long, but not so long.
PATIENCE = 120.0


Example = tuple[str, "CountIndex", "pl.DataFrame"]


class Served(NamedTuple):
    """A server in this process: its address, a client of it, and the folder of its uploads."""

    url: str
    client: httpx.Client
    folder: Path


@contextmanager
def served(folder: Path, **limits: Any) -> Iterator[Served]:
    """Serve from a thread of this process, on any free port."""
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    httpx = pytest.importorskip("httpx", reason="httpx is not installed")
    from nullproof.web import create_app

    uploads = folder / "uploads"
    uploads.mkdir()
    config = uvicorn.Config(create_app(uploads, **limits), port=0, log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/"
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield Served(url, client, uploads)
    finally:
        server.should_exit = True
        thread.join(timeout=PATIENCE)


class Process(NamedTuple):
    """The command ``nullproof serve`` as a process of its own."""

    process: subprocess.Popen[str]
    url: str


@contextmanager
def serving(
    folder: Path, *arguments: str, program: tuple[str, ...] = ("-m", "nullproof")
) -> Iterator[Process]:
    """Run ``nullproof serve`` with its temporary files below ``folder``."""
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, *program, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://[^ ]+", line)
        assert found, (line, process.stderr.read() if process.stderr else "")
        yield Process(process, found[0])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(condition: Any, seconds: float = PATIENCE) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def upload(client: httpx.Client, content: bytes | str, name: str = "t.csv") -> dict[str, Any]:
    """Upload a table that is all right."""
    answer = client.post("/api/tables", params={"name": name}, content=content)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def analysed(client: httpx.Client, **order: Any) -> str:
    """Order an analysis, wait until it is done, and return its id."""
    answer = client.post("/api/analyses", json=order)
    assert answer.status_code == 202, answer.text
    name = str(answer.json()["id"])
    until(lambda: state(client, name)["state"] in ("done", "failed", "cancelled"))
    assert state(client, name)["state"] == "done", state(client, name)
    return name


def state(client: httpx.Client, name: str) -> dict[str, Any]:
    """How far an analysis is."""
    found: dict[str, Any] = client.get(f"/api/analyses/{name}").json()
    return found


def told(answer: Any, status: int, *reasons: str) -> None:
    """Check that an answer is one sentence of an error."""
    assert answer.status_code == status, answer.text
    found = answer.json()
    assert [*found] == ["error"]
    assert "\n" not in found["error"]
    for reason in reasons:
        assert reason in found["error"], found["error"]


def whole_visit(url: str) -> tuple[int, int]:
    """Upload, analyse, list the points and ask about one: what one person does."""
    import httpx

    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        table = upload(client, HOLES)
        name = analysed(client, table=table["id"], label="y", binning="none")
        point = client.get(f"/api/analyses/{name}/points/1").json()
        listed = client.get(f"/api/analyses/{name}/points").json()["points"]
        return len(point["possible"]), int(point["possible"] == listed[1]["possible"])
