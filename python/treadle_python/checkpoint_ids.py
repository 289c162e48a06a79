"""A checkpoint's id is later than that of the checkpoint its run goes on from.

Ids are times, and the latest is a thread's state. Clocks of other machines may be ahead, and JavaScript's ids count
within their millisecond. So a run's ids begin after what it read, whatever the clock says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import UUID

_floor: ContextVar[int] = ContextVar("treadle_checkpoint_floor", default=0)
_low_bits = 0xFFF


def go_on_from(checkpoint_id: str) -> None:
    """For the ids that this task makes from now on."""
    try:
        read = UUID(checkpoint_id)
    except ValueError:
        return
    if read.version == 6 and time_of(read) > _floor.get():
        _floor.set(time_of(read))


def time_of(made: UUID) -> int:
    """In units of 100 ns."""
    return (made.int >> 80) << 12 | (made.int >> 64) & _low_bits


def later(make: Callable[..., UUID]) -> Callable[..., UUID]:
    """The library's own maker of ids, with a floor."""

    def made(node: int | None = None, clock_seq: int | None = None) -> UUID:
        own = make(node, clock_seq)
        floor = _floor.get()
        if floor == 0 or time_of(own) > floor:
            return own
        _floor.set(floor + 1)
        return _at(own, floor + 1)

    return made


def _at(own: UUID, time: int) -> UUID:
    rest = own.int & ((1 << 64) - 1)
    return UUID(int=(time >> 12) << 80 | 6 << 76 | (time & _low_bits) << 64 | rest)


def keep_order() -> None:
    """Once, where the library makes the ids of checkpoints."""
    from langgraph.pregel import _checkpoint

    library: Any = _checkpoint
    if not getattr(library.uuid6, "keeps_order", False):
        made: Any = later(library.uuid6)
        made.keeps_order = True
        library.uuid6 = made
