"""The pieces of a message that a node asks a model for as content blocks (`astream_events(version="v3")`)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from .json_text import Json

_told_by_deltas = ("text", "reasoning", "tool_call", "tool_call_chunk", "invalid_tool_call")


class SpokenPieces:
    """One message: its events as the pieces that the mode `messages` has for every other call of a model."""

    def __init__(self) -> None:
        from langchain_core.messages import AIMessageChunk

        self._chunk = AIMessageChunk
        self._id: str | None = None
        self._args: dict[Any, str] = {}

    def of(self, event: Any) -> Any | None:
        """The piece that an event adds, if it adds one."""
        kind = event.get("event")
        if kind == "message-start":
            self._id = event.get("id") or event.get("message_id") or None
        elif kind == "content-block-start":
            return self._started(event.get("index"), event.get("content") or {})
        elif kind == "content-block-delta":
            return self._added(event.get("index"), event.get("delta") or {})
        elif kind == "content-block-finish":
            content = event.get("content") or {}
            if content.get("type") not in _told_by_deltas:
                return self._piece(content=[{**content, "index": event.get("index")}])
        elif kind == "message-finish":
            return self._piece(usage_metadata=event.get("usage"), chunk_position="last")
        return None

    def _started(self, index: Any, content: Json) -> Any | None:
        if content.get("type") != "tool_call_chunk":
            return None
        return self._call(index, content)

    def _added(self, index: Any, delta: Json) -> Any | None:
        kind = delta.get("type")
        if kind == "text-delta":
            return self._piece(content=delta.get("text") or "")
        if kind == "reasoning-delta":
            block = {"type": "reasoning", "reasoning": delta.get("reasoning") or "", "index": index}
            return self._piece(content=[block])
        if kind == "tool-call-delta" and index in self._args:
            return self._call(index, {"args": self._args[index] + (delta.get("args") or "")})
        fields = delta.get("fields") or {}
        return self._call(index, fields) if fields.get("type") == "tool_call_chunk" else None

    def _call(self, index: Any, fields: Json) -> Any:
        """The arguments so far are given; a piece has what is new of them."""
        args, before = fields.get("args") or "", self._args.get(index, "")
        self._args[index] = args
        new = {"id": fields.get("id"), "name": fields.get("name"), "args": args[len(before) :], "index": index}
        return self._piece(tool_call_chunks=[new])

    def _piece(self, content: Any = "", **fields: Any) -> Any:
        return self._chunk(content=content, id=self._id, **fields)


def tell_spoken_pieces() -> None:
    """
    The library's handler of the mode `messages` does not listen to the events of such a call, so that its message
    would be told at its end. This one does; all else is the library's.
    """
    from langgraph.pregel import main

    library: Any = main
    told = library.StreamMessagesHandler
    if told.__module__ == __name__ or not hasattr(told, "on_llm_new_token"):
        return

    class SpokenMessages(told):  # type: ignore[misc,valid-type]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._spoken: dict[UUID, SpokenPieces] = {}
            self._in_tokens: set[UUID] = set()

        def on_llm_new_token(self, token: str, *, chunk: Any = None, run_id: UUID, **about: Any) -> Any:
            """A model may tell its tokens itself; where it gives them no id, they would be a message each."""
            self._in_tokens.add(run_id)
            message = getattr(chunk, "message", None)
            if message is not None and message.id is None:
                message.id = f"lc_run--{run_id}"
            return super().on_llm_new_token(token, chunk=chunk, run_id=run_id, **about)

        def on_stream_event(self, event: Any, *, run_id: UUID, **_: Any) -> Any:
            meta = self.metadata.get(run_id)
            if meta is None or run_id in self._in_tokens:
                return
            spoken = self._spoken.get(run_id)
            if spoken is None:
                spoken = self._spoken[run_id] = SpokenPieces()
            piece = spoken.of(event)
            if piece is not None:
                self._emit(meta, piece)

        def on_llm_end(self, response: Any, *, run_id: UUID, **about: Any) -> Any:
            self._forget(run_id)
            return super().on_llm_end(response, run_id=run_id, **about)

        def on_llm_error(self, error: BaseException, *, run_id: UUID, **about: Any) -> Any:
            self._forget(run_id)
            return super().on_llm_error(error, run_id=run_id, **about)

        def _forget(self, run_id: UUID) -> None:
            self._spoken.pop(run_id, None)
            self._in_tokens.discard(run_id)

    library.StreamMessagesHandler = SpokenMessages
