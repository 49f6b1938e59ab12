"""All that one server keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, Semaphore, sleep
from fastapi import Request

from nullproof.web.analysis import Analysis
from nullproof.web.drawer import Drawer
from nullproof.web.jobs import Workers
from nullproof.web.settings import Settings
from nullproof.web.shelf import Shelf
from nullproof.web.uploads import Upload

_WORKERS = 4
_AT_ONCE = 4
_UPLOADS_AT_ONCE = 8
_LOOK = 0.5


@dataclass(frozen=True)
class Desk:
    """All that a server keeps: tables, analyses, the threads that work on them, a drawing process."""

    settings: Settings
    folder: Path
    tables: Shelf[Upload]
    analyses: Shelf[Analysis]
    workers: Workers
    limiter: CapacityLimiter
    drawer: Drawer
    uploading: Semaphore

    @classmethod
    def open(cls, settings: Settings, folder: Path) -> Desk:
        """A new desk whose files go into ``folder``."""
        tables: Shelf[Upload] = Shelf(
            "table",
            number=settings.max_tables,
            size=8 * settings.max_upload,
            age=settings.max_age,
        )
        analyses: Shelf[Analysis] = Shelf(
            "analysis", number=settings.max_analyses, size=settings.memory, age=settings.max_age
        )
        return cls(
            settings,
            folder,
            tables,
            analyses,
            Workers(_WORKERS),
            CapacityLimiter(_AT_ONCE),
            Drawer(),
            Semaphore(_UPLOADS_AT_ONCE),
        )

    async def watch(self) -> None:
        """Look now and then for work that nobody waits for any more."""
        while True:
            await sleep(_LOOK)
            for analysis in self.analyses.things():
                analysis.stop_if_abandoned()

    def close(self) -> None:
        """Stop all work and delete all files."""
        self.analyses.clear()
        self.workers.close()
        self.drawer.close()
        self.tables.clear()


def desk_of(request: Request) -> Desk:
    """The desk of the server that got a request."""
    desk: Any = request.app.state.desk
    assert isinstance(desk, Desk)
    return desk
