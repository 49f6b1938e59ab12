"""The server as a process: crowds, hang-ups, large files, and a clean end."""

from __future__ import annotations

import json
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Runner, one_line
from support.web_server import (
    HOLES,
    Process,
    analysed,
    large_table,
    served,
    serving,
    state,
    until,
    upload,
    whole_visit,
)

from nullproof.scratch import clear_folders, own_folder
from nullproof.web.desk import Shelf
from nullproof.web.jobs import Job, Workers
from nullproof.web.server import FOLDERS, _listener

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Path]]:
    folder = tmp_path_factory.mktemp("serve")
    with serving(folder) as started:
        yield started, folder


def client_of(url: str) -> Any:
    httpx = pytest.importorskip("httpx", reason="httpx is not installed")
    return httpx.Client(base_url=url, timeout=60)


def test_fifty_at_once(process: tuple[Process, Path]) -> None:
    """Fifty requests at the same time are all answered, and rightly; so are many whole visits."""
    url = process[0].url
    with client_of(url) as client:
        name = analysed(client, table=upload(client, HOLES)["id"], label="y", binning="none")
        expected = [client.get(f"/api/analyses/{name}/points/{k}").json() for k in range(6)]
        with ThreadPoolExecutor(50) as pool:
            got = list(
                pool.map(lambda k: client.get(f"/api/analyses/{name}/points/{k % 6}"), range(50))
            )
    assert [answer.status_code for answer in got] == [200] * 50
    assert [answer.json() for answer in got] == [expected[k % 6] for k in range(50)]
    with ThreadPoolExecutor(16) as pool:
        visits = set(pool.map(lambda _: whole_visit(url), range(16)))
    assert len(visits) == 1
    assert next(iter(visits))[1] == 1


def test_a_large_file(process: tuple[Process, Path]) -> None:
    """A file of 25 MB arrives and is understood while others are answered quickly."""
    started, _ = process
    content = large_table(300_000)
    assert len(content) > 25e6
    waits = []
    with client_of(started.url) as client, client_of(started.url) as other:
        arrived: list[dict[str, Any]] = []
        sender = threading.Thread(target=lambda: arrived.append(upload(client, content)))
        sender.start()
        while sender.is_alive():
            start = time.monotonic()
            assert other.get("/api/limits").status_code == 200
            waits.append(time.monotonic() - start)
            time.sleep(0.02)
        assert arrived[0]["n_rows"] == 300_000
        assert len(arrived[0]["columns"]) == 13
        client.delete(f"/api/tables/{arrived[0]['id']}")
    assert max(waits) < 10


def test_a_client_that_hangs_up(process: tuple[Process, Path]) -> None:
    """A connection that breaks off in the middle of a file leaves no file and disturbs nobody."""
    started, folder = process
    host, port = started.url.removeprefix("http://").strip("/").split(":")
    (uploads,) = folder.glob("nullproof-serve-*")
    before = {*uploads.iterdir()}
    for _ in range(5):
        with socket.create_connection((host, int(port))) as connection:
            head = f"POST /api/tables HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999\r\n\r\n"
            connection.sendall(head.encode() + b"a,b\n1,2\n" * 200_000)
        assert whole_visit(started.url)[1] == 1
    until(lambda: all(path.stat().st_size < 1000 for path in {*uploads.iterdir()} - before))


@pytest.mark.parametrize("size", [5 << 20, 30 << 20])
def test_a_question_that_is_too_long(process: tuple[Process, Path], size: int) -> None:
    """Who sends all of a question before reading gets the answer that it is too long, no hang-up."""
    host, port = process[0].url.removeprefix("http://").strip("/").split(":")
    for headers in ({}, {"Origin": "http://[::1"}):
        with closing(HTTPConnection(host, int(port), timeout=30)) as connection:
            connection.request("POST", "/api/analyses", b'{"x": "' + b"x" * size, headers)
            answer = connection.getresponse()
            assert answer.status == (403 if headers else 413)
            assert [*json.loads(answer.read())] == ["error"]


def test_a_client_that_stands_still(tmp_path: Path) -> None:
    """An upload that stops arriving is ended with a sentence."""
    with served(tmp_path, idle=0.3) as server:
        host, port = server.url.removeprefix("http://").strip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            head = f"POST /api/tables HTTP/1.1\r\nHost: {host}\r\nContent-Length: 999\r\n\r\na,b\n"
            connection.sendall(head.encode())
            answer = b""
            while b"}" not in answer:
                answer += connection.recv(4096)
        assert b"408" in answer.splitlines()[0]
        assert b"nothing arrived" in answer
        assert [*server.folder.iterdir()] == []


