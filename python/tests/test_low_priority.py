"""A process in reserve imports while everything else goes first, and is like any other when it is done."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from treadle_python import low_priority
from treadle_python.low_priority import at_low_priority

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="priorities of threads are Linux's")


def priority_of_this_thread() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@linux
async def test_lowers_its_thread_alone() -> None:
    before = priority_of_this_thread()
    seen: list[int] = []
    await at_low_priority(lambda: seen.append(priority_of_this_thread()))
    assert seen == [low_priority.LOWERED]
    assert priority_of_this_thread() == before
    after: list[int] = []
    await asyncio.to_thread(lambda: after.append(priority_of_this_thread()))
    assert after == [before]


@linux
async def test_sets_the_group_of_its_session_back_also_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group = tmp_path / "autogroup"
    monkeypatch.setattr(low_priority, "_group", str(group))
    seen: list[str] = []

    def fail() -> None:
        seen.append(group.read_text())
        raise ImportError("no such library")

    with pytest.raises(ImportError, match="no such library"):
        await at_low_priority(fail)
    assert seen == [str(low_priority.LOWERED)]
    assert group.read_text() == "0"


@linux
async def test_goes_on_where_there_are_no_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(low_priority, "_group", str(tmp_path / "none" / "autogroup"))
    done: list[bool] = []
    await at_low_priority(lambda: done.append(True))
    assert done == [True]


@linux
async def test_a_process_that_stays_behind_the_others_is_of_no_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "proc"
    folder.mkdir()
    monkeypatch.setattr(low_priority, "_group", str(folder / "autogroup"))
    monkeypatch.setattr(low_priority, "PAUSE_SECONDS", 0.001)

    def lose_the_group() -> None:
        (folder / "autogroup").unlink()
        folder.rmdir()

    with pytest.raises(OSError, match="low priority"):
        await at_low_priority(lose_the_group)
