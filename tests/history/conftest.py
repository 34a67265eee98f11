from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acp_server.history.archive import LazyArchive
from acp_server.session.ports.archive import (
    SessionArchive,
)
from tests.history.archive_processes import OpenArchive
from tests.support.archive import MemoryArchive, MemorySession


@pytest.fixture(params=["on disk", "in memory"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenArchive]:
    home: dict[str, MemorySession] = {}
    problems: list[str] = []

    @asynccontextmanager
    async def running() -> AsyncGenerator[SessionArchive]:
        path = tmp_path / "acp" / "sessions.db"
        archive = LazyArchive(path) if request.param == "on disk" else MemoryArchive(home)
        archive.on_problem = problems.append
        try:
            yield archive
        finally:
            await archive.close()

    yield running
    assert problems == []
