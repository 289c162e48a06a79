"""Worker processes for the tests: one that many tests share, and one for tests that break theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from peer_server import Server

PROJECTS = Path(__file__).parent / "projects"
BASIC = str(PROJECTS / "basic")

GRAPHS = {
    name: f"agent.py:{name}"
    for name in (
        "echo",
        "approval",
        "asking_twice",
        "calling_pausing",
        "paused",
        "spinning",
        "waiting",
        "talking",
        "speaking_blocks",
        "hearing",
        "nested",
        "fanning",
        "failing",
        "remembering",
        "made",
        "typed",
        "unstorable",
        "large",
        "calling",
        "plain_builder",
        "using_tools",
        "checked",
        "side",
    )
}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared() -> AsyncIterator[Server]:
    """Has every graph of the project; use a thread of your own."""
    made = Server()
    await made.start(directory=BASIC)
    report = await made.load(
        BASIC,
        GRAPHS,
        auth={"file": "auth.py", "exportName": "auth"},
        app={"file": "app.py", "exportName": "app"},
        embed={"file": "embed.py", "exportName": "embed"},
    )
    made.report = report
    yield made
    await made.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[Server]:
    """For this test alone; nothing is loaded yet."""
    made = Server()
    await made.start(directory=BASIC)
    yield made
    await made.stop()
