"""Fixtures of the command line and of the web server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import TEST, TRAIN, Runner
from web_server import Example, Served, analysed, served


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a training and a test table, and work in it."""
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "test.csv").write_text(TEST)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    """Run the command line in the folder of the tables."""
    return Runner(monkeypatch, capsys)


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
