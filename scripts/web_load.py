"""Measure `nullproof serve` under load, as docs/web.md tells it: real processes, real connections."""

from __future__ import annotations

import signal
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

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.web_server import analysed, serving, state, until, upload
from test_web_serving import client_of, large_table, whole_visit

ROWS = 1_240_000
CROWD = 50


def main() -> None:
    """Print one line of a Markdown table per measurement."""
    sys.stdout.write("| what | measured |\n|---|---|\n")
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with serving(Path(folder), "--max-upload", "512") as started:
            tell("start until the address is printed", f"{time.monotonic() - start:.1f} s")
            pid, url = started.process.pid, started.url
            with client_of(url) as client:
                client.get("/api/limits")
                tell("memory at rest", f"{memory(pid, 'VmRSS'):,.0f} MB")
                crowds(client, url)
                small(client)
                large(client, url, pid)
                name = order(client, upload(client, large_table(ROWS // 4)))
                until(lambda: state(client, name)["state"] == "working")
            start = time.monotonic()
            started.process.send_signal(signal.SIGINT)
            started.process.communicate(timeout=30)
            tell(
                "Ctrl-C with an analysis running, until the end",
                f"{time.monotonic() - start:.1f} s",
            )
            tell("files left behind", str(len([*Path(folder).iterdir()])))


def crowds(client: httpx.Client, url: str) -> None:
    """Many at the same time."""
    made = client.post("/api/example").json()
    name = analysed(
        client,
        table=made["train"]["id"],
        points=made["points"]["id"],
        label="churn",
        ignore=["customer"],
    )
    path = f"/api/analyses/{name}/points/2"
    alone = [timed(lambda: client.get(path)) for _ in range(20)]
    tell("one point explained, alone", f"{1000 * statistics.median(alone):.0f} ms")
    with ThreadPoolExecutor(CROWD) as pool:
        start = time.monotonic()
        waits = sorted(pool.map(lambda _: timed(lambda: client.get(path)), range(CROWD)))
        total = time.monotonic() - start
    tell(
        f"{CROWD} such questions at once",
        f"all right, in {total:.1f} s; median {waits[CROWD // 2]:.2f} s, slowest {waits[-1]:.2f} s",
    )
    with ThreadPoolExecutor(CROWD) as pool:
        start = time.monotonic()
        visits = {*pool.map(lambda _: whole_visit(url), range(20))}
        total = time.monotonic() - start
    assert len(visits) == 1
    tell(
        "20 whole visits at once: upload, analysis, point, what if", f"all right, in {total:.1f} s"
    )


def small(client: httpx.Client) -> None:
    """A table of 100,000 points."""
    table = upload(client, large_table(100_000))
    start = time.monotonic()
    name = analysed(client, table=table["id"], label="y")
    tell("analysis of 100,000 points × 12 features", f"{time.monotonic() - start:.1f} s")
    change = {"do": "blank", "feature": "column0", "label": "p", "value": "value0", "n_cells": 10}
    body = {"changes": [change]}
    waits = [
        timed(lambda: client.post(f"/api/analyses/{name}/what-if", json=body)) for _ in range(5)
    ]
    tell("what if: 100,000 points certified again", f"{statistics.median(waits):.2f} s")
    client.delete(f"/api/analyses/{name}")


def large(client: httpx.Client, url: str, pid: int) -> None:
    """A file of 100 MB, with somebody else asking meanwhile."""
    content = large_table(ROWS)
    found: list[Any] = []
    start = time.monotonic()
    waits = meanwhile(url, lambda: found.append(upload(client, content)))
    tell(
        f"upload of {len(content) / 1e6:.0f} MB ({ROWS:,} rows), until described",
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


def over(client: httpx.Client, name: str) -> bool:
    """Whether an analysis has ended."""
    return state(client, name)["state"] in ("done", "failed", "cancelled")


def meanwhile(url: str, work: Callable[[], Any]) -> list[float]:
    """How long another client waits for a small answer while some work goes on."""
    worker = threading.Thread(target=work)
    worker.start()
    waits = []
    with client_of(url) as other:
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


def tell(what: str, measured: str) -> None:
    """One line of the table."""
    sys.stdout.write(f"| {what} | {measured} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