def test_cancelling_stops(process: tuple[Process, Path]) -> None:
    """A cancelled analysis is gone, and its worker is free for the next."""
    with client_of(process[0].url) as client:
        table = upload(client, large_table(60_000))
        for _ in range(6):
            order = {"table": table["id"], "label": "y"}
            name = client.post("/api/analyses", json=order).json()["id"]
            assert client.delete(f"/api/analyses/{name}").status_code == 204
            assert client.get(f"/api/analyses/{name}").status_code == 404
        small = upload(client, HOLES)
        start = time.monotonic()
        analysed(client, table=small["id"], label="y")
        assert time.monotonic() - start < 20


def test_abandoned_work_ends(process: tuple[Process, Path]) -> None:
    """An analysis that nobody asks for any more is stopped, if its orderer wished so."""
    with client_of(process[0].url) as client:
        table = upload(client, large_table(80_000))
        order = {"table": table["id"], "label": "y", "patience": 0.2}
        name = client.post("/api/analyses", json=order).json()["id"]
        time.sleep(1.5)
        until(lambda: state(client, name)["state"] == "cancelled", 5)
        kept = client.post("/api/analyses", json={**order, "patience": None}).json()["id"]
        time.sleep(1.5)
        assert state(client, kept)["state"] in ("working", "done")
        client.delete(f"/api/analyses/{kept}")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_clean_end(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Ctrl-C and SIGTERM end the server at once, also while it works, and leave no file behind."""
    with serving(tmp_path) as started:
        with client_of(started.url) as client:
            client.get("/")
            table = upload(client, large_table(80_000))
            name = client.post("/api/analyses", json={"table": table["id"], "label": "y"}).json()
            until(lambda: state(client, name["id"])["state"] == "working")
            assert [*tmp_path.glob("nullproof-serve-*/*")]
            start = time.monotonic()
            started.process.send_signal(number)
            _, said = started.process.communicate(timeout=20)
            assert time.monotonic() - start < 10
        assert started.process.returncode == code, said
        assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == []


def test_what_a_killed_server_left_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start deletes the files of a server that was killed, and none of a living one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with serving(tmp_path) as killed:
        with client_of(killed.url) as client:
            upload(client, HOLES)
        killed.process.kill()
        killed.process.wait()
    (left,) = tmp_path.glob("nullproof-serve-*")
    assert [*left.glob("*.table")]
    with own_folder(FOLDERS) as living:
        (living / "kept").touch()
        assert {*tmp_path.iterdir()} == {living}
        clear_folders(tmp_path, FOLDERS)
        assert (living / "kept").exists()
    assert [*tmp_path.iterdir()] == []


def test_other_hosts_must_be_named(tmp_path: Path) -> None:
    """Off the loopback the server says so, and answers only to the names it was given."""
    with serving(tmp_path, "--host", "0.0.0.0", "--name", "lab.example") as started:
        with client_of(started.url) as client:
            for host, status in (("lab.example", 200), ("LAB.example:99", 200), ("other", 421)):
                answer = client.get("/api/limits", headers={"host": host})
                assert answer.status_code == status
        started.process.send_signal(signal.SIGINT)
        _, said = started.process.communicate(timeout=20)
    assert said.startswith("note: 0.0.0.0 is not the loopback")


def test_answers_are_sent_at_once() -> None:
    """No part of an answer waits until the client has confirmed the part before: that took 40 ms each."""
    with (
        _listener("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()[:2]),
    ):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_wrong_ways_to_start(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot start says why in one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        one_line(run("serve", "--port", port), f"port {port} of 127.0.0.1 is in use")
    one_line(run("serve", "--port", "70000"), "0 (any free port) to 65535")
    one_line(run("serve", "--host", "0.0.0.0"), "add --name")
    one_line(run("serve", "--max-upload", "0"), "max-upload")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    one_line(run("serve"), 'pip install "nullproof[web]"')


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
    assert hold.wait(5)
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
    assert hold.wait(5)
    job.cancel()
    job.cancel()
    until(lambda: later.over, 5)
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
