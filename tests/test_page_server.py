"""The server: crowds, hang-ups, long work that is cancelled, and a clean end."""

from __future__ import annotations

import json
import signal
import socket
import sys
import tempfile
import threading
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
    PATIENCE,
    Process,
    analysed,
    served,
    serving,
    state,
    until,
    upload,
    whole_visit,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
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


def connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").strip("/").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def endless_table() -> bytes:
    """A table that is read at once and judged for minutes: many wide rows with many missing cells."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 400)
    cells = np.where(rng.random((400, 900)) < 0.3, labels[:, None], rng.integers(0, 3, (400, 900)))
    texts = np.where(rng.random(cells.shape) < 0.2, "", np.array(["u", "v", "w"])[cells])
    lines = [",".join([*row, f"label {y}"]) for row, y in zip(texts, labels, strict=True)]
    return "\n".join([",".join([*(f"f{j}" for j in range(900)), "y"]), *lines]).encode()


def working(client: Any, table: str, **order: Any) -> str:
    """Order an analysis and wait until it is at work."""
    made = client.post("/api/analyses", json={"table": table, "label": "y", **order})
    name = str(made.json()["id"])
    until(lambda: state(client, name)["state"] == "working")
    return name


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
    with ThreadPoolExecutor(8) as pool:
        visits = set(pool.map(lambda _: whole_visit(url), range(8)))
    assert len(visits) == 1
    assert next(iter(visits))[1] == 1


def test_others_are_answered_while_a_file_arrives(process: tuple[Process, Path]) -> None:
    """An upload that takes its time keeps nobody waiting."""
    content = (HOLES + "1,x,no\n" * 50_000).encode()
    here, go = threading.Event(), threading.Event()

    def halves() -> Iterator[bytes]:
        yield content[:100_000]
        here.set()
        assert go.wait(PATIENCE)
        yield content[100_000:]

    with client_of(process[0].url) as client, ThreadPoolExecutor(1) as pool:
        size = {"content-length": str(len(content))}
        sent = pool.submit(client.post, "/api/tables", content=halves(), headers=size)
        assert here.wait(PATIENCE)
        assert whole_visit(process[0].url)[1] == 1
        assert not sent.done()
        go.set()
        assert sent.result().json()["n_rows"] == 50_006


def test_a_client_that_hangs_up(process: tuple[Process, Path]) -> None:
    """A connection that breaks off in the middle of a file leaves no file and disturbs nobody."""
    started, folder = process
    (uploads,) = folder.glob("nullproof-serve-*")
    # The first job of a server makes a socket there too.
    before = {*uploads.glob("*.table")}
    for _ in range(5):
        with connected(started.url) as connection:
            head = (
                "POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n"
            )
            connection.sendall(head.encode() + b"a,b\n1,2\n" * 200_000)
    assert whole_visit(started.url)[1] == 1
    until(lambda: len({*uploads.glob("*.table")} - before) <= 1)


def test_a_question_that_is_too_long(process: tuple[Process, Path]) -> None:
    """Who sends all of a question before reading gets the answer that it is too long, no hang-up."""
    host, port = process[0].url.removeprefix("http://").strip("/").split(":")
    size = 30 << 20
    for headers in ({}, {"Origin": "http://[::1"}):
        with closing(HTTPConnection(host, int(port), timeout=PATIENCE)) as connection:
            connection.request("POST", "/api/analyses", b'{"x": "' + b"x" * size, headers)
            answer = connection.getresponse()
            assert answer.status == (403 if headers else 413)
            assert [*json.loads(answer.read())] == ["error"]


def test_a_client_that_stands_still(tmp_path: Path) -> None:
    """An upload that stops arriving is ended with a sentence."""
    with served(tmp_path, idle=0.2) as server:
        with connected(server.url) as connection:
            head = (
                "POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\na,b\n"
            )
            connection.sendall(head.encode())
            answer = b""
            while b"}" not in answer:
                more = connection.recv(4096)
                assert more, answer
                answer += more
        assert b"408" in answer.splitlines()[0]
        assert [*server.folder.iterdir()] == []


def test_long_work_can_be_cancelled(tmp_path: Path) -> None:
    """A cancelled analysis is gone, and its worker is free."""
    with served(tmp_path) as server:
        client, table = server.client, upload(server.client, endless_table())["id"]
        for _ in range(3):
            name = working(client, table)
            assert client.delete(f"/api/analyses/{name}").status_code == 204
            assert client.get(f"/api/analyses/{name}").status_code == 404
        analysed(client, table=upload(client, HOLES)["id"], label="y")


def test_a_waiting_analysis_keeps_its_table(tmp_path: Path) -> None:
    """A table that is deleted while its analysis waits is there until that is over, and no longer."""
    with served(tmp_path, max_analyses=60) as server:
        client, table = server.client, upload(server.client, endless_table())["id"]
        order = {"table": table, "label": "y"}
        # More than any server works on at a time.
        busy = [client.post("/api/analyses", json=order).json()["id"] for _ in range(40)]
        small = upload(client, HOLES)["id"]
        waiting = client.post("/api/analyses", json={"table": small, "label": "y"}).json()["id"]
        assert client.delete(f"/api/tables/{small}").status_code == 204
        assert len([*server.folder.iterdir()]) == 2
        for name in busy:
            client.delete(f"/api/analyses/{name}")
        until(lambda: state(client, waiting)["state"] == "done")
        until(lambda: len([*server.folder.iterdir()]) == 1)


def test_a_result_is_there_for_who_waits_for_it(tmp_path: Path) -> None:
    """Where results fill the memory, one that is ready now stays, whoever asked for another meanwhile."""
    with served(tmp_path, memory=1) as server:
        client, small = server.client, upload(server.client, HOLES)["id"]
        endless = upload(client, endless_table())["id"]
        orders = [{"table": table, "label": "y"} for table in (small, endless, endless)]
        first, *others = [client.post("/api/analyses", json=order).json()["id"] for order in orders]
        # The third begins when the first is over.
        until(lambda: state(client, others[-1])["state"] == "working")
        assert state(client, first)["state"] == "done"
        for name in others:
            client.delete(f"/api/analyses/{name}")


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path is short enough for sockets, as that of most systems is."""
    with tempfile.TemporaryDirectory(prefix="np") as name:
        yield Path(name)


