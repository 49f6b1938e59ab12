"""`nullproof serve` under load: real processes, real connections, as docs/web.md tells it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.web_server import analysed, serving, state, until, upload, whole_visit

TITLE = "The page under load"
ROWS = 1_240_000
CROWD = 50
RATE = 500
Lines = list[str]


def run(quick: bool) -> Lines:
    """One line of a table per measurement."""
    lines = ["| what | measured |", "|---|---|"]

    def tell(what: str, measured: str) -> None:
        lines.append(f"| {what} | {measured} |")
        print(lines[-1], file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with serving(Path(folder), "--max-upload", "512") as started:
            tell("start until the address is printed", f"{time.monotonic() - start:.1f} s")
            pid, url = started.process.pid, started.url
            with httpx.Client(base_url=url, timeout=120) as client:
                client.get("/api/limits")
                tell("memory at rest", f"{memory(pid, 'VmRSS'):,.0f} MB")
                name = example(client)
                cheap(url, name, pid, 10 if quick else 60, tell)
                crowds(client, url, name, tell)
                stalled(client, url, tell)
                many(client, pid, 100 if quick else 1000, tell)
                small(client, tell)
                large(client, url, pid, ROWS // 10 if quick else ROWS, tell)
                ordered = order(client, upload(client, large_table(ROWS // 4)))
                until(lambda: state(client, ordered)["state"] == "working")
            start = time.monotonic()
            started.process.send_signal(signal.SIGINT)
            started.process.communicate(timeout=30)
            tell("Ctrl-C with an analysis running", f"ended in {time.monotonic() - start:.1f} s")
            tell("files left behind", str(len([*Path(folder).iterdir()])))
    return lines


Tell = Callable[[str, str], None]


def example(client: httpx.Client) -> str:
    """The embedded example, analysed."""
    made = client.post("/api/example").json()
    return analysed(
        client,
        table=made["train"]["id"],
        points=made["points"]["id"],
        label="churn",
        ignore=["customer"],
    )


def cheap(url: str, name: str, pid: int, seconds: int, tell: Tell) -> None:
    """So many questions a second that cost little: limits, states, verdicts, files."""
    own = f"/api/analyses/{name}"
    paths = ["/api/limits", own, f"{own}/points", "/static/main.js"]
    start, used = time.monotonic(), processor(pid)
    waits = sorted(asyncio.run(rated(url, paths, seconds)))
    rate = len(waits) / (time.monotonic() - start)
    each = 1000 * (processor(pid) - used) / len(waits)
    tell(
        f"{RATE} cheap questions a second for {seconds} s",
        f"{len(waits):,} answered, all right, {rate:.0f} a second; median "
        f"{1000 * waits[len(waits) // 2]:.0f} ms, 99 % within "
        f"{1000 * waits[len(waits) * 99 // 100]:.0f} ms, slowest {1000 * waits[-1]:.0f} ms; "
        f"{each:.1f} ms of the server's processor time each",
    )


async def rated(url: str, paths: list[str], seconds: int) -> list[float]:
    """Ask at a fixed rate over twenty connections; the wait counts from when the question was due."""
    host, port = url.removeprefix("http://").strip("/").split(":")
    n_connections, waits = 20, []
    start = time.monotonic() + 0.5

    async def ask(first: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for number in range(first, seconds * RATE, n_connections):
            due = start + number / RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            path = paths[number // n_connections % len(paths)]
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = next(
                x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")
            )
            await reader.readexactly(int(length.split(b":")[1]))
            waits.append(time.monotonic() - due)
        writer.close()

    await asyncio.gather(*(ask(first) for first in range(n_connections)))
    return waits


def crowds(client: httpx.Client, url: str, name: str, tell: Tell) -> None:
    """Many at the same time, with questions that cost more."""
    own = f"/api/analyses/{name}"
    alone = [timed(lambda: client.get(f"{own}/points/2")) for _ in range(20)]
    tell("one point explained, alone", f"{1000 * statistics.median(alone):.0f} ms")
    for what in ("points/2", "files/report.html", "files/worksheet.csv"):
        with ThreadPoolExecutor(CROWD) as pool:
            start = time.monotonic()
            asked = [pool.submit(timed, lambda: client.get(f"{own}/{what}")) for _ in range(CROWD)]  # noqa: B023
            waits = sorted(one.result() for one in asked)
            total = time.monotonic() - start
        tell(
            f"{CROWD} at once ask for `{what}`",
            f"all right, in {total:.1f} s; median {waits[CROWD // 2]:.2f} s, slowest {waits[-1]:.2f} s",
        )
    with ThreadPoolExecutor(CROWD) as pool:
        start = time.monotonic()
        visits = {*pool.map(lambda _: whole_visit(url), range(20))}
        total = time.monotonic() - start
    assert len(visits) == 1
    tell("20 whole visits at once: upload, analysis, points", f"all right, in {total:.1f} s")


def stalled(client: httpx.Client, url: str, tell: Tell) -> None:
    """Uploads that stand still."""
    host, port = url.removeprefix("http://").strip("/").split(":")
    head = f"POST /api/tables HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9999999\r\n\r\na,b\n1,2\n"
    connections = [socket.create_connection((host, int(port))) for _ in range(7)]
    for connection in connections:
        connection.sendall(head.encode())
    waits = [timed(lambda: client.get("/api/limits")) for _ in range(100)]
    start = time.monotonic()
    upload(client, "a,y\n1,p\n2,q\n")
    took = time.monotonic() - start
    tell(
        "7 uploads that stand still",
        f"others wait {1000 * max(waits):.0f} ms at most; an upload takes {1000 * took:.0f} ms",
    )
    for connection in connections:
        connection.close()


def many(client: httpx.Client, pid: int, number: int, tell: Tell) -> None:
    """One analysis after another."""
    table = upload(client, large_table(2000))
    sizes, start = [], time.monotonic()
    for done in range(number + 1):
        client.delete(f"/api/analyses/{finished(client, table)}")
        if done % (number // 10) == 0:
            sizes.append(memory(pid, "VmRSS"))
    tell(
        f"{number:,} analyses in a row (2,000 rows × 12 features)",
        f"{time.monotonic() - start:.0f} s; memory after the first and each tenth of them: "
        + ", ".join(f"{size:,.0f}" for size in sizes)
        + f" MB; {1000 * (sizes[-1] - sizes[5]) / (number / 2):.1f} kB each in the second half",
    )


def small(client: httpx.Client, tell: Tell) -> None:
    """A table of 100,000 points."""
    table = upload(client, large_table(100_000))
    start = time.monotonic()
    name = finished(client, table)
    tell("analysis of 100,000 points × 12 features", f"{time.monotonic() - start:.1f} s")
    weakest = f"/api/analyses/{name}/points?sort=tolerance"
    waits = [timed(lambda: client.get(weakest)) for _ in range(5)]
    tell("the weakest of 100,000 points listed", f"{statistics.median(waits):.2f} s")
    client.delete(f"/api/analyses/{name}")


def large(client: httpx.Client, url: str, pid: int, rows: int, tell: Tell) -> None:
    """A large file, with somebody else asking meanwhile."""
    content = large_table(rows)
    found: list[Any] = []
    start = time.monotonic()
    waits = meanwhile(url, lambda: found.append(upload(client, content)))
    tell(
        f"upload of {len(content) / 1e6:.0f} MB ({rows:,} rows), until described",
        f"{time.monotonic() - start:.1f} s; another client waited {1000 * max(waits):.0f} ms at most; "
        f"peak memory {memory(pid, 'VmHWM'):,.0f} MB",
    )
    start, name = time.monotonic(), order(client, found[0])
    waits = meanwhile(url, lambda: until(lambda: over(client, name), 600))
    tell(
        "its analysis, every row a point",
        f"{state(client, name)['state']} in {time.monotonic() - start:.0f} s; another client waited "
        f"{1000 * statistics.median(waits):.0f} ms (median), {1000 * max(waits):.0f} ms at most; "
        f"peak memory {memory(pid, 'VmHWM'):,.0f} MB",
    )
    client.delete(f"/api/analyses/{name}")


def order(client: httpx.Client, table: dict[str, Any]) -> str:
    """Order an analysis."""
    answer = client.post("/api/analyses", json={"table": table["id"], "label": "y"})
    return str(answer.json()["id"])


def finished(client: httpx.Client, table: dict[str, Any]) -> str:
    """Order an analysis and wait for it, also on a busy machine."""
    name = order(client, table)
    until(lambda: over(client, name), 600)
    assert state(client, name)["state"] == "done"
    return name


def over(client: httpx.Client, name: str) -> bool:
    """Whether an analysis has ended."""
    return state(client, name)["state"] in ("done", "failed", "cancelled")


def meanwhile(url: str, work: Callable[[], Any]) -> list[float]:
    """How long another client waits for a small answer while some work goes on."""
    worker = threading.Thread(target=work)
    worker.start()
    waits = []
    with httpx.Client(base_url=url, timeout=120) as other:
        while worker.is_alive():
            waits.append(timed(lambda: other.get("/api/limits")))
            time.sleep(0.02)
    return waits


def timed(ask: Callable[[], httpx.Response]) -> float:
    """Seconds until an answer, which must be right."""
    start = time.monotonic()
    assert ask().status_code == 200
    return time.monotonic() - start


def memory(pid: int, what: str) -> float:
    """Megabytes of a process, now (VmRSS) or at most (VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1000


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def large_table(n_rows: int, n_columns: int = 12) -> bytes:
    """A CSV of categories with missing cells, made quickly: lines are drawn from a few thousand."""
    rng = np.random.default_rng(0)
    lines = [
        ",".join("" if c == 9 and k % 3 == 0 else f"value{c}" for k, c in enumerate(row))
        + f",{'pqr'[row[0] % 3]}\n"
        for row in rng.integers(0, 10, (4000, n_columns)).tolist()
    ]
    header = ",".join(f"column{k}" for k in range(n_columns)) + ",y\n"
    drawn = rng.integers(0, len(lines), n_rows).tolist()
    return (header + "".join([lines[k] for k in drawn])).encode()
