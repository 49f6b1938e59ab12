"""The page's API in any order of calls, also two at once: right answers, or one sentence that fits.

``NULLPROOF_STEPS`` sets how many orders are tried.
"""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed")
from support.amounts import seeded
from support.asking import Answer, Asked
from support.web_server import until

from nullproof import CountIndex, certify

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]
N_ORDERS = int(os.environ.get("NULLPROOF_STEPS", "5"))
N_TABLES, N_ANALYSES = 3, 4
TABLES = tuple(
    f"a,b,y\n1,x,no\n2,,no\n,x,yes\n4,{last},yes\n5,z,no\n6,x,yes\n" for last in ("z", "", "x")
)
BROKEN = (b"", b"a,y\n1\n", b"PAR1xxxx", b"\x1f\x8b0", b"a,a\n1,2\n")
READING = ("points", "points/1", "document", "sections", "")
FILES = ("files/certificates.csv", "files/report.html", "files/worksheet.csv")


@cache
def n_certain(table: str) -> int:
    """What the library itself says."""
    frame = pl.read_csv(table.encode())
    index = CountIndex.from_table(frame, "y", binning="none")
    return int(certify(index, frame).certain.sum())


class Visitor:
    """What was put, and what may be gone since: deleted, or making room for another."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.asked = Asked(folder, max_tables=N_TABLES, max_analyses=N_ANALYSES)
        self.rng = rng
        self.tables: dict[str, str] = {}
        self.analyses: dict[str, str] = {}
        self.gone: set[str] = set()
        self.read: set[str] = set()

    def put(self, kept: dict[str, str], answer: Answer, table: str, number: int) -> str | None:
        if answer.status >= 400:
            return None
        if len(kept) >= number:
            self.gone |= {*kept}
        name = str(json.loads(answer.content)["id"])
        kept[name] = table
        return name

    def upload(self) -> None:
        table = self.rng.choice(TABLES)
        answer = self.asked.fine("POST", "/api/tables", table.encode())
        # There is room unless analyses are reading all tables that are kept.
        assert answer.status == 201 or len(self.read) >= N_TABLES
        self.put(self.tables, answer, table, N_TABLES)
        assert self.asked.fine("POST", "/api/tables", self.rng.choice(BROKEN)).status == 400

    def order(self) -> None:
        name = self.rng.choice([*self.tables])
        order = {"table": name, "label": "y", "binning": "none"}
        answer = self.asked.fine("POST", "/api/analyses", json.dumps(order).encode())
        self.judge(name, "", answer)
        made = self.put(self.analyses, answer, self.tables[name], N_ANALYSES)
        if made is not None:
            self.read.add(name)
            assert self.rng.random() < 0.5 or self.asked.outcome(made) is None

    def look(self) -> None:
        """Two clients ask at the same moment, and perhaps a third one takes the analysis away."""
        name = self.rng.choice([*self.analyses])
        whats = self.rng.choices((*READING, *FILES), k=2)
        with ThreadPoolExecutor(3) as pool:
            both = [pool.submit(self.ask, name, what) for what in whats]
            if self.rng.random() < 0.2:
                self.gone.add(name)
                pool.submit(self.asked.fine, "DELETE", f"/api/analyses/{name}").result()
        for what, answer in zip(whats, both, strict=True):
            self.judge(name, what, answer.result())

    def ask(self, name: str, what: str) -> Answer:
        return self.asked.fine("GET", f"/api/analyses/{name}/{what}".rstrip("/"))

    def judge(self, name: str, what: str, answer: Answer) -> None:
        """Only what is gone is not there, only what is at work is asked for too soon; all else is right."""
        assert answer.status in (200, 202, 404, 409, 503)
        assert answer.status != 404 or name in self.gone
        if answer.status != 200 or what not in ("document", "points"):
            return
        told, expected = json.loads(answer.content), n_certain(self.analyses[name])
        if what == "points":
            assert sum(line["certain"] for line in told["points"]) == expected
        else:
            assert told["certain"]["n_certain"] == expected

    def forget(self) -> None:
        name = self.rng.choice([*self.tables])
        self.gone.add(name)
        assert self.asked.fine("DELETE", f"/api/tables/{name}").status in (204, 404)
        assert self.asked.fine("GET", f"/api/tables/{name}").status == 404
        del self.tables[name]


@pytest.mark.parametrize("number", range(N_ORDERS))
def test_any_order_of_calls(tmp_path: Path, number: int) -> None:
    """Whatever is asked when, answers are those of the library or one sentence; no file is left."""
    visitor = Visitor(tmp_path, seeded(number))
    for _ in range(40):
        steps = [visitor.upload]
        if visitor.tables:
            steps += [visitor.order, visitor.order, visitor.forget]
        if visitor.analyses:
            steps += [visitor.look] * 5
        visitor.rng.choice(steps)()
    visitor.asked.close()
    # A job that is being cancelled holds its table a moment longer.
    until(lambda: [*tmp_path.iterdir()] == [])
