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

import pytest
from support.command_line import Runner, one_line
from support.web_server import (
    HOLES,
    PATIENCE,
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

from nullproof.certificates import certificates_of
from nullproof.scratch import clear_folders, own_folder
from nullproof.web import analysis, desk, uploads
from nullproof.web.descriptions import described
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
    return httpx.Client(base_url=url, timeout=PATIENCE)


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


class Pause:
    """A moment of some work at which it waits until it may go on."""

    def __init__(self) -> None:
        self.here, self.go = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.here.set()
        assert self.go.wait(PATIENCE)


def test_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a file of 25 MB arrives, and while it is understood, others are answered."""
    content = large_table(300_000)
    assert len(content) > 25e6
    arriving, understood = Pause(), Pause()

    def slowly(*given: Any) -> Any:
        understood.wait()
        return described(*given)

    def halves() -> Iterator[bytes]:
        yield content[:13_000_000]
        arriving.wait()
        yield content[13_000_000:]

    monkeypatch.setattr(uploads, "described", slowly)
    with served(tmp_path) as server, client_of(server.url) as client, ThreadPoolExecutor(1) as pool:
        size = {"content-length": str(len(content))}
        sent = pool.submit(client.post, "/api/tables", content=halves(), headers=size)
        for moment in (arriving, understood):
            assert moment.here.wait(PATIENCE)
            assert server.client.get("/api/limits").status_code == 200
            assert not sent.done()
            moment.go.set()
        table = sent.result().json()
    assert table["n_rows"] == 300_000
    assert len(table["columns"]) == 13


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
    until(lambda: all(size_of(path) < 1000 for path in {*uploads.iterdir()} - before))


def size_of(path: Path) -> int:
    """How large a file is that may be deleted meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize("size", [5 << 20, 30 << 20])
def test_a_question_that_is_too_long(process: tuple[Process, Path], size: int) -> None:
    """Who sends all of a question before reading gets the answer that it is too long, no hang-up."""
    host, port = process[0].url.removeprefix("http://").strip("/").split(":")
    for headers in ({}, {"Origin": "http://[::1"}):
        with closing(HTTPConnection(host, int(port), timeout=PATIENCE)) as connection:
            connection.request("POST", "/api/analyses", b'{"x": "' + b"x" * size, headers)
            answer = connection.getresponse()
            assert answer.status == (403 if headers else 413)
            assert [*json.loads(answer.read())] == ["error"]


def test_a_client_that_stands_still(tmp_path: Path) -> None:
    """An upload that stops arriving is ended with a sentence."""
    with served(tmp_path, idle=0.3) as server:
        host, port = server.url.removeprefix("http://").strip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            head = f"POST /api/tables HTTP/1.1\r\nHost: {host}\r\nContent-Length: 999\r\n\r\na,b\n"
            connection.sendall(head.encode())
            answer = b""
            while b"}" not in answer:
                more = connection.recv(4096)
                assert more, answer
                answer += more
        assert b"408" in answer.splitlines()[0]
        assert b"nothing arrived" in answer
        assert [*server.folder.iterdir()] == []


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let judging a table of more than ten rows never end by itself."""

    def judge(model: Any, points: Any) -> Any:
        while model.index.n_rows > 10:
            time.sleep(0.001)
        return certificates_of(model, points)

    monkeypatch.setattr(analysis, "certificates_of", judge)


@pytest.mark.usefixtures("endless")
def test_cancelling_stops(tmp_path: Path) -> None:
    """A cancelled analysis is gone, and its worker is free for the next."""
    with served(tmp_path) as server:
        client, table = server.client, upload(server.client, large_table(100))
        for _ in range(desk._WORKERS + 2):
            order = {"table": table["id"], "label": "y"}
            name = client.post("/api/analyses", json=order).json()["id"]
            until(lambda name=name: state(client, name)["doing"] == "certifying")
            assert client.delete(f"/api/analyses/{name}").status_code == 204
            assert client.get(f"/api/analyses/{name}").status_code == 404
        analysed(client, table=upload(client, HOLES)["id"], label="y")


@pytest.mark.usefixtures("endless")
def test_abandoned_work_ends(tmp_path: Path) -> None:
    """An analysis that nobody asks for any more is stopped, if its orderer wished so."""
    with served(tmp_path) as server:
        client, table = server.client, upload(server.client, large_table(100))
        order = {"table": table["id"], "label": "y", "patience": 0.2}
        name = client.post("/api/analyses", json=order).json()["id"]
        # Whoever asks for its state still waits for it; whoever asks for its result does not.
        until(lambda: "is cancelled" in client.get(f"/api/analyses/{name}/document").text)
        kept = client.post("/api/analyses", json={**order, "patience": None}).json()["id"]
        until(lambda: state(client, kept)["doing"] == "certifying")
        time.sleep(3 * desk._LOOK)
        assert state(client, kept)["state"] == "working"
        client.delete(f"/api/analyses/{kept}")


# Serves with analyses that never end by themselves.
ENDLESS = """
from nullproof.__main__ import main
from nullproof.web import analysis

def judge(*_):
    while True:
        pass

analysis.certificates_of = judge
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_clean_end(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Ctrl-C and SIGTERM end the server whatever it works on, and leave no file behind."""
    with serving(tmp_path, program=("-c", ENDLESS)) as started:
        with client_of(started.url) as client:
            client.get("/")
            table = upload(client, large_table(100))
            name = client.post("/api/analyses", json={"table": table["id"], "label": "y"}).json()
            until(lambda: state(client, name["id"])["doing"] == "certifying")
            assert [*tmp_path.glob("nullproof-serve-*/*")]
            started.process.send_signal(number)
            _, said = started.process.communicate(timeout=PATIENCE)
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
        _, said = started.process.communicate(timeout=PATIENCE)
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
