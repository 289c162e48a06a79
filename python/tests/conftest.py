"""A worker process for each test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from peer_server import Server

PROJECTS = Path(__file__).parent / "projects"


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    await made.start(directory=str(PROJECTS / "basic"))
    yield made
    await made.stop()
