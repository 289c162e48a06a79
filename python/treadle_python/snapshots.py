"""States of threads as the server answers them."""

from __future__ import annotations

from functools import cache
from typing import Any

from .json_text import Json
from .run_events import public_configurable


def snapshot_fields(snapshot: Any) -> Json:
    """By the names of the server's own snapshots; values are made wire JSON by whoever sends them."""
    tasks = [_task_fields(task) for task in snapshot.tasks]
    following = list(snapshot.next)
    if not following:
        # A task that was answered and asked again has its answer kept, which the library takes for work that is done.
        following = [task["name"] for task in tasks if task.get("interrupts")]
    fields: Json = {
        "values": snapshot.values,
        "next": following,
        "config": _config(snapshot.config),
        "tasks": tasks,
    }
    if snapshot.metadata is not None:
        # Of a thread that was copied, the metadata still have the thread they were written for.
        thread = {"thread_id": fields["config"]["configurable"].get("thread_id")}
        fields["metadata"] = {**snapshot.metadata, **thread}
    if snapshot.created_at is not None:
        fields["createdAt"] = snapshot.created_at
    if snapshot.parent_config is not None:
        fields["parentConfig"] = _config(snapshot.parent_config)
    return fields


def pending_interrupts(snapshot: Any) -> list[str]:
    """Ids of what the thread waits for; a task that has its result was answered."""
    return [one.id for task in snapshot.tasks if _result(task) is None for one in task.interrupts]


def _result(task: Any) -> Any:
    """Of a task that was answered and asks again, older versions take the answer for a result without values."""
    return None if task.interrupts and task.result == {} and _takes_answers_for_results() else task.result


@cache
def _takes_answers_for_results() -> bool:
    from langgraph.pregel import debug

    return not hasattr(debug, "read_task_statuses")


def _task_fields(task: Any) -> Json:
    fields: Json = {
        "id": task.id,
        "name": task.name,
        "path": list(task.path),
        "interrupts": list(task.interrupts),
    }
    if task.error is not None:
        fields["error"] = task.error
    if task.state is not None:
        is_config = isinstance(task.state, dict)
        fields["state"] = _config(task.state) if is_config else snapshot_fields(task.state)
    result = _result(task)
    if result is not None:
        fields["result"] = result
    return fields


def _config(config: Any) -> Json:
    return {"configurable": public_configurable((config or {}).get("configurable"))}
