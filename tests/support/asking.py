"""The application of the page, asked without a connection: a client would refuse to send some requests."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from nullproof.web.app import make_app
from nullproof.web.settings import Settings

TABLE = b"age,town,day,paid,y\n1,x,2020-01-01,true,p\n2,,2021-01-01,false,p\n,x,2022-01-01,true,q\n"
Headers = Sequence[tuple[bytes, bytes]]


class Answer(NamedTuple):
    """What the application sent."""

    status: int
    content: bytes

    @property
    def error(self) -> str:
        found = json.loads(self.content)
        assert [*found] == ["error"]
        return str(found["error"])


class Asked:
    """The application, asked without a connection."""

    def __init__(self, folder: Path, **limits: Any) -> None:
        self.app = make_app(Settings(max_upload=1 << 20, **limits), folder)
        self.inner = cast("Any", self.app._app)
        self.desk = self.inner.state.desk

    def analyse(self) -> Self:
        """Upload a table and analyse it."""
        self.table = json.loads(self("POST", "/api/tables", TABLE).content)["id"]
        order = json.dumps({"table": self.table, "label": "y"}).encode()
        self.analysis = json.loads(self("POST", "/api/analyses", order).content)["id"]
        assert self.outcome(self.analysis) is None
        return self

    def __call__(
        self, method: str, path: str, body: bytes = b"", headers: Headers = (), query: bytes = b""
    ) -> Answer:
        own = {name for name, _ in headers}
        usual = [
            (b"host", b"127.0.0.1:80"),
            (b"content-length", str(len(body)).encode()),
            (b"content-type", b"application/json"),
        ]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(errors="surrogatepass"),
            "query_string": query,
            "root_path": "",
            "headers": [*(pair for pair in usual if pair[0] not in own), *headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        return asyncio.run(asyncio.wait_for(self._ask(scope, body), 120))

    async def _ask(self, scope: dict[str, Any], body: bytes) -> Answer:
        sent: list[Any] = []
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return left.pop() if left else await asyncio.sleep(3600)

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return Answer(sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:]))

    def outcome(self, analysis: str) -> str | None:
        """Wait for an analysis, and tell why it failed."""
        job = self.desk.analyses.get(analysis).job
        while not job.over:
            time.sleep(0.01)
        found: str | None = job.error
        return found

    def fine(self, *request: Any, **more: Any) -> Answer:
        """Ask, and check that the answer is no mistake of ours and any error one sentence."""
        answer = self(*request, **more)
        assert answer.status < 500 or answer.status == 503, (request, more, answer)
        if answer.status >= 400 and request[0] != "HEAD":
            assert "\n" not in answer.error
            assert 10 < len(answer.error) < 700, answer.error
        return answer
