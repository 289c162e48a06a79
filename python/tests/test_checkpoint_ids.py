"""Ids are later than what a run goes on from."""

import asyncio
import contextvars
from uuid import UUID

from langgraph.checkpoint.base.id import uuid6
from langgraph.pregel import _checkpoint

from treadle_python.checkpoint_ids import _at, go_on_from, keep_order, time_of

HOUR = 36_000_000_000


def _ahead(by: int) -> str:
    return str(_at(uuid6(), time_of(uuid6()) + by))


def test_the_library_is_asked_once() -> None:
    keep_order()
    known = _checkpoint.uuid6
    keep_order()
    assert _checkpoint.uuid6 is known


def test_ids_follow_a_checkpoint_of_a_clock_that_is_ahead() -> None:
    def run() -> list[str]:
        parent = _ahead(HOUR)
        go_on_from(parent)
        return [parent, *(str(_checkpoint.uuid6(clock_seq=step)) for step in range(5))]

    keep_order()
    ids = contextvars.copy_context().run(run)
    assert ids == sorted(ids) and len(set(ids)) == 6
    assert all(UUID(one).version == 6 for one in ids)


async def test_other_runs_keep_their_clock() -> None:
    keep_order()
    parent = _ahead(HOUR)

    async def behind() -> str:
        go_on_from(parent)
        return str(_checkpoint.uuid6(clock_seq=1))

    assert await asyncio.create_task(behind()) > parent
    assert str(_checkpoint.uuid6(clock_seq=1)) < parent


def test_ids_that_are_no_times_are_left_alone() -> None:
    keep_order()
    go_on_from("a name")
    go_on_from("00000000-0000-4000-8000-000000000000")
    made = _checkpoint.uuid6(clock_seq=3)
    assert made.version == 6 and abs(time_of(made) - time_of(uuid6())) < HOUR
