"""Turns what a graph yields into the events of the requested stream modes, one mapper per run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .json_text import Json
from .wire import Wire, interrupt_fields

Event = tuple[str, str, bytes]
"""Name as it goes out, namespace, data as JSON."""

HIDDEN_TAG = "langsmith:hidden"
INTERRUPT = "__interrupt__"
_auth_keys = ("langgraph_auth_user", "langgraph_auth_user_id", "langgraph_auth_permissions")
_anywhere = ("messages", "tools", "custom")


class RunEvents:
    """The `messages` mode accumulates."""

    def __init__(self, wire: Wire, modes: Sequence[str], subgraphs: bool) -> None:
        from langchain_core.messages import BaseMessage, BaseMessageChunk

        self._wire = wire
        self._modes = frozenset(modes)
        self._subgraphs = subgraphs
        self._partial: dict[str, Any] = {}
        self._complete: set[str] = set()
        self._chunk_class = BaseMessageChunk
        self._message_class = BaseMessage

    def of_callback(self, event: Any) -> list[Event]:
        return [("events", "", self._wire.dumps(event))]

    def of_chunk(self, namespace: Sequence[str], mode: str, payload: Any) -> list[Event]:
        """A run that also speaks the streaming protocol yields more than its modes asked for."""
        if namespace and not self._subgraphs:
            if mode not in _anywhere:
                return []
            namespace = ()
        place = "|".join(namespace)
        if mode == "messages":
            return self._messages(payload, place)
        events: list[Event] = []
        if mode in self._modes:
            events.append(_event(mode, place, self._wire.dumps(told(mode, payload))))
        if mode == "values" and place == "" and "messages" in self._modes:
            events.extend(self._completed(payload))
        return events

    def _messages(self, payload: Any, place: str) -> list[Event]:
        """`messages-tuple` passes chunks on; `messages` sends the text so far each time."""
        message, metadata = payload
        events: list[Event] = []
        if "messages-tuple" in self._modes:
            events.append(_event("messages", place, self._wire.dumps([message, metadata])))
        if "messages" not in self._modes or not isinstance(message, self._chunk_class) or not message.id:
            return events
        before = self._partial.get(message.id)
        # Without the namespace, also for subgraphs: clients match these exact names, and the metadata holds it.
        if before is None:
            data = self._wire.dumps({message.id: {"metadata": metadata}})
            events.append(("messages/metadata", "", data))
        now = message if before is None else before + message
        self._partial[message.id] = now
        events.append(("messages/partial", "", self._wire.dumps([now])))
        return events

    def _completed(self, values: Any) -> list[Event]:
        messages = values.get("messages") if isinstance(values, dict) else getattr(values, "messages", None)
        if not isinstance(messages, list):
            return []
        events: list[Event] = []
        for message in messages:
            is_message = isinstance(message, self._message_class)
            known = message.id if is_message else message.get("id") if isinstance(message, dict) else None
            if not known or known in self._complete:
                continue
            self._complete.add(known)
            self._partial.pop(known, None)
            events.append(("messages/complete", "", self._wire.dumps([message])))
        return events


def invites(mode: str, payload: Any) -> bool:
    """A client may answer as soon as it gets it."""
    return mode in ("values", "updates") and isinstance(payload, dict) and INTERRUPT in payload


def told(mode: str, payload: Any) -> Any:
    """The payload of a mode without the library's own objects."""
    if mode == "debug":
        return _debug(payload)
    if mode == "checkpoints":
        return {"values": payload.get("values"), "metadata": payload.get("metadata"), "next": payload.get("next")}
    return _task(payload) if mode == "tasks" else payload


def public_configurable(configurable: Json | None) -> Json:
    """Without the library's own keys, which hold functions and connections, and without who the caller was."""
    return {
        key: value for key, value in (configurable or {}).items() if not key.startswith("__") and key not in _auth_keys
    }


def checkpoint_of(config: Any) -> Json | None:
    configurable = (config or {}).get("configurable")
    if not configurable:
        return None
    return {
        "thread_id": configurable.get("thread_id"),
        "checkpoint_id": configurable.get("checkpoint_id"),
        "checkpoint_ns": configurable.get("checkpoint_ns", ""),
        "checkpoint_map": configurable.get("checkpoint_map"),
    }


def _event(name: str, place: str, data: bytes) -> Event:
    return (f"{name}|{place}" if place else name, place, data)


def _debug(payload: Any) -> Any:
    inner = payload.get("payload")
    if payload.get("type") in ("task", "task_result"):
        return {**payload, "payload": _task(inner)}
    if payload.get("type") != "checkpoint" or not inner:
        return payload
    rest = {key: value for key, value in inner.items() if key not in ("config", "parent_config")}
    config, parent = inner.get("config"), inner.get("parent_config")
    if isinstance(rest.get("tasks"), (list, tuple)):
        rest["tasks"] = [_task(task) for task in rest["tasks"]]
    return {
        **payload,
        "payload": {
            **rest,
            "config": _public_config(config),
            "parent_config": _public_config(parent),
            "checkpoint": checkpoint_of(config),
            "parent_checkpoint": checkpoint_of(parent),
        },
    }


def _task(payload: Any) -> Any:
    """A task that runs a subgraph names its checkpoint by the config of the subgraph's state."""
    if not isinstance(payload, dict):
        return payload
    task = {key: value for key, value in payload.items() if key != "state"}
    if isinstance(task.get("interrupts"), (list, tuple)):
        task["interrupts"] = [_interrupt(one) for one in task["interrupts"]]
    state = payload.get("state")
    if isinstance(state, dict) and isinstance((state.get("configurable") or {}).get("thread_id"), str):
        task["checkpoint"] = checkpoint_of(state)
    elif state is not None:
        task["state"] = state
    return task


def _interrupt(value: Any) -> Any:
    if not isinstance(value, dict):
        return interrupt_fields(value) if hasattr(value, "id") and hasattr(value, "value") else value
    return {key: item for key, item in value.items() if key != "response_schema" or item is not None}


def _public_config(config: Any) -> Json | None:
    if not config:
        return None
    kept = {key: value for key, value in config.items() if key in ("tags", "metadata", "recursion_limit")}
    return {**kept, "configurable": public_configurable(config.get("configurable"))}
