"""The application of the page, asked without a connection: a client would refuse to send some requests."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, cast

from nullproof.web import create_app

TABLE = b"age,town,day,paid,y\n1,x,2020-01-01,true,p\n2,,2021-01-01,false,p\n,x,2022-01-01,true,q\n"
T = TypeVar("T")
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
        self.app = cast("Any", create_app(folder, max_upload=1 << 20, **limits))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._life = _Life(self.app)
        self._run(self._life.begin())

    def close(self) -> None:
        """Stop the application, as a server that ends does."""
        self._run(self._life.finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, 120), self._loop).result()

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
        return self._run(self._ask(scope, body))

    async def _ask(self, scope: dict[str, Any], body: bytes) -> Answer:
        sent: list[Any] = []
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return left.pop() if left else await asyncio.sleep(3600)

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return Answer(sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:]))

    def state(self, analysis: str) -> dict[str, Any]:
        """How far an analysis is, and how it ended."""
        found: dict[str, Any] = json.loads(self("GET", f"/api/analyses/{analysis}").content)
        return found

    def outcome(self, analysis: str) -> str | None:
        """Wait for an analysis, and tell why it failed."""
        while (found := self.state(analysis))["state"] in ("waiting", "working"):
            time.sleep(0.01)
        error: str | None = found["error"]
        return error

    def fields_of_an_order(self) -> dict[str, Any]:
        """Every field of an order, as the application describes it."""
        described = json.loads(self("GET", "/openapi.json").content)
        found: dict[str, Any] = described["components"]["schemas"]["Order"]["properties"]
        return found

    def fine(self, *request: Any, **more: Any) -> Answer:
        """Ask, and check that the answer is no mistake of ours and any error one sentence."""
        answer = self(*request, **more)
        assert answer.status < 500 or answer.status == 503, (request, more, answer)
        if answer.status >= 400 and request[0] != "HEAD":
            assert "\n" not in answer.error
            assert 10 < len(answer.error) < 700, answer.error
        return answer


class _Life:
    """The beginning and the end of an application, which a server tells it about."""

    def __init__(self, app: Any) -> None:
        self._app, self._told = app, False

    async def begin(self) -> None:
        self._ended, begun = asyncio.Event(), asyncio.Event()

        async def receive() -> Any:
            if not self._told:
                self._told = True
                return {"type": "lifespan.startup"}
            await self._ended.wait()
            return {"type": "lifespan.shutdown"}

        async def send(message: Any) -> None:
            assert message["type"].endswith(".complete"), message
            begun.set()

        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._task = asyncio.create_task(self._app(scope, receive, send))
        await begun.wait()

    async def finish(self) -> None:
        self._ended.set()
        await self._task
