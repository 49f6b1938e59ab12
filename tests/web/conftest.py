"""Fixtures of the web server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.browser import chromium
from support.web_server import Example, Served, analysed, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), max_upload=1 << 20, max_rows=5000) as started:
        yield started


@pytest.fixture(scope="module")
def example(server: Served) -> Example:
    """The embedded example, analysed by the server, and counted by the library."""
    from nullproof import CountIndex
    from nullproof.cli.demo import load

    made = server.client.post("/api/example").json()
    name = analysed(
        server.client,
        table=made["train"]["id"],
        points=made["points"]["id"],
        label=made["label"],
        ignore=made["ignore"],
    )
    train, new = load()
    return name, CountIndex.from_table(train, "churn", ignore=["customer"]), new
