"""The page's API in any order of calls, also two at once: right answers, or one sentence that fits.

``NULLPROOF_STEPS`` sets how many orders are tried.
"""

from __future__ import annotations

import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

pytest.importorskip("fastapi", reason="FastAPI is not installed")
from support.asking import Answer, Asked
from support.web_server import until

from nullproof import CountIndex, certify

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::nullproof.NullproofWarning"),
    pytest.mark.xdist_group("web"),
]
N_TABLES, N_ANALYSES = 3, 4
TABLES = tuple(
    f"a,b,y\n1,x,no\n2,,no\n,x,yes\n4,{last},yes\n5,z,no\n6,x,yes\n" for last in ("z", "", "x")
)
OPTIONS = {"label": "y", "binning": "none"}
READING = ("points", "points/1", "features", "features/0", "curve", "document", "sections", "")
FILES = ("certificates.csv", "report.html", "worksheet.csv")
CHANGE = {"do": "fill", "feature": "b", "label": "no", "value": "x"}


@cache
def n_certain(table: str) -> int:
    """What the library itself says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text(table)
        index = CountIndex.from_table(path, "y", binning="none")
        return int(certify(index, path).certain.sum())


class PageSteps(RuleBasedStateMachine):
    """What was put, and what may be gone since.

    How far the analyses are is chance, and so is what the server has room for. What is drawn must not
    depend on it: what was refused is kept under a name that is gone, and what is forgotten goes anyhow.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.asked = Asked(Path(self.place.name), max_tables=N_TABLES, max_analyses=N_ANALYSES)
        self.tables: dict[str, str] = {}
        self.analyses: dict[str, str] = {}
        self.gone: set[str] = set()
        self.refused: set[str] = set()
        self.read: set[str] = set()

    def teardown(self) -> None:
        self.asked.close()
        # A job that is being cancelled holds its table a moment longer.
        until(lambda: [*Path(self.place.name).iterdir()] == [])
        self.place.cleanup()

    @rule(table=st.sampled_from(TABLES))
    def upload(self, table: str) -> None:
        answer = self.asked.fine("POST", "/api/tables", table.encode())
        # There is room unless analyses are reading all tables that are kept.
        assert answer.status == 201 or len(self.read) >= N_TABLES
        self._put(self.tables, answer, table, N_TABLES)

    @rule(broken=st.sampled_from((b"", b"a,y\n1\n", b"PAR1xxxx", b"\x1f\x8b0", b"a,a\n1,2\n")))
    def upload_what_is_no_table(self, broken: bytes) -> None:
        assert self.asked.fine("POST", "/api/tables", broken).status == 400

    @precondition(lambda self: self.tables)
    @rule(data=st.data(), waits=st.booleans())
    def order(self, data: st.DataObject, waits: bool) -> None:
        name = data.draw(st.sampled_from([*self.tables]))
        answer = self._asked(
            "POST", "/api/analyses", json.dumps({"table": name, **OPTIONS}).encode()
        )
        self._is_gone(answer, name)
        made = self._put(self.analyses, answer, self.tables[name], N_ANALYSES)
        if made not in self.refused:
            self.read.add(name)
            assert not waits or self.asked.outcome(made) is None

    @precondition(lambda self: self.analyses)
    @rule(data=st.data(), what=st.sampled_from(READING))
    def look(self, data: st.DataObject, what: str) -> None:
        name = data.draw(st.sampled_from([*self.analyses]))
        self._judge(name, what, self._asked("GET", _at(name, what)))

    @precondition(lambda self: self.analyses)
    @rule(data=st.data(), file=st.sampled_from(FILES))
    def download(self, data: st.DataObject, file: str) -> None:
        name = data.draw(st.sampled_from([*self.analyses]))
        answer = self._asked("GET", _at(name, f"files/{file}"))
        if not self._is_gone(answer, name):
            # A worksheet is made from the table, which may be gone.
            assert answer.status in (200, 409)

    @precondition(lambda self: self.analyses)
    @rule(data=st.data())
    def what_if(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([*self.analyses]))
        body = json.dumps({"changes": [CHANGE]}).encode()
        answer = self._asked("POST", _at(name, "what-if"), body)
        if not self._is_gone(answer, name) and answer.status != 409:
            assert json.loads(answer.content)["n_certain_before"] == n_certain(self.analyses[name])

    @precondition(lambda self: self.analyses)
    @rule(data=st.data(), whats=st.tuples(*[st.sampled_from(READING)] * 2), ends=st.booleans())
    def two_at_once(self, data: st.DataObject, whats: tuple[str, str], ends: bool) -> None:
        """Two clients ask at the same moment, and perhaps a third one takes the analysis away."""
        name = data.draw(st.sampled_from([*self.analyses]))
        with ThreadPoolExecutor(3) as pool:
            both = [pool.submit(self._asked, "GET", _at(name, what)) for what in whats]
            if ends:
                third = pool.submit(self._asked, "DELETE", _at(name, ""))
        if ends:
            self._is_gone(third.result(), name)
            self.gone.add(name)
        for what, answer in zip(whats, both, strict=True):
            self._judge(name, what, answer.result())
        if ends:
            self.analyses.pop(name, None)

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def forget_table(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([*self.tables]))
        answer = self._asked("DELETE", f"/api/tables/{name}")
        assert self._is_gone(answer, name) or answer.status == 204
        del self.tables[name]
        assert self._asked("GET", f"/api/tables/{name}").status == 404

    def _asked(self, *request: Any) -> Answer:
        return self.asked.fine(*request)

    def _judge(self, name: str, what: str, answer: Answer) -> None:
        if self._is_gone(answer, name):
            return
        if answer.status == 409:
            assert "ask again when it is done" in answer.error
            return
        assert answer.status == 200
        told = json.loads(answer.content)
        if what == "document":
            assert told["certain"]["n_certain"] == n_certain(self.analyses[name])
        elif what == "points":
            assert sum(line["certain"] for line in told["points"]) == n_certain(self.analyses[name])

    def _put(self, kept: dict[str, str], answer: Answer, table: str, number: int) -> str:
        name = str(json.loads(answer.content).get("id", f"refused-{len(self.refused)}"))
        kept[name] = table
        if answer.status >= 400:
            self.refused.add(name)
            self.gone.add(name)
        elif len({*kept} - self.refused) > number:
            # One of the others made room.
            self.gone |= {*kept} - {name}
        return name

    def _is_gone(self, answer: Answer, name: str) -> bool:
        """Whether a thing is gone, which it may be if it was deleted or made room for another."""
        assert answer.status != 404 or name in self.gone
        return answer.status == 404


def _at(name: str, what: str) -> str:
    return f"/api/analyses/{name}/{what}".rstrip("/")


TestPageSteps = PageSteps.TestCase
TestPageSteps.settings = settings(
    max_examples=int(os.environ.get("NULLPROOF_STEPS", "5")), stateful_step_count=20, deadline=None
)