def test_a_clean_end(short_path: Path) -> None:
    """SIGTERM ends the server whatever it works on, and leaves no file behind."""
    with serving(short_path) as started:
        with client_of(started.url) as client:
            client.get("/")
            working(client, upload(client, endless_table())["id"])
            assert [*short_path.glob("nullproof-serve-*/*")]
            started.process.send_signal(signal.SIGTERM)
            _, said = started.process.communicate(timeout=PATIENCE)
        assert started.process.returncode == 143, said
        assert "Traceback" not in said
    assert [path.name for path in short_path.iterdir()] == []


def test_what_a_killed_server_left_is_cleared(short_path: Path) -> None:
    """The next start deletes the files of a server that was killed, and none of a living one."""
    with serving(short_path, "--host", "0.0.0.0", "--name", "lab.example") as living:
        (kept,) = short_path.glob("nullproof-serve-*")
        with serving(short_path) as killed:
            with client_of(killed.url) as client:
                upload(client, HOLES)
            killed.process.kill()
            killed.process.wait()
        (left,) = {*short_path.glob("nullproof-serve-*")} - {kept}
        assert [*left.glob("*.table")]
        with serving(short_path) as following:
            assert not left.exists()
            assert kept.exists()
            following.process.send_signal(signal.SIGINT)
            following.process.wait()
        with client_of(living.url) as client:
            # Off the loopback it answers only to the names it was given.
            for host, status in (("lab.example", 200), ("LAB.example:99", 200), ("other", 421)):
                assert client.get("/api/limits", headers={"host": host}).status_code == status
        living.process.send_signal(signal.SIGINT)
        _, said = living.process.communicate(timeout=PATIENCE)
    assert living.process.returncode == 130
    assert said.startswith("note: 0.0.0.0 is not the loopback")
    assert [*short_path.iterdir()] == []


def test_wrong_ways_to_start(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot start says why in one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        one_line(run("serve", "--port", port), port, "--port")
    one_line(run("serve", "--port", "70000"), "65535")
    one_line(run("serve", "--host", "0.0.0.0"), "--name")
    one_line(run("serve", "--max-upload", "0"), "max-upload")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    one_line(run("serve"), 'pip install "nullproof[web]"')
